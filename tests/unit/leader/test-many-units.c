// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Thousands of units whose node is lost, or whose host attaches to a new leader. What one turn of the loop
// does about them is bounded, and counted here; and what is left at the end is what it would be if it were
// done at once, whatever happens between two turns.
#include "attach.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "schedule-queue.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define SLOT SERVICE "[X-Argosy]\nReserveResource=slot\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

enum {
        UNITS = 3600,          // 1,200 a host: more than is looked at in a turn
        SCARCE = 700,          // of each priority
        ENTRY_MAX = 256,       // LEADER_LIMIT_entry_units
        CONSIDERED_MAX = 2000, // CONSIDERED_UNITS to see which move, and as many to ask about them
        ORDERS_MAX = 512,      // ORDERS_PER_TURN
        ROUNDS = 10,
        CHANGED = 200, // units that others change meanwhile
};

static char names[UNITS][32], *pointers[UNITS];
static bool wanted[UNITS];
static uint64_t revision, considered, n_ids;
static size_t n_orders, most_changed, most_considered, most_orders;
static unsigned n_parts;

RIG_OF(3)

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- asking

static RigAnswer *change(Argosy__Verb verb, char **which, size_t n) {
        uint64_t words[2] = {++n_ids, 77};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change,
                           .id = (ProtobufCBinaryData){.data = (uint8_t *) words, .len = sizeof(words)},
                           .verb = verb, .names = which, .n_names = n);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &change));
}

static void start(const char *template, const char *content, size_t first, size_t n) {
        const char *at = strchr(template, '@');

        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, template, content)->status, 0);
        for (size_t i = first; i < first + n; i++) {
                snprintf(names[i], sizeof(names[i]), "%.*s%zu%s", (int) (at - template + 1), template, i + 1,
                         at + 1);
                pointers[i] = names[i];
                wanted[i] = true;
        }
        RigAnswer *a = change(START, pointers + first, n);
        rig_settle(&g);
        assert_true(a->final);
}

// ---- looking

static size_t count_on(uint32_t host) {
        size_t n;

        (void) cluster_state_units_on(g.state, rig_host(&g, host)->virtual.node, &n);
        return n;
}

static void assert_all_run_as_wanted(void) {
        for (size_t i = 0; i < UNITS; i++)
                if (rig_count_running(&g, names[i]) != wanted[i])
                        fail_msg("%s runs on %u hosts, and is to run on %u", names[i],
                                 rig_count_running(&g, names[i]), (unsigned) wanted[i]);
}

static void on_turn(Rig *rig) {
        uint64_t now = cluster_state_revision(rig->state), n_considered = rig->leader->n_considered;

        most_changed = MAX_OF(most_changed, (size_t) (now - revision));
        most_considered = MAX_OF(most_considered, (size_t) (n_considered - considered));
        most_orders = MAX_OF(most_orders, n_orders);
        revision = now;
        considered = n_considered;
        n_orders = 0;
}

static void on_voter_message(Rig *rig, uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case != ARGOSY__TO_VOTER__MSG_ATTACH_PART)
                return;
        assert_true(m->attach_part->n_held <= ATTACH_HELD_MAX);
        assert_false(host_find(rig->leader, host)->attached);
        n_parts++;
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                n_orders += m->orders->n_orders;
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                n_orders += m->welcome->n_orders;
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART)
                n_orders += m->welcome_part->n_orders;
}

static void watch(void) {
        revision = cluster_state_revision(g.state);
        considered = g.leader->n_considered;
        n_orders = most_changed = most_considered = most_orders = 0;
        n_parts = 0;
        g.on_turn = on_turn;
        g.on_host_message = on_host_message;
        g.on_voter_message = on_voter_message;
}

// ---- hosts

// The leader has just found it lost, and done nothing about it.
static void lose(uint32_t host) {
        rig_host_off(&g, host);
        rig_pass_ms(&g, RIG_LEASE_MS - RIG_BEAT_MS); // the others beat
        g.now_us = host_find(g.leader, host)->lease.renewed_us + (RIG_LEASE_MS + 100) * USEC_PER_MSEC;
        leader_on_time(g.leader);
        assert_true(host_is_lost(host_find(g.leader, host)));
}

// As rig_host_on(), but nothing follows yet.
static void come_back(uint32_t host) {
        RigHost *h = rig_host(&g, host);

        if (h->linked) {
                h->linked = h->was_linked = false;
                rig_host_clear_inbox(h);
                leader_on_host_link(g.leader, host, NULL);
        }
        h->up = true;
        h->attached = h->virtual.welcomed = h->was_linked = false;
}

static uint32_t fullest(void) {
        uint32_t most = 2; // the first is the leader's

        return count_on(3) > count_on(most) ? 3 : most;
}

// ---- a lost node

static void units_of_a_lost_node_move_a_few_in_each_turn(void **state) {
        start("load@.service", SERVICE, 0, UNITS);
        assert_int_equal(count_on(3), UNITS / 3);
        watch();
        uint64_t before = g.leader->n_considered;
        lose(3);
        rig_settle(&g);
        assert_in_range(most_changed, 1, ENTRY_MAX);
        assert_in_range(most_considered, 1, CONSIDERED_MAX);
        assert_in_range(most_orders, 1, ORDERS_MAX);
        assert_in_range(g.leader->n_considered - before, UNITS / 3,
                        5 * UNITS / 3); // each a few times, not once a round
        assert_int_equal(count_on(3), 0);
        assert_in_range(count_on(2), UNITS / 2 - 20, UNITS / 2 + 20);
        assert_all_run_as_wanted();
        rig_host_on(&g, 3, false); // where nothing of it is any more
        assert_int_equal(rig_host(&g, 3)->virtual.units.count, 0);
        assert_all_run_as_wanted();
}

static void a_drain_moves_a_few_in_each_entry(void **state) {
        start("load@.service", SERVICE "[X-Argosy]\nMaxUnavailable=100%\n", 0, UNITS);
        watch();
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_in_range(most_changed, 1, ENTRY_MAX);
        assert_in_range(most_considered, 1, CONSIDERED_MAX);
        assert_in_range(most_orders, 1, ORDERS_MAX);
        assert_int_equal(count_on(3), 0);
        assert_all_run_as_wanted();
}

static void slots(uint32_t host, const char *n) {
        rig_host_set_labels(&g, host, "offers/slot", n);
}

static size_t count_running(size_t first, size_t n, uint32_t not_on) {
        size_t sum = 0;

        for (size_t i = first; i < first + n; i++)
                for (uint32_t h = 1; h <= g.n_hosts; h++) {
                        const VirtualUnit *u = rig_unit_on(&g, h, names[i]);

                        sum += h != not_on && u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
                }
        return sum;
}

static void a_host_that_is_removed_gives_a_few_in_each_entry(void **state) {
        start("load@.service", SERVICE, 0, UNITS);
        assert_true(count_on(3) > 2 * ENTRY_MAX);
        Argosy__Request__ClusterRemove remove = MESSAGE_OF(request__cluster_remove, .host = (char *) "n3");
        remove.force = true; // what is waited for leaves as in a drain
        watch();
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &remove));
        assert_final(a, 0);
        assert_int_equal(count_on(1) + count_on(2), UNITS);
        assert_in_range(most_changed, ENTRY_MAX, ENTRY_MAX + 2); // and what is the log's own about the host
}

// The lower ones are looked at first, and in other turns.
static void what_room_there_is_goes_by_priority_although_they_are_asked_in_turns(void **state) {
        slots(3, "2000");
        start("low@.service", SLOT "Priority=1\n", 0, SCARCE);
        start("high@.service", SLOT "Priority=5\n", SCARCE, SCARCE);
        assert_int_equal(count_on(3), 2 * SCARCE);
        slots(1, "350");
        slots(2, "350");
        lose(3);
        rig_settle(&g);
        assert_int_equal(count_running(0, SCARCE, 3), 0);
        assert_int_equal(count_running(SCARCE, SCARCE, 3), SCARCE);
        assert_int_equal(g.leader->n_pending, SCARCE);

        uint64_t asked = g.leader->n_pending_judged; // whose turn comes is known
        slots(1, "450");
        assert_int_equal(count_running(0, SCARCE, 3), 100);
        assert_int_equal(g.leader->n_pending_judged, asked);

        rig_host_on(&g, 3, false);
        assert_int_equal(g.leader->n_pending, 0);
        assert_true(list_is_empty(&g.leader->enqueued));
        assert_int_equal(count_running(0, 2 * SCARCE, 0), 2 * SCARCE);
        assert_int_equal(count_on(3), SCARCE - 100);
        slots(2, "2000"); // and who stayed is not taken elsewhere
        assert_int_equal(count_on(3), SCARCE - 100);
}

// The same of a node that is emptied. Whom nobody takes is asked about before each round.
static void of_an_emptied_node_that_nobody_relieves_a_few_are_asked_about_in_each_turn(void **state) {
        slots(3, "3600");
        start("low@.service", SLOT "Priority=1\nMaxUnavailable=100%\n", 0, UNITS / 2);
        start("high@.service", SLOT "Priority=5\nMaxUnavailable=100%\n", UNITS / 2, UNITS / 2);
        assert_int_equal(count_on(3), UNITS);
        watch();
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_in_range(most_considered, 1, CONSIDERED_MAX);
        assert_int_equal(g.leader->n_pending, UNITS);
        assert_true(list_is_empty(&g.leader->offered));
        assert_int_equal(count_on(3), UNITS);

        most_considered = 0;
        slots(1, "350"); // more than one entry has
        assert_in_range(most_considered, 1, CONSIDERED_MAX);
        assert_int_equal(count_running(0, UNITS / 2, 3), 0);
        assert_int_equal(count_running(UNITS / 2, UNITS / 2, 3), 350);
        assert_int_equal(g.leader->n_pending, UNITS - 350);
        assert_true(list_is_empty(&g.leader->offered));
        assert_all_run_as_wanted();

        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        assert_int_equal(g.leader->n_pending, 0);
        slots(2, "2000"); // and who stayed is not taken elsewhere
        assert_int_equal(count_on(3), UNITS - 350);
}

static void end_session(uint32_t host) {
        RigHost *h = rig_host(&g, host);

        h->up = h->linked = h->was_linked = h->attached = h->virtual.welcomed = false;
        rig_host_clear_inbox(h);
        leader_on_host_link(g.leader, host, NULL);
}

static bool has_room_and_some_were_asked_about(void) {
        return cluster_state_find_host(g.state, 1)->n_labels > 0 && !list_is_empty(&g.leader->offered);
}

// It may still run there until its guard has ended it.
static void who_is_cut_off_while_others_are_asked_about_does_not_leave(void **state) {
        enum { CUT = 1500 }; // more than are asked about in a turn
        Argosy__Label label = MESSAGE_OF(label, .key = (char *) "offers/slot", .value = (char *) "1500");

        slots(3, "1500");
        start("cut@.service", SLOT "CutOff=stop\nMaxUnavailable=100%\n", 0, CUT);
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(g.leader->n_pending, CUT);
        rig_host(&g, 1)->label = label;
        rig_host(&g, 1)->labels = &rig_host(&g, 1)->label;
        rig_host(&g, 1)->attached = false;
        for (unsigned turns = 0; turns < 100 && !has_room_and_some_were_asked_about(); turns++)
                (void) rig_turn(&g);
        assert_true(has_room_and_some_were_asked_about());
        assert_non_null(schedule_first(g.leader, SCHEDULE_DUE));
        assert_false(g.leader->batch_flying);
        size_t left = count_on(3); // the first round may be over
        end_session(3);
        rig_settle(&g);
        assert_false(host_is_lost(host_find(g.leader, 3)));
        assert_int_equal(count_on(3), left);
        assert_int_equal(g.leader->n_pending, left);
}

// Nobody is given what one who is before it would have had at once.
static void who_is_lost_while_others_are_asked_about_has_its_turn_in_the_same_round(void **state) {
        enum { LOW = 1300, HIGH = 600 };

        slots(3, "1300");
        start("low@.service", SLOT "Priority=1\nPreemptible=no\n", 0, LOW);
        slots(2, "600");
        start("high@.service", SLOT "Priority=5\nPreemptible=no\n", LOW, HIGH);
        assert_int_equal(count_on(3), LOW);
        assert_int_equal(count_on(2), HIGH);
        slots(1, "600");
        lose(3);
        while (!schedule_first(g.leader, SCHEDULE_DUE))
                (void) rig_turn(&g);
        rig_host_off(&g, 2);
        host_lose(g.leader, host_find(g.leader, 2));
        rig_settle(&g);
        assert_int_equal(count_running(LOW, HIGH, 2), HIGH);
        assert_int_equal(count_on(1), HIGH);
        assert_int_equal(count_on(3), LOW);
}

// Who waits in the Placement is asked about again when so many hosts are gone that nothing is to move, and
// afterwards.
static void who_waits_stays_when_nothing_is_to_be_moved_any_more(void **state) {
        g.leader->config.mass_loss_percent = 50;
        slots(3, "2000");
        start("low@.service", SLOT, 0, SCARCE);
        assert_int_equal(rig_change(&g, START, "other.service", SERVICE "[X-Argosy]\nHost=n2\n")->status, 0);
        lose(3);
        rig_settle(&g);
        assert_int_equal(g.leader->n_pending, SCARCE);
        assert_false(list_is_empty(&g.leader->enqueued));
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_true(g.leader->in_mass_loss);
        assert_true(list_is_empty(&g.leader->enqueued));
        slots(1, "2000");
        assert_int_equal(count_on(3), SCARCE);
        rig_host_on(&g, 2, false);
        assert_false(g.leader->in_mass_loss);
        assert_int_equal(count_on(1), SCARCE);
        assert_int_equal(count_running(0, SCARCE, 3), SCARCE);
}

// ---- in between

static void stop_or_start_some(void) {
        static char *some[CHANGED];
        bool up = rand() % 2;
        size_t at = (size_t) rand() % (UNITS - CHANGED);

        for (size_t i = 0; i < CHANGED; i++) {
                some[i] = names[at + i];
                wanted[at + i] = up;
        }
        (void) change(up ? START : STOP, some, CHANGED);
}

static void hold_the_log_up(void) {
        g.slow = true;
        rig_turns(&g, 1 + (unsigned) rand() % 5);
        rig_hurry(&g);
}

static void whatever_happens_meanwhile_each_runs_where_it_is_to(void **state) {
        start("load@.service", SERVICE, 0, UNITS);
        for (unsigned round = 0; round < ROUNDS; round++) {
                uint32_t host = fullest();

                srand(round);
                lose(host);
                watch();
                rig_turns(&g, (unsigned) rand() % 25);
                switch (round % 5) {
                case 0:
                        come_back(host);
                        break;
                case 1:
                        stop_or_start_some();
                        break;
                case 2:
                        hold_the_log_up();
                        break;
                case 3:
                        stop_or_start_some();
                        rig_turns(&g, (unsigned) rand() % 10);
                        come_back(host);
                        break;
                default:
                        rig_elect_anew(&g);
                        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
                        break;
                }
                rig_settle(&g);
                if (!rig_host(&g, host)->up)
                        rig_host_on(&g, host, false);
                assert_true(most_orders <= ORDERS_MAX);
                assert_all_run_as_wanted();
        }
}

// ---- a new leader

static void a_host_with_many_units_attaches_and_is_welcomed_in_turns(void **state) {
        unsigned starts = 0;

        start("load@.service", SERVICE, 0, UNITS);
        rig_depose(&g);
        watch();
        rig_elect(&g);
        assert_true(n_parts >= g.n_hosts);
        assert_in_range(most_orders, 1, ORDERS_MAX);
        for (uint32_t i = 1; i <= g.n_hosts; i++) {
                assert_true(rig_host(&g, i)->virtual.all_parts >= UNITS / 3 / ORDERS_MAX);
                map_foreach (slot, &rig_host(&g, i)->virtual.units)
                        starts += ((const VirtualUnit *) slot->value)->starts;
        }
        assert_int_equal(starts, UNITS); // nothing was taken away and brought again
        assert_all_run_as_wanted();
}

static bool somebody_is_walked_to(void) {
        for (uint32_t i = 1; i <= g.n_hosts; i++)
                if (host_find(g.leader, i) && host_find(g.leader, i)->ordering.welcome_node)
                        return true;
        return false;
}

static void what_changes_while_a_host_is_welcomed_is_as_if_it_had_changed_before(void **state) {
        start("load@.service", SERVICE, 0, UNITS);
        for (unsigned round = 0; round < ROUNDS; round++) {
                srand(100 + round);
                rig_depose(&g);
                store_memory_lead(g.store, true);
                while (!somebody_is_walked_to())
                        (void) rig_turn(&g);
                rig_turns(&g, (unsigned) rand() % 8);
                stop_or_start_some();
                rig_turns(&g, (unsigned) rand() % 8);
                if (round % 3 == 0) {
                        come_back(2); // its link has broken
                        stop_or_start_some();
                }
                rig_settle(&g);
                assert_all_run_as_wanted();
        }
}

RUN_TESTS(
        TEST(units_of_a_lost_node_move_a_few_in_each_turn),
        TEST(a_drain_moves_a_few_in_each_entry),
        TEST(a_host_that_is_removed_gives_a_few_in_each_entry),
        TEST(what_room_there_is_goes_by_priority_although_they_are_asked_in_turns),
        TEST(of_an_emptied_node_that_nobody_relieves_a_few_are_asked_about_in_each_turn),
        TEST(who_is_cut_off_while_others_are_asked_about_does_not_leave),
        TEST(who_is_lost_while_others_are_asked_about_has_its_turn_in_the_same_round),
        TEST(who_waits_stays_when_nothing_is_to_be_moved_any_more),
        TEST(whatever_happens_meanwhile_each_runs_where_it_is_to),
        TEST(a_host_with_many_units_attaches_and_is_welcomed_in_turns),
        TEST(what_changes_while_a_host_is_welcomed_is_as_if_it_had_changed_before)
)
