// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about jobs: what is put back, forgotten, listed, let go and called off, and the rules by which
// jobs are held.
#include "asks-private.h"

bool ask_undo(Draw *d, void *message) {
        Argosy__Request__Undo *m = message;

        m->job = asks_job(d);
        m->preview = draw_one_in(d, 6);
        m->only_untouched = draw_one_in(d, 4);
        m->force = !m->only_untouched && draw_one_in(d, 3);
        if (asks.swarm.loads[LOAD_rollout] && draw_one_in(d, 3)) {
                m->rolling = true;
                m->max_unavailable = draw_below(d, 3);
                m->percent = m->max_unavailable > 0 && draw_one_in(d, 4);
                m->health_us = draw_one_in(d, 2) ? draw_log(d, 1, 5000000) : 0;
        }
        return true;
}

bool ask_forget(Draw *d, void *message) {
        Argosy__Request__Forget *m = message;

        m->revs = asks_words(d, &m->n_revs, 3, asks_rev);
        return m->n_revs > 0;
}

static const char *draw_node(Draw *d) {
        return asks_node(d);
}

bool ask_list_jobs(Draw *d, void *message) {
        static const char *const authors[] = {"root", "alice", "carol@n1", "*", "*@n2", "token:*"};
        Argosy__Request__ListJobs *m = message;

        m->limit = draw_one_in(d, 2) ? 1 + draw_below(d, 8) : 0;
        if (draw_one_in(d, 3)) {
                m->number = asks_job(d);
                m->first_unit = draw_one_in(d, 2) ? draw_below(d, 8) : 0;
                return true;
        }
        m->before = draw_one_in(d, 3) ? asks_job(d) : 0;
        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        m->changes = draw_one_in(d, 3);
        if (draw_one_in(d, 4))
                m->author = (char *) DRAW_PICK(d, authors);
        if (draw_one_in(d, 4)) {
                m->states = asks_alloc(2 * sizeof(*m->states));
                for (unsigned n = 1 + draw_below(d, 2); m->n_states < n;)
                        m->states[m->n_states++] =
                                (Argosy__JobState) draw_below(d, ARGOSY__JOB_STATE__JOB_HELD + 1);
        }
        if (draw_one_in(d, 4))
                m->since_us = asks.port->wall_us() - draw_log(d, 1, UINT64_C(60) * 1000000);
        if (draw_one_in(d, 4))
                m->late_after = 1 + cluster_state_revision(asks.port->state()) -
                                draw_log(d, 1, cluster_state_revision(asks.port->state()) + 1);
        if (draw_one_in(d, 6))
                m->begun_before = 1 + cluster_state_revision(asks.port->state()) -
                                  draw_log(d, 1, cluster_state_revision(asks.port->state()) + 1);
        if (draw_one_in(d, 6))
                m->nodes = asks_words(d, &m->n_nodes, 2, draw_node);
        return true;
}

// --------------------------------------------------------------------------------------------- what is held

static uint64_t *draw_jobs(Draw *d, size_t *ret_n) {
        size_t n = 1 + (draw_one_in(d, 4) ? draw_below(d, 3) : 0);
        uint64_t *numbers = asks_alloc(n * sizeof(*numbers));

        for (size_t i = 0; i < n; i++)
                numbers[i] = draw_below(d, 8) > 0 ? asks_held_job(d) : asks_job(d);
        *ret_n = n;
        return numbers;
}

bool ask_job_release(Draw *d, void *message) {
        Argosy__Request__JobRelease *m = message;

        m->numbers = draw_jobs(d, &m->n_numbers);
        return true;
}

bool ask_job_cancel(Draw *d, void *message) {
        Argosy__Request__JobCancel *m = message;

        m->numbers = draw_jobs(d, &m->n_numbers);
        return true;
}

// ------------------------------------------------------------------------------------------------ the rules

// A number that a rule has, or had.
static uint32_t draw_rule(Draw *d) {
        const Argosy__QueueRecord *queue = cluster_state_queue(asks.port->state());

        if (queue && queue->n_rules > 0 && draw_below(d, 4) > 0)
                return queue->rules[draw_below(d, (unsigned) queue->n_rules)]->number;
        return 1 + draw_below(d, 4);
}

static Argosy__QueueRule *make_rule(Draw *d) {
        static const char *const authors[] = {"root", "alice", "carol", "*@n1", "a*"};
        static const char *const rule_verbs[] = {"start", "stop",   "restart", "submit", "destroy",  "apply",
                                                 "undo",  "update", "label",   "drain",  "rebalance"};
        Argosy__QueueRule *rule = ASKS_NEW(Argosy__QueueRule, argosy__queue_rule__init);

        if (draw_one_in(d, 3))
                rule->author = (char *) DRAW_PICK(d, authors);
        if (draw_below(d, 3) > 0)
                rule->verb = (char *) DRAW_PICK(d, rule_verbs);
        if (draw_one_in(d, 3))
                rule->unit = (char *) asks_pattern(d);
        if (draw_one_in(d, 6))
                rule->role = (char *) asks_role(d);
        if (draw_one_in(d, 8))
                rule->reason = (char *) "night*";
        rule->action = (Argosy__QueueAction) draw_below(d, ARGOSY__QUEUE_ACTION__QUEUE_LIMIT + 1);
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                rule->text = (char *) "not now";
        if (rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                rule->limit = 1 + draw_below(d, 3);
        return rule;
}

// What comes undone more often than it comes: else nothing would be done any more.
bool ask_queue_change(Draw *d, void *message) {
        Argosy__Request__QueueChange *m = message;

        switch (draw_below(d, 12)) {
        case 0 ... 2:
                m->add = make_rule(d);
                m->before = draw_one_in(d, 3) ? draw_rule(d) : 0;
                break;
        case 3 ... 6:
                m->remove = draw_rule(d);
                break;
        case 7:
                m->close = true;
                break;
        case 8 ... 9:
                m->open = true;
                break;
        case 10:
                if (draw_one_in(d, 2))
                        m->open_max = 1 + (uint32_t) draw_log(d, 1, 100);
                else
                        m->history_mib = 1 + draw_below(d, 4);
                break;
        default:
                m->file_kib = draw_one_in(d, 2) ? (uint32_t) draw_log(d, 1, 512) : 0;
                m->unit_files_kib = draw_one_in(d, 2) ? (uint32_t) draw_log(d, 1, 768) : 0;
                m->files_mib = m->file_kib + m->unit_files_kib == 0 || draw_one_in(d, 2)
                                       ? 1 + draw_below(d, 64)
                                       : 0;
        }
        return true;
}

// It is the first one, so that it counts. Rules go as they come: else nothing would be done any more.
bool ask_queue_rule(Draw *d, void *message) {
        static const char *const rule_verbs[] = {"start", "stop", "restart", "submit"};
        static const Argosy__QueueAction actions[] = {
                ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, ARGOSY__QUEUE_ACTION__QUEUE_LIMIT,
                ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, ARGOSY__QUEUE_ACTION__QUEUE_HOLD,
                ARGOSY__QUEUE_ACTION__QUEUE_REFUSE};
        const Argosy__QueueRecord *queue = cluster_state_queue(asks.port->state());
        uint32_t first = queue && queue->n_rules > 0 ? queue->rules[0]->number : 0;
        Argosy__Request__QueueChange *m = message;

        if (queue && queue->closed) {
                m->open = true;
        } else if (first > 0 && draw_below(d, 3) > 0) {
                m->remove = first;
        } else if (draw_one_in(d, 8)) {
                m->close = true;
        } else {
                m->add = ASKS_NEW(Argosy__QueueRule, argosy__queue_rule__init);
                m->before = first;
                m->add->action = DRAW_PICK(d, actions);
                if (draw_one_in(d, 2))
                        m->add->verb = (char *) DRAW_PICK(d, rule_verbs);
                if (draw_one_in(d, 4))
                        m->add->unit = (char *) "u*";
                if (draw_one_in(d, 4))
                        m->add->role = (char *) asks_role(d);
                if (m->add->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                        m->add->text = (char *) "not now";
                if (m->add->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                        m->add->limit = 1 + draw_below(d, 2);
        }
        return true;
}
