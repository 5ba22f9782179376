// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sets the log's time back or forward (`cluster set-time`; time-set.h).
//
//      time_set_plan(): the voters' clocks, if most agree, else the given time
//          -> an operation in the batch -> a response
//
// With agreeing clocks another time is refused, as it would be over with the next entry. Refusals: EINVAL
// for no time, ENOSPC after CLUSTER_TIME_SETS_MAX sets forward. Failures: -EBUSY for a second one in this
// batch, -ENOMEM.

#include "time-set.h"

#include <errno.h>

#include "clock.h"
#include "response.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "utc-time.h"

#define TIME_MAX_US (UINT64_C(253402300800) * USEC_PER_SEC) // the year 10000

static const char CLAIM[] = "the log's time";

static bool is_near(uint64_t a, uint64_t b) {
        return (a > b ? a - b : b - a) <= WALL_CLOCK_AGREE_US;
}

int time_set_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        uint64_t asked_us = t->request->cluster_set_time->to_us, wall_us = leader_wall(l);
        bool agreed = leader_wall_is_agreed(l);
        uint64_t to_us = agreed ? wall_us : asked_us;
        char text[UTC_TIME_SIZE];
        int r;

        utc_time_format(to_us, text);
        if (agreed && asked_us > 0 && !is_near(asked_us, wall_us))
                return request_refuse(
                        t, EINVAL,
                        "by the clocks of the voters it is %s: if that is wrong, set these first; "
                        "nothing was changed",
                        text);
        if (to_us == 0)
                return request_refuse(t, EINVAL,
                                     "the clocks of most voters differ by more than a minute, or were not "
                                     "heard: set these first, or name the time; nothing was changed");
        if (to_us > TIME_MAX_US)
                return request_refuse(t, EINVAL, "that is no time; nothing was changed");
        if (!cluster_state_takes_time_set(l->state, to_us))
                return request_refuse(
                        t, ENOSPC,
                        "the time was set to a later one %d times within %d days, as often as dates "
                        "can be brought back; nothing was changed",
                        CLUSTER_TIME_SETS_MAX, CLUSTER_JOB_DAYS_MAX);
        r = batch_builder_claim(b, CLAIM, sizeof(CLAIM));
        if (r == 0)
                r = batch_builder_put_time_set(b, to_us);
        if (r < 0)
                return r;
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        (void) field_printf(&t->response->message,
                            "the log's time is %s; dates of jobs and tokens that were later are that now",
                            text);
        return PLAN_IN_BATCH;
}
