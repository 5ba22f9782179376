// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "door.h"
#include "macro.h"
#include "str.h"

static const Door known = {.name = "argosy-0.localhost", .secret = "5ec4e7", .cookie = "c00c1e"};

#define HOST "Host: 127.0.0.1:80\r\n"
#define COOKIE "Cookie: argosy-dashboard=c00c1e\r\n"

// A verdict, or the status of a refusal.
static unsigned judge(Door *d, const char *head, Buf *out) {
        DoorAnswer a;
        int r = door_judge(d, head, strlen(head), out, &a);

        assert_true(r >= 0);
        return r == DOOR_REFUSED ? a.status : (unsigned) r;
}

static void who_has_the_key_passes_and_nobody_else(void **state) {
        static const struct {
                const char *head;
                unsigned verdict;
        } cases[] = {
                {"GET / HTTP/1.1\r\n" HOST COOKIE "\r\n", DOOR_PASS},
                {"GET / HTTP/1.1\r\n" HOST "cookie:x=y;argosy-dashboard=c00c1e ;z=1\r\n\r\n", DOOR_PASS},
                {"GET / HTTP/1.1\r\nHost: ARGOSY-0.localhost\r\n" COOKIE "\r\n", DOOR_PASS},
                {"GET / HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:80\r\n" COOKIE "\r\n", DOOR_PASS},
                {"POST / HTTP/1.1\r\n" HOST "Content-Length: 7\r\n" COOKIE "\r\n", DOOR_PASS},
                {"GET / HTTP/1.1\r\n" HOST "\r\n", 403},
                {"GET / HTTP/1.1\r\n" HOST "Cookie: argosy-dashboard=c00c1\r\n\r\n", 403},
                {"GET / HTTP/1.1\r\n" HOST "Cookie: argosy-dashboard=c00c1ex\r\n\r\n", 403},
                {"GET / HTTP/1.1\r\n" HOST "Cookie: xargosy-dashboard=c00c1e\r\n\r\n", 403},
                {"GET /?secret=5ec4e8 HTTP/1.1\r\n" HOST "\r\n", 403},
                {"POST /?secret=5ec4e7 HTTP/1.1\r\n" HOST "\r\n", 403},
                {"GET / HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:81\r\n" COOKIE "\r\n", 403},
                {"GET / HTTP/1.1\r\n" HOST "Origin: null\r\n" COOKIE "\r\n", 403},
                {"GET / HTTP/1.1\r\nHost: evil.example\r\n" COOKIE "\r\n", 421},
                {"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n" COOKIE "\r\n", 421},
                {"GET / HTTP/1.1\r\n" COOKIE "\r\n", 400},
                {"GET / HTTP/1.1\r\n" HOST HOST COOKIE "\r\n", 400},
                {"GET / HTTP/1.0\r\n" HOST COOKIE "\r\n", 400},
                {"GET / HTTP/1.1\r\n" HOST
                 "Origin: http://127.0.0.1:80\r\nOrigin: http://127.0.0.1:80\r\n" COOKIE "\r\n",
                 400},
                {"GET http://127.0.0.1/ HTTP/1.1\r\n" HOST COOKIE "\r\n", 400},
                {"GET / x HTTP/1.1\r\n" HOST COOKIE "\r\n", 400},
                {"GET / HTTP/1.1\r\n" HOST COOKIE " folded\r\n\r\n", 400},
                {"GET / HTTP/1.1\r\n" HOST "Cont ent: x\r\n" COOKIE "\r\n", 400},
                {"GET / HTTP/1.1\n" HOST COOKIE "\r\n", 400},
                {"GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n" COOKIE "\r\n", 400},
                {"POST / HTTP/1.1\r\n" HOST "Content-Length: 7\r\nContent-Length: 7\r\n" COOKIE "\r\n", 400},
                {"POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n" COOKIE "\r\n", 413},
                {"POST / HTTP/1.1\r\n" HOST "Content-Length: +7\r\n" COOKIE "\r\n", 413},
                {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" COOKIE "\r\n", 411},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_buf_ Buf out = {};
                Door d = known;

                assert_int_equal(judge(&d, cases[i].head, &out), cases[i].verdict);
                assert_false(d.used);
        }
}

static void the_secret_is_good_once(void **state) {
        static const char *const head = "GET /?secret=5ec4e7 HTTP/1.1\r\n" HOST "\r\n",
                                 *const again = "GET /?secret=5ec4e7 HTTP/1.1\r\n" HOST COOKIE "\r\n";
        _cleanup_buf_ Buf first = {}, second = {}, same = {};
        Door d = known;

        assert_int_equal(judge(&d, head, &first), DOOR_WELCOME);
        assert_non_null(memmem(first.data, first.len,
                               "Set-Cookie: argosy-dashboard=c00c1e; Path=/; HttpOnly; SameSite=Strict\r\n",
                               71));
        assert_non_null(memmem(first.data, first.len, "\r\nLocation: /\r\n", 15));
        assert_int_equal(judge(&d, head, &second), 403);
        assert_null(memmem(second.data, second.len, "c00c1e", 6));
        // the browser that has it loads the address again
        assert_int_equal(judge(&d, again, &same), DOOR_WELCOME);
}

static void what_is_between_the_two_of_us_is_not_passed_on(void **state) {
        static const char *const head = "POST /v1/jobs HTTP/1.1\r\n" HOST COOKIE
                                        "Connection: keep-alive\r\nAuthorization: Bearer x\r\n"
                                        "Content-Length: 3\r\nIf-None-Match: \"a\"\r\nTE: trailers\r\n\r\n",
                                 *const passed = "POST /v1/jobs HTTP/1.1\r\n" HOST
                                                 "Content-Length: 3\r\nIf-None-Match: \"a\"\r\n"
                                                 "Connection: close\r\n\r\n";
        _cleanup_buf_ Buf out = {};
        Door d = known;
        DoorAnswer a;

        assert_int_equal(door_judge(&d, head, strlen(head), &out, &a), DOOR_PASS);
        assert_int_equal(a.body, 3);
        assert_int_equal(out.len, strlen(passed));
        assert_memory_equal(out.data, passed, out.len);
}

static void keys_are_never_the_same(void **state) {
        Door a, b;

        door_init(&a);
        door_init(&b);
        assert_int_equal(strlen(a.secret), DOOR_KEY_HEX - 1);
        assert_string_not_equal(a.secret, b.secret);
        assert_string_not_equal(a.cookie, b.cookie);
        assert_string_not_equal(a.secret, a.cookie);
        assert_string_not_equal(a.name, b.name);
        assert_true(str_has_suffix(a.name, ".localhost"));
        assert_int_equal(door_head_length("GET / HTTP/1.1\r\n\r\nx", 19), 18);
        assert_int_equal(door_head_length("GET / HTTP/1.1\r\n\r", 17), 0);
}

RUN_TESTS(
        cmocka_unit_test(who_has_the_key_passes_and_nobody_else),
        cmocka_unit_test(the_secret_is_good_once),
        cmocka_unit_test(what_is_between_the_two_of_us_is_not_passed_on),
        cmocka_unit_test(keys_are_never_the_same)
)
