// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of units on the disk: each content once, gone with the last that has it, and a folder is the old one
// or the new one.
#include "printed.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carried-store.h"
#include "disk-room.h"
#include "fileio.h"
#include "str.h"

typedef struct Fixture {
        char dir[64];
} Fixture;

static Fixture g;

FIXTURE(setup) {
        g = (Fixture){};
        // A quarter of the file system is to be free, as of /run, which is one in memory as well.
        str_fit(g.dir, sizeof(g.dir), "%s/argosy-test-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(g.dir));
        umask(0077); // as argosyd's
}

static int teardown(void **state) {
        int r = system(printed("rm -rf %s", g.dir));

        return r;
}

static Hash put(const char *bytes, bool executable) {
        Hash hash = hash_of(bytes, strlen(bytes));

        assert_int_equal(carried_store_put(g.dir, &hash, executable, bytes, strlen(bytes)), 0);
        assert_true(carried_store_has(g.dir, &hash, executable));
        return hash;
}

// Files named as their bytes, in the store.
static CarriedFiles files(const char *const *names) {
        CarriedFiles c = {};

        for (; *names; names++) {
                Hash hash = put(*names, str_has_suffix(*names, ".sh"));

                assert_int_equal(
                        carried_files_add(&c, *names, str_has_suffix(*names, ".sh"), strlen(*names), &hash),
                        0);
        }
        return c;
}
#define FILES(...) files((const char *const[]){__VA_ARGS__, NULL})

static void touch(const char *path) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", g.dir, path), "", 0, 0444, 0), 0);
}

static bool look(const char *path, struct stat *ret) {
        return lstat(printed("%s/%s", g.dir, path), ret) == 0;
}

static void assert_is(const char *path, mode_t mode) {
        struct stat st;

        if (!look(path, &st))
                fail_msg("%s is not there", path);
        assert_int_equal(st.st_mode & 07777, mode);
}

static void assert_gone(const char *path) {
        struct stat st;

        if (look(path, &st))
                fail_msg("%s is there", path);
}

static bool none(const char *unit, void *userdata) {
        return false;
}

static bool only_web(const char *unit, void *userdata) {
        return streq(unit, "web.service");
}

static int put_folder(const char *unit, const CarriedFiles *list) {
        return carried_folder_put(g.dir, unit, &(CarriedFolder){.files = list});
}

// Files change in it as the unit runs; these folders of it are bound.
static int put_staying(const CarriedFiles *list, FileSource *sources, size_t n) {
        return carried_folder_put(
                g.dir, "web.service",
                &(CarriedFolder){.files = list, .sources = sources, .n_sources = n, .stays = true});
}

static void a_folder_has_its_files_under_their_names(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a", "conf/b/c", "x.sh");

        assert_int_equal(put_folder("web.service", &c), 0);
        assert_is("units/web.service", 0755);
        assert_is("units/web.service/a", 0444);
        assert_is("units/web.service/conf/b", 0755);
        assert_is("units/web.service/conf/b/c", 0444);
        assert_is("units/web.service/x.sh", 0555);
}

static void a_new_folder_takes_the_place_of_the_old_one(void **state) {
        _cleanup_carried_files_ CarriedFiles old = FILES("a", "b/c"), new = FILES("b/d");

        assert_int_equal(put_folder("web.service", &old), 0);
        assert_int_equal(put_folder("web.service", &new), 0);
        assert_gone("units/web.service/a");
        assert_gone("units/web.service/b/c");
        assert_is("units/web.service/b/d", 0444);
        assert_gone("units/.web.service");
}

static ino_t inode(const char *path) {
        struct stat st;

        assert_true(look(path, &st));
        return st.st_ino;
}

static void assert_reads(const char *path, const char *bytes) {
        _cleanup_free_ char *full = str_printf("%s/%s", g.dir, path);
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_read(AT_FDCWD, full, 64, &b), 0);
        assert_int_equal(b.len, strlen(bytes));
        assert_memory_equal(b.data, bytes, b.len);
}

static void what_runs_keeps_a_folder_that_has_the_files_already(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a", "b/c"), less = FILES("a");

        assert_int_equal(put_folder("web.service", &c), 0);
        ino_t folder = inode("units/web.service/b");
        assert_int_equal(put_folder("web.service", &c), 0);
        assert_int_equal(inode("units/web.service/b"), folder);
        assert_int_equal(put_folder("web.service", &less), 0);
        assert_gone("units/web.service/b");
}

static void what_is_bound_stays_and_its_files_change_in_it(void **state) {
        FileSource bound[] = {{.source = (char *) "conf", .destination = (char *) "/etc/web"},
                              {.source = (char *) "conf/in", .destination = (char *) "/etc/in"}};
        _cleanup_carried_files_ CarriedFiles old = FILES("conf/a", "conf/sub/b", "conf/in/c", "env"),
                                             new = FILES("conf/d", "conf/in/e", "env", "x/y");

        assert_int_equal(put_staying(&old, bound, 2), 0);
        assert_reads("units/web.service/conf/sub/b", "conf/sub/b");
        assert_reads("units/web.service/conf/in/c", "conf/in/c");
        ino_t folder = inode("units/web.service/conf");
        ino_t in = inode("units/web.service/conf/in");
        for (int i = 0; i < 3; i++) { // there and back
                assert_int_equal(put_staying(&new, bound, 2), 0);
                assert_reads("units/web.service/conf/d", "conf/d");
                assert_reads("units/web.service/conf/in/e", "conf/in/e");
                assert_reads("units/web.service/x/y", "x/y");
                assert_gone("units/web.service/conf/a");
                assert_gone("units/web.service/conf/sub");
                assert_gone("units/web.service/conf/in/c");
                assert_int_equal(put_staying(&old, bound, 2), 0);
                assert_gone("units/web.service/conf/d");
                assert_gone("units/web.service/x");
                assert_reads("units/web.service/conf/a", "conf/a");
        }
        assert_int_equal(inode("units/web.service/conf"), folder);
        assert_int_equal(inode("units/web.service/conf/in"), in);
        carried_store_drop(g.dir, &carried_files_find(&new, "conf/d")->hash, false);
        // nothing of it is left behind
        assert_false(carried_store_has(g.dir, &carried_files_find(&new, "conf/d")->hash, false));
}

static void what_stays_is_the_old_one_until_all_of_the_new_one_is_there(void **state) {
        FileSource bound[] = {{.source = (char *) "conf", .destination = (char *) "/etc/web"}};
        _cleanup_carried_files_ CarriedFiles old = FILES("conf/a"), new = FILES("conf/a", "conf/b");

        assert_int_equal(put_staying(&old, bound, 1), 0);
        carried_store_drop(g.dir, &new.list[1].hash, false);
        assert_int_equal(put_staying(&new, bound, 1), -ENODATA);
        assert_reads("units/web.service/conf/a", "conf/a");
        assert_gone("units/web.service/conf/b");
        put("conf/b", false);
        assert_int_equal(put_staying(&new, bound, 1), 0);
        assert_reads("units/web.service/conf/b", "conf/b");
        assert_int_equal(put_folder("web.service", &old), 0); // and turns into one that is replaced
        assert_is("units/web.service/conf/a", 0444);
        assert_gone("units/web.service/..data");
}

static int remove_folder(const char *unit) {
        int folders = carried_folders_open(g.dir),
            r = folders < 0 ? folders : carried_folder_remove(folders, unit);

        if (folders >= 0)
                close(folders);
        return r;
}

static void a_content_is_gone_with_the_last_that_has_it(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a");
        const Hash *hash = &c.list[0].hash;

        assert_int_equal(put_folder("one.service", &c), 0);
        assert_int_equal(put_folder("two.service", &c), 0);
        assert_int_equal(remove_folder("one.service"), 0);
        carried_store_drop(g.dir, hash, false);
        assert_true(carried_store_has(g.dir, hash, false));
        assert_int_equal(remove_folder("two.service"), 0);
        carried_store_drop(g.dir, hash, false);
        assert_false(carried_store_has(g.dir, hash, false));
        assert_int_equal(remove_folder("two.service"), 0); // nothing is there
}

static void a_folder_is_not_made_without_all_its_files(void **state) {
        _cleanup_carried_files_ CarriedFiles old = FILES("a"), new = FILES("a", "b");

        assert_int_equal(put_folder("web.service", &old), 0);
        carried_store_drop(g.dir, &new.list[1].hash, false);
        assert_int_equal(put_folder("web.service", &new), -ENODATA);
        assert_is("units/web.service/a", 0444);
        put("b", false);
        assert_true(carried_folder_has(g.dir, "web.service", &old));
        assert_false(carried_folder_has(g.dir, "web.service", &new));
        assert_int_equal(put_folder("web.service", &new), 0); // over what was left
        assert_true(carried_folder_has(g.dir, "web.service", &new));
        assert_false(carried_folder_has(g.dir, "other.service", &new));
        assert_is("units/web.service/b", 0444);
}

static void a_folder_goes_with_what_could_not_be_made_of_it(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a", "b");

        carried_store_drop(g.dir, &c.list[1].hash, false);
        assert_int_equal(put_folder("web.service", &c), -ENODATA);
        assert_int_equal(remove_folder("web.service"), 0);
        assert_gone("units/.web.service");
        carried_store_drop(g.dir, &c.list[0].hash, false);
        assert_false(carried_store_has(g.dir, &c.list[0].hash, false));
}

static void a_quarter_of_the_file_system_stays_free(void **state) {
        Hash hash = hash_of("", 0);

        disk_room_free = 249999;
        assert_int_equal(carried_store_put(g.dir, &hash, false, "", 0), -ENOSPC);
        disk_room_free = 250000;
        assert_int_equal(carried_store_put(g.dir, &hash, false, "", 0), 0);
        hash = hash_of("a", 1);
        assert_int_equal(carried_store_put(g.dir, &hash, false, "a", 1), -ENOSPC);
        assert_false(carried_store_has(g.dir, &hash, false));
        disk_room_free++;
        put("a", false);
        disk_room_free += 10;
        disk_room_inodes = 0;
        hash = hash_of("b", 1);
        assert_int_equal(carried_store_put(g.dir, &hash, false, "b", 1), -ENOSPC);
        disk_room_inodes = 1000000;
}

// Each is in pages of its own, and in one inode: what is said to have room is then not refused with the last
// of them.
static void what_many_files_take_is_known_before(void **state) {
        _cleanup_carried_files_ CarriedFiles two = {};
        Hash a = hash_of("a", 1), b = hash_of("b", 1);

        assert_int_equal(carried_files_add(&two, "a", false, 1, &a), 0);
        assert_int_equal(carried_files_add(&two, "b", false, 1, &b), 0);
        disk_room_free = 250001;
        assert_false(carried_store_has_room(g.dir, &two));
        disk_room_free++;
        assert_true(carried_store_has_room(g.dir, &two));
        disk_room_inodes = 1;
        assert_false(carried_store_has_room(g.dir, &two));
        disk_room_inodes++;
        assert_true(carried_store_has_room(g.dir, &two));
        disk_room_free = disk_room_inodes = 1000000;
}

static void what_no_folder_has_is_listed(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a"), left = {};

        carried_store_list_unused("/none", &left);
        put("b.sh", true);
        assert_int_equal(put_folder("web.service", &c), 0);
        touch("files/nobodys");
        touch("files/.new");
        carried_store_list_unused(g.dir, &left);
        assert_int_equal(left.n, 1);
        assert_true(left.list[0].executable);
        carried_store_drop(g.dir, &left.list[0].hash, true);
        assert_false(carried_store_has(g.dir, &left.list[0].hash, true));
}

static void what_is_not_of_its_hash_is_not_taken(void **state) {
        Hash hash = hash_of("a", 1);

        assert_int_equal(carried_store_put(g.dir, &hash, false, "b", 1), -EBADMSG);
        assert_false(carried_store_has(g.dir, &hash, false));
}

static void what_nobody_has_is_swept(void **state) {
        _cleanup_carried_files_ CarriedFiles c = FILES("a"), other = FILES("b");

        carried_store_sweep(g.dir, none, NULL); // nothing is there yet but contents
        put("a", false);
        put("b", false);
        assert_int_equal(put_folder("web.service", &c), 0);
        assert_int_equal(put_folder("gone.service", &other), 0);
        assert_int_equal(put_folder(".web.service", &other), 0); // as a crash leaves it
        carried_store_sweep(g.dir, only_web, NULL);
        assert_is("units/web.service/a", 0444);
        assert_gone("units/gone.service");
        assert_gone("units/.web.service");
        assert_true(carried_store_has(g.dir, &c.list[0].hash, false));
        assert_false(carried_store_has(g.dir, &other.list[0].hash, false));
        carried_store_sweep(g.dir, none, NULL);
        assert_false(carried_store_has(g.dir, &c.list[0].hash, false));
}

static unsigned dies_after; // so many folders lead to what is new; 0: never

int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new) {
        int r = __real_renameat(from, old, to, new);

        if (streq(new, "..data") && dies_after > 0 && --dies_after == 0)
                _exit(0);
        return r;
}

static void die_in_the_middle(const CarriedFiles *list, FileSource *conf, unsigned after) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                dies_after = after;
                _exit(1 + (put_staying(list, conf, 1) < 0));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static bool is_there(const char *path) {
        _cleanup_free_ char *full = str_printf("%s/units/web.service/%s", g.dir, path);
        struct stat st;

        if (stat(full, &st) == 0)
                return true;
        if (lstat(full, &st) == 0)
                fail_msg("%s leads nowhere", path);
        return false;
}

// Each folder is what it was to be or what it was, whenever argosyd ended, before anybody has said what is
// to be there.
static void no_link_leads_nowhere_after_a_crash(void **state) {
        static const char *const all[] = {"a", "b", "conf/c", "conf/sub/d", "e", "conf/f", "sub/g"};
        FileSource conf = {.source = (char *) "conf", .destination = (char *) "/etc/conf"};
        _cleanup_carried_files_ CarriedFiles before = FILES("a", "b", "conf/c", "conf/sub/d"),
                                             after = FILES("b", "conf/f", "conf/sub/d", "e", "sub/g");

        for (unsigned switched = 1; switched <= 2; switched++) {
                assert_int_equal(put_staying(&before, &conf, 1), 0);
                die_in_the_middle(&after, &conf, switched);
                carried_store_sweep(g.dir, only_web, NULL);
                for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                        bool is_new = str_has_prefix(all[i], "conf/") ? switched == 2 : true;

                        if (is_there(all[i]) != !!carried_files_find(is_new ? &after : &before, all[i]))
                                fail_msg("%s, after %u", all[i], switched);
                }
                assert_true(is_there("..1") != is_there("..2"));
                assert_true(is_there("conf/..1") != is_there("conf/..2"));
                for (size_t i = 0; i < ELEMENTSOF(all); i++) // some were only in what had been begun
                        put(all[i], false);
                assert_int_equal(put_staying(&after, &conf, 1), 0);
                assert_true(carried_folder_has(g.dir, "web.service", &after) && !is_there("a"));
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_folder_has_its_files_under_their_names),
        TEST(a_new_folder_takes_the_place_of_the_old_one),
        TEST(what_runs_keeps_a_folder_that_has_the_files_already),
        TEST(what_is_bound_stays_and_its_files_change_in_it),
        TEST(what_stays_is_the_old_one_until_all_of_the_new_one_is_there),
        TEST(a_content_is_gone_with_the_last_that_has_it),
        TEST(a_folder_is_not_made_without_all_its_files),
        TEST(a_folder_goes_with_what_could_not_be_made_of_it),
        TEST(a_quarter_of_the_file_system_stays_free),
        TEST(what_many_files_take_is_known_before),
        TEST(what_no_folder_has_is_listed),
        TEST(what_is_not_of_its_hash_is_not_taken),
        TEST(what_nobody_has_is_swept),
        TEST(no_link_leads_nowhere_after_a_crash)
)
