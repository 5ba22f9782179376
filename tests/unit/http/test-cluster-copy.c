// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies that are made of events, and the documents that they write: each row that there is, once, whatever
// was told before.
#include "test.h"

#include "buf.h"
#include "cluster-copy.h"
#include "event-kind.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "str.h"

#define NEW ARGOSY__EVENT_MARK__EVENT_NEW
#define MISSED ARGOSY__EVENT_MARK__EVENT_MISSED
#define UNIT ARGOSY__EVENT_KIND__EVENT_UNIT
#define STATE ARGOSY__EVENT_KIND__EVENT_STATE
#define STREAM ARGOSY__EVENT_KIND__EVENT_STREAM

enum { UNITS = 2700, WORD = 32 }; // several blocks of rows

typedef struct Story {
        ClusterCopy *copy;
        _Atomic size_t held;
} Story;

static void begin(Story *s, bool changes) {
        *s = (Story){};
        s->copy = cluster_copy_new(changes, &s->held);
        assert_non_null(s->copy);
}

static void end(Story *s) {
        s->copy = cluster_copy_free(s->copy);
        assert_int_equal(s->held, 0);
}

static void tell(Story *s, Argosy__EventKind kind, Argosy__EventMark mark, bool gone, const char *a,
                 const char *b, const char *c) {
        char *values[] = {(char *) a, (char *) b, (char *) c};
        _cleanup_buf_ Buf packed = {};
        Argosy__Event e = MESSAGE_OF(event, .kind = kind, .mark = mark, .gone = gone, .values = values,
                                     .n_values = ELEMENTSOF(values));

        assert_non_null(buf_reserve(&packed, argosy__event__get_packed_size(&e)));
        packed.len = argosy__event__pack(&e, packed.data);
        assert_int_equal(cluster_copy_take_packed(s->copy, &(ProtobufCBinaryData){packed.len, packed.data}),
                         0);
}

static void begins(Story *s, const char *kinds) {
        tell(s, STREAM, MISSED, false, EVENT_STREAM_BEGINS, kinds, "");
}

static void complete(Story *s) {
        tell(s, STREAM, MISSED, false, EVENT_STREAM_COMPLETE, "", "");
}

static char *document(Story *s) {
        _cleanup_buf_ Buf text = {};
        TextPiece *pieces;
        size_t n;

        assert_int_equal(cluster_copy_write(s->copy, "c0ffee", &pieces, &n), 0);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(buf_append(&text, pieces[i].chunk->text + pieces[i].offset, pieces[i].len),
                                 0);
        text_pieces_free(pieces, n);
        return buf_take_string(&text);
}

static bool has(Story *s, const char *words) {
        _cleanup_free_ char *text = document(s);

        return strstr(text, words);
}

#define NOTHING_BUT(units)                                                                               \
        "{\"cursor\":\"c0ffee\",\"leader\":null,\"queue\":null,\"nodes\":[],\"drains\":[],\"roles\":[]," \
        "\"pools\":[],"                                                                                  \
        "\"grants\":[],\"rules\":[],\"jobs\":[],\"rollouts\":[],\"unit_files\":[],\"contents\":[],"      \
        "\"units\":[" units "]}\n"
#define ROW(unit, node, load)                                                                            \
        "{\"unit\":\"" unit "\",\"node\":\"" node "\",\"load\":\"" load                                  \
        "\",\"active\":\"\",\"sub\":\"\",\"result\":\"\","                                               \
        "\"error\":\"\",\"drift\":false,\"stale\":false,\"since\":null,\"note\":\"\",\"restarts\":null," \
        "\"looping\":false}"

static void of_nothing_there_is_a_document_too(void **state) {
        _cleanup_free_ char *text = NULL;
        _cleanup_(end) Story s;

        begin(&s, false);
        text = document(&s);
        assert_string_equal(text, NOTHING_BUT(""));
}

static void rows_have_the_fields_of_their_events(void **state) {
        _cleanup_free_ char *text = NULL;
        _cleanup_(end) Story s;

        begin(&s, false);
        tell(&s, STATE, NEW, false, "a.service", "n1", "loaded");
        tell(&s, STATE, NEW, false, "a.service", "n2", "masked");
        text = document(&s);
        assert_string_equal(
                text, NOTHING_BUT(ROW("a.service", "n1", "loaded") "," ROW("a.service", "n2", "masked")));
}

static void what_is_told_again_or_gone_counts(void **state) {
        _cleanup_(end) Story s;

        begin(&s, false);
        tell(&s, STATE, NEW, false, "a.service", "n1", "loaded");
        assert_true(has(&s, "loaded"));
        tell(&s, STATE, NEW, false, "a.service", "n1", "masked");
        assert_true(has(&s, NOTHING_BUT(ROW("a.service", "n1", "masked"))));
        tell(&s, STATE, NEW, true, "a.service", "n1", "");
        tell(&s, STATE, NEW, true, "b.service", "n1", "");
        assert_true(has(&s, NOTHING_BUT("")));
}

static void a_unit_with_a_mark_stands_for_all_that_nodes_say_of_it(void **state) {
        _cleanup_(end) Story s;

        begin(&s, false);
        tell(&s, UNIT, NEW, false, "a.service", "launched", "");
        tell(&s, STATE, NEW, false, "a.service", "n1", "loaded");
        tell(&s, STATE, NEW, false, "ab.service", "n1", "masked");
        tell(&s, UNIT, NEW, false, "a.service", "loaded", "");
        assert_true(has(&s, "loaded"));
        tell(&s, UNIT, MISSED, false, "a.service", "inactive", "");
        assert_true(has(&s, "\"units\":[" ROW("ab.service", "n1", "masked") "]"));
}

static void what_does_not_come_between_begins_and_complete_is_gone(void **state) {
        _cleanup_(end) Story s;

        begin(&s, false);
        tell(&s, STATE, NEW, false, "a.service", "n1", "loaded");
        tell(&s, STATE, NEW, false, "b.service", "n1", "loaded");
        tell(&s, ARGOSY__EVENT_KIND__EVENT_ROLE, NEW, false, "web", "7", "");
        begins(&s, "unit state");
        tell(&s, STATE, MISSED, false, "b.service", "n1", "masked");
        assert_true(has(&s, "a.service"));
        complete(&s);
        assert_true(has(&s, "\"units\":[" ROW("b.service", "n1", "masked") "]"));
        assert_true(has(&s, "\"roles\":[{\"role\":\"web\",\"weight\":7,")); // nobody spoke of these
        begins(&s, "");
        complete(&s);
        assert_true(has(&s, NOTHING_BUT("")));
}

static void only_jobs_that_are_open_stand_in_the_state(void **state) {
        static const char *const states[] = {"running", "held", "done", "failed"};
        Argosy__Event e = ARGOSY__EVENT__INIT;
        _cleanup_(end) Story s;

        begin(&s, false);
        for (size_t i = 0; i < ELEMENTSOF(states); i++) {
                char *values[] = {(char *) "7", (char *) "", (char *) "",
                                  (char *) "",  (char *) "", (char *) states[i]};

                e.kind = ARGOSY__EVENT_KIND__EVENT_JOB;
                e.values = values;
                e.n_values = ELEMENTSOF(values);
                assert_int_equal(cluster_copy_take(s.copy, &e), 0);
                assert_int_equal(has(&s, "\"job\":7"), i < 2);
        }
}

static void what_has_changed_says_what_is_gone_and_what_was_told_anew(void **state) {
        _cleanup_(end) Story s;

        begin(&s, true);
        assert_true(has(&s, "{\"cursor\":\"c0ffee\",\"missed\":false,\"anew\":{\"lists\":[],\"units\":[]},"
                            "\"gone\":{}}\n"));
        tell(&s, STATE, NEW, true, "a.service", "n1", "");
        assert_true(has(&s, "\"missed\":false,\"anew\":{\"lists\":[],\"units\":[]},"
                            "\"gone\":{\"units\":[{\"unit\":\"a.service\",\"node\":\"n1\"}]}}\n"));
        tell(&s, STATE, NEW, false, "a.service", "n1", "loaded");
        assert_true(has(&s, "\"gone\":{},\"units\":[" ROW("a.service", "n1", "loaded") "]}\n"));
        tell(&s, UNIT, MISSED, false, "a.service", "launched", "");
        assert_true(has(&s, "\"missed\":true,\"anew\":{\"lists\":[],\"units\":[\"a.service\"]},\"gone\":{},"
                            "\"unit_files\":[{"));
        assert_false(has(&s, "\"units\":[{"));
        begins(&s, "leader state");
        complete(&s);
        assert_true(has(&s, "\"anew\":{\"lists\":[\"leader\",\"units\"],\"units\":[\"a.service\"]}"));
}

static void what_is_no_event_is_refused_and_unknown_kinds_are_left_out(void **state) {
        Argosy__Event e = ARGOSY__EVENT__INIT;
        _cleanup_(end) Story s;

        begin(&s, false);
        e.kind = UNIT; // of none
        assert_int_equal(cluster_copy_take(s.copy, &e), -EBADMSG);
        assert_int_equal(cluster_copy_take_packed(s.copy, &(ProtobufCBinaryData){1, (uint8_t *) "\xff"}),
                         -EBADMSG);
        e.kind = (Argosy__EventKind) 77;
        assert_int_equal(cluster_copy_take(s.copy, &e), 0);
}

static size_t count(const char *text, const char *word) {
        size_t n = 0;

        for (const char *p = text; (p = strstr(p, word)); p++)
                n++;
        return n;
}

static void random_lives(void **state) {
        unsigned seed = 7, there[UNITS] = {};
        size_t n = 0;
        _cleanup_(end) Story s;

        begin(&s, false);
        for (unsigned round = 1; round < 150; round++) {
                _cleanup_free_ char *text = NULL;

                for (unsigned i = (unsigned) rand_r(&seed) % 300; i > 0; i--) {
                        unsigned at = (unsigned) rand_r(&seed) % UNITS;
                        char unit[WORD], load[WORD];
                        bool gone = rand_r(&seed) % 100 < (int) (round % 100);

                        str_fit(unit, sizeof(unit), "u%u.service", at);
                        str_fit(load, sizeof(load), "r%u", round);
                        tell(&s, STATE, NEW, gone, unit, "n1", load);
                        n = n + !gone - (there[at] > 0);
                        there[at] = gone ? 0 : round;
                }
                text = document(&s);
                assert_int_equal(count(text, "{\"unit\""), n);
                assert_null(strstr(text, ",,"));
                assert_null(strstr(text, "[,"));
                assert_int_equal(count(text, "},{"), n > 0 ? n - 1 : 0);
                for (unsigned at = 0; at < UNITS; at += 1 + round % 97) {
                        char row[3 * WORD];

                        str_fit(row, sizeof(row),
                                "{\"unit\":\"u%u.service\",\"node\":\"n1\",\"load\":\"r%u\",", at,
                                there[at]);
                        assert_int_equal(count(text, row), there[at] > 0);
                }
        }
}

// Of the chunks of one document, the next has all in which nothing has changed.
static void documents_share_what_has_not_changed(void **state) {
        TextPiece *first, *second;
        size_t n_first, n_second, held;
        _cleanup_(end) Story s;

        begin(&s, false);
        for (unsigned i = 0; i < UNITS; i++) {
                char unit[WORD];

                str_fit(unit, sizeof(unit), "u%u.service", i);
                tell(&s, STATE, NEW, false, unit, "n1", "loaded");
        }
        assert_int_equal(cluster_copy_write(s.copy, "a", &first, &n_first), 0);
        held = s.held;
        tell(&s, STATE, NEW, false, "u3.service", "n1", "masked");
        assert_int_equal(cluster_copy_write(s.copy, "b", &second, &n_second), 0);
        assert_true(s.held < held + held / 2);
        assert_int_equal(n_first, n_second);
        assert_ptr_not_equal(first[1].chunk, second[1].chunk);
        assert_ptr_equal(first[2].chunk, second[2].chunk);
        assert_null(memmem(first[1].chunk->text, first[1].chunk->len, "masked", strlen("masked")));
        text_pieces_free(first, n_first);
        text_pieces_free(second, n_second);
}

// From the first row on, and once: what is not written yet, and then its chunks.
static void a_copy_counts_before_there_is_a_document(void **state) {
        TextPiece *pieces;
        size_t n_pieces, n_rows, held;
        Story s;

        for (unsigned changes = 0; changes < 2; changes++) {
                begin(&s, changes);
                for (unsigned i = 0; i < UNITS; i++) {
                        char unit[WORD];

                        str_fit(unit, sizeof(unit), "u%u.service", i);
                        tell(&s, STATE, NEW, false, unit, "n1", "loaded");
                        assert_true(s.held >= cluster_copy_bytes(s.copy));
                }
                n_rows = cluster_copy_bytes(s.copy);
                held = s.held;
                assert_int_equal(cluster_copy_write(s.copy, "a", &pieces, &n_pieces), 0);
                assert_true(s.held >= n_rows);
                assert_true(changes || s.held < held + held / 8); // a row has its text once
                text_pieces_free(pieces, n_pieces);
                tell(&s, STATE, NEW, true, "u7.service", "n1", "");
                tell(&s, STATE, NEW, true, "u7.service", "n1", "");
                end(&s);
        }
}

RUN_TESTS(
        cmocka_unit_test(of_nothing_there_is_a_document_too),
        cmocka_unit_test(rows_have_the_fields_of_their_events),
        cmocka_unit_test(what_is_told_again_or_gone_counts),
        cmocka_unit_test(a_unit_with_a_mark_stands_for_all_that_nodes_say_of_it),
        cmocka_unit_test(what_does_not_come_between_begins_and_complete_is_gone),
        cmocka_unit_test(only_jobs_that_are_open_stand_in_the_state),
        cmocka_unit_test(what_has_changed_says_what_is_gone_and_what_was_told_anew),
        cmocka_unit_test(what_is_no_event_is_refused_and_unknown_kinds_are_left_out),
        cmocka_unit_test(random_lives),
        cmocka_unit_test(documents_share_what_has_not_changed),
        cmocka_unit_test(a_copy_counts_before_there_is_a_document)
)
