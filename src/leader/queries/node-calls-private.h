// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the questions to nodes share that have files of their own (status-calls.c), with node-calls.c.

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
