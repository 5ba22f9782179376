// SPDX-License-Identifier: LGPL-2.1-or-later
#include "feature-policy.h"
#include "test.h"

// Hosts as text: "1" to "9" is the level that one has said, "-" one that is not heard; behind it "!" for one
// that does not count.
static uint32_t level(const char *hosts, uint32_t now, uint32_t own) {
        FeatureHost v[8] = {};
        size_t n = 0;

        for (const char *p = hosts; *p; p++)
                if (*p == '!')
                        v[n - 1].counts = false;
                else
                        v[n++] = (FeatureHost){.host = (uint32_t) n + 1,
                                               .counts = true,
                                               .level = *p == '-' ? 0 : (uint32_t) (*p - '0')};
        return feature_policy_level(v, n, now, own);
}

static void it_rises_when_all_have_it(void **state) {
        assert_int_equal(level("222", 1, 2), 2);
        assert_int_equal(level("221", 1, 2), 1);
        assert_int_equal(level("2", 1, 2), 2);
        assert_int_equal(level("345", 1, 5), 3); // as far as all of them have it
}

static void who_is_not_heard_may_come_back_with_any_build(void **state) {
        assert_int_equal(level("22-", 1, 2), 1);
        assert_int_equal(level("33-", 2, 3), 2);
}

static void who_cannot_become_a_voter_by_itself_does_not_count(void **state) {
        assert_int_equal(level("22-!", 1, 2), 2);
        assert_int_equal(level("221!", 1, 2), 2);
}

static void a_leader_goes_no_further_than_its_own_build(void **state) {
        assert_int_equal(level("333", 1, 2), 2);
}

static void it_never_falls(void **state) {
        assert_int_equal(level("211", 2, 2), 2);
        assert_int_equal(level("2--", 2, 2), 2);
        assert_int_equal(level("111", 2, 1), 2);
}

RUN_TESTS(
        cmocka_unit_test(it_rises_when_all_have_it),
        cmocka_unit_test(who_is_not_heard_may_come_back_with_any_build),
        cmocka_unit_test(who_cannot_become_a_voter_by_itself_does_not_count),
        cmocka_unit_test(a_leader_goes_no_further_than_its_own_build),
        cmocka_unit_test(it_never_falls)
)
