// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `cluster recover` ends at every step of its work, in the middle of every write, and again while the next
// start puts things in order: the host is always the old voter or the new one.
//
// All calls by which a process changes a disk are counted, also those that libraft and libuv make: this
// program's functions of these names come before the C library's. A child ends at the n-th.
#include "tmpdir.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "raft-store.h"
#include "recovery.h"
#include "run.h"
#include "state-dir.h"
#include "str.h"

enum { CUT = 42 };

static int calls_left = -1; // of the child; -1: any number
static unsigned n_calls;

static bool is_last(void) {
        n_calls++;
        return calls_left >= 0 && calls_left-- == 0;
}

// What the next `name` in line does, unless this call is the last one: then the process ends.
#define COUNTED(type, name, params, args)                                                   \
        __attribute__((visibility("default"))) type name params;                            \
        type name params {                                                                  \
                type(*next) params;                                                         \
                *(void **) &next = dlsym(RTLD_NEXT, #name);                                 \
                if (is_last())                                                              \
                        _exit(CUT);                                                         \
                return next args;                                                           \
        }

// Half of it is written.
#define COUNTED_WRITE(name, params, args, half_args)                                        \
        __attribute__((visibility("default"))) ssize_t name params;                         \
        ssize_t name params {                                                               \
                ssize_t(*next) params;                                                      \
                *(void **) &next = dlsym(RTLD_NEXT, #name);                                 \
                if (is_last()) {                                                            \
                        (void) next half_args;                                              \
                        _exit(CUT);                                                         \
                }                                                                           \
                return next args;                                                           \
        }

COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, unlinkat, (int dirfd, const char *path, int flags), (dirfd, path, flags))
COUNTED(int, rmdir, (const char *path), (path))
COUNTED(int, mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(int, ftruncate, (int fd, off_t len), (fd, len))
COUNTED(int, posix_fallocate, (int fd, off_t offset, off_t len), (fd, offset, len))
COUNTED(int, fsync, (int fd), (fd))
COUNTED(int, fdatasync, (int fd), (fd))
COUNTED_WRITE(write, (int fd, const void *data, size_t len), (fd, data, len), (fd, data, len / 2))
COUNTED_WRITE(pwrite, (int fd, const void *data, size_t len, off_t offset), (fd, data, len, offset),
              (fd, data, len / 2, offset))
COUNTED_WRITE(writev, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, v, n / 2))
COUNTED_WRITE(pwritev, (int fd, const struct iovec *v, int n, off_t offset), (fd, v, n, offset),
              (fd, v, n / 2, offset))

// ---- the host

static char *in(const char *dir, const char *name) {
        char *path = str_printf("%s/%s", dir, name);

        assert_non_null(path);
        return path;
}

// A voter: a state directory with a log.
static void create(const char *dir) {
        _cleanup_free_ char *why = NULL, *log = in(dir, "log");

        assert_int_equal(dir_empty(AT_FDCWD, dir), 0);
        assert_int_equal(state_dir_create(dir, "n1", "10.0.0.1", 7867, &why), 0);
        assert_int_equal(raft_offline_bootstrap(log, 1, &why), 0);
}

static Argosy__PeersFile *load(const char *dir) {
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = NULL;
        Identity identity = {};

        assert_int_equal(state_dir_load(dir, &identity, &peers, &why), 0);
        identity_done(&identity);
        return peers;
}

static uint64_t generation(const char *dir) {
        Argosy__PeersFile *peers = load(dir);
        uint64_t g = peers->generation;

        argosy__peers_file__free_unpacked(peers, NULL);
        return g;
}

// Names and contents of the log's files; of the copy of the peers file the name, since each cluster that is
// made has an id of its own, and generation() looks at what it says.
static void print_log(const char *dir, Buf *ret) {
        _cleanup_free_ char *log = in(dir, "log");
        struct dirent **names;
        int n = scandir(log, &names, NULL, alphasort);

        assert_true(n > 2);
        for (int i = 0; i < n; i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", log, names[i]->d_name);

                if (names[i]->d_name[0] != '.') {
                        assert_int_equal(buf_append(ret, names[i]->d_name, strlen(names[i]->d_name) + 1), 0);
                        if (!streq(names[i]->d_name, "peers"))
                                assert_int_equal(file_read(AT_FDCWD, path, 1 << 26, ret), 0);
                }
                free(names[i]);
        }
        free(names);
}

static bool log_is(const char *dir, const Buf *what) {
        _cleanup_buf_ Buf now = {};

        print_log(dir, &now);
        return now.len == what->len && memcmp(now.data, what->data, now.len) == 0;
}

// That file and its copy beside the log, each of which is read where the other one is not there.
static bool peers_are_one(const char *dir) {
        _cleanup_free_ char *path = in(dir, "peers"), *beside_log = in(dir, "log/peers");
        _cleanup_buf_ Buf file = {}, copy = {};

        assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &file), 0);
        assert_int_equal(file_read(AT_FDCWD, beside_log, 1 << 20, &copy), 0);
        return file.len == copy.len && memcmp(file.data, copy.data, file.len) == 0;
}

static int recover(const char *dir) {
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = load(dir);

        peers->generation++;
        int r = recovery_commit(dir, peers, &why);
        argosy__peers_file__free_unpacked(peers, NULL);
        return r;
}

static int settle(const char *dir) {
        _cleanup_free_ char *why = NULL;

        return recovery_settle(dir, &why);
}

static int recover_and_settle(const char *dir) {
        int r = recover(dir);

        return r < 0 ? r : settle(dir);
}

// Whether it got to its end with so many calls.
static bool in_child(int (*what)(const char *), const char *dir, int calls) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                calls_left = calls;
                _exit(what(dir) < 0 ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == CUT));
        return WEXITSTATUS(status) == 0;
}

// ---- tests

static void recovering_is_whole_or_not_at_all(void **state) {
        _cleanup_buf_ Buf old = {}, new = {};
        unsigned n_old = 0, n_new = 0;
        bool finished = false;

        create(*state);
        print_log(*state, &old);
        assert_int_equal(recover_and_settle(*state), 0);
        assert_int_equal(generation(*state), 2);
        print_log(*state, &new);
        assert_false(log_is(*state, &old));

        for (int calls = 0; !finished; calls++) {
                _cleanup_free_ char *done = in(*state, "recovery"), *fresh = in(*state, "recovery.new");
                bool committed, settled = false;

                assert_true(calls < 1000);
                create(*state);
                finished = in_child(recover_and_settle, *state, calls);
                committed = finished || access(done, F_OK) == 0 || generation(*state) == 2;
                // The next start, and the one after it, are cut short as well, later each time.
                for (int again = 0; !settled; again++)
                        settled = in_child(settle, *state, again);
                assert_int_equal(access(done, F_OK), -1);
                assert_int_equal(access(fresh, F_OK), -1);
                assert_int_equal(generation(*state), committed ? 2 : 1);
                assert_true(log_is(*state, committed ? &new : &old));
                assert_true(!committed || peers_are_one(*state));
                *(committed ? &n_new : &n_old) += 1;
        }
        assert_true(n_old > 10 && n_new > 5); // libraft's calls were among them
}

static void what_was_begun_before_means_nothing(void **state) {
        _cleanup_free_ char *fresh = in(*state, "recovery.new"), *rest = in(*state, "recovery.new/rest");

        create(*state);
        assert_int_equal(mkdir(fresh, 0700), 0);
        assert_int_equal(file_replace(AT_FDCWD, rest, "x", 1, 0600, 0), 0);
        assert_int_equal(recover_and_settle(*state), 0);
        assert_int_equal(generation(*state), 2);
        assert_int_equal(access(fresh, F_OK), -1);
}

// It was becoming a voter, or is to vote no more: others were named to it.
static void who_was_not_named_is_the_only_voter_itself(void **state) {
        const RunOptions options = {.paths.state_dir = *state};
        _cleanup_free_ char *said = NULL;

        create(*state);
        Argosy__PeersFile *peers = load(*state);
        peers->voters[0]->host = 2;
        assert_int_equal(state_dir_save_peers(*state, peers), 0);
        argosy__peers_file__free_unpacked(peers, NULL);
        assert_int_equal(recover_here(&options, &said), 0);
        peers = load(*state);
        assert_int_equal(peers->generation, 2);
        assert_int_equal(peers->n_voters, 1);
        assert_int_equal(peers->voters[0]->host, 1);
        assert_int_equal(peers->voters[0]->raft_id, 1);
        assert_int_equal(peers->voters[0]->key_pin.len, HASH_SIZE);
        argosy__peers_file__free_unpacked(peers, NULL);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_drop)

RUN_TESTS(
        IN_DIR(recovering_is_whole_or_not_at_all),
        IN_DIR(what_was_begun_before_means_nothing),
        IN_DIR(who_was_not_named_is_the_only_voter_itself)
)
