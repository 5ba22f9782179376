// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The local socket: clients on this machine, frames of Request in and Response out. It knows connections,
// their authors and accounts (accounts.h); it does not know what a request means. The author is found out
// before anything is read of a connection (message Author). One client's mistake ends that client's
// connection and nothing else.

#include <uv.h>

#include "argosy.pb-c.h"

typedef struct LocalApi LocalApi;
typedef struct Accounts Accounts;
typedef struct AuthorNames AuthorNames;
typedef struct ApiCall ApiCall; // one request of one client, until its final response or its end

enum {
        API_CALLS_MAX = 64,   // unanswered requests per connection; more are answered with EBUSY
        API_FRAME_MS = 10000, // from a frame's first byte to its last
        // Bytes of a client that may not bring content: of a frame; of the frame and its message; and of all
        // of its user's.
        API_SMALL_FRAME_MAX = 1024 * 1024,
        API_SMALL_COST_MAX = 4 * 1024 * 1024,
        API_SMALL_HELD_MAX = 16 * 1024 * 1024,
        // Bytes a client may leave unread; beyond that it is cut off. More than any answer that is given at
        // once, since a client that prints reads no faster than its own reader. All of them together are on
        // their user's account.
        API_QUEUE_MAX = 32 * 1024 * 1024,
};

typedef enum LocalApiAdmission {
        LOCAL_API_MAY_NOTHING,
        LOCAL_API_MAY_ASK,
        LOCAL_API_MAY_SUBMIT, // content: long frames are accepted
} LocalApiAdmission;

typedef struct LocalApiOps {
        // A new request. The receiver answers with api_call_respond(), now or later, until a response with
        // `final`. `request` is borrowed, but what is in it may be taken (message_take()).
        void (*request)(ApiCall *call, Argosy__Request *request, void *userdata);
        // The client has gone or cancelled: the call is dead after this returns and must not be touched
        // again.
        void (*cancelled)(ApiCall *call, void *userdata);
        // An author that may do nothing is told so, and the connection ends. May be NULL: everybody may do
        // everything.
        LocalApiAdmission (*admits)(const Argosy__Author *author, void *userdata);
        // The client has read what it was sent, after api_call_is_full() was true. May be NULL.
        void (*drained)(ApiCall *call, void *userdata);
} LocalApiOps;

// fd: a listening unix socket, taken over. `accounts` live longer.
int local_api_new(uv_loop_t *loop, int fd, Accounts *accounts, const LocalApiOps *ops, void *userdata,
                  LocalApi **ret);
// Ends all connections (flushing what is queued). Calls are dropped without `cancelled`.
void local_api_close(LocalApi *a, void (*closed)(void *userdata), void *userdata);

// The list of rights has changed: clients without a right are told so, and their connections end.
void local_api_recheck(LocalApi *a);

// The names of this host's users, for other parts of the daemon; valid as long as the API is open.
AuthorNames *local_api_names(LocalApi *a);

// Sends one response; its id is filled in. With `final` set the call is gone when this returns.
void api_call_respond(ApiCall *call, Argosy__Response *response);
// A final response that only carries an error. `status` is a positive errno value.
void api_call_fail(ApiCall *call, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// More than STREAM_LOW_WATER waits to be read by the call's client: a long answer goes on at `drained`.
bool api_call_is_full(const ApiCall *call);
// The call's author; borrowed, as long as the call lives.
const Argosy__Author *api_call_author(const ApiCall *call);
// For the receiver's own bookkeeping.
void api_call_set_data(ApiCall *call, void *data);
void *api_call_data(const ApiCall *call);
