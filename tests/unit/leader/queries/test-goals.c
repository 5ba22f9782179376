// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Waits for what is seen of a unit, whoever brings it about: under one leader, and asked again under the
// next.
#include <errno.h>

#include "leader-asks.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GOAL(word) ARGOSY__UNIT_GOAL__GOAL_##word

RIG_OF(3)

static RigAnswer *wait_for(Argosy__UnitGoal goal, const char *name) {
        Argosy__Request__Wait__Item item = MESSAGE_OF(request__wait__item, .name = (char *) name),
                                    *items[] = {&item};
        Argosy__Request__Wait wait = MESSAGE_OF(request__wait, .items = items, .n_items = 1, .goal = goal);

        return rig_ask_and_settle(&g, A_REQUEST(WAIT, wait, &wait));
}

static void assert_waits(const RigAnswer *a) {
        assert_false(a->final);
}

static void assert_ended(const RigAnswer *a, int status) {
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->what_case, ARGOSY__RESPONSE__WHAT_PROGRESS);
        assert_int_equal(a->responses[a->n - 1]->progress->n_done, 1);
        assert_int_equal(a->responses[a->n - 1]->progress->done[0]->status, status);
}

static void each_state_of_a_unit_s_life_is_waited_for(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_ended(wait_for(GOAL(INACTIVE), "web.service"), 0);
        RigAnswer *a = wait_for(GOAL(ACTIVE), "web.service");
        assert_waits(a);
        rig_change(&g, ARGOSY__VERB__VERB_START, "web.service", NULL);
        assert_ended(a, 0);
        a = wait_for(GOAL(INACTIVE), "web.service");
        assert_waits(a);
        rig_change(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL);
        assert_ended(a, 0);
        a = wait_for(GOAL(GONE), "web.service");
        assert_waits(a);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        assert_ended(a, 0);
}

static void a_unit_that_fails_is_seen_to_have_failed(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_START, "web.service", SERVICE);
        RigAnswer *a = wait_for(GOAL(FAILED), "web.service");
        assert_waits(a);
        RigHost *h = rig_host(&g, rig_host_of(&g, "web.service"));
        rig_host_report_and_settle(&g, h, rig_unit_on(&g, h->number, "web.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_ended(a, 0);
}

static void a_unit_that_is_destroyed_ends_the_wait(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "other.service", SERVICE);
        rig_change(&g, ARGOSY__VERB__VERB_START, "web.service", SERVICE);
        RigAnswer *active = wait_for(GOAL(ACTIVE), "other.service");
        RigAnswer *inactive = wait_for(GOAL(INACTIVE), "web.service");
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "other.service", NULL);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        assert_ended(active, ENOENT);
        assert_ended(inactive, 0);
        assert_ended(wait_for(GOAL(INACTIVE), "web.service"), ENOENT);
        assert_ended(wait_for(GOAL(GONE), "web.service"), 0);
}

// What it has not been told yet is not taken for what is so.
static void the_next_leader_is_asked_again(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_START, "web.service", SERVICE);
        RigAnswer *a = wait_for(GOAL(INACTIVE), "web.service");
        rig_depose(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, EAGAIN);
        rig_elect(&g);
        a = wait_for(GOAL(INACTIVE), "web.service");
        assert_waits(a);
        rig_settle(&g);
        assert_waits(a);
        rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "web.service", NULL);
        assert_ended(a, 0);
}

// Nothing is seen of the unit itself.
static void who_waits_hears_of_a_host_that_is_lost(void **state) {
        rig_host_off(&g, 3);
        rig_elect_anew(&g);
        RigAnswer *a = wait_for(GOAL(GONE), "never.service"); // that host may have it
        assert_waits(a);
        RigAnswer *b = wait_for(GOAL(GONE), "never.service");
        assert_waits(b);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_ended(a, 0);
        assert_ended(b, 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(each_state_of_a_unit_s_life_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_that_fails_is_seen_to_have_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_that_is_destroyed_ends_the_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_leader_is_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_hears_of_a_host_that_is_lost, setup, teardown)
)
