// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which rule of the queue counts; also against a model that says the same in other words.
#include <fnmatch.h>

#include "author.h"
#include "macro.h"
#include "messages.h"
#include "queue-policy.h"
#include "printed.h"
#include "test.h"
#include "str.h"

#define ACCEPT ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT
#define HOLD ARGOSY__QUEUE_ACTION__QUEUE_HOLD
#define REFUSE ARGOSY__QUEUE_ACTION__QUEUE_REFUSE
#define LIMIT ARGOSY__QUEUE_ACTION__QUEUE_LIMIT

typedef struct Asked {
        const char *user, *host, *verb, *reason, *units[3], *roles[3]; // NULL behind the last
} Asked;

static const char *unit_of(size_t i, void *userdata) {
        const Asked *a = userdata;

        return i < 3 ? a->units[i] : NULL;
}

static size_t n_roles_asked;

static const char *role_of(size_t i, size_t *left, void *userdata) {
        const Asked *a = userdata;

        n_roles_asked++;
        return i < 3 ? a->roles[i] : NULL;
}

static QueueSubject subject(const Asked *a) {
        return (QueueSubject){.user = a->user,
                              .host = a->host,
                              .verb = a->verb,
                              .reason = a->reason,
                              .unit = unit_of,
                              .role = role_of,
                              .userdata = (void *) a};
}

// With so many comparisons in each turn.
static const Argosy__QueueRule *match_in_turns(const Argosy__QueueRecord *queue, const QueueSubject *s,
                                               size_t most) {
        const Argosy__QueueRule *rule;
        QueueWalk walk = {};
        size_t left;
        int r;

        do {
                left = most;
                r = queue_policy_walk(queue, s, &walk, &left, &rule);
                assert_true(r == 0 || left == 0);
        } while (r == QUEUE_WALK_MORE);
        assert_int_equal(r, 0);
        queue_walk_done(&walk);
        return rule;
}

static const Argosy__QueueRule *match(const Argosy__QueueRecord *queue, const QueueSubject *s) {
        return match_in_turns(queue, s, SIZE_MAX);
}

static Argosy__QueueRule rule(const char *author, const char *verb, const char *unit, const char *role,
                              const char *reason) {
        return (Argosy__QueueRule) QUEUE_RULE_OF(.author = (char *) author, .verb = (char *) verb,
                                                 .unit = (char *) unit, .role = (char *) role,
                                                 .reason = (char *) reason, .action = HOLD);
}

static bool is_matched(Argosy__QueueRule r, const Asked *a) {
        Argosy__QueueRule *rules = &r;
        QueueSubject s = subject(a);

        Argosy__QueueRecord queue = QUEUE_RECORD_OF(.rules = &rules, .n_rules = 1);
        return match(&queue, &s) == &r;
}

static const Asked ann = {.user = "ann",
                          .host = "n2",
                          .verb = "update",
                          .reason = "ticket 7",
                          .units = {"web@1.service", "db.service"},
                          .roles = {"default", "db"}};

static void a_rule_asks_for_what_it_names(void **state) {
        assert_true(is_matched(rule("", "", "", "", ""), &ann));
        assert_true(is_matched(rule("ann", "", "", "", ""), &ann));
        assert_true(is_matched(rule("ann@n2", "", "", "", ""), &ann));
        assert_true(is_matched(rule("*@n2", "", "", "", ""), &ann));
        assert_false(is_matched(rule("*@n1", "", "", "", ""), &ann));
        assert_false(is_matched(rule("bob", "", "", "", ""), &ann));
        assert_true(is_matched(rule("", "up*", "", "", "ticket*"), &ann));
        assert_false(is_matched(rule("", "start", "", "", ""), &ann));
        assert_false(is_matched(rule("", "", "", "", "ticket"), &ann));
        assert_true(is_matched(rule("", "", "web@*", "", ""), &ann));
        assert_true(is_matched(rule("", "", "db.service", "", ""), &ann)); // one of them is enough
        assert_false(is_matched(rule("", "", "cache*", "", ""), &ann));
        assert_true(is_matched(rule("", "", "", "db", ""), &ann));
        assert_false(is_matched(rule("", "", "", "d", ""), &ann)); // a role is no pattern
        assert_true(is_matched(rule("ann", "update", "web@*", "db", "*7"), &ann));
        assert_false(is_matched(rule("ann", "update", "web@*", "db", "*8"), &ann));
}

static void what_has_no_units_matches_no_rule_about_units(void **state) {
        static const Asked label = {.user = "ann", .host = "n2", .verb = "label", .reason = ""};

        assert_true(is_matched(rule("", "label", "", "", ""), &label));
        assert_false(is_matched(rule("", "", "*", "", ""), &label));
        assert_false(is_matched(rule("", "", "", "default", ""), &label));
}

static void the_first_that_matches_counts(void **state) {
        Argosy__QueueRule rules[] = {rule("bob", "", "", "", ""), rule("", "", "web@*", "", ""),
                                     rule("", "", "", "", "")};
        Argosy__QueueRule *pointers[] = {&rules[0], &rules[1], &rules[2]};
        Argosy__QueueRecord queue = ARGOSY__QUEUE_RECORD__INIT;
        QueueSubject s = subject(&ann);

        assert_null(match(&queue, &s));
        queue.rules = pointers;
        queue.n_rules = 3;
        assert_ptr_equal(match(&queue, &s), &rules[1]);
        queue.n_rules = 1;
        assert_null(match(&queue, &s));
}

// ------------------------------------------------------------------------------------------------ a model

static const char *const users[] = {"ann", "bob", "ci"}, *const hosts[] = {"n1", "n2"},
                         *const some_verbs[] = {"start", "stop"},
                         *const units[] = {"a.service", "b.service"}, *const roles[] = {"default", "db"};
static const char *const author_patterns[] = {"", "ann", "*@n1", "?i", "bob@n2"},
                         *const verb_patterns[] = {"", "st*", "stop"},
                         *const unit_patterns[] = {"", "a*", "b.service"}, *const role_words[] = {"", "db"};

#define PICK(list) list[(size_t) rand() % ELEMENTSOF(list)]

// As the manual says it, for one unit of one role.
static bool model_matches(const Argosy__QueueRule *r, const Asked *a) {
        if (*r->author && fnmatch(r->author, a->user, 0) != 0 &&
            fnmatch(r->author, printed("%s@%s", a->user, a->host), 0) != 0)
                return false;
        if (*r->verb && fnmatch(r->verb, a->verb, 0) != 0)
                return false;
        if (*r->unit && (!a->units[0] || fnmatch(r->unit, a->units[0], 0) != 0))
                return false;
        return !*r->role || (a->units[0] && streq(r->role, a->roles[0]));
}

static void any_rules_and_any_request_are_what_the_model_says(void **state) {
        srand(7);
        for (unsigned round = 0; round < 20000; round++) {
                Asked a = {.user = PICK(users),
                           .host = PICK(hosts),
                           .verb = PICK(some_verbs),
                           .reason = "",
                           .roles = {PICK(roles)}};
                Argosy__QueueRule rules[5], *pointers[5];
                const Argosy__QueueRule *expected = NULL;

                a.units[0] = rand() % 4 ? PICK(units) : NULL;
                QueueSubject s = subject(&a);
                for (size_t i = 0; i < ELEMENTSOF(rules); i++) {
                        rules[i] = rule(PICK(author_patterns), PICK(verb_patterns), PICK(unit_patterns),
                                        PICK(role_words), "");
                        pointers[i] = &rules[i];
                        if (!expected && model_matches(&rules[i], &a))
                                expected = &rules[i];
                }
                Argosy__QueueRecord queue = QUEUE_RECORD_OF(.rules = pointers, .n_rules = ELEMENTSOF(rules));
                assert_ptr_equal(match(&queue, &s), expected);
                assert_ptr_equal(match_in_turns(&queue, &s, 1 + (size_t) rand() % 3), expected);
        }
}

static void a_unit_is_asked_for_its_role_once(void **state) {
        Argosy__QueueRule rules[] = {rule("", "", "", "web", ""), rule("", "", "cache*", "db", ""),
                                     rule("", "", "", "cache", ""), rule("", "", "", "db", "")};
        Argosy__QueueRule *pointers[] = {&rules[0], &rules[1], &rules[2], &rules[3]};
        Argosy__QueueRecord queue = QUEUE_RECORD_OF(.rules = pointers, .n_rules = 4);
        QueueSubject s = subject(&ann);

        for (size_t most = 1; most < 6; most++) {
                n_roles_asked = 0;
                assert_ptr_equal(match_in_turns(&queue, &s, most), &rules[3]);
                assert_int_equal(n_roles_asked, 2);
        }
}

// A turn compares so many, and the next goes on there.
static void many_are_compared_in_turns(void **state) {
        Argosy__QueueRule rules[] = {rule("", "", "cache*", "", ""), rule("", "", "web@*", "", "")};
        Argosy__QueueRule *pointers[] = {&rules[0], &rules[1]};
        Argosy__QueueRecord queue = QUEUE_RECORD_OF(.rules = pointers, .n_rules = 2);
        const Argosy__QueueRule *found;
        QueueSubject s = subject(&ann);
        _cleanup_(queue_walk_done) QueueWalk walk = {};
        size_t left = 1;

        assert_int_equal(queue_policy_walk(&queue, &s, &walk, &left, &found), QUEUE_WALK_MORE);
        assert_null(found);
        left = 1;
        assert_int_equal(queue_policy_walk(&queue, &s, &walk, &left, &found), QUEUE_WALK_MORE);
        left = 1;
        assert_int_equal(queue_policy_walk(&queue, &s, &walk, &left, &found), 0);
        assert_ptr_equal(found, &rules[1]);
        assert_int_equal(left, 0);
}

// ---------------------------------------------------------------------------------------- what they are for

static void rules_are_not_for_what_mends_things(void **state) {
        Argosy__Author root = author_of_host(1), other = ARGOSY__AUTHOR__INIT;
        Argosy__Request__Change change = MESSAGE_OF(request__change, .verb = ARGOSY__VERB__VERB_STOP);
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request q = REQUEST_OF(CHANGE, change, &change);

        other.user = (char *) "ann";
        assert_false(queue_policy_is_for(&q, &root));
        assert_true(queue_policy_is_for(&q, &other));
        change.verb = ARGOSY__VERB__VERB_DESTROY;
        assert_false(queue_policy_is_for(&q, &root));
        change.verb = ARGOSY__VERB__VERB_START;
        assert_true(queue_policy_is_for(&q, &root));
        assert_true(queue_policy_can_hold(&q));
        change.preview = true;
        assert_false(queue_policy_is_for(&q, &root));
        assert_false(queue_policy_can_hold(&q));
        q.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        q.rollout = &rollout;
        assert_true(queue_policy_is_for(&q, &root));
        rollout.abort = true;
        assert_false(queue_policy_is_for(&q, &root));
        q.what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE;
        assert_false(queue_policy_is_for(&q, &other));
        q.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
        assert_false(queue_policy_is_for(&q, &other));
        q.what_case = ARGOSY__REQUEST__WHAT_JOIN;
        assert_false(queue_policy_is_for(&q, &other));
        q.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        assert_true(queue_policy_is_for(&q, &other));
        assert_false(queue_policy_can_hold(&q)); // who asks is to be told
}

static void how_much_is_open_refuses_nothing_that_ends_something(void **state) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request q = REQUEST_OF(CHANGE, change, &change);

        for (int verb = ARGOSY__VERB__VERB_SUBMIT; verb <= ARGOSY__VERB__VERB_DESTROY; verb++) {
                change.verb = (Argosy__Verb) verb;
                assert_int_equal(queue_policy_is_limited(&q),
                                 verb != ARGOSY__VERB__VERB_STOP && verb != ARGOSY__VERB__VERB_DESTROY);
        }
        q.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        q.rollout = &rollout;
        assert_true(queue_policy_is_limited(&q));
        rollout.abort = true;
        assert_false(queue_policy_is_limited(&q));
        q.what_case = ARGOSY__REQUEST__WHAT_JOB_CANCEL;
        assert_false(queue_policy_is_limited(&q));
        q.what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE;
        assert_false(queue_policy_is_limited(&q));
}

static void a_rule_that_makes_no_sense_is_refused(void **state) {
        char longer[QUEUE_PATTERN_MAX + 2] = "";
        Argosy__QueueRule r = rule("", "", "", "", "");

        assert_null(queue_rule_error(&r));
        assert_true(queue_rule_matches_all(&r));
        memset(longer, 'a', sizeof(longer) - 1);
        r.unit = longer;
        assert_false(queue_rule_matches_all(&r));
        assert_non_null(queue_rule_error(&r));
        r = rule("an\nn", "", "", "", "");
        assert_non_null(queue_rule_error(&r));
        r = rule("", "", "", "d\033[2Jb", "");
        assert_non_null(queue_rule_error(&r));
        r = rule("", "", "", "d\u202eb", "");
        assert_non_null(queue_rule_error(&r));
        r = rule("", "", "", "db*", ""); // it is no pattern
        assert_non_null(queue_rule_error(&r));
        r = rule("", "", "", "", "");
        r.action = REFUSE;
        assert_non_null(queue_rule_error(&r)); // says nothing
        r.text = (char *) "no";
        assert_null(queue_rule_error(&r));
        r.action = LIMIT;
        assert_non_null(queue_rule_error(&r));
        r.text = (char *) "";
        r.limit = 3;
        assert_null(queue_rule_error(&r));
        r.action = ACCEPT;
        assert_non_null(queue_rule_error(&r));
        r.limit = 0;
        assert_null(queue_rule_error(&r));
        r.action = (Argosy__QueueAction) 9;
        assert_non_null(queue_rule_error(&r));
}

RUN_TESTS(
        cmocka_unit_test(a_rule_asks_for_what_it_names),
        cmocka_unit_test(what_has_no_units_matches_no_rule_about_units),
        cmocka_unit_test(the_first_that_matches_counts),
        cmocka_unit_test(any_rules_and_any_request_are_what_the_model_says),
        cmocka_unit_test(a_unit_is_asked_for_its_role_once),
        cmocka_unit_test(many_are_compared_in_turns),
        cmocka_unit_test(rules_are_not_for_what_mends_things),
        cmocka_unit_test(how_much_is_open_refuses_nothing_that_ends_something),
        cmocka_unit_test(a_rule_that_makes_no_sense_is_refused)
)
