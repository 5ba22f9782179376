// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that are each to be something of their own, as one job.

#include "decision.h"
#include "macro.h"
#include "map.h"
#include "request.h"

typedef struct AimItem {
        const char *name;
        bool aimed; // it is to be as the aim says; else it stays
        ChangeAim aim;
        size_t bytes;       // that its content adds to the log
        Argosy__Verb verb; // what to wait for then
} AimItem;
enum {
        AIM_SAID = 1,
        AIMS_CHUNK_UNITS = MAX_OF(LEADER_LIMIT_apply_chunk_units, LEADER_LIMIT_undo_chunk_units)
};
struct AimList {
        const AimItem *(*item)(const AimList *list, size_t i);
        size_t n;
        size_t looks; // items that a turn has time for; 0: for all
        size_t part_units; // of an entry, AIMS_CHUNK_UNITS at most; 0: limits.apply_chunk_units
        Map by_name; // -> AimItem; decide_aims() adds those that it plans, if they are not there
        Argosy__NamedFile **files; // that ChangeAim.file is about
        size_t n_files;
        // What is said of one that stays. AIM_SAID; 0: nothing; -ENOMEM.
        int (*describe)(const Leader *l, const PendingRequest *t, const AimList *list, const AimItem *item,
                        Argosy__Response__UnitResult *ret);
        // May be NULL. What is no unit, and goes into the entry of the first chunk: it is put there, and
        // said of it. 0 or a negative errno.
        int (*put_rest)(Decision *d, PendingRequest *t);
        int (*describe_rest)(const Leader *l, const PendingRequest *t, Argosy__Response *ret);
};
// The next chunk of it, as decide_change(). Each time the list has the same units in the same order; those
// of a chunk are judged anew when they are asked for, one after the other.
int decide_aims(Decision *d, PendingRequest *t, AimList *list);
// Plans those for which `which` says so, at most apply_chunk_units of them, for who has more to put into the
// entry; what becomes of them is not told. 0, -EBUSY, -ENOMEM.
int decide_aims_put(Decision *d, const AimList *list, bool (*which)(const AimItem *item));
// What is said of all that stay. 0 or -ENOMEM.
int decide_aims_describe(const Leader *l, const PendingRequest *t, const AimList *list,
                         Argosy__Response *ret);
