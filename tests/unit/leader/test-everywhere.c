// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit on more nodes than one turn looks at: whoever waits for it, asks all nodes about it or lists them
// is told what he would be told if it were all done at once, whatever happens between two turns.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "str.h"
#include "test.h"

#define EVERYWHERE "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum { HOSTS = 1500, SILENT = 700, LAST = HOSTS };

static Rig g;

FIXTURE(setup) {
        rig_start_many(&g, HOSTS);
}

RIG_TEARDOWN

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static const Argosy__Response__UnitResult *waited(const RigAnswer *a) {
        assert_true(a->final && a->n > 0);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_int_equal(a->responses[a->n - 1]->progress->n_done, 1);
        return a->responses[a->n - 1]->progress->done[0];
}

static RigAnswer *start(void) {
        uint64_t revision = rig_change(&g, START, "all.service", EVERYWHERE)->revision;

        return rig_wait(&g, START, "all.service", revision);
}

static unsigned count_running(void) {
        return rig_count_running(&g, "all.service");
}

static void a_wait_ends_when_it_is_up_on_the_last_node(void **state) {
        rig_host(&g, LAST)->deaf = true;
        RigAnswer *a = start();
        rig_settle(&g);
        assert_int_equal(count_running(), HOSTS - 1);
        assert_false(a->final);
        rig_host(&g, LAST)->deaf = false;
        rig_settle(&g);
        assert_int_equal(count_running(), HOSTS);
        assert_int_equal(waited(a)->status, 0);
}

static void a_wait_ends_when_one_of_its_nodes_has_failed(void **state) {
        rig_host(&g, LAST)->deaf = true; // who waits for all would wait
        RigAnswer *a = start();
        rig_settle(&g);
        assert_false(a->final);
        rig_host_report_and_settle(&g, rig_host(&g, SILENT), rig_unit_on(&g, SILENT, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__FAILED);
        assert_int_equal(waited(a)->status, EIO);
        assert_string_equal(waited(a)->node, str_printf("n%d", SILENT));
}

// What was seen before of the unit as it was says nothing of it as it is.
static void a_unit_that_changes_while_it_is_looked_at_is_looked_at_anew(void **state) {
        rig_host(&g, LAST)->deaf = true;
        RigAnswer *a = start();
        rig_settle(&g);
        (void) rig_change(&g, DESTROY, "all.service", NULL);
        rig_settle(&g);
        assert_int_equal(waited(a)->status, ECANCELED);
}

static void many_wait_for_it(void **state) {
        enum { WAITS = 200 };
        RigAnswer *waits[WAITS];
        uint64_t revision;

        rig_host(&g, LAST)->deaf = true;
        revision = rig_change(&g, START, "all.service", EVERYWHERE)->revision;
        for (size_t i = 0; i < WAITS; i++)
                waits[i] = rig_wait(&g, START, "all.service", revision);
        rig_settle(&g);
        for (size_t i = 0; i < WAITS; i++)
                assert_false(waits[i]->final);
        rig_cancel(&g, waits[WAITS / 2]);
        rig_host(&g, LAST)->deaf = false;
        rig_settle(&g);
        for (size_t i = 0; i < WAITS; i++)
                if (i != WAITS / 2)
                        assert_int_equal(waited(waits[i])->status, 0);
}

static void it_is_destroyed_when_the_last_node_has_let_go(void **state) {
        uint64_t revision;

        (void) start();
        rig_settle(&g);
        rig_host(&g, LAST)->deaf = true;
        revision = rig_change(&g, DESTROY, "all.service", NULL)->revision;
        RigAnswer *a = rig_wait(&g, DESTROY, "all.service", revision);
        assert_int_equal(count_running(), 1);
        assert_false(a->final);
        rig_host(&g, LAST)->deaf = false;
        rig_settle(&g);
        assert_int_equal(count_running(), 0);
        assert_int_equal(waited(a)->status, 0);
}

// A host that goes while the walk is there moves it on.
static void hosts_are_removed_while_it_is_ordered(void **state) {
        Argosy__Request__ClusterRemove m = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        (void) start();
        rig_settle(&g);
        for (uint32_t host = 100; host < 120; host++) {
                (void) rig_change_with(&g, ARGOSY__VERB__VERB_RESTART, "all.service", NULL, false,
                                       (uint8_t[16]){(uint8_t) host, 1});
                rig_turns(&g, 2);
                m.host = str_printf("n%u", host);
                m.force = true;
                request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
                request.cluster_remove = &m;
                a = rig_ask(&g, &request);
                rig_turns(&g, 2);
        }
        rig_settle(&g);
        assert_int_equal(a->responses[0]->status, 0);
        a = rig_wait(&g, START, "all.service", rig_record(&g, "all.service")->revision);
        assert_int_equal(waited(a)->status, 0);
}

static void all_nodes_are_listed_once(void **state) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;
        const Argosy__Response__Nodes *nodes;
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_NODES, list_nodes, &m));

        assert_int_equal(a->n, 0);
        rig_settle(&g);
        assert_true(a->final && a->n == 1);
        nodes = a->responses[0]->nodes;
        assert_int_equal(nodes->n_rows, HOSTS);
        for (size_t i = 0; i < HOSTS; i++)
                assert_string_equal(nodes->rows[i]->node, str_printf("n%zu", i + 1));
}

static RigAnswer *top(void) {
        Argosy__Request__Top m = TOP_OF(.interval_ms = 1000);

        return rig_ask(&g, A_REQUEST(TOP, top, &m));
}

static unsigned calls, cancels;

static void count_calls(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        calls += m->msg_case == ARGOSY__TO_HOST__MSG_CALL;
        cancels += m->msg_case == ARGOSY__TO_HOST__MSG_CALL_CANCEL;
}

static void each_node_is_asked_once_and_hears_when_nobody_asks_any_more(void **state) {
        calls = cancels = 0;
        g.on_host_message = count_calls;
        RigAnswer *a = top();
        assert_true(calls < HOSTS / 2);
        rig_settle(&g);
        assert_int_equal(calls, HOSTS);
        rig_cancel(&g, a);
        assert_true(cancels < HOSTS);
        rig_settle(&g);
        assert_int_equal(cancels, HOSTS);
        assert_int_equal(g.leader->calls_by_id.count, 0);
        g.on_host_message = NULL;
}

static void whoever_leads_no_more_owes_nobody_a_cancel(void **state) {
        rig_cancel(&g, top());
        (void) top();
        rig_elect_anew(&g);
        assert_int_equal(g.leader->calls_by_id.count, 0);
}

RUN_TESTS(
        TEST(a_wait_ends_when_it_is_up_on_the_last_node),
        TEST(a_wait_ends_when_one_of_its_nodes_has_failed),
        TEST(a_unit_that_changes_while_it_is_looked_at_is_looked_at_anew),
        TEST(many_wait_for_it),
        TEST(it_is_destroyed_when_the_last_node_has_let_go),
        TEST(hosts_are_removed_while_it_is_ordered),
        TEST(all_nodes_are_listed_once),
        TEST(each_node_is_asked_once_and_hears_when_nobody_asks_any_more),
        TEST(whoever_leads_no_more_owes_nobody_a_cancel)
)
