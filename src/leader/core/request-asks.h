// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request that is not decided yet waits for from hosts, and how its client hears of it. See
// request-asks.c.

#include "buf.h"
#include "pending-requests.h"

// Whether hosts are asked for it at present, so that nothing is to be decided. Appends what that is, for
// people, unless `what` is NULL: whom it waits for to do what, "n2 to resolve docker.io/library/web:1".
// Memory that is short is only missing words.
bool request_asks(const PendingRequest *t, Buf *what);
// It waits in the queue because of that: if that takes long its client is told, and again whenever it is
// something else. 0 or -ENOMEM.
int request_asks_tell(PendingRequest *t);
