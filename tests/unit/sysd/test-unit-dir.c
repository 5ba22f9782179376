// SPDX-License-Identifier: LGPL-2.1-or-later
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

static void open_dir(void) {
        static const char *const foreign[] = {"etc", "lib", "generator", NULL};

        assert_int_equal(unit_dir_new("units", foreign, &d), 0);
}

FIXTURE(set_up) {
        assert_int_equal(tmpdir_enter(state), 0);
        assert_int_equal(mkdir("etc", 0755) | mkdir("lib", 0755) | mkdir("generator", 0755), 0);
        open_dir();
}

static int tear_down(void **state) {
        d = unit_dir_free(d);
        return tmpdir_drop(state);
}

static UnitDirItem item_of(const char *name, const char *content, bool from_template, const char *slice) {
        return (UnitDirItem){
                .name = name,
                .from_template = from_template,
                .content = content,
                .len = strlen(content),
                .spec = hash_of(content, strlen(content)),
                .slice = slice,
        };
}

static int write_one(const char *name, const char *content, bool from_template, const char *slice) {
        UnitDirItem item = item_of(name, content, from_template, slice);

        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static int remove_one(const char *name) {
        UnitDirItem item = {.name = name, .remove = true};

        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static void assert_file(const char *path, const char *content) {
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &b), 0);
        assert_int_equal(buf_append(&b, "", 1), 0);
        assert_string_equal((char *) b.data, content);
}

static void put_foreign(const char *path, const char *content) {
        assert_int_equal(file_replace(AT_FDCWD, path, content, strlen(content), 0644, 0), 0);
}

static bool exists(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0;
}

static size_t count_files(const char *path) {
        DIR *dir = opendir(path);
        size_t n = 0;

        assert_non_null(dir);
        for (struct dirent *e; (e = readdir(dir));)
                n += !streq(e->d_name, ".") && !streq(e->d_name, "..");
        closedir(dir);
        return n;
}

static bool same_file(const char *a, const char *b) {
        struct stat x, y;

        assert_int_equal(stat(a, &x) | stat(b, &y), 0);
        return x.st_ino == y.st_ino;
}

static int64_t mtime_us(void) {
        struct stat st;

        assert_int_equal(stat("units", &st), 0);
        return (int64_t) st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
}

static Hash spec_of(const char *content) {
        return hash_of(content, strlen(content));
}

static void a_unit_has_a_file_and_a_dropin(void **state) {
        assert_int_equal(write_one("web.service", "[Service]\n", false, "argosy-01.slice"), 0);
        assert_file("units/web.service", "[Service]\n");
        assert_file("units/web.service.d/50-argosy.conf",
                    "[Unit]\nAfter=argosy.target\n[Service]\nSlice=argosy-01.slice\n");
        assert_int_equal(write_one("web.service", "[Service]\n", false, NULL), 0);
        assert_file("units/web.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
}

// All names that are made of it have room.
static void the_longest_name_has_everything_beside_it(void **state) {
        static const char job[] =
                "[Service]\nType=oneshot\nExecStart=/bin/true\n[X-Argosy]\nCutOff=stop\nCutOffSec=7\n"
                "[Install]\nWantedBy=a.target\n";
        char name[UNIT_NAME_MANAGED_MAX + 1], path[2 * UNIT_NAME_MAX];

        memset(name, 'a', sizeof(name));
        strcpy(name + UNIT_NAME_MANAGED_MAX - strlen(".service"), ".service");
        assert_int_equal(write_one(name, job, false, "argosy-01.slice"), 0);
        snprintf(path, sizeof(path), "units/%s", name);
        assert_file(path, job);
        snprintf(path, sizeof(path), "units/%s.d/50-argosy.conf", name);
        assert_true(exists(path));
        snprintf(path, sizeof(path), "units/a.target.wants/%s", name);
        assert_true(exists(path));
        assert_true(exists("units/argosy-pin@.target"));
        assert_int_equal(remove_one(name), 0);
        assert_int_equal(count_files("units"), 0);
}

static void removal_leaves_nothing(void **state) {
        assert_int_equal(write_one("web.service", "x", false, "argosy-01.slice"), 0);
        assert_int_equal(write_one("w@1.service", "y", true, "argosy-01.slice"), 0);
        assert_int_equal(write_one("w@2.service", "y", true, NULL), 0);
        assert_int_equal(write_one("w@3.service", "z", true, NULL), 0);
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(remove_one("w@1.service"), 0);
        assert_true(exists("units/w@.service"));
        assert_int_equal(remove_one("w@2.service"), 0);
        assert_int_equal(remove_one("w@3.service"), 0);
        assert_int_equal(count_files("units"), 0);
        assert_int_equal(remove_one("w@3.service"), 0);
        assert_false(unit_dir_find(d, "w@3.service", NULL));
}

static void the_file_that_pins_comes_with_the_first_one_shot(void **state) {
        static const char job[] = "[Service]\nType=oneshot\nExecStart=/bin/true\n";

        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        assert_false(exists("units/argosy-pin@.target"));
        assert_int_equal(write_one("job.service", job, false, NULL), 0);
        assert_file("units/argosy-pin@.target", UNIT_PIN_TEXT);
        put_foreign("units/argosy-pin@.target", "[Unit]\n");
        assert_int_equal(unit_dir_check(d, "job.service"), 0);
        assert_int_equal(write_one("job.service", job, false, NULL), 0);
        assert_file("units/argosy-pin@.target", UNIT_PIN_TEXT);
        assert_int_equal(remove_one("job.service"), 0);
        assert_true(exists("units/argosy-pin@.target")); // there may be another
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

#define GUARDED "[Service]\nExecStart=/bin/true\n[X-Argosy]\nCutOff=stop\nCutOffSec=7\n"
#define BOUND                                                                                               \
        "[Unit]\nAfter=argosy.target\n[Unit]\nBindsTo=argosy-guard@7.target\nAfter=argosy-guard@7.target\n" \
        "[Service]\nTimeoutStopSec=90\n"

static void a_unit_that_stops_when_cut_off_is_bound_to_its_guard(void **state) {
        static const char content[] = GUARDED, plain[] = "[Service]\nExecStart=/bin/true\n";
        Hash hash = hash_of(content, strlen(content));

        assert_int_equal(write_one("g.service", content, false, NULL), 0);
        assert_file("units/g.service.d/50-argosy.conf", BOUND);
        assert_int_equal(write_one("w@1.service", content, true, NULL), 0);
        assert_file("units/w@1.service.d/50-argosy.conf", BOUND);
        assert_file("units/w@.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "g.service", false, &hash, NULL), 0);
        assert_int_equal(unit_dir_adopt(d, "w@1.service", true, &hash, NULL), 0);
        put_foreign("units/w@1.service.d/50-argosy.conf", "[Unit]\n");
        assert_int_equal(unit_dir_check(d, "w@1.service"), 1);

        assert_int_equal(write_one("w@1.service", plain, true, NULL), 0);
        assert_false(exists("units/w@1.service.d"));
        assert_int_equal(write_one("g.service", plain, false, NULL), 0);
        assert_file("units/g.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
}

static void dropins_of_others_stay(void **state) {
        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        put_foreign("units/web.service.d/override.conf", "mine");
        assert_int_equal(remove_one("web.service"), 0);
        assert_file("units/web.service.d/override.conf", "mine");
        assert_int_equal(count_files("units/web.service.d"), 1);
}

static void set_time(const char *path, int64_t sec) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = sec, .tv_nsec = 5}};

        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool has_time(const char *path, int64_t sec) {
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return st.st_mtim.tv_sec == sec && st.st_mtim.tv_nsec == 5;
}

// As files that come with a unit are listed (carried-files.h).
#define WITH_FILE(more, hash)                                                                            \
        "[Service]\nExecStart=/bin/a\n" more "\n# web.service.d/~argosy.conf\n[Service]\n\n"        \
        "# mode, bytes, SHA-256 and name of each file\n# 0444 1 " hash " a\n"

// systemd takes what runs for outdated when the file that it was made of is newer.
static void a_file_that_says_the_same_to_systemd_keeps_its_time(void **state) {
        assert_int_equal(write_one("web.service", WITH_FILE("", "1"), false, "argosy-00.slice"), 0);
        set_time("units/web.service", 1000);
        set_time("units/web.service.d/50-argosy.conf", 1000);
        assert_int_equal(write_one("web.service", WITH_FILE("", "2"), false, "argosy-00.slice"), 0);
        assert_file("units/web.service", WITH_FILE("", "2"));
        assert_true(has_time("units/web.service", 1000) &&
                    has_time("units/web.service.d/50-argosy.conf", 1000));
        assert_int_equal(write_one("web.service", WITH_FILE("User=x\n", "2"), false, NULL), 0);
        assert_false(has_time("units/web.service", 1000));
        assert_false(has_time("units/web.service.d/50-argosy.conf", 1000));
}

static void the_file_of_a_template_keeps_its_time_as_well(void **state) {
        assert_int_equal(write_one("web@1.service", WITH_FILE("", "1"), true, NULL), 0);
        assert_int_equal(write_one("web@2.service", WITH_FILE("", "1"), true, NULL), 0);
        set_time("units/web@.service", 1000);
        assert_int_equal(write_one("web@1.service", WITH_FILE("", "2"), true, NULL), 0);
        assert_file("units/web@.service", WITH_FILE("", "2"));
        assert_file("units/web@2.service", WITH_FILE("", "1"));
        assert_true(has_time("units/web@.service", 1000) && has_time("units/web@2.service", 1000));
        // no instance any more
        assert_int_equal(write_one("web@2.service", WITH_FILE("", "3"), false, NULL), 0);
        assert_true(has_time("units/web@2.service", 1000));
}

static void sockets_are_not_ordered_behind_the_daemon(void **state) {
        assert_int_equal(write_one("a.socket", "x", false, NULL), 0);
        assert_false(exists("units/a.socket.d"));
        assert_int_equal(write_one("b.socket", "x", false, "argosy-01.slice"), 0);
        assert_file("units/b.socket.d/50-argosy.conf", "[Socket]\nSlice=argosy-01.slice\n");
        assert_int_equal(write_one("c.timer", "x", false, "argosy-01.slice"), 0);
        assert_file("units/c.timer.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
}

static void instances_share_one_file(void **state) {
        UnitDirItem items[] = {item_of("w@1.service", "one", true, "argosy-01.slice"),
                               item_of("w@2.service", "one", true, NULL)};

        unit_dir_apply(d, items, 2);
        assert_int_equal(items[0].error | items[1].error, 0);
        assert_file("units/w@.service", "one");
        assert_false(exists("units/w@1.service"));
        assert_file("units/w@.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
        assert_file("units/w@1.service.d/50-argosy.conf",
                    "[Unit]\nAfter=argosy.target\n[Service]\nSlice=argosy-01.slice\n");
        assert_false(exists("units/w@2.service.d"));
}

static void sisters_keep_the_old_revision_when_one_gets_the_new(void **state) {
        assert_int_equal(write_one("w@1.service", "old", true, NULL), 0);
        assert_int_equal(write_one("w@2.service", "old", true, NULL), 0);
        assert_int_equal(write_one("w@3.service", "old", true, NULL), 0);
        assert_int_equal(write_one("w@1.service", "new", true, NULL), 0);
        assert_file("units/w@.service", "new");
        assert_false(exists("units/w@1.service"));
        assert_file("units/w@2.service", "old");
        assert_true(same_file("units/w@2.service", "units/w@3.service"));

        assert_int_equal(write_one("w@2.service", "new", true, NULL), 0);
        assert_false(exists("units/w@2.service"));
        assert_file("units/w@3.service", "old");
        assert_int_equal(write_one("w@4.service", "old", true, NULL), 0);
        assert_false(
                exists("units/w@4.service")); // it names the template now, so the newer ones were linked
        assert_file("units/w@1.service", "new");
        assert_file("units/w@.service", "old");
}

static void one_batch_may_mix_revisions(void **state) {
        assert_int_equal(write_one("w@0.service", "old", true, NULL), 0);
        UnitDirItem items[] = {
                item_of("w@1.service", "a", true, NULL), item_of("w@2.service", "old", true, NULL),
                item_of("w@3.service", "b", true, NULL), item_of("w@4.service", "a", true, NULL),
                item_of("w@5.service", "b", true, NULL),
        };

        unit_dir_apply(d, items, ELEMENTSOF(items));
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                assert_int_equal(items[i].error, 0);
        assert_file("units/w@.service", "b");
        assert_file("units/w@0.service", "old");
        assert_file("units/w@1.service", "a");
        assert_file("units/w@2.service", "old");
        assert_file("units/w@4.service", "a");
        assert_false(exists("units/w@3.service"));
        assert_false(exists("units/w@5.service"));
}

static void a_unit_may_leave_and_join_its_template(void **state) {
        assert_int_equal(write_one("w@1.service", "t", true, NULL), 0);
        assert_int_equal(write_one("w@1.service", "own", false, NULL), 0);
        assert_file("units/w@1.service", "own");
        assert_false(exists("units/w@.service"));
        assert_false(exists("units/w@.service.d"));
        assert_file("units/w@1.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
        assert_int_equal(write_one("w@1.service", "t", true, NULL), 0);
        assert_false(exists("units/w@1.service"));
        assert_false(exists("units/w@1.service.d"));
        assert_file("units/w@.service", "t");
        assert_int_equal(remove_one("w@1.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void nobody_elses_file_is_touched(void **state) {
        put_foreign("units/theirs.service", "theirs");
        put_foreign("units/t@.service", "theirs");
        assert_int_equal(symlink("/dev/null", "units/masked.service"), 0);
        UnitDirItem items[] = {
                item_of("theirs.service", "ours", false, NULL),
                item_of("t@1.service", "ours", true, NULL),
                item_of("masked.service", "ours", false, NULL),
                item_of("good.service", "ours", false, NULL),
        };

        unit_dir_apply(d, items, ELEMENTSOF(items));
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(items[i].error, -EEXIST);
        assert_int_equal(items[3].error, 0);
        assert_file("units/theirs.service", "theirs");
        assert_file("units/t@.service", "theirs");
        assert_int_equal(count_files("units"), 5); // three of theirs, good.service and its drop-in
        assert_false(unit_dir_find(d, "t@1.service", NULL));
        assert_int_equal(remove_one("theirs.service"), 0);
        assert_file("units/theirs.service", "theirs");
}

static void a_mask_over_our_file_is_respected(void **state) {
        assert_int_equal(write_one("w@1.service", "old", true, NULL), 0);
        assert_int_equal(write_one("w@2.service", "old", true, NULL), 0);
        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        assert_int_equal(unlink("units/web.service"), 0);
        assert_int_equal(symlink("/dev/null", "units/web.service"), 0);
        assert_int_equal(symlink("/dev/null", "units/w@2.service"), 0);

        assert_int_equal(write_one("web.service", "y", false, NULL), -EEXIST);
        _cleanup_free_ char *a = unit_dir_foreign(d, "web.service"), *b = unit_dir_foreign(d, "w@2.service");
        assert_string_equal(a, "units/web.service");
        assert_string_equal(b, "units/w@2.service");
        assert_int_equal(write_one("w@1.service", "new", true, NULL), 0);
        assert_file("units/w@.service", "new");
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("units/web.service"));
        assert_false(exists("units/web.service.d"));
}

static void finds_names_of_others(void **state) {
        static const struct {
                const char *name, *path;
        } cases[] = {
                {"a.service", "etc/a.service"},
                {"masked.service", "etc/masked.service"},
                {"alias.service", "etc/alias.service"},
                {"getty@7.service", "lib/getty@.service"},
                {"generated.mount", "generator/generated.mount"},
                {"here.service", "units/here.service"},
                {"dropin.service", NULL},
                {"free.service", NULL},
        };

        put_foreign("etc/a.service", "");
        put_foreign("lib/a.service", "");
        put_foreign("lib/getty@.service", "");
        put_foreign("generator/a.service", "");
        put_foreign("generator/generated.mount", "");
        put_foreign("units/here.service", "");
        assert_int_equal(mkdir("etc/dropin.service.d", 0755), 0);
        assert_int_equal(
                symlink("/dev/null", "etc/masked.service") | symlink("nowhere", "etc/alias.service"), 0);
        for (size_t i = 0; i < 2 * ELEMENTSOF(cases); i++) {
                if (i == ELEMENTSOF(cases)) // again, from lists of the directories
                        unit_dir_survey_begin(d);
                const char *expected = cases[i % ELEMENTSOF(cases)].path;
                _cleanup_free_ char *path = unit_dir_foreign(d, cases[i % ELEMENTSOF(cases)].name);

                if (expected)
                        assert_string_equal(path, expected);
                else
                        assert_null(path);
        }
        unit_dir_survey_end(d);
        assert_int_equal(write_one("free.service", "x", false, NULL), 0);
        assert_null(unit_dir_foreign(d, "free.service"));
        put_foreign("etc/free.service", "shadow");
        _cleanup_free_ char *shadow = unit_dir_foreign(d, "free.service");
        assert_string_equal(shadow, "etc/free.service");
}

// A file system that fails, or a directory that nobody may enter: systemd may see a name there that is
// hidden from us.
static void where_it_cannot_look_a_name_may_be_somebody_s(void **state) {
        assert_int_equal(rmdir("lib"), 0);
        assert_int_equal(symlink("lib", "lib"), 0); // stat() of what is in it fails, as root's too
        for (int i = 0; i < 2; i++) {
                if (i == 1)
                        unit_dir_survey_begin(d);
                _cleanup_free_ char *path = unit_dir_foreign(d, "web.service");
                assert_non_null(path);
                assert_non_null(strstr(path, "lib/web.service (which cannot be looked at"));
        }
        unit_dir_survey_end(d);
        assert_int_equal(unlink("lib"), 0);
        assert_null(unit_dir_foreign(d, "web.service")); // a directory that is not there has nothing
        assert_int_equal(mkdir("lib", 0755), 0);
}

// PID 1 looks at the time only. With a clock that stands still each batch must still leave another time than
// any that was ever there.
static void the_directory_is_newer_after_every_batch(void **state) {
        struct timespec stuck[2] = {{.tv_sec = 4000000000}, {.tv_sec = 4000000000}};

        d = unit_dir_free(d);
        assert_int_equal(utimensat(AT_FDCWD, "units", stuck, 0), 0);
        open_dir();
        int64_t last = mtime_us();
        for (int i = 0; i < 20; i++) {
                _cleanup_free_ char *name = str_printf("u%d.service", i);

                assert_int_equal(write_one(name, "x", false, NULL), 0);
                assert_true(mtime_us() > last);
                last = mtime_us();
                assert_int_equal(utimensat(AT_FDCWD, "units", stuck, 0), 0); // as a coarse clock would
        }
        assert_int_equal(write_one("u1.service", "x", false, NULL), 0);
        assert_int_equal(mtime_us(), INT64_C(4000000000000000)); // nothing written, nothing to rescan
}

static void adopts_what_it_wrote(void **state) {
        Hash old = spec_of("old"), new = spec_of("new"), x = spec_of("x"), found;

        assert_int_equal(write_one("w@1.service", "old", true, "argosy-01.slice"), 0);
        assert_int_equal(write_one("w@2.service", "new", true, NULL), 0);
        assert_int_equal(write_one("web.service", "x", false, "argosy-02.slice"), 0);
        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "w@1.service", true, &old, "argosy-01.slice"), 0);
        assert_int_equal(unit_dir_adopt(d, "w@2.service", true, &new, ""), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &x, "argosy-02.slice"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &x, NULL), -EEXIST);
        assert_true(unit_dir_find(d, "web.service", &found));
        assert_true(hash_equal(&found, &x));
        assert_null(unit_dir_foreign(d, "w@1.service"));
        assert_int_equal(remove_one("w@1.service") | remove_one("w@2.service") | remove_one("web.service"),
                         0);
        assert_int_equal(count_files("units"), 0);
}

// Everything that a crash or a hand may have left: adopt says so, the next apply repairs it.
static void adopt_sees_what_is_not_as_recorded(void **state) {
        Hash x = spec_of("x");

        assert_int_equal(unit_dir_adopt(d, "absent.service", false, &x, NULL), 1);
        put_foreign("units/other.service", "y");
        assert_int_equal(unit_dir_adopt(d, "other.service", false, &x, NULL), 1);
        put_foreign("units/bare.service", "x");
        assert_int_equal(unit_dir_adopt(d, "bare.service", false, &x, NULL), 1);
        put_foreign("units/t@.service", "x");
        assert_int_equal(unit_dir_adopt(d, "t@1.service", true, &x, NULL), 1);
        assert_int_equal(write_one("absent.service", "x", false, NULL), 0);
        assert_int_equal(write_one("other.service", "x", false, NULL), 0);
        assert_int_equal(write_one("bare.service", "x", false, NULL), 0);
        assert_int_equal(write_one("t@1.service", "x", true, NULL), 0);
        assert_int_equal(unit_dir_check(d, "absent.service") | unit_dir_check(d, "other.service"), 0);
        assert_int_equal(unit_dir_check(d, "bare.service") | unit_dir_check(d, "t@1.service"), 0);
        assert_file("units/t@.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
}

static void check_sees_changes_of_others(void **state) {
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_int_equal(write_one("w@1.service", "x", true, NULL), 0);
        assert_int_equal(write_one("w@2.service", "x", true, NULL), 0);
        assert_int_equal(unit_dir_check(d, "a.service"), 0);
        put_foreign("units/a.service", "edited");
        put_foreign("units/w@.service", "edited");
        assert_int_equal(unit_dir_check(d, "a.service"), 1);
        assert_int_equal(unit_dir_check(d, "w@1.service"), 1);
        assert_int_equal(unit_dir_check(d, "w@2.service"), 1);
        assert_int_equal(unit_dir_check(d, "none.service"), -ENOENT);
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_int_equal(write_one("w@1.service", "x", true, NULL), 0);
        assert_file("units/a.service", "x");
        assert_file("units/w@.service", "x");
}

static void a_failed_item_does_not_stop_the_others(void **state) {
        UnitDirItem items[] = {
                item_of("bad name.service", "x", false, NULL),
                item_of("w@.service", "x", false, NULL),
                item_of("plain.service", "x", true, NULL),
                item_of("a.service", "x", false, "evil\nExecStart=.slice"),
                item_of("b.service", "x", false, NULL),
                item_of("b.service", "y", false, NULL),
        };

        unit_dir_apply(d, items, ELEMENTSOF(items));
        for (size_t i = 0; i < ELEMENTSOF(items); i++)
                assert_int_equal(items[i].error, i == 4 ? 0 : -EINVAL);
        assert_file("units/b.service", "x");
        assert_int_equal(count_files("units"), 2);
}

static void a_unit_that_could_not_be_written_is_written_again(void **state) {
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_int_equal(mkdir("units/.#a.service.new", 0755), 0); // in the way of the temporary file
        assert_int_equal(write_one("a.service", "y", false, NULL), -EEXIST);
        assert_file("units/a.service", "x");
        assert_int_equal(rmdir("units/.#a.service.new"), 0);
        assert_int_equal(write_one("a.service", "y", false, NULL), 0);
        assert_file("units/a.service", "y");
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_file("units/a.service", "x");
}

// ---- [Install]

static int write_enabled(const char *name, const char *content, bool from_template, bool enable) {
        UnitDirItem item = item_of(name, content, from_template, NULL);

        item.enable = enable;
        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static void assert_link(const char *path, const char *text) {
        char seen[256] = "";

        assert_true(readlink(path, seen, sizeof(seen) - 1) > 0);
        assert_string_equal(seen, text);
}

static const char wanted[] = "[Service]\nExecStart=/bin/true\n"
                             "[Install]\nWantedBy=app.target multi-user.target\nRequiredBy=db.service\n"
                             "Alias=www.service\nAlso=web.socket\n";

static void links_of_install_come_and_go_with_the_file(void **state) {
        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, false), 0);
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_link("units/db.service.requires/web.service", "../web.service");
        assert_link("units/www.service", "web.service");
        assert_false(exists("units/multi-user.target.wants")); // of the system's: only when it is to run
        assert_false(unit_dir_is_enabled(d, "web.service") || exists("units/web.socket"));
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void units_of_the_system_get_links_to_what_is_enabled_only(void **state) {
        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/multi-user.target.wants/web.service", "../web.service");
        assert_true(unit_dir_is_enabled(d, "web.service"));
        assert_int_equal(write_enabled("web.service", wanted, false, false), 0);
        assert_false(exists("units/multi-user.target.wants"));
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/multi-user.target.wants/web.service", "../web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void a_new_content_takes_the_old_links_away(void **state) {
        static const char other[] = "[Install]\nWantedBy=app.target new.target\n";

        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_int_equal(write_enabled("web.service", other, false, true), 0);
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_link("units/new.target.wants/web.service", "../web.service");
        assert_false(exists("units/db.service.requires") || exists("units/www.service") ||
                     exists("units/multi-user.target.wants"));
        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        assert_int_equal(count_files("units"), 2); // the file and its drop-in
}

static void who_is_touched_is_told(void **state) {
        UnitDirItem item = item_of("web.service", wanted, false, NULL);

        item.enable = true;
        unit_dir_apply(d, &item, 1);
        assert_int_equal(item.touched.len,
                         strlen("app.target") + strlen("multi-user.target") + strlen("db.service") + 3);
        assert_string_equal((char *) item.touched.data, "app.target");
        buf_done(&item.touched);
}

static void instances_have_links_of_their_own(void **state) {
        static const char old[] = "[Install]\nWantedBy=app-%i.target all.target\n", new[] = "[Service]\n";

        assert_int_equal(write_enabled("w@1.service", old, true, true), 0);
        assert_int_equal(write_enabled("w@2.service", old, true, true), 0);
        assert_link("units/app-2.target.wants/w@2.service", "../w@2.service");
        assert_link("units/all.target.wants/w@1.service", "../w@1.service");
        assert_int_equal(write_enabled("w@1.service", new, true, true),
                         0); // its sister keeps the old revision
        assert_false(exists("units/app-1.target.wants") || exists("units/all.target.wants/w@1.service"));
        assert_link("units/app-2.target.wants/w@2.service", "../w@2.service");
        assert_link("units/all.target.wants/w@2.service", "../w@2.service");
        assert_int_equal(remove_one("w@1.service") | remove_one("w@2.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void links_of_others_are_left_alone(void **state) {
        assert_int_equal(write_one("some.service", "x", false, NULL), 0);
        assert_int_equal(mkdir("units/app.target.wants", 0755) | mkdir("units/db.service.requires", 0755),
                         0);
        assert_int_equal(symlink("/etc/web.service", "units/app.target.wants/web.service"), 0);
        assert_int_equal(symlink("../some.service", "units/db.service.requires/some.service"), 0);
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/app.target.wants/web.service", "/etc/web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_link("units/app.target.wants/web.service", "/etc/web.service");
        assert_link("units/db.service.requires/some.service", "../some.service");
        assert_false(exists("units/www.service") || exists("units/multi-user.target.wants"));
}

static void an_alias_that_is_taken_refuses_the_unit(void **state) {
        _cleanup_free_ char *path = NULL, *here = NULL;

        assert_int_equal(write_one("www.service", "x", false, NULL), 0);
        assert_int_equal(write_enabled("web.service", wanted, false, true), -EEXIST);
        assert_file("units/www.service", "x");
        assert_false(exists("units/web.service") || exists("units/app.target.wants"));
        assert_false(unit_dir_find(d, "web.service", NULL));
        here = unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted));
        assert_string_equal(here, "units/www.service");
        assert_int_equal(remove_one("www.service"), 0);
        assert_null(unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted)));
        put_foreign("lib/www.service", "[Service]\n");
        path = unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted));
        assert_string_equal(path, "lib/www.service");
}

static void the_name_of_an_alias_is_not_free(void **state) {
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_int_equal(write_one("www.service", "x", false, NULL), -EEXIST);
        assert_link("units/www.service", "web.service");
}

static void links_are_found_again_by_the_next_run(void **state) {
        Hash spec = spec_of(wanted);

        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 0);
        assert_true(unit_dir_is_enabled(d, "web.service"));

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unlink("units/multi-user.target.wants/web.service"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 0);
        assert_false(unit_dir_is_enabled(d, "web.service"));

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unlink("units/www.service"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 1);
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/www.service", "web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

// Each new look at the directory costs systemd much where there are many files.
static void a_link_in_a_directory_that_exists_costs_no_new_look(void **state) {
        static const char text[] = "[Install]\nWantedBy=multi-user.target\n";

        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("a.service", text, false, true), 0);
        assert_int_equal(write_enabled("b.service", text, false, false), 0);
        int64_t before = mtime_us();
        assert_int_equal(write_enabled("b.service", text, false, true), 0);
        assert_link("units/multi-user.target.wants/b.service", "../b.service");
        assert_int_equal(mtime_us(), before);
}

static void put_link(const char *path, const char *target) {
        assert_int_equal(symlink(target, path), 0);
}

static void assert_stands_in_the_way(const char *name, const char *path) {
        _cleanup_free_ char *foreign = unit_dir_foreign(d, name);

        assert_non_null(foreign);
        assert_string_equal(foreign, path);
}

static void take_over(void) {
        assert_int_equal(unit_dir_take_from(d, "/run/fleet/units"), 0);
}

static void what_fleet_left_behind_is_taken_with_its_links(void **state) {
        assert_int_equal(mkdir("units/multi-user.target.wants", 0755) | mkdir("units/a.service.d", 0755), 0);
        put_link("units/web@1.service", "/run/fleet/units/web@1.service");
        put_link("units/multi-user.target.wants/web@1.service", "/run/fleet/units/web@1.service");
        put_link("units/multi-user.target.wants/other.service", "/run/fleet/units/other.service");
        put_link("units/www.service", "/run/fleet/units/web@1.service");
        assert_int_equal(write_one("web@1.service", "x", true, NULL), -EEXIST);
        assert_false(unit_dir_is_left_behind(d, "web@1.service"));
        take_over();
        assert_true(unit_dir_is_left_behind(d, "web@1.service"));
        assert_null(unit_dir_foreign(d, "web@1.service"));
        assert_false(unit_dir_has_content(d, "web@1.service", &(Hash){}));
        assert_int_equal(write_one("web@1.service", "x", true, NULL), 0);
        assert_false(exists("units/web@1.service"));
        assert_false(exists("units/multi-user.target.wants/web@1.service"));
        assert_false(exists("units/www.service"));
        assert_true(exists("units/multi-user.target.wants/other.service"));
        assert_false(unit_dir_is_left_behind(d, "web@1.service"));
        assert_file("units/web@.service", "x");
        put_link("units/plain.service", "/run/fleet/units/plain.service");
        assert_int_equal(write_one("plain.service", "x", false, NULL), 0);
        assert_file("units/plain.service", "x");
}

// All that is judged is judged before anything is touched.
static void what_is_refused_keeps_all_its_links(void **state) {
        static const char content[] = "[Install]\nAlias=www.service\n";
        static const char *const names[] = {"vendor.service", "web@1.service", "alias.service"};

        take_over();
        assert_int_equal(mkdir("units/multi-user.target.wants", 0755), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *link = str_printf("units/%s", names[i]),
                                    *wants = str_printf("units/multi-user.target.wants/%s", names[i]),
                                    *target = str_printf("/run/fleet/units/%s", names[i]);

                put_link(link, target);
                put_link(wants, target);
        }
        put_foreign("etc/vendor.service", "x");
        put_foreign("units/web@.service", "x");
        put_foreign("units/www.service", "x");
        assert_stands_in_the_way("vendor.service", "etc/vendor.service");
        assert_stands_in_the_way("web@1.service", "units/web@.service");
        assert_int_equal(write_one("web@1.service", "y", true, NULL), -EEXIST);
        assert_int_equal(write_one("alias.service", content, false, NULL), -EEXIST);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *wants = str_printf("units/multi-user.target.wants/%s", names[i]);

                assert_true(exists(wants));
                assert_true(unit_dir_is_left_behind(d, names[i]));
                assert_false(unit_dir_find(d, names[i], NULL));
        }
        assert_false(exists("units/alias.service.d") || exists("units/web@.service.d"));
        // The alias that fleet made goes with the unit.
        assert_int_equal(unlink("units/www.service"), 0);
        put_link("units/www.service", "/run/fleet/units/alias.service");
        assert_int_equal(write_one("alias.service", content, false, NULL), 0);
        assert_file("units/alias.service", content);
        assert_link("units/www.service", "alias.service");
}

static void what_did_not_become_ours_is_left_as_it_is(void **state) {
        static const char content[] = "x";
        Hash spec = hash_of(content, strlen(content));

        take_over();
        put_link("units/a.service", "/run/fleet/units/a.service");
        put_foreign("units/b.service", "y");
        assert_int_equal(mkdir("units/a.service.d", 0755), 0);
        put_foreign("units/a.service.d/50-argosy.conf", "[Unit]\n");
        assert_int_equal(write_one("web@1.service", content, true, NULL), 0);
        put_link("units/web@2.service", "/run/fleet/units/web@2.service");
        assert_int_equal(unit_dir_adopt(d, "a.service", false, &spec, NULL), 1);
        assert_int_equal(unit_dir_adopt(d, "b.service", false, &spec, NULL), 1);
        assert_int_equal(unit_dir_adopt(d, "web@2.service", true, &spec, NULL), 1);
        assert_true(unit_dir_has_content(d, "web@1.service", &spec));
        assert_false(unit_dir_has_content(d, "a.service", &spec) ||
                     unit_dir_has_content(d, "b.service", &spec) ||
                     unit_dir_has_content(d, "web@2.service", &spec) ||
                     unit_dir_has_content(d, "none.service", &spec));
        unit_dir_disown(d, "a.service", &spec);
        unit_dir_disown(d, "b.service", &spec);
        unit_dir_disown(d, "web@2.service", &spec);
        assert_false(unit_dir_find(d, "a.service", NULL) || exists("units/a.service.d"));
        assert_file("units/b.service", "y");
        assert_file("units/web@.service", content);
        assert_true(unit_dir_is_left_behind(d, "a.service") && unit_dir_is_left_behind(d, "web@2.service"));
        put_foreign("units/own@.service", "y"); // not the one that was about to be written
        assert_int_equal(unit_dir_adopt(d, "own@1.service", true, &spec, NULL), 1);
        unit_dir_disown(d, "own@1.service", &spec);
        assert_file("units/own@.service", "y");
        unit_dir_disown(d, "web@1.service", &spec);
        assert_false(exists("units/web@.service") || exists("units/web@.service.d"));
}

static void what_somebody_else_has_is_not_taken(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service",
                                            "d.service", "e.service", "f.service"};

        put_foreign("units/a.service", "x");
        put_link("units/b.service", "/run/fleet/units/c.service");
        put_link("units/c.service", "/run/fleet/units-of-mine/c.service");
        put_link("units/d.service", "/dev/null");
        put_foreign("etc/e.service", "x");
        take_over();
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_false(unit_dir_is_left_behind(d, names[i]));
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(write_one(names[i], "y", false, NULL), -EEXIST);
        assert_true(exists("units/a.service") && exists("units/b.service") && exists("units/c.service") &&
                    exists("units/d.service") && exists("etc/e.service"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(what_fleet_left_behind_is_taken_with_its_links),
        T(what_somebody_else_has_is_not_taken),
        T(what_is_refused_keeps_all_its_links),
        T(what_did_not_become_ours_is_left_as_it_is),
        T(a_unit_has_a_file_and_a_dropin),
        T(the_longest_name_has_everything_beside_it),
        T(removal_leaves_nothing),
        T(the_file_that_pins_comes_with_the_first_one_shot),
        T(the_file_that_pins_comes_with_the_first_one_shot),
        T(a_unit_that_stops_when_cut_off_is_bound_to_its_guard),
        T(dropins_of_others_stay),
        T(a_file_that_says_the_same_to_systemd_keeps_its_time),
        T(the_file_of_a_template_keeps_its_time_as_well),
        T(sockets_are_not_ordered_behind_the_daemon),
        T(instances_share_one_file),
        T(sisters_keep_the_old_revision_when_one_gets_the_new),
        T(one_batch_may_mix_revisions),
        T(a_unit_may_leave_and_join_its_template),
        T(nobody_elses_file_is_touched),
        T(a_mask_over_our_file_is_respected),
        T(finds_names_of_others),
        T(where_it_cannot_look_a_name_may_be_somebody_s),
        T(the_directory_is_newer_after_every_batch),
        T(adopts_what_it_wrote),
        T(adopt_sees_what_is_not_as_recorded),
        T(check_sees_changes_of_others),
        T(a_failed_item_does_not_stop_the_others),
        T(a_unit_that_could_not_be_written_is_written_again),
        T(links_of_install_come_and_go_with_the_file),
        T(units_of_the_system_get_links_to_what_is_enabled_only),
        T(a_new_content_takes_the_old_links_away),
        T(who_is_touched_is_told),
        T(instances_have_links_of_their_own),
        T(links_of_others_are_left_alone),
        T(an_alias_that_is_taken_refuses_the_unit),
        T(the_name_of_an_alias_is_not_free),
        T(links_are_found_again_by_the_next_run),
        T(a_link_in_a_directory_that_exists_costs_no_new_look)
)
