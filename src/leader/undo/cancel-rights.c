// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      record of a running job -> the request that its author could have made -> the answer of
//      hosts/authorization.c about that
//
// An author that could ask for the same may cancel it. What the job has made is gone again, and a file that
// it has brought is replaced again, so that takes the right to bring files, as destroy and undo do. Who may
// administer may cancel anything. Failures: an answer that says so, also when memory ends.

#include "cancel-rights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "access.h"
#include "authorization.h"
#include "response.h"
#include "str.h"

CancelKind cancel_kind_of(const Argosy__JobRecord *record) {
        if (*record->rollout)
                return CANCEL_KIND_ROLLOUT;
        if (record->n_drains > 0)
                return CANCEL_KIND_DRAIN;
        return streq(record->verb, "rebalance") ? CANCEL_KIND_REBALANCE : CANCEL_KIND_UNITS;
}

// What came into the cluster with it, or is whose it was not before: to take that back is more than to stop
// something.
static bool brings_content(const Argosy__JobUnits *group) {
        return group->spec_after.len > 0 || (!group->gone && !streq(group->set, group->set_after));
}

Argosy__Response *cancel_forbid_running(const Leader *l, const Argosy__Author *author,
                                        const Argosy__JobRecord *job) {
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request__NodeChange node = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request__Rebalance rebalance = ARGOSY__REQUEST__REBALANCE__INIT;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_free_ char **names = NULL;
        char why[AUTHORIZATION_WHY_SIZE];

        if (access_has(authorization_list(l), author, ARGOSY__RIGHT__RIGHT_ADMIN, NULL))
                return NULL;
        switch (cancel_kind_of(job)) {
        case CANCEL_KIND_ROLLOUT:
                rollout.name = job->rollout;
                rollout.kind = streq(job->verb, "restart --rolling") ? ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
                                                                     : ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
                request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
                request.rollout = &rollout;
                break;
        case CANCEL_KIND_DRAIN:
                request.what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
                request.node_change = &node;
                break;
        case CANCEL_KIND_REBALANCE:
                request.what_case = ARGOSY__REQUEST__WHAT_REBALANCE;
                request.rebalance = &rebalance;
                break;
        default:
                for (size_t g = 0; g < job->n_units; g++) {
                        change.n_names += job->units[g]->n_names;
                        change.replace |= brings_content(job->units[g]);
                }
                names = calloc(change.n_names + 1, sizeof(*names));
                if (!names)
                        return response_error(ENOMEM, "the leader is out of memory");
                change.n_names = 0;
                for (size_t g = 0; g < job->n_units; g++)
                        for (size_t i = 0; i < job->units[g]->n_names; i++)
                                names[change.n_names++] = job->units[g]->names[i];
                change.names = names;
                change.verb = ARGOSY__VERB__VERB_STOP;
                request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
                request.change = &change;
        }
        return authorization_refuses(l, author, &request, why)
                       ? response_error(EACCES, "job %" PRIu64 ": %s", job->number, why)
                       : NULL;
}
