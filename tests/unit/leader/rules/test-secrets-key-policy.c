// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "secrets-key-policy.h"

#define HAND_OUT .phase = ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT
#define SEAL .phase = ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL
#define COMPACT .phase = ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT

static SecretsKeyStep step(SecretsKeyView v) {
        return secrets_key_policy_step(&v);
}

static void nothing_is_done_unless_somebody_asks(void **state) {
        assert_int_equal(
                step((SecretsKeyView){
                        .named = true, .all_have = true, .some_differ = true, .all_compacted = true}),
                SECRETS_KEY_WAIT);
}

static void a_key_is_made_once(void **state) {
        assert_int_equal(step((SecretsKeyView){HAND_OUT}), SECRETS_KEY_MAKE);
        assert_int_equal(step((SecretsKeyView){HAND_OUT, .making = true}), SECRETS_KEY_WAIT);
        assert_int_equal(step((SecretsKeyView){HAND_OUT, .named = true}), SECRETS_KEY_WAIT);
}

static void it_seals_when_every_voter_has_it(void **state) {
        assert_int_equal(step((SecretsKeyView){HAND_OUT, .named = true, .all_have = false}),
                         SECRETS_KEY_WAIT);
        assert_int_equal(step((SecretsKeyView){HAND_OUT, .named = true, .all_have = true}), SECRETS_KEY_USE);
        assert_int_equal(step((SecretsKeyView){HAND_OUT, .all_have = true, .making = true}),
                         SECRETS_KEY_WAIT);
}

static void snapshots_are_for_when_all_are_sealed_with_it(void **state) {
        assert_int_equal(step((SecretsKeyView){SEAL, .some_differ = true, .all_compacted = true}),
                         SECRETS_KEY_RESEAL);
        assert_int_equal(step((SecretsKeyView){SEAL, .all_compacted = true}), SECRETS_KEY_COMPACTS);
}

static void the_former_keys_go_when_every_voter_has_a_snapshot(void **state) {
        assert_int_equal(step((SecretsKeyView){COMPACT}), SECRETS_KEY_WAIT);
        assert_int_equal(step((SecretsKeyView){COMPACT, .all_compacted = true}), SECRETS_KEY_SETTLE);
}

RUN_TESTS(
        cmocka_unit_test(nothing_is_done_unless_somebody_asks),
        cmocka_unit_test(a_key_is_made_once),
        cmocka_unit_test(it_seals_when_every_voter_has_it),
        cmocka_unit_test(snapshots_are_for_when_all_are_sealed_with_it),
        cmocka_unit_test(the_former_keys_go_when_every_voter_has_a_snapshot)
)
