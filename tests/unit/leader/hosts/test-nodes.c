// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cordon, drain, maintenance and labels, as the leader's neighbours see them.
#include "host-record.h"
#include "clock.h"
#include "leader-asks.h"
#include "printed.h"
#include "test.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ON_SSD SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n"
#define ON_SLOT SERVICE "[X-Argosy]\nReserveResource=slot:1\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=true\n"
#define START ARGOSY__VERB__VERB_START
#define OPEN ARGOSY__NODE_MODE__MODE_OPEN
#define CORDONED ARGOSY__NODE_MODE__MODE_CORDONED
#define DRAINING ARGOSY__NODE_MODE__MODE_DRAINING
#define MAINTENANCE ARGOSY__NODE_MODE__MODE_MAINTENANCE

RIG_OF(3)

static RigAnswer *wait_for_drain(const char *node) {
        Argosy__Request__DrainWait wait = MESSAGE_OF(request__drain_wait, .node = (char *) node);

        return rig_ask_and_settle(&g, A_REQUEST(DRAIN_WAIT, drain_wait, &wait));
}

static void start_many(unsigned n) {
        for (unsigned i = 0; i < n; i++) {
                assert_int_equal(rig_change(&g, START, printed("u%u.service", i), SERVICE)->status, 0);
        }
}

static size_t units_on(uint32_t host) {
        return rig_host(&g, host)->virtual.units.count;
}

static const char *refusal_of(const char *name) {
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = (char **) &name, .n_names = 1);
        const Argosy__Response__Status *s = rig_ask(&g, A_REQUEST(WHY, why, &m))->responses[0]->status_reply;

        return s->n_refusals ? s->refusals[0]->reason : "";
}

static const Argosy__Response__UnitResult *change_one(Argosy__Verb verb, const char *name,
                                                      const char *format, unsigned i) {
        return rig_change(&g, verb, name, printed(format, i));
}

// More kinds of things than the cluster can count: the unit is refused, and nothing else stops.
static void more_kinds_of_resources_than_can_be_counted_are_refused_until_one_is_free(void **state) {
        const char *format = SERVICE "[X-Argosy]\nReserveResource=kind%u:1\n";

        rig_label(&g, "n1", "offers/kind6", "1"); // what is only offered takes up nothing
        for (unsigned i = 0; i <= 6; i++) {
                assert_int_equal(change_one(START, printed("r%u.service", i), format, i)->status,
                                 i == 6 ? ENOSPC : 0);
        }
        assert_int_equal(rig_change(&g, START, "plain.service", SERVICE)->status, 0);
        assert_int_equal(rig_count_running(&g, "plain.service"), 1);
        assert_string_equal(refusal_of("r5.service"), "needs 1 kind5, has none");
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "r3.service", NULL);
        assert_int_equal(change_one(START, "r6.service", format, 6)->status, 0);
        assert_int_equal(rig_record(&g, "r6.service")->node, rig_host(&g, 1)->virtual.node);
        assert_string_equal(refusal_of("r5.service"), "needs 1 kind5, has none");
}

// A record may be older than the limit: what it demands cannot be counted, and that is said.
static void who_demands_too_many_kinds_says_so_when_asked(void **state) {
        const char *format = SERVICE "[X-Argosy]\nReserveResource=kind%u:1\n";

        for (unsigned i = 0; i <= 6; i++) {
                change_one(i < 6 ? START : ARGOSY__VERB__VERB_SUBMIT, printed("r%u.service", i), format, i);
        }
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "r0.service", NULL);
        assert_int_equal(rig_change(&g, START, "r6.service", NULL)->status, 0);
        change_one(ARGOSY__VERB__VERB_SUBMIT, "r7.service", format, 7);
        assert_int_equal(rig_change(&g, START, "r7.service", NULL)->status, ENOSPC);
        assert_string_equal(rig_change(&g, START, "r7.service", NULL)->message,
                            "there are as many kinds of resources and patterns of conflicts in this cluster "
                            "as it can count");
}

static void lists_of_managers_that_nobody_uses_any_more_are_forgotten(void **state) {
        const char *format = SERVICE "[X-Argosy]\nManager=user@%u\n";

        for (unsigned i = 0; i < 600; i++) {
                const Argosy__Response__UnitResult *r = change_one(START, "m.service", format, 1000 + i);

                assert_int_equal(r->status, ENOSPC); // no node could ever take it
                assert_string_equal(r->message, "no node of this cluster can take the unit");
        }
}

// ------------------------------------------------------------------------------------------------ modes

static void a_cordoned_node_keeps_its_units_and_takes_no_new_ones(void **state) {
        start_many(3);
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", CORDONED, 0, "new disks"))->status, 0);
        assert_int_equal(units_on(1), 1);
        for (unsigned i = 10; i < 14; i++) {
                rig_change(&g, START, printed("u%u.service", i), SERVICE);
        }
        assert_int_equal(units_on(1), 1);
        assert_int_equal(units_on(2) + units_on(3), 6);
        rig_set_mode(&g, "n1", OPEN, 0, "new disks");
        rig_change(&g, START, "new.service", SERVICE);
        assert_int_equal(units_on(1), 2);
}

static void a_refusal_names_the_mode_and_the_owners_reason(void **state) {
        rig_set_mode(&g, "n1", CORDONED, 0, "new disks");
        rig_set_mode(&g, "n2", DRAINING, 0, "new disks");
        rig_set_mode(&g, "n3", MAINTENANCE, 0, "new disks");
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "web.service", SERVICE);
        assert_int_equal(r->n_refusals, 3);
        assert_string_equal(r->refusals[0]->reason, "the node is cordoned: new disks");
        assert_string_equal(r->refusals[1]->reason, "the node is being drained: new disks");
        assert_string_equal(r->refusals[2]->reason, "the node is in maintenance: new disks");
        rig_set_mode(&g, "n2", OPEN, 0, "new disks");
        assert_int_equal(rig_count_running(&g, "web.service"), 1); // it waited
        assert_int_equal(units_on(2), 1);
}

static void a_reason_that_is_no_text_is_refused(void **state) {
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", CORDONED, 0, "new \033[2J disks"))->status, EINVAL);
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", CORDONED, 0, "new \u202e disks"))->status, EINVAL);
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", CORDONED, 0, "new \xff disks"))->status, EINVAL);
        assert_int_equal(cluster_state_find_host(g.state, 1)->nodes[0]->mode, OPEN);
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", CORDONED, 0, "neue Blöcke"))->status, 0);
}

static void a_drained_nodes_units_run_elsewhere_and_it_stays_closed(void **state) {
        start_many(9);
        rig_change(&g, START, "all.service", GLOBAL);
        rig_set_mode(&g, "n2", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n2");
        assert_final(a, 0);
        assert_int_equal(units_on(2), 1); // the global one
        assert_int_equal(units_on(1) + units_on(3), 9 + 2);
        rig_change(&g, START, "new.service", SERVICE);
        assert_int_equal(units_on(2), 1);
}

static void a_unit_ends_on_the_old_node_before_it_begins_on_the_new_one(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true; // its stop takes time
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_false(a->final);
        assert_int_equal(rig_last(a)->progress->remaining, 1);
        assert_int_equal(units_on(2) + units_on(3), 0);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(units_on(1), 0);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

// Its host has not said yet that it has the unit.
static void a_drain_waits_for_what_its_node_was_told_to_start(void **state) {
        rig_host(&g, 1)->deaf = true;
        (void) rig_change_with(&g, START, "web.service", SERVICE, false, NULL);
        rig_turns(&g, 20);
        assert_int_equal(rig_record(&g, "web.service")->node, 1);
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_false(a->final);
        assert_int_equal(rig_last(a)->progress->remaining, 1);
        assert_int_not_equal(rig_record(&g, "web.service")->node, 1);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void a_welcome_begins_nothing_that_has_not_ended_elsewhere(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true;
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        assert_int_equal(units_on(2) + units_on(3), 0);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_host_on(&g, 2, false);
        rig_host_on(&g, 3, false);
        assert_int_equal(units_on(2) + units_on(3), 0);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_int_equal(units_on(1), 0);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void nobody_waits_for_the_end_of_a_unit_on_a_host_that_dies(void **state) {
        rig_set_mode(&g, "n1", CORDONED, 0, "new disks");
        rig_change(&g, START, "web.service", SERVICE);
        assert_int_equal(units_on(2), 1);
        rig_host(&g, 2)->deaf = true;
        rig_set_mode(&g, "n2", DRAINING, 0, "new disks");
        assert_int_equal(units_on(3), 0);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(3), 1);
}

static void a_unit_that_nobody_else_takes_stays_and_is_named(void **state) {
        rig_label(&g, "n1", "disk", "ssd");
        start_many(3);
        rig_change(&g, START, "fast.service", ON_SSD);
        assert_int_equal(units_on(1), 2);
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_final(a, EBUSY);
        assert_int_equal(rig_last(a)->progress->n_done, 1);
        assert_string_equal(rig_last(a)->progress->done[0]->name, "fast.service");
        assert_int_equal(rig_last(a)->progress->done[0]->n_refusals, 3);
        assert_int_equal(rig_count_running(&g, "fast.service"), 1);
        assert_int_equal(units_on(1), 1);
        rig_label(&g, "n3", "disk", "ssd"); // now somebody does
        assert_int_equal(units_on(1), 0);
        assert_int_equal(rig_count_running(&g, "fast.service"), 1);
}

static void at_the_deadline_what_has_not_left_is_stopped(void **state) {
        rig_label(&g, "n1", "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        rig_set_mode(&g, "n1", DRAINING, 60, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_false(a->final);
        rig_pass_ms(&g, 59000);
        assert_int_equal(rig_count_running(&g, "fast.service"), 1);
        rig_age(&g, 60 * UINT64_C(1000000));
        rig_pass_ms(&g, 2000);
        assert_int_equal(units_on(1), 0);
        assert_final(a, 0);
        assert_int_equal(rig_record(&g, "fast.service")->node, 0);
        rig_set_mode(&g, "n1", OPEN, 0, "new disks"); // it waited for a node
        assert_int_equal(rig_count_running(&g, "fast.service"), 1);
}

static uint64_t deadline_of(uint32_t host) {
        return cluster_state_find_host(g.state, host)->nodes[0]->mode_deadline_us;
}

// Who repeats a drain to wait for it, or to say why, does not call the deadline off; who opens the node
// does.
static void a_drain_that_is_repeated_keeps_its_deadline(void **state) {
        uint64_t first = g.wall_us + 60 * USEC_PER_SEC;

        rig_set_mode(&g, "n1", DRAINING, 60, "new disks");
        assert_int_equal(deadline_of(1), first);
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks and fans");
        assert_int_equal(deadline_of(1), first);
        rig_set_mode(&g, "n1", DRAINING, 120, "new disks and fans");
        assert_int_equal(deadline_of(1), g.wall_us + 120 * USEC_PER_SEC);
        rig_set_mode(&g, "n1", OPEN, 0, "");
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        assert_int_equal(deadline_of(1), 0);
}

// A node that keeps its units, or takes new ones, has none: by one that is over nothing there would count as
// running on.
static void only_what_empties_a_node_has_a_deadline(void **state) {
        const struct {
                Argosy__NodeMode mode;
                bool taken;
        } modes[] = {{OPEN, false}, {CORDONED, false}, {DRAINING, true}, {MAINTENANCE, true}};

        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                RigAnswer *a = rig_set_mode(&g, "n1", modes[i].mode, 60, "");

                assert_int_equal(rig_last(a)->status, modes[i].taken ? 0 : EINVAL);
                assert_int_equal(deadline_of(1) > 0, modes[i].taken);
        }
}

static void a_deadline_that_is_over_is_not_waited_for(void **state) {
        rig_label(&g, "n2", "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        assert_int_equal(units_on(2), 1);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        rig_set_mode(&g, "n2", DRAINING, 60, "new disks");
        RigAnswer *a = wait_for_drain("n2");
        assert_false(a->final); // it may still end then
        rig_age(&g, 60 * UINT64_C(1000000));
        rig_pass_ms(&g, 62000);
        assert_int_not_equal(rig_record(&g, "fast.service")->node, 0); // it may run on the lost node
        assert_final(a, EBUSY);
        assert_string_equal(rig_last(a)->progress->done[0]->name, "fast.service");
}

#define SET_MODES(mode, ...) \
        rig_set_modes(&g, (const char *const[]){__VA_ARGS__}, \
                      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), mode)

static unsigned starts_of(const char *name) {
        unsigned n = 0;

        for (uint32_t host = 1; host <= g.n_hosts; host++)
                n += rig_unit_on(&g, host, name) ? rig_unit_on(&g, host, name)->starts : 0;
        return n;
}

// Watches what is told while several nodes are emptied: nothing is begun on one of them.
static bool begun_where_it_cannot_stay;

static void check_hops(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (host >= 4 || m->msg_case != ARGOSY__TO_HOST__MSG_ORDERS)
                return;
        for (size_t i = 0; i < m->orders->n_orders; i++)
                begun_where_it_cannot_stay |= !m->orders->orders[i]->remove &&
                                              !rig_unit_on(rig, host, m->orders->orders[i]->name);
}

static void what_leaves_several_nodes_moves_once(void **state) {
        teardown(state);
        rig_start(&g, 5);
        start_many(20);
        begun_where_it_cannot_stay = false;
        g.on_host_message = check_hops;
        assert_int_equal(rig_last(SET_MODES(DRAINING, "n1", "n2", "n3"))->status, 0);
        g.on_host_message = NULL;
        assert_false(begun_where_it_cannot_stay);
        assert_int_equal(units_on(1) + units_on(2) + units_on(3), 0);
        assert_int_equal(units_on(4) + units_on(5), 20);
        for (unsigned i = 0; i < 20; i++) {
                _cleanup_free_ char *name = str_printf("u%u.service", i);

                assert_int_equal(rig_count_running(&g, name), 1);
                assert_in_range(starts_of(name), 1, 2); // where it stands on a node that it left is gone
        }
        assert_int_equal(rig_last(SET_MODES(OPEN, "n1", "n2", "n3"))->status, 0);
        start_many(25);
        assert_true(units_on(1) > 0 && units_on(2) > 0 && units_on(3) > 0);
}

static void what_no_other_node_takes_is_not_touched_when_all_are_emptied(void **state) {
        start_many(6);
        assert_int_equal(rig_last(SET_MODES(DRAINING, "n1", "n2", "n3"))->status, 0);
        RigAnswer *a = wait_for_drain("n1");
        assert_int_equal(rig_last(a)->status, EBUSY);
        assert_int_equal(rig_last(a)->progress->n_done, 2);
        for (unsigned i = 0; i < 6; i++) {
                _cleanup_free_ char *name = str_printf("u%u.service", i);

                assert_int_equal(rig_count_running(&g, name), 1);
                assert_int_equal(starts_of(name), 1);
        }
}

static void either_all_of_several_nodes_are_changed_or_none(void **state) {
        size_t batches = g.batches;
        const Argosy__Response *r = rig_last(SET_MODES(CORDONED, "n1", "nowhere", "n2"));

        assert_int_equal(r->status, ENOENT);
        assert_string_equal(r->message, "there is no node 'nowhere'; nothing was changed");
        assert_int_equal(g.batches, batches);
        // Named twice, and as a host and as its node: once.
        assert_int_equal(rig_last(SET_MODES(CORDONED, "n2", "n1", "n2", "n1/system"))->status, 0);
        assert_int_equal(g.batches, batches + 1);
        assert_int_equal(rig_last(SET_MODES(CORDONED, "n1", "n2"))->status, 0);
        assert_int_equal(g.batches, batches + 1);
        start_many(3);
        assert_int_equal(units_on(3), 3);
        assert_int_equal(rig_last(rig_set_modes(&g, NULL, 0, OPEN))->status, EINVAL);
}

static void two_nodes_of_one_host_are_changed_wherever_they_are_named(void **state) {
        rig_host_set_manager(&g, 1, "user@1000");
        assert_int_equal(rig_last(SET_MODES(CORDONED, "n1/system", "n2", "n1/user@1000"))->status, 0);
        const Argosy__HostRecord *record = cluster_state_find_host(g.state, 1);
        assert_int_equal(record->n_nodes, 2);
        assert_int_equal(record->nodes[0]->mode, CORDONED);
        assert_int_equal(record->nodes[1]->mode, CORDONED);
}

static void a_new_leader_goes_on_with_a_drain(void **state) {
        start_many(6);
        rig_host(&g, 2)->deaf = true;
        rig_set_mode(&g, "n2", DRAINING, 0, "new disks");
        rig_depose(&g);
        rig_host(&g, 2)->deaf = false;
        rig_elect(&g);
        assert_int_equal(units_on(2), 0);
        assert_int_equal(units_on(1) + units_on(3), 6);
}

// The node that takes them has room for one.
static void see_who_leaves_first(const char *first, const char *second, bool under_the_next_leader) {
        rig_label(&g, "n1", "offers/slot", "2");
        assert_int_equal(rig_change(&g, START, first, ON_SLOT)->status, 0);
        assert_int_equal(rig_change(&g, START, second, ON_SLOT)->status, 0);
        rig_label(&g, "n2", "offers/slot", "1");
        if (under_the_next_leader) {
                rig_depose(&g);
                rig_elect(&g);
        }
        assert_int_equal(units_on(1), 2);
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        assert_int_equal(rig_host_of(&g, "a.service"), 2);
        assert_int_equal(rig_host_of(&g, "b.service"), 1);
}

static void who_came_first_leaves_as_the_first_by_name(void **state) {
        see_who_leaves_first("a.service", "b.service", false);
}

static void who_came_last_leaves_as_the_first_by_name(void **state) {
        see_who_leaves_first("b.service", "a.service", false);
}

static void under_the_next_leader_the_same_unit_leaves_first(void **state) {
        see_who_leaves_first("b.service", "a.service", true);
}

static void an_uncordon_ends_the_wait_for_a_drain(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        rig_host(&g, 1)->deaf = true;
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_false(a->final);
        rig_set_mode(&g, "n1", OPEN, 0, "new disks");
        assert_final(a, ECANCELED);
}

static void maintenance_stops_global_units_too(void **state) {
        start_many(3);
        rig_change(&g, START, "all.service", GLOBAL);
        assert_int_equal(rig_count_running(&g, "all.service"), 3);
        rig_set_mode(&g, "n3", MAINTENANCE, 0, "new disks");
        assert_true(wait_for_drain("n3")->final);
        assert_int_equal(units_on(3), 0);
        assert_int_equal(rig_count_running(&g, "all.service"), 2);
        rig_set_mode(&g, "n3", OPEN, 0, "new disks");
        assert_int_equal(rig_count_running(&g, "all.service"), 3);
}

static void what_has_finished_for_good_holds_up_no_drain(void **state) {
        RigHost *h = rig_host(&g, 1);

        rig_change(&g, START, "job.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");
        rig_host_report_and_settle(&g, h, rig_unit_on(&g, 1, "job.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        rig_set_mode(&g, "n1", DRAINING, 0, "new disks");
        RigAnswer *a = wait_for_drain("n1");
        assert_final(a, 0);
        assert_int_equal(units_on(2) + units_on(3), 0);
}

static void nonsense_is_refused_and_changes_nothing(void **state) {
        unsigned before = g.batches;

        assert_int_equal(rig_last(rig_set_mode(&g, "nowhere", CORDONED, 0, "new disks"))->status, ENOENT);
        assert_int_equal(rig_last(rig_set_mode(&g, "n1", 77, 0, "new disks"))->status, EINVAL);
        assert_int_equal(rig_last(rig_label(&g, "n1", "no spaces", "x"))->status, EINVAL);
        assert_int_equal(rig_last(rig_label(&g, "n1", "key", "no/../ok=?"))->status, EINVAL);
        assert_int_equal(rig_last(wait_for_drain("nowhere"))->status, ENOENT);
        assert_int_equal(rig_last(wait_for_drain("n1"))->status, ECANCELED);
        assert_int_equal(g.batches, before);
}

// ------------------------------------------------------------------------------------------------ labels

static const char *label_of(uint32_t host, const char *key) {
        const Argosy__HostRecord *r = cluster_state_find_host(g.state, host);

        for (size_t i = 0; i < r->n_labels; i++)
                if (streq(r->labels[i]->key, key))
                        return r->labels[i]->value;
        return NULL;
}

static void a_label_set_at_run_time_counts_more_than_the_hosts_own(void **state) {
        rig_host_set_labels(&g, 2, "disk", "hdd");
        assert_string_equal(label_of(2, "disk"), "hdd");
        rig_label(&g, "n2", "disk", "ssd");
        assert_string_equal(label_of(2, "disk"), "ssd");
        rig_host_set_labels(&g, 2, "disk", "tape"); // its configuration was changed and read again
        rig_settle(&g);
        assert_string_equal(label_of(2, "disk"), "ssd");
        rig_label(&g, "n2", "disk", NULL);
        assert_string_equal(label_of(2, "disk"), "tape");
}

static void a_label_makes_a_node_fit(void **state) {
        assert_int_equal(rig_change(&g, START, "fast.service", ON_SSD)->status, ENOSPC);
        rig_label(&g, "n3", "disk", "ssd");
        rig_change(&g, START, "fast.service", ON_SSD);
        assert_int_equal(units_on(3), 1);
}

static void a_restart_happens_where_the_unit_is_whatever_it_asks_for_by_now(void **state) {
        rig_label(&g, "n2", "disk", "ssd");
        rig_change(&g, START, "web.service", ON_SSD);
        rig_label(&g, "n2", "disk", "hdd");
        VirtualUnit *u = rig_unit_on(&g, 2, "web.service");
        assert_int_equal(u->restarts, 0);
        const Argosy__Response__UnitResult *result =
                rig_change(&g, ARGOSY__VERB__VERB_RESTART, "web.service", NULL);
        assert_int_equal(result->status, 0);
        assert_int_equal(rig_record(&g, "web.service")->node, 2);
        assert_int_equal(u->restarts, 1);
        // Nor does it wait for a drain that it cannot follow.
        rig_set_mode(&g, "n2", DRAINING, 0, "new disks");
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_RESTART, "web.service", NULL)->status, 0);
        assert_int_equal(u->restarts, 2);
        rig_set_mode(&g, "n2", OPEN, 0, "new disks");
        // With another content, or when it was stopped, it is placed anew.
        rig_change(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL);
        rig_settle(&g);
        assert_int_not_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
}

static void a_host_can_have_so_many_labels_at_run_time(void **state) {
        char key[32];

        for (unsigned i = 0; i < HOST_SET_LABELS_MAX; i++) {
                snprintf(key, sizeof(key), "key%u", i);
                assert_int_equal(rig_last(rig_label(&g, "n1", key, "x"))->status, 0);
        }
        assert_int_equal(rig_last(rig_label(&g, "n1", "one-more", "x"))->status, E2BIG);
        assert_int_equal(rig_last(rig_label(&g, "n1", "key5", "y"))->status, 0);
}

// It waited for its guard when its node was lost, and that is back.
static void a_drain_goes_on_when_a_lost_node_is_back(void **state) {
        assert_int_equal(rig_change(&g, START, "first.service", SERVICE)->status, 0);
        assert_int_equal(
                rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nCutOff=stop\nCutOffSec=10min\n")
                        ->status,
                0);
        uint32_t host = rig_host_of(&g, "a.service");
        assert_int_not_equal(host, 1);
        rig_host_off_for(&g, host, 2 * RIG_LEASE_MS);
        (void) rig_set_host_mode(&g, host, DRAINING, 0);
        assert_int_equal(rig_host_of(&g, "a.service"), host);
        rig_host_on(&g, host, false);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_not_equal(rig_host_of(&g, "a.service"), host);
        assert_int_equal(rig_count_running(&g, "a.service"), 1);
}

RUN_TESTS(
        RIG_TEST(more_kinds_of_resources_than_can_be_counted_are_refused_until_one_is_free),
        RIG_TEST(who_demands_too_many_kinds_says_so_when_asked),
        RIG_TEST(lists_of_managers_that_nobody_uses_any_more_are_forgotten),
        RIG_TEST(a_cordoned_node_keeps_its_units_and_takes_no_new_ones),
        RIG_TEST(a_refusal_names_the_mode_and_the_owners_reason),
        RIG_TEST(a_reason_that_is_no_text_is_refused),
        RIG_TEST(a_drained_nodes_units_run_elsewhere_and_it_stays_closed),
        RIG_TEST(a_unit_ends_on_the_old_node_before_it_begins_on_the_new_one),
        RIG_TEST(a_drain_waits_for_what_its_node_was_told_to_start),
        RIG_TEST(a_welcome_begins_nothing_that_has_not_ended_elsewhere),
        RIG_TEST(nobody_waits_for_the_end_of_a_unit_on_a_host_that_dies),
        RIG_TEST(a_unit_that_nobody_else_takes_stays_and_is_named),
        RIG_TEST(at_the_deadline_what_has_not_left_is_stopped),
        RIG_TEST(a_drain_that_is_repeated_keeps_its_deadline),
        RIG_TEST(only_what_empties_a_node_has_a_deadline),
        RIG_TEST(a_deadline_that_is_over_is_not_waited_for),
        RIG_TEST(what_leaves_several_nodes_moves_once),
        RIG_TEST(what_no_other_node_takes_is_not_touched_when_all_are_emptied),
        RIG_TEST(either_all_of_several_nodes_are_changed_or_none),
        RIG_TEST(two_nodes_of_one_host_are_changed_wherever_they_are_named),
        RIG_TEST(a_new_leader_goes_on_with_a_drain),
        RIG_TEST(who_came_first_leaves_as_the_first_by_name),
        RIG_TEST(who_came_last_leaves_as_the_first_by_name),
        RIG_TEST(under_the_next_leader_the_same_unit_leaves_first),
        RIG_TEST(an_uncordon_ends_the_wait_for_a_drain),
        RIG_TEST(a_drain_goes_on_when_a_lost_node_is_back),
        RIG_TEST(maintenance_stops_global_units_too),
        RIG_TEST(what_has_finished_for_good_holds_up_no_drain),
        RIG_TEST(nonsense_is_refused_and_changes_nothing),
        RIG_TEST(a_label_set_at_run_time_counts_more_than_the_hosts_own),
        RIG_TEST(a_label_makes_a_node_fit),
        RIG_TEST(a_restart_happens_where_the_unit_is_whatever_it_asks_for_by_now),
        RIG_TEST(a_host_can_have_so_many_labels_at_run_time)
)
