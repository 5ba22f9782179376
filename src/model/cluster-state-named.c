// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tables of the state that are small arrays of records, sorted by the name (or id) that each record begins
// with: join tokens, rollouts, roles, pools, access tokens, secrets. They change rarely and are searched by
// halving.
//
//      state_put_named(), state_remove_named() on a log entry -> named_find() by readers
//
// The state owns the records; one that is replaced or dropped is retired, as a snapshot may still read it.
// Failures: -ENOMEM from put and insert, after which the record is still the caller's.

#include <errno.h>

#include "array.h"
#include "cluster-state-private.h"
#include "sorted.h"
#include "str.h"

// The common beginning of these records.
typedef struct NamedRecord {
        ProtobufCMessage base;
        char *name;
} NamedRecord;

static_assert(offsetof(Argosy__TokenRecord, id) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__RolloutRecord, name) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__RoleRecord, name) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__PoolRecord, name) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__AccessTokenRecord, id) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__SecretRecord, name) == offsetof(NamedRecord, name));

size_t named_index(const void *records, size_t n, const char *name, bool *ret_found) {
        NamedRecord *const *of = records;
        size_t at = SORTED_COUNT(n, i, strcmp(of[i]->name, name) < 0);

        *ret_found = at < n && streq(of[at]->name, name);
        return at;
}

void *named_find(const void *records, size_t n, const char *name) {
        NamedRecord *const *of = records;
        bool found;
        size_t i = named_index(records, n, name, &found);

        return found ? of[i] : NULL;
}

int state_insert_named(void *records, size_t *n, size_t i, void *record) {
        NamedRecord ***of = records;

        if (ARRAY_RESERVE(*of, *n + 1) < 0)
                return -ENOMEM;
        memmove(&(*of)[i + 1], &(*of)[i], ((*n)++ - i) * sizeof **of);
        (*of)[i] = record;
        return 0;
}

int state_put_named(ClusterState *s, void *records, size_t *n, void *record) {
        NamedRecord ***of = records;
        bool found;
        size_t i = named_index(*of, *n, ((NamedRecord *) record)->name, &found);

        if (!found)
                return state_insert_named(records, n, i, record);
        state_retire_message(s, (*of)[i]);
        (*of)[i] = record;
        return 0;
}

void state_drop_named(ClusterState *s, void *records, size_t *n, size_t i) {
        NamedRecord ***of = records;

        state_retire_message(s, (*of)[i]);
        memmove(&(*of)[i], &(*of)[i + 1], (--*n - i) * sizeof **of);
}

bool state_remove_named(ClusterState *s, void *records, size_t *n, const char *name) {
        NamedRecord ***of = records;
        bool found;
        size_t i = named_index(*of, *n, name, &found);

        if (found)
                state_drop_named(s, records, n, i);
        return found;
}

void state_named_done(ClusterState *s, void *records, size_t n) {
        NamedRecord **of = records;

        for (size_t i = 0; i < n; i++)
                state_retire_message(s, of[i]);
        free(of);
}
