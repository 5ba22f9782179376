// SPDX-License-Identifier: LGPL-2.1-or-later

// A store on libraft with one member: what survives a restart, and what is refused.

#include "printed.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "macro.h"
#include "raft-store.h"
#include "store-node.h"
#include "str.h"

typedef struct Fixture {
        uv_loop_t loop;
        char base[256];
        StoreNode node;
} Fixture;

static Fixture g;

FIXTURE(setup) {
        char dir[300];

        g = (Fixture){};
        store_dir_make(g.base, sizeof(g.base));
        snprintf(dir, sizeof(dir), "%s/log", g.base);
        assert_int_equal(uv_loop_init(&g.loop), 0);
        store_node_init(&g.node, &g.loop, dir, 7);
}

FIXTURE(teardown) {
        store_node_close(&g.node);
        uv_run(&g.loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&g.loop), 0);
        store_dir_remove(g.base);
}

static void open_leader(void) {
        store_node_open(&g.node, true, NULL, NULL);
        store_node_wait_leader(&g.node);
}

static void the_first_host_leads_alone(void **state) {
        StoreStats stats;

        assert_false(store_exists(g.node.dir));
        store_node_open(&g.node, true, NULL, NULL);
        assert_int_equal(g.node.n_roles, 0); // nothing from inside the call
        store_node_wait_leader(&g.node);
        assert_int_equal(g.node.leader.raft_id, 7);
        assert_int_equal(store_node_submit(&g.node, "x", 1).outcome, STORE_COMMITTED);
        store_stats(g.node.store, &stats);
        assert_int_equal(stats.role, STORE_LEADER);
        assert_int_equal(stats.n_members, 1);
        assert_int_equal(stats.members[0].raft_id, 7);
        assert_true(stats.members[0].voter);
        assert_int_equal(stats.applied_index, stats.last_index);
        assert_int_equal(stats.applied_index, g.node.last_index);
        assert_true(store_exists(g.node.dir));
}

// libraft writes them in turn: a full disk has no room for the second one later.
static void both_files_for_terms_are_there_from_the_start(void **state) {
        _cleanup_free_ char *path = str_printf("%s/metadata2", g.node.dir);
        struct stat st;

        open_leader();
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 0);
        store_node_close(&g.node);
        open_leader();
        assert_int_equal(store_node_submit(&g.node, "x", 1).outcome, STORE_COMMITTED);
}

static void whoever_does_not_bootstrap_waits(void **state) {
        store_node_open(&g.node, false, NULL, NULL);
        store_run_for(&g.loop, 400);
        assert_int_equal(g.node.role, STORE_FOLLOWER);
        assert_int_equal(store_submit(g.node.store, "x", 1, store_on_done, NULL), -EAGAIN);
}

// A host notes that it has a log as soon as that is open, and refuses to start without it from then on.
static void a_log_that_was_opened_is_there_before_anybody_leads(void **state) {
        store_node_open(&g.node, false, NULL, NULL);
        assert_true(store_exists(g.node.dir));
        store_node_close(&g.node);
        store_node_open(&g.node, false, NULL, NULL);
        assert_int_equal(g.node.role, STORE_FOLLOWER);
}

// Both files, so that the first term is written over what is there.
static void a_log_that_was_made_needs_no_room_for_terms(void **state) {
        _cleanup_free_ char *second = str_printf("%s/metadata2", g.node.dir), *why = NULL;
        struct stat before, after;

        assert_int_equal(store_make(g.node.dir, 7, &why), 0);
        assert_null(why);
        assert_true(store_exists(g.node.dir));
        assert_int_equal(stat(second, &before), 0);
        store_node_open(&g.node, false, NULL, NULL);
        assert_int_equal(g.node.role, STORE_FOLLOWER);
        store_node_close(&g.node);
        assert_int_equal(stat(second, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(before.st_size, after.st_size);
}

static void a_log_that_cannot_be_made_says_why(void **state) {
        _cleanup_free_ char *nowhere = str_printf("%s/no/log", g.node.dir), *why = NULL;

        assert_int_equal(store_make(nowhere, 7, &why), -ENOENT);
        assert_non_null(strstr(why, nowhere));
}

// Odd lengths: libraft takes multiples of 8 only.
static void a_batch_is_applied_before_it_is_reported(void **state) {
        open_leader();
        for (size_t len = 1; len <= 17; len++) {
                StoreAnswer a = store_node_submit(&g.node, "0123456789abcdefg", len);

                assert_int_equal(a.outcome, STORE_COMMITTED);
                assert_int_equal(a.index, g.node.last_index);
                assert_int_equal(g.node.n_applied, len);
        }
}

static bool all_done(void *userdata) {
        const StoreAnswer *a = userdata;

        return a->n == STORE_PENDING_MAX;
}

static void many_batches_are_on_their_way_at_a_time(void **state) {
        StoreAnswer a = {};
        uint64_t commits[TIME_BOUNDS + 1];
        StoreStats stats;

        open_leader();
        for (size_t i = 0; i < STORE_PENDING_MAX; i++)
                assert_int_equal(store_submit(g.node.store, &i, sizeof(i), store_on_done, &a), 0);
        assert_int_equal(store_submit(g.node.store, "x", 1, store_on_done, &a), -EBUSY);
        assert_int_equal(a.n, 0);
        store_stats(g.node.store, &stats);
        assert_int_equal(store_figures(&stats).log_pending, STORE_PENDING_MAX);
        store_run_until(&g.loop, all_done, &a, STORE_PATIENCE_MS, "all batches");
        assert_int_equal(g.node.n_applied, STORE_PENDING_MAX);
        store_stats(g.node.store, &stats);
        assert_int_equal(stats.n_pending, 0);
        time_histogram_cumulate(&stats.commits, commits);
        assert_int_equal(commits[TIME_BOUNDS], STORE_PENDING_MAX);
        assert_true(stats.commits.sum_us > 0);
        assert_int_equal(store_figures(&stats).log_entries, g.node.last_index);
        assert_int_equal(store_node_submit(&g.node, "x", 1).outcome, STORE_COMMITTED);
}

static void the_biggest_batch_goes_through(void **state) {
        _cleanup_free_ char *big = calloc(1, STORE_BATCH_MAX + 1);

        open_leader();
        assert_int_equal(store_submit(g.node.store, big, STORE_BATCH_MAX + 1, store_on_done, NULL), -E2BIG);
        assert_int_equal(store_node_submit(&g.node, big, STORE_BATCH_MAX).outcome, STORE_COMMITTED);
}

static void everything_is_there_after_a_restart(void **state) {
        Hash chain;

        open_leader();
        for (int i = 0; i < 20; i++)
                store_node_submit(&g.node, &i, sizeof(i));
        chain = g.node.chain;
        store_node_close(&g.node);
        store_node_open(&g.node, true, NULL, NULL); // bootstrap is ignored now
        store_node_wait_leader(&g.node);
        assert_int_equal(g.node.n_applied, 20);
        assert_true(hash_equal(&g.node.chain, &chain));
}

static bool three_done(void *userdata) {
        return ((StoreAnswer *) userdata)->n == 3;
}

static void barriers_of_one_turn_share_one_entry(void **state) {
        StoreStats before, after;
        StoreAnswer a = {};

        open_leader();
        store_stats(g.node.store, &before);
        for (int i = 0; i < 3; i++)
                assert_int_equal(store_barrier(g.node.store, store_on_done, &a), 0);
        store_run_until(&g.loop, three_done, &a, STORE_PATIENCE_MS, "barriers");
        assert_int_equal(a.outcome, STORE_COMMITTED);
        store_stats(g.node.store, &after);
        assert_int_equal(after.last_index, before.last_index + 1);
}

static void closing_answers_everything(void **state) {
        StoreAnswer batch = {}, barrier = {};

        open_leader();
        assert_int_equal(store_submit(g.node.store, "x", 1, store_on_done, &batch), 0);
        assert_int_equal(store_barrier(g.node.store, store_on_done, &barrier), 0);
        g.node.closed = false;
        store_node_close(&g.node);
        assert_int_equal(batch.n, 1);
        assert_int_equal(barrier.n, 1);
        assert_int_equal(batch.outcome, STORE_UNKNOWN);
}

static void write_file(const char *dir, const char *name) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", dir, name), "x", 1, 0600, 0), 0);
}

static void a_first_start_that_was_interrupted_begins_again(void **state) {
        _cleanup_free_ char *fresh = str_printf("%s.new", g.node.dir);

        assert_int_equal(mkdir(fresh, 0700), 0);
        write_file(fresh, "metadata1");
        assert_int_equal(mkdir(g.node.dir, 0700), 0); // and the owner had made it
        open_leader();
        assert_int_equal(store_node_submit(&g.node, "x", 1).outcome, STORE_COMMITTED);
        assert_int_equal(access(fresh, F_OK), -1);
}

// ---- snapshots

static void fill(unsigned megabytes) {
        _cleanup_free_ char *chunk = malloc(STORE_BATCH_MAX);

        memset(chunk, 'c', STORE_BATCH_MAX);
        for (unsigned i = 0; i < megabytes; i++) {
                memcpy(chunk, &i, sizeof(i));
                assert_int_equal(store_node_submit(&g.node, chunk, STORE_BATCH_MAX).outcome,
                                 STORE_COMMITTED);
        }
}

// The newest snapshot's data file.
static bool find_file(const char *dir, const char *prefix, const char *without, char *ret, size_t size) {
        DIR *d = opendir(dir);
        struct dirent *e;
        bool found = false;

        assert_non_null(d);
        while ((e = readdir(d)))
                if (str_has_prefix(e->d_name, prefix) && !strstr(e->d_name, without)) {
                        snprintf(ret, size, "%s/%s", dir, e->d_name);
                        found = true;
                }
        closedir(d);
        return found;
}

static bool has_snapshot_file(void *userdata) {
        char path[1024];

        return find_file(g.node.dir, "snapshot-", ".meta", path, sizeof(path));
}

static void guard_6_a_snapshot_is_taken_by_bytes_and_used_at_the_next_start(void **state) {
        Hash chain;

        open_leader();
        fill(10);
        store_run_until(&g.loop, has_snapshot_file, &g, STORE_PATIENCE_MS, "snapshot");
        assert_in_range(g.node.n_snapshots, 1, 2);
        chain = g.node.chain;
        store_node_close(&g.node);
        store_node_open(&g.node, false, NULL, NULL);
        store_node_wait_leader(&g.node);
        assert_int_equal(g.node.n_restores, 1);
        assert_int_equal(g.node.n_applied, 10);
        assert_true(hash_equal(&g.node.chain, &chain));
}

static void guard_6_segments_are_big_and_many_entries_are_in_flight(void **state) {
        struct stat st;
        char path[1024];

        open_leader();
        assert_true(find_file(g.node.dir, "open-", "none", path, sizeof(path)));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 8 * 1024 * 1024); // below 4 MiB libraft says "no space" for ever
        assert_int_equal(raft_store(g.node.store)->raft.max_inflight_entries, STORE_PENDING_MAX);
}

static void damage(const char *path, off_t at) {
        _cleanup_(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
        uint8_t byte;

        assert_true(fd >= 0);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void assert_refused(const char *expect) {
        _cleanup_free_ char *why = NULL;
        int r;

        store_node_open(&g.node, false, &r, &why);
        assert_int_equal(r, -EBADMSG);
        assert_non_null(why);
        if (!strstr(why, expect) || !strstr(why, "join again"))
                fail_msg("not helpful: %s", why);
        uv_run(&g.loop, UV_RUN_DEFAULT);
}

static void guard_2_a_damaged_snapshot_is_refused(void **state) {
        char path[1024];

        g.node.filler = 1000;
        open_leader();
        fill(9);
        store_run_until(&g.loop, has_snapshot_file, &g, STORE_PATIENCE_MS, "snapshot");
        store_node_close(&g.node);
        assert_true(find_file(g.node.dir, "snapshot-", ".meta", path, sizeof(path)));
        damage(path, 500);
        assert_refused("the snapshot is damaged");
}

// With libraft's automatic recovery the start would succeed, without the entries behind the damage.
static void guard_5_a_damaged_log_is_refused(void **state) {
        char path[1024];

        open_leader();
        for (int i = 0; i < 50; i++)
                store_node_submit(&g.node, &i, sizeof(i));
        store_node_close(&g.node);
        assert_true(find_file(g.node.dir, "0000000000000002-", "none", path, sizeof(path)));
        damage(path, 200);
        assert_refused("damaged");
        assert_refused("damaged"); // and again
}

static void a_truncated_log_is_refused(void **state) {
        struct stat st;
        char path[1024];

        open_leader();
        for (int i = 0; i < 50; i++)
                store_node_submit(&g.node, &i, sizeof(i));
        store_node_close(&g.node);
        assert_true(find_file(g.node.dir, "0000000000000002-", "none", path, sizeof(path)));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, st.st_size - 4), 0);
        assert_refused("damaged");
}

static void a_directory_that_cannot_be_made_is_an_error(void **state) {
        _cleanup_free_ char *why = NULL;
        int r;

        snprintf(g.node.dir, sizeof(g.node.dir), "%s/no/such", g.base);
        store_node_open(&g.node, true, &r, &why);
        assert_int_equal(r, -ENOENT);
        assert_non_null(strstr(why, "/no/such"));
}

// ---- membership as far as it goes alone

static void the_last_voter_cannot_be_removed(void **state) {
        StoreAnswer a = {};

        open_leader();
        assert_int_equal(store_member_remove(g.node.store, 7, store_on_member, &a), -EPERM);
        assert_int_equal(store_member_remove(g.node.store, 8, store_on_member, &a), -ENOENT);
        assert_int_equal(store_member_add(g.node.store, 7, store_on_member, &a), -EEXIST);
        assert_int_equal(store_transfer(g.node.store, 0, store_on_member, &a), -ENOENT);
}

static void recovery_keeps_the_data(void **state) {
        _cleanup_free_ char *why = NULL;
        StoreStats stats;
        Hash chain;

        open_leader();
        for (int i = 0; i < 10; i++)
                store_node_submit(&g.node, &i, sizeof(i));
        chain = g.node.chain;
        store_node_close(&g.node);
        assert_int_equal(store_recover(g.node.dir, 9, &why), 0);
        g.node.raft_id = 9;
        store_node_open(&g.node, false, NULL, NULL);
        store_node_wait_leader(&g.node);
        assert_true(hash_equal(&g.node.chain, &chain));
        store_stats(g.node.store, &stats);
        assert_int_equal(stats.n_members, 1);
        assert_int_equal(stats.members[0].raft_id, 9);
        assert_int_equal(store_recover("/no/such", 9, &why), -ENOENT);
}

// It was to become a voter's, and the quorum was lost before the leader had sent anything.
static void a_log_that_was_only_made_is_not_recovered(void **state) {
        _cleanup_free_ char *why = NULL, *path = NULL;

        assert_int_equal(store_make(g.node.dir, 7, &why), 0);
        assert_int_equal(store_recover(g.node.dir, 7, &why), -ENODATA);
        assert_non_null(strstr(why, "empty"));
        free(TAKE_PTR(why));
        path = str_printf("%s/open-1", g.node.dir); // it was opened, and waited for entries
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 4096), 0);
        close(fd);
        assert_int_equal(store_recover(g.node.dir, 7, &why), -ENODATA);
}

static void a_log_of_one_entry_is_recovered(void **state) {
        _cleanup_free_ char *why = NULL;

        open_leader();
        store_node_close(&g.node);
        assert_int_equal(store_recover(g.node.dir, 7, &why), 0);
}

// Worker threads must not get signals: libraft's fallocate() there is not made for EINTR.
static void the_pool_blocks_signals(void **state) {
        struct dirent *e;
        unsigned n = 0;

        open_leader();
        DIR *d = opendir("/proc/self/task");
        assert_non_null(d);
        while ((e = readdir(d))) {
                _cleanup_buf_ Buf b = {};
                _cleanup_free_ char *text = NULL;
                char *line;

                if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
                        continue;
                assert_int_equal(
                        file_read(AT_FDCWD, printed("/proc/self/task/%s/status", e->d_name), 65536, &b), 0);
                text = buf_take_string(&b);
                line = strstr(text, "SigBlk:");
                assert_non_null(line);
                // SIGTERM (15) and SIGCHLD (17)
                assert_int_equal(strtoull(line + 7, NULL, 16) & (1 << 14 | 1 << 16), 1 << 14 | 1 << 16);
                n++;
        }
        closedir(d);
        assert_true(n > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(the_first_host_leads_alone),
        TEST(both_files_for_terms_are_there_from_the_start),
        TEST(whoever_does_not_bootstrap_waits),
        TEST(a_log_that_was_opened_is_there_before_anybody_leads),
        TEST(a_log_that_was_made_needs_no_room_for_terms),
        TEST(a_log_that_cannot_be_made_says_why),
        TEST(a_batch_is_applied_before_it_is_reported),
        TEST(many_batches_are_on_their_way_at_a_time),
        TEST(the_biggest_batch_goes_through),
        TEST(everything_is_there_after_a_restart),
        TEST(barriers_of_one_turn_share_one_entry),
        TEST(closing_answers_everything),
        TEST(a_first_start_that_was_interrupted_begins_again),
        TEST(guard_6_a_snapshot_is_taken_by_bytes_and_used_at_the_next_start),
        TEST(guard_6_segments_are_big_and_many_entries_are_in_flight),
        TEST(guard_2_a_damaged_snapshot_is_refused),
        TEST(guard_5_a_damaged_log_is_refused),
        TEST(a_truncated_log_is_refused),
        TEST(a_directory_that_cannot_be_made_is_an_error),
        TEST(the_last_voter_cannot_be_removed),
        TEST(recovery_keeps_the_data),
        TEST(a_log_that_was_only_made_is_not_recovered),
        TEST(a_log_of_one_entry_is_recovered),
        TEST(the_pool_blocks_signals)
)
