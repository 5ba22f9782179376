// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What hosts say of themselves and of their units, and what the tables know then. Nothing else of the leader
// runs.
#include "attach.h"
#include "host-complaints.h"
#include "host-marks.h"
#include "session-words.h"

#include "manager-name.h"
#include "messages.h"
#include "nodes.h"
#include "str.h"
#include "unit-on-node-work.h"

static void report_node(uint32_t host, const char *manager, const char *reason) {
        Argosy__NodeReport r = MESSAGE_OF(node_report, .manager = (char *) manager,
                                          .reason = (char *) reason),
                           *reports = &r;

        session_on_node_reports(t.leader, tables_host(&t, host), &reports, 1);
}

// ---- what an Attach says

static void what_a_host_holds_is_known_as_it_says_it(void **state) {
        Argosy__UnitReport web = tables_report(&t, "web.service", 2);

        put("web.service", 2);
        attach_holding(2, web);
        assert_true(unit_on_node_is_reported(tables_unit_on_node(&t, "web.service", 2)));
        assert_int_equal(tables_unit_on_node(&t, "web.service", 2)->active,
                         ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        attach(2); // it says everything each time: what it does not name it does not hold
        assert_null(tables_unit_on_node(&t, "web.service", 2));
        web.gone = true;
        attach_holding(2, web);
        assert_null(tables_unit_on_node(&t, "web.service", 2));
}

// ---- an Attach in parts

static void attach_in_parts(uint32_t host) {
        Argosy__ToVoter__Attach a = attach_of(host);

        a.parts = true;
        attach_with(host, a);
}

static void part(uint32_t host, uint64_t seq, const char *name, bool last) {
        Argosy__UnitReport report = tables_report(&t, name, host), *held = &report;
        Argosy__ToVoter__AttachPart p =
                MESSAGE_OF(to_voter__attach_part, .seq = seq, .held = &held, .n_held = 1, .last = last);

        session_on_attach_part(t.leader, tables_host(&t, host), &p);
}

static void a_host_is_in_session_when_its_last_part_is_here(void **state) {
        Argosy__ToVoter__Beat beat = MESSAGE_OF(to_voter__beat, .seq = 1);
        const Host *h = tables_host(&t, 2);

        put("a.service", 2);
        put("b.service", 2);
        attach_in_parts(2);
        assert_false(h->attached);
        assert_false(hosts_have_mark(t.leader, HOST_BARRIER));
        part(2, last_seq - 1, "a.service", true); // of the Attach before
        assert_null(tables_unit_on_node(&t, "a.service", 2));
        part(2, last_seq, "a.service", false);
        assert_false(h->attached);
        t.now_us += TABLES_LEASE_MS / 4 * USEC_PER_MSEC;
        session_on_beat(t.leader, tables_host(&t, 2), &beat);
        assert_int_equal(h->lease.renewed_us, t.now_us);
        part(2, last_seq, "b.service", true);
        assert_true(h->attached);
        assert_true(hosts_have_mark(t.leader, HOST_BARRIER));
        assert_true(unit_on_node_is_reported(tables_unit_on_node(&t, "a.service", 2)));
        assert_true(unit_on_node_is_reported(tables_unit_on_node(&t, "b.service", 2)));
        part(2, last_seq, "c.service", true); // nothing is awaited any more
        assert_null(tables_unit_on_node(&t, "c.service", 2));
}

static void a_host_that_comes_back_is_counted_while_its_parts_come(void **state) {
        Argosy__ToVoter__Goodbye goodbye = MESSAGE_OF(to_voter__goodbye, .stopping = true);
        size_t expected = t.leader->n_hosts.expected, awaited;

        attach(2);
        awaited = t.leader->n_hosts.awaited;
        session_on_goodbye(t.leader, tables_host(&t, 2), &goodbye);
        assert_int_equal(t.leader->n_hosts.expected, expected - 1);
        attach_in_parts(2);
        assert_int_equal(t.leader->n_hosts.expected, expected);
        assert_int_equal(t.leader->n_hosts.awaited, awaited + 1);
        part(2, last_seq, "a.service", true);
        assert_int_equal(t.leader->n_hosts.expected, expected);
        assert_int_equal(t.leader->n_hosts.awaited, awaited);
}

static void parts_end_with_their_link(void **state) {
        put("a.service", 2);
        attach_in_parts(2);
        session_on_link_lost(t.leader, tables_host(&t, 2));
        part(2, last_seq, "a.service", true);
        assert_false(tables_host(&t, 2)->attached);
        assert_null(tables_unit_on_node(&t, "a.service", 2));
}

// One that is no agent's is as good as ended by its limit.
static void of_what_a_message_holds_no_more_is_taken_than_an_agent_says(void **state) {
        enum { MANY = ATTACH_HELD_MAX + 1 };
        static Argosy__UnitReport reports[MANY], *held[MANY];
        static char names[MANY][32];
        Argosy__ToVoter__AttachPart p = ARGOSY__TO_VOTER__ATTACH_PART__INIT;

        tables_link(&t, 2);
        for (unsigned i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "u%u.service", i);
                reports[i] = tables_report(&t, names[i], 2);
                held[i] = &reports[i];
        }
        Argosy__ToVoter__Attach a = attach_of(2);
        a.held = p.held = held;
        a.n_held = p.n_held = MANY;
        attach_with(2, a);
        assert_int_equal(tables_node(&t, 2)->n_units_on_node, ATTACH_HELD_MAX);
        attach_in_parts(2);
        p.seq = last_seq;
        p.last = true;
        session_on_attach_part(t.leader, tables_host(&t, 2), &p);
        assert_true(tables_host(&t, 2)->attached);
        assert_int_equal(tables_node(&t, 2)->n_units_on_node, ATTACH_HELD_MAX);
}

// Each time all that it holds is forgotten and learned anew.
static void a_host_that_attaches_again_and_again_has_to_wait(void **state) {
        const Host *h = tables_host(&t, 2);
        unsigned n = 0;

        for (; n < 100; n++) {
                attach(2);
                if (!h->attached)
                        break;
        }
        assert_int_equal(n, 16);
        t.now_us += 500 * USEC_PER_MSEC;
        attach(2);
        assert_true(h->attached);
        attach_in_parts(2);
        part(2, last_seq, "a.service", true);
        assert_false(h->attached);
        t.now_us += 60 * USEC_PER_SEC;
        for (n = 0; n < 16; n++)
                attach(2);
        assert_true(h->attached);
}

static void a_report_about_what_is_not_the_hosts_is_not_taken(void **state) {
        put("web.service", 2);
        attach(2);
        report(2, tables_report(&t, "web.service", 3)); // another host's node
        report(2, tables_report(&t, "web.service", 9)); // nobody's
        report(2, tables_report(&t, "no unit name", 2));
        assert_int_equal(tables_node(&t, 2)->n_units_on_node + tables_node(&t, 3)->n_units_on_node, 0);
        report(3, tables_report(&t, "web.service", 3)); // it has not attached
        assert_int_equal(tables_node(&t, 3)->n_units_on_node, 0);
        report(2, tables_report(&t, "stray.service", 2)); // no record: it is to go, and so must be known
        assert_int_equal(tables_node(&t, 2)->n_units_on_node, 1);
}

static void what_a_host_says_of_itself_becomes_a_wish_for_its_record(void **state) {
        Argosy__ToVoter__Attach a = attach_of(2);
        Argosy__Label label = MESSAGE_OF(label, .key = (char *) "disk", .value = (char *) "ssd"),
                      *labels = &label;
        const Host *h = tables_host(&t, 2);

        attach_with(2, a);
        assert_false(list_is_linked(&h->pending_record_queue)); // as it is
        a.labels = &labels;
        a.n_labels = 1;
        a.address = (char *) "192.0.2.77";
        a.port = 7000;
        attach_with(2, a);
        assert_true(list_is_linked(&h->pending_record_queue));
        assert_string_equal(h->pending_record->address, "192.0.2.77");
        assert_int_equal(h->pending_record->port, 7000);
        assert_int_equal(h->pending_record->n_labels, 1);
        assert_string_equal(h->pending_record->labels[0]->key, "disk");
        a.name = (char *) "n3"; // another host has that name
        attach_with(2, a);
        assert_string_equal(h->pending_record->name, "n2");
        a.name = (char *) "n22";
        attach_with(2, a);
        assert_string_equal(h->pending_record->name, "n22");
        attach(2); // it has changed its mind
        assert_null(h->pending_record);
        assert_false(list_is_linked(&h->pending_record_queue));
}

static void managers_that_came_get_numbers_and_those_that_went_lose_theirs(void **state) {
        Argosy__ToVoter__Attach a = attach_of(2);
        char *managers[] = {"system", "user@1000", "no manager"};
        const Host *h = tables_host(&t, 2);
        Batch b = {};

        a.managers = managers;
        a.n_managers = ELEMENTSOF(managers);
        attach_with(2, a);
        assert_int_equal(h->pending_record->n_nodes, 2);
        assert_string_equal(h->pending_record->nodes[1]->manager, "user@1000");
        assert_int_equal(h->pending_record->nodes[0]->node, 2);
        assert_int_equal(h->pending_record->nodes[1]->node, 0); // the log gives it
        batch_op(&b, ARGOSY__LOG_OP__OP_HOST)->host = h->pending_record;
        tables_apply(&t, &b);
        a = attach_of(2);
        a.managers = managers;
        a.n_managers = ELEMENTSOF(managers);
        attach_with(2, a);
        assert_false(list_is_linked(&h->pending_record_queue));
        a.n_managers = 1;
        attach_with(2, a);
        assert_true(list_is_linked(&h->pending_record_queue));
        assert_int_equal(h->pending_record->n_nodes, 1);
        assert_int_equal(h->pending_record->nodes[0]->node, 2);
        a.n_managers = 0; // an Attach that names none says nothing about them
        attach_with(2, a);
        assert_false(list_is_linked(&h->pending_record_queue));
}

static void what_is_not_sound_is_complained_about_until_it_is_mended(void **state) {
        Argosy__ToVoter__Attach a = attach_of(2);
        const Host *h = tables_host(&t, 2);

        a.port = UINT16_MAX + 1;
        attach_with(2, a);
        assert_true(h->attached); // it serves on as its record says
        assert_false(list_is_linked(&h->pending_record_queue));
        assert_non_null(strstr(h->complaint, "port"));
        attach(2);
        assert_null(h->complaint);
}

// It goes on under the name that it has, and that is told until it has one of its own.
static void a_name_that_another_host_has_is_complained_about(void **state) {
        Argosy__ToVoter__Attach a = attach_of(2);
        const Host *h = tables_host(&t, 2);
        _cleanup_free_ char *other = str_printf("%s", cluster_state_find_host(t.leader->state, 1)->name);

        a.name = other;
        attach_with(2, a);
        assert_true(h->attached);
        assert_non_null(h->complaint);
        assert_non_null(strstr(h->complaint, other));
        assert_non_null(strstr(h->complaint, "stays "));
        a.name = (char *) cluster_state_find_host(t.leader->state, 2)->name;
        attach_with(2, a);
        assert_null(h->complaint);
}

// ---- reports

static void a_unit_that_is_gone_and_not_wanted_there_is_forgotten(void **state) {
        put("web.service", 2);
        attach(2);
        attach(3);
        report(2, tables_report(&t, "web.service", 2));
        Argosy__UnitReport r = tables_report(&t, "web.service", 2);
        r.gone = true;
        report(2, r); // the newest order is on its way to it
        assert_non_null(tables_unit_on_node(&t, "web.service", 2));
        assert_false(unit_on_node_is_reported(tables_unit_on_node(&t, "web.service", 2)));
        put("web.service", 3);
        report(2, r);
        assert_null(tables_unit_on_node(&t, "web.service", 2));
}

static void gone_by_an_older_order_is_not_gone_by_the_removal(void **state) {
        put("web.service", 2);
        attach(2);
        report(2, tables_report(&t, "web.service", 2));
        put("web.service", 3);
        UnitOnNode *s = tables_unit_on_node(&t, "web.service", 2);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
        s->ordered_revision = tables_entry(&t, "web.service")->record->revision;
        Argosy__UnitReport r = tables_report(&t, "web.service", 2);
        r.gone = true;
        r.revision = s->ordered_revision - 1;
        report(2, r);
        assert_non_null(tables_unit_on_node(&t, "web.service", 2));
        r.revision++;
        report(2, r);
        assert_null(tables_unit_on_node(&t, "web.service", 2));
}

static void a_refused_name_leaves_that_node_for_this_session(void **state) {
        put("web.service", 2);
        attach(2);
        Argosy__UnitReport r = tables_report(&t, "web.service", 2);
        r.refused = true;
        r.error = (char *) "/etc has it";
        report(2, r);
        assert_string_equal(unit_exclusion(tables_unit(&t, "web.service"), 2), "/etc has it");
        assert_true(is_moving("web.service"));
        attach(3);
        assert_non_null(unit_exclusion(tables_unit(&t, "web.service"), 2));
        attach(2); // somebody may have made room
        assert_null(unit_exclusion(tables_unit(&t, "web.service"), 2));
}

static void a_node_that_runs_the_unit_as_it_is_wanted_refuses_it_no_longer(void **state) {
        put("web.service", 2);
        attach(2);
        Argosy__UnitReport refused = tables_report(&t, "web.service", 2);
        refused.refused = true;
        refused.error = (char *) "/etc has it";
        report(2, refused);
        Argosy__UnitReport r = tables_report(&t, "web.service", 2);
        r.active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        // it runs with what it had before
        r.revision = tables_entry(&t, "web.service")->record->revision - 1;
        report(2, r);
        assert_non_null(unit_exclusion(tables_unit(&t, "web.service"), 2));
        r.revision++;
        r.active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        report(2, r);
        assert_non_null(unit_exclusion(tables_unit(&t, "web.service"), 2));
        r.active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        report(2, r);
        assert_null(unit_exclusion(tables_unit(&t, "web.service"), 2));
}

// Which is wanted nowhere that refuses it.
static void so_does_a_node_that_runs_a_unit_of_all_nodes(void **state) {
        tables_put(&t, "all.service", SERVICE "[X-Argosy]\nGlobal=true\n",
                   (UnitPut){.target = ARGOSY__TARGET__TARGET_LAUNCHED, .global = true, .start = true});
        attach(2);
        Argosy__UnitReport refused = tables_report(&t, "all.service", 2);
        refused.refused = true;
        refused.error = (char *) "/etc has it";
        report(2, refused);
        assert_non_null(unit_exclusion(tables_unit(&t, "all.service"), 2));
        Argosy__UnitReport r = tables_report(&t, "all.service", 2);
        r.active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        report(2, r);
        assert_null(unit_exclusion(tables_unit(&t, "all.service"), 2));
}

static void an_end_for_good_is_put_down_once_and_only_of_the_newest_start(void **state) {
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT;
        Batch b = {};

        put("job.service", 2);
        attach(2);
        Argosy__UnitReport r = tables_report(&t, "job.service", 2);
        r.outcome = &outcome;
        outcome.kind = ARGOSY__OUTCOME__KIND__DONE;
        outcome.start_rev = tables_entry(&t, "job.service")->record->start_rev - 1;
        report(2, r);
        assert_true(list_is_empty(&t.leader->outcomes));
        outcome.start_rev++;
        report(2, r);
        report(2, r);
        assert_int_equal(tables_count(&t.leader->outcomes), 1);
        assert_int_equal(unit_on_node_work_seen(tables_unit_on_node(&t, "job.service", 2))->outcome->node,
                         2);
        attach(2); // units on nodes begin anew
        batch_outcome(&b, "job.service", 2, outcome.start_rev, ARGOSY__OUTCOME__KIND__DONE);
        tables_apply(&t, &b);
        report(2, r); // the log has it
        assert_true(list_is_empty(&t.leader->outcomes));
}

static void a_manager_that_cannot_be_used_makes_its_node_dark(void **state) {
        Argosy__NodeReport many[MANAGERS_PER_HOST + 1], *list[MANAGERS_PER_HOST + 1];
        const Node *n = tables_node(&t, 2);

        report_node(2, "system", "not in a session");
        assert_null(n->reason);
        attach(2);
        report_node(2, "system", "it is down");
        assert_string_equal(n->reason, "it is down");
        assert_true(node_is_unreachable(n));
        report_node(2, "user@1000", "nobody's");
        assert_string_equal(n->reason, "it is down");
        for (size_t i = 0; i < ELEMENTSOF(many); i++) {
                many[i] = (Argosy__NodeReport) NODE_REPORT_OF(.manager = (char *) "system");
                list[i] = &many[i];
        }
        session_on_node_reports(t.leader, tables_host(&t, 2), list, ELEMENTSOF(many));
        assert_string_equal(n->reason, "it is down");
        report_node(2, "system", "");
        assert_false(node_is_unreachable(n));
}

RUN_TESTS(
        TEST(what_a_host_holds_is_known_as_it_says_it),
        TEST(a_host_is_in_session_when_its_last_part_is_here),
        TEST(a_host_that_comes_back_is_counted_while_its_parts_come),
        TEST(parts_end_with_their_link),
        TEST(of_what_a_message_holds_no_more_is_taken_than_an_agent_says),
        TEST(a_host_that_attaches_again_and_again_has_to_wait),
        TEST(a_report_about_what_is_not_the_hosts_is_not_taken),
        TEST(what_a_host_says_of_itself_becomes_a_wish_for_its_record),
        TEST(managers_that_came_get_numbers_and_those_that_went_lose_theirs),
        TEST(what_is_not_sound_is_complained_about_until_it_is_mended),
        TEST(a_name_that_another_host_has_is_complained_about),
        TEST(a_unit_that_is_gone_and_not_wanted_there_is_forgotten),
        TEST(gone_by_an_older_order_is_not_gone_by_the_removal),
        TEST(a_refused_name_leaves_that_node_for_this_session),
        TEST(a_node_that_runs_the_unit_as_it_is_wanted_refuses_it_no_longer),
        TEST(so_does_a_node_that_runs_a_unit_of_all_nodes),
        TEST(an_end_for_good_is_put_down_once_and_only_of_the_newest_start),
        TEST(a_manager_that_cannot_be_used_makes_its_node_dark)
)
