// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers that go on: events, journals, waits, the use of units.
#include "router-world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "flow-window.h"
#include "leader-contact.h"
#include "messages.h"
#include "route.h"

static void follow(Argosy__Request__Events__Lead lead) {
        w.lead = lead;
        w.here[0] = '\0';
        (void) submit(ARGOSY__REQUEST__WHAT_EVENTS);
        turn();
}

static void who_follows_events_is_told_that_nobody_leads(void **state) {
        leader_is(2);
        follow(ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        assert_int_equal(w.forwarded, 1);
        leader_is(0);
        pass(LEADER_CONTACT_MS - 1);
        assert_int_equal(w.answers, 0);
        pass(1);
        assert_int_equal(w.answers, 1);
        assert_string_equal(w.here, "nobody");
        assert_string_equal(w.behind, "place");
        follow(ARGOSY__REQUEST__EVENTS__LEAD__NOBODY);
        pass(2 * ROUTER_CHANGE_MS); // it waits, and is not told again
        assert_int_equal(w.answers, 1);
        leader_is(1);
        assert_string_equal(w.here, "n1");
        follow(ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        assert_int_equal(w.forwarded, 2);
        assert_int_equal(w.answers, 2);
}

// Its link is there, and it says that it leads.
static void a_leader_that_hangs_is_none(void **state) {
        leader_is(2);
        follow(ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        uint64_t sent_us = w.now_us;
        router_on_beat(w.daemon.router, sent_us);
        w.now_us += LEADER_CONTACT_MS * USEC_PER_MSEC;
        router_on_beat(w.daemon.router, sent_us);
        turn();
        assert_int_equal(w.forward_cancelled, 1);
        assert_string_equal(w.here, "nobody");
        follow(ARGOSY__REQUEST__EVENTS__LEAD__NOBODY);
        assert_int_equal(w.forwarded, 2); // where it may be answered after all
        router_on_beat(w.daemon.router, 0);
        turn();
        assert_string_equal(w.here, "n2");
}

// Then each beat asks for an answer, or silence would be seen late.
static void the_leader_is_watched_for_who_follows_and_for_who_has_asked(void **state) {
        leader_is(2);
        assert_false(router_leader_is_watched(w.daemon.router));
        w.lead = ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY;
        Route *route = submit(ARGOSY__REQUEST__WHAT_EVENTS);
        turn();
        assert_true(router_leader_is_watched(w.daemon.router));
        router_cancel(route);
        assert_false(router_leader_is_watched(w.daemon.router));
        assert_false(router_leader_is_silent(w.daemon.router));
        assert_true(router_leader_is_watched(w.daemon.router));
        w.now_us += ROUTER_WATCH_MS * USEC_PER_MSEC;
        assert_false(router_leader_is_watched(w.daemon.router));
}

static void a_stream_does_not_begin_while_nobody_leads(void **state) {
        leader_is(2);
        leader_is(0);
        pass(LEADER_CONTACT_MS);
        follow(ARGOSY__REQUEST__EVENTS__LEAD__UNSAID);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EHOSTUNREACH);
        assert_true(w.no_leader);
}

static void a_journal_that_flowed_ends_with_the_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        leader_is(2);
        reply(false, 0);
        leader_is(3);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.answers, 2);
        assert_int_equal(w.status, ECONNRESET);
}

static Argosy__Response *lines_with_mark(uint64_t mark) {
        static Argosy__Response__Journal journal;
        static Argosy__Response response;

        argosy__response__init(&response);
        journal = (Argosy__Response__Journal) JOURNAL_LINES_OF(.mark = mark);
        response.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
        response.journal = &journal;
        return &response;
}

static void what_the_client_took_of_a_journal_is_said_where_it_comes_from(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);

        leader_is(2);
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(0));
        router_taken(route);
        assert_int_equal(w.taken_away, 0); // nobody asked
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(100));
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(200));
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(0));
        assert_int_equal(w.taken_away, 0);
        router_taken(route);
        assert_int_equal(w.taken_away, 200);
        w.taken_away = 0;
        router_taken(route);
        assert_int_equal(w.taken_away, 0); // once is enough
        router_cancel(route);

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        w.window = 0;
        route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        turn();
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        w.respond_here(lines_with_mark(7), w.respond_data);
        router_taken(route);
        assert_int_equal(w.taken_here, 7);
        router_cancel(route);
        w.daemon.leader = NULL;
}

static void who_wants_a_small_window_has_one_that_is_not_too_small(void **state) {
        static const uint32_t cases[][2] = {{1, FLOW_WINDOW_SHARE_MIN},
                                            {FLOW_WINDOW_BYTES / 2, FLOW_WINDOW_BYTES / 2},
                                            {UINT32_MAX, FLOW_WINDOW_BYTES}};

        leader_is(2);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                w.wanted_window = cases[i][0];
                submit(ARGOSY__REQUEST__WHAT_JOURNAL);
                turn();
                assert_int_equal(w.window, cases[i][1]);
        }
}

static void without_a_leader_this_hosts_own_reader_hears_what_was_taken(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);

        turn();
        advance(3000);
        while (w.local == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        w.reply_local(lines_with_mark(9), w.reply_data);
        router_taken(route);
        assert_int_equal(w.taken_local, 9);
        router_cancel(route);
}

static void in_the_leaders_process_it_is_asked_directly(void **state) {
        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.asked_here, 1);
        Argosy__Response response = RESPONSE_WITH(.final = true);
        response.status = EAGAIN; // loses leadership with the request in its hands
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 0);
        w.daemon.leading = false;
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        w.daemon.leader = NULL;
}

static void until_answered(void) {
        advance(3000);
        for (unsigned before = w.answers; w.answers == before;)
                uv_run(&w.loop, UV_RUN_ONCE);
}

static void what_units_use_is_watched_here_until_somebody_leads(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_TOP);

        turn();
        assert_int_equal(w.local, 0); // a leader may come yet
        until_answered();
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        leader_is(0);
        assert_int_equal(w.local_cancelled, 0);
        leader_is(2);
        assert_int_equal(w.local_cancelled, 1);
        assert_int_equal(w.forwarded, 1);
        reply(false, 0);
        assert_false(w.no_leader);
        leader_is(0); // it is lost while somebody watches
        until_answered();
        assert_int_equal(w.local, 2);
        router_cancel(route);
        assert_int_equal(w.local_cancelled, 2);
}

static void what_units_use_elsewhere_needs_a_leader(void **state) {
        w.top_node = (char *) "n2";
        submit(ARGOSY__REQUEST__WHAT_TOP);
        turn();
        w.now_us += ROUTER_CHANGE_MS * USEC_PER_MSEC;
        pass(0);
        while (w.answers == 0) // what is over is looked at once more
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, ETIMEDOUT);
        assert_int_equal(w.local, 0);
}

RUN_TESTS(ROUTER_TEST(who_follows_events_is_told_that_nobody_leads),
          ROUTER_TEST(a_leader_that_hangs_is_none),
          ROUTER_TEST(the_leader_is_watched_for_who_follows_and_for_who_has_asked),
          ROUTER_TEST(a_stream_does_not_begin_while_nobody_leads),
          ROUTER_TEST(a_journal_that_flowed_ends_with_the_leader),
          ROUTER_TEST(what_the_client_took_of_a_journal_is_said_where_it_comes_from),
          ROUTER_TEST(who_wants_a_small_window_has_one_that_is_not_too_small),
          ROUTER_TEST(without_a_leader_this_hosts_own_reader_hears_what_was_taken),
          ROUTER_TEST(in_the_leaders_process_it_is_asked_directly),
          ROUTER_TEST(what_units_use_is_watched_here_until_somebody_leads),
          ROUTER_TEST(what_units_use_elsewhere_needs_a_leader))
