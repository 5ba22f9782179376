// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "http-proxies.h"
#include "macro.h"
#include "str.h"

static struct sockaddr_storage address(const char *text) {
        struct sockaddr_storage a = {.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
        void *bytes = a.ss_family == AF_INET ? (void *) &((struct sockaddr_in *) &a)->sin_addr
                                             : &((struct sockaddr_in6 *) &a)->sin6_addr;

        assert_int_equal(inet_pton(a.ss_family, text, bytes), 1);
        return a;
}

static HttpProxies trusting(const char *const *texts, size_t n) {
        HttpProxies all = {};
        HttpProxy p;

        for (size_t i = 0; i < n; i++)
                assert_true(http_proxy_parse(texts[i], &p) && http_proxies_add(&all, &p));
        return all;
}

static bool has(const HttpProxies *all, const char *text) {
        struct sockaddr_storage a = address(text);

        return http_proxies_have(all, (struct sockaddr *) &a);
}

static void a_prefix_is_all_with_that_front(void **state) {
        static const char *const texts[] = {"127.0.0.1", "192.0.2.9/25", "2001:db8::/33", "::1"};
        HttpProxies all = trusting(texts, ELEMENTSOF(texts));

        assert_true(has(&all, "127.0.0.1") && has(&all, "::1"));
        assert_false(has(&all, "127.0.0.2") || has(&all, "::2"));
        assert_true(has(&all, "192.0.2.0") && has(&all, "192.0.2.127"));
        assert_false(has(&all, "192.0.2.128") || has(&all, "192.0.3.1"));
        assert_true(has(&all, "2001:db8:7fff::1"));
        assert_false(has(&all, "2001:db8:8000::1"));
        assert_false(has(&(HttpProxies){}, "127.0.0.1"));
}

static void what_is_no_prefix_is_refused(void **state) {
        static const char *const texts[] = {"",
                                            "localhost",
                                            "192.0.2",
                                            "192.0.2.0/",
                                            "192.0.2.0/33",
                                            "192.0.2.0/-1",
                                            "0.0.0.0/0",
                                            "::/0",
                                            "2001:db8::/129",
                                            "[::1]",
                                            "192.0.2.1:80",
                                            "192.0.2.0/24/1",
                                            "1.2.3.4 ",
                                            "2001:db8::1%eth0"};
        HttpProxies all = {};
        HttpProxy p;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_false(http_proxy_parse(texts[i], &p));
        assert_true(http_proxy_parse("192.0.2.1", &p));
        for (size_t i = 0; i < HTTP_PROXIES_MAX; i++)
                assert_true(http_proxies_add(&all, &p));
        assert_false(http_proxies_add(&all, &p));
}

static void the_rightmost_that_is_no_proxy_asks(void **state) {
        static const char *const proxies[] = {"127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"};
        static const struct {
                const char *first, *second, *client;
        } cases[] = {
                {"192.0.2.7", "", "192.0.2.7"},
                {"192.0.2.7, 10.0.0.1", "", "192.0.2.7"},
                // the first is what the client says
                {"198.51.100.1, 192.0.2.7,10.0.0.1 ,127.0.0.1", "", "192.0.2.7"},
                {"198.51.100.1", "192.0.2.7, 10.0.0.1", "192.0.2.7"},
                {"192.0.2.7", "10.0.0.1", "192.0.2.7"},
                {"10.0.0.2, 10.0.0.1", "", "10.0.0.2"}, // all are: the first
                {"nonsense, 192.0.2.7", "", "192.0.2.7"},
                {"192.0.2.7, nonsense", "", NULL},
                {"192.0.2.7, nonsense, 10.0.0.1", "", "10.0.0.1"}, // which says no more
                {"192.0.2.7,", "unknown", NULL},
                {"", "", NULL},
                {"192.0.2.7:1234", "", "192.0.2.7"},
                {"192.0.2.7:99999", "", NULL},
                {"2001:db8:2::7, 2001:db8:1::1", "", "2001:db8:2::7"},
                {"[2001:db8:2::7], [2001:db8:1::1]:80", "", "2001:db8:2::7"},
                {"[2001:db8:2::7", "", NULL},
                {"::ffff:192.0.2.7, ::ffff:10.0.0.1", "", "192.0.2.7"},
        };
        HttpProxies all = trusting(proxies, ELEMENTSOF(proxies));

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct sockaddr_storage client = {}, wanted;
                bool found = false;

                http_proxies_follow(&all, cases[i].first, &client, &found);
                http_proxies_follow(&all, cases[i].second, &client, &found);
                assert_int_equal(found, cases[i].client != NULL);
                if (!found)
                        continue;
                wanted = address(cases[i].client);
                assert_memory_equal(&client, &wanted, sizeof(wanted));
        }
}

RUN_TESTS(
        cmocka_unit_test(a_prefix_is_all_with_that_front),
        cmocka_unit_test(what_is_no_prefix_is_refused),
        cmocka_unit_test(the_rightmost_that_is_no_proxy_asks)
)
