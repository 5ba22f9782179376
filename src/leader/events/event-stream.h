// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The stream of what the cluster comes to be, under one leader.
//
// Every change of an object gives it the next sequence. While somebody watches, and for EVENTS_KEPT_US after, each is
// also an event in a ring; who has fallen behind that, or comes from nothing, is told the newest state of each object
// that has changed since, in the order of their last changes. So whoever keeps what he is told has the newest of
// everything when he is told that it is complete.

#include "change-order.h"
#include "clock.h"
#include "event-cursor.h"
#include "event-stream-jobs.h"
#include "event-maker.h"
#include "event-stream-records.h"
#include "event-ring.h"
#include "event-stream-roles.h"

enum {
        EVENT_RING_BYTES = 16 * 1024 * 1024, // unless it is configured
        EVENTS_GONE_MAX = 10000, // objects that are gone and remembered, for those who have missed that
        EVENT_JOBS_MAX = 1000,   // of the newest jobs, for those who have missed them
        EVENT_ROWS_PER_TURN = 512,    // that are made, at some 4 us each
        EVENT_MARKS_PER_TURN = 4096,  // that are only noted
};
#define EVENTS_KEPT_US (10 * 60 * USEC_PER_SEC)

struct EventStream {
        uint32_t epoch;    // of the ring: grows each time that it begins anew
        uint64_t last_seq; // of all that was noted
        uint64_t index;    // of the log: all that it said until then has its sequence
        uint64_t until_us; // the ring is kept until then, if nobody watches
        uint64_t forgotten_seq; // objects that were gone at or before this one may be forgotten
        EventRing ring;
        ChangeOrder order; // of EventObject
        EventObject leader;
        EventTables tables;
        ListNode draining; // Node.draining
        EventJobs jobs;
        EventRoles roles;
        ListNode gone;     // GoneObject.kept of those in the order, oldest first
        size_t n_gone;
};

// After each entry of the log, whoever leads, before anybody follows it.
void event_stream_on_applied(Leader *l, uint64_t index);
void event_stream_begin(Leader *l);
void event_stream_clear(Leader *l); // before the tables go
// Where it is. And a place before that job, if it is known, or else before everything: of no term.
EventCursor event_stream_cursor(const Leader *l);
EventCursor event_stream_cursor_of_job(const Leader *l, uint64_t number);
// Kinds of which somebody who was told everything up to that index of the log has to be told all there is now, as a set;
// of the others what has come since is enough. 0: of all.
uint32_t event_stream_kinds_anew(const Leader *l, uint64_t index);
// Index of the log at which the object changed last; UINT64_MAX: it is none of a kind that is the log's.
uint64_t event_object_index(const EventObject *o);
// Somebody watches: from now on events are kept.
void event_stream_keep(Leader *l);
// Its last state is told, and nobody is to point to it any more.
void event_stream_on_unit_gone(Leader *l, Unit *u);
void event_stream_on_node_gone(Leader *l, Node *n);
// The same of any object that is not only marked: it is in no list of its own any more, and may be freed.
void event_stream_on_object_gone(Leader *l, EventObject *o, const char *name);
// What is so of it now, if it was marked or may have changed: is told, where that is news, and has the last sequence then.
void event_stream_follow(Leader *l, EventObject *o, const EventDraft *d);
// It has changed last, under that sequence, which is the last one; it is in the order no more.
void event_stream_move_to_end(Leader *l, EventObject *o, uint64_t seq);
void event_stream_leave_order(Leader *l, EventObject *o);
// Gives what was marked its sequences, some in each turn. False: some are left.
bool event_stream_drain(Leader *l);
// Packs the draft as it is told to somebody who was not there; appends it to the answer. 0 or -ENOMEM.
int event_stream_append(Leader *l, Argosy__Response__Events *answer, const EventDraft *d, Argosy__EventMark mark,
                        uint64_t seq, uint64_t index);
// What was told of an object to somebody who was not there counts as told, if nothing of it is due.
void event_stream_note_told(Leader *l, const EventObject *o, uint32_t **told, const EventDraft *d);
