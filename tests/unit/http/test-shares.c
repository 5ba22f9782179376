// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-shares.h"

static HttpRoom room;
static HttpShares shares;
static HttpUser *root, *users[HTTP_STATE_OWN_USERS_MAX + 1];

static int setup(void **state) {
        root = http_room_enter_user(&room, 0, true);
        for (unsigned i = 0; i <= HTTP_STATE_OWN_USERS_MAX; i++) {
                Hash proof = {.bytes = {(uint8_t) i}};

                users[i] = i % 2 ? http_room_enter_token(&room, &proof) : http_room_enter_user(&room, 1000 + i, false);
                assert_non_null(users[i]);
        }
        memset(&shares, 0, sizeof(shares));
        return 0;
}

static int teardown(void **state) {
        http_room_leave(&room, root);
        for (unsigned i = 0; i <= HTTP_STATE_OWN_USERS_MAX; i++)
                http_room_leave(&room, users[i]);
        http_room_done(&room);
        return 0;
}

static HttpShare *take(const HttpUser *user) {
        HttpShare *s;

        assert_int_equal(http_shares_take(&shares, user, &s), HTTP_SHARE_TAKEN);
        return s;
}

static HttpShareRoom room_for(const HttpUser *user) {
        HttpShare *s;
        HttpShareRoom r = http_shares_take(&shares, user, &s);

        if (r == HTTP_SHARE_TAKEN)
                http_shares_give(&shares, s);
        return r;
}

static void one_user_leaves_copies_to_the_next(void **state) {
        HttpShare *s = NULL;

        for (size_t i = 0; i < HTTP_STATE_OWN_PER_USER; i++)
                s = take(users[1]);
        assert_int_equal(room_for(users[1]), HTTP_SHARE_USER_IS_FULL);
        assert_int_equal(room_for(users[2]), HTTP_SHARE_TAKEN);
        assert_int_equal(room_for(users[3]), HTTP_SHARE_TAKEN); // another token
        http_shares_give(&shares, s);
        assert_int_equal(room_for(users[1]), HTTP_SHARE_TAKEN);
}

static void all_others_leave_copies_to_root(void **state) {
        for (size_t i = 0; i < HTTP_STATE_OWN_OTHERS_MAX; i++)
                (void) take(users[i]);
        assert_int_equal(room_for(users[HTTP_STATE_OWN_OTHERS_MAX]), HTTP_SHARE_ALL_ARE_FULL);
        for (size_t i = HTTP_STATE_OWN_OTHERS_MAX; i < HTTP_STATE_OWN_MAX; i++)
                (void) take(root);
        assert_int_equal(room_for(root), HTTP_SHARE_ALL_ARE_FULL);
}

static void bytes_are_whose_copy_they_are_of(void **state) {
        HttpShare *one = take(users[0]), *other = take(users[1]), *of_root = take(root);

        one->held = HTTP_STATE_OWN_BYTES_PER_USER;
        assert_false(http_share_is_full(&shares, one));
        one->held++;
        assert_true(http_share_is_full(&shares, one));
        assert_false(http_share_is_full(&shares, other));
        assert_false(http_share_is_full(&shares, of_root));
        of_root->held = HTTP_STATE_OWN_BYTES_MAX - one->held;
        assert_false(http_share_is_full(&shares, of_root));
        of_root->held++;
        assert_true(http_share_is_full(&shares, of_root) && http_share_is_full(&shares, other));
        assert_true(http_shares_bytes(&shares) == HTTP_STATE_OWN_BYTES_MAX + 1);
}

// A document is read for longer than its copy is there.
static void what_is_being_read_is_its_user_s_to_the_last_byte(void **state) {
        HttpShare *s = take(users[0]);

        s->held = 7;
        http_shares_give(&shares, s);
        assert_ptr_equal(take(users[0]), s);
        http_shares_give(&shares, s);
        assert_ptr_not_equal(take(users[1]), s);
        s->held = 0;
        for (unsigned i = 2; i <= HTTP_STATE_OWN_USERS_MAX; i++) // and then the next one's
                assert_int_equal(room_for(users[i]), HTTP_SHARE_TAKEN);
}

static void who_only_reads_takes_a_place_as_well(void **state) {
        for (unsigned i = 0; i < HTTP_STATE_OWN_USERS_MAX; i++) {
                HttpShare *s = take(users[i]);

                s->held = 1;
                http_shares_give(&shares, s);
        }
        assert_int_equal(room_for(users[HTTP_STATE_OWN_USERS_MAX]), HTTP_SHARE_ALL_ARE_FULL);
        assert_int_equal(room_for(users[0]), HTTP_SHARE_TAKEN);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(one_user_leaves_copies_to_the_next, setup, teardown),
                cmocka_unit_test_setup_teardown(all_others_leave_copies_to_root, setup, teardown),
                cmocka_unit_test_setup_teardown(bytes_are_whose_copy_they_are_of, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_being_read_is_its_user_s_to_the_last_byte, setup, teardown),
                cmocka_unit_test_setup_teardown(who_only_reads_takes_a_place_as_well, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
