// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Keys of the configuration, for the files that share them: config.c has the table and reads files,
// config-values.c knows values.

#include "config.h"

typedef enum KeyType {
        KEY_NAME,
        KEY_ADDRESS,
        KEY_NUMBER,
        KEY_ODD,
        KEY_SPAN,
        KEY_BOOL,
        KEY_PATH,
        KEY_DIRECTORY,
        KEY_LABELS, // from here on several lines add up, and an empty one resets
        KEY_MANAGERS,
        KEY_LISTEN,
        KEY_FLEET,
        KEY_NAMES,
        KEY_PROXIES,
} KeyType;

// From when on a changed value counts.
typedef enum KeyCounts {
        _KEY_COUNTS_INVALID, // each key has to say it
        FROM_RELOAD,         // whoever uses it reads it in Daemon.config, or is told by run_reload()
        FROM_RESTART,        // argosyd goes on with the value that it was started with
} KeyCounts;

typedef struct ConfigKey {
        const char *section, *key;
        KeyType type;
        KeyCounts counts;
        size_t offset;
        const char *fallback;
        uint64_t min, max;
        const char *help;
        const char *user_fallback; // of a user's argosyd; NULL: the same
} ConfigKey;

// Returned for a value, or a word of it, that is not valid. The valid part is taken all the same.
enum { NOT_A_VALUE = 1 };

// Puts the value of one line. 0: taken, NOT_A_VALUE, -ENOMEM.
int config_value_put(Config *c, const ConfigKey *k, const char *value);
// Of the types that count from a restart; no other one may be asked for.
bool config_value_is_same(const ConfigKey *k, const Config *a, const Config *b);
void config_value_exchange(const ConfigKey *k, Config *a, Config *b);
