// SPDX-License-Identifier: LGPL-2.1-or-later
//
// gnutls asks for bytes -> there are none: suspended, put into the list, and its socket into the epoll ->
// the thread takes it out of the list and lets it go on -> gnutls asks again.
//
// A connection that is suspended is not ended by libmicrohttpd, so what is in the list is there; what was
// let go on may be gone at once, and is not touched again. A socket is told of once (EPOLLONESHOT), and is
// out of the epoll when it is closed.
//
// Failures: a socket that cannot be waited for is let go on at once, and libmicrohttpd reads it again and
// again, as it did without this.

#include "http-handshakes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "macro.h"

enum { EVENTS = 64 };

struct HttpHandshakes {
        pthread_mutex_t lock; // of what follows
        ListNode waiting;
        bool stopping;
        int epoll_fd, stop_fd;
        pthread_t thread;
};

// ---- the thread that waits

// When the listener stops, all its connections go on, and may be gone.
static bool let_go_on(HttpHandshakes *all, const struct epoll_event *events, int n) {
        bool stopping;

        pthread_mutex_lock(&all->lock);
        stopping = all->stopping;
        for (int i = 0; !stopping && i < n; i++) {
                HttpHandshake *h = events[i].data.ptr;

                list_unlink(&h->waiting);
                MHD_resume_connection(h->connection);
        }
        pthread_mutex_unlock(&all->lock);
        return !stopping;
}

static void *run(void *userdata) {
        HttpHandshakes *all = userdata;
        struct epoll_event events[EVENTS];
        int n;

        do
                n = epoll_wait(all->epoll_fd, events, EVENTS, -1);
        while (n < 0 ? errno == EINTR : let_go_on(all, events, n));
        return NULL;
}

static int start(HttpHandshakes *all) {
        struct epoll_event stop = {.events = EPOLLIN};

        all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        all->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (all->epoll_fd < 0 || all->stop_fd < 0 ||
            epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, all->stop_fd, &stop) < 0)
                return -errno;
        return -pthread_create(&all->thread, NULL, run, all);
}

static void release(HttpHandshakes *all) {
        if (all->epoll_fd >= 0)
                close(all->epoll_fd);
        if (all->stop_fd >= 0)
                close(all->stop_fd);
        pthread_mutex_destroy(&all->lock);
        free(all);
}

int http_handshakes_new(HttpHandshakes **ret) {
        HttpHandshakes *all = calloc(1, sizeof(*all));
        int r;

        if (!all)
                return -ENOMEM;
        pthread_mutex_init(&all->lock, NULL);
        list_init(&all->waiting);
        all->epoll_fd = all->stop_fd = -1;
        r = start(all);
        if (r < 0)
                release(all);
        else
                *ret = all;
        return r;
}

void http_handshakes_stop(HttpHandshakes *all) {
        pthread_mutex_lock(&all->lock);
        all->stopping = true;
        list_foreach_safe (n, &all->waiting) {
                list_unlink(n);
                MHD_resume_connection(CONTAINER_OF(n, HttpHandshake, waiting)->connection);
        }
        pthread_mutex_unlock(&all->lock);
        (void) eventfd_write(all->stop_fd, 1);
        pthread_join(all->thread, NULL);
}

void http_handshakes_free(HttpHandshakes *all) {
        if (all)
                release(all);
}

// ---- the listener's thread

static bool watch(HttpHandshake *h) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.ptr = h};
        int epoll_fd = h->all->epoll_fd;

        return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, h->fd, &event) == 0 ||
               (errno == ENOENT && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, h->fd, &event) == 0);
}

// More may have come meanwhile: then it goes on as soon as the lock is free.
static void wait_for_more(HttpHandshake *h) {
        HttpHandshakes *all = h->all;

        pthread_mutex_lock(&all->lock);
        if (!all->stopping && !list_is_linked(&h->waiting) && watch(h)) {
                MHD_suspend_connection(h->connection);
                list_append(&all->waiting, &h->waiting);
        }
        pthread_mutex_unlock(&all->lock);
}

static ssize_t on_pull(gnutls_transport_ptr_t userdata, void *data, size_t len) {
        HttpHandshake *h = userdata;
        ssize_t n = recv(h->fd, data, len, 0);

        if (n < 0 && errno == EAGAIN && !h->done) {
                wait_for_more(h);
                errno = EAGAIN;
        }
        return n;
}

static int on_pull_timeout(gnutls_transport_ptr_t userdata, unsigned ms) {
        struct pollfd f = {.fd = ((HttpHandshake *) userdata)->fd, .events = POLLIN};

        return poll(&f, 1, (int) ms);
}

// The client's is the last that is waited for, in all versions of TLS.
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t *message) {
        gnutls_transport_ptr_t from, to;

        gnutls_transport_get_ptr2(session, &from, &to);
        if (incoming)
                ((HttpHandshake *) from)->done = true;
        return 0;
}

void http_handshake_begin(HttpHandshakes *all, HttpHandshake *h, struct MHD_Connection *connection,
                          gnutls_session_t session, int fd) {
        gnutls_transport_ptr_t from, to;

        *h = (HttpHandshake){.all = all, .connection = connection, .fd = fd};
        list_init(&h->waiting);
        gnutls_transport_get_ptr2(session, &from, &to);
        gnutls_transport_set_ptr2(session, h, to);
        gnutls_transport_set_pull_function(session, on_pull);
        gnutls_transport_set_pull_timeout_function(session, on_pull_timeout);
        gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST,
                                           on_finished);
}
