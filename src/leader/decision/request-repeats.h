// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A client that has not heard what became of its request asks again, with the same id. Until one of the two
// is in the log there are two of them.

#include "leader-core.h"

// The request has had its turn. If it was refused, and nothing of it is in the log, so is each that is the
// same: what is said of one that changed nothing has to stay true, whatever changes before the turn of the
// others.
void request_repeats_settle(PendingRequest *t);
