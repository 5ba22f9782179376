// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A socket on which is listened, and its thread. By the loop. Private to src/http.

#include "http-call.h"

typedef struct HttpThread HttpThread;

// Each has a thread of its own, so that handshakes of strangers delay nobody on the unix socket.
typedef struct HttpListener {
        HttpApi *api;
        int fd;
        bool tcp, tls;
        bool fleet; // fleet's API is spoken there; with TLS, clients show a certificate in place of a token
        uv_poll_t first; // the first connection: the thread is started
        HttpThread *thread;
} HttpListener;

// On the listener's socket, of which it uses a copy. 0 or negative errno.
int http_thread_start(HttpListener *listener, HttpThread **ret);
// All calls were given back. Returns when the thread has ended.
void http_thread_stop(HttpThread *t);
