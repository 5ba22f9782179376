// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The router alone (router-world.h): where requests go, and that they get there, whoever leads meanwhile.
#include "router-world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "flow-window.h"
#include "leader-contact.h"
#include "messages.h"
#include "route.h"

static void a_request_waits_for_a_leader_and_goes_there(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.forwarded, 0);
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
}

static void on_word(uv_poll_t *poll, int status, int events) {
        uv_poll_stop(poll);
        w.daemon.known_leader = 2;
        router_on_leader_changed(w.daemon.router);
}

// The process stood still: its timers come before what it reads.
static void nobody_is_turned_away_before_what_has_come_is_read(void **state) {
        uv_poll_t link;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(uv_poll_init(&w.loop, &link, fds[0]), 0);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        advance(ROUTER_CHANGE_MS);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(uv_poll_start(&link, UV_READABLE, on_word), 0);
        assert_int_equal(write(fds[1], "x", 1), 1);
        uv_run(&w.loop, UV_RUN_NOWAIT); // the time is over, and the word is read
        uv_sleep(5);
        turn();
        assert_int_equal(w.answers, 0);
        assert_int_equal(w.forwarded, 1);
        uv_close((uv_handle_t *) &link, NULL);
        turn();
        close(fds[0]);
        close(fds[1]);
}

// The news of a leader may be on its way to the router when the time is over.
static void nobody_is_turned_away_while_somebody_leads(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        advance(ROUTER_CHANGE_MS);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        w.daemon.known_leader = 2;
        while (w.forwarded + w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.answers, 0);
}

static void what_was_not_answered_is_sent_again_to_the_next_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        leader_is(0);
        assert_int_equal(w.forwarded, 1);
        leader_is(3);
        assert_int_equal(w.forwarded, 2);
        reply(true, EAGAIN); // it has stepped down itself
        assert_int_equal(w.answers, 0);
        leader_is(1);
        assert_int_equal(w.forwarded, 3);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        reply(true, 0); // a late second answer finds nobody
        assert_int_equal(w.answers, 1);
}

static void the_next_leader_hears_how_old_it_is(void **state) {
        w.age_ms = 100;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        pass(2000); // nobody has had it yet
        leader_is(2);
        assert_int_equal(w.forwarded_age_ms, 100);
        w.now_us += 3000 * USEC_PER_MSEC;
        leader_is(3);
        assert_int_equal(w.forwarded_age_ms, 3100);
        w.now_us += 1000 * USEC_PER_MSEC;
        leader_is(1);
        assert_int_equal(w.forwarded_age_ms, 4100);
        reply(true, 0);
}

// Who asks again could have it done twice.
static void of_what_a_leader_had_nobody_says_that_it_did_not_begin(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_int_equal(w.status, ETIMEDOUT);
        assert_true(w.no_leader);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        leader_is(0);
        until_late();
        assert_int_equal(w.status, EINPROGRESS);
        assert_true(w.no_leader);
        w.age_ms = 100; // by way of another host, perhaps
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_int_equal(w.status, EINPROGRESS);
        assert_int_equal(w.forwarded, 1);
}

// Who has no key is the only one that could have asked another host.
static void of_other_hosts_is_told_who_has_a_key(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_replies(&w, ETIMEDOUT, "; nothing was changed");
        assert_null(strstr(w.message, "another host"));
        w.keyed = true;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_replies(&w, ETIMEDOUT,
                       "nothing was changed by this request, unless another host had it under the same key");
}

static void a_cancelled_request_is_cancelled_where_it_is(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_CHANGE);

        router_cancel(route);
        leader_is(2);
        assert_int_equal(w.forwarded, 0);
        route = submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_cancel(route);
        assert_int_equal(w.forward_cancelled, 1);
        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        route = submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_cancel(route);
        assert_int_equal(w.here_cancelled, 1);
        assert_int_equal(w.answers, 0);
        w.daemon.leader = NULL;
}

static void without_a_link_it_stays_until_there_is_one(void **state) {
        w.link_down = true;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        assert_int_equal(w.forwarded, 0);
        w.link_down = false;
        pass(0);
        assert_int_equal(w.forwarded, 1);
}

static void who_comes_costs_nothing_for_those_that_wait(void **state) {
        w.link_down = true;
        w.daemon.known_leader = 2;
        for (unsigned i = 0; i < 100; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.tried, 100);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.tried, 101);
        leader_is(2); // and this is for all of them
        assert_int_equal(w.tried, 202);
}

static void a_turn_sends_so_many_and_the_next_one_more(void **state) {
        enum { ALL = 1000, PER_TURN = 256 };
        unsigned before = 0;

        for (unsigned i = 0; i < ALL; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        w.daemon.known_leader = 2;
        router_on_leader_changed(w.daemon.router);
        for (unsigned turns = 0; w.forwarded < ALL; turns++) {
                assert_true(turns < 10);
                uv_run(&w.loop, UV_RUN_NOWAIT);
                assert_true(w.forwarded - before <= PER_TURN);
                before = w.forwarded;
        }
        assert_int_equal(w.forwarded, ALL);
}

// So are those whose time is over, and each is told.
static void those_whose_time_is_over_are_told_a_few_at_a_time(void **state) {
        enum { ALL = 600, PER_TURN = 256 };
        unsigned before = 0;

        for (unsigned i = 0; i < ALL; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        for (unsigned turns = 0; turns < 5; turns++)
                turn();
        advance(2 * ROUTER_CHANGE_MS);
        for (unsigned turns = 0; w.answers < ALL; turns++) {
                assert_true(turns < 100);
                uv_run(&w.loop, UV_RUN_ONCE);
                assert_true(w.answers - before <= PER_TURN);
                before = w.answers;
        }
        assert_int_equal(w.status, ETIMEDOUT);
}

// The leader ends after the router, and fails what it was asked for: to nobody.
static void at_the_end_nothing_is_left_with_the_leader(void **state) {
        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_close(TAKE_PTR(w.daemon.router));
        assert_int_equal(w.here_cancelled, 1);
        assert_int_equal(w.answers, 0);
}

RUN_TESTS(ROUTER_TEST(a_request_waits_for_a_leader_and_goes_there),
          ROUTER_TEST(nobody_is_turned_away_before_what_has_come_is_read),
          ROUTER_TEST(nobody_is_turned_away_while_somebody_leads),
          ROUTER_TEST(what_was_not_answered_is_sent_again_to_the_next_leader),
          ROUTER_TEST(the_next_leader_hears_how_old_it_is),
          ROUTER_TEST(of_what_a_leader_had_nobody_says_that_it_did_not_begin),
          ROUTER_TEST(of_other_hosts_is_told_who_has_a_key),
          ROUTER_TEST(a_cancelled_request_is_cancelled_where_it_is),
          ROUTER_TEST(without_a_link_it_stays_until_there_is_one),
          ROUTER_TEST(who_comes_costs_nothing_for_those_that_wait),
          ROUTER_TEST(a_turn_sends_so_many_and_the_next_one_more),
          ROUTER_TEST(those_whose_time_is_over_are_told_a_few_at_a_time),
          ROUTER_TEST(at_the_end_nothing_is_left_with_the_leader))
