// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a leader counts by state, verb, role and resource. That each count is what a walk finds the rig sees
// to, after all that any test does (assert_tallies()).
#include "leader-asks.h"
#include "leader-private.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define DEMANDING SERVICE "[X-Argosy]\nReserveResource=slot:2\n"
#define EVERYWHERE SERVICE "[X-Argosy]\nGlobal=yes\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define START ARGOSY__VERB__VERB_START
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT

enum { LATER_MS = 1100 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.bad = hash_of(BAD, strlen(BAD));
}

RIG_TEARDOWN

static bool has(const Counter *c, const char *first, const char *second) {
        return (!first || (c->labels[0].key && streq(c->labels[0].value, first))) &&
               (!second || (c->labels[1].key && streq(c->labels[1].value, second)));
}

// The sum of the rows with these values; -1: there is none.
static int64_t figure(const char *name, const char *first, const char *second) {
        CounterList all = {};
        int64_t sum = -1;

        leader_figures(g.leader, &all);
        for (size_t i = 0; i < all.n; i++)
                if (streq(all.rows[i].of.name, name) && has(&all.rows[i], first, second))
                        sum = MAX_OF(sum, (int64_t) 0) + (int64_t) all.rows[i].value;
        counter_list_done(&all);
        return sum;
}

static uint64_t times_looked(void) {
        TimeHistogram t = leader_placement_times(g.leader);
        uint64_t n[TIME_BOUNDS + 1];

        time_histogram_cumulate(&t, n);
        return n[TIME_BOUNDS];
}

// Also of those that wait, when there is a node for them; and not what is only asked for.
static void placements_are_counted(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        (void) rig_change(&g, START, "b.service", SERVICE);
        rig_settle(&g);
        assert_int_equal(leader_stats(g.leader).placements, 2);
        assert_true(times_looked() >= 2);
        uint64_t looked = times_looked();
        (void) rig_change(&g, START, "c.service", DEMANDING); // which no node offers
        rig_settle(&g);
        assert_int_equal(leader_stats(g.leader).placements, 2);
        assert_true(times_looked() > looked);
}

static void units_are_counted_by_what_they_do_and_where(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        (void) rig_change(&g, START, "b.service", BAD);
        (void) rig_change(&g, START, "c.service", EVERYWHERE);
        (void) rig_change(&g, SUBMIT, "d.service", SERVICE);
        rig_settle(&g);
        assert_int_equal(figure("units_on_nodes", "active", NULL), 4);
        assert_int_equal(figure("units_on_nodes", "failed", NULL), 1);
        assert_int_equal(figure("units_by_placement", "resident", NULL), 2);
        assert_int_equal(figure("units_by_placement", "everywhere", NULL), 1);
        assert_int_equal(figure("units_by_placement", NULL, NULL), 3);
        assert_int_equal(figure("role_units", "default", NULL), 2);
}

static void nobody_knows_what_runs_on_a_node_that_is_not_heard(void **state) {
        (void) rig_change(&g, START, "c.service", EVERYWHERE);
        rig_settle(&g);
        assert_int_equal(figure("nodes", "online", NULL), 3);
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(figure("nodes", "lost", NULL), 1);
        assert_int_equal(figure("units_on_nodes", "active", NULL), 2);
        assert_int_equal(figure("units_on_nodes", "unknown", NULL), 1);
        rig_host_on(&g, 3, false);
        assert_int_equal(figure("units_on_nodes", "active", NULL), 3);
        assert_int_equal(figure("units_on_nodes", "unknown", NULL), 0);
}

static void nodes_are_counted_by_state_and_mode(void **state) {
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        rig_host_goodbye(&g, 3);
        rig_settle(&g);
        assert_int_equal(figure("nodes", "online", NULL), 2);
        assert_int_equal(figure("nodes", "leaving", NULL), 1);
        assert_int_equal(figure("nodes", NULL, NULL), 3);
        assert_int_equal(figure("nodes_by_mode", "cordoned", NULL), 1);
        assert_int_equal(figure("nodes_by_mode", "open", NULL), 2);
}

static void what_units_reserve_is_told_beside_what_there_is(void **state) {
        rig_host_set_labels(&g, 2, "offers/slot", "9");
        rig_host_set_labels(&g, 3, "offers/slot", "4");
        (void) rig_change(&g, START, "a.service", DEMANDING);
        (void) rig_change(&g, START, "b.service", SERVICE);
        rig_settle(&g);
        assert_int_equal(figure("capacity", "slot", NULL), 13);
        assert_int_equal(figure("reserved", "slot", NULL), 2);
        assert_int_equal(figure("reserved", "cpu", NULL), 0);
        rig_host_off(&g, rig_host_of(&g, "a.service"));
        rig_pass_ms(&g, 2 * RIG_LEASE_MS); // it starts on the other one
        assert_int_equal(figure("reserved", "slot", NULL), 2);
        assert_in_range(figure("capacity", "slot", NULL), 4, 9);
}

// Nobody waits for a node, so nobody else asks the Placement.
static void what_there_is_follows_a_host_without_a_unit_that_asks(void **state) {
        Argosy__Label five = MESSAGE_OF(label, .key = (char *) "offers/slot", .value = (char *) "5"),
                      *set = &five;
        Argosy__Request__LabelChange change =
                MESSAGE_OF(request__label_change, .node = (char *) "n3", .set = &set, .n_set = 1);

        rig_host_set_labels(&g, 2, "offers/slot", "9");
        (void) rig_change(&g, START, "a.service", DEMANDING);
        rig_settle(&g);
        assert_int_equal(figure("capacity", "slot", NULL), 9);
        rig_host_set_labels(&g, 3, "offers/slot", "4");
        assert_int_equal(figure("capacity", "slot", NULL), 13);
        g.leader->limits.placed_hosts = 0; // no turn comes to it before somebody asks
        (void) rig_ask(&g, A_REQUEST(LABEL_CHANGE, label_change, &change));
        rig_turns(&g, 8);
        assert_int_equal(figure("capacity", "slot", NULL), 14);
        g.leader->limits.placed_hosts = LEADER_LIMIT_placed_hosts;
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        assert_int_equal(figure("nodes", "lost", NULL), 1);
        assert_int_equal(figure("capacity", "slot", NULL), 9);
}

static void jobs_are_counted_by_verb_while_they_are_open_and_when_they_have_ended(void **state) {
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        (void) rig_change(&g, START, "a.service", SERVICE);
        assert_int_equal(figure("open_jobs", "start", "running"), 1);
        assert_int_equal(figure("jobs_ended", "start", "done"), 0);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_pass_ms(&g, LATER_MS);
        (void) rig_change(&g, START, "b.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(figure("open_jobs", "start", "running"), 0);
        assert_int_equal(figure("jobs_ended", "start", "done"), 1);
        assert_int_equal(figure("jobs_ended", "start", "failed"), 1);
}

static void a_job_that_ends_with_its_entry_is_counted_once(void **state) {
        (void) rig_change(&g, SUBMIT, "a.service", SERVICE);
        (void) rig_label(&g, "n2", "disk", "ssd");
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(figure("jobs_ended", "submit", "done"), 1);
        assert_int_equal(figure("jobs_ended", "label", "done"), 1);
        assert_int_equal(figure("jobs_ended", NULL, NULL), 2);
}

// Behind its first entry it is open, and ends as what is open does.
static void a_job_of_several_entries_is_counted_once(void **state) {
        enum { MANY = 3000 };
        unsigned batches = g.batches;

        (void) rig_change_many(&g, SUBMIT, "w", MANY, SERVICE);
        rig_pass_ms(&g, LATER_MS);
        assert_true(g.batches > batches + 1);
        assert_int_equal(figure("jobs_ended", NULL, NULL), 1);
}

static void whoever_leads_no_more_tells_only_what_must_not_fall(void **state) {
        (void) rig_change(&g, SUBMIT, "a.service", SERVICE);
        rig_depose(&g);
        rig_settle(&g);
        assert_int_equal(figure("jobs_ended", "submit", "done"), 1);
        assert_int_equal(figure("nodes", NULL, NULL), -1);
        assert_int_equal(figure("capacity", NULL, NULL), -1);
        rig_elect(&g);
        assert_int_equal(figure("nodes", "online", NULL), 3);
        assert_int_equal(figure("jobs_ended", "submit", "done"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void whose_memory_it_is_follows_what_there_is(void **state) {
        enum { MANY = 500 };
        LeaderStats few = leader_stats(g.leader), many;
        StateFigures wanted_before = cluster_state_figures(g.state);

        (void) rig_change_many(&g, START, "w", MANY, SERVICE);
        many = leader_stats(g.leader);
        assert_in_range(many.leader_tables_bytes - few.leader_tables_bytes,
                        MANY * (sizeof(Unit) + sizeof(UnitOnNode)),
                        MANY * (sizeof(Unit) + sizeof(UnitOnNode) + 200));
        assert_true(many.placement_bytes > few.placement_bytes);
        assert_in_range(cluster_state_figures(g.state).state_units_bytes - wanted_before.state_units_bytes,
                        MANY * sizeof(Argosy__UnitRecord),
                        MANY * (sizeof(Argosy__UnitRecord) + sizeof(UnitEntry) + 200));
        (void) rig_change_many(&g, ARGOSY__VERB__VERB_DESTROY, "w", MANY, NULL);
        // tables keep their room
        assert_true(leader_stats(g.leader).leader_tables_bytes < few.leader_tables_bytes + MANY * 200);
        (void) leader_set_leading(g.leader, false, g.leader->term + 1);
        assert_int_equal(leader_stats(g.leader).leader_tables_bytes + leader_stats(g.leader).placement_bytes,
                         0);
}

RUN_TESTS(
        TEST(whose_memory_it_is_follows_what_there_is),
        TEST(placements_are_counted),
        TEST(units_are_counted_by_what_they_do_and_where),
        TEST(nobody_knows_what_runs_on_a_node_that_is_not_heard),
        TEST(nodes_are_counted_by_state_and_mode),
        TEST(what_units_reserve_is_told_beside_what_there_is),
        TEST(what_there_is_follows_a_host_without_a_unit_that_asks),
        TEST(jobs_are_counted_by_verb_while_they_are_open_and_when_they_have_ended),
        TEST(a_job_that_ends_with_its_entry_is_counted_once),
        TEST(a_job_of_several_entries_is_counted_once),
        TEST(whoever_leads_no_more_tells_only_what_must_not_fall)
)
