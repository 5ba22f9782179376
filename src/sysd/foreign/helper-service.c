// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a connection -> its packet -> fork, exec -> the helper runs -> shut down, or it ends -> reaped -> closed
//
// A request that cannot be served is closed at once: to argosyd that is a helper that has ended. The service
// keeps no connection to a helper once that has been executed, and nothing else of argosyd's. Helpers die
// with it.

#include "helper-service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "macro.h"

enum {
        WORDS = 4,          // MODE MANAGER LEADER BORN
        COMMAND_MAX = 8,    // words
        IDLE_MS = 30 * 1000,
        LISTENER = 0, // in Service.polled
        SIGNALS = 1,
        FIRST = 2,
};

typedef struct Service {
        const char *const *command;
        struct pollfd polled[FIRST + HELPER_SERVICE_MAX];
        pid_t pids[FIRST + HELPER_SERVICE_MAX]; // 0: its packet has not come yet
        size_t n;
        bool ends;
} Service;

// ---- a helper

static _Noreturn void execute(const Service *s, char *const words[WORDS], int link, pid_t parent) {
        static char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
        char *args[COMMAND_MAX + WORDS + 1] = {};
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        size_t n = 0;
        sigset_t none;

        for (; s->command[n] && n < COMMAND_MAX; n++)
                args[n] = (char *) s->command[n];
        for (size_t i = 0; i < WORDS; i++)
                args[n++] = words[i];
        sigemptyset(&none);
        if (null < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent ||
            dup2(link, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || chdir("/") < 0 ||
            sigprocmask(SIG_SETMASK, &none, NULL) < 0)
                _exit(EXIT_FAILURE);
        // kernels before 5.9: all are closed by exec
        (void) syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
        execve(args[0], args, environment);
        _exit(EXIT_FAILURE);
}

// Exactly so many words, each with something in it.
static bool cut_words(char *packet, size_t len, char *words[WORDS]) {
        char *end = packet + len;

        for (size_t i = 0; i < WORDS; i++) {
                if (packet >= end || *packet == 0)
                        return false;
                words[i] = packet;
                packet += strlen(packet) + 1;
        }
        return packet == end + 1;
}

// The descriptor that came, or -1; more than one are none.
static int take_link(struct msghdr *m) {
        const struct cmsghdr *c = CMSG_FIRSTHDR(m);
        int fd = -1;

        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
            c->cmsg_len == CMSG_LEN(sizeof(int)))
                memcpy(&fd, CMSG_DATA(c), sizeof(int));
        return fd;
}

// Its pid; 0: the packet is not there yet; or negative errno.
static pid_t start(const Service *s, int connection) {
        char packet[HELPER_SERVICE_WORDS_MAX + 1] = {}, *words[WORDS];
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
        struct iovec iov = {packet, HELPER_SERVICE_WORDS_MAX};
        struct msghdr m = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        ssize_t n = recvmsg(connection, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        pid_t pid = -EBADMSG, parent = getpid();
        int link;

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        link = take_link(&m);
        if (link >= 0 && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && cut_words(packet, (size_t) n, words)) {
                pid = fork();
                if (pid == 0)
                        execute(s, words, link, parent);
                if (pid < 0)
                        pid = -errno;
        }
        if (link >= 0)
                close(link);
        return pid;
}

// ---- connections

static void drop(Service *s, size_t i) {
        close(s->polled[i].fd);
        s->n--;
        s->polled[i] = s->polled[s->n];
        s->pids[i] = s->pids[s->n];
}

static bool is_ours(int connection) {
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void accept_one(Service *s) {
        int fd = accept4(s->polled[LISTENER].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        if (s->n == ELEMENTSOF(s->polled) || !is_ours(fd)) {
                close(fd);
                return;
        }
        s->polled[s->n] = (struct pollfd){.fd = fd, .events = POLLIN};
        s->pids[s->n++] = 0;
}

// A running helper's connection brings nothing but its end: it is looked at no more, and stays until the
// process is reaped.
static void on_connection(Service *s, size_t i) {
        if (s->pids[i] > 0) {
                (void) kill(s->pids[i], SIGKILL);
                s->polled[i].fd = ~s->polled[i].fd; // poll() passes over what is negative
                return;
        }
        s->pids[i] = start(s, s->polled[i].fd);
        if (s->pids[i] < 0)
                drop(s, i);
}

static void reap(Service *s) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                for (size_t i = FIRST; i < s->n; i++)
                        if (s->pids[i] == pid) {
                                if (s->polled[i].fd < 0)
                                        s->polled[i].fd = ~s->polled[i].fd;
                                drop(s, i);
                                break;
                        }
}

static void on_signals(Service *s) {
        struct signalfd_siginfo info;

        while (read(s->polled[SIGNALS].fd, &info, sizeof(info)) == (ssize_t) sizeof(info))
                s->ends |= info.ssi_signo == SIGTERM;
        reap(s);
}

// ---- the whole

static int open_signals(void) {
        sigset_t set;
        int fd;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, SIGTERM);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

// From the last on, since who is dropped is replaced by the last.
static int serve(Service *s, unsigned idle_ms) {
        while (!s->ends) {
                int n = poll(s->polled, s->n, s->n > FIRST ? -1 : (int) idle_ms);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return 0;
                if (n < 0)
                        continue;
                for (size_t i = s->n; i-- > FIRST;)
                        if (s->polled[i].fd >= 0 && s->polled[i].revents)
                                on_connection(s, i);
                if (s->polled[SIGNALS].revents)
                        on_signals(s);
                if (s->polled[LISTENER].revents)
                        accept_one(s);
        }
        return 0;
}

static void end_all(Service *s) {
        for (size_t i = FIRST; i < s->n; i++)
                if (s->pids[i] > 0)
                        (void) kill(s->pids[i], SIGKILL);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ;
}

int helper_service_run(int listener, const char *const *command, unsigned idle_ms) {
        Service *s = calloc(1, sizeof(*s));
        int r = s ? open_signals() : -ENOMEM;

        if (r < 0) {
                free(s);
                return r;
        }
        s->command = command;
        s->polled[LISTENER] = (struct pollfd){.fd = listener, .events = POLLIN};
        s->polled[SIGNALS] = (struct pollfd){.fd = r, .events = POLLIN};
        s->n = FIRST;
        r = fcntl(listener, F_SETFL, O_NONBLOCK) < 0 ? -errno : serve(s, idle_ms);
        end_all(s);
        for (size_t i = SIGNALS; i < s->n; i++)
                close(s->polled[i].fd < 0 ? ~s->polled[i].fd : s->polled[i].fd);
        free(s);
        return r;
}

int helper_service_main(void) {
        static const char *const command[] = {"/proc/self/exe", "--manager-helper", NULL};
        int r;

        if (sd_listen_fds(1) != 1 ||
            sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_SEQPACKET, 1, NULL, 0) <= 0) {
                fprintf(stderr, "argosyd: --helper-service is for argosy-helper.service alone\n");
                return EXIT_FAILURE;
        }
        (void) prctl(PR_SET_NAME, "argosy-helper"); // one is argosyd by name
        r = helper_service_run(SD_LISTEN_FDS_START, command, IDLE_MS);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
