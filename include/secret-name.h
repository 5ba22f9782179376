// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a secret may be called, and how long it may be. Pure.

#include <stdbool.h>

enum {
        // characters of a name, and of an id: letters, digits and ._-, neither '.' nor '-' in front
        SECRET_NAME_MAX = 64,
        SECRET_VALUE_MAX = 64 * 1024,  // bytes; and at least one
        SECRETS_PER_UNIT = 32,
};

// On a host (secret-files.h): values, and in units/ a folder for each unit that has some.
#define SECRET_FILES_DIR "/run/argosy/secrets"
#define SECRET_FILES_UNITS SECRET_FILES_DIR "/units"

// What is told of one that is none, with SECRET_NAME_MAX.
#define SECRET_NAME_RULE "1 to %d letters, digits and ._-, and neither '.' nor '-' in front"

// Whether the text may name a secret, or a credential by which a unit finds it.
bool secret_name_is_valid(const char *name);
