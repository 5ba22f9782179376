// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Helpers that a service starts: to argosyd they are as its own, and are gone when it is told so.
#include "fileio.h"
#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper-link.h"
#include "helper-service.h"
#include "messages.h"
#include "str.h"

enum { BRIEFLY_MS = 20, LONG_MS = 600 * 1000, SAYS_ITS_PID = 1, ENDS = 2, BYTES_MAX = 256 };

// ---- the helper: MODE MANAGER LEADER BORN; the last says what it does

static int helper_main(char *const words[4]) {
        _cleanup_buf_ Buf frame = {};
        char why[BYTES_MAX];

        if (atoi(words[3]) == ENDS)
                return EXIT_SUCCESS;
        str_fit(why, sizeof(why), "%d %s %s %s", (int) getpid(), words[0], words[1], words[2]);
        Argosy__HelperReply reply = HELPER_REPLY_OF(.why = why);
        if (helper_frame_pack(&reply.base, &frame) < 0 ||
            write(STDIN_FILENO, frame.data, frame.len) != (ssize_t) frame.len)
                return EXIT_FAILURE;
        for (;;)
                pause();
}

// ---- the service

static struct {
        char dir[32], path[48];
        pid_t pid;
} service;

static int listen_at(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        strcpy(a.sun_path, path);
        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        assert_int_equal(listen(fd, 8), 0);
        return fd;
}

static void run_service(unsigned idle_ms) {
        static const char *const command[] = {"/proc/self/exe", "--helper", NULL};

        strcpy(service.dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(service.dir));
        snprintf(service.path, sizeof(service.path), "@%s/sock", service.dir);
        _cleanup_(closep) int fd = listen_at(service.path + 1);
        service.pid = fork();
        assert_true(service.pid >= 0);
        if (service.pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                _exit(helper_service_run(fd, command, idle_ms) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        }
}

// Its exit status, or the signal that it died of.
static int reap_service(void) {
        int status;

        assert_int_equal(waitpid(service.pid, &status, 0), service.pid);
        service.pid = 0;
        assert_int_equal(unlink(service.path + 1), 0);
        assert_int_equal(rmdir(service.dir), 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

static void end_service(void) {
        kill(service.pid, SIGTERM);
        assert_int_equal(reap_service(), EXIT_SUCCESS);
}

// ---- what argosyd sees

typedef struct Seen {
        HelperLink *link;
        unsigned n_replies, n_ended, n_closed;
        int error;
        char why[BYTES_MAX];
} Seen;

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        Seen *s = userdata;

        s->n_replies++;
        str_fit(s->why, sizeof(s->why), "%s", reply->why);
}

static void on_ended(int error, void *userdata) {
        Seen *s = userdata;

        s->n_ended++;
        s->error = error;
        helper_link_close(s->link);
}

static void on_closed(void *userdata) {
        ((Seen *) userdata)->n_closed++;
}

static int start(Seen *s, uint64_t does) {
        static const HelperOps ops = {.reply = on_reply, .ended = on_ended, .closed = on_closed};
        const char *command[] = {service.path, NULL};
        HelperConfig config = {.loop = &test_loop,
                               .command = command,
                               .manager = "container@web",
                               .leader = 4711,
                               .born = does,
                               .mode = HELPER_WRITE,
                               .answer_ms = LONG_MS};

        *s = (Seen){};
        return helper_link_new(&config, &ops, s, &s->link);
}

static void start_and_hear(Seen *s) {
        Argosy__HelperRequest q = ARGOSY__HELPER_REQUEST__INIT;

        assert_int_equal(start(s, SAYS_ITS_PID), 0);
        assert_int_equal(helper_link_send(s->link, &q), 0);
        loop_until(s->n_replies);
}

static void it_gets_its_words_and_its_link_and_is_gone_when_that_is_said(void **state) {
        Seen one, other;

        run_service(LONG_MS);
        start_and_hear(&one);
        start_and_hear(&other);
        pid_t pid = atoi(one.why);
        assert_non_null(strstr(one.why, " write container@web 4711"));
        assert_int_equal(kill(pid, 0), 0);
        helper_link_close(one.link);
        loop_until(one.n_closed);
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(errno, ESRCH);
        assert_int_equal(kill(atoi(other.why), 0), 0);
        helper_link_close(other.link);
        loop_until(other.n_closed);
        assert_int_equal(one.n_ended + other.n_ended, 0);
        end_service();
}

static void one_that_ends_has_ended(void **state) {
        Seen s;

        run_service(LONG_MS);
        assert_int_equal(start(&s, ENDS), 0);
        loop_until(s.n_closed);
        assert_int_equal(s.n_ended, 1);
        assert_int_equal(s.error, -ECONNRESET);
        end_service();
}

static void they_end_with_the_service(void **state) {
        Seen s;

        run_service(LONG_MS);
        start_and_hear(&s);
        kill(service.pid, SIGKILL);
        loop_until(s.n_closed);
        assert_int_equal(s.n_ended, 1);
        assert_int_equal(reap_service(), SIGKILL);
}

static void it_ends_when_nobody_has_needed_it_for_a_while(void **state) {
        Seen s;

        run_service(BRIEFLY_MS);
        assert_int_equal(reap_service(), EXIT_SUCCESS);
        assert_true(start(&s, ENDS) < 0);
}

// With that descriptor; -1: with none.
static void send_packet(int fd, const char *bytes, size_t len, int link) {
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {};
        struct iovec iov = {(char *) bytes, len};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

        if (link >= 0) {
                struct cmsghdr *c = (struct cmsghdr *) control;

                *c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
                memcpy(CMSG_DATA(c), &link, sizeof(int));
                m.msg_control = control;
                m.msg_controllen = sizeof(control);
        }
        assert_int_equal(sendmsg(fd, &m, 0), len);
}

// Each has one fault. A helper that was started would say something on its link.
static void what_is_no_request_starts_nothing(void **state) {
        static const struct {
                const char *bytes;
                size_t len;
                bool has_link;
        } packets[] = {{"", 1, true},
                       {"write\0a\0b", 9, true},
                       {"write\0a\0b\0c\0d", 13, true},
                       {"write\0\0b\0c", 10, true},
                       {"write\0a\0b\0c", 11, false}};
        struct sockaddr_un a = {.sun_family = AF_UNIX};

        run_service(LONG_MS);
        strcpy(a.sun_path, service.path + 1);
        for (size_t i = 0; i < ELEMENTSOF(packets); i++) {
                int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), link[2];
                char byte;

                assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
                assert_int_equal(connect(fd, (struct sockaddr *) &a, sizeof(a)), 0);
                send_packet(fd, packets[i].bytes, packets[i].len, packets[i].has_link ? link[1] : -1);
                close(link[1]);
                assert_int_equal(recv(link[0], &byte, 1, 0), 0);
                assert_int_equal(recv(fd, &byte, 1, 0), 0);
                close(link[0]);
                close(fd);
        }
        end_service();
}

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(it_gets_its_words_and_its_link_and_is_gone_when_that_is_said),
                T(one_that_ends_has_ended),
                T(they_end_with_the_service),
                T(it_ends_when_nobody_has_needed_it_for_a_while),
                T(what_is_no_request_starts_nothing),
        };

        if (argc == 6 && streq(argv[1], "--helper"))
                return helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
