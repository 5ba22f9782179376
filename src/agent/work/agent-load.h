// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd says of a unit's file when it reads it.

#include "unit-core.h"

// It has read the unit's files and says this of them.
void agent_load_said(AgentUnit *u, Argosy__LoadState load);
// Has systemd read the files of a unit that is not in its memory, and says what came of it. One question,
// which costs systemd what any use of the unit does: for units of which something was refused, not for all.
void agent_load_look(AgentUnit *u);
