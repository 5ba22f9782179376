// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Conflicts= and units that run on every node.
#include <errno.h>

#include "leader-asks.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=true\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static uint32_t node_of(const char *name) {
        return rig_record(&g, name)->node;
}

// Numbers of the hosts where it runs, in a row.
static const char *where(const char *name) {
        static char text[16];
        size_t n = 0;

        for (uint32_t h = 1; h <= 3; h++) {
                const VirtualUnit *u = rig_unit_on(&g, h, name);

                if (u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                        text[n++] = (char) ('0' + h);
        }
        text[n] = 0;
        return text;
}

static void a_global_unit_leaves_out_the_nodes_of_those_it_conflicts_with(void **state) {
        rig_change(&g, START, "db.service", SERVICE);
        assert_int_equal(node_of("db.service"), rig_host(&g, 1)->virtual.node);
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
        assert_int_equal(node_of("db.service"), rig_host(&g, 2)->virtual.node);
        assert_string_equal(where("all.service"), "13");
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        assert_int_equal(node_of("db.service"), rig_host(&g, 3)->virtual.node);
        assert_null(rig_unit_on(&g, 3, "all.service"));
        rig_host_on(&g, 2, true);
        assert_string_equal(where("all.service"), "12");
}

static void of_two_global_units_the_first_by_name_has_the_node(void **state) {
        rig_change(&g, START, "b.service", GLOBAL "Conflicts=a.service\n");
        assert_string_equal(where("b.service"), "123");
        rig_change(&g, START, "a.service", GLOBAL "MachineMetadata=disk=ssd\n");
        rig_host_set_labels(&g, 2, "disk", "ssd");
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
        rig_elect_anew(&g);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_string_equal(where("all.service"), "23");
        assert_int_equal(rig_unit_on(&g, 2, "all.service")->starts, 1);
}

// ------------------------------------------------------------------------------------------------ words

// What whoever starts the unit and waits for it is told.
static const Argosy__Response__UnitResult *start_and_wait(const char *name, const char *content) {
        const Argosy__Response__UnitResult *change = rig_change(&g, START, name, content);

        assert_int_equal(change->status, 0);
        RigAnswer *wait = rig_wait(&g, START, name, change->revision);
        assert_int_equal(rig_last(wait)->progress->n_done, 1);
        return rig_last(wait)->progress->done[0];
}

static const char *reason_on(const char *name, const char *node) {
        Argosy__Request__Why q = MESSAGE_OF(request__why, .names = (char **) &name, .n_names = 1);
        const RigAnswer *a = rig_ask(&g, A_REQUEST(WHY, why, &q));

        for (size_t i = 0; i + 1 < a->n; i++)
                if (strcmp(a->responses[i]->status_reply->row->node, node) == 0)
                        return a->responses[i]->status_reply->why;
        return NULL;
}

#define GIVES_WAY_TO(other) "it gives way to " other ", with which it conflicts"

static void a_node_that_is_left_to_another_one_is_named(void **state) {
        rig_change(&g, START, "db.service", SERVICE);
        const Argosy__Response__UnitResult *u = start_and_wait("all.service", GLOBAL "Conflicts=db*\n");
        assert_int_equal(u->status, 0); // it is as it is to be
        assert_string_equal(u->message, "it gives way on some nodes");
        assert_int_equal(u->n_refusals, 1);
        assert_string_equal(u->refusals[0]->node, "n1");
        assert_string_equal(u->refusals[0]->reason, GIVES_WAY_TO("db.service"));
        assert_string_equal(reason_on("all.service", "n1"), GIVES_WAY_TO("db.service"));
        assert_string_equal(reason_on("all.service", "n2"), "");
        assert_string_equal(rig_list_units(&g), "all.service n1 - inactive dead\n"
                                                "all.service n2 loaded active running\n"
                                                "all.service n3 loaded active running\n"
                                                "db.service n1 loaded active running\n");
}

static void of_several_that_have_the_node_the_first_by_name_is_named(void **state) {
        rig_change(&g, START, "db2.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "db1.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "all.service", GLOBAL "Conflicts=db*\n");
        assert_string_equal(reason_on("all.service", "n1"), GIVES_WAY_TO("db1.service"));
}

static void a_global_unit_that_gives_way_everywhere_is_not_started(void **state) {
        rig_change(&g, START, "a.service", GLOBAL);
        const Argosy__Response__UnitResult *u = start_and_wait("b.service", GLOBAL "Conflicts=a.service\n");
        assert_int_equal(u->status, ENOSPC);
        assert_int_equal(u->n_refusals, 3);
        assert_string_equal(u->refusals[0]->reason, GIVES_WAY_TO("a.service"));
        assert_string_equal(reason_on("b.service", "n3"), GIVES_WAY_TO("a.service"));
}

static void who_is_stopped_for_it_is_named(void **state) {
        rig_change(&g, START, "b.service", GLOBAL "Conflicts=a.service\n");
        const Argosy__Response__UnitResult *u = rig_change(&g, START, "a.service", GLOBAL);
        assert_int_equal(u->status, 0);
        assert_string_equal(u->message, "b.service gives way to it (Conflicts=)");
        assert_string_equal(where("b.service"), "");
        assert_string_equal(rig_change(&g, START, "b.service", NULL)->message, "");
}

static void a_node_that_refuses_a_global_unit_fails_its_start(void **state) {
        rig_host(&g, 2)->refuses = true;
        const Argosy__Response__UnitResult *u = start_and_wait("all.service", GLOBAL);
        assert_string_equal(where("all.service"), "13");
        assert_int_equal(u->status, EPERM);
        assert_int_equal(u->n_refusals, 1);
        assert_string_equal(u->refusals[0]->node, "n2");
        assert_string_equal(u->refusals[0]->reason, "/etc/systemd/system has a unit of this name");
        assert_string_equal(reason_on("all.service", "n2"), "/etc/systemd/system has a unit of this name");
        assert_string_equal(rig_list_units(&g), "all.service n1 loaded active running\n"
                                                "all.service n2 - inactive dead\n"
                                                "all.service n3 loaded active running\n");
}

// Whoever asks for a start has a node asked again that refused the unit, also if nothing else comes of it.
static void a_start_that_fails_asks_the_node_again(void **state) {
        rig_host(&g, 2)->refuses = true;
        rig_change(&g, START, "all.service", GLOBAL);
        assert_string_equal(where("all.service"), "13");
        rig_host(&g, 2)->refuses = false;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "all.service", GLOBAL "Priority=x\n", true, NULL);
        assert_int_equal(a->responses[0]->change->units[0]->status, EINVAL);
        assert_string_equal(where("all.service"), "123");
}

// A Change of two units in one request; kept until the rig is stopped.
static const Argosy__Response__Change *start_both(const char *const names[2],
                                                  const char *const contents[2]) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        Argosy__NamedFile files[2], *pointers[2] = {&files[0], &files[1]};
        uint64_t id[2] = {++g.id, 77};

        for (unsigned i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) names[i], .path = (char *) names[i],
                        .content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]});
        }
        change.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        change.verb = START;
        change.replace = true;
        change.names = (char **) names;
        change.files = pointers;
        change.n_names = change.n_files = 2;
        return rig_change_answered(rig_ask_and_settle(&g, &request));
}

static void who_is_refused_another_content_goes_on_conflicting(void **state) {
        static const char *const names[] = {"a.service", "b.service"};
        static const char *const contents[] = {SERVICE "[X-Argosy]\nRequireLabel=zone=b\n",
                                               SERVICE "[X-Argosy]\nHost=n1\n"};

        rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n1\nConflicts=b.service\n");
        assert_int_equal(start_both(names, contents)->units[0]->status, ENOSPC);
        assert_int_equal(node_of("a.service"), rig_host(&g, 1)->virtual.node);
        assert_int_equal(node_of("b.service"), 0);
}

// The refusal comes when it has been placed elsewhere, before the other one's turn or after it.
static void who_is_refused_an_order_in_a_cycle_goes_on_conflicting(void **state) {
        static const char *const names[][2] = {{"a.service", "b.service"}, {"b.service", "c.service"}};
        static const char *const contents[][2] = {
                {SERVICE "[X-Argosy]\nHost=n2\nAfter=x.service\n", SERVICE "[X-Argosy]\nHost=n1\n"},
                {SERVICE "[X-Argosy]\nHost=n1\n", SERVICE "[X-Argosy]\nHost=n2\nAfter=x.service\n"}};

        rig_change(&g, START, "x.service", SERVICE "[X-Argosy]\nAfter=a.service c.service\n");
        for (unsigned i = 0; i < 2; i++) {
                const char *name = names[i][i];

                rig_change(&g, START, name, SERVICE "[X-Argosy]\nHost=n1\nConflicts=b.service\n");
                assert_int_equal(start_both(names[i], contents[i])->units[i]->status, EINVAL);
                assert_int_equal(node_of(name), rig_host(&g, 1)->virtual.node);
                assert_int_equal(node_of("b.service"), 0);
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "b.service", NULL);
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, name, NULL);
        }
}

static void who_is_refused_for_its_rollout_goes_on_conflicting(void **state) {
        static const char *const names[] = {"a.service", "b.service"};
        static const char *const contents[] = {SERVICE "[X-Argosy]\nHost=n2\n",
                                               SERVICE "[X-Argosy]\nHost=n1\n"};

        rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n1\nConflicts=b.service\n");
        (void) rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART,
                                            .name = "a.service",
                                            .health_ms = 60000});
        assert_int_not_equal(start_both(names, contents)->units[0]->status, 0);
        assert_int_equal(node_of("b.service"), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        T(a_global_unit_leaves_out_the_nodes_of_those_it_conflicts_with),
        T(a_global_unit_gives_way_to_whoever_conflicts_with_it_and_comes_back),
        T(the_gap_moves_with_the_unit),
        T(who_is_refused_another_content_goes_on_conflicting),
        T(who_is_refused_an_order_in_a_cycle_goes_on_conflicting),
        T(who_is_refused_for_its_rollout_goes_on_conflicting),
        T(of_two_global_units_the_first_by_name_has_the_node),
        T(the_next_leader_sees_it_the_same_way),
        T(a_node_that_is_left_to_another_one_is_named),
        T(of_several_that_have_the_node_the_first_by_name_is_named),
        T(a_global_unit_that_gives_way_everywhere_is_not_started),
        T(who_is_stopped_for_it_is_named),
        T(a_node_that_refuses_a_global_unit_fails_its_start),
        T(a_start_that_fails_asks_the_node_again)
)
