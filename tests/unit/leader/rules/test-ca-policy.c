// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "ca-policy.h"

#define HAND_OUT .phase = ARGOSY__CA_PHASE__CA_HAND_OUT
#define RENEW .phase = ARGOSY__CA_PHASE__CA_RENEW

static CaStep step(CaView v) {
        return ca_policy_step(&v);
}

static void nothing_is_done_unless_somebody_asks(void **state) {
        assert_int_equal(step((CaView){.n_voters = 3, .n_without = 3, .n_voters_without = 3}), CA_WAIT);
}

static void a_ca_is_made_once_and_named_when_its_key_is_kept(void **state) {
        assert_int_equal(step((CaView){HAND_OUT, .n_voters = 3}), CA_MAKE);
        assert_int_equal(step((CaView){HAND_OUT, .n_voters = 3, .making = true}), CA_WAIT);
        assert_int_equal(step((CaView){HAND_OUT, .n_voters = 3, .making = true, .made = true}), CA_NAME);
}

static void it_signs_when_most_voters_and_all_that_are_there_have_its_key(void **state) {
        assert_int_equal(step((CaView){HAND_OUT, .named = true, .n_voters = 3, .n_keepers = 1}), CA_WAIT);
        assert_int_equal(step((CaView){HAND_OUT, .named = true, .n_voters = 3, .n_keepers = 2,
                                       .n_voters_without = 1}),
                         CA_WAIT);
        // the third one is away
        assert_int_equal(step((CaView){HAND_OUT, .named = true, .n_voters = 3, .n_keepers = 2}), CA_SIGN);
        assert_int_equal(step((CaView){HAND_OUT, .named = true, .n_voters = 2, .n_keepers = 1}), CA_WAIT);
        assert_int_equal(step((CaView){HAND_OUT, .named = true, .n_voters = 1, .n_keepers = 1}), CA_SIGN);
}

static void the_former_one_goes_when_nobody_who_is_there_needs_it(void **state) {
        assert_int_equal(step((CaView){RENEW, .n_voters = 3, .n_without = 1}), CA_WAIT);
        // e.g. behind a change of the leader
        assert_int_equal(step((CaView){RENEW, .n_voters = 3, .n_awaited = 1}), CA_WAIT);
        assert_int_equal(step((CaView){RENEW, .n_voters = 3}), CA_SETTLE);
}

RUN_TESTS(
        cmocka_unit_test(nothing_is_done_unless_somebody_asks),
        cmocka_unit_test(a_ca_is_made_once_and_named_when_its_key_is_kept),
        cmocka_unit_test(it_signs_when_most_voters_and_all_that_are_there_have_its_key),
        cmocka_unit_test(the_former_one_goes_when_nobody_who_is_there_needs_it)
)
