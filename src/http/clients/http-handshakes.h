// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Handshakes of TLS that wait for their clients. With epoll libmicrohttpd (0.9.75, 1.0.1) forgets in a
// handshake that it has read all there was, and reads again and again, for as long as its client likes. So a
// connection is suspended where there is nothing to read, and goes on when there is:
//
//      connected       -> http_handshake_begin()   from then on it is read by us
//      nothing there   -> suspended                a thread of this listener's waits for its socket
//      more has come   -> resumed                  also when the socket was shut down, since it is late
//                                                  (http-pace.h) or has to make room
//      both are done   -> nothing more of this     libmicrohttpd knows how to wait for records
//
// All functions but that thread's are called by the listener's, http_handshakes_stop() and
// http_handshakes_free() by the loop.

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdbool.h>

#include "list.h"

typedef struct HttpHandshakes HttpHandshakes;

typedef struct HttpHandshake { // as long as its connection
        HttpHandshakes *all;
        ListNode waiting; // in HttpHandshakes.waiting
        struct MHD_Connection *connection;
        int fd; // borrowed
        bool done;
} HttpHandshake;

// 0, -ENOMEM, or negative errno.
int http_handshakes_new(HttpHandshakes **ret);
// All go on, and nobody waits any more. Before libmicrohttpd is stopped, which takes no suspended ones.
void http_handshakes_stop(HttpHandshakes *all);
// When libmicrohttpd was stopped; NULL is fine.
void http_handshakes_free(HttpHandshakes *all);
// Before anything was read.
void http_handshake_begin(HttpHandshakes *all, HttpHandshake *h, struct MHD_Connection *connection,
                          gnutls_session_t session, int fd);
