// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See decide-rolling.h. An undo and an apply can put files in place a few units at a time: they begin a
// rollout, as somebody who asks for an update does, and their job goes on for as long as that does.
//
//      1. the decision of the request has found that one rollout can do all of it (rules/rollout-group.h)
//      2. one entry begins the rollout, with the request's id, and says in the job's record which one it is
//      3. the rollout's own steps go into the log as that job's
//
// A request that comes again gets the revision of the same rollout, and waits for that. One for which the
// rollout is refused changes nothing.


#include "decide-rolling.h"

#include <errno.h>
#include <stdlib.h>

#include "message.h"
#include "response.h"
#include "rollout-controller.h"
#include "rollout-images.h"

int decide_rolling_begin(Decision *d, PendingRequest *t, Argosy__Request__Rollout *m) {
        char *name = strdup(m->name);
        int r;

        if (!name)
                return -ENOMEM;
        free(t->rolls);
        t->rolls = name;
        m->kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        if (t->request->job)
                m->id = t->request->job->id;
        r = rollout_images_admit(t, m);
        if (r != STEP_PASSED)
                return r;
        return rollout_controller_plan_as(d->leader, t, &d->batch, m);
}

Argosy__Response *decide_rolling_response(const Leader *l, const PendingRequest *t) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        const ProtobufCBinaryData *id = &t->request->job->id;
        const Argosy__RolloutRecord *rollout;
        Argosy__Response__UnitResult *result;
        Argosy__JobRecord *job;

        if (!response || cluster_state_read_job(l->state, t->job, &job) < 0)
                return TAKE_PTR(response);
        rollout = cluster_state_find_rollout(l->state, job->rollout);
        message_free(job);
        if (!rollout || rollout->request.len != id->len ||
            memcmp(rollout->request.data, id->data, id->len) != 0)
                return TAKE_PTR(response);
        result = unit_result_new(rollout->name);
        if (FIELD_APPEND(response->change->units, response->change->n_units, result) < 0)
                return NULL;
        result->revision = rollout->revision;
        return TAKE_PTR(response);
}
