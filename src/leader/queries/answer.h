// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Reading verbs. The leader may be not leading (stale answers).

#include "leader-core.h"

// Reading verbs. `l` may be not leading (stale answers).
bool answer_can(const Argosy__Request *request);
void answer(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
int site_fill_row(const Site *s, Argosy__Response__UnitRow *row); // NULL: nothing is known
int row_fill_host(const Leader *l, const Argosy__HostRecord *host, Argosy__Response__UnitRow *row);
