// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that are to be where others are (MachineOf=, SameNodeAs=) must not lead back to themselves: then
// each would wait for the other to be somewhere first. Pure.

#include "cluster-state.h"
#include "unit-file.h"

enum { AFFINITY_MAX = 256 }; // units that are looked at

// What the options of a unit are: 0 and a reference; AFFINITY_UNKNOWN: nobody knows the unit, or what it
// asks for; or a negative errno.
enum { AFFINITY_UNKNOWN = 1 };
typedef int (*AffinityFind)(const char *name, UnitOptions **ret, void *userdata);

// A AffinityFind: as the unit's record says, or that of its template. `state`: ClusterState.
int affinity_of_records(const char *name, UnitOptions **ret, void *state);

// 0: no cycle; -ELOOP, `ret` says how it goes ("a.service -> b.service -> a.service") and *ret_line in the
// unit's own file begins it; -E2BIG: more than AFFINITY_MAX; -ENOMEM; or what `find` returned.
int affinity_check(const char *name, const UnitOptions *options, AffinityFind find, void *userdata,
                   char *ret, size_t size, unsigned *ret_line) _warn_unused_;
