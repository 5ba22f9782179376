// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   the service is asked, or spawn -> it runs -> kill, or it ends -> it is gone -> closed()
//
// The service is asked on a connection of its own: one packet with the words of the command line, and the
// link. What is shut down there kills the process, and the service closes it when the process is gone; so
// that is known of a process that is not argosyd's child. Without the service (it is not there, or has a
// full backlog) nothing is started, and the caller tries again.

#include "helper-process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buf.h"
#include "str.h"
#include "uvx.h"

static const char *const own_command[] = {"/proc/self/exe", "--manager-helper", NULL};

typedef struct Numbers {
        char leader[16], born[24];
} Numbers;

static void format(const HelperConfig *config, Numbers *ret) {
        snprintf(ret->leader, sizeof(ret->leader), "%d", (int) config->leader);
        snprintf(ret->born, sizeof(ret->born), "%llu", (unsigned long long) config->born);
}

// ---- its end

static void on_handle_closed(uv_handle_t *h) {
        HelperProcess *p = h->data;

        if (p->fd >= 0)
                close(p->fd);
        p->closed(p->userdata);
}

static void close_handle(HelperProcess *p) {
        uv_close(p->fd >= 0 ? (uv_handle_t *) &p->poll : (uv_handle_t *) &p->process, on_handle_closed);
}

static void is_gone(HelperProcess *p) {
        p->state = HELPER_IS_GONE;
        if (p->closed)
                close_handle(p);
}

void helper_process_close(HelperProcess *p, void (*closed)(void *userdata), void *userdata) {
        p->closed = closed;
        p->userdata = userdata;
        if (p->state == HELPER_NONE)
                closed(userdata);
        else if (p->state == HELPER_IS_GONE)
                close_handle(p);
        else if (p->fd >= 0)
                (void) shutdown(p->fd, SHUT_WR);
        else
                (void) uv_process_kill(&p->process, SIGKILL);
}

// ---- by the service

static int connect_to(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd;

        if (strlen(path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        strcpy(a.sun_path, path);
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return fd;
}

static int send_words(int fd, const HelperConfig *config, int link) {
        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        _cleanup_buf_ Buf words = {};
        struct iovec iov;
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};
        Numbers n;

        format(config, &n);
        if (buf_printf(&words, "%s%c%s%c%s%c%s", helper_mode_to_string(config->mode), 0, config->manager, 0,
                       n.leader, 0, n.born) < 0)
                return -ENOMEM;
        iov = (struct iovec){words.data, words.len};
        control.header = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &link, sizeof(int));
        return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

// The service says nothing; it only closes.
static void on_poll(uv_poll_t *poll, int status, int events) {
        HelperProcess *p = poll->data;
        char byte;
        ssize_t n = recv(p->fd, &byte, sizeof(byte), MSG_DONTWAIT);

        if (status >= 0 && (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))))
                return;
        uv_poll_stop(poll);
        is_gone(p);
}

static int start_by_service(HelperProcess *p, const HelperConfig *config, int link) {
        int fd = connect_to(*config->command + 1), r;

        if (fd < 0)
                return fd;
        r = send_words(fd, config, link);
        if (r < 0) {
                close(fd);
                return r;
        }
        p->fd = fd;
        p->poll.data = p;
        uv_poll_init(config->loop, &p->poll, fd); // cannot fail for a socket
        uv_poll_start(&p->poll, UV_READABLE | UV_DISCONNECT, on_poll);
        p->state = HELPER_RUNS;
        return 0;
}

// ---- by argosyd

static void on_exit_of_process(uv_process_t *process, int64_t status, int signal) {
        is_gone(process->data);
}

static int spawn(HelperProcess *p, const HelperConfig *config, int link) {
        static char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        const char *const *command = config->command ?: own_command;
        char *args[16] = {};
        uv_stdio_container_t stdio[] = {
                {.flags = UV_INHERIT_FD, .data.fd = link},
                {.flags = UV_IGNORE},
                {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        };
        uv_process_options_t options = {.exit_cb = on_exit_of_process,
                                        .file = command[0],
                                        .args = args,
                                        .env = (char **) environment,
                                        .cwd = "/",
                                        .stdio = stdio,
                                        .stdio_count = ELEMENTSOF(stdio)};
        Numbers numbers;
        size_t n = 0;
        int r;

        while (command[n] && n < ELEMENTSOF(args) - 5) {
                args[n] = (char *) command[n];
                n++;
        }
        format(config, &numbers);
        args[n++] = (char *) helper_mode_to_string(config->mode);
        args[n++] = (char *) config->manager;
        args[n++] = numbers.leader;
        args[n] = numbers.born;
        p->process.data = p;
        r = uvx_errno(uv_spawn(config->loop, &p->process, &options));
        p->state = r < 0 ? HELPER_IS_GONE : HELPER_RUNS; // libuv's handle must be closed also then
        return r;
}

int helper_process_start(HelperProcess *p, const HelperConfig *config, int link) {
        *p = (HelperProcess){.fd = -1, .state = HELPER_NONE};
        return config->command && **config->command == '@' ? start_by_service(p, config, link)
                                                           : spawn(p, config, link);
}
