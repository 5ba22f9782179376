// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which content a node is to have of a unit, also while that is being rolled out.

#include "leader-core.h"

// As its record says, or for a global unit as far as its rollout has come.
typedef struct Content {
        SpecEntry *spec;
        uint64_t revision, restart_rev;
        uint64_t secrets; // revision as of which it has its secrets; 0: none so far
} Content;

Content rollout_content(const Leader *l, const UnitEntry *e, uint32_t node);
// A content that a record names; NULL: it names none.
SpecEntry *rollout_spec(const Leader *l, const ProtobufCBinaryData *field);
// The node's last turn; NULL: it had none.
// They are sorted by the numbers of their nodes.
const Argosy__RolloutNode *rollout_turn(const Argosy__RolloutRecord *r, uint32_t node);
