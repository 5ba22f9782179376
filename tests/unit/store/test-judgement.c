// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <limits.h>

#include "judgement.h"

static void a_new_leader_leads_once_it_has_applied_what_it_found(void **state) {
        RoleView v = {.state = VIEW_LEADER, .applied_index = 9, .lead_index = 10};

        assert_int_equal(plan_role(&v), STORE_CANDIDATE);
        v.applied_index = 10;
        assert_int_equal(plan_role(&v), STORE_LEADER);
}

static void others_are_what_they_are(void **state) {
        assert_int_equal(plan_role(&(RoleView){.state = VIEW_FOLLOWER}), STORE_FOLLOWER);
        assert_int_equal(plan_role(&(RoleView){.state = VIEW_CANDIDATE}), STORE_CANDIDATE);
}

static void what_waits_without_moving_is_stuck_after_thirty_seconds(void **state) {
        Progress p = {};

        for (uint64_t now = 0; now < STORE_STUCK_MS; now += 200)
                assert_false(progress_is_stuck(&p, 5, 6, now));
        assert_true(progress_is_stuck(&p, 5, 6, STORE_STUCK_MS));
        assert_false(progress_is_stuck(&p, 6, 7, STORE_STUCK_MS + 200));
}

static void what_has_nothing_to_do_is_never_stuck(void **state) {
        Progress p = {};

        for (uint64_t now = 0; now < 2 * STORE_STUCK_MS; now += 200)
                assert_false(progress_is_stuck(&p, 5, 5, now));
}

static void a_suspended_machine_is_not_a_stuck_disk(void **state) {
        Progress p = {};

        assert_false(progress_is_stuck(&p, 5, 6, 1000));
        assert_false(progress_is_stuck(&p, 5, 6, 1000 + 8 * 3600 * 1000));
}

static void snapshots_are_due_by_bytes(void **state) {
        Compaction c = {};

        for (int i = 0; i < 7; i++)
                compaction_add(&c, 1024 * 1024);
        assert_false(compaction_is_due(&c));
        compaction_add(&c, 1024 * 1024);
        assert_true(compaction_is_due(&c));
        compaction_done(&c, &(Compaction){.bytes = c.bytes}, 100);
        assert_false(compaction_is_due(&c));
}

static void a_big_state_is_written_after_as_much_log(void **state) {
        Compaction c = {};

        compaction_done(&c, &(Compaction){.bytes = c.bytes}, 20 * 1024 * 1024);
        compaction_add(&c, 19 * 1024 * 1024);
        assert_false(compaction_is_due(&c));
        compaction_add(&c, 1024 * 1024);
        assert_true(compaction_is_due(&c));
}

static void add(TrailingLog *t, unsigned n, uint32_t bytes) {
        for (unsigned i = 0; i < n; i++)
                trailing_log_add(t, bytes);
}

// None at all would tell libraft's disk code that a snapshot was installed.
static void some_entries_are_always_kept(void **state) {
        TrailingLog t = {};

        assert_int_equal(trailing_log_entries(&t), 1);
        add(&t, 1, STORE_TRAILING_BYTES + 1);
        assert_int_equal(trailing_log_entries(&t), 1);
}

static void small_entries_are_kept_by_their_number(void **state) {
        TrailingLog t = {};

        add(&t, 1000, 8);
        assert_int_equal(trailing_log_entries(&t), 1000);
        add(&t, 2 * STORE_TRAILING_MAX, 8);
        assert_int_equal(trailing_log_entries(&t), STORE_TRAILING_MAX);
        assert_int_equal(t.bytes, 8 * STORE_TRAILING_MAX);
}

// Half of the entries can be almost all of the bytes.
static void of_large_entries_no_more_are_kept_than_have_so_many_bytes(void **state) {
        TrailingLog t = {};

        add(&t, 2000, 8);
        add(&t, 8, 1024 * 1024);
        assert_int_equal(trailing_log_entries(&t), STORE_TRAILING_BYTES / (1024 * 1024));
        add(&t, 3, 8);
        assert_int_equal(trailing_log_entries(&t), STORE_TRAILING_BYTES / (1024 * 1024) - 1 + 3);
        assert_true(t.bytes <= STORE_TRAILING_BYTES);
}

static void a_leader_with_a_full_disk_leaves_to_who_has_written_most(void **state) {
        StoreStats stats = {
                .role = STORE_LEADER,
                .last_index = 90,
                .n_members = 4,
                .members = {{.raft_id = 1, .voter = true, .match_index = 90},
                            {.raft_id = 2, .voter = true, .match_index = 80},
                            {.raft_id = 3, .voter = true, .match_index = 88},
                            {.raft_id = 4, .voter = false, .match_index = 90}},
        };

        assert_int_equal(plan_handover(&stats, 1, 50), 3);
        assert_int_equal(plan_handover(&stats, 1, 87), 3);
        assert_int_equal(plan_handover(&stats, 1, 88), 0); // nobody is better off
        stats.role = STORE_FOLLOWER;
        assert_int_equal(plan_handover(&stats, 1, 50), 0);
}

static void what_came_while_a_snapshot_was_taken_counts_for_the_next(void **state) {
        Compaction c = {}, at;

        for (int i = 0; i < 8; i++)
                compaction_add(&c, 1024 * 1024);
        at = c;
        for (int i = 0; i < 7; i++)
                compaction_add(&c, 1024 * 1024);
        compaction_done(&c, &at, 100);
        assert_false(compaction_is_due(&c));
        compaction_add(&c, 1024 * 1024);
        assert_true(compaction_is_due(&c));
}

static void one_that_is_asked_for_is_due_once(void **state) {
        Compaction c = {}, at;

        compaction_ask(&c);
        assert_true(compaction_is_due(&c));
        at = c;
        compaction_ask(&c); // while it is taken
        compaction_done(&c, &at, 100);
        assert_true(compaction_is_due(&c));
        at = c;
        compaction_done(&c, &at, 100);
        assert_false(compaction_is_due(&c));
}

RUN_TESTS(
        cmocka_unit_test(a_new_leader_leads_once_it_has_applied_what_it_found),
        cmocka_unit_test(others_are_what_they_are),
        cmocka_unit_test(what_waits_without_moving_is_stuck_after_thirty_seconds),
        cmocka_unit_test(what_has_nothing_to_do_is_never_stuck),
        cmocka_unit_test(a_suspended_machine_is_not_a_stuck_disk),
        cmocka_unit_test(a_leader_with_a_full_disk_leaves_to_who_has_written_most),
        cmocka_unit_test(snapshots_are_due_by_bytes),
        cmocka_unit_test(a_big_state_is_written_after_as_much_log),
        cmocka_unit_test(what_came_while_a_snapshot_was_taken_counts_for_the_next),
        cmocka_unit_test(one_that_is_asked_for_is_due_once),
        cmocka_unit_test(some_entries_are_always_kept),
        cmocka_unit_test(small_entries_are_kept_by_their_number),
        cmocka_unit_test(of_large_entries_no_more_are_kept_than_have_so_many_bytes)
)
