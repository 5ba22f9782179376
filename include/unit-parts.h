// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The parts of a unit's content: its unit file, the drop-ins that were beside it, and of a container the
// files of volumes, networks and containers that it names. Pure.
//
// systemd reads a drop-in as if its lines stood at the end of the unit file. So a content is one text in
// which they do:
//
//      [Service]
//      ExecStart=/usr/bin/web
//                                                      an empty line, which also ends a line that was
//                                                      continued
//      # web.service.d/10-limits.conf                  a comment that names the part, as `systemctl cat` has
//                                                      it
//      [Service]
//      MemoryMax=1G
//
// A parser of the content so sees what systemd makes of file and drop-ins together, and a node replaces all
// of it with one rename. A content without drop-ins is the file as it is. A line counts as the begin of a
// part only if the line before it is empty, it names a drop-in that sorts behind the part before it, and the
// first thing below it is a section (or nothing is): else it is a comment. So is what would be one more than
// UNIT_DROP_INS_MAX. Splitting a content and composing its parts gives the same bytes.
//
// In a container's content (quadlet.h) parts without a directory follow the drop-ins, sorted by their names:
//
//      # data.volume
//      [Volume]
//      Label=of=web
//
// These lines are none of the unit's: who reads its options reads unit_parts_own_len() bytes. UNIT_PART_LAST
// stands behind all.

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"

#define UNIT_PART_LAST "~argosy.conf" // of a manifest, see carried-files.h

enum {
        UNIT_DROP_IN_NAME_MAX = 255, // bytes of NAME.conf
        UNIT_DROP_INS_MAX = 128,     // of one content
};

typedef struct UnitPart {
        // "web.service.d/10-limits.conf", not NUL-terminated where it was split; NULL: the unit file itself
        const char *path;
        size_t path_len;
        const char *content;
        size_t len;
} UnitPart;

typedef struct UnitParts {
        const char *begin, *at, *end; // private
        // private: what comes first below the last line that was looked at, if it begins with a section
        const char *first;
        UnitPart last;                // private
        size_t n_drop_ins;            // private
        bool looked, container;       // private: whether it is a container's, once that matters
} UnitParts;

// The parts of a content one after the other, the unit file first. They point into the content.
void unit_parts_begin(UnitParts *p, const void *content, size_t len);
bool unit_parts_next(UnitParts *p, UnitPart *ret);
// Whether it is a file of its own, named by a container: it is no drop-in.
bool unit_part_is_beside(const UnitPart *part);
// The bytes of the unit file and its drop-ins, in front of the files that a container names and of what
// follows these.
size_t unit_parts_own_len(const void *content, size_t len);
// Whether there are parts but for the unit file.
bool unit_parts_has_drop_ins(const void *content, size_t len);

// Whether a drop-in may be called so: it ends in ".conf", is not hidden, and has neither '/' nor control
// characters.
bool unit_drop_in_name_is_valid(const char *name);
// Whether a directory may be called so: that of one unit or template, "web.service.d", or of a container's
// file, "web.container.d".
bool unit_drop_in_directory_is_valid(const char *name);
// The order of parts: that in which systemd reads drop-ins, by their names, whatever directories they are
// in; then files without a directory.
int unit_drop_in_compare(const UnitPart *a, const UnitPart *b);

// Whether it is in the folder of drop-ins of that unit or template, or of the container's file that makes
// it (quadlet.h).
bool unit_part_is_of(const UnitPart *part, const char *unit);
// Which of these drop-ins a unit has, in systemd's order: its own, and those of its template (NULL: it has
// none) that none of its own has the name of. `ret` has room for n; used[i], if wanted, is set of those that
// are of the unit or the template. How many they are.
size_t unit_parts_pick(const UnitPart *all, size_t n, const char *unit, const char *template, UnitPart *ret,
                       uint8_t *used);

// Appends the content of a unit file with these drop-ins, which are in the order of unit_drop_in_compare(),
// no name twice. 0; -EINVAL or -E2BIG and a sentence about the one that does not fit, which begins with its
// path, appended to `why`; -ENOMEM.
int unit_parts_compose(const void *file, size_t len, const UnitPart *drop_ins, size_t n, Buf *ret,
                       Buf *why) _warn_unused_;

// Where a line of the content stands: its part, and the line there, from 1.
void unit_parts_locate(const void *content, size_t len, unsigned line, UnitPart *ret_part,
                       unsigned *ret_line);
// What to call the place in messages: the file's path, or that of the drop-in beside it. A new string; NULL:
// out of memory.
char *unit_part_path(const UnitPart *part, const char *path);
// Makes "PATH:LINE: reason", or several with ";\n" between them, say the same of the parts that the lines
// are in. *why is replaced. 0 or -ENOMEM.
int unit_parts_place(const char *path, const void *content, size_t len, char **why) _warn_unused_;
// The line of the content that such a sentence about the content or one of its parts begins with; 0: it is
// about none.
unsigned unit_parts_line_of(const char *path, const void *content, size_t len, const char *sentence);
