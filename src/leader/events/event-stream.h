// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The stream of what the cluster comes to be, under one leader.
//
// Every change of an object gives it the next sequence. While somebody watches, and for
// limits.events_kept_sec after, each is also an event in a ring; a watcher that has fallen behind the ring,
// or begins, gets the newest state of each object that has changed since, in the order of their last
// changes. So it has the newest of everything when it is told that this is complete.

#include "event-core.h"
#include "event-cursor.h"
#include "event-stream-jobs.h"
#include "event-stream-records.h"
#include "event-stream-roles.h"

// Called after each entry of the log, also on hosts that do not lead, before other code follows the entry.
void event_stream_on_applied(Leader *l, uint64_t index);
void event_stream_begin(Leader *l);
void event_stream_retire(Leader *l); // before the tables go
// Where it is. And a place before that job: of this term, if it began in it; else of no term, and if it is
// not known, before everything.
EventCursor event_stream_cursor(const Leader *l);
EventCursor event_stream_cursor_of_job(const Leader *l, uint64_t number);
// Kinds of which somebody who was told everything up to that index of the log has to be told all there is
// now, as a set; of the others what has come since is enough. 0: of all. `some`: who may see some units
// only.
uint32_t event_stream_kinds_anew(const Leader *l, uint64_t index, bool some);
// Index of the log at which the object, or the table that has it, changed last; UINT64_MAX: it is none of a
// kind that is the log's.
uint64_t event_object_index(const Leader *l, const EventObject *o, bool some);
// Somebody watches: from now on events are kept.
void event_stream_keep(Leader *l);
// Its last state is told, and nobody is to point to it any more.
void event_stream_on_unit_gone(Leader *l, Unit *u);
void event_stream_on_node_gone(Leader *l, Node *n);
// It was marked with NODE_RENAMED: what was told by its former name is told to be gone, some in each turn.
void event_stream_on_node_renamed(Leader *l, Node *n);

typedef enum StreamState {
        STREAM_DRAINED,  // all that has changed has its sequence
        STREAM_DRAINING, // some of what is marked is left
        // Not all units of some nodes are marked yet: what has changed is not known, and a unit may still be
        // known by a former name of its node. Watchers wait until that is done.
        STREAM_MARKING,
} StreamState;

// Gives what was marked its sequences, some in each turn.
StreamState event_stream_drain(Leader *l);
