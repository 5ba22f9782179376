// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A rule matches if all that it asks for is so; what it does not name it does not ask for. A pattern of
// units matches a request as soon as one of its units does: who wants to hold what touches the database
// wants that also of a request that touches ten other things. Unit pattern and role may be matched by two
// different units.
//
// For which kinds of requests they are, and which can be held, is in model/request-kind.c.
//
// Failures: want of memory. What has no units matches no rule that asks for some.

#include "queue-policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "author.h"
#include "macro.h"
#include "request-kind.h"
#include "str.h"
#include "unit-options.h"

bool queue_policy_only_asks(const Argosy__Request *q) {
        const RequestJob *job = request_job(q);

        return job && job->asks(q);
}

// Whether the queue means that much to it, and it neither only asks nor only ends something.
static bool is_in_queue(const Argosy__Request *q, unsigned bit) {
        const RequestJob *job = request_job(q);

        return job && job->queue & bit && !job->asks(q) && !job->ends(q);
}

static bool stops(const Argosy__Request *q) {
        return q->what_case == ARGOSY__REQUEST__WHAT_CHANGE &&
               (q->change->verb == ARGOSY__VERB__VERB_STOP || q->change->verb == ARGOSY__VERB__VERB_DESTROY);
}

bool queue_policy_is_for(const Argosy__Request *q, const Argosy__Author *author) {
        return is_in_queue(q, REQUEST_RULED) && !(author->owner && stops(q));
}

bool queue_policy_is_limited(const Argosy__Request *q) {
        return is_in_queue(q, REQUEST_LIMITED) && !stops(q);
}

bool queue_policy_can_hold(const Argosy__Request *q) {
        return is_in_queue(q, REQUEST_CAN_BE_HELD);
}

// ------------------------------------------------------------------------------------------------ matching

static bool matches(const char *pattern, const char *text) {
        return !*pattern || fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}

static bool is_by(const char *pattern, const QueueSubject *s) {
        char whole[2 * (AUTHOR_NAME_MAX + 1) + 1];

        if (matches(pattern, s->user))
                return true;
        snprintf(whole, sizeof(whole), "%s@%s", s->user, s->host);
        return matches(pattern, whole);
}

typedef enum Match { MATCH_NO, MATCH_YES, MATCH_MORE } Match;

static bool take(size_t *left) {
        if (*left == 0)
                return false;
        --*left;
        return true;
}

static Match has_unit(const char *pattern, const QueueSubject *s, QueueWalk *w, size_t *left) {
        const char *unit;

        if (!*pattern || w->has_unit)
                return MATCH_YES;
        for (; (unit = s->unit(w->unit, s->userdata)); w->unit++) {
                if (!take(left))
                        return MATCH_MORE;
                if (matches(pattern, unit))
                        return MATCH_YES;
        }
        return MATCH_NO;
}

static int add_role(QueueWalk *w, const char *role) {
        char *own;
        int r;

        if (map_find_str(&w->roles, role))
                return 0;
        own = strdup(role);
        r = own ? map_add_str(&w->roles, own, own) : -ENOMEM;
        if (r < 0)
                free(own);
        return r;
}

// Whether some unit has this role. The units' roles are found out once for all rules, as far as one of them
// has to know.
static int has_role(const char *role, const QueueSubject *s, QueueWalk *w, size_t *left) {
        if (!*role)
                return MATCH_YES;
        while (!map_find_str(&w->roles, role)) {
                const char *now;
                int r;

                if (!s->unit(w->n_roles, s->userdata))
                        return MATCH_NO;
                if (!take(left))
                        return MATCH_MORE;
                now = s->role(w->n_roles++, left, s->userdata);
                r = now ? add_role(w, now) : 0;
                if (r < 0)
                        return r;
        }
        return MATCH_YES;
}

// MATCH_..., or -ENOMEM.
static int match(const Argosy__QueueRule *r, const QueueSubject *s, QueueWalk *w, size_t *left) {
        Match unit;

        if (!matches(r->verb, s->verb) || !matches(r->reason, s->reason) || !is_by(r->author, s))
                return MATCH_NO;
        unit = has_unit(r->unit, s, w, left);
        w->has_unit = unit == MATCH_YES;
        return unit == MATCH_YES ? has_role(r->role, s, w, left) : (int) unit;
}

int queue_policy_walk(const Argosy__QueueRecord *queue, const QueueSubject *s, QueueWalk *w, size_t *left,
                      const Argosy__QueueRule **ret) {
        *ret = NULL;
        for (; w->rule < queue->n_rules; w->rule++, w->unit = 0, w->has_unit = false) {
                int r = match(queue->rules[w->rule], s, w, left);

                if (r == MATCH_MORE)
                        return QUEUE_WALK_MORE;
                if (r == MATCH_YES)
                        *ret = queue->rules[w->rule];
                if (r != MATCH_NO)
                        return MIN_OF(r, 0);
        }
        return 0;
}

void queue_walk_done(QueueWalk *w) {
        map_done_with(&w->roles, free);
        *w = (QueueWalk){};
}

// ------------------------------------------------------------------------------------------------ rules

static bool is_too_long(const Argosy__QueueRule *r) {
        const char *const words[] = {r->author, r->verb, r->unit, r->role, r->reason};

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strlen(words[i]) > QUEUE_PATTERN_MAX)
                        return true;
        return strlen(r->text) > QUEUE_TEXT_MAX;
}

static bool is_plain(const Argosy__QueueRule *r) {
        return str_is_plain(r->author) && str_is_plain(r->verb) && str_is_plain(r->unit) &&
               str_is_plain(r->role) && str_is_plain(r->reason) && str_is_plain(r->text);
}

const char *queue_rule_error(const Argosy__QueueRule *r) {
        if (r->action > ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                return "the rule says nothing that this version knows";
        if (is_too_long(r))
                return "a pattern is longer than 255 bytes, or the text longer than 512";
        if (!is_plain(r))
                return "the rule has characters that are no text, or that turn text around";
        if (*r->role && !label_is_valid(r->role))
                return "that is no name of a role";
        if ((r->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE) != (*r->text != 0))
                return "a rule that refuses says why, and no other does";
        if ((r->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT) != (r->limit > 0) || r->limit > QUEUE_LIMIT_MAX)
                return "a limit is a number from 1 to 100000, and no other rule has one";
        return NULL;
}

bool queue_rule_matches_all(const Argosy__QueueRule *r) {
        return !*r->author && !*r->verb && !*r->unit && !*r->role && !*r->reason;
}

const char *queue_action_to_string(Argosy__QueueAction action) {
        static const char *const words[] = {"accept", "hold", "refuse", "limit"};

        return (size_t) action < ELEMENTSOF(words) ? words[action] : "";
}
