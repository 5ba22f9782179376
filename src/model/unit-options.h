// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Private to the model: the options of a unit file as written, between reading them and asking what they
// mean for a name.

#include "unit-file.h"

typedef enum RawKind {
        RAW_MACHINE_ID, // one id
        RAW_METADATA,   // one "key=value"
        RAW_MANAGER,    // one glob over names of managers

        // In UnitFile.install, one name each:
        RAW_WANTED_BY,
        RAW_REQUIRED_BY,
        RAW_ALIAS,
        RAW_ALSO,
} RawKind;

typedef struct RawOption {
        RawKind kind;
        bool fleet; // from [X-Fleet]
        unsigned line;
        char *word; // specifiers not expanded
} RawOption;

// -EINVAL and *ret_why = "PATH:LINE: reason" where it holds memory for it; `ret_why` may be NULL.
int unit_options_new(const RawOption *raw, size_t n_raw, bool global, const char *path, const char *name,
                     UnitOptions **ret, char **ret_why);
// Fills *ret_why and returns -EINVAL, or -ENOMEM.
int refuse(char **ret_why, const char *path, unsigned line, const char *format, ...) _printf_(4, 5);
