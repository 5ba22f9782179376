// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A question about one job (ListJobs.number) where there are so many nodes that it may take long to look at
// one of its units.

#include "leader-core.h"

typedef struct JobShow JobShow;

bool job_show_is_long(const Leader *l, const Argosy__Request *request);
int job_show_start(Leader *l, PendingRequest *t);
void job_shows_turn(Leader *l); // once per turn
void job_shows_on_unit_gone(Leader *l, const Unit *u);
