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

static void record(Fixture *f, const char *what) {
        strncat(f->story, what, sizeof(f->story) - strlen(f->story) - 1);
}

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        Fixture *f = userdata;

        strncat(f->applied, (const char *) data, len);
        record(f, "apply ");
        return 0;
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        record(userdata, role == STORE_LEADER ? "leader " : "follower ");
}

static void on_fatal(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static const StoreOps ops = {.apply = on_apply, .role = on_role, .fatal = on_fatal};

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        record(userdata, outcome == STORE_COMMITTED ? "committed "
                         : outcome == STORE_UNKNOWN ? "unknown "
                                                    : "? ");
}

static void on_member(int error, void *userdata) {
        record(userdata, error == 0 ? "changed " : "unchanged ");
}

static void on_closed(void *userdata) {
        ((Fixture *) userdata)->closed = true;
}

FIXTURE(setup) {
        Fixture *f = calloc(1, sizeof(*f));

        assert_int_equal(uv_loop_init(&f->loop), 0);
        assert_int_equal(store_open_memory(&f->loop, &ops, f, &f->store), 0);
        *state = f;
}

FIXTURE(teardown) {
        Fixture *f = *state;

        if (f->store)
                store_close(f->store, on_closed, f);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_true(f->closed);
        assert_int_equal(uv_loop_close(&f->loop), 0);
        free(f);
}

static void nothing_is_called_from_inside_a_call(void **state) {
        Fixture *f = *state;

        assert_int_equal(store_submit(f->store, "a", 1, on_done, f), 0);
        assert_string_equal(f->story, "");
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_string_equal(f->story, "leader apply committed ");
}

static void batches_are_applied_in_order(void **state) {
        Fixture *f = *state;
        StoreStats stats;

        assert_int_equal(store_submit(f->store, "a", 1, on_done, f), 0);
        assert_int_equal(store_barrier(f->store, on_done, f), 0);
        assert_int_equal(store_submit(f->store, "b", 1, on_done, f), 0);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_string_equal(f->applied, "ab");
        assert_string_equal(f->story, "leader apply committed committed apply committed ");
        store_stats(f->store, &stats);
        assert_int_equal(stats.applied_index, 3);
}

static void lost_leadership_makes_the_outcome_unknown(void **state) {
        Fixture *f = *state;

        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_int_equal(store_submit(f->store, "a", 1, on_done, f), 0);
        store_memory_lead(f->store, false);
        assert_int_equal(store_submit(f->store, "b", 1, on_done, f), -EAGAIN);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_string_equal(f->story, "leader follower unknown ");
        assert_string_equal(f->applied, "");
        store_memory_lead(f->store, true);
        assert_int_equal(store_submit(f->store, "c", 1, on_done, f), 0);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_string_equal(f->applied, "c");
}

static void limits_are_kept(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *big = calloc(1, STORE_BATCH_MAX + 1);

        assert_int_equal(store_submit(f->store, big, STORE_BATCH_MAX + 1, on_done, f), -E2BIG);
        assert_int_equal(store_submit(f->store, big, 0, on_done, f), -EINVAL);
        for (size_t i = 0; i < STORE_PENDING_MAX; i++)
                assert_int_equal(store_barrier(f->store, on_done, f), 0);
        assert_int_equal(store_barrier(f->store, on_done, f), -EBUSY);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        store_memory_fail(f->store, -ENOSPC);
        assert_int_equal(store_barrier(f->store, on_done, f), -ENOSPC);
}

static void members_change_one_at_a_time(void **state) {
        Fixture *f = *state;
        StoreStats stats;

        assert_int_equal(store_member_remove(f->store, 1, on_member, f), -EPERM);
        assert_int_equal(store_member_add(f->store, 1, on_member, f), -EEXIST);
        assert_int_equal(store_member_add(f->store, 2, on_member, f), 0);
        assert_int_equal(store_member_add(f->store, 3, on_member, f), -EBUSY);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        store_stats(f->store, &stats);
        assert_int_equal(stats.n_members, 2);
        assert_int_equal(store_member_remove(f->store, 3, on_member, f), -ENOENT);
        assert_int_equal(store_member_remove(f->store, 2, on_member, f), 0);
        uv_run(&f->loop, UV_RUN_DEFAULT);
        store_stats(f->store, &stats);
        assert_int_equal(stats.n_members, 1);
        assert_string_equal(f->story, "leader changed changed ");
}

static void closing_answers_what_waits(void **state) {
        Fixture *f = *state;

        assert_int_equal(store_submit(f->store, "a", 1, on_done, f), 0);
        assert_int_equal(store_member_add(f->store, 2, on_member, f), 0);
        store_close(f->store, on_closed, f);
        assert_int_equal(store_submit(f->store, "b", 1, on_done, f), -ESHUTDOWN);
        assert_string_equal(f->story, "");
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_string_equal(f->story, "unknown unchanged ");
        assert_true(f->closed);
        f->store = NULL;
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(nothing_is_called_from_inside_a_call, setup, teardown),
        cmocka_unit_test_setup_teardown(batches_are_applied_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_leadership_makes_the_outcome_unknown, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(members_change_one_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_answers_what_waits, setup, teardown)
)
