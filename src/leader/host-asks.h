// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a host asks while it has not taken what it was told before waits until it has.

#include "leader-core.h"

// True: the message waits, and is empty now, or its host has asked too much and is dropped. False: it is to
// be taken as it is.
bool host_asks_hold(Leader *l, Host *h, Argosy__ToVoter *message);
// The host takes more again.
void host_asks_on_drained(Leader *l, Host *h);
// Some of what waited for that, in each turn; `take` gets each message as if it came now, and borrows it.
void host_asks_turn(Leader *l, void (*take)(Leader *l, Host *h, Argosy__ToVoter *message));
// Its link is lost, or we do not lead any more.
void host_asks_forget(Leader *l, Host *h);
