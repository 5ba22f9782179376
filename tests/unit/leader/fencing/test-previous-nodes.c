// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit that leaves a node begins elsewhere when it has ended there, whatever happens to links, hosts and
// leaders meanwhile.
#include "leader-private.h"
#include "leader-asks.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define FENCED SERVICE "TimeoutStopSec=10\n[X-Argosy]\nCutOff=stop\nCutOffSec=5\n"
#define QUICKLY_FENCED SERVICE "TimeoutStopSec=1\n[X-Argosy]\nCutOff=stop\nCutOffSec=0\n"
#define FOR_USERS SERVICE "[X-Argosy]\nManager=user@*\n"
#define EVERYWHERE SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START
#define OPEN ARGOSY__NODE_MODE__MODE_OPEN
#define CORDONED ARGOSY__NODE_MODE__MODE_CORDONED
#define DRAINING ARGOSY__NODE_MODE__MODE_DRAINING
#define X "x.service"

enum { FENCE_MS = 17019, QUICK_FENCE_MS = 3005 }; // see test-node-loss-policy.c

RIG_OF(3)

static const RigAnswer *ask_why(const char *unit) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &why));
}

static const char *reason_of(const char *unit) {
        return ask_why(unit)->responses[0]->status_reply->why;
}

// The host is up and its units run, but nothing reaches it or comes from it, and both ends have noticed.
static void cut(uint32_t host) {
        rig_host(&g, host)->deaf = true;
        rig_host(&g, host)->linked = false;
        rig_settle(&g);
}

static void heal(uint32_t host) {
        rig_host(&g, host)->deaf = false;
        rig_settle(&g);
}

static void change_leader(void) {
        rig_elect_anew(&g);
}

// x.service on host 2, so that it can only go to 3.
static void start_on_2(const char *content) {
        (void) rig_set_host_mode(&g, 1, CORDONED, 0);
        assert_int_equal(rig_change(&g, START, X, content)->status, 0);
        assert_non_null(rig_unit_on(&g, 2, X));
}

static bool runs_on(uint32_t host) {
        const VirtualUnit *u = rig_unit_on(&g, host, X);

        return u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

static void assert_waits(void) {
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 3)->virtual.node);
        assert_false(runs_on(3));
}

static void assert_moved(void) {
        assert_false(runs_on(2));
        assert_true(runs_on(3));
}

// What an agent says of a unit while it obeys an order.
static void report(uint32_t host, uint32_t node, Argosy__ActiveState active, bool leaving) {
        rig_unit_on(&g, host, X)->active = active;
        Argosy__UnitReport report = UNIT_REPORT_OF(.node = node, .name = X,
                                                   .revision = rig_unit_on(&g, host, X)->order.revision,
                                                   .load = ARGOSY__LOAD_STATE__LOAD_LOADED, .active = active,
                                                   .leaving = leaving),
                           *pointer = &report;
        Argosy__ToVoter__Reports reports =
                MESSAGE_OF(to_voter__reports, .reports = &pointer, .n_reports = 1);
        leader_on_message(g.leader, host, A_TO_VOTER(REPORTS, reports, &reports));
        rig_settle(&g);
}

// ------------------------------------------------------------------------------------------------ links

static void a_link_that_is_down_for_a_moment_ends_no_unit(void **state) {
        start_on_2(SERVICE);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        assert_waits();
        assert_string_equal(reason_of(X),
                            "it waits until it has ended on n2, which is not heard at present");
        rig_pass_ms(&g, RIG_LEASE_MS - 2 * RIG_BEAT_MS);
        assert_waits();
        heal(2);
        assert_moved();
}

// It begins to say again what it has, and the part that is about the unit does not come.
static void attach_in_parts(uint32_t host) {
        const Argosy__HostRecord *record = cluster_state_find_host(g.state, host);
        char *system = (char *) "system";
        Argosy__ToVoter__Hello hello = HELLO_OF(.feature_level = rig_host(&g, host)->feature_level);

        leader_on_host_link(g.leader, host, &hello);
        Argosy__ToVoter__Attach attach =
                ATTACH_OF(.seq = 1000, .parts = true, .name = record->name, .address = record->address,
                          .port = record->port, .managers = &system, .n_managers = 1);
        leader_on_message(g.leader, host, A_TO_VOTER(ATTACH, attach, &attach));
        rig_settle(&g);
}

static void what_an_attach_has_not_come_to_has_not_ended(void **state) {
        start_on_2(SERVICE);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        attach_in_parts(2);
        assert_waits();
        leader_on_host_link(g.leader, 2, NULL);
        rig_settle(&g);
        assert_waits();
        heal(2);
        assert_moved();
}

static void a_link_that_breaks_during_a_drain_ends_no_unit(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        cut(2);
        assert_waits();
        heal(2);
        assert_moved();
}

static void nobody_waits_longer_than_the_lease(void **state) {
        start_on_2(SERVICE);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_true(runs_on(3));
        heal(2);
        assert_moved();
}

static void what_was_ordered_and_not_answered_may_run(void **state) {
        (void) rig_set_host_mode(&g, 1, CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        rig_host(&g, 2)->deaf = true;
        assert_int_equal(rig_change(&g, START, X, SERVICE)->status, 0);
        (void) rig_set_host_mode(&g, 3, OPEN, 0);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        assert_waits();
        heal(2);
        assert_moved();
}

static void what_has_stopped_and_is_not_begun_again_is_not_waited_for(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true; // its file is still to be removed
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        report(2, 2, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, true);
        assert_waits();
        report(2, 2, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, true);
        assert_true(runs_on(3));
}

static void what_it_removes_may_be_begun_by_what_it_was_told_behind_that(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true;
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, X, NULL)->status, 0);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        assert_int_equal(rig_change(&g, START, X, SERVICE)->status, 0);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 2)->virtual.node);
        (void) rig_set_host_mode(&g, 3, OPEN, 0);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        report(2, 2, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, true); // as of the first removal
        assert_waits();
        heal(2);
        assert_moved();
}

static void what_was_down_before_it_heard_that_it_is_to_go_may_be_starting(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        report(2, 2, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, false);
        assert_waits();
        heal(2);
        assert_moved();
}

static void a_manager_that_cannot_be_asked_has_seen_nothing_end(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        assert_int_equal(rig_change(&g, START, X, FOR_USERS)->status, 0);
        uint32_t there = rig_record(&g, X)->node;
        assert_int_equal(there, rig_host(&g, 2)->virtual.manager_node);
        rig_host_set_manager(&g, 3, "user@1000");
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 3)->virtual.manager_node);
        rig_host_send_reason(&g, 2, "the user is not logged in");
        report(2, there, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, true);
        rig_unit_on(&g, 2, X)->active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE; // the truth
        assert_false(runs_on(3));
        rig_host_send_reason(&g, 2, NULL); // but what runs there was not told yet
        assert_false(runs_on(3));
        heal(2);
        assert_moved();
}

// ------------------------------------------------------------------------------------------------ times

static bool is_seen_on_2(void) {
        return unit_on_node_find(unit_find(g.leader, X), node_find(g.leader, rig_host(&g, 2)->virtual.node));
}

static void what_it_left_behind_is_forgotten_in_time_whatever_becomes_of_the_unit(void **state) {
        start_on_2(FENCED);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        rig_pass_ms(&g, RIG_LEASE_MS + FENCE_MS + RIG_BEAT_MS);
        assert_true(runs_on(3));
        assert_false(is_seen_on_2());
        rig_host(&g, 2)->deaf = false; // back with the unit, and gone before it hears that it is to end
        while (!is_seen_on_2())
                assert_true(rig_turn(&g));
        cut(2);
        assert_true(runs_on(2));
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_RESTART, X, NULL)->status, 0);
        assert_true(is_seen_on_2());
        rig_pass_ms(&g, FENCE_MS);
        assert_false(is_seen_on_2());
        assert_true(runs_on(3));
}

static void a_node_that_it_left_before_does_not_hold_up_the_next_move(void **state) {
        start_on_2(FENCED "NodeLostDelaySec=10\n");
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        cut(3);
        (void) rig_set_host_mode(&g, 1, OPEN, 0);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        cut(2);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 3)->virtual.node);
        rig_pass_ms(&g, 10000 - RIG_LEASE_MS);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 1)->virtual.node);
        assert_false(runs_on(1));
        rig_pass_ms(&g, FENCE_MS - 10000 + RIG_LEASE_MS);
        assert_true(runs_on(1));
}

// ------------------------------------------------------------------------------------------------ leaders

static void a_new_leader_knows_where_a_unit_may_still_run(void **state) {
        start_on_2(SERVICE);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        change_leader();
        assert_waits();
        rig_pass_ms(&g, RIG_LEASE_MS - 2 * RIG_BEAT_MS);
        assert_waits();
        heal(2);
        assert_moved();
}

static void a_new_leader_waits_for_a_silent_host_as_long_as_a_lease(void **state) {
        start_on_2(SERVICE);
        cut(2);
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        change_leader();
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_true(runs_on(3));
}

static void a_new_leader_fences_what_it_has_never_seen(void **state) {
        start_on_2(FENCED);
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        cut(2);
        change_leader();
        rig_pass_ms(&g, RIG_LEASE_MS + FENCE_MS - RIG_BEAT_MS);
        assert_waits();
        assert_string_equal(reason_of(X), "it waits until it has ended on n2, which is lost (CutOff=stop)");
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_true(runs_on(3));
}

static void replace_content(const char *content) {
        RigAnswer *a = rig_change_with(&g, START, X, content, true, NULL);

        rig_settle(&g);
        assert_int_equal(rig_last(a)->change->units[0]->status, 0);
}

// The host never heard of the content whose guard is quick.
static void what_may_run_with_a_content_from_before_has_that_one_s_guard(void **state) {
        start_on_2(FENCED);
        cut(2);
        replace_content(QUICKLY_FENCED);
        change_leader();
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        rig_pass_ms(&g, FENCE_MS - 2 * RIG_BEAT_MS);
        assert_false(runs_on(3));
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_true(runs_on(3));
}

static void what_has_taken_up_the_next_content_has_its_guard(void **state) {
        start_on_2(FENCED);
        replace_content(QUICKLY_FENCED);
        cut(2);
        rig_pass_ms(&g, RIG_LEASE_MS + QUICK_FENCE_MS + 2 * RIG_BEAT_MS);
        assert_true(runs_on(3));
}

static void what_was_unloaded_from_a_silent_host_is_not_forgotten_by_the_next_leader(void **state) {
        start_on_2(SERVICE);
        cut(2);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, X, NULL)->status, 0);
        change_leader();
        (void) rig_set_host_mode(&g, 2, CORDONED, 0);
        assert_int_equal(rig_change(&g, START, X, NULL)->status, 0);
        assert_waits();
        heal(2);
        assert_moved();
}

static void what_lost_its_node_at_a_deadline_is_fenced_too(void **state) {
        start_on_2(FENCED);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 2);
        rig_age(&g, 3 * USEC_PER_SEC);
        rig_pass_ms(&g, 3000);
        assert_int_equal(rig_record(&g, X)->node, 0);
        cut(2);
        rig_pass_ms(&g, RIG_LEASE_MS);
        (void) rig_set_host_mode(&g, 3, OPEN, 0);
        assert_waits();
        rig_pass_ms(&g, FENCE_MS);
        assert_true(runs_on(3));
}

static void a_silent_host_delays_nothing_that_was_never_there(void **state) {
        start_on_2(SERVICE);
        cut(2);
        change_leader();
        assert_int_equal(rig_change(&g, START, "new.service", SERVICE)->status, 0);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
}

static void a_record_forgets_the_nodes_that_have_let_go(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true;
        (void) rig_set_host_mode(&g, 2, DRAINING, 0);
        assert_int_equal(rig_record(&g, X)->n_left, 1);
        assert_int_equal(rig_record(&g, X)->left[0], rig_host(&g, 2)->virtual.node);
        heal(2);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_RESTART, X, NULL)->status, 0);
        assert_int_equal(rig_record(&g, X)->n_left, 0);
}

// -------------------------------------------------------------------------------------- what was everywhere

// x.service on all three, and from now on on host 2 alone, which the others have not heard.
static void place_what_is_everywhere_as(const char *content) {
        (void) rig_set_host_mode(&g, 1, CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        rig_host(&g, 1)->deaf = rig_host(&g, 3)->deaf = true;
        RigAnswer *placed = rig_change_with_and_settle(&g, START, X, content, true, NULL);
        assert_int_equal(rig_change_answered(placed)->units[0]->status, 0);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 2)->virtual.node);
}

static void place_what_is_everywhere(void) {
        place_what_is_everywhere_as(SERVICE);
}

static void what_ran_everywhere_begins_anew_when_it_has_ended_elsewhere(void **state) {
        assert_int_equal(rig_change(&g, START, X, EVERYWHERE)->status, 0);
        place_what_is_everywhere();
        const VirtualUnit *u = rig_unit_on(&g, 2, X);
        assert_true(runs_on(2) && runs_on(1) && runs_on(3));
        assert_int_equal(u->restarts, 0); // it runs on as it was
        assert_non_null(strstr(reason_of(X), "it waits until it has ended on n"));
        heal(1);
        assert_int_equal(u->restarts, 0);
        heal(3);
        assert_int_equal(u->restarts, 1);
        assert_true(runs_on(2) && !runs_on(1) && !runs_on(3));
}

static void what_waits_to_begin_anew_runs_on_when_its_host_comes_back(void **state) {
        assert_int_equal(rig_change(&g, START, X, EVERYWHERE)->status, 0);
        place_what_is_everywhere();
        cut(2);
        heal(2);
        const VirtualUnit *u = rig_unit_on(&g, 2, X);
        assert_true(runs_on(2));
        assert_true(u->starts == 1 && u->restarts == 0);
        heal(1);
        heal(3);
        assert_true(runs_on(2) && u->starts == 1 && u->restarts == 1);
}

// A start behind a stop that is under way is one more run.
static void what_is_being_stopped_begins_anew_when_it_has_ended_elsewhere(void **state) {
        assert_int_equal(rig_change(&g, START, X, EVERYWHERE)->status, 0);
        place_what_is_everywhere();
        g.stop_ms = 500;
        (void) rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_STOP, X, NULL, false, NULL);
        assert_int_equal(rig_unit_on(&g, 2, X)->active, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING);
        (void) rig_change_with(&g, START, X, NULL, false, NULL);
        rig_pass_ms(&g, 1000);
        assert_false(runs_on(2));
        g.stop_ms = 0;
        heal(1);
        heal(3);
        assert_true(runs_on(2) && !runs_on(1) && !runs_on(3));
}

// It is down for a reason of its own meanwhile, and not begun again.
static void what_waits_to_begin_anew_ends_with_what_it_is_bound_to(void **state) {
        assert_int_equal(rig_change(&g, START, "b.service", SERVICE "[X-Argosy]\nHost=n2\n")->status, 0);
        assert_int_equal(rig_change(&g, START, X, EVERYWHERE "BindsTo=b.service\n")->status, 0);
        place_what_is_everywhere_as(SERVICE "[X-Argosy]\nBindsTo=b.service\n");
        assert_true(runs_on(2));
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "b.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_false(runs_on(2));
        heal(1);
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "b.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        assert_false(runs_on(2));
        heal(3);
        assert_true(runs_on(2) && !runs_on(1) && !runs_on(3));
}

static void what_a_node_refused_waits_there_like_any_other(void **state) {
        rig_host(&g, 2)->refuses = true;
        assert_int_equal(rig_change(&g, START, X, EVERYWHERE)->status, 0);
        rig_host(&g, 2)->refuses = false;
        place_what_is_everywhere();
        assert_false(runs_on(2));
        heal(1);
        assert_false(runs_on(2));
        heal(3);
        assert_true(runs_on(2) && !runs_on(1) && !runs_on(3));
}

static void a_record_names_where_it_is_about_to_be_ordered(void **state) {
        (void) rig_change_with(&g, START, X, EVERYWHERE, false, NULL);
        (void) rig_change_with_and_settle(&g, START, X, SERVICE, true, NULL);
        assert_false(rig_record(&g, X)->global);
        assert_int_equal(rig_record(&g, X)->n_left, 2);
}

#define BUT_WITH_Y SERVICE "[X-Argosy]\nConflicts=y.service\n"

static bool has_left(uint32_t host) {
        const Argosy__UnitRecord *r = rig_record(&g, X);

        for (size_t i = 0; i < r->n_left; i++)
                if (r->left[i] == rig_host(&g, host)->virtual.node)
                        return true;
        return false;
}

// The next content gives way to who is there; the one that runs there does not.
static void a_record_names_where_the_next_content_could_not_be(void **state) {
        (void) rig_change(&g, START, "y.service", SERVICE "[X-Argosy]\nHost=n3\n");
        (void) rig_change(&g, START, X, EVERYWHERE);
        assert_true(runs_on(3));
        cut(3);
        change_leader();
        (void) rig_change_with_and_settle(&g, START, X, BUT_WITH_Y, true, NULL);
        assert_false(rig_record(&g, X)->global);
        assert_true(has_left(3));
        assert_false(runs_on(1) && runs_on(2));
}

static void a_record_names_where_it_is_to_be_ordered_though_its_next_content_is_not(void **state) {
        (void) rig_change(&g, START, "y.service", SERVICE "[X-Argosy]\nHost=n3\n");
        (void) rig_change_with(&g, START, X, EVERYWHERE, false, NULL);
        (void) rig_change_with_and_settle(&g, START, X, BUT_WITH_Y, true, NULL);
        assert_false(rig_record(&g, X)->global);
        assert_true(has_left(3));
}

#define EVERYWHERE_BUT_3 SERVICE "[X-Argosy]\nGlobal=yes\nHost=n1\nHost=n2\n"

// Everywhere, and host 3 runs it and is not heard by the leader that there is now.
static void run_everywhere_unheard(void) {
        (void) rig_change(&g, START, X, EVERYWHERE);
        assert_true(runs_on(3));
        cut(3);
        change_leader();
}

static bool waits_for_3(void) {
        const RigAnswer *a = ask_why(X);

        for (size_t i = 0; i < a->n; i++) // one of each node
                if (a->responses[i]->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY &&
                    streq(a->responses[i]->status_reply->why,
                          "it waits until it has ended on n3, which is not heard at present"))
                        return true;
        return false;
}

static void assert_waits_for_3(void) {
        change_leader();
        (void) rig_change_with_and_settle(&g, START, X, SERVICE, true, NULL);
        assert_false(rig_record(&g, X)->global);
        assert_true(waits_for_3());
        heal(3);
        assert_true(runs_on(1) + runs_on(2) + runs_on(3) == 1);
}

static void a_content_for_fewer_nodes_names_the_others(void **state) {
        run_everywhere_unheard();
        (void) rig_change_with_and_settle(&g, START, X, EVERYWHERE_BUT_3, true, NULL);
        assert_true(rig_record(&g, X)->global && has_left(3) && !has_left(1) && !has_left(2));
        assert_waits_for_3();
}

// The log has that content already.
static void a_content_of_another_unit_for_fewer_nodes_names_the_others(void **state) {
        (void) rig_change(&g, ARGOSY__VERB__VERB_LOAD, "y.service", EVERYWHERE_BUT_3);
        run_everywhere_unheard();
        (void) rig_change_with_and_settle(&g, START, X, EVERYWHERE_BUT_3, true, NULL);
        assert_true(has_left(3) && !has_left(1) && !has_left(2));
        assert_waits_for_3();
}

static void a_content_for_the_same_nodes_names_none(void **state) {
        uint64_t revision;

        run_everywhere_unheard();
        revision = rig_record(&g, X)->revision;
        (void) rig_change_with_and_settle(&g, START, X, SERVICE "Nice=1\n[X-Argosy]\nGlobal=yes\n", true,
                                          NULL);
        assert_true(rig_record(&g, X)->revision > revision && rig_record(&g, X)->n_left == 0);
}

// A leader that dies behind the first of two entries would have forgotten it.
static void a_content_for_fewer_nodes_names_those_that_are_heard_in_the_same_entry(void **state) {
        unsigned batches;

        (void) rig_change(&g, START, X, EVERYWHERE);
        batches = g.batches;
        rig_host(&g, 3)->deaf = true;
        (void) rig_change_as_job(&g, START, X, EVERYWHERE_BUT_3);
        assert_int_equal(g.batches, batches + 1);
        assert_true(has_left(3));
        rig_settle(&g);
        assert_int_equal(cluster_state_n_tombstones(g.state), 0);
}

static void a_content_for_fewer_nodes_names_where_it_is_about_to_be_ordered(void **state) {
        (void) rig_change_with(&g, START, X, EVERYWHERE, false, NULL);
        (void) rig_change_with_and_settle(&g, START, X, EVERYWHERE_BUT_3, true, NULL);
        assert_true(rig_record(&g, X)->global && has_left(3));
}

static void who_came_to_a_node_does_not_hide_what_ran_there(void **state) {
        (void) rig_change(&g, START, X, EVERYWHERE "Conflicts=y.service\n");
        assert_true(runs_on(3));
        cut(3);
        change_leader();
        (void) rig_change_with_and_settle(&g, START, "y.service", SERVICE "[X-Argosy]\nHost=n3\n", false,
                                          NULL);
        (void) rig_change_with_and_settle(&g, START, X, EVERYWHERE_BUT_3, true, NULL);
        assert_true(has_left(3));
        assert_waits_for_3();
}

static void maintenance_of_a_node_does_not_hide_what_ran_there(void **state) {
        run_everywhere_unheard();
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0);
        assert_non_null(cluster_state_find_tombstone(g.state, X, rig_host(&g, 3)->virtual.node));
        assert_waits_for_3();
}

static void set_pool(unsigned n_hosts) {
        char *hosts[] = {(char *) "n1", (char *) "n2", (char *) "n3"};
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) "fast", .hosts = hosts, .n_hosts = n_hosts,
                           .remove = n_hosts == 0);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(POOL_CHANGE, pool_change, &change)))->status, 0);
}

static bool has_tombstone(uint32_t host) {
        return cluster_state_find_tombstone(g.state, X, rig_host(&g, host)->virtual.node);
}

static void run_in_pool_unheard(const char *pool) {
        char content[256];

        (void) snprintf(content, sizeof(content), EVERYWHERE "%s\n", pool);
        assert_int_equal(rig_change(&g, START, X, content)->status, 0);
        assert_true(runs_on(1) && runs_on(3));
        cut(3);
        change_leader();
}

static void a_smaller_pool_does_not_hide_what_ran_there(void **state) {
        set_pool(3);
        run_in_pool_unheard("Pool=fast");
        set_pool(2);
        assert_true(has_tombstone(3) && !has_tombstone(1));
        assert_waits_for_3();
}

static void a_pool_that_is_removed_does_not_hide_what_ran_there(void **state) {
        set_pool(3);
        run_in_pool_unheard("Pool=fast");
        set_pool(0);
        assert_true(has_tombstone(3));
        assert_false(runs_on(1));
        assert_waits_for_3();
}

static void a_new_pool_does_not_hide_what_ran_there(void **state) {
        run_in_pool_unheard("RequireLabel=pool!=fast");
        set_pool(3);
        assert_true(has_tombstone(3));
        assert_waits_for_3();
}

RUN_TESTS(
        RIG_TEST(a_smaller_pool_does_not_hide_what_ran_there),
        RIG_TEST(a_pool_that_is_removed_does_not_hide_what_ran_there),
        RIG_TEST(a_new_pool_does_not_hide_what_ran_there),
        RIG_TEST(a_content_for_fewer_nodes_names_the_others),
        RIG_TEST(a_content_of_another_unit_for_fewer_nodes_names_the_others),
        RIG_TEST(a_content_for_the_same_nodes_names_none),
        RIG_TEST(a_content_for_fewer_nodes_names_those_that_are_heard_in_the_same_entry),
        RIG_TEST(a_content_for_fewer_nodes_names_where_it_is_about_to_be_ordered),
        RIG_TEST(who_came_to_a_node_does_not_hide_what_ran_there),
        RIG_TEST(maintenance_of_a_node_does_not_hide_what_ran_there),
        RIG_TEST(a_record_names_where_the_next_content_could_not_be),
        RIG_TEST(a_record_names_where_it_is_to_be_ordered_though_its_next_content_is_not),
        RIG_TEST(a_link_that_is_down_for_a_moment_ends_no_unit),
        RIG_TEST(a_link_that_breaks_during_a_drain_ends_no_unit),
        RIG_TEST(what_an_attach_has_not_come_to_has_not_ended),
        RIG_TEST(nobody_waits_longer_than_the_lease),
        RIG_TEST(what_was_ordered_and_not_answered_may_run),
        RIG_TEST(what_has_stopped_and_is_not_begun_again_is_not_waited_for),
        RIG_TEST(what_it_removes_may_be_begun_by_what_it_was_told_behind_that),
        RIG_TEST(what_was_down_before_it_heard_that_it_is_to_go_may_be_starting),
        RIG_TEST(a_manager_that_cannot_be_asked_has_seen_nothing_end),
        RIG_TEST(what_it_left_behind_is_forgotten_in_time_whatever_becomes_of_the_unit),
        RIG_TEST(a_node_that_it_left_before_does_not_hold_up_the_next_move),
        RIG_TEST(a_new_leader_knows_where_a_unit_may_still_run),
        RIG_TEST(a_new_leader_waits_for_a_silent_host_as_long_as_a_lease),
        RIG_TEST(a_new_leader_fences_what_it_has_never_seen),
        RIG_TEST(what_may_run_with_a_content_from_before_has_that_one_s_guard),
        RIG_TEST(what_has_taken_up_the_next_content_has_its_guard),
        RIG_TEST(what_was_unloaded_from_a_silent_host_is_not_forgotten_by_the_next_leader),
        RIG_TEST(what_lost_its_node_at_a_deadline_is_fenced_too),
        RIG_TEST(a_silent_host_delays_nothing_that_was_never_there),
        RIG_TEST(a_record_forgets_the_nodes_that_have_let_go),
        RIG_TEST(what_ran_everywhere_begins_anew_when_it_has_ended_elsewhere),
        RIG_TEST(what_is_being_stopped_begins_anew_when_it_has_ended_elsewhere),
        RIG_TEST(what_waits_to_begin_anew_runs_on_when_its_host_comes_back),
        RIG_TEST(what_waits_to_begin_anew_ends_with_what_it_is_bound_to),
        RIG_TEST(what_a_node_refused_waits_there_like_any_other),
        RIG_TEST(a_record_names_where_it_is_about_to_be_ordered)
)
