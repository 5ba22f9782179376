// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Conflicts= and units that run on every node.
#include "leader-rig.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=true\n"
#define START ARGOSY__VERB__VERB_START

static Rig g;

static int setup(void **state) {
        rig_start(&g, 3);
        return 0;
}

static int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

static uint32_t node_of(const char *name) {
        return rig_record(&g, name)->node;
}

// Numbers of the hosts where it runs, in a row.
static const char *where(const char *name) {
        static char text[16];
        size_t n = 0;

        for (uint32_t h = 1; h <= 3; h++) {
                const RigUnit *u = rig_unit_on(&g, h, name);

                if (u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                        text[n++] = (char) ('0' + h);
        }
        text[n] = 0;
        return text;
}

static void a_global_unit_leaves_out_the_nodes_of_those_it_conflicts_with(void **state) {
        rig_change(&g, START, "db.service", SERVICE);
        assert_int_equal(node_of("db.service"), rig_host(&g, 1)->node);
        rig_change(&g, START, "all.service", GLOBAL "Conflicts=db*\n");
        assert_string_equal(where("all.service"), "23");
        rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "db.service", NULL);
        rig_settle(&g);
        assert_string_equal(where("all.service"), "123");
}

static void a_global_unit_gives_way_to_whoever_conflicts_with_it_and_comes_back(void **state) {
        rig_change(&g, START, "all.service", GLOBAL);
        assert_string_equal(where("all.service"), "123");
        rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nConflicts=all.service\n");
        rig_settle(&g);
        assert_int_equal(strlen(where("all.service")), 2);
        assert_string_equal(where("db.service"), "1");
        assert_string_equal(where("all.service"), "23");
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "db.service", NULL);
        rig_settle(&g);
        assert_string_equal(where("all.service"), "123");
}

static void the_gap_moves_with_the_unit(void **state) {
        rig_change(&g, START, "all.service", GLOBAL "Conflicts=db*\n");
        rig_change(&g, START, "other.service", SERVICE);
        rig_change(&g, START, "db.service", SERVICE);
        rig_settle(&g);
        assert_int_equal(node_of("db.service"), rig_host(&g, 2)->node);
        assert_string_equal(where("all.service"), "13");
        rig_host_off(&g, 2);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(node_of("db.service"), rig_host(&g, 3)->node);
        assert_null(rig_unit_on(&g, 3, "all.service"));
        rig_host_on(&g, 2, true);
        rig_settle(&g);
        assert_string_equal(where("all.service"), "12");
}

static void of_two_global_units_the_first_by_name_has_the_node(void **state) {
        rig_change(&g, START, "b.service", GLOBAL "Conflicts=a.service\n");
        assert_string_equal(where("b.service"), "123");
        rig_change(&g, START, "a.service", GLOBAL "MachineMetadata=disk=ssd\n");
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_settle(&g);
        assert_string_equal(where("a.service"), "2");
        assert_string_equal(where("b.service"), "13");
        rig_change(&g, ARGOSY__VERB__VERB_UNLOAD, "a.service", NULL);
        rig_settle(&g);
        assert_string_equal(where("b.service"), "123");
}

static void the_next_leader_sees_it_the_same_way(void **state) {
        rig_change(&g, START, "all.service", GLOBAL "Conflicts=db*\n");
        rig_change(&g, START, "db.service", SERVICE);
        rig_settle(&g);
        rig_depose(&g);
        rig_elect(&g);
        rig_settle(&g);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_string_equal(where("all.service"), "23");
        assert_int_equal(rig_unit_on(&g, 2, "all.service")->starts, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(a_global_unit_leaves_out_the_nodes_of_those_it_conflicts_with),
                T(a_global_unit_gives_way_to_whoever_conflicts_with_it_and_comes_back),
                T(the_gap_moves_with_the_unit),
                T(of_two_global_units_the_first_by_name_has_the_node),
                T(the_next_leader_sees_it_the_same_way),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
