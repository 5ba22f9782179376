// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// HTTP for programs, on a unix socket. A thread of its own (libmicrohttpd's) reads requests, writes answers as JSON and sends
// them; it sees nothing of the program's state. What is asked goes to the loop as the Request that argosyctl would send, and
// comes back as Responses, so rights and the way to the leader are those of the local socket.
//
//      the thread    connection -> what is asked for (http-target.h) -> suspended
//      the loop      who asks (author-names.h) -> ops->request() -> http_call_respond() ... the final one -> resumed
//      the thread    problem (http-problem.h), or document (http-body.h), piece by piece as the client reads
//
// A call belongs to one of the two at a time, and is handed over whole. Before the first connection there is no thread.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"

struct EventCursor;
typedef struct AuthorNames AuthorNames;
typedef struct HttpApi HttpApi;
typedef struct HttpCall HttpCall; // one request of one client, while the loop has it

enum {
        // Connections, each with one request at a time; those of one user; those of all but root and whom this process runs
        // as; and of each of these two. Beyond the first, others wait in the backlog; who is one too many of the others is told so.
        HTTP_CONNECTIONS_MAX = 2048,
        HTTP_CONNECTIONS_PER_USER = 64,
        HTTP_CONNECTIONS_OTHERS_MAX = 768,
        HTTP_CONNECTIONS_PER_OWNER = HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_OTHERS_MAX, // root's, and whom this process runs as
        HTTP_HEADER_MAX = 8 * 1024, // bytes of a request's line and headers, kept for each connection
        HTTP_IDLE_SEC = 30,          // without a byte from or to a client that is not waited for
        HTTP_COMMENT_SEC = 15,       // without an event, until the client of a stream is told that it goes on
        HTTP_BATCH_MS = 20,          // from one answer to streams to the next: what happens meanwhile is told together
        HTTP_BEGIN_MS = 100,         // until a stream begins although there is nothing to tell yet
        HTTP_AGAIN_MS = 1000,        // until a stream asks again when no leader could be reached
        HTTP_BODY_SEC = 60,          // from a request's headers to the last byte of its body
        // Bytes of answers that were not read yet, as the loop handed them over; beyond them requests are refused.
        HTTP_HELD_MAX = 128 * 1024 * 1024,
        // A copy of the cluster, of which state documents are made, is dropped when nobody has asked for one for so long.
        HTTP_STATE_KEPT_SEC = 60,
        // Questions for a state document at a time that need a copy of their own: what has changed, or who may not see everything.
        HTTP_STATE_OWN_MAX = 16,
};
// Bytes of such a copy, and of the documents that are being sent: beyond the one there is none, beyond the other no newer one.
#define HTTP_STATE_BYTES_MAX ((size_t) 2 << 30)

typedef struct HttpApiOps {
        // A new request, to be freed by the receiver, who answers with http_call_respond() or http_call_fail(), later.
        // http_call_set_route() names it, if it can be cancelled.
        void (*request)(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                        void *userdata);
        // It is not to be answered any more.
        void (*cancel)(void *route, void *userdata);
        // Whether he may ask for anything.
        bool (*admits)(const Argosy__Author *author, void *userdata);
        // Whether this host can be asked about the cluster now: for /readyz.
        bool (*is_ready)(void *userdata);
} HttpApiOps;

// fd: a listening unix socket, taken over on success only. `names` and `ops` are borrowed.
int http_api_new(uv_loop_t *loop, int fd, AuthorNames *names, const HttpApiOps *ops, void *userdata,
                 HttpApi **ret);
// Ends all connections, and waits for the thread. Calls that are not answered are gone when this returns, and are told nobody of.
void http_api_close(HttpApi *a, void (*closed)(void *userdata), void *userdata);

// What ops->cancel() is given while that request has no final response; borrowed.
void http_call_set_route(HttpCall *call, void *route);
// One of the responses, as of the local socket; borrowed. With `final` the call is gone when this returns.
void http_call_respond(HttpCall *call, const Argosy__Response *response);
// A final one that only carries an error. `status`: a positive errno value.
void http_call_fail(HttpCall *call, int status, const char *message);
// Where the stream of events is now (LeaderOps.present): until then who has a document of that place is told so without asking.
// NULL: not known.
void http_api_set_present(HttpApi *a, const struct EventCursor *cursor, uint64_t access_revision, uint64_t until_us);
// Whether there is a thread.
bool http_api_is_running(const HttpApi *a);
