// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the stream of events is made of, and how an object gets its sequence: for those who know what is so
// of their kinds. What it is for stands in event-stream.h.

#include "change-order.h"
#include "clock.h"
#include "event-maker.h"
#include "event-ring.h"
#include "leader-core.h"
#include "tables.h"

typedef struct EventTables EventTables;
typedef struct EventJobs EventJobs;
typedef struct EventRoles EventRoles;

enum {
        EVENT_RING_BYTES = 16 * 1024 * 1024, // unless it is configured
        EVENT_NODES_OF_A_MARK = 32,  // of a unit that is on many, at 0.05 us each
};

struct EventStream {
        uint32_t epoch;         // of the ring: grows each time that it begins anew
        uint64_t last_seq;      // of all that was noted
        uint64_t index;         // of the log: all that it said until then has its sequence
        uint64_t until_us;      // the ring is kept until then, if nobody watches
        uint64_t
                // of the order: objects that were gone at or before this one may be forgotten
                complete_from_seq;
        EventRing ring;
        ChangeOrder order; // of EventObject
        EventObject leader;
        EventTables *tables;
        ListNode draining; // Node.stream.draining
        EventJobs *jobs;
        EventRoles *roles;
        ListNode gone; // GoneObject.kept of those in the order, oldest first
        size_t n_gone;
        uint64_t n_rows; // units on nodes that were looked at, one by one
        bool drained;    // all that had changed when that was looked at last has its sequence
};

// It has changed last, under that sequence, which is the last one; it is in the order no more.
void event_stream_move_to_end(Leader *l, EventObject *o, uint64_t seq);
void event_stream_leave_order(Leader *l, EventObject *o);
// Its last state is told, and nobody is to point to it any more: it is in no list of its own, and may be
// freed.
void event_stream_on_object_gone(Leader *l, EventObject *o, const char *name);
// What is so of it now is compared with what was told of it. True: it is an event, and has the last
// sequence.
bool event_stream_notify(Leader *l, uint32_t **reported, const EventDraft *d);
// What is so of it now, if it was marked or may have changed: is told, where that is news, and has the last
// sequence then.
void event_stream_follow(Leader *l, EventObject *o, const EventDraft *d);
// It is of other roles, and else as it was told: news for those who may see some.
void event_stream_tell_roles(Leader *l, const EventDraft *d);
// Packs the draft as it is told to somebody who was not there; appends it to the answer. 0 or -ENOMEM.
int event_stream_append(Leader *l, Argosy__Response__Events *answer, const EventDraft *d,
                        Argosy__EventMark mark, uint64_t seq, uint64_t index);
// What was told of an object to somebody who was not there counts as told, if nothing of it is due.
void event_stream_note_reported(Leader *l, bool due, uint32_t **reported, const EventDraft *d);
