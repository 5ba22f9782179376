// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the questions to nodes share that have files of their own (status-calls.c, verify-calls.c), with node-calls.c.

#include "node-calls.h"

enum { NODE_CALLS_MORE = 1 }; // no looks are left in this turn

// Room for what a request becomes for one node.
typedef union RequestOfOne {
        Argosy__Request__Status status;
        Argosy__Request__Journal journal;
} RequestOfOne;

// What the leader says by itself. 0.
int node_calls_respond(Ticket *t, Argosy__Response *r);
// Asks the node, which can be asked (node_is_heard()), or says why not. 0 or -ENOMEM.
int node_calls_ask(Leader *l, Ticket *t, const char *unit, Node *n);
// The nodes of all hosts behind those that were asked. 0: these were the last; NODE_CALLS_MORE; or a negative errno.
int node_calls_ask_hosts(Leader *l, Ticket *t, size_t *left, int (*ask)(Leader *l, Ticket *t, Node *n));
// The ticket's share of this turn; whoever has more to ask stands behind the others for the next one. 0 or a negative errno.
int node_calls_ask_some(Leader *l, Ticket *t);

// ---- of units: Request.Status (status-calls.c). As a row of `questions` in node-calls.c says.
int status_calls_ask(Leader *l, Ticket *t);
int status_calls_ask_more(Leader *l, Ticket *t, size_t *left);
void status_calls_narrow(const Ticket *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room);
void status_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
Argosy__Response *status_calls_lost(Leader *l, const NodeCall *c);
// Whether units are named that were not looked at; false of any other request.
bool status_calls_has_more(const Ticket *t);
// Whether the unit is to be on the node, or is there by its host's word. `u`, `e`: may be NULL.
bool status_calls_unit_is_at(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);

// ---- of contents: Request.Verify (verify-calls.c). The same.
int verify_calls_ask(Leader *l, Ticket *t);
void verify_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
// Sends contents to nodes that are yet to be asked, as many as a turn has time for.
void verify_calls_turn(Leader *l);
