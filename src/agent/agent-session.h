// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The session with the leader: Attach, Welcome, beats.

#include "agent-core.h"

int agent_session_init(Agent *a);
void agent_attach(Agent *a);
void agent_session_drain(Agent *a);
void agent_session_on_part(Agent *a); // of a Welcome that is still to come
// Because there is something new to say in it. What has failed before is paced by attach_retry_us.
void agent_attach_now(Agent *a);
void agent_session_welcome(Agent *a, const Argosy__ToHost__Welcome *welcome);
// The lease is over, and for so long, that the guard has stopped this unit or will not let it start.
bool agent_is_cut_off(const AgentUnit *u, uint64_t now_us);
void agent_on_beat_ack(Agent *a, const Argosy__ToHost__BeatAck *ack);
