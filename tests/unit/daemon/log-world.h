// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What daemon-log.c is surrounded by: store, leader, mesh, disk and pool are the small fakes below, the
// state is a real one. The pool's work waits for disk_works(): until then the disk is slow. What they hear
// is a line of words, in order; assert_recorded() compares it and begins a new one. For test programs that
// link these functions instead of the rooms that they belong to.

#include "printed.h"
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "batch.h"
#include "buf.h"
#include "cluster-state.h"
#include "daemon-ca.h"
#include "daemon-log.h"
#include "daemon-secrets.h"
#include "daemon.h"
#include "event-cursor.h"
#include "feature-level.h"
#include "fileio.h"
#include "http-api.h"
#include "leader.h"
#include "log.h"
#include "mesh.h"
#include "message.h"
#include "messages.h"
#include "paths.h"
#include "port.h"
#include "router.h"
#include "socket-access.h"
#include "state-dir.h"
#include "str.h"
#include "tmpdir.h"

static struct World {
        uv_loop_t loop;
        Daemon d;
        Paths paths;
        char *dir;
        Buf recorded;
        // The store.
        StoreOps ops;
        int open_error;
        bool bootstrap;
        uint32_t opened_id, made_id;
        void (*store_closed)(void *userdata);
        Argosy__LogBatch *batch; // that is on its way
        StoreDone done;
        uint64_t index, commit_index;
        // The others.
        void (*leader_closed)(void *userdata);
        LeaderOps leader_ops;
        bool leader_builds;   // it takes its time before it leads
        bool known_elsewhere; // the mesh has found the voter at another address
        int save_error, secrets_error, make_error;
        bool bad_secret; // that comes with an order to open a log
        unsigned good_saves; // before that error
        int clear_error;     // of a file of secrets that goes
        uv_work_t *work; // that the pool has
        uv_work_cb run;
        uv_after_work_cb done_work;
        uint32_t saved_raft_id;
        uint64_t saved_generation;
        size_t saved_voters;
        bool saved_empty; // the log directory was empty when the peers file was written
        bool saved_made;  // the log of that number was made then
        bool forgot_whole; // when a number was taken out of the peers file its log was there still
        MeshPeer voters[8];
        unsigned access_updates;
} w;

static const uint8_t later[] = {0xfa, 0x7f, 0x01, 'x'}; // a batch with a field that no version has yet

static void record(const char *format, ...) _printf_(1, 2);
static void record(const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        assert_int_equal(buf_printf(&w.recorded, "%s%s", w.recorded.len ? ", " : "", text), 0);
}

static inline void assert_recorded(const char *expected) {
        _cleanup_free_ char *recorded = w.recorded.len ? buf_take_string(&w.recorded) : strdup("");

        assert_string_equal(recorded, expected);
}

// ---- the socket

void socket_access_update(Daemon *d) {
        w.access_updates++;
        d->access_revision = cluster_state_access_revision(d->state);
}

void http_api_set_present(HttpApi *a, const EventCursor *cursor, uint64_t access_revision,
                          uint64_t until_us) {
}

void router_on_access_changed(Router *r) {
}

// ---- the pool

int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb done) {
        assert_null(w.work);
        w.work = work;
        w.run = run;
        w.done_work = done;
        return 0;
}

// One piece, and what follows from it.
static inline void disk_works_once(void) {
        uv_work_t *work = TAKE_PTR(w.work);

        assert_non_null(work);
        w.run(work);
        w.done_work(work, 0);
}

static inline void disk_works(void) {
        while (w.work)
                disk_works_once();
}

// ---- certificates

void daemon_ca_update(Daemon *d) {
}

// ---- the store

int store_make(const char *dir, uint32_t raft_id, char **ret_why) {
        *ret_why = NULL;
        if (w.make_error < 0)
                return w.make_error;
        w.made_id = raft_id;
        record("make");
        return 0;
}

int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why) {
        w.ops = *ops;
        w.opened_id = config->raft_id;
        w.bootstrap = config->bootstrap;
        record("open");
        if (w.open_error == -EPROTONOSUPPORT) { // as it reads an entry of a later version
                *ret_why = strdup("what the store says");
                return ops->apply(1, later, sizeof(later), userdata);
        }
        if (w.open_error < 0)
                return w.open_error;
        *ret = (Store *) &w;
        return 0;
}

void store_close(Store *s, void (*closed)(void *userdata), void *userdata) {
        record("close");
        w.store_closed = closed;
}

int store_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata) {
        assert_null(w.batch);
        if (len > STORE_BATCH_MAX)
                return -E2BIG;
        w.batch = argosy__log_batch__unpack(NULL, len, data);
        w.done = done;
        record("submit %zu", w.batch->n_ops);
        return 0;
}

int store_barrier(Store *s, StoreDone done, void *userdata) {
        return -EAGAIN;
}

void store_recheck(Store *s) {
        record("recheck log");
}

void store_stats(const Store *s, StoreStats *ret) {
        *ret = (StoreStats){.applied_index = w.index,
                            .commit_index = MAX_OF(w.commit_index, w.index),
                            .leader_raft_id = 77};
}

uint64_t store_authority_until(Store *s) {
        return 0;
}

int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        return -EAGAIN;
}

int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        return -EAGAIN;
}

int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        return -EAGAIN;
}

// ---- the leader

int leader_new(const LeaderConfig *config, const LeaderOps *ops, void *userdata, Leader **ret) {
        w.leader_ops = *ops;
        *ret = (Leader *) &w;
        return 0;
}

void leader_close(Leader *l, void (*closed)(void *userdata), void *userdata) {
        w.leader_closed = closed;
}

bool leader_set_leading(Leader *l, bool leading, uint64_t term) {
        record("leader %s in %u", leading ? "leads" : "stops", (unsigned) term);
        return !leading || !w.leader_builds;
}

void leader_on_applied(Leader *l, uint64_t index) {
}

uint64_t leader_wall(const Leader *l) {
        return 1000000;
}

uint64_t leader_counted(const Leader *l) {
        return cluster_state_counted_us(w.d.state) + 1000;
}

void leader_on_restored(Leader *l) {
}

void leader_on_authority(Leader *l) {
        record("authority");
}

// ---- the mesh

bool mesh_peer_from_voter(const Argosy__Voter *voter, MeshPeer *ret) {
        *ret = (MeshPeer){.host = voter->host, .port = (uint16_t) voter->port, .raft_id = voter->raft_id};
        return hash_from_bytes(voter->key_pin.data, voter->key_pin.len, &ret->pin) &&
               str_copy(ret->address, sizeof(ret->address), voter->address);
}

int mesh_set_voters(Mesh *m, const MeshPeer *voters, size_t n) {
        assert_true(n <= ELEMENTSOF(w.voters));
        memcpy(w.voters, voters, n * sizeof(*voters));
        record("%zu voters", n);
        return 0;
}

void mesh_set_leading(Mesh *m, bool leading, uint64_t term, uint32_t leader_host) {
        record("mesh: %s in %u, host %u", leading ? "we lead" : "we do not", (unsigned) term, leader_host);
}

void mesh_set_raft_id(Mesh *m, uint32_t raft_id) {
        record("mesh: raft id %u", raft_id);
}

void mesh_set_generation(Mesh *m, uint64_t generation) {
        record("mesh: generation %u", (unsigned) generation);
}

// Who of hosts 1 to 3 is told to stay.
void mesh_recheck(Mesh *m, bool (*is_member)(uint32_t host, const Hash *pin, void *userdata),
                  void *userdata) {
        unsigned members = 0;

        for (uint32_t i = 1; i <= 3; i++) {
                const Argosy__HostRecord *h =
                        w.d.state ? cluster_state_find_host(w.d.state, i) : NULL;
                Hash pin = {};

                if (h)
                        (void) hash_from_bytes(h->key_pin.data, h->key_pin.len, &pin);
                members += is_member(i, &pin, userdata);
        }
        record("recheck links: %u members", members);
}

bool mesh_where(const Mesh *m, uint32_t host, MeshAddress *ret) {
        if (!w.known_elsewhere)
                return false;
        *ret = (MeshAddress){"198.51.100.9", 7999};
        return true;
}

int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message) {
        if (message->msg_case == ARGOSY__TO_VOTER__MSG_VOTER_SECRETS_KEPT) {
                record("%zu secrets kept by %u", message->voter_secrets_kept->n_secrets,
                       message->voter_secrets_kept->raft_id);
                return 0;
        }
        assert_int_equal(message->msg_case, ARGOSY__TO_VOTER__MSG_STORE_OPENED);
        record("opened %u%s", message->store_opened->raft_id,
               *message->store_opened->error ? " in vain" : "");
        return 0;
}

int mesh_to_host(Mesh *m, uint32_t host, const Argosy__ToHost *message) {
        return -ENOTCONN;
}

bool mesh_host_is_full(const Mesh *m, uint32_t host) {
        return false;
}

void mesh_drop_host(Mesh *m, uint32_t host) {
}

// ---- the daemon, and the disk

int port_open_if_wanted(Daemon *d, char **ret_why) {
        record("port");
        return 0;
}

void daemon_fail(Daemon *d, const char *why) {
        record("fail: %s", why);
}

void daemon_fail_for_good(Daemon *d, const char *why) {
        record("fail for good");
}

void daemon_status(Daemon *d) {
}

void heap_keeper_note(HeapKeeper *k, size_t n) {
}

int identity_copy(const Identity *i, Identity *ret) {
        return 0;
}

void identity_done(Identity *i) {
}

int identity_save(const char *dir, const Identity *i) {
        return 0;
}

// The set itself is a real one.
int __wrap_voter_secrets_save(const char *dir, const VoterSecrets *s);
int __wrap_voter_secrets_save(const char *dir, const VoterSecrets *s) {
        record(s->n ? "secrets" : "no secrets");
        return s->n ? w.secrets_error : w.clear_error;
}

static inline bool log_is_empty(void) {
        return access(printed("%s/old", w.d.log_dir), F_OK) < 0;
}

bool store_exists(const char *dir) {
        return !log_is_empty();
}

int state_dir_save_peers(const char *dir, const Argosy__PeersFile *peers) {
        if (w.save_error < 0 && w.good_saves == 0)
                return w.save_error;
        w.good_saves -= w.good_saves > 0;
        w.saved_raft_id = peers->raft_id;
        w.saved_generation = peers->generation;
        w.saved_voters = peers->n_voters;
        w.saved_empty = log_is_empty();
        w.saved_made = w.made_id == peers->raft_id;
        w.forgot_whole |= peers->raft_id == 0 && !w.saved_empty;
        record("save peers");
        return 0;
}

// ---- words for the stories

static inline int begin(void **state) {
        static uint8_t cluster_id[16] = {7};
        Argosy__PeersFile peers =
                MESSAGE_OF(peers_file, .cluster_id = (ProtobufCBinaryData){sizeof(cluster_id), cluster_id},
                           .generation = 1, .host = 1, .raft_id = 1);
        _cleanup_free_ char *old = NULL;

        log_set_level(LOG_CRIT);
        w = (struct World){};
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(tmpdir_make((void **) &w.dir), 0);
        w.paths.state_dir = w.dir;
        w.d = (Daemon){
                .loop = &w.loop,
                .paths = &w.paths,
                .log_dir = str_printf("%s/log", w.dir),
                .peers = message_copy(&peers),
                .port = 7402,
                .config = {.voters = 3, .name = (char *) "n1"},
        };
        strcpy(w.d.machine_id_hex, "0123456789abcdef0123456789abcdef");
        strcpy(w.d.own.text, "192.0.2.1");
        memset(w.d.identity.pin.bytes, 0x11, HASH_SIZE);
        assert_int_equal(mkdir(w.d.log_dir, 0700), 0);
        old = str_printf("%s/old", w.d.log_dir);
        assert_int_equal(file_replace(AT_FDCWD, old, "x", 1, 0600, 0), 0);
        state_writer_init(&w.d);
        assert_int_equal(drain_init(&w.d.reclaim_drain, &w.loop, daemon_log_on_reclaim, &w.d), 0);
        return drain_init(&w.d.hosts_drain, &w.loop, daemon_log_on_hosts, &w.d);
}

static inline void on_log_closed(Daemon *d) {
        record("log closed");
}

static inline void end_store(void) {
        void (*store_closed)(void *) = TAKE_PTR(w.store_closed), (*leader_closed)(void *);

        assert_non_null(store_closed);
        store_closed(&w.d);
        leader_closed = TAKE_PTR(w.leader_closed);
        assert_non_null(leader_closed);
        leader_closed(&w.d);
}

static inline int end(void **state) {
        _cleanup_free_ char *old = str_printf("%s/old", w.d.log_dir);

        disk_works();
        if (w.d.store) {
                daemon_log_close(&w.d, on_log_closed);
                end_store();
        } else if (w.d.state)
                w.d.state = cluster_state_free(w.d.state);
        argosy__peers_file__free_unpacked(w.d.peers, NULL);
        if (w.batch)
                argosy__log_batch__free_unpacked(w.batch, NULL);
        voter_secrets_done(&w.d.secrets);
        message_free(w.d.voter_order);
        message_free(w.d.voters_said);
        message_free(w.d.voters_named);
        free(w.d.log_unreadable);
        buf_done(&w.recorded);
        (void) unlink(old);
        assert_int_equal(rmdir(w.d.log_dir), 0);
        free(w.d.log_dir);
        assert_int_equal(tmpdir_drop((void **) &w.dir), 0);
        drain_close(&w.d.hosts_drain, NULL);
        drain_close(&w.d.reclaim_drain, NULL);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        return uv_loop_close(&w.loop);
}

// As long as it is not complete it says what was before.
static inline void open_log_of_before(bool bootstrap) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(daemon_log_open(&w.d, bootstrap, &why), 0);
        buf_done(&w.recorded);
}

static inline void open_log(bool bootstrap) {
        open_log_of_before(bootstrap);
        w.ops.complete(&w.d);
}

static inline int apply(const Argosy__LogBatch *batch) {
        uint8_t *bytes = malloc(argosy__log_batch__get_packed_size(batch) + 1);
        size_t len = argosy__log_batch__pack(batch, bytes);
        int r = w.ops.apply(++w.index, bytes, len, &w.d);

        free(bytes);
        return r;
}

// A batch of the test is committed.
static inline void commit(Batch *b) {
        assert_int_equal(apply(&b->log), 0);
        batch_done(b);
}

// And what follows from it in the next turn.
static inline void commit_and_run(Batch *b) {
        commit(b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
}

// What was submitted ends.
static inline void end_batch(StoreOutcome outcome) {
        Argosy__LogBatch *batch = TAKE_PTR(w.batch);

        assert_non_null(batch);
        if (outcome == STORE_COMMITTED)
                assert_int_equal(apply(batch), 0);
        argosy__log_batch__free_unpacked(batch, NULL);
        w.done(outcome, outcome == STORE_COMMITTED ? w.index : 0, &w.d);
}

static inline void become(StoreRole role, uint32_t leader_raft_id, uint64_t term) {
        w.ops.role(role, (StoreLeader){leader_raft_id, term}, &w.d);
}

// A voter of the log, of the host number that comes next.
static inline void add_voter(Batch *b, const char *name, uint32_t raft_id) {
        Argosy__HostRecord *h = batch_host(b, 0, name, 1);

        h->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        h->raft_id = raft_id;
        h->port = 7400 + raft_id;
}

// A cluster of three as its log says it: n1 and n2 vote, n3 does not.
static inline void follow_a_cluster(void) {
        Batch b = {};

        open_log(false);
        batch_cluster(&b, 1);
        add_voter(&b, "n1", 1);
        add_voter(&b, "n2", 2);
        batch_host(&b, 0, "n3", 1);
        commit_and_run(&b);
        disk_works();
        buf_done(&w.recorded);
}

#define LOG_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
