// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lease.h"
#include "test.h"

enum { LEASE = 4000, N = 1000 };

static void a_silent_host_is_first_suspect_then_lost(void **state) {
        LeaseTable t;
        Lease a = {};

        lease_table_init(&t, LEASE);
        assert_true(lease_beat(&t, &a, 1000));
        assert_int_equal(lease_table_next(&t), 3000);
        assert_null(lease_table_expire(&t, 2999));
        assert_ptr_equal(lease_table_expire(&t, 3000), &a);
        assert_int_equal(a.state, LEASE_SUSPECT);
        assert_null(lease_table_expire(&t, 3000));
        assert_int_equal(lease_table_next(&t), 5000);
        assert_null(lease_table_expire(&t, 4999));
        assert_ptr_equal(lease_table_expire(&t, 5000), &a);
        assert_int_equal(a.state, LEASE_LOST);
        assert_null(lease_table_expire(&t, 9000));
        assert_int_equal(lease_table_next(&t), 0);
}

static void a_beat_makes_a_suspect_and_a_lost_host_online_again(void **state) {
        LeaseTable t;
        Lease a = {};

        lease_table_init(&t, LEASE);
        assert_true(lease_beat(&t, &a, 1000));
        assert_false(lease_beat(&t, &a, 1500));
        assert_ptr_equal(lease_table_expire(&t, 3500), &a);
        assert_true(lease_beat(&t, &a, 3600));
        assert_int_equal(a.state, LEASE_ONLINE);
        assert_int_equal(lease_table_next(&t), 5600);
        lease_end(&a);
        assert_int_equal(a.state, LEASE_LOST);
        assert_int_equal(lease_table_next(&t), 0);
        assert_true(lease_beat(&t, &a, 4000));
        assert_int_equal(a.state, LEASE_ONLINE);
}

// The last of a thousand is found as soon as the only one would be.
static void the_time_to_lost_does_not_grow_with_the_number_of_hosts(void **state) {
        static Lease hosts[N];
        LeaseTable t;
        Lease *l;

        lease_table_init(&t, LEASE);
        for (int i = 0; i < N; i++) {
                hosts[i] = (Lease){};
                lease_beat(&t, &hosts[i], 1000);
        }
        for (uint64_t now = 2000; now <= 5000; now += 1000) {
                (void) lease_table_next(&t);
                for (int i = 0; i < N; i++)
                        if (i != 77)
                                lease_beat(&t, &hosts[i], now);
                l = lease_table_expire(&t, now);
                assert_true(!l || l == &hosts[77]);
                assert_null(lease_table_expire(&t, now));
        }
        assert_int_equal(hosts[77].state, LEASE_LOST);
}

static void everybody_expires_in_one_go_if_everybody_is_silent(void **state) {
        static Lease hosts[N];
        LeaseTable t;
        int n = 0;

        lease_table_init(&t, LEASE);
        for (int i = 0; i < N; i++) {
                hosts[i] = (Lease){};
                lease_beat(&t, &hosts[i], 1000);
        }
        while (lease_table_expire(&t, 3000))
                n++;
        assert_int_equal(n, N);
        while (lease_table_expire(&t, 5000))
                n++;
        assert_int_equal(n, 2 * N);
}

// Stopped, suspended or starved: the beats of that time are still in its sockets.
static void a_leader_that_slept_calls_nobody_lost(void **state) {
        LeaseTable t;
        Lease a = {}, b = {};

        lease_table_init(&t, LEASE);
        lease_beat(&t, &a, 1000);
        lease_beat(&t, &b, 2000);
        assert_int_equal(lease_table_next(&t), 3000);
        assert_null(lease_table_expire(&t, 3000 + LEASE / 4 + 1)); // much later than it meant to
        assert_int_equal(a.state, LEASE_ONLINE);
        assert_int_equal(lease_table_next(&t), 3000 + LEASE / 4 + 1 + LEASE / 2);
        assert_non_null(lease_table_expire(&t, 3000 + LEASE / 4 + 1 + LEASE / 2)); // from now on as ever
}

static void a_forgotten_host_never_expires(void **state) {
        LeaseTable t;
        Lease a = {};

        lease_table_init(&t, LEASE);
        lease_beat(&t, &a, 1000);
        lease_forget(&a);
        assert_null(lease_table_expire(&t, 100000));
        assert_int_equal(lease_table_next(&t), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_silent_host_is_first_suspect_then_lost),
        cmocka_unit_test(a_beat_makes_a_suspect_and_a_lost_host_online_again),
        cmocka_unit_test(the_time_to_lost_does_not_grow_with_the_number_of_hosts),
        cmocka_unit_test(everybody_expires_in_one_go_if_everybody_is_silent),
        cmocka_unit_test(a_leader_that_slept_calls_nobody_lost),
        cmocka_unit_test(a_forgotten_host_never_expires)
)
