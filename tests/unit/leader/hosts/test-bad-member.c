// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One member says too much. It is held against that member, and nobody else waits for it.
#include <errno.h>

#include "host-record.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "printed.h"
#include "response.h"
#include "test.h"
#include "str.h"
#include "unit-on-node-work.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

enum { TOO_MANY = 20000 };

static Argosy__Label *labels[TOO_MANY];

RIG_OF(4)

FIXTURE(make_labels) {
        for (unsigned i = 0; i < TOO_MANY; i++) {
                labels[i] = label_new(printed("key%u-%050u", i, i), "some-value");
        }
}

FIXTURE(drop_labels) {
        for (unsigned i = 0; i < TOO_MANY; i++)
                message_free(labels[i]);
}

static const Argosy__Response__NodeRow *row_of(uint32_t host) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;

        return rig_ask(&g, A_REQUEST(LIST_NODES, list_nodes, &list))->responses[0]->nodes->rows[host - 1];
}

static void announce(uint32_t host, size_t n) {
        rig_host(&g, host)->many_labels = labels;
        rig_host(&g, host)->n_many_labels = n;
        rig_host(&g, host)->attached = false;
}

// A unit on this host, which then dies.
static void lose(uint32_t host) {
        _cleanup_free_ char *content = str_printf(SERVICE "[X-Argosy]\nAvoidLabel=none\n");

        for (unsigned i = 0; !rig_record(&g, "web.service") || rig_record(&g, "web.service")->node != host;
             i++) {
                char name[32];

                assert_in_range(i, 0, 50);
                snprintf(name, sizeof(name), "filler%u.service", i);
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
                rig_change(&g, START, name, SERVICE);
                rig_change(&g, START, "web.service", SERVICE);
        }
        rig_host_off_for(&g, host, 2 * RIG_LEASE_MS);
}

static void a_host_with_too_many_labels_stops_no_failover(void **state) {
        announce(2, TOO_MANY);
        rig_settle(&g);
        const Argosy__Response__NodeRow *row = row_of(2);
        assert_string_equal(row->state, "online");
        assert_non_null(strstr(row->reason, "20000 labels, more than 64"));
        assert_int_equal(row->n_labels, 0);
        assert_string_equal(row_of(3)->reason, "");
        lose(3);
        assert_int_not_equal(rig_record(&g, "web.service")->node, 3);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);

        announce(2, 3); // it thinks better of it
        rig_settle(&g);
        row = row_of(2);
        assert_string_equal(row->reason, "");
        assert_int_equal(row->n_labels, 3);
}

// Whatever passes the door: an entry that is too long is taken apart until it is known who made it so.
static void what_no_entry_can_hold_is_dropped_and_the_rest_goes_on(void **state) {
        g.batch_max = 4000;
        announce(2, 60); // sound, but for this log
        announce(4, 2);
        rig_settle(&g);
        assert_non_null(strstr(row_of(2)->reason, "more than the"));
        assert_int_equal(row_of(2)->n_labels, 0);
        assert_int_equal(row_of(4)->n_labels, 2);
        assert_string_equal(row_of(4)->reason, "");
        lose(3);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void a_request_that_no_entry_can_hold_is_refused_and_the_rest_goes_on(void **state) {
        _cleanup_free_ char *long_file = calloc(1, 5001);

        memset(long_file, '#', 5000);
        g.batch_max = 4000;
        RigAnswer *big = rig_change_with(&g, START, "big.service", long_file, false, NULL);
        RigAnswer *small = rig_change_with_and_settle(&g, START, "small.service", SERVICE, false, NULL);
        assert_true(big->final);
        assert_int_equal(big->responses[0]->status, E2BIG);
        assert_true(small->final);
        assert_int_equal(small->responses[0]->status, 0);
        assert_null(rig_record(&g, "big.service"));
        assert_int_equal(rig_count_running(&g, "small.service"), 1);
}

static void an_outcome_that_nobody_knows_is_none(void **state) {
        rig_host_set_labels(&g, 1, "where", "here");
        rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nMachineMetadata=where=here\n");
        VirtualUnit *u = rig_unit_on(&g, 1, "web.service");
        rig_host_report_and_settle(&g, rig_host(&g, 1), u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                                   (Argosy__Outcome__Kind) 17);
        assert_int_equal(rig_record(&g, "web.service")->n_outcomes, 0);
        assert_int_equal(rig_change(&g, START, "small.service", SERVICE)->status, 0);
}

static void texts_of_a_report_are_cut(void **state) {
        static char text[100000];
        RigHost *h = rig_host(&g, 1);

        memset(text, 'x', sizeof(text) - 1);
        rig_host_set_labels(&g, 1, "where", "here");
        rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nMachineMetadata=where=here\n");
        Argosy__Outcome outcome =
                MESSAGE_OF(outcome, .kind = ARGOSY__OUTCOME__KIND__FAILED,
                           .start_rev = rig_record(&g, "web.service")->start_rev, .result = text);
        Argosy__UnitReport r = UNIT_REPORT_OF(.node = h->virtual.node, .name = "web.service",
                                              .revision = rig_record(&g, "web.service")->revision,
                                              .sub = text, .result = text, .error = text,
                                              .outcome = &outcome),
                           *list = &r;
        Argosy__ToVoter__Reports reports = MESSAGE_OF(to_voter__reports, .reports = &list, .n_reports = 1);
        leader_on_message(g.leader, 1, A_TO_VOTER(REPORTS, reports, &reports));
        Unit *u = unit_find(g.leader, "web.service");
        const UnitOnNode *s = unit_on_node_find(u, node_find(g.leader, h->virtual.node));
        assert_int_equal(strlen(unit_on_node_error(s)), REASON_MAX);
        assert_int_equal(strlen(unit_on_node_sub(s)), WORD_MAX);
        assert_int_equal(strlen(unit_on_node_work_seen(s)->outcome->result), WORD_MAX);
        rig_settle(&g);
        assert_int_equal(rig_record(&g, "web.service")->n_outcomes, 1);
        assert_null(s->work); // the log has it, so nobody else keeps it
}

static void what_a_host_may_say_of_itself_has_limits(void **state) {
        Argosy__ToVoter__Attach a =
                ATTACH_OF(.name = "web-1.example.org", .address = "2001:db8::1", .port = 7867,
                          .labels = labels, .n_labels = HOST_OWN_LABELS_MAX);
        char why[200], text[100] = "";

        assert_true(host_attach_is_sound(&a, why, sizeof(why)));
        a.n_labels++;
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
        assert_string_equal(why, "it announces 65 labels, more than 64");
        a.n_labels = 0;
        a.port = 70000;
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
        a.port = 7867;
        a.name = "a b";
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
        memset(text, 'x', 65);
        a.name = text;
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
        a.name = "";
        a.address = text;
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
        a.address = "";
        a.n_managers = 513;
        assert_false(host_attach_is_sound(&a, why, sizeof(why)));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(a_host_with_too_many_labels_stops_no_failover),
                RIG_TEST(what_no_entry_can_hold_is_dropped_and_the_rest_goes_on),
                RIG_TEST(a_request_that_no_entry_can_hold_is_refused_and_the_rest_goes_on),
                RIG_TEST(an_outcome_that_nobody_knows_is_none),
                RIG_TEST(texts_of_a_report_are_cut),
                cmocka_unit_test(what_a_host_may_say_of_itself_has_limits),
        };

        return cmocka_run_group_tests(tests, make_labels, drop_labels);
}
