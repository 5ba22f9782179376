// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests for a rebalance, or for what one would do, and their answers: every move as it ends, and at the
// end what was left and why.
//
// A request that cannot be taken on is refused at once. One that comes while a host is away for a moment
// waits in the queue, and so does one that only asks while another plan is being made. One that would rather
// wait than be refused for the rebalance that is under way does not come here before that is over: it is a
// job that is held back until then (jobs/decide-queue.c), and has no client when it begins. A client that
// sends its request again, also to the next leader, is told what is under way if that has the same id. A dry
// run ends when its client goes away.
#include <errno.h>
#include <inttypes.h>

#include "clock.h"
#include "held-jobs.h"
#include "message.h"
#include "rebalance-private.h"
#include "rebalances.h"
#include "response.h"
#include "pending-requests.h"
#include "turn.h"

// ------------------------------------------------------------------------------------------------ requests

static int add_move(const Leader *l, Argosy__Response *response, const Move *m) {
        Argosy__Response__Rebalance *r = response->rebalance;
        Argosy__Response__Rebalance__Move *row = calloc(1, sizeof *row);

        if (!row)
                return -ENOMEM;
        argosy__response__rebalance__move__init(row);
        if (FIELD_APPEND(r->moves, r->n_moves, row) < 0 || field_set(&row->unit, m->unit) < 0 ||
            field_set(&row->from, rebalance_node_name(l, m->from)) < 0 ||
            field_set(&row->to, rebalance_node_name(l, m->to)) < 0 || field_set(&row->why, m->why) < 0 ||
            field_set(&row->error, m->error) < 0)
                return -ENOMEM;
        return 0;
}

static Argosy__Response *response_about(const Leader *l, const Rebalance *o, size_t from, size_t to) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_REBALANCE);

        if (!response)
                return NULL;
        for (size_t i = from; i < to; i++)
                if (o->moves[i].from > 0 && add_move(l, response, &o->moves[i]) < 0)
                        return NULL;
        response->rebalance->remaining = (uint32_t) (o->n_moves - to);
        response->rebalance->more = o->more;
        return TAKE_PTR(response);
}

static uint64_t bound_to(const PendingRequest *t) {
        return t->request->job ? t->request->job->if_revision : 0;
}

// A leader before this one may have moved some.
static Argosy__Response *changed_response(const Rebalance *o) {
        return response_error(ESTALE,
                              "units, hosts or pools: something may have changed after revision %" PRIu64
                              ": nothing is moved",
                              o->if_revision);
}

// Who asked is not to be answered any more. Others may wait for their turn.
static void forget_asked(PendingRequest *t, RequestWork *work) {
        t->leader->rebalance_asked = rebalance_free(t->leader->rebalance_asked);
        leader_mark(t->leader);
        free(work);
}

static const RequestWorkKind asker_kind = {forget_asked};

// A search at a time: who comes while there is one stays in the queue.
static int ask(Leader *l, PendingRequest *t) {
        RequestWork *asker;
        int r;

        if (l->rebalance_asked || (l->rebalance && l->rebalance->search))
                return 0;
        asker = calloc(1, sizeof(*asker));
        r = asker ? rebalance_new(t->request->rebalance, &l->rebalance_asked) : -ENOMEM;
        if (r < 0) {
                free(asker);
                return r;
        }
        request_add_work(t, &asker_kind, asker);
        l->rebalance_asked->asker = t;
        l->rebalance_asked->if_revision = bound_to(t);
        request_leave_queue(t); // it is found by that alone
        leader_mark(l);
        return 0;
}

void rebalance_answer(Leader *l, Scheduler **scheduler) {
        Rebalance *o = l->rebalance_asked;
        int r;

        if (!o || rebalance_has_to_wait(l))
                return;
        r = rebalance_advance(l, o, scheduler);
        if (r == 0)
                return;
        request_settle(o->asker, r < 0                         ? NULL // ends with forget_asked()
                                : rebalance_is_outdated(l, o) ? changed_response(o)
                                                              : response_about(l, o, 0, o->n_moves));
}

static int join(Leader *l, PendingRequest *t) {
        request_leave_queue(t);
        request_join(t, PENDING_REBALANCE, &l->rebalance_waiters);
        request_set_job(t, l->rebalance->job.number);
        leader_mark(l);
        return 0;
}

// The log keeps its request: a leader before this one has begun it.
static int resume(Leader *l, Rebalance *o, uint64_t number) {
        Argosy__JobRecord *record;
        int r = cluster_state_read_job(l->state, number, &record);

        if (r < 0)
                return r;
        o->aborted = record->n_cancelled_by > 0;
        o->job.number = number;
        r = rebalance_resume(l, o, record);
        message_free(record);
        return r;
}

// What a former leader has moved may still be coming up, and whoever goes on after it asks for the rest.
// Nobody is told that all is even before it is, and no more are on their way at a time.
static int watch_former(Leader *l, Rebalance *o) {
        Argosy__JobRecord *former;
        int r;

        if (cluster_state_job_state(l->state, l->rebalance_open) != ARGOSY__JOB_STATE__JOB_RUNNING)
                return 0;
        r = cluster_state_read_job(l->state, l->rebalance_open, &former);
        if (r < 0)
                return r;
        r = rebalance_resume(l, o, former);
        o->n_former = o->n_begun;
        message_free(former);
        return r;
}

static int begin(Leader *l, const PendingRequest *t) {
        _cleanup_(rebalance_freep) Rebalance *o = NULL;
        int r = rebalance_new(t->request->rebalance, &o);

        if (r < 0)
                return r;
        o->job.request = message_copy(t->request);
        o->job.author = message_copy(t->author);
        if (!o->job.request || !o->job.author)
                return -ENOMEM;
        o->job.content = t->content;
        o->job.limited_by = t->limited_by;
        o->job.held = t->held ? held_job_number(t->held) : t->job;
        if (t->job == 0)
                o->if_revision = bound_to(t);
        r = t->job == 0 ? watch_former(l, o) : resume(l, o, t->job);
        if (r < 0)
                return r;
        l->rebalance = TAKE_PTR(o);
        l->rebalance_job = &l->rebalance->job;
        return 0;
}

// One that a leader before this one has begun, and that the log keeps, is about to go on.
static bool is_to_be_resumed(const Leader *l) {
        return !l->rebalance &&
               cluster_state_job_state(l->state, l->rebalance_open) == ARGOSY__JOB_STATE__JOB_RUNNING &&
               cluster_state_find_stored_request(l->state, l->rebalance_open);
}

static void on_abort_committed(Leader *l, PendingRequest *t) {
        request_calls_off(t, NULL, 0);
        if (l->rebalance)
                rebalance_abort(l);
}

// It is a job, whose entry has nothing of its own and names that of the rebalance, which may be in the same
// entry; 0, which no job is, if there is no move yet. Returns what Handler.plan does.
static int plan_abort(Leader *l, PendingRequest *t) {
        Rebalance *o = l->rebalance;

        if (is_to_be_resumed(l))
                return 0; // it stays in the queue
        if (!o || o->over)
                return request_refuse(t, ENOENT, "no rebalance is under way");
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        if (o->aborted) {
                rebalance_abort(l);
                request_settle(t, request_take_prepared(t));
                return 0;
        }
        request_calls_off(t, o->job.number > 0 ? &o->job.number : &o->job.flying, 1);
        request_when_committed(t, on_abort_committed, false);
        return PLAN_IN_BATCH;
}

Argosy__Response *rebalance_refuse(const Argosy__Request *request) {
        const Argosy__Request__Rebalance *m = request->rebalance;
        const char *error = name_patterns_error(m->patterns, m->n_patterns);

        if (m->n_patterns > REBALANCE_PATTERNS_MAX)
                return response_error(E2BIG, "more than 1000 patterns");
        if (error)
                return response_error(E2BIG, "%s", error);
        if (m->abort)
                return NULL;
        if (m->health_us > REBALANCE_HEALTH_MAX_SEC * USEC_PER_SEC)
                return response_error(EINVAL, "a health time of more than an hour");
        return m->preview || m->id.len == REBALANCE_ID_LEN
                       ? NULL
                       : response_error(EINVAL, "the request has no id of 16 bytes");
}

// What the log has begun goes on, and is not ended beside another one.
static int meet_other(const Leader *l, PendingRequest *t) {
        if (t->job > 0 || (l->rebalance && l->rebalance->over))
                return 0; // it stays in the queue until that is gone
        return request_refuse(t, EEXIST,
                             "another rebalance is under way; wait for its end (--queue), or end it "
                             "with `argosyctl rebalance --abort`");
}

int rebalance_request(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__Rebalance *m = t->request->rebalance;
        int r;

        if (m->abort)
                return plan_abort(l, t);
        if (!m->preview && t->job == 0 && is_to_be_resumed(l))
                return meet_other(l, t);
        if (rebalance_has_to_wait(l))
                return 0; // it stays in the queue
        if (m->preview)
                return ask(l, t);
        if (l->rebalance && !rebalance_job_is_asked_by(&l->rebalance->job, t->request))
                return meet_other(l, t);
        r = l->rebalance ? 0 : begin(l, t);
        return r < 0 ? r : join(l, t);
}

// ------------------------------------------------------------------------------------------------ telling

static Argosy__Response *last_response(const Leader *l, const Rebalance *o, size_t n_reported) {
        Argosy__Response *r =
                o->changed ? changed_response(o) : response_about(l, o, n_reported, o->n_ended);
        size_t left = o->n_moves - o->n_ended;

        if (!r || o->changed)
                return r;
        if (*o->failure) {
                r->status = EIO;
                (void) field_printf(&r->message, "%s; nothing more is moved", o->failure);
        } else if (o->aborted) {
                r->status = ECANCELED;
                (void) field_set(&r->message, "somebody ended it with --abort");
        } else if (left)
                (void) field_printf(
                        &r->message,
                        "%zu more would be better off elsewhere and cannot be moved now: too many "
                        "of their group are down, or something has changed",
                        left);
        return r;
}

// The log has the end of it, or need not.
static bool is_gone(const Leader *l) {
        return l->rebalance->over && !l->rebalance_job;
}

static void notify(Leader *l, PendingRequest *t) {
        const Rebalance *o = l->rebalance;
        bool is_first = t->reported == REQUEST_REPORTED_NOTHING;
        size_t n_reported = is_first ? 0 : t->reported;

        if (is_gone(l)) {
                request_settle(t, last_response(l, o, n_reported));
                return;
        }
        if (t->held) // it has no client
                return;
        if (t->request->rebalance->no_wait) {
                if (t->job > 0)
                        request_settle(t, response_about(l, o, 0, 0));
                return;
        }
        if (n_reported == o->n_ended && (!is_first || !o->planned))
                return;
        (void) request_report(t, o->n_ended);
        request_send(t, response_about(l, o, n_reported, o->n_ended));
}

void rebalance_notify(Leader *l) {
        if (!l->rebalance)
                return;
        list_foreach_safe (i, &l->rebalance_waiters)
                notify(l, request_in(i, PENDING_REBALANCE));
        if (!is_gone(l))
                return;
        l->rebalance = rebalance_free(l->rebalance);
        held_jobs_on_rebalance(l);
        leader_mark(l); // others may wait for their turn
}
