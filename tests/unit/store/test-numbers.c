// SPDX-License-Identifier: LGPL-2.1-or-later

// libraft keeps no number beside an entry: it counts from names of files. A store that goes on with what a
// crash has left has each entry under the number that it had before.

#include "printed.h"
#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log-marker.h"
#include "macro.h"
#include "segments.h"
#include "store-peer.h"
#include "str.h"

// A worker that removes files of this directory waits before the n-th removal of a segment until it is NULL.
static const char *_Atomic removal_hangs_in;
static _Atomic unsigned removals_before, n_removals;
static _Atomic bool removal_waits;

static bool is_segment_in(const char *path, const char *dir) {
        unsigned long long first, last;
        const char *name = strrchr(path, '/');

        return str_has_prefix(path, dir) && name && segment_is_closed(name + 1, &first, &last);
}

int unlink(const char *path);
_public_ int unlink(const char *path) {
        int (*real)(const char *) = (int (*)(const char *)) dlsym(RTLD_NEXT, "unlink");
        const char *dir = removal_hangs_in;

        if (dir && is_segment_in(path, dir) && ++n_removals > removals_before)
                while (removal_hangs_in) {
                        removal_waits = true;
                        usleep(1000);
                }
        return real(path);
}

static bool a_removal_waits(void *userdata) {
        return removal_waits;
}

// A follower of a cluster of two whose leader is gone: the test says what the leader would.
static StoreCluster *begin(StoreNode **ret_follower) {
        StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c),
                  *f = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;

        store_cluster_write_to_all(c, 1, 100);
        store_node_close(leader);
        *ret_follower = f;
        return c;
}

static raft_index last_index(const StoreNode *n) {
        return raft_last_index(&raft_store(n->store)->raft);
}

static bool was_restored(void *userdata) {
        return ((StoreNode *) userdata)->n_restores > 0;
}

static bool is_written(void *userdata) {
        return ((StoreNode *) userdata)->n_written > 0;
}

static bool is_encoded(void *userdata) {
        const StoreNode *n = userdata;

        return n->n_snapshots > 0 && n->n_held == 0;
}

static bool has(const StoreNode *n, const char *name) {
        return access(printed("%s/%s", n->dir, name), F_OK) == 0;
}

// A snapshot that a follower has been sent leaves no segment whose name has a number. It has applied three
// entries behind that one, as the others have them, and takes a snapshot of its own; its disk is slow, so
// they come to be written only then.
static StoreCluster *begin_slow(StoreNode **ret_follower, uint64_t *ret_index) {
        StoreCluster *c = begin(ret_follower);
        StoreNode *f = *ret_follower;
        RaftStore *s = raft_store(f->store);
        uint64_t index = last_index(f) + 100;

        store_peer_snapshot(f, store_term(f), index, 12345);
        store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        s->gate.writing = true;
        f->compacts = true;
        store_peer_entries(f, raft_current_term(&s->raft), index, store_last_term(f), 3, true, index + 3);
        assert_int_equal(f->n_applied, 12345 + 3);
        store_run_until(&c->loop, is_encoded, f, STORE_PATIENCE_MS, "a snapshot of its own");
        store_run_for(&c->loop, 50);
        *ret_index = index;
        return c;
}

static void guard_24_what_a_snapshot_has_is_written_before_it(void **state) {
        uint64_t index;
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_slow(&f, &index);
        RaftStore *s = raft_store(f->store);
        uint64_t term = raft_current_term(&s->raft);
        Hash chain = f->chain;

        s->gate.writing = false;
        raft_gate_go_on(s);
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term, index + 3},
                        STORE_PATIENCE_MS, "three entries");
        store_run_until(&c->loop, is_written, f, STORE_PATIENCE_MS, "its own snapshot");
        store_node_crash(c, f);
        assert_int_equal(last_index(f), index + 3);
        assert_int_equal(f->n_applied, 12345 + 3);
        assert_true(hash_equal(&f->chain, &chain));
}

static void what_waits_for_the_disk_is_given_up_for_the_leaders_snapshot(void **state) {
        uint64_t index;
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_slow(&f, &index);

        f->n_restores = 0;
        store_peer_snapshot(f, store_term(f), index + 100, 23456);
        store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        assert_int_equal(f->n_written, 0);
        assert_int_equal(f->n_applied, 23456);
        store_node_close(f);
}

static void what_waits_for_the_disk_does_not_hold_the_close(void **state) {
        uint64_t index;
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_slow(&f, &index);

        store_node_close(f);
        store_node_open(f, false, NULL, NULL);
        assert_in_range(last_index(f), index, index + 3);
        assert_int_equal(f->n_applied, 12345);
}

// Entries of a leader that nobody else has; the store was started again meanwhile, so each lot has a segment
// of its own.
static uint64_t write_lots(StoreCluster *c, StoreNode *f, unsigned n) {
        uint64_t last = last_index(f);

        for (unsigned i = 0; i < n; i++, last += 3) {
                uint64_t term = store_term(f);

                store_peer_entries(f, term, last, store_last_term(f), 3, false, 0);
                store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term, last + 3},
                                STORE_PATIENCE_MS, "three entries");
                store_node_crash(c, f);
        }
        return last;
}

static void begin_removal(StoreNode *f, unsigned n_removed) {
        n_removals = 0;
        removals_before = n_removed;
        removal_waits = false;
        removal_hangs_in = f->dir;
}

// The store goes on with what is there while a removal waits.
static void crash_while_removing(StoreCluster *c, StoreNode *f) {
        _cleanup_free_ char *image = str_printf("%s/image", c->base);

        store_run_until(&c->loop, a_removal_waits, NULL, STORE_PATIENCE_MS, "a removal");
        store_dir_copy(f->dir, image);
        removal_hangs_in = NULL;
        store_node_close(f);
        store_dir_replace(f->dir, image);
        store_node_open(f, false, NULL, NULL);
}

// The next leader has other entries in their place, and a snapshot of most of those.
static void guard_3_what_ends_behind_the_leaders_snapshot_goes_with_it(void **state) {
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(&f);
        uint64_t before = last_index(f), term;

        write_lots(c, f, 3);
        term = store_term(f) + 1;
        begin_removal(f, 0);
        store_peer_snapshot(f, term, before + 5, 12345);
        crash_while_removing(c, f);
        assert_int_equal(last_index(f), before + 5);
        assert_int_equal(store_last_term(f), term);
        store_peer_entries(f, term, before + 5, term, 1, false, 0);
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term, before + 6},
                        STORE_PATIENCE_MS, "one entry");
}

// The next leader has another entry in the place of the second of nine: libraft writes the segment with the
// first one anew, and removes the three that were, one after the other.
static void crash_while_truncating(unsigned n_removed) {
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(&f);
        uint64_t before = last_index(f), last = write_lots(c, f, 3);
        uint64_t term = store_term(f), old_term = store_last_term(f);

        assert_int_equal(last, before + 9);
        begin_removal(f, n_removed);
        store_peer_entries(f, term + 1, before + 1, old_term, 1, false, 0);
        crash_while_removing(c, f);
        assert_int_equal(store_term(f), term + 1);
        assert_in_range(last_index(f), before + 1, last);
        assert_int_equal(store_last_term(f), old_term);
        store_peer_entries(f, term + 1, before + 1, old_term, 1, false, 0);
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term + 1, before + 2},
                        STORE_PATIENCE_MS, "one entry");
        assert_false(has(f, TRUNCATION_MARKER)); // or the next start would end the log there again
        for (unsigned i = 0; i < 2; i++) { // its segment is open, and then closed
                store_node_crash(c, f);
                assert_int_equal(last_index(f), before + 2);
                assert_int_equal(store_last_term(f), term + 1);
        }
}

static void guard_20_a_truncation_of_many_segments_is_finished(void **state) {
        for (unsigned n_removed = 0; n_removed < 3; n_removed++)
                crash_while_truncating(n_removed);
}

// ---- a snapshot that cannot be read

static char *snapshot_path(const char *dir, uint64_t index) {
        DIR *d = opendir(dir);
        struct dirent *e;
        char *path = NULL;

        assert_non_null(d);
        while (!path && (e = readdir(d))) {
                unsigned long long term, at, stamp;
                int end = 0;

                if (sscanf(e->d_name, "snapshot-%llu-%llu-%llu%n", &term, &at, &stamp, &end) == 3 &&
                    at == index)
                        path = str_printf("%s/%.*s", dir, end, e->d_name);
        }
        closedir(d);
        assert_non_null(path);
        return path;
}

static void damage_description(const char *path) {
        int fd = open(printed("%s.meta", path), O_RDWR | O_CLOEXEC);
        char byte;

        assert_int_equal(pread(fd, &byte, 1, 20), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, 20), 1);
        close(fd);
}

static void make_unreadable(const char *path) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0700), 0);
}

// An older one is there, too; libraft would begin with that, and count from there.
static void open_without_the_newest(void (*spoil)(const char *path), bool *ret_numbered) {
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(&f);
        uint64_t index = last_index(f), term = store_term(f);
        _cleanup_free_ char *path = NULL, *why = NULL;
        int r;

        for (unsigned i = 0; i < 2; i++) {
                index += 100;
                f->n_restores = 0;
                store_peer_snapshot(f, store_term(f), index, 12345);
                store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        }
        store_peer_entries(f, term, index, term, 3, true, 0);
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term, index + 3},
                        STORE_PATIENCE_MS, "three entries");
        store_node_lose_power(c, f);
        path = snapshot_path(f->dir, index);
        spoil(path);
        store_node_open(f, false, &r, &why);
        assert_int_equal(r, -EBADMSG);
        assert_non_null(strstr(why, "the newest snapshot"));
        store_run_for(&c->loop, 10); // until it is gone
        *ret_numbered = !segments_are_truncated(f->dir, 0);
        (void) rmdir(path);
}

static void guard_28_an_older_snapshot_does_not_take_the_place_of_a_damaged_one(void **state) {
        bool numbered;

        open_without_the_newest(damage_description, &numbered);
        assert_false(numbered); // the segment is open as it was, until the snapshot has been put right
}

static void guard_28_an_older_snapshot_does_not_take_the_place_of_one_that_cannot_be_read(void **state) {
        bool numbered;

        open_without_the_newest(make_unreadable, &numbered);
}

RUN_TESTS(
        cmocka_unit_test(guard_24_what_a_snapshot_has_is_written_before_it),
        cmocka_unit_test(what_waits_for_the_disk_is_given_up_for_the_leaders_snapshot),
        cmocka_unit_test(what_waits_for_the_disk_does_not_hold_the_close),
        cmocka_unit_test(guard_3_what_ends_behind_the_leaders_snapshot_goes_with_it),
        cmocka_unit_test(guard_20_a_truncation_of_many_segments_is_finished),
        cmocka_unit_test(guard_28_an_older_snapshot_does_not_take_the_place_of_a_damaged_one),
        cmocka_unit_test(guard_28_an_older_snapshot_does_not_take_the_place_of_one_that_cannot_be_read)
)
