// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The router alone (router-world.h): where requests go, that they get there, and what is answered without a
// leader.
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
        assert_int_equal(w.status, ETIMEDOUT);
        assert_non_null(strstr(w.message, "; nothing was changed"));
        assert_null(strstr(w.message, "another host"));
        w.keyed = true;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_int_equal(w.status, ETIMEDOUT);
        assert_non_null(strstr(
                w.message,
                "nothing was changed by this request, unless another host had it under the same key"));
}

// ---- who follows events

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
        argosy__response__journal__init(&journal);
        journal.mark = mark;
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
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.asked_here, 1);
        response.final = true;
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

static void submit_wait(size_t n) {
        Argosy__Request__Wait__Item item = ARGOSY__REQUEST__WAIT__ITEM__INIT,
                                    **items = calloc(n, sizeof(*items));
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request q = REQUEST_OF(WAIT, wait, &wait);
        Route *route;

        assert_non_null(items);
        for (size_t i = 0; i < n; i++)
                items[i] = &item;
        item.name = (char *) "a.service";
        wait.items = items;
        wait.n_items = n;
        assert_int_equal(router_submit(w.daemon.router, message_copy(&q), w.author, on_answer, NULL, &route),
                         0);
        free(items);
        turn();
}

// Nor is it gone when another leader has to be asked.
static void of_a_long_wait_no_copy_is_made(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit_wait(10);
        assert_int_equal(w.asked_here, 1);
        assert_null(w.lent);
        response.final = true;
        w.respond_here(&response, w.respond_data);
        submit_wait(10000);
        assert_int_equal(w.asked_here, 2);
        assert_non_null(w.lent);
        assert_int_equal(w.lent->wait->n_items, 10000);
        response.status = EAGAIN;
        w.respond_here(&response, w.respond_data);
        w.daemon.leading = false;
        leader_is(2);
        while (w.forwarded == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_WAIT);
        reply(true, 0);
        assert_int_equal(w.answers, 2);
        w.daemon.leader = NULL;
}

// ---- long ones, to a leader elsewhere

enum { A_MIB = 1024 * 1024 };

// A change with a file of that.
static Route *submit_long(void) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        Route *route;

        file.content.data = calloc(1, A_MIB);
        file.content.len = A_MIB;
        assert_non_null(file.content.data);
        Argosy__Request__Change change = MESSAGE_OF(request__change, .files = &files, .n_files = 1);
        assert_int_equal(router_submit(w.daemon.router,
                                       message_copy(A_REQUEST(CHANGE, change, &change, .job = &job)),
                                       w.author, on_answer, NULL, &route),
                         0);
        free(file.content.data);
        return route;
}

static void until_forwarded(unsigned n) {
        while (w.forwarded < n)
                uv_run(&w.loop, UV_RUN_ONCE);
}

// Whatever the pool has of it: what the link has no room for stays packed.
static void let_the_pool_pack(void) {
        while (w.loop.active_reqs.count > 0)
                uv_run(&w.loop, UV_RUN_ONCE);
}

static void a_long_request_is_packed_by_the_pool(void **state) {
        leader_is(2);
        submit_long();
        until_forwarded(1);
        assert_int_equal(w.frames, 1);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_CHANGE);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.forwarded, 2);
        assert_int_equal(w.frames, 1);
}

static void long_requests_are_packed_one_at_a_time_and_wait_for_the_link(void **state) {
        leader_is(2);
        w.link_full = true;
        submit_long();
        submit_long();
        turn();
        let_the_pool_pack();
        assert_false(list_is_empty(&w.daemon.router->to_pack));
        submit(ARGOSY__REQUEST__WHAT_LIST_NODES); // overtakes
        turn();
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_LIST_NODES);
        w.link_full = false;
        router_on_leader_drained(w.daemon.router);
        until_forwarded(3);
        assert_int_equal(w.frames, 2);
        assert_null(w.daemon.router->packing);
}

static void a_long_request_goes_to_the_next_leader(void **state) {
        leader_is(2);
        w.link_full = true;
        submit_long(); // packed when that one is lost
        submit_long(); // in line
        turn();
        let_the_pool_pack();
        leader_is(0);
        let_the_pool_pack();
        assert_null(w.daemon.router->packing);
        w.link_full = false;
        leader_is(4); // and this one while the pool packs, or when it has one of them
        leader_is(5);
        until_forwarded(2);
        let_the_pool_pack();
        assert_in_range(w.forwarded, 2, 4);
        assert_int_equal(w.frames, w.forwarded);
        assert_true(list_is_empty(&w.daemon.router->to_pack));
}

static void a_long_request_may_be_cancelled_at_any_time(void **state) {
        leader_is(2);
        w.link_full = true;
        Route *packed = submit_long();
        Route *in_line = submit_long();
        turn();
        router_cancel(in_line);
        router_cancel(packed); // while the pool reads it
        let_the_pool_pack();
        assert_null(w.daemon.router->packing);
        packed = submit_long();
        turn();
        let_the_pool_pack();
        assert_non_null(w.daemon.router->packing);
        router_cancel(packed);
        assert_null(w.daemon.router->packing);
        submit_long(); // and with the router
        turn();
        assert_int_equal(w.forwarded, 0);
}

// Two bytes of a frame may be a hundred of a message.
static void what_takes_the_leader_too_much_memory_is_not_sent(void **state) {
        enum { MANY = 600000 };
        char **patterns = calloc(MANY, sizeof(*patterns));
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request q = REQUEST_OF(LIST_UNITS, list_units, &list);
        Route *route;

        assert_non_null(patterns);
        for (size_t i = 0; i < MANY; i++)
                patterns[i] = (char *) protobuf_c_empty_string;
        list.patterns = patterns;
        list.n_patterns = MANY;
        leader_is(2);
        assert_int_equal(router_submit(w.daemon.router, message_copy(&q), w.author, on_answer, NULL, &route),
                         0);
        free(patterns);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, E2BIG);
        assert_int_equal(w.forwarded, 0);
}

static void a_long_request_that_no_link_takes_waits_for_a_leader(void **state) {
        leader_is(2);
        w.link_down = true;
        submit_long();
        turn();
        let_the_pool_pack();
        assert_int_equal(w.frames, 0);
        w.link_down = false;
        leader_is(4);
        until_forwarded(1);
}

static void a_read_without_a_leader_is_answered_with_its_age(void **state) {
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_LIST_NODES);
        turn();
        assert_int_equal(w.answers, 0);
        advance(3000);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        assert_int_equal(w.stale_ms, 3000);
        w.daemon.leader = NULL;
}

static Route *ask_for_a_long_list(void) {
        w.daemon.leader = (Leader *) &w;
        Route *route = submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        advance(3000);
        while (w.asked_stale == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.answers, 0);
        return route;
}

static void a_long_list_without_a_leader_comes_later(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        (void) ask_for_a_long_list();
        response.final = true;
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 1);
        assert_true(w.no_leader);
        assert_int_equal(w.stale_ms, 3000);
        w.daemon.leader = NULL;
}

static void a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        (void) ask_for_a_long_list();
        response.final = true;
        response.status = EAGAIN;
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 0);
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        w.daemon.leader = NULL;
}

static void a_long_list_without_a_leader_can_be_cancelled(void **state) {
        router_cancel(ask_for_a_long_list());
        assert_int_equal(w.here_cancelled, 1);
        w.daemon.leader = NULL;
}

static void without_a_leader_the_agent_answers_for_its_own_units(void **state) {
        submit(ARGOSY__REQUEST__WHAT_STATUS);
        turn();
        assert_int_equal(w.local, 0); // a leader may come yet
        advance(3000);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        submit(ARGOSY__REQUEST__WHAT_STATUS); // and nobody waits again for an election that does not come
        turn();
        while (w.answers == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.local, 2);
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

static void local_requests_need_no_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        submit(ARGOSY__REQUEST__WHAT_VERSION);
        turn();
        assert_int_equal(w.local, 1);
        assert_int_equal(w.answers, 2);
}

static void being_removed_answers_a_leave_whose_answer_was_lost(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        leader_is(0);
        response.final = true;
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

static void leaving_asks_the_leader_to_remove_this_host(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        leader_is(2);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE);
        assert_string_equal(w.removed_host, w.daemon.host_id_hex);
        assert_string_equal(w.removed_reason, "new hall");
        assert_int_equal(w.resets, 0);
        reply(true, 0);
        assert_int_equal(w.resets, 1);
        assert_int_equal(w.answers, 0); // over when the cluster is forgotten here
        response.final = true;
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

// By the queue, perhaps for hours: this host is a member until the leader has let it go.
static void a_leave_that_is_held_back_forgets_nothing(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        leader_is(2);
        response.final = response.held = true;
        router_on_forward_reply(w.daemon.router, w.forward_id, &response);
        turn();
        assert_int_equal(w.resets, 0);
        assert_int_equal(w.answers, 1);
}

static void who_waits_for_a_manager_means_the_host_that_is_asked(void **state) {
        leader_is(7);
        submit(ARGOSY__REQUEST__WHAT_MANAGER_WAIT);
        turn();
        assert_int_equal(w.forwarded, 1);
        assert_string_equal(w.waiting_host, w.daemon.host_id_hex);
        leader_is(8); // it can be asked of any leader
        assert_int_equal(w.forwarded, 2);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
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

static void a_second_leave_is_refused(void **state) {
        w.daemon.joining = (Join *) &w;
        w.force = true;
        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        turn();
        assert_int_equal(w.resets, 0);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EBUSY);
}

RUN_TESTS(
        ROUTER_TEST(a_request_waits_for_a_leader_and_goes_there),
        ROUTER_TEST(nobody_is_turned_away_before_what_has_come_is_read),
        ROUTER_TEST(nobody_is_turned_away_while_somebody_leads),
        ROUTER_TEST(what_was_not_answered_is_sent_again_to_the_next_leader),
        ROUTER_TEST(the_next_leader_hears_how_old_it_is),
        ROUTER_TEST(of_what_a_leader_had_nobody_says_that_it_did_not_begin),
        ROUTER_TEST(of_other_hosts_is_told_who_has_a_key),
        ROUTER_TEST(who_follows_events_is_told_that_nobody_leads),
        ROUTER_TEST(a_leader_that_hangs_is_none),
        ROUTER_TEST(the_leader_is_watched_for_who_follows_and_for_who_has_asked),
        ROUTER_TEST(a_stream_does_not_begin_while_nobody_leads),
        ROUTER_TEST(a_journal_that_flowed_ends_with_the_leader),
        ROUTER_TEST(what_the_client_took_of_a_journal_is_said_where_it_comes_from),
        ROUTER_TEST(who_wants_a_small_window_has_one_that_is_not_too_small),
        ROUTER_TEST(without_a_leader_this_hosts_own_reader_hears_what_was_taken),
        ROUTER_TEST(in_the_leaders_process_it_is_asked_directly),
        ROUTER_TEST(of_a_long_wait_no_copy_is_made),
        ROUTER_TEST(a_long_request_is_packed_by_the_pool),
        ROUTER_TEST(long_requests_are_packed_one_at_a_time_and_wait_for_the_link),
        ROUTER_TEST(a_long_request_goes_to_the_next_leader),
        ROUTER_TEST(a_long_request_may_be_cancelled_at_any_time),
        ROUTER_TEST(what_takes_the_leader_too_much_memory_is_not_sent),
        ROUTER_TEST(a_long_request_that_no_link_takes_waits_for_a_leader),
        ROUTER_TEST(a_read_without_a_leader_is_answered_with_its_age),
        ROUTER_TEST(a_long_list_without_a_leader_comes_later),
        ROUTER_TEST(a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one),
        ROUTER_TEST(a_long_list_without_a_leader_can_be_cancelled),
        ROUTER_TEST(what_units_use_is_watched_here_until_somebody_leads),
        ROUTER_TEST(what_units_use_elsewhere_needs_a_leader),
        ROUTER_TEST(a_cancelled_request_is_cancelled_where_it_is),
        ROUTER_TEST(without_a_leader_the_agent_answers_for_its_own_units),
        ROUTER_TEST(local_requests_need_no_leader),
        ROUTER_TEST(being_removed_answers_a_leave_whose_answer_was_lost),
        ROUTER_TEST(leaving_asks_the_leader_to_remove_this_host),
        ROUTER_TEST(a_leave_that_is_held_back_forgets_nothing),
        ROUTER_TEST(who_waits_for_a_manager_means_the_host_that_is_asked),
        ROUTER_TEST(without_a_link_it_stays_until_there_is_one),
        ROUTER_TEST(who_comes_costs_nothing_for_those_that_wait),
        ROUTER_TEST(a_turn_sends_so_many_and_the_next_one_more),
        ROUTER_TEST(those_whose_time_is_over_are_told_a_few_at_a_time),
        ROUTER_TEST(at_the_end_nothing_is_left_with_the_leader),
        ROUTER_TEST(a_second_leave_is_refused)
)
