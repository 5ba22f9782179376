// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The whole agent against a PID 1 in memory and a leader that is this file: real unit files, ledger and
// fence in a directory of the test. What each test protects is its name.
#include "agent-rig.h"

#include "agent-private.h"
#include "clock.h"
#include "fake-pid1.h"
#include "feature-level.h"
#include "journal.h"
#include "message.h"

static FakePid1 *pid1;

static int world_up(void **state) {
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        return 0;
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        pid1 = pid1_free(pid1);
        return rig_down();
}

// ---- tests

static void starts_a_hundred_units_in_one_batch(void **state) {
        enum { N = 100 };
        char names[N][32];
        Order orders[N];

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){
                        .name = names[i], .content = web, .from_template = true, .revision = 5, .start = 5};
        }
        meet_leader(NULL, 0);
        send_orders(orders, N);
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5));
        for (int i = 0; i < N; i++) {
                assert_int_equal(pid1_runs(pid1, names[i]), 1);
                assert_int_equal(report_of(names[i])->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                assert_int_equal(report_of(names[i])->node, NODE);
                assert_int_equal(report_of(names[i])->spec.len, HASH_SIZE);
        }
        assert_true(has_file("web@.service"));
        assert_false(has_file("web@1.service"));
        assert_true(w.n_report_messages < N / 4);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

static void a_loaded_unit_is_parsed_and_not_started(void **state) {
        meet_leader(NULL, 0);
        send_orders(
                (Order[]){{.name = "web.service", .content = web, .loaded_only = true, .revision = 5},
                          {.name = "odd.service", .content = broken, .loaded_only = true, .revision = 6}},
                2);
        loop_until(answered("web.service", 5) && answered("odd.service", 6));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(report_of("web.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_string_equal(report_of("web.service")->error, "");
        assert_non_null(strstr(report_of("odd.service")->error, "no such section"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 0);
}

static void stop_then_start_then_removal(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        send_order((Order){.name = "web.service",
                           .content = web,
                           .loaded_only = true,
                           .revision = 6,
                           .start = 5,
                           .stop = 6});
        loop_until(answered("web.service", 6));
        assert_false(pid1_is_active(pid1, "web.service"));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        send_order((Order){.name = "web.service", .content = web, .revision = 7, .start = 7, .stop = 6});
        loop_until(answered("web.service", 7));
        assert_true(pid1_is_active(pid1, "web.service"));
        send_order((Order){.name = "web.service", .remove = true, .revision = 8});
        loop_until(is_gone("web.service"));
        assert_false(pid1_is_active(pid1, "web.service"));
        assert_false(has_file("web.service"));
        assert_int_equal(agent_n_units(w.agent), 0);
}

// Ten units ordered one by one, as units of a big destroy end one by one: the first has its file at once,
// the others share the directory's next change.
static void small_batches_of_files_keep_their_distance(void **state) {
        enum { N = 10 };
        char names[N][32];
        int in_time =
                0; // how many orders certainly came before the second batch, however slow this machine is
        uint64_t begin_us;

        meet_leader(NULL, 0);
        for (int i = 0; i < N; i++)
                snprintf(names[i], sizeof(names[i]), "web-%i.service", i);
        begin_us = clock_boot_us();
        send_order((Order){.name = names[0], .content = web, .revision = 5, .start = 5});
        loop_until(has_file(names[0]));
        for (int i = 1; i < N; i++) {
                send_order((Order){.name = names[i], .content = web, .revision = 5 + i, .start = 5 + i});
                uv_run(&test_loop, UV_RUN_NOWAIT); // a turn of its own, in which it is taken over
                uv_run(&test_loop, UV_RUN_NOWAIT); // and one in which it is planned
                if (clock_boot_us() - begin_us < AGENT_FILES_PACE_US)
                        in_time = i;
        }
        loop_until(has_file(names[1]));
        assert_true(clock_boot_us() - begin_us > AGENT_FILES_PACE_US);
        loop_until(answered(names[1], 6)); // the pool is done with the batch
        for (int i = 1; i <= in_time; i++)
                assert_true(has_file(names[i]));
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5 + i));
}

static void restart_happens_once_however_often_it_is_ordered(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(answered("web.service", 5));
        o.revision = o.restart = 6;
        send_order(o);
        send_order(o);
        loop_until(answered("web.service", 6));
        send_order(o);
        o.revision = 7;
        send_order(o);
        loop_until(answered("web.service", 7));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

static void one_failing_unit_holds_up_no_other(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "bad.service", .content = bad, .revision = 5, .start = 5},
                              {.name = "web.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 6) && answered("bad.service", 5));
        assert_int_equal(report_of("bad.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(report_of("bad.service")->error, "start failed (exit-code)");
        assert_int_equal(pid1_runs(pid1, "bad.service"), 1);
        // A new request tries again; the failure is forgotten first.
        send_order((Order){.name = "bad.service", .content = bad, .revision = 7, .start = 7});
        loop_until(answered("bad.service", 7));
        assert_int_equal(pid1_runs(pid1, "bad.service"), 2);
}

static void losing_the_leader_stops_nothing(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        w.cut = true;
        agent_on_leader(w.agent, 0, 0);
        assert_false(w.attached);
        pid1_stop(pid1, "web.service");
        pid1_start(pid1, "web.service");
        w.cut = false;
        w.term = 2;
        meet_leader((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5}}, 1);
        assert_int_equal(w.attach->attach->n_held, 1);
        assert_int_equal(w.attach->attach->held[0]->revision, 5);
        assert_int_equal(pid1_n_jobs(pid1), 1);
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void the_lease_runs_out_and_comes_back(void **state) {
        unsigned attaches;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 1);
        send_welcome(NULL, 0, 100);
        loop_until(w.attached && w.n_beats > 0);
        attaches = w.n_attaches;
        loop_until(!w.attached); // nobody acknowledged
        loop_until(w.n_attaches > attaches);
        send_welcome(NULL, 0, 60000);
        loop_until(w.attached);
}

static void ack_beat(uint64_t seq) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__BeatAck ack = ARGOSY__TO_HOST__BEAT_ACK__INIT;

        ack.seq = seq;
        m.msg_case = ARGOSY__TO_HOST__MSG_BEAT_ACK;
        m.beat_ack = &ack;
        agent_on_message(w.agent, &m);
}

// The leader's lease runs from when it heard the beat, so ours must not run from later than its sending:
// however late and however often an old beat is acknowledged.
static void the_lease_runs_from_the_sending_of_the_beat(void **state) {
        uint64_t first;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 1);
        send_welcome(NULL, 0, 200);
        loop_until(w.attached && w.n_beats > 0);
        first = w.last_beat;
        loop_until((ack_beat(first), !w.attached));
        assert_true(w.last_beat < first + 30); // a beat of 20 ms, a lease of 200 ms
        // Acknowledged beats hold it up.
        loop_until(w.n_attaches == 2);
        send_welcome(NULL, 0, 200);
        loop_until(w.attached);
        first = w.last_beat;
        loop_until((ack_beat(w.last_beat),
                    w.last_beat > first + 30)); // 30 beats of 20 ms: three times the lease
        assert_true(w.attached);
}

static void a_welcome_to_an_older_attach_is_ignored(void **state) {
        Fence fence;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 1);
        w.attach->attach->seq--;
        send_welcome((Order[]){{.name = "old.service", .content = web, .revision = 5, .start = 5}}, 1,
                     60000);
        w.attach->attach->seq++;
        loop_until(fence_load(w.dir, &fence) == 0 && fence.index == w.index - 1);
        uv_run(&test_loop, UV_RUN_ONCE);
        assert_false(w.attached);
        send_welcome((Order[]){{.name = "web.service", .content = web, .revision = 6, .start = 6}}, 1,
                     60000);
        loop_until(answered("web.service", 6));
        assert_null(report_of("old.service"));
        assert_int_equal(agent_n_units(w.agent), 1);
}

// The leader takes what the Attach says for all that is here: a start that was on its way is somewhere
// else's.
static void what_was_ordered_before_an_attach_is_not_obeyed_after_it(void **state) {
        Fence fence;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 1);
        send_welcome(NULL, 0, 100);
        loop_until(w.n_attaches == 2); // the lease is over
        send_order((Order){.name = "old.service", .content = web, .revision = 5, .start = 5});
        loop_until(fence_load(w.dir, &fence) == 0 && fence.index == w.index - 1);
        uv_run(&test_loop, UV_RUN_ONCE);
        assert_int_equal(agent_n_units(w.agent), 0);
        send_welcome(NULL, 0, 60000);
        loop_until(w.attached);
        send_order((Order){.name = "new.service", .content = web, .revision = 7, .start = 7});
        loop_until(answered("new.service", 7));
}

// The log of a recovered cluster may be shorter than what this host has obeyed.
static void numbers_begin_again_after_a_recovery(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 90, .start = 90, .restart = 80};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(answered("web.service", 90));
        agent_on_leader(w.agent, 0, 0);
        w.generation = 2;
        w.term = 1;
        w.index = 3;
        o.revision = o.start = 40;
        o.restart = 30;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 2);
        send_welcome(&o, 1, 60000);
        o.revision = o.restart = 50; // on the heels of it
        send_order(o);
        loop_until(answered("web.service", 50));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

static void a_oneshot_that_somebody_cancels_is_not_done(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_stop(pid1, "job.service");
        loop_until(answered("job.service", 5));
        assert_null(report_of("job.service")->outcome);
        assert_non_null(strstr(report_of("job.service")->error, "cancelled"));
        // Nor after a restart of argosyd.
        agent_down();
        agent_up();
        meet_leader((Order[]){{.name = "job.service", .content = job, .revision = 5, .start = 5}}, 1);
        loop_until(report_of("job.service")->drift);
        assert_null(report_of("job.service")->outcome);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void units_survive_a_restart_of_argosyd(void **state) {
        Order orders[] = {
                {.name = "web@1.service", .content = web, .from_template = true, .revision = 5, .start = 5},
                {.name = "idle.service", .content = web2, .loaded_only = true, .revision = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("web@1.service", 5) && answered("idle.service", 6));
        agent_down();
        agent_up();
        meet_leader(orders, 2);
        assert_int_equal(w.attach->attach->n_held, 2);
        assert_int_equal(w.attach->attach->held[0]->spec.len, HASH_SIZE);
        orders[0].revision = 9; // something else about it changed
        send_orders(orders, 1);
        loop_until(answered("web@1.service", 9));
        assert_int_equal(pid1_runs(pid1, "web@1.service"), 1);
        assert_int_equal(pid1_n_jobs(pid1), 1);
}

static void what_the_welcome_does_not_name_is_removed(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "old.service", .content = web2, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("web.service", 5) && answered("old.service", 6));
        w.term++;
        meet_leader(orders, 1);
        loop_until(is_gone("old.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_false(pid1_is_active(pid1, "old.service"));
        assert_false(has_file("old.service"));
}

static void a_welcome_in_parts_removes_only_when_all_have_come(void **state) {
        Order orders[] = {{.name = "a.service", .content = web, .revision = 5, .start = 5},
                          {.name = "b.service", .content = web2, .revision = 6, .start = 6},
                          {.name = "old.service", .content = web, .revision = 7, .start = 7}};
        unsigned attaches, beats;

        meet_leader(NULL, 0);
        send_orders(&orders[1], 2);
        loop_until(answered("b.service", 6) && answered("old.service", 7));
        attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > attaches);
        beats = w.n_beats;
        send_welcome_part(&orders[0], 1);
        loop_until(pid1_is_active(pid1, "a.service")); // at once
        assert_true(w.n_beats > beats);                // the rest may take longer than a lease
        assert_true(has_file("old.service"));
        assert_false(w.attached);
        send_wanted(&orders[1], 1, 60000, false, 1);
        loop_until(w.attached && is_gone("old.service"));
        assert_true(pid1_is_active(pid1, "a.service"));
        assert_true(pid1_is_active(pid1, "b.service"));
}

static void a_welcome_without_all_its_parts_removes_nothing(void **state) {
        Order orders[] = {{.name = "a.service", .content = web, .revision = 5, .start = 5},
                          {.name = "b.service", .content = web2, .revision = 6, .start = 6}};
        unsigned attaches;

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("a.service", 5) && answered("b.service", 6));
        attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches == attaches + 1);
        send_wanted(&orders[1], 1, 60000, false, 1);
        loop_until(w.n_attaches == attaches + 2);
        assert_true(pid1_is_active(pid1, "a.service"));
        assert_true(has_file("a.service"));
        send_welcome(orders, 2, 60000);
        loop_until(w.attached);
        assert_false(is_gone("a.service"));
}

// On a disk that hangs, all of a Welcome could come again and again.
static void what_waits_for_the_fence_is_dropped_with_the_session_that_it_belongs_to(void **state) {
        Order o = {.name = "a.service", .content = web, .revision = 5, .start = 5};
        unsigned attaches;

        meet_leader(NULL, 0);
        attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        for (unsigned i = 0; i < 3; i++)
                send_welcome_part(&o, 1);
        assert_int_equal(w.agent->n_batches, 3);
        loop_until(w.n_attaches == attaches + 1);
        assert_int_equal(w.agent->n_batches, 0);
        send_welcome(&o, 1, 60000);
        loop_until(w.attached && answered("a.service", 5));
}

static void an_attach_that_is_too_long_says_later_what_went_wrong(void **state) {
        Order order = {.name = "broken.service", .content = broken, .revision = 5, .start = 5};
        unsigned attaches;

        meet_leader(NULL, 0);
        send_order(order);
        loop_until(answered("broken.service", 5));
        assert_string_not_equal(report_of("broken.service")->error, "");
        attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches == attaches + 1);
        w.frame_max = argosy__to_voter__get_packed_size(w.attach) - 1;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches == attaches + 2);
        assert_int_equal(w.attach->attach->n_held, 1);
        assert_string_equal(w.attach->attach->held[0]->error, "");
        w.frame_max = 0;
        note_report(w.attach->attach->held[0]);
        send_welcome(&order, 1, 60000);
        loop_until(*report_of("broken.service")->error);
}

static void a_file_that_is_hidden_or_gone_is_told_without_asking_systemd(void **state) {
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};
        _cleanup_free_ char *mask = str_printf("%s/web.service", w.foreign_dir),
                            *file = str_printf("%s/web.service", w.unit_dir);

        meet_leader(NULL, 0);
        send_order(order);
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        order.loaded_only = true;
        order.revision = order.stop = 6;
        send_order(order);
        loop_until(answered("web.service", 6) && !pid1_is_active(pid1, "web.service"));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(symlink("/dev/null", mask), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_MASKED);
        assert_int_equal(unlink(mask), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(unlink(file), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
}

static void a_foreign_name_is_refused_and_untouched(void **state) {
        write_foreign("nginx.service");
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "nginx.service", .content = web, .revision = 5, .start = 5},
                              {.name = "web.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("nginx.service", 5) && answered("web.service", 6));
        assert_true(report_of("nginx.service")->refused);
        assert_non_null(strstr(report_of("nginx.service")->error, "/etc/nginx.service"));
        assert_false(has_file("nginx.service"));
        assert_int_equal(pid1_runs(pid1, "nginx.service"), 0);
        send_order((Order){.name = "nginx.service", .remove = true, .revision = 7});
        loop_until(is_gone("nginx.service"));
}

static void an_older_fence_orders_nothing(void **state) {
        Fence fence;

        w.term = 5;
        w.index = 100;
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 50, .start = 50});
        loop_until(answered("web.service", 50));
        assert_int_equal(fence_load(w.dir, &fence), 0);
        assert_int_equal(fence.term, 5);
        assert_int_equal(fence.index, 101);
        // The leader of term 4 wakes up.
        w.term = 4;
        w.index = 900;
        send_order((Order){.name = "web.service", .remove = true, .revision = 51});
        // An old message of the present leader.
        w.term = 5;
        w.index = 90;
        send_order((Order){.name = "web.service", .remove = true, .revision = 40});
        // Somebody from before `cluster recover`.
        w.generation = 0;
        w.term = 99;
        send_order((Order){.name = "web.service", .remove = true, .revision = 60});
        // A proof that all of these were read.
        w.generation = 1;
        w.term = 5;
        w.index = 102;
        send_order((Order){.name = "last.service", .content = web, .revision = 61, .start = 61});
        loop_until(answered("last.service", 61));
        assert_true(pid1_is_active(pid1, "web.service"));
        // Not even after a restart.
        agent_down();
        agent_up();
        w.term = 4;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches == 2);
        send_welcome(NULL, 0, 1000);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(w.attached);
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void the_fence_is_on_the_disk_before_anything_is_done(void **state) {
        meet_leader(NULL, 0);
        assert_int_equal(fence_remove(w.dir), 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        while (pid1_n_jobs(pid1) == 0) {
                Fence fence;
                bool acted = has_file("web.service");

                assert_int_equal(fence_load(w.dir, &fence), 0);
                assert_true(!acted || fence.index == w.index - 1);
                uv_run(&test_loop, UV_RUN_ONCE);
        }
        loop_until(answered("web.service", 5));
}

static void nothing_is_obeyed_while_the_fence_cannot_be_written(void **state) {
        _cleanup_free_ char *path = str_printf("%s/fence", w.dir);
        unsigned beats;

        log_set_level(LOG_CRIT); // it complains, rightly
        meet_leader(NULL, 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0); // no file can take its place
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        beats = w.n_beats;
        loop_until(w.n_beats >= beats + 10);
        assert_false(has_file("web.service"));
        assert_false(answered("web.service", 5));
        assert_int_equal(rmdir(path), 0);
        loop_until(answered("web.service", 5));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static void a_oneshot_runs_once(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};
        uint64_t start_rev;

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        start_rev = report_of("job.service")->outcome->start_rev;
        assert_int_equal(start_rev, 5);
        // Told again until the leader has noted it, also after a restart of argosyd.
        agent_down();
        agent_up();
        meet_leader(&o, 1);
        assert_int_equal(w.attach->attach->held[0]->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        o.revision = 6;
        o.outcome = ARGOSY__OUTCOME__KIND__DONE;
        send_order(o);
        loop_until(answered("job.service", 6));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        // An explicit start runs it again.
        o.revision = o.start = 7;
        o.outcome = ARGOSY__OUTCOME__KIND__NONE;
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 2);
        pid1_finish(pid1, "job.service", false);
        loop_until(answered("job.service", 7) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
}

static void a_oneshot_that_is_over_elsewhere_is_not_run_here(void **state) {
        meet_leader((Order[]){{.name = "job.service",
                               .content = job,
                               .revision = 9,
                               .start = 5,
                               .outcome = ARGOSY__OUTCOME__KIND__FAILED}},
                    1);
        loop_until(answered("job.service", 9));
        assert_int_equal(pid1_runs(pid1, "job.service"), 0);
        assert_false(report_of("job.service")->drift);
        assert_null(report_of("job.service")->outcome);
}

static void a_crash_while_a_start_is_under_way_starts_once(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "job.service", .content = job, .revision = 6, .start = 6},
                          {.name = "late.service", .content = web2, .revision = 7, .start = 7}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_hold_jobs(pid1, true);
        send_orders(orders + 2, 1);
        loop_until(pid1_n_held(pid1) == 1); // recorded, and PID 1 never hears of it
        agent_down();
        pid1_hold_jobs(pid1, false);
        agent_up();
        meet_leader(orders, 3);
        loop_until(answered("late.service", 7) && answered("web.service", 5));
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        assert_int_equal(pid1_runs(pid1, "late.service"), 1);
}

static void stopped_by_hand_stays_stopped_and_is_drift(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(answered("web.service", 5));
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->drift);
        w.term++;
        meet_leader(&o, 1);
        o.revision = 6;
        send_order(o);
        loop_until(answered("web.service", 6));
        assert_true(report_of("web.service")->drift);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        o.revision = o.start = 7;
        send_order(o);
        loop_until(answered("web.service", 7));
        assert_false(report_of("web.service")->drift);
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

static void new_content_replaces_a_running_unit(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        send_order((Order){.name = "web.service", .content = web2, .revision = 6, .start = 5});
        loop_until(answered("web.service", 6));
        assert_string_equal(pid1_content(pid1, "web.service"), web2);
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
        assert_int_equal(pid1_n_reloads(pid1), 0);
        assert_false(report_of("web.service")->file_stale);
}

static void a_pinned_unit_gets_its_new_content_by_one_reload(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        pid1_pin(pid1, "web.service");
        send_order((Order){.name = "web.service", .content = web2, .revision = 6, .start = 5});
        loop_until(answered("web.service", 6));
        assert_string_equal(pid1_content(pid1, "web.service"), web2);
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

static void what_is_pinned_cannot_be_started_after_its_removal(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        pid1_pin(pid1, "web.service");
        send_order((Order){.name = "web.service", .remove = true, .revision = 6});
        loop_until(is_gone("web.service"));
        assert_int_equal(pid1_n_reloads(pid1), 1);
        assert_null(pid1_content(pid1, "web.service"));
}

static void a_file_that_somebody_removed_is_written_again_when_it_is_needed(void **state) {
        _cleanup_free_ char *path = str_printf("%s/web.service", w.unit_dir);

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        pid1_stop(pid1, "web.service");
        assert_int_equal(unlink(path), 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 6, .start = 6});
        loop_until(answered("web.service", 6));
        assert_string_equal(report_of("web.service")->error, "");
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_true(has_file("web.service"));
}

// Somebody takes the name over in /etc, so that new content cannot be written; then nobody wants the unit.
static void what_could_not_be_replaced_is_removed(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        write_foreign("web.service");
        send_order((Order){.name = "web.service", .content = web2, .revision = 6, .start = 6});
        loop_until(answered("web.service", 6));
        assert_non_null(strstr(report_of("web.service")->error, "somebody else"));
        send_order((Order){.name = "web.service", .remove = true, .revision = 7});
        loop_until(is_gone("web.service"));
        assert_false(has_file("web.service"));
        assert_false(has_file("web.service.d"));
}

static void two_revisions_of_a_template_live_side_by_side(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web@1.service",
                               .content = web,
                               .from_template = true,
                               .revision = 5,
                               .start = 5},
                              {.name = "web@2.service",
                               .content = web,
                               .from_template = true,
                               .revision = 6,
                               .start = 6}},
                    2);
        loop_until(answered("web@1.service", 5) && answered("web@2.service", 6));
        send_order((Order){
                .name = "web@1.service", .content = web2, .from_template = true, .revision = 7, .start = 5});
        loop_until(answered("web@1.service", 7));
        assert_string_equal(pid1_content(pid1, "web@1.service"), web2);
        assert_int_equal(pid1_runs(pid1, "web@2.service"), 1);
        // The old one restarts by itself, or after a reload, with its own content.
        pid1_stop(pid1, "web@2.service");
        pid1_start(pid1, "web@2.service");
        assert_string_equal(pid1_content(pid1, "web@2.service"), web);
}

static void a_shutdown_is_announced_and_judges_nothing(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "job.service", .content = job, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && pid1_runs(pid1, "job.service") == 1);
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        assert_true(w.goodbye->goodbye->stopping); // units still run here
        assert_true(agent_is_stopping(w.agent));
        pid1_stop(pid1, "web.service");
        pid1_stop(pid1, "job.service");
        loop_until(report_of("job.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_null(report_of("job.service")->outcome);
        assert_false(report_of("web.service")->drift);
        agent_goodbye(w.agent, agent_is_stopping(w.agent), FEATURE_GOODBYE_RUNNING);
        assert_int_equal(w.goodbye->goodbye->why, ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);
        assert_false(w.goodbye->goodbye->stopping); // none does now
        assert_int_equal(w.goodbye->goodbye->n_running, 0);
}

static void count(void *userdata) {
        ++*(unsigned *) userdata;
}

// A leader that does not understand what it is told would start it elsewhere: it is told nothing.
static void a_goodbye_names_what_may_still_run(void **state) {
        const Argosy__ToVoter__Goodbye *goodbye;
        unsigned looked = 0;

        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "late.service", .content = web2, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && answered("late.service", 6));
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        pid1_stop(pid1, "web.service");
        agent_look_before_goodbye(w.agent, count, &looked);
        loop_until(looked == 1);
        agent_goodbye(w.agent, true, FEATURE_BASE);
        assert_true(w.goodbye->goodbye->stopping); // the first one was the last one

        agent_goodbye(w.agent, true, FEATURE_GOODBYE_RUNNING);
        goodbye = w.goodbye->goodbye;
        assert_false(goodbye->stopping);
        assert_int_equal(goodbye->n_running, 1);
        assert_false(goodbye->running[0]->all);
        assert_int_equal(goodbye->running[0]->n_units, 1);
        assert_string_equal(goodbye->running[0]->units[0], "late.service");
}

// That nothing is known of a unit is no sign that it has ended.
static void a_goodbye_names_what_is_held_where_no_manager_was_reached(void **state) {
        const Argosy__ToVoter__Goodbye *goodbye;

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        w.agent->system->synced = false; // as after a restart
        agent_goodbye(w.agent, true, FEATURE_GOODBYE_RUNNING);
        goodbye = w.goodbye->goodbye;
        assert_int_equal(goodbye->n_running, 1);
        assert_int_equal(goodbye->running[0]->n_units, 1);
        assert_string_equal(goodbye->running[0]->units[0], "web.service");
}

// It has not heard it from us, and Attach alone would bring new units here.
static void the_next_leader_is_told_of_the_shutdown_too(void **state) {
        meet_leader(NULL, 0);
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        message_free(w.goodbye);
        w.goodbye = NULL;
        agent_on_leader(w.agent, 2, 8);
        loop_until(w.goodbye);
        assert_true(w.goodbye->goodbye->stopping);
}

static void a_lost_connection_to_systemd_is_looked_over(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "late.service", .content = web2, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 1);
        loop_until(answered("web.service", 5));
        pid1_hold_jobs(pid1, true);
        send_orders(orders + 1, 1);
        loop_until(pid1_n_held(pid1) == 1);
        pid1_disconnect(pid1);
        pid1_hold_jobs(pid1, false);
        pid1_reconnect(pid1);
        loop_until(answered("late.service", 6));
        assert_int_equal(pid1_runs(pid1, "late.service"), 1);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static off_t ledger_size(void) {
        _cleanup_free_ char *path = str_printf("%s/ledger", w.dir);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return st.st_size;
}

// All units are looked at when the connection is back; of those that are as they are to be nothing is noted.
static void looking_at_a_unit_again_writes_nothing(void **state) {
        off_t before;

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        before = ledger_size();
        pid1_disconnect(pid1);
        pid1_stop(pid1, "web.service");
        pid1_reconnect(pid1);
        loop_until(report_of("web.service")->drift);
        assert_int_equal(ledger_size(), before);
        send_order((Order){.name = "web.service", .content = web, .revision = 6, .start = 6});
        loop_until(answered("web.service", 6));
        assert_true(ledger_size() > before);
}

static void a_stop_overtakes_a_start(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        send_order((Order){.name = "job.service",
                           .content = job,
                           .loaded_only = true,
                           .revision = 6,
                           .start = 5,
                           .stop = 6});
        loop_until(answered("job.service", 6));
        assert_string_equal(report_of("job.service")->error, "");
        assert_null(report_of("job.service")->outcome);
}

// What the leader holds back has a revision of no start, and the start that it was is wanted again
// afterwards.
static void what_was_held_back_starts_again_by_the_same_order(void **state) {
        const Order start = {.name = "web.service", .content = web, .revision = 5, .start = 5},
                    held = {.name = "web.service",
                            .content = web,
                            .loaded_only = true,
                            .revision = 1,
                            .start = 5};

        meet_leader(NULL, 0);
        send_order(start);
        loop_until(answered("web.service", 5));
        send_order(held);
        loop_until(answered("web.service", 1));
        assert_false(pid1_is_active(pid1, "web.service"));
        send_order(start);
        loop_until(answered("web.service", 5));
        assert_true(pid1_is_active(pid1, "web.service"));

        pid1_hold_jobs(pid1, true);
        send_order(held);
        loop_until(pid1_n_held(pid1) == 1);
        send_orders((Order[]){start,
                              {.name = "job.service", .content = job, .loaded_only = true, .revision = 6}},
                    2);
        loop_until(map_find_str(&w.seen, "job.service")); // so both are heard before the stop has ended
        assert_int_equal(pid1_n_held(pid1), 1);
        pid1_hold_jobs(pid1, false);
        loop_until(pid1_runs(pid1, "web.service") == 3);
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        assert_false(report_of("web.service")->drift);
}

static void content_that_was_not_sent_is_asked_for(void **state) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Orders o = ARGOSY__TO_HOST__ORDERS__INIT;
        Parcel *p = calloc(1, sizeof(*p));
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pack_order(p, 0, &order);
        o.generation = w.generation;
        o.term = w.term;
        o.index = w.index++;
        o.orders = p->order_list;
        o.n_orders = 1;
        m.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        m.orders = &o;
        agent_on_message(w.agent, &m);
        free(p);
        loop_until(w.n_attaches == 2);
        send_welcome(&order, 1, 60000);
        loop_until(answered("web.service", 5));
}

static void a_file_that_cannot_be_written_is_reported_and_tried_again(void **state) {
        _cleanup_free_ char *in_the_way = str_printf("%s/web.service.d", w.unit_dir);

        meet_leader(NULL, 0);
        assert_int_equal(file_replace(AT_FDCWD, in_the_way, "", 0, 0644, 0), 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 0);
        assert_int_equal(unlink(in_the_way), 0);
        loop_until(!*report_of("web.service")->error);
        loop_until(pid1_is_active(pid1, "web.service"));
}

static void a_name_that_is_active_without_a_file_is_refused(void **state) {
        _cleanup_free_ char *path = str_printf("%s/theirs.service", w.unit_dir);

        assert_int_equal(file_replace(AT_FDCWD, path, web, strlen(web), 0644, 0), 0);
        pid1_start(pid1, "theirs.service"); // as a transient unit
        assert_int_equal(unlink(path), 0);
        meet_leader(NULL, 0);
        send_order((Order){.name = "theirs.service", .content = web2, .revision = 5, .start = 5});
        loop_until(answered("theirs.service", 5));
        assert_true(report_of("theirs.service")->refused);
        assert_false(has_file("theirs.service"));
        send_order((Order){.name = "theirs.service", .remove = true, .revision = 6});
        loop_until(is_gone("theirs.service"));
        assert_true(pid1_is_active(pid1, "theirs.service"));
}

// The slice of ours that an instance was put into, -1 for none.
static int slice_of(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s.d/50-argosy.conf", w.unit_dir, name);
        _cleanup_buf_ Buf text = {};
        const char *slice;

        if (file_read(AT_FDCWD, path, 4096, &text) < 0)
                return -1;
        assert_int_equal(buf_append(&text, "", 1), 0);
        slice = strstr((char *) text.data, "Slice=argosy-");
        return slice ? atoi(slice + strlen("Slice=argosy-")) : -1;
}

static void beyond_200_units_new_ones_get_slices(void **state) {
        enum { N = 310 };
        static char names[N][32];
        static Order orders[N];
        unsigned n_plain = 0, n_in[2] = {0};

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){
                        .name = names[i], .content = web, .from_template = true, .revision = 5, .start = 5};
        }
        meet_leader(NULL, 0);
        send_orders(orders, N);
        for (int i = 0; i < N; i++) {
                int slice;

                loop_until(answered(names[i], 5));
                slice = slice_of(names[i]);
                assert_true(slice <= 1);
                if (slice < 0)
                        n_plain++;
                else
                        n_in[slice]++;
        }
        assert_int_equal(n_plain, 200);
        assert_int_equal(n_in[0], 100);
        assert_int_equal(n_in[1], 10);
}

static void on_cleared(void *userdata) {
        w.cleared = true;
}

static void leaving_the_cluster_leaves_no_trace(void **state) {
        Fence fence;

        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "bad.service", .content = bad, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && answered("bad.service", 6));
        agent_clear(w.agent, on_cleared, NULL);
        loop_until(w.cleared);
        assert_int_equal(agent_n_units(w.agent), 0);
        assert_false(pid1_is_active(pid1, "web.service"));
        assert_false(has_file("web.service") || has_file("bad.service") || has_file("web.service.d"));
        assert_int_equal(fence_load(w.dir, &fence), 0);
        assert_int_equal(fence.term, 0);
        // And it can join another one, whose terms begin again.
        w.term = 1;
        w.index = 1;
        agent_on_leader(w.agent, 0, 0);
        meet_leader((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5}}, 1);
        loop_until(pid1_runs(pid1, "web.service") == 2);
}

static Argosy__Response *local_answer;

static void on_local_answer(const Argosy__Response *response, void *userdata) {
        size_t len = argosy__response__get_packed_size(response);
        uint8_t *bytes = malloc(len + 1);

        argosy__response__pack(response, bytes);
        local_answer = argosy__response__unpack(NULL, len, bytes);
        free(bytes);
}

static void local_units_are_listed_and_stopped_without_a_leader(void **state) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__LocalStop stop = ARGOSY__REQUEST__LOCAL_STOP__INIT;
        Argosy__Response rows = ARGOSY__RESPONSE__INIT;
        char *names[] = {(char *) "web.service", (char *) "other.service"};
        uint64_t cancel;

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        agent_on_leader(w.agent, 0, 0);
        agent_local_units(w.agent, &rows);
        assert_int_equal(rows.units->n_rows, 1);
        assert_string_equal(rows.units->rows[0]->unit, "web.service");
        assert_string_equal(rows.units->rows[0]->active, "active");
        stop.names = names;
        stop.n_names = 2;
        request.what_case = ARGOSY__REQUEST__WHAT_LOCAL_STOP;
        request.local_stop = &stop;
        assert_int_equal(agent_call(w.agent, 0, &request, on_local_answer, NULL, &cancel), 0);
        loop_until(local_answer);
        assert_int_equal(local_answer->change->units[0]->status, 0);
        assert_int_equal(local_answer->change->units[1]->status, ENOENT);
        assert_false(pid1_is_active(pid1, "web.service"));
        argosy__response__free_unpacked(local_answer, NULL);
        local_answer = NULL;
}

static void the_leader_gets_the_status_of_a_unit(void **state) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Call call = ARGOSY__TO_HOST__CALL__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        char *names[] = {(char *) "web.service"};
        const Argosy__Response *response;

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        status.names = names;
        status.n_names = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_STATUS;
        request.status = &status;
        call.id = 77;
        call.node = NODE;
        call.request = &request;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL;
        m.call = &call;
        agent_on_message(w.agent, &m);
        loop_until(w.call_reply);
        assert_int_equal(w.call_reply->call_reply->id, 77);
        response = w.call_reply->call_reply->response;
        assert_true(response->final);
        assert_int_equal(response->status, 0);
        assert_string_equal(response->status_reply->row->active, "active");
        assert_string_equal(response->status_reply->desired, "launched");
        assert_string_equal(response->status_reply->properties[0]->key, "Id");
}

static Order crash_around_a_oneshot(void) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(o);
        loop_until(pid1_n_held(pid1) == 1);
        agent_down();
        return o;
}

static void a_oneshot_that_ran_unseen_is_not_run_again(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_start(pid1, "job.service"); // systemd had heard of it after all
        pid1_finish(pid1, "job.service", true);
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_that_failed_unseen_has_failed(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_start(pid1, "job.service");
        pid1_finish(pid1, "job.service", false);
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_that_was_not_started_is_started(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        agent_up();
        meet_leader(&o, 1);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_of_which_nobody_knows_waits_for_a_decision(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_lose_pin(pid1, "job.service");
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5));
        assert_int_equal(pid1_runs(pid1, "job.service"), 0);
        assert_null(report_of("job.service")->outcome);
        assert_non_null(strstr(report_of("job.service")->error, "nobody can tell whether it ran"));
        o.revision = o.start = 6;
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
}

static void a_oneshot_of_which_nobody_knows_is_run_again_if_it_says_so(void **state) {
        static const char anyway[] = "[Service]\nType=oneshot\nExecStart=/bin/true\n[X-Argosy]\nOutcomeUnknown=rerun\n";
        Order o = {.name = "job.service", .content = anyway, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(o);
        loop_until(pid1_n_held(pid1) == 1);
        agent_down();
        pid1_hold_jobs(pid1, false);
        pid1_lose_pin(pid1, "job.service");
        agent_up();
        meet_leader(&o, 1);
        loop_until(pid1_runs(pid1, "job.service") == 1);
}

static void a_oneshot_is_let_go_when_the_cluster_knows(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_true(pid1_is_held(pid1, "job.service"));
        o.outcome = ARGOSY__OUTCOME__KIND__DONE;
        send_order(o);
        loop_until(!pid1_is_held(pid1, "job.service"));
        assert_null(pid1_content(pid1, "job.service"));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        loop_until(agent_node_find(w.agent, NODE)->n_jobs == 0); // pins are counted, too
}

static void a_oneshot_runs_also_where_it_cannot_be_pinned(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        pid1_refuse_pins(pid1);
        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
}

static void a_second_start_of_a_running_oneshot_joins_the_first(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        o.revision = o.start = 6;
        send_order(o);
        send_order((Order){.name = "proof.service", .content = web, .revision = 7, .start = 7});
        loop_until(answered("proof.service", 7));
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->start_rev, 6);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_soft_reboot_starts_what_was_launched_again(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "job.service", .content = job, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("web.service", 5) && pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        pid1_shut_down(pid1);
        loop_until(w.stopping);
        pid1_stop(pid1, "web.service");
        agent_down();
        pid1_boot(pid1); // with /run as it was
        agent_up();
        meet_leader(orders, 2);
        loop_until(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        agent_down(); // and only once
        pid1_stop(pid1, "web.service");
        agent_up();
        meet_leader(orders, 2);
        loop_until(w.attach->attach->n_held == 2);
        send_order((Order){.name = "proof.service", .content = web, .revision = 7, .start = 7});
        loop_until(answered("proof.service", 7));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(starts_a_hundred_units_in_one_batch),
                WORLD_TEST(a_loaded_unit_is_parsed_and_not_started),
                WORLD_TEST(stop_then_start_then_removal),
                WORLD_TEST(small_batches_of_files_keep_their_distance),
                WORLD_TEST(restart_happens_once_however_often_it_is_ordered),
                WORLD_TEST(one_failing_unit_holds_up_no_other),
                WORLD_TEST(losing_the_leader_stops_nothing),
                WORLD_TEST(the_lease_runs_out_and_comes_back),
                WORLD_TEST(the_lease_runs_from_the_sending_of_the_beat),
                WORLD_TEST(a_welcome_to_an_older_attach_is_ignored),
                WORLD_TEST(what_was_ordered_before_an_attach_is_not_obeyed_after_it),
                WORLD_TEST(numbers_begin_again_after_a_recovery),
                WORLD_TEST(a_oneshot_that_somebody_cancels_is_not_done),
                WORLD_TEST(units_survive_a_restart_of_argosyd),
                WORLD_TEST(what_the_welcome_does_not_name_is_removed),
                WORLD_TEST(a_welcome_in_parts_removes_only_when_all_have_come),
                WORLD_TEST(a_welcome_without_all_its_parts_removes_nothing),
                WORLD_TEST(what_waits_for_the_fence_is_dropped_with_the_session_that_it_belongs_to),
                WORLD_TEST(an_attach_that_is_too_long_says_later_what_went_wrong),
                WORLD_TEST(a_file_that_is_hidden_or_gone_is_told_without_asking_systemd),
                WORLD_TEST(a_foreign_name_is_refused_and_untouched),
                WORLD_TEST(an_older_fence_orders_nothing),
                WORLD_TEST(the_fence_is_on_the_disk_before_anything_is_done),
                WORLD_TEST(nothing_is_obeyed_while_the_fence_cannot_be_written),
                WORLD_TEST(a_oneshot_runs_once),
                WORLD_TEST(a_oneshot_that_is_over_elsewhere_is_not_run_here),
                WORLD_TEST(a_crash_while_a_start_is_under_way_starts_once),
                WORLD_TEST(stopped_by_hand_stays_stopped_and_is_drift),
                WORLD_TEST(new_content_replaces_a_running_unit),
                WORLD_TEST(a_pinned_unit_gets_its_new_content_by_one_reload),
                WORLD_TEST(what_is_pinned_cannot_be_started_after_its_removal),
                WORLD_TEST(what_could_not_be_replaced_is_removed),
                WORLD_TEST(a_file_that_somebody_removed_is_written_again_when_it_is_needed),
                WORLD_TEST(two_revisions_of_a_template_live_side_by_side),
                WORLD_TEST(a_shutdown_is_announced_and_judges_nothing),
                WORLD_TEST(a_goodbye_names_what_may_still_run),
                WORLD_TEST(a_goodbye_names_what_is_held_where_no_manager_was_reached),
                WORLD_TEST(the_next_leader_is_told_of_the_shutdown_too),
                WORLD_TEST(a_lost_connection_to_systemd_is_looked_over),
                WORLD_TEST(looking_at_a_unit_again_writes_nothing),
                WORLD_TEST(a_stop_overtakes_a_start),
                WORLD_TEST(what_was_held_back_starts_again_by_the_same_order),
                WORLD_TEST(content_that_was_not_sent_is_asked_for),
                WORLD_TEST(a_file_that_cannot_be_written_is_reported_and_tried_again),
                WORLD_TEST(a_name_that_is_active_without_a_file_is_refused),
                WORLD_TEST(beyond_200_units_new_ones_get_slices),
                WORLD_TEST(a_oneshot_that_ran_unseen_is_not_run_again),
                WORLD_TEST(a_oneshot_that_was_not_started_is_started),
                WORLD_TEST(a_oneshot_of_which_nobody_knows_waits_for_a_decision),
                WORLD_TEST(a_oneshot_that_failed_unseen_has_failed),
                WORLD_TEST(a_oneshot_of_which_nobody_knows_is_run_again_if_it_says_so),
                WORLD_TEST(a_oneshot_is_let_go_when_the_cluster_knows),
                WORLD_TEST(a_oneshot_runs_also_where_it_cannot_be_pinned),
                WORLD_TEST(a_second_start_of_a_running_oneshot_joins_the_first),
                WORLD_TEST(a_soft_reboot_starts_what_was_launched_again),
                WORLD_TEST(leaving_the_cluster_leaves_no_trace),
                WORLD_TEST(local_units_are_listed_and_stopped_without_a_leader),
                WORLD_TEST(the_leader_gets_the_status_of_a_unit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
