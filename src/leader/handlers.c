// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of requests that the leader answers (handlers.h), and answering at once.
//
//      handler_find() -> its row -> answer, or begin a wait, or plan and decide an entry of the log
//
// A new kind gets a row here and a function in the folder of its subject; what it means is not known here.
// An answer above ANSWER_BYTES_MAX is replaced by an error. NULL: this leader has no such request.

#include "handlers.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "access-changes.h"
#include "access-tokens.h"
#include "authorization.h"
#include "answer-jobs.h"
#include "answer.h"
#include "ca-controller.h"
#include "secrets-key-controller.h"
#include "decide-apply.h"
#include "decide-cancel.h"
#include "decide-changes.h"
#include "decide-undo.h"
#include "forget-request.h"
#include "host-removal.h"
#include "host-roles.h"
#include "job-show.h"
#include "listing-question.h"
#include "listings.h"
#include "macro.h"
#include "members.h"
#include "node-changes.h"
#include "node-lists.h"
#include "node-questions.h"
#include "open-jobs.h"
#include "queue-changes.h"
#include "rebalances.h"
#include "request-kind.h"
#include "response.h"
#include "roles.h"
#include "rollout-controller.h"
#include "secrets.h"
#include "time-set.h"
#include "waiters.h"
#include "waits.h"
#include "watchers.h"
#include "why.h"

// A refusal names the file's path for each of its units, so paths are limited.
static Argosy__Response *refuse_paths(Argosy__NamedFile *const *files, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strlen(files[i]->path) >= PATH_MAX)
                        return response_error(EINVAL, "the path of a unit file has more than %d bytes",
                                              PATH_MAX - 1);
        return NULL;
}

static Argosy__Response *refuse_change(const Argosy__Request *request) {
        const Argosy__Request__Change *change = request->change;

        if (change->id.len != 16)
                return response_error(EINVAL, "the request has no id of 16 bytes");
        if (change->n_names > CHANGE_UNITS_MAX)
                return response_error(E2BIG, "the request names %zu units, more than %d", change->n_names,
                                      CHANGE_UNITS_MAX);
        if (change->preview && change->n_names > PLAN_UNITS_MAX)
                return response_error(E2BIG, "the plan names %zu units, more than %d: plan fewer at once",
                                      change->n_names, PLAN_UNITS_MAX);
        if (change->verb <= ARGOSY__VERB__VERB_NONE || change->verb > ARGOSY__VERB__VERB_DESTROY)
                return response_error(EINVAL, "the request names no verb that this version knows");
        return refuse_paths(change->files, change->n_files);
}

static Argosy__Response *refuse_rollout(const Argosy__Request *request) {
        return request->rollout->file ? refuse_paths(&request->rollout->file, 1) : NULL;
}

static Argosy__Response *refuse_undo(const Argosy__Request *request) {
        const Argosy__Request__Undo *m = request->undo;

        if (m->only_untouched && m->rolling)
                return response_error(
                        EINVAL,
                        "an update brings all units of a template the same file: what was changed since "
                        "cannot be left as it is");
        return m->only_untouched && m->force
                       ? response_error(EINVAL,
                                        "what was changed since is either left as it is or put back, too")
                       : NULL;
}

// Indexed by the number of the request's field; unused numbers have no function.
static const Handler handlers[] = {
        [ARGOSY__REQUEST__WHAT_LIST_UNITS] = {.answer = answer_units,
                                              .is_long = listing_is_long,
                                              .begin_long = listing_start,
                                              .refuse = listing_refuse},
        [ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES] = {.answer = answer_unit_files,
                                                   .is_long = listing_is_long,
                                                   .begin_long = listing_start,
                                                   .refuse = listing_refuse},
        [ARGOSY__REQUEST__WHAT_LIST_NODES] = {.answer = node_list_answer,
                                              .is_long = node_list_is_long,
                                              .begin_long = node_list_start},
        [ARGOSY__REQUEST__WHAT_CLUSTER_STATUS] = {.answer = node_list_answer,
                                                  .is_long = node_list_is_long,
                                                  .begin_long = node_list_start},
        [ARGOSY__REQUEST__WHAT_CAT] = {.answer_each = answer_cat},
        [ARGOSY__REQUEST__WHAT_WHY] = {.answer_each = why_answer,
                                       .is_long = why_is_long,
                                       .begin_long = why_start},
        [ARGOSY__REQUEST__WHAT_ROLE_LIST] = {.answer = roles_answer_roles},
        [ARGOSY__REQUEST__WHAT_POOL_LIST] = {.answer = roles_answer_pools},
        [ARGOSY__REQUEST__WHAT_LIST_JOBS] = {.answer_to = answer_jobs,
                                             .is_long = job_show_is_long,
                                             .begin_long = job_show_start,
                                             .refuse = answer_jobs_refuse},
        [ARGOSY__REQUEST__WHAT_ACCESS_LIST] = {.answer = access_answer_list},
        [ARGOSY__REQUEST__WHAT_TOKEN_LIST] = {.answer = access_tokens_answer_list},
        [ARGOSY__REQUEST__WHAT_SECRET_LIST] = {.answer = secrets_answer_list},
        [ARGOSY__REQUEST__WHAT_RIGHT_CHECK] = {.answer_to = access_tokens_answer_check},
        [ARGOSY__REQUEST__WHAT_QUEUE_LIST] = {.answer = queue_answer_list},

        [ARGOSY__REQUEST__WHAT_WAIT] = {.begin = waiter_start},
        [ARGOSY__REQUEST__WHAT_DRAIN_WAIT] = {.begin = wait_start},
        [ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT] = {.begin = wait_start},
        [ARGOSY__REQUEST__WHAT_JOB_WAIT] = {.begin = job_waiter_start},
        [ARGOSY__REQUEST__WHAT_MANAGER_WAIT] = {.begin = wait_start},

        [ARGOSY__REQUEST__WHAT_EVENTS] = {.begin = watcher_start},

        [ARGOSY__REQUEST__WHAT_CHANGE] = {.decide = decide_change,
                                          .log = {ENTRY_UNITS, BOUND_UNITS, AGAIN_PLANNED},
                                          .refuse = refuse_change},
        [ARGOSY__REQUEST__WHAT_UNDO] = {.decide = decide_undo,
                                        .log = {ENTRY_FULL, BOUND_LATER, AGAIN_PLANNED},
                                        .refuse = refuse_undo},
        [ARGOSY__REQUEST__WHAT_APPLY] = {.decide = decide_apply,
                                         .log = {ENTRY_FULL, BOUND_FOLDER, AGAIN_PLANNED},
                                         .refuse = decide_apply_refuse},
        [ARGOSY__REQUEST__WHAT_QUEUE_CHANGE] = {.plan = queue_plan_change,
                                                .log = {ENTRY_SMALL, BOUND_QUEUE, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_JOB_CANCEL] = {.decide = decide_cancel,
                                              .log = {ENTRY_FULL, BOUND_LATER, AGAIN_ANSWERED},
                                              .refuse = queue_refuse_cancel},
        [ARGOSY__REQUEST__WHAT_JOB_RELEASE] = {.plan = queue_plan_release,
                                               .log = {ENTRY_SMALL, BOUND_JOBS, AGAIN_ANSWERED},
                                               .refuse = queue_refuse_release},
        [ARGOSY__REQUEST__WHAT_FORGET] = {.plan = forget_plan,
                                          .log = {ENTRY_SMALL, BOUND_CONTENTS, AGAIN_ANSWERED}},
        // later rebalances also touch the units that they move
        [ARGOSY__REQUEST__WHAT_REBALANCE] = {.plan = rebalance_request,
                                             .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED},
                                             .refuse = rebalance_refuse},
        [ARGOSY__REQUEST__WHAT_ROLLOUT] = {.plan = rollout_controller_plan,
                                           .log = {ENTRY_SMALL, BOUND_GROUP, AGAIN_CURRENT},
                                           .refuse = refuse_rollout},
        [ARGOSY__REQUEST__WHAT_NODE_CHANGE] = {.plan = nodes_plan_modes,
                                               .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_LABEL_CHANGE] = {.plan = nodes_plan_labels,
                                                .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_ROLE_CHANGE] = {.plan = roles_plan_role,
                                               .log = {ENTRY_SMALL, BOUND_ROLES, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_POOL_CHANGE] = {.plan = roles_plan_pool,
                                               .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN] = {.plan = members_plan_token,
                                                 .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE] = {.plan = host_removal_plan,
                                                  .may_begin = host_removal_is_ready,
                                                  .failed = host_removal_failed,
                                                  .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_ROLE] = {.plan = host_roles_plan,
                                                .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS] = {.plan = host_roles_plan_voters,
                                                  .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA] = {.plan = ca_controller_plan,
                                                     .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME] = {.plan = time_set_plan,
                                                    .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_ACCESS_CHANGE] = {.plan = access_plan_change,
                                                 .log = {ENTRY_SMALL, BOUND_RIGHTS, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_TOKEN_CREATE] = {.plan = access_tokens_plan_create,
                                                .log = {ENTRY_SMALL, BOUND_RIGHTS, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_TOKEN_REVOKE] = {.plan = access_tokens_plan_revoke,
                                                .log = {ENTRY_SMALL, BOUND_RIGHTS, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_SECRET_SET] = {.plan = secrets_plan_set,
                                              .may_begin = secrets_may_set,
                                              .log = {ENTRY_SMALL, BOUND_SECRETS, AGAIN_ANSWERED},
                                              .refuse = secrets_refuse_set},
        [ARGOSY__REQUEST__WHAT_SECRET_DELETE] = {.plan = secrets_plan_delete,
                                                 .log = {ENTRY_SMALL, BOUND_SECRETS, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_SECRET_ROTATE_KEY] = {.plan = secrets_key_controller_plan,
                                                     .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
        [ARGOSY__REQUEST__WHAT_JOIN] = {.plan = members_plan_join,
                                        .log = {ENTRY_SMALL, BOUND_CLUSTER, AGAIN_ANSWERED}},
};

static bool is_handled(const Handler *h) {
        return h->answer || h->answer_to || h->answer_each || h->begin || h->plan || h->decide;
}

// Requests that nodes answer have one handler; leader/queries/node-questions.c has their differences.
static const Handler asks_nodes = {.begin = node_questions_start};

const Handler *handler_find(Argosy__Request__WhatCase what) {
        const RequestKind *kind = request_kind(what);
        size_t i = (size_t) what;

        if (kind && kind->by == REQUEST_BY_NODES)
                return node_questions_has(what) ? &asks_nodes : NULL;
        return i < ELEMENTSOF(handlers) && is_handled(&handlers[i]) ? &handlers[i] : NULL;
}

// ------------------------------------------------------------------------------------------------ at once

// Counts the bytes of an answer, since all of it waits in one queue of limited size.
typedef struct Measured {
        LeaderRespond respond;
        void *userdata;
        size_t bytes;
        bool ended;
} Measured;

static void on_measured(const Argosy__Response *response, void *userdata) {
        _cleanup_response_ Argosy__Response *instead = NULL;
        Measured *m = userdata;

        if (m->ended)
                return;
        m->bytes += argosy__response__get_packed_size(response);
        if (m->bytes > ANSWER_BYTES_MAX) {
                m->ended = true;
                instead = response_too_long(m->bytes, false);
                if (!instead)
                        return;
                instead->id = response->id;
                response = instead;
        }
        m->respond(response, m->userdata);
}

static void answer_whole(Leader *l, const Handler *h, const Argosy__Author *author,
                         const Argosy__Request *request, Measured *m) {
        _cleanup_response_ Argosy__Response *r = h->refuse ? h->refuse(request) : NULL;

        if (!r)
                r = h->answer_to ? h->answer_to(l, author, request) : h->answer(l, request);
        if (!r)
                r = response_error(ENOMEM, "the leader is out of memory");
        if (!r)
                return;
        authorization_filter(l, author, r);
        r->id = request->id;
        r->final = true;
        r->no_leader = !l->leading;
        on_measured(r, m);
}

bool handler_answer(Leader *l, const Handler *h, const Argosy__Author *author,
                    const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Measured m = {.respond = respond, .userdata = userdata};

        if (h && h->is_long && h->is_long(l, request))
                return false;
        if (h && (h->answer || h->answer_to))
                answer_whole(l, h, author, request, &m);
        else if (h && h->answer_each)
                h->answer_each(l, request, on_measured, &m);
        else
                return false;
        return true;
}
