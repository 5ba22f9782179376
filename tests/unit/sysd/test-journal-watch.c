// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which of the things that journald does to its directories mean that a journal has to be read, or opened,
// again.
#include "fileio.h"
#include "journal-watch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "printed.h"
#include "test.h"
#include "str.h"

enum { MANY = 40 }; // more than it remembers by name

static char base[] = "/tmp/argosy-watch-XXXXXX", below[64];
static const char *const dirs[] = {base, below, "/nonexistent", NULL};
static JournalWatch *watch;

static const char *path_of(const char *name) {
        static char path[2][128];
        static int turn;

        turn = !turn;
        snprintf(path[turn], sizeof(path[turn]), "%s/%s", below, name);
        return path[turn];
}

static void write_to(const char *name, int flags) {
        _cleanup_(closep) int fd = open(path_of(name), O_WRONLY | O_CLOEXEC | flags, 0600);

        assert_true(fd >= 0);
        if (!(flags & O_CREAT))
                assert_int_equal(write(fd, "x", 1), 1);
}

static void create(const char *name) {
        write_to(name, O_CREAT | O_EXCL);
}

static void append(const char *name) {
        write_to(name, O_APPEND);
}

static int teardown(void **state) {
        _cleanup_free_ char *command = str_printf("rm -rf %s", base);

        watch = journal_watch_free(watch);
        return system(command);
}

static int setup(void **state) {
        memcpy(base + sizeof(base) - 7, "XXXXXX", 6);
        assert_non_null(mkdtemp(base));
        snprintf(below, sizeof(below), "%s/machine", base);
        assert_int_equal(mkdir(below, 0700), 0);
        create("system.journal");
        append("system.journal");
        assert_int_equal(journal_watch_new(dirs, &watch), 0);
        return 0;
}

static void what_is_added_makes_it_longer(void **state) {
        assert_int_equal(journal_watch_read(watch), JOURNAL_AS_IT_WAS);
        append("system.journal");
        append("system.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_LONGER);
        assert_int_equal(journal_watch_read(watch), JOURNAL_AS_IT_WAS);
        create("fss");
        append("fss"); // none of its files
        assert_int_equal(journal_watch_read(watch), JOURNAL_AS_IT_WAS);
}

// Its first bytes are the header, before which nobody can open it.
static void a_rotation_is_seen_when_the_new_file_is_there_and_when_it_can_be_read(void **state) {
        assert_int_equal(rename(path_of("system.journal"), path_of("system@1.journal")), 0);
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        create("system.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        assert_int_equal(journal_watch_again(watch), 0);
        append("system@1.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_LONGER);
        append("system.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        assert_int_equal(journal_watch_again(watch), 0);
        append("system.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_LONGER);
}

static void old_files_that_are_removed_are_let_go(void **state) {
        assert_int_equal(unlink(path_of("system.journal")), 0);
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
}

static void a_file_that_may_be_read_now_is_another_one(void **state) {
        assert_int_equal(chmod(path_of("system.journal"), 0640), 0);
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
}

static void of_very_many_new_files_none_is_missed(void **state) {
        for (int i = 0; i < MANY; i++) {
                create(printed("user-%d.journal", i));
        }
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        for (int i = 0; i < MANY; i++) {
                assert_int_equal(journal_watch_again(watch), 0);
                append(printed("user-%d.journal", i));
                assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        }
        assert_int_equal(journal_watch_again(watch), 0);
        append("user-0.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_LONGER);
}

// As when the journal moves from /run to /var.
static void a_directory_that_comes_later_is_watched_too(void **state) {
        assert_int_equal(unlink(path_of("system.journal")), 0);
        assert_int_equal(rmdir(below), 0);
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        assert_int_equal(mkdir(below, 0700), 0);
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
        assert_int_equal(journal_watch_again(watch), 0);
        create("system.journal");
        assert_int_equal(journal_watch_read(watch), JOURNAL_OTHER_FILES);
}

static void its_descriptor_wakes_whoever_waits(void **state) {
        struct pollfd p = {.fd = journal_watch_fd(watch), .events = POLLIN};

        assert_int_equal(poll(&p, 1, 0), 0);
        append("system.journal");
        assert_int_equal(poll(&p, 1, 0), 1);
        assert_int_equal(journal_watch_read(watch), JOURNAL_LONGER);
        assert_int_equal(poll(&p, 1, 0), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        T(what_is_added_makes_it_longer),
        T(a_rotation_is_seen_when_the_new_file_is_there_and_when_it_can_be_read),
        T(old_files_that_are_removed_are_let_go),
        T(a_file_that_may_be_read_now_is_another_one),
        T(of_very_many_new_files_none_is_missed),
        T(a_directory_that_comes_later_is_watched_too),
        T(its_descriptor_wakes_whoever_waits)
)
