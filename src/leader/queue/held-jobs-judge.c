// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Held jobs that are due are judged, in the order of their numbers: one that may go becomes a pending
// request, as if its author had just asked for it; another stands where what holds it will be noticed. What
// holds it may have changed between the turn in which it may go and the one in which its entry is made: the
// job is judged again there, and goes back. When the rules change, all that go and have not begun are due
// again at once: one that another limit counts from then on has its place among those of that limit before
// anybody else comes, however long it waits for something else, such as a registry.
//
// So many units are compared with rules in one turn; the job at which that ends stays due, and goes on in
// the next.
//
// Failures: a pending request that could not be decided for want of a leader, or of room on the voters'
// disks, is made again, a second later in the latter case. One that was refused ends its job as cancelled,
// with the words of the refusal. What the log keeps and this build cannot read is no request, and ends
// likewise. Without memory the process ends (oom.h).

#include "held-jobs-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "authorization.h"
#include "feature-level.h"
#include "job-words.h"
#include "log-format.h"
#include "message.h"
#include "oom.h"
#include "queue-policy.h"
#include "queue-subject.h"
#include "request-kind.h"
#include "response.h"
#include "turn.h"
#include "walks.h"

// ------------------------------------------------------------------------------------- without having begun

static void cancel_after(Leader *l, HeldJob *h, const Argosy__StoredRequest *m) {
        char why[HELD_WHY_SIZE] = "";

        for (size_t i = 0; i < m->n_after && !*why; i++)
                if (held_job_after(cluster_state_job_state(l->state, m->after[i])) == HELD_AFTER_FAILED)
                        snprintf(why, sizeof(why), "job %" PRIu64 ", which it waited for, is not done",
                                 m->after[i]);
        held_job_end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, why);
}

static void name_refused(HeldJob *h, const Argosy__Response__UnitResult *u) {
        Argosy__JobUnitEnd *e;

        h->end.failed++;
        if (h->end.n_ends == JOB_REFUSED_MAX)
                return;
        e = oom_checked(job_unit_end_new(u->name, ARGOSY__UNIT_END__END_FAILED, "", u->message));
        (void) oom_check(FIELD_APPEND(h->end.ends, h->end.n_ends, e));
}

// There was nothing to do, or nothing that could be done.
static void end_without_effect(Leader *l, HeldJob *h, const Argosy__Response *r) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                for (size_t i = 0; i < r->change->n_units; i++)
                        if (r->change->units[i]->status != 0)
                                name_refused(h, r->change->units[i]);
        held_job_end(l, h, h->end.failed > 0 ? ARGOSY__JOB_STATE__JOB_FAILED : ARGOSY__JOB_STATE__JOB_DONE,
                     "");
}

// ------------------------------------------------------------------------------------------------ going

static bool is_to_be_tried_again(const Argosy__Response *r) {
        return r->no_leader || r->status == ENOMEM;
}

// The answer to its pending request, if its effect is not in the log with all of it: then nobody asks any
// more.
static void on_response(const Argosy__Response *r, void *userdata) {
        HeldJob *h = userdata;
        Leader *l = h->leader;

        if (!r->final)
                return;
        held_job_leave(h);
        held_job_goes_no_more(h);
        if (is_to_be_tried_again(r))
                held_job_make_due(l, h);
        else if (held_job_has_begun(l, h)) { // it ends with what was begun
                held_job_say(h, r->message);
                leader_mark(l);
        } else if (r->status != 0)
                held_job_end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, r->message);
        else
                end_without_effect(l, h, r);
}

static void go(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, const Argosy__QueueRule *rule) {
        PendingRequest *t = oom_checked(request_take(l, TAKE_PTR(h->request), on_response, h));

        queue_look_keep(t, TAKE_PTR(h->look));
        t->author = oom_checked(message_copy(m->author));
        authorization_drop_files(l, t);
        t->held = h;
        request_set_job(t, held_job_has_begun(l, h) ? h->number
                                                    : 0); // of which another leader has written a chunk
        h->pending = t;
        if (t->job == 0)
                list_append(&l->held_going, &h->queue);
        l->n_held_going++;
        if (rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT) {
                h->limit = held_limit_get(l, rule->number);
                h->limit->n_going++;
        }
        held_job_give_up_room(h);
        (void) oom_check(request_wait(t, &l->queue));
}

void held_job_put_back(Leader *l, PendingRequest *t) {
        HeldJob *h = t->held;

        held_job_leave(h);
        held_job_goes_no_more(h);
        request_stop_answering(t);
        request_free(t);
        held_job_make_due(l, h);
}

// The rules are other ones than those by which some of those that go were let go. Not while an entry is on
// its way, which may be theirs; a rebalance that is being planned, or a host that is being removed, is in no
// queue, or under way, and goes on.
static void put_all_back(Leader *l) {
        if (!l->held_put_back_due || l->batch_flying)
                return;
        l->held_put_back_due = false;
        list_foreach_safe (i, &l->held_going) {
                PendingRequest *t = CONTAINER_OF(i, HeldJob, queue)->pending;

                if (list_is_linked(&t->queue) && !t->under_way)
                        held_job_put_back(l, t);
        }
}

// Those that it was asked to wait for are done. A rebalance that has no job yet gets one, and is 0 until
// then.
static void stand_behind(Leader *l, HeldJob *h, const Argosy__Request *request) {
        uint64_t job = 0;

        held_job_stop_awaiting(l, h);
        (void) queue_exclusive_job(l, request, &job);
        held_job_await(l, h, job);
        list_append(&l->held_behind, &h->queue);
        if (job > 0)
                return;
        l->rebalance_job->awaited = true;
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ judged

// Where what holds it will be noticed.
static void stand(Leader *l, HeldJob *h, HeldJobVerdict v, const Argosy__QueueRule *rule,
                  const Argosy__Request *request) {
        held_job_leave(h);
        h->why = v;
        h->rule = rule ? rule->number : 0;
        h->watch = queue_look_take_watch(h->look, h);
        if (v == HELD_JOB_CLOSED)
                list_append(&l->held_closed, &h->queue);
        else if (v == HELD_JOB_RULE)
                list_append(&l->held_by_rules, &h->queue);
        else if (v == HELD_JOB_LIMIT)
                held_limit_wait(h, held_limit_get(l, rule->number));
        else if (v == HELD_JOB_BEHIND)
                stand_behind(l, h, request);
}

// NULL: it is none that this build can read.
static Argosy__Request *read_request(const Argosy__StoredRequest *m) {
        const RequestKind *kind;
        void *request;

        if (!m->author ||
            message_unpack(&argosy__request__descriptor, m->request.data, m->request.len, &request) < 0)
                return NULL;
        kind = request_kind(((Argosy__Request *) request)->what_case);
        if (log_format_check(request, FEATURE_LEVEL, NULL) == 0 && kind && kind->by == REQUEST_BY_LEADER &&
            kind->effect == REQUEST_CHANGES && queue_policy_can_hold(request))
                return request;
        message_free(request);
        return NULL;
}

static void carry_out(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, HeldJobVerdict v,
                      const Argosy__QueueRule *rule) {
        if (v == HELD_JOB_GOES)
                go(l, h, m, rule);
        else if (v == HELD_JOB_OVER)
                cancel_after(l, h, m);
        else if (v == HELD_JOB_REFUSED)
                held_job_end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, rule->text);
        else
                stand(l, h, v, rule, h->request);
        held_job_forget_request(h);
}

// False: it is due still, and judged in a later turn.
static bool judge_due(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, size_t *left) {
        const Argosy__QueueRule *rule = NULL;
        HeldJobVerdict v = held_job_has_begun(l, h) ? HELD_JOB_GOES : held_verdict_without_rules(l, m);
        bool took_turns = h->look;

        l->n_held_judged++;
        if (v == HELD_JOB_GOES && !h->request)
                h->request = read_request(m);
        if (v == HELD_JOB_GOES && !h->request)
                held_job_end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED,
                             "the leader's version cannot carry out such a request");
        else if (v != HELD_JOB_GOES || held_job_has_begun(l, h) ||
                 held_verdict_find(l, &(HeldQuestion){m->author, h->request, m, HELD_IS_DUE}, left, &h->look,
                                   &v, &rule)) {
                if (v == HELD_JOB_GOES && !took_turns) // it is asked anew when it is decided
                        h->look = queue_look_free(h->look);
                carry_out(l, h, m, v, rule);
        } else
                return false;
        return true;
}

enum {
        ASKING_MAX = 16, // jobs that ask hosts, for each one that may go beside them
};

// Those that ask hosts hold up nobody: a registry may take a minute to say nothing.
static bool may_go(const Leader *l) {
        return l->n_held_going - l->n_held_asking < l->limits.held_going &&
               l->n_held_asking < ASKING_MAX * l->limits.held_going;
}

void held_jobs_step(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_HELD];
        size_t n = 0, bytes = 0, most = walk_slice(walk, l->limits.held_judged),
               left = walk_slice(walk, l->limits.held_looks);

        queue_watches_turn(l);
        if (l->pause_us > leader_now(l))
                return;
        put_all_back(l);
        for (HeldJob *h; (h = queue_take_changed(l));)
                held_job_make_due(l, h);
        while (l->held_due.n > 0 && may_go(l) && n++ < most &&
               bytes < walk_slice(walk, l->limits.held_bytes)) {
                HeldJob *h = CONTAINER_OF(deadline_heap_pop(&l->held_due, UINT64_MAX), HeldJob, due);
                const Argosy__StoredRequest *m = cluster_state_find_stored_request(l->state, h->number);

                bytes += m->request.len;
                if (judge_due(l, h, m, &left))
                        continue;
                held_job_stay_due(l, h);
                break; // no job behind it goes before it
        }
        walk_sliced(l, walk, l->held_due.n > 0 ? 0 : 1);
        if (l->held_due.n > 0 && may_go(l)) // else their entry marks it, or what hosts say
                leader_mark(l);
}

// It goes for no place of this limit: since it goes the rules have changed. Among those of this one it is
// judged anew, in the order of numbers.
static bool is_of_another_limit(const HeldJob *h, const Argosy__QueueRule *rule) {
        return rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT &&
               (!h->limit || h->limit->rule != rule->number);
}

bool held_jobs_judge(Leader *l, PendingRequest *t, HeldJobVerdict *ret, const Argosy__QueueRule **ret_rule) {
        const Argosy__StoredRequest *m =
                t->held ? cluster_state_find_stored_request(l->state, t->held->number) : NULL;
        QueueLook *look = queue_look_take(t);
        size_t left = l->limits.held_looks;
        bool took_turns = look, known;

        known = held_verdict_find(l,
                                  &(HeldQuestion){.author = m ? m->author : t->author,
                                                  .request = t->request,
                                                  .stored = m,
                                                  .moment = m ? HELD_DECIDED : HELD_COMES},
                                  &left, &look, ret, ret_rule);
        if (known && t->held && *ret == HELD_JOB_GOES && is_of_another_limit(t->held, *ret_rule))
                *ret = HELD_JOB_LIMIT;
        if (known && !took_turns) // should it come by here again, it is asked anew
                look = queue_look_free(look);
        queue_look_keep(t, look);
        return known;
}
