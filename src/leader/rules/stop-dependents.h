// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units systemd stops together with one, as far as the files of the cluster's own units say so:
// Requires=, Requisite=, BindsTo=, PartOf= and StopPropagatedFrom= of the unit that is stopped with it, and
// PropagatesStopTo= of the unit itself. Whether two of them are on one node, and up, is for the caller to
// ask. Kept up to date unit by unit. Pure.

#include <stdbool.h>

#include "map.h"

typedef struct StopDependents {
        Map names;              // private: StopUnit by name
        struct StopWalk *walks; // that are under way
} StopDependents;               // zero-initialised: nobody

// A walk over those that are stopped with one, in slices. What comes to be stopped with it while the walk is
// under way, or says so anew, comes at its end.
typedef struct StopWalk {
        StopDependents *of;
        const char *name;      // with which
        struct StopLink *at;   // private: that comes next; NULL: none at the moment
        struct StopWalk *next; // of the same StopDependents
} StopWalk;

void stop_dependents_done(StopDependents *m);
// Names with blanks between them, NULL: none. `bound_to`: those that the unit `name` is stopped with;
// `stops`: those that are stopped with it. Both take the place of what was said before. 0 or -ENOMEM (then
// the unit has said nothing).
int stop_dependents_set(StopDependents *m, const char *name, const char *bound_to,
                        const char *stops) _warn_unused_;
// Whether any is stopped with this one; whether this one is with any.
bool stop_dependents_has(const StopDependents *m, const char *name);
bool stop_dependents_has_origin(const StopDependents *m, const char *name);
// One of those that are stopped with this one, but not that one; NULL: there is none.
const char *stop_dependents_find(const StopDependents *m, const char *name, const char *but);
// How many are stopped with this one, as far as they say so; whether that one says so.
size_t stop_dependents_count(const StopDependents *m, const char *name);
bool stop_dependents_links(const StopDependents *m, const char *name, const char *dependent);
// Begins with the first; the name outlives the walk. Until stop_walk_end() the walk stays where it is.
void stop_walk_begin(StopWalk *w, StopDependents *m, const char *name);
void stop_walk_end(StopWalk *w);
// The next one, which lives until the next stop_dependents_set(); NULL: none at the moment.
const char *stop_walk_next(StopWalk *w);
// Calls `each` for every unit that is stopped with this one, and not for those that are stopped with these;
// a name may come twice. The names live until the next stop_dependents_set().
void stop_dependents_each(const StopDependents *m, const char *name,
                          void (*each)(const char *name, void *userdata), void *userdata);
// The other way round: every unit that this one is stopped with.
void stop_dependents_each_origin(const StopDependents *m, const char *name,
                                 void (*each)(const char *name, void *userdata), void *userdata);
