// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The session with the leader: Attach, Welcome, beats.

#include "agent-core.h"

int agent_session_init(Agent *a);
void agent_attach(Agent *a);
// When an Attach that is wanted may go, or what it waits for has taken too long. 0: never, or at an event.
uint64_t agent_session_next_wake(const Agent *a);
void agent_session_drain(Agent *a);
void agent_session_on_part(Agent *a); // of a Welcome that is still to come
void agent_session_welcome(Agent *a, const Argosy__ToHost__Welcome *welcome);
// Milliseconds; 0: it has ended, or there is none.
uint64_t agent_lease_left_ms(const Agent *a);
void agent_on_beat_ack(Agent *a, const Argosy__ToHost__BeatAck *ack);
