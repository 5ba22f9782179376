// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit is not as it should be.

#include "leader-core.h"

// Answers at once, also not leading.
void why_answer(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
