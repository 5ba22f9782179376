// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Those who ask what has come to be since a cursor.

#include "leader-core.h"

int watcher_start(Leader *l, PendingRequest *t); // Handler.begin
// At the end of the turn: what was marked gets its sequences, and those who wait for it their answers.
void watchers_turn(Leader *l);
// Behind that, and before answers go: LeaderOps.present, if there is that. What is answered in this turn is
// not known to anybody before this is.
void watchers_tell_present(Leader *l);
