// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "macro.h"
#include "snapshot-clock.h"

enum { THINGS = 1000 };

static size_t n_freed;

static void note_freed(void *thing) {
        n_freed++;
}

static void retire(SnapshotClock *c) {
        snapshot_clock_retire(c, c, note_freed, 1);
}

static void what_nobody_can_reach_is_freed_at_once(void **state) {
        _cleanup_(snapshot_clock_done) SnapshotClock c;

        n_freed = 0;
        snapshot_clock_init(&c);
        retire(&c);
        assert_int_equal(n_freed, 1);
        assert_false(snapshot_clock_may_reach(&c, 0));
}

static void the_oldest_snapshot_keeps_what_was_retired_since(void **state) {
        SnapshotMark first, second;
        _cleanup_(snapshot_clock_done) SnapshotClock c;

        n_freed = 0;
        snapshot_clock_init(&c);
        assert_int_equal(snapshot_clock_take(&c, &first), 0);
        retire(&c);
        assert_int_equal(snapshot_clock_take(&c, &second), 0);
        retire(&c);
        assert_false(snapshot_clock_reclaim(&c, SIZE_MAX));
        assert_int_equal(n_freed, 0);
        snapshot_clock_release(&c, &first);
        assert_false(snapshot_clock_reclaim(&c, SIZE_MAX));
        assert_int_equal(n_freed, 1); // the other was there when the second was taken
        snapshot_clock_release(&c, &second);
        retire(&c); // does not wait behind the queue
        assert_int_equal(n_freed, 2);
        assert_false(snapshot_clock_reclaim(&c, SIZE_MAX));
        assert_int_equal(n_freed, 3);
}

static void who_is_older_than_the_newest_may_be_reached(void **state) {
        SnapshotMark first, second;
        _cleanup_(snapshot_clock_done) SnapshotClock c;

        snapshot_clock_init(&c);
        uint64_t before = c.now;
        assert_int_equal(snapshot_clock_take(&c, &first), 0);
        uint64_t between = c.now;
        assert_true(snapshot_clock_may_reach(&c, before));
        assert_false(snapshot_clock_may_reach(&c, between));
        assert_int_equal(snapshot_clock_take(&c, &second), 0);
        assert_true(snapshot_clock_may_reach(&c, between));
        assert_false(snapshot_clock_may_reach(&c, c.now));
        snapshot_clock_release(&c, &second);
        assert_false(snapshot_clock_may_reach(&c, between));
        snapshot_clock_release(&c, &first);
        assert_false(snapshot_clock_may_reach(&c, before));
}

static void one_turn_frees_no_more_than_it_is_told(void **state) {
        _cleanup_(snapshot_clock_done) SnapshotClock c;
        SnapshotMark m;

        n_freed = 0;
        snapshot_clock_init(&c);
        assert_int_equal(snapshot_clock_take(&c, &m), 0);
        for (size_t i = 0; i < THINGS; i++)
                retire(&c);
        snapshot_clock_release(&c, &m);
        for (size_t i = 1; i <= THINGS; i++) {
                assert_int_equal(snapshot_clock_reclaim(&c, 1), i < THINGS);
                assert_int_equal(n_freed, i);
        }
        assert_int_equal(c.n_retired, 0);
}

static void there_are_eight_at_most(void **state) {
        SnapshotMark marks[SNAPSHOTS_MAX], one_more;
        _cleanup_(snapshot_clock_done) SnapshotClock c;

        snapshot_clock_init(&c);
        for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
                assert_int_equal(snapshot_clock_take(&c, &marks[i]), 0);
        assert_int_equal(snapshot_clock_take(&c, &one_more), -EBUSY);
        snapshot_clock_release(&c, &marks[3]);
        assert_int_equal(snapshot_clock_take(&c, &marks[3]), 0);
        for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
                snapshot_clock_release(&c, &marks[i]);
}

// What waits to be freed since an older one was released does not count against a younger one.
static void who_keeps_too_much_is_cut(void **state) {
        SnapshotMark slow, young;
        _cleanup_(snapshot_clock_done) SnapshotClock c;

        snapshot_clock_init(&c);
        c.retired_max = THINGS;
        assert_int_equal(snapshot_clock_take(&c, &slow), 0);
        for (size_t i = 0; i < THINGS; i++)
                retire(&c);
        assert_false(slow.cut);
        assert_int_equal(snapshot_clock_take(&c, &young), 0);
        retire(&c);
        assert_true(slow.cut);
        assert_false(young.cut);
        snapshot_clock_release(&c, &slow);
        for (size_t i = 1; i < THINGS; i++)
                retire(&c);
        assert_false(young.cut);
        retire(&c);
        assert_true(young.cut);
        snapshot_clock_release(&c, &young);
}

RUN_TESTS(
        cmocka_unit_test(what_nobody_can_reach_is_freed_at_once),
        cmocka_unit_test(the_oldest_snapshot_keeps_what_was_retired_since),
        cmocka_unit_test(who_is_older_than_the_newest_may_be_reached),
        cmocka_unit_test(one_turn_frees_no_more_than_it_is_told),
        cmocka_unit_test(there_are_eight_at_most),
        cmocka_unit_test(who_keeps_too_much_is_cut)
)
