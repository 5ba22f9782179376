// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What whoever works on a pending request does at a time (RequestWork): a request's work has one of these
// embedded. See request-deadlines.c.

#include "deadline-heap.h"
#include "leader-core.h"

typedef struct RequestDeadline RequestDeadline;
// Its time has come, and it is not set any more. May set it again, and ends no pending request.
typedef void (*RequestOnTime)(PendingRequest *t, RequestDeadline *d);
struct RequestDeadline { // zero-initialised: not set
        Deadline at; // in Leader.request_deadlines
        PendingRequest *request;
        RequestOnTime on_time;
};

// Sets it, or moves it. 0 or -ENOMEM (then it is not set).
int request_deadline_set(PendingRequest *t, RequestDeadline *d, RequestOnTime on_time, uint64_t at_us);
bool request_deadline_is_set(const RequestDeadline *d);
// Before the work is freed, too. One that is not set is fine.
void request_deadline_clear(PendingRequest *t, RequestDeadline *d);

uint64_t request_deadlines_next(const Leader *l); // 0: none is set
void request_deadlines_on_time(Leader *l);
void request_deadlines_retire(Leader *l); // after all pending requests
