// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stream-words.h"

// ---- what members see of each other

static void members_know_each_other_by_their_keys(void **state) {
        connect_both();
        assert_memory_equal(&stream_peer(acceptor.stream)->pin, &member[1].pin, sizeof(Hash));
        assert_memory_equal(&stream_peer(dialler.stream)->pin, &member[0].pin, sizeof(Hash));
        assert_string_equal(stream_peer(acceptor.stream)->alpn, ALPN_MESH);
        assert_string_equal(stream_peer(acceptor.stream)->address, "127.0.0.1");
        assert_false(stream_peer(acceptor.stream)->cert_expired);
}

static void frames_arrive_whole_and_in_order(void **state) {
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, &member[0].pin);
        for (unsigned i = 0; i < 1000; i++) // some of them before it is open
                send_beat(dialler.stream, 300);
        loop_until(acceptor.n_frames == 1000);
        assert_int_equal(acceptor.got.len, 1000 * 5);
}

static void a_member_with_another_key_than_expected_is_left(void **state) {
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, &member[2].pin);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -EACCES);
        assert_string_equal(dialler.why, "the peer has another key than the one known for it");
        assert_int_equal(dialler.n_opened, 0);
        loop_until(n_refused || acceptor.n_closed);
}

static void a_key_that_is_not_a_members_is_refused_and_told(void **state) {
        member_trusted[1] = false;
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, &member[0].pin);
        loop_until(dialler.n_closed && n_refused);
        assert_int_equal(dialler.error, -EACCES);
        assert_string_equal(dialler.why, "the peer refused us: Access was denied");
        assert_string_equal(refused_why, "the peer has a key that is not known as a member's");
        assert_null(acceptor.stream);
}

static void a_stranger_gets_in_for_joining_only(void **state) {
        Hash ca = hash_of(member[0].ca_cert.data, member[0].ca_cert.len);
        TlsContext *stranger;

        assert_int_equal(tls_context_new_joiner(&ca, &stranger), 0);
        listen_as(0);
        dial_as(stranger, ALPN_JOIN, NULL);
        loop_until(dialler.n_opened && acceptor.stream);
        assert_string_equal(stream_peer(acceptor.stream)->alpn, ALPN_JOIN);
        assert_true(hash_is_zero(&stream_peer(acceptor.stream)->pin));
        close_end(&dialler);
        loop_until(!acceptor.stream);

        dial_as(stranger, ALPN_MESH, NULL);
        loop_until(dialler.n_closed == 2 && n_refused);
        assert_string_equal(refused_why, "the peer shows no certificate");
        tls_context_unref(stranger);
}

static void a_joiner_leaves_a_cluster_that_is_not_the_tokens(void **state) {
        Hash other = hash_of("another CA", 10);
        TlsContext *stranger;

        assert_int_equal(tls_context_new_joiner(&other, &stranger), 0);
        listen_as(0);
        dial_as(stranger, ALPN_JOIN, NULL);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -EACCES);
        assert_string_equal(dialler.why, "the peer belongs to another cluster than the join token");
        tls_context_unref(stranger);
        loop_until(n_refused || acceptor.n_closed);
}

static void nobody_listens(void **state) {
        listen_as(0);
        uint16_t port = listener_port(listener);

        listener_close(listener);
        loop_until(listener_gone);
        listener = NULL;
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", port, NULL, NULL, NULL, &end_ops, &dialler,
                                     &dialler.stream),
                         0);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -ECONNREFUSED);
        assert_string_equal(dialler.why, "cannot connect: Connection refused");
}

static void dial_name(const char *name) {
        assert_int_equal(stream_dial(&test_loop, name, listener_port(listener), member_tls[1], ALPN_MESH,
                                     &member[0].pin, &end_ops, &dialler, &dialler.stream),
                         0);
}

static void names_are_looked_up(void **state) {
        char local[STREAM_ADDRESS_SIZE];

        NEEDS_LOCALHOST();
        listen_as(0);
        dial_name("localhost");
        assert_false(stream_local_address(dialler.stream, local));
        loop_until(dialler.n_opened == 1);
        assert_int_equal(host_address_kind(stream_peer(dialler.stream)->address), HOST_ADDRESS_LOOPBACK);
        assert_true(stream_local_address(dialler.stream, local));
        assert_string_equal(local, stream_peer(dialler.stream)->address);
}

static void a_name_that_nobody_has_fails_like_an_address(void **state) {
        listen_as(0);
        dial_name("no-such-host.invalid");
        assert_int_equal(dialler.n_closed, 0); // never from inside the call
        loop_until(dialler.n_closed == 1);
        assert_int_equal(dialler.error, -EADDRNOTAVAIL);
        assert_non_null(strstr(dialler.why, "the name was not found"));
}

static void closing_while_a_name_is_looked_up(void **state) {
        Stream *s;

        listen_as(0);
        dial_name("localhost");
        stream_close(dialler.stream, -ECANCELED, false);
        loop_until(dialler.n_closed == 1);
        assert_int_equal(dialler.error, -ECANCELED);
        loop_until(test_loop.active_reqs.count == 0); // the look-up may outlive the stream
        assert_int_equal(stream_dial(&test_loop, "", 1, NULL, NULL, NULL, &end_ops, &dialler, &s), -EINVAL);
}

// ---- limits and ends

static void long_messages_come_in_their_order(void **state) {
        connect_for_messages();
        send_beat(dialler.stream, 1);
        send_long(dialler.stream, 20000);
        send_beat(dialler.stream, 2);
        send_long(dialler.stream, 30000);
        send_long(dialler.stream, 100);
        send_beat(dialler.stream, 3);
        loop_until(acceptor.n_messages == 6);
        assert_int_equal(acceptor.seqs[0], 1);
        assert_int_equal(acceptor.seqs[1], LONG_ONE + 20000);
        assert_int_equal(acceptor.seqs[2], 2);
        assert_int_equal(acceptor.seqs[3], LONG_ONE + 30000);
        assert_int_equal(acceptor.seqs[4], LONG_ONE + 100);
        assert_int_equal(acceptor.seqs[5], 3);
        send_beat(dialler.stream, 4); // and it reads on
        loop_until(acceptor.n_messages == 7);
}

static void a_packed_frame_is_handed_on_in_its_order(void **state) {
        connect_for_messages();
        Stream *s = dialler.stream;
        send_wait(s, 20000, true);
        assert_int_equal(s->queue.len, s->queue.allocated); // what was packed, and no copy
        send_beat(s, 1);
        send_beat(s, 2);
        send_wait(s, 30000, true);
        send_wait(s, 100, true);
        send_beat(s, 3);
        assert_int_equal(stream_queued(s), s->queue.len + s->n_behind);
        loop_until(acceptor.n_messages == 6);
        assert_int_equal(acceptor.seqs[0], LONG_ONE + 20000);
        assert_int_equal(acceptor.seqs[1], 1);
        assert_int_equal(acceptor.seqs[2], 2);
        assert_int_equal(acceptor.seqs[3], LONG_ONE + 30000);
        assert_int_equal(acceptor.seqs[4], LONG_ONE + 100);
        assert_int_equal(acceptor.seqs[5], 3);
        assert_int_equal(stream_queued(s), 0);
        send_beat(s, 4);
        loop_until(acceptor.n_messages == 7);
        send_wait(s, 30000, true); // and what is left goes with the stream
        send_beat(s, 5);
}

// So more of it is never a copy of all that waits, and what has gone is given back.
static void what_waits_is_in_chunks_and_comes_in_its_order(void **state) {
        enum { FRAMES = 20, UNITS = 10000, CHUNK_MOST = 2 * 1024 * 1024 };
        size_t n_bytes = 0;

        connect_for_messages();
        Stream *s = dialler.stream;
        for (unsigned i = 0; i < FRAMES; i++)
                send_long(s, UNITS + i);
        n_bytes = s->queue.len;
        assert_true(s->queue.allocated <= CHUNK_MOST);
        list_foreach (n, &s->behind) {
                const Buf *chunk = (const Buf *) (n + 1);

                assert_true(chunk->allocated <= CHUNK_MOST);
                n_bytes += chunk->len;
        }
        assert_true(n_bytes > 3 * CHUNK_MOST);
        assert_int_equal(n_bytes, stream_queued(s));
        loop_until(acceptor.n_messages == FRAMES);
        for (unsigned i = 0; i < FRAMES; i++)
                assert_int_equal(acceptor.seqs[i], LONG_ONE + UNITS + i);
        assert_int_equal(stream_queued(s), 0);
        assert_int_equal(dialler.n_drained, 1);
}

static void a_packed_frame_that_is_not_taken_stays_whose_it_was(void **state) {
        _cleanup_buf_ Buf frame = {};

        connect_for_messages();
        assert_int_equal(buf_append(&frame, "\0\0\0\0", 4), 0);
        stream_close(dialler.stream, 0, true);
        assert_int_equal(stream_send_frame(dialler.stream, &frame), -ENOTCONN);
        assert_int_equal(frame.len, 4);
}

static void count_turn(uv_check_t *check) {
        ++*(unsigned *) check->data;
}

static void a_long_message_does_not_hold_the_loop(void **state) {
        static uv_check_t turns;
        static unsigned n;
        unsigned read_by;

        assert_int_equal(uv_check_init(&test_loop, &turns), 0);
        turns.data = &n;
        n = 0;
        connect_for_messages();
        send_long(dialler.stream, 20000);
        loop_until(acceptor.stream && stream_queued(dialler.stream) == 0);
        assert_int_equal(uv_check_start(&turns, count_turn), 0);
        read_by = acceptor.n_messages;
        loop_until(acceptor.n_messages == 1);
        assert_int_equal(read_by, 0);
        assert_true(n > 0);
        uv_close((uv_handle_t *) &turns, NULL);
}

static void a_long_message_that_is_none_ends_the_stream(void **state) {
        static uint8_t nonsense[FRAME_HEADER_SIZE + 1024 * 1024] = {0, 0x10, 0, 0};

        memset(nonsense + FRAME_HEADER_SIZE, 0xff, sizeof(nonsense) - FRAME_HEADER_SIZE);
        connect_for_messages();
        assert_int_equal(stream_write(dialler.stream, nonsense, sizeof(nonsense)), 0);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.error, -EBADMSG);
        assert_int_equal(acceptor.n_messages, 0);
}

static void a_pause_keeps_a_long_message(void **state) {
        connect_for_messages();
        send_beat(dialler.stream, 1);
        send_long(dialler.stream, 20000);
        send_long(dialler.stream, 20000);
        send_beat(dialler.stream, 2);
        acceptor.pause_on_frame = true;
        for (unsigned i = 1; i <= 4; i++) {
                loop_until(acceptor.n_messages == i);
                for (unsigned turns = 0; turns < 100; turns++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                assert_int_equal(acceptor.n_messages, i);
                stream_pause(acceptor.stream, false);
        }
        assert_int_equal(acceptor.seqs[3], 2);
}

// Whatever the pool is about then.
static void closing_with_long_messages_under_way(void **state) {
        for (unsigned flush = 0; flush < 2; flush++) {
                connect_for_messages();
                send_long(dialler.stream, 50000);
                loop_until(stream_queued(dialler.stream) == 0);
                stream_close(acceptor.stream, -ECANCELED, flush);
                loop_until(acceptor.n_closed);
                assert_int_equal(acceptor.n_messages, 0);
                loop_until(dialler.n_closed);
                listener_close(listener);
                loop_until(listener_gone);
                listener_gone = false;
                listener = NULL;
                dialler = acceptor = (End){};
        }
}

static uv_sem_t may_end;

static void wait_for_the_test(PoolWork *w) {
        uv_sem_wait(&may_end);
}

static void on_waited(PoolWork *w) {
        w->of = w; // it has
}

// Until then the owner keeps what he counts of it, so whoever closes at once has no more than others.
static void who_closes_is_there_until_the_pool_has_let_go_of_his_message(void **state) {
        static PoolWork busy[POOL_OURS];

        memset(busy, 0, sizeof(busy));
        assert_int_equal(uv_sem_init(&may_end, 0), 0);
        connect_for_messages();
        for (size_t i = 0; i < ELEMENTSOF(busy); i++)
                pool_add(&test_loop, &busy[i], POOL_CLUSTER, wait_for_the_test, on_waited);
        send_long(dialler.stream, 50000);
        loop_until(acceptor.stream->unpack);
        stream_close(acceptor.stream, -ECANCELED, false);
        loop_until(dialler.n_closed);
        for (unsigned turns = 0; turns < 100; turns++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(acceptor.n_closed, 0);
        for (size_t i = 0; i < ELEMENTSOF(busy); i++)
                uv_sem_post(&may_end);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.n_messages, 0);
        for (size_t i = 0; i < ELEMENTSOF(busy); i++)
                loop_until(busy[i].of);
        uv_sem_destroy(&may_end);
}

static void the_end_comes_behind_a_long_message(void **state) {
        connect_for_messages();
        send_long(dialler.stream, 20000);
        stream_close(dialler.stream, 0, true);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.error, -ECONNRESET);
        assert_int_equal(acceptor.n_messages, 1);
}

// ---- the local socket

static void unix_peers_are_known_by_their_user(void **state) {
        char path[] = "/tmp/argosy-test-XXXXXX", socket_path[64];
        int fd;

        assert_non_null(mkdtemp(path));
        snprintf(socket_path, sizeof(socket_path), "%s/s", path);
        assert_int_equal(listener_bind_unix(socket_path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(listener_new_unix(&test_loop, fd, &listener_ops, NULL, &listener), 0);
        assert_int_equal(stream_dial_unix(&test_loop, socket_path, &end_ops, &dialler, &dialler.stream), 0);
        loop_until(dialler.n_opened && acceptor.stream);
        assert_int_equal(stream_peer(acceptor.stream)->uid, getuid());
        assert_int_equal(stream_peer(acceptor.stream)->pid, getpid());
        assert_int_equal(stream_peer(dialler.stream)->uid, getuid());
        send_beat(dialler.stream, 7);
        loop_until(acceptor.n_frames == 1);

        listener_close(listener); // streams that were taken live on
        loop_until(listener_gone);
        listener = NULL;
        send_beat(dialler.stream, 8);
        loop_until(acceptor.n_frames == 2);

        // What a dead process left behind is replaced; anything else is not.
        assert_int_equal(listener_bind_unix(socket_path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(listener_bind_unix(socket_path, 0600, (gid_t) -1, &(int){0}), -EADDRINUSE);
        close(fd);
        unlink(socket_path);
        assert_int_equal(mkdir(socket_path, 0700), 0);
        assert_int_equal(listener_bind_unix(socket_path, 0600, (gid_t) -1, &fd), -EEXIST);
        rmdir(socket_path);
        rmdir(path);
}

static void frames_come_byte_by_byte(void **state) {
        static const uint8_t bytes[] = {0, 0, 0, 2, 'h', 'i', 0, 0, 0, 0, 0, 0, 0, 1, '!'};
        char path[] = "/tmp/argosy-test-XXXXXX", socket_path[64];
        int fd;

        assert_non_null(mkdtemp(path));
        snprintf(socket_path, sizeof(socket_path), "%s/s", path);
        assert_int_equal(listener_bind_unix(socket_path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(listener_new_unix(&test_loop, fd, &listener_ops, NULL, &listener), 0);
        assert_int_equal(stream_dial_unix(&test_loop, socket_path, &end_ops, &dialler, &dialler.stream), 0);
        loop_until(dialler.n_opened && acceptor.stream);
        for (size_t i = 0; i < sizeof(bytes); i++) {
                assert_int_equal(stream_write(dialler.stream, bytes + i, 1), 0);
                loop_until(stream_queued(dialler.stream) == 0);
                uv_run(&test_loop, UV_RUN_NOWAIT);
        }
        loop_until(acceptor.n_frames == 3);
        assert_int_equal(acceptor.got.len, 3);
        assert_memory_equal(acceptor.got.data, "hi!", 3);
        unlink(socket_path);
        rmdir(path);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                LOOP_TEST(members_know_each_other_by_their_keys),
                LOOP_TEST(frames_arrive_whole_and_in_order),
                LOOP_TEST(a_member_with_another_key_than_expected_is_left),
                LOOP_TEST(a_key_that_is_not_a_members_is_refused_and_told),
                LOOP_TEST(a_stranger_gets_in_for_joining_only),
                LOOP_TEST(a_joiner_leaves_a_cluster_that_is_not_the_tokens),
                LOOP_TEST(nobody_listens),
                LOOP_TEST(names_are_looked_up),
                LOOP_TEST(a_name_that_nobody_has_fails_like_an_address),
                LOOP_TEST(closing_while_a_name_is_looked_up),
                LOOP_TEST(long_messages_come_in_their_order),
                LOOP_TEST(a_packed_frame_is_handed_on_in_its_order),
                LOOP_TEST(what_waits_is_in_chunks_and_comes_in_its_order),
                LOOP_TEST(a_packed_frame_that_is_not_taken_stays_whose_it_was),
                LOOP_TEST(a_long_message_does_not_hold_the_loop),
                LOOP_TEST(a_long_message_that_is_none_ends_the_stream),
                LOOP_TEST(a_pause_keeps_a_long_message),
                LOOP_TEST(closing_with_long_messages_under_way),
                LOOP_TEST(who_closes_is_there_until_the_pool_has_let_go_of_his_message),
                LOOP_TEST(the_end_comes_behind_a_long_message),
                LOOP_TEST(unix_peers_are_known_by_their_user),
                LOOP_TEST(frames_come_byte_by_byte),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
