// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units have which secrets, and in which versions: as the records of the log say. Kept up to date unit
// by unit; how many have a version is counted, so neither a unit that changes nor a question about all of
// them costs a walk. Pure.
//
//      secret_users_recall_before()   there is a newer version: units with an older one are to be looked at
//      secret_users_next_recalled()   a unit after the other, as many in a turn as there is time for

#include <stdbool.h>
#include <stdint.h>

#include "map.h"

typedef struct SecretUsers {
        Map secrets, units;      // private, by name
        struct SecretGroup *due; // private: units that have one version, of which some are to be looked at
} SecretUsers;                   // zero-initialised: nobody

typedef struct SecretUse {
        const char *name;
        uint64_t version; // 0: none so far
} SecretUse;

// One of a secret's units, or one of a unit's secrets, with the version that the unit has. False: no more.
typedef bool (*SecretUserFn)(const char *name, uint64_t version, void *userdata);

void secret_users_done(SecretUsers *m);
// What the unit has, in place of what was said before; a secret may stand there twice and counts once.
// *ret_freed (may be NULL): nobody has one of the versions any more that it had. 0 or -ENOMEM (then the unit
// has said nothing).
int secret_users_set(SecretUsers *m, const char *unit, const SecretUse *uses, size_t n,
                     bool *ret_freed) _warn_unused_;
size_t secret_users_count(const SecretUsers *m, const char *secret);
size_t secret_users_count_of(const SecretUsers *m, const char *secret, uint64_t version);
// Calls `each` for the secrets that the unit has, until it returns false.
void secret_users_each_of_unit(const SecretUsers *m, const char *unit, SecretUserFn each, void *userdata);
// Calls `each` for the units that have it, until it returns false.
void secret_users_each(const SecretUsers *m, const char *secret, SecretUserFn each, void *userdata);
// The same for those that have a version before this one. No others are looked at.
void secret_users_each_before(const SecretUsers *m, const char *secret, uint64_t version, SecretUserFn each,
                              void *userdata);
// All units that have a version before this one, or none, are recalled, at the cost of one.
void secret_users_recall_before(SecretUsers *m, const char *secret, uint64_t version);
// A unit that was recalled and is not any more; its name is there until it changes. NULL: there is none.
const char *secret_users_next_recalled(SecretUsers *m);
