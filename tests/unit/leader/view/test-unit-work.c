// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units at rest have nothing of what only those need about which something is under way, however many there
// were at a time.
#include "unit-work.h"

#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"
#include "unit-on-node.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define SLOT SERVICE "[X-Argosy]\nReserveResource=slot\n" // which no host has

enum { UNITS = 600, SPARE_MAX = 256 }; // SPARE_MAX: as unit-work.c has it

RIG_OF(3)

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static size_t count_works(void) {
        size_t n = 0;

        name_table_foreach(u, &g.leader->units)
                n += ((const Unit *) u)->work != NULL;
        return n;
}

// Of units on nodes.
static size_t count_works_there(void) {
        size_t n = 0;

        map_foreach (slot, &g.leader->nodes)
                list_foreach (i, &((const Node *) slot->value)->units_on_node)
                        n += CONTAINER_OF(i, UnitOnNode, by_node)->work != NULL;
        return n;
}

static Unit *unit(const char *name) {
        return unit_find(g.leader, name);
}

// ---- tests

static void what_rests_has_none(void **state) {
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "web", UNITS, SERVICE);
        assert_int_equal(g.leader->units.count, UNITS);
        assert_int_equal(count_works(), 0);
        assert_int_equal(count_works_there(), 0);
        assert_true(list_is_empty(&g.leader->works));
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_STOP, "web", UNITS, NULL);
        assert_int_equal(count_works(), 0);
}

static void what_waits_for_a_node_has_one_until_it_does_not(void **state) {
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "big", UNITS, SLOT);
        assert_int_equal(count_works(), UNITS);
        assert_true(unit_work_seen(unit("big@1.service"))->pending_since_sec > 0);
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_UNLOAD, "big", UNITS, NULL);
        assert_int_equal(count_works(), 0);
        // what there is at rest is not what there was at most
        assert_int_equal(g.leader->n_works_spare, SPARE_MAX);
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "big", 1, NULL);
        assert_int_equal(g.leader->n_works_spare, SPARE_MAX - 1);
}

static void a_refusal_is_under_way_until_it_is_forgotten(void **state) {
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, "web.service", SERVICE)->status, 0);
        rig_settle(&g);
        unit_exclude(g.leader, unit("web.service"), 1, "why");
        rig_turns(&g, 3);
        assert_string_equal(unit_exclusion(unit("web.service"), 1), "why");
        unit_forget_exclusions(g.leader, unit("web.service"), 1);
        rig_settle(&g);
        assert_null(unit("web.service")->work);
}

static void a_content_that_hosts_have_is_kept_once(void **state) {
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "web", UNITS, SERVICE);
        assert_int_equal(g.leader->seen_specs.count, 1);
        const UnitOnNode *s = CONTAINER_OF(unit("web@1.service")->on_nodes.next, UnitOnNode, by_unit);
        assert_int_equal(s->seen->users, UNITS);
        assert_true(hash_equal(unit_on_node_seen(s),
                               &cluster_state_find_unit(g.state, "web@1.service")->spec->hash));
        assert_string_equal(unit_on_node_sub(s), "running");
        assert_null(s->words);
        assert_int_equal(
                rig_change(&g, ARGOSY__VERB__VERB_START, "other.service", SERVICE "Nice=1\n")->status, 0);
        rig_settle(&g);
        assert_int_equal(g.leader->seen_specs.count, 2);
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_DESTROY, "web", UNITS, NULL);
        assert_int_equal(g.leader->seen_specs.count, 1);
}

RUN_TESTS(
        TEST(what_rests_has_none),
        TEST(what_waits_for_a_node_has_one_until_it_does_not),
        TEST(a_content_that_hosts_have_is_kept_once),
        TEST(a_refusal_is_under_way_until_it_is_forgotten)
)
