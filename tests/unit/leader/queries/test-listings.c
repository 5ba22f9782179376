// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lists of thousands of units: made and given in turns of the loop, and nevertheless as everything was at one moment,
// whatever happens meanwhile.
#include "buf.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "leader-rig.h"
#include "response.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=yes\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY

enum {
        UNITS = 2500,
        MADE_MAX = 1000, // NAMES_PER_TURN
        ROWS_MAX = 2003, // GIVEN_PER_TURN, and a global unit is on three nodes
        MOMENTS = 64,
        ROUNDS = 12,
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static uint64_t listed, most_listed, n_ids;
static char *moments[MOMENTS]; // the list as it was before and after each turn, made at once
static size_t n_moments;
static bool looks; // whether these are kept

// ---- asking

static RigAnswer *change(Argosy__Verb verb, char **which, size_t n) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        uint64_t words[2] = {++n_ids, 78};

        change.id = (ProtobufCBinaryData){.data = (uint8_t *) words, .len = sizeof(words)};
        change.verb = verb;
        change.names = which;
        change.n_names = n;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        return rig_ask(&g, &request);
}

static RigAnswer *list(bool parts) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        list.parts = parts;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        return rig_ask(&g, &request);
}

// ---- looking

static void append_rows(Buf *text, const Argosy__Response__Units *units) {
        for (size_t i = 0; i < units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = units->rows[i];

                assert_int_equal(buf_printf(text, "%s %s %s %s %s %s\n", row->unit, row->node, row->load, row->active,
                                            row->sub, row->error),
                                 0);
        }
}

static char *text_at_once(void) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_response_ Argosy__Response *r = NULL;
        _cleanup_buf_ Buf text = {};

        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        r = answer_units(g.leader, &request);
        assert_non_null(r);
        append_rows(&text, r->units);
        return buf_take_string(&text);
}

static char *text_of(const RigAnswer *a) {
        _cleanup_buf_ Buf text = {};
        size_t n = 0;

        for (size_t i = 0; i < a->n; i++) {
                assert_int_equal(a->responses[i]->status, 0);
                assert_int_equal(a->responses[i]->final, i + 1 == a->n);
                assert_int_equal(a->responses[i]->units->first, n);
                append_rows(&text, a->responses[i]->units);
                n += a->responses[i]->units->n_rows;
        }
        return buf_take_string(&text);
}

static void keep_moment(void) {
        if (looks && n_moments < MOMENTS)
                moments[n_moments++] = text_at_once();
}

static void on_turn(Rig *rig) {
        most_listed = MAX_OF(most_listed, rig->leader->n_listed - listed);
        listed = rig->leader->n_listed;
        keep_moment();
}

static void forget_moments(void) {
        while (n_moments > 0)
                free(moments[--n_moments]);
        looks = false;
}

static bool was_a_moment(const char *text) {
        for (size_t i = 0; i < n_moments; i++)
                if (streq(moments[i], text))
                        return true;
        return false;
}

static void finish(const RigAnswer *a) {
        for (unsigned i = 0; i < 200 && !a->final; i++)
                rig_turn(&g);
        assert_true(a->final);
}

static int setup(void **state) {
        RigAnswer *a;

        rig_start(&g, 3);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "load@.service", SERVICE)->status, 0);
        assert_int_equal(rig_change(&g, START, "all.service", GLOBAL)->status, 0);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "load@%zu.service", i);
                pointers[i] = names[i];
        }
        a = change(START, pointers, UNITS);
        rig_settle(&g);
        assert_true(a->final);
        g.on_turn = on_turn;
        listed = g.leader->n_listed;
        most_listed = 0;
        return 0;
}

static int teardown(void **state) {
        forget_moments();
        rig_stop(&g);
        return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// ---- stories

static void a_long_list_is_made_and_given_in_turns(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true);

        assert_int_equal(a->n, 0);
        finish(a);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
        assert_true(a->n > 1);
        for (size_t i = 0; i < a->n; i++)
                assert_in_range(a->responses[i]->units->n_rows, 1, ROWS_MAX);
}

static void who_takes_no_parts_hears_one_answer(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(false);

        finish(a);
        assert_int_equal(a->n, 1);
        text = text_of(a);
        assert_string_equal(text, all);
        assert_in_range(most_listed, 1, MADE_MAX);
}

static void unit_files_are_listed_likewise(void **state) {
        Argosy__Request__ListUnitFiles files = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_response_ Argosy__Response *whole = NULL;
        RigAnswer *a;
        size_t n = 0;

        files.parts = true;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
        request.list_unit_files = &files;
        a = rig_ask(&g, &request);
        finish(a);
        whole = answer_unit_files(g.leader, &request);
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Response__UnitFiles *part = a->responses[i]->unit_files;

                assert_int_equal(part->first, n);
                for (size_t k = 0; k < part->n_rows; k++, n++) {
                        assert_string_equal(part->rows[k]->unit, whole->unit_files->rows[n]->unit);
                        assert_string_equal(part->rows[k]->state, whole->unit_files->rows[n]->state);
                }
        }
        assert_int_equal(n, whole->unit_files->n_rows);
        assert_in_range(most_listed, 1, MADE_MAX);
}

// What happens to a few of them while the list is made, another thing in each turn.
static void meddle(unsigned round) {
        char **one = &pointers[(size_t) rand() % UNITS], **tenth = &pointers[(size_t) rand() % (UNITS - 10)];
        RigUnit *u;

        switch (round % 6) {
        case 0:
                (void) change(STOP, one, 1);
                break;
        case 1:
                (void) change(DESTROY, tenth, 10);
                break;
        case 2:
                for (uint32_t h = 1; h <= 3; h++)
                        if ((u = rig_unit_on(&g, h, *one)))
                                rig_host_report(&g, rig_host(&g, h), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
                break;
        case 3:
                (void) change(START, tenth, 10);
                break;
        case 4:
                rig_host_on(&g, 2, false); // its link is a new one
                break;
        default:
                if (rig_host(&g, 3)->up)
                        rig_host_off(&g, 3);
                else
                        rig_host_on(&g, 3, false);
                break;
        }
}

static void a_list_shows_one_moment_whatever_happens_while_it_is_made(void **state) {
        for (unsigned round = 0; round < ROUNDS; round++) {
                _cleanup_free_ char *text = NULL;
                RigAnswer *a;

                srand(round);
                looks = true;
                keep_moment();
                a = list(round % 2);
                for (unsigned i = 0; i < 4; i++) {
                        meddle(round + i);
                        keep_moment();
                        rig_turn(&g);
                }
                finish(a);
                text = text_of(a);
                if (!was_a_moment(text))
                        fail_msg("round %u: the list is of no moment", round);
                forget_moments();
                rig_settle(&g);
        }
}

static void who_asks_for_a_few_by_name_does_not_wait(void **state) {
        const char *one[] = {"load@7.service"};

        assert_true(str_has_prefix(rig_list_units_matching(&g, one, 1), "load@7.service n"));
}

static void a_leader_that_ends_leaves_the_list_to_the_next(void **state) {
        RigAnswer *a = list(true), *b;

        rig_turn(&g);
        rig_depose(&g);
        rig_turns(&g, 3);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, EAGAIN);
        rig_elect(&g);
        rig_settle(&g);
        b = list(true);
        finish(b);
        assert_int_equal(b->responses[0]->units->first, 0);
        rig_settle(&g);
        assert_true(list_is_empty(&g.leader->listings));
}

static void who_goes_away_makes_room_for_the_next(void **state) {
        _cleanup_free_ char *all = text_at_once(), *text = NULL;
        RigAnswer *a = list(true), *b = list(true);

        rig_turns(&g, 2);
        leader_cancel(g.leader, a->cancel);
        finish(b);
        assert_false(a->final);
        text = text_of(b);
        assert_string_equal(text, all);
        rig_settle(&g);
        assert_true(list_is_empty(&g.leader->listings));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_long_list_is_made_and_given_in_turns),
                TEST(who_takes_no_parts_hears_one_answer),
                TEST(unit_files_are_listed_likewise),
                TEST(a_list_shows_one_moment_whatever_happens_while_it_is_made),
                TEST(who_asks_for_a_few_by_name_does_not_wait),
                TEST(a_leader_that_ends_leaves_the_list_to_the_next),
                TEST(who_goes_away_makes_room_for_the_next),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
