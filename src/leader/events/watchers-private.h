// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files about watchers share: watchers.c (questions and turns) and watchers-follow.c (what a
// watcher is told).

#include "event-cursor.h"
#include "event-maker.h"
#include "leader-core.h"
#include "pending-requests.h"

struct Watcher {
        RequestWork work;
        PendingRequest *pending;
        ListNode all; // in Leader.watchers: .due, .idle or .behind
        EventCursor cursor;
        bool begins;              // to be told that the whole state follows
        uint32_t anew;            // of these kinds, a set; 0: of all
        uint64_t
                jobs_begun; // event_jobs_complete_from() when told that all jobs follow; 0: not told
        uint64_t access_revision; // by which cursor.scope was judged
        bool from_now;            // gets its place, and nothing else
        bool reported_all;            // there is nothing more for it now
        uint32_t kinds;           // event_kind_bit() of each
        Argosy__Response *answer;
        size_t bytes; // of its events
};

typedef struct Turn {
        size_t bytes, looks; // left
} Turn;

// watchers-follow.c. All: 0, or -ENOMEM.
int watcher_need_answer(Watcher *w);
Argosy__EventMark watcher_mark(EventCursorMode mode); // of what it is told outside the ring
int watcher_add_word(Leader *l, Watcher *w, const char *word, uint32_t kinds, Argosy__EventMark mark,
                     uint64_t seq);
int watcher_add_begins(Leader *l, Watcher *w); // of the kinds that it watches
// He has been told of all, or as much as there is room or time for: *ret_full.
int watcher_follow_order(Leader *l, Watcher *w, Turn *turn, bool *ret_full);
int watcher_follow_ring(Leader *l, Watcher *w, Turn *turn, bool *ret_full);
