// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The turn of the loop: what time it is, who may say something that lasts, and that something is to be done.

#include "leader-core.h"

uint64_t leader_now(const Leader *l);
// Whether nobody else can lead at this moment. Asked before anything is said that lasts.
bool leader_has_authority(Leader *l);
uint64_t leader_wall(const Leader *l);
void leader_mark(Leader *l);
// The log (or the pool) has answered one of our calls: last thing that its callback does, since `l` may be
// gone afterwards.
void leader_outside_done(Leader *l);
