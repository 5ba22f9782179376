// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and its leaders: sessions and their Welcome, the lease, the fence, and the end of a membership.
#include "agent-world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "agent-private.h"
#include "attach.h"
#include "clock.h"
#include "held-pool.h"
#include "messages.h"
#include "str.h"
#include "unit-state.h"

static void losing_the_leader_stops_nothing(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
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

// The leader must not take the end of this for the answer to a stop.
static void an_order_to_stay_answers_no_change(void **state) {
        Order o = {.name = "web.service", .content = web, .loaded_only = true, .stay = true, .start = 5};

        meet_leader((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5}}, 1);
        loop_until(answered("web.service", 5));
        assert_false(report_of("web.service")->stays);
        send_order(o);
        loop_until(report_of("web.service")->stays);
        assert_int_equal(report_of("web.service")->revision, 0);
        assert_false(pid1_is_active(pid1, "web.service"));
        o.stay = o.loaded_only = false;
        o.revision = o.start = 6;
        send_order(o);
        loop_until(answered("web.service", 6));
        assert_false(report_of("web.service")->stays);
}

// A stop is held back, or a restart: the leader goes by what was carried out before.
static void what_is_to_stay_as_it_is_does(void **state) {
        const Order stay = {.name = "web.service", .stay = true, .content = web2, .start = 9, .restart = 9};

        meet_leader((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5}}, 1);
        loop_until(answered("web.service", 5));
        for (unsigned i = 0; i < 2; i++) {
                if (i > 0) { // nobody has told the next run of it what is wanted
                        agent_restart();
                }
                w.term++;
                meet_leader(&stay, 1);
                for (size_t k = 0; k < w.attach->attach->n_held; k++)
                        if (streq(w.attach->attach->held[k]->name, "web.service"))
                                assert_int_equal(w.attach->attach->held[k]->revision, 5);
                send_order((Order){
                        .name = "job.service", .content = job, .loaded_only = true, .revision = 6 + i});
                loop_until(answered("job.service", 6 + i)); // and the other one was planned by then
                assert_int_equal(pid1_runs(pid1, "web.service"), 1);
                assert_false(report_of("web.service")->stays);
                assert_int_equal(report_of("web.service")->revision, 5);
        }
        order_and_wait(
                (Order){.name = "web.service", .content = web, .revision = 9, .start = 9, .restart = 9});
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

// Until it has been attached for a beat: the machine may stand still for longer than a lease. `answered`: so
// many of its Attaches were welcomed.
static void welcome_for(unsigned lease_ms, unsigned *answered) {
        unsigned beats = w.n_beats;

        do {
                loop_until(w.n_attaches > *answered);
                *answered = w.n_attaches;
                send_welcome(NULL, 0, lease_ms);
                loop_until((w.attached && w.n_beats > beats) || w.n_attaches > *answered);
        } while (w.n_attaches > *answered);
}

static void the_lease_runs_out_and_comes_back(void **state) {
        unsigned attaches = 0;

        agent_on_leader(w.agent, 1, w.term);
        welcome_for(100, &attaches);
        loop_until(!w.attached); // nobody acknowledged
        loop_until(w.n_attaches > attaches);
        welcome_until(NULL, 0, w.attached);
}

// For some seconds after the lease has come back a guard may turn out to have stopped a unit, which is
// started again; but not one that has been started since.
static void what_fails_again_after_a_cut_off_is_not_started_for_ever(void **state) {
        Order fails = {.name = "fails.service",
                       .content = "[Service]\nExecStart=/bin/false\n[X-Argosy]\nCutOff=stop\n",
                       .revision = 5,
                       .start = 5};
        unsigned beats;

        meet_leader(NULL, 0);
        order_and_wait(fails);
        atomic_store(&w.agent->lease->until_us, 0); // the lease is over, and guards have seen that
        w.term++;
        meet_leader(&fails, 1);
        loop_until(pid1_runs(pid1, "fails.service") >= 2);
        beats = w.n_beats;
        loop_until(w.n_beats > beats + 3);
        assert_int_equal(pid1_runs(pid1, "fails.service"), 2);
}

// The leader answers the newest Attach only, after a barrier, and the answer waits for the fence: on a slow
// disk that may take longer than the first is waited for.
static void an_answer_is_waited_for_longer_each_time(void **state) {
        uint64_t waited = 0;

        meet_leader(NULL, 0); // a beat of 20 ms from now on
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        for (unsigned i = 0; i < 4; i++) {
                loop_until(w.n_attaches > attaches);
                attaches = w.n_attaches;
                uint64_t waits = w.agent->attach_retry_us - w.agent->attach_sent_us;
                assert_true(waits >= 2 * waited);
                waited = waits;
                w.agent->attach_retry_us = 0;
        }
}

// After a stand-still the time is over and the answer is there: the loop runs its timers first.
static void an_answer_that_has_come_is_taken_before_the_attach_is_repeated(void **state) {
        meet_leader(NULL, 0);
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > attaches);
        attaches = w.n_attaches;
        w.index--; // so nothing has to be on the disk first
        send_welcome(NULL, 0, 60000);
        w.agent->attach_retry_us = 1;
        uv_timer_start(&w.agent->beat, w.agent->beat.timer_cb, 0, 20);
        loop_until(w.attached);
        for (unsigned i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(w.n_attaches, attaches);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
}

static void an_attach_of_one_that_is_attached_is_repeated_too(void **state) {
        meet_leader(NULL, 0);
        unsigned attaches = w.n_attaches;
        w.agent->attach_retry_us = 0;
        agent_set_labels(w.agent, NULL, 0);
        loop_until(w.n_attaches > attaches);
        assert_true(w.attached);
        attaches = w.n_attaches;
        w.agent->attach_retry_us = 0;
        loop_until(w.n_attaches > attaches);
}

static void what_the_host_offers_by_now_is_told(void **state) {
        w.offers_cpu_milli = 2000;
        meet_leader(NULL, 0);
        assert_int_equal(w.attach->attach->cpu_milli, 2000);
        w.offers_cpu_milli = 1500;
        unsigned attaches = w.n_attaches;
        agent_attach_again(w.agent);
        loop_until(w.n_attaches > attaches);
        assert_int_equal(w.attach->attach->cpu_milli, 1500);
}

// What else has its time is not forgotten meanwhile, and time alone is not waited for again and again.
static void an_attach_that_cannot_go_yet_waits_for_an_event(void **state) {
        const uint64_t in_a_minute_us = clock_boot_us() + 60 * USEC_PER_SEC;

        meet_leader(NULL, 0);
        unsigned attaches = w.n_attaches;
        w.agent->system->synced = false; // as while systemd is reached anew
        w.agent->fleet.late_us = 1; // nor is the look for fleet's units waited for any more
        w.agent->fence_retry_us = in_a_minute_us;
        agent_on_leader(w.agent, 1, ++w.term);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_in_range(uv_timer_get_due_in(&w.agent->wake), 50000, 60000);
        w.agent->fence_retry_us = 0;
        w.agent->attach_retry_us = 1; // one was sent, and not answered
        drain_mark(&w.agent->drain);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(uv_is_active((uv_handle_t *) &w.agent->wake));
        w.agent->system->synced = true;
        drain_mark(&w.agent->drain);
        loop_until(w.n_attaches > attaches);
}

// The mesh says so when the link to it is another one (mesh.h): also that of our own leader.
static void the_same_leader_anew_is_attached_to_anew(void **state) {
        meet_leader(NULL, 0);
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, w.term);
        assert_false(w.attached);
        loop_until(w.n_attaches > attaches);
}

static void ack_beat(uint64_t seq) {
        Argosy__ToHost__BeatAck ack = MESSAGE_OF(to_host__beat_ack, .seq = seq);

        agent_on_message(w.agent, A_TO_HOST(BEAT_ACK, beat_ack, &ack));
}

// The leader's lease runs from when it heard the beat, so ours must not run from later than its sending:
// however late and however often an old beat is acknowledged.
static void the_lease_runs_from_the_sending_of_the_beat(void **state) {
        unsigned attaches = 0;

        agent_on_leader(w.agent, 1, w.term);
        welcome_for(200, &attaches);
        uint64_t first = w.last_beat;
        loop_until((ack_beat(first), !w.attached));
        assert_true(w.last_beat < first + 30); // a beat of 20 ms, a lease of 200 ms
        // Acknowledged beats hold it up.
        welcome_for(1000, &attaches);
        first = w.last_beat;
        // of 20 ms: one and a half times the lease
        loop_until((ack_beat(w.last_beat), w.last_beat > first + 75));
        assert_true(w.attached);
}

// What says that a leader is silent: the oldest beat, however many have followed it.
static void it_is_told_since_when_a_beat_has_no_answer(void **state) {
        unsigned attaches = 0;

        w.watched = true;
        agent_on_leader(w.agent, 1, w.term);
        welcome_for(10000, &attaches);
        uint64_t first = w.last_beat;
        loop_until(w.last_beat > first);
        uint64_t since_us = w.unanswered_us;
        assert_true(since_us > 0);
        loop_until(w.last_beat > first + 2);
        assert_int_equal(w.unanswered_us, since_us);
        ack_beat(first + 1);
        assert_true(w.unanswered_us > since_us); // the next one's
        ack_beat(w.last_beat);
        assert_int_equal(w.unanswered_us, 0);
}

// How many of the next 30 beats are quiet, when those that ask are answered at once.
static unsigned quiet_of_30(void) {
        unsigned quiet = w.n_quiet, beats = w.n_beats;

        for (unsigned seen = 0; w.n_beats < beats + 30;) {
                loop_until(w.n_beats > seen);
                seen = w.n_beats;
                if (!w.quiet)
                        ack_beat(w.last_beat);
        }
        return w.n_quiet - quiet;
}

static void most_beats_need_no_answer_unless_somebody_waits_for_it(void **state) {
        const Order cut = {.name = "cut.service",
                           .content = "[Service]\nExecStart=/bin/a\n[X-Argosy]\nCutOff=stop\n",
                           .revision = 5,
                           .start = 5};
        unsigned attaches = 0;

        agent_on_leader(w.agent, 1, w.term);
        welcome_for(60000, &attaches);
        assert_in_range(quiet_of_30(), 16, 20); // some are answered so that a round trip is known
        w.watched = true;
        assert_int_equal(quiet_of_30(), 0);
        w.watched = false;
        assert_in_range(quiet_of_30(), 16, 20);
        order_and_wait(cut);
        assert_int_equal(quiet_of_30(), 0);
        send_order((Order){.name = "cut.service", .remove = true, .revision = 6});
        loop_until(report_of("cut.service")->gone);
        assert_in_range(quiet_of_30(), 16, 20);
}

// From the first that lacks its answer on, each asks, and silence is counted from that one.
static void without_an_answer_each_beat_asks(void **state) {
        unsigned attaches = 0, quiet;

        agent_on_leader(w.agent, 1, w.term);
        welcome_for(60000, &attaches);
        loop_until(w.unanswered_us == 0 || (ack_beat(w.last_beat), true));
        loop_until(w.unanswered_us > 0);
        quiet = w.n_quiet;
        uint64_t first = w.last_beat;
        loop_until(w.last_beat > first + 5);
        assert_int_equal(w.n_quiet, quiet);
        ack_beat(w.last_beat - 1);
        assert_true(w.unanswered_us > 0);
        ack_beat(w.last_beat);
        assert_int_equal(w.unanswered_us, 0);
        loop_until(w.n_quiet > quiet);
}

static uint64_t n_answered(void) {
        TimeHistogram t = agent_beat_times(w.agent);
        uint64_t n = 0;

        for (unsigned i = 0; i <= TIME_BOUNDS; i++)
                n += t.n[i];
        return n;
}

static void an_answer_to_a_beat_is_timed_once_and_its_lease_is_told(void **state) {
        unsigned attaches = 0;

        agent_on_leader(w.agent, 1, w.term);
        assert_int_equal(agent_stats(w.agent).lease_left_ms, 0);
        welcome_for(60000, &attaches);
        assert_in_range(agent_stats(w.agent).lease_left_ms, 50000, 60000);
        uint64_t first = w.last_beat;
        loop_until(w.last_beat >= first + 2);
        assert_int_equal(agent_stats(w.agent).beats, w.n_beats);
        uint64_t before = n_answered();
        ack_beat(w.last_beat);
        ack_beat(w.last_beat);     // again
        ack_beat(w.last_beat - 1); // and one that the newer one has answered
        assert_int_equal(n_answered(), before + 1);
}

// The leader goes on by itself from what it was told, so nearly all beats are as short as ever.
static void what_the_wall_clock_is_is_said_now_and_then(void **state) {
        unsigned attaches = 0, n;

        agent_on_leader(w.agent, 1, w.term);
        welcome_for(60000, &attaches);
        uint64_t first = w.last_beat;
        loop_until((ack_beat(w.last_beat), w.n_walls == 1)); // when a round trip is known
        assert_true(w.last_beat <= first + 2);
        uint64_t now_ms = clock_wall_us() / USEC_PER_MSEC;
        assert_in_range(w.wall_ms, now_ms - 10000, now_ms + 10000);
        first = w.last_beat;
        loop_until(w.n_walls == 2);
        assert_int_equal(w.last_beat, first + AGENT_WALL_BEATS + 1);
        w.agent->wall_reported_us += 2 * AGENT_WALL_SET_US; // as if it had been set back since
        n = w.n_beats;
        loop_until(w.n_beats > n);
        assert_int_equal(w.n_walls, 3);
}

typedef struct Link { // on which the leader's word has arrived
        uv_poll_t poll;
        int fds[2];
        bool read, closed;
} Link;

static void on_link(uv_poll_t *poll, int status, int events) {
        Link *link = poll->data;

        ack_beat(w.last_beat);
        link->read = true;
        uv_poll_stop(poll);
}

static void on_link_closed(uv_handle_t *handle) {
        ((Link *) handle->data)->closed = true;
}

static void what_arrived_while_we_stood_still_holds_the_lease_up(void **state) {
        Link link = {};

        meet_leader(NULL, 0); // a beat of 20 ms, a lease of a minute
        unsigned attaches = w.n_attaches;
        unsigned beats = w.n_beats;
        loop_until(w.n_beats > beats);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link.fds), 0);
        assert_int_equal(uv_poll_init(&test_loop, &link.poll, link.fds[0]), 0);
        link.poll.data = &link;
        assert_int_equal(uv_poll_start(&link.poll, UV_READABLE, on_link), 0);
        assert_int_equal(write(link.fds[1], "x", 1), 1);
        w.agent->lease_from_us -= 60 * USEC_PER_SEC;
        uv_sleep(50);
        beats = w.n_beats;
        loop_until(link.read && w.n_beats > beats + 2);
        assert_true(w.attached);
        assert_int_equal(w.n_attaches, attaches);
        uv_close((uv_handle_t *) &link.poll, on_link_closed);
        loop_until(link.closed);
        close(link.fds[0]);
        close(link.fds[1]);
}

static void a_welcome_to_an_older_attach_is_ignored(void **state) {
        Fence fence;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > 0);
        w.attach->attach->seq--;
        send_welcome((Order[]){{.name = "old.service", .content = web, .revision = 5, .start = 5}}, 1,
                     60000);
        w.attach->attach->seq++;
        loop_until(fence_load(w.dir, &fence) == 0 && fence.index == w.index - 1);
        uv_run(&test_loop, UV_RUN_ONCE);
        assert_false(w.attached);
        welcome_until(((Order[]){{.name = "web.service", .content = web, .revision = 6, .start = 6}}), 1,
                      answered("web.service", 6));
        assert_null(report_of("old.service"));
        assert_int_equal(agent_n_units(w.agent), 1);
}

// The leader takes what the Attach says for all that is here: a start that was on its way is somewhere
// else's.
static void what_was_ordered_before_an_attach_is_not_obeyed_after_it(void **state) {
        Fence fence;

        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > 0);
        unsigned attaches = w.n_attaches;
        send_welcome(NULL, 0, 100);
        loop_until(w.n_attaches > attaches); // the lease is over
        send_order((Order){.name = "old.service", .content = web, .revision = 5, .start = 5});
        loop_until(fence_load(w.dir, &fence) == 0 && fence.index == w.index - 1);
        uv_run(&test_loop, UV_RUN_ONCE);
        assert_int_equal(agent_n_units(w.agent), 0);
        welcome_until(NULL, 0, w.attached);
        order_and_wait((Order){.name = "new.service", .content = web, .revision = 7, .start = 7});
}

// The log of a recovered cluster may be shorter than what this host has obeyed.
static void numbers_begin_again_after_a_recovery(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 90, .start = 90, .restart = 80};

        meet_leader(NULL, 0);
        order_and_wait(o);
        agent_on_leader(w.agent, 0, 0);
        w.generation = 2;
        w.term = 1;
        w.index = 3;
        o.revision = o.start = 40;
        o.restart = 30;
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > attaches);
        Order next = o;
        next.revision = next.restart = 50;
        do {
                attaches = w.n_attaches;
                send_welcome(&o, 1, 60000);
                send_order(next); // on the heels of it
                loop_until(answered("web.service", 50) || w.n_attaches > attaches);
        } while (!answered("web.service", 50));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
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

// The Attach has said that it is here, and the Welcome says nothing of it: the leader waits for that word.
static void what_ends_between_attach_and_welcome_is_told_to_be_gone(void **state) {
        meet_leader((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5}}, 1);
        loop_until(answered("web.service", 5));
        pid1_hold_jobs(pid1, true);
        send_order((Order){.name = "web.service", .revision = 6, .remove = true});
        loop_until(pid1_n_held(pid1) == 1);
        agent_on_leader(w.agent, 2, ++w.term);
        loop_until(w.attach->attach->seq == w.agent->attach_seq && w.agent->attach_sent);
        assert_int_equal(w.attach->attach->n_held, 1);
        forget_reports();
        pid1_hold_jobs(pid1, false);
        loop_until(!has_file("web.service"));
        loop_until(agent_unit_find(w.agent->system, "web.service")->gone);
        welcome_until(NULL, 0, w.attached);
        loop_until(is_gone("web.service"));
        assert_int_equal(agent_n_units(w.agent), 0);
}

static void a_welcome_in_parts_removes_only_when_all_have_come(void **state) {
        Order orders[] = {{.name = "a.service", .content = web, .revision = 5, .start = 5},
                          {.name = "b.service", .content = web2, .revision = 6, .start = 6},
                          {.name = "old.service", .content = web, .revision = 7, .start = 7}};

        meet_leader(NULL, 0);
        send_orders(&orders[1], 2);
        loop_until(answered("b.service", 6) && answered("old.service", 7));
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > attaches);
        do { // each Attach has its answer
                unsigned beats = w.n_beats;

                attaches = w.n_attaches;
                send_welcome_part(&orders[0], 1);
                loop_until(pid1_is_active(pid1, "a.service") || w.n_attaches > attaches); // at once
                if (w.n_attaches > attaches)
                        continue;
                assert_true(w.n_beats > beats); // the rest may take longer than a lease
                assert_true(has_file("old.service"));
                assert_false(w.attached);
                send_wanted(&orders[1], 1, 60000, false, 1);
                loop_until(w.attached || w.n_attaches > attaches);
        } while (!w.attached);
        loop_until(is_gone("old.service"));
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
        loop_until(w.n_attaches > attaches);
        attaches = w.n_attaches;
        send_wanted(&orders[1], 1, 60000, false, 1);
        loop_until(w.n_attaches > attaches);
        assert_true(pid1_is_active(pid1, "a.service"));
        assert_true(has_file("a.service"));
        welcome_until(orders, 2, w.attached);
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
        loop_until(w.n_attaches > attaches);
        assert_int_equal(w.agent->n_batches, 0);
        welcome_until(&o, 1, w.attached && answered("a.service", 5));
}

// Its units may be started elsewhere by then.
static void what_waits_for_the_fence_is_not_obeyed_once_the_leader_is_gone(void **state) {
        Order o = {.name = "a.service", .content = web, .revision = 5, .start = 5};

        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > 0);
        held_pool_hold(&test_loop); // the disk is slow
        send_welcome(&o, 1, 60000);
        loop_until(w.agent->fence_saving);
        agent_on_leader(w.agent, 0, 0);
        held_pool_let_go();
        loop_until(!w.agent->fence_saving);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(w.attached);
        assert_null(agent_unit_find(w.agent->system, "a.service"));
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > attaches);
        welcome_until(&o, 1, w.attached && answered("a.service", 5));
}

enum { MANY = ATTACH_HELD_MAX + 100 };

static char many_names[MANY][32];

static void hold_many(void) {
        static Order orders[MANY];

        for (size_t i = 0; i < MANY; i++) {
                snprintf(many_names[i], sizeof(many_names[i]), "many%zu.service", i);
                orders[i] =
                        (Order){.name = many_names[i], .content = web, .revision = 5, .loaded_only = true};
        }
        meet_leader(NULL, 0);
        send_orders(orders, MANY);
        for (size_t i = 0; i < MANY; i++)
                loop_until(answered(many_names[i], 5));
}

// Of so many no message is longer than others are.
static void what_a_host_holds_is_told_in_parts(void **state) {
        hold_many();
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.attach->attach->parts && w.last_part);
        assert_int_equal(w.attach->attach->n_held, ATTACH_HELD_MAX);
        assert_int_equal(w.n_parts, 1);
        assert_int_equal(w.n_held, MANY - ATTACH_HELD_MAX);
        assert_true(list_is_empty(&w.agent->held_due));
        assert_true(list_is_empty(&w.agent->report)); // all that was to be said of them is
}

static void a_part_that_finds_no_link_has_the_host_attach_anew(void **state) {
        unsigned attaches;

        hold_many();
        attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > attaches);
        assert_false(w.last_part);
        w.cut = true;
        loop_until(w.agent->attach_wanted);
        w.cut = false;
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches > attaches + 1 && w.last_part);
        assert_int_equal(w.n_held, MANY - ATTACH_HELD_MAX);
}

static size_t count_reports_due(void) {
        size_t n = 0;

        list_foreach (i, &w.agent->report)
                n++;
        return n;
}

// As the parts of a Welcome wait for the fence, and all that is held is told anew behind it.
static void thousands_of_orders_and_of_reports_are_taken_in_turns(void **state) {
        enum {
                MESSAGES = 6,
                ORDERS = 600,
                TAKEN_MAX = 2,
                REPORTED_MAX = 2
        };      // 1,024 orders, and whole
                // messages
        static char names[ORDERS][32];
        static Order orders[ORDERS];

        meet_leader(NULL, 0);
        w.cut = true;
        for (unsigned k = 0; k < MESSAGES; k++) {
                for (unsigned i = 0; i < ORDERS; i++) {
                        snprintf(names[i], sizeof(names[i]), "gone@%u-%u.service", k, i);
                        orders[i] = (Order){.name = names[i], .remove = true, .revision = 5};
                }
                send_orders(orders, ORDERS);
        }
        while (count_reports_due() < MESSAGES * ORDERS) {
                uint64_t obeyed = w.agent->n_obeyed;

                uv_run(&test_loop, UV_RUN_ONCE);
                assert_in_range(w.agent->n_obeyed - obeyed, 0, TAKEN_MAX);
        }
        w.cut = false; // and the link takes all of them
        drain_mark(&w.agent->drain);
        while (w.seen.count < MESSAGES * ORDERS) {
                unsigned reported = w.n_report_messages;

                uv_run(&test_loop, UV_RUN_ONCE);
                assert_in_range(w.n_report_messages - reported, 0, REPORTED_MAX);
        }
        loop_until(agent_n_units(w.agent) == 0); // each was told, and is forgotten
}

static void an_older_fence_orders_nothing(void **state) {
        Fence fence;

        w.term = 5;
        w.index = 100;
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 50, .start = 50});
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
        order_and_wait((Order){.name = "last.service", .content = web, .revision = 61, .start = 61});
        assert_true(pid1_is_active(pid1, "web.service"));
        // Not even after a restart.
        agent_restart();
        w.term = 4;
        unsigned attaches = w.n_attaches;
        agent_on_leader(w.agent, 1, w.term);
        loop_until(w.n_attaches > attaches);
        send_welcome(NULL, 0, 1000);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(w.attached);
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void the_fence_is_on_the_disk_before_anything_is_done(void **state) {
        _cleanup_free_ char *path = str_printf("%s/fence", w.dir);

        meet_leader(NULL, 0);
        assert_int_equal(unlink(path), 0);
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

static void content_that_was_not_sent_is_asked_for(void **state) {
        Parcel *p = calloc(1, sizeof(*p));
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pack_order(p, 0, &order);
        Argosy__ToHost__Orders o = MESSAGE_OF(to_host__orders, .generation = w.generation, .term = w.term,
                                              .index = w.index++, .orders = p->order_list, .n_orders = 1);
        agent_on_message(w.agent, A_TO_HOST(ORDERS, orders, &o));
        unsigned attaches = w.n_attaches;
        free(p);
        loop_until(w.n_attaches > attaches);
        welcome_until(&order, 1, answered("web.service", 5));
}

static void on_cleared(void *userdata) {
        w.cleared = true;
}

// It goes with the identity: until that is replaced, this host is a member that might wake up as one.
static void leaving_the_cluster_leaves_nothing_but_the_fence(void **state) {
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
        assert_int_equal(fence.term, w.term);
}

RUN_TESTS(
        WORLD_TEST(losing_the_leader_stops_nothing),
        WORLD_TEST(an_order_to_stay_answers_no_change),
        WORLD_TEST(what_is_to_stay_as_it_is_does),
        WORLD_TEST(the_lease_runs_out_and_comes_back),
        WORLD_TEST(what_fails_again_after_a_cut_off_is_not_started_for_ever),
        WORLD_TEST(an_answer_is_waited_for_longer_each_time),
        WORLD_TEST(an_answer_that_has_come_is_taken_before_the_attach_is_repeated),
        WORLD_TEST(an_attach_of_one_that_is_attached_is_repeated_too),
        WORLD_TEST(what_the_host_offers_by_now_is_told),
        WORLD_TEST(an_attach_that_cannot_go_yet_waits_for_an_event),
        WORLD_TEST(the_same_leader_anew_is_attached_to_anew),
        WORLD_TEST(the_lease_runs_from_the_sending_of_the_beat),
        WORLD_TEST(it_is_told_since_when_a_beat_has_no_answer),
        WORLD_TEST(most_beats_need_no_answer_unless_somebody_waits_for_it),
        WORLD_TEST(without_an_answer_each_beat_asks),
        WORLD_TEST(an_answer_to_a_beat_is_timed_once_and_its_lease_is_told),
        WORLD_TEST(what_the_wall_clock_is_is_said_now_and_then),
        WORLD_TEST(what_arrived_while_we_stood_still_holds_the_lease_up),
        WORLD_TEST(a_welcome_to_an_older_attach_is_ignored),
        WORLD_TEST(what_was_ordered_before_an_attach_is_not_obeyed_after_it),
        WORLD_TEST(numbers_begin_again_after_a_recovery),
        WORLD_TEST(what_the_welcome_does_not_name_is_removed),
        WORLD_TEST(what_ends_between_attach_and_welcome_is_told_to_be_gone),
        WORLD_TEST(a_welcome_in_parts_removes_only_when_all_have_come),
        WORLD_TEST(a_welcome_without_all_its_parts_removes_nothing),
        WORLD_TEST(what_waits_for_the_fence_is_dropped_with_the_session_that_it_belongs_to),
        WORLD_TEST(what_waits_for_the_fence_is_not_obeyed_once_the_leader_is_gone),
        WORLD_TEST(what_a_host_holds_is_told_in_parts),
        WORLD_TEST(a_part_that_finds_no_link_has_the_host_attach_anew),
        WORLD_TEST(thousands_of_orders_and_of_reports_are_taken_in_turns),
        WORLD_TEST(an_older_fence_orders_nothing),
        WORLD_TEST(the_fence_is_on_the_disk_before_anything_is_done),
        WORLD_TEST(nothing_is_obeyed_while_the_fence_cannot_be_written),
        WORLD_TEST(content_that_was_not_sent_is_asked_for),
        WORLD_TEST(leaving_the_cluster_leaves_nothing_but_the_fence)
)
