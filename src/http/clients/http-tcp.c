// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Threads of several listeners and the loop share the list. A connection is in it from before its handshake until just before its socket is
// closed, and the lock is held while a late one is shut down, so that it is never the socket of somebody else.

#include "http-tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "clock.h"
#include "http-limits.h"
#include "macro.h"

void http_tcp_init(HttpTcp *t) {
        pthread_mutex_init(&t->lock, NULL);
        list_init(&t->all);
}

void http_tcp_done(HttpTcp *t) {
        pthread_mutex_destroy(&t->lock);
}

// The lock is held.
static bool wait_until(HttpTcp *t, HttpTcpConnection *c, uint64_t ask_by_us) {
        t->n_waiting += (ask_by_us > 0) - (c->ask_by_us > 0);
        c->ask_by_us = ask_by_us;
        return ask_by_us > 0 && t->n_waiting == 1;
}

// A client that is gone without a word is noticed when he has to take something: what is sent to him, or where nothing is (the lines of a
// silent unit as they are) the kernel's own questions.
static void set_options(int fd) {
        const int unanswered_ms = HTTP_TCP_UNANSWERED_SEC * 1000, silent_sec = HTTP_TCP_SILENT_SEC, on = 1;

        (void) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silent_sec, sizeof(silent_sec));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &silent_sec, sizeof(silent_sec));
        (void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

bool http_tcp_begin(HttpTcp *t, HttpTcpConnection *c, int fd, uint64_t now_us) {
        bool first;

        *c = (HttpTcpConnection){.fd = fd};
        list_init(&c->link);
        set_options(fd);
        pthread_mutex_lock(&t->lock);
        list_append(&t->all, &c->link);
        first = wait_until(t, c, now_us + HTTP_TCP_BEGIN_SEC * (uint64_t) USEC_PER_SEC);
        pthread_mutex_unlock(&t->lock);
        return first;
}

void http_tcp_asks(HttpTcp *t, HttpTcpConnection *c) {
        pthread_mutex_lock(&t->lock);
        (void) wait_until(t, c, 0);
        pthread_mutex_unlock(&t->lock);
}

bool http_tcp_waits(HttpTcp *t, HttpTcpConnection *c, uint64_t now_us) {
        bool first;

        pthread_mutex_lock(&t->lock);
        first = wait_until(t, c, now_us + HTTP_IDLE_SEC * (uint64_t) USEC_PER_SEC);
        pthread_mutex_unlock(&t->lock);
        return first;
}

void http_tcp_end(HttpTcp *t, HttpTcpConnection *c) {
        pthread_mutex_lock(&t->lock);
        (void) wait_until(t, c, 0);
        list_unlink(&c->link);
        pthread_mutex_unlock(&t->lock);
}

bool http_tcp_is_waited_for(HttpTcp *t) {
        bool is;

        pthread_mutex_lock(&t->lock);
        is = t->n_waiting > 0;
        pthread_mutex_unlock(&t->lock);
        return is;
}

bool http_tcp_end_late(HttpTcp *t, uint64_t now_us) {
        bool more;

        pthread_mutex_lock(&t->lock);
        list_foreach (node, &t->all) {
                HttpTcpConnection *c = CONTAINER_OF(node, HttpTcpConnection, link);

                if (c->ask_by_us == 0 || c->ask_by_us > now_us)
                        continue;
                (void) wait_until(t, c, 0);
                (void) shutdown(c->fd, SHUT_RDWR);
        }
        more = t->n_waiting > 0;
        pthread_mutex_unlock(&t->lock);
        return more;
}
