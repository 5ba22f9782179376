// SPDX-License-Identifier: LGPL-2.1-or-later
//
// sim-store.h over the product's own src/store, with libraft and its disk code on the disks of the world
// (sim-raft-uv.c). What voters say to each other are bytes of libraft in sockets of the bridge and frames of
// the network, as ever.
//
//      sim_store_begin     the first voter's log is made by the store itself, gets the first entry, and then
//                          a configuration with all voters;
//                          the others have copies
//      snapshots           are taken after a drawn number of entries, and a drawn number of those before is
//                          kept
//      applied             the store's own note of each batch that it has applied, and what it had just
//                          decoded for that
#include <errno.h>
#include <fcntl.h>
#include <raft.h>
#include <raft/uv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "fileio.h"
#include "raft-store.h"
#include "record.h"
#include "sim-disk.h"
#include "sim-host.h"
#include "sim-store.h"
#include "store.h"
#include "str.h"
#include "transport.h"

int __real_store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret,
                      char **ret_why);
int __wrap_store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret,
                      char **ret_why);
void __real_store_close(Store *s, void (*closed)(void *userdata), void *userdata);
void __wrap_store_close(Store *s, void (*closed)(void *userdata), void *userdata);
int __real_batch_record_decode(const void *record, size_t size, BatchId *ret_id, const uint8_t **ret_data,
                               size_t *ret_len);
int __wrap_batch_record_decode(const void *record, size_t size, BatchId *ret_id, const uint8_t **ret_data,
                               size_t *ret_len);
void __real_raft_store_note_applied(RaftStore *s, BatchId id);
void __wrap_raft_store_note_applied(RaftStore *s, BatchId id);
void __real_raft_set_snapshot_threshold(struct raft *r, unsigned n);
void __wrap_raft_set_snapshot_threshold(struct raft *r, unsigned n);
unsigned __real_trailing_log_entries(const TrailingLog *t);
unsigned __wrap_trailing_log_entries(const TrailingLog *t);

typedef struct Open { // by host
        Store *store;     // NULL: none is
        SimHost *host;
        uint64_t life;    // of the host, in which it was opened
} Open;

static struct {
        Open open[SIM_HOSTS_MAX];
        SimEntry **entries; // by index - 1; NULL: none that is applied
        size_t n_entries, room;
        // entries, at most: the product's own figures are beyond a story's length
        unsigned snapshot_after, trailing;
        const uint8_t *data; // that was decoded last
        size_t len;
        void (*applied)(uint32_t host, uint64_t index);
        char broken[160];
} sim_log;

static void must(bool well, const char *what) {
        if (well)
                return;
        fprintf(stderr, "The log of a world cannot be made: %s\n", what);
        abort();
}

void __wrap_raft_set_snapshot_threshold(struct raft *r, unsigned n) {
        __real_raft_set_snapshot_threshold(r, sim_log.snapshot_after > 0 ? MIN_OF(n, sim_log.snapshot_after)
                                                                         : n);
}

unsigned __wrap_trailing_log_entries(const TrailingLog *t) {
        TrailingLog fewer = {.n = MIN_OF(t->n, sim_log.trailing)};

        return __real_trailing_log_entries(sim_log.trailing > 0 ? &fewer : t);
}

// ------------------------------------------------------------------------------------------ what is applied

int __wrap_batch_record_decode(const void *record, size_t size, BatchId *ret_id, const uint8_t **ret_data,
                               size_t *ret_len) {
        int r = __real_batch_record_decode(record, size, ret_id, ret_data, ret_len);

        if (r == 0) {
                sim_log.data = *ret_data;
                sim_log.len = *ret_len;
        }
        return r;
}

// Of the story's cluster. Outside of all hosts its log is made.
static bool is_of_story(const SimHost *h) {
        return !h || sim_machine(sim_host_number(h))->in_cluster;
}

static void note_entry(uint32_t raft_id, uint64_t index) {
        SimEntry *e;

        if (ARRAY_GROW(sim_log.entries, sim_log.room, index) < 0)
                abort();
        while (sim_log.n_entries < index)
                sim_log.entries[sim_log.n_entries++] = NULL;
        e = sim_log.entries[index - 1];
        if (!e) {
                e = sim_log.entries[index - 1] = malloc(sizeof(*e) + sim_log.len);
                if (!e)
                        abort();
                *e = (SimEntry){.data = (uint8_t *) (e + 1), .len = sim_log.len};
                memcpy(e + 1, sim_log.data, sim_log.len);
        } else if (!*sim_log.broken && (e->len != sim_log.len || memcmp(e->data, sim_log.data, e->len) != 0))
                snprintf(sim_log.broken, sizeof(sim_log.broken), "raft id %u has applied another entry %llu",
                         raft_id, (unsigned long long) index);
}

void __wrap_raft_store_note_applied(RaftStore *s, BatchId id) {
        uint64_t index = raft_last_applied(&s->raft) + 1;
        SimHost *h = sim_current();

        __real_raft_store_note_applied(s, id);
        if (!is_of_story(h))
                return;
        note_entry(s->raft_id, index);
        if (sim_log.applied && h)
                sim_log.applied(sim_host_number(h), index);
}

static RaftStore *open_store(uint32_t host) {
        const Open *o = host < SIM_HOSTS_MAX ? &sim_log.open[host] : NULL;

        return o && o->store && o->life == sim_host_life(o->host) && is_of_story(o->host)
                       ? raft_store(o->store)
                       : NULL;
}

int __wrap_store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret,
                      char **ret_why) {
        int r = __real_store_open(config, ops, userdata, ret, ret_why);

        if (r == 0)
                sim_log.open[sim_host_number(sim_current())] =
                        (Open){*ret, sim_current(), sim_host_life(sim_current())};
        return r;
}

void __wrap_store_close(Store *s, void (*closed)(void *userdata), void *userdata) {
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++)
                if (sim_log.open[i].store == s)
                        sim_log.open[i] = (Open){};
        __real_store_close(s, closed, userdata);
}

uint64_t sim_store_committed(void) {
        return sim_log.n_entries;
}

const SimEntry *sim_store_entry(uint64_t index) {
        static const SimEntry none = {};

        if (index == 0 || index > sim_log.n_entries)
                return NULL;
        return sim_log.entries[index - 1] ?: &none;
}

uint32_t sim_store_leader(void) {
        uint64_t term = 0;
        uint32_t leader = 0;

        for (uint32_t i = 1; i < SIM_HOSTS_MAX; i++) {
                RaftStore *s = open_store(i);

                if (!s || raft_state(&s->raft) != RAFT_LEADER)
                        continue;
                if (raft_current_term(&s->raft) == term)
                        snprintf(sim_log.broken, sizeof(sim_log.broken), "hosts %u and %u lead in term %llu",
                                 leader, i, (unsigned long long) term);
                if (raft_current_term(&s->raft) > term) {
                        term = raft_current_term(&s->raft);
                        leader = i;
                }
        }
        return leader;
}

uint64_t sim_store_applied(uint32_t host) {
        RaftStore *s = open_store(host);

        return s ? raft_last_applied(&s->raft) : 0;
}

uint64_t sim_store_written(uint32_t host) {
        RaftStore *s = open_store(host);

        return s ? MIN_OF(raft_last_applied(&s->raft), s->raft.last_stored) : 0;
}

void sim_store_describe(uint32_t host, char *ret, size_t size) {
        const RaftStore *s = open_store(host);
        size_t len;

        *ret = 0;
        if (!s)
                return;
        len = str_fit(ret, size, "%s as raft id %u in term %llu, has %llu entries, %llu applied; members",
                      raft_state_name(raft_state((struct raft *) &s->raft)), s->raft_id,
                      (unsigned long long) raft_current_term((struct raft *) &s->raft),
                      (unsigned long long) raft_last_index((struct raft *) &s->raft),
                      (unsigned long long) raft_last_applied((struct raft *) &s->raft));
        for (unsigned i = 0; i < s->raft.configuration.n; i++)
                len += str_fit(ret + len, size - len, " %llu%s",
                               (unsigned long long) s->raft.configuration.servers[i].id,
                               s->raft.configuration.servers[i].role == RAFT_VOTER ? "" : " (spare)");
}

void sim_store_on_applied(void (*applied)(uint32_t host, uint64_t index)) {
        sim_log.applied = applied;
}

const char *sim_store_broken(void) {
        return *sim_log.broken ? sim_log.broken : NULL;
}

// -------------------------------------------------------------------------------------------- its beginning

typedef struct Beginning {
        uv_loop_t loop;
        Store *store;
        bool leads, done, closed;
} Beginning;

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        return 0;
}

static int on_restore(const uint8_t *data, size_t len, void *userdata) {
        return 0;
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        ((Beginning *) userdata)->leads = role == STORE_LEADER;
}

static void on_fatal(const char *why, void *userdata) {
        must(false, why);
}

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        ((Beginning *) userdata)->done = outcome == STORE_COMMITTED;
}

static void on_closed(void *userdata) {
        ((Beginning *) userdata)->closed = true;
}

// Work of the pool of a loop of nobody's is the world's.
static void run_until(Beginning *b, const bool *is_so, const char *what) {
        for (unsigned i = 0; i < 10000 && !*is_so; i++) {
                (void) uv_run(&b->loop, UV_RUN_NOWAIT);
                (void) sim_run_for(USEC_PER_MSEC);
        }
        must(*is_so, what);
}

static void write_first_entry(const char *dir, const void *entry, size_t len) {
        static const StoreOps ops = {
                .apply = on_apply, .restore = on_restore, .role = on_role, .fatal = on_fatal};
        _cleanup_free_ char *why = NULL;
        StoreConfig config = {.dir = dir, .raft_id = 1, .bootstrap = true};
        Beginning b = {};

        must(uv_loop_init(&b.loop) == 0, "a loop");
        config.loop = &b.loop;
        must(__real_store_open(&config, &ops, &b, &b.store, &why) == 0, why ?: "open");
        run_until(&b, &b.leads, "nobody leads");
        must(store_submit(b.store, entry, len, on_done, &b) == 0, "submit");
        run_until(&b, &b.done, "no entry");
        __real_store_close(b.store, on_closed, &b);
        run_until(&b, &b.closed, "no end");
        for (unsigned i = 0; i < 10; i++)
                (void) uv_run(&b.loop, UV_RUN_NOWAIT);
        (void) uv_loop_close(&b.loop);
}

static int no_apply(struct raft_fsm *fsm, const struct raft_buffer *buf, void **ret) {
        return 0;
}

static void on_raft_closed(struct raft *r) {
        raft_uv_close(r->io);
}

static void add_voters(const char *dir, size_t n) {
        struct raft_fsm fsm = {.version = 1, .apply = no_apply};
        char address[TRANSPORT_ADDRESS_SIZE];
        struct raft_configuration all;
        struct raft_io io = {};
        struct raft r = {};
        Transport transport;
        uv_loop_t loop;

        must(uv_loop_init(&loop) == 0, "a loop");
        transport_init(&transport, &loop, NULL, NULL);
        must(raft_uv_init(&io, &loop, dir, &transport.uv) == 0, "io");
        transport_address(1, address);
        must(raft_init(&r, &io, &fsm, 1, address) == 0, "raft");
        raft_configuration_init(&all);
        for (uint32_t i = 1; i <= n; i++) {
                transport_address(i, address);
                must(raft_configuration_add(&all, i, address, RAFT_VOTER) == 0, "voter");
        }
        must(raft_recover(&r, &all) == 0, io.errmsg);
        raft_configuration_close(&all);
        raft_close(&r, on_raft_closed);
        (void) uv_run(&loop, UV_RUN_DEFAULT);
        (void) uv_loop_close(&loop);
}

static char *log_of(uint32_t host) {
        char *dir = str_printf("/proc/self/cwd/%u/state/log", host);

        must(dir, "memory");
        return dir;
}

void sim_store_begin(const uint32_t *hosts, size_t n, const void *entry, size_t len) {
        _cleanup_free_ char *first = log_of(hosts[0]);

        memset(&sim_log, 0, sizeof(sim_log));
        write_first_entry(first, entry, len);
        add_voters(first, n);
        sim_log.snapshot_after = (unsigned) draw_log(sim_draw(), 2, 2000);
        sim_log.trailing = (unsigned) draw_log(sim_draw(), 1, 200);
        for (size_t i = 1; i < n; i++) {
                _cleanup_free_ char *dir = log_of(hosts[i]);

                must(mkdir(dir, 0700) == 0 && dir_copy_files(AT_FDCWD, first, dir) == 0, dir);
        }
        sim_watch_kernel();
        // a log in which a failed sync has left holes is damaged for good, and nobody here removes a voter
        // and lets it join again
        sim_disk_forgive();
}

void sim_store_keep(unsigned snapshot_after, unsigned trailing) {
        sim_log.snapshot_after = snapshot_after;
        sim_log.trailing = trailing;
}

void sim_store_end(void) {
        for (size_t i = 0; i < sim_log.n_entries; i++)
                free(sim_log.entries[i]);
        free(sim_log.entries);
        memset(&sim_log, 0, sizeof(sim_log));
}
