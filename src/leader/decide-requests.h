// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests that wait for their turn: those that only ask, and what others put into an entry.

#include "decision.h"

// Previews have every other turn of the loop, in which nothing is decided, so that no turn does both. Until
// a plan of many units has ended, nothing is decided at all. False: this was such a turn.
bool decide_previews(Decision *d);
// Requests of which there is something in the batch go to Decision.taken.
void decide_requests(Decision *d);
// Their entry is in the log, and there is more of them: behind the others of their authors.
void decide_requests_wait(ListNode *pending_requests);
// Nothing came of their entry: they stand where they stood.
void decide_requests_take_back(ListNode *pending_requests);
