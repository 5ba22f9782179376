// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One heap for all works of pending requests that have a time:
//
//      request_deadline_set() -> its time comes -> it is taken out, and its function is called
//
// The functions are called in the order of their times, in request_deadlines_on_time(), where no walk over
// pending requests is under way. Failures: only request_deadline_set() needs memory.

#include "request-deadlines.h"

#include "pending-requests.h"
#include "turn.h"

int request_deadline_set(PendingRequest *t, RequestDeadline *d, RequestOnTime on_time, uint64_t at_us) {
        d->request = t;
        d->on_time = on_time;
        return deadline_heap_set(&t->leader->request_deadlines, &d->at, at_us);
}

bool request_deadline_is_set(const RequestDeadline *d) {
        return deadline_is_set(&d->at);
}

void request_deadline_clear(PendingRequest *t, RequestDeadline *d) {
        deadline_heap_clear(&t->leader->request_deadlines, &d->at);
}

uint64_t request_deadlines_next(const Leader *l) {
        return deadline_heap_next(&l->request_deadlines);
}

void request_deadlines_on_time(Leader *l) {
        Deadline *at;

        while ((at = deadline_heap_pop(&l->request_deadlines, leader_now(l)))) {
                RequestDeadline *d = CONTAINER_OF(at, RequestDeadline, at);

                d->on_time(d->request, d);
        }
}

void request_deadlines_retire(Leader *l) {
        deadline_heap_done(&l->request_deadlines);
}
