// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "test.h"

#include "author.h"
#include "macro.h"
#include "messages.h"

static Argosy__Author author_in(char **groups, size_t n) {
        return (Argosy__Author) AUTHOR_OF(.uid = 1000, .user = (char *) "alice", .groups = groups,
                                          .n_groups = n);
}

static void a_host_speaks_for_its_own_users(void **state) {
        char *groups[] = {(char *) "users", (char *) "web admins"};
        Argosy__Author a = author_in(groups, 2);

        a.host = 7; // what it says
        assert_int_equal(author_admit(&a, 3), 0);
        assert_int_equal(a.host, 3); // whose key it has
}

static void names_that_no_account_has_are_nobodys(void **state) {
        char long_name[AUTHOR_NAME_MAX + 2] = "";
        char *bad[] = {(char *) "", (char *) "a\nb",
                       (char *) "\xe2\x80\xae"
                                "nimda",
                       (char *) "\xff", long_name};

        memset(long_name, 'a', sizeof(long_name) - 1);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                Argosy__Author a = author_in(&bad[i], 1);

                assert_int_equal(author_admit(&a, 1), -EINVAL);
                if (!*bad[i])
                        continue; // an account without a name
                a = author_in(NULL, 0);
                a.user = bad[i];
                assert_int_equal(author_admit(&a, 1), -EINVAL);
        }
        long_name[AUTHOR_NAME_MAX] = 0;
        assert_true(author_name_is_valid(long_name));
        assert_true(author_name_is_valid("DOMAIN\\J\xc3\xb6rg M\xc3\xbcller@corp"));
}

static void groups_have_a_limit(void **state) {
        static char name[64], *groups[AUTHOR_GROUPS_MAX + 1];

        strcpy(name, "g");
        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                groups[i] = name;
        Argosy__Author a = author_in(groups, AUTHOR_GROUPS_MAX);
        assert_int_equal(author_admit(&a, 1), 0);
        a = author_in(groups, AUTHOR_GROUPS_MAX + 1);
        assert_int_equal(author_admit(&a, 1), -EINVAL);
        memset(name, 'g', sizeof(name) - 1); // all their names together
        a = author_in(groups, AUTHOR_GROUPS_MAX);
        assert_int_equal(author_admit(&a, 1), -EINVAL);
}

static void whoever_is_not_named_is_no_root(void **state) {
        Argosy__Author unset = ARGOSY__AUTHOR__INIT, old = author_unattested(4), own = author_of_host(4);
        char buf[AUTHOR_TEXT_SIZE];

        assert_int_equal(unset.uid, 0);
        assert_false(unset.owner); // the number alone makes nobody an owner
        assert_false(old.owner);
        assert_string_equal(author_text(&old, buf), "somebody");
        assert_true(own.owner);
        unset.uid = 1234;
        assert_string_equal(author_text(&unset, buf), "uid 1234");
}

static void a_users_daemon_is_that_user(void **state) {
        Argosy__Author machines = author_of_daemon(4, 0, NULL), alices = author_of_daemon(4, 1000, "alice"),
                       strange = author_of_daemon(4, 1000, "a\nb");
        char buf[AUTHOR_TEXT_SIZE];

        assert_string_equal(author_text(&machines, buf), "root");
        assert_string_equal(author_text(&alices, buf), "alice");
        assert_int_equal(alices.uid, 1000);
        assert_true(alices.owner);
        assert_string_equal(author_text(&strange, buf), "uid 1000");
        assert_int_equal(author_admit(&strange, 4), 0);
}

static const Hash proof = {{7}};

static void a_token_is_shown_instead_of_a_user(void **state) {
        char *groups[] = {(char *) "users"};
        Argosy__Author good = author_of_token(&proof), a;
        char buf[AUTHOR_TEXT_SIZE];

        assert_int_equal(author_admit(&good, 3), 0);
        assert_int_equal(good.host, 3);
        assert_int_equal(good.uid, UINT32_MAX);
        assert_string_equal(author_text(&good, buf), "the bearer of a token");
        good.uid = 0; // whatever it says
        assert_int_equal(author_admit(&good, 3), 0);
        assert_int_equal(good.uid, UINT32_MAX);
        a = good;
        a.user = (char *) "alice";
        assert_int_equal(author_admit(&a, 3), -EINVAL);
        a = good;
        a.groups = groups;
        a.n_groups = 1;
        assert_int_equal(author_admit(&a, 3), -EINVAL);
        a = good;
        a.owner = true;
        assert_int_equal(author_admit(&a, 3), -EINVAL);
}

static void a_proof_has_its_length(void **state) {
        uint8_t bytes[AUTHOR_PROOF_SIZE + 1] = {};

        for (size_t len = 1; len <= sizeof(bytes); len++) {
                Argosy__Author a = AUTHOR_OF(.token_proof = (ProtobufCBinaryData){len, bytes});

                assert_int_equal(author_admit(&a, 3), len == AUTHOR_PROOF_SIZE ? 0 : -EINVAL);
        }
}

// Or any host could say that some token has asked, and without its secret.
static void no_host_says_which_token_it_is(void **state) {
        Argosy__Author a = author_of_token(&proof);

        a.token = (char *) "0123abcd";
        assert_int_equal(author_admit(&a, 3), -EINVAL);
        a.token_proof.len = 0;
        assert_int_equal(author_admit(&a, 3), -EINVAL);
        a = author_in(NULL, 0);
        a.user = (char *) "token:ci";
        assert_int_equal(author_admit(&a, 3), -EINVAL);
        a.user = (char *) "token";
        assert_int_equal(author_admit(&a, 3), 0);
}

static void all_that_one_asks_has_one_key(void **state) {
        Argosy__Author a = ARGOSY__AUTHOR__INIT, b = ARGOSY__AUTHOR__INIT;

        a.host = b.host = 1;
        a.uid = b.uid = 1000;
        a.user = (char *) "joe";
        assert_int_equal(author_key(&a), author_key(&b));
        b.uid = 1001;
        assert_int_not_equal(author_key(&a), author_key(&b));
        b = a;
        b.host = 2;
        assert_int_not_equal(author_key(&a), author_key(&b));
        b = a;
        b.token = (char *) "12345678";
        assert_int_not_equal(author_key(&a), author_key(&b));
        assert_int_not_equal(author_key(&a), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_host_speaks_for_its_own_users),
        cmocka_unit_test(names_that_no_account_has_are_nobodys),
        cmocka_unit_test(groups_have_a_limit),
        cmocka_unit_test(whoever_is_not_named_is_no_root),
        cmocka_unit_test(a_users_daemon_is_that_user),
        cmocka_unit_test(a_token_is_shown_instead_of_a_user),
        cmocka_unit_test(a_proof_has_its_length),
        cmocka_unit_test(no_host_says_which_token_it_is),
        cmocka_unit_test(all_that_one_asks_has_one_key)
)
