// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Streams that are behind the same cursor, ask for the same and are of the same author wait for the same answer: one of them asks, and
// all are told. So what a thousand streams cost a leader is what one of them does. Private to src/http, the loop's.

#include "buf.h"
#include "list.h"
#include "map.h"

typedef struct HttpAlike HttpAlike; // those that wait for one answer
typedef struct HttpCall HttpCall;

// Of a call.
typedef struct HttpAlikeCall {
        HttpAlike *of; // NULL: it waits for nothing, or alone
        ListNode link; // of those that have not asked
        Buf wishes;    // what it has in common with others, but for the cursor
} HttpAlikeCall;

// Whether another call asks for what this one wants, so that it need not. If not, others may join it from now on.
bool http_alike_join(HttpCall *call);
// It waits no more. The one that has to ask in its place, if it did and others wait yet; else NULL.
HttpCall *http_alike_leave(HttpCall *call);
// Its question is over: those that waited with it go to the list (by alike.link).
void http_alike_take(HttpCall *call, ListNode *to);
void http_alike_done(HttpAlikeCall *alike);
