// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Replaces=: units make others leave the node that they are given.
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT

RIG_OF(3)

static void start(const char *name, const char *content) {
        assert_int_equal(rig_change(&g, START, name, content)->status, 0);
}

static void assert_refused(Argosy__Verb verb, const char *name, const char *content, const char *why) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        assert_int_equal(r->status, EINVAL);
        if (!strstr(r->message, why))
                fail_msg("it says \"%s\", not \"%s\"", r->message, why);
}

static const Argosy__Response__Status *why_of(const char *unit) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &why))->responses[0]->status_reply;
}

static void the_replaced_unit_goes_elsewhere(void **state) {
        start("old@1.service", SERVICE "[X-Argosy]\nHost=n2 n3\nPreferLabel=!x\n");
        start("stranger.service", SERVICE "[X-Argosy]\nHost=n2\n");
        assert_int_equal(rig_host_of(&g, "old@1.service"), 2);
        start("new.service", SERVICE "[X-Fleet]\nReplaces=old@*\n[X-Argosy]\nHost=n2\n");
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(rig_host_of(&g, "old@1.service"), 3);
        assert_int_equal(rig_host_of(&g, "stranger.service"), 2);
        assert_int_equal(rig_count_running(&g, "old@1.service"), 1);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
}

static void it_is_not_placed_where_its_replacer_is(void **state) {
        start("new.service", SERVICE "[X-Argosy]\nReplaces=old@*\nHost=n2\n");
        for (const char *const *name =
                     (const char *const[]){"old@1.service", "old@2.service", "old@3.service", NULL};
             *name; name++) {
                start(*name, SERVICE);
                assert_int_not_equal(rig_host_of(&g, *name), 2);
        }
}

static void the_replacer_goes_wherever_it_would_go_anyway(void **state) {
        for (const char *const *name =
                     (const char *const[]){"old@1.service", "old@2.service", "old@3.service", NULL};
             *name; name++)
                start(*name, SERVICE);
        start("new.service", SERVICE "[X-Argosy]\nReplaces=old@*\n");
        assert_int_not_equal(rig_host_of(&g, "new.service"), 0);
        for (const char *const *name =
                     (const char *const[]){"old@1.service", "old@2.service", "old@3.service", NULL};
             *name; name++) {
                assert_int_not_equal(rig_host_of(&g, *name), 0);
                assert_int_not_equal(rig_host_of(&g, *name), rig_host_of(&g, "new.service"));
        }
}

static void what_can_go_nowhere_else_waits_and_says_why(void **state) {
        start("old.service", SERVICE "[X-Argosy]\nHost=n2\n");
        start("new.service", SERVICE "[X-Argosy]\nReplaces=old.service\nHost=n2\n");
        assert_int_equal(rig_host_of(&g, "old.service"), 0);
        assert_int_equal(rig_count_running(&g, "old.service"), 0);
        assert_int_equal(why_of("old.service")->n_refusals, 3);
        assert_string_equal(why_of("old.service")->refusals[1]->reason,
                            "new.service there replaces it (Replaces=old.service)");
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "new.service", NULL)->status, 0);
        rig_settle(&g);
        assert_int_equal(rig_host_of(&g, "old.service"), 2);
        assert_int_equal(rig_count_running(&g, "old.service"), 1);
}

static void a_new_leader_finds_who_is_to_leave(void **state) {
        start("old.service", SERVICE "[X-Argosy]\nHost=n2 n3\nPreferLabel=!x\n");
        assert_int_equal(rig_host_of(&g, "old.service"), 2);
        g.slow = true;
        (void) rig_change_with(&g, START, "new.service",
                               SERVICE "[X-Argosy]\nReplaces=old.service\nHost=n2\n", false, NULL);
        rig_turns(&g, 10);
        rig_release(&g);
        rig_turns(&g, 10);
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(rig_host_of(&g, "old.service"), 2);
        assert_int_equal(g.n_held, 1); // it is to leave, but that leader does not live to see it
        g.held[0].done(STORE_NOT_LEADER, 0, g.held[0].data);
        buf_done(&g.held[0].batch);
        g.n_held = 0;
        g.slow = false;
        rig_elect_anew(&g);
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(rig_host_of(&g, "old.service"), 3);
}

static void a_pattern_that_matches_the_unit_is_refused(void **state) {
        assert_refused(SUBMIT, "web@1.service", "[X-Fleet]\nReplaces=web@*\n",
                       ":2: Replaces=web@* matches web@1.service itself");
        assert_null(rig_record(&g, "web@1.service"));
}

// Those are found that a pattern means, and whom these replace, also of the same request.
static void a_cycle_is_found_over_patterns(void **state) {
        start("a@1.service", SERVICE "[X-Argosy]\nReplaces=b@*\n");
        start("b@1.service", SERVICE);
        start("b@2.service", SERVICE "[X-Argosy]\nReplaces=c.service none@*\n");
        start("d.service", SERVICE "[X-Argosy]\nReplaces=a@[12].service\n");
        assert_refused(SUBMIT, "c.service", SERVICE "[X-Argosy]\nReplaces=d.service\n",
                       ":4: units replace each other in a cycle: c.service replaces d.service replaces "
                       "a@1.service replaces b@2.service replaces c.service");
        start("c.service", SERVICE "[X-Argosy]\nReplaces=b@1*\n");
}

static void a_cycle_is_refused_with_its_line_and_nothing_is_stored(void **state) {
        start("a.service", SERVICE "[X-Argosy]\nReplaces=b.*\n");
        start("b.service", SERVICE "[X-Argosy]\nReplaces=c.*\n");
        assert_refused(START, "c.service", SERVICE "[X-Argosy]\nReplaces=x\nReplaces=a.*\n",
                       ":4: units replace each other in a cycle: c.service replaces a.service replaces "
                       "b.service replaces c.service");
        assert_null(rig_record(&g, "c.service"));
        start("c.service", SERVICE "[X-Argosy]\nReplaces=d.*\n");
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(the_replaced_unit_goes_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_not_placed_where_its_replacer_is, setup, teardown),
        cmocka_unit_test_setup_teardown(the_replacer_goes_wherever_it_would_go_anyway, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_can_go_nowhere_else_waits_and_says_why, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_new_leader_finds_who_is_to_leave, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pattern_that_matches_the_unit_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cycle_is_found_over_patterns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cycle_is_refused_with_its_line_and_nothing_is_stored,
                                        setup, teardown)
)
