// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Unit files of managers that are not the system's, written by a helper.

#include "agent-core.h"

// One batch at a time. `look`: for which items to look whether the name is somebody else's. `done` fires
// once, later.
int agent_writer_apply(AgentNode *node, const UnitDirItem *items, const bool *look, size_t n,
                       void (*done)(int error, const Argosy__HelperReply *reply, void *userdata),
                       void *userdata);
// Looks which of these names are taken by foreign files; nothing is written, and no directory is made where
// argosy has no unit so far. Otherwise as agent_writer_apply(): -EMSGSIZE is more than one request takes.
int agent_writer_look(AgentNode *node, const Argosy__ToHost__NameCheck *names,
                      void (*done)(int error, const Argosy__HelperReply *reply, void *userdata),
                      void *userdata);
void agent_writer_close(AgentNode *node);
// The same, and `done` hears the error, if it is still to come.
void agent_writer_abort(AgentNode *node, int error);
