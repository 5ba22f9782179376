// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Verbs that agents answer (REQUEST_BY_NODES).

#include "leader-core.h"

typedef struct NodeCall {
        uint64_t id;
        Ticket *ticket;
        Node *node;
        ListNode by_ticket, all;
        char *unit;
        unsigned n_marks; // of its lines, that were not taken yet
        bool listens;     // counts as one of Node.n_listeners
} NodeCall;

bool node_calls_can_ask(Argosy__Request__WhatCase what);
int node_calls_start(Leader *l, Ticket *t);
// Asks about more units of those who have named thousands.
void node_calls_turn(Leader *l);
void node_calls_on_reply(Leader *l, Host *h, const Argosy__ToVoter__CallReply *reply);
void node_calls_on_taken(Leader *l, Ticket *t, uint64_t mark);
void node_calls_on_node_lost(Leader *l, Node *n);
// Hosts whose sessions have ended answer nothing more; who watches all nodes watches those of hosts that
// were welcomed.
void node_calls_on_sessions_ended(Leader *l);
void node_calls_on_sessions_begun(Leader *l);
void node_calls_end(Leader *l, Ticket *t);
