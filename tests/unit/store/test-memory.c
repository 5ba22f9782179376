// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "store.h"

typedef struct Fixture {
        uv_loop_t loop;
        Store *store;
        char applied[64]; // the batches, one behind the other
        char story[256];  // what was called, in order
        bool closed;
} Fixture;

static Fixture g;

static void record(const char *what) {
        strncat(g.story, what, sizeof(g.story) - strlen(g.story) - 1);
}

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        strncat(g.applied, (const char *) data, len);
        record("apply ");
        return 0;
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        record(role == STORE_LEADER ? "leader " : "follower ");
}

static void on_fatal(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static const StoreOps ops = {.apply = on_apply, .role = on_role, .fatal = on_fatal};

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        record(outcome == STORE_COMMITTED ? "committed "
                         : outcome == STORE_UNKNOWN ? "unknown "
                                                    : "? ");
}

static void on_member(int error, void *userdata) {
        record(error == 0 ? "changed " : "unchanged ");
}

static void on_closed(void *userdata) {
        ((Fixture *) userdata)->closed = true;
}

FIXTURE(setup) {
        g = (Fixture){};
        assert_int_equal(uv_loop_init(&g.loop), 0);
        assert_int_equal(store_open_memory(&g.loop, &ops, &g, &g.store), 0);
}

FIXTURE(teardown) {
        if (g.store)
                store_close(g.store, on_closed, &g);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_true(g.closed);
        assert_int_equal(uv_loop_close(&g.loop), 0);
}

static void nothing_is_called_from_inside_a_call(void **state) {
        assert_int_equal(store_submit(g.store, "a", 1, on_done, &g), 0);
        assert_string_equal(g.story, "");
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_string_equal(g.story, "leader apply committed ");
}

static void batches_are_applied_in_order(void **state) {
        StoreStats stats;

        assert_int_equal(store_submit(g.store, "a", 1, on_done, &g), 0);
        assert_int_equal(store_barrier(g.store, on_done, &g), 0);
        assert_int_equal(store_submit(g.store, "b", 1, on_done, &g), 0);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_string_equal(g.applied, "ab");
        assert_string_equal(g.story, "leader apply committed committed apply committed ");
        store_stats(g.store, &stats);
        assert_int_equal(stats.applied_index, 3);
}

static void lost_leadership_makes_the_outcome_unknown(void **state) {
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_int_equal(store_submit(g.store, "a", 1, on_done, &g), 0);
        store_memory_lead(g.store, false);
        assert_int_equal(store_submit(g.store, "b", 1, on_done, &g), -EAGAIN);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_string_equal(g.story, "leader follower unknown ");
        assert_string_equal(g.applied, "");
        store_memory_lead(g.store, true);
        assert_int_equal(store_submit(g.store, "c", 1, on_done, &g), 0);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_string_equal(g.applied, "c");
}

static void limits_are_kept(void **state) {
        _cleanup_free_ char *big = calloc(1, STORE_BATCH_MAX + 1);

        assert_int_equal(store_submit(g.store, big, STORE_BATCH_MAX + 1, on_done, &g), -E2BIG);
        assert_int_equal(store_submit(g.store, big, 0, on_done, &g), -EINVAL);
        for (size_t i = 0; i < STORE_PENDING_MAX; i++)
                assert_int_equal(store_barrier(g.store, on_done, &g), 0);
        assert_int_equal(store_barrier(g.store, on_done, &g), -EBUSY);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        store_memory_fail(g.store, -ENOSPC);
        assert_int_equal(store_barrier(g.store, on_done, &g), -ENOSPC);
}

static void members_change_one_at_a_time(void **state) {
        StoreStats stats;

        assert_int_equal(store_member_remove(g.store, 1, on_member, &g), -EPERM);
        assert_int_equal(store_member_add(g.store, 1, on_member, &g), -EEXIST);
        assert_int_equal(store_member_add(g.store, 2, on_member, &g), 0);
        assert_int_equal(store_member_add(g.store, 3, on_member, &g), -EBUSY);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        store_stats(g.store, &stats);
        assert_int_equal(stats.n_members, 2);
        assert_int_equal(store_member_remove(g.store, 3, on_member, &g), -ENOENT);
        assert_int_equal(store_member_remove(g.store, 2, on_member, &g), 0);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        store_stats(g.store, &stats);
        assert_int_equal(stats.n_members, 1);
        assert_string_equal(g.story, "leader changed changed ");
}

static void closing_answers_what_waits(void **state) {
        assert_int_equal(store_submit(g.store, "a", 1, on_done, &g), 0);
        assert_int_equal(store_member_add(g.store, 2, on_member, &g), 0);
        store_close(g.store, on_closed, &g);
        assert_int_equal(store_submit(g.store, "b", 1, on_done, &g), -ESHUTDOWN);
        assert_string_equal(g.story, "");
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_string_equal(g.story, "unknown unchanged ");
        assert_true(g.closed);
        g.store = NULL;
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(nothing_is_called_from_inside_a_call, setup, teardown),
        cmocka_unit_test_setup_teardown(batches_are_applied_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_leadership_makes_the_outcome_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(members_change_one_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_answers_what_waits, setup, teardown)
)
