// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a request over TCP may go on, and as whose. Loopback is TCP, too: who is at the other end of it, nobody attests.
//
//      Host is one of [Http] Names=           else 421
//      no token in the target                 else 400
//      /healthz, /readyz                      need nothing more
//      Authorization: Bearer                  else 401
//
// What the token may do, and whether there is such a token at all, is the leader's to say. Threads of all listeners ask, and the loop
// sets the names.

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

#include "hash.h"
#include "http-names.h"

typedef struct HttpGate {
        pthread_mutex_t lock;
        HttpNames names;    // by which one may ask
        bool own_addresses; // and by the address that one has connected to
} HttpGate;

// Of a request; borrowed.
typedef struct HttpClaim {
        struct MHD_Connection *connection;
        const char *target; // as it came
        int fd;
        bool tls;
} HttpClaim;

void http_gate_init(HttpGate *g);
void http_gate_done(HttpGate *g);
void http_gate_set_names(HttpGate *g, const HttpNames *names, bool own_addresses);
// 0, and *ret_proof of its token if it needs one; or the status with which it is refused, and *ret_why (borrowed for good).
unsigned http_gate_judge(HttpGate *g, const HttpClaim *c, Hash *ret_proof, const char **ret_why);
// Whether a page of another origin asks.
bool http_gate_is_foreign(const HttpClaim *c);
