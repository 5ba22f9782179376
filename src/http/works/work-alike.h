// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Streams that are behind the same cursor, ask for the same and are of the same author wait for the same
// answer: one of them asks, and all are told. So what a thousand streams cost a leader is what one of them
// does. Private to src/http, the loop's.

#include "http-call.h"

// Whether another call asks for what this one wants, so that it need not. If not, others may join it from
// now on.
bool http_alike_join(HttpCall *call);
// It waits no more. The one that has to ask in its place, if it did and others wait yet; else NULL.
HttpCall *http_alike_leave(HttpCall *call);
// Its question is over: those that waited with it go to the list (by events.link).
void http_alike_take(HttpCall *call, ListNode *to);
