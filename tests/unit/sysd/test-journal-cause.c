// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "journal-cause.h"

#define RUN_1 "11111111111111111111111111111111"
#define RUN_2 "22222222222222222222222222222222"
#define SYSTEMD(at, run, priority, text) {at, priority, true, run, text}
#define PROGRAM(at, run, text) {at, 6, false, run, text}

// The texts that are chosen, each on its line.
static void assert_chosen_of(const JournalEntry *entries, size_t n, uint64_t since_us, size_t most,
                             const char *expected) {
        _cleanup_free_ bool *chosen = malloc(n + 1); // asan sees what is behind it
        _cleanup_buf_ Buf seen = {};
        size_t n_chosen = journal_cause_choose(entries, n, since_us, most, chosen);

        for (size_t i = 0; i < n; i++)
                if (chosen[i]) {
                        assert_int_equal(buf_printf(&seen, "%s\n", entries[i].text), 0);
                        n_chosen--;
                }
        assert_int_equal(n_chosen, 0);
        assert_int_equal(buf_append(&seen, "", 1), 0);
        assert_string_equal((char *) seen.data, expected);
}

#define assert_chosen(entries, since_us, most, expected) \
        assert_chosen_of(entries, ELEMENTSOF(entries), since_us, most, expected)

static void the_cause_is_the_fourth_line_from_the_end(void **state) {
        static const JournalEntry entries[] = {
                SYSTEMD(1, RUN_1, 6, "Starting env.service..."),
                SYSTEMD(2, RUN_1, 4,
                        "env.service: Failed to load environment files: No such file or directory"),
                SYSTEMD(3, RUN_1, 4, "env.service: Failed to run 'start' task: No such file or directory"),
                SYSTEMD(4, RUN_1, 4, "env.service: Failed with result 'resources'."),
                SYSTEMD(5, RUN_1, 3, "Failed to start env.service."),
        };

        assert_chosen(entries, 0, 3,
                      "env.service: Failed to load environment files: No such file or directory\n"
                      "env.service: Failed to run 'start' task: No such file or directory\n"
                      "Failed to start env.service.\n");
        assert_chosen(entries, 0, 1,
                      "env.service: Failed to load environment files: No such file or directory\n");
}

static void what_the_program_said_last_is_among_them(void **state) {
        static const JournalEntry entries[] = {
                SYSTEMD(1, RUN_1, 6, "Started web.service."),
                PROGRAM(2, RUN_1, "reading web.conf"),
                PROGRAM(3, RUN_1, "web.conf:7: what is that"),
                PROGRAM(4, RUN_1, "giving up"),
                SYSTEMD(5, RUN_1, 5, "web.service: Main process exited, code=exited, status=1/FAILURE"),
                SYSTEMD(6, RUN_1, 4, "web.service: Failed with result 'exit-code'."),
        };

        assert_chosen(entries, 0, 3, "reading web.conf\nweb.conf:7: what is that\ngiving up\n");
        assert_chosen(entries, 0, 2, "web.conf:7: what is that\ngiving up\n");
}

static void a_complaint_leaves_room_for_a_word(void **state) {
        static const JournalEntry entries[] = {
                PROGRAM(1, RUN_1, "waiting for the database"),
                SYSTEMD(2, RUN_1, 4, "web.service: start operation timed out. Terminating."),
                SYSTEMD(3, RUN_1, 4, "web.service: State 'stop-sigterm' timed out. Killing."),
                SYSTEMD(4, RUN_1, 4, "web.service: Another complaint."),
                SYSTEMD(5, RUN_1, 4, "web.service: Failed with result 'timeout'."),
        };

        assert_chosen(entries, 0, 3,
                      "waiting for the database\nweb.service: start operation timed out. Terminating.\n"
                      "web.service: State 'stop-sigterm' timed out. Killing.\n");
}

static void nothing_is_said_twice(void **state) {
        static const JournalEntry entries[] = {
                PROGRAM(1, RUN_1, "no"), PROGRAM(2, RUN_1, "no"), PROGRAM(3, RUN_1, "no"),
                SYSTEMD(4, RUN_1, 5, "web.service: Main process exited, code=exited, status=1/FAILURE"),
        };

        assert_chosen(entries, 0, 3,
                      "no\nweb.service: Main process exited, code=exited, status=1/FAILURE\n");
}

static void a_former_run_or_life_does_not_count(void **state) {
        static const JournalEntry entries[] = {
                PROGRAM(1, RUN_1, "of the first run"),
                SYSTEMD(2, RUN_1, 4, "web.service: Failed to do something."),
                SYSTEMD(10, "", 6, "web.service: Scheduled restart job, restart counter is at 1."),
                PROGRAM(11, RUN_2, "of the second run"),
                SYSTEMD(12, RUN_2, 5, "web.service: Main process exited, code=exited, status=1/FAILURE"),
        };

        assert_chosen(entries, 0, 3,
                      "web.service: Scheduled restart job, restart counter is at 1.\nof the second run\n"
                      "web.service: Main process exited, code=exited, status=1/FAILURE\n");
        assert_chosen(entries, 12, 3, "web.service: Main process exited, code=exited, status=1/FAILURE\n");
        assert_chosen(entries, 13, 3, "");
}

// With its former file the unit is well.
static void a_run_that_is_well_does_not_hide_the_one_that_failed(void **state) {
        static const JournalEntry entries[] = {
                PROGRAM(1, RUN_1, "no such port"),
                SYSTEMD(2, RUN_1, 5, "web.service: Main process exited, code=exited, status=1/FAILURE"),
                SYSTEMD(3, RUN_2, 6, "Started web.service."),
                PROGRAM(4, RUN_2, "listening"),
        };

        assert_chosen(entries, 0, 3,
                      "no such port\nweb.service: Main process exited, code=exited, status=1/FAILURE\n");
        assert_chosen(entries, 3, 3, "listening\n");
}

static void without_anything_better_the_exit_is_named(void **state) {
        static const JournalEntry entries[] = {
                SYSTEMD(1, RUN_1, 6, "Started web.service."),
                SYSTEMD(2, RUN_1, 5, "web.service: Main process exited, code=exited, status=1/FAILURE"),
                SYSTEMD(3, RUN_1, 4, "web.service: Failed with result 'exit-code'."),
        };

        assert_chosen(entries, 0, 1, "web.service: Main process exited, code=exited, status=1/FAILURE\n");
        assert_chosen_of(entries, 0, 0, 3, "");
}

RUN_TESTS(
        cmocka_unit_test(the_cause_is_the_fourth_line_from_the_end),
        cmocka_unit_test(what_the_program_said_last_is_among_them),
        cmocka_unit_test(a_complaint_leaves_room_for_a_word),
        cmocka_unit_test(nothing_is_said_twice),
        cmocka_unit_test(a_former_run_or_life_does_not_count),
        cmocka_unit_test(a_run_that_is_well_does_not_hide_the_one_that_failed),
        cmocka_unit_test(without_anything_better_the_exit_is_named)
)
