// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Connections over TCP, of all listeners: until when each has to have asked for something. How many there may be is the accounts' to say.
//
//      accepted -> http_tcp_begin()        it has HTTP_TCP_BEGIN_SEC for the handshake and the headers of its first request
//      headers  -> http_tcp_asks()         no limit but those of bodies and of slow readers
//      answered -> http_tcp_waits()        HTTP_IDLE_SEC for the headers of the next one
//      closed   -> http_tcp_end()
//
// The times are from end to end: a byte now and then lengthens none of them. The loop looks once a second, as long as anybody is
// waited for (http_tcp_end_late()).

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "list.h"

typedef struct HttpTcpConnection {
        ListNode link;        // in HttpTcp.all
        int fd;
        uint64_t ask_by_us; // boot time; 0: it has asked
} HttpTcpConnection;

typedef struct HttpTcp {
        pthread_mutex_t lock; // of all
        ListNode all;
        size_t n_waiting; // with ask_by_us
} HttpTcp;

void http_tcp_init(HttpTcp *t);
// When there is no connection any more.
void http_tcp_done(HttpTcp *t);
// From here on until http_tcp_end() the socket is ended when it is late. True: it is the only one that is waited for.
bool http_tcp_begin(HttpTcp *t, HttpTcpConnection *c, int fd, uint64_t now_us);
void http_tcp_asks(HttpTcp *t, HttpTcpConnection *c);
// True: as above.
bool http_tcp_waits(HttpTcp *t, HttpTcpConnection *c, uint64_t now_us);
// Before its socket is closed.
void http_tcp_end(HttpTcp *t, HttpTcpConnection *c);
bool http_tcp_is_waited_for(HttpTcp *t);
// Whether there is anybody left to wait for.
bool http_tcp_end_late(HttpTcp *t, uint64_t now_us);
