// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"

#include "journal.h"
#include "macro.h"

static bool reader_ended, reader_closed, reader_read;

static void on_lines(char **lines, size_t n, void *userdata) {
        fail_msg("a unit that never was has written: %s", lines[0]);
}

static void on_ended(int error, void *userdata) {
        assert_int_equal(error, 0);
        reader_ended = true;
}

static void on_closed(void *userdata) {
        reader_closed = true;
}

static void on_read(void *userdata) {
        reader_read = true;
}

static const JournalOps ops = {.lines = on_lines, .read = on_read, .ended = on_ended};

static JournalReader *read_nobodys(unsigned n_lines, bool follow) {
        const JournalQuestion q = {.manager = JOURNAL_SYSTEM,
                                   .unit = "argosy-test-nobody.service",
                                   .n_lines = n_lines,
                                   .follow = follow};
        JournalReader *r;

        assert_int_equal(journal_reader_new(&test_loop, &q, &ops, NULL, &r), 0);
        return r;
}

static void the_journal_of_nobody_is_empty(void **state) {
        JournalReader *r = read_nobodys(10, false);

        loop_until(reader_ended);
        journal_reader_close(r, on_closed, NULL);
        loop_until(reader_closed);
        reader_ended = reader_closed = false;
}

static void following_ends_only_when_it_is_closed(void **state) {
        JournalReader *r = read_nobodys(0, true);

        for (int i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(reader_ended);
        journal_reader_close(r, on_closed, NULL); // perhaps in the middle of a read
        loop_until(reader_closed);
        assert_false(reader_ended);
        reader_closed = false;
}

static void it_is_said_when_all_was_read_and_more_is_waited_for(void **state) {
        JournalReader *r = read_nobodys(5, true);

        reader_read = false;
        loop_until(reader_read);
        assert_false(reader_ended);
        journal_reader_close(r, on_closed, NULL);
        loop_until(reader_closed);
        reader_closed = false;
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(the_journal_of_nobody_is_empty, loop_setup, loop_teardown),
        cmocka_unit_test_setup_teardown(following_ends_only_when_it_is_closed, loop_setup,
                                        loop_teardown),
        cmocka_unit_test_setup_teardown(it_is_said_when_all_was_read_and_more_is_waited_for,
                                        loop_setup, loop_teardown)
)
