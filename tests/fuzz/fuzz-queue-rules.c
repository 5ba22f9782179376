// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever the rules of a queue: the one that counts is one of them, and none before it matches by itself;
// what is said about one of them is said of the same one again.
//
// Input: a packed QueueRecord. The request that is matched is always the same.

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "queue-policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *unit_of(size_t i, void *userdata) {
        static const char *const units[] = {"web@1.service", "db.service"};

        return i < 2 ? units[i] : NULL;
}

static const char *role_of(size_t i, size_t *left, void *userdata) {
        return i == 1 ? "db" : NULL;
}

static const QueueSubject subject = {.user = "ann",
                                     .host = "n2",
                                     .verb = "update",
                                     .reason = "ticket 7",
                                     .unit = unit_of,
                                     .role = role_of};

// A few comparisons in each turn, or all at once.
static const Argosy__QueueRule *match(const Argosy__QueueRecord *queue, size_t most) {
        const Argosy__QueueRule *rule;
        QueueWalk walk = {};
        size_t left;
        int r;

        do {
                left = most;
                r = queue_policy_walk(queue, &subject, &walk, &left, &rule);
        } while (r == QUEUE_WALK_MORE);
        if (r != 0)
                abort();
        queue_walk_done(&walk);
        return rule;
}

static bool matches_alone(Argosy__QueueRule *rule) {
        Argosy__QueueRecord one = ARGOSY__QUEUE_RECORD__INIT;

        one.rules = &rule;
        one.n_rules = 1;
        return match(&one, SIZE_MAX) == rule;
}

static void check(const Argosy__QueueRecord *queue) {
        const Argosy__QueueRule *rule = match(queue, SIZE_MAX);
        size_t i = 0;

        if (match(queue, 1) != rule)
                abort();

        while (i < queue->n_rules && !matches_alone(queue->rules[i])) {
                (void) queue_rule_error(queue->rules[i]);
                i++;
        }
        if ((i < queue->n_rules ? queue->rules[i] : NULL) != rule)
                abort();
        for (i = 0; i < queue->n_rules; i++)
                if (queue_rule_matches_all(queue->rules[i]) && !matches_alone(queue->rules[i]))
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        void *queue;

        if (message_unpack(&argosy__queue_record__descriptor, data, size, &queue) < 0)
                return 0;
        check(queue);
        message_free(queue);
        return 0;
}
