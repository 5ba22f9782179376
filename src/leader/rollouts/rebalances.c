// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out rebalance.c's moves when an owner asks for it; nobody else does.
//
// A plan is made from the tables as they are, by the pool (scheduler-rebalance.c), one at a time: who wants
// one meanwhile waits. Its moves are put into batches a few at a time: as many as have not been up where
// they went for a while (limits.rebalance_flying), and never more of a group than its MaxUnavailable= leaves
// room for; there, too, one that is not up for that while counts as down. Each move is judged again when its
// turn has come. When all have been made another plan is made, which is empty unless something has changed
// meanwhile; then it is over. It is also over if the moves that are left cannot be made now: nobody waits
// for better times. If a unit that was moved fails, or waits for a dependency that is not on its way, no
// other is moved. If the request is bound to a revision, the units that the first plan asks about, and
// hosts, are compared with that before anything is moved.
//
// What is under way is known to this leader only. With it, it ends: what was moved is where it was moved to,
// and a client that still listens asks the next leader, who makes a plan of its own, and watches what is
// still coming up of the former one's moves: the log has these as a job that is running. So nothing else
// needs to be in the log. Of one that was held back (queue/held-jobs.h) nobody listens: its request stays
// in the log until all of it is over, which is said by an entry of its own, and the next leader goes on with
// it. Which units were moved by then says its record.
#include <errno.h>

#include "activators.h"
#include "array.h"
#include "batch-builder.h"
#include "clock.h"
#include "disruption-budget.h"
#include "held-jobs.h"
#include "host-marks.h"
#include "log.h"
#include "message.h"
#include "ordering.h"
#include "rebalance-private.h"
#include "rebalances.h"
#include "registry.h"
#include "retry-controller.h"
#include "scheduler-rebalance.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"

static void move_done(Move *m) {
        free(m->unit);
        free(m->why);
        free(m->error);
        *m = (Move){};
}

static void drop_planned(Rebalance *o) {
        while (o->n_moves > o->n_begun)
                move_done(&o->moves[--o->n_moves]);
        o->planned = false;
}

Rebalance *rebalance_free(Rebalance *o) {
        if (!o)
                return NULL;
        scheduler_rebalance_free(o->search);
        for (size_t i = 0; i < o->n_moves; i++)
                move_done(&o->moves[i]);
        free(o->moves);
        name_patterns_done(&o->meant);
        for (char **p = o->patterns; p && *p; p++)
                free(*p);
        free(o->patterns);
        message_free(o->job.request);
        message_free(o->job.author);
        free(o);
        return NULL;
}

int rebalance_new(const Argosy__Request__Rebalance *m, Rebalance **ret) {
        _cleanup_(rebalance_freep) Rebalance *o = calloc(1, sizeof *o);

        if (!o)
                return -ENOMEM;
        o->patterns = calloc(m->n_patterns + 1, sizeof *o->patterns);
        if (!o->patterns)
                return -ENOMEM;
        for (; o->n_patterns < m->n_patterns; o->n_patterns++) {
                o->patterns[o->n_patterns] = strdup(m->patterns[o->n_patterns]);
                if (!o->patterns[o->n_patterns])
                        return -ENOMEM;
        }
        if (name_patterns_init(&o->meant, o->patterns, o->n_patterns) < 0)
                return -ENOMEM;
        o->health_us = m->health_us;
        o->max_moves =
                m->max_moves ? MIN_OF(m->max_moves, (uint32_t) REBALANCE_MOVES_MAX) : REBALANCE_MOVES_MAX;
        *ret = TAKE_PTR(o);
        return 0;
}

void rebalance_abort(Leader *l) {
        l->rebalance->aborted = true;
        leader_mark(l);
}

bool rebalance_is_aborted(const Leader *l) {
        return l->rebalance && l->rebalance->aborted;
}

void rebalance_job_landed(Leader *l, bool committed) {
        RebalanceJob *job = l->rebalance_job;
        uint64_t flying;

        if (!job || !job->flying)
                return;
        flying = job->flying;
        job->flying = 0;
        if (!committed)
                return;
        job->number = flying;
        list_foreach (i, &l->rebalance_waiters)
                request_set_job(request_in(i, PENDING_REBALANCE), job->number);
        held_jobs_on_rebalance(l);
        if (job->is_last)
                l->rebalance_job = NULL;
}

void rebalance_on_time(Leader *l) {
        if (l->rebalance_due_us <= leader_now(l))
                l->rebalance_due_us = 0; // the next look sets it anew
}

void rebalance_retire(Leader *l) {
        l->rebalance_job = NULL;
        l->rebalance = rebalance_free(l->rebalance);
        l->rebalance_asked = rebalance_free(l->rebalance_asked);
}

bool rebalance_has_to_wait(const Leader *l) {
        return l->n_hosts.awaited > 0;
}

// ------------------------------------------------------------------------------------------------ eligible

// Runs, or is installed, as its record says. What starts, fails or has finished is left alone.
static bool is_settled(const Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitOnNode *s = unit_on_node_find(u, u->node);

        if (!s || record_final_outcome(e->record, u->node->number))
                return false;
        if (e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return unit_on_node_is_up(l, s, e);
        return unit_on_node_is_reported(s) && s->revision >= e->record->revision && !*unit_on_node_error(s);
}

// A unit that runs without what it needs goes on where it is; elsewhere it would wait for that, and be down.
static bool would_start(Leader *l, const UnitEntry *e) {
        return e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED ||
               ordering_lets_start(l, e->record->name);
}

// Whether the unit may move; also called for one that stays, as it may have changed since it was chosen.
static bool may_move(Leader *l, Unit *u, void *userdata) {
        Rebalance *o = userdata;
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const UnitFile *file;

        if (!e || !name_patterns_match(&o->meant, u->name))
                return false;
        o->newest = MAX_OF(o->newest, e->record->revision);
        return u->node && !e->record->global && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE &&
               u->life == LIFE_RESIDENT && !(u->budget && u->budget->rollout) &&
               !retry_controller_hold(l, u) && is_settled(l, u, e) && spec_entry_file(e->spec, &file) == 0 &&
               !file->stays && !file->replaces && file->failing.node_lost != NODE_LOST_NEVER &&
               !activators_activated(&l->activators, u->name) &&
               !activators_has_any(&l->activators, u->name) && would_start(l, e);
}

// ------------------------------------------------------------------------------------------------ the plan

static int add_planned(Rebalance *o, SchedulerMove *m) {
        if (ARRAY_GROW(o->moves, o->allocated, o->n_moves + 1) < 0)
                return -ENOMEM;
        o->moves[o->n_moves] = (Move){.unit = strdup(m->unit->name),
                                      .why = TAKE_PTR(m->why),
                                      .from = m->from->number,
                                      .to = m->to->number};
        return o->moves[o->n_moves++].unit ? 0 : -ENOMEM;
}

// Takes over what was found. 0 or -ENOMEM.
static int take_plan(Rebalance *o, const Scheduler *scheduler) {
        _cleanup_free_ SchedulerMove *moves = NULL;
        size_t n;
        int r = 0;

        scheduler_rebalance_take(o->search, scheduler, &moves, &n, &o->more);
        o->search = scheduler_rebalance_free(o->search);
        for (size_t i = 0; i < n; i++) {
                r = r < 0 ? r : add_planned(o, &moves[i]);
                free(moves[i].why);
        }
        o->planned = r >= 0;
        return r;
}

int rebalance_advance(Leader *l, Rebalance *o, Scheduler **scheduler) {
        int r;

        if (!o->search) {
                size_t n_moved = o->n_begun - o->n_former;

                drop_planned(o);
                if (n_moved >= o->max_moves) { // there is nothing to search for
                        o->planned = o->more = true;
                        return REBALANCE_PLANNED;
                }
                if (!o->asker && l->rebalance_asked) // that one was first, and marks the leader at its end
                        return 0;
                o->search = scheduler_rebalance_new(l, o->max_moves - n_moved, may_move, o);
        }
        *scheduler = *scheduler ?: scheduler_new(l, 0);
        if (!scheduler_rebalance_step(o->search, *scheduler))
                return 0;
        r = take_plan(o, *scheduler);
        return r < 0 ? r : REBALANCE_PLANNED;
}

bool rebalance_is_outdated(const Leader *l, const Rebalance *o) {
        return o->if_revision > 0 && o->n_begun == o->n_former &&
               MAX_OF(o->newest, cluster_state_hosts_revision(l->state)) > o->if_revision;
}

// ------------------------------------------------------------------------------------------------ begun

static int add_resumed(const Leader *l, Rebalance *o, const char *unit, uint64_t revision) {
        const UnitEntry *e = cluster_state_find_unit(l->state, unit);
        bool is_ours = e && e->record->revision == revision;

        if (ARRAY_GROW(o->moves, o->allocated, o->n_moves + 1) < 0)
                return -ENOMEM;
        o->moves[o->n_moves] = (Move){.unit = strdup(unit),
                                      .to = is_ours ? e->record->node : 0,
                                      .phase = is_ours ? FLYING : ENDED};
        if (!o->moves[o->n_moves].unit)
                return -ENOMEM;
        o->n_begun = ++o->n_moves;
        return 0;
}

int rebalance_resume(const Leader *l, Rebalance *o, const Argosy__JobRecord *record) {
        int r = 0;

        for (size_t g = 0; g < record->n_units; g++)
                for (size_t i = 0;
                     r == 0 && i < record->units[g]->n_names && i < record->units[g]->n_revisions; i++)
                        r = add_resumed(l, o, record->units[g]->names[i], record->units[g]->revisions[i]);
        return r;
}

const char *rebalance_node_name(const Leader *l, uint32_t node) {
        const Node *n = node_find(l, node);

        return n ? n->name : "-";
}

static void stop_for(Leader *l, Rebalance *o, Move *m, const char *failure) {
        if (*o->failure)
                return;
        str_fit(o->failure, sizeof o->failure, "%s failed on %s, where it was moved: %s", m->unit,
                rebalance_node_name(l, m->to), failure);
        log_unit(LOG_WARNING, m->unit, "Rebalancing stops: %s.", o->failure);
        free(m->error);
        m->error = strdup(failure); // only for the eye
}

// From when it has been up for long enough: by its host's clock and as far as the host has told everything,
// so that neither a late report nor a new leader makes it well; more is known with a beat, not before. A
// host of before says nothing of the time, and what is only installed does not begin: then by when this
// leader saw it.
static uint64_t well_us(const Leader *l, const Rebalance *o, const Move *m, const UnitOnNode *s,
                        const UnitEntry *e) {
        uint64_t known, left;

        if (!unit_on_node_is_timed(s) || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return m->up_us + o->health_us;
        known = unit_on_node_known_us(s);
        if (known >= o->health_us)
                return m->up_us;
        left = known > 0 ? o->health_us - known : 0; // the first beat of a session may tell of any time
        return leader_now(l) + MAX_OF(left, l->config.beat_ms * USEC_PER_MSEC);
}

// Whether it is still ours to watch: nobody else has placed, stopped or destroyed it, and its host is there.
static bool is_ours(const Leader *l, const Move *m, const Unit *u, const UnitEntry *e) {
        return u && e && u->node && u->node->number == m->to && !host_is_lost(u->node->host) &&
               e->record->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

// Also of a unit whose start waits for a dependency that is not on its way. NULL: it has not failed; else
// the words, which may be in `buffer`.
static const char *failure_of(Leader *l, const UnitOnNode *s, const UnitEntry *e, char *buffer,
                              size_t size) {
        const char *blocked = ordering_blocked(l, s, buffer, size);

        if (blocked || e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return blocked ?: unit_on_node_failure(l, s, e);
        return unit_on_node_is_reported(s) && s->revision >= e->record->revision && *unit_on_node_error(s)
                       ? unit_on_node_error(s)
                       : NULL;
}

static void refresh_move(Leader *l, Rebalance *o, Move *m) {
        const Unit *u = unit_find(l, m->unit);
        const UnitEntry *e = cluster_state_find_unit(l->state, m->unit);
        const UnitOnNode *s = u && u->node ? unit_on_node_find(u, u->node) : NULL;
        uint64_t now = leader_now(l), well;
        char blocked[REBALANCE_FAILURE_SIZE];
        const char *failure;

        if (m->phase == FLYING && u && u->node && u->node->number == m->from)
                m->error = m->error ?: strdup("the log did not take it"); // and the next plan has it again
        if (!is_ours(l, m, u, e)) {
                m->phase = ENDED;
                return;
        }
        failure = s ? failure_of(l, s, e, blocked, sizeof(blocked)) : NULL;
        if (failure)
                stop_for(l, o, m, failure);
        if (!is_settled(l, u, e))
                m->up_us = 0;
        else if (!m->up_us)
                m->up_us = now;
        well = m->up_us ? well_us(l, o, m, s, e) : UINT64_MAX;
        if (failure || record_final_outcome(e->record, m->to) || well <= now)
                m->phase = ENDED;
        else if (m->phase == FLYING && m->up_us && (!l->rebalance_due_us || well < l->rebalance_due_us))
                l->rebalance_due_us = well;
}

// The units that were moved are watched to the end, since one that fails may take its time.
static void refresh_moves(Leader *l, Rebalance *o) {
        l->rebalance_due_us = 0;
        for (size_t i = 0; i < o->n_begun; i++) {
                Move *m = &o->moves[i], ended;

                refresh_move(l, o, m);
                if (m->phase != ENDED || i < o->n_ended)
                        continue;
                ended = *m;
                memmove(&o->moves[o->n_ended + 1], &o->moves[o->n_ended], (i - o->n_ended) * sizeof *m);
                o->moves[o->n_ended++] = ended;
        }
}

// ------------------------------------------------------------------------------------------------ the next

// Others of its budget that are up, but not yet for long enough.
static size_t n_fresh(const Leader *l, const Rebalance *o, const DisruptionBudget *g) {
        size_t n = 0;

        for (size_t i = o->n_ended; i < o->n_begun; i++) {
                const Unit *u = unit_find(l, o->moves[i].unit);

                n += u && u->budget == g && u->counted && !u->down && o->moves[i].up_us;
        }
        return n;
}

static bool budget_lets_go(Leader *l, const Rebalance *o, Unit *u, const UnitEntry *e) {
        const DisruptionBudget *g = u->budget;

        return disruption_budget_allows(l, u, e) &&
               (!g || !u->counted || n_fresh(l, o, g) < disruption_budget_room(l, g, e));
}

enum { MOVE_NOT_NOW = 0, MOVE_BEGUN = 1 };

// MOVE_BEGUN: it is in the batch; MOVE_NOT_NOW: it cannot be made; or a negative errno.
static int begin(Leader *l, BatchBuilder *b, Rebalance *o, const Move *m, Scheduler **scheduler) {
        Unit *u = unit_find(l, m->unit);
        const UnitEntry *e = cluster_state_find_unit(l->state, m->unit);
        const Node *to = node_find(l, m->to);
        Argosy__UnitRecord next;
        int r;

        if (!u || !e || !to || !u->node || u->node->number != m->from ||
            batch_builder_has_unit(b, m->unit) || !may_move(l, u, o) || !budget_lets_go(l, o, u, e))
                return MOVE_NOT_NOW;
        *scheduler = *scheduler ?: scheduler_new(l, 0);
        if (!scheduler_carry_out(*scheduler, u, to))
                return MOVE_NOT_NOW;
        next = *e->record;
        next.node = m->to;
        disruption_budget_take(l, u);
        r = batch_builder_put_unit(b, &next, 0, e->record->revision);
        return r < 0 ? r : MOVE_BEGUN;
}

static int begin_some(Leader *l, BatchBuilder *b, Rebalance *o, Scheduler **scheduler) {
        for (size_t i = o->n_begun; i < o->n_moves && o->n_begun - o->n_ended < l->limits.rebalance_flying;
             i++) {
                int r = begin(l, b, o, &o->moves[i], scheduler);
                Move m = o->moves[i];

                if (r < 0)
                        return r;
                if (r == MOVE_NOT_NOW)
                        continue;
                m.phase = FLYING;
                memmove(&o->moves[o->n_begun + 1], &o->moves[o->n_begun], (i - o->n_begun) * sizeof m);
                o->moves[o->n_begun++] = m;
        }
        return 0;
}

// The log is told of the end of one whose request it keeps; how others end follows from their units.
static void finish(Leader *l, Rebalance *o, bool all) {
        if (all)
                drop_planned(o);
        o->over = true;
        o->job.is_last = o->job.held > 0 && o->job.number > 0;
        if (!o->job.is_last)
                l->rebalance_job = NULL;
}

int rebalance_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler) {
        Rebalance *o = l->rebalance;
        size_t n_begun;
        int r;

        if (!o || o->over || rebalance_has_to_wait(l))
                return 0;
        refresh_moves(l, o);
        if (*o->failure || o->aborted) {
                o->search = scheduler_rebalance_free(o->search);
                if (o->n_ended == o->n_begun)
                        finish(l, o, true);
                return 0;
        }
        if (o->n_begun == o->n_moves && o->n_ended < o->n_begun)
                return 0; // the next plan is for when these are up
        if (!o->planned || o->n_begun == o->n_moves) {
                r = rebalance_advance(l, o, scheduler);
                if (r != REBALANCE_PLANNED)
                        return r;
                o->changed = rebalance_is_outdated(l, o);
                if (o->changed || o->n_begun == o->n_moves) {
                        finish(l, o, o->changed);
                        return 0;
                }
        }
        n_begun = o->n_begun;
        r = begin_some(l, b, o, scheduler);
        if (r >= 0 && o->n_begun == n_begun && o->n_ended == o->n_begun)
                finish(l, o, false);
        return r;
}
