// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Walks that take many turns, each of which does a slice (walk-pace.h): the leader's own, which go on in
// every term, and those of one rollout or one large request, which have a Walk of their own.

#include "leader-core.h"

// How much of it this turn may do, where a walk that was not resumed does `whole`.
static inline size_t walk_slice(const LeaderWalk *w, size_t whole) {
        return w->pace.parts == 0 ? whole : walk_pace_slice(&w->pace, whole);
}
// So much of that is left. 0: when the turn is over, by what it took it is known how much the next one may
// do.
static inline void walk_sliced(Leader *l, LeaderWalk *w, size_t left) {
        if (left == 0 && w->pace.parts > 0 && !list_is_linked(&w->used_up))
                list_append(&l->walks.used_up, &w->used_up);
}
void walk_resume(Leader *l, LeaderWalk *w); // it was begun by a leader before this one
void walk_forget(Leader *l, LeaderWalk *w); // the walk's owner goes

// A term begins: all walks of the leader are resumed. Until walks_turned() finds that it has caught up: all
// hosts within their leases have attached, and no walk has used up its slice.
void walks_begin(Leader *l);
void walks_end(Leader *l); // or it leads no more
// Around what counts as the turn's work; a turn may have several of these.
void walks_work_begin(Leader *l);
void walks_work_end(Leader *l);
void walks_turned(Leader *l); // the same, and the turn is over
