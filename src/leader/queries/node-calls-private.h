// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the questions to nodes share that have files of their own (node-questions.c, status-calls.c,
// verify-calls.c), with node-calls.c.

#include "author-questions.h"
#include "node-calls.h"
#include "pending-requests.h"

enum {
        NODE_CALLS_MORE = 1,    // no looks are left in this turn
};

// Room for what a request becomes for one node.
typedef union RequestOfOne {
        Argosy__Request__Status status;
        Argosy__Request__Journal journal;
} RequestOfOne;

// What is particular to one kind of request that nodes answer (REQUEST_BY_NODES in model/request-kind.c, and
// a test compares). How a node answers: agent_call() in agent/queries/agent-calls.c.
struct NodeQuestion {
        // node_calls_ask() for each node, or node_calls_respond() why there is none; or
        // node_calls_ask_some()
        int (*ask)(Leader *l, PendingRequest *t);
        // goes on with that: 0, NODE_CALLS_MORE or a negative errno
        int (*more)(Leader *l, PendingRequest *t, size_t *left);
        // May be NULL: the node is asked what the client asked. Else what this one of several is asked.
        void (*narrow)(const PendingRequest *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room);
        // May be NULL. To an answer comes what only the leader knows.
        void (*complete)(Leader *l, Argosy__Response *r, NodeCall *c);
        Argosy__Response *(*lost)(Leader *l, const NodeCall *c); // instead of an answer that will not come
};

// What a pending request asks of nodes.
typedef struct NodeAsking {
        RequestWork work;
        const struct NodeQuestion *question; // the row of its kind; NULL: it only asks about names
        AuthorQuestions *questions;          // of whoever asks nodes this; NULL likewise
        ListNode calls;                      // NodeCall.by_pending_request
        size_t n_calls;
        ListNode marks; // of lines of journals, that were not taken yet
        uint64_t last_mark;
        uint32_t window;           // of each call of a journal; 0: there is none
        uint32_t n_could_be_asked; // of a Verify: nodes
        uint32_t n_readings;       // parts of those of a Top, or of a Verify, that were passed on
        bool asks_hosts;           // one after the other
        uint32_t asked_host;       // the last of these; 0: none yet
        size_t n_asked;            // units of a Status about which nodes were asked, or that were answered
        size_t n_said; // of a Status: nodes of which something is said of the unit that is at hand
} NodeAsking;

NodeAsking *node_asking(const PendingRequest *t); // NULL: it asks nothing
NodeAsking *node_asking_begin(PendingRequest *t); // the same, made if it is not there; NULL: out of memory

// What the leader says by itself. 0.
int node_calls_respond(PendingRequest *t, Argosy__Response *r);
// Asks the node, which can be asked (node_is_heard()), or says why not. 0 or -ENOMEM.
int node_calls_ask(Leader *l, PendingRequest *t, const char *unit, Node *n);
// The nodes of all hosts behind those that were asked. 0: these were the last; NODE_CALLS_MORE; or a
// negative errno.
int node_calls_ask_hosts(Leader *l, PendingRequest *t, size_t *left,
                         int (*ask)(Leader *l, PendingRequest *t, Node *n));
// The pending request's share of this turn; a pending request with more to ask stands behind the others for
// the next one. 0 or a negative errno.
int node_calls_ask_some(Leader *l, PendingRequest *t);
// Whether it names units that were not looked at; false of any request but a Status.
bool node_calls_has_more(const PendingRequest *t);
// The pending request's end, unless an answer is to come.
void node_calls_end_without_calls(PendingRequest *t);
bool node_calls_is_called(const PendingRequest *t, const Node *n);
// The mark in a node's answer becomes the next one of the pending request.
void node_calls_pass_mark_on(PendingRequest *t, NodeCall *c, Argosy__Response__Journal *j);
// Tells nodes that nobody waits for their answers, some in each turn.
void node_calls_cancel_some(Leader *l);

// ---- of units: Request.Status (status-calls.c). As a row of node-questions.c says.
int status_calls_ask(Leader *l, PendingRequest *t);
int status_calls_ask_more(Leader *l, PendingRequest *t, size_t *left);
void status_calls_narrow(const PendingRequest *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room);
void status_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
Argosy__Response *status_calls_lost(Leader *l, const NodeCall *c);
// Whether the unit is to be on the node, or is there by its host's word. `u`, `e`: may be NULL.
bool status_calls_unit_is_at(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);

// ---- of contents: Request.Verify (verify-calls.c). The same.
int verify_calls_ask(Leader *l, PendingRequest *t);
void verify_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
// Sends contents to nodes that are yet to be asked, as many as a turn has time for.
void verify_calls_turn(Leader *l);
