// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// HTTP for programs, on a unix socket and over TCP. A thread of its own for each (libmicrohttpd's) reads
// requests, writes answers as JSON and sends them; it sees nothing of the program's state. What is asked
// goes to the loop as the Request that argosyctl would send, and comes back as Responses, so rights and the
// way to the leader are those of the local socket.
//
//      the thread    connection -> what is asked for (http-target.h) -> suspended
//      the loop      who asks (author-names.h, or the token of the request) -> ops->request() ->
//                    http_call_respond() ... the final one -> resumed
//      the thread    problem (http-problem.h), or document (http-body.h), piece by piece as the client reads
//
// A call belongs to one of the two at a time, and is handed over whole. Before the first connection there is
// no thread.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "counter.h"
#include "http-listen.h"
#include "http-names.h"
#include "http-proxies.h"
#include "time-histogram.h"

struct EventCursor;
typedef struct Accounts Accounts;
typedef struct AuthorNames AuthorNames;
typedef struct HttpApi HttpApi;
typedef struct HttpCall HttpCall; // one request of one client, while the loop has it

typedef struct HttpApiOps {
        // A new request, to be freed by the receiver, who answers with http_call_respond() or
        // http_call_fail(), later. http_call_set_route() names it, if it can be cancelled.
        void (*request)(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                        void *userdata);
        // It is not to be answered any more.
        void (*cancel)(void *route, void *userdata);
        // What has come of a journal was taken: as much again may come.
        void (*taken)(void *route, void *userdata);
        // Whether the author may ask for anything.
        bool (*admits)(const Argosy__Author *author, void *userdata);
        // Whether this host can be asked about the cluster now: for /readyz.
        bool (*is_ready)(void *userdata);
} HttpApiOps;

// fd: a listening unix socket, taken over on success only; -1: none. `accounts`, `names` and `ops` are
// borrowed.
int http_api_new(uv_loop_t *loop, int fd, Accounts *accounts, AuthorNames *names, const HttpApiOps *ops,
                 void *userdata, HttpApi **ret);
// Over TCP, too. 0 or negative errno: as of bind(2); -E2BIG, -EOPNOTSUPP (libmicrohttpd cannot do TLS).
int http_api_listen(HttpApi *a, const HttpListen *at, bool tls);
// Fleet's API, on a listening unix socket, taken over on success only. 0 or negative errno.
int http_api_listen_fleet(HttpApi *a, int fd);
// The same over TCP, always with TLS: a certificate of the client stands for a token there. As
// http_api_listen().
int http_api_listen_fleet_tcp(HttpApi *a, const HttpListen *at);
// Sets the names by which clients may ask for this host over TCP; none before that. `own_addresses`: also
// the address that the client has connected to.
void http_api_set_names(HttpApi *a, const HttpNames *names, bool own_addresses);
// Sets the trusted proxies: of connections from these addresses X-Forwarded-For, -Proto and -Host are
// believed from now on. None before the first call.
void http_api_set_proxies(HttpApi *a, const HttpProxies *proxies);
// Ends all connections, as they should within half a second; then the thread is waited for. Calls that are
// not answered are gone when this returns, and are told nobody of; nothing of `ops` is called any more.
void http_api_close(HttpApi *a, void (*closed)(void *userdata), void *userdata);

// What ops->cancel() is given while that request has no final response; borrowed.
void http_call_set_route(HttpCall *call, void *route);
// One of the responses, as of the local socket; borrowed. With `final` the call is gone when this returns.
void http_call_respond(HttpCall *call, const Argosy__Response *response);
// A final one that only carries an error. `status`: a positive errno value.
void http_call_fail(HttpCall *call, int status, const char *message);
// Where the stream of events is now (LeaderOps.present): until then who has a document of that place is told
// so without asking. NULL: not known.
void http_api_set_present(HttpApi *a, const struct EventCursor *cursor, uint64_t access_revision,
                          uint64_t until_us);
// What is asked over HTTP.
#define HTTP_COUNTERS(COUNTER, GAUGE)                                                                   \
        COUNTER(http_requests, "requests over HTTP that this host has taken")                           \
        GAUGE(http_requests_open, "of these, whose answers were not sent whole, streams too")           \
        GAUGE(http_held_bytes, "bytes of requests that are under way or are carried out, those of the " \
                               "local socket, too, and of answers that nobody has read yet")            \
        GAUGE(http_state_bytes,                                                                         \
              "bytes of copies of the cluster, and of state documents made of them that somebody reads")

typedef struct HttpStats {
        HTTP_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} HttpStats;
HttpStats http_api_stats(HttpApi *a);
// How long what the threads hand over waited for the loop, the first of what came together. By the loop.
TimeHistogram http_api_loop_lag(const HttpApi *a);
// Whether there is a thread.
bool http_api_is_running(const HttpApi *a);
