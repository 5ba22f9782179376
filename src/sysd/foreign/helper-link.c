// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyd's side of a helper: its process, the socket to it, and the limit for an answer (helper-link.h).
//
//      helper_link_new() -> helper_link_send() -> on_poll() -> ops.reply() -> ... -> ops.ended()
//          -> helper_link_close()
//
// Nothing here blocks: requests that the helper does not read yet are kept in `out`. Memory is freed after
// the process and all handles have closed, and ops.closed() was called. Failures: without an answer in
// answer_ms (HELPER_ANSWER_MS) -ETIMEDOUT, a malformed frame -EBADMSG, its end -ECONNRESET, all by
// ops.ended(). An idle helper ends with 0. It is killed, never asked to end.

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper-link.h"
#include "helper-process.h"
#include "list.h"
#include "manager-name.h"
#include "time-limit.h"
#include "uvx.h"

enum { LINK_HANDLES = 3 };

struct HelperLink {
        HelperProcess process;
        uv_poll_t poll;
        TimeLimit limit; // for an answer, or without a question
        int n_handles; // open, and for each a close callback to come
        int fd;
        Buf in, out;
        int passed_fd; // came and was not given away yet; -1: none
        unsigned n_unanswered, answer_ms;
        bool connect, patient, ended, closing;
        char *manager;
        pid_t leader;
        HelperOps ops;
        void *userdata;
};

static void link_unref(HelperLink *l) {
        if (--l->n_handles > 0)
                return;
        if (l->ops.closed)
                l->ops.closed(l->userdata);
        buf_done(&l->in);
        buf_done(&l->out);
        free(l->manager);
        free(l);
}

static void on_handle_closed(uv_handle_t *h) {
        link_unref(h->data);
}

static void on_limit_closed(uv_handle_t *h) {
        link_unref(CONTAINER_OF((uv_timer_t *) h, HelperLink, limit.timer));
}

static void on_process_closed(void *userdata) {
        link_unref(userdata);
}

static void drop_passed_fd(HelperLink *l) {
        if (l->passed_fd >= 0)
                close(l->passed_fd);
        l->passed_fd = -1;
}

static void end(HelperLink *l, int error) {
        if (l->ended || l->closing)
                return;
        l->ended = true;
        uv_poll_stop(&l->poll);
        time_limit_stop(&l->limit);
        l->ops.ended(error, l->userdata);
}

void helper_link_close(HelperLink *l) {
        if (l->closing)
                return;
        l->closing = l->ended = true;
        drop_passed_fd(l);
        uv_close((uv_handle_t *) &l->poll, on_handle_closed);
        time_limit_close(&l->limit, on_limit_closed);
        close(l->fd);
        helper_process_close(&l->process, on_process_closed, l);
}

// ---- what comes

// The other end of the connection must be a process of that user, or the container's init: the socket's path
// may be a symbolic link that its owner made to any other socket.
static bool is_trusted_connection(const HelperLink *l, int fd) {
        struct ucred peer;
        int domain = 0, type = 0;
        socklen_t size = sizeof(int), peer_size = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX ||
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM ||
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
                return false;
        return manager_name_kind(l->manager) == MANAGER_USER ? peer.uid == manager_name_uid(l->manager)
                                                             : peer.pid == l->leader;
}

static int take_fd(HelperLink *l) {
        int fd = l->passed_fd;

        l->passed_fd = -1;
        if (fd >= 0 &&
            (!l->connect || !is_trusted_connection(l, fd) || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)) {
                close(fd);
                return -1;
        }
        return fd;
}

static void on_over(void *userdata) {
        HelperLink *l = userdata;

        end(l, l->n_unanswered > 0 ? -ETIMEDOUT : 0);
}

static void start_limit(HelperLink *l) {
        if (!l->patient)
                time_limit_start(&l->limit, l->n_unanswered > 0 ? l->answer_ms : HELPER_IDLE_MS, on_over);
}

static void on_reply(HelperLink *l, Argosy__HelperReply *reply) {
        int fd = take_fd(l);

        if (l->connect && reply->error == 0 && fd < 0)
                reply->error = -EPERM; // `why` stays empty: the helper did not report this
        if (--l->n_unanswered == 0)
                start_limit(l);
        l->ops.reply(reply, fd, l->userdata);
        argosy__helper_reply__free_unpacked(reply, NULL);
}

static int take_frames(HelperLink *l) {
        const uint8_t *payload;
        size_t len, total;
        int r;

        while (!l->ended && (r = helper_frame_cut(l->in.data, l->in.len, HELPER_REPLY_MAX, &payload, &len,
                                                  &total)) != 0) {
                Argosy__HelperReply *reply = r < 0 ? NULL : helper_reply_parse(payload, len);

                if (!reply || l->n_unanswered == 0) {
                        if (reply)
                                argosy__helper_reply__free_unpacked(reply, NULL);
                        return -EBADMSG;
                }
                buf_consume(&l->in, total);
                on_reply(l, reply);
        }
        return 0;
}

// At most one descriptor is kept; all others that come are closed.
static void keep_fds(HelperLink *l, struct msghdr *m) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
                size_t n = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
                                   ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                                   : 0;

                for (size_t i = 0; i < n; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        drop_passed_fd(l);
                        l->passed_fd = fd;
                }
        }
}

// Bytes received; 0: none at present.
static ssize_t receive(HelperLink *l) {
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
        uint8_t *p = buf_reserve(&l->in, 16384);
        struct iovec iov = {p, 16384};
        struct msghdr m = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        ssize_t n;

        if (!p)
                return -ENOMEM;
        n = recvmsg(l->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        keep_fds(l, &m);
        if (n == 0)
                return -ECONNRESET;
        l->in.len += (size_t) n;
        return n;
}

static int send_some(HelperLink *l) {
        ssize_t n = send(l->fd, l->out.data, l->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                l->out.len = 0; // the helper has ended; its last replies are still to be read
                return 0;
        }
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        buf_consume(&l->out, (size_t) n);
        return 0;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void want(HelperLink *l) {
        uv_poll_start(&l->poll, UV_READABLE | (l->out.len > 0 ? UV_WRITABLE : 0), on_poll);
}

// One read and one write per turn of the loop, so a helper that sends without end does not starve others.
// `status` < 0: the other end is closed, and what it sent before is read to its end.
static void on_poll(uv_poll_t *poll, int status, int events) {
        HelperLink *l = poll->data;
        ssize_t n;
        int r = 0;

        if (status >= 0 && l->out.len > 0)
                r = send_some(l);
        do {
                n = receive(l);
                if (n > 0 && r == 0)
                        r = take_frames(l);
        } while (status < 0 && n > 0 && r == 0 && !l->ended);
        if (l->ended)
                return;
        if (status < 0 && n >= 0)
                n = -ECONNRESET;
        if (r < 0 || n < 0)
                end(l, r < 0 ? r : (int) n);
        else
                want(l);
}

int helper_link_send(HelperLink *l, const Argosy__HelperRequest *request) {
        int r;

        if (l->ended)
                return -EPIPE;
        r = helper_frame_pack(&request->base, &l->out);
        if (r < 0)
                return r;
        if (l->n_unanswered++ == 0)
                start_limit(l);
        want(l);
        return 0;
}

void helper_link_be_patient(HelperLink *l, bool patient) {
        if (l->ended || l->patient == patient)
                return;
        l->patient = patient;
        if (patient)
                time_limit_stop(&l->limit);
        else
                start_limit(l);
}

// ---- begin

static void init_handles(HelperLink *l, uv_loop_t *loop) {
        uv_poll_init(loop, &l->poll, l->fd); // initialising these cannot fail for a socket
        time_limit_init(&l->limit, loop, l);
        l->poll.data = l;
        l->n_handles = LINK_HANDLES;
        time_limit_start(&l->limit, l->answer_ms, on_over);
        if (l->connect)
                l->n_unanswered = 1;
        want(l);
}

int helper_link_new(const HelperConfig *config, const HelperOps *ops, void *userdata, HelperLink **ret) {
        HelperLink *l = calloc(1, sizeof(*l));
        int fds[2], r;

        if (!l)
                return -ENOMEM;
        *l = (HelperLink){.passed_fd = -1,
                          .connect = config->mode == HELPER_CONNECT,
                          .answer_ms = config->answer_ms ?: HELPER_ANSWER_MS,
                          .leader = config->leader,
                          .manager = strdup(config->manager),
                          .ops = *ops,
                          .userdata = userdata};
        if (!l->manager || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
                r = l->manager ? -errno : -ENOMEM;
                free(l->manager);
                free(l);
                return r;
        }
        l->fd = fds[0];
        r = helper_process_start(&l->process, config, fds[1]);
        close(fds[1]);
        init_handles(l, config->loop);
        if (r < 0) {
                l->ops = (HelperOps){};
                helper_link_close(l);
                return r;
        }
        *ret = l;
        return 0;
}
