// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Replaces= within MaxUnavailable=: who is replaced leaves as its group allows, and who replaces it begins
// when that has happened; under any leader, and whatever becomes of either meanwhile.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OLD SERVICE "[X-Argosy]\nHost=n2 n3\nMaxUnavailable=1\n"
#define HERE SERVICE "[X-Argosy]\nHost=n2\nMaxUnavailable=1\n"
#define NEW SERVICE "[X-Argosy]\nHost=n2\nReplaces=old@*\n"
#define START ARGOSY__VERB__VERB_START
#define OPEN ARGOSY__NODE_MODE__MODE_OPEN
#define CORDONED ARGOSY__NODE_MODE__MODE_CORDONED

enum { START_MS = 1000, STEP_MS = 250 };

RIG_OF(3)

static uint64_t start(const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, name, content);

        assert_int_equal(r->status, 0);
        return r->revision;
}

static const char *why(const char *name) {
        return rig_why(&g, name)->status_reply->why;
}

static unsigned count_old(void) {
        static const char *const names[] = {"old@1.service", "old@2.service", "old@3.service",
                                            "old@4.service"};
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                n += rig_count_running(&g, names[i]);
        return n;
}

// The instances from `first` to `last` run on this host.
static void start_old_on(uint32_t host, unsigned first, unsigned last, const char *content) {
        for (uint32_t h = 1; h <= g.n_hosts; h++)
                (void) rig_set_host_mode(&g, h, h == host ? OPEN : CORDONED, 0);
        for (unsigned i = first; i <= last; i++) {
                _cleanup_free_ char *name = str_printf("old@%u.service", i);

                (void) start(name, content);
                assert_int_equal(rig_host_of(&g, name), host);
        }
        for (uint32_t h = 1; h <= g.n_hosts; h++)
                (void) rig_set_host_mode(&g, h, OPEN, 0);
}

// How few of the old ones run at any time from now on.
static unsigned least_old_in(unsigned steps) {
        unsigned least = count_old();

        for (unsigned i = 0; i < steps; i++) {
                rig_pass_ms(&g, STEP_MS);
                least = MIN_OF(least, count_old());
        }
        return least;
}

// Three on n2, where the new one is to run; from now on a start takes its time.
static uint64_t replace_three(void) {
        start_old_on(2, 1, 3, OLD);
        assert_int_equal(count_old(), 3);
        g.start_ms = START_MS;
        uint64_t revision = start("new.service", NEW);
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(count_old(), 2);
        return revision;
}

static void assert_all_replaced(void) {
        assert_int_equal(rig_host_of(&g, "old@1.service"), 3);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 3);
        assert_int_equal(rig_host_of(&g, "old@3.service"), 3);
        assert_int_equal(count_old(), 3);
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
}

static void the_replaced_leave_as_their_group_allows(void **state) {
        (void) replace_three();
        assert_null(rig_unit_on(&g, 2, "new.service"));
        assert_int_equal(rig_host_of(&g, "old@1.service"), 3);
        assert_string_equal(why("new.service"),
                            "waiting until old@2.service, which it replaces, has left n2: "
                            "1 of its group are down, MaxUnavailable=1");
        assert_string_equal(why("old@3.service"),
                            "it is to leave its node, where new.service replaces it, and waits: "
                            "1 of its group are down already, MaxUnavailable=1");
        assert_int_equal(least_old_in(24), 2);
        assert_all_replaced();
        assert_string_equal(why("new.service"), "");
}

static void under_a_new_leader_they_do_so_as_well(void **state) {
        unsigned least = 3;

        (void) replace_three();
        for (unsigned i = 0; i < 8; i++) {
                rig_depose(&g);
                rig_host(&g, 2)->deaf = i % 2; // the others are heard first: what it runs is not down
                rig_elect(&g);
                rig_host(&g, 2)->deaf = false;
                least = MIN_OF(least, least_old_in(1));
                assert_true(rig_host_of(&g, "old@3.service") == 3 || !rig_unit_on(&g, 2, "new.service"));
        }
        least = MIN_OF(least, least_old_in(24));
        assert_int_equal(least, 2);
        assert_all_replaced();
}

static void the_replacer_begins_when_the_last_one_is_destroyed(void **state) {
        (void) replace_three();
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "old@2.service", NULL);
        assert_null(rig_unit_on(&g, 2, "new.service"));
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "old@3.service", NULL);
        assert_non_null(rig_unit_on(&g, 2, "new.service"));
        assert_int_equal(rig_host_of(&g, "old@1.service"), 3);
}

static void when_the_replacer_is_destroyed_the_others_stay(void **state) {
        (void) replace_three();
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "new.service", NULL);
        assert_int_equal(unit_find(g.leader, "old@2.service")->life, LIFE_RESIDENT);
        assert_int_equal(unit_find(g.leader, "old@3.service")->life, LIFE_RESIDENT);
        assert_string_equal(why("old@2.service"), "");
        assert_int_equal(least_old_in(24), 2);
        assert_int_equal(count_old(), 3);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 2);
        assert_int_equal(rig_host_of(&g, "old@3.service"), 2);
}

static void when_it_does_not_replace_them_any_more_it_begins_and_they_stay(void **state) {
        (void) replace_three();
        (void) rig_change_with_and_settle(&g, START, "new.service", SERVICE "[X-Argosy]\nHost=n2\n", true,
                                          NULL);
        assert_non_null(rig_unit_on(&g, 2, "new.service"));
        (void) least_old_in(24);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 2);
        assert_int_equal(rig_host_of(&g, "old@3.service"), 2);
        assert_int_equal(count_old(), 3);
}

// In which order they came the next leader does not know.
static void of_several_the_first_by_name_is_named(void **state) {
        static const char words[] = "it is to leave its node, where more.service replaces it, and waits: "
                                    "1 of its group are down already, MaxUnavailable=1";

        (void) replace_three();
        (void) start("more.service", NEW);
        assert_string_equal(why("old@3.service"), words);
        rig_elect_anew(&g);
        assert_string_equal(why("old@3.service"), words);
}

static void two_replacers_share_the_budget_of_a_group(void **state) {
        start_old_on(2, 1, 2, SERVICE "[X-Argosy]\nMaxUnavailable=1\n");
        start_old_on(3, 3, 4, SERVICE "[X-Argosy]\nMaxUnavailable=1\n");
        g.start_ms = START_MS;
        (void) start("new.service", NEW);
        (void) start("newer.service", SERVICE "[X-Argosy]\nHost=n3\nReplaces=old@*\n");
        assert_int_equal(least_old_in(60), 3);
        assert_int_equal(count_old(), 4);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count, 4);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        assert_int_equal(rig_count_running(&g, "newer.service"), 1);
}

// It is up as it was, and has only not said yet that it heard of it.
static void who_is_started_again_does_not_leave_for_it(void **state) {
        (void) replace_three();
        (void) start("old@2.service", NULL);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 2);
        assert_int_equal(count_old(), 2);
        assert_int_equal(least_old_in(24), 2);
        assert_all_replaced();
}

// ---- who waits for it

static void who_waits_for_the_start_waits_as_long_as_somebody_is_on_the_way(void **state) {
        uint64_t revision = replace_three();
        RigAnswer *a = rig_wait(&g, START, "new.service", revision);

        assert_false(a->final);
        (void) least_old_in(24);
        assert_true(a->final);
        assert_int_equal(rig_last(a)->progress->done[0]->status, 0);
}

// The first has nowhere to go and stays down, so the second cannot leave.
static void who_waits_for_what_cannot_begin_is_told_why(void **state) {
        start_old_on(2, 1, 2, HERE);
        uint64_t revision = start("new.service", NEW);
        RigAnswer *a = rig_wait(&g, START, "new.service", revision);
        assert_true(a->final);
        const Argosy__Response__UnitResult *result = rig_last(a)->progress->done[0];
        assert_int_equal(result->status, EAGAIN);
        assert_string_equal(result->message, "waiting until old@2.service, which it replaces, has left n2: "
                                             "1 of its group are down, MaxUnavailable=1");
        assert_int_equal(count_old(), 1);
        // it is not down any more, but not wanted
        rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "old@1.service", NULL);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 0);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        a = rig_wait(&g, START, "new.service", revision);
        assert_int_equal(rig_last(a)->progress->done[0]->status, 0);
}

// It is on its way when the wait begins, and fails while somebody waits.
static void who_waits_hears_that_the_last_one_on_its_way_has_failed(void **state) {
        uint64_t revision = replace_three();
        RigAnswer *a = rig_wait(&g, START, "new.service", revision);

        assert_false(a->final);
        virtual_host_settle(&rig_host(&g, 3)->virtual, rig_unit_on(&g, 3, "old@1.service"));
        rig_host_report_and_settle(&g, rig_host(&g, 3), rig_unit_on(&g, 3, "old@1.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_true(a->final);
        assert_int_equal(rig_last(a)->progress->done[0]->status, EAGAIN);
        assert_int_equal(count_old(), 2);
}

// It was on its way before anybody waited, when nobody counted those that are, and is not looked at since.
static void who_waits_is_told_nothing_before_it_is_known_who_is_on_the_way(void **state) {
        start_old_on(2, 1, 2, OLD);
        start_old_on(3, 4, 4, OLD);
        g.start_ms = START_MS;
        rig_change(&g, ARGOSY__VERB__VERB_RESTART, "old@4.service", NULL);
        uint64_t revision = start("new.service", NEW);
        RigAnswer *a = rig_wait(&g, START, "new.service", revision);

        assert_false(a->final);
        (void) least_old_in(24);
        assert_true(a->final);
        assert_int_equal(rig_last(a)->progress->done[0]->status, 0);
}

static void it_can_be_stopped_and_started_again_while_it_waits(void **state) {
        uint64_t revision;

        (void) replace_three();
        revision = rig_change(&g, ARGOSY__VERB__VERB_STOP, "new.service", NULL)->revision;
        RigAnswer *a = rig_wait(&g, ARGOSY__VERB__VERB_STOP, "new.service", revision);
        assert_true(a->final);
        assert_int_equal(rig_last(a)->progress->done[0]->status, 0);
        assert_int_equal(rig_unit_on(&g, 2, "new.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        (void) start("new.service", NULL);
        rig_depose(&g); // what is there and has to wait stays there, also with a Welcome
        rig_elect(&g);
        assert_int_equal(rig_unit_on(&g, 2, "new.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_int_equal(rig_unit_on(&g, 2, "new.service")->starts, 0);
        assert_int_equal(least_old_in(24), 2);
        assert_all_replaced();
}

// ---- others

static void who_preempts_and_replaces_waits_for_both(void **state) {
        unsigned least;

        (void) rig_label(&g, "n2", "offers/slot", "1");
        (void) start("low.service", SERVICE "[X-Argosy]\nPriority=-5\nReserveResource=slot\n");
        start_old_on(2, 1, 2, OLD);
        g.start_ms = START_MS;
        (void) start("new.service", NEW "Priority=10\nReserveResource=slot\n");
        assert_int_equal(rig_host_of(&g, "new.service"), 2);
        assert_int_equal(rig_host_of(&g, "low.service"), 0);
        assert_null(rig_unit_on(&g, 2, "new.service"));
        assert_int_equal(count_old(), 1);
        least = least_old_in(24);
        assert_int_equal(least, 1);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        assert_int_equal(rig_count_running(&g, "low.service"), 0);
        assert_int_equal(count_old(), 2);
}

static void a_unit_that_runs_goes_on_beside_those_that_it_begins_to_replace(void **state) {
        start_old_on(2, 1, 3, OLD);
        (void) start("new.service", SERVICE "[X-Argosy]\nHost=n2\n");
        g.start_ms = START_MS;
        (void) rig_change_with_and_settle(&g, START, "new.service", NEW, true, NULL);
        assert_int_equal(rig_unit_on(&g, 2, "new.service")->restarts, 1);
        assert_int_equal(least_old_in(24), 2);
        assert_all_replaced();
}

// As long as the new one is down the old one cannot leave.
static void an_instance_begins_beside_those_of_its_own_group(void **state) {
        start_old_on(2, 1, 1, OLD);
        g.start_ms = START_MS;
        (void) start("old@2.service",
                     SERVICE "[X-Argosy]\nHost=n2\nMaxUnavailable=1\nReplaces=old@1.service\n");
        assert_int_equal(rig_host_of(&g, "old@2.service"), 2);
        assert_non_null(rig_unit_on(&g, 2, "old@2.service"));
        assert_int_equal(least_old_in(24), 1);
        assert_int_equal(rig_host_of(&g, "old@1.service"), 3);
        assert_int_equal(count_old(), 2);
}

static void a_node_that_is_lost_holds_nobody(void **state) {
        (void) replace_three();
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        assert_int_equal(rig_host_of(&g, "old@2.service"), 3);
        assert_int_equal(rig_host_of(&g, "old@3.service"), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(the_replaced_leave_as_their_group_allows),
        TEST(under_a_new_leader_they_do_so_as_well),
        TEST(the_replacer_begins_when_the_last_one_is_destroyed),
        TEST(when_the_replacer_is_destroyed_the_others_stay),
        TEST(when_it_does_not_replace_them_any_more_it_begins_and_they_stay),
        TEST(of_several_the_first_by_name_is_named),
        TEST(two_replacers_share_the_budget_of_a_group),
        TEST(who_is_started_again_does_not_leave_for_it),
        TEST(who_waits_for_the_start_waits_as_long_as_somebody_is_on_the_way),
        TEST(who_waits_for_what_cannot_begin_is_told_why),
        TEST(who_waits_hears_that_the_last_one_on_its_way_has_failed),
        TEST(who_waits_is_told_nothing_before_it_is_known_who_is_on_the_way),
        TEST(it_can_be_stopped_and_started_again_while_it_waits),
        TEST(who_preempts_and_replaces_waits_for_both),
        TEST(a_unit_that_runs_goes_on_beside_those_that_it_begins_to_replace),
        TEST(an_instance_begins_beside_those_of_its_own_group),
        TEST(a_node_that_is_lost_holds_nobody)
)
