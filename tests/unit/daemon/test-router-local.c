// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this host answers itself, and how it leaves its cluster.
#include "router-world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "flow-window.h"
#include "leader-contact.h"
#include "messages.h"
#include "route.h"

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

static void local_requests_need_no_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        submit(ARGOSY__REQUEST__WHAT_VERSION);
        turn();
        assert_int_equal(w.local, 1);
        assert_int_equal(w.answers, 2);
}

static void being_removed_answers_a_leave_whose_answer_was_lost(void **state) {
        Argosy__Response response = RESPONSE_WITH(.final = true);

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        leader_is(0);
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

static void leaving_asks_the_leader_to_remove_this_host(void **state) {
        Argosy__Response response = RESPONSE_WITH(.final = true);

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        leader_is(2);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE);
        assert_string_equal(w.removed_host, w.daemon.host_id_hex);
        assert_string_equal(w.removed_reason, "new hall");
        assert_int_equal(w.resets, 0);
        reply(true, 0);
        assert_int_equal(w.resets, 1);
        assert_int_equal(w.answers, 0); // over when the cluster is forgotten here
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

// By the queue, perhaps for hours: this host is a member until the leader has let it go.
static void a_leave_that_is_held_back_forgets_nothing(void **state) {
        Argosy__Response response = RESPONSE_WITH(.final = true, .held = true);

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        leader_is(2);
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

static void a_second_leave_is_refused(void **state) {
        w.daemon.joining = (Join *) &w;
        w.force = true;
        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        turn();
        assert_int_equal(w.resets, 0);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EBUSY);
}

RUN_TESTS(ROUTER_TEST(a_read_without_a_leader_is_answered_with_its_age),
          ROUTER_TEST(without_a_leader_the_agent_answers_for_its_own_units),
          ROUTER_TEST(local_requests_need_no_leader),
          ROUTER_TEST(being_removed_answers_a_leave_whose_answer_was_lost),
          ROUTER_TEST(leaving_asks_the_leader_to_remove_this_host),
          ROUTER_TEST(a_leave_that_is_held_back_forgets_nothing),
          ROUTER_TEST(who_waits_for_a_manager_means_the_host_that_is_asked),
          ROUTER_TEST(a_second_leave_is_refused))
