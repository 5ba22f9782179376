// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A client that has not heard what became of its request asks again, with the same id. While the first is
// looked into there are two of them.

#include "leader-core.h"

// The request is refused, and so is each that is the same and that nothing has come of: what is said of one
// that changed nothing has to stay true. As request_settle().
int request_repeats_refuse(PendingRequest *t, Argosy__Response *response);
