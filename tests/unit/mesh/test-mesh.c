// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who leads, and who talks to whom then.

#include "fileio.h"
#include "mesh-words.h"

static void a_host_finds_the_leader_and_talks_to_it(void **state) {
        start_first(3);
        host[0].reply_to_attach = true;
        lead(1, 4);
        loop_until(story_is(1, "1:up leader=1@4 "));
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 "));
        loop_until(story_has(1, "3:up") && story_has(2, "3:up"));
        new_story(1);
        assert_int_equal(attach(3, 17), 0);
        loop_until(story_is(3, "leader=1@4 welcome(17) "));
        assert_string_equal(host[0].story, "3:attach(17) ");
        assert_int_equal(mesh_leader(host[2].mesh), 1);
        assert_int_equal(mesh_stats(host[2].mesh).mesh_links, 2);
        assert_int_equal(mesh_stats(host[2].mesh).mesh_sessions, 0);
        assert_int_equal(mesh_stats(host[0].mesh).mesh_links, 0);
        assert_int_equal(mesh_stats(host[0].mesh).mesh_sessions, 1);
        assert_int_equal(mesh_stats(host[2].mesh).mesh_queued_bytes, 0);
        assert_int_equal(attach(2, 1), -ENOTCONN); // it dials nobody
        assert_int_equal(attach(3, 18), 0);
        assert_true(mesh_stats(host[2].mesh).mesh_queued_bytes > 0); // until the end of the turn
}

static void the_leader_talks_to_its_own_agent_the_same_way(void **state) {
        start(1);
        host[0].reply_to_attach = true;
        assert_int_equal(attach(1, 1), -ENOTCONN);
        lead(1, 2);
        assert_int_equal(attach(1, 1), -ENOTCONN); // before leader_changed()
        loop_until(story_is(1, "1:up leader=1@2 "));
        assert_int_equal(attach(1, 9), 0);
        assert_string_equal(host[0].story, "1:up leader=1@2 "); // never from inside the call
        loop_until(story_is(1, "1:up leader=1@2 1:attach(9) welcome(9) "));
}

static void a_leader_knows_what_each_host_understands(void **state) {
        host[0].feature_level = 7;
        host[2].feature_level = 5;
        start_first(3);
        lead(1, 4);
        VOTERS(2, 1);
        VOTERS(3, 1, 2);
        loop_until(story_has(2, "leader=1@4 ") && story_has(3, "leader=1@4 "));
        loop_until(story_has(1, "1:up") && story_has(1, "2:up") && story_has(1, "3:up"));
        assert_int_equal(host[0].levels[1], 7);
        assert_int_equal(host[0].levels[2], FEATURE_LEVEL);
        assert_int_equal(host[0].levels[3], 5);
}

static void what_is_queued_for_ourselves_is_dropped_when_we_step_down(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        assert_int_equal(attach(1, 9), 0);
        assert_int_equal(send_ack(&host[0], 1, 3), 0);
        follow(1, 3, 0);
        assert_int_equal(attach(1, 10), -ENOTCONN);
        assert_int_equal(send_ack(&host[0], 1, 4), -ENOTCONN);
        loop_until(story_is(1, "1:up leader=1@2 1:down leader=0@0 "));
        for (int i = 0; i < 5; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_true(story_is(1, "1:up leader=1@2 1:down leader=0@0 "));
}

static void a_new_term_of_our_own_is_a_new_session(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        assert_int_equal(attach(1, 9), 0);
        lead(1, 5); // stepped down and won again within one turn
        loop_until(story_is(1, "1:down 1:up leader=1@5 "));
}

// A frame of some voter may come between the call and the turn in which it is told.
static void we_are_not_the_leader_before_our_link_is_up(void **state) {
        start(1);
        lead(1, 2);
        mesh_reconsider(host[0].mesh);
        assert_string_equal(host[0].story, "");
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        lead(1, 5);
        mesh_reconsider(host[0].mesh);
        assert_int_equal(attach(1, 1), -ENOTCONN); // it would be lost
        loop_until(story_is(1, "leader=0@0 1:down 1:up leader=1@5 "));
        assert_int_equal(attach(1, 2), 0);
        loop_until(story_has(1, "1:attach(2) "));
}

static void a_host_follows_from_leader_to_leader(void **state) {
        start_first(3);
        lead(1, 4);
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 ") && story_has(2, "3:up"));
        follow(1, 5, 0);
        loop_until(story_is(3, "leader=1@4 leader=0@0 "));
        assert_int_equal(attach(3, 1), -ENOTCONN);
        lead(2, 6);
        loop_until(story_is(3, "leader=1@4 leader=0@0 leader=2@6 "));
}

static void a_leader_of_an_older_term_is_not_believed(void **state) {
        start_first(3);
        lead(1, 4); // cut off from the others, it does not know better
        lead(2, 6);
        VOTERS(3, 1, 2);
        loop_until(story_has(3, "leader=2@6 ") && story_has(1, "3:up"));
        new_story(3);
        stop(2);
        loop_until(story_is(3, "leader=0@0 "));
        assert_int_equal(send_ack(&host[0], 3, 1), 0); // and its orders are not heard
        lead(1, 7);
        loop_until(story_is(3, "leader=0@0 leader=1@7 "));
}

// Else the next leader would take it for one that came back with an empty disk, and demote it.
static void every_voter_hears_of_a_new_voter(void **state) {
        start_first(3);
        lead(1, 4);
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 ") && story_has(2, "3:up"));
        assert_int_equal(host[1].raft_ids[3], 0);
        mesh_set_raft_id(host[2].mesh, 7);
        loop_until(host[1].raft_ids[3] == 7);
        assert_false(story_has(1, "3:down"));
        assert_int_equal(attach(3, 1), 0);
}

// A port of 127.0.0.1 that the kernel gives to nobody else: bound, and never listened at, so that a listener
// may have it and whoever dials it meanwhile is refused.
static int reserve_port(uint16_t *ret) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) &at, &size), 0);
        *ret = ntohs(at.sin_port);
        return fd;
}

static void a_link_that_comes_back_is_told_as_a_new_one(void **state) {
        uint16_t port;
        _cleanup_(closep) int reserved = reserve_port(&port);

        start_as(1, port, 1, cluster_id);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_is(2, "leader=1@4 "));
        stop(1);
        loop_until(story_is(2, "leader=1@4 leader=0@0 "));
        loop_until(host[1].n_failed == 2);
        assert_string_equal(host[1].failed, "1: cannot connect: Connection refused");
        start_as(1, port, 1, cluster_id);
        lead(1, 4);
        loop_until(story_is(2, "leader=1@4 leader=0@0 leader=1@4 "));
        assert_int_equal(host[1].n_failed, 2); // each reason once, however often it was dialled
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOOP_TEST(a_host_finds_the_leader_and_talks_to_it),
                LOOP_TEST(the_leader_talks_to_its_own_agent_the_same_way),
                LOOP_TEST(a_leader_knows_what_each_host_understands),
                LOOP_TEST(what_is_queued_for_ourselves_is_dropped_when_we_step_down),
                LOOP_TEST(a_new_term_of_our_own_is_a_new_session),
                LOOP_TEST(we_are_not_the_leader_before_our_link_is_up),
                LOOP_TEST(a_host_follows_from_leader_to_leader),
                LOOP_TEST(a_leader_of_an_older_term_is_not_believed),
                LOOP_TEST(every_voter_hears_of_a_new_voter),
                LOOP_TEST(a_link_that_comes_back_is_told_as_a_new_one),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
