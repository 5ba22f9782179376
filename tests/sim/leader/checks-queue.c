// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of the queue: what holds a job, and whose turn it is, worked out from the log alone.
//
// The log has the rules, and of each job that is held its request, who asked, and what it waits for. A job
// begins only if nothing of that holds it; of those that wait for a limit the oldest begin first; and one
// that nothing holds any more begins soon. Rules are compared with a request here as the manual says. Where
// that needs roles, or is no change of units, nothing is known, and nothing is said.
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "author.h"
#include "checks-private.h"
#include "leader-private.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "test.h"

enum { RULES_MAX = 64, OPEN_MAX = 4096, FREE_MAX_MS = 2000, STANDS_ENTRIES = 3 };

typedef struct Queued {
        uint64_t number;
        Argosy__Request *request; // NULL: it cannot be read
        Argosy__Author *author;
        char who[2][2 * AUTHOR_TEXT_SIZE], verb[24], reason[64]; // who: USER, USER@HOST
        bool past_rules;
        uint32_t limited_by; // it runs, and that rule counts it
        // Nothing but a limit held it, under this leader and by these rules: since that entry and that time.
        uint64_t ready_entry, ready_us;
        size_t passed; // 1 + the place in queue.passes of a younger job that has begun since then
} Queued;

static struct {
        Argosy__QueueRecord *rules;
        Queued *held[OPEN_MAX]; // in no order
        size_t n_held;
        struct {
                uint64_t number;
                uint32_t rule;
        } running[OPEN_MAX];
        size_t n_running;
        // Jobs that have begun before older ones which could have. So many of these may have had room
        // then, and wait for something else, such as a registry.
        struct {
                uint64_t number;
                size_t spare;
        } passes[OPEN_MAX];
        size_t n_passes;
        uint64_t rules_entry, led_us; // the entry of the rules, and since when whoever leads does
        bool skips;                   // there were too many
} queue;

static void queued_free(Queued *q) {
        if (!q)
                return;
        message_free(q->request);
        message_free(q->author);
        free(q);
}

void queue_end(void) {
        for (size_t i = 0; i < queue.n_held; i++)
                queued_free(queue.held[i]);
        message_free(queue.rules);
        memset(&queue, 0, sizeof(queue));
}

// ------------------------------------------------------------------------------------------------ matching

typedef enum Match { MATCH_NO, MATCH_YES, MATCH_UNKNOWN } Match;

static bool fits(const char *pattern, const char *text) {
        return !*pattern || fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}

static Match rule_is_for(const Argosy__QueueRule *r, const Queued *q) {
        bool has_unit = !*r->unit;

        if (!fits(r->verb, q->verb) || !fits(r->reason, q->reason) ||
            (!fits(r->author, q->who[0]) && !fits(r->author, q->who[1])))
                return MATCH_NO;
        for (size_t i = 0; i < q->request->change->n_names; i++)
                has_unit |= fits(r->unit, q->request->change->names[i]);
        if (!has_unit)
                return MATCH_NO;
        return *r->role ? MATCH_UNKNOWN : MATCH_YES;
}

// The first that matches counts; NULL: none does. False: nobody knows.
static bool find_rule(const Argosy__QueueRecord *rules, const Queued *q, const Argosy__QueueRule **ret) {
        *ret = NULL;
        for (size_t i = 0; rules && i < rules->n_rules; i++) {
                Match m = rule_is_for(rules->rules[i], q);

                if (m == MATCH_NO)
                        continue;
                *ret = rules->rules[i];
                return m == MATCH_YES;
        }
        return true;
}

// The rules are for what changes units, but for what their owner stops.
static bool can_be_judged(const Queued *q) {
        return q->request && q->author && q->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE &&
               !q->request->change->preview;
}

static bool is_past_rules(const Queued *q) {
        Argosy__Verb verb = q->request->change->verb;

        return q->past_rules ||
               (q->author->owner && (verb == ARGOSY__VERB__VERB_STOP || verb == ARGOSY__VERB__VERB_DESTROY));
}

// -------------------------------------------------------------------------------------------- what is held

static Queued *queued_new(uint64_t number, const Argosy__JobRecord *r, Argosy__Request *request,
                          Argosy__Author *author) {
        Queued *q = calloc(1, sizeof(*q));
        char text[AUTHOR_TEXT_SIZE];

        assert_non_null(q);
        q->number = number;
        q->request = request;
        q->author = author;
        if (author)
                snprintf(q->who[0], sizeof(q->who[0]), "%s", author_text(author, text));
        str_fit(q->who[1], sizeof(q->who[1]), "%s@%s", q->who[0], r->host_name);
        snprintf(q->verb, sizeof(q->verb), "%s", r->verb);
        snprintf(q->reason, sizeof(q->reason), "%s", r->reason);
        return q;
}

static Queued **find_held(uint64_t number) {
        for (size_t i = 0; i < queue.n_held; i++)
                if (queue.held[i]->number == number)
                        return &queue.held[i];
        return NULL;
}

static void drop_held(Queued **at) {
        queued_free(*at);
        *at = queue.held[--queue.n_held];
}

static void hold(uint64_t number, const Argosy__LogOp__JobPut *put) {
        const Argosy__StoredRequest *m = put->stored;
        Argosy__Author *author = m->author ? message_copy(m->author) : NULL;
        void *request = NULL;

        if (message_unpack(&argosy__request__descriptor, m->request.data, m->request.len, &request) < 0)
                request = NULL;
        for (size_t i = 0; i < m->n_after; i++)
                if (log_place(m->after[i]) >= number)
                        check_fail("queue-is-kept", "job %" PRIu64 " waits for job %" PRIu64, number,
                                   log_place(m->after[i]));
        if (queue.n_held == OPEN_MAX) {
                queue.skips = true;
                message_free(request);
                message_free(author);
                return;
        }
        queue.held[queue.n_held] = queued_new(number, put->job, request, author);
        queue.held[queue.n_held++]->past_rules = m->past_rules;
}

// Whether one that it waits for is not done.
static bool waits_for_others(uint64_t number) {
        const LogJob *j = log_truth.jobs[number];

        for (size_t i = 0; j && i < j->n_waits_for; i++) {
                const LogJob *other =
                        j->waits_for[i] <= log_truth.n_jobs ? log_truth.jobs[j->waits_for[i]] : NULL;

                if (!other || (other->own == ARGOSY__OWN_CAUSE__OWN_NONE &&
                               other->state != ARGOSY__JOB_STATE__JOB_DONE))
                        return true;
        }
        return false;
}

static size_t n_running(uint32_t rule) {
        size_t n = 0;

        for (size_t i = 0; i < queue.n_running; i++)
                n += queue.running[i].rule == rule;
        return n;
}

// Whether a rule that is no limit, or something else, may hold it.
static bool may_be_held(const Queued *q, const Argosy__QueueRule **ret_limit) {
        const LogJob *j = log_truth.jobs[q->number];
        const Argosy__QueueRule *rule;

        *ret_limit = NULL;
        if (!can_be_judged(q) || !j || j->by_hand || waits_for_others(q->number) ||
            (q->request->job && q->request->job->queue))
                return true;
        if (is_past_rules(q))
                return false;
        if (log_truth.queue_is_closed || !find_rule(queue.rules, q, &rule))
                return true;
        if (rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                *ret_limit = rule;
        else if (rule && rule->action != ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT)
                return true;
        return false;
}

// -------------------------------------------------------------------------------------------- what begins

// It is older, waits for the same limit, and could begin when this one was decided.
static bool is_before(const Queued *other, const Queued *q, uint32_t limit) {
        const Argosy__QueueRule *rule;

        return other->number < q->number && other->ready_entry > 0 &&
               log_truth.jobs[other->number]->state == ARGOSY__JOB_STATE__JOB_HELD &&
               other->ready_entry + STANDS_ENTRIES < log_truth.n_entries && !may_be_held(other, &rule) &&
               rule && rule->number == limit;
}

static size_t n_before(const Queued *q, uint32_t limit) {
        size_t n = 0;

        for (size_t i = 0; i < queue.n_held; i++)
                n += is_before(queue.held[i], q, limit);
        return n;
}

// An older one may have had its turn, and have found nothing to do: then its end comes to the log by and by.
// It is wrong if that one begins after all, unless it had room beside this one.
static void judge_limit(const Queued *q, const Argosy__QueueRule *rule, size_t n_begun) {
        size_t running = n_running(rule->number);

        if (running + n_begun >= rule->limit)
                check_fail("queue-is-kept",
                           "job %" PRIu64 " (%s) begins, and %zu of the %" PRIu32 " jobs of rule %" PRIu32
                           " run",
                           q->number, q->verb, running + n_begun, rule->limit, rule->number);
        if (q->limited_by != rule->number || queue.n_passes == OPEN_MAX || n_before(q, rule->number) == 0)
                return;
        queue.passes[queue.n_passes].number = q->number;
        queue.passes[queue.n_passes++].spare = rule->limit - running - n_begun - 1;
        for (size_t i = 0; i < queue.n_held; i++)
                if (!queue.held[i]->passed && is_before(queue.held[i], q, rule->number))
                        queue.held[i]->passed = queue.n_passes;
}

// By the rules before the entry: it has none itself. n_begun: in this entry, by the same limit.
static void judge_begin(const Queued *q, size_t n_begun) {
        const LogJob *j = log_truth.jobs[q->number];
        const Argosy__QueueRule *rule;

        if (!j || !can_be_judged(q))
                return;
        check_says("queue-is-kept");
        if (j->by_hand || waits_for_others(q->number))
                check_fail("queue-is-kept", "job %" PRIu64 " (%s) begins, and %s holds it", q->number,
                           q->verb, j->by_hand ? "somebody" : "another job");
        if (is_past_rules(q) || log_truth.n_entries == queue.rules_entry)
                return;
        if (q->passed > 0 && queue.passes[q->passed - 1].spare-- == 0)
                check_fail("queue-is-kept",
                           "job %" PRIu64 " (%s) begins behind job %" PRIu64 ", and both wait for a limit",
                           q->number, q->verb, queue.passes[q->passed - 1].number);
        if (log_truth.queue_is_closed)
                check_fail("queue-is-kept", "job %" PRIu64 " (%s) begins, and the queue is closed",
                           q->number, q->verb);
        if (!find_rule(queue.rules, q, &rule) || !rule)
                return;
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_HOLD ||
            rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                check_fail("queue-is-kept",
                           "job %" PRIu64 " (%s) begins, and rule %" PRIu32 " is against it", q->number,
                           q->verb, rule->number);
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                judge_limit(q, rule, n_begun);
}

// What was never held: who asked is in its record.
static Queued *find_asked(uint64_t number, const Argosy__LogOp__JobPut *put) {
        const WorldAsked *a = put->id.len == LOG_ID_SIZE ? log_asked_as(put->id.data) : NULL;
        Argosy__Author author = ARGOSY__AUTHOR__INIT;
        Queued *q;

        if (!a || a->author == AUTHOR_TOKEN)
                return NULL;
        author.owner = a->author == AUTHOR_ROOT;
        author.user = put->job->user;
        author.uid = put->job->uid;
        q = queued_new(number, put->job, message_copy(a->request), message_copy(&author));
        q->limited_by = put->job->limited_by;
        return q;
}

static void begin(uint64_t number, const Argosy__LogOp__JobPut *put, size_t *n_begun) {
        Queued **at = find_held(number), *q = at ? *at : find_asked(number, put);
        uint32_t rule = put->job->limited_by;
        size_t n = 0;

        for (size_t i = 0; i < *n_begun; i++)
                n += queue.running[queue.n_running + i].rule == rule;
        if (q) {
                q->limited_by = rule;
                judge_begin(q, n);
        }
        if (at)
                drop_held(at);
        else
                queued_free(q);
        if (rule == 0)
                return;
        if (queue.n_running + *n_begun == OPEN_MAX) {
                queue.skips = true;
                return;
        }
        queue.running[queue.n_running + *n_begun].number = number;
        queue.running[queue.n_running + (*n_begun)++].rule = rule;
}

// ------------------------------------------------------------------------------------------------ the log

static void forget_ended(void) {
        for (size_t i = 0; i < queue.n_running;) {
                const LogJob *j = log_truth.jobs[queue.running[i].number];

                if (j && j->state == ARGOSY__JOB_STATE__JOB_RUNNING)
                        i++;
                else
                        queue.running[i] = queue.running[--queue.n_running];
        }
        for (size_t i = 0; i < queue.n_held;) {
                const LogJob *j = log_truth.jobs[queue.held[i]->number];

                if (j && j->state == ARGOSY__JOB_STATE__JOB_HELD)
                        i++;
                else
                        drop_held(&queue.held[i]);
        }
}

// Since when each could begin, if its limit has room. Another leader begins anew, and so do other rules.
static void note_ready(void) {
        bool anew = world.rig.led_since_us != queue.led_us || log_truth.n_entries == queue.rules_entry;

        queue.led_us = world.rig.led_since_us;
        for (size_t i = 0; i < queue.n_held; i++) {
                Queued *q = queue.held[i];
                const Argosy__QueueRule *limit;

                if (may_be_held(q, &limit)) {
                        q->ready_entry = q->ready_us = q->passed = 0;
                } else if (q->ready_entry == 0 || anew) {
                        q->ready_entry = log_truth.n_entries;
                        q->ready_us = world.rig.now_us;
                        q->passed = 0;
                }
        }
}

static void on_rules(const Argosy__QueueRecord *rules) {
        message_free(queue.rules);
        queue.rules = message_copy(rules);
        assert_non_null(queue.rules);
        queue.rules_entry = log_truth.n_entries;
}

static bool begins(uint64_t number, const Argosy__LogOp__JobPut *put) {
        if (put->job->own != ARGOSY__OWN_CAUSE__OWN_NONE || put->stored)
                return false;
        return put->number == 0 || find_held(number);
}

void queue_on_entry(const Argosy__LogBatch *batch) {
        uint64_t next = log_truth.n_jobs; // behind those that begin here
        size_t n_begun = 0;

        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                next -= op->op_case == ARGOSY__LOG_OP__OP_JOB && op->job->number == 0;
                if (op->op_case == ARGOSY__LOG_OP__OP_QUEUE)
                        on_rules(op->queue);
                if (op->op_case == ARGOSY__LOG_OP__OP_STORED_RELEASE) {
                        Queued **at = find_held(log_place(op->stored_release->job));

                        if (at)
                                (*at)->past_rules |= op->stored_release->past_rules;
                }
        }
        for (size_t i = 0; i < batch->n_ops && !queue.skips; i++) {
                const Argosy__LogOp__JobPut *put =
                        batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB ? batch->ops[i]->job : NULL;
                uint64_t number;

                if (!put)
                        continue;
                number = put->number == 0 ? ++next : log_place(put->number);
                if (put->number == 0 && put->stored)
                        hold(number, put);
                else if (begins(number, put))
                        begin(number, put, &n_begun);
        }
        queue.n_running += n_begun;
        forget_ended();
        note_ready();
}

// ------------------------------------------------------------------------------------------- in the end

size_t queue_count_about_members(Argosy__JobState state) {
        size_t n = 0;

        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                const LogJob *j = log_truth.jobs[i];

                n += j && j->state == state && str_has_prefix(j->verb, "cluster ");
        }
        return n;
}

// What is asked of members, and nobody and no other job holds: it goes, and may wait for other voters before
// anything of it is in the log.
static size_t n_members_going(void) {
        size_t n = 0;

        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                const LogJob *j = log_truth.jobs[i];

                n += j && j->state == ARGOSY__JOB_STATE__JOB_HELD && !j->by_hand && !waits_for_others(i) &&
                     str_has_prefix(j->verb, "cluster ");
        }
        return n;
}

// The removal of a host lasts until that has let go of the lead, and of its units.
bool queue_is_full_of_members(void) {
        return queue_count_about_members(ARGOSY__JOB_STATE__JOB_RUNNING) + n_members_going() >=
               world.rig.leader->limits.held_going;
}

// Of what changes no units nobody knows here whether it goes, and has the place of a limit.
static size_t n_going_before(const Queued *q) {
        size_t n = 0;

        for (size_t i = 0; i < queue.n_held; i++) {
                const Queued *other = queue.held[i];

                n += other->number < q->number && !can_be_judged(other) &&
                     !log_truth.jobs[other->number]->by_hand && !waits_for_others(other->number);
        }
        return n;
}

// What nothing holds has begun, when everything has been well for long.
// It would be carried out never.
static void none_waits_in_vain(void) {
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                const LogJob *j = log_truth.jobs[i], *other;

                for (size_t k = 0; j && j->state == ARGOSY__JOB_STATE__JOB_HELD && k < j->n_waits_for; k++) {
                        other = j->waits_for[k] > 0 && j->waits_for[k] <= log_truth.n_jobs
                                        ? log_truth.jobs[j->waits_for[k]]
                                        : NULL;
                        if (other && !other->resumed &&
                            (other->state == ARGOSY__JOB_STATE__JOB_FAILED ||
                             other->state == ARGOSY__JOB_STATE__JOB_OVERTAKEN ||
                             other->state == ARGOSY__JOB_STATE__JOB_CANCELLED))
                                check_fail("queue-is-kept",
                                           "job %" PRIu64 " (%s) waits for job %" PRIu64
                                           ", which has ended, and was not done",
                                           i, j->verb, j->waits_for[k]);
                }
        }
}

void queue_on_calm(void) {
        none_waits_in_vain();
        if (queue.skips || asks.swarm.containers > 0 || queue_is_full_of_members())
                return; // as many as may go at a time may all wait for a registry, or are under way
        for (size_t i = 0; i < queue.n_held; i++) {
                const Queued *q = queue.held[i];
                const Argosy__QueueRule *limit;

                if (may_be_held(q, &limit) || q->ready_us == 0 ||
                    q->ready_us + FREE_MAX_MS * UINT64_C(1000) > world.rig.now_us ||
                    (limit && n_running(limit->number) + n_before(q, limit->number) + n_going_before(q) >=
                               limit->limit))
                        continue;
                check_fail("queue-is-kept",
                           "job %" PRIu64 " (%s) is held, and nothing has held it for %" PRIu64 " ms",
                           q->number, q->verb, (world.rig.now_us - q->ready_us) / 1000);
        }
}
