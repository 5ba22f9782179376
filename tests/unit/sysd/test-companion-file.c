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

FIXTURE(setup) {
        Fixture *f = calloc(1, sizeof(*f));

        strcpy(f->dir, "/tmp/argosy-test-XXXXXX");
        strcpy(f->other, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        assert_non_null(mkdtemp(f->other));
        f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = f;
}

FIXTURE(teardown) {
        Fixture *f = *state;

        close(f->fd);
        dir_empty(AT_FDCWD, f->dir);
        dir_empty(AT_FDCWD, f->other);
        rmdir(f->dir);
        rmdir(f->other);
        free(f);
}

static int put(Fixture *f, const char *content) {
        const char *const dirs[] = {f->dir, f->other, NULL};

        return companion_file_put(f->dir, dirs, "al@.service", content, strlen(content));
}

static uint64_t time_of(int fd) {
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return (uint64_t) st.st_mtim.tv_sec * 1000000 + (uint64_t) st.st_mtim.tv_nsec / 1000;
}

static void each_change_is_seen_by_the_time_of_the_directory(void **state) {
        Fixture *f = *state;
        uint64_t before = time_of(f->fd), after;

        assert_int_equal(put(f, "one"), COMPANION_NEW);
        after = time_of(f->fd);
        assert_true(after > before);
        assert_int_equal(put(f, "one"), COMPANION_AS_IT_WAS);
        assert_true(time_of(f->fd) == after);
        assert_int_equal(put(f, "two"), COMPANION_REPLACED);
        assert_true(time_of(f->fd) > after);
        after = time_of(f->fd);
        assert_int_equal(companion_file_drop(f->dir, "al@.service"), 0);
        assert_true(time_of(f->fd) > after);
        assert_int_equal(companion_file_drop(f->dir, "al@.service"), 0);
        assert_int_equal(faccessat(f->fd, "al@.service", F_OK, 0), -1);
}

static void what_is_somebody_elses_is_left_alone(void **state) {
        Fixture *f = *state;
        _cleanup_buf_ Buf have = {};
        _cleanup_(closep) int other = open(f->other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(file_replace(f->fd, "al@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(put(f, "ours"), COMPANION_AS_IT_WAS);
        assert_int_equal(companion_file_drop(f->dir, "al@.service"), 0);
        assert_int_equal(file_read(f->fd, "al@.service", 100, &have), 0);
        assert_memory_equal(have.data, "theirs", 6);

        // One that comes elsewhere is not hidden by ours.
        assert_int_equal(unlinkat(f->fd, "al@.service", 0), 0);
        assert_int_equal(put(f, "ours"), COMPANION_NEW);
        assert_int_equal(file_replace(other, "al@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(put(f, "ours"), COMPANION_AS_IT_WAS);
        assert_int_equal(faccessat(f->fd, "al@.service", F_OK, 0), -1);
}

static void count(const char *name, void *userdata) {
        Fixture *f = userdata;

        assert_string_equal(name, "al@.service");
        f->n++;
}

static void ours_are_found_again(void **state) {
        Fixture *f = *state;

        assert_int_equal(put(f, "ours"), COMPANION_NEW);
        assert_int_equal(file_replace(f->fd, "web@.service", "theirs", 6, 0644, 0), 0);
        assert_int_equal(file_replace(f->fd, "web.service", COMPANION_FILE_MARK, strlen(COMPANION_FILE_MARK),
                                      0644, 0),
                         0);
        assert_int_equal(companion_files_foreach(f->dir, count, f), 0);
        assert_int_equal(f->n, 1);
        assert_int_equal(companion_files_foreach("/nowhere/at-all", count, f), 0);
}

// The file of a template of which there are instances takes its place.
static void a_template_of_ours_takes_its_place(void **state) {
        static const char text[] = "[Service]\nExecStart=/bin/true\n";
        UnitDirItem item = {.name = "al@1.service",
                            .from_template = true,
                            .content = text,
                            .len = strlen(text),
                            .spec = hash_of(text, strlen(text))};
        Fixture *f = *state;
        UnitDir *d = NULL;

        assert_int_equal(put(f, "ours"), COMPANION_NEW);
        assert_int_equal(unit_dir_new(f->dir, NULL, &d), 0);
        char *path = unit_dir_foreign(d, "al@1.service");
        assert_null(path);
        unit_dir_apply(d, &item, 1);
        assert_int_equal(item.error, 0);
        assert_false(companion_file_is(f->fd, "al@.service"));
        assert_int_equal(put(f, "ours"), COMPANION_AS_IT_WAS);
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
