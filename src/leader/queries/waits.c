// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Clients that wait for something else than units (waiters.h) or the end of a job (open-jobs.h): a drain, a
// manager that is attached or detached, a rollout. A wait is a look at the tables once per turn: nothing is
// recorded, and the next leader can be asked the same.
//
//      wait_start() -> waits_turn(): the row of its kind is asked -> progress, or the end
//
// Failures: a judge answers with the reason why there is nothing more to wait for.

#include "waits.h"

#include "drain-waiters.h"
#include "manager-waiters.h"
#include "rollout-controller.h"
#include "pending-requests.h"
#include "turn.h"

// Says what is news to the client: progress (request_report()), or the end.
typedef void (*WaitJudge)(Leader *l, PendingRequest *t);

static const WaitJudge judges[] = {
        [ARGOSY__REQUEST__WHAT_DRAIN_WAIT] = drain_wait_judge,
        [ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT] = rollout_wait_judge,
        [ARGOSY__REQUEST__WHAT_MANAGER_WAIT] = manager_wait_judge,
};

int wait_start(Leader *l, PendingRequest *t) {
        request_join(t, PENDING_WAIT, &l->waits);
        leader_mark(l);
        return 0;
}

void waits_turn(Leader *l) {
        list_foreach_safe (i, &l->waits) {
                PendingRequest *t = request_in(i, PENDING_WAIT);

                judges[t->request->what_case](l, t);
        }
}
