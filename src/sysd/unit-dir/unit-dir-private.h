// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the facets of the unit directory share:
//
//   unit-dir.c           the directory, what is there already, look-ups
//   unit-dir-entries.c   what is ours
//   unit-dir-apply.c     a batch
//   unit-dir-beside.c    units that others need beside them
//   unit-dir-files.c     single files, and the directory's time
//   unit-dir-links.c     links of [Install]
//   unit-dir-foreign.c   names of others
//   unit-dir-take.c      those that others have left behind, and what did not become ours
//
//   Entry      a unit of ours      from adopt or its first apply to a successful removal
//   EntryMore  of an entry         while a batch changes it, or while it has something of its own
//   Template   a template file     as long as any Entry follows or followed it; its file goes with the last
//                                  one
//
// There may be thousands of entries, almost all of them instances that say nothing but which template they
// follow. So an entry is small, 35 bytes and its name, and comes out of a slab.
//
// What content an entry has is asked with entry_spec(). It is zero while its files are known to be
// wrong, so that the next apply writes them. A template's `spec` is that of the file's content; zero if
// there is no file yet.

#include "list.h"
#include "map.h"
#include "name-table.h"
#include "slab.h"
#include "unit-dir.h"
#include "unit-install.h"

typedef struct Template {
        ListNode instances;
        Hash spec;
        bool dropin;             // its drop-in is written
        UnitFile *file;          // what it says, as from unit_dir_parse()
        const UnitDirItem *next; // during apply: whose content it shall get
        int error;               // during apply: why it did not get it
        char name[];
} Template;

typedef struct EntryMore {
        Hash spec;               // unless it follows its template
        UnitInstall *links;      // that its file in place asks for; NULL: none
        UnitDirItem *item;       // the rest: during apply
        UnitInstall *next_links; // that `item` asks for
        FailingOptions failing;  // of `item`
        char *secrets;           // what its drop-in says of them (unit_dropin_secrets()); NULL: nothing
        Template *left;          // the template that has lost its last instance with this one
        bool links_only;         // all else is in place
        bool takes;              // the link of its name was left behind by others, and goes
} EntryMore;

typedef struct Entry {
        ListNode in_template;
        Template *template; // NULL: not from a template
        EntryMore *more;    // NULL: nothing to say
        uint16_t slice;     // in UnitDir.slices, from 1; 0: none of ours
        bool follows : 1;   // its content is the template's
        bool own_file : 1;  // DIR/NAME exists
        bool enabled : 1;   // links under units of the system's are made
        char name[];
} Entry;

struct UnitDir {
        int fd;
        char *path;
        char **foreign;
        char *take_from; // NULL: what others have left behind is theirs
        Map survey; // name -> ForeignName, if `surveyed`
        bool surveyed;
        NameTable entries;
        Map templates;
        Slab slab;     // of entries
        char **slices; // names of the slices that entries are in, each once
        size_t n_slices;
        uint64_t mtime_us; // what we set last, or found
        bool changed;      // since the mtime was set
        bool has_pin;      // UNIT_PIN_FILE is as it should be
        Buf gone;          // NUL-terminated names of units beside others that went
};

// unit-dir-entries.c
// NULL: out of memory.
Entry *entry_new(UnitDir *d, const char *name, bool from_template);
EntryMore *entry_more(Entry *e);
// Drops what says nothing.
void entry_settle(Entry *e);
void entry_free(UnitDir *d, Entry *e);
// For the end of the directory: what they own, not themselves out of any table.
void entry_done(UnitDir *d, Entry *e);
void template_done(void *p);
// 0 or negative errno, nothing changed then.
int entry_find_template(UnitDir *d, Entry *e);
int entry_set_spec(Entry *e, const Hash *spec);
int entry_set_slice(UnitDir *d, Entry *e, const char *slice);
// Its files are known to be wrong.
void entry_forget_spec(Entry *e);
bool entry_is_unknown(const Entry *e);
const Hash *entry_spec(const Entry *e);
const UnitInstall *entry_links(const Entry *e);
const UnitDirItem *entry_item(const Entry *e);
const char *entry_slice(const UnitDir *d, const Entry *e);
bool entry_needs_dropin(const Entry *e, const char *slice, const FailingOptions *failing,
                        const char *secrets);
// -EINVAL: there can be none of that name, or in that slice.
int entry_check_name(const char *name, bool from_template);
int entry_check_slice(const char *slice);
// Goes with its last instance.
void template_collect(UnitDir *d, Template *t);

// unit-dir-files.c; names are relative to the directory
int unit_dir_put_file(UnitDir *d, const char *name, const void *content, size_t len);
// The same of a unit's content, which takes the place of what is in `before` for systemd.
int unit_dir_put_content(UnitDir *d, const char *name, const char *before, const void *content, size_t len);
int unit_dir_drop_file(UnitDir *d, const char *name);
// A unit's file, and what only that needs beside it.
int unit_dir_drop_unit(UnitDir *d, const char *name);
// 0; -EEXIST: somebody else's file stands where we are about to make a new one.
int unit_dir_vacant(UnitDir *d, const char *name);
// 0, also if it is gone; -EEXIST: what was our file is no plain file any more (`systemctl mask --force`
// leaves a link).
int unit_dir_replaceable(UnitDir *d, const char *name);
int unit_dir_put_dropin(UnitDir *d, const char *name, const char *slice, const FailingOptions *failing,
                        const char *secrets);
int unit_dir_drop_dropin(UnitDir *d, const char *name);
// Zero: no such file, not a plain file, or unreadable. *ret_file as from unit_dir_parse().
Hash unit_dir_inspect_file(UnitDir *d, const char *name, UnitFile **ret_file);
// What a content says if anything here depends on it ([Install], CutOff=, Secret=), else NULL.
UnitFile *unit_dir_parse(const void *content, size_t len, const char *name);
bool unit_dir_dropin_is(UnitDir *d, const char *name, const char *slice, const FailingOptions *failing,
                        const char *secrets);
// The file that pins one-shots: written if it is not there; taken away.
int unit_dir_put_pin(UnitDir *d);
void unit_dir_drop_pin(UnitDir *d);
uint64_t unit_dir_mtime_us(int fd);
void unit_dir_advance_mtime(UnitDir *d);

// unit-dir-beside.c
// Before the unit's file `name` is written: what was made with it (UnitDirItem.made_len) is there, and
// nothing else. 0; -ENOTUNIQ: the name of one is taken; other negative errno.
int unit_dir_put_beside(UnitDir *d, const char *name, const UnitDirItem *item);
// Whether all of it is there, and no other unit's file of that name.
bool unit_dir_is_beside(const UnitDir *d, const char *name, const UnitDirItem *item);
// Nothing that stands beside the unit of that name was removed, or changed by somebody else.
bool unit_dir_beside_stands(const UnitDir *d, const char *name);
// Its file is that of `from`: it needs the same.
int unit_dir_copy_beside(UnitDir *d, const char *name, const char *from);
// Its file is gone.
int unit_dir_drop_beside(UnitDir *d, const char *name);

// unit-dir-foreign.c
// The path of what stands there by that name, also if it is a link to nowhere, or perhaps stands there, with
// that word behind it (malloc'd); NULL: nothing does.
char *unit_dir_probe(const char *dir, const char *name);

// unit-dir-links.c; `links` may be NULL, `item` too
// NULL in *ret: none. 0 or -ENOMEM.
int unit_dir_links_of(const UnitFile *f, const char *name, UnitInstall **ret);
UnitInstall *unit_dir_links_free(UnitInstall *links);
// Takes away those of ours that are not in `except`.
int unit_dir_links_drop(UnitDir *d, const char *name, const UnitInstall *links, const UnitInstall *except,
                        UnitDirItem *item);
int unit_dir_links_put(UnitDir *d, const char *name, const UnitInstall *links, bool enable,
                       UnitDirItem *item);
// The first alias that is taken by something in DIR that is not ours, nor left behind together with `name`;
// NULL: none.
const char *unit_dir_links_foreign(UnitDir *d, const char *name, const UnitInstall *links);
// Whether those that are always to be there are; *ret_enabled: the others too.
bool unit_dir_links_are(UnitDir *d, const char *name, const UnitInstall *links, bool *ret_enabled);

// unit-dir-take.c
// Whether `alias` in DIR leads where the left behind `name` does.
bool unit_dir_is_left_alias(const UnitDir *d, const char *alias, const char *name);
// All links in DIR to where `name` leads, but for that of the name itself.
int unit_dir_drop_left(UnitDir *d, const char *name, UnitDirItem *item);

// unit-dir-apply.c
int unit_dir_remove_template(UnitDir *d, Template *t);
