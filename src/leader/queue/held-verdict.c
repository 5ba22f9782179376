// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See held-verdict.h. Happy path: the facts that need no look at units, the rule that counts, which may take
// several turns, and the verdict that follows. Nothing is kept here; where a job stands then is
// held-jobs.c's, as are the limits that are asked.
//
// Failures: none of its own; without memory the process ends (oom.h).

#include "held-verdict.h"

#include <inttypes.h>

#include "held-jobs.h"
#include "queue-policy.h"
#include "str.h"

static void add_after(const Leader *l, const uint64_t *after, size_t n, HeldJobFacts *facts) {
        for (size_t i = 0; i < n; i++) {
                HeldJobAfter now = held_job_after(cluster_state_job_state(l->state, after[i]));

                facts->n_open += now == HELD_AFTER_OPEN;
                facts->after_failed |= now == HELD_AFTER_FAILED;
        }
}

// Without what is stored of it the request has just come.
static HeldJobFacts facts_of(const Leader *l, const HeldQuestion *q) {
        const Argosy__Request__Job *job = q->request->job;
        HeldJobFacts facts = {.is_new = !q->stored};

        if (q->stored) {
                facts.by_hand = q->stored->by_hand;
                facts.past_rules = q->stored->past_rules;
                add_after(l, q->stored->after, q->stored->n_after, &facts);
        } else if (job) {
                facts.by_hand = job->hold;
                add_after(l, job->after, job->n_after, &facts);
        }
        facts.past_rules |= queue_undoes_rules(l, q->request);
        return facts;
}

// `facts` has what is known by now.
static HeldJobVerdict judge(const Leader *l, const HeldQuestion *q, HeldJobFacts *facts,
                            const Argosy__QueueRule *rule) {
        const Argosy__Request *request = q->request;
        uint64_t job;

        facts->past_rules |= !queue_policy_is_for(request, q->author);
        facts->closed = cluster_state_queue(l->state)->closed;
        facts->action = rule ? rule->action : ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT;
        facts->is_behind = request->job && request->job->queue && queue_exclusive_job(l, request, &job);
        facts->limit_full = facts->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT &&
                            held_limit_is_full(l, rule, request, q->moment);
        return held_job_judge(facts);
}

bool held_verdict_find(Leader *l, const HeldQuestion *q, size_t *left, QueueLook **look, HeldJobVerdict *ret,
                       const Argosy__QueueRule **ret_rule) {
        HeldJobFacts facts = facts_of(l, q);

        *ret_rule = NULL;
        if (!facts.past_rules && !queue_rule_find(l, q->author, q->request, left, look, ret_rule))
                return false;
        *ret = judge(l, q, &facts, *ret_rule);
        return true;
}

HeldJobVerdict held_verdict_without_rules(const Leader *l, const Argosy__StoredRequest *m) {
        HeldJobFacts facts = {.by_hand = m->by_hand, .past_rules = true};

        add_after(l, m->after, m->n_after, &facts);
        return held_job_judge(&facts);
}

void held_verdict_phrase(const Leader *l, HeldJobVerdict v, const Argosy__QueueRule *rule,
                         const uint64_t *after, size_t n_after, char ret[HELD_WHY_SIZE]) {
        const char *reason = cluster_state_queue(l->state)->reason;

        *ret = '\0';
        switch (v) {
        case HELD_JOB_BY_HAND:
                str_fit(ret, HELD_WHY_SIZE, "somebody to release it (argosyctl job release)");
                break;
        case HELD_JOB_AFTER:
                if (n_after > 1)
                        str_fit(ret, HELD_WHY_SIZE, "job %" PRIu64 " and %zu more", after[0], n_after - 1);
                else if (n_after == 1)
                        str_fit(ret, HELD_WHY_SIZE, "job %" PRIu64, after[0]);
                break;
        case HELD_JOB_CLOSED:
                str_fit(ret, HELD_WHY_SIZE, "the queue to open%s%s", *reason ? ": " : "", reason);
                break;
        case HELD_JOB_RULE:
                str_fit(ret, HELD_WHY_SIZE, "rule %" PRIu32 " of the queue to let it go",
                        rule ? rule->number : 0);
                break;
        case HELD_JOB_LIMIT:
                str_fit(ret, HELD_WHY_SIZE,
                        "one of the %" PRIu32 " jobs of rule %" PRIu32 " of the queue to end",
                        rule ? rule->limit : 0, rule ? rule->number : 0);
                break;
        case HELD_JOB_BEHIND:
                if (n_after == 0 || after[0] == 0)
                        str_fit(ret, HELD_WHY_SIZE, "the end of the rebalance that is under way");
                else
                        str_fit(ret, HELD_WHY_SIZE,
                                "the end of job %" PRIu64 ", beside which it cannot be done", after[0]);
                break;
        default:
                break;
        }
}
