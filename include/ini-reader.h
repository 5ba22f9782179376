// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Reads the syntax of unit files as systemd's own parser does, line by line:
//
//      - a line ends at LF, CR LF or CR; a byte order mark at the very beginning is skipped
//      - a line whose first visible character is '#' or ';' is a comment, also between continued lines
//      - a line that ends in an odd number of backslashes continues on the next; the last backslash becomes
//      a blank; in Quadlet's own sections, which podman reads, nothing takes its place, and blanks at the
//      begin of the next line do not count
//      - "[NAME]" begins a section; "KEY=VALUE" is an assignment; blanks around KEY and VALUE do not count

#include "buf.h"

typedef enum IniKind {
        INI_SECTION,    // *section is new
        INI_ASSIGNMENT, // key (not empty) and value
        INI_GARBAGE,    // no '=', or nothing before it; systemd warns and goes on
} IniKind;

typedef struct IniLine {
        IniKind kind;
        const char *section; // "" before the first header
        const char *key;
        const char *value;
        unsigned line; // where the logical line begins, from 1
} IniLine;

typedef struct IniReader {
        const char *at, *end;
        unsigned line;
        Buf text; // the logical line, what IniLine points into
        Buf section;
} IniReader;

// `content` holds no NUL and stays valid until ini_reader_done().
int ini_reader_init(IniReader *r, const char *content, size_t len);
void ini_reader_done(IniReader *r);

// 1 and *ret, whose strings are valid until the next call; 0 at the end; -ENOMEM; -EBADMSG: a section header
// that is not closed, at ret->line.
int ini_reader_next(IniReader *r, IniLine *ret);
