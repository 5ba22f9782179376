// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"
#include "members.h"

#include <sys/stat.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "frame.h"
#include "host-address.h"
#include "localhost.h"
#include "pool.h"
#include "stream-internal.h"

enum { LONG_ONE = 1000000 };

// One end of a connection, and what happened to it.
typedef struct End {
        Stream *stream; // NULL when closed
        unsigned n_opened, n_closed, n_drained;
        int error;
        char why[200];
        Buf got; // payloads or bytes, one behind the other
        unsigned n_frames;
        bool close_on_frame, close_on_open, pause_on_frame;
        uint64_t seqs[64]; // of its messages: of a Beat, or LONG_ONE + how many units a Wait is for
        unsigned n_messages;
        int answer; // what frame() returns
        unsigned busy_us; // with each message
} End;

static End dialler, acceptor, second; // `second`: of whoever is accepted beside the first
static Listener *listener;
static bool listener_gone;
static unsigned n_refused;
static char refused_why[200];

static void end_opened(Stream *s, void *userdata) {
        End *e = userdata;

        e->n_opened++;
        if (e->close_on_open)
                stream_close(s, 0, false);
}

static int end_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        End *e = userdata;

        e->n_frames++;
        assert_int_equal(buf_append(&e->got, payload, len), 0);
        if (e->close_on_frame)
                stream_close(s, -ECANCELED, false);
        if (e->pause_on_frame)
                stream_pause(s, true);
        return e->answer;
}

static int end_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return end_frame(s, data, len, userdata);
}

static void be_busy(unsigned us) {
        uint64_t until_ns = uv_hrtime() + us * UINT64_C(1000);

        while (uv_hrtime() < until_ns)
                ;
}

static int end_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        const Argosy__ToVoter *m = (const Argosy__ToVoter *) message;
        End *e = userdata;

        be_busy(e->busy_us);

        assert_true(e->n_messages < ELEMENTSOF(e->seqs));
        e->seqs[e->n_messages++] =
                m->msg_case == ARGOSY__TO_VOTER__MSG_BEAT                                     ? m->beat->seq
                : m->forward->request->what_case == ARGOSY__REQUEST__WHAT_WAIT ? LONG_ONE + m->forward->request->wait->n_items
                                                                               : 0;
        if (e->close_on_frame)
                stream_close(s, -ECANCELED, false);
        if (e->pause_on_frame)
                stream_pause(s, true);
        return e->answer;
}

static void end_drained(Stream *s, void *userdata) {
        ((End *) userdata)->n_drained++;
}

static void end_closed(Stream *s, int error, void *userdata) {
        End *e = userdata;

        e->n_closed++;
        e->error = error;
        snprintf(e->why, sizeof(e->why), "%s", stream_error_text(s));
        e->stream = NULL;
}

static const StreamOps end_ops = {.opened = end_opened,
                                  .frame = end_frame,
                                  .message = end_message,
                                  .data = end_data,
                                  .drained = end_drained,
                                  .closed = end_closed};

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        End *e = acceptor.stream ? &second : &acceptor;

        assert_null(e->stream);
        e->stream = s;
        stream_set_owner(s, &end_ops, e);
        stream_set_frames(s, FRAME_MAX);
        if (e->close_on_open)
                stream_close(s, 0, false);
}

static void on_refused(Listener *l, const StreamPeer *peer, const char *why, void *userdata) {
        n_refused++;
        snprintf(refused_why, sizeof(refused_why), "%s", why);
}

static void on_listener_closed(Listener *l, void *userdata) {
        listener_gone = true;
}

static const ListenerOps listener_ops = {on_accepted, on_refused, on_listener_closed};

static void listen_as(size_t i) {
        assert_int_equal(listener_new_tcp(&test_loop, 0, member_tls[i], &listener_ops, NULL, &listener), 0);
}

static void dial_as(TlsContext *tls, const char *alpn, const Hash *expect) {
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), tls, alpn, expect,
                                     &end_ops, &dialler, &dialler.stream),
                         0);
        stream_set_frames(dialler.stream, FRAME_MAX);
}

static int setup(void **state) {
        assert_int_equal(loop_setup(state), 0);
        dialler = acceptor = second = (End){};
        listener = NULL;
        n_refused = 0;
        listener_gone = false;
        for (size_t i = 0; i < MEMBERS_MAX; i++)
                member_trusted[i] = true;
        return 0;
}

static void close_end(End *e) {
        if (e->stream)
                stream_close(e->stream, 0, false);
        loop_until(!e->stream);
        buf_done(&e->got);
}

static int teardown(void **state) {
        if (listener) {
                listener_close(listener);
                loop_until(listener_gone);
        }
        close_end(&dialler);
        close_end(&acceptor);
        close_end(&second);
        return loop_teardown(state);
}

static void connect_both(void) {
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, &member[0].pin);
        loop_until(dialler.n_opened && acceptor.stream);
}

static Argosy__ToVoter beat_of(Argosy__ToVoter__Beat *beat, uint64_t seq) {
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        argosy__to_voter__beat__init(beat);
        beat->seq = seq;
        m.msg_case = ARGOSY__TO_VOTER__MSG_BEAT;
        m.beat = beat;
        return m;
}

static void send_beat(Stream *s, uint64_t seq) {
        Argosy__ToVoter__Beat beat;
        Argosy__ToVoter m = beat_of(&beat, seq);

        assert_int_equal(stream_send(s, &m.base), 0);
}

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

// A Wait that takes a while to unpack. `packed`: by whoever sends it.
static void send_wait(Stream *s, size_t n, bool packed) {
        _cleanup_buf_ Buf frame = {};
        Argosy__Request__Wait__Item item = ARGOSY__REQUEST__WAIT__ITEM__INIT, **items = calloc(n, sizeof(*items));
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        assert_non_null(items);
        item.name = (char *) "a-unit-of-some-length@1.service";
        item.revision = 1;
        for (size_t i = 0; i < n; i++)
                items[i] = &item;
        wait.items = items;
        wait.n_items = n;
        request.what_case = ARGOSY__REQUEST__WHAT_WAIT;
        request.wait = &wait;
        forward.request = &request;
        m.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        m.forward = &forward;
        if (packed) {
                assert_int_equal(frame_pack(&m.base, FRAME_MAX, &frame), 0);
                assert_int_equal(frame.allocated, frame.len);
                assert_int_equal(stream_send_frame(s, &frame), 0);
                assert_null(frame.data);
        } else
                assert_int_equal(stream_send(s, &m.base), 0);
        free(items);
}

static void send_long(Stream *s, size_t n) {
        send_wait(s, n, false);
}

static void connect_for_messages(void) {
        connect_both();
        stream_set_messages(acceptor.stream, &argosy__to_voter__descriptor, FRAME_MAX);
}

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
        Stream *s;

        connect_for_messages();
        s = dialler.stream;
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
        Stream *s;

        connect_for_messages();
        s = dialler.stream;
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
        Buf frame = {};

        connect_for_messages();
        assert_int_equal(buf_append(&frame, "\0\0\0\0", 4), 0);
        stream_close(dialler.stream, 0, true);
        assert_int_equal(stream_send_frame(dialler.stream, &frame), -ENOTCONN);
        assert_int_equal(frame.len, 4);
        buf_done(&frame);
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

// ---- what members may take of a turn, and of the memory

static unsigned most_in_a_turn, before_the_turn;

static void count_messages(uv_check_t *check) {
        most_in_a_turn = MAX_OF(most_in_a_turn, acceptor.n_messages - before_the_turn);
        before_the_turn = acceptor.n_messages;
}

// Messages of 3 KiB, each of which keeps whoever gets it busy for half a millisecond.
static void send_burst(unsigned n) {
        acceptor.busy_us = 500;
        for (unsigned i = 0; i < n; i++)
                send_long(dialler.stream, 90);
}

static void a_burst_of_messages_leaves_the_turn_to_others(void **state) {
        static uv_check_t turns;

        most_in_a_turn = before_the_turn = 0;
        assert_int_equal(uv_check_init(&test_loop, &turns), 0);
        assert_int_equal(uv_check_start(&turns, count_messages), 0);
        connect_for_messages();
        send_burst(60);
        loop_until(acceptor.n_messages == 60);
        assert_in_range(most_in_a_turn, 1, 12); // what waited and what was read: twice 2 ms, and a message each
        send_beat(dialler.stream, 7);           // and it reads on
        loop_until(acceptor.n_messages == 61);
        uv_close((uv_handle_t *) &turns, NULL);
}

static void a_beat_does_not_wait_for_the_burst_of_another_member(void **state) {
        End other = {};

        connect_for_messages();
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1], ALPN_MESH, &member[0].pin, &end_ops, &other,
                                     &other.stream),
                         0);
        loop_until(second.stream && other.n_opened);
        stream_set_messages(second.stream, &argosy__to_voter__descriptor, FRAME_MAX);
        send_burst(60);
        loop_until(acceptor.n_messages > 0);
        send_beat(other.stream, 1);
        loop_until(second.n_messages == 1);
        assert_true(acceptor.n_messages < 50);
        loop_until(acceptor.n_messages == 60);
        stream_close(other.stream, 0, false);
        loop_until(!other.stream);
}

static void closing_while_a_burst_waits(void **state) {
        connect_for_messages();
        send_burst(60);
        loop_until(acceptor.n_messages > 0);
        stream_close(acceptor.stream, -ECANCELED, false);
        loop_until(acceptor.n_closed && dialler.n_closed);
        assert_true(acceptor.n_messages < 60);
}

// A Forward of so many patterns of no length, each of two bytes.
static void send_amplified(Stream *s, size_t n) {
        _cleanup_free_ char **patterns = calloc(n, sizeof(*patterns));
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__ToVoter m = ARGOSY__TO_VOTER__INIT;

        assert_non_null(patterns);
        for (size_t i = 0; i < n; i++)
                patterns[i] = (char *) protobuf_c_empty_string;
        list.patterns = patterns;
        list.n_patterns = n;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        forward.request = &request;
        m.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        m.forward = &forward;
        assert_int_equal(stream_send(s, &m.base), 0);
}

static void a_short_frame_that_becomes_large_is_the_pools(void **state) {
        connect_for_messages();
        send_amplified(dialler.stream, 40000);
        loop_until(acceptor.stream->unpack || acceptor.n_messages);
        assert_int_equal(acceptor.n_messages, 0);
}

static void a_message_that_takes_too_much_memory_is_not_unpacked(void **state) {
        connect_for_messages();
        stream_set_cost_max(acceptor.stream, 8 * 1024 * 1024);
        send_long(dialler.stream, 20000); // 3 MiB
        send_long(dialler.stream, 20000); // which wait until the former are free
        send_beat(dialler.stream, 1);
        loop_until(acceptor.n_messages == 3);
        send_amplified(dialler.stream, 400000); // 800 KB that become 25 MiB
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.n_messages, 3);
        assert_int_equal(acceptor.error, -EBADMSG);
}

static void a_long_frame_gets_its_place_at_once(void **state) {
        static uint8_t half[FRAME_HEADER_SIZE + 300000] = {0, 0x80, 0, 0}; // of 8 MiB

        connect_for_messages();
        assert_int_equal(stream_write(dialler.stream, half, sizeof(half)), 0);
        loop_until(acceptor.stream->plain_in.len == sizeof(half));
        assert_int_equal(acceptor.stream->plain_in.allocated, FRAME_HEADER_SIZE + 8 * 1024 * 1024 + STREAM_READ_SIZE);
}

static int end_unpacks(Stream *s, size_t bytes, void *userdata) {
        return 0;
}

// Who is a guest may announce as much as he likes. From then on nothing is copied again and again, and what has not come takes no memory.
static void a_guest_s_long_frame_gets_its_place_when_some_of_it_has_come(void **state) {
        static uint8_t half[FRAME_HEADER_SIZE + 300000] = {0, 0x80, 0, 0}; // of 8 MiB
        static StreamOps guest_ops;

        guest_ops = end_ops;
        guest_ops.unpacks = end_unpacks;
        connect_for_messages();
        stream_set_owner(acceptor.stream, &guest_ops, &acceptor);
        assert_int_equal(stream_write(dialler.stream, half, 100000), 0);
        loop_until(acceptor.stream->plain_in.len == 100000);
        assert_true(acceptor.stream->plain_in.allocated < 2 * 100000);
        assert_int_equal(stream_write(dialler.stream, half + 100000, sizeof(half) - 100000), 0);
        loop_until(acceptor.stream->plain_in.len == sizeof(half));
        assert_int_equal(acceptor.stream->plain_in.allocated, FRAME_HEADER_SIZE + 8 * 1024 * 1024 + STREAM_READ_SIZE);
        stream_close(acceptor.stream, 0, false); // the pool gives it back before that is told
        loop_until(acceptor.n_closed);
}

static void an_oversized_frame_ends_the_stream(void **state) {
        uint8_t frame[64] = {};

        connect_both();
        stream_set_frames(acceptor.stream, 16);
        frame[3] = 16;
        assert_int_equal(stream_write(dialler.stream, frame, 20), 0);
        frame[3] = 17;
        assert_int_equal(stream_write(dialler.stream, frame, 21), 0);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.n_frames, 1);
        assert_int_equal(acceptor.error, -EMSGSIZE);
        assert_string_equal(acceptor.why, "a frame is longer than the 16 bytes allowed");
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -ECONNRESET);
}

static void a_peer_that_takes_nothing_is_cut(void **state) {
        static uint8_t chunk[1024 * 1024];
        int r = 0;

        connect_both();
        stream_pause(acceptor.stream, true);
        for (unsigned i = 0; i < 200 && r == 0; i++) {
                uv_run(&test_loop, UV_RUN_NOWAIT);
                r = stream_write(dialler.stream, chunk, sizeof(chunk));
        }
        assert_int_equal(r, -ENOBUFS);
        assert_int_equal(stream_write(dialler.stream, chunk, 1), -ENOTCONN);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -ENOBUFS);
}

static void a_long_queue_is_told_when_it_has_drained(void **state) {
        static uint8_t chunk[1024 * 1024];

        connect_both();
        stream_set_frames(acceptor.stream, 0);
        for (unsigned i = 0; i < 20; i++)
                assert_int_equal(stream_write(dialler.stream, chunk, sizeof(chunk)), 0);
        assert_int_equal(stream_queued(dialler.stream), 20 * sizeof(chunk));
        loop_until(acceptor.got.len == 20 * sizeof(chunk));
        loop_until(dialler.n_drained == 1);
        assert_int_equal(stream_queued(dialler.stream), 0);
}

static void a_pause_keeps_what_came(void **state) {
        connect_both();
        acceptor.pause_on_frame = true;
        send_beat(dialler.stream, 1);
        send_beat(dialler.stream, 2);
        loop_until(acceptor.n_frames == 1);
        for (unsigned i = 0; i < 20; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(acceptor.n_frames, 1);
        stream_pause(acceptor.stream, false);
        assert_int_equal(acceptor.n_frames, 1); // never from inside the call
        loop_until(acceptor.n_frames == 2);
}

static void a_flushing_close_loses_nothing(void **state) {
        static uint8_t chunk[1024 * 1024];

        connect_both();
        stream_set_frames(dialler.stream, 0);
        // What the peer sent and we never read must not turn our end into a reset that eats the answer.
        send_beat(dialler.stream, 1);
        for (unsigned i = 0; i < 8; i++)
                assert_int_equal(stream_write(acceptor.stream, chunk, sizeof(chunk)), 0);
        stream_close(acceptor.stream, 0, true);
        assert_int_equal(stream_write(acceptor.stream, chunk, 1), -ENOTCONN);
        loop_until(dialler.n_closed && acceptor.n_closed);
        assert_int_equal(dialler.got.len, 8 * sizeof(chunk));
        assert_int_equal(dialler.error, -ECONNRESET);
        assert_string_equal(dialler.why, "the peer closed the connection");
        assert_int_equal(acceptor.error, 0);
}

static void a_flushing_close_ends_though_the_peer_does_not_read(void **state) {
        static uint8_t chunk[8 * 1024 * 1024];

        connect_both();
        stream_pause(dialler.stream, true);
        assert_int_equal(stream_write(acceptor.stream, chunk, sizeof(chunk)), 0);
        stream_close(acceptor.stream, -EPIPE, true);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.error, -EPIPE);
}

// The disk of a host that joins may hold its loop for seconds right before, or after, it closes.
static void a_flushing_close_loses_nothing_to_a_loop_that_stood_still(void **state) {
        connect_both();
        send_beat(acceptor.stream, 1);
        uv_sleep(STREAM_FLUSH_MS + 100);
        stream_close(acceptor.stream, 0, true);
        uv_sleep(STREAM_FLUSH_MS + 100);
        loop_until(dialler.n_closed && acceptor.n_closed);
        assert_int_equal(dialler.n_frames, 1);
}

static void closing_inside_a_frame_stops_the_frames(void **state) {
        connect_both();
        acceptor.close_on_frame = true;
        for (unsigned i = 0; i < 10; i++)
                send_beat(dialler.stream, i);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.n_frames, 1);
        assert_int_equal(acceptor.error, -ECANCELED);
        loop_until(dialler.n_closed);
}

static void closing_when_opened_or_accepted(void **state) {
        dialler.close_on_open = true;
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, NULL);
        loop_until(dialler.n_closed &&
                   (acceptor.n_closed || n_refused)); // it may be gone before it was judged
        assert_int_equal(dialler.error, 0);
        assert_int_equal(dialler.n_opened, 1);

        dialler = acceptor = (End){};
        acceptor.close_on_open = true;
        dial_as(member_tls[1], ALPN_MESH, NULL);
        loop_until(dialler.n_closed && acceptor.n_closed);
        assert_int_equal(dialler.error, -ECONNRESET);
}

static void closing_while_dialling(void **state) {
        listen_as(0);
        dial_as(member_tls[1], ALPN_MESH, NULL);
        stream_close(dialler.stream, -EINTR, true);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -EINTR);
        assert_int_equal(dialler.n_opened, 0);
}

static void a_refused_frame_ends_the_stream(void **state) {
        connect_both();
        acceptor.answer = -EBADMSG;
        send_beat(dialler.stream, 1);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.error, -EBADMSG);
}

// The loop runs its timers before it reads.
static void a_deadline_is_not_over_before_what_has_come_is_read(void **state) {
        connect_both();
        stream_pause(acceptor.stream, true);
        send_beat(dialler.stream, 1);
        loop_until(stream_queued(dialler.stream) == 0);
        stream_set_deadline(acceptor.stream, 20);
        stream_pause(acceptor.stream, false);
        uv_sleep(50);
        loop_until(acceptor.n_frames || acceptor.n_closed);
        assert_int_equal(acceptor.n_frames, 1);
        stream_set_deadline(acceptor.stream, 0);
}

static void a_deadline_ends_a_silent_peer(void **state) {
        connect_both();
        stream_set_deadline(acceptor.stream, 30);
        stream_set_deadline(dialler.stream, 10);
        stream_set_deadline(dialler.stream, 0);
        loop_until(acceptor.n_closed);
        assert_int_equal(acceptor.error, -ETIMEDOUT);
        loop_until(dialler.n_closed);
        assert_int_equal(dialler.error, -ECONNRESET);
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
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
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
                LOOP_TEST(a_burst_of_messages_leaves_the_turn_to_others),
                LOOP_TEST(a_beat_does_not_wait_for_the_burst_of_another_member),
                LOOP_TEST(closing_while_a_burst_waits),
                LOOP_TEST(a_short_frame_that_becomes_large_is_the_pools),
                LOOP_TEST(a_message_that_takes_too_much_memory_is_not_unpacked),
                LOOP_TEST(a_long_frame_gets_its_place_at_once),
                LOOP_TEST(a_guest_s_long_frame_gets_its_place_when_some_of_it_has_come),
                LOOP_TEST(an_oversized_frame_ends_the_stream),
                LOOP_TEST(a_peer_that_takes_nothing_is_cut),
                LOOP_TEST(a_long_queue_is_told_when_it_has_drained),
                LOOP_TEST(a_pause_keeps_what_came),
                LOOP_TEST(a_flushing_close_loses_nothing),
                LOOP_TEST(a_flushing_close_ends_though_the_peer_does_not_read),
                LOOP_TEST(a_flushing_close_loses_nothing_to_a_loop_that_stood_still),
                LOOP_TEST(closing_inside_a_frame_stops_the_frames),
                LOOP_TEST(closing_when_opened_or_accepted),
                LOOP_TEST(closing_while_dialling),
                LOOP_TEST(a_refused_frame_ends_the_stream),
                LOOP_TEST(a_deadline_is_not_over_before_what_has_come_is_read),
                LOOP_TEST(a_deadline_ends_a_silent_peer),
                LOOP_TEST(unix_peers_are_known_by_their_user),
                LOOP_TEST(frames_come_byte_by_byte),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
