// SPDX-License-Identifier: LGPL-2.1-or-later

// What is left of a disk when the power fails, and of a program that dies in the middle of a change.
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "macro.h"
#include "sim-disk.h"
#include "str.h"

enum { TRIES = 200, LONG = 4 * SIM_SECTOR + 100 };

static char dir[64], state[128], run[128];
static SimHost *host;
static int ended;

static void on_end(SimHost *h, int status) {
        ended = status;
        sim_disk_let_go(sim_host_number(h));
}

static char *path_in(const char *where, const char *name) {
        char *path = str_printf("%s/%s", where, name);

        assert_non_null(path);
        return path;
}

static int begin(void **test) {
        str_fit(dir, sizeof(dir), "%s/argosy-test-disk-XXXXXX",
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        assert_non_null(mkdtemp(dir));
        sim_begin(7);
        sim_on_end(on_end);
        sim_disk_begin(dir);
        str_fit(run, sizeof(run), "%s/1", dir);
        assert_return_code(mkdir(run, 0755), errno);
        str_fit(state, sizeof(state), "%s/1/state", dir);
        assert_return_code(mkdir(state, 0755), errno);
        str_fit(run, sizeof(run), "%s/1/run", dir);
        assert_return_code(mkdir(run, 0755), errno);
        host = sim_host_new(1, &(SimClocks){});
        sim_disk_adopt(1);
        sim_host_start(host);
        return 0;
}

static int end(void **test) {
        sim_host_kill(host);
        sim_disk_end();
        sim_end();
        assert_return_code(dir_empty(AT_FDCWD, dir), errno);
        return rmdir(dir);
}

// By argosyd of the host. False: it died.
static bool does(void (*run_it)(void *data), void *data) {
        if (!sim_host_is_up(host))
                sim_host_start(host);
        ended = 0;
        return sim_host_do(host, run_it, data);
}

static void cut(void) {
        if (sim_host_is_up(host))
                sim_host_kill(host);
        sim_disk_let_go(1);
        sim_disk_cut(1);
}

// The content of a file of the disk; *ret_len SIZE_MAX: there is none.
static void read_file(const char *name, Buf *ret, size_t *ret_len) {
        _cleanup_free_ char *path = path_in(state, name);

        buf_done(ret);
        *ret_len = file_read(AT_FDCWD, path, 1 << 20, ret) < 0 ? SIZE_MAX : ret->len;
}

static void put(const char *where, const char *name, char c, size_t len, FileWriteFlags flags) {
        _cleanup_free_ char *path = path_in(where, name), *text = malloc(len);

        memset(text, c, len);
        assert_return_code(file_replace(AT_FDCWD, path, text, len, 0600, flags), errno);
}

static void put_synced(void *data) {
        put(state, "file", *(const char *) data, LONG, FILE_SYNC);
}

static void put_unsynced(void *data) {
        put(state, "file", *(const char *) data, LONG, 0);
}

static bool is_all(const Buf *b, char c) {
        for (size_t i = 0; i < b->len; i++)
                if (b->data[i] != (uint8_t) c)
                        return false;
        return b->len == LONG;
}

static void what_was_synced_is_kept_whatever_happens(void **test) {
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                char c = (char) ('a' + i % 26);

                assert_true(does(put_synced, &c));
                cut();
                read_file("file", &b, &len);
                assert_true(is_all(&b, c));
        }
}

// All that a rename without a sync may come to is seen: the old file, the new one, an empty one, a part.
static void what_was_not_synced_is_there_in_parts(void **test) {
        unsigned n_old = 0, n_new = 0, n_empty = 0, n_parts = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                assert_true(does(put_synced, (char[]){'o'}));
                assert_true(does(put_unsynced, (char[]){'n'}));
                cut();
                read_file("file", &b, &len);
                assert_int_not_equal(len, SIZE_MAX);
                if (is_all(&b, 'o'))
                        n_old++;
                else if (is_all(&b, 'n'))
                        n_new++;
                else if (len == 0)
                        n_empty++;
                else
                        n_parts++;
                for (size_t at = 0; at < b.len; at++) // a sector is whole
                        assert_int_equal(b.data[at], b.data[at - at % SIM_SECTOR]);
        }
        assert_true(n_old > 0 && n_new > 0 && n_empty > 0 && n_parts > 0);
}

static void overwrite(void *data) {
        _cleanup_free_ char *path = path_in(state, "file");
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, "nnnn", 4, 0), 4);
        if (*(const bool *) data)
                assert_return_code(fsync(fd), errno);
        close(fd);
}

static void a_write_over_what_is_there_needs_a_sync(void **test) {
        unsigned n_lost = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                bool sync = i % 2;

                assert_true(does(put_synced, (char[]){'o'}));
                assert_true(does(overwrite, &sync));
                cut();
                read_file("file", &b, &len);
                assert_int_equal(len, LONG);
                n_lost += b.data[0] == 'o';
                assert_false(sync && b.data[0] == 'o');
        }
        assert_true(n_lost > 0);
}

static void write_within_reserved(void *data) {
        _cleanup_free_ char *path = path_in(state, "reserved"), *text = malloc(LONG);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        memset(text, 'n', LONG);
        assert_int_equal(posix_fallocate(fd, 0, (off_t) LONG * 4), 0);
        assert_int_equal(pwrite(fd, text, LONG, 0), LONG);
        close(fd);
}

// The file has the length that was reserved, or nothing: a write within does not make it longer.
static void nothing_is_behind_the_end_of_a_file_that_lost_its_room(void **test) {
        unsigned n_lost = 0, n_kept = 0, n_parts = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                assert_true(does(write_within_reserved, NULL));
                cut();
                read_file("reserved", &b, &len);
                if (len == SIZE_MAX)
                        continue;
                assert_true(len == 0 || len == LONG * 4);
                n_lost += len == 0;
                n_kept += len > 0;
                n_parts += len > 0 && memchr(b.data, 0, LONG);
        }
        assert_true(n_lost > 0 && n_kept > 0 && n_parts > 0);
}

static void make_folder(void *data) {
        _cleanup_free_ char *from = path_in(state, "next"), *to = path_in(state, "commit"),
                            *file = path_in(state, "next/file");

        assert_return_code(mkdir(from, 0700), errno);
        assert_return_code(file_replace(AT_FDCWD, file, "x", 1, 0600, FILE_SYNC), errno);
        assert_return_code(rename(from, to), errno);
        if (*(const bool *) data)
                assert_return_code(dir_sync(AT_FDCWD, state), errno);
}

// A folder is renamed with what is in it.
static void names_are_kept_by_the_sync_of_their_directory(void **test) {
        unsigned n_lost = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                bool sync = i % 2;

                assert_true(does(make_folder, &sync));
                cut();
                read_file("commit/file", &b, &len);
                n_lost += len == SIZE_MAX;
                assert_false(sync && len != 1);
                assert_return_code(dir_empty(AT_FDCWD, state), errno);
        }
        assert_true(n_lost > 0);
}

// Whoever reads the file afterwards meets the old content or the new one: the new one is written beside it.
static void who_dies_at_a_change_does_no_more(void **test) {
        unsigned n_died = 0, n_old = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                bool died;

                assert_true(does(put_synced, (char[]){'o'}));
                sim_disk_die_at(1, (unsigned) (1 + i % 8));
                died = !does(put_unsynced, (char[]){'n'});
                assert_int_equal(ended, died ? SIM_DIED : 0);
                sim_disk_die_at(1, 0);
                n_died += died;
                read_file("file", &b, &len);
                assert_true(is_all(&b, 'o') || is_all(&b, 'n'));
                n_old += is_all(&b, 'o');
        }
        assert_true(n_died > 0 && n_died < TRIES && n_old > 0);
        assert_true(sim_disk_figures().cut_short > 0);
}

static void fail_to_put(void *data) {
        _cleanup_free_ char *path = path_in(*(const bool *) data ? run : state, "file"),
                            *text = calloc(1, LONG);

        errno = -file_replace(AT_FDCWD, path, text, LONG, 0600, FILE_SYNC);
}

static int error_of(bool in_run) {
        static int error;

        assert_true(does(fail_to_put, &in_run));
        error = errno;
        return error;
}

static void trouble_is_what_it_was_asked_for(void **test) {
        struct statvfs v;

        sim_disk_trouble(1, (SimDiskTrouble){.disk_full = true});
        assert_int_equal(error_of(false), ENOSPC);
        assert_int_equal(error_of(true), 0);
        assert_return_code(statvfs(state, &v), errno);
        assert_int_equal(v.f_bavail, 0);
        sim_disk_trouble(1, (SimDiskTrouble){.run_full = true});
        assert_int_equal(error_of(false), 0);
        assert_int_equal(error_of(true), ENOSPC);
        sim_disk_trouble(1, (SimDiskTrouble){.sync_fails = true, .once = true});
        assert_int_equal(error_of(false), EIO);
        assert_int_equal(error_of(false), 0);
        sim_disk_trouble(1, (SimDiskTrouble){.write_fails = true});
        assert_int_equal(error_of(false), EIO);
        assert_int_equal(error_of(false), EIO);
}

// fence.c writes in place for that.
static void a_full_disk_takes_what_needs_no_room(void **test) {
        bool sync = true;

        assert_true(does(put_synced, (char[]){'o'}));
        sim_disk_trouble(1, (SimDiskTrouble){.disk_full = true});
        assert_true(does(overwrite, &sync));
}

static void sync_again(void *data) {
        _cleanup_free_ char *path = path_in(state, "file");
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, "nnnn", 4, 0), 4);
        assert_int_equal(fsync(fd), -1);
        assert_return_code(fsync(fd), errno);
        close(fd);
}

static void a_sync_behind_one_that_failed_says_nothing(void **test) {
        unsigned n_lost = 0;
        _cleanup_buf_ Buf b = {};
        size_t len;

        for (int i = 0; i < TRIES; i++) {
                assert_true(does(put_synced, (char[]){'o'}));
                sim_disk_trouble(1, (SimDiskTrouble){.sync_fails = true, .once = true});
                assert_true(does(sync_again, NULL));
                cut();
                read_file("file", &b, &len);
                n_lost += b.data[0] == 'o';
        }
        assert_true(n_lost > 0 && n_lost < TRIES);
}

// What may come to be another content, or another file, at the next power cut: one that was written over,
// one that has a new name, and one of which a sync has lost something and the next one has not said so.
static void what_a_power_cut_may_change_is_not_synced(void **test) {
        bool lost = false;

        assert_false(sim_disk_is_synced(1, "file"));
        assert_true(does(put_synced, (char[]){'o'}));
        assert_true(sim_disk_is_synced(1, "file"));
        assert_true(does(put_unsynced, (char[]){'n'}));
        assert_false(sim_disk_is_synced(1, "file"));
        cut();
        assert_true(sim_disk_is_synced(1, "file"));
        assert_true(does(overwrite, (bool[]){false}));
        assert_false(sim_disk_is_synced(1, "file"));
        for (int i = 0; i < TRIES; i++) {
                assert_true(does(put_synced, (char[]){'o'}));
                sim_disk_trouble(1, (SimDiskTrouble){.sync_fails = true, .once = true});
                assert_true(does(sync_again, NULL));
                lost |= !sim_disk_is_synced(1, "file");
        }
        assert_true(lost);
}

static void list(void *data) {
        char *names = data;
        DIR *d = opendir(run);

        for (const struct dirent *e; (e = readdir(d));)
                if (*e->d_name != '.')
                        strcat(names, e->d_name);
        closedir(d);
}

static void a_directory_is_listed_in_any_order(void **test) {
        char first[8] = "", names[8];
        bool differs = false;

        put(run, "a", 'x', 1, 0);
        put(run, "b", 'x', 1, 0);
        put(run, "c", 'x', 1, 0);
        assert_true(does(list, first));
        assert_int_equal(strlen(first), 3);
        for (int i = 0; i < TRIES && !differs; i++) {
                *names = 0;
                assert_true(does(list, names));
                differs = !streq(names, first);
        }
        assert_true(differs);
}

static void times_are_of_the_hosts_clock(void **test) {
        _cleanup_free_ char *path = path_in(state, "file");
        struct stat st;

        sim_host_set_wall(host, UINT64_C(1234567890) * 1000000);
        assert_true(does(put_unsynced, (char[]){'n'}));
        assert_return_code(stat(path, &st), errno);
        assert_int_equal(st.st_mtim.tv_sec, 1234567890);
        assert_return_code(stat(state, &st), errno);
        assert_int_equal(st.st_mtim.tv_sec, 1234567890);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(what_was_synced_is_kept_whatever_happens),
                TEST(what_was_not_synced_is_there_in_parts),
                TEST(a_write_over_what_is_there_needs_a_sync),
                TEST(nothing_is_behind_the_end_of_a_file_that_lost_its_room),
                TEST(names_are_kept_by_the_sync_of_their_directory),
                TEST(who_dies_at_a_change_does_no_more),
                TEST(trouble_is_what_it_was_asked_for),
                TEST(a_full_disk_takes_what_needs_no_room),
                TEST(a_sync_behind_one_that_failed_says_nothing),
                TEST(what_a_power_cut_may_change_is_not_synced),
                TEST(a_directory_is_listed_in_any_order),
                TEST(times_are_of_the_hosts_clock),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
