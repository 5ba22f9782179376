// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "load-state.h"

#define LOAD(x) ARGOSY__LOAD_STATE__LOAD_##x
#define ACTIVE(x) ARGOSY__ACTIVE_STATE__ACTIVE_##x

typedef struct Shown {
        const char *story;
        bool in_memory;
        Argosy__LoadState said;
        bool no_file, failed;
        Argosy__LoadState hidden, of_file, shown;
} Shown;

static void it_is_systemds_word_as_long_as_the_unit_is_in_memory(void **state) {
        static const Shown rows[] = {
                {"in memory", true, LOAD(LOADED), .shown = LOAD(LOADED)},
                {"in memory without a word", true, LOAD(UNKNOWN), .shown = LOAD(LOADED)},
                {"likewise, of a file that is no good", true, LOAD(UNKNOWN), .of_file = LOAD(BAD_SETTING),
                 .shown = LOAD(BAD_SETTING)},
                {"it runs, and its file has gone since: systemd has not looked", true, LOAD(LOADED),
                 .hidden = LOAD(NOT_FOUND), .shown = LOAD(LOADED)},
                {"systemd has looked", true, LOAD(NOT_FOUND), .shown = LOAD(NOT_FOUND)},
                {"dropped from memory, whatever it was there", false, LOAD(ERROR), .shown = LOAD(LOADED)},
                {"dropped, the file was read before", false, LOAD(UNKNOWN), .of_file = LOAD(LOADED),
                 .shown = LOAD(LOADED)},
                {"dropped, the file is no good", false, LOAD(UNKNOWN), .of_file = LOAD(BAD_SETTING),
                 .shown = LOAD(BAD_SETTING)},
                {"dropped, masked meanwhile", false, LOAD(UNKNOWN), .hidden = LOAD(MASKED),
                 .of_file = LOAD(BAD_SETTING), .shown = LOAD(MASKED)},
                {"its file is about to be written", false, LOAD(UNKNOWN), .no_file = true,
                 .shown = LOAD(STUB)},
                {"its file could not be written", false, LOAD(UNKNOWN), .no_file = true, .failed = true,
                 .shown = LOAD(NOT_FOUND)},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Shown *row = &rows[i];
                UnitRuntime rt = {.loaded = row->in_memory, .load = (uint8_t) row->said};
                LoadStateInput in = {.runtime = &rt,
                                     .file_present = !row->no_file,
                                     .failed = row->failed,
                                     .hidden = row->hidden,
                                     .of_file = row->of_file};

                if (load_state_shown(&in) != row->shown)
                        fail_msg("%s: %i", row->story, load_state_shown(&in));
        }
}

static void what_systemd_says_of_a_file_is_kept_while_that_is_in_place(void **state) {
        assert_int_equal(load_state_of_file(LOAD(UNKNOWN), LOAD(LOADED), ACTIVE(ACTIVE), false),
                         LOAD(LOADED));
        assert_int_equal(load_state_of_file(LOAD(LOADED), LOAD(BAD_SETTING), ACTIVE(ACTIVE), false),
                         LOAD(BAD_SETTING));
        assert_int_equal(load_state_of_file(LOAD(BAD_SETTING), LOAD(LOADED), ACTIVE(INACTIVE), false),
                         LOAD(LOADED));
        assert_int_equal(load_state_of_file(LOAD(UNKNOWN), LOAD(ERROR), ACTIVE(FAILED), false), LOAD(ERROR));
        // Nothing is said of the file:
        assert_int_equal(load_state_of_file(LOAD(BAD_SETTING), LOAD(UNKNOWN), ACTIVE(INACTIVE), false),
                         LOAD(BAD_SETTING));
        assert_int_equal(load_state_of_file(LOAD(LOADED), LOAD(ERROR), ACTIVE(ACTIVE), false), LOAD(LOADED));
        assert_int_equal(load_state_of_file(LOAD(LOADED), LOAD(NOT_FOUND), ACTIVE(ACTIVE), false),
                         LOAD(LOADED));
        assert_int_equal(load_state_of_file(LOAD(LOADED), LOAD(MASKED), ACTIVE(INACTIVE), false),
                         LOAD(LOADED));
        // Or of an older one:
        assert_int_equal(load_state_of_file(LOAD(UNKNOWN), LOAD(BAD_SETTING), ACTIVE(FAILED), true),
                         LOAD(UNKNOWN));
}

RUN_TESTS(
        cmocka_unit_test(it_is_systemds_word_as_long_as_the_unit_is_in_memory),
        cmocka_unit_test(what_systemd_says_of_a_file_is_kept_while_that_is_in_place)
)
