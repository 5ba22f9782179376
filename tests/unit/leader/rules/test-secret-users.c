// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who has which secrets in which versions, unit by unit.
#include "test.h"

#include "secret-users.h"

static SecretUsers m;

FIXTURE(teardown) {
        secret_users_done(&m);
}

static bool set(const char *unit, const char *secret, uint64_t version) {
        bool freed;

        assert_int_equal(secret_users_set(&m, unit, &(SecretUse){secret, version}, secret ? 1 : 0, &freed),
                         0);
        return freed;
}

static bool count(const char *unit, uint64_t version, void *userdata) {
        return ++*(size_t *) userdata < 2;
}

static void versions_are_counted_as_units_change(void **state) {
        assert_false(set("a.service", "db", 1));
        assert_false(set("b.service", "db", 1));
        assert_int_equal(secret_users_count(&m, "db"), 2);
        assert_int_equal(secret_users_count_of(&m, "db", 1), 2);
        assert_false(set("a.service", "db", 2)); // b has the first still
        assert_true(set("b.service", "db", 2));
        assert_int_equal(secret_users_count_of(&m, "db", 1), 0);
        assert_int_equal(secret_users_count_of(&m, "db", 2), 2);
        set("a.service", NULL, 0);
        assert_true(set("b.service", NULL, 0));
        assert_int_equal(secret_users_count(&m, "db"), 0);
        assert_int_equal(m.secrets.count, 0);
        assert_int_equal(m.units.count, 0);
}

static void a_secret_by_two_names_counts_once(void **state) {
        const SecretUse uses[] = {{"db", 1}, {"tls", 4}, {"db", 1}};
        bool freed;

        assert_int_equal(secret_users_set(&m, "a.service", uses, 3, &freed), 0);
        assert_int_equal(secret_users_count(&m, "db"), 1);
        assert_int_equal(secret_users_count(&m, "tls"), 1);
}

static void who_asks_for_some_gets_no_more(void **state) {
        size_t n = 0;

        set("a.service", "db", 1);
        set("b.service", "db", 1);
        set("c.service", "db", 1);
        secret_users_each(&m, "db", count, &n);
        assert_int_equal(n, 2);
        secret_users_each(&m, "none", count, &n);
        assert_int_equal(n, 2);
}

static void assert_recalled(const char *a, const char *b) {
        const char *first = secret_users_next_recalled(&m),
                   *second = first ? secret_users_next_recalled(&m) : NULL;

        assert_string_equal(first ?: "", a);
        assert_string_equal(second ?: "", b);
        assert_null(secret_users_next_recalled(&m));
}

static void who_has_an_older_version_is_recalled_once(void **state) {
        set("a.service", "db", 1);
        set("b.service", "db", 2);
        set("c.service", "db", 3);
        set("d.service", "db", 0); // none so far
        set("e.service", "tls", 1);
        secret_users_recall_before(&m, "db", 3);
        secret_users_recall_before(&m, "none", 3);
        assert_string_equal(secret_users_next_recalled(&m), "d.service");
        assert_recalled("b.service", "a.service");
        assert_recalled("", "");
        secret_users_recall_before(&m, "db", 2);
        secret_users_recall_before(&m, "db", 2);
        assert_recalled("d.service", "a.service");
}

static void who_was_recalled_has_it_all_the_same(void **state) {
        size_t n = 0;

        set("a.service", "db", 1);
        set("b.service", "db", 1);
        set("c.service", "db", 2);
        secret_users_recall_before(&m, "db", 2);
        assert_non_null(secret_users_next_recalled(&m));
        assert_int_equal(secret_users_count(&m, "db"), 3);
        assert_int_equal(secret_users_count_of(&m, "db", 1), 2);
        secret_users_each_before(&m, "db", 2, count, &n);
        assert_int_equal(n, 2);
}

static void who_changes_is_recalled_no_more(void **state) {
        set("a.service", "db", 1);
        set("b.service", "db", 2);
        secret_users_recall_before(&m, "db", 3);
        set("b.service", "db", 3); // the last that had the second version
        set("a.service", NULL, 0);
        assert_recalled("", "");
        set("a.service", "db", 1);
        set("c.service", "db", 1);
        secret_users_recall_before(&m, "db", 3);
        set("a.service", "db", 3); // the group is there, and was to be looked at
        set("c.service", "db", 3);
        set("a.service", "db", 1);
        set("c.service", "db", 1);
        assert_recalled("", "");
        secret_users_recall_before(&m, "db", 3);
        assert_recalled("a.service", "c.service");
}

RUN_TESTS(
        cmocka_unit_test_teardown(versions_are_counted_as_units_change, teardown),
        cmocka_unit_test_teardown(a_secret_by_two_names_counts_once, teardown),
        cmocka_unit_test_teardown(who_asks_for_some_gets_no_more, teardown),
        cmocka_unit_test_teardown(who_has_an_older_version_is_recalled_once, teardown),
        cmocka_unit_test_teardown(who_was_recalled_has_it_all_the_same, teardown),
        cmocka_unit_test_teardown(who_changes_is_recalled_no_more, teardown)
)
