// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit is not as it should be.

#include "leader-core.h"

// What an answer costs is counted in looks, of about 1 us: at a unit, at a node where it is to be or is left
// out, and at each node if it is to be on one and is on none.
enum {
        WHY_LOOKS_OF_UNIT = 4,
};

// Why a unit is not as its owner wants it on that node, or (NULL) why it has none, in few words; empty: it
// is. 0 and a new string, or -ENOMEM.
int why_phrase(Leader *l, const UnitEntry *e, const Node *n, char **ret);
// Answers at once, also not leading.
void why_answer(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
// Whether the request is about more than that.
bool why_is_long(const Leader *l, const Argosy__Request *request);
int why_start(Leader *l, PendingRequest *t); // then it is answered in turns
void why_turn(Leader *l);            // once per turn
