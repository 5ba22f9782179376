// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files and drop-ins of units: how they are written, shared by instances, kept and removed.
#include "printed.h"
#include "quadlet.h"
#include "unit-dir-words.h"

static bool same_file(const char *a, const char *b) {
        struct stat x, y;

        assert_int_equal(stat(a, &x) | stat(b, &y), 0);
        return x.st_ino == y.st_ino;
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
        char name[UNIT_NAME_MANAGED_MAX + 1];

        memset(name, 'a', sizeof(name));
        strcpy(name + UNIT_NAME_MANAGED_MAX - strlen(".service"), ".service");
        assert_int_equal(write_one(name, job, false, "argosy-01.slice"), 0);
        assert_file(printed("units/%s", name), job);
        assert_true(exists(printed("units/%s.d/50-argosy.conf", name)));
        assert_true(exists(printed("units/a.target.wants/%s", name)));
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

// PID 1 looks at the time only. With a clock that stands still each batch must still leave another time than
// any that was ever there.
static void the_directory_is_newer_after_every_batch(void **state) {
        struct timespec stuck[2] = {{.tv_sec = 4000000000}, {.tv_sec = 4000000000}};

        d = unit_dir_free(d);
        assert_int_equal(utimensat(AT_FDCWD, "units", stuck, 0), 0);
        open_dir();
        int64_t last = mtime_us();
        for (int i = 0; i < 20; i++) {
                assert_int_equal(write_one(printed("u%d.service", i), "x", false, NULL), 0);
                assert_true(mtime_us() > last);
                last = mtime_us();
                assert_int_equal(utimensat(AT_FDCWD, "units", stuck, 0), 0); // as a coarse clock would
        }
        assert_int_equal(write_one("u1.service", "x", false, NULL), 0);
        assert_int_equal(mtime_us(), INT64_C(4000000000000000)); // nothing written, nothing to rescan
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

// A container's: what the log has of it is in no file here, and another podman makes another text of it.
static void a_file_that_was_made_is_known_by_what_it_was_made_of(void **state) {
        static const char generated[] = "[Service]\nExecStart=/bin/true\n";
        Hash of = spec_of("[Container]\nImage=web\n");
        _cleanup_buf_ Buf made = {};

        assert_int_equal(quadlet_made_compose(&of, "5.4", generated, strlen(generated), &made), 0);
        assert_int_equal(buf_append(&made, "", 1), 0);
        UnitDirItem item = item_of("box.service", (char *) made.data, false, NULL);
        item.spec = of;
        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        assert_int_equal(item.error, 0);

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "box.service", false, &of, NULL), 0);
        put_foreign("units/box.service", generated);
        assert_int_equal(unit_dir_check(d, "box.service"), 1);
}

RUN_TESTS(T(a_unit_has_a_file_and_a_dropin), T(the_longest_name_has_everything_beside_it),
          T(removal_leaves_nothing), T(the_file_that_pins_comes_with_the_first_one_shot),
          T(the_file_that_pins_comes_with_the_first_one_shot),
          T(a_unit_that_stops_when_cut_off_is_bound_to_its_guard), T(dropins_of_others_stay),
          T(a_file_that_says_the_same_to_systemd_keeps_its_time),
          T(the_file_of_a_template_keeps_its_time_as_well), T(sockets_are_not_ordered_behind_the_daemon),
          T(instances_share_one_file), T(sisters_keep_the_old_revision_when_one_gets_the_new),
          T(one_batch_may_mix_revisions), T(a_unit_may_leave_and_join_its_template),
          T(the_directory_is_newer_after_every_batch), T(a_failed_item_does_not_stop_the_others),
          T(a_unit_that_could_not_be_written_is_written_again),
          T(a_file_that_was_made_is_known_by_what_it_was_made_of))
