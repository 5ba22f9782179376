// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosy needs to know about a unit file: its own options in [X-Argosy] and [X-Fleet], and the few of systemd's that
// change how it is run. Everything else is systemd's business and passes through untouched. Pure.

#include <stdbool.h>

#include "hash.h"
#include "unit-name.h"

enum { UNIT_FILE_MAX = 256 * 1024 }; // bytes; larger files are refused

typedef struct LabelMatch { // one key; any of the values will do
        char *key;
        char **values; // NULL-terminated
} LabelMatch;

typedef struct UnitFile {
        bool global;          // Global=
        char *machine_id;     // MachineID=, 32 hex digits (or a prefix of >= 8?: no, whole), lower case; NULL if none
        LabelMatch *labels;   // MachineMetadata=: all keys must match
        size_t n_labels;
        char *description;    // [Unit] Description=, never NULL (empty if none)
        bool oneshot;         // [Service] Type=oneshot
        bool remain;          // RemainAfterExit=yes
        bool has_slice;       // [Service]... Slice= is set
        bool has_weights;     // CPUWeight=, IOWeight=, CPUShares=... set
        bool has_install;     // an [Install] section
} UnitFile;

// Reads `content` (need not be NUL-terminated) of the unit `name`. `path` is only for messages and may be NULL.
// 0 and *ret (free with unit_file_free()); -EINVAL and *ret_why = "path:line: reason" (malloc'd); -ENOMEM.
// Specifiers %n %N %p %i in argosy's own options are expanded for `name`.
int unit_file_parse(const char *name, const char *path, const void *content, size_t len, UnitFile **ret, char **ret_why);
UnitFile *unit_file_free(UnitFile *f);
DEFINE_CLEANUP(UnitFile *, unit_file_free)

// [A-Za-z0-9._/-]{1,63}
bool label_is_valid(const char *key_or_value);
