// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A container that gets another node runs where it was until that has its image, as its agent says by
// having installed the content.
#include "leader-asks.h"
#include "leader-private.h"
#include "str.h"

#define CONTAINER "[Container]\nImage=localhost/web:1\n"
#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define UNIT "web.service"

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        for (uint32_t i = 2; i <= 3; i++) {
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

RIG_TEARDOWN

#define MOVE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// Starts it, and empties its host, while no other one says anything. The host.
static uint32_t move(const char *content) {
        assert_int_equal(rig_change(&g, START, UNIT, content)->status, 0);
        rig_settle(&g);
        uint32_t from = rig_host_of(&g, UNIT);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->lazy = i != from;
        (void) rig_set_host_mode(&g, from, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_not_equal(rig_host_of(&g, UNIT), from);
        return from;
}

static void tell_all(void) {
        for (uint32_t i = 1; i <= 3; i++) {
                RigHost *h = rig_host(&g, i);
                VirtualUnit *u = rig_unit_on(&g, i, UNIT);

                if (h->lazy && u)
                        rig_host_report(&g, h, u, u->active, ARGOSY__OUTCOME__KIND__NONE);
                h->lazy = false;
        }
        rig_settle(&g);
}

static bool runs_on(uint32_t host) {
        const VirtualUnit *u = rig_unit_on(&g, host, UNIT);

        return u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

static void it_runs_until_its_new_node_has_its_image(void **state) {
        uint32_t from = move(CONTAINER), to = rig_host_of(&g, UNIT);

        assert_true(runs_on(from));
        assert_true(rig_unit_on(&g, to, UNIT)->order.stay);
        assert_false(runs_on(to));
        rig_pass_ms(&g, 30000);
        assert_true(runs_on(from));
        tell_all();
        assert_false(runs_on(from));
        assert_true(runs_on(to));
        assert_int_equal(rig_count_running(&g, UNIT), 1);
}

// It ran on every node, and is one container now: the node that is to have it runs it already.
static void of_what_runs_everywhere_one_stays(void **state) {
        uint64_t id[2] = {91, 1};

        assert_int_equal(rig_change(&g, START, UNIT, SERVICE "[X-Argosy]\nGlobal=yes\n")->status, 0);
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, UNIT), 3);
        (void) rig_change_with(&g, START, UNIT, CONTAINER, true, (const uint8_t *) id);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_count_running(&g, UNIT), 1);
        assert_true(runs_on(rig_host_of(&g, UNIT)));
}

static void a_service_waits_for_no_image(void **state) {
        uint32_t from = move(SERVICE);

        assert_false(runs_on(from));
        tell_all();
        assert_int_equal(rig_count_running(&g, UNIT), 1);
}

static void where_all_refuse_it_it_runs_on(void **state) {
        static const char *const taken[] = {UNIT, NULL};

        assert_int_equal(rig_change(&g, START, UNIT, CONTAINER)->status, 0);
        rig_settle(&g);
        uint32_t from = rig_host_of(&g, UNIT);
        for (uint32_t i = 1; i <= 3; i++)
                if (i != from)
                        rig_host(&g, i)->others = taken;
        (void) rig_set_host_mode(&g, from, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        rig_pass_ms(&g, 5000);
        assert_true(runs_on(from));
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->others = NULL;
        assert_int_equal(rig_change(&g, START, UNIT, NULL)->status, 0);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_count_running(&g, UNIT), 1);
        assert_false(runs_on(from));
}

static void what_is_replaced_and_has_no_other_node_ends(void **state) {
        assert_int_equal(rig_change(&g, START, UNIT, CONTAINER "[X-Argosy]\nHost=n2\n")->status, 0);
        rig_settle(&g);
        assert_true(runs_on(2));
        assert_int_equal(
                rig_change(&g, START, "next.service", SERVICE "[X-Argosy]\nHost=n2\nReplaces=" UNIT "\n")
                        ->status,
                0);
        rig_pass_ms(&g, 5000);
        assert_false(runs_on(2));
        assert_int_equal(rig_count_running(&g, "next.service"), 1);
}

#define NAMING(options, subnet)                                                                     \
        "[Container]\nImage=localhost/web:1\nNetwork=front.network\n[X-Argosy]\n" options "\n\n" \
        "# front.network\n[Network]\nSubnet=" subnet "\n"

// It has no node by now, and somebody comes to where it runs with another network of that name.
static void what_has_no_node_and_loses_its_network_ends(void **state) {
        uint64_t id[2] = {92, 1};

        assert_int_equal(rig_change(&g, START, UNIT, NAMING("Host=n2", "1"))->status, 0);
        rig_settle(&g);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_change_with(&g, START, UNIT, NAMING("Host=n3", "1"), true, (const uint8_t *) id);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_record(&g, UNIT)->node, 0);
        assert_true(runs_on(2));
        (void) rig_change(&g, START, "next.service", NAMING("Host=n2", "1"));
        rig_pass_ms(&g, 5000);
        assert_true(runs_on(2));
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "next.service", NULL);
        (void) rig_change(&g, START, "other.service", NAMING("Host=n2", "2"));
        rig_pass_ms(&g, 5000);
        assert_false(runs_on(2));
        assert_int_equal(rig_count_running(&g, "other.service"), 1);
}

static void what_is_preempted_and_has_no_other_node_ends(void **state) {
        (void) rig_label(&g, "n2", "offers/slot", "1");
        assert_int_equal(
                rig_change(&g, START, UNIT, CONTAINER "[X-Argosy]\nPriority=-5\nReserveResource=slot\n")
                        ->status,
                0);
        rig_settle(&g);
        assert_true(runs_on(2));
        assert_int_equal(rig_change(&g, START, "next.service",
                                    SERVICE "[X-Argosy]\nPriority=10\nReserveResource=slot\n")
                                 ->status,
                         0);
        rig_pass_ms(&g, 5000);
        assert_false(runs_on(2));
        assert_int_equal(rig_count_running(&g, "next.service"), 1);
}

// Its host hears of both when it is back.
static void what_was_destroyed_ends_though_another_one_has_no_node_yet(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        assert_int_equal(rig_change(&g, START, UNIT, CONTAINER)->status, 0);
        assert_true(runs_on(2));
        rig_host_off(&g, 2);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, UNIT, NULL);
        // A content that is known: no host is asked about it, which may be the one that is off.
        assert_int_equal(rig_change(&g, START, UNIT, CONTAINER)->status, 0);
        assert_int_equal(rig_host_of(&g, UNIT), 0);
        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, 3000);
        assert_false(runs_on(2));
}

static void a_drain_waits_until_its_deadline(void **state) {
        uint32_t from = move(CONTAINER);

        (void) rig_set_host_mode(&g, from, ARGOSY__NODE_MODE__MODE_DRAINING, 2);
        rig_pass_ms(&g, 1000);
        assert_true(runs_on(from));
        rig_pass_ms(&g, 10000);
        assert_false(runs_on(from));
}

static void what_is_to_stop_meanwhile_stops(void **state) {
        uint32_t from = move(CONTAINER);

        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, UNIT, NULL)->status, 0);
        rig_settle(&g);
        assert_false(runs_on(from));
}

// As the new node's host says with its Attach.
static void a_new_leader_knows_who_has_it(void **state) {
        uint32_t from = move(CONTAINER);

        rig_elect_anew(&g);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_equal(rig_count_running(&g, UNIT), 1);
        assert_false(runs_on(from));
}

// No node takes its new content, which is that of a container: the one that would is being serviced.
static void what_has_no_node_runs_on_under_a_new_leader(void **state) {
        static const char *const before[] = {SERVICE, CONTAINER};

        (void) rig_label(&g, "n1", "only", "yes");
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0);
        for (size_t i = 0; i < ELEMENTSOF(before); i++) {
                uint64_t id[2] = {92 + i, 1};

                assert_int_equal(rig_change(&g, START, UNIT, before[i])->status, 0);
                rig_settle(&g);
                uint32_t from = rig_host_of(&g, UNIT);
                (void) rig_change_with(&g, START, UNIT, CONTAINER "[X-Argosy]\nRequireLabel=only\n", true,
                                       (const uint8_t *) id);
                rig_pass_ms(&g, 5000);
                assert_int_equal(rig_host_of(&g, UNIT), 0);
                assert_true(runs_on(from));
                rig_elect_anew(&g);
                rig_pass_ms(&g, 5000);
                assert_true(runs_on(from));
                (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, UNIT, NULL);
        }
}

// Its start waits for that of another one, which waits for the end of its own former run; that one waits for
// the end of the container, and this for its image.
static void what_comes_after_who_moves_along_is_pulled_for_before_that_begins(void **state) {
        static const char nodes[] = "[X-Argosy]\nHost=n2 n3\n";
        _cleanup_free_ char *first = str_printf(SERVICE "%sBefore=b.service\n", nodes),
                            *second = str_printf(SERVICE "%sBefore=" UNIT "\n", nodes),
                            *last = str_printf(CONTAINER "%s", nodes);

        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        assert_int_equal(rig_change(&g, START, "a.service", first)->status, 0);
        assert_int_equal(rig_change(&g, START, "b.service", second)->status, 0);
        assert_int_equal(rig_change(&g, START, UNIT, last)->status, 0);
        rig_settle(&g);
        assert_true(runs_on(2));
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        g.start_ms = 60000;
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_int_equal(rig_host_of(&g, UNIT), 3);
        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, 4 * g.start_ms);
        assert_true(runs_on(3));
        assert_int_equal(rig_count_running(&g, UNIT), 1);
}

RUN_TESTS(
        MOVE_TEST(of_what_runs_everywhere_one_stays),
        MOVE_TEST(it_runs_until_its_new_node_has_its_image),
        MOVE_TEST(a_service_waits_for_no_image),
        MOVE_TEST(where_all_refuse_it_it_runs_on),
        MOVE_TEST(what_is_replaced_and_has_no_other_node_ends),
        MOVE_TEST(what_has_no_node_and_loses_its_network_ends),
        MOVE_TEST(what_is_preempted_and_has_no_other_node_ends),
        MOVE_TEST(what_was_destroyed_ends_though_another_one_has_no_node_yet),
        MOVE_TEST(a_drain_waits_until_its_deadline),
        MOVE_TEST(what_is_to_stop_meanwhile_stops),
        MOVE_TEST(a_new_leader_knows_who_has_it),
        MOVE_TEST(what_comes_after_who_moves_along_is_pulled_for_before_that_begins),
        MOVE_TEST(what_has_no_node_runs_on_under_a_new_leader)
)
