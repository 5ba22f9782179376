// SPDX-License-Identifier: LGPL-2.1-or-later

// Several stores that talk over TLS on the loopback, and a disk of theirs that hangs, fails or is full.

#include "printed.h"
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"
#include "str.h"

// ---- a disk that hangs: the worker that stands before it gets no answer

static _Atomic bool disk_hangs;
static _Atomic unsigned n_knocks;
static char hanging_dir[sizeof(((StoreNode *) NULL)->dir)];

static bool is_in_hanging_dir(int fd) {
        char path[sizeof(hanging_dir)];

        ssize_t n = readlink(printed("/proc/self/fd/%d", fd), path, sizeof(path));
        return n > 0 && strncmp(path, hanging_dir, strlen(hanging_dir)) == 0;
}

_public_ ssize_t write(int fd, const void *data, size_t len) {
        static ssize_t (*real)(int, const void *, size_t);

        if (!real)
                real = (ssize_t (*)(int, const void *, size_t)) dlsym(RTLD_NEXT, "write");
        n_knocks += len == 0;
        while (len == 0 && disk_hangs && is_in_hanging_dir(fd))
                usleep(1000);
        return real(fd, data, len);
}

static void hang_disk(const StoreNode *n) {
        memcpy(hanging_dir, n->dir, sizeof(hanging_dir));
        disk_hangs = true;
}

static void on_closed_node(void *userdata) {
        ((StoreNode *) userdata)->closed = true;
}

static bool is_closed_node(void *userdata) {
        return ((StoreNode *) userdata)->closed;
}

// A worker that truncates the log removes the segment that had too much at the end.
static _Atomic bool removal_hangs, removal_waits, removal_fails;

_public_ int unlink(const char *path) {
        static int (*real)(const char *);

        if (!real)
                real = (int (*)(const char *)) dlsym(RTLD_NEXT, "unlink");
        while (removal_hangs && strncmp(path, hanging_dir, strlen(hanging_dir)) == 0) {
                removal_waits = true;
                usleep(1000);
        }
        if (removal_fails) {
                errno = EIO;
                return -1;
        }
        return real(path);
}

static bool removal_is_waiting(void *userdata) {
        return removal_waits;
}

static bool has_stored_more(void *userdata) {
        const RaftStore *s = raft_store(((StoreNode *) userdata)->store);

        return s->raft.last_stored == raft_last_index((struct raft *) &s->raft);
}

static void open_others(StoreCluster *c, const StoreNode *than) {
        for (int i = 0; i < 3; i++)
                if (&c->servers[i].node != than && !c->servers[i].node.store)
                        store_node_open(&c->servers[i].node, false, NULL, NULL);
}

// The leader, alone and with an entry; NULL: on a busy machine it has noticed before that it is alone.
static StoreNode *leave_alone(StoreCluster *c, StoreAnswer *answer) {
        StoreNode *n = store_cluster_leader(c);

        for (int i = 0; i < 3; i++)
                if (&c->servers[i].node != n)
                        store_node_close(&c->servers[i].node);
        int r = store_submit(n->store, "x", 1, store_on_done, answer);
        if (r < 0)
                assert_int_equal(r, -EAGAIN);
        return r < 0 ? NULL : n;
}

// Who led alone for a moment has entries that nobody else has: a worker is about to take them away.
static StoreCluster *begin_truncation(StoreNode **ret) {
        StoreCluster *c = store_cluster_of(3);
        StoreNode *n;
        StoreAnswer a = {};

        removal_waits = false;
        store_cluster_write_to_all(c, 1, 100);
        while (!(n = leave_alone(c, &a)))
                open_others(c, NULL);
        store_run_until(&c->loop, has_stored_more, n, STORE_PATIENCE_MS, "an entry of its own");
        store_node_close(n);
        open_others(c, n);
        store_cluster_write(c, 1, 100);

        memcpy(hanging_dir, n->dir, sizeof(hanging_dir));
        store_node_open(n, false, NULL, NULL);
        removal_hangs = true;
        store_run_until(&c->loop, removal_is_waiting, NULL, STORE_PATIENCE_MS, "a truncation");
        *ret = n;
        return c;
}

// libraft's close did not wait for that worker.
static void guard_15_the_close_waits_for_a_truncation(void **state) {
        StoreNode *n;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_truncation(&n);

        n->closed = false;
        store_close(TAKE_PTR(n->store), on_closed_node, n);
        store_run_for(&c->loop, 100);
        bool closed_at_once = n->closed;
        removal_hangs = false;
        assert_false(closed_at_once);
        store_run_until(&c->loop, is_closed_node, n, STORE_PATIENCE_MS, "close");
        store_node_open(n, false, NULL, NULL);
        store_cluster_agree(c);
        assert_int_equal(n->n_applied, 2);
}

static void fail_truncation(void) {
        StoreNode *n;
        StoreCluster *c = begin_truncation(&n);

        removal_fails = true;
        removal_hangs = false;
        store_run_for(&c->loop, STORE_PATIENCE_MS);
}

static void guard_8_a_truncation_that_fails_ends_the_process(void **state) {
        char base[256];
        int status;

        store_dir_make(base, sizeof(base));
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                setenv("CMOCKA_TEST_ABORT", "1", 1);
                setenv("TMPDIR", base, 1);
                fail_truncation();
                _exit(EXIT_SUCCESS);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 99);
        store_dir_remove(base);
}

// The power goes when what is left has been written again, and what it was taken from is still there.
static void guard_20_a_log_is_not_damaged_by_an_interrupted_truncation(void **state) {
        StoreNode *n;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_truncation(&n);
        _cleanup_free_ char *image = str_printf("%s/image", c->base);

        store_dir_copy(n->dir, image);
        removal_hangs = false;
        store_node_close(n);
        store_dir_replace(n->dir, image);
        store_node_open(n, false, NULL, NULL);
        store_cluster_agree(c);
        assert_int_equal(n->n_applied, 2);
}

// Snapshots are as long as the state, and come again every few seconds.
static void one_snapshot_waits_for_a_disk_that_hangs(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = store_cluster_leader(c);
        RaftStore *s = raft_store(n->store);

        hang_disk(n);
        for (unsigned i = 0; i < 3; i++) {
                struct raft_message m = {
                        .type = RAFT_INSTALL_SNAPSHOT, .server_id = 9, .server_address = "9"};

                m.install_snapshot.data = (struct raft_buffer){raft_malloc(100), 100};
                raft_configuration_init(&m.install_snapshot.conf);
                (void) raft_gate_takes(s, &m);
        }
        size_t n_held = s->gate.n_messages;
        n->closed = false;
        store_close(TAKE_PTR(n->store), on_closed_node, n);
        disk_hangs = false;
        store_run_until(&c->loop, is_closed_node, n, STORE_PATIENCE_MS, "close");
        assert_int_equal(n_held, 1);
}

enum { FLIGHT = 16, FLIGHTS = 50 };

typedef struct Flight {
        StoreNode *node;
        unsigned submitted, done;
        unsigned hang_at; // when so many are done the disk hangs; 0: it does not
        uv_idle_t each_turn; // with it, one is submitted in each turn, also while the disk is at work
} Flight;

static void on_landed(StoreOutcome outcome, uint64_t index, void *userdata);

static void submit_next(Flight *f) {
        if (f->submitted == FLIGHT * FLIGHTS || f->submitted - f->done == FLIGHT)
                return;
        f->submitted++;
        assert_int_equal(store_submit(f->node->store, "x", 1, on_landed, f), 0);
}

static void on_landed(StoreOutcome outcome, uint64_t index, void *userdata) {
        Flight *f = userdata;

        assert_int_equal(outcome, STORE_COMMITTED);
        if (++f->done == f->hang_at)
                hang_disk(f->node);
        if (!f->each_turn.loop)
                submit_next(f);
}

static void on_each_turn(uv_idle_t *idle) {
        submit_next(idle->data);
}

static bool have_all_landed(void *userdata) {
        return ((Flight *) userdata)->done == FLIGHT * FLIGHTS;
}

static void take_off(Flight *f) {
        while (f->submitted < FLIGHT)
                submit_next(f);
}

static void what_comes_while_the_disk_is_at_work_is_written_together(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        Flight f = {.node = store_cluster_leader(c)};
        unsigned before = n_knocks;

        take_off(&f);
        store_run_until(&c->loop, have_all_landed, &f, STORE_PATIENCE_MS, "all of them");
        assert_true(n_knocks - before < 2 * FLIGHTS);
}

// They stand before the disk that hangs, or went past the gate.
static bool is_held(void *userdata) {
        const Flight *f = userdata;

        return (disk_hangs && raft_store(f->node->store)->gate.closed) || have_all_landed(userdata);
}

// A file system is frozen when the last write before that has ended, so what comes next must not be with
// libraft.
static void each_write_comes_after_a_look_at_the_disk(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        Flight f = {.node = store_cluster_leader(c), .hang_at = FLIGHT * FLIGHTS / 2};
        unsigned landed;

        uv_idle_init(&c->loop, &f.each_turn);
        f.each_turn.data = &f;
        uv_idle_start(&f.each_turn, on_each_turn);
        store_run_until(&c->loop, is_held, &f, STORE_PATIENCE_MS, "half of them");
        store_run_for(&c->loop, 100);
        landed = f.done;
        disk_hangs = false;
        store_run_until(&c->loop, have_all_landed, &f, STORE_PATIENCE_MS, "all of them");
        assert_in_range(landed, f.hang_at, f.hang_at + FLIGHT);
        uv_close((uv_handle_t *) &f.each_turn, NULL);
}

static unsigned n_ticks;

static void on_counted_tick(struct raft_io *io) {
        n_ticks++;
}

static bool has_ticked(void *userdata) {
        return n_ticks > 0;
}

static bool is_candidate(void *userdata) {
        return ((StoreNode *) userdata)->role == STORE_CANDIDATE;
}

// It may begin a new term with any of them.
static void a_candidates_clock_stands_while_its_disk_hangs(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *other = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        RaftStore *s = raft_store(other->store);
        raft_io_tick_cb tick = s->tick;

        store_node_close(leader);
        store_run_until(&c->loop, is_candidate, other, STORE_PATIENCE_MS, "a candidate");
        hang_disk(other);
        s->tick = on_counted_tick;
        n_ticks = 0;
        store_run_for(&c->loop, 300); // several
        assert_int_equal(n_ticks, 0);
        disk_hangs = false;
        store_run_until(&c->loop, has_ticked, NULL, STORE_PATIENCE_MS, "its clock goes on");
        s->tick = tick;
        store_node_open(leader, false, NULL, NULL);
        store_cluster_agree(c);
}

static void a_leader_whose_disk_hangs_leads_on_with_the_others(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        uint64_t term = leader->leader.term;
        StoreStats stats;

        store_cluster_write(c, 5, 100);
        hang_disk(leader);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(store_node_submit(leader, "x", 1).outcome, STORE_COMMITTED);
                store_run_for(&c->loop, 200); // longer than an election, together
        }
        store_stats(leader->store, &stats);
        for (size_t i = 0; i < stats.n_members; i++)
                assert_true((stats.members[i].match_index < stats.last_index) ==
                            (stats.members[i].raft_id == leader->raft_id));
        assert_int_equal(leader->role, STORE_LEADER);
        assert_int_equal(leader->leader.term, term);
        store_run_until(&c->loop, store_node_is_sure, leader, STORE_PATIENCE_MS, "authority");
        disk_hangs = false;
        store_cluster_agree(c);
}

static void a_voter_whose_disk_hangs_votes_when_it_can_write_that(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *other = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        uint64_t term = leader->leader.term;
        StoreAnswer a = {};

        hang_disk(other);
        assert_int_equal(store_transfer(leader->store, other->raft_id, store_on_member, &a), 0);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "the end of a handover in vain");
        assert_int_equal(a.error, -ETIMEDOUT);
        assert_int_equal(leader->leader.term, term);
        assert_false(store_node_is_sure(leader)); // the other may still obey
        disk_hangs = false;
        store_run_until(&c->loop, store_node_is_sure, store_cluster_leader(c), STORE_PATIENCE_MS,
                        "authority");
        store_cluster_write_to_all(c, 1, 100);
}

static bool all_ask_for_room(void *userdata) {
        StoreCluster *c = userdata;

        for (int i = 0; i < 3; i++) {
                const RaftStore *s = raft_store(c->servers[i].node.store);

                if (s->role == STORE_LEADER && s->raft.capacity_threshold != s->room_kib)
                        return false;
        }
        return true;
}

static void ask_for_room(StoreCluster *c, unsigned short kib) {
        for (int i = 0; i < 3; i++)
                raft_store(c->servers[i].node.store)->room_kib = kib;
        store_run_until(&c->loop, all_ask_for_room, c, STORE_PATIENCE_MS, "that room counts");
}

// The last entry of the one that wins is one of which it has not heard yet that it was committed.
static void guard_13_who_wins_leads_though_the_disks_are_full(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreAnswer a = {};

        for (int i = 0; i < 6; i++) {
                ask_for_room(c, 1);
                store_cluster_write(c, 1, 100);
                ask_for_room(c, USHRT_MAX); // more than anybody has
                a = (StoreAnswer){};
                assert_int_equal(store_transfer(store_cluster_leader(c)->store, 0, store_on_member, &a), 0);
                store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "transfer");
        }
        ask_for_room(c, USHRT_MAX);
        assert_int_equal(store_node_submit(store_cluster_leader(c), "x", 1).outcome, STORE_NO_SPACE);
}

static bool has_spare(void *userdata) {
        const struct raft *raft = &raft_store(((StoreNode *) userdata)->store)->raft;

        return raft->configuration.n == 2 && raft->configuration_uncommitted_index == 0;
}

static void guard_19_a_promotion_is_not_forgotten_for_want_of_room(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;
        StoreAnswer a = {};

        store_node_open(&c->servers[1].node, false, NULL, NULL);
        assert_int_equal(store_member_add(n->store, 2, store_on_member, &a), 0);
        store_run_until(&c->loop, has_spare, n, STORE_PATIENCE_MS, "a spare");
        assert_int_equal(a.n, 0);
        raft_store(n->store)->room_kib = USHRT_MAX;
        raft_set_capacity_threshold(&raft_store(n->store)->raft, USHRT_MAX);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "a new member");
        assert_int_equal(a.error, 0);
        assert_int_equal(store_node_submit(n, "x", 1).outcome, STORE_NO_SPACE);
}

typedef struct Longer {
        const StoreNode *than, *node;
} Longer;

static bool has_stored_what_is_not_written(void *userdata) {
        const Longer *longer = userdata;

        return raft_store(longer->node->store)->raft.last_stored >
               raft_store(longer->than->store)->raft.last_stored;
}

// The only voter goes down when its new member has an entry that it has not written itself. libraft left it
// in its term: what it wrote next had the number and the term of that entry, so the member took them for the
// same.
static void guard_17_who_leads_alone_begins_a_term(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node, *member = &c->servers[1].node;
        StoreAnswer a = {}, again = {};
        char image[300];

        store_node_open(member, false, NULL, NULL);
        assert_int_equal(store_member_add(n->store, 2, store_on_member, &a), 0);
        store_run_until(&c->loop, has_spare, n, STORE_PATIENCE_MS, "a spare");
        hang_disk(n);
        store_run_until(&c->loop, has_stored_what_is_not_written, &(Longer){n, member}, STORE_PATIENCE_MS,
                        "one entry more");
        snprintf(image, sizeof(image), "%s/image", c->base);
        store_dir_copy(n->dir, image);
        disk_hangs = false;
        store_node_close(n);
        store_dir_replace(n->dir, image);

        store_node_open(n, false, NULL, NULL);
        store_node_wait_leader(n);
        assert_int_equal(store_node_submit(n, "x", 1).outcome, STORE_COMMITTED);
        assert_int_equal(store_member_add(n->store, 2, store_on_member, &again), 0);
        store_run_until(&c->loop, store_is_answered, &again, STORE_PATIENCE_MS, "a new member");
        assert_int_equal(again.error, 0);
        store_cluster_agree(c);
        assert_int_equal(member->n_applied, 1);
}

RUN_TESTS(
        cmocka_unit_test(guard_15_the_close_waits_for_a_truncation),
        cmocka_unit_test(guard_8_a_truncation_that_fails_ends_the_process),
        cmocka_unit_test(guard_20_a_log_is_not_damaged_by_an_interrupted_truncation),
        cmocka_unit_test(one_snapshot_waits_for_a_disk_that_hangs),
        cmocka_unit_test(what_comes_while_the_disk_is_at_work_is_written_together),
        cmocka_unit_test(each_write_comes_after_a_look_at_the_disk),
        cmocka_unit_test(a_candidates_clock_stands_while_its_disk_hangs),
        cmocka_unit_test(a_leader_whose_disk_hangs_leads_on_with_the_others),
        cmocka_unit_test(a_voter_whose_disk_hangs_votes_when_it_can_write_that),
        cmocka_unit_test(guard_13_who_wins_leads_though_the_disks_are_full),
        cmocka_unit_test(guard_17_who_leads_alone_begins_a_term),
        cmocka_unit_test(guard_19_a_promotion_is_not_forgotten_for_want_of_room)
)
