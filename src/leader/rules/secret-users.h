// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units have which secrets, and in which versions: as the records of the log say. Kept up to date unit by unit; how many have a
// version is counted, so neither a unit that changes nor a question about all of them costs a walk. Pure.

#include <stdbool.h>
#include <stdint.h>

#include "map.h"

typedef struct SecretUsers {
        Map secrets, units; // private, by name
} SecretUsers;              // zero-initialised: nobody

typedef struct SecretUse {
        const char *name;
        uint64_t version; // 0: none so far
} SecretUse;

void secret_users_done(SecretUsers *m);
// What the unit has, in place of what was said before; a secret may stand there twice and counts once. *ret_freed (may be NULL): nobody has
// one of the versions any more that it had. 0 or -ENOMEM (then the unit has said nothing).
int secret_users_set(SecretUsers *m, const char *unit, const SecretUse *uses, size_t n, bool *ret_freed) _warn_unused_;
size_t secret_users_count(const SecretUsers *m, const char *secret);
size_t secret_users_count_of(const SecretUsers *m, const char *secret, uint64_t version);
// Calls `each` for the secrets that the unit has, until it returns false.
void secret_users_each_of_unit(const SecretUsers *m, const char *unit,
                               bool (*each)(const char *secret, uint64_t version, void *userdata), void *userdata);
// Calls `each` for the units that have it, until it returns false.
void secret_users_each(const SecretUsers *m, const char *secret,
                       bool (*each)(const char *unit, uint64_t version, void *userdata), void *userdata);
