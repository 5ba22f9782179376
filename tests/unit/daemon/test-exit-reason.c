// SPDX-License-Identifier: LGPL-2.1-or-later
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tmpdir.h"

#include "argosy.pb-c.h"
#include "clock.h"
#include "frame.h"
#include "exit-reason.h"
#include "messages.h"
#include "str.h"
#include "stream.h"

static char *path;
static int listening;

static int begin(void **state) {
        tmpdir_make(state);
        path = str_printf("%s/sock", (char *) *state);
        return listener_bind_unix(path, 0600, (gid_t) -1, &listening);
}

static int end(void **state) {
        close(listening);
        free(TAKE_PTR(path));
        return tmpdir_drop(state);
}

static int client(void) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strcpy(a.sun_path, path);
        assert_int_equal(connect(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        return fd;
}

static void ask(int fd, uint64_t id) {
        Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        Argosy__Request request = REQUEST_OF(VERSION, version, &version, .id = id);
        _cleanup_buf_ Buf frame = {};

        assert_int_equal(frame_append(&frame, &request.base, FRAME_MAX_LOCAL), 0);
        assert_int_equal(send(fd, frame.data, frame.len, 0), frame.len);
}

static void assert_notified(int fd, uint64_t id, const char *why) {
        uint8_t bytes[4096];
        ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
        const uint8_t *payload;
        size_t len;

        assert_true(n > 0 && frame_peek(bytes, (size_t) n, FRAME_MAX_LOCAL, &payload, &len) > 0);
        Argosy__Response *r = argosy__response__unpack(NULL, len, payload);
        assert_non_null(r);
        assert_true(r->final && r->status != 0 && r->id == id);
        assert_string_equal(r->message, why);
        argosy__response__free_unpacked(r, NULL);
        assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 0);
        close(fd);
}

static bool somebody_waits(void) {
        struct pollfd p = {.fd = listening, .events = POLLIN};

        return poll(&p, 1, 0) > 0;
}

static void everybody_who_waits_hears_why(void **state) {
        int fds[3] = {client(), client(), client()};

        for (int i = 0; i < 3; i++)
                ask(fds[i], 7 + (uint64_t) i);
        exit_reason(listening, "the log is damaged", 0);
        assert_false(somebody_waits()); // or systemd would start us for him again, and again
        for (int i = 0; i < 3; i++)
                assert_notified(fds[i], 7 + (uint64_t) i, "the log is damaged");
}

static void who_says_nothing_or_nonsense_waits_no_more(void **state) {
        int silent = client(), garbage = client(), gone = client(), half = client(), fair = client();

        close(gone);
        assert_int_equal(send(garbage, "\xff\xff\xff\xff\xff\xff", 6, 0), 6);
        assert_int_equal(send(half, "\0\0", 2, 0), 2);
        ask(fair, 1);
        exit_reason(listening, "why", 0);
        assert_false(somebody_waits());
        assert_notified(fair, 1, "why");
        close(silent);
        close(garbage);
        close(half);
}

static void *comes_later(void *data) {
        usleep(100 * 1000);
        *(int *) data = client();
        ask(*(int *) data, 3);
        return NULL;
}

static void who_comes_while_it_stays_is_answered_at_once(void **state) {
        uint64_t begin_us = clock_boot_us(), answered_us;
        int first = client(), later = -1;
        pthread_t thread;

        ask(first, 1);
        assert_int_equal(pthread_create(&thread, NULL, comes_later, &later), 0);
        exit_reason(listening, "why", 400);
        answered_us = clock_boot_us();
        pthread_join(thread, NULL);
        assert_false(somebody_waits());
        assert_notified(first, 1, "why");
        assert_notified(later, 3, "why");
        assert_in_range((answered_us - begin_us) / USEC_PER_MSEC, 400, 4000);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(everybody_who_waits_hears_why, begin, end),
        cmocka_unit_test_setup_teardown(who_says_nothing_or_nonsense_waits_no_more, begin, end),
        cmocka_unit_test_setup_teardown(who_comes_while_it_stays_is_answered_at_once, begin, end)
)
