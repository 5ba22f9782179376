// SPDX-License-Identifier: LGPL-2.1-or-later

// Verbs that agents answer, one row of `questions` for each: whom a request asks, and what the leader adds
// to the answers.
//
// A Status may name thousands of units, and there may be thousands of nodes to be asked. Each turn takes
// limits.status_looks looks at them, shared by all authors that ask. For a node that is not there an error
// stands in place of an answer.

#include <errno.h>

#include "flow-window.h"
#include "macro.h"
#include "message.h"
#include "node-calls-private.h"
#include "node-questions.h"
#include "nodes.h"
#include "registry.h"
#include "response.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-on-node.h"

static Argosy__Response *question_lost(Leader *l, const NodeCall *c) {
        return response_error(EHOSTUNREACH, "the connection to node %s was lost", c->node->name);
}

// ------------------------------------------------------------------------------------------------ journal

static void narrow_journal(const PendingRequest *t, NodeCall *c, Argosy__Request *request,
                           RequestOfOne *room) {
        room->journal = *request->journal;
        room->journal.window = node_asking(t)->window;
        request->journal = &room->journal;
}

static int ask_journal_of(Leader *l, PendingRequest *t, Node *n) {
        const char *name = t->request->journal->name;

        return node_is_heard(n) && status_calls_unit_is_at(l, unit_find(l, name),
                                                           cluster_state_find_unit(l->state, name), n)
                       ? node_calls_ask(l, t, name, n)
                       : 0;
}

static int ask_journal_of_one(Leader *l, PendingRequest *t) {
        const Argosy__Request__Journal *m = t->request->journal;
        uint32_t number = 0;
        Node *n = cluster_state_resolve_node(l->state, m->node, &number, NULL) ? node_find(l, number) : NULL;

        if (!number)
                return node_calls_respond(t, response_error(ENOENT, "%s: no such node", m->node));
        node_asking(t)->window = flow_window_share(m->window, 1);
        if (!n || !node_is_heard(n))
                return node_calls_respond(
                        t, response_error(EHOSTUNREACH, "node %s cannot be reached", m->node));
        return node_calls_ask(l, t, m->name, n);
}

static int ask_for_more_journals(Leader *l, PendingRequest *t, size_t *left) {
        int r = node_calls_ask_hosts(l, t, left, ask_journal_of);

        if (r != 0 || node_asking(t)->n_calls || !list_is_empty(&t->responses))
                return r;
        return node_calls_respond(t, response_error(EHOSTUNREACH, "%s is on no node that can be reached",
                                                    t->request->journal->name));
}

// The nodes share the window; those that have the unit and are asked are counted first, which costs little
// beside asking.
static size_t count_holders(const Unit *u) {
        size_t n = 0;

        if (u)
                list_foreach (i, &u->on_nodes)
                        n++;
        return n;
}

static int ask_for_journal(Leader *l, PendingRequest *t) {
        const Argosy__Request__Journal *m = t->request->journal;
        const Unit *u = unit_find(l, m->name);

        if (!u && !cluster_state_find_unit(l->state, m->name))
                return node_calls_respond(t, response_error(ENOENT, "%s: no such unit", m->name));
        if (*m->node)
                return ask_journal_of_one(l, t);
        node_asking(t)->window = flow_window_share(m->window, count_holders(u));
        return node_calls_ask_some(l, t);
}

static void complete_journal(Leader *l, Argosy__Response *r, NodeCall *c) {
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOURNAL)
                return;
        node_calls_pass_mark_on(c->pending, c, r->journal);
        (void) field_set(&r->journal->node, c->node->name);
}

// ------------------------------------------------------------------------------------------------ top

// Asks a node for usage, unless it attached meanwhile and was asked already.
static int ask_usage_of(Leader *l, PendingRequest *t, Node *n) {
        return node_is_heard(n) && !node_calls_is_called(t, n) ? node_calls_ask(l, t, "", n) : 0;
}

static int ask_for_more_usage(Leader *l, PendingRequest *t, size_t *left) {
        int r = node_calls_ask_hosts(l, t, left, ask_usage_of);

        if (r != 0 || node_asking(t)->n_calls || !list_is_empty(&t->responses))
                return r;
        return node_calls_respond(t, response_error(EHOSTUNREACH, "no node can be reached"));
}

static int ask_for_usage(Leader *l, PendingRequest *t) {
        const Argosy__Request__Top *m = t->request->top;
        uint32_t number = 0;
        Node *n;

        if (!*m->node)
                return node_calls_ask_some(l, t);
        if (!cluster_state_resolve_node(l->state, m->node, &number, NULL))
                return node_calls_respond(t, response_error(ENOENT, "%s: no such node", m->node));
        n = node_find(l, number);
        if (!n || !node_is_heard(n))
                return node_calls_respond(
                        t, response_error(EHOSTUNREACH, "node %s cannot be reached", m->node));
        return node_calls_ask(l, t, "", n);
}

// Hosts call their nodes as they like; here they have the names that everybody sees.
static void complete_usage(Leader *l, Argosy__Response *r, NodeCall *c) {
        const Node *n = c->node;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_USAGE) {
                (void) field_set(&r->usage->node, n->name);
                r->usage->number = ++c->asking->n_readings;
        } else if (r->status != 0) {
                _cleanup_free_ char *why = strdup(r->message);

                (void) field_printf(&r->message, "%s: %s", n->name, why ?: "");
        }
}

static Argosy__Response *usage_gone(Leader *l, const NodeCall *c) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_USAGE);

        if (r && field_set(&r->usage->node, c->node->name) < 0) {
                message_free(r);
                return NULL;
        }
        if (r)
                r->usage->gone = true;
        return r;
}

// ------------------------------------------------------------------------------------------------ questions

static const struct NodeQuestion questions[] = {
        [ARGOSY__REQUEST__WHAT_STATUS] = {status_calls_ask, status_calls_ask_more, status_calls_narrow,
                                          status_calls_complete, status_calls_lost},
        [ARGOSY__REQUEST__WHAT_JOURNAL] = {ask_for_journal, ask_for_more_journals, narrow_journal,
                                           complete_journal, question_lost},
        [ARGOSY__REQUEST__WHAT_VERIFY] = {verify_calls_ask, NULL, NULL, verify_calls_complete,
                                          question_lost},
        [ARGOSY__REQUEST__WHAT_TOP] = {ask_for_usage, ask_for_more_usage, NULL, complete_usage, usage_gone},
};

bool node_questions_has(Argosy__Request__WhatCase what) {
        return (size_t) what < ELEMENTSOF(questions) && questions[what].ask;
}

int node_questions_start(Leader *l, PendingRequest *t) {
        NodeAsking *a = node_asking_begin(t);
        int r;

        if (!a)
                return -ENOMEM;
        a->question = &questions[t->request->what_case]; // who has none was not taken on
        a->questions = author_questions_add(l, t->author);
        if (!a->questions)
                return -ENOMEM;
        r = a->question->ask(l, t);
        if (r >= 0)
                node_calls_end_without_calls(t);
        return r;
}

void node_questions_turn(Leader *l) {
        node_calls_cancel_some(l);
        verify_calls_turn(l);
        for (size_t n = 0; n < l->limits.status_looks && !list_is_empty(&l->asking);
             n += l->limits.status_share) {
                PendingRequest *t = request_in(l->asking.next, PENDING_TURN);

                request_leave(t, PENDING_TURN);
                if (node_calls_ask_some(l, t) < 0)
                        request_settle(t, NULL);
                else
                        node_calls_end_without_calls(t);
        }
}
