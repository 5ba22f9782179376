// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of jobs: how one has ended, against what hosts have said of its units since; and what a list says
// of jobs, against the log.
//
// Of each unit it is kept what its node has said of it since somebody changed it last. What is said of an
// older change says nothing.
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "message.h"
#include "test.h"

typedef enum Told { REPORTED_UP = 1, REPORTED_DOWN = 2, REPORTED_FAILED = 4, REPORTED_OTHER = 8 } Told;

static struct {
        uint64_t revision; // of that change
        unsigned reported;     // by reports of it or a later one
        bool lied;         // one of them was a liar's
        bool gone;         // some node has it no more
        bool settled;      // the log says how its run has ended
        bool starts;       // that change asked for a start, and not only for another content, or a node
} said[WORLD_UNITS_MAX];

void jobs_begin(void) {
        memset(said, 0, sizeof(said));
}

static unsigned reported_by(const Argosy__UnitReport *r) {
        if (r->refused || *r->error || r->looping || r->stays)
                return REPORTED_OTHER;
        switch (r->active) {
        case ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE:
        case ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING:
                return REPORTED_UP;
        case ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE:
                return REPORTED_DOWN;
        case ARGOSY__ACTIVE_STATE__ACTIVE_FAILED:
                return REPORTED_FAILED;
        default:
                return 0; // it is on its way
        }
}

static void on_report(uint32_t host, const Argosy__UnitReport *r) {
        int i = world_unit_index(r->name);

        if (i < 0)
                return;
        said[i].lied |= world_host_lies(host);
        said[i].gone |= r->gone;
        if (r->refused || r->revision >= said[i].revision)
                said[i].reported |= reported_by(r) | (r->outcome ? REPORTED_OTHER : 0);
}

void jobs_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        on_report(host, m->reports->reports[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH)
                for (size_t i = 0; i < m->attach->n_held; i++)
                        on_report(host, m->attach->held[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH_PART)
                for (size_t i = 0; i < m->attach_part->n_held; i++)
                        on_report(host, m->attach_part->held[i]);
}

// ------------------------------------------------------------------------------------------------ ends

// What the job has made of the unit is what counts, and the unit is one of which its node's words say how it
// is.
static bool can_be_judged(const LogJob *j, uint64_t number, unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        const WorldContent *c = log_content(u);

        if (!(j->touched & 1u << i) || !j->after[i].exists || j->after[i].global ||
            log_was_touched_since(number, i) || said[i].lied || said[i].settled)
                return false;
        return c && !u->global && !c->oneshot && !c->careless && u->node > 0 &&
               u->target == j->after[i].target && strcmp(j->verb, "submit") != 0;
}

static void judge_done(const LogJob *j, uint64_t number, unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        const char *name = asks.units[i].name;

        if (u->target == ARGOSY__TARGET__TARGET_LAUNCHED) {
                if (!said[i].starts)
                        return;
                check_says("jobs-end-as-told");
                if (!(said[i].reported & (REPORTED_UP | REPORTED_DOWN | REPORTED_OTHER)))
                        check_fail("jobs-end-as-told",
                                   "job %" PRIu64 " (%s) is done, and nobody has said that %s is up", number,
                                   j->verb, name);
        } else if (strcmp(j->verb, "stop") == 0) {
                check_says("jobs-end-as-told");
                if (!(said[i].reported & (REPORTED_DOWN | REPORTED_FAILED | REPORTED_OTHER)) &&
                    !said[i].gone)
                        check_fail("jobs-end-as-told",
                                   "job %" PRIu64 " (%s) is done, and nobody has said that %s is down",
                                   number, j->verb, name);
        }
}

void jobs_on_waited_for(unsigned i, uint64_t revision) {
        const LogUnit *u = &log_truth.units[i];
        const WorldContent *c = log_content(u);

        if (!c || c->oneshot || c->careless || u->global || said[i].lied || said[i].settled ||
            said[i].revision == 0 || said[i].revision > revision)
                return;
        check_says("waits-are-true");
        if (u->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
            !(said[i].reported & (REPORTED_UP | REPORTED_DOWN | REPORTED_OTHER)))
                check_fail("waits-are-true",
                           "who waits is told that %s has started, and nobody has said that it is up",
                           asks.units[i].name);
}

// Its words are that it is up, and nothing else.
static void judge_failed(const LogJob *j, uint64_t number, unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        uint32_t host = places_host_of(u->node);
        const VirtualUnit *v =
                host > 0 && host <= asks.swarm.hosts
                        ? virtual_host_find(&rig_host(&world.rig, host)->virtual, asks.units[i].name)
                        : NULL;

        if (u->target != ARGOSY__TARGET__TARGET_LAUNCHED || !v ||
            v->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE || heard_may_be_lost(host))
                return;
        if (said[i].reported == REPORTED_UP && u->revision == j->after[i].revision && !heard_has_failed(i) &&
            !heard_was_refused(i))
                check_fail("jobs-end-as-told",
                           "job %" PRIu64
                           " (%s) has failed for %s, which is up, and was never said to be otherwise",
                           number, j->verb, asks.units[i].name);
}

// Whoever has overtaken it is another one, and has changed the unit behind it. A job that changes units more
// than once (a rebalance) may have changed it again since: what had become of it before stays said.
static void judge_overtaken(const Argosy__JobUnitEnd *e, uint64_t number) {
        int i = world_unit_index(e->unit);
        const LogJob *by = e->by > 0 && e->by <= log_truth.n_jobs ? log_truth.jobs[e->by] : NULL;

        if (i < 0 || !by)
                return;
        check_says("jobs-end-as-told");
        if (e->by == number || !(by->touched & 1u << i) ||
            by->touched_at[i] <= log_truth.jobs[number]->touched_first[i])
                check_fail("jobs-end-as-told",
                           "%s of job %" PRIu64 " is said to be changed by job %" PRIu64
                           ", which has not done so since",
                           e->unit, number, e->by);
}

// The log has what is asked about.
static void judge_words(const Argosy__JobUnitEnd *e, uint64_t number) {
        if (strstr(e->message, "does not have this change"))
                check_fail("jobs-end-as-told", "%s of job %" PRIu64 " has failed: '%s', and the log has it",
                           e->unit, number, e->message);
}

static void one_end(const Argosy__JobRecord *end) {
        const LogJob *j = end->number <= log_truth.n_jobs ? log_truth.jobs[end->number] : NULL;

        if (!j)
                return;
        for (unsigned i = 0;
             end->state == ARGOSY__JOB_STATE__JOB_DONE && end->n_ends == 0 && i < asks.n_units; i++)
                if (can_be_judged(j, end->number, i))
                        judge_done(j, end->number, i);
        for (size_t k = 0; k < end->n_ends; k++) {
                int i = world_unit_index(end->ends[k]->unit);

                judge_overtaken(end->ends[k], end->number);
                judge_words(end->ends[k], end->number);
                if (end->ends[k]->end == ARGOSY__UNIT_END__END_FAILED && i >= 0 &&
                    can_be_judged(j, end->number, (unsigned) i))
                        judge_failed(j, end->number, (unsigned) i);
        }
        if (end->state == ARGOSY__JOB_STATE__JOB_FAILED && end->n_ends == 0 &&
            end->failed + end->unplaced == 0 && !*end->end_message)
                check_fail("jobs-end-as-told", "job %" PRIu64 " (%s) has failed, and nothing says why",
                           end->number, j->verb);
}

static bool was_reported_now(uint64_t number) {
        for (size_t i = 0; i < log_truth.n_ended; i++)
                if (log_truth.ended[i] == number)
                        return true;
        return false;
}

// What was said before says nothing of the change. How a run has ended counts until another one is asked
// for, and what a liar's host said in its session before the unit came to it still counts for the leader.
static void on_touched(const struct LogTouched *t) {
        const LogUnit *u = &log_truth.units[t->unit];
        bool settled = said[t->unit].settled && u->exists && t->before.start_rev == u->start_rev;

        if (t->asked || !t->after.exists) {
                memset(&said[t->unit], 0, sizeof(said[t->unit]));
                said[t->unit].settled = settled;
                said[t->unit].starts = u->start_rev != t->before.start_rev;
        }
        if (t->asked)
                said[t->unit].revision = u->revision;
        said[t->unit].lied |= u->exists && u->node > 0 && places_lies(u->node);
}

void jobs_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];
                int unit =
                        op->op_case == ARGOSY__LOG_OP__OP_OUTCOME ? world_unit_index(op->outcome->name) : -1;

                if (unit >= 0)
                        said[unit].settled = true;
                for (size_t k = 0; op->op_case == ARGOSY__LOG_OP__OP_JOB_ENDS && k < op->job_ends->n_ends;
                     k++)
                        if (was_reported_now(op->job_ends->ends[k]->number))
                                one_end(op->job_ends->ends[k]);
        }
        for (size_t i = 0; i < log_truth.n_touched; i++)
                on_touched(&log_truth.touched[i]);
}

// ------------------------------------------------------------------------------------------------ records

static unsigned units_of(const Argosy__JobRecord *r) {
        unsigned bits = 0;

        for (size_t g = 0; g < r->n_units; g++)
                for (size_t i = 0; i < r->units[g]->n_names; i++) {
                        int unit = world_unit_index(r->units[g]->names[i]);

                        bits |= unit >= 0 ? 1u << unit : 0;
                }
        return bits;
}

// A record names what its job has changed, and nothing else.
void jobs_on_finish(void) {
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                Argosy__JobRecord *r = NULL;

                if (!log_truth.jobs[i] || log_truth.jobs[i]->own != ARGOSY__OWN_CAUSE__OWN_NONE ||
                    cluster_state_job_before(world.rig.state, i + 1) != i)
                        continue;
                assert_int_equal(cluster_state_read_job(world.rig.state, i, &r), 0);
                if (!r->cut && !r->dropped) {
                        check_says("jobs-name-their-units");
                        if (units_of(r) != log_truth.jobs[i]->touched)
                                check_fail("jobs-name-their-units",
                                           "the record of job %" PRIu64
                                           " (%s) names units %x, and the job has changed %x",
                                           i, log_truth.jobs[i]->verb, units_of(r),
                                           log_truth.jobs[i]->touched);
                }
                message_free(r);
        }
}

// ------------------------------------------------------------------------------------------------ lists

static bool is_ended(Argosy__JobState state) {
        return state != ARGOSY__JOB_STATE__JOB_UNKNOWN && state != ARGOSY__JOB_STATE__JOB_RUNNING &&
               state != ARGOSY__JOB_STATE__JOB_HELD;
}

// Of a job that has ended before its record says so, who waits for it is told no more than the end.
static void one_row(const Argosy__Response__JobRow *row, bool end_alone) {
        static const char *const words[] = {"",          "running",   "done", "failed",
                                            "overtaken", "cancelled", "held"};
        const LogJob *j;

        if (row->job == 0 || row->job > log_truth.n_jobs)
                check_fail("jobs-are-listed", "job %" PRIu64 " is listed, and the log has had %" PRIu64,
                           row->job, log_truth.n_jobs);
        j = log_truth.jobs[row->job];
        if (!j || !*row->verb || j->resumed)
                return;
        check_says("jobs-are-listed");
        if (strcmp(row->verb, j->verb) != 0)
                check_fail("jobs-are-listed", "job %" PRIu64 " is listed as %s, and is %s", row->job,
                           row->verb, j->verb);
        if (!(end_alone && !*row->author) && j->own == ARGOSY__OWN_CAUSE__OWN_NONE && *j->user &&
            strncmp(row->author, j->user, strlen(j->user)) != 0)
                check_fail("jobs-are-listed", "job %" PRIu64 " is listed as %s's, and is %s's", row->job,
                           row->author, j->user);
        if (!row->own != (j->own == ARGOSY__OWN_CAUSE__OWN_NONE))
                check_fail("jobs-are-listed", "job %" PRIu64 " is listed as %s (%s, %s)", row->job,
                           row->own ? "the cluster's own" : "somebody's", row->verb, j->verb);
        if (is_ended(j->state)
                    ? strcmp(row->state, words[j->state]) != 0
                    : (strcmp(row->state, "held") == 0) != (j->state == ARGOSY__JOB_STATE__JOB_HELD))
                check_fail("jobs-are-listed", "job %" PRIu64 " is listed as '%s', and the log says '%s'",
                           row->job, row->state, words[j->state]);
}

static bool asks_for_all(const Argosy__Request__ListJobs *m) {
        return m->number == 0 && m->n_patterns == 0 && !*m->author && m->n_states == 0 && m->since_us == 0 &&
               m->late_after == 0 && m->begun_before == 0 && m->n_nodes == 0;
}

// Of those that are older than what is kept, some are: they have not ended, or others wait for them.
static bool may_be_forgotten(uint64_t number) {
        const LogJob *j = log_truth.jobs[number];

        return number < cluster_state_first_job(world.rig.state) &&
               (!j || j->own != ARGOSY__OWN_CAUSE__OWN_NONE || is_ended(j->state));
}

// The newest first, none left out as far as they are kept.
static void all_rows(const WorldAsked *a, const Argosy__Response__Jobs *jobs) {
        const Argosy__Request__ListJobs *m = a->request->list_jobs;
        uint64_t last = log_truth.n_jobs, next;

        if (m->before > 0 && m->before <= last)
                last = m->before - 1;
        next = last;
        if (a->author != AUTHOR_ROOT || !asks_for_all(m) || jobs->n_rows == 0)
                return;
        for (size_t i = 0; i < jobs->n_rows; i++) {
                while (next > jobs->rows[i]->job && may_be_forgotten(next))
                        next--;
                if (jobs->rows[i]->job != next--)
                        check_fail("jobs-are-listed",
                                   "job %" PRIu64 " is row %zu of a list that begins with %" PRIu64,
                                   jobs->rows[i]->job, i + 1, last);
        }
        if (m->limit > 0 && jobs->n_rows > m->limit)
                check_fail("jobs-are-listed", "a list of %u jobs has %zu", m->limit, jobs->n_rows);
}

// "the oldest that is kept is N, of DATE".
static void is_dated(const Argosy__Response *r) {
        const char *at = strstr(r->message, "the oldest that is kept is ");

        if (at && !strstr(at, ", of "))
                check_fail("jobs-are-listed", "'%s' does not say of when", r->message);
}

static bool is_in_states(const Argosy__Request__ListJobs *m, const char *state) {
        static const char *const words[] = {"",          "running",   "done", "failed",
                                            "overtaken", "cancelled", "held"};

        for (size_t i = 0; i < m->n_states; i++)
                if (strcmp(words[m->states[i]], state) == 0)
                        return true;
        return m->n_states == 0;
}

static bool is_by(const char *pattern, const char *author) {
        char user[128];

        snprintf(user, sizeof(user), "%.*s", (int) strcspn(author, "@"), author);
        return !*pattern || fnmatch(pattern, author, 0) == 0 || fnmatch(pattern, user, 0) == 0;
}

// It is one of those that were asked for.
static void is_asked_for(const Argosy__Request__ListJobs *m, const Argosy__Response__JobRow *row) {
        const char *why = !is_in_states(m, row->state)                               ? "state"
                          : !row->own && !is_by(m->author, row->author)              ? "author"
                          : m->before > 0 && m->late_after == 0 && row->job >= m->before ? "number"
                          : m->late_after > 0 && row->revision <= m->late_after      ? "last revision"
                                                                                     : NULL;

        if (why && *row->verb)
                check_fail("jobs-are-listed",
                           "job %" PRIu64 " (%s, %s, %s, %" PRIu64 " to %" PRIu64
                           ") is listed, and was not asked for by its %s",
                           row->job, row->verb, row->state, row->author, row->revision_before, row->revision,
                           why);
}

void jobs_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (r->status != 0)
                is_dated(r);
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || r->status != 0)
                return;
        for (size_t i = 0; i < r->jobs->n_rows; i++)
                one_row(r->jobs->rows[i], a->request->what_case == ARGOSY__REQUEST__WHAT_JOB_WAIT);
        // A JobWait is answered in the same way.
        if (a->request->what_case != ARGOSY__REQUEST__WHAT_LIST_JOBS)
                return;
        for (size_t i = 0; a->request->list_jobs->number == 0 && i < r->jobs->n_rows; i++)
                is_asked_for(a->request->list_jobs, r->jobs->rows[i]);
        all_rows(a, r->jobs);
}
