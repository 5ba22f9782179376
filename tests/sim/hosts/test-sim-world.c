// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The world in which hosts are played: time, loops, the pool, ends.
#include "test.h"

#include "clock.h"
#include "machine.h"
#include "pool.h"
#include "process-end.h"
#include "random.h"
#include "sim-world.h"
#include "story.h"
#include "time-limit.h"
#include "uvx.h"

typedef struct Pulse {
        uv_timer_t timer;
        uint32_t host;
        unsigned n;
} Pulse;

static uint64_t last_us;
static unsigned n_fired;

static void on_pulse(uv_timer_t *timer) {
        Pulse *p = timer->data;

        assert_ptr_equal(sim_current(), sim_host(p->host));
        assert_true(sim_now_us() >= last_us);
        last_us = sim_now_us();
        n_fired++;
        p->n++;
        story_digest("pulse", &(uint64_t[]){p->host, sim_now_us(), random_below(1000)},
                     3 * sizeof(uint64_t));
        uv_timer_start(timer, on_pulse, 1 + random_below(200), 0);
}

static void begin(uint64_t word) {
        sim_begin(word);
        story_begin((StoryOutput){}, sim_clock());
        last_us = n_fired = 0;
        for (uint32_t i = 1; i <= 5; i++)
                sim_host_new(i, &(SimClocks){.boot_us = i * 1000000007,
                                             .monotonic_us = i * 12345678,
                                             .wall_us = i * UINT64_C(1700000000000000)});
}

static void start_pulses(Pulse *pulses, size_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uv_loop_t *loop = sim_host_start(sim_host(i + 1));

                pulses[i] = (Pulse){.host = i + 1};
                sim_enter(sim_host(i + 1));
                uv_timer_init(loop, &pulses[i].timer);
                pulses[i].timer.data = &pulses[i];
                uv_timer_start(&pulses[i].timer, on_pulse, 10 * (i + 1), 0);
                sim_leave();
        }
}

static uint64_t play(uint64_t word) {
        Pulse *pulses = calloc(5, sizeof(*pulses));
        uint64_t digest;

        begin(word);
        start_pulses(pulses, 5);
        assert_true(sim_run_for(60 * USEC_PER_SEC));
        assert_int_equal(sim_now_us(), 60 * USEC_PER_SEC);
        assert_in_range(n_fired, 2000, 4000); // of 5, each 100 ms on average
        digest = story_digest_value();
        sim_end();
        free(pulses);
        return digest;
}

static void timers_of_several_hosts_fire_in_order(void **state) {
        assert_int_equal(play(1), play(1));
        assert_int_not_equal(play(1), play(2));
}

static void each_host_has_clocks_of_its_own(void **state) {
        begin(1);
        sim_host_start(sim_host(1));
        sim_host_start(sim_host(2));
        sim_run_for(5);
        sim_enter(sim_host(2));
        assert_int_equal(clock_boot_us(), 2000000014 + sim_now_us());
        assert_int_equal(clock_monotonic_us(), 24691356 + sim_now_us());
        assert_int_equal(clock_wall_us(), UINT64_C(3400000000000000) + sim_now_us());
        sim_leave();
        sim_host_set_wall(sim_host(2), 77);
        sim_enter(sim_host(2));
        assert_int_equal(clock_wall_us(), 77);
        sim_leave();
        sim_end();
}

static void nothing_to_come_is_said(void **state) {
        begin(1);
        sim_host_start(sim_host(1));
        assert_false(sim_run_for(USEC_PER_SEC));
        sim_end();
}

static void on_killed_pulse(uv_timer_t *timer) {
        fail_msg("a host that was killed goes on");
}

static void count(void *data) {
        ++*(unsigned *) data;
}

static void a_killed_host_is_not_run_any_more(void **state) {
        static uv_timer_t timer;
        unsigned n = 0;

        begin(1);
        sim_host_start(sim_host(1));
        sim_enter(sim_host(1));
        uv_timer_init(sim_host_loop(sim_host(1)), &timer);
        uv_timer_start(&timer, on_killed_pulse, 10, 0);
        sim_leave();
        sim_at(5000, sim_host(1), count, &n);
        sim_at(6000, NULL, count, &n);
        sim_host_kill(sim_host(1));
        assert_false(sim_host_is_up(sim_host(1)));
        sim_host_start(sim_host(1)); // what was for the one before is not for this one
        sim_run_for(USEC_PER_SEC);
        assert_int_equal(n, 1);
        sim_end();
}

static int ended_with;

static void note_end(SimHost *h, int status) {
        assert_int_equal(sim_host_number(h), 3);
        assert_false(sim_host_is_up(h));
        ended_with = status;
}

static void end_itself(void *data) {
        process_end(7);
}

static void a_host_that_ends_is_the_only_one(void **state) {
        static Pulse pulses[3];

        begin(1);
        ended_with = 0;
        sim_on_end(note_end);
        start_pulses(pulses, 3);
        sim_at(USEC_PER_SEC, sim_host(3), end_itself, NULL);
        sim_run_for(2 * USEC_PER_SEC);
        assert_int_equal(ended_with, 7);
        assert_in_range(pulses[2].n, 5, pulses[0].n - 2);
        sim_end();
}

typedef struct Work {
        PoolWork work;
        uint64_t began_us, ran_us, done_us;
        bool done;
} Work;

static void run_work(PoolWork *w) {
        CONTAINER_OF(w, Work, work)->ran_us = sim_now_us();
}

static void work_done(PoolWork *w) {
        Work *work = CONTAINER_OF(w, Work, work);

        assert_ptr_equal(sim_current(), sim_host(1));
        work->done = true;
        work->done_us = sim_now_us();
}

static bool is_done(void *data) {
        return ((Work *) data)->done;
}

static void work_takes_its_time(void **state) {
        static Work work[2];

        begin(1);
        sim_host_start(sim_host(1));
        for (size_t i = 0; i < 2; i++) {
                work[i] = (Work){.began_us = sim_now_us()};
                sim_enter(sim_host(1));
                pool_add(sim_host_loop(sim_host(1)), &work[i].work, POOL_CLUSTER, run_work, work_done);
                sim_leave();
                assert_true(sim_run_until(is_done, &work[i], USEC_PER_SEC));
                assert_true(work[i].ran_us > work[i].began_us);
                assert_true(work[i].done_us > work[i].ran_us);
        }
        assert_int_equal(sim_figures().work, 2);
        sim_end();
}

static Drain spinner;
static unsigned n_spun;

static void spin(void *userdata) {
        n_spun++;
        drain_mark(&spinner);
}

static void who_goes_round_does_not_stop_the_clock(void **state) {
        begin(1);
        sim_host_start(sim_host(1));
        sim_enter(sim_host(1));
        drain_init(&spinner, sim_host_loop(sim_host(1)), spin, NULL);
        drain_mark(&spinner);
        sim_leave();
        sim_run_for(USEC_PER_SEC / 10);
        assert_int_equal(sim_now_us(), USEC_PER_SEC / 10);
        assert_in_range(n_spun, 100000 / SIM_TURN_MAX_US, 100000 / SIM_TURN_MIN_US);
        sim_end();
}

static void a_boot_has_another_id(void **state) {
        const uint8_t application[MACHINE_ID_SIZE] = {};
        MachineIds before, after;

        begin(1);
        sim_host_start(sim_host(1));
        sim_run_for(1000);
        sim_enter(sim_host(1));
        (void) machine_ids(application, &before);
        sim_leave();
        sim_host_boot(sim_host(1));
        sim_host_start(sim_host(1));
        sim_enter(sim_host(1));
        (void) machine_ids(application, &after);
        assert_int_equal(clock_boot_us(), 0);
        sim_leave();
        assert_memory_equal(before.machine, after.machine, MACHINE_ID_SIZE);
        assert_memory_not_equal(before.boot, after.boot, MACHINE_ID_SIZE);
        sim_end();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(timers_of_several_hosts_fire_in_order),
                cmocka_unit_test(each_host_has_clocks_of_its_own),
                cmocka_unit_test(nothing_to_come_is_said),
                cmocka_unit_test(a_killed_host_is_not_run_any_more),
                cmocka_unit_test(a_host_that_ends_is_the_only_one),
                cmocka_unit_test(work_takes_its_time),
                cmocka_unit_test(who_goes_round_does_not_stop_the_clock),
                cmocka_unit_test(a_boot_has_another_id),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
