// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request about units that the entry changes already waits for the next one, and has changed nothing until
// then.
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

enum { TURNS_MAX = 200 };

static Rig g;
static unsigned n_given; // how often b was given to n1

FIXTURE(setup) {
        rig_start(&g, 1);
}

FIXTURE(setup_four) {
        rig_start(&g, 4);
}

RIG_TEARDOWN

// And nothing happens yet.
static RigAnswer *start_both(void) {
        char *names[] = {(char *) "a.service", (char *) "b.service"};
        uint64_t id[2] = {++g.id, 92};
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .names = names, .n_names = 2);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &change));
}

static bool comes_to_rest(void) {
        unsigned quiet = 0;

        for (unsigned i = 0; i < TURNS_MAX && quiet < 3; i++)
                quiet = rig_turn(&g) ? 0 : quiet + 1;
        return quiet == 3;
}

static void count_given(Rig *r) {
        _cleanup_(message_freep) Argosy__LogBatch *batch =
                argosy__log_batch__unpack(NULL, r->entry_len, r->entry);

        assert_non_null(batch);
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                n_given += op->op_case == ARGOSY__LOG_OP__OP_UNIT &&
                           strcmp(op->unit->unit->name, "b.service") == 0 && op->unit->unit->node == 1;
        }
}

// b waits for a node since n1 has refused it, and n1 is about to refuse a.
static RigAnswer *start_while_one_is_refused(void) {
        RigHost *h = rig_host(&g, 1);

        h->refuses = true;
        (void) rig_change(&g, START, "b.service", SERVICE);
        assert_int_equal(rig_record(&g, "b.service")->node, 0);
        h->delayed = true;
        (void) rig_change(&g, START, "a.service", SERVICE);
        assert_int_equal(rig_record(&g, "a.service")->node, 1);
        g.slow = true;
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_SUBMIT, "c.service", SERVICE, false,
                               (const uint8_t *) "an entry more ...");
        rig_turns(&g, 2);
        RigAnswer *a = start_both();
        h->delayed = false;
        rig_turns(&g, 3);
        rig_hurry(&g);
        return a;
}

// The leader takes a from n1 in the entry that the request would be in. Were n1's refusal of b forgotten
// then, the next entry would have b on n1, whatever becomes of the request: with more units that goes on
// without end.
static void who_waits_for_the_next_entry_asks_no_node_again(void **state) {
        RigAnswer *a = start_while_one_is_refused();

        n_given = 0;
        g.on_entry = count_given;
        assert_true(comes_to_rest());
        assert_true(a->final);
        assert_int_equal(n_given, 1);
        assert_int_equal(rig_record(&g, "a.service")->node, 0);
        assert_int_equal(rig_record(&g, "b.service")->node, 0);
}

// ----------------------------------------------------------------------------------------- hosts that leave

// And nothing happens yet.
static void begin_drain(const char *node) {
        Argosy__Request__NodeChange m = NODE_CHANGE_OF(.nodes = (char **) &node, .n_nodes = 1,
                                                       .mode = ARGOSY__NODE_MODE__MODE_DRAINING);

        (void) rig_ask(&g, A_REQUEST(NODE_CHANGE, node_change, &m));
}

static RigAnswer *begin_removal(const char *host) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) host);

        return rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

// The unit leaves n1 for n4 in the entry that the removal of n4 would be in: it would be on a node that
// nobody has.
static void a_host_does_not_leave_with_what_the_same_entry_gives_it(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        assert_int_equal(rig_record(&g, "a.service")->node, 1);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        g.slow = true;
        begin_drain("n1");
        rig_turns(&g, 2);
        RigAnswer *a = begin_removal("n4");
        rig_turns(&g, 2);
        rig_hurry_and_settle(&g);
        assert_final(a, 0);
        assert_null(cluster_state_find_host(g.state, 4));
        assert_int_equal(rig_record(&g, "a.service")->node, 0); // it waits for a node
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(who_waits_for_the_next_entry_asks_no_node_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_host_does_not_leave_with_what_the_same_entry_gives_it,
                                        setup_four, teardown)
)
