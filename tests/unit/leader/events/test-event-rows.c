// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What nodes say of units, as the stream tells it: one row for what one node says, however many nodes the
// unit is on; unknown as soon as its host is not heard; and nothing again that is as it was.
#include <errno.h>
#include <stdio.h>

#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "event-stream.h"
#include "messages.h"
#include "printed.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "unit-on-node.h"
#include "walks.h"

enum { MANY = 200 };

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define EVERYWHERE SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
}

FIXTURE(setup_many) {
        rig_start(&g, MANY);
}

RIG_TEARDOWN

static void from_now(Asked *a) {
        *a = (Asked){.from_now = true};
        assert_true(asked_pull(&g, a));
}

static void tell_all(Asked *a) {
        while (asked_pull(&g, a)) {
        }
}

// The newest of what has come of the unit on that node, or NULL.
static const Argosy__Event *state_of(const Asked *a, const char *unit, const char *node) {
        for (size_t i = a->n; i > 0; i--) {
                const Argosy__Event *e = a->events[i - 1];

                if (e->kind == ARGOSY__EVENT_KIND__EVENT_STATE && streq(event_value(e, 0), unit) &&
                    streq(event_value(e, 1), node))
                        return e;
        }
        return NULL;
}

static size_t count_states(const Asked *a) {
        size_t n = 0;

        for (size_t i = 0; i < a->n; i++)
                n += a->events[i]->kind == ARGOSY__EVENT_KIND__EVENT_STATE;
        return n;
}

// Its link is lost, and nobody has missed a beat yet.
static void cut_off(uint32_t host) {
        rig_host(&g, host)->up = rig_host(&g, host)->linked = false;
        rig_settle(&g);
}

// Only this one is a place for units.
static void leave_one_open(const char *name) {
        static const char *const nodes[] = {"n1", "n2", "n3"};

        for (size_t i = 0; i < ELEMENTSOF(nodes); i++)
                if (!streq(nodes[i], name))
                        (void) rig_set_mode(&g, nodes[i], ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
}

// -------------------------------------------------------------------------------------------- what it costs

static void what_one_node_says_of_a_unit_on_all_nodes_is_one_row(void **state) {
        Asked a;

        rig_change(&g, START, "all.service", EVERYWHERE);
        assert_int_equal(rig_count_running(&g, "all.service"), MANY);
        from_now(&a);
        uint64_t rows = g.leader->events->n_rows;
        rig_host_report(&g, rig_host(&g, 7), rig_unit_on(&g, 7, "all.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(state_of(&a, "all.service", "n7"), "active"), "failed");
        assert_int_equal(count_states(&a), 1);
        rig_settle(&g);
        assert_true(g.leader->events->n_rows - rows <= 2);
        asked_forget(&a);
}

static void a_host_that_attaches_anew_costs_its_own_rows(void **state) {
        enum { UNITS = 3 };
        Asked a;

        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, START, printed("all-%u.service", i), EVERYWHERE);
        }
        from_now(&a);
        tell_all(&a);
        uint64_t rows = g.leader->events->n_rows;
        rig_host(&g, 7)->attached = false;
        rig_settle(&g);
        tell_all(&a);
        assert_true(g.leader->events->n_rows - rows <= 4 * UNITS);
        asked_forget(&a);
}

static void another_unit_on_all_nodes_costs_no_rows_of_the_others(void **state) {
        enum { UNITS = 8 };
        Asked a;

        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, START, printed("all-%u.service", i), EVERYWHERE);
        }
        from_now(&a);
        uint64_t rows = g.leader->events->n_rows;
        rig_change(&g, START, "another.service", EVERYWHERE);
        assert_true(g.leader->events->n_rows - rows >= MANY);
        assert_true(g.leader->events->n_rows - rows <= UNITS / 2 * MANY);
        asked_forget(&a);
}

// So many that they are told in several turns, and each of them all the same.
static void all_nodes_are_told_of_when_the_unit_goes_from_all(void **state) {
        size_t n = 0;
        Asked a;

        rig_change(&g, START, "all.service", EVERYWHERE);
        from_now(&a);
        a.max_bytes = 4096;
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "all.service", NULL);
        for (; asked_pull(&g, &a); assert_true(a.packed <= a.max_bytes)) // many small ones
                for (size_t i = 0; i < a.n; i++)
                        n += a.events[i]->kind == ARGOSY__EVENT_KIND__EVENT_STATE && a.events[i]->gone;
        assert_int_equal(n, MANY);
        asked_forget(&a);
}

enum { GOING = 600 }; // so many that they are told to be gone in several turns

static unsigned n_asked;

// While there are some that nobody was told of yet.
static void ask_about_the_gone(Rig *rig) {
        Argosy__Request__Wait__Item items[GOING], *pointers[GOING];
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request request = REQUEST_OF(WAIT, wait, &wait);
        char names[GOING][32];

        for (unsigned i = 0; i < GOING; i++) {
                snprintf(names[i], sizeof(names[i]), "many@%u.service", i);
                items[i] = (Argosy__Request__Wait__Item) MESSAGE_OF(request__wait__item, .name = names[i]);
                if (!unit_find(g.leader, names[i]))
                        pointers[wait.n_items++] = &items[i];
        }
        if (wait.n_items == 0 || mark_queue_length(&g.leader->event_news.due) == 0)
                return;
        wait.verb = ARGOSY__VERB__VERB_DESTROY;
        wait.items = pointers;
        rig_ask(rig, &request);
        n_asked++;
}

static void units_that_somebody_asks_about_as_they_go_are_told_to_be_gone(void **state) {
        unsigned gone = 0;
        Asked a;

        leave_one_open("n2");
        rig_change_many(&g, START, "many", GOING, SERVICE);
        from_now(&a);
        a.kind = ARGOSY__EVENT_KIND__EVENT_UNIT;
        a.max_bytes = 4096;
        cut_off(2);
        rig_change_many(&g, ARGOSY__VERB__VERB_DESTROY, "many", GOING, NULL);
        n_asked = 0;
        g.on_turn = ask_about_the_gone;
        rig_host_on(&g, 2, true); // nothing is left of them, all at once
        g.on_turn = NULL;
        assert_true(n_asked > 0);
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++)
                        gone += a.events[i]->gone;
        assert_int_equal(gone, GOING);
        asked_forget(&a);
}

// Its name is still asked about: another unit is to be where it is.
static void a_unit_that_others_name_is_told_to_be_gone(void **state) {
        Asked a;

        rig_change(&g, START, "web.service", SERVICE);
        rig_change(&g, START, "mate.service", SERVICE "[X-Argosy]\nSameNodeAs=web.service\n");
        from_now(&a);
        a.kind = ARGOSY__EVENT_KIND__EVENT_UNIT;
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        rig_settle(&g);
        assert_non_null(unit_find(g.leader, "web.service"));
        assert_true(asked_pull(&g, &a));
        assert_true(asked_find(&a, a.kind, "web.service")->gone);
        asked_forget(&a);
}

enum { AGAIN = 7 };

static void change_each(Argosy__Verb verb, const char *content) {
        for (unsigned i = 0; i < AGAIN; i++) {
                (void) rig_change_with(&g, verb, printed("again%u.service", i), content, false, NULL);
        }
}

// They are made, told of, and destroyed; and after so many turns made and destroyed again. How many whoever
// watches does not know any more in the end.
static unsigned count_gone(Asked *a, unsigned turns) {
        bool gone[AGAIN] = {};
        unsigned n = 0, number;

        change_each(ARGOSY__VERB__VERB_SUBMIT, SERVICE);
        rig_settle(&g);
        tell_all(a);
        change_each(ARGOSY__VERB__VERB_DESTROY, NULL);
        rig_turns(&g, 1);
        change_each(ARGOSY__VERB__VERB_SUBMIT, SERVICE);
        rig_turns(&g, turns);
        change_each(ARGOSY__VERB__VERB_DESTROY, NULL);
        rig_settle(&g);
        while (asked_pull(&g, a))
                for (size_t i = 0; i < a->n; i++)
                        if (sscanf(event_value(a->events[i], 0), "again%u.service", &number) == 1)
                                gone[number] = a->events[i]->gone;
        for (unsigned i = 0; i < AGAIN; i++)
                n += gone[i];
        return n;
}

// They are made and destroyed again faster than watchers are told of it.
static void units_that_go_again_before_they_were_told_of_are_told_to_be_gone(void **state) {
        Asked a;

        leave_one_open("n2");
        g.leader->limits.event_rows = 2;
        from_now(&a);
        a.kind = ARGOSY__EVENT_KIND__EVENT_UNIT;
        for (unsigned turns = 1; turns < 3 * AGAIN; turns++)
                assert_int_equal(count_gone(&a, turns), AGAIN);
        asked_forget(&a);
}

// ----------------------------------------------------------------------------------------- who is not heard

static void what_a_host_has_said_is_unknown_when_its_link_is_lost(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a);
        cut_off(2);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = state_of(&a, "web.service", "n2");
        assert_non_null(e);
        assert_string_equal(event_field(e, "active"), "unknown");
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
        assert_non_null(e);
        assert_string_equal(event_field(e, "state"), "unknown");
        rig_host_on(&g, 2, false);
        assert_true(asked_pull(&g, &a));
        e = state_of(&a, "web.service", "n2");
        assert_string_equal(event_field(e, "active"), "active");
        assert_true(event_has_changed(e, "active"));
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
        assert_string_equal(event_field(e, "state"), "launched");
        asked_forget(&a);
}

// It attaches anew too soon behind the last time, and has to come again.
static void what_a_host_has_said_is_unknown_when_it_may_not_attach_yet(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a);
        g.leader->limits.attaches_at_once = 1;
        rig_host_set_manager(&g, 2, "alice");
        rig_host_set_manager(&g, 2, NULL);
        rig_settle(&g);
        assert_false(host_find(g.leader, 2)->attached);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = state_of(&a, "web.service", "n2");
        assert_non_null(e);
        assert_string_equal(event_field(e, "active"), "unknown");
        asked_forget(&a);
}

static void assert_nothing_unknown(const Asked *a) {
        for (size_t i = 0; i < a->n; i++)
                for (size_t k = 0; k < a->events[i]->n_values; k++)
                        assert_string_not_equal(a->events[i]->values[k], "unknown");
}

// The node can be asked: what it has not named is not there.
static void a_unit_whose_start_is_on_its_way_is_inactive(void **state) {
        Asked a;

        leave_one_open("n2");
        from_now(&a);
        rig_host(&g, 2)->deaf = true;
        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(state_of(&a, "web.service", "n2"), "active"), "inactive");
        assert_string_equal(
                event_field(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"), "state"),
                "inactive");
        assert_int_equal(count_states(&a), 1);
        assert_nothing_unknown(&a);
        assert_string_equal(rig_list_units(&g), "web.service n2 - inactive dead\n");
        rig_host(&g, 2)->deaf = false;
        rig_settle(&g);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(state_of(&a, "web.service", "n2"), "active"), "active");
        assert_nothing_unknown(&a);
        asked_forget(&a);
}

static void a_unit_that_a_drain_moves_is_inactive_until_its_new_node_names_it(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a);
        rig_host(&g, 3)->deaf = true;
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(state_of(&a, "web.service", "n3"), "active"), "inactive");
        assert_nothing_unknown(&a);
        assert_string_equal(rig_list_units(&g), "web.service n3 - inactive dead\n");
        asked_forget(&a);
}

static void what_a_host_did_not_have_when_it_attached_is_inactive(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a);
        cut_off(2);
        assert_string_equal(rig_list_units(&g), "web.service n2 unknown unknown unknown\n");
        rig_host(&g, 2)->lazy = true; // it is told to have it, and does not say so
        rig_host_on(&g, 2, true);
        assert_string_equal(rig_list_units(&g), "web.service n2 - inactive dead\n");
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(state_of(&a, "web.service", "n2"), "active"), "inactive");
        asked_forget(&a);
}

static void of_a_host_that_is_lost_nothing_is_left_when_the_unit_is_elsewhere(void **state) {
        Asked a, all = {};

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        tell_all(&a);
        rig_host_off_for(&g, 2, 4 * RIG_LEASE_MS);
        assert_int_equal(rig_host_of(&g, "web.service"), 3);
        assert_true(asked_pull(&g, &a));
        assert_true(state_of(&a, "web.service", "n2")->gone);
        assert_string_equal(event_field(state_of(&a, "web.service", "n3"), "active"), "active");
        assert_true(asked_pull(&g, &all)); // who comes from nothing is told the same
        assert_null(state_of(&all, "web.service", "n2"));
        asked_forget(&a);
        asked_forget(&all);
}

static uint64_t since_of(const Asked *a, Argosy__EventKind kind, const char *name) {
        return strtoull(event_field(asked_find(a, kind, name), "since"), NULL, 10);
}

static void since_when_a_node_is_lost_and_a_unit_waits_is_told(void **state) {
        uint64_t began = g.wall_us, lost;
        Asked before = {}, after = {};

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &before));
        assert_int_equal(since_of(&before, ARGOSY__EVENT_KIND__EVENT_NODE, "n2"), began);
        assert_int_equal(since_of(&before, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"), 0);
        rig_age(&g, 100 * USEC_PER_SEC);
        rig_host_off_for(&g, 2, 4 * RIG_LEASE_MS);
        rig_age(&g, 100 * USEC_PER_SEC);
        rig_pass_ms(&g, 60000);
        assert_true(asked_pull(&g, &after)); // who comes late is told the same
        assert_string_equal(event_field(asked_find(&after, ARGOSY__EVENT_KIND__EVENT_NODE, "n2"), "state"),
                            "lost");
        lost = since_of(&after, ARGOSY__EVENT_KIND__EVENT_NODE, "n2");
        assert_in_range(lost, began + 100 * USEC_PER_SEC,
                        began + 100 * USEC_PER_SEC + 4 * RIG_LEASE_MS * USEC_PER_MSEC);
        assert_int_equal(since_of(&after, ARGOSY__EVENT_KIND__EVENT_NODE, "n3"), began);
        assert_in_range(since_of(&after, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"), lost,
                        lost + USEC_PER_SEC);
        asked_forget(&before);
        asked_forget(&after);
}

// It cannot leave its node, as no other one is open; then one is, and its group has nobody to spare.
static void a_unit_that_waits_for_its_budget_waits_for_no_node_any_more(void **state) {
        Asked a = {};

        leave_one_open("n1");
        rig_change(&g, START, "web@1.service", SERVICE "[X-Argosy]\nMaxUnavailable=1\n");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        leave_one_open("n2");
        rig_change(&g, START, "web@2.service", SERVICE "[X-Argosy]\nMaxUnavailable=1\n");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_int_equal(rig_host_of(&g, "web@1.service"), 1);
        assert_int_equal(rig_host_of(&g, "web@2.service"), 2);
        assert_true(asked_pull(&g, &a));
        assert_true(since_of(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web@2.service") > 0);
        rig_host_report(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "web@1.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
        tell_all(&a);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        rig_settle(&g);
        assert_int_equal(unit_find(g.leader, "web@2.service")->life, LIFE_HELD);
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web@2.service"));
        assert_int_equal(since_of(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web@2.service"), 0);
        asked_forget(&a);
}

// Who comes later has only the order in which objects have changed.
static void a_mismatch_that_ends_while_nobody_watches_is_told_to_who_comes_back(void **state) {
        for (int i = 0; i < 2; i++) {
                Asked a = {};

                (void) rig_label(&g, "n2", "disk", "ssd");
                rig_change(&g, START, "fast.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n");
                rig_pass_ms(&g, 3000); // the job has ended
                (void) rig_label(&g, "n2", "disk", NULL);
                tell_all(&a);
                g.leader->events->until_us = 0; // as if it were long ago
                if (i == 0) // else with the turn in which it ends
                        rig_change(&g, START, "other.service", SERVICE);
                assert_int_equal(g.leader->event_news.kept, i == 1);
                (void) rig_label(&g, "n2", "disk", "ssd");
                assert_false(g.leader->event_news.kept);
                assert_true(asked_pull(&g, &a));
                assert_non_null(state_of(&a, "fast.service", "n2"));
                assert_string_equal(event_field(state_of(&a, "fast.service", "n2"), "note"), "");
                asked_forget(&a);
                rig_stop(&g);
                rig_start(&g, 3);
        }
}

static void who_attaches_anew_and_says_the_same_tells_nothing_new(void **state) {
        Asked a = {};

        rig_change(&g, START, "all.service", EVERYWHERE);
        rig_pass_ms(&g, 3000); // the job has ended
        tell_all(&a);
        rig_host(&g, 2)->attached = false; // it attaches in the session that it has
        rig_settle(&g);
        assert_false(asked_pull(&g, &a));
        asked_forget(&a);
}

// Turns make a few rows each, and the host has more.
static void of_many_units_that_are_as_they_were_nothing_new_is_told(void **state) {
        enum { UNITS = 24, ROWS = 4 };
        Asked a = {};

        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, START, printed("all-%u.service", i), EVERYWHERE);
        }
        rig_pass_ms(&g, 3000); // the jobs have ended
        tell_all(&a);
        g.leader->limits.event_rows = ROWS;
        rig_host(&g, 2)->attached = false;
        rig_settle(&g);
        assert_false(asked_pull(&g, &a));
        asked_forget(&a);
}

static void hosts_that_a_new_leader_has_not_heard_are_unknown_and_so_is_what_they_said(void **state) {
        Asked a = {};

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        tell_all(&a);
        rig_host_off(&g, 2);
        rig_elect_anew(&g);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "n2");
        assert_string_equal(event_field(e, "state"), "unknown");
        assert_string_equal(event_field(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "n3"), "state"),
                            "online");
        e = asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service");
        assert_string_equal(event_field(e, "state"), "unknown");
        assert_null(state_of(&a, "web.service", "n2"));
        assert_true(event_is_word(a.events[a.n - 1], EVENT_STREAM_COMPLETE));
        rig_host_on(&g, 2, false);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "n2"), "state"),
                            "online");
        assert_string_equal(event_field(state_of(&a, "web.service", "n2"), "active"), "active");
        asked_forget(&a);
}

// Whether an event said that of the unit, even if its host let go of it right after.
static bool was_told(const Asked *a, const char *unit, const char *desired) {
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Event *e = a->events[i];

                if (e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT && streq(event_value(e, 0), unit) &&
                    streq(event_field(e, "desired"), desired))
                        return true;
        }
        return false;
}

// The first one was destroyed, as the log knows. Of the other one, which a guard must have ended long ago,
// it knows nothing.
static void what_the_log_does_not_know_was_not_destroyed(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nCutOff=stop\nCutOffSec=5\n");
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        from_now(&a);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        assert_true(asked_pull(&g, &a));
        assert_true(was_told(&a, "a.service", "destroyed"));
        rig_pass_ms(&g, 200000); // the log has forgotten it
        asked_forget(&a);
        from_now(&a);
        rig_host_on(&g, 2, false);
        assert_true(asked_pull(&g, &a));
        assert_true(was_told(&a, "a.service", "not in the cluster"));
        assert_false(was_told(&a, "a.service", "destroyed"));
        asked_forget(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_MANY(f) cmocka_unit_test_setup_teardown(f, setup_many, teardown)

// --------------------------------------------------------------------------------------------- another name

static void rename_host(uint32_t host, const char *name) {
        rig_host(&g, host)->name = name;
        rig_host(&g, host)->attached = false;
        rig_settle(&g);
        assert_string_equal(cluster_state_find_host(g.state, host)->name, name);
}

static void a_node_with_another_name_leaves_nothing_by_the_former_one(void **state) {
        Asked a;

        leave_one_open("n2");
        rig_change(&g, START, "web.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "web.service"), 2);
        from_now(&a);
        tell_all(&a);
        rename_host(2, "m2");
        assert_true(asked_pull(&g, &a));
        assert_true(state_of(&a, "web.service", "n2")->gone);
        assert_false(state_of(&a, "web.service", "m2")->gone);
        assert_string_equal(event_field(state_of(&a, "web.service", "m2"), "active"), "active");
        assert_true(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "n2")->gone);
        assert_false(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "m2")->gone);
        asked_forget(&a);
}

static bool is_marking(void) {
        return !list_is_empty(&g.leader->event_news.nodes);
}

// As of a leader that has just begun, which does less in a turn. Returns as soon as some of the units of a
// node are marked, and others not.
static void mark_some(void) {
        walk_resume(g.leader, &g.leader->walks.of[WALK_EVENTS]);
        for (unsigned i = 0; i < 100 && !is_marking(); i++)
                rig_turns(&g, 1);
        assert_true(is_marking());
}

enum { UNITS_OF_TURNS = 600 }; // of one node: more than a turn marks while the walk is resumed

// By what names of its node each of them is told of, by the last event about it: bits of `names`.
static unsigned reported_by[UNITS_OF_TURNS];
static const char *const names[] = {"n2", "m2", "k2"};
enum { N2 = 1, M2 = 2, K2 = 4 };

static void note_states(const Asked *a) {
        for (size_t i = 0; i < a->n; i++) {
                unsigned unit;

                if (a->events[i]->kind != ARGOSY__EVENT_KIND__EVENT_STATE ||
                    sscanf(event_value(a->events[i], 0), "web@%u.service", &unit) != 1)
                        continue;
                for (size_t k = 0; k < ELEMENTSOF(names); k++)
                        if (streq(event_value(a->events[i], 1), names[k]))
                                reported_by[unit] = a->events[i]->gone ? reported_by[unit] & ~(1u << k)
                                                                   : reported_by[unit] | 1u << k;
        }
}

static void note_all(Asked *a) {
        while (asked_pull(&g, a))
                note_states(a);
}

// Units on n2, somebody who has been told of all of them, and the host about to have another name.
static void begin_to_rename(Asked *a) {
        memset(reported_by, 0, sizeof(reported_by));
        leave_one_open("n2");
        rig_change_many(&g, START, "web", UNITS_OF_TURNS, SERVICE);
        *a = (Asked){};
        note_all(a);
        for (unsigned i = 0; i < UNITS_OF_TURNS; i++)
                assert_int_equal(reported_by[i], N2);
        asked_ask(&g, a);
        rig_host(&g, 2)->name = "m2";
        rig_host(&g, 2)->attached = false;
        mark_some();
        assert_false(a->answered); // nobody is told a part of it
}

static void of_a_node_of_many_units_with_another_name_all_is_told_in_the_end(void **state) {
        Asked a;

        begin_to_rename(&a);
        rig_settle(&g);
        note_states(&a);
        note_all(&a);
        for (unsigned i = 0; i < UNITS_OF_TURNS; i++)
                assert_int_equal(reported_by[i], M2);
        asked_forget(&a);
}

// Some of the units go while others are not marked yet, and the node gets a third name.
static void what_becomes_of_units_while_their_node_gets_another_name_is_told(void **state) {
        RigHost *h = rig_host(&g, 2);
        Asked a;

        begin_to_rename(&a);
        walk_resume(g.leader, &g.leader->walks.of[WALK_EVENTS]); // as slow as before
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@0.service", NULL);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web@599.service", NULL);
        h->name = "k2";
        h->attached = false;
        rig_settle(&g);
        note_states(&a);
        note_all(&a);
        for (unsigned i = 0; i < UNITS_OF_TURNS; i++)
                assert_int_equal(reported_by[i] & ~(unsigned) K2, 0);
        for (unsigned i = 1; i < UNITS_OF_TURNS - 1; i++)
                assert_int_equal(reported_by[i], K2);
        asked_forget(&a);
}

static void the_leader_with_another_name_is_told_by_that(void **state) {
        Asked a;

        from_now(&a);
        tell_all(&a);
        rename_host(1, "m1");
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_LEADER, "m1"));
        asked_forget(&a);
}

RUN_TESTS(
        TEST_MANY(what_one_node_says_of_a_unit_on_all_nodes_is_one_row),
        TEST_MANY(a_host_that_attaches_anew_costs_its_own_rows),
        TEST_MANY(another_unit_on_all_nodes_costs_no_rows_of_the_others),
        TEST_MANY(all_nodes_are_told_of_when_the_unit_goes_from_all),
        TEST(units_that_somebody_asks_about_as_they_go_are_told_to_be_gone),
        TEST(a_unit_that_others_name_is_told_to_be_gone),
        TEST(units_that_go_again_before_they_were_told_of_are_told_to_be_gone),
        TEST(what_a_host_has_said_is_unknown_when_its_link_is_lost),
        TEST(what_a_host_has_said_is_unknown_when_it_may_not_attach_yet),
        TEST(a_node_with_another_name_leaves_nothing_by_the_former_one),
        TEST(of_a_node_of_many_units_with_another_name_all_is_told_in_the_end),
        TEST(what_becomes_of_units_while_their_node_gets_another_name_is_told),
        TEST(the_leader_with_another_name_is_told_by_that),
        TEST(a_unit_whose_start_is_on_its_way_is_inactive),
        TEST(a_unit_that_a_drain_moves_is_inactive_until_its_new_node_names_it),
        TEST(what_a_host_did_not_have_when_it_attached_is_inactive),
        TEST(of_a_host_that_is_lost_nothing_is_left_when_the_unit_is_elsewhere),
        TEST(since_when_a_node_is_lost_and_a_unit_waits_is_told),
        TEST(a_unit_that_waits_for_its_budget_waits_for_no_node_any_more),
        TEST(a_mismatch_that_ends_while_nobody_watches_is_told_to_who_comes_back),
        TEST(who_attaches_anew_and_says_the_same_tells_nothing_new),
        TEST(of_many_units_that_are_as_they_were_nothing_new_is_told),
        TEST(what_the_log_does_not_know_was_not_destroyed),
        TEST(hosts_that_a_new_leader_has_not_heard_are_unknown_and_so_is_what_they_said)
)
