// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every reason that `why` knows, each brought about.
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ON_SSD SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n"
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

// The answer's first response; the last one is empty and final.
static const Argosy__Response *ask(const char *unit) {
        Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        RigAnswer *a;

        why.names = (char **) &unit;
        why.n_names = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_WHY;
        request.why = &why;
        a = rig_ask(&g, &request);
        assert_true(a->final);
        assert_true(a->n >= 2);
        return a->responses[0];
}

static void assert_why(const char *unit, const char *node, const char *reason) {
        const Argosy__Response__Status *s = ask(unit)->status_reply;

        assert_non_null(s);
        assert_string_equal(s->row->node, node);
        assert_string_equal(s->why, reason);
}

static void set_mode(const char *node, Argosy__NodeMode mode) {
        Argosy__Request__NodeChange change = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        change.node = (char *) node;
        change.mode = mode;
        request.what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
        request.node_change = &change;
        (void) rig_ask(&g, &request);
        rig_settle(&g);
}

static void as_wanted(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        assert_why("web.service", "n1", "");
}

static void unknown_and_unwanted(void **state) {
        assert_int_equal(ask("web.service")->status, ENOENT);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        assert_why("web.service", "-", "nobody wants it loaded; `start` starts it");
}

static void nobody_takes_it(void **state) {
        const Argosy__Response__Status *s;

        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_settle(&g);
        rig_host_off(&g, 2);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        rig_change(&g, START, "fast.service", ON_SSD);
        assert_why("fast.service", "-", "no node takes it at present");
        s = ask("fast.service")->status_reply;
        assert_int_equal(s->n_refusals, 3);
        assert_string_equal(s->refusals[0]->reason, "needs label disk=ssd, has no label disk");
        assert_string_equal(s->refusals[1]->reason, "the node is lost");
}

static void its_node_is_lost_or_to_be_emptied_and_nobody_else_takes_it(void **state) {
        rig_host_set_labels(&g, 2, "disk", "ssd");
        rig_settle(&g);
        rig_change(&g, START, "fast.service", ON_SSD);
        set_mode("n2", ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_why("fast.service", "n2", "n2 is to be emptied, and no other node takes it");
        set_mode("n2", ARGOSY__NODE_MODE__MODE_OPEN);
        assert_why("fast.service", "n2", "");
        rig_host_off(&g, 2);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_why("fast.service", "n2", "n2 is lost, and no other node takes it");
}

static void so_many_are_lost_that_nothing_is_moved(void **state) {
        g.leader->config.mass_loss_percent = 50;
        for (int i = 0; i < 3; i++)
                rig_change(&g, START, (const char *[]){"a.service", "b.service", "c.service"}[i], SERVICE);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_why(
                "c.service", "n3",
                "its node is lost together with so many others that nothing is moved (see MassLossPercent= "
                "in argosy.conf(5))");
        assert_why("a.service", "n1", "");
}

static void it_waits_for_its_end_elsewhere(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true;
        set_mode("n1", ARGOSY__NODE_MODE__MODE_DRAINING);
        assert_why("web.service", "n2", "it waits until it has ended on n1");
}

static void the_node_is_at_it(void **state) {
        rig_host(&g, 1)->deaf = true;
        rig_change(&g, START, "web.service", SERVICE);
        assert_why("web.service", "n1", "the node is at it: it has not reported yet");
}

static void what_systemd_says(void **state) {
        RigHost *h = rig_host(&g, 1);

        rig_change(&g, START, "web.service", SERVICE);
        rig_host_report(&g, h, rig_unit_on(&g, 1, "web.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                        ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
        assert_why("web.service", "n1", "it failed (systemd does not say why)");
        rig_host_report(&g, h, rig_unit_on(&g, 1, "web.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                        ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
        assert_why("web.service", "n1", "it ended by itself");
        rig_host_report(&g, h, rig_unit_on(&g, 1, "web.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                        ARGOSY__OUTCOME__KIND__DONE);
        rig_settle(&g);
        assert_why("web.service", "n1", "it has finished; `start` runs it again");
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(as_wanted),
                RIG_TEST(unknown_and_unwanted),
                RIG_TEST(nobody_takes_it),
                RIG_TEST(its_node_is_lost_or_to_be_emptied_and_nobody_else_takes_it),
                RIG_TEST(so_many_are_lost_that_nothing_is_moved),
                RIG_TEST(it_waits_for_its_end_elsewhere),
                RIG_TEST(the_node_is_at_it),
                RIG_TEST(what_systemd_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
