// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a request over TCP may go on, and as whose. Loopback is TCP, too: who is at the other end of it,
// nobody attests.
//
//      Host is one of [Http] Names=           else 421; of a trusted proxy that says it X-Forwarded-Host
//      no token in the target                 else 400
//      of fleet: a certificate of the client  else 401, and nothing of what follows
//      /healthz, /readyz                      need nothing more
//      POST /v1/login                         neither: its body has the token
//      Authorization: Bearer; over TLS, and   else 401
//      without that, the cookie of a session
//
// What the token may do, and whether there is such a token at all, is the leader's to say. Threads of all
// listeners ask, and the loop sets the names.

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

#include "accounts.h"
#include "hash.h"
#include "http-names.h"
#include "http-proxies.h"
#include "http-sessions.h"

typedef struct HttpAuth {
        pthread_mutex_t lock;
        HttpNames names;    // by which one may ask
        bool own_addresses; // and by the address that one has connected to
        HttpProxies proxies; // that are believed
        HttpSessions sessions;
} HttpAuth;

// What a request shows to identify its client; borrowed.
typedef struct HttpClaim {
        struct MHD_Connection *connection;
        const char *target; // as it came
        int fd;
        bool by_proxy; // one of those
        bool tls;      // as http_auth_is_secure() says
        bool by_certificate;     // no token is wanted there, but
        const void *certificate; // in DER; NULL: there is none
        size_t certificate_len;
} HttpClaim;

// As whom a request goes on.
typedef struct HttpPrincipal {
        Hash proof;      // of a token
        bool by_session; // it came with a cookie
        Hash session;    // then
} HttpPrincipal;

void http_auth_init(HttpAuth *g);
void http_auth_done(HttpAuth *g);
void http_auth_set_names(HttpAuth *g, const HttpNames *names, bool own_addresses);
void http_auth_set_proxies(HttpAuth *g, const HttpProxies *proxies);
bool http_auth_trusts(HttpAuth *g, const struct sockaddr *from);
// The client behind the proxy, as far as the proxy names it; else `proxy`.
Principal http_auth_client(HttpAuth *g, struct MHD_Connection *connection, const Principal *proxy);
// Whether the client speaks TLS; `tls`: this connection does, which counts unless a proxy says otherwise.
bool http_auth_is_secure(struct MHD_Connection *connection, bool tls);
// 0, and *ret if it needs a token; or the status with which it is refused, and *ret_why (borrowed for good).
unsigned http_auth_judge(HttpAuth *g, const HttpClaim *c, HttpPrincipal *ret, const char **ret_why);
// Whether a page of another origin asks, or nobody says which: who comes with a cookie has to.
bool http_auth_is_foreign(const HttpClaim *c, const HttpPrincipal *principal);

// Logs in: the cookie's id. 0, HTTP_SESSION_GAVE_WAY; -ENOMEM, -EIO.
int http_auth_begin_session(HttpAuth *g, const Hash *proof, char ret_id[HTTP_SECRET_SIZE]);
// Logs out.
void http_auth_end_session(HttpAuth *g, const HttpPrincipal *principal);
// Its token was refused: with it end all of its sessions.
void http_auth_refuse(HttpAuth *g, const HttpPrincipal *principal);
// False: it came with a session that has ended since.
bool http_auth_still_lets(HttpAuth *g, const HttpPrincipal *principal);
