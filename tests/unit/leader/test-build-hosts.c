// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who begins to lead in a cluster of many hosts looks at some of them in each turn of the loop, then at
// their nodes, then at units. What the log says meanwhile is in the tables, whether the walk has come to it
// or not.
#include "batch.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "registry.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

enum {
        HOSTS = 700,
        LEAVES_EARLY = 2, LEAVES_LATE = HOSTS - 1, // their numbers
        BUILD_MAX = 256, // as in reconcile.c
};

static Rig g;

FIXTURE(setup) {
        rig_start_many(&g, HOSTS);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, "old.service", SERVICE)->status, 0);
        rig_depose(&g);
        rig_settle(&g);
        assert_int_equal(g.leader->nodes.count, 0);
        store_memory_lead(g.store, true);
        while (g.leader->nodes.count == 0)
                uv_run(&g.loop, UV_RUN_NOWAIT);
}

RIG_TEARDOWN

static size_t count_places(void) {
        size_t n = 0;

        map_foreach (slot, &g.leader->nodes)
                n += ((const Node *) slot->value)->scheduling.place > 0;
        return n;
}

static void a_turn_looks_at_a_few(void **state) {
        size_t n_nodes = g.leader->nodes.count, n_places = 0;
        unsigned turns = 0;

        assert_in_range(n_nodes, 1, BUILD_MAX); // of the first one
        for (; !g.leader->leading; turns++) {
                uv_run(&g.loop, UV_RUN_NOWAIT);
                assert_true(g.leader->nodes.count + count_places() - n_nodes - n_places <= BUILD_MAX);
                assert_true(count_places() == 0 || g.leader->nodes.count == HOSTS);
                assert_true(g.leader->units.count == 0 || count_places() == HOSTS);
                n_nodes = g.leader->nodes.count;
                n_places = count_places();
        }
        assert_true(turns >= 2 * HOSTS / BUILD_MAX - 1);
        assert_int_equal(g.leader->n_hosts.unattached, HOSTS);
}

static void apply(Batch *b) {
        unsigned before = g.batches;

        rig_propose(&g, b);
        while (g.batches == before)
                uv_run(&g.loop, UV_RUN_NOWAIT);
        batch_done(b);
}

// Those of equal load go by the numbers of their nodes, as with a leader that saw them come.
static void assert_nodes_are_in_order(void) {
        uint32_t last = 0;

        for (uint32_t i = 1; i <= HOSTS; i++) {
                const Node *n = node_find(g.leader, i);

                if (!n)
                        continue;
                assert_true(n->scheduling.place > last);
                last = n->scheduling.place;
        }
}

static void what_the_log_says_meanwhile_is_in_the_tables(void **state) {
        Hash spec;
        Batch b = {};

        assert_false(g.leader->hosts_known);
        assert_true(hash_from_bytes(rig_record(&g, "old.service")->spec.data, HASH_SIZE, &spec));
        batch_host_remove(&b, LEAVES_EARLY);
        batch_host_remove(&b, LEAVES_LATE);
        batch_host(&b, 0, "late", 1)->port = 7070;
        batch_unit_only(&b, "new.service", &spec,
                        (UnitPut){.target = LAUNCHED, .node = HOSTS, .start = true});
        rig_host(&g, LEAVES_EARLY)->up = rig_host(&g, LEAVES_LATE)->up = false;
        apply(&b);
        assert_true(g.leader->building);
        assert_false(g.leader->hosts_known);
        assert_non_null(host_find(g.leader, HOSTS + 1));
        while (!g.leader->leading)
                uv_run(&g.loop, UV_RUN_NOWAIT);
        assert_int_equal(g.leader->nodes.count, HOSTS - 1);
        assert_int_equal(count_places(), HOSTS - 1);
        assert_null(node_find(g.leader, LEAVES_EARLY));
        assert_null(node_find(g.leader, LEAVES_LATE));
        assert_nodes_are_in_order();
        assert_ptr_equal(unit_find(g.leader, "new.service")->node, node_find(g.leader, HOSTS));
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        assert_int_equal(rig_count_running(&g, "old.service"), 1);
}

static void who_is_deposed_in_the_middle_leaves_nothing(void **state) {
        assert_true(g.leader->building);
        rig_depose(&g);
        assert_int_equal(g.leader->nodes.count, 0);
        rig_settle(&g);
        rig_elect(&g);
        assert_int_equal(count_places(), HOSTS);
        assert_nodes_are_in_order();
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_turn_looks_at_a_few, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_log_says_meanwhile_is_in_the_tables, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_is_deposed_in_the_middle_leaves_nothing, setup,
                                        teardown)
)
