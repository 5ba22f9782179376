// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What goes into the next log entry: everything that has become decidable since the last one was proposed.
// Only one entry is on its way at a time, because what is decided here builds on the state as it is applied.
//
// In the order of the table of steps, each of which says when it has work. Previews have turns in which
// nothing is decided. Whatever touches a record that the entry touches already waits.
#include "decide.h"

#include <errno.h>
#include <inttypes.h>

#include "access-tokens.h"
#include "answer-cursor.h"
#include "author-jobs.h"
#include "batch-builder.h"
#include "ca-controller.h"
#include "due.h"
#include "host-leases.h"
#include "secrets-key-controller.h"
#include "clock.h"
#include "data-nodes.h"
#include "decide-jobs.h"
#include "decide-moves.h"
#include "decide-requests.h"
#include "decision.h"
#include "dependencies.h"
#include "feature-controller.h"
#include "held-jobs.h"
#include "host-complaints.h"
#include "host-marks.h"
#include "host-record.h"
#include "job-state.h"
#include "job-words.h"
#include "log.h"
#include "members.h"
#include "message.h"
#include "nodes.h"
#include "oom.h"
#include "open-jobs.h"
#include "own-jobs.h"
#include "previous-nodes.h"
#include "rebalances.h"
#include "registry.h"
#include "response.h"
#include "reverts.h"
#include "retry-controller.h"
#include "rollout-controller.h"
#include "schedule-queue.h"
#include "scheduler.h"
#include "secrets.h"
#include "sessions.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "pending-requests.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-work.h"
#include "voter-secrets-controller.h"
#include "voters.h"

static int decide_outcomes(Decision *d) {
        Leader *l = d->leader;
        ListNode later = LIST_INIT(later);
        unsigned looked = 0;
        int r = 0;

        for (; r >= 0 && looked < l->limits.outcomes_looked && !list_is_empty(&l->outcomes) &&
               batch_builder_takes_more(&d->batch);
             looked++) {
                UnitOnNodeWork *w = CONTAINER_OF(l->outcomes.next, UnitOnNodeWork, outcome_due);
                UnitOnNode *s = w->on_node;
                const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

                list_unlink(&w->outcome_due);
                // of one on thousands of nodes, its record is gone through once
                if (batch_builder_has_unit(&d->batch, s->unit->name)) {
                        list_append(&later, &w->outcome_due);
                        continue;
                }
                if (!w->outcome || !e || e->record->start_rev != w->outcome->start_rev ||
                    record_final_outcome(e->record, s->node->number)) {
                        unit_on_node_work_forget_outcome(s);
                        continue;
                }
                list_append(&l->outcomes_flying, &w->outcome_due);
                r = batch_builder_put_outcome(&d->batch, s->unit->name, w->outcome);
        }
        list_splice(&l->outcomes, &later);
        if (looked == l->limits.outcomes_looked)
                leader_mark(l);
        return r;
}

// What others say about the host may have changed since the pending record was made.
static int decide_hosts(Decision *d) {
        Leader *l = d->leader;

        list_foreach_safe (i, &l->pending_records_due) {
                Host *h = CONTAINER_OF(i, Host, pending_record_queue);
                const Argosy__HostRecord *now = cluster_state_find_host(l->state, h->number);
                int r;

                if (!now || batch_builder_has_host(&d->batch, h->number))
                        continue;
                if (!batch_builder_takes_more(&d->batch))
                        return 0;
                r = host_record_keep(h->pending_record, now);
                if (r >= 0 && host_records_equal(h->pending_record, now)) { // the entry before had it
                        host_set_pending_record(l, h, NULL);
                        continue;
                }
                if (r >= 0)
                        r = batch_builder_put_host(&d->batch, h->pending_record);
                if (r >= 0)
                        r = tombstones_chunk_with_host(l, &d->batch, h->pending_record);
                if (r < 0)
                        return r;
                list_unlink(i);
                list_append(&l->pending_records_flying, i);
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the batch

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        Leader *l = userdata;

        if (index > l->index)
                l->index = index;
        decide_done(l, outcome);
        leader_outside_done(l);
}

static bool lacks_room(const StoreStats *stats, uint32_t raft_id) {
        for (size_t i = 0; i < stats->n_members; i++)
                if (stats->members[i].raft_id == raft_id)
                        return stats->members[i].voter && stats->members[i].lacks_room;
        return false;
}

// Those that have said so. If these are not the most any more, some have found room meanwhile, and nobody is
// named.
static void name_voters_without_room(const Leader *l, char *ret, size_t size) {
        size_t n, n_voters = 0, n_named = 0, len = 0;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);
        StoreStats stats = {};

        l->ops.stats(&stats, l->userdata);
        for (size_t i = 0; i < stats.n_members; i++)
                n_voters += stats.members[i].voter;
        for (size_t i = 0; i < n; i++)
                if (lacks_room(&stats, hosts[i].record->raft_id))
                        len += str_fit(ret + len, size - len, "%s%s", n_named++ ? ", " : " (",
                                       hosts[i].record->name);
        if (n_named > n_voters / 2)
                str_fit(ret + len, size - len, ")");
        else
                *ret = '\0';
}

// The log has no room as long as most voters' disks are full.
static Argosy__Response *no_space_response(const Leader *l, const PendingRequest *t) {
        char names[STR_WHY_SIZE];
        DecideExtent text;

        name_voters_without_room(l, names, sizeof(names));
        return response_error(
                ENOSPC, "the disk under %s has no room for the log on most of the voters%s: %s",
                l->config.user ? "the state directories" : "/var/lib/argosy", names, decide_extent(t, text));
}

// A job that is held back goes on being that: nobody else would ask for it again.
static Argosy__Response *try_later(const PendingRequest *t, Argosy__Response *r) {
        if (r && t->held)
                r->no_leader = true;
        return r;
}

static Argosy__Response *failed_response(const Leader *l, const PendingRequest *t, StoreOutcome outcome) {
        Argosy__Response *r;

        if (outcome == STORE_NO_SPACE)
                return try_later(t, no_space_response(l, t));
        r = response_error(EAGAIN, "the leader changed %s; sending the same request again is safe",
                           outcome == STORE_UNKNOWN ? "before it knew whether the change was kept"
                           : t->n_kept || t->job    ? "in the middle of the change"
                                                    : "before anything was changed");
        if (r)
                r->no_leader = true;
        return r;
}

static Host *pending_record_that_flew(const Leader *l) {
        const ListNode *first = l->pending_records_flying.next;

        return first == &l->pending_records_flying ? NULL : CONTAINER_OF(first, Host, pending_record_queue);
}

// Those that were in the entry. A newer one of the same host is still to be written.
static void forget_granted_records(Leader *l) {
        Host *h;

        while ((h = pending_record_that_flew(l)))
                host_set_pending_record(l, h, NULL);
}

// What we decided of our own accord is still to be done. Units that were to move are looked at once more
// anyhow (land()).
static void mark_everything(Leader *l) {
        leader_set_due(l, DUE_PLACEMENT | DUE_FEATURES | DUE_VOTER_SECRETS | DUE_GLOBALS | DUE_OLD_SECRETS);
        rollout_controller_mark_all(l);
        retry_controller_take_back(l);
        list_splice(&l->pending_records_due, &l->pending_records_flying);
        list_splice(&l->outcomes, &l->outcomes_flying);
        map_foreach (slot, &l->hosts)
                host_mark_tombstones(l, slot->value);
}

// What was decided and did not come to the log is decided anew a little later.
static void take_back(Leader *l) {
        l->pause_us = leader_now(l) + USEC_PER_SEC;
        mark_everything(l);
}

static void on_no_space(Leader *l) {
        if (l->pause_us <= leader_now(l))
                log_error("The disks of most voters have no room for the log: nothing can be changed until "
                          "they have.");
        take_back(l);
}

// Whether they still have to go somewhere else is asked again, whatever became of the batch.
static void land(Leader *l) {
        while (!list_is_empty(&l->moved)) {
                Unit *u = CONTAINER_OF(l->moved.next, UnitWork, queue)->unit;

                unit_event(l, u, u->node ? LIFE_LANDED : LIFE_IS_UNPLACED);
        }
}

// What nothing follows from has ended with its entry; other jobs are counted as they end
// (queries/open-jobs-ends.c).
static void tally_job_of(Leader *l, const PendingRequest *t) {
        Argosy__JobState state = cluster_state_job_state(l->state, t->job_flying);

        if (t->job_flying && t->job == 0 && !job_state_is_open(state))
                tally_job(l, tally_job_row(l, job_verb(t->request)), ARGOSY__JOB_STATE__JOB_UNKNOWN, state);
}

// Nothing comes to that which was judged (batch-builder.c). Were it so, the rest would make the job look
// whole.
static bool has_failed_in_the_log(const Leader *l, const PendingRequest *t) {
        return t->job > 0 && cluster_state_figures(l->state).state_operations_refused > l->n_refused &&
               cluster_state_job_state(l->state, t->job) == ARGOSY__JOB_STATE__JOB_FAILED;
}

void decide_done(Leader *l, StoreOutcome outcome) {
        ListNode flying = LIST_INIT(flying), again = LIST_INIT(again);

        l->batch_flying = false;
        land(l);
        list_splice(&l->outcomes, &l->outcomes_flying); // those that the log has by now are found there
        list_splice(&flying, &l->flying);
        list_foreach_safe (i, &flying) {
                PendingRequest *t = CONTAINER_OF(i, PendingRequest, queue);

                list_unlink(&t->queue);
                if (outcome != STORE_COMMITTED) {
                        request_settle(t, failed_response(l, t, outcome));
                        continue;
                }
                tally_job_of(l, t);
                request_set_job(t, t->job_flying ?: t->job);
                if (t->again && has_failed_in_the_log(l, t)) {
                        request_refuse(t, EIO, "the log did not take all of it: job %" PRIu64 " says why",
                                      t->job);
                        continue;
                }
                if (t->again) {
                        request_on_committed(t);
                        list_append(&again, &t->queue);
                        continue;
                }
                request_on_committed(t);
                request_settle(t, request_take_prepared(t));
        }
        decide_requests_wait(&again); // others have their turn between two parts
        rebalance_job_landed(l, outcome == STORE_COMMITTED);
        open_jobs_landed(l, outcome == STORE_COMMITTED);
        own_jobs_landed(l, outcome == STORE_COMMITTED);
        held_limits_settle(l);
        author_jobs_settle(l);
        if (outcome == STORE_COMMITTED)
                forget_granted_records(l);
        else if (outcome == STORE_NO_SPACE && l->leading)
                on_no_space(l);
        leader_mark(l);
}

// What no entry of the log can hold is dropped, and nobody but who said it has to bear that. False: it is
// nothing that somebody said.
static bool drop_what_flies(Leader *l, size_t bytes) {
        bool dropped = !list_is_empty(&l->flying);
        Host *h;

        while ((h = pending_record_that_flew(l))) {
                host_set_pending_record(l, h, NULL);
                dropped = true;
                host_complain(l, h,
                              "what it says of itself makes %zu bytes of log, more than the %d that one "
                              "entry may have; its record is as it was before",
                              bytes, STORE_BATCH_MAX);
        }
        while (!list_is_empty(&l->outcomes_flying)) {
                UnitOnNodeWork *w = CONTAINER_OF(l->outcomes_flying.next, UnitOnNodeWork, outcome_due);
                UnitOnNode *s = w->on_node;

                list_unlink(&w->outcome_due);
                log_unit(LOG_ERR, s->unit->name, "The outcome of %s on %s is too long for the log.",
                         s->unit->name, s->node->name);
                unit_on_node_work_forget_outcome(s);
                dropped = true;
        }
        while (!list_is_empty(&l->flying)) {
                PendingRequest *t = CONTAINER_OF(l->flying.next, PendingRequest, queue);

                request_refuse(t, E2BIG,
                              "the request makes %zu bytes of log, more than the %d that one "
                              "entry may have: %s",
                              bytes, STORE_BATCH_MAX, decide_extent(t, (DecideExtent){}));
        }
        return dropped;
}

// The request that made the entry too long is found by deciding one thing at a time until nothing is left to
// decide.
static void on_too_long(Leader *l, size_t bytes) {
        log_warning("An entry of %zu bytes is more than the log takes%s.", bytes,
                    l->one_by_one ? ": what it was about is left out" : "; deciding one thing at a time");
        if (l->one_by_one && !drop_what_flies(l, bytes)) // our own doing: requests go on meanwhile
                l->pause_us = leader_now(l) + USEC_PER_SEC;
        list_foreach (i, &l->flying) {
                PendingRequest *t = CONTAINER_OF(i, PendingRequest, queue);

                (void) request_prepare(t, NULL);
                request_when_committed(t, NULL, t->again);
        }
        decide_requests_take_back(&l->flying);
        l->one_by_one = true;
        mark_everything(l);
        leader_mark(l);
}

// The log did not take the entry, and nobody will tell how it ended.
static void on_not_submitted(Leader *l, int error, size_t bytes) {
        if (error == -ENOSPC || error == -EAGAIN || error == -ESHUTDOWN) {
                decide_done(l, error == -ENOSPC ? STORE_NO_SPACE : STORE_NOT_LEADER);
                if (error == -EAGAIN && l->leading) // it hands over, and may lead on if nobody takes it
                        take_back(l);
                return;
        }
        l->batch_flying = false;
        land(l);
        if (error == -E2BIG) {
                on_too_long(l, bytes);
                return;
        }
        log_warning("The log does not take an entry: %s.", strerror(-error));
        while (!list_is_empty(&l->flying)) {
                PendingRequest *t = CONTAINER_OF(l->flying.next, PendingRequest, queue);

                request_settle(
                        t,
                        try_later(t, response_error(EBUSY, "the log does not take the change now: %s; %s",
                                                    strerror(-error), decide_extent(t, (DecideExtent){}))));
        }
        l->pause_us = leader_now(l) + USEC_PER_SEC;
        mark_everything(l);
}

static void submit(Decision *d) {
        Leader *l = d->leader;
        int r;

        r = batch_builder_set_time(&d->batch, leader_wall(l),
                                   leader_counted(l) - cluster_state_counted_us(l->state));
        if (r >= 0)
                r = l->ops.submit(d->batch.packed.data, d->batch.packed.len, on_done, l, l->userdata);
        list_splice(&l->flying, &d->taken);
        l->batch_flying = true;
        l->n_refused = cluster_state_figures(l->state).state_operations_refused;
        if (r >= 0)
                leader_outside_begun(l);
        else
                on_not_submitted(l, r, d->batch.packed.len);
}

// ------------------------------------------------------------------------------------------------ the steps

// What one step looks at is what those before it have put into the batch, too.
typedef struct DecideStep {
        DueWhen when;
        int (*decide)(Decision *d);
        int (*put)(Leader *l, BatchBuilder *b); // instead
        bool moves;  // what it moves gets a job of the cluster's own
        bool always; // also before Leader.pause_us: whoever asks is told why
} DecideStep;

static int decide_retries(Decision *d) {
        return retry_controller_decide(d->leader, &d->batch, &d->scheduler);
}

static int decide_rollouts(Decision *d) {
        return rollout_controller_decide(d->leader, &d->batch, &d->planned, &d->scheduler,
                                         decide_job_put_rollout, d);
}

static int decide_rebalance(Decision *d) {
        BatchBuilderMark mark = batch_builder_mark(&d->batch);
        int r = rebalance_decide(d->leader, &d->batch, &d->scheduler);

        return r < 0 ? r : decide_job_put_rebalance(d, mark);
}

static int decide_voters(Leader *l, BatchBuilder *b) {
        voters_step(l, b);
        return 0;
}

static int decide_asked(Decision *d) {
        d->batch.judges = true;
        decide_requests(d);
        d->batch.judges = false;
        return 0;
}

static bool has_something(const Decision *d) {
        return d->batch.n_ops > 0 || !list_is_empty(&d->taken);
}

// Whether what waits for an entry that is made anyhow goes into this one. Where one thing is decided at a
// time it does not wait: it would be part of the next entry again, which would be too long again.
static bool takes_what_waits(const Decision *d) {
        return has_something(d) || d->leader->one_by_one;
}

static int decide_own_jobs(Decision *d) {
        return own_jobs_decide(d, takes_what_waits(d));
}

static int decide_open_jobs(Decision *d) {
        return open_jobs_decide(d->leader, &d->batch, takes_what_waits(d));
}

static const DecideStep steps[] = {
        // what this leader decides of its own accord
        {WHEN(DUE_LIST(jobs_reverting)), reverts_decide},
        {WHEN(DUE_SET(moving.n)), decide_moves, .moves = true},
        {WHEN(DUE_LIST(retries), DUE_LIST(retries_stuck)), decide_retries, .moves = true},
        {WHEN(DUE_LIST(outcomes)), decide_outcomes},
        {WHEN(DUE_LIST(pending_records_due)), decide_hosts},
        {MARKED(DUE_FEATURES | DUE_SYNTHETIC), .put = feature_controller_decide},
        {WHEN(DUE_SET(lease_change_us)), .put = host_leases_decide},
        {MARKED_OR_WHEN(DUE_VOTER_SECRETS, DUE_SET(lacks_voter_secrets)),
         .put = voter_secrets_controller_decide},
        {MARKED(DUE_CA), .put = ca_controller_decide},
        {MARKED(DUE_SECRETS_KEY), .put = secrets_key_controller_decide},
        {WHEN(DUE_LIST(parting)), .put = tombstones_chunk_decide},
        {WHEN(DUE_LIST(rollouts), DUE_SET(rollout_due_us)), decide_rollouts},
        {WHEN(DUE_SET(rebalance), DUE_SET(rebalance_job)), decide_rebalance},
        {MARKED_OR_WHEN(DUE_VOTERS | DUE_MEMBERS, MARKED_HOSTS(HOST_VOTERS)), .put = decide_voters},
        // before requests: they were there first
        {MARKED_OR_WHEN(DUE_PLACEMENT, DUE_LIST(schedule[SCHEDULE_DUE]), DUE_LIST(schedule[SCHEDULE_LAST])),
         decide_pending,
         .moves = true},
        {WHEN(DUE_LIST(queue.waiting)), decide_asked, .always = true},
        // last: what is cleared along with others costs no entry
        {WHEN(MARKED_HOSTS(HOST_TOMBSTONES)), .put = tombstones_clear_decide},
        {WHEN(DUE_SET(token_uses_due)), .put = access_tokens_decide},
        {MARKED(DUE_OLD_SECRETS), .put = secrets_decide},
        // after what begins jobs
        {WHEN(DUE_LIST(held_over)), .put = held_jobs_decide},
        {WHEN(DUE_SET(n_own_moves), DUE_SET(own_leads), MARKED_HOSTS(HOST_NEWS)), decide_own_jobs},
        {WHEN(DUE_LIST(jobs_ended)), decide_open_jobs},
};

static int take_step(Decision *d, const DecideStep *s) {
        int r;

        if (s->moves)
                d->batch.moved = own_jobs_on_move;
        r = s->decide ? s->decide(d) : s->put(d->leader, &d->batch);
        d->batch.moved = NULL;
        return r;
}

static int take_steps(Decision *d, bool paused) {
        due_foreach (i, d->leader, steps, ELEMENTSOF(steps)) {
                int r = !paused || steps[i].always ? take_step(d, &steps[i]) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ the entry

// That the leader puts into an entry by itself: half of them if requests wait.
static size_t units_of_entry(const Leader *l) {
        size_t all = l->one_by_one ? 1 : l->limits.entry_units;

        return author_turns_are_empty(&l->queue) ? all : (all + 1) / 2;
}

// What the entry before may have left, of which nothing came: the log may not even have taken it.
typedef struct LeftStep {
        DueWhen when;
        void (*settle)(Leader *l);
} LeftStep;

static void settle_rebalance(Leader *l) {
        rebalance_job_landed(l, false);
}

static void settle_open_jobs(Leader *l) {
        open_jobs_landed(l, false);
}

static void settle_own_jobs(Leader *l) {
        own_jobs_landed(l, false);
}

static const LeftStep left_steps[] = {
        {WHEN(DUE_SET(rebalance_job)), settle_rebalance},
        {WHEN(DUE_LIST(jobs_flying)), settle_open_jobs},
        {WHEN(DUE_SET(own_leads_flying), MARKED_HOSTS(HOST_NEWS_FLYING), DUE_SET(n_own_moves)),
         settle_own_jobs},
        {WHEN(DUE_SET(n_held_admitted)), held_limits_settle},
        {WHEN(DUE_LIST(authors_admitted)), author_jobs_settle},
        {MARKED(DUE_ENQUEUED), decide_pending_anew},
};

// Units that wait for a node may be judged in several turns, before the first of them gets one.
static bool nothing_is_left(const Leader *l) {
        return !units_are_moving(l) && !schedule_first(l, SCHEDULE_DUE) &&
               !schedule_first(l, SCHEDULE_LAST);
}

static void decide(Leader *l) {
        Decision d = {
                .leader = l,
                .taken = LIST_INIT(d.taken),
                .batch = {.previous_nodes = previous_nodes_of_record,
                          .data_node = data_node_of_record,
                          .removed = previous_nodes_of_removed,
                          .userdata = l,
                          .state = l->state,
                          .held.counted_us = leader_counted(l),
                          .soft_bytes = l->one_by_one ? 1 : l->limits.entry_bytes,
                          .soft_units = units_of_entry(l),
                          .most_units = l->limits.requests_units,
                          .feature_level = cluster_state_feature_level(l->state)}};
        int r;

        due_foreach (i, l, left_steps, ELEMENTSOF(left_steps))
                left_steps[i].settle(l);
        if (!decide_previews(&d))
                return;
        if (l->rebalance_asked)
                rebalance_answer(l, &d.scheduler);
        r = take_steps(&d, l->pause_us > leader_now(l));
        if (oom_check(r) == -EPROTONOSUPPORT)
                log_error("Something was to be written into the log that is beyond the cluster's feature "
                          "level.");
        if (r < 0)
                l->pause_us = leader_now(l) + USEC_PER_SEC;
        if (has_something(&d))
                submit(&d);
        else if (l->one_by_one && nothing_is_left(l)) {
                l->one_by_one = false;
                leader_mark(l);
        }
        batch_builder_done(&d.batch);
        if (d.scheduler)
                scheduler_free(d.scheduler);
        dependencies_done_all(&d.planned);
}

// Whether there may be something to decide, or left of the last entry.
static bool is_due(const Leader *l) {
        static const DueWhen beside[] = {
                {.members = {DUE_SET(one_by_one), DUE_SET(preview), DUE_LIST(previews.waiting),
                             DUE_SET(previews_had), DUE_SET(rebalance_asked)}}};

        return due_any(l, steps, ELEMENTSOF(steps)) || due_any(l, left_steps, ELEMENTSOF(left_steps)) ||
               due_any(l, beside, ELEMENTSOF(beside));
}

void decide_next(Leader *l) {
        l->n_batches++;
        if (l->batch_flying || !cluster_state_cluster(l->state))
                return;
        if (is_due(l))
                decide(l);
}
