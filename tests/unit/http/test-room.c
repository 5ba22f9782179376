// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-limits.h"
#include "http-room.h"

enum { MIB = 1024 * 1024, OWNER = 0, OTHERS = 1000 };

static HttpRoom room;

static int done(void **state) {
        assert_int_equal(room.held, 0);
        assert_int_equal(room.others, 0);
        assert_int_equal(room.uploads, 0);
        assert_int_equal(room.users.count, 0);
        http_room_done(&room);
        return 0;
}

static HttpUser *enter(uid_t uid) {
        HttpUser *u = http_room_enter_user(&room, uid, uid == OWNER);

        assert_non_null(u);
        return u;
}

static HttpUser *enter_token(unsigned n) {
        Hash proof = hash_of(&n, sizeof(n));
        HttpUser *u = http_room_enter_token(&room, &proof);

        assert_non_null(u);
        return u;
}

// As much as he gets, a MiB at a time.
static size_t fill(HttpUser *u) {
        size_t n = 0;

        while (http_room_take(&room, u, MIB))
                n++;
        return n * MIB;
}

static void leave(HttpUser *u, size_t bytes) {
        http_room_give(&room, u, bytes);
        http_room_leave(&room, u);
}

static void one_of_the_others_has_a_share(void **state) {
        HttpUser *a = enter(OTHERS), *again = enter(OTHERS), *b = enter(OTHERS + 1), *token = enter_token(1);
        size_t n = fill(a), n_b;

        assert_ptr_equal(a, again); // however many requests he has
        assert_int_equal(n, HTTP_HELD_PER_USER);
        n_b = fill(b);
        assert_int_equal(n_b, HTTP_HELD_PER_USER);
        assert_int_equal(fill(token), 0); // they are two
        leave(a, n);
        n = fill(token);
        assert_int_equal(n, HTTP_HELD_PER_USER);
        leave(again, 0);
        leave(b, n_b);
        leave(token, n);
}

static void owners_get_through_whatever_others_do(void **state) {
        HttpUser *users[] = {enter(OTHERS), enter(OTHERS + 1), enter_token(1), enter_token(2)}, *owner = enter(OWNER);
        size_t n[4], n_owner;

        for (size_t i = 0; i < ELEMENTSOF(users); i++)
                n[i] = fill(users[i]);
        n_owner = fill(owner);
        assert_int_equal(n_owner, HTTP_HELD_MAX - HTTP_HELD_OTHERS_MAX);
        for (size_t i = 0; i < ELEMENTSOF(users); i++)
                leave(users[i], n[i]);
        n_owner += fill(owner);
        assert_int_equal(n_owner, HTTP_HELD_MAX);
        leave(owner, n_owner);
}

static void each_token_is_somebody_else(void **state) {
        HttpUser *a = enter(OTHERS), *one = enter_token(1), *two = enter_token(2);

        assert_ptr_not_equal(one, two);
        assert_ptr_not_equal(a, one);
        assert_int_equal(http_room_most(one), HTTP_HELD_PER_USER);
        leave(a, 0);
        leave(one, 0);
        leave(two, 0);
}

// What is refused takes nothing: neither of one's own share, nor of what bodies over TCP have.
static void a_body_is_taken_whole_or_not_at_all(void **state) {
        HttpUser *a = enter_token(1), *b = enter_token(2);

        assert_true(http_room_take_upload(&room, a, HTTP_TCP_UPLOADS_MAX - MIB));
        assert_false(http_room_take_upload(&room, b, 2 * MIB));
        assert_int_equal(room.held, HTTP_TCP_UPLOADS_MAX - MIB);
        assert_true(http_room_take_upload(&room, b, MIB));
        http_room_read_upload(&room, HTTP_TCP_UPLOADS_MAX - MIB); // it counts on for him
        assert_true(http_room_take_upload(&room, b, 2 * MIB));
        assert_false(http_room_take_upload(&room, a, HTTP_HELD_PER_USER - HTTP_TCP_UPLOADS_MAX + 2 * MIB));
        assert_int_equal(room.uploads, 3 * MIB);
        http_room_read_upload(&room, 3 * MIB);
        leave(a, HTTP_TCP_UPLOADS_MAX - MIB);
        leave(b, 3 * MIB);
        http_room_leave(&room, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(one_of_the_others_has_a_share, done),
                cmocka_unit_test_teardown(owners_get_through_whatever_others_do, done),
                cmocka_unit_test_teardown(each_token_is_somebody_else, done),
                cmocka_unit_test_teardown(a_body_is_taken_whole_or_not_at_all, done),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
