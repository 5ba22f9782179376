// SPDX-License-Identifier: LGPL-2.1-or-later

// Disks that fail, fill up or lose power. Each scene plays in a child process, whose exit status is the
// outcome: SCENE_FATAL when the store called `fatal`.

#include "printed.h"
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fileio.h"
#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"
#include "str.h"

enum { SCENE_DONE = 0, SCENE_SKIPPED = 77, SCENE_FATAL = 99 };

// ---- faults: functions of libc that libraft and libuv call

static bool fail_writes;   // asynchronous writes report EIO
static bool fail_metadata; // files that hold term and vote cannot be opened
static bool fail_closes;   // segments cannot be renamed

long syscall(long number, ...);
_public_ long syscall(long number, ...) {
        long (*real)(long, ...) = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall");
        long a[6], r;
        va_list ap;

        va_start(ap, number);
        for (size_t i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);
        r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (number == SYS_io_getevents && r > 0 && fail_writes)
                ((struct io_event *) a[3])->res = -EIO;
        return r;
}

int open64(const char *path, int flags, ...);
_public_ int open64(const char *path, int flags, ...) {
        int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, "open64");
        va_list ap;

        va_start(ap, flags);
        mode_t mode = va_arg(ap, mode_t);
        va_end(ap);
        if (fail_metadata && strstr(path, "/metadata")) {
                errno = ENOSPC;
                return -1;
        }
        return real(path, flags, mode);
}

int rename(const char *from, const char *to);
_public_ int rename(const char *from, const char *to) {
        int (*real)(const char *, const char *) =
                (int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "rename");

        if (fail_closes && strstr(from, "/open-")) {
                errno = EIO;
                return -1;
        }
        return real(from, to);
}

// ---- scenes

typedef struct Scene {
        uv_loop_t loop;
        char base[256];
        StoreNode node;
        int report; // pipe to the parent
} Scene;

static void scene_open(Scene *s, bool wait) {
        assert_int_equal(uv_loop_init(&s->loop), 0);
        store_node_init(&s->node, &s->loop, printed("%s/log", s->base), 1);
        store_node_open(&s->node, true, NULL, NULL);
        if (wait)
                store_node_wait_leader(&s->node);
}

static void scene_close(Scene *s) {
        store_node_close(&s->node);
        assert_int_equal(uv_loop_close(&s->loop), 0);
}

static pid_t scene_start(Scene *s, void (*play)(Scene *s)) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                setenv("CMOCKA_TEST_ABORT", "1",
                       1); // a failed assertion ends the scene, not the test in two processes
                setenv("TMPDIR", s->base,
                       1); // what it leaves behind when it is ended is removed with the rest
                play(s);
                fflush(NULL);
                _exit(SCENE_DONE);
        }
        return pid;
}

static int scene_wait(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int scene_play(Scene *s, void (*play)(Scene *s)) {
        return scene_wait(scene_start(s, play));
}

FIXTURE(setup) {
        Scene *s = calloc(1, sizeof(*s));

        store_dir_make(s->base, sizeof(s->base));
        *state = s;
}

FIXTURE(teardown) {
        Scene *s = *state;

        store_dir_remove(s->base);
        free(s);
}

// ---- guard 4

static void play_failing_write(Scene *s) {
        StoreAnswer a = {};

        scene_open(s, true);
        fail_writes = true;
        assert_int_equal(store_submit(s->node.store, "x", 1, store_on_done, &a), 0);
        store_run_for(&s->loop, STORE_PATIENCE_MS);
}

static void guard_4_a_failed_write_ends_the_process(void **state) {
        assert_int_equal(scene_play(*state, play_failing_write), SCENE_FATAL);
}

static void play_failing_close(Scene *s) {
        StoreAnswer a = {};

        scene_open(s, true);
        assert_int_equal(store_submit(s->node.store, "x", 1, store_on_done, &a), 0);
        store_run_until(&s->loop, store_is_answered, &a, STORE_PATIENCE_MS, "an entry");
        fail_closes = true;
        scene_close(s); // which closes the segment that has entries, as a snapshot does, or a full one
}

static void guard_26_a_segment_that_cannot_be_closed_ends_the_process(void **state) {
        assert_int_equal(scene_play(*state, play_failing_close), SCENE_FATAL);
}

static void play_stuck_disk(Scene *s) {
        scene_open(s, true);
        RaftStore *r = raft_store(s->node.store);
        r->raft.last_stored--; // as while a write is on its way
        for (uint64_t now = 0; now <= 40000; now += 200)
                raft_disk_refresh(r, now);
}

static void guard_4_a_disk_that_does_nothing_ends_the_process(void **state) {
        assert_int_equal(scene_play(*state, play_stuck_disk), SCENE_FATAL);
}

// ---- guard 8

static void play_unwritable_term(Scene *s) {
        StoreCluster *c = store_cluster_of(2);

        store_node_close(&c->servers[0].node);
        store_node_close(&c->servers[1].node);
        store_node_open(&c->servers[0].node, false, NULL, NULL);
        store_node_open(&c->servers[1].node, false, NULL, NULL);
        fail_metadata = true;
        store_run_for(&c->loop, STORE_PATIENCE_MS); // elections
}

static void guard_8_a_term_that_cannot_be_written_ends_the_process(void **state) {
        assert_int_equal(scene_play(*state, play_unwritable_term), SCENE_FATAL);
}

static struct raft_io_append *taken;
static raft_io_append_cb taken_done;

static int take_append(struct raft_io *io, struct raft_io_append *req, const struct raft_entry entries[],
                       unsigned n, raft_io_append_cb done) {
        taken = req;
        taken_done = done;
        return 0;
}

static bool has_taken_append(void *userdata) {
        return taken;
}

// The next segment is not to be had: no asynchronous I/O is left on this machine. libraft says so later.
static void play_refused_entries(Scene *s) {
        StoreAnswer a = {};

        scene_open(s, true);
        raft_store(s->node.store)->uv_io.append = take_append;
        assert_int_equal(store_submit(s->node.store, "x", 1, store_on_done, &a), 0);
        store_run_until(&s->loop, has_taken_append, NULL, STORE_PATIENCE_MS, "an append");
        taken_done(taken, RAFT_TOOMANY);
}

static void guard_8_entries_that_are_refused_later_end_the_process(void **state) {
        assert_int_equal(scene_play(*state, play_refused_entries), SCENE_FATAL);
}

// ---- full disks

static void mount_small(Scene *s, const char *size) {
        if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                _exit(SCENE_SKIPPED);
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        if (mount("tmpfs", s->base, "tmpfs", 0, size) < 0)
                _exit(SCENE_SKIPPED);
}

// Not a byte is left, also of what snapshots have made free of the log.
static void fill_up(Scene *s) {
        static const char zeroes[64 * 1024];
        _cleanup_(closep) int fd =
                open(printed("%s/filler", s->base), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        while (write(fd, zeroes, sizeof(zeroes)) > 0)
                ;
}

static void play_full_disk(Scene *s) {
        _cleanup_free_ char *data = calloc(1, 512 * 1024);
        uint64_t committed = 0, applied;
        StoreAnswer a = {};
        int r;

        mount_small(s, "size=28m");
        scene_open(s, true);
        while ((r = store_submit(s->node.store, data, 512 * 1024, store_on_done, &a)) == 0) {
                while (a.n == 0) {
                        fill_up(s);
                        uv_run(&s->loop, UV_RUN_ONCE);
                }
                if (a.outcome != STORE_COMMITTED)
                        break;
                committed++;
                assert_in_range(committed, 0, 100);
                a = (StoreAnswer){};
        }
        assert_int_equal(a.outcome, STORE_NO_SPACE);
        assert_int_equal(store_submit(s->node.store, data, 512 * 1024, store_on_done, &a), -ENOSPC);
        a = (StoreAnswer){};
        assert_true(committed > 0);
        assert_int_equal(s->node.n_applied, committed);

        // there is room again
        assert_int_equal(mount(NULL, s->base, NULL, MS_REMOUNT, "size=200m"), 0);
        for (int i = 0;
             i < 100 && (r = store_submit(s->node.store, data, 512 * 1024, store_on_done, &a)) == -ENOSPC;
             i++)
                store_run_for(&s->loop, 100);
        assert_int_equal(r, 0);
        while (a.n == 0)
                uv_run(&s->loop, UV_RUN_ONCE);
        assert_int_equal(a.outcome, STORE_COMMITTED);
        applied = s->node.n_applied;
        scene_close(s);
        scene_open(s, true);
        assert_int_equal(s->node.n_applied, applied);
        scene_close(s);
}

static void a_full_disk_refuses_and_recovers(void **state) {
        int r = scene_play(*state, play_full_disk);

        if (r == SCENE_SKIPPED)
                skip();
        assert_int_equal(r, SCENE_DONE);
}

typedef struct Tally {
        unsigned answered, committed;
} Tally;

static void on_counted(StoreOutcome outcome, uint64_t index, void *tally) {
        Tally *t = tally;

        t->answered++;
        t->committed += outcome == STORE_COMMITTED;
}

// More is under way than there is room for: libraft waits for room, and what came after that waits before
// the gate. It is let go, not written.
static void play_end_on_a_full_disk(Scene *s) {
        enum { N = 80 };
        _cleanup_free_ char *data = calloc(1, 512 * 1024);
        unsigned submitted = 0, left;
        Tally t = {};

        mount_small(s, "size=28m");
        scene_open(s, true);
        while (submitted < N && store_submit(s->node.store, data, 512 * 1024, on_counted, &t) == 0)
                submitted++;
        store_run_for(&s->loop, 500);
        assert_false(list_is_empty(&raft_store(s->node.store)->gate.writes));
        left = submitted - t.answered;
        t = (Tally){};
        scene_close(s);
        assert_int_equal(t.answered, left);
        assert_in_range(t.committed, 0, left / 2);
}

static void a_full_disk_does_not_hold_up_the_end(void **state) {
        int r = scene_play(*state, play_end_on_a_full_disk);

        if (r == SCENE_SKIPPED)
                skip();
        assert_int_equal(r, SCENE_DONE);
}

static void play_no_room_at_all(Scene *s) {
        _cleanup_free_ char *why = NULL;
        int r;

        mount_small(s, "nr_inodes=2,size=1m");
        assert_int_equal(uv_loop_init(&s->loop), 0);
        store_node_init(&s->node, &s->loop, printed("%s/log", s->base), 1);
        store_node_open(&s->node, true, &r, &why);
        assert_int_equal(r, -ENOSPC);
        assert_non_null(why);
}

static void without_room_for_its_files_a_store_does_not_open(void **state) {
        int r = scene_play(*state, play_no_room_at_all);

        if (r == SCENE_SKIPPED)
                skip();
        assert_int_equal(r, SCENE_DONE);
}

// ---- lost power

static void play_writer(Scene *s) {
        uint64_t acknowledged;

        scene_open(s, true);
        for (;;) {
                store_node_submit(&s->node, "0123456789", 10);
                acknowledged = s->node.n_applied;
                assert_int_equal(write(s->report, &acknowledged, sizeof(acknowledged)),
                                 sizeof(acknowledged));
        }
}

static uint64_t read_acknowledged(int fd, uint64_t before, unsigned n) {
        uint64_t at = before;

        for (unsigned i = 0; i < n; i++)
                assert_int_equal(read(fd, &at, sizeof(at)), sizeof(at));
        return at;
}

static void play_reader(Scene *s) {
        uint64_t acknowledged = read_acknowledged(s->report, 0, 1);

        scene_open(s, true);
        if (s->node.n_applied < acknowledged)
                fprintf(stderr, "acknowledged %lu, found %lu\n", (unsigned long) acknowledged,
                        (unsigned long) s->node.n_applied);
        assert_true(s->node.n_applied >= acknowledged);
        scene_close(s);
}

static void what_was_acknowledged_survives_kill_9(void **state) {
        Scene *s = *state;

        for (unsigned round = 0; round < 10; round++) {
                uint64_t acknowledged, more;
                int fds[2];

                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                s->report = fds[1];
                pid_t pid = scene_start(s, play_writer);
                close(fds[1]);
                acknowledged = read_acknowledged(fds[0], 0, 1 + round * 37);
                kill(pid, SIGKILL);
                assert_int_equal(scene_wait(pid), -SIGKILL);
                while (read(fds[0], &more, sizeof(more)) == sizeof(more)) // what it still said
                        acknowledged = more;
                close(fds[0]);

                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                assert_int_equal(write(fds[1], &acknowledged, sizeof(acknowledged)), sizeof(acknowledged));
                s->report = fds[0];
                assert_int_equal(scene_play(s, play_reader), SCENE_DONE);
                close(fds[0]);
                close(fds[1]);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(guard_4_a_failed_write_ends_the_process),
        TEST(guard_26_a_segment_that_cannot_be_closed_ends_the_process),
        TEST(guard_4_a_disk_that_does_nothing_ends_the_process),
        TEST(guard_8_a_term_that_cannot_be_written_ends_the_process),
        TEST(guard_8_entries_that_are_refused_later_end_the_process),
        TEST(a_full_disk_refuses_and_recovers),
        TEST(a_full_disk_does_not_hold_up_the_end),
        TEST(without_room_for_its_files_a_store_does_not_open),
        TEST(what_was_acknowledged_survives_kill_9)
)
