// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Threads of several listeners and the loop share the list. A connection is in it from before its first
// byte until just before its socket is closed, and the lock is held while a late one is shut down, so that
// it is never the socket of somebody else. Nothing here can fail.

#include "http-pace.h"

#include <sys/socket.h>

#include "clock.h"
#include "http-limits.h"
#include "macro.h"

void http_pace_init(HttpPace *p) {
        pthread_mutex_init(&p->lock, NULL);
        list_init(&p->all);
}

void http_pace_done(HttpPace *p) {
        pthread_mutex_destroy(&p->lock);
}

// The lock is held. 0: not at all.
static bool wait_until(HttpPace *p, HttpPaced *c, uint64_t due_us) {
        bool tell;

        p->n_due += (due_us > 0) - (c->due_us > 0);
        c->due_us = due_us;
        tell = due_us > 0 && !p->is_watched;
        p->is_watched |= tell;
        return tell;
}

static bool wait_for(HttpPace *p, HttpPaced *c, uint64_t now_us, unsigned sec) {
        bool tell;

        pthread_mutex_lock(&p->lock);
        tell = wait_until(p, c, now_us + sec * (uint64_t) USEC_PER_SEC);
        pthread_mutex_unlock(&p->lock);
        return tell;
}

static void wait_for_nothing(HttpPace *p, HttpPaced *c) {
        pthread_mutex_lock(&p->lock);
        (void) wait_until(p, c, 0);
        pthread_mutex_unlock(&p->lock);
}

bool http_pace_begin(HttpPace *p, HttpPaced *c, int fd, uint64_t now_us) {
        *c = (HttpPaced){.fd = fd};
        list_init(&c->link);
        pthread_mutex_lock(&p->lock);
        list_append(&p->all, &c->link);
        pthread_mutex_unlock(&p->lock);
        return wait_for(p, c, now_us, HTTP_HEAD_SEC);
}

void http_pace_on_head(HttpPace *p, HttpPaced *c) {
        wait_for_nothing(p, c);
}

bool http_pace_on_body(HttpPace *p, HttpPaced *c, uint64_t now_us) {
        return wait_for(p, c, now_us, HTTP_BODY_SEC);
}

void http_pace_on_request(HttpPace *p, HttpPaced *c) {
        wait_for_nothing(p, c);
}

bool http_pace_on_answer(HttpPace *p, HttpPaced *c, uint64_t now_us) {
        return wait_for(p, c, now_us, HTTP_IDLE_SEC);
}

void http_pace_end(HttpPace *p, HttpPaced *c) {
        pthread_mutex_lock(&p->lock);
        (void) wait_until(p, c, 0);
        list_unlink(&c->link);
        pthread_mutex_unlock(&p->lock);
}

bool http_pace_is_due(HttpPace *p) {
        bool is;

        pthread_mutex_lock(&p->lock);
        is = p->n_due > 0;
        pthread_mutex_unlock(&p->lock);
        return is;
}

bool http_pace_end_late(HttpPace *p, uint64_t now_us) {
        bool more;

        pthread_mutex_lock(&p->lock);
        list_foreach (node, &p->all) {
                HttpPaced *c = CONTAINER_OF(node, HttpPaced, link);

                if (c->due_us == 0 || c->due_us > now_us)
                        continue;
                (void) wait_until(p, c, 0);
                (void) shutdown(c->fd, SHUT_RDWR);
        }
        more = p->is_watched = p->n_due > 0;
        pthread_mutex_unlock(&p->lock);
        return more;
}
