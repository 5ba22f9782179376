// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whose turn it is when the cluster is full, and who makes room for whom: with a whole leader.
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nReserveResource=slot\n"
#define START ARGOSY__VERB__VERB_START
#define UNLOAD ARGOSY__VERB__VERB_UNLOAD

RIG_OF(3)

// ------------------------------------------------------------------------------------------------ asking

static void slots(uint32_t host, const char *n) {
        rig_host_set_labels(&g, host, "offers/slot", n);
}

static int ask_role(const char *name, uint32_t weight, uint64_t guarantee, uint64_t limit, bool remove) {
        Argosy__Amount g1 = ARGOSY__AMOUNT__INIT, l1 = ARGOSY__AMOUNT__INIT, *gs = &g1, *ls = &l1;

        g1.resource = l1.resource = "slot";
        g1.amount = guarantee;
        l1.amount = limit;
        Argosy__Request__RoleChange change = MESSAGE_OF(
                request__role_change, .name = (char *) name, .weight = weight, .remove = remove,
                .guarantee = &gs, .n_guarantee = guarantee > 0, .limit = &ls, .n_limit = limit > 0);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(ROLE_CHANGE, role_change, &change));
        assert_true(a->final);
        return a->responses[0]->status;
}

static void role(const char *name, uint32_t weight, uint64_t guarantee, uint64_t limit) {
        assert_int_equal(ask_role(name, weight, guarantee, limit, false), 0);
}

static int pool(const char *name, const char *host, bool remove) {
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) name, .hosts = (char **) &host,
                           .n_hosts = !remove, .remove = remove);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(POOL_CHANGE, pool_change, &change));

        assert_true(a->final);
        return a->responses[0]->status;
}

static const Argosy__Response__RoleRow *role_row(const char *name) {
        Argosy__Request__RoleList list =
                MESSAGE_OF(request__role_list, .names = (char **) &name, .n_names = 1);
        RigAnswer *a = rig_ask(&g, A_REQUEST(ROLE_LIST, role_list, &list));

        assert_int_equal(a->responses[0]->roles->n_rows, 1);
        return a->responses[0]->roles->rows[0];
}

static const char *message_of(const char *unit) {
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &m))->responses[0]->status_reply->why;
}

static const Argosy__Response__UnitResult *start(const char *name, const char *options) {
        return rig_change(&g, START, name, printed(SERVICE "%s", options));
}

static void start_many(const char *prefix, unsigned n, const char *options) {
        for (unsigned i = 0; i < n; i++) {
                (void) start(printed("%s%u.service", prefix, i), options);
        }
}

static uint32_t at(const char *name) {
        return rig_record(&g, name)->node;
}

// ------------------------------------------------------------------------------------------------ roles

static void who_waits_goes_by_the_weights_of_the_roles(void **state) {
        slots(1, "9");
        role("small", 1, 0, 0);
        role("large", 2, 0, 0);
        start_many("first", 9, "");
        start_many("small", 9, "Role=small\n");
        start_many("large", 9, "Role=large\n");
        assert_int_equal(role_row("small")->waiting, 9);
        for (unsigned i = 0; i < 9; i++) {
                rig_change(&g, UNLOAD, printed("first%u.service", i), NULL);
                unsigned small = role_row("small")->units;
                unsigned large = role_row("large")->units;
                assert_int_equal(small + large, i + 1);
                assert_true(large <= 2 * small + 1 &&
                            2 * small <= large + 2); // within one unit, all the way
        }
        assert_int_equal(role_row("small")->units, 3);
        assert_int_equal(role_row("large")->units, 6);
}

// Whoever waits for room alone waits in the Placement: a turn that gives out one place looks at nobody else.
static void a_turn_costs_what_it_gives_out_not_who_waits(void **state) {
        enum { WAITING = 200, FREED = 5 };

        slots(1, "9");
        start_many("first", 9, "");
        start_many("second", WAITING, "");
        uint64_t before = g.leader->n_pending_judged;
        assert_true(before <= 9 + WAITING); // each once, when it came
        for (unsigned i = 0; i < FREED; i++) {
                _cleanup_free_ char *gone = str_printf("first%u.service", i),
                                    *next = str_printf("second%u.service", i);

                assert_int_equal(at(next), 0);
                rig_change(&g, UNLOAD, gone, NULL);
                assert_int_not_equal(at(next), 0); // who came first
        }
        assert_int_equal(g.leader->n_pending_judged, before);
        assert_int_equal(role_row("default")->waiting, WAITING - FREED);
}

// Any weights, any sizes of units, in any order of coming: never further from the ideal than one unit.
static void shares_are_fair_whatever_the_weights(void **state) {
        enum { ROLES = 3, UNITS = 36, TOTAL = 36 };
        unsigned seed = 0;

        for (unsigned round = 0; round < 8; round++) {
                uint32_t weights[ROLES], sizes[ROLES], sum = 0;
                Rig *rig = &g;

                if (round > 0) {
                        rig_stop(rig);
                        rig_start(rig, 2);
                }
                for (unsigned i = 0; i < ROLES; i++) {
                        _cleanup_free_ char *name = str_printf("r%u", i);

                        seed = seed * 1103515245 + 12345;
                        weights[i] = 1 + (seed >> 16) % 4;
                        sizes[i] = 1 + (seed >> 20) % 3;
                        sum += weights[i];
                        role(name, weights[i], 0, 0);
                }
                for (unsigned k = 0; k < UNITS * ROLES; k++) {
                        unsigned i = k % ROLES;
                        _cleanup_free_ char *name = str_printf("u%u-%u.service", i, k),
                                            *options = str_printf("Role=r%u\nReserveResource=slot:%u\n", i,
                                                                  sizes[i]);

                        (void) start(name, options);
                }
                slots(1, "36"); // none had any before
                for (unsigned i = 0; i < ROLES; i++) {
                        int used = (int) role_row(printed("r%u", i))->units * (int) sizes[i],
                            ideal = (int) (TOTAL * weights[i] / sum);

                        assert_true(abs(used - ideal) <=
                                    3 + 1); // the largest unit, and what cannot be divided
                }
        }
}

static void a_limit_holds_is_told_and_can_be_raised(void **state) {
        slots(1, "9");
        role("capped", 1, 0, 2);
        start_many("c", 2, "Role=capped\n");
        assert_string_equal(start("late.service", "Role=capped\n")->message,
                            "role capped is at its limit of slot: its units have 2 of 2; the unit waits");
        assert_int_equal(at("late.service"), 0);
        assert_string_equal(message_of("late.service"),
                            "role capped is at its limit of slot: its units have 2 of 2");
        role("capped", 0, 0, 3);
        assert_int_equal(at("late.service"), 1);
}

static void what_is_guaranteed_stays_free(void **state) {
        slots(1, "4");
        role("sure", 1, 3, 0);
        start_many("a", 2, "");
        assert_int_equal(at("a0.service"), 1);
        assert_int_equal(at("a1.service"), 0);
        assert_string_equal(message_of("a1.service"),
                            "the slot that is left is guaranteed to other roles than default");
        start_many("s", 3, "Role=sure\n");
        assert_int_equal(role_row("sure")->units, 3);
        assert_int_equal(ask_role("sure", 1, 5, 4, false), EINVAL); // more than the limit
}

static void a_role_that_is_used_stays_and_one_that_is_not_there_is_refused(void **state) {
        slots(1, "4");
        const Argosy__Response__UnitResult *r = start("u.service", "Role=web\n");
        assert_int_equal(r->status, EINVAL);
        assert_string_equal(
                r->message,
                "u.service:5: Role=web: there is no such role; `argosyctl role set web` makes it");
        assert_null(rig_record(&g, "u.service"));
        assert_int_equal(start("v.service", "")->status, 0);
        RigAnswer *a = rig_change_with_and_settle(&g, UNLOAD, "v.service", SERVICE "Role=web\n", true, NULL);
        assert_int_equal(a->responses[0]->change->units[0]->status, EINVAL);
        assert_int_equal(rig_record(&g, "v.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "v.service", NULL);
        role("web", 1, 0, 0);
        assert_int_equal(start("u.service", "Role=web\n")->status, 0);
        assert_int_equal(ask_role("web", 0, 0, 0, true), EEXIST);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "u.service", NULL);
        assert_int_equal(ask_role("web", 0, 0, 0, true), 0);
        assert_int_equal(ask_role("web", 0, 0, 0, true), ENOENT);
}

static void a_new_leader_knows_the_roles(void **state) {
        slots(1, "3");
        role("capped", 7, 0, 1);
        start_many("c", 2, "Role=capped\n");
        rig_elect_anew(&g);
        assert_int_equal(role_row("capped")->weight, 7);
        assert_int_equal(role_row("capped")->units, 1);
        assert_int_equal(role_row("capped")->waiting, 1);
        assert_int_equal(at("c1.service"), 0);
}

// ----------------------------------------------------------------------------------------------- priorities

static void a_higher_priority_takes_the_lowest_ones_place(void **state) {
        slots(1, "2");
        start("low.service", "Priority=-5\n");
        start("lowest.service", "Priority=-10\n");
        const Argosy__Response__UnitResult *r = start("high.service", "Priority=10\n");
        RigAnswer *wait = rig_wait(&g, START, "high.service", r->revision);
        assert_true(wait->final);
        assert_int_equal(wait->responses[wait->n - 1]->progress->done[0]->status, 0);
        assert_int_equal(rig_count_running(&g, "high.service"), 1);
        assert_int_equal(rig_count_running(&g, "low.service"), 1);
        assert_int_equal(at("lowest.service"), 0);
        assert_string_equal(message_of("lowest.service"),
                            "high.service, which has a higher priority, took its place; "
                            "no node takes it now");
        rig_change(&g, UNLOAD, "high.service", NULL); // and it has it back
        assert_int_equal(rig_count_running(&g, "lowest.service"), 1);
}

// The log takes its time: the batch that gives it a node is on its way when somebody begins to wait.
static void who_waits_for_it_does_not_hear_that_nobody_takes_it(void **state) {
        RigAnswer *change, *wait;

        slots(1, "1");
        start("low.service", "Priority=-5\n");
        g.slow = true;
        change = rig_change_with(&g, START, "high.service", SERVICE "Priority=10\n", false, NULL);
        rig_turns(&g, 10);
        rig_release(&g); // it is known, and waits
        rig_turns(&g, 10);
        assert_true(change->final);
        assert_int_equal(g.n_held, 1); // who goes, and who comes
        Argosy__Request__Wait__Item item = MESSAGE_OF(
                                            request__wait__item, .name = "high.service",
                                            .revision = change->responses[0]->change->units[0]->revision),
                                    *items = &item;
        Argosy__Request__Wait m = MESSAGE_OF(request__wait, .verb = START, .items = &items, .n_items = 1);
        wait = rig_ask(&g, A_REQUEST(WAIT, wait, &m));
        rig_turns(&g, 10);
        assert_false(wait->final);
        rig_hurry_and_settle(&g);
        assert_true(wait->final);
        assert_int_equal(wait->responses[wait->n - 1]->progress->done[0]->status, 0);
}

static void whoever_did_not_agree_stays(void **state) {
        slots(1, "2");
        start("plain.service", "");
        start("steady.service", "Priority=-1\nPreemptible=no\n");
        start("high.service", "Priority=1000\n");
        assert_int_equal(at("high.service"), 0);
        assert_int_equal(rig_count_running(&g, "plain.service"), 1);
        assert_int_equal(rig_count_running(&g, "steady.service"), 1);
}

static void preemption_never_goes_in_cycles(void **state) {
        unsigned before;

        slots(1, "1");
        start("a.service", "Priority=-3\nPreemptible=yes\n");
        start("b.service", "Priority=-2\nPreemptible=yes\n");
        start("c.service", "Priority=-2\nPreemptible=yes\n"); // as high as b: it waits
        rig_pass_ms(&g, 2000); // how these jobs have ended is in the log
        before = g.batches;
        rig_pass_ms(&g, 10000);
        assert_int_equal(g.batches, before);
        assert_int_equal(at("b.service"), 1);
        assert_int_equal(at("a.service") + at("c.service"), 0);
}

static bool is_ordered(const RigHost *h, const char *name, bool remove) {
        for (size_t i = 0; i < h->n_inbox; i++) {
                const Argosy__ToHost__Orders *o =
                        h->inbox[i]->msg_case == ARGOSY__TO_HOST__MSG_ORDERS ? h->inbox[i]->orders : NULL;

                for (size_t k = 0; o && k < o->n_orders; k++)
                        if (streq(o->orders[k]->name, name) && o->orders[k]->remove == remove)
                                return true;
        }
        return false;
}

static void the_one_that_makes_room_ends_before_the_other_one_starts(void **state) {
        slots(1, "1");
        start("low.service", "Priority=-5\n");
        rig_host(&g, 1)->deaf = true;
        start("high.service", "Priority=10\n");
        assert_int_equal(at("high.service"), 1); // it has the room
        assert_true(is_ordered(rig_host(&g, 1), "low.service", true));
        assert_false(is_ordered(rig_host(&g, 1), "high.service", false));
        assert_string_equal(message_of("high.service"),
                            "it waits until low.service has ended there, whose place it takes");
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, "high.service"), 1);
        assert_int_equal(rig_count_running(&g, "low.service"), 0);
}

// It is to be on all nodes by then, and goes on where it made room.
static void nobody_waits_for_the_end_of_what_is_everywhere_by_now(void **state) {
        slots(1, "1");
        start("low.service", "Priority=-5\n");
        start("high.service", "Priority=10\n");
        assert_string_equal(rig_record(&g, "low.service")->displaced_by, "high.service");
        rig_change_with(&g, ARGOSY__VERB__VERB_START, "low.service",
                        "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nGlobal=yes\n", true, NULL);
        rig_settle(&g);
        assert_non_null(rig_unit_on(&g, 1, "low.service"));
        (void) rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "high.service", NULL);
        start("high.service", "Priority=10\n");
        assert_int_equal(rig_count_running(&g, "high.service"), 1);
}

// The log says who made room for whom, so a new leader waits for the same.
static void a_new_leader_waits_for_it_too(void **state) {
        slots(1, "1");
        start("low.service", "Priority=-5\n");
        rig_host(&g, 1)->deaf = true;
        start("high.service", "Priority=10\n");
        assert_string_equal(rig_record(&g, "low.service")->displaced_by, "high.service");
        rig_depose(&g);
        rig_host(&g, 1)->deaf = false;
        rig_elect(&g);
        assert_int_equal(rig_count_running(&g, "high.service"), 1);
        assert_null(rig_unit_on(&g, 1, "low.service"));
}

// One of them is not enough, until the other one goes by itself.
static void what_becomes_free_and_what_makes_room_count_together(void **state) {
        slots(1, "2");
        start("batch.service", "Priority=-5\n");
        start("steady.service", "Preemptible=no\n");
        start("urgent.service", "Priority=10\nReserveResource=slot:2\n");
        assert_int_equal(at("urgent.service"), 0);
        rig_change(&g, UNLOAD, "steady.service", NULL);
        rig_settle(&g);
        assert_int_equal(at("urgent.service"), 1);
        assert_int_equal(at("batch.service"), 0);
}

static void instances_are_preempted_within_their_budget(void **state) {
        slots(1, "3");
        for (int i = 1; i <= 3; i++) {
                start(printed("w@%d.service", i), "Priority=-5\nMaxUnavailable=1\n");
        }
        start("huge.service", "Priority=10\nReserveResource=slot:2\n"); // would need two of them
        assert_int_equal(at("huge.service"), 0);
        start("one.service", "Priority=10\n");
        assert_int_equal(at("one.service"), 1);
        start("two.service", "Priority=10\n"); // one is down already
        assert_int_equal(at("two.service"), 0);
        assert_int_equal((at("w@1.service") == 1) + (at("w@2.service") == 1) + (at("w@3.service") == 1), 2);
}

static void a_unit_of_a_lost_node_preempts_too(void **state) {
        slots(1, "1");
        slots(2, "1");
        start("a.service", "Priority=-5\nHost=n1\n");
        start("b.service", "Priority=5\n");
        assert_int_equal(at("b.service"), 2);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_int_equal(at("b.service"), 1);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
        assert_int_equal(at("a.service"), 0);
}

static void of_the_units_of_a_lost_node_the_highest_gets_the_room(void **state) {
        slots(1, "1");
        slots(2, "2");
        start("other.service", "Host=n1\n");
        start("a.service", "");
        start("b.service", "Priority=5\n");
        assert_int_equal(at("a.service") + at("b.service"), 4);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        rig_change(&g, UNLOAD, "other.service", NULL);
        assert_int_equal(at("b.service"), 1);
        assert_int_equal(at("a.service"), 2); // it may be running there still
}

static void of_what_a_lost_node_leaves_the_highest_is_placed_first(void **state) {
        slots(1, "2");
        slots(2, "9");
        start("other.service", "Host=n1\nReserveResource=slot:2\n");
        for (int i = 0; i < 4; i++) {
                _cleanup_free_ char *name = str_printf("u%d.service", i),
                                    *options = str_printf("Priority=%d\n", (int[]){0, 5, 9, 5}[i]);

                start(name, options);
        }
        rig_change(&g, UNLOAD, "other.service", NULL);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_int_equal(at("u1.service"), 1);
        assert_int_equal(at("u2.service"), 1);
        assert_int_equal(at("u0.service"), 2); // it may be running there still
        assert_int_equal(at("u3.service"), 2);
}

// ------------------------------------------------------------------------------------------------ pools

static void a_unit_goes_where_its_pool_is(void **state) {
        for (uint32_t i = 1; i <= 3; i++)
                slots(i, "5");
        assert_int_equal(start("u.service", "Pool=fast\n")->status, ENOSPC); // there is none
        assert_int_equal(pool("fast", "n9", false), ENOENT);
        assert_int_equal(pool("fast", "n3", false), 0);
        start("u.service", "Pool=fast\n");
        assert_int_equal(at("u.service"), 3);
        assert_int_equal(pool("fast", NULL, true), 0);
        assert_int_equal(at("u.service"), 3); // it stays
        assert_int_equal(pool("fast", NULL, true), ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(a_turn_costs_what_it_gives_out_not_who_waits),
        TEST(who_waits_goes_by_the_weights_of_the_roles),
        TEST(shares_are_fair_whatever_the_weights),
        TEST(a_limit_holds_is_told_and_can_be_raised),
        TEST(what_is_guaranteed_stays_free),
        TEST(a_role_that_is_used_stays_and_one_that_is_not_there_is_refused),
        TEST(a_new_leader_knows_the_roles),
        TEST(a_higher_priority_takes_the_lowest_ones_place),
        TEST(who_waits_for_it_does_not_hear_that_nobody_takes_it),
        TEST(whoever_did_not_agree_stays),
        TEST(preemption_never_goes_in_cycles),
        TEST(the_one_that_makes_room_ends_before_the_other_one_starts),
        TEST(nobody_waits_for_the_end_of_what_is_everywhere_by_now),
        TEST(a_new_leader_waits_for_it_too),
        TEST(what_becomes_free_and_what_makes_room_count_together),
        TEST(instances_are_preempted_within_their_budget),
        TEST(a_unit_of_a_lost_node_preempts_too),
        TEST(of_the_units_of_a_lost_node_the_highest_gets_the_room),
        TEST(of_what_a_lost_node_leaves_the_highest_is_placed_first),
        TEST(a_unit_goes_where_its_pool_is)
)
