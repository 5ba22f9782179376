// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Verbs that agents answer, one row of `questions` for each. A request becomes one call for each unit on its node, or
// for each node that it is about; answers are passed on as they come, completed by what only the leader knows, and an empty one ends
// them.
//
// A Status may name thousands of units, and there may be thousands of nodes to be asked. Each turn takes LOOKS_PER_TURN looks at them, of
// all who ask, each of whom gets his share. Hosts are asked in the order of their numbers, so whoever comes or goes meanwhile moves
// nobody's place. How many of these questions a node works on at a time is its agent's business (agent/queries/agent-remote.c).
//
// Lines of journals come no faster than whoever asked takes them: the window that he offers is shared by the
// nodes, and each mark of theirs goes on as the next mark of the ticket. When he has taken it, its node hears so.
#include <errno.h>

#include "author.h"
#include "authorization.h"
#include "flow-window.h"
#include "host-link.h"
#include "macro.h"
#include "message.h"
#include "node-calls-private.h"
#include "nodes.h"
#include "registry.h"
#include "response.h"
#include "tables.h"
#include "tickets.h"
#include "turn.h"
#include "unit-on-node.h"
enum {
        CALL_MARKS_MAX = 16, // not taken; a node that keeps to its window has half of that at most
        LOOKS_PER_TURN = 2048, // at nodes, at some 1.5 us each
        LOOKS_SHARE = 256,     // of one ticket in a turn, if others wait
        CANCELS_PER_TURN = 1024,
};

typedef struct Mark {
        ListNode list; // in Ticket.marks
        uint64_t call; // whose it is, if that is still there
        uint64_t theirs, ours;
} Mark;

static void mark_free(Mark *m) {
        list_unlink(&m->list);
        free(m);
}

static bool is_status(const Ticket *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_STATUS;
}

static void node_call_free(Leader *l, NodeCall *c) {
        map_take(&l->calls_by_id, &c->id, sizeof(c->id));
        list_unlink(&c->by_ticket);
        list_unlink(&c->by_node);
        if (c->ticket)
                c->ticket->n_calls--;
        c->node->n_listeners -= c->listens;
        free(c->unit);
        free(c);
}

static void send_cancel(Leader *l, const NodeCall *c) {
        Argosy__ToHost__CallCancel cancel = ARGOSY__TO_HOST__CALL_CANCEL__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        cancel.id = c->id;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL_CANCEL;
        m.call_cancel = &cancel;
        leader_to_host_in_passing(l, c->node->host->number, &m); // one that cannot hear us has stopped by itself
}

static void cancel(Leader *l, NodeCall *c) {
        if (!c->unsent)
                send_cancel(l, c);
        node_call_free(l, c);
}

// Of thousands the first: the others wait for their turn without a ticket.
void node_calls_end(Leader *l, Ticket *t) {
        for (unsigned n = 0; n < CANCELS_PER_TURN && !list_is_empty(&t->calls); n++)
                cancel(l, CONTAINER_OF(t->calls.next, NodeCall, by_ticket));
        if (!list_is_empty(&t->calls))
                leader_mark(l);
        while (!list_is_empty(&t->calls)) {
                NodeCall *c = CONTAINER_OF(t->calls.next, NodeCall, by_ticket);

                c->ticket = NULL;
                list_unlink(&c->by_ticket);
                list_append(&l->calls_over, &c->by_ticket);
        }
        t->n_calls = 0;
        list_foreach_safe (i, &t->marks)
                mark_free(CONTAINER_OF(i, Mark, list));
}

static void cancel_some(Leader *l) {
        for (unsigned n = 0; n < CANCELS_PER_TURN && !list_is_empty(&l->calls_over); n++)
                cancel(l, CONTAINER_OF(l->calls_over.next, NodeCall, by_ticket));
        if (!list_is_empty(&l->calls_over))
                leader_mark(l);
}

void node_calls_clear(Leader *l) {
        while (!list_is_empty(&l->calls_over))
                node_call_free(l, CONTAINER_OF(l->calls_over.next, NodeCall, by_ticket));
}

// What is particular to one kind of request that nodes answer (REQUEST_BY_NODES in model/request-kind.c, and a test
// compares). How a node answers: agent_call() in agent/queries/agent-calls.c.
typedef struct Question {
        int (*ask)(Leader *l, Ticket *t); // node_calls_ask() for each node, or node_calls_respond() why there is none; or node_calls_ask_some()
        int (*more)(Leader *l, Ticket *t, size_t *left); // goes on with that: 0, NODE_CALLS_MORE or a negative errno
        // May be NULL: the node is asked what the client asked. Else what this one of several is asked.
        void (*narrow)(const Ticket *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room);
        // May be NULL. To an answer comes what only the leader knows.
        void (*complete)(Leader *l, Argosy__Response *r, NodeCall *c);
        Argosy__Response *(*lost)(Leader *l, const NodeCall *c); // instead of an answer that will not come
} Question;

static const Question *question_of(const Ticket *t);

int node_calls_respond(Ticket *t, Argosy__Response *r) {
        ticket_send(t, r);
        return 0;
}

static NodeCall *call_new(Leader *l, Ticket *t, const char *unit, Node *n, bool listens) {
        NodeCall *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        *c = (NodeCall){.id = ++l->last_call, .ticket = t, .node = n, .unit = strdup(unit), .listens = listens};
        if (!c->unit || map_add(&l->calls_by_id, &c->id, sizeof(c->id), c) < 0) {
                free(c->unit);
                free(c);
                return NULL;
        }
        list_append(&t->calls, &c->by_ticket);
        list_append(&n->calls, &c->by_node);
        t->n_calls++;
        n->n_listeners += listens;
        return c;
}

static void send_call(Leader *l, const NodeCall *c, Argosy__ToHost__Call *call) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        call->id = c->id;
        call->node = c->node->number;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL;
        m.call = call;
        leader_to_host(l, c->node->host, &m);
}

int node_call_begin(Leader *l, Ticket *t, const char *unit, Node *n, NodeCall **ret) {
        bool listens = !is_status(t) && !t->author->owner;
        NodeCall *c;

        *ret = NULL;
        node_calls_on_sessions_ended(l); // or this one would be taken for one of those
        if (listens && n->n_listeners >= NODE_LISTENERS_MAX)
                return node_calls_respond(t, response_error(EBUSY, "node %s is listened to by %d others already", n->name,
                                                 NODE_LISTENERS_MAX));
        c = call_new(l, t, unit, n, listens);
        if (!c)
                return -ENOMEM;
        c->unsent = true;
        *ret = c;
        return 0;
}

void node_call_send(Leader *l, NodeCall *c) {
        Argosy__ToHost__Call message = ARGOSY__TO_HOST__CALL__INIT;
        Argosy__Request request = *c->ticket->request;
        const Question *question = question_of(c->ticket);
        RequestOfOne room;

        if (question->narrow)
                question->narrow(c->ticket, c, &request, &room);
        message.request = &request;
        message.asker = author_key(c->ticket->author);
        c->unsent = false;
        send_call(l, c, &message);
}

int node_calls_ask(Leader *l, Ticket *t, const char *unit, Node *n) {
        NodeCall *c;
        int r = node_call_begin(l, t, unit, n, &c);

        if (r >= 0 && c)
                node_call_send(l, c);
        return r;
}

// ------------------------------------------------------------------------------------------------ in turns

int node_calls_ask_hosts(Leader *l, Ticket *t, size_t *left, int (*ask)(Leader *l, Ticket *t, Node *n)) {
        const Argosy__HostRecord *next;
        int r = 0;

        t->asks_hosts = true;
        while ((next = cluster_state_next_host(l->state, t->asked_host))) {
                const Host *h = host_find(l, next->host);

                if (*left == 0)
                        return NODE_CALLS_MORE;
                t->asked_host = next->host;
                (*left)--;
                if (h)
                        list_foreach (i, &h->nodes)
                                if (r >= 0)
                                        r = ask(l, t, CONTAINER_OF(i, Node, of_host));
                if (r < 0)
                        return r;
        }
        t->asks_hosts = false;
        t->asked_host = 0;
        return 0;
}

int node_calls_ask_some(Leader *l, Ticket *t) {
        size_t left = LOOKS_SHARE;
        int r = question_of(t)->more(l, t, &left);

        if (r != NODE_CALLS_MORE)
                return r;
        list_append(&l->asking, &t->turn_due);
        leader_mark(l);
        return 0;
}

// ------------------------------------------------------------------------------------------------ names

bool node_calls_knows_names(const Node *n) {
        return node_is_heard(n);
}

int node_calls_ask_names(Leader *l, Ticket *t, Node *n, const Argosy__ToHost__NameCheck *names,
                         NodeNamesAnswered *answered, void *userdata, uint64_t *ret) {
        Argosy__ToHost__Call message = ARGOSY__TO_HOST__CALL__INIT;
        NodeCall *c;

        node_calls_on_sessions_ended(l); // as in node_call_begin()
        c = call_new(l, t, "", n, false);
        if (!c)
                return -ENOMEM;
        c->answered = answered;
        c->userdata = userdata;
        *ret = c->id;
        message.names = (Argosy__ToHost__NameCheck *) names;
        send_call(l, c, &message);
        return 0;
}

static void answer_names(Leader *l, NodeCall *c, const Argosy__ToVoter__NameAnswer *answer) {
        const NodeCall gone = *c;

        node_call_free(l, c);
        gone.answered(gone.ticket, gone.node, answer, gone.id, gone.userdata);
}

// ------------------------------------------------------------------------------------------------ journal

static void narrow_journal(const Ticket *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room) {
        room->journal = *request->journal;
        room->journal.window = t->window;
        request->journal = &room->journal;
}

static int ask_journal_of(Leader *l, Ticket *t, Node *n) {
        const char *name = t->request->journal->name;

        return node_is_heard(n) && status_calls_unit_is_at(l, unit_find(l, name), cluster_state_find_unit(l->state, name), n)
                       ? node_calls_ask(l, t, name, n)
                       : 0;
}

static int ask_journal_of_one(Leader *l, Ticket *t) {
        const Argosy__Request__Journal *m = t->request->journal;
        uint32_t number = 0;
        Node *n = cluster_state_resolve_node(l->state, m->node, &number, NULL) ? node_find(l, number) : NULL;

        if (!number)
                return node_calls_respond(t, response_error(ENOENT, "%s: no such node", m->node));
        t->window = flow_window_share(m->window, 1);
        if (!n || !node_is_heard(n))
                return node_calls_respond(t, response_error(EHOSTUNREACH, "node %s cannot be reached", m->node));
        return node_calls_ask(l, t, m->name, n);
}

static int ask_for_more_journals(Leader *l, Ticket *t, size_t *left) {
        int r = node_calls_ask_hosts(l, t, left, ask_journal_of);

        if (r != 0 || t->n_calls || !list_is_empty(&t->responses))
                return r;
        return node_calls_respond(t, response_error(EHOSTUNREACH, "%s is on no node that can be reached", t->request->journal->name));
}

// They share the window; who has it and is asked is counted first, which is little beside asking him.
static size_t count_holders(const Unit *u) {
        size_t n = 0;

        if (u)
                list_foreach (i, &u->on_nodes)
                        n++;
        return n;
}

static int ask_for_journal(Leader *l, Ticket *t) {
        const Argosy__Request__Journal *m = t->request->journal;
        const Unit *u = unit_find(l, m->name);

        if (!u && !cluster_state_find_unit(l->state, m->name))
                return node_calls_respond(t, response_error(ENOENT, "%s: no such unit", m->name));
        if (*m->node)
                return ask_journal_of_one(l, t);
        t->window = flow_window_share(m->window, count_holders(u));
        return node_calls_ask_some(l, t);
}

// ------------------------------------------------------------------------------------------------ top

static bool is_called(const Ticket *t, const Node *n) {
        list_foreach (i, &n->calls)
                if (CONTAINER_OF(i, NodeCall, by_node)->ticket == t)
                        return true;
        return false;
}

// Not one that came into session meanwhile, and is asked already.
static int ask_usage_of(Leader *l, Ticket *t, Node *n) {
        return node_is_heard(n) && !is_called(t, n) ? node_calls_ask(l, t, "", n) : 0;
}

static int ask_for_more_usage(Leader *l, Ticket *t, size_t *left) {
        int r = node_calls_ask_hosts(l, t, left, ask_usage_of);

        if (r != 0 || t->n_calls || !list_is_empty(&t->responses))
                return r;
        return node_calls_respond(t, response_error(EHOSTUNREACH, "no node can be reached"));
}

static int ask_for_usage(Leader *l, Ticket *t) {
        const Argosy__Request__Top *m = t->request->top;
        uint32_t number = 0;
        Node *n;

        if (!*m->node)
                return node_calls_ask_some(l, t);
        if (!cluster_state_resolve_node(l->state, m->node, &number, NULL))
                return node_calls_respond(t, response_error(ENOENT, "%s: no such node", m->node));
        n = node_find(l, number);
        if (!n || !node_is_heard(n))
                return node_calls_respond(t, response_error(EHOSTUNREACH, "node %s cannot be reached", m->node));
        return node_calls_ask(l, t, "", n);
}

// Goes through all tickets, which is little beside a Welcome.
static void watch_nodes_of(Leader *l, Host *h) {
        list_foreach (i, &l->tickets) {
                Ticket *t = CONTAINER_OF(i, Ticket, all);

                if (t->request->what_case != ARGOSY__REQUEST__WHAT_TOP || *t->request->top->node ||
                    !t->request->top->interval_ms || !t->n_calls)
                        continue;
                list_foreach (k, &h->nodes) {
                        Node *n = CONTAINER_OF(k, Node, of_host);

                        if (node_is_heard(n) && !is_called(t, n))
                                (void) node_calls_ask(l, t, "", n); // without memory it is missed, and nothing else
                }
        }
}

void node_calls_on_sessions_begun(Leader *l) {
        while (!list_is_empty(&l->sessions_begun)) {
                Host *h = CONTAINER_OF(l->sessions_begun.next, Host, session_begun);

                list_unlink(&h->session_begun);
                watch_nodes_of(l, h);
        }
}

// Hosts call their nodes as they like; here they have the names that everybody sees.
static void complete_usage(Leader *l, Argosy__Response *r, NodeCall *c) {
        const Node *n = c->node;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_USAGE) {
                (void) field_set(&r->usage->node, n->name);
                r->usage->number = ++c->ticket->n_readings;
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

// ------------------------------------------------------------------------------------------------ answers

static void send_taken(Leader *l, const NodeCall *c, uint64_t mark) {
        Argosy__ToHost__CallTaken taken = ARGOSY__TO_HOST__CALL_TAKEN__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        taken.id = c->id;
        taken.mark = mark;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL_TAKEN;
        m.call_taken = &taken;
        leader_to_host(l, c->node->host, &m);
}

// The mark of a node's lines goes on as the ticket's next one.
static void pass_mark_on(Ticket *t, NodeCall *c, Argosy__Response__Journal *j) {
        uint64_t theirs = j->mark;
        Mark *m;

        j->mark = 0;
        if (!theirs || !t->window || c->n_marks >= CALL_MARKS_MAX)
                return;
        m = malloc(sizeof(*m));
        if (!m) {
                send_taken(t->leader, c, theirs); // nobody else will
                return;
        }
        *m = (Mark){.call = c->id, .theirs = theirs, .ours = ++t->last_mark};
        list_append(&t->marks, &m->list);
        c->n_marks++;
        j->mark = m->ours;
}

void node_calls_on_taken(Leader *l, Ticket *t, uint64_t mark) {
        list_foreach_safe (i, &t->marks) {
                Mark *m = CONTAINER_OF(i, Mark, list);
                NodeCall *c = map_find(&l->calls_by_id, &m->call, sizeof(m->call));

                if (m->ours > mark)
                        return;
                if (c) {
                        c->n_marks--;
                        send_taken(l, c, m->theirs);
                }
                mark_free(m);
        }
}

static void end_without_calls(Ticket *t) {
        if (!t->n_calls && !t->asks_hosts && !status_calls_has_more(t))
                ticket_end(t);
}

void node_calls_turn(Leader *l) {
        cancel_some(l);
        verify_calls_turn(l);
        for (size_t n = 0; n < LOOKS_PER_TURN && !list_is_empty(&l->asking); n += LOOKS_SHARE) {
                Ticket *t = CONTAINER_OF(l->asking.next, Ticket, turn_due);

                list_unlink(&t->turn_due);
                if (node_calls_ask_some(l, t) < 0)
                        ticket_settle(t, NULL);
                else
                        end_without_calls(t);
        }
}

// ------------------------------------------------------------------------------------------------ questions

static void complete_journal(Leader *l, Argosy__Response *r, NodeCall *c) {
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOURNAL)
                return;
        pass_mark_on(c->ticket, c, r->journal);
        (void) field_set(&r->journal->node, c->node->name);
}

static Argosy__Response *question_lost(Leader *l, const NodeCall *c) {
        return response_error(EHOSTUNREACH, "the connection to node %s was lost", c->node->name);
}

static const Question questions[] = {
        [ARGOSY__REQUEST__WHAT_STATUS] = {status_calls_ask, status_calls_ask_more, status_calls_narrow, status_calls_complete, status_calls_lost},
        [ARGOSY__REQUEST__WHAT_JOURNAL] = {ask_for_journal, ask_for_more_journals, narrow_journal, complete_journal, question_lost},
        [ARGOSY__REQUEST__WHAT_VERIFY] = {verify_calls_ask, NULL, NULL, verify_calls_complete, question_lost},
        [ARGOSY__REQUEST__WHAT_TOP] = {ask_for_usage, ask_for_more_usage, NULL, complete_usage, usage_gone},
};

static const Question *question_of(const Ticket *t) {
        return &questions[t->request->what_case]; // who has none was not taken on
}

bool node_calls_can_ask(Argosy__Request__WhatCase what) {
        return (size_t) what < ELEMENTSOF(questions) && questions[what].ask;
}

int node_calls_start(Leader *l, Ticket *t) {
        int r = question_of(t)->ask(l, t);

        if (r >= 0)
                end_without_calls(t);
        return r;
}

// Since the question was taken on, its unit may have come to another role.
static bool is_not_for_him(const Leader *l, const NodeCall *c, char why[AUTHORIZATION_WHY_SIZE]) {
        return *c->unit && authorization_refuses_view(l, c->ticket->author, c->unit, why);
}

void node_calls_on_reply(Leader *l, Host *h, const Argosy__ToVoter__CallReply *reply) {
        char why[AUTHORIZATION_WHY_SIZE];
        Argosy__Response *r;
        Ticket *t;
        NodeCall *c;

        node_calls_on_sessions_ended(l); // nothing of the next session answers a call of the one before
        c = map_find(&l->calls_by_id, &reply->id, sizeof(reply->id));
        if (!c || c->node->host != h || !c->ticket)
                return;
        if (c->answered) {
                answer_names(l, c, reply->names);
                return;
        }
        if (!reply->response)
                return;
        t = c->ticket;
        if (is_not_for_him(l, c, why)) {
                ticket_fail(t, response_error(EACCES, "%s", why));
                return;
        }
        r = message_copy(reply->response);
        if (r && question_of(t)->complete)
                question_of(t)->complete(l, r, c);
        if (r)
                authorization_filter(l, t->author, r);
        if (reply->response->final)
                node_call_free(l, c);
        ticket_send(t, r);
        end_without_calls(t);
}

// The node cannot answer any more.
void node_calls_on_node_lost(Leader *l, Node *n) {
        ListNode lost = LIST_INIT(lost); // whoever hears of one may ask again

        list_splice(&lost, &n->calls);
        while (!list_is_empty(&lost)) {
                NodeCall *c = CONTAINER_OF(lost.next, NodeCall, by_node);
                Ticket *t = c->ticket;
                Argosy__Response *r;

                if (!t) {
                        node_call_free(l, c);
                        continue;
                }
                if (c->answered) {
                        answer_names(l, c, NULL);
                        continue;
                }
                r = question_of(t)->lost(l, c);
                node_call_free(l, c);
                ticket_send(t, r);
                end_without_calls(t);
        }
}

void node_calls_on_sessions_ended(Leader *l) {
        while (!list_is_empty(&l->sessions_ended)) {
                Host *h = CONTAINER_OF(l->sessions_ended.next, Host, session_ended);

                list_unlink(&h->session_ended);
                list_foreach (i, &h->nodes)
                        node_calls_on_node_lost(l, CONTAINER_OF(i, Node, of_host));
        }
}
