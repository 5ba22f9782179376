// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "http-limits.h"
#include "http-tcp.h"
#include "macro.h"

static HttpTcpConnection connections[HTTP_TCP_CONNECTIONS_MAX];
static ListNode list;
static size_t n_connections;
static const char one, two, three; // listeners

static HttpTcpFrom four(unsigned n) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0x0a000000 + n),
                                 .sin_port = htons((uint16_t) (n + 7))};

        return http_tcp_from((struct sockaddr *) &at);
}

static HttpTcpFrom six(const char *text) {
        struct sockaddr_in6 at = {.sin6_family = AF_INET6};

        assert_int_equal(inet_pton(AF_INET6, text, &at.sin6_addr), 1);
        return http_tcp_from((struct sockaddr *) &at);
}

static void come(const void *listener, HttpTcpFrom from) {
        HttpTcpConnection *c = &connections[n_connections++];

        assert_true(n_connections <= ELEMENTSOF(connections));
        *c = (HttpTcpConnection){.listener = listener, .from = from};
        list_init(&c->link);
        list_append(&list, &c->link);
}

static bool is_full(const void *listener, HttpTcpFrom from) {
        return http_tcp_is_one_too_many(&list, listener, &from);
}

static int setup(void **state) {
        list_init(&list);
        n_connections = 0;
        return 0;
}

static void each_address_has_a_share_of_all_listeners(void **state) {
        for (size_t i = 0; i < HTTP_TCP_PER_ADDRESS; i++) {
                assert_false(is_full(&one, four(1)));
                come(i % 2 ? &one : &two, four(1));
        }
        assert_true(is_full(&one, four(1)));
        assert_true(is_full(&two, four(1)));
        assert_false(is_full(&one, four(2)));
}

static void who_has_many_addresses_has_one_share(void **state) {
        for (size_t i = 0; i < HTTP_TCP_PER_ADDRESS; i++)
                come(&one, six(i % 2 ? "2001:db8:1:2::1" : "2001:db8:1:2:ffff::"));
        assert_true(is_full(&one, six("2001:db8:1:2:3:4:5:6")));
        assert_false(is_full(&one, six("2001:db8:1:3::1")));
}

static void each_listener_has_a_share(void **state) {
        for (unsigned i = 0; i < HTTP_TCP_PER_LISTENER; i++) {
                assert_false(is_full(&one, four(i)));
                come(&one, four(i));
        }
        assert_true(is_full(&one, four(HTTP_TCP_PER_LISTENER)));
        assert_false(is_full(&two, four(HTTP_TCP_PER_LISTENER)));
}

static void all_together_have_an_end(void **state) {
        for (unsigned i = 0; i < HTTP_TCP_CONNECTIONS_MAX; i++)
                come(i % 2 ? &one : &two, four(i));
        assert_true(is_full(&three, four(HTTP_TCP_CONNECTIONS_MAX)));
}

static bool has_ended(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char byte;

        return poll(&p, 1, 0) == 1 && read(fd, &byte, 1) == 0;
}

static const struct sockaddr_in from = {.sin_family = AF_INET};

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
        assert_true(http_tcp_begin(&t, &slow, &one, (const struct sockaddr *) &from, a[0], 1000));
        assert_false(http_tcp_begin(&t, &quick, &one, (const struct sockaddr *) &from, b[0], 1000));
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
        assert_true(http_tcp_begin(&t, &c, &one, (const struct sockaddr *) &from, -1, 0));
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
        (void) http_tcp_begin(&t, &c, &one, (const struct sockaddr *) &from, fd, 1000);
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
                cmocka_unit_test_setup(each_address_has_a_share_of_all_listeners, setup),
                cmocka_unit_test_setup(who_has_many_addresses_has_one_share, setup),
                cmocka_unit_test_setup(each_listener_has_a_share, setup),
                cmocka_unit_test_setup(all_together_have_an_end, setup),
                cmocka_unit_test(who_does_not_ask_in_time_is_ended),
                cmocka_unit_test(who_has_gone_is_waited_for_no_more),
                cmocka_unit_test_setup(who_is_gone_without_a_word_is_looked_for, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
