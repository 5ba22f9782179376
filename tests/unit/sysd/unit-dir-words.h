// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A unit directory of its own for each test, and what others put into it.

#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "str.h"
#include "tmpdir.h"
#include "unit-dir.h"
#include "unit-pin.h"

static UnitDir *d;

static inline void open_dir(void) {
        static const char *const foreign[] = {"etc", "lib", "generator", NULL};

        assert_int_equal(unit_dir_new("units", foreign, &d), 0);
}

FIXTURE(set_up) {
        assert_int_equal(tmpdir_enter(state), 0);
        assert_int_equal(mkdir("etc", 0755) | mkdir("lib", 0755) | mkdir("generator", 0755), 0);
        open_dir();
}

static inline int tear_down(void **state) {
        d = unit_dir_free(d);
        return tmpdir_drop(state);
}

static inline UnitDirItem item_of(const char *name, const char *content, bool from_template,
                                  const char *slice) {
        return (UnitDirItem){
                .name = name,
                .from_template = from_template,
                .content = content,
                .len = strlen(content),
                .spec = hash_of(content, strlen(content)),
                .slice = slice,
        };
}

static inline int write_one(const char *name, const char *content, bool from_template, const char *slice) {
        UnitDirItem item = item_of(name, content, from_template, slice);

        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static inline int remove_one(const char *name) {
        UnitDirItem item = {.name = name, .remove = true};

        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static inline void assert_file(const char *path, const char *content) {
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &b), 0);
        assert_int_equal(buf_append(&b, "", 1), 0);
        assert_string_equal((char *) b.data, content);
}

static inline void put_foreign(const char *path, const char *content) {
        assert_int_equal(file_replace(AT_FDCWD, path, content, strlen(content), 0644, 0), 0);
}

static inline bool exists(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0;
}

static inline size_t count_files(const char *path) {
        DIR *dir = opendir(path);
        size_t n = 0;

        assert_non_null(dir);
        for (struct dirent *e; (e = readdir(dir));)
                n += !streq(e->d_name, ".") && !streq(e->d_name, "..");
        closedir(dir);
        return n;
}

static inline int64_t mtime_us(void) {
        struct stat st;

        assert_int_equal(stat("units", &st), 0);
        return (int64_t) st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
}

static inline Hash spec_of(const char *content) {
        return hash_of(content, strlen(content));
}

static inline void assert_link(const char *path, const char *text) {
        char seen[256] = "";

        assert_true(readlink(path, seen, sizeof(seen) - 1) > 0);
        assert_string_equal(seen, text);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
