// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: connect, write one frame, read frames until the response that says `final`. Everything
// else is about going away in good order: a daemon that is restarted (the connection ends, the same request
// is sent again on the next one), one that talks nonsense (never trusted with more than one frame's length),
// and a user who presses Ctrl-C.
//
// Ctrl-C: SIGINT is blocked except inside ppoll(), so the flag that its handler sets cannot be missed
// between a look at it and the wait.

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "frame.h"
#include "str.h"

enum { READ_CHUNK = 64 * 1024 };

void client_init(Client *c, const char *path, const volatile sig_atomic_t *interrupt) {
        *c = (Client){.path = path, .interrupt = interrupt, .fd = -1, .wake_fd = -1};
}

void client_disconnect(Client *c) {
        if (c->fd >= 0)
                close(TAKE_FD(c->fd));
        c->in.len = 0;
}

void client_done(Client *c) {
        client_disconnect(c);
        buf_done(&c->in);
}

bool client_is_lost(const Client *c, int error) {
        switch (error) {
        case -ECONNRESET:
        case -EPIPE:
                return true;
        case -ECONNREFUSED: // a restart without socket activation: for a moment nobody listens
        case -ENOENT:
        case -EAGAIN: // backlog full
                return c->was_connected;
        default:
                return false;
        }
}

static int fail(Client *c, int error, const char *what) {
        snprintf(c->why, sizeof(c->why), "%s", what);
        if (error != -ETIMEDOUT && error != -EINTR && error != -EALREADY)
                client_disconnect(c);
        return error;
}

int client_lose(Client *c, const char *why) {
        return fail(c, -ECONNRESET, why);
}

void client_say_who_may(const char *path, char *ret, size_t size) {
        struct stat st;
        const struct group *gr;

        if (stat(path, &st) < 0)
                str_fit(ret, size, "its directory lets nobody else through");
        else if (!(st.st_mode & S_IWGRP))
                str_fit(ret, size, "only root may use it");
        else if ((gr = getgrgid(st.st_gid)))
                str_fit(ret, size, "only root and members of group %s may use it", gr->gr_name);
        else
                str_fit(ret, size, "only root and members of the group %u may use it", st.st_gid);
}

static int fail_connect(Client *c, int error) {
        char who[128];

        if (c->user && error != -EAGAIN)
                snprintf(c->why, sizeof(c->why),
                         "cannot reach this user's argosyd at %s: %s; 'systemctl --user enable --now "
                         "argosyd.service' starts it",
                         c->path, strerror(-error));
        else if (error == -EACCES || error == -EPERM) {
                client_say_who_may(c->path, who, sizeof(who));
                str_fit(c->why, sizeof(c->why), "cannot reach argosyd at %s: %s; %s", c->path,
                        strerror(-error), who);
        } else if (error == -EAGAIN)
                str_fit(c->why, sizeof(c->why),
                        "cannot reach argosyd at %s: as many wait to be let in as there is room for; try "
                        "again",
                        c->path);
        else
                snprintf(c->why, sizeof(c->why),
                         "cannot reach argosyd at %s: %s; is argosyd.service running?", c->path,
                         strerror(-error));
        return error;
}

// 1: `events` are there; 0: `until_us` has come; -EINTR. -EALREADY: not while writing, so that no half frame
// is left behind.
static int wait_for(Client *c, int fd, short events, uint64_t until_us) {
        struct pollfd p[] = {{.fd = fd, .events = events},
                             {.fd = events == POLLOUT ? -1 : c->wake_fd, .events = POLLIN}};
        sigset_t block, during;

        sigemptyset(&block);
        sigaddset(&block, SIGINT);
        for (;;) {
                struct timespec ts, *timeout = NULL;
                uint64_t now = clock_boot_us(), left;
                int n, e;

                if (until_us != CLIENT_NEVER) {
                        left = until_us > now ? until_us - now : 0;
                        ts = (struct timespec){(time_t) (left / USEC_PER_SEC),
                                               (long) (left % USEC_PER_SEC) * 1000};
                        timeout = &ts;
                }
                sigprocmask(SIG_BLOCK, &block, &during);
                if (c->interrupt && *c->interrupt) {
                        sigprocmask(SIG_SETMASK, &during, NULL);
                        return -EINTR;
                }
                n = ppoll(p, ELEMENTSOF(p), timeout, &during); // those below 0 are passed over
                e = errno;
                sigprocmask(SIG_SETMASK, &during, NULL);
                if (n < 0 && e == EINTR)
                        continue;
                if (n < 0)
                        return -e;
                if (n > 0 && p[1].revents)
                        return -EALREADY;
                return n > 0;
        }
}

int client_pause(Client *c, uint64_t until_us) {
        int r = wait_for(c, -1, 0, until_us);

        return r < 0 ? r : 0;
}

static int client_connect(Client *c) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};

        if (strlen(c->path) >= sizeof(a.sun_path))
                return fail_connect(c, -ENAMETOOLONG);
        memcpy(a.sun_path, c->path, strlen(c->path) + 1);
        c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (c->fd < 0)
                return fail_connect(c, -errno);
        if (connect(c->fd, (struct sockaddr *) &a, sizeof(a)) < 0) {
                int r = -errno;

                client_disconnect(c);
                return fail_connect(c, r);
        }
        c->was_connected = true;
        return 0;
}

static int write_all(Client *c, const uint8_t *data, size_t len, uint64_t deadline_us) {
        while (len > 0) {
                ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
                int r;

                if (n >= 0) {
                        data += n;
                        len -= (size_t) n;
                        continue;
                }
                if (errno == EINTR)
                        continue;
                if (errno != EAGAIN)
                        return fail(c, errno == EPIPE ? -ECONNRESET : -errno,
                                    "the connection to argosyd was lost");
                r = wait_for(c, c->fd, POLLOUT, deadline_us);
                if (r < 0)
                        return fail(c, r, r == -EINTR ? "interrupted" : strerror(-r));
                if (r == 0) {
                        client_disconnect(c); // half a frame is out: nothing else may follow it
                        return fail(c, -ETIMEDOUT, "argosyd does not take the request");
                }
        }
        return 0;
}

int client_send(Client *c, Argosy__Request *request, uint64_t deadline_us) {
        _cleanup_buf_ Buf frame = {};
        int r;

        request->id = ++c->last_id;
        r = frame_append(&frame, &request->base, FRAME_MAX_LOCAL);
        if (r == -EMSGSIZE) {
                snprintf(c->why, sizeof(c->why), "the request is larger than %d MiB; split it into several",
                         FRAME_MAX_LOCAL / (1024 * 1024));
                return r;
        }
        if (r < 0)
                return fail(c, r, strerror(-r));
        if (c->fd < 0) {
                r = client_connect(c);
                if (r < 0)
                        return r;
        }
        return write_all(c, frame.data, frame.len, deadline_us);
}

// 1 and *ret, 0: more bytes are needed.
static int take_response(Client *c, Argosy__Response **ret) {
        const uint8_t *payload;
        Argosy__Response *m;
        size_t len;
        int r;

        r = frame_peek(c->in.data, c->in.len, FRAME_MAX_LOCAL, &payload, &len);
        if (r < 0)
                return fail(c, r,
                            "what listens on the socket announced an answer that is too large; it is no "
                            "argosyd");
        if (r == 0)
                return 0;
        m = argosy__response__unpack(NULL, len, payload);
        if (!m)
                return fail(c, -EBADMSG,
                            "what listens on the socket sent garbage; it is no argosyd, or far too new");
        buf_consume(&c->in, FRAME_HEADER_SIZE + len);
        // A daemon that could not read the request cannot know its id.
        if (m->id != c->last_id && !(m->id == 0 && m->status != 0)) {
                argosy__response__free_unpacked(m, NULL);
                return fail(c, -EBADMSG, "argosyd answered a question that was not asked");
        }
        *ret = m;
        return 1;
}

int client_receive(Client *c, uint64_t deadline_us, Argosy__Response **ret) {
        for (;;) {
                uint8_t *p;
                ssize_t n;
                int r;

                if (c->fd < 0)
                        return fail(c, -ECONNRESET, "the connection to argosyd was lost");
                r = take_response(c, ret);
                if (r != 0)
                        return r < 0 ? r : 0;
                r = wait_for(c, c->fd, POLLIN, deadline_us);
                if (r < 0)
                        return fail(c, r, r == -EINTR || r == -EALREADY ? "interrupted" : strerror(-r));
                if (r == 0)
                        return fail(c, -ETIMEDOUT, "no answer in time, perhaps for want of a leader");
                p = buf_reserve(&c->in, READ_CHUNK);
                if (!p)
                        return fail(c, -ENOMEM, strerror(ENOMEM));
                n = recv(c->fd, p, READ_CHUNK, 0);
                if (n < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n <= 0)
                        return fail(c, n == 0 ? -ECONNRESET : -errno, "the connection to argosyd was lost");
                c->in.len += (size_t) n;
        }
}
