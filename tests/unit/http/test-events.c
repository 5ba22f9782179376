// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "answers-memo.h"
#include "event-kind.h"
#include "events-memo.h"
#include "messages.h"
#include "str.h"

typedef struct Answer {
        HttpPart part;
        uint8_t data[4096];
} Answer;

static void make_answer(Answer *a, uint64_t term, uint64_t first, size_t n, const char *mode) {
        Argosy__Response__Events events = ARGOSY__RESPONSE__EVENTS__INIT;
        Argosy__Response r = RESPONSE_OF(EVENTS, events, &events);
        EventCursor at = {.generation = 1, .term = term, .seq = first + n - 1};
        char cursor[EVENT_CURSOR_SIZE], *values[] = {(char *) "n1", (char *) mode};
        uint8_t packed[8][256];
        ProtobufCBinaryData list[8];

        assert_true(n <= ELEMENTSOF(list));
        for (size_t i = 0; i < n; i++) {
                Argosy__Event e = MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_NODE, .seq = first + i,
                                             .values = values, .n_values = ELEMENTSOF(values));

                list[i] = (ProtobufCBinaryData){argosy__event__pack(&e, packed[i]), packed[i]};
        }
        event_cursor_format(&at, cursor);
        events.cursor = cursor;
        events.events = list;
        events.n_events = n;
        a->part = (HttpPart){a->data, argosy__response__pack(&r, a->data)};
}

static char *text_of(const Answer *a, HttpStreamFormat format, EventsMemo *memo) {
        char cursor[EVENT_CURSOR_SIZE];
        Buf out = {};

        assert_int_equal(http_events_append(&a->part, format, memo, &out, cursor), 0);
        assert_true(out.len > 0);
        return buf_take_string(&out);
}

// In any order, with and without others before it, an answer has the text that it has alone.
static void what_was_written_before_changes_nothing(void **state) {
        EventsMemo *memo = events_memo_new();
        static Answer answers[64];

        assert_non_null(memo);
        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                make_answer(&answers[i], 1 + i % 2, 1 + i / 2 % 8, 1 + i % 5, i % 3 ? "online" : "lost");
        for (size_t round = 0; round < 2000; round++) {
                const Answer *a = &answers[(round * 7919 + round / 64) % ELEMENTSOF(answers)];
                HttpStreamFormat format = round % 3 ? HTTP_STREAM_SSE : HTTP_STREAM_LINES;
                _cleanup_free_ char *with = text_of(a, format, memo), *without = text_of(a, format, NULL);

                assert_string_equal(with, without);
        }
        events_memo_free(memo);
}

static void what_was_kept_is_found_under_its_key_alone(void **state) {
        EventsMemo *memo = events_memo_new();
        EventsMemoKey key = {(const uint8_t *) "event", 5, "place", false, HTTP_STREAM_SSE}, other = key;
        _cleanup_buf_ Buf out = {};

        assert_non_null(memo);
        assert_int_equal(events_memo_append(memo, &key, &out), 0);
        events_memo_keep(memo, &key, "text", 4);
        assert_int_equal(events_memo_append(memo, &key, &out), 1);
        assert_int_equal(out.len, 4);
        assert_memory_equal(out.data, "text", 4);
        other.place = "plane";
        assert_int_equal(events_memo_append(memo, &other, &out), 0);
        other = key;
        other.last = true;
        assert_int_equal(events_memo_append(memo, &other, &out), 0);
        other = key;
        other.format = HTTP_STREAM_LINES;
        assert_int_equal(events_memo_append(memo, &other, &out), 0);
        other = key;
        other.len = 4;
        assert_int_equal(events_memo_append(memo, &other, &out), 0);
        events_memo_keep(memo, &key, "newer", 5);
        out.len = 0;
        assert_int_equal(events_memo_append(memo, &key, &out), 1);
        assert_memory_equal(out.data, "newer", 5);
        events_memo_free(memo);
}

static void an_answer_is_known_by_all_of_it(void **state) {
        AnswersMemo *memo = answers_memo_new();
        TextChunk *text = text_chunk_new(4, NULL), *found;
        char cursor[EVENT_CURSOR_SIZE] = "there", seen[EVENT_CURSOR_SIZE];
        static uint8_t bytes[ANSWERS_MEMO_BYTES_MAX + 1];
        uint8_t other[200];
        HttpPart answer = {bytes, 200}, like_it = {other, 200}, shorter = {bytes, 199},
                 long_one = {bytes, sizeof(bytes)};

        assert_true(memo && text);
        assert_null(answers_memo_find(memo, &answer, HTTP_STREAM_SSE, seen));
        answers_memo_keep(memo, &answer, HTTP_STREAM_SSE, cursor, text);
        memcpy(other, bytes, sizeof(other));
        found = answers_memo_find(memo, &like_it, HTTP_STREAM_SSE, seen);
        assert_ptr_equal(found, text);
        assert_string_equal(seen, "there");
        text_chunk_unref(found);
        other[0] = 1; // its end is what its slot is found by
        assert_null(answers_memo_find(memo, &like_it, HTTP_STREAM_SSE, seen));
        assert_null(answers_memo_find(memo, &answer, HTTP_STREAM_LINES, seen));
        assert_null(answers_memo_find(memo, &shorter, HTTP_STREAM_SSE, seen));
        answers_memo_keep(memo, &like_it, HTTP_STREAM_SSE, cursor, text); // in its place
        assert_null(answers_memo_find(memo, &answer, HTTP_STREAM_SSE, seen));
        answers_memo_keep(memo, &long_one, HTTP_STREAM_SSE, cursor, text);
        assert_null(answers_memo_find(memo, &long_one, HTTP_STREAM_SSE, seen));
        answers_memo_free(memo);
        assert_int_equal(atomic_load(&text->refs), 1);
        text_chunk_unref(text);
}

RUN_TESTS(
        cmocka_unit_test(an_answer_is_known_by_all_of_it),
        cmocka_unit_test(what_was_written_before_changes_nothing),
        cmocka_unit_test(what_was_kept_is_found_under_its_key_alone)
)
