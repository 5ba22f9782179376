// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The state document: who asks for it, and of which version it is answered. Private to src/http.
//
//      a call -> where the stream is now, for him -> he has that version: unchanged
//                                                 -> it was made: it is sent
//                                                 -> he waits, with all others who do, until it is made
//      making one    questions for what is new since the last one, by one of those who wait -> a worker -> a version
//
// All who may see everything share one copy of the cluster, and its versions. Who may not, and who asks what has changed since a
// cursor, has one of his own as long as he is answered. Rights are judged by the leader, for each call: it is asked with its author.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "event-cursor.h"
#include "http-version.h"
#include "list.h"

typedef struct HttpApi HttpApi;
typedef struct HttpCall HttpCall;
typedef struct HttpPeer HttpPeer;
typedef struct HttpState HttpState; // a copy, and who waits for it

// Of a call. The thread fills in the condition before it posts the call, and reads what the last three say when it has it back.
typedef struct HttpStateCall {
        char *condition; // If-None-Match; NULL: none
        HttpState *of;   // it waits for this one
        ListNode waiting;
        EventCursor wanted; // this or a newer one
        HttpVersion *version;
        bool unchanged;       // `wanted` is what he has
        uint64_t sees_all_by; // HttpPeer
} HttpStateCall;

// Of an HttpApi, the loop's.
typedef struct HttpStates {
        HttpState *shared; // NULL: nobody has asked for a while
        size_t n;          // all of them, also those that a worker has yet
        uv_timer_t idle; // from when nobody waits for the shared one any more
        // Bytes of the shared copy, of answers that wait to be taken into it, and of documents until the last client has read them; workers and the
        // thread count, too. Those of others are in their accounts (account_counted()).
        _Atomic size_t held;
} HttpStates;

// Of an HttpApi, under its lock.
typedef struct HttpPresent {
        bool known;
        EventCursor cursor;
        uint64_t access_revision, until_us;
} HttpPresent;

// ---- by the loop

int http_states_init(HttpApi *a, uv_loop_t *loop);
// When no call is left. Copies that a worker has end later: http_api_on_ended().
void http_states_close(HttpApi *a, uv_close_cb closed);
size_t http_states_bytes(const HttpApi *a);
void http_state_begin(HttpCall *call, const Argosy__Author *author);
void http_state_respond(HttpCall *call, const Argosy__Response *response);
// It is answered, or failed: it waits for nothing any more.
void http_state_leave(HttpCall *call);

// ---- by the thread

// Whether he may be told that what he has is the newest without being asked who he is.
bool http_state_is_unchanged(HttpApi *a, const HttpPeer *peer, const char *condition, EventCursor *ret);
enum MHD_Result http_state_send(HttpCall *call);
enum MHD_Result http_state_send_unchanged(struct MHD_Connection *connection, const EventCursor *cursor);
void http_state_done(HttpCall *call);
