// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the leader is told: one report per changed unit and turn of the loop, however often it changed, the
// whole of what is known about it. A unit that changes all the time by itself is told about once a second
// (report-pace.h) and waits for its turn in Agent.paced; so does what an order comes to on its way. That
// processes have lived long enough (probation.h) is one mark behind the reports, and by itself only if there
// are none. While many jobs are under way reports leave together, and with each beat, which says until when
// all was told. Reports wait until the Welcome of the session; a link that takes no more leaves them
// waiting, and so does a turn that has sent AGENT_MESSAGES_PER_TURN of them.

#include <errno.h>

#include "agent-core.h"
#include "agent-down.h"
#include "agent-images.h"
#include "agent-loops.h"
#include "agent-probation.h"
#include "agent-report.h"
#include "agent-unit.h"
#include "attach.h"
#include "clock.h"
#include "message-of.h"
#include "unit-state.h"

void agent_report_wake(Agent *a, uint64_t now_us) {
        a->paced_due_us = 0;
        list_foreach_safe (n, &a->paced) {
                AgentUnit *u = CONTAINER_OF(n, AgentUnit, report);

                if (agent_unit_doing(u)->report_from_us <= now_us && report_pace(&u->pace, now_us) == 0)
                        agent_unit_report(u);
        }
}

uint64_t agent_report_sent_us(const Agent *a, uint64_t now_us) {
        if (!list_is_empty(&a->report))
                return 0; // the link takes no more
        return list_is_empty(&a->paced)
                       ? now_us
                       : now_us - MIN_OF(now_us, (uint64_t) REPORT_INTERVAL_US + REPORT_TICK_US);
}

// Boot time, 0: nobody waits. At most so many looks a second as a second has ticks.
uint64_t agent_report_next_wake(Agent *a) {
        if (list_is_empty(&a->paced))
                return a->gather_until_us;
        if (a->paced_due_us == 0)
                a->paced_due_us = (clock_boot_us() / REPORT_TICK_US + 1) * REPORT_TICK_US;
        return a->gather_until_us > 0 ? MIN_OF(a->gather_until_us, a->paced_due_us) : a->paced_due_us;
}

static void fill_outcome(const AgentUnit *u, Argosy__Outcome *o) {
        const AgentUnitWork *work = agent_unit_doing(u);

        o->kind = work->outcome;
        o->node = u->node->number;
        o->start_rev = u->held.start_rev;
        o->at_us = work->outcome_at_us;
        o->result = (char *) work->outcome_result;
}

static bool has_news_of_outcome(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return u->has_held && work->outcome != ARGOSY__OUTCOME__KIND__NONE &&
               !(u->has_wanted && work->wanted.outcome != ARGOSY__OUTCOME__KIND__NONE);
}

static void fill_runtime(const UnitRuntime *rt, Argosy__UnitReport *r) {
        static const uint8_t none[16];

        r->active = rt->active;
        r->sub = (char *) rt->sub;
        r->result = (char *) rt->result;
        r->since_us = rt->since_us;
        r->restarts = rt->n_restarts;
        r->failed_restarts = rt->n_failed_restarts;
        if (rt->changed_ms) { // an age is never longer than it is
                uint64_t now_ms = clock_boot_us() / USEC_PER_MSEC;

                r->changed_ms = now_ms - ((uint32_t) now_ms - rt->changed_ms);
        }
        if (rt->loaded && memcmp(rt->invocation_id, none, sizeof(none)) != 0)
                r->invocation_id =
                        (ProtobufCBinaryData){sizeof(rt->invocation_id), (uint8_t *) rt->invocation_id};
}

static void fill_unloaded(Argosy__UnitReport *r) {
        r->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        r->sub = (char *) "dead";
}

typedef struct Row {
        Argosy__UnitReport report;
        Argosy__Outcome outcome;
        char *pull; // NULL: none
} Row;

static void rows_done(const Row *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(rows[i].pull);
}

static void fill_pull(const AgentUnit *u, Row *row) {
        uint64_t since_us = 0;

        row->report.pulling = agent_images_pulls(u, &row->pull, &since_us);
        if (row->pull)
                row->report.pull = row->pull;
        row->report.pull_ms = since_us / USEC_PER_MSEC;
}

// Borrows from the unit and from the row: pack it at once.
static void fill(const AgentUnit *u, Row *row) {
        Argosy__UnitReport *r = &row->report;
        Argosy__Outcome *outcome = &row->outcome;
        const UnitRuntime *rt = &u->watch.runtime;
        const AgentUnitWork *work = agent_unit_doing(u);

        argosy__unit_report__init(r);
        r->node = u->node->number;
        r->name = (char *) u->name;
        r->revision = agent_unit_answered(u);
        if (r->revision == UNIT_REVISION_STAY) {
                r->revision = 0;
                r->stays = true;
        }
        if (work->error)
                r->error = work->error;
        else if (has_news_of_outcome(u) && work->outcome == ARGOSY__OUTCOME__KIND__UNKNOWN)
                r->error = (char *) OUTCOME_UNKNOWN_TEXT; // until the log has it, and it may never
        r->down = agent_unit_down(u);
        r->down_by = (char *) agent_unit_down_by(u);
        r->comes_back = u->comes_back;
        r->file_stale = u->file_stale;
        r->gone = u->gone;
        r->refused = u->refused;
        r->probation = u->probation;
        if (u->probation == ARGOSY__PROBATION__PROBATION_ON)
                r->probation_ms = work->probation_start.left || work->probation_start.before_exec
                                          ? UINT64_MAX
                                          : work->probation_start.at_ms;
        fill_pull(u, row);
        r->leaving = work->wanted.remove && work->busy != PLAN_START && work->busy != PLAN_RESTART;
        if (u->gone)
                return;
        if (u->has_held && u->file_present && u->content_known) // else the leader sends it
                r->spec = (ProtobufCBinaryData){HASH_SIZE, u->held.spec->hash.bytes};
        r->load = agent_unit_load(u);
        r->looping = agent_unit_is_looping(u);
        if (rt->loaded)
                fill_runtime(rt, r);
        else
                fill_unloaded(r);
        if (has_news_of_outcome(u)) {
                argosy__outcome__init(outcome);
                fill_outcome(u, outcome);
                r->outcome = outcome;
        }
}

static int send_rows(Agent *a, Row *rows, size_t n, uint64_t lived_ms) {
        Argosy__ToVoter__Reports reports = ARGOSY__TO_VOTER__REPORTS__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(REPORTS, reports, &reports);
        Argosy__UnitReport *pointers[AGENT_REPORTS_PER_MESSAGE];

        for (size_t i = 0; i < n; i++)
                pointers[i] = &rows[i].report;
        reports.reports = pointers;
        reports.n_reports = n;
        reports.lived_ms = lived_ms;
        return a->ops.send(&message, a->userdata);
}

// A unit that is gone lives until this was told.
static void report_sent(AgentUnit *u) {
        list_unlink(&u->report);
        if (u->gone && agent_unit_doing(u)->busy == PLAN_NOTHING)
                agent_unit_free(u);
}

// How many reports the next message has.
static size_t n_next(const Agent *a) {
        size_t n = 0;

        for (const ListNode *l = a->report.next; l != &a->report && n < AGENT_REPORTS_PER_MESSAGE;
             l = l->next)
                n++;
        return n;
}

static bool has_mark(const Agent *a) {
        return a->lived_ms != a->lived_reported_ms;
}

// False: no link; the next session begins with everything. With the last report goes the mark, which is true
// behind them.
static bool send_next(Agent *a) {
        size_t n = 0, max = n_next(a);
        uint64_t lived_ms = max < AGENT_REPORTS_PER_MESSAGE ? a->lived_ms : 0;
        _cleanup_free_ Row *rows = calloc(max ?: 1, sizeof(*rows));
        int r;

        if (!rows)
                return false;
        list_foreach (l, &a->report) {
                if (n == max)
                        break;
                fill(CONTAINER_OF(l, AgentUnit, report), &rows[n]);
                n++;
        }
        r = send_rows(a, rows, n, lived_ms);
        rows_done(rows, n);
        if (r < 0)
                return false;
        a->lived_reported_ms = lived_ms ?: a->lived_reported_ms;
        a->stats.reports += n;
        for (; n > 0; n--)
                report_sent(CONTAINER_OF(a->report.next, AgentUnit, report));
        return true;
}

static bool has_news(const Agent *a) {
        return !list_is_empty(&a->report) || has_mark(a);
}

static bool waits_for_more(Agent *a) {
        size_t n_jobs = 0;

        agent_foreach_node (node, a)
                n_jobs += node->n_jobs;
        a->gather_until_us = report_gather(n_jobs, a->reported_us, clock_boot_us());
        return a->gather_until_us > 0;
}

// Thousands, when all are told anew: what is left is for the next turn.
void agent_report_drain(Agent *a) {
        unsigned n = 0;

        agent_probation_pass(a);
        a->gather_until_us = 0;
        if (!a->attached || !has_news(a) || waits_for_more(a))
                return;
        while (has_news(a) && send_next(a))
                if (++n == AGENT_MESSAGES_PER_TURN) {
                        drain_mark(&a->drain);
                        break;
                }
        if (list_is_empty(&a->report))
                a->reported_us = clock_boot_us();
}

void agent_report_all(Agent *a) {
        while (a->attached && has_news(a) && send_next(a))
                continue;
}

// ---- Attach

// It is ours, or an order to have it was obeyed and it may begin at any moment, when its files or its image
// are here: who leads now must not take it for a unit that this host has not.
static bool is_to_be_named(const AgentUnit *u) {
        return (u->has_held || (u->has_wanted && !agent_unit_doing(u)->wanted.remove)) && !u->gone;
}

// Thousands of them are told over some turns. What is marked to be reported before its part has gone is told
// with that, what is marked later waits for the Welcome as it would anyway.
void agent_held_begin(Agent *a) {
        agent_foreach_node (node, a)
                agent_foreach_unit(u, node) {
                        if (!is_to_be_named(u)) // the leader takes nothing from that
                                continue;
                        u->paced = false;
                        list_unlink(&u->report);
                        list_append(&a->held_due, &u->report);
                }
}

// What is not held any more is told like any other change.
static size_t fill_held(Agent *a, Row *rows, Argosy__UnitReport **list) {
        size_t n = 0;

        list_foreach_safe (l, &a->held_due) {
                AgentUnit *u = CONTAINER_OF(l, AgentUnit, report);

                if (!is_to_be_named(u)) {
                        list_unlink(l);
                        list_append(&a->report, l);
                        continue;
                }
                if (n == ATTACH_HELD_MAX)
                        break;
                fill(u, &rows[n]);
                list[n] = &rows[n].report;
                n++;
        }
        return n;
}

static bool is_last_held(const Agent *a, size_t n) {
        const ListNode *l = &a->held_due;

        for (; n > 0; n--)
                l = l->next;
        return l->next == &a->held_due;
}

int agent_held_send(Agent *a, AgentHeldSend send) {
        size_t max = MIN_OF(agent_n_units(a), (size_t) ATTACH_HELD_MAX), n;
        _cleanup_free_ Row *rows = calloc(max + 1, sizeof(*rows));
        Argosy__UnitReport *list[ATTACH_HELD_MAX];
        int r;

        if (!rows)
                return -ENOMEM;
        n = fill_held(a, rows, list);
        r = send(a, list, n, is_last_held(a, n));
        rows_done(rows, n);
        if (r < 0)
                return r;
        for (; n > 0; n--)
                list_unlink(a->held_due.next);
        return 0;
}
