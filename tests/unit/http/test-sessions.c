// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "clock.h"
#include "http-sessions.h"
#include "macro.h"

#define SESSION_US (HTTP_SESSION_SEC * UINT64_C(1000000))

static HttpSessions s;
static int gave_way; // for the last one that began

FIXTURE(done) {
        http_sessions_done(&s);
}

static Hash proof_of(unsigned n) {
        return hash_of(&n, sizeof(n));
}

// The hash of its id.
static Hash begin(unsigned token, uint64_t now_us) {
        char id[HTTP_SECRET_SIZE], found[HTTP_SECRET_SIZE];
        char cookie[64] = HTTP_COOKIE "=";
        Hash proof = proof_of(token);

        gave_way = http_sessions_begin(&s, &proof, now_us, id);
        assert_true(gave_way == 0 || gave_way == HTTP_SESSION_GAVE_WAY);
        assert_true(http_cookie_find(strcat(cookie, id), found)); // it is what a cookie may have
        return hash_of(id, strlen(id));
}

static bool has(Hash id, unsigned token, uint64_t now_us) {
        Hash proof, wanted = proof_of(token);

        return http_sessions_find(&s, &id, now_us, &proof) && hash_equal(&proof, &wanted);
}

static void a_session_stands_for_its_token(void **state) {
        Hash a = begin(1, 100), b = begin(2, 100), c = begin(1, 100), none = {};

        assert_true(has(a, 1, 100) && has(b, 2, 100) && has(c, 1, 100));
        assert_false(hash_equal(&a, &c));
        assert_false(has(none, 1, 100));
        http_sessions_end(&s, &a);
        assert_false(has(a, 1, 100));
        assert_true(has(b, 2, 100) && has(c, 1, 100));
}

static void it_ends_with_its_token(void **state) {
        Hash a = begin(1, 0), b = begin(2, 0), c = begin(1, 0), one = proof_of(1);

        http_sessions_end_of(&s, &one);
        assert_false(has(a, 1, 0) || has(c, 1, 0));
        assert_true(has(b, 2, 0));
}

static void it_ends_after_so_long(void **state) {
        Hash a = begin(1, 7);

        assert_true(has(a, 1, 7 + SESSION_US - 1));
        assert_false(has(a, 1, 7 + SESSION_US));
        (void) begin(2, 7 + SESSION_US);
        assert_int_equal(s.n, 1);
}

static void the_oldest_gives_way(void **state) {
        Hash first = begin(1, 0), second = begin(2, 1);

        for (unsigned i = 2; i < HTTP_SESSIONS_MAX; i++)
                (void) begin(3 + i / HTTP_SESSIONS_PER_TOKEN, i);
        assert_true(has(first, 1, 0) && has(second, 2, 0));
        assert_int_equal(s.n, HTTP_SESSIONS_MAX);
        assert_int_equal(gave_way, 0);
        (void) begin(3 + HTTP_SESSIONS_MAX, HTTP_SESSIONS_MAX);
        assert_int_equal(gave_way, HTTP_SESSION_GAVE_WAY);
        assert_false(has(first, 1, 0));
        assert_true(has(second, 2, 0));
        assert_int_equal(s.n, HTTP_SESSIONS_MAX);
}

// Of one token: whoever has it logs out nobody but himself.
static void one_token_takes_no_session_from_others(void **state) {
        Hash other = begin(1, 0), first = begin(2, 1), second = begin(2, 2);

        for (unsigned i = 2; i < HTTP_SESSIONS_PER_TOKEN; i++)
                (void) begin(2, i + 1);
        assert_true(has(first, 2, 0));
        assert_int_equal(gave_way, 0);
        (void) begin(2, HTTP_SESSIONS_PER_TOKEN + 1);
        assert_int_equal(gave_way, HTTP_SESSION_GAVE_WAY);
        assert_false(has(first, 2, 0));
        assert_true(has(second, 2, 0));
        for (unsigned i = 0; i < HTTP_SESSIONS_MAX; i++)
                (void) begin(2, HTTP_SESSIONS_PER_TOKEN + i + 2);
        assert_true(has(other, 1, 0));
        assert_int_equal(s.n, 1 + HTTP_SESSIONS_PER_TOKEN);
}

static void without_any_there_is_none(void **state) {
        Hash id = {};

        assert_false(has(id, 0, 0));
        http_sessions_end(&s, &id);
        http_sessions_end_of(&s, &id);
}

RUN_TESTS(
        cmocka_unit_test_teardown(a_session_stands_for_its_token, done),
        cmocka_unit_test_teardown(it_ends_with_its_token, done),
        cmocka_unit_test_teardown(it_ends_after_so_long, done),
        cmocka_unit_test_teardown(the_oldest_gives_way, done),
        cmocka_unit_test_teardown(one_token_takes_no_session_from_others, done),
        cmocka_unit_test_teardown(without_any_there_is_none, done)
)
