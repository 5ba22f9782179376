// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What members may take of a turn, and of the memory: messages that are long, come in bursts, or become
// large.
#include "messages.h"
#include "stream-words.h"

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
        // what waited and what was read: twice 2 ms, and a message each
        assert_in_range(most_in_a_turn, 1, 12);
        send_beat(dialler.stream, 7);           // and it reads on
        loop_until(acceptor.n_messages == 61);
        uv_close((uv_handle_t *) &turns, NULL);
}

static void a_beat_does_not_wait_for_the_burst_of_another_member(void **state) {
        End other = {};

        connect_for_messages();
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &end_ops, &other, &other.stream),
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
        Argosy__Request request = REQUEST_OF(LIST_UNITS, list_units, &list);
        Argosy__ToVoter m = TO_VOTER_OF(FORWARD, forward, &forward);

        assert_non_null(patterns);
        for (size_t i = 0; i < n; i++)
                patterns[i] = (char *) protobuf_c_empty_string;
        list.patterns = patterns;
        list.n_patterns = n;
        forward.request = &request;
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
        assert_int_equal(acceptor.stream->plain_in.allocated,
                         FRAME_HEADER_SIZE + 8 * 1024 * 1024 + STREAM_READ_SIZE);
}

static int end_unpacks(Stream *s, size_t bytes, void *userdata) {
        return 0;
}

// Who is a guest may announce as much as he likes. From then on nothing is copied again and again, and what
// has not come takes no memory.
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
        assert_int_equal(acceptor.stream->plain_in.allocated,
                         FRAME_HEADER_SIZE + 8 * 1024 * 1024 + STREAM_READ_SIZE);
        stream_close(acceptor.stream, 0, false); // the pool gives it back before that is told
        loop_until(acceptor.n_closed);
}

// ---- guests

enum { GUESTS = 12, GUEST_MESSAGES = 60 };

static End guests[GUESTS], guest_diallers[GUESTS];
static unsigned most_went_on, had_messages[GUESTS];
static bool are_counted;

static void count_guests(uv_check_t *check) {
        unsigned n = 0, n_began = 0;

        for (size_t i = 0; i < GUESTS; i++) {
                n += guests[i].n_messages > had_messages[i];
                n_began += guests[i].n_messages > 0;
                had_messages[i] = guests[i].n_messages;
        }
        if (are_counted)
                most_went_on = MAX_OF(most_went_on, n);
        are_counted = n_began == GUESTS;
}

// Each has sent more than a turn takes of one; but for the first, of whom a turn has taken all, they stand
// in the line.
static void let_guests_wait(uv_check_t *turns) {
        static StreamOps guest_ops;

        guest_ops = end_ops;
        guest_ops.unpacks = end_unpacks;
        memset(had_messages, 0, sizeof(had_messages));
        most_went_on = 0;
        are_counted = false;
        listen_as(0);
        for (size_t i = 0; i < GUESTS; i++) {
                guests[i] = guest_diallers[i] = (End){};
                awaited = &guests[i];
                assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(listener), member_tls[1],
                                             ALPN_MESH, &member[0].pin, &end_ops, &guest_diallers[i],
                                             &guest_diallers[i].stream),
                                 0);
                loop_until(guest_diallers[i].n_opened && guests[i].stream);
                stream_set_owner(guests[i].stream, &guest_ops, &guests[i]);
                stream_set_messages(guests[i].stream, &argosy__to_voter__descriptor, FRAME_MAX);
                stream_pause(guests[i].stream, true);
        }
        awaited = NULL;
        assert_int_equal(uv_check_init(&test_loop, turns), 0);
        assert_int_equal(uv_check_start(turns, count_guests), 0);
        for (size_t i = 0; i < GUESTS; i++)
                for (uint64_t k = 1; k <= GUEST_MESSAGES; k++)
                        send_beat(guest_diallers[i].stream, k);
        for (size_t i = 0; i < GUESTS; i++)
                loop_until(stream_queued(guest_diallers[i].stream) == 0);
        for (size_t i = 0; i < GUESTS; i++)
                stream_pause(guests[i].stream, false);
        loop_until(are_counted);
}

static bool have_said_all(void) {
        for (size_t i = 0; i < GUESTS; i++)
                if (guests[i].stream && guests[i].n_messages < GUEST_MESSAGES)
                        return false;
        return true;
}

static void guests_leave(uv_check_t *turns) {
        uv_close((uv_handle_t *) turns, NULL);
        for (size_t i = 0; i < GUESTS; i++) {
                close_end(&guest_diallers[i]);
                close_end(&guests[i]);
        }
}

static void few_guests_go_on_in_a_turn(void **state) {
        static uv_check_t turns;

        let_guests_wait(&turns);
        assert_false(have_said_all());
        loop_until(have_said_all());
        assert_in_range(most_went_on, 1, STREAM_GUESTS_GO_ON);
        for (size_t i = 0; i < GUESTS; i++)
                for (uint64_t k = 0; k < GUEST_MESSAGES; k++)
                        assert_int_equal(guests[i].seqs[k], k + 1);
        guests_leave(&turns);
}

static void the_first_guest_in_the_line_goes_and_the_others_go_on(void **state) {
        static uv_check_t turns;

        let_guests_wait(&turns);
        for (size_t i = 1; i < GUESTS; i += 2)
                stream_close(guests[i].stream, -ECANCELED, false);
        loop_until(have_said_all());
        guests_leave(&turns);
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

int main(void) {
        const struct CMUnitTest tests[] = {
                LOOP_TEST(a_burst_of_messages_leaves_the_turn_to_others),
                LOOP_TEST(a_beat_does_not_wait_for_the_burst_of_another_member),
                LOOP_TEST(closing_while_a_burst_waits),
                LOOP_TEST(a_short_frame_that_becomes_large_is_the_pools),
                LOOP_TEST(a_message_that_takes_too_much_memory_is_not_unpacked),
                LOOP_TEST(a_long_frame_gets_its_place_at_once),
                LOOP_TEST(a_guest_s_long_frame_gets_its_place_when_some_of_it_has_come),
                LOOP_TEST(few_guests_go_on_in_a_turn),
                LOOP_TEST(the_first_guest_in_the_line_goes_and_the_others_go_on),
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
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
