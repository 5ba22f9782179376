// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sessions of hosts: how one begins, which one counts, what ends it, and who takes slowly.

#include "mesh-words.h"
#include "messages.h"

static void on_older_closed(void *userdata) {
        *(Mesh **) userdata = NULL;
}

static void the_newest_session_of_a_host_wins(void **state) {
        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_is(1, "1:up leader=1@4 2:up "));
        listener_close(host[1].listener);
        loop_until(!host[1].listener);
        // Host 2 again, as after a power cut that the leader's kernel has not noticed.
        Mesh *older = host[1].mesh;
        start(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up 2:down 2:up "));
        mesh_close(older, on_older_closed, &older);
        loop_until(!older);
        // The two have thrown each other out in turn; the one that is left stays.
        loop_until(story_has(2, "ack(5)") || send_ack(&host[0], 2, 5) > 0);
}

// What is found is sent to.
static void a_session_that_has_ended_is_found_by_nobody(void **state) {
        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_is(1, "1:up leader=1@4 2:up "));
        size_t n = host[0].mesh->announced.count;
        stop(2);
        loop_until(story_has(1, "2:down "));
        assert_int_equal(host[0].mesh->announced.count, n - 1);
        assert_int_equal(send_ack(&host[0], 2, 5), -ENOTCONN);
}

typedef struct Raw {
        Stream *stream;
        bool opened, closed;
        int error;
} Raw;

static void raw_opened(Stream *s, void *userdata) {
        ((Raw *) userdata)->opened = true;
}

static int raw_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        return 0;
}

static void raw_closed(Stream *s, int error, void *userdata) {
        *(Raw *) userdata = (Raw){.opened = true, .closed = true, .error = error};
}

static const StreamOps raw_ops = {.opened = raw_opened, .frame = raw_frame, .closed = raw_closed};

static void dial_raw(Raw *raw) {
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(host[0].listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &raw_ops, raw, &raw->stream),
                         0);
        stream_set_frames(raw->stream, FRAME_MAX);
}

static void an_unknown_first_frame_closes(const Argosy__ToVoter *first) {
        Raw raw = {};

        dial_raw(&raw);
        assert_int_equal(stream_send(raw.stream, &first->base), 0);
        loop_until(raw.closed);
        assert_int_equal(raw.error, -ECONNRESET);
        assert_string_equal(host[0].story, "");
}

static void a_first_frame_that_is_not_hello_ends_the_session(void **state) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;

        start(1);
        an_unknown_first_frame_closes(&message); // no message at all
        message.msg_case = ARGOSY__TO_VOTER__MSG_BEAT;
        message.beat = &beat;
        an_unknown_first_frame_closes(&message);
}

static void garbage_ends_the_session(void **state) {
        Raw raw = {};

        start(1);
        dial_raw(&raw);
        assert_int_equal(stream_write(raw.stream, "\0\0\0\3\xff\xff\xff", 7), 0);
        loop_until(raw.closed);
        assert_string_equal(host[0].story, "");
}

static void another_cluster_is_refused_with_the_reason(void **state) {
        static const uint8_t other[16] = "somebody else's ";

        start(1);
        start_as(2, 0, 1, other);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(host[1].n_failed && host[0].n_failed);
        assert_string_equal(host[1].failed, "1: it belongs to another cluster");
        assert_string_equal(host[0].failed, "2: it belongs to another cluster");
        for (int i = 0; i < 20; i++) // it goes on trying, and is told once
                uv_run(&test_loop, UV_RUN_ONCE);
        assert_int_equal(host[0].n_failed, 1);
        assert_string_equal(host[1].story, "");
}

static void generations_meet(void **state) {
        start_as(1, 0, 2, cluster_id); // recovered
        start_as(2, 0, 1, cluster_id); // slept through it
        start_as(3, 0, 3, cluster_id); // saw the next recovery
        lead(1, 4);
        VOTERS(2, 1);
        VOTERS(3, 1);
        loop_until(story_is(2, "leader=1@4 "));
        loop_until(host[2].n_failed);
        assert_non_null(strstr(host[2].failed, "recovered without this voter"));
        assert_string_equal(host[2].story, "");
}

static void a_removed_host_hears_why_before_its_session_ends(void **state) {
        Argosy__ToHost__Removed removed = MESSAGE_OF(to_host__removed, .why = (char *) "retired");
        Argosy__ToHost message = TO_HOST_OF(REMOVED, removed, &removed);

        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader=1@4 "));
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), 0);
        mesh_drop_host(host[0].mesh, 2);
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), -ENOTCONN);
        loop_until(story_has(2, "removed(retired) leader=0@0 "));
        loop_until(story_has(1, "2:down "));
}

static void our_own_agent_can_be_dropped_like_any_other(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        assert_int_equal(attach(1, 9), 0);
        mesh_drop_host(host[0].mesh, 1);
        loop_until(story_is(1, "1:down 1:up leader=1@2 "));
        assert_int_equal(attach(1, 10), 0);
        loop_until(story_is(1, "1:down 1:up leader=1@2 1:attach(10) "));
}

static bool knows_all_but_two(uint32_t number, const Hash *pin, void *userdata) {
        return number != 2 && hash_equal(pin, &member[number - 1].pin);
}

static void who_is_no_member_any_more_loses_its_session(void **state) {
        start_first(3);
        VOTERS(2, 1);
        VOTERS(3, 1);
        loop_until(story_has(1, "2:up") && story_has(1, "3:up"));
        new_story(1);
        member_trusted[1] = false;
        mesh_recheck(host[0].mesh, knows_all_but_two, NULL);
        loop_until(story_is(1, "2:down "));
        loop_until(host[1].n_failed > 1); // the handshake refuses it from now on
        assert_non_null(strstr(host[1].failed, "Access was denied"));
        assert_string_equal(host[0].story, "2:down ");
        member_trusted[1] = true;
}

static void a_host_that_takes_nothing_is_cut_and_comes_back(void **state) {
        static uint8_t content[8 * 1024 * 1024];
        int r = 0;

        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader=1@4 "));
        new_story(1);
        new_story(2);
        Argosy__Spec spec = MESSAGE_OF(spec, .content = (ProtobufCBinaryData){sizeof(content), content}),
                     *specs[] = {&spec};
        Argosy__ToHost__Welcome welcome = MESSAGE_OF(to_host__welcome, .specs = specs, .n_specs = 1);
        Argosy__ToHost message = TO_HOST_OF(WELCOME, welcome, &welcome);
        for (int i = 0; i < 20 && r == 0; i++) // within one turn: nothing is taken
                r = mesh_to_host(host[0].mesh, 2, &message);
        assert_int_equal(r, -ENOBUFS);
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), -ENOTCONN);
        loop_until(story_has(1, "2:down 2:up "));
        loop_until(story_has(2, "leader=0@0 leader=1@4 "));
}

static void who_has_much_to_say_hears_when_it_was_taken(void **state) {
        _cleanup_free_ char *text = calloc(1, STREAM_LOW_WATER + 1);

        memset(text, 'x', STREAM_LOW_WATER);
        Argosy__ToHost__Removed removed = MESSAGE_OF(to_host__removed, .why = text);
        Argosy__ToHost message = TO_HOST_OF(REMOVED, removed, &removed);
        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(1, "leader=1@4 "));
        for (uint32_t to = 1; to <= 2; to++) {
                unsigned before = host[0].n_drained;

                assert_int_equal(send_ack(&host[0], to, 1), 0);
                assert_false(mesh_host_is_full(host[0].mesh, to));
                assert_int_equal(mesh_to_host(host[0].mesh, to, &message), 0);
                assert_true(mesh_host_is_full(host[0].mesh, to));
                loop_until(host[0].n_drained > before);
                assert_int_equal(host[0].drained, to);
                assert_false(mesh_host_is_full(host[0].mesh, to));
        }
}

static void who_has_much_to_say_to_the_leader_hears_when_it_was_taken(void **state) {
        _cleanup_free_ char *text = calloc(1, STREAM_LOW_WATER + 1);
        _cleanup_buf_ Buf frame = {};

        memset(text, 'x', STREAM_LOW_WATER);
        Argosy__ToVoter__Attach attach = ATTACH_OF(.seq = 7, .name = text);
        Argosy__ToVoter message = TO_VOTER_OF(ATTACH, attach, &attach);
        assert_int_equal(frame_pack(&message.base, FRAME_MAX, &frame), 0);
        start_first(2);
        assert_int_equal(mesh_to_leader_frame(host[1].mesh, &frame), -ENOTCONN);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader=1@4 "));
        assert_false(mesh_leader_is_full(host[1].mesh));
        assert_int_equal(mesh_to_leader_frame(host[1].mesh, &frame), 0);
        assert_true(mesh_leader_is_full(host[1].mesh));
        loop_until(host[1].n_leader_drained == 1);
        assert_false(mesh_leader_is_full(host[1].mesh));
        loop_until(story_has(1, "2:attach(7) "));
}

// ---- certificates

static void trust_next_ca_only(void) {
        assert_int_equal(ca_create(&next_ca), 0);
        assert_int_equal(tls_context_set_cas(member_tls[0], &next_ca.cert, 1), 0);
}

static void trust_whoever_it_is(void) {
        assert_int_equal(tls_context_set_cas(member_tls[0], NULL, 0), 0);
        ca_done(&next_ca);
}

static void who_has_a_certificate_of_a_former_ca_is_let_in_for_another_one(void **state) {
        trust_next_ca_only();
        start_first(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader"));
        assert_true(story_is(1, "1:up leader=1@4 2:renew 2:up "));
        assert_string_equal(host[1].story, "renewed leader=1@4 ");
        trust_whoever_it_is();
}

// Nothing else comes through, not even from who has shown no will to renew.
static void who_does_not_renew_its_certificate_is_not_let_in(void **state) {
        trust_next_ca_only();
        start(1);
        start(3);
        host[2].does_not_renew = true;
        lead(1, 4);
        VOTERS(3, 1);
        loop_until(host[2].n_failed > 0);
        assert_string_equal(host[2].failed, "1: its certificate is of a CA that this cluster does not have: "
                                            "it may only ask for another one");
        assert_true(story_is(1, "1:up leader=1@4 "));
        assert_true(story_is(3, ""));
        assert_int_equal(host[0].n_failed, 1); // told once
        host[2].does_not_renew = false;
        loop_until(story_has(1, "3:up"));
        trust_whoever_it_is();
}

static void a_voter_that_cannot_sign_lets_nobody_in(void **state) {
        trust_next_ca_only();
        buf_wipe(&next_ca.key);
        start(1);
        start(4);
        VOTERS(4, 1);
        loop_until(story_has(1, "4:renew 4:renew"));
        assert_false(story_has(1, "4:up"));
        trust_whoever_it_is();
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOOP_TEST(the_newest_session_of_a_host_wins),
                LOOP_TEST(a_session_that_has_ended_is_found_by_nobody),
                LOOP_TEST(a_first_frame_that_is_not_hello_ends_the_session),
                LOOP_TEST(garbage_ends_the_session),
                LOOP_TEST(another_cluster_is_refused_with_the_reason),
                LOOP_TEST(generations_meet),
                LOOP_TEST(a_removed_host_hears_why_before_its_session_ends),
                LOOP_TEST(our_own_agent_can_be_dropped_like_any_other),
                LOOP_TEST(who_is_no_member_any_more_loses_its_session),
                LOOP_TEST(a_host_that_takes_nothing_is_cut_and_comes_back),
                LOOP_TEST(who_has_much_to_say_hears_when_it_was_taken),
                LOOP_TEST(who_has_much_to_say_to_the_leader_hears_when_it_was_taken),
                LOOP_TEST(who_has_a_certificate_of_a_former_ca_is_let_in_for_another_one),
                LOOP_TEST(who_does_not_renew_its_certificate_is_not_let_in),
                LOOP_TEST(a_voter_that_cannot_sign_lets_nobody_in),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
