// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Contents that nodes are asked about (Request.Verify).

#include "node-calls.h"

// As a row of `questions` in node-calls.c says.
int verify_calls_ask(Leader *l, Ticket *t);
void verify_calls_complete(Leader *l, Argosy__Response *r, NodeCall *c);
// Sends contents to nodes that are yet to be asked, as many as a turn has time for.
void verify_calls_turn(Leader *l);
