// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A leader whose process stood still: its timers are due before it has read what came meanwhile.
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

RIG_OF(3)

static void beat(uint32_t host) {
        Argosy__ToVoter__Beat b = MESSAGE_OF(to_voter__beat, .seq = ++rig_host(&g, host)->virtual.beat_seq);

        leader_on_message(g.leader, host, A_TO_VOTER(BEAT, beat, &b));
}

typedef struct Link { // to host 2: a beat of it has arrived
        uv_poll_t poll;
        int fds[2];
        bool closed;
} Link;

static void on_link(uv_poll_t *poll, int status, int events) {
        beat(2);
        uv_poll_stop(poll);
}

static void on_link_closed(uv_handle_t *handle) {
        ((Link *) handle->data)->closed = true;
}

static void link_up(Link *link) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link->fds), 0);
        assert_int_equal(uv_poll_init(&g.loop, &link->poll, link->fds[0]), 0);
        link->poll.data = link;
        assert_int_equal(uv_poll_start(&link->poll, UV_READABLE, on_link), 0);
        assert_int_equal(write(link->fds[1], "x", 1), 1);
}

static void link_down(Link *link) {
        uv_close((uv_handle_t *) &link->poll, on_link_closed);
        while (!link->closed)
                uv_run(&g.loop, UV_RUN_NOWAIT);
        close(link->fds[0]);
        close(link->fds[1]);
}

// Half a lease, in which host 2 is not heard.
static void pass_without_host_2(void) {
        g.now_us += RIG_LEASE_MS / 2 * USEC_PER_MSEC;
        beat(3);
}

static void a_beat_that_was_not_read_yet_keeps_its_host(void **state) {
        const Host *h = host_find(g.leader, 2);
        Link link = {};

        rig_pass_ms(&g, RIG_BEAT_MS);
        pass_without_host_2();
        leader_on_time(g.leader);
        rig_settle(&g);
        assert_int_equal(h->lease.state, LEASE_SUSPECT);
        pass_without_host_2();
        link_up(&link);
        uv_timer_set_repeat(&g.leader->timer, 1); // it is due
        assert_int_equal(uv_timer_again(&g.leader->timer), 0);
        uv_sleep(5);
        uv_run(&g.loop, UV_RUN_NOWAIT);
        uv_sleep(5);
        rig_settle(&g);
        assert_int_equal(h->lease.state, LEASE_ONLINE);
        assert_int_equal(h->lost_us, 0); // nor has it come again meanwhile
        link_down(&link);
}

static void a_host_of_which_nothing_came_is_lost(void **state) {
        const Host *h = host_find(g.leader, 2);

        rig_pass_ms(&g, RIG_BEAT_MS);
        pass_without_host_2();
        leader_on_time(g.leader);
        rig_settle(&g);
        pass_without_host_2();
        uv_timer_set_repeat(&g.leader->timer, 1);
        assert_int_equal(uv_timer_again(&g.leader->timer), 0);
        uv_sleep(5);
        uv_run(&g.loop, UV_RUN_NOWAIT);
        uv_sleep(5);
        uv_run(&g.loop, UV_RUN_NOWAIT);
        assert_int_equal(h->lease.state, LEASE_LOST);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_beat_that_was_not_read_yet_keeps_its_host, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_host_of_which_nothing_came_is_lost, setup, teardown)
)
