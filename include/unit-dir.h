// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The unit files and drop-ins that argosy writes for one systemd manager, in batches by rename, so that PID
// 1 finds them without a reload: after each batch the directory's mtime is set strictly increasing (kernels
// before 6.13 tick at about 4 ms).
//
//   DIR/web.service                          content of the spec, or what was made of it
// (quadlet_made_compose())
//   DIR/web@.service                         content of the template's spec
//   DIR/web@2.service                        file of its own for an instance whose revision is not the one
//                                            in web@.service: a hard link to what web@.service was before,
//                                            or the content
//   DIR/web.service.d/50-argosy.conf         After=argosy.target, and Slice= where the unit is spread
//   DIR/web@.service.d/50-argosy.conf        After=argosy.target for all instances; an instance has one of
//                                            its own only for Slice=, and for CutOff=stop:
//                                            BindsTo=argosy-guard@SEC.target; and for Secret=:
//                                            LoadCredential=
//                                            (secret-files.h)
//   DIR/app.target.wants/web.service         -> ../web.service, for WantedBy=, RequiredBy= in [Install]
//   DIR/www.service                          -> web.service, for Alias=
//   DIR/data-volume.service                  of a volume or network (quadlet.h), for all units that name it;
//                                            DIR/web.service.beside/ has a link to it for each
//   DIR/argosy-pin@.target                   pins one-shots (unit-pin.h), with the first of them; it goes
//                                            with the last unit
//
// Files of ours are known from the ledger, never guessed from names. Nothing here is synced: DIR is in /run.
//
// A link under a unit of argosy's (or under one that is not there) is made with the file. One under a unit
// of the system's, which has a file elsewhere, is made only while UnitDirItem.enable says so: nothing of the
// system's is to start what argosy only holds ready.

#include <stdbool.h>

#include "buf.h"
#include "hash.h"

typedef struct UnitDir UnitDir;

enum { UNIT_DIR_SLICE_SIZE = 32 }; // with the NUL

typedef struct UnitDirItem {
        const char *name;   // a plain name or an instance, not a template
        bool remove;        // then only `name` counts
        bool from_template; // `content` is that of the template
        bool enable;        // links under units of the system's too
        int error;          // out: 0 or negative errno of this item
        const void *content;
        size_t len;
        size_t made_len; // `content` was made, and so many bytes with what was made beside it
                         // (quadlet_made_next()); 0: it was not
        bool replaces; // a network that another file made may go: podman does not have it any more
        bool beside_again; // what was made beside it may be another unit's by now: it is looked at
        Hash spec;         // of `content`, or of the container's content of which that was made (quadlet.h)
        const char *slice; // NULL: none of ours
        Buf touched; // out: NUL-terminated names of the units under which links came or went; the caller's
} UnitDirItem;

// dir: e.g. /run/systemd/system; made if missing (not its parents). search_dirs: NULL-terminated, where
// unit_dir_foreign() looks, but for `dir` itself, which may be among them (ManagerPaths.search_dirs); NULL:
// nowhere else. Both are copied.
int unit_dir_new(const char *dir, const char *const *search_dirs, UnitDir **ret);
// The same with a directory that is open already: `fd` is taken over, also on failure; `dir` is where it is,
// for unit_dir_foreign().
int unit_dir_new_at(int fd, const char *dir, const char *const *search_dirs, UnitDir **ret);
// Forgets; the files stay. Takes NULL, returns NULL.
UnitDir *unit_dir_free(UnitDir *d);
DEFINE_CLEANUP(UnitDir *, unit_dir_free)

// Tells what is ours already (from the ledger after a restart). 0: the files are as told. 1: they are not
// (crash in the middle of a batch, somebody removed or changed them): apply the unit again. Reads one small
// file for each unit or template. Negative errno: nothing adopted.
int unit_dir_adopt(UnitDir *d, const char *name, bool from_template, const Hash *spec, const char *slice);
// Whether a unit of ours has all links that its file asks for, also those under units of the system's.
bool unit_dir_is_enabled(const UnitDir *d, const char *name);
// Looks again: 0 as written, 1 not (the next unit_dir_apply() of this unit writes all of it), -ENOENT: not
// ours.
int unit_dir_check(UnitDir *d, const char *name);
// Whether `name` is ours, and with which spec (*ret_spec may be NULL; zero if the files are known to be
// wrong).
bool unit_dir_find(const UnitDir *d, const char *name, Hash *ret_spec);

// Writes or removes all items, then advances the directory's mtime once. Errors are per item; the others are
// done. A name may occur once in a batch (else -EINVAL for the second). -EEXIST: a file or link of that name
// (or of its template's, or of an alias) in DIR is not ours; it is left alone. A unit whose spec, slice and
// links are what they were costs nothing. Removal of a name that is not ours is a success.
//
// Takes about 50 us per item on the calling thread, so pass at most UNIT_DIR_BATCH of them per turn of a
// loop. -ENOTUNIQ: the node has another unit of a name that is to stand beside this one. -ESTALE: `content`
// is a container's own (quadlet.h) and not what was made of it, and that is not
// there.
//
// Order within a batch, so that a crash at any point leaves nothing that starts with a wrong content or
// without its settings: drop-ins; links of [Install] that are not wanted any more; units' own files; hard
// links that keep the old revision for instances which still have it; templates; own files that are now the
// same as the template; new links of [Install]; removals, each unit's links before its file, and that before
// its drop-in. If instances of one batch differ in spec, the last one names the template.
void unit_dir_apply(UnitDir *d, UnitDirItem *items, size_t n);
enum { UNIT_DIR_BATCH = 100 };
// Gives away the NUL-terminated names of units beside others that have gone with the last of these since it
// was asked last: systemd may have them in memory, active. The caller's; *ret is to be zeroed.
void unit_dir_take_gone(UnitDir *d, Buf *ret);

// Where systemd would find a file, link or mask of that name, or for an instance of its template, that is
// not ours: its path (malloc'd), or NULL (also when out of memory). For a unit of ours: what shadows or has
// replaced its file. Drop-ins of others are not foreign names.
char *unit_dir_foreign(UnitDir *d, const char *name);
// The same for the aliases that a file asks for.
char *unit_dir_foreign_alias(UnitDir *d, const char *name, const void *content, size_t len);
// The name's, or else that of an alias; len 0: it asks for none.
char *unit_dir_foreign_or_alias(UnitDir *d, const char *name, const void *content, size_t len);

// What fleet has left behind may become ours: from now on a name in DIR that is a link to the file of that
// name in `from` (absolute, no slash at its end) is nobody's. unit_dir_apply() judges everything else first;
// then links of [Install] and aliases to that file go, and the unit's own file takes the place of the link
// in one step, or its template's file is there before the link goes. So a crash leaves the link, and with it
// what was, or our file. What the link leads to stays, and systemd's memory of the unit. 0 or -ENOMEM.
int unit_dir_take_from(UnitDir *d, const char *from);
// Whether `name` is such a link.
bool unit_dir_is_left_behind(const UnitDir *d, const char *name);

// Whether a unit of that name stands beside the file of `name` for it. Reads the disk alone.
bool unit_dir_has_beside(const UnitDir *d, const char *name, const char *beside);
// Whether the name's own file, or without one the template of a name of ours, has this content.
bool unit_dir_has_content(UnitDir *d, const char *name, const Hash *spec);
// Nothing of `name` became ours: what was written beside its file goes again, with the template that nobody
// else has if that was written for it (`spec`), and the name is forgotten. What stands there by that name
// stays.
void unit_dir_disown(UnitDir *d, const char *name, const Hash *spec);

// Between these two the directories of others are taken to stay as they are; they are listed once instead of
// being asked for each name. Worth it from about UNIT_DIR_SURVEY_FROM names on.
void unit_dir_survey_begin(UnitDir *d);
void unit_dir_survey_end(UnitDir *d);
enum { UNIT_DIR_SURVEY_FROM = 32 };
