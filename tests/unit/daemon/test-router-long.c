// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests and lists that are too long for one turn: packed by the pool, or answered later.
#include "router-world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "flow-window.h"
#include "leader-contact.h"
#include "messages.h"
#include "route.h"

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
        Argosy__Response response = RESPONSE_WITH(.final = true);

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit_wait(10);
        assert_int_equal(w.asked_here, 1);
        assert_null(w.lent);
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

enum { A_MIB = 1024 * 1024 };

// A change with a file of that.
static Route *submit_long(void) {
        Argosy__NamedFile file = NAMED_FILE_OF(.content.data = calloc(1, A_MIB), .content.len = A_MIB),
                          *files = &file;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        Route *route;

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
        Argosy__Response response = RESPONSE_WITH(.final = true);

        (void) ask_for_a_long_list();
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 1);
        assert_true(w.no_leader);
        assert_int_equal(w.stale_ms, 3000);
        w.daemon.leader = NULL;
}

static void a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one(void **state) {
        Argosy__Response response = RESPONSE_WITH(.final = true, .status = EAGAIN);

        (void) ask_for_a_long_list();
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

RUN_TESTS(ROUTER_TEST(of_a_long_wait_no_copy_is_made), ROUTER_TEST(a_long_request_is_packed_by_the_pool),
          ROUTER_TEST(long_requests_are_packed_one_at_a_time_and_wait_for_the_link),
          ROUTER_TEST(a_long_request_goes_to_the_next_leader),
          ROUTER_TEST(a_long_request_may_be_cancelled_at_any_time),
          ROUTER_TEST(what_takes_the_leader_too_much_memory_is_not_sent),
          ROUTER_TEST(a_long_request_that_no_link_takes_waits_for_a_leader),
          ROUTER_TEST(a_long_list_without_a_leader_comes_later),
          ROUTER_TEST(a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one),
          ROUTER_TEST(a_long_list_without_a_leader_can_be_cancelled))
