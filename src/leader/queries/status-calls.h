// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that nodes are asked about (Request.Status). As a row of `questions` in node-calls.c says.

#include "node-calls-private.h"

int status_calls_ask(Leader *l, Ticket *t);
int status_calls_ask_more(Leader *l, Ticket *t, size_t *left);
void status_calls_narrow(const Ticket *t, NodeCall *c, Argosy__Request *request, RequestOfOne *room);
void status_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
Argosy__Response *status_calls_lost(Leader *l, const NodeCall *c);
// Whether units are named that were not looked at; false of any other request.
bool status_calls_has_more(const Ticket *t);
// Whether the unit is to be on the node, or is there by its host's word. `u`, `e`: may be NULL.
bool status_calls_unit_is_at(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
