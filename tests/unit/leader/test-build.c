// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who begins to lead makes its tables of all that the log says, some of it in each turn of the loop. Nobody
// meets a leader with half of them, whatever happens meanwhile; and with the last of them everything goes on
// as if they had been made at once.
#include "batch.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define START ARGOSY__VERB__VERB_START

enum {
        UNITS = 1500,
        BUILD_MAX = 256, // as in reconcile.c
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static size_t n_known, most_built;

static void start_all(void) {
        uint8_t id[16] = {77, 1};

        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", SERVICE)->status, 0);
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)},
                           .verb = START, .names = pointers, .n_names = UNITS);
        assert_true(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change))->final);
}

FIXTURE(setup) {
        rig_start(&g, 3);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i + 1);
                pointers[i] = names[i];
        }
        start_all();
        rig_depose(&g);
        rig_settle(&g);
        assert_int_equal(g.leader->units.count, 0);
        store_memory_lead(g.store, true);
        n_known = most_built = 0;
}

RIG_TEARDOWN

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// Until it makes its tables, and has some of them.
static void begin_to_build(void) {
        while (g.leader->units.count == 0)
                (void) rig_turn(&g);
        assert_true(g.leader->building);
        assert_false(g.leader->leading);
}

static void count_built(Rig *rig) {
        most_built = MAX_OF(most_built, rig->leader->units.count - n_known);
        n_known = rig->leader->units.count;
        if (!rig->leader->leading)
                for (uint32_t i = 1; i <= rig->n_hosts; i++)
                        assert_false(rig_host(rig, i)->attached);
}

// As if they had been made at once.
static void assert_tables_are_whole(void) {
        const LeaseTable *leases = &g.leader->leases;
        size_t placed = 0;

        assert_true(g.leader->leading);
        assert_false(g.leader->building);
        assert_int_equal(g.leader->units.count, cluster_state_n_units(g.state));
        cluster_state_foreach_unit(e, g.state) {
                const Unit *u = unit_find(g.leader, e->record->name);

                assert_non_null(u);
                assert_true(u->recorded);
                assert_true(u->scheduling.place > 0);
                assert_ptr_equal(u->node, e->record->node ? node_find(g.leader, e->record->node) : NULL);
                placed += u->node != NULL;
        }
        map_foreach (slot, &g.leader->nodes)
                placed -= ((const Node *) slot->value)->n_placed;
        assert_int_equal(placed, 0);
        assert_false(list_is_empty(&leases->online));
}

static void assert_all_run_once(void) {
        for (size_t i = 0; i < UNITS; i++) {
                const VirtualUnit *u = NULL;

                assert_int_equal(rig_count_running(&g, names[i]), 1);
                for (uint32_t h = 1; h <= g.n_hosts && !u; h++)
                        u = rig_unit_on(&g, h, names[i]);
                assert_int_equal(u->starts, 1);
        }
}

static void ignore_outcome(StoreOutcome outcome, uint64_t index, void *userdata) {
}

static void apply(Batch *b) {
        size_t n = argosy__log_batch__get_packed_size(&b->log);
        _cleanup_buf_ Buf packed = {};
        unsigned before = g.batches;

        assert_non_null(buf_reserve(&packed, n));
        argosy__log_batch__pack(&b->log, packed.data);
        assert_int_equal(store_submit(g.store, packed.data, n, ignore_outcome, NULL), 0);
        batch_done(b);
        while (g.batches == before)
                (void) rig_turn(&g);
}

// ---- stories

static void a_turn_follows_a_few_records_and_nobody_attaches_before_the_last(void **state) {
        unsigned turns = 0;

        begin_to_build();
        n_known = g.leader->units.count;
        g.on_turn = count_built;
        for (; !g.leader->leading; turns++)
                (void) rig_turn(&g);
        assert_true(turns >= UNITS / BUILD_MAX - 1);
        assert_in_range(most_built, 1, BUILD_MAX);
        assert_tables_are_whole();
        rig_settle(&g);
        assert_tables_are_whole();
        assert_all_run_once();
}

static void build_all(void) {
        while (g.leader->units.count == 0)
                (void) rig_turn(&g);
        n_known = most_built = g.leader->units.count; // hosts and nodes were in the first slice as well
        while (!g.leader->leading) {
                (void) rig_turn(&g);
                count_built(&g);
        }
        assert_tables_are_whole();
        rig_settle(&g);
        assert_all_run_once();
}

// What it resumes may be what the leader before it was lost for.
static void the_first_turns_do_a_sixteenth_and_twice_as_much_when_they_were_short(void **state) {
        size_t n_before = 0;

        while (g.leader->units.count == 0)
                (void) rig_turn(&g);
        assert_int_equal(g.leader->units.count, BUILD_MAX / 16);
        for (size_t most = BUILD_MAX / 8; most <= BUILD_MAX; most *= 2) {
                n_before = g.leader->units.count;
                uv_run(&g.loop, UV_RUN_NOWAIT);
                assert_int_equal(g.leader->units.count - n_before, most);
        }
}

static void while_turns_are_long_they_do_no_more_than_that(void **state) {
        g.turn_us = 20000;
        build_all();
        assert_in_range(most_built, 1, BUILD_MAX / 16);
}

static void who_asks_meanwhile_finds_no_leader(void **state) {
        uint8_t id[16] = {77, 2};

        begin_to_build();
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)},
                           .verb = ARGOSY__VERB__VERB_STOP, .names = pointers, .n_names = 1);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        assert_int_equal(rig_ask(&g, &request)->error, -EAGAIN);
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, names[0]), 1);
        assert_true(rig_ask(&g, &request)->error == 0);
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, names[0]), 0);
}

// One that was followed already, and one that was not, of each kind.
static void what_the_log_applies_meanwhile_is_in_the_tables(void **state) {
        const char *first = names[0], *last = names[UNITS - 1];
        Hash spec;
        Batch b = {};

        begin_to_build();
        assert_non_null(unit_find(g.leader, first));
        assert_null(unit_find(g.leader, last));
        assert_true(hash_from_bytes(rig_record(&g, first)->spec.data, HASH_SIZE, &spec));
        batch_unit_only(&b, first, &spec, (UnitPut){.target = LOADED, .node = 2});
        batch_unit_only(&b, last, &spec, (UnitPut){.target = LOADED, .node = 3});
        batch_unit_remove(&b, names[1]);
        batch_unit_remove(&b, names[UNITS - 2]);
        batch_unit(&b, "new.service", OTHER, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        apply(&b);
        assert_true(g.leader->building);
        rig_settle(&g);
        assert_tables_are_whole();
        assert_null(unit_find(g.leader, names[1]));
        assert_null(unit_find(g.leader, names[UNITS - 2]));
        assert_int_equal(rig_count_running(&g, names[1]), 0);
        assert_int_equal(rig_count_running(&g, names[UNITS - 2]), 0);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        assert_non_null(rig_unit_on(&g, 2, first));
        assert_non_null(rig_unit_on(&g, 3, last));
}

static void a_host_that_is_new_meanwhile_has_a_node(void **state) {
        Batch b = {};

        begin_to_build();
        batch_host(&b, 0, "n4", 1)->port = 7070;
        apply(&b);
        assert_true(g.leader->building);
        rig_settle(&g);
        assert_tables_are_whole();
        assert_int_equal(g.leader->nodes.count, 4);
}

static void who_is_deposed_in_the_middle_leaves_nothing_and_the_next_one_begins_anew(void **state) {
        begin_to_build();
        rig_depose(&g);
        assert_false(g.leader->building);
        assert_int_equal(g.leader->units.count, 0);
        assert_int_equal(g.leader->nodes.count, 0);
        rig_settle(&g);
        assert_false(g.leader->leading);
        rig_elect(&g);
        assert_tables_are_whole();
        assert_all_run_once();
}

static void who_ends_in_the_middle_ends(void **state) {
        begin_to_build(); // and the rig is stopped
}

// The time that it took is nobody's silence.
static void leases_begin_with_the_first_moment_in_which_a_host_may_beat(void **state) {
        begin_to_build();
        g.now_us += RIG_LEASE_MS * USEC_PER_MSEC;
        while (!g.leader->leading) // and no host says anything
                uv_run(&g.loop, UV_RUN_NOWAIT);
        for (uint32_t i = 2; i <= g.n_hosts; i++)
                assert_int_equal(host_find(g.leader, i)->lease.renewed_us, g.now_us);
        rig_settle(&g);
        assert_all_run_once();
}

RUN_TESTS(
        TEST(a_turn_follows_a_few_records_and_nobody_attaches_before_the_last),
        TEST(the_first_turns_do_a_sixteenth_and_twice_as_much_when_they_were_short),
        TEST(while_turns_are_long_they_do_no_more_than_that),
        TEST(who_asks_meanwhile_finds_no_leader),
        TEST(what_the_log_applies_meanwhile_is_in_the_tables),
        TEST(a_host_that_is_new_meanwhile_has_a_node),
        TEST(who_is_deposed_in_the_middle_leaves_nothing_and_the_next_one_begins_anew),
        TEST(who_ends_in_the_middle_ends),
        TEST(leases_begin_with_the_first_moment_in_which_a_host_may_beat)
)
