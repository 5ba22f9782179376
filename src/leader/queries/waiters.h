// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for units.

#include "leader-core.h"
#include "wait-condition.h"

int waiter_start(Leader *l, Ticket *t);
void waiter_free(Leader *l, Waiter *w);
// What a wait of this verb for the unit would be told now. False: nothing is known of the unit, seen or wanted.
bool waiter_verdict(const Leader *l, Argosy__Verb verb, const char *name, uint64_t revision, WaitVerdict *ret);
void waiters_on_unit(Leader *l, Unit *u); // whoever waits for it looks at it again
void waiters_drain(Leader *l);
