// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who steps down gives the tables away and is done with them. Counted are what the loop frees and whom it
// tells in that turn, and that the pool has all of it in the end, whoever leads meanwhile. The pool has one
// thread, which a test keeps busy.
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "placement.h"
#include "rig-pool.h"
#include "test.h"

#include <stdatomic.h>

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

enum {
        UNITS = 900,
        // by the loop, when it steps down: messages to hosts, pending requests, some for each host
        FREED_MAX = UNITS / 4,
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static _Thread_local bool is_loop;
static _Thread_local size_t n_freed; // by this thread: the tests look at the loop's
static size_t n_reported;
static atomic_size_t n_freed_in_pool;

void __real_free(void *p);
void __wrap_free(void *p);
void __real_unit_event(Leader *l, Unit *u, LifeEvent event);
void __wrap_unit_event(Leader *l, Unit *u, LifeEvent event);
void __real_unit_touch(Leader *l, Unit *u);
void __wrap_unit_touch(Leader *l, Unit *u);
void __real_unit_touch_itself(Leader *l, Unit *u);
void __wrap_unit_touch_itself(Leader *l, Unit *u);
void __real_placement_unit_remove(Placement *p, uint32_t unit);
void __wrap_placement_unit_remove(Placement *p, uint32_t unit);

void __wrap_free(void *p) {
        n_freed += p != NULL;
        if (!is_loop && p)
                atomic_fetch_add(&n_freed_in_pool, 1);
        __real_free(p);
}

void __wrap_unit_event(Leader *l, Unit *u, LifeEvent event) {
        n_reported++;
        __real_unit_event(l, u, event);
}

void __wrap_unit_touch(Leader *l, Unit *u) {
        n_reported++;
        __real_unit_touch(l, u);
}

void __wrap_unit_touch_itself(Leader *l, Unit *u) {
        n_reported++;
        __real_unit_touch_itself(l, u);
}

void __wrap_placement_unit_remove(Placement *p, uint32_t unit) {
        n_reported++;
        __real_placement_unit_remove(p, unit);
}

FIXTURE(setup) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint8_t id[16] = {77, 1};

        is_loop = true;
        rig_start(&g, 3);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i + 1);
                pointers[i] = names[i];
        }
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", SERVICE)->status, 0);
        change.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        change.verb = START;
        change.names = pointers;
        change.n_names = UNITS;
        assert_true(rig_ask_and_settle(&g, &request)->final);
}

RIG_TEARDOWN

static void assert_all_run_once(void) {
        for (size_t i = 0; i < UNITS; i++) {
                const VirtualUnit *u = NULL;

                assert_int_equal(rig_count_running(&g, names[i]), 1);
                for (uint32_t h = 1; h <= g.n_hosts && !u; h++)
                        u = rig_unit_on(&g, h, names[i]);
                assert_int_equal(u->starts, 1);
        }
}

// ---- stories

static void who_steps_down_leaves_the_tables_to_the_pool(void **state) {
        rig_pool_hold(&g);
        n_freed = n_reported = 0;
        atomic_store(&n_freed_in_pool, 0);
        rig_depose(&g);
        assert_in_range(n_freed, 0, FREED_MAX);
        assert_int_equal(n_reported, 0);
        assert_int_equal(g.leader->units.count, 0);
        assert_int_equal(g.leader->nodes.count, 0);
        assert_int_equal(g.leader->budgets.count, 0);
        assert_null(g.leader->places);
        assert_int_equal(g.leader->n_retired, 1);
        assert_int_equal(atomic_load(&n_freed_in_pool), 0);
        rig_pool_let_go(&g);
        rig_settle(&g);
        assert_int_equal(g.leader->n_retired, 0);
        assert_true(atomic_load(&n_freed_in_pool) >= 2 * UNITS); // each, and what it is on its node
}

static void who_leads_again_before_that_has_tables_of_its_own(void **state) {
        rig_pool_hold(&g);
        for (unsigned i = 1; i <= 2; i++) {
                rig_depose(&g);
                assert_int_equal(g.leader->n_retired, i);
                rig_elect(&g);
                assert_true(g.leader->leading);
                assert_int_equal(g.leader->n_retired, i);
                assert_all_run_once();
        }
        assert_int_equal(rig_change(&g, STOP, names[0], NULL)->status, 0);
        assert_int_equal(rig_count_running(&g, names[0]), 0);
        rig_pool_let_go(&g);
        rig_settle(&g);
        assert_int_equal(g.leader->n_retired, 0);
        assert_int_equal(rig_change(&g, START, names[0], NULL)->status, 0);
        assert_int_equal(rig_count_running(&g, names[0]), 1);
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        for (size_t i = 0; i < UNITS; i++)
                assert_int_equal(rig_count_running(&g, names[i]), 1);
}

static void on_closing(Rig *rig) {
        for (int i = 0; i < 10; i++)
                uv_run(&rig->loop, UV_RUN_NOWAIT);
        assert_non_null(rig->leader); // the pool has something of it
        rig_pool_let_go(rig);
}

static void the_end_waits_for_the_pool(void **state) {
        rig_pool_hold(&g);
        rig_depose(&g);
        g.on_closing = on_closing; // when the rig stops
}

static void who_never_led_has_nothing_to_leave(void **state) {
        rig_depose(&g);
        rig_settle(&g);
        assert_int_equal(g.leader->n_retired, 0);
        (void) leader_set_leading(g.leader, false, g.leader->term + 1);
        assert_int_equal(g.leader->n_retired, 0);
}

RUN_TESTS(
        RIG_TEST(who_steps_down_leaves_the_tables_to_the_pool),
        RIG_TEST(who_leads_again_before_that_has_tables_of_its_own),
        RIG_TEST(the_end_waits_for_the_pool),
        RIG_TEST(who_never_led_has_nothing_to_leave)
)
