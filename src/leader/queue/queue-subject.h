// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A request as the rules of the queue see it.

#include "leader-core.h"

// The job of the update or restart that is under way and that it would be refused for; 0: there is none.
uint64_t queue_exclusive_job(const Leader *l, const Argosy__Request *request);
// Whether it puts back rules of the queue, or whether that is closed, and nothing else: no rule is about that.
bool queue_undoes_rules(const Leader *l, const Argosy__Request *request);
// The rule that counts for it now; NULL: none does.
const Argosy__QueueRule *queue_rule_of(const Leader *l, const Argosy__Author *author,
                                       const Argosy__Request *request);
