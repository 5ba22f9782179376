// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of units on the disk: each content once, gone with the last that has it, and a folder is the old one
// or the new one.
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

FIXTURE(setup) {
        Fixture *f = calloc(1, sizeof(*f));

        // A quarter of the file system is to be free, as of /run, which is one in memory as well.
        str_fit(f->dir, sizeof(f->dir), "%s/argosy-test-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(f->dir));
        umask(0077); // as argosyd's
        *state = f;
}

static int teardown(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *command = str_printf("rm -rf %s", f->dir);
        int r = system(command);

        free(f);
        return r;
}

static Hash put(const Fixture *f, const char *bytes, bool executable) {
        Hash hash = hash_of(bytes, strlen(bytes));

        assert_int_equal(carried_store_put(f->dir, &hash, executable, bytes, strlen(bytes)), 0);
        assert_true(carried_store_has(f->dir, &hash, executable));
        return hash;
}

// Files named as their bytes, in the store.
static CarriedFiles files(const Fixture *f, const char *const *names) {
        CarriedFiles c = {};

        for (; *names; names++) {
                Hash hash = put(f, *names, str_has_suffix(*names, ".sh"));

                assert_int_equal(
                        carried_files_add(&c, *names, str_has_suffix(*names, ".sh"), strlen(*names), &hash),
                        0);
        }
        return c;
}
#define FILES(f, ...) files(f, (const char *const[]){__VA_ARGS__, NULL})

static void touch(const Fixture *f, const char *path) {
        _cleanup_free_ char *full = str_printf("%s/%s", f->dir, path);

        assert_int_equal(file_replace(AT_FDCWD, full, "", 0, 0444, 0), 0);
}

static bool look(const Fixture *f, const char *path, struct stat *ret) {
        _cleanup_free_ char *full = str_printf("%s/%s", f->dir, path);

        return lstat(full, ret) == 0;
}

static void assert_is(const Fixture *f, const char *path, mode_t mode) {
        struct stat st;

        if (!look(f, path, &st))
                fail_msg("%s is not there", path);
        assert_int_equal(st.st_mode & 07777, mode);
}

static void assert_gone(const Fixture *f, const char *path) {
        struct stat st;

        if (look(f, path, &st))
                fail_msg("%s is there", path);
}

static bool none(const char *unit, void *userdata) {
        return false;
}

static bool only_web(const char *unit, void *userdata) {
        return streq(unit, "web.service");
}

static int put_folder(const Fixture *f, const char *unit, const CarriedFiles *list) {
        return carried_folder_put(f->dir, unit, &(CarriedFolder){.files = list});
}

// Files change in it as the unit runs; these folders of it are bound.
static int put_staying(const Fixture *f, const CarriedFiles *list, FileSource *sources, size_t n) {
        return carried_folder_put(
                f->dir, "web.service",
                &(CarriedFolder){.files = list, .sources = sources, .n_sources = n, .stays = true});
}

static void a_folder_has_its_files_under_their_names(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a", "conf/b/c", "x.sh");

        assert_int_equal(put_folder(f, "web.service", &c), 0);
        assert_is(f, "units/web.service", 0755);
        assert_is(f, "units/web.service/a", 0444);
        assert_is(f, "units/web.service/conf/b", 0755);
        assert_is(f, "units/web.service/conf/b/c", 0444);
        assert_is(f, "units/web.service/x.sh", 0555);
}

static void a_new_folder_takes_the_place_of_the_old_one(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles old = FILES(f, "a", "b/c"), new = FILES(f, "b/d");

        assert_int_equal(put_folder(f, "web.service", &old), 0);
        assert_int_equal(put_folder(f, "web.service", &new), 0);
        assert_gone(f, "units/web.service/a");
        assert_gone(f, "units/web.service/b/c");
        assert_is(f, "units/web.service/b/d", 0444);
        assert_gone(f, "units/.web.service");
}

static ino_t inode(const Fixture *f, const char *path) {
        struct stat st;

        assert_true(look(f, path, &st));
        return st.st_ino;
}

static void assert_reads(const Fixture *f, const char *path, const char *bytes) {
        _cleanup_free_ char *full = str_printf("%s/%s", f->dir, path);
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_read(AT_FDCWD, full, 64, &b), 0);
        assert_int_equal(b.len, strlen(bytes));
        assert_memory_equal(b.data, bytes, b.len);
}

static void what_runs_keeps_a_folder_that_has_the_files_already(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a", "b/c"), less = FILES(f, "a");

        assert_int_equal(put_folder(f, "web.service", &c), 0);
        ino_t folder = inode(f, "units/web.service/b");
        assert_int_equal(put_folder(f, "web.service", &c), 0);
        assert_int_equal(inode(f, "units/web.service/b"), folder);
        assert_int_equal(put_folder(f, "web.service", &less), 0);
        assert_gone(f, "units/web.service/b");
}

static void what_is_bound_stays_and_its_files_change_in_it(void **state) {
        Fixture *f = *state;
        FileSource bound[] = {{.source = (char *) "conf", .destination = (char *) "/etc/web"},
                              {.source = (char *) "conf/in", .destination = (char *) "/etc/in"}};
        _cleanup_carried_files_ CarriedFiles old = FILES(f, "conf/a", "conf/sub/b", "conf/in/c", "env"),
                                             new = FILES(f, "conf/d", "conf/in/e", "env", "x/y");

        assert_int_equal(put_staying(f, &old, bound, 2), 0);
        assert_reads(f, "units/web.service/conf/sub/b", "conf/sub/b");
        assert_reads(f, "units/web.service/conf/in/c", "conf/in/c");
        ino_t folder = inode(f, "units/web.service/conf");
        ino_t in = inode(f, "units/web.service/conf/in");
        for (int i = 0; i < 3; i++) { // there and back
                assert_int_equal(put_staying(f, &new, bound, 2), 0);
                assert_reads(f, "units/web.service/conf/d", "conf/d");
                assert_reads(f, "units/web.service/conf/in/e", "conf/in/e");
                assert_reads(f, "units/web.service/x/y", "x/y");
                assert_gone(f, "units/web.service/conf/a");
                assert_gone(f, "units/web.service/conf/sub");
                assert_gone(f, "units/web.service/conf/in/c");
                assert_int_equal(put_staying(f, &old, bound, 2), 0);
                assert_gone(f, "units/web.service/conf/d");
                assert_gone(f, "units/web.service/x");
                assert_reads(f, "units/web.service/conf/a", "conf/a");
        }
        assert_int_equal(inode(f, "units/web.service/conf"), folder);
        assert_int_equal(inode(f, "units/web.service/conf/in"), in);
        carried_store_drop(f->dir, &carried_files_find(&new, "conf/d")->hash, false);
        // nothing of it is left behind
        assert_false(carried_store_has(f->dir, &carried_files_find(&new, "conf/d")->hash, false));
}

static void what_stays_is_the_old_one_until_all_of_the_new_one_is_there(void **state) {
        Fixture *f = *state;
        FileSource bound[] = {{.source = (char *) "conf", .destination = (char *) "/etc/web"}};
        _cleanup_carried_files_ CarriedFiles old = FILES(f, "conf/a"), new = FILES(f, "conf/a", "conf/b");

        assert_int_equal(put_staying(f, &old, bound, 1), 0);
        carried_store_drop(f->dir, &new.list[1].hash, false);
        assert_int_equal(put_staying(f, &new, bound, 1), -ENODATA);
        assert_reads(f, "units/web.service/conf/a", "conf/a");
        assert_gone(f, "units/web.service/conf/b");
        put(f, "conf/b", false);
        assert_int_equal(put_staying(f, &new, bound, 1), 0);
        assert_reads(f, "units/web.service/conf/b", "conf/b");
        assert_int_equal(put_folder(f, "web.service", &old), 0); // and turns into one that is replaced
        assert_is(f, "units/web.service/conf/a", 0444);
        assert_gone(f, "units/web.service/..data");
}

static int remove_folder(Fixture *f, const char *unit) {
        int folders = carried_folders_open(f->dir),
            r = folders < 0 ? folders : carried_folder_remove(folders, unit);

        if (folders >= 0)
                close(folders);
        return r;
}

static void a_content_is_gone_with_the_last_that_has_it(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a");
        const Hash *hash = &c.list[0].hash;

        assert_int_equal(put_folder(f, "one.service", &c), 0);
        assert_int_equal(put_folder(f, "two.service", &c), 0);
        assert_int_equal(remove_folder(f, "one.service"), 0);
        carried_store_drop(f->dir, hash, false);
        assert_true(carried_store_has(f->dir, hash, false));
        assert_int_equal(remove_folder(f, "two.service"), 0);
        carried_store_drop(f->dir, hash, false);
        assert_false(carried_store_has(f->dir, hash, false));
        assert_int_equal(remove_folder(f, "two.service"), 0); // nothing is there
}

static void a_folder_is_not_made_without_all_its_files(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles old = FILES(f, "a"), new = FILES(f, "a", "b");

        assert_int_equal(put_folder(f, "web.service", &old), 0);
        carried_store_drop(f->dir, &new.list[1].hash, false);
        assert_int_equal(put_folder(f, "web.service", &new), -ENODATA);
        assert_is(f, "units/web.service/a", 0444);
        put(f, "b", false);
        assert_true(carried_folder_has(f->dir, "web.service", &old));
        assert_false(carried_folder_has(f->dir, "web.service", &new));
        assert_int_equal(put_folder(f, "web.service", &new), 0); // over what was left
        assert_true(carried_folder_has(f->dir, "web.service", &new));
        assert_false(carried_folder_has(f->dir, "other.service", &new));
        assert_is(f, "units/web.service/b", 0444);
}

static void a_folder_goes_with_what_could_not_be_made_of_it(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a", "b");

        carried_store_drop(f->dir, &c.list[1].hash, false);
        assert_int_equal(put_folder(f, "web.service", &c), -ENODATA);
        assert_int_equal(remove_folder(f, "web.service"), 0);
        assert_gone(f, "units/.web.service");
        carried_store_drop(f->dir, &c.list[0].hash, false);
        assert_false(carried_store_has(f->dir, &c.list[0].hash, false));
}

static void a_quarter_of_the_file_system_stays_free(void **state) {
        Fixture *f = *state;
        Hash hash = hash_of("", 0);

        disk_room_free = 249999;
        assert_int_equal(carried_store_put(f->dir, &hash, false, "", 0), -ENOSPC);
        disk_room_free = 250000;
        assert_int_equal(carried_store_put(f->dir, &hash, false, "", 0), 0);
        hash = hash_of("a", 1);
        assert_int_equal(carried_store_put(f->dir, &hash, false, "a", 1), -ENOSPC);
        assert_false(carried_store_has(f->dir, &hash, false));
        disk_room_free++;
        put(f, "a", false);
        disk_room_free += 10;
        disk_room_inodes = 0;
        hash = hash_of("b", 1);
        assert_int_equal(carried_store_put(f->dir, &hash, false, "b", 1), -ENOSPC);
        disk_room_inodes = 1000000;
}

// Each is in pages of its own, and in one inode: what is said to have room is then not refused with the last
// of them.
static void what_many_files_take_is_known_before(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles two = {};
        Hash a = hash_of("a", 1), b = hash_of("b", 1);

        assert_int_equal(carried_files_add(&two, "a", false, 1, &a), 0);
        assert_int_equal(carried_files_add(&two, "b", false, 1, &b), 0);
        disk_room_free = 250001;
        assert_false(carried_store_has_room(f->dir, &two));
        disk_room_free++;
        assert_true(carried_store_has_room(f->dir, &two));
        disk_room_inodes = 1;
        assert_false(carried_store_has_room(f->dir, &two));
        disk_room_inodes++;
        assert_true(carried_store_has_room(f->dir, &two));
        disk_room_free = disk_room_inodes = 1000000;
}

static void what_no_folder_has_is_listed(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a"), left = {};

        carried_store_list_unused("/none", &left);
        put(f, "b.sh", true);
        assert_int_equal(put_folder(f, "web.service", &c), 0);
        touch(f, "files/nobodys");
        touch(f, "files/.new");
        carried_store_list_unused(f->dir, &left);
        assert_int_equal(left.n, 1);
        assert_true(left.list[0].executable);
        carried_store_drop(f->dir, &left.list[0].hash, true);
        assert_false(carried_store_has(f->dir, &left.list[0].hash, true));
}

static void what_is_not_of_its_hash_is_not_taken(void **state) {
        Fixture *f = *state;
        Hash hash = hash_of("a", 1);

        assert_int_equal(carried_store_put(f->dir, &hash, false, "b", 1), -EBADMSG);
        assert_false(carried_store_has(f->dir, &hash, false));
}

static void what_nobody_has_is_swept(void **state) {
        Fixture *f = *state;
        _cleanup_carried_files_ CarriedFiles c = FILES(f, "a"), other = FILES(f, "b");

        carried_store_sweep(f->dir, none, NULL); // nothing is there yet but contents
        put(f, "a", false);
        put(f, "b", false);
        assert_int_equal(put_folder(f, "web.service", &c), 0);
        assert_int_equal(put_folder(f, "gone.service", &other), 0);
        assert_int_equal(put_folder(f, ".web.service", &other), 0); // as a crash leaves it
        carried_store_sweep(f->dir, only_web, NULL);
        assert_is(f, "units/web.service/a", 0444);
        assert_gone(f, "units/gone.service");
        assert_gone(f, "units/.web.service");
        assert_true(carried_store_has(f->dir, &c.list[0].hash, false));
        assert_false(carried_store_has(f->dir, &other.list[0].hash, false));
        carried_store_sweep(f->dir, none, NULL);
        assert_false(carried_store_has(f->dir, &c.list[0].hash, false));
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

static void die_in_the_middle(const Fixture *f, const CarriedFiles *list, FileSource *conf, unsigned after) {
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                dies_after = after;
                _exit(1 + (put_staying(f, list, conf, 1) < 0));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static bool is_there(const Fixture *f, const char *path) {
        _cleanup_free_ char *full = str_printf("%s/units/web.service/%s", f->dir, path);
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
        Fixture *f = *state;
        FileSource conf = {.source = (char *) "conf", .destination = (char *) "/etc/conf"};
        _cleanup_carried_files_ CarriedFiles before = FILES(f, "a", "b", "conf/c", "conf/sub/d"),
                                             after = FILES(f, "b", "conf/f", "conf/sub/d", "e", "sub/g");

        for (unsigned switched = 1; switched <= 2; switched++) {
                assert_int_equal(put_staying(f, &before, &conf, 1), 0);
                die_in_the_middle(f, &after, &conf, switched);
                carried_store_sweep(f->dir, only_web, NULL);
                for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                        bool is_new = str_has_prefix(all[i], "conf/") ? switched == 2 : true;

                        if (is_there(f, all[i]) != !!carried_files_find(is_new ? &after : &before, all[i]))
                                fail_msg("%s, after %u", all[i], switched);
                }
                assert_true(is_there(f, "..1") != is_there(f, "..2"));
                assert_true(is_there(f, "conf/..1") != is_there(f, "conf/..2"));
                for (size_t i = 0; i < ELEMENTSOF(all); i++) // some were only in what had been begun
                        put(f, all[i], false);
                assert_int_equal(put_staying(f, &after, &conf, 1), 0);
                assert_true(carried_folder_has(f->dir, "web.service", &after) && !is_there(f, "a"));
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
