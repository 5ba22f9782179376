// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Jobs as objects of the stream: the newest limits.event_jobs that began or ended.

#include "event-core.h"
#include "map.h"
#include "tables.h"

typedef struct JobObject {
        EventObject event;
        ListNode kept;
        uint64_t number;
        uint64_t index; // of the log, of its last change
        // last sequence before that of its beginning; UINT64_MAX: that was in another term
        uint64_t before_seq;
} JobObject;

struct EventJobs {
        Map by_number;
        ListNode all;  // JobObject.kept, by their last changes, the oldest first
        size_t max;    // of them
        uint64_t last; // that was looked at
        uint64_t complete_from_seq;   // the last sequence of one that is in it no more; 0: none is
        uint64_t complete_from_index; // and the last index
};

// Those that this voter has seen beginning or ending while another one led.
void event_jobs_begin(Leader *l);
void event_jobs_done(EventJobs *jobs);
// Those that have begun, and those that have ended, so many at most. Returns how many more could have been.
size_t event_jobs_drain(Leader *l, size_t left);
bool event_jobs_are_drained(const Leader *l);
// The sequence and the index of the log behind which all that began or ended is kept.
uint64_t event_jobs_complete_from(const EventJobs *jobs);
uint64_t event_jobs_complete_from_index(const EventJobs *jobs);
// JobObject.before_seq; also UINT64_MAX: it is too old.
uint64_t event_jobs_before(const Leader *l, uint64_t number);
