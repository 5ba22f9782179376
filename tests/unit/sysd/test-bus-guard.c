// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long messages are, told from a stream of bytes that may be cut anywhere.
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"
#include "bus-guard.h"
#include "test.h"

enum { MAX = 4096 };

static void put_u32(uint8_t *p, uint32_t n, bool little) {
        for (int i = 0; i < 4; i++)
                p[little ? i : 3 - i] = (uint8_t) (n >> (8 * i));
}

// A message of that many bytes altogether.
static void put_message(Buf *b, bool little, uint32_t fields, uint32_t body) {
        uint8_t head[16] = {little ? 'l' : 'B', 4, 1, 1};
        size_t rest = (fields + 7) / 8 * 8 + body;

        put_u32(head + 4, body, little);
        put_u32(head + 12, fields, little);
        assert_int_equal(buf_append(b, head, sizeof(head)), 0);
        memset(buf_reserve(b, rest + 1), 'l', rest);
        b->len += rest;
}

static void put_text(Buf *b, const char *text) {
        assert_int_equal(buf_append(b, text, strlen(text)), 0);
}

static int feed_in_pieces(const Buf *b, size_t piece) {
        BusFraming f = {};
        int r = 0;

        for (size_t at = 0; at < b->len && r == 0; at += piece)
                r = bus_framing_feed(&f, b->data + at, MIN_OF(piece, b->len - at), MAX);
        return r;
}

static void assert_all_cuts(const Buf *b, int result) {
        for (size_t piece = 1; piece <= 40; piece++)
                assert_int_equal(feed_in_pieces(b, piece), result);
        assert_int_equal(feed_in_pieces(b, b->len), result);
}

static void messages_within_the_limit_pass(void **state) {
        _cleanup_buf_ Buf b = {};

        put_text(&b, "DATA\r\nOK 0123456789abcdef\r\nAGREE_UNIX_FD\r\n");
        put_message(&b, true, 0, 0);
        put_message(&b, true, 13, 7);
        put_message(&b, false, 13, 7);
        put_message(&b, true, 1, MAX - 16 - 8);
        put_message(&b, false, 64, MAX - 16 - 64);
        put_message(&b, true, 1, 0);
        assert_all_cuts(&b, 0);
}

static void a_longer_one_does_not(void **state) {
        static const struct {
                uint32_t fields, body;
        } cases[] = {
                {1, MAX - 16 - 8 + 1}, {0, UINT32_MAX}, {UINT32_MAX, 0}, {UINT32_MAX, UINT32_MAX}, {MAX, 0}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                for (int little = 0; little < 2; little++) {
                        _cleanup_buf_ Buf b = {};
                        uint8_t head[16] = {little ? 'l' : 'B', 4, 1, 1};

                        put_text(&b, "OK\r\n");
                        put_message(&b, true, 20, 30);
                        put_u32(head + 4, cases[i].body, little);
                        put_u32(head + 12, cases[i].fields, little);
                        assert_int_equal(buf_append(&b, head, sizeof(head)), 0); // no more is needed to know
                        assert_all_cuts(&b, -EMSGSIZE);
                }
}

static void what_is_neither_text_nor_message_is_refused(void **state) {
        _cleanup_buf_ Buf zero = {}, text = {}, endless = {};

        assert_int_equal(buf_append(&zero, "\0", 1), 0);
        assert_all_cuts(&zero, -EBADMSG);
        put_message(&text, true, 8, 8);
        put_text(&text, "\x01");
        assert_all_cuts(&text, -EBADMSG);
        for (int i = 0; i <= BUS_GUARD_LINE_MAX; i++)
                put_text(&endless, "A");
        assert_all_cuts(&endless, -EMSGSIZE);
}

static void bytes_arrive_as_they_were(void **state) {
        _cleanup_buf_ Buf sent = {}, seen = {};
        int pair[2], input;
        BusGuard *g;
        ssize_t n;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(bus_guard_new(pair[0], MAX, &g, &input), 0);
        assert_int_equal(bus_guard_pull(g), 0);
        put_text(&sent, "OK\r\n");
        for (unsigned i = 0; i < 20; i++)
                put_message(&sent, i % 2, i, 100 * i);
        assert_int_equal(write(pair[1], sent.data, sent.len), (ssize_t) sent.len);
        while (bus_guard_pull(g) > 0)
                while ((n = recv(input, buf_reserve(&seen, 1000), 1000, MSG_DONTWAIT)) > 0)
                        seen.len += (size_t) n;
        assert_int_equal(seen.len, sent.len);
        assert_memory_equal(seen.data, sent.data, sent.len);
        close(pair[1]);
        assert_int_equal(bus_guard_pull(g), -ECONNRESET);
        bus_guard_free(g);
        assert_int_equal(recv(input, buf_reserve(&seen, 1), 1, MSG_DONTWAIT), 0);
        close(input);
        close(pair[0]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(messages_within_the_limit_pass),
                cmocka_unit_test(a_longer_one_does_not),
                cmocka_unit_test(what_is_neither_text_nor_message_is_refused),
                cmocka_unit_test(bytes_arrive_as_they_were),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
