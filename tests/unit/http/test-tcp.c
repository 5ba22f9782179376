// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "http-limits.h"
#include "http-tcp.h"
#include "macro.h"

static bool has_ended(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char byte;

        return poll(&p, 1, 0) == 1 && read(fd, &byte, 1) == 0;
}

static void who_does_not_ask_in_time_is_ended(void **state) {
        const uint64_t begin = HTTP_TCP_BEGIN_SEC * (uint64_t) USEC_PER_SEC,
                       idle = HTTP_IDLE_SEC * (uint64_t) USEC_PER_SEC;
        HttpTcpConnection slow, quick;
        HttpTcp t = {};
        int a[2], b[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
        http_tcp_init(&t);
        assert_false(http_tcp_is_waited_for(&t));
        assert_true(http_tcp_begin(&t, &slow, a[0], 1000));
        assert_false(http_tcp_begin(&t, &quick, b[0], 1000));
        assert_true(http_tcp_is_waited_for(&t));
        http_tcp_asks(&t, &quick);
        assert_true(http_tcp_end_late(&t, 1000 + begin - 1));
        assert_false(has_ended(a[1]));
        assert_false(http_tcp_end_late(&t, 1000 + begin));
        assert_true(has_ended(a[1]));
        assert_false(has_ended(b[1]));

        // and who has asked once has as long as any client
        assert_true(http_tcp_waits(&t, &quick, 5000));
        assert_true(http_tcp_end_late(&t, 5000 + idle - 1));
        assert_false(http_tcp_end_late(&t, 5000 + idle));
        assert_true(has_ended(b[1]));
        http_tcp_end(&t, &slow);
        http_tcp_end(&t, &quick);
        assert_true(list_is_empty(&t.all));
        http_tcp_done(&t);
        for (size_t i = 0; i < 2; i++) {
                close(a[i]);
                close(b[i]);
        }
}

static void who_has_gone_is_waited_for_no_more(void **state) {
        HttpTcpConnection c;
        HttpTcp t = {};

        http_tcp_init(&t);
        assert_true(http_tcp_begin(&t, &c, -1, 0));
        http_tcp_end(&t, &c);
        assert_false(http_tcp_is_waited_for(&t));
        assert_false(http_tcp_end_late(&t, UINT64_MAX));
        http_tcp_done(&t);
}

static int option_of(int fd, int level, int name) {
        socklen_t len = sizeof(int);
        int value;

        assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
        return value;
}

// Also of him to whom nothing is said for long.
static void who_is_gone_without_a_word_is_looked_for(void **state) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        HttpTcpConnection c;
        HttpTcp t = {};

        assert_true(fd >= 0);
        http_tcp_init(&t);
        (void) http_tcp_begin(&t, &c, fd, 1000);
        assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), HTTP_TCP_SILENT_SEC);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), HTTP_TCP_SILENT_SEC);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), HTTP_TCP_UNANSWERED_SEC * 1000);
        http_tcp_end(&t, &c);
        http_tcp_done(&t);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(who_does_not_ask_in_time_is_ended),
                cmocka_unit_test(who_has_gone_is_waited_for_no_more),
                cmocka_unit_test(who_is_gone_without_a_word_is_looked_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
