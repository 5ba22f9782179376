// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "companion-file.h"
#include "fileio.h"
#include "str.h"
#include "unit-dir.h"

typedef struct Fixture {
        char dir[64], other[64];
        int fd;
        size_t n;
} Fixture;

static Fixture g;

FIXTURE(setup) {
        g = (Fixture){};
        strcpy(g.dir, "/tmp/argosy-test-XXXXXX");
        strcpy(g.other, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(g.dir));
        assert_non_null(mkdtemp(g.other));
        g.fd = open(g.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

FIXTURE(teardown) {
        close(g.fd);
        dir_empty(AT_FDCWD, g.dir);
        dir_empty(AT_FDCWD, g.other);
        rmdir(g.dir);
        rmdir(g.other);
}

static int put(const char *content) {
        const char *const dirs[] = {g.dir, g.other, NULL};

        return companion_file_put(g.dir, dirs, "al@.service", content, strlen(content));
}

static uint64_t time_of(int fd) {
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return (uint64_t) st.st_mtim.tv_sec * 1000000 + (uint64_t) st.st_mtim.tv_nsec / 1000;
}

static void each_change_is_seen_by_the_time_of_the_directory(void **state) {
        uint64_t before = time_of(g.fd), after;

        assert_int_equal(put("one"), COMPANION_NEW);
        after = time_of(g.fd);
        assert_true(after > before);
        assert_int_equal(put("one"), COMPANION_AS_IT_WAS);
        assert_true(time_of(g.fd) == after);
        assert_int_equal(put("two"), COMPANION_REPLACED);
        assert_true(time_of(g.fd) > after);
        after = time_of(g.fd);
        assert_int_equal(companion_file_drop(g.dir, "al@.service"), 0);
        assert_true(time_of(g.fd) > after);
        assert_int_equal(companion_file_drop(g.dir, "al@.service"), 0);
        assert_int_equal(faccessat(g.fd, "al@.service", F_OK, 0), -1);
}

static void what_is_somebody_elses_is_left_alone(void **state) {
        _cleanup_buf_ Buf have = {};
        _cleanup_(closep) int other = open(g.other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(file_replace(g.fd, "al@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(put("ours"), COMPANION_AS_IT_WAS);
        assert_int_equal(companion_file_drop(g.dir, "al@.service"), 0);
        assert_int_equal(file_read(g.fd, "al@.service", 100, &have), 0);
        assert_memory_equal(have.data, "theirs", 6);

        // One that comes elsewhere is not hidden by ours.
        assert_int_equal(unlinkat(g.fd, "al@.service", 0), 0);
        assert_int_equal(put("ours"), COMPANION_NEW);
        assert_int_equal(file_replace(other, "al@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(put("ours"), COMPANION_AS_IT_WAS);
        assert_int_equal(faccessat(g.fd, "al@.service", F_OK, 0), -1);
}

static void count(const char *name, void *userdata) {
        assert_string_equal(name, "al@.service");
        g.n++;
}

static void ours_are_found_again(void **state) {
        assert_int_equal(put("ours"), COMPANION_NEW);
        assert_int_equal(file_replace(g.fd, "web@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(file_replace(g.fd, "web.service", COMPANION_FILE_MARK, strlen(COMPANION_FILE_MARK),
                                      0644, 0),
                         0);
        assert_int_equal(companion_files_foreach(g.dir, count, &g), 0);
        assert_int_equal(g.n, 1);
        assert_int_equal(companion_files_foreach("/nowhere/at-all", count, &g), 0);
}

// The file of a template of which there are instances takes its place.
static void a_template_of_ours_takes_its_place(void **state) {
        static const char text[] = "[Service]\nExecStart=/bin/true\n";
        UnitDirItem item = {.name = "al@1.service",
                            .from_template = true,
                            .content = text,
                            .len = strlen(text),
                            .spec = hash_of(text, strlen(text))};
        UnitDir *d = NULL;

        assert_int_equal(put("ours"), COMPANION_NEW);
        assert_int_equal(unit_dir_new(g.dir, NULL, &d), 0);
        char *path = unit_dir_foreign(d, "al@1.service");
        assert_null(path);
        unit_dir_apply(d, &item, 1);
        assert_int_equal(item.error, 0);
        assert_false(companion_file_is(g.fd, "al@.service"));
        assert_int_equal(put("ours"), COMPANION_AS_IT_WAS);
        unit_dir_free(d);
        buf_done(&item.touched);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(each_change_is_seen_by_the_time_of_the_directory, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_somebody_elses_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(ours_are_found_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_template_of_ours_takes_its_place, setup, teardown)
)
