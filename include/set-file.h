// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// argosy.set: the file of a folder of unit files that names its set, instances, and what units are to be.
// Pure.
//
//      # a comment
//      set shop
//      launched web@{1..3} worker@a.service
//      loaded   batch.service
//      inactive old.service
//
// A line is a word and what it is about; words are apart by blanks or tabs. `set` stands at most once and
// names the set; the other lines name units, complete or without ".service", with ranges as on the command
// line, each unit once and none that is a template. The line `incomplete` says that this is no truth yet
// (folder-export.c), and is always refused.

#include <stddef.h>

#include "argosy.pb-c.h"
#include "buf.h"

enum {
        SET_FILE_BYTES_MAX = 1024 * 1024,
        SET_FILE_UNITS_MAX = 4096, // all of them are judged in one turn,
};

#define SET_FILE_INCOMPLETE "incomplete"

typedef struct SetFileUnit {
        char *name;
        Argosy__Target target;
        unsigned line;
} SetFileUnit;

typedef struct SetFile {
        char *set; // NULL: it does not say
        SetFileUnit *units;
        size_t n, allocated;
} SetFile;

void set_file_done(SetFile *f);
#define _cleanup_set_file_ _cleanup_(set_file_done)

// *ret is to be zeroed, and is to be ended also after an error. 0; -EINVAL or -E2BIG with a sentence
// appended to `why`, which begins with `path`; -ENOMEM.
int set_file_parse(const char *path, const void *data, size_t len, SetFile *ret, Buf *why);
// Whether a set may be called so: 1 to 63 letters, digits and "-_.", the first one a letter or a digit.
bool set_name_is_valid(const char *name);
