// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether what somebody was given is enough.
#include "test.h"

#include "access.h"
#include "author.h"
#include "macro.h"
#include "messages.h"
#include "str.h"

#define VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define OPERATE ARGOSY__RIGHT__RIGHT_OPERATE
#define DEPLOY ARGOSY__RIGHT__RIGHT_DEPLOY
#define ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

static Argosy__GrantRecord grant(Argosy__Right right, const char *user, const char *group, uint32_t host,
                                 const char *role) {
        return (Argosy__GrantRecord) MESSAGE_OF(grant_record, .right = right, .user = (char *) user,
                                                .group = (char *) group, .host = host,
                                                .role = (char *) role);
}

// Somebody of host 2, in the groups "staff" and "web".
static Argosy__Author somebody(const char *user) {
        static char *groups[] = {(char *) "staff", (char *) "web"};

        return (Argosy__Author) AUTHOR_OF(.host = 2, .uid = 1000, .user = (char *) user, .groups = groups,
                                          .n_groups = ELEMENTSOF(groups));
}

static bool has(Argosy__GrantRecord g, Argosy__Author author, Argosy__Right right, const char *role) {
        Argosy__GrantRecord *list = &g;

        return access_has((AccessList){&list, 1}, &author, right, role);
}

static void each_right_has_what_stands_below_it(void **state) {
        for (Argosy__Right given = VIEW; given <= ADMIN; given++)
                for (Argosy__Right needed = VIEW; needed <= ADMIN; needed++)
                        assert_int_equal(
                                has(grant(given, "alice", "", 0, ""), somebody("alice"), needed, NULL),
                                given >= needed);
}

static void a_right_is_somebodys_and_no_others(void **state) {
        assert_true(has(grant(VIEW, "alice", "", 0, ""), somebody("alice"), VIEW, NULL));
        assert_false(has(grant(VIEW, "alice", "", 0, ""), somebody("alic"), VIEW, NULL));
        assert_false(has(grant(VIEW, "alice", "", 0, ""), somebody("bob"), VIEW, NULL));
        assert_true(has(grant(VIEW, "", "web", 0, ""), somebody("bob"), VIEW, NULL));
        assert_false(has(grant(VIEW, "", "wheel", 0, ""), somebody("bob"), VIEW, NULL));
        assert_false(
                has(grant(VIEW, "", "alice", 0, ""), somebody("alice"), VIEW, NULL)); // a group of that name
}

static void a_name_that_nobody_knows_has_no_rights(void **state) {
        assert_false(has(grant(VIEW, "", "", 0, ""), somebody(""), VIEW, NULL));
        assert_true(has(grant(VIEW, "", "staff", 0, ""), somebody(""), VIEW, NULL));
}

static void a_user_of_one_host_is_none_of_another(void **state) {
        assert_true(has(grant(ADMIN, "alice", "", 2, ""), somebody("alice"), ADMIN, NULL));
        assert_false(has(grant(ADMIN, "alice", "", 3, ""), somebody("alice"), VIEW, NULL));
}

static void a_role_narrows_a_right(void **state) {
        Argosy__GrantRecord g = grant(OPERATE, "alice", "", 0, "web"), *list = &g;
        Argosy__Author alice = somebody("alice"), bob = somebody("bob");

        assert_true(has(g, alice, OPERATE, "web"));
        assert_true(has(g, alice, VIEW, "web"));
        assert_false(has(g, alice, VIEW, "default"));
        assert_false(has(g, alice, VIEW, NULL));
        assert_true(access_has_some((AccessList){&list, 1}, &alice, OPERATE));
        assert_false(access_has_some((AccessList){&list, 1}, &alice, DEPLOY));
        assert_false(access_has_some((AccessList){&list, 1}, &bob, VIEW));
        assert_true(has(grant(OPERATE, "alice", "", 0, ""), alice, OPERATE, "web")); // of all roles
}

static void rights_add_up(void **state) {
        Argosy__GrantRecord one = grant(VIEW, "", "staff", 0, ""),
                            two = grant(OPERATE, "alice", "", 0, "web"), *list[] = {&one, &two};
        Argosy__Author alice = somebody("alice");
        AccessList both = {list, ELEMENTSOF(list)};

        assert_true(access_has(both, &alice, VIEW, NULL));
        assert_true(access_has(both, &alice, OPERATE, "web"));
        assert_false(access_has(both, &alice, OPERATE, "db"));
}

static void root_has_all_rights_without_a_record(void **state) {
        Argosy__Author root = author_of_host(7);

        assert_true(access_has((AccessList){}, &root, ADMIN, NULL));
        assert_true(access_has_some((AccessList){}, &root, ADMIN));
}

static void a_new_cluster_is_that_of_root_and_the_group_of_the_socket(void **state) {
        AccessList list = access_of_new_cluster();
        Argosy__Author nobody = somebody("alice"), member = author_unattested(2);

        assert_true(access_has(list, &member, ADMIN, NULL));
        assert_false(access_has_some(list, &nobody, VIEW));
        assert_false(access_is_open(list));
}

static void it_is_open_when_somebody_else_has_a_right(void **state) {
        Argosy__GrantRecord member = grant(VIEW, "", ACCESS_GROUP, 0, ""),
                            user = grant(VIEW, "alice", "", 0, "web"), *list[] = {&member, &user};

        assert_false(access_is_open((AccessList){}));
        assert_false(access_is_open((AccessList){list, 1}));
        assert_true(access_is_open((AccessList){list, 2}));
}

static void rights_have_names(void **state) {
        Argosy__Right right = VIEW;

        for (Argosy__Right r = VIEW; r <= ADMIN; r++) {
                assert_true(right_from_string(right_to_string(r), &right));
                assert_int_equal(right, r);
        }
        assert_false(right_from_string("unknown", &right));
        assert_false(right_from_string("", &right));
        assert_string_equal(right_to_string(ARGOSY__RIGHT__RIGHT_NONE), "unknown");
        assert_string_equal(right_to_string((Argosy__Right) 77), "unknown");
}

static void whose_a_right_is_can_be_typed(void **state) {
        static const struct {
                const char *word, *user, *group, *host;
        } good[] = {
                {"user:alice", "alice", "", ""},
                {"group:web", "", "web", ""},
                {"user:alice@n2", "alice", "", "n2"},
                {"user:alice@example.org@n2", "alice@example.org", "", "n2"},
                {"user:alice@example.org@", "alice@example.org", "", ""},
                {"group:web@example.org", "", "web@example.org", ""},
        };
        static const char *const bad[] = {
                "", "alice", "user:", "group:", "user:@n2", "users:alice", "user:a\nb", "group:\xff"};
        AccessSubject s;
        char word[64];

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                strcpy(word, good[i].word);
                assert_true(access_subject_parse(word, &s));
                assert_string_equal(s.user, good[i].user);
                assert_string_equal(s.group, good[i].group);
                assert_string_equal(s.host, good[i].host);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                strcpy(word, bad[i]);
                assert_false(access_subject_parse(word, &s));
        }
}

static void the_groups_that_count_are_those_that_something_was_given_to(void **state) {
        Argosy__GrantRecord grants[] = {grant(VIEW, "alice", "", 0, ""), grant(VIEW, "", "others", 0, ""),
                                        grant(VIEW, "", "staff", 0, "db"), grant(ADMIN, "", "staff", 0, "")};
        Argosy__GrantRecord *pointers[] = {&grants[0], &grants[1], &grants[2], &grants[3]};
        AccessList list = {.grants = pointers, .n = ELEMENTSOF(grants)};
        Argosy__Author author = somebody("alice");
        const char *groups[2];

        assert_int_equal(access_groups(list, &author, groups, 2), 1);
        assert_string_equal(groups[0], "staff");
        assert_int_equal(access_groups(list, &author, groups, 0), 0);
        author.owner = true; // needs none
        assert_int_equal(access_groups(list, &author, groups, 2), 0);
}

RUN_TESTS(
        cmocka_unit_test(each_right_has_what_stands_below_it),
        cmocka_unit_test(a_right_is_somebodys_and_no_others),
        cmocka_unit_test(a_name_that_nobody_knows_has_no_rights),
        cmocka_unit_test(a_user_of_one_host_is_none_of_another),
        cmocka_unit_test(a_role_narrows_a_right),
        cmocka_unit_test(rights_add_up),
        cmocka_unit_test(the_groups_that_count_are_those_that_something_was_given_to),
        cmocka_unit_test(root_has_all_rights_without_a_record),
        cmocka_unit_test(a_new_cluster_is_that_of_root_and_the_group_of_the_socket),
        cmocka_unit_test(it_is_open_when_somebody_else_has_a_right),
        cmocka_unit_test(rights_have_names),
        cmocka_unit_test(whose_a_right_is_can_be_typed)
)
