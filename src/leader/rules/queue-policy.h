// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which rule of the queue counts for a request: the first that matches. Pure.
//
// A request may name tens of thousands of units, and there may be many rules that ask for some: what is
// compared is counted, and who has compared as much as one turn of the loop may goes on in the next.
//
// Rules are for what people and programs ask for. Never matched: what the cluster does by itself, which is
// no request; a host that joins; changes of the rules, cancel and release, or a wrong rule could not be
// mended; and what root, or the user that runs argosyd, stops or destroys.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "map.h"

enum {
        QUEUE_WALK_MORE = 1,
        QUEUE_PATTERN_MAX = 255, // bytes of one
        QUEUE_TEXT_MAX = 512,
        QUEUE_LIMIT_MAX = 100000,
};

// What rules ask about.
typedef struct QueueSubject {
        const char *user, *host; // the author's; the host's name, or ""
        const char *verb, *reason;
        // The units that it names, from 0 on, and the role of one; NULL behind the last, or if there is none
        // to be known. Each is asked for its role once at most. To find one out may be much work: then more
        // of *left goes, as far as there is.
        const char *(*unit)(size_t i, void *userdata);
        const char *(*role)(size_t i, size_t *left, void *userdata);
        void *userdata;
} QueueSubject;

// One request on its way over the rules, which stay the same meanwhile. Zero-initialised it has not begun.
typedef struct QueueWalk {
        size_t rule, unit; // the next that are compared
        bool has_unit;     // that rule's pattern of units is matched
        size_t n_roles;    // units that were asked for their roles
        Map roles;         // these, each once; owned
} QueueWalk;

bool queue_policy_is_for(const Argosy__Request *request, const Argosy__Author *author);
// It changes nothing, and there is nothing to hold.
bool queue_policy_only_asks(const Argosy__Request *request);
// Whether it may be refused because its author has too many jobs that are open. What stops, destroys or ends
// something is not, nor what mends the queue.
bool queue_policy_is_limited(const Argosy__Request *q);
// It can be kept and carried out later. False: only while who asks listens.
bool queue_policy_can_hold(const Argosy__Request *request);
// Goes on as long as some of *left is left, which becomes less by one for each unit that is compared with a
// rule. 0 and in *ret the rule, NULL: none of them matches; QUEUE_WALK_MORE; -ENOMEM.
int queue_policy_walk(const Argosy__QueueRecord *queue, const QueueSubject *s, QueueWalk *w, size_t *left,
                      const Argosy__QueueRule **ret);
void queue_walk_done(QueueWalk *w);
// Why there can be no such rule, for people; NULL: there can.
const char *queue_rule_error(const Argosy__QueueRule *rule);
// It asks for nothing.
bool queue_rule_matches_all(const Argosy__QueueRule *rule);
// "limit 3", "refuse" ...
const char *queue_action_to_string(Argosy__QueueAction action);
