// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several systemd managers on one host, as the leader sees them: each a node of its own.
#include "due.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "manager-name.h"
#include "printed.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define FOR_USERS SERVICE "[X-Argosy]\nManager=user@*\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

RIG_OF(2)

static void assert_done(const RigAnswer *a, int status) {
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->progress->n_done, 1);
        assert_int_equal(a->responses[a->n - 1]->progress->done[0]->status, status);
}

static Argosy__Response *list_nodes(void) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_NODES, list_nodes, &list));

        assert_int_equal(a->n, 1);
        return a->responses[0];
}

static void an_attached_manager_becomes_a_node_and_the_host_hears_its_number(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        assert_true(rig_host(&g, 2)->virtual.manager_node > 2);
        Argosy__Response *r = list_nodes();
        assert_int_equal(r->nodes->n_rows, 3);
        assert_string_equal(r->nodes->rows[2]->node, "n2/user@1000");
        assert_string_equal(r->nodes->rows[2]->manager, "user@1000");
        assert_string_equal(r->nodes->rows[2]->state, "online");
}

static void units_go_to_system_managers_unless_they_ask_for_another(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        for (char name[] = "u0.service"; name[1] < '6'; name[1]++) {
                rig_change(&g, START, name, SERVICE);
                assert_true(rig_record(&g, name)->node <= 2);
        }
        rig_change(&g, START, "everywhere.service", SERVICE "[X-Argosy]\nGlobal=yes\n");
        assert_int_equal(rig_count_running(&g, "everywhere.service"), 2);
        assert_int_equal(rig_unit_on(&g, 2, "everywhere.service")->order.node, 2);
        rig_change(&g, START, "mine.service", FOR_USERS);
        assert_int_equal(rig_record(&g, "mine.service")->node, rig_host(&g, 2)->virtual.manager_node);
        assert_int_equal(rig_count_running(&g, "mine.service"), 1);
}

// None of them costs a label of each node.
static void units_may_name_as_many_lists_of_managers_as_they_like(void **state) {
        enum { LISTS = 300 };

        rig_host_set_manager(&g, 2, "user@1000");
        for (unsigned i = 0; i < LISTS; i++) {
                char name[32];

                snprintf(name, sizeof(name), "u%u.service", i);
                assert_int_equal(
                        rig_change(&g, START, name,
                                   printed(SERVICE "[X-Argosy]\nManager=user@%u user@1*\n", 2000 + i))
                                ->status,
                        0);
                assert_int_equal(rig_record(&g, name)->node, rig_host(&g, 2)->virtual.manager_node);
        }
}

static void a_unit_for_managers_that_do_not_exist_is_refused_per_node(void **state) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "mine.service", FOR_USERS);

        assert_int_equal(r->status, ENOSPC);
        assert_int_equal(r->n_refusals, 2);
        assert_non_null(strstr(r->refusals[0]->reason, "Manager="));
}

static void a_manager_that_is_down_keeps_its_units_and_disturbs_nobody(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        rig_change(&g, START, "mine.service", FOR_USERS);
        rig_change(&g, START, "web.service", SERVICE);
        rig_change(&g, START, "web2.service", SERVICE);
        rig_host_send_reason(&g, 2, "the user is not logged in");
        assert_string_equal(rig_list_units(&g), "mine.service n2/user@1000 unknown unknown unknown\n"
                                                "web.service n1 loaded active running\n"
                                                "web2.service n2 loaded active running\n");
        assert_string_equal(list_nodes()->nodes->rows[2]->state, "offline");
        assert_string_equal(list_nodes()->nodes->rows[2]->reason, "the user is not logged in");
        // Whoever waits for it hears at once why it does not come.
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "mine.service", NULL);
        assert_done(rig_wait(&g, START, "mine.service", r->revision), EAGAIN);
        r = rig_change(&g, START, "other.service", FOR_USERS);
        assert_int_equal(r->status, 0);
        assert_int_equal(rig_record(&g, "other.service")->node, 0);
        rig_host_send_reason(&g, 2, NULL);
        assert_int_equal(rig_record(&g, "other.service")->node, rig_host(&g, 2)->virtual.manager_node);
        assert_int_equal(rig_unit_on(&g, 2, "mine.service")->starts, 1);
}

// A host may be hostile: what it repeats, or says many times over in one message, must cost nothing.
static void a_host_that_repeats_itself_wakes_nobody(void **state) {
        Argosy__NodeReport report = ARGOSY__NODE_REPORT__INIT, last = ARGOSY__NODE_REPORT__INIT;
        Argosy__NodeReport *reports[3000];
        char reason[2000];

        rig_host_set_manager(&g, 2, "user@1000");
        Host *h = host_find(g.leader, 2);
        memset(reason, 'x', sizeof(reason) - 1);
        reason[sizeof(reason) - 1] = 0;
        report.manager = last.manager = "user@1000";
        report.reason = reason;
        reports[0] = &report;
        session_on_node_reports(g.leader, h, reports, 1);
        assert_true(leader_take_due(g.leader, DUE_WAITS));
        session_on_node_reports(g.leader, h, reports, 1); // longer than what is kept of it
        assert_false(leader_is_due(g.leader, DUE_WAITS));
        last.reason = "the last word";
        reports[1] = &last;
        session_on_node_reports(g.leader, h, reports, 2);
        assert_string_equal(list_nodes()->nodes->rows[2]->reason, "the last word");
        (void) leader_take_due(g.leader, DUE_WAITS);
        for (size_t i = 0; i < ELEMENTSOF(reports); i++)
                reports[i] = &report;
        session_on_node_reports(g.leader, h, reports, ELEMENTSOF(reports)); // more than a host can have
        assert_false(leader_is_due(g.leader, DUE_WAITS));
}

static void a_new_attach_says_anew_which_managers_are_down(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        rig_host(&g, 2)->reason = "the user is not logged in";
        rig_host_set_labels(&g, 2, "a", "b");
        assert_string_equal(list_nodes()->nodes->rows[2]->state, "offline");
        rig_host(&g, 2)->reason = NULL;
        rig_host_set_labels(&g, 2, "a", "c");
        assert_string_equal(list_nodes()->nodes->rows[2]->state, "online");
}

static void what_ran_in_a_detached_manager_waits_for_another_that_fits(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        rig_change(&g, START, "mine.service", FOR_USERS);
        uint32_t before = rig_host(&g, 2)->virtual.manager_node;
        rig_host_set_manager(&g, 2, NULL);
        assert_int_equal(list_nodes()->nodes->n_rows, 2);
        assert_null(rig_unit_on(&g, 2, "mine.service"));
        assert_string_equal(rig_list_units(&g), "mine.service - - inactive dead\n");
        rig_host_set_manager(&g, 1, "user@7");
        assert_string_equal(rig_list_units(&g), "mine.service n1/user@7 loaded active running\n");
        assert_true(rig_record(&g, "mine.service")->node > before); // numbers are never used twice
}

static RigAnswer *wait_for_manager(const char *host, bool detached) {
        Argosy__Request__ManagerWait wait =
                MESSAGE_OF(request__manager_wait, .host = (char *) host, .manager = (char *) "user@1000",
                           .detached = detached);

        return rig_ask_and_settle(&g, A_REQUEST(MANAGER_WAIT, manager_wait, &wait));
}

static void whoever_attaches_waits_until_the_host_has_said_whether_it_can_be_used(void **state) {
        RigAnswer *a = wait_for_manager("n2", false), *elsewhere = wait_for_manager("n1", false);

        assert_false(a->final); // not in the log
        rig_host(&g, 2)->reason = MANAGER_NOT_REACHED;
        rig_host_set_manager(&g, 2, "user@1000");
        assert_int_equal(list_nodes()->nodes->n_rows, 3);
        assert_false(a->final);
        rig_host_send_reason(&g, 2, NULL);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_string_equal(a->responses[0]->message, "");
        assert_string_equal(list_nodes()->nodes->rows[2]->state, "online");
        rig_host_send_reason(&g, 2, "the user is not logged in");
        a = wait_for_manager("n2", false);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0); // it is attached all the same
        assert_string_equal(a->responses[0]->message,
                            "n2/user@1000 cannot be used at present: the user is not logged in");
        assert_false(elsewhere->final);
}

static void whoever_detaches_waits_until_the_node_is_gone_from_the_log(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        RigAnswer *a = wait_for_manager("n2", true);
        assert_false(a->final);
        g.slow = true;
        rig_host(&g, 2)->virtual.manager = NULL;
        rig_host(&g, 2)->attached = false;
        rig_turns(&g, 10);
        assert_false(a->final); // the host has said so, the log has not taken it yet
        rig_hurry_and_settle(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        assert_int_equal(list_nodes()->nodes->n_rows, 2);
        assert_true(wait_for_manager("n2", true)->final);
        assert_int_equal(wait_for_manager("n7", true)->responses[0]->status, ENOENT);
}

static void refuse_for_want_of_space(void) {
        for (size_t i = 0; i < g.n_held; i++) {
                struct RigHeld *held = &g.held[i];

                assert_false(held->barrier);
                held->done(STORE_NO_SPACE, 0, held->data);
                buf_done(&held->batch);
        }
        g.n_held = 0;
}

// Its node is gone from the tables: only the leader itself can remember that it is to be moved.
static void a_full_disk_does_not_strand_what_ran_in_a_detached_manager(void **state) {
        rig_host_set_manager(&g, 1, "user@7");
        rig_host_set_manager(&g, 2, "user@1000");
        rig_change(&g, START, "a.service", FOR_USERS);
        rig_change(&g, START, "b.service", FOR_USERS);
        g.slow = true;
        rig_host(&g, 2)->virtual.manager = NULL;
        rig_host(&g, 2)->attached = false;
        rig_turns(&g, 10);
        rig_release(&g); // the host's record, without that node
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        refuse_for_want_of_space();
        g.slow = false;
        rig_pass_ms(&g, 3000);
        assert_string_equal(rig_list_units(&g), "a.service n1/user@7 loaded active running\n"
                                                "b.service n1/user@7 loaded active running\n");
}

static void the_units_of_a_lost_host_move_to_managers_that_fit(void **state) {
        rig_host_set_manager(&g, 1, "user@7");
        rig_host_set_manager(&g, 2, "user@1000");
        rig_change(&g, START, "a.service", FOR_USERS);
        rig_change(&g, START, "b.service", FOR_USERS);
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_string_equal(rig_list_units(&g), "a.service n1/user@7 loaded active running\n"
                                                "b.service n1/user@7 loaded active running\n");
}

static void a_host_cannot_invent_managers(void **state) {
        rig_host_set_manager(&g, 2, "user@../../etc");
        assert_int_equal(list_nodes()->nodes->n_rows, 2);
}

static void attach_anew(const char *manager) {
        RigHost *h = rig_host(&g, 2);

        h->virtual.manager = manager;
        h->attached = false;
        rig_turns(&g, 10);
}

static void attach_with(const char *manager, const char *shelf) {
        RigHost *h = rig_host(&g, 2);

        h->label = (Argosy__Label) MESSAGE_OF(label, .key = "shelf", .value = (char *) shelf);
        h->labels = &h->label;
        attach_anew(manager);
}

// Each Attach asks for a record that follows from what the log had when it came.
static void a_manager_keeps_its_number_and_gets_one_however_often_its_host_attaches(void **state) {
        g.slow = true;
        attach_with("user@1000", "1");
        attach_with("user@1000", "2"); // the entry with the manager is on its way
        rig_release(&g);
        rig_turns(&g, 10);
        const Argosy__HostRecord *h = cluster_state_find_host(g.state, 2);
        assert_int_equal(h->n_nodes, 2);
        uint32_t number = h->nodes[1]->node;
        attach_with("user@1000", "3"); // the next one is
        rig_hurry_and_settle(&g);
        h = cluster_state_find_host(g.state, 2);
        assert_int_equal(h->n_nodes, 2);
        assert_int_equal(h->nodes[1]->node, number);
        assert_string_equal(h->own_labels[0]->value, "3");
        assert_int_equal(rig_host(&g, 2)->virtual.manager_node, number);
}

// The log does not have it yet when the host says that it is gone.
static void a_manager_that_goes_while_its_entry_is_on_its_way_has_no_node(void **state) {
        g.slow = true;
        attach_anew("user@1000");
        attach_anew(NULL); // as the log has it
        rig_hurry_and_settle(&g);
        assert_int_equal(cluster_state_find_host(g.state, 2)->n_nodes, 1);
}

// What its host has said once more while the entry was on its way is no entry of its own.
static void what_a_host_repeats_while_its_entry_is_on_its_way_is_in_the_log_once(void **state) {
        unsigned batches = g.batches;

        g.slow = true;
        attach_anew("user@1000");
        attach_anew("user@1000");
        rig_hurry_and_settle(&g);
        assert_int_equal(cluster_state_find_host(g.state, 2)->n_nodes, 2);
        assert_int_equal(g.batches, batches + 1);
}

static void a_node_is_named_by_host_and_manager(void **state) {
        uint32_t node = 0;

        rig_host_set_manager(&g, 2, "container@web");
        const Argosy__HostRecord *h = cluster_state_resolve_node(g.state, "n2/web", &node, NULL);
        assert_int_equal(h->host, 2);
        assert_int_equal(node, rig_host(&g, 2)->virtual.manager_node);
        assert_non_null(cluster_state_resolve_node(g.state, "n2/container@web", &node, NULL));
        assert_int_equal(cluster_state_resolve_node(g.state, "n2", &node, NULL)->host, 2);
        assert_int_equal(node, 2);
        assert_null(cluster_state_resolve_node(g.state, "n2/other", &node, NULL));
        assert_null(cluster_state_resolve_node(g.state, "n1/web", &node, NULL));
        assert_null(cluster_state_resolve_node(g.state, "n2/", &node, NULL));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void admits(uint32_t node, const char *name) {
        char *names[] = {(char *) "nobody.service", (char *) name};
        Argosy__ToVoter__Admits m = MESSAGE_OF(to_voter__admits, .node = node, .units = names, .n_units = 2);

        session_on_admits(g.leader, host_find(g.leader, 2), &m);
        rig_settle(&g);
}

// No request comes: it is the node's word.
static void what_a_node_would_take_now_is_placed_there_again(void **state) {
        rig_host(&g, 2)->refuses = true;
        (void) rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nHost=n2\n");
        (void) rig_change(&g, START, "all.service", SERVICE "[X-Argosy]\nGlobal=yes\n");
        rig_pass_ms(&g, 60000);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        assert_int_equal(rig_count_running(&g, "all.service"), 1);
        rig_host(&g, 2)->refuses = false;
        admits(1, "web.service"); // not a node of that host
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        admits(2, "web.service");
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        admits(2, "all.service");
        assert_int_equal(rig_count_running(&g, "all.service"), 2);
        admits(2, "all.service"); // it refuses nothing any more
        assert_int_equal(rig_count_running(&g, "all.service"), 2);
}

RUN_TESTS(
        T(an_attached_manager_becomes_a_node_and_the_host_hears_its_number),
        T(units_go_to_system_managers_unless_they_ask_for_another),
        T(units_may_name_as_many_lists_of_managers_as_they_like),
        T(a_unit_for_managers_that_do_not_exist_is_refused_per_node),
        T(a_manager_that_is_down_keeps_its_units_and_disturbs_nobody),
        T(a_host_that_repeats_itself_wakes_nobody),
        T(a_new_attach_says_anew_which_managers_are_down),
        T(what_ran_in_a_detached_manager_waits_for_another_that_fits),
        T(whoever_attaches_waits_until_the_host_has_said_whether_it_can_be_used),
        T(whoever_detaches_waits_until_the_node_is_gone_from_the_log),
        T(a_full_disk_does_not_strand_what_ran_in_a_detached_manager),
        T(the_units_of_a_lost_host_move_to_managers_that_fit),
        T(a_host_cannot_invent_managers),
        T(a_manager_keeps_its_number_and_gets_one_however_often_its_host_attaches),
        T(a_manager_that_goes_while_its_entry_is_on_its_way_has_no_node),
        T(what_a_host_repeats_while_its_entry_is_on_its_way_is_in_the_log_once),
        T(a_node_is_named_by_host_and_manager),
        T(what_a_node_would_take_now_is_placed_there_again)
)
