// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "unit-state.h"

static void states_are_systemds_words(void **state) {
        assert_string_equal(load_state_to_string(ARGOSY__LOAD_STATE__LOAD_NOT_FOUND), "not-found");
        assert_string_equal(load_state_to_string(ARGOSY__LOAD_STATE__LOAD_BAD_SETTING), "bad-setting");
        assert_string_equal(active_state_to_string(ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING),
                            "deactivating");
        assert_string_equal(target_to_string(ARGOSY__TARGET__TARGET_LAUNCHED), "launched");
        assert_string_equal(verb_to_string(ARGOSY__VERB__VERB_DESTROY), "destroy");
}

static void every_state_is_read_back_from_its_word(void **state) {
        for (int i = 0; i <= ARGOSY__LOAD_STATE__LOAD_MASKED; i++)
                assert_int_equal(load_state_from_string(load_state_to_string((Argosy__LoadState) i)), i);
        for (int i = 0; i <= ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING; i++)
                assert_int_equal(active_state_from_string(active_state_to_string((Argosy__ActiveState) i)),
                                 i);
        for (int i = 0; i <= ARGOSY__TARGET__TARGET_LAUNCHED; i++) {
                Argosy__Target t;

                assert_true(target_from_string(target_to_string((Argosy__Target) i), &t));
                assert_int_equal(t, i);
        }
}

static void what_a_newer_version_says_is_unknown(void **state) {
        Argosy__Target t = ARGOSY__TARGET__TARGET_LOADED;

        assert_string_equal(load_state_to_string((Argosy__LoadState) 99), "unknown");
        assert_string_equal(active_state_to_string((Argosy__ActiveState) -1), "unknown");
        assert_string_equal(verb_to_string((Argosy__Verb) 99), "unknown");
        assert_int_equal(active_state_from_string("levitating"), ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN);
        assert_false(target_from_string("levitating", &t));
        assert_int_equal(t, ARGOSY__TARGET__TARGET_LOADED);
}

static void what_nobody_has_seen_is_neither_up_nor_down(void **state) {
        for (int i = 0; i <= ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING; i++) {
                Argosy__ActiveState s = (Argosy__ActiveState) i;
                bool changes = s == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN ||
                               s == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING ||
                               s == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING ||
                               s == ARGOSY__ACTIVE_STATE__ACTIVE_MAINTENANCE;

                assert_int_equal(active_state_is_up(s) + active_state_is_down(s), changes ? 0 : 1);
        }
        assert_true(active_state_is_up(ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING));
        assert_true(active_state_is_down(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED));
}

static void a_result_is_told_with_a_verb_and_its_word(void **state) {
        assert_string_equal(unit_result_phrase("exit-code"),
                            "a process of it ended with an error (exit-code)");
        assert_string_equal(unit_result_phrase("timeout"),
                            "it took longer than its timeout allows (timeout)");
        assert_string_equal(unit_result_phrase("levitated"), "levitated");
        assert_string_equal(unit_result_phrase(""), "systemd does not say why");
        assert_string_equal(unit_result_phrase(NULL), "systemd does not say why");
}

static void an_outcome_is_a_word_and_a_sentence(void **state) {
        Argosy__Outcome o = ARGOSY__OUTCOME__INIT;

        assert_string_equal(outcome_to_string(o.kind), "");
        o.kind = ARGOSY__OUTCOME__KIND__DONE;
        assert_string_equal(outcome_to_string(o.kind), "done");
        assert_string_equal(outcome_phrase(&o), "");
        o.kind = ARGOSY__OUTCOME__KIND__FAILED;
        assert_string_equal(outcome_phrase(&o), "it failed");
        o.result = "dependency";
        assert_string_equal(outcome_phrase(&o),
                            "a unit that it needs on its node did not start (dependency)");
        o.kind = ARGOSY__OUTCOME__KIND__UNKNOWN;
        assert_string_equal(outcome_to_string(o.kind), "unknown");
        assert_string_equal(outcome_phrase(&o), OUTCOME_UNKNOWN_TEXT);
        assert_string_equal(outcome_to_string((Argosy__Outcome__Kind) 99), "");
}

RUN_TESTS(
        cmocka_unit_test(states_are_systemds_words),
        cmocka_unit_test(every_state_is_read_back_from_its_word),
        cmocka_unit_test(what_a_newer_version_says_is_unknown),
        cmocka_unit_test(what_nobody_has_seen_is_neither_up_nor_down),
        cmocka_unit_test(a_result_is_told_with_a_verb_and_its_word),
        cmocka_unit_test(an_outcome_is_a_word_and_a_sentence)
)
