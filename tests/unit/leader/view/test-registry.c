// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of what exists and what is seen of it: how they follow the log, who lives how long, and what
// the log wants where. Nothing else of the leader runs.
#include "reconcile.h"
#include "leader-tables.h"

#include "manager-name.h"
#include "messages.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-wanted.h"
#include "unit-work.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=yes\n"

static Tables t;

FIXTURE(setup) {
        tables_start(&t, 3);
}

FIXTURE(teardown) {
        tables_stop(&t);
}

// ---- words for the stories

static void put(const char *name, const char *content, Argosy__Target target, uint32_t node) {
        tables_put(&t, name, content,
                   (UnitPut){.target = target, .node = node, .start = target == LAUNCHED});
}

static void put_global(const char *name, const char *content) {
        tables_put(&t, name, content, (UnitPut){.target = LAUNCHED, .global = true, .start = true});
}

static void remove_unit(const char *name) {
        Batch b = {};

        batch_unit_remove(&b, name);
        tables_apply(&t, &b);
}

static void remove_host(uint32_t host) {
        Batch b = {};

        batch_host_remove(&b, host);
        tables_apply(&t, &b);
}

static void set_node_mode(uint32_t node, Argosy__NodeMode mode) {
        _cleanup_(message_freep) Argosy__HostRecord *copy =
                message_copy(cluster_state_find_host_by_node(t.state, node));
        Batch b = {};

        copy->nodes[0]->mode = mode;
        batch_op(&b, ARGOSY__LOG_OP__OP_HOST)->host = copy;
        tables_apply(&t, &b);
}

// The host has two nodes from now on; returns the number of the new one.
static uint32_t add_manager(uint32_t host) {
        Batch b = {};
        const Argosy__HostRecord *now = cluster_state_find_host(t.state, host);
        Argosy__HostRecord *record = batch_host(&b, host, now->name, 2);

        record->nodes[0]->node = now->nodes[0]->node;
        tables_apply(&t, &b);
        return cluster_state_find_host(t.state, host)->nodes[1]->node;
}

static bool is_wanted(const char *name, uint32_t node) {
        return unit_wanted_on(t.leader, unit_find(t.leader, name), tables_entry(&t, name),
                              tables_node(&t, node));
}

static LeftOut left_out(const char *name, uint32_t node, char why[static 256]) {
        *why = 0;
        return unit_left_out(t.leader, unit_find(t.leader, name), tables_entry(&t, name),
                             tables_node(&t, node), why, 256);
}

static UnitOnNode *wait_node(const char *name, uint32_t node) {
        UnitOnNode *s = unit_on_node_get(t.leader, unit_get(t.leader, name), tables_node(&t, node));

        assert_non_null(s);
        return s;
}

static bool is_moving(const char *name) {
        return tables_unit(&t, name)->life == LIFE_MOVING;
}

// ---- hosts and nodes

static void hosts_and_nodes_are_those_of_the_log(void **state) {
        for (uint32_t i = 1; i <= 3; i++) {
                assert_true(tables_host(&t, i)->recorded);
                assert_ptr_equal(tables_node(&t, i)->host, tables_host(&t, i));
        }
        assert_string_equal(tables_node(&t, 2)->name, "n2");
        assert_null(tables_node(&t, 2)->reason);
        uint32_t more = add_manager(2);
        assert_string_equal(tables_node(&t, more)->name, "n2/user@1000");
        assert_string_equal(tables_node(&t, more)->reason, MANAGER_NOT_REACHED);
        remove_host(2);
        assert_null(host_find(t.leader, 2));
        assert_null(node_find(t.leader, 2));
        assert_null(node_find(t.leader, more));
}

// Also when it is known already because its link came first.
static void a_new_host_has_a_full_lease_from_its_record(void **state) {
        Batch b = {};

        tables_link(&t, 4);
        assert_false(tables_host(&t, 4)->recorded);
        t.now_us += TABLES_LEASE_MS * USEC_PER_MSEC;
        batch_host(&b, 0, "n4", 1);
        tables_apply(&t, &b);
        assert_true(tables_host(&t, 4)->recorded);
        sessions_on_time(t.leader);
        assert_true(host_is_lost(tables_host(&t, 3)));
        assert_false(host_is_lost(tables_host(&t, 4)));
}

static void a_host_is_kept_while_the_log_or_a_link_has_it(void **state) {
        tables_link(&t, 2);
        remove_host(2);
        assert_false(tables_host(&t, 2)->recorded);
        assert_true(host_is_lost(tables_host(&t, 2)));
        leader_on_host_link(t.leader, 2, NULL);
        assert_null(host_find(t.leader, 2));
}

static void units_of_a_node_that_goes_have_to_move(void **state) {
        put("web.service", SERVICE, LAUNCHED, 2);
        put("other.service", SERVICE, LAUNCHED, 3);
        (void) wait_node("web.service", 2);
        assert_true(tables_unit(&t, "web.service")->unfinished);
        remove_host(2);
        assert_null(tables_unit(&t, "web.service")->node);
        assert_false(tables_unit(&t, "web.service")->unfinished); // it is on the account of no node
        assert_true(list_is_empty(&tables_unit(&t, "web.service")->on_nodes));
        assert_int_equal(tables_unit(&t, "web.service")->life, LIFE_PENDING);
        assert_false(is_moving("other.service"));
}

// ---- units

static void a_unit_is_counted_where_its_record_says(void **state) {
        put("web.service", SERVICE, LAUNCHED, 2);
        put("spare.service", SERVICE, LOADED, 2);
        assert_int_equal(tables_node(&t, 2)->n_placed, 2);
        assert_int_equal(tables_node(&t, 2)->n_to_leave, 2); // if it is emptied
        put("web.service", SERVICE, LAUNCHED, 3);
        assert_int_equal(tables_node(&t, 2)->n_placed, 1);
        assert_int_equal(tables_node(&t, 3)->n_placed, 1);
        assert_ptr_equal(tables_unit(&t, "web.service")->node, tables_node(&t, 3));
        put("web.service", SERVICE, INACTIVE, 0);
        assert_int_equal(tables_node(&t, 3)->n_placed, 0);
        remove_unit("spare.service");
        assert_int_equal(tables_node(&t, 2)->n_placed, 0);
        assert_int_equal(tables_node(&t, 2)->n_to_leave, 0);
        assert_null(unit_find(t.leader, "spare.service"));
}

static void a_unit_that_has_no_node_waits_for_one(void **state) {
        put("web.service", SERVICE, LAUNCHED, 0);
        assert_int_equal(tables_unit(&t, "web.service")->life, LIFE_PENDING);
        put("web.service", SERVICE, LAUNCHED, 2);
        assert_int_equal(tables_unit(&t, "web.service")->life, LIFE_RESIDENT);
        put("idle.service", SERVICE, INACTIVE, 0);
        assert_int_equal(tables_unit(&t, "idle.service")->life, LIFE_ABSENT);
        put_global("all.service", GLOBAL);
        assert_int_equal(tables_unit(&t, "all.service")->life, LIFE_GLOBAL);
        remove_unit("all.service");
        assert_true(list_is_empty(&t.leader->globals));
}

// The log took it in the moment in which the host was lost, or its node was closed.
static void who_is_placed_on_a_node_that_has_to_be_left_moves_on(void **state) {
        put("web.service", SERVICE, LAUNCHED, 2);
        assert_false(is_moving("web.service"));
        set_node_mode(3, ARGOSY__NODE_MODE__MODE_DRAINING);
        put("drained.service", SERVICE, LAUNCHED, 3);
        assert_true(is_moving("drained.service"));
        host_lose(t.leader, tables_host(&t, 2));
        put("late.service", SERVICE, LAUNCHED, 2);
        assert_true(is_moving("late.service"));
}

// It goes when the marks are pulled, not before: whoever has it in his hands in this turn may go on.
static void a_unit_lives_as_long_as_anybody_has_a_use_for_it(void **state) {
        Unit *u = unit_get(t.leader, "seen.service");

        assert_ptr_equal(unit_get(t.leader, "seen.service"), u);
        (void) wait_node("seen.service", 2);
        unit_mark_unused(t.leader, u);
        reconcile_pull(t.leader);
        assert_non_null(unit_find(t.leader, "seen.service"));
        unit_on_node_free(t.leader, wait_node("seen.service", 2));
        assert_ptr_equal(unit_find(t.leader, "seen.service"), u);
        reconcile_pull(t.leader);
        assert_null(unit_find(t.leader, "seen.service"));
        put("web.service", SERVICE, LAUNCHED, 2);
        unit_mark_unused(t.leader, tables_unit(&t, "web.service"));
        reconcile_pull(t.leader);
        assert_non_null(unit_find(t.leader, "web.service"));
}

// ---- exclusions

static void a_refusal_is_remembered_for_one_node_or_for_all(void **state) {
        _cleanup_free_ char *text = calloc(1, REASON_MAX + 100);

        put("web.service", SERVICE, LAUNCHED, 2);
        Unit *u = tables_unit(&t, "web.service");
        unit_exclude(t.leader, u, 2, "first");
        unit_exclude(t.leader, u, 2, "second");
        unit_exclude(t.leader, u, 3, "third");
        assert_string_equal(unit_exclusion(u, 2), "second");
        assert_string_equal(unit_exclusion(u, 3), "third");
        assert_null(unit_exclusion(u, 1));
        assert_true(list_is_linked(&unit_work_seen(u)->excluded));
        unit_forget_exclusions(t.leader, u, 2);
        assert_null(unit_exclusion(u, 2));
        assert_non_null(unit_exclusion(u, 3));
        host_forget_exclusions(t.leader, tables_host(&t, 3));
        assert_null(unit_exclusion(u, 3));
        assert_false(list_is_linked(&unit_work_seen(u)->excluded));
        memset(text, 'x', REASON_MAX + 50); // a peer's words have a limit
        unit_exclude(t.leader, u, 2, text);
        unit_exclude(t.leader, u, 3, "short");
        assert_int_equal(strlen(unit_exclusion(u, 2)), REASON_MAX);
        unit_forget_exclusions(t.leader, u, 0);
        assert_null(unit_exclusion(u, 2) ?: unit_exclusion(u, 3));
}

// ---- units on nodes

static void one_site_for_each_unit_and_node(void **state) {
        UnitOnNode *s = wait_node("web.service", 2);

        assert_ptr_equal(wait_node("web.service", 2), s);
        assert_ptr_not_equal(wait_node("web.service", 3), s);
        assert_int_equal(tables_node(&t, 2)->n_units_on_node, 1);
        assert_null(unit_on_node_find(s->unit, tables_node(&t, 1)));
        unit_on_node_free(t.leader, s);
        assert_int_equal(tables_node(&t, 2)->n_units_on_node, 0);
}

// Content is sent once to a host for all units that have it, and again when nobody had it meanwhile.
static void content_is_new_to_a_host_once(void **state) {
        UnitOnNode *a = wait_node("a.service", 2), *b = wait_node("b.service", 2),
                   *far = wait_node("c.service", 3);
        Hash one = hash_of("one", 3), two = hash_of("two", 3);
        bool new;

        assert_int_equal(unit_on_node_need_spec(a, &one, &new), 0);
        assert_true(new);
        assert_int_equal(unit_on_node_need_spec(a, &one, &new), 0);
        assert_false(new);
        assert_int_equal(unit_on_node_need_spec(b, &one, &new), 0);
        assert_false(new);
        assert_int_equal(unit_on_node_need_spec(far, &one, &new), 0);
        assert_true(new);
        assert_int_equal(unit_on_node_need_spec(a, &two, &new), 0);
        assert_true(new);
        assert_int_equal(tables_host(&t, 2)->specs.count, 2);
        unit_on_node_drop_spec(b);
        assert_int_equal(tables_host(&t, 2)->specs.count, 1);
        unit_on_node_drop_spec(b); // twice is as once
        assert_int_equal(unit_on_node_need_spec(b, &one, &new), 0);
        assert_true(new);
        unit_on_node_free(t.leader, b);
        assert_int_equal(tables_host(&t, 2)->specs.count, 1);
}

static void who_is_to_let_go_needs_no_content(void **state) {
        UnitOnNode *s = wait_node("a.service", 2);
        Hash one = hash_of("one", 3);
        bool new;

        assert_int_equal(s->life, ON_NODE_EXPECTED);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE);
        assert_int_equal(unit_on_node_need_spec(s, &one, &new), 0);
        unit_on_node_event(s, ON_NODE_REPORTED);
        assert_int_equal(tables_host(&t, 2)->specs.count, 1);
        assert_int_equal(tables_node(&t, 2)->n_leaving, 1); // no record wants it there
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
        assert_int_equal(s->life, ON_NODE_LEAVING);
        assert_int_equal(tables_host(&t, 2)->specs.count, 0);
        unit_on_node_free(t.leader, s);
        assert_int_equal(tables_node(&t, 2)->n_leaving, 0);
}

// Whoever waits for the node to be empty waits for the host's word.
static void what_a_host_was_told_to_have_leaves_before_it_says_that_it_has_it(void **state) {
        UnitOnNode *s = wait_node("a.service", 2);
        const Node *n = tables_node(&t, 2);

        assert_int_equal(n->n_leaving, 0); // nothing has gone out
        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE);
        assert_int_equal(n->n_leaving, 1); // no record wants it there
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
        assert_int_equal(n->n_leaving, 1);
        unit_on_node_free(t.leader, s);
        assert_int_equal(n->n_leaving, 0);
}

static void a_global_unit_that_is_told_to_go_leaves(void **state) {
        const Node *n = tables_node(&t, 2);

        put_global("all.service", GLOBAL);
        UnitOnNode *s = wait_node("all.service", 2);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE);
        unit_on_node_event(s, ON_NODE_REPORTED);
        assert_int_equal(s->life, ON_NODE_RESIDENT);
        assert_int_equal(n->n_leaving, 0);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
        assert_int_equal(n->n_leaving, 1);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE); // its node was opened again
        assert_int_equal(n->n_leaving, 0);
        assert_true(unit_on_node_is_consistent(s));
}

static void a_report_is_kept_within_limits(void **state) {
        char sub[WORD_MAX + 10] = {}, error[REASON_MAX + 10] = {};
        UnitOnNode *s = wait_node("web.service", 2);
        Hash spec = hash_of("spec", 4);

        memset(sub, 's', WORD_MAX + 5);
        memset(error, 'e', REASON_MAX + 5);
        Argosy__UnitReport r =
                UNIT_REPORT_OF(.revision = 17,
                               .spec = (ProtobufCBinaryData){.data = spec.bytes, .len = HASH_SIZE},
                               .load = ARGOSY__LOAD_STATE__LOAD_LOADED,
                               .active = ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, .sub = sub, .error = error,
                               .file_stale = true, .comes_back = true, .leaving = true,
                               .down = ARGOSY__DOWN_CAUSE__DOWN_SKIPPED, .down_by = error);
        assert_int_equal(unit_on_node_report(t.leader, s, &r), 0);
        assert_true(unit_on_node_is_reported(s) && unit_on_node_is_skipped(s) && s->file_stale &&
                    s->comes_back && s->leaving);
        assert_int_equal(s->revision, 17);
        assert_int_equal(s->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_true(hash_equal(unit_on_node_seen(s), &spec));
        assert_int_equal(strlen(unit_on_node_sub(s)), WORD_MAX);
        assert_int_equal(strlen(unit_on_node_error(s)), REASON_MAX);
        assert_int_equal(strlen(unit_on_node_down_by(s)), REASON_MAX);
        r.spec.len = 5; // no hash
        r.error = (char *) "";
        free(tables_node(&t, 2)->reason);
        tables_node(&t, 2)->reason = strdup("it is down"); // whoever cannot ask does not know
        assert_int_equal(unit_on_node_report(t.leader, s, &r), 0);
        assert_true(hash_equal(unit_on_node_seen(s), &(Hash){}));
        assert_string_equal(unit_on_node_error(s), "");
        assert_false(s->leaving);
}

// ---- what the log wants where

static void a_unit_is_wanted_where_it_is_placed(void **state) {
        put("web.service", SERVICE, LAUNCHED, 2);
        assert_true(is_wanted("web.service", 2));
        assert_false(is_wanted("web.service", 3));
        put("web.service", SERVICE, INACTIVE, 0);
        assert_false(is_wanted("web.service", 2));
        assert_false(is_wanted("none.service", 2));
        // What refuses or closes the node is a reason to move it, and until then it is wanted there.
        put("web.service", SERVICE, LAUNCHED, 2);
        unit_exclude(t.leader, tables_unit(&t, "web.service"), 2, "no");
        set_node_mode(2, ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        assert_true(is_wanted("web.service", 2));
}

static void a_global_unit_is_wanted_where_nothing_speaks_against_it(void **state) {
        char why[256];

        put_global("all.service", GLOBAL);
        put_global("some.service", GLOBAL "MachineMetadata=disk=ssd\n");
        for (uint32_t i = 1; i <= 3; i++) {
                assert_true(is_wanted("all.service", i));
                assert_false(is_wanted("some.service", i));
                assert_int_equal(left_out("all.service", i, why), LEFT_OUT_NOT);
        }
        set_node_mode(2, ARGOSY__NODE_MODE__MODE_CORDONED); // closed to what is new, not to what is on all
        assert_true(is_wanted("all.service", 2));
        set_node_mode(2, ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        assert_false(is_wanted("all.service", 2));
        unit_exclude(t.leader, tables_unit(&t, "all.service"), 3, "the name is taken");
        assert_false(is_wanted("all.service", 3));
        assert_int_equal(left_out("all.service", 3, why), LEFT_OUT_REFUSED);
        assert_string_equal(why, "the name is taken");
        assert_int_equal(left_out("all.service", 2, why), LEFT_OUT_NOT); // that is the mode's doing
}

static void a_global_unit_gives_way_to_what_is_placed_and_to_an_earlier_name(void **state) {
        char why[256];

        put_global("a.service", GLOBAL "Conflicts=b.service web.service\n");
        put_global("b.service", GLOBAL);
        assert_true(is_wanted("a.service", 1));
        assert_false(is_wanted("b.service", 1));
        assert_int_equal(left_out("b.service", 1, why), LEFT_OUT_GAVE_WAY);
        assert_non_null(strstr(why, "a.service"));
        put("web.service", SERVICE, LAUNCHED, 2);
        assert_false(is_wanted("a.service", 2));
        assert_true(is_wanted("b.service", 2)); // the one before it is not there
        assert_int_equal(left_out("a.service", 2, why), LEFT_OUT_GAVE_WAY);
        assert_non_null(strstr(why, "web.service"));
}

static void an_outcome_is_final_for_the_newest_start_and_for_its_node(void **state) {
        Argosy__Outcome outcome = OUTCOME_OF(.node = 2, .start_rev = 5), *outcomes = &outcome;
        Argosy__UnitRecord r = UNIT_RECORD_OF(.start_rev = 5);

        assert_null(record_final_outcome(&r, 2));
        r.outcomes = &outcomes;
        r.n_outcomes = 1;
        assert_ptr_equal(record_final_outcome(&r, 2), &outcome);
        assert_ptr_equal(record_final_outcome(&r, 3), &outcome); // it is one unit, wherever it ended
        r.global = true;
        assert_ptr_equal(record_final_outcome(&r, 2), &outcome);
        assert_null(record_final_outcome(&r, 3));
        r.start_rev = 6;
        assert_null(record_final_outcome(&r, 2));
}

// ---- the end of leading

static void only_links_outlive_the_term(void **state) {
        put("web.service", SERVICE, LAUNCHED, 2);
        (void) wait_node("web.service", 2);
        tables_link(&t, 2);
        leader_set_leading(t.leader, false, 2);
        assert_int_equal(t.leader->units.count, 0);
        assert_int_equal(t.leader->nodes.count, 0);
        assert_int_equal(t.leader->hosts.count, 1);
        assert_true(tables_host(&t, 2)->linked);
        assert_false(tables_host(&t, 2)->recorded);
        leader_set_leading(t.leader, true, 3); // and all is built again from the log
        assert_int_equal(t.leader->hosts.count, 3);
        assert_ptr_equal(tables_unit(&t, "web.service")->node, tables_node(&t, 2));
        assert_int_equal(tables_node(&t, 2)->n_placed, 1);
        assert_null(tables_unit_on_node(&t, "web.service", 2));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(hosts_and_nodes_are_those_of_the_log),
        TEST(a_new_host_has_a_full_lease_from_its_record),
        TEST(a_host_is_kept_while_the_log_or_a_link_has_it),
        TEST(units_of_a_node_that_goes_have_to_move),
        TEST(a_unit_is_counted_where_its_record_says),
        TEST(a_unit_that_has_no_node_waits_for_one),
        TEST(who_is_placed_on_a_node_that_has_to_be_left_moves_on),
        TEST(a_unit_lives_as_long_as_anybody_has_a_use_for_it),
        TEST(a_refusal_is_remembered_for_one_node_or_for_all),
        TEST(one_site_for_each_unit_and_node),
        TEST(content_is_new_to_a_host_once),
        TEST(who_is_to_let_go_needs_no_content),
        TEST(what_a_host_was_told_to_have_leaves_before_it_says_that_it_has_it),
        TEST(a_global_unit_that_is_told_to_go_leaves),
        TEST(a_report_is_kept_within_limits),
        TEST(a_unit_is_wanted_where_it_is_placed),
        TEST(a_global_unit_is_wanted_where_nothing_speaks_against_it),
        TEST(a_global_unit_gives_way_to_what_is_placed_and_to_an_earlier_name),
        TEST(an_outcome_is_final_for_the_newest_start_and_for_its_node),
        TEST(only_links_outlive_the_term)
)
