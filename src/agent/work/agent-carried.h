// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files that come with units: asked of the leader, and whether this node takes a unit that has them.

#include "agent-core.h"
#include "agent-places.h"

// Whether they are to be looked at before the wanted content is written (PLAN_FETCH).
bool agent_carried_is_due(const AgentUnit *u);
// Begins that; the step ends at once if all are here.
void agent_carried_fetch(AgentUnit *u);
// What is done about a unit that runs for the wanted content, if that differs in its files alone from what
// is in place; else RESTART.
Argosy__FileChange agent_carried_change(const AgentUnit *u);
// Why this node does not take a content that nobody has sent to stay, from any thread. False: it may, if
// `ret_places` are as they are to be.
bool agent_carried_bars_content(const AgentNode *node, const char *name, const void *content, size_t len,
                                char ret[AGENT_ERROR_MAX], AgentPlaces *ret_places);
// Whether what its files in place are bound over is to be looked at before it is started (PLAN_PLACES).
bool agent_carried_has_unseen_places(const AgentUnit *u);
// Begins that.
void agent_carried_see_places(AgentUnit *u);
// What is being fetched is for another content, or for nobody: the step is over.
void agent_carried_overtaken(AgentUnit *u);

void agent_carried_on_piece(Agent *a, const Argosy__ToHost__FilePiece *piece);
// Asks for what is due, once in each turn.
void agent_carried_turn(Agent *a);
// What an earlier run has left of units that are not held.
void agent_carried_sweep(AgentNode *node);
void agent_carried_drop(Agent *a); // at the end
// Removes what nobody has any more, of units whose files are not known; likewise.
void agent_carried_left_turn(Agent *a);
void agent_carried_left_drop(Agent *a);
