// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One entry of the log while it is being made, by all that have something to put into it.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "scheduler.h"
#include "pending-requests.h"

typedef struct AimList AimList;

typedef struct Decision {
        Leader *leader;
        BatchBuilder batch;
        Scheduler *scheduler; // made when first needed
        Dependencies planned; // of units that the batch puts
        uint64_t n_jobs;      // that it begins
        ListNode taken;       // PendingRequest.queue: those of which there is something in the batch
        size_t n_served;      // units of the requests that had their turns
        size_t n_parted;               // requests of which it has the first of several parts
        size_t n_reported; // units of the records by which requests that came again were answered
        PendingRequest *pulls;       // that asks hosts for the images that its units get; NULL: nobody does
        const AimList *aims; // whose units are planned at the moment; NULL: none
} Decision;

// Bytes of an entry that are kept free while a request is planned: for its job, and what stands behind all.
enum { ENTRY_SPARE_BYTES = 4096 };

// What the entry has, and what is placed for it, to go back to: then it is as if nothing had been asked
// since, also for whatever is placed next.
typedef struct DecisionMark {
        BatchBuilderMark batch;
        size_t n_placed;
} DecisionMark;

DecisionMark decision_mark(const Decision *d);
void decision_rollback(Decision *d, DecisionMark mark);
void decision_need_scheduler(Decision *d);
// Whether the entry changes one of these units already, so that a request about them waits for the next
// entry. Code that changes the leader's memory for a request asks this first.
bool decision_touches(const Decision *d, char *const *names, size_t n);

// What became of a request that fails now, for the end of the sentence that says why: in `text` or constant.
typedef char DecideExtent[96];
const char *decide_extent(const PendingRequest *t, DecideExtent text);
