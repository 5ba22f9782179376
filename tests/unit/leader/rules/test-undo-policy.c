// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What undoing a job does to a unit, as a table: what it was before, what the job made of it, and what it is
// now.
#include "test.h"

#include "undo-policy.h"

#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

#define NONE {}
#define UNIT(content, what) {.exists = true, .spec.bytes[0] = content, .target = what}

static const struct {
        const char *story;
        UndoState before, after, now;
        bool force;
        UndoVerdict verdict;
        UndoState wanted; // of UNDO_PUT
} table[] = {
        {"a new file goes back", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), UNIT('b', LAUNCHED), false,
         UNDO_PUT, UNIT('a', LAUNCHED)},
        {"a stopped unit is started", UNIT('a', LAUNCHED), UNIT('a', LOADED), UNIT('a', LOADED), false,
         UNDO_PUT, UNIT('a', LAUNCHED)},
        {"both at once", UNIT('a', LOADED), UNIT('b', LAUNCHED), UNIT('b', LAUNCHED), false, UNDO_PUT,
         UNIT('a', LOADED)},
        {"what it made is removed", NONE, UNIT('a', LAUNCHED), UNIT('a', LAUNCHED), false, UNDO_REMOVE,
         NONE},
        {"what it removed is made again", UNIT('a', LOADED), NONE, NONE, false, UNDO_PUT, UNIT('a', LOADED)},

        {"it belongs where it did",
         {.exists = true, .target = LAUNCHED, .set = "a"},
         {.exists = true, .target = LAUNCHED, .set = "b"},
         {.exists = true, .target = LAUNCHED, .set = "b"},
         false,
         UNDO_PUT,
         {.exists = true, .target = LAUNCHED, .set = "a"}},
        {"somebody else has taken it since",
         {.exists = true, .target = LAUNCHED, .set = "a"},
         {.exists = true, .target = LAUNCHED, .set = "b"},
         {.exists = true, .target = LAUNCHED, .set = "c"},
         false,
         UNDO_TOUCHED,
         {}},

        {"a restart is over", UNIT('a', LAUNCHED), UNIT('a', LAUNCHED), UNIT('a', LAUNCHED), false, UNDO_RAN,
         NONE},
        {"and stays that", UNIT('a', LAUNCHED), UNIT('a', LAUNCHED), UNIT('b', LOADED), true, UNDO_RAN,
         NONE},
        {"it came and went in one job", NONE, NONE, NONE, false, UNDO_RAN, NONE},

        {"it is as before already", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), UNIT('a', LAUNCHED), false,
         UNDO_DONE, NONE},
        {"somebody has removed what it made", NONE, UNIT('a', LAUNCHED), NONE, false, UNDO_DONE, NONE},
        {"somebody has made it as it was", UNIT('a', LOADED), NONE, UNIT('a', LOADED), false, UNDO_DONE,
         NONE},

        {"its file has changed again", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), UNIT('c', LAUNCHED), false,
         UNDO_TOUCHED, NONE},
        {"that is overruled", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), UNIT('c', LAUNCHED), true, UNDO_PUT,
         UNIT('a', LAUNCHED)},
        {"it was stopped since, and gets its file", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED),
         UNIT('b', LOADED), false, UNDO_PUT, UNIT('a', LOADED)},
        {"its file has changed since, and it is started", UNIT('a', LAUNCHED), UNIT('a', LOADED),
         UNIT('b', LOADED), false, UNDO_PUT, UNIT('b', LAUNCHED)},
        {"half of it was put back, half changed", UNIT('a', LOADED), UNIT('b', LAUNCHED),
         UNIT('a', INACTIVE), false, UNDO_TOUCHED, NONE},
        {"half of it was put back", UNIT('a', LOADED), UNIT('b', LAUNCHED), UNIT('a', LAUNCHED), false,
         UNDO_PUT, UNIT('a', LOADED)},
        {"it is gone", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), NONE, false, UNDO_TOUCHED, NONE},
        {"it is made again", UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), NONE, true, UNDO_PUT,
         UNIT('a', LAUNCHED)},
        {"what it made was stopped", NONE, UNIT('a', LAUNCHED), UNIT('a', LOADED), false, UNDO_TOUCHED,
         NONE},
        {"and is removed all the same", NONE, UNIT('a', LAUNCHED), UNIT('a', LOADED), true, UNDO_REMOVE,
         NONE},
        {"what it removed is another one", UNIT('a', LOADED), NONE, UNIT('b', LAUNCHED), false, UNDO_TOUCHED,
         NONE},
        {"and becomes the first again", UNIT('a', LOADED), NONE, UNIT('b', LAUNCHED), true, UNDO_PUT,
         UNIT('a', LOADED)},
};

static void the_table_holds(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                UndoUnit u = {table[i].before, table[i].after, table[i].now};
                UndoState wanted;

                print_message("%s\n", table[i].story);
                assert_int_equal(undo_judge(&u, table[i].force, &wanted), table[i].verdict);
                if (table[i].verdict != UNDO_PUT)
                        continue;
                assert_true(wanted.exists);
                assert_int_equal(wanted.spec.bytes[0], table[i].wanted.spec.bytes[0]);
                assert_int_equal(wanted.target, table[i].wanted.target);
                assert_string_equal(wanted.set ?: "", table[i].wanted.set ?: "");
        }
}

// Whose file it is comes with the file.
static void a_template_keeps_its_instances(void **state) {
        UndoUnit u = {UNIT('a', LAUNCHED), UNIT('b', LAUNCHED), UNIT('b', LAUNCHED)};
        UndoState wanted;

        u.before.from_template = true;
        assert_int_equal(undo_judge(&u, false, &wanted), UNDO_PUT);
        assert_true(wanted.from_template);
        u = (UndoUnit){UNIT('a', LAUNCHED), UNIT('a', LOADED), UNIT('b', LOADED)};
        u.now.from_template = true;
        assert_int_equal(undo_judge(&u, false, &wanted), UNDO_PUT);
        assert_true(wanted.from_template);
}

// Undoing what was undone leads back, whatever it was.
static void undoing_twice_leads_back(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                UndoUnit u = {table[i].before, table[i].after, table[i].after}, back;
                UndoState wanted;

                if (undo_judge(&u, false, &wanted) == UNDO_RAN)
                        continue;
                back = (UndoUnit){u.after, u.before, u.before};
                if (u.after.exists) {
                        assert_int_equal(undo_judge(&back, false, &wanted), UNDO_PUT);
                        assert_int_equal(wanted.spec.bytes[0], u.after.spec.bytes[0]);
                        assert_int_equal(wanted.target, u.after.target);
                } else
                        assert_int_equal(undo_judge(&back, false, &wanted), UNDO_REMOVE);
        }
}

static void a_setting_is_whole(void **state) {
        assert_int_equal(undo_judge_setting(false, true, false), UNDO_PUT);
        assert_int_equal(undo_judge_setting(true, false, false), UNDO_DONE);
        assert_int_equal(undo_judge_setting(true, false, true), UNDO_DONE);
        assert_int_equal(undo_judge_setting(true, true, false), UNDO_DONE); // it went there and back
        assert_int_equal(undo_judge_setting(false, false, false), UNDO_TOUCHED);
        assert_int_equal(undo_judge_setting(false, false, true), UNDO_PUT);
}

RUN_TESTS(
        cmocka_unit_test(the_table_holds),
        cmocka_unit_test(a_template_keeps_its_instances),
        cmocka_unit_test(undoing_twice_leads_back),
        cmocka_unit_test(a_setting_is_whole)
)
