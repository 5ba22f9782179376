// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a manager sends, cut anywhere: text and replies come out at sd-bus's end as they were, signals by
// themselves, each in its place.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "bus-input.h"
#include "test.h"

enum { MAX = 4096, REPLY = 2, HALF_A_SIGNAL = 40 };

static BusInput *input;
static int manager, sd_bus; // the ends of those two
static int pairs[2];        // of the socket between the manager and us
static Buf passed, order;   // what sd-bus has read; and what came, a letter each

FIXTURE(setup) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs), 0);
        manager = pairs[1];
        assert_int_equal(bus_input_new(pairs[0], MAX, &input, &sd_bus), 0);
        passed = order = (Buf){};
}

FIXTURE(teardown) {
        input = bus_input_free(input);
        close(sd_bus);
        close(pairs[0]);
        if (manager >= 0)
                close(manager);
        buf_done(&passed);
        buf_done(&order);
}

// ---- messages

static void put_u32(uint8_t *p, uint32_t n, bool little) {
        for (int i = 0; i < 4; i++)
                p[little ? i : 3 - i] = (uint8_t) (n >> (8 * i));
}

static void put(Buf *b, const void *bytes, size_t n) {
        assert_int_equal(buf_append(b, bytes, n), 0);
}

static void put_text(Buf *b, const char *text) {
        put(b, text, strlen(text));
}

static void put_head(Buf *b, bool little, uint8_t type, uint32_t serial, uint32_t fields, uint32_t body) {
        uint8_t head[BUS_HEAD_BYTES] = {little ? 'l' : 'B', type, 1, 1};

        put_u32(head + 4, body, little);
        put_u32(head + 8, serial, little);
        put_u32(head + 12, fields, little);
        put(b, head, sizeof(head));
}

static void put_reply(Buf *b, bool little, uint32_t serial, uint32_t fields, uint32_t body) {
        size_t rest = (fields + 7) / 8 * 8 + body;

        put_head(b, little, REPLY, serial, fields, body);
        memset(buf_reserve(b, rest + 1), 'l', rest);
        b->len += rest;
}

static void put_field(Buf *b, bool little, uint8_t code, char type, const char *text) {
        uint8_t front[8] = {code, 1, (uint8_t) type, 0};

        while (b->len % 8 > 0)
                put(b, "", 1);
        put_u32(front + 4, (uint32_t) strlen(text), little);
        put(b, front, sizeof(front));
        put(b, text, strlen(text) + 1);
}

// A signal "/a", "a.face", named by its letter, with that many bytes that nobody reads.
static void put_signal(Buf *b, bool little, uint32_t serial, char letter, uint32_t body) {
        _cleanup_buf_ Buf fields = {};

        put_field(&fields, little, 1, 'o', "/a");
        put_field(&fields, little, 2, 's', "a.face");
        put_field(&fields, little, 3, 's', (char[2]){letter, 0});
        put_head(b, little, BUS_TYPE_SIGNAL, serial, (uint32_t) fields.len, body);
        while (fields.len % 8 > 0)
                put(&fields, "", 1);
        put(b, fields.data, fields.len);
        memset(buf_reserve(b, body + 1), 0, body);
        b->len += body;
}

// ---- reading

static int read_all(void) {
        BusSignal signal;
        int r;

        while ((r = bus_input_next(input, &signal)) > 0) {
                ssize_t n = 0;

                if (r == BUS_INPUT_SIGNAL) {
                        assert_string_equal(signal.path, "/a");
                        assert_string_equal(signal.interface, "a.face");
                        put_text(&order, signal.member);
                        continue;
                }
                assert_int_equal(r, BUS_INPUT_PASSED);
                if (order.len == 0 || order.data[order.len - 1] != '.')
                        put_text(&order, ".");
                while ((n = recv(sd_bus, buf_reserve(&passed, 1000), 1000, MSG_DONTWAIT)) > 0)
                        passed.len += (size_t) n;
        }
        return r;
}

// As many bytes at a time.
static int send_bytes(const Buf *b, size_t piece) {
        int r = 0;

        for (size_t at = 0; at < b->len && r == 0; at += piece) {
                size_t n = MIN_OF(piece, b->len - at);

                assert_int_equal(write(manager, b->data + at, n), (ssize_t) n);
                r = read_all();
        }
        return r;
}

static void assert_at_all_cuts(const Buf *b, int result, const char *expected_order,
                               const Buf *expected_passed) {
        for (size_t piece = 1; piece <= 41; piece++) {
                assert_int_equal(send_bytes(b, piece == 41 ? b->len : piece), result);
                put(&order, "", 1);
                if (expected_order)
                        assert_string_equal((const char *) order.data, expected_order);
                if (expected_passed) {
                        assert_int_equal(passed.len, expected_passed->len);
                        assert_memory_equal(passed.data, expected_passed->data, passed.len);
                }
                teardown(NULL);
                setup(NULL);
        }
}

static void all_comes_in_its_place(void **state) {
        _cleanup_buf_ Buf all = {}, replies = {};

        put_text(&all, "DATA\r\nOK 0123456789abcdef\r\nAGREE_UNIX_FD\r\n");
        put_text(&replies, "DATA\r\nOK 0123456789abcdef\r\nAGREE_UNIX_FD\r\n");
        put_signal(&all, true, 1, 'a', 0);
        put_signal(&all, false, 2, 'b', 33);
        for (uint32_t i = 0; i < 2; i++) {
                put_reply(&all, i == 0, 3 + i, 13, 7);
                put_reply(&replies, i == 0, 3 + i, 13, 7);
        }
        put_signal(&all, true, 5, 'c', 700);
        put_reply(&all, true, 6, 1, MAX - BUS_HEAD_BYTES - 8);
        put_reply(&replies, true, 6, 1, MAX - BUS_HEAD_BYTES - 8);
        put_signal(&all, true, 7, 'd', 8);
        assert_at_all_cuts(&all, 0, ".ab.c.d", &replies);
}

static void a_longer_one_is_refused_before_it_is_read(void **state) {
        static const struct {
                uint32_t fields, body;
        } cases[] = {{1, MAX - BUS_HEAD_BYTES - 8 + 1},
                     {0, UINT32_MAX},
                     {UINT32_MAX, 0},
                     {UINT32_MAX, UINT32_MAX},
                     {MAX, 0}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                for (unsigned kind = 0; kind < 4; kind++) {
                        _cleanup_buf_ Buf b = {};

                        put_text(&b, "OK\r\n");
                        put_reply(&b, true, 1, 20, 30);
                        put_head(&b, kind % 2 > 0, kind < 2 ? REPLY : BUS_TYPE_SIGNAL, 2, cases[i].fields,
                                 cases[i].body); // no more is needed to know
                        assert_at_all_cuts(&b, -EMSGSIZE, NULL, NULL);
                }
}

static void what_is_neither_text_nor_message_is_refused(void **state) {
        _cleanup_buf_ Buf zero = {}, behind = {}, endless = {}, version = {};

        put(&zero, "\0", 1);
        assert_at_all_cuts(&zero, -EBADMSG, NULL, NULL);
        put_reply(&behind, true, 1, 8, 8);
        put_text(&behind, "OK and sixteen bytes more\r\n"); // there is no text behind the first message
        assert_at_all_cuts(&behind, -EBADMSG, NULL, NULL);
        for (int i = 0; i <= BUS_INPUT_LINE_MAX; i++)
                put_text(&endless, "A");
        assert_at_all_cuts(&endless, -EMSGSIZE, NULL, NULL);
        put_signal(&version, true, 1, 'a', 0);
        version.data[3] = 2;
        assert_at_all_cuts(&version, -EBADMSG, NULL, NULL);
}

static void a_number_that_is_missing_was_lost(void **state) {
        _cleanup_buf_ Buf b = {};

        put_text(&b, "OK\r\n");
        put_signal(&b, true, 1, 'a', 0);
        put_reply(&b, true, 2, 8, 8);
        put_signal(&b, true, 3, 'b', 0);
        assert_int_equal(send_bytes(&b, b.len), 0);
        assert_false(bus_input_take_loss(input));
        b.len = 0;
        put_signal(&b, true, 5, 'c', 0);
        put_signal(&b, true, 6, 'd', 0);
        assert_int_equal(send_bytes(&b, b.len), 0);
        assert_true(bus_input_take_loss(input));
        assert_false(bus_input_take_loss(input));
        b.len = 0;
        put_reply(&b, true, 8, 8, 8);
        assert_int_equal(send_bytes(&b, b.len), 0);
        assert_true(bus_input_take_loss(input));
}

static void the_end_is_told_behind_what_came_before(void **state) {
        _cleanup_buf_ Buf b = {};

        put_text(&b, "OK\r\n");
        put_signal(&b, true, 1, 'a', 100);
        b.len -= HALF_A_SIGNAL;
        assert_int_equal(send_bytes(&b, b.len), 0);
        bus_input_trim(input); // what waits is kept
        b.len += HALF_A_SIGNAL;
        assert_int_equal(write(manager, b.data + b.len - HALF_A_SIGNAL, HALF_A_SIGNAL), HALF_A_SIGNAL);
        close(manager);
        manager = -1;
        assert_int_equal(read_all(), -ECONNRESET);
        assert_memory_equal(order.data, ".a", 2);
}

// A reply is longer than what the socketpair takes: sd-bus reads in between.
static void what_sd_bus_does_not_take_waits(void **state) {
        enum { LONG = 1024 * 1024 };
        _cleanup_buf_ Buf b = {};
        size_t written = 0;
        BusInput *wide;
        int r;

        input = bus_input_free(input);
        close(sd_bus);
        assert_int_equal(bus_input_new(pairs[0], BUS_BYTES_MAX, &wide, &sd_bus), 0);
        input = wide;
        put_text(&b, "OK\r\n");
        put_reply(&b, true, 1, 8, LONG);
        put_signal(&b, true, 2, 'a', 0);
        do {
                ssize_t n = send(manager, b.data + written, b.len - written, MSG_DONTWAIT);

                written += n > 0 ? (size_t) n : 0;
                r = read_all();
        } while (r == 0 && written < b.len);
        assert_int_equal(r, 0);
        put(&order, "", 1);
        assert_string_equal((const char *) order.data, ".a");
        assert_int_equal(passed.len, strlen("OK\r\n") + BUS_HEAD_BYTES + 8 + LONG);
        assert_memory_equal(passed.data, b.data, passed.len);
}

// A list of thousands of units is an answer. Whoever sends a signal as long wants to hold us up; a manager
// that is ours may.
static void a_signal_is_no_list(void **state) {
        static const uint64_t max[] = {8 * 1024 * 1024, BUS_BYTES_MAX};

        for (size_t i = 0; i < 2; i++) {
                _cleanup_buf_ Buf b = {};

                input = bus_input_free(input);
                close(sd_bus);
                assert_int_equal(bus_input_new(pairs[0], max[i], &input, &sd_bus), 0);
                put_text(&b, "OK\r\n");
                put_head(&b, true, BUS_TYPE_SIGNAL, 1, 64, BUS_INPUT_SIGNAL_MAX);
                assert_int_equal(send(manager, b.data, b.len, MSG_DONTWAIT), b.len);
                assert_int_equal(read_all(), i == 0 ? -EMSGSIZE : 0);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(all_comes_in_its_place),
        TEST(a_longer_one_is_refused_before_it_is_read),
        TEST(what_is_neither_text_nor_message_is_refused),
        TEST(a_number_that_is_missing_was_lost),
        TEST(the_end_is_told_behind_what_came_before),
        TEST(what_sd_bus_does_not_take_waits),
        TEST(a_signal_is_no_list)
)
