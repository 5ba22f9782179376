// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who goes on with the next leader: of what the log alone says he is told what has come since, and of what
// nodes say all.
#include <errno.h>
#include <stdlib.h>

#include "event-asks.h"
#include "macro.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "event-stream.h"
#include "log-trail.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static void set_role(const char *name, bool remove) {
        Argosy__Request__RoleChange change =
                MESSAGE_OF(request__role_change, .name = (char *) name, .remove = remove);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &change)))->status, 0);
}

static void another_leader(void) {
        rig_elect_anew(&g);
}

static void tell_all(Asked *a) {
        while (asked_pull(&g, a)) {
        }
}

static size_t count(const Asked *a, Argosy__EventKind kind) {
        size_t n = 0;

        for (size_t i = 0; i < a->n; i++)
                n += a->events[i]->kind == kind;
        return n;
}

static const Argosy__Event *begins(const Asked *a) {
        assert_true(a->n > 0 && event_is_word(a->events[0], EVENT_STREAM_BEGINS));
        return a->events[0];
}

// ------------------------------------------------------------------------------------------------ tests

static void who_follows_jobs_is_told_of_those_that_have_come_since_and_of_no_other(void **state) {
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB};

        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE);
        rig_pass_ms(&g, 3000); // both have ended
        tell_all(&a);
        rig_change(&g, START, "c.service", SERVICE);
        rig_pass_ms(&g, 3000);
        another_leader(); // nobody has told him of the third
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 1);
        assert_string_equal(event_field(a.events[0], "job"), "3");
        assert_string_equal(event_field(a.events[0], "state"), "done");
        assert_int_equal(a.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        another_leader();
        assert_false(asked_pull(&g, &a));
        asked_forget(&a);
}

static void the_end_of_a_job_that_he_knows_of_is_told_by_the_next_leader(void **state) {
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_JOB};

        rig_change(&g, START, "a.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "running");
        rig_pass_ms(&g, 3000);
        another_leader();
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 1);
        assert_string_equal(event_field(a.events[0], "state"), "done");
        asked_forget(&a);
}

// Neither the former leader nor this one has told him how they ended.
static void jobs_that_the_next_leader_tells_no_more_begin_anew(void **state) {
        enum { TOLD = 3 };
        Asked a = {};

        rig_change(&g, START, "a.service", SERVICE);
        tell_all(&a);
        rig_change(&g, START, "b.service", SERVICE);
        rig_change(&g, START, "c.service", SERVICE);
        rig_pass_ms(&g, 3000);
        another_leader();
        g.leader->events->jobs->max = TOLD;
        set_role("web", false);
        set_role("db", false);
        rig_pass_ms(&g, 3000);
        uint64_t last = cluster_state_last_job(g.state);
        assert_true(asked_pull(&g, &a));
        assert_non_null(strstr(event_field(begins(&a), "kinds"), "job"));
        assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_JOB), TOLD);
        for (uint64_t number = last - TOLD + 1; number <= last; number++) {
                assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB,
                                           printed("%llu", (unsigned long long) number)));
        }
        asked_forget(&a);
}

static void only_what_nodes_say_begins_anew(void **state) {
        Asked a = {};

        set_role("web", false);
        rig_change(&g, START, "a.service", SERVICE);
        rig_pass_ms(&g, 3000);
        tell_all(&a);
        another_leader();
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = begins(&a);
        assert_string_equal(event_field(e, "kinds"), "leader node unit state drain content");
        assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_JOB), 0);
        assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_ROLE), 0);
        assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_GRANT), 0);
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "a.service"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_LEADER, "n1"));
        for (size_t i = 0; i < a.n; i++)
                assert_int_equal(a.events[i]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        asked_forget(&a);
}

static void a_table_that_was_changed_meanwhile_begins_anew_too(void **state) {
        Asked a = {};

        set_role("web", false);
        set_role("db", false);
        tell_all(&a);
        set_role("web", true);
        another_leader();
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = begins(&a);
        assert_string_equal(event_field(e, "kinds"), "leader node unit state drain role content");
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLE, "db"));
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLE, "web"));
        assert_true(event_is_word(a.events[a.n - 1], EVENT_STREAM_COMPLETE));
        asked_forget(&a);
}

// That leader has told others of them before.
static void of_a_table_that_another_leader_has_changed_all_rows_are_told(void **state) {
        static const char *const roles[] = {"db", "dns", "web"};
        Asked a = {}, b = {};

        set_role("web", false);
        set_role("db", false);
        tell_all(&a);
        another_leader();
        tell_all(&b);
        set_role("dns", false);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(begins(&a), "kinds"), "leader node unit state drain role content");
        for (size_t i = 0; i < ELEMENTSOF(roles); i++)
                assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLE, roles[i]));
        asked_forget(&a);
        asked_forget(&b);
}

static void what_is_about_units_names_only_kinds_that_he_watches(void **state) {
        Asked a = {.pattern = "a*"};

        rig_change(&g, START, "a.service", SERVICE);
        tell_all(&a);
        another_leader();
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(begins(&a), "kinds"), "unit state content");
        asked_forget(&a);
}

// Nodes are told of at once; what they have not said yet is unknown.
static void states_of_hosts_that_the_next_leader_has_not_heard_are_unknown(void **state) {
        Asked a = {};

        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        rig_change(&g, START, "a.service", SERVICE);
        tell_all(&a);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        another_leader();
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "a.service");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "unknown");
        asked_forget(&a);
}

static void who_was_told_less_than_this_voter_has_seen_is_told_everything(void **state) {
        Asked a = {};

        set_role("web", false);
        tell_all(&a);
        leader_on_restored(g.leader); // an image, and then an entry
        rig_change(&g, START, "a.service", SERVICE);
        another_leader();
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(begins(&a), "kinds"), "");
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLE, "web"));
        asked_forget(&a);
}

static void a_place_in_the_middle_of_what_an_earlier_leader_told_is_one_too(void **state) {
        Asked a = {.max_bytes = 1024};

        for (int i = 0; i < 20; i++) {
                rig_change(&g, START, printed("unit-%d.service", i), SERVICE);
        }
        rig_pass_ms(&g, 3000);
        tell_all(&a);
        another_leader();
        assert_true(asked_pull(&g, &a)); // a part of it
        assert_false(event_is_word(a.events[a.n - 1], EVENT_STREAM_COMPLETE));
        assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_JOB), 0);
        another_leader();
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(begins(&a), "kinds"), "leader node unit state drain content");
        while (asked_pull(&g, &a))
                assert_int_equal(count(&a, ARGOSY__EVENT_KIND__EVENT_JOB), 0);
        asked_forget(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(who_follows_jobs_is_told_of_those_that_have_come_since_and_of_no_other),
        TEST(the_end_of_a_job_that_he_knows_of_is_told_by_the_next_leader),
        TEST(jobs_that_the_next_leader_tells_no_more_begin_anew),
        TEST(only_what_nodes_say_begins_anew),
        TEST(a_table_that_was_changed_meanwhile_begins_anew_too),
        TEST(of_a_table_that_another_leader_has_changed_all_rows_are_told),
        TEST(what_is_about_units_names_only_kinds_that_he_watches),
        TEST(states_of_hosts_that_the_next_leader_has_not_heard_are_unknown),
        TEST(who_was_told_less_than_this_voter_has_seen_is_told_everything),
        TEST(a_place_in_the_middle_of_what_an_earlier_leader_told_is_one_too)
)
