// SPDX-License-Identifier: LGPL-2.1-or-later
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake-daemon.h"
#include "frame.h"

#define MUST(condition)                                                                              \
        do {                                                                                         \
                if (!(condition)) {                                                                  \
                        fprintf(stderr, "fake daemon, %s:%d: %s\n", __func__, __LINE__, #condition); \
                        abort();                                                                     \
                }                                                                                    \
        } while (0)

static void *run(void *userdata) {
        FakeDaemon *d = userdata;

        d->script(d);
        if (d->fd >= 0)
                fake_expect_end(d);
        return NULL;
}

void fake_daemon_start(FakeDaemon *d, FakeScript script) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        sigset_t block, before;

        *d = (FakeDaemon){.dir = "/tmp/argosy-test-XXXXXX", .fd = -1, .script = script};
        MUST(mkdtemp(d->dir));
        snprintf(d->path, sizeof(d->path), "%s/sock", d->dir);
        strcpy(a.sun_path, d->path);
        d->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        MUST(d->listener >= 0 && bind(d->listener, (struct sockaddr *) &a, sizeof(a)) == 0 &&
             listen(d->listener, 8) == 0);
        sigemptyset(&block);
        sigaddset(&block, SIGINT);
        pthread_sigmask(SIG_BLOCK, &block, &before);
        MUST(pthread_create(&d->thread, NULL, run, d) == 0);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void fake_daemon_stop(FakeDaemon *d) {
        pthread_join(d->thread, NULL);
        close(d->listener);
        unlink(d->path);
        rmdir(d->dir);
        buf_done(&d->in);
}

void fake_accept(FakeDaemon *d) {
        fake_hang_up(d);
        d->fd = accept(d->listener, NULL, NULL);
        MUST(d->fd >= 0);
        d->accepted++;
}

void fake_hang_up(FakeDaemon *d) {
        if (d->fd >= 0)
                close(TAKE_FD(d->fd));
        d->in.len = 0;
}

Argosy__Request *fake_read(FakeDaemon *d) {
        const uint8_t *payload;
        size_t len;
        int r;

        while ((r = frame_peek(d->in.data, d->in.len, FRAME_MAX_LOCAL, &payload, &len)) == 0) {
                uint8_t *p = buf_reserve(&d->in, 4096);
                ssize_t n = recv(d->fd, p, 4096, 0);

                MUST(n > 0);
                d->in.len += (size_t) n;
        }
        MUST(r == 1);
        Argosy__Request *q = argosy__request__unpack(NULL, len, payload);
        MUST(q);
        buf_consume(&d->in, FRAME_HEADER_SIZE + len);
        d->last_id = q->id;
        return q;
}

Argosy__Request *fake_take(FakeDaemon *d) {
        fake_accept(d);
        return fake_read(d);
}

void fake_expect_end(FakeDaemon *d) {
        char c;

        MUST(d->in.len == 0 && recv(d->fd, &c, 1, 0) <= 0);
        fake_hang_up(d);
}

void fake_send(FakeDaemon *d, const void *data, size_t len) {
        MUST(send(d->fd, data, len, MSG_NOSIGNAL) == (ssize_t) len);
}

void fake_reply(FakeDaemon *d, Argosy__Response *r) {
        _cleanup_buf_ Buf frame = {};

        if (r->id == 0)
                r->id = d->last_id;
        MUST(frame_append(&frame, &r->base, FRAME_MAX_LOCAL) == 0);
        fake_send(d, frame.data, frame.len);
}

void fake_reply_last(FakeDaemon *d, Argosy__Response *r) {
        fake_reply(d, r);
        fake_expect_end(d);
}
