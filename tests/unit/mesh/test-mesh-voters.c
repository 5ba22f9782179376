// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Voters: who is one, where it is, and where it is looked for. Nobody listens on port 9.

#include "mesh-words.h"

// ---- voters

static void voters_that_are_no_longer_named_are_left(void **state) {
        start_first(3);
        lead(1, 4);
        VOTERS(3, 1, 2);
        loop_until(story_has(1, "3:up") && story_has(2, "3:up") && story_is(3, "leader=1@4 "));
        VOTERS(3, 2);
        loop_until(story_has(1, "3:down") && story_is(3, "leader=1@4 leader=0@0 "));
        assert_false(story_has(2, "3:down"));
}

static void voters_may_change_while_they_are_dialled(void **state) {
        start_first(3);
        lead(2, 4);
        for (int i = 0; i < 50; i++) {
                VOTERS(3, 1);
                VOTERS(3, 1, 2, 3);
                if (i % 3 == 0)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                VOTERS(3, 2);
        }
        loop_until(story_has(3, "leader=2@4 "));
}

static void a_voter_that_moved_is_dialled_at_its_new_address(void **state) {
        start_first(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up"));
        listener_close(host[0].listener);
        loop_until(!host[0].listener);
        assert_int_equal(
                listener_new_tcp(&test_loop, 0, member_tls[0], &listener_ops, &host[0], &host[0].listener),
                0);
        new_story(1);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:down 2:up "));
}

static void the_leader_tells_the_voters_and_tells_them_again(void **state) {
        start_first(3);
        VOTERS(1, 1, 2);
        lead(1, 4);
        VOTERS(3, 1);
        loop_until(host[2].n_reported == 1);
        assert_int_equal(host[2].n_voters_announced, 2);
        assert_int_equal(host[2].announced[1], 2);
        VOTERS(1, 1, 2, 3);
        loop_until(host[2].n_reported == 2);
        assert_int_equal(host[2].n_voters_announced, 3);
}

// The host was away while every voter but one was replaced; that one knows who leads.
static void a_host_that_was_away_finds_the_new_voters(void **state) {
        start_first(3);
        host[2].follow_announced = true;
        VOTERS(1, 1, 2);
        VOTERS(2, 1, 2);
        follow(1, 4, 2);
        lead(2, 4);
        VOTERS(3, 1);
        loop_until(story_is(3, "leader=2@4 "));
        loop_until(host[2].n_reported == 1); // by the leader only
        assert_int_equal(host[2].named, 1U << 1 | 1U << 2); // by the other one
        assert_int_equal(host[2].n_voters_announced, 2);
}

static void nothing(uv_timer_t *timer) {
}

// So long, whatever happens meanwhile.
static void loop_for(unsigned ms) {
        uv_timer_t timer;

        assert_int_equal(uv_timer_init(&test_loop, &timer), 0);
        assert_int_equal(uv_timer_start(&timer, nothing, ms, 0), 0);
        while (uv_is_active((uv_handle_t *) &timer))
                uv_run(&test_loop, UV_RUN_ONCE);
        uv_close((uv_handle_t *) &timer, NULL);
        uv_run(&test_loop, UV_RUN_NOWAIT);
}

// Which keeps no log, knows nobody's key but those of voters, and lets in who has a certificate of its CA.
static TlsVerdict judge_as_guide(const Hash *pin, const char *alpn, void *userdata) {
        return TLS_GUEST;
}

static TlsContext *tls_of_1;

static void start_guide(void) {
        tls_of_1 = member_tls[0];
        assert_int_equal(tls_context_new(&member[0], judge_as_guide, NULL, &member_tls[0]), 0);
        host[0].guides = true;
        start(1);
}

static void stop_guide(void) {
        stop(1);
        tls_context_unref(member_tls[0]);
        member_tls[0] = tls_of_1;
}

static MeshPeer lost_peer(uint32_t number, const char *address) {
        MeshPeer peer = {.host = number,
                         .pin = member[number - 1].pin,
                         .raft_id = number,
                         .port = listener_port(host[number - 1].listener)};

        assert_true(str_copy(peer.address, sizeof(peer.address), address));
        return peer;
}

// Every voter that it knew was replaced; one of them is a member still.
static void who_votes_no_more_names_those_that_do(void **state) {
        start_guide();
        start(2);
        start(3);
        host[2].follow_announced = true;
        VOTERS(2, 2);
        VOTERS(1, 2);
        lead(2, 4);
        VOTERS(3, 1);
        loop_until(story_is(3, "leader=2@4 "));
        assert_string_equal(host[2].failed, "1: it is no voter any more");
        assert_false(story_has(1, "3:up"));
        loop_until(host[2].n_reported == 1); // by the leader only
        assert_int_equal(host[2].named, 1U << 2); // by the other one
        assert_int_equal(host[2].announced[0], 2);
        stop_guide();
}

// The one that it knows is elsewhere by now.
static void who_votes_no_more_says_where_those_are_that_do(void **state) {
        MeshPeer peers[2];

        start_guide();
        start(2);
        start(3);
        VOTERS(2, 2);
        VOTERS(1, 2);
        lead(2, 4);
        peers[0] = lost_peer(1, "127.0.0.1");
        peers[1] = lost_peer(2, "127.0.0.1");
        peers[1].port = 9;
        assert_int_equal(mesh_set_voters(host[2].mesh, peers, 2), 0);
        loop_until(story_is(3, "leader=2@4 "));
        stop_guide();
}

// Of what it said of a leader nothing is believed: neither that it leads, nor who does.
static void who_votes_no_more_leads_nobody(void **state) {
        start_guide();
        start(3);
        VOTERS(1, 2); // which is not there
        lead(1, 9);
        VOTERS(3, 1);
        loop_until(host[2].n_failed >= 2);
        loop_for(50);
        assert_string_equal(host[2].story, "");
        stop_guide();
}

// It is no evidence of a removal, but the word of a voter that it names is, if most of those that were known
// name one.
static void who_was_removed_hears_it_from_voters_that_are_named(void **state) {
        start_guide();
        start(2);
        start(4);
        VOTERS(1, 2);
        member_removed[3] = true;
        VOTERS(4, 1, 3); // the second one is not there
        loop_until(host[3].n_failed >= 3);
        loop_for(50);
        assert_string_equal(host[3].story, "");
        VOTERS(4, 1);
        loop_until(story_is(4, "removed "));
        stop_guide();
}

static void an_address_that_is_none_is_told(void **state) {
        MeshPeer peer = {.host = 2, .address = "", .port = 1};

        start(1);
        assert_int_equal(mesh_set_voters(host[0].mesh, &peer, 1), 0);
        assert_int_equal(host[0].n_failed, 0); // never from inside the call
        loop_until(host[0].n_failed == 1);
        assert_string_equal(host[0].failed, "2: its address is not known");
}

// ---- a voter that is not where the log says. Nobody listens on port 9.

// A sanitizer sees whether anything is begun for the link that has just been given up.
static void a_voter_may_be_left_when_its_link_fails(void **state) {
        start_first(2);
        MeshPeer peer = lost_peer(2, "127.0.0.1");
        peer.pin = member[2].pin; // another one answers there
        strcpy(peer.host_name, "127.0.0.2");
        host[0].give_up = true;
        assert_int_equal(mesh_set_voters(host[0].mesh, &peer, 1), 0);
        loop_until(host[0].n_failed == 1);
        assert_int_equal(mesh_links(host[0].mesh, (MeshLinkInfo[1]){}, 1), 0);
}

static void a_voter_is_found_by_its_name(void **state) {
        NEEDS_LOCALHOST();
        start_first(2);
        MeshPeer peer = lost_peer(1, "");
        strcpy(peer.host_name, "localhost");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(story_has(1, "2:up"));
}

static void a_voter_that_was_configured_with_a_name_is_dialled_by_it_first(void **state) {
        NEEDS_LOCALHOST();
        start_first(2);
        MeshPeer peer = lost_peer(1, "127.0.0.9"); // would answer, too
        strcpy(peer.name, "localhost");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(story_has(1, "2:up"));
        assert_int_equal(host[1].n_failed, 0);
}

static void a_voter_is_found_whence_it_dialled(void **state) {
        MeshAddress at;

        start_first(2);
        MeshPeer peer = lost_peer(1, "");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(host[1].n_failed == 1);
        assert_false(mesh_where(host[1].mesh, 1, &at));
        VOTERS(1, 2);
        loop_until(story_has(2, "1:up") && story_has(1, "2:up"));
        assert_true(mesh_where(host[1].mesh, 1, &at)); // the log's connections go there, too
        assert_string_equal(at.text, "127.0.0.1");
        assert_int_equal(at.port, peer.port);
}

static void a_voter_is_found_where_another_one_says(void **state) {
        MeshPeer peers[2];

        start_first(3);
        VOTERS(2, 1, 2);
        peers[0] = lost_peer(1, "");
        peers[1] = lost_peer(2, "127.0.0.1");
        assert_int_equal(mesh_set_voters(host[2].mesh, peers, 2), 0);
        loop_until(story_has(1, "3:up"));
}

// It was still connected when another one said so, and nobody says it again.
static void a_voter_is_found_where_another_one_said_before_the_link_broke(void **state) {
        start_first(3);
        VOTERS(3, 1, 2);
        loop_until(story_has(1, "3:up") && story_has(2, "3:up"));
        listener_close(host[0].listener);
        loop_until(!host[0].listener);
        assert_int_equal(
                listener_new_tcp(&test_loop, 0, member_tls[0], &listener_ops, &host[0], &host[0].listener),
                0);
        VOTERS(2, 1, 2);
        loop_until(story_has(1, "2:up"));
        for (int i = 0; i < 50; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(story_has(1, "3:down"));
        mesh_drop_host(host[0].mesh, 3);
        loop_until(story_has(1, "3:down 3:up"));
}

static void a_voter_is_found_where_somebody_says(void **state) {
        const MeshAddress wrong = {"127.0.0.1", 9};
        MeshAddress right = {"127.0.0.1", 0}, both[2];

        start_first(3);
        right.port = listener_port(host[0].listener);
        both[0] = (MeshAddress){"127.0.0.1", listener_port(host[2].listener)}; // another host
        both[1] = right;
        MeshPeer peer = lost_peer(1, "127.0.0.1");
        peer.port = 9;
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        mesh_try_addresses(host[1].mesh, &wrong, 1);
        loop_until(host[1].n_failed == 1);
        mesh_try_addresses(host[1].mesh, both, 2);
        loop_until(story_has(1, "2:up"));
        assert_int_equal(host[1].n_failed, 1); // what is tried besides is nobody's news
}

// The leader hears where it is now and says so: that is no reason to leave it for a moment.
static void a_voter_that_was_found_is_not_left_when_the_log_learns_its_address(void **state) {
        MeshLinkInfo link;

        start_first(2);
        MeshPeer peer = lost_peer(1, "");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        VOTERS(1, 2);
        loop_until(mesh_links(host[1].mesh, &link, 1) == 1 && link.up);
        new_story(1);
        VOTERS(2, 1);
        for (int i = 0; i < 20; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_string_equal(host[0].story, "");
}

// ---- refused

// In TLS 1.3 whoever dials is done before it is refused. The voter is there, so nobody looks for it.
static void who_is_refused_dials_at_the_pace_of_who_finds_nobody(void **state) {
        MeshAddress other = {"127.0.0.3", 0};
        unsigned failures;

        start_first(2);
        member_trusted[1] = false; // nobody knows it
        MeshPeer peer = lost_peer(1, "127.0.0.1");
        strcpy(peer.host_name, "127.0.0.2"); // it could be found there, too
        other.port = peer.port;
        members_judged = 0;
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        mesh_try_addresses(host[1].mesh, &other, 1);
        loop_for(500);
        assert_string_equal(host[1].failed, "1: the peer refused us: Access was denied");
        failures = CONTAINER_OF(host[1].mesh->links.next, Link, node)->failures;
        assert_in_range(failures, 2, 500 / 8 + 8);    // 16 ms at most, less its jitter
        assert_true(members_judged <= failures + 2); // each dial once; the first probe, and the dial that is
                                                     // under way
}

static void what_is_found_in_vain_is_dialled_no_faster(void **state) {
        MeshAddress other = {"127.0.0.1", 0};
        unsigned before;

        start_first(2);
        MeshPeer peer = lost_peer(1, "127.0.0.9"); // nobody is at that port
        other.port = peer.port;
        peer.port = 9;
        member_trusted[1] = false;
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        mesh_try_addresses(host[1].mesh, &other, 1);
        loop_until(strstr(host[1].failed, "refused us"));
        before = members_judged;
        loop_for(500);
        assert_in_range(members_judged - before, 1, 3 * 500 / 8);
        member_trusted[1] = true; // and it is still dialled there
        loop_until(story_has(1, "2:up"));
}

static void most_voters_say_that_a_host_was_removed(void **state) {
        MeshLinkInfo links[3];

        start_first(4);
        member_trusted[3] = false;
        VOTERS(4, 1, 2, 3);
        loop_until(host[3].n_failed == 3);
        follow(4, 1, 0); // has it look at what all of them have said
        loop_for(50);
        assert_string_equal(host[3].story, ""); // they do not know it, which proves nothing
        member_removed[3] = true;
        loop_until(story_has(4, "removed "));
        loop_for(100);
        assert_string_equal(host[3].story, "removed "); // once
        assert_int_equal(mesh_links(host[3].mesh, links, 3), 3);
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(links[i].refusal, MESH_REFUSED_REMOVED);
}

static void one_voter_of_three_does_not_say_it_for_all(void **state) {
        start(1);
        start(4);
        member_removed[3] = true;
        VOTERS(4, 1, 2, 3); // the others are not there
        loop_until(host[3].n_failed == 3);
        loop_for(100);
        assert_string_equal(host[3].story, "");
        start(2);
        VOTERS(4, 1, 2, 3);
        loop_until(story_is(4, "removed "));
}

// Who was a voter when the host was there last, and is none any more, keeps no log that says who was
// removed.
static void who_only_does_not_know_it_stands_by_who_does(void **state) {
        start_first(2);
        start(4);
        member_trusted[3] = false;
        VOTERS(4, 1, 2);
        loop_until(host[3].n_failed == 2);
        stop(1);
        loop_for(50);
        assert_string_equal(host[3].story, "");
        member_removed[3] = true; // says 2, and 1 cannot be reached: what it said holds
        loop_until(story_is(4, "removed "));
}

static unsigned n_refused;

// The log from which two hosts were removed. They themselves know only what was so before.
static TlsVerdict judge_as_who_removed(const Hash *pin, const char *alpn, void *userdata) {
        bool is_removed = hash_equal(&member[2].pin, pin) || hash_equal(&member[3].pin, pin);

        n_refused += is_removed;
        return is_removed ? TLS_REMOVED : TLS_MEMBER;
}

static void two_that_were_removed_do_not_hold_each_other(void **state) {
        enum { OFTEN = 200 }; // who has been refused so often, and goes on, will not hear it any more
        TlsContext *before[2];

        n_refused = 0;
        for (uint32_t i = 0; i < 2; i++) {
                before[i] = member_tls[i];
                assert_int_equal(tls_context_new(&member[i], judge_as_who_removed, NULL, &member_tls[i]), 0);
        }
        start(3);
        start(4);
        VOTERS(3, 1, 2, 4); // the first two are not there yet
        VOTERS(4, 1, 2, 3);
        loop_until(story_has(3, "4:up ") && story_has(4, "3:up "));
        loop_for(50);
        assert_false(story_has(3, "removed ") || story_has(4, "removed "));
        start_first(2);
        VOTERS(3, 1, 2, 4);
        VOTERS(4, 1, 2, 3);
        loop_until((story_has(3, "removed ") && story_has(4, "removed ")) || n_refused > OFTEN);
        assert_true(story_has(3, "removed ") && story_has(4, "removed "));
        for (uint32_t i = 0; i < 2; i++) {
                stop(i + 1);
                tls_context_unref(member_tls[i]);
                member_tls[i] = before[i];
        }
}

static bool ours = true;
static bool is_ours(const char *address, void *userdata) {
        assert_string_equal(address, "127.0.0.1");
        return ours;
}

static void a_link_from_an_address_that_is_no_longer_ours_is_made_anew(void **state) {
        char local[4][STREAM_ADDRESS_SIZE];

        start_first(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up"));
        lead(1, 1);
        loop_until(story_has(2, "leader=1@1"));
        assert_int_equal(mesh_local_addresses(host[1].mesh, local, 4), 1);
        assert_string_equal(local[0], "127.0.0.1");
        new_story(1);
        ours = true;
        mesh_on_network(host[1].mesh, is_ours, NULL);
        for (int i = 0; i < 20; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(story_has(1, "2:down"));
        ours = false;
        mesh_on_network(host[1].mesh, is_ours, NULL);
        loop_until(story_has(1, "2:down 2:up"));
}

static void too_many_voters_are_refused_whole(void **state) {
        static MeshPeer many[MESH_VOTERS_MAX + 1];

        start(1);
        assert_int_equal(mesh_set_voters(host[0].mesh, many, MESH_VOTERS_MAX + 1), -E2BIG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOOP_TEST(voters_that_are_no_longer_named_are_left),
                LOOP_TEST(voters_may_change_while_they_are_dialled),
                LOOP_TEST(a_voter_that_moved_is_dialled_at_its_new_address),
                LOOP_TEST(the_leader_tells_the_voters_and_tells_them_again),
                LOOP_TEST(a_host_that_was_away_finds_the_new_voters),
                LOOP_TEST(who_votes_no_more_names_those_that_do),
                LOOP_TEST(who_votes_no_more_says_where_those_are_that_do),
                LOOP_TEST(who_votes_no_more_leads_nobody),
                LOOP_TEST(who_was_removed_hears_it_from_voters_that_are_named),
                LOOP_TEST(an_address_that_is_none_is_told),
                LOOP_TEST(a_voter_may_be_left_when_its_link_fails),
                LOOP_TEST(a_voter_is_found_by_its_name),
                LOOP_TEST(a_voter_that_was_configured_with_a_name_is_dialled_by_it_first),
                LOOP_TEST(a_voter_is_found_whence_it_dialled),
                LOOP_TEST(a_voter_is_found_where_another_one_says),
                LOOP_TEST(a_voter_is_found_where_another_one_said_before_the_link_broke),
                LOOP_TEST(a_voter_is_found_where_somebody_says),
                LOOP_TEST(a_voter_that_was_found_is_not_left_when_the_log_learns_its_address),
                LOOP_TEST(who_is_refused_dials_at_the_pace_of_who_finds_nobody),
                LOOP_TEST(what_is_found_in_vain_is_dialled_no_faster),
                LOOP_TEST(most_voters_say_that_a_host_was_removed),
                LOOP_TEST(one_voter_of_three_does_not_say_it_for_all),
                LOOP_TEST(who_only_does_not_know_it_stands_by_who_does),
                LOOP_TEST(two_that_were_removed_do_not_hold_each_other),
                LOOP_TEST(a_link_from_an_address_that_is_no_longer_ours_is_made_anew),
                LOOP_TEST(too_many_voters_are_refused_whole),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
