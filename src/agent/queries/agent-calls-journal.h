// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions about the journal of units.

#include "call.h"

int call_start_journal(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Journal *q,
                       AgentReply reply, void *userdata, uint64_t *ret);
// Its journal is one that we can read from here.
bool call_node_has_journal(const AgentNode *node);
// The newest `n_lines` of that unit, and with `follow` those that come, to `ops` with the call as userdata.
int call_read_lines(Call *c, const char *unit, unsigned n_lines, bool follow, const JournalOps *ops);
// In one sentence; NULL: out of memory.
char *call_why_no_lines(const Call *c, int error);
void call_drop_reader(Call *c);
// The journals that are being read, and those of them whose readers wait until their lines are taken.
void agent_calls_count(const Agent *a, AgentStats *ret);
