// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <unistd.h>

#include "http-listen.h"
#include "macro.h"

static void an_address_and_a_port(void **state) {
        HttpListen l;

        assert_true(http_listen_parse("192.0.2.7:8443", &l));
        assert_string_equal(l.text, "192.0.2.7:8443");
        assert_string_equal(l.address, "192.0.2.7");
        assert_false(l.loopback || l.wildcard);
        assert_true(http_listen_parse("[2001:DB8:0::1]:1", &l));
        assert_string_equal(l.text, "[2001:db8::1]:1");
        assert_false(l.loopback || l.wildcard);
        assert_true(http_listen_parse("0.0.0.0:65535", &l) && l.wildcard && !l.loopback);
        assert_true(http_listen_parse("[::]:80", &l) && l.wildcard && !l.loopback);
        assert_true(http_listen_parse("127.3.2.1:80", &l) && l.loopback);
        assert_true(http_listen_parse("[::1]:80", &l) && l.loopback);
        assert_true(http_listen_parse("128.0.0.1:80", &l) && !l.loopback);
}

static void nothing_else(void **state) {
        static const char *const texts[] = {"",
                                            "80",
                                            ":80",
                                            "1.2.3.4",
                                            "1.2.3.4:",
                                            "1.2.3.4:0",
                                            "1.2.3:80",
                                            "::1:80",
                                            "[::1]",
                                            "[::1]:65536",
                                            "[1.2.3.4]:80",
                                            "localhost:80",
                                            "*:80",
                                            "1.2.3.4:x",
                                            "[::1%lo]:80",
                                            "1.2.3.4:80 ",
                                            "[]:80",
                                            "[::ffff:127.0.0.1]:80",
                                            "[::1:80",
                                            "::1]:80",
                                            "0x7f.0.0.1:1",
                                            "1.2.3.4:80:80",
                                            "unix:/run/a:1"};
        HttpListen l;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_false(http_listen_parse(texts[i], &l));
}

static void an_address_that_is_not_here_yet_is_bound(void **state) {
        HttpListen l;
        int fd;

        assert_true(http_listen_parse("192.0.2.7:18443", &l));
        assert_int_equal(http_listen_open(&l, &fd), 0);
        close(fd);
}

static void what_is_taken_is_said(void **state) {
        HttpListen l;
        int fd, other;

        assert_true(http_listen_parse("127.0.0.9:18444", &l));
        assert_int_equal(http_listen_open(&l, &fd), 0);
        assert_int_equal(http_listen_open(&l, &other), -EADDRINUSE);
        close(fd);
}

RUN_TESTS(
        cmocka_unit_test(an_address_and_a_port),
        cmocka_unit_test(nothing_else),
        cmocka_unit_test(an_address_that_is_not_here_yet_is_bound),
        cmocka_unit_test(what_is_taken_is_said)
)
