// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-store.h: what is on the disks of a world, and what store.h asks of a voter. How voters agree is in sim-raft.c.
//
//      submit -> log of the leader -> APPEND -> most disks have it -> committed -> apply -> done
//
// Nothing is called back from inside a call: what follows from one is an event of its host.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "macro.h"
#include "sim-store-private.h"

SimStore sim_store;

// ------------------------------------------------------------------------------------------------ entries

static void append(SimEntry ***list, size_t *n, size_t *room, SimEntry *e) {
        if (ARRAY_GROW(*list, *room, *n + 1) < 0)
                abort();
        (*list)[(*n)++] = e;
}

SimEntry *sim_entry_new(uint64_t term, const void *data, size_t len) {
        SimEntry *e = calloc(1, sizeof(*e) + len);

        if (!e)
                abort();
        *e = (SimEntry){.term = term, .data = data ? (uint8_t *) (e + 1) : NULL, .len = len};
        if (data)
                memcpy(e + 1, data, len);
        append(&sim_store.all, &sim_store.n_all, &sim_store.room, e);
        return e;
}

void sim_disk_append(Disk *d, SimEntry *e) {
        append(&d->log, &d->n, &d->room, e);
}

uint64_t sim_disk_term_at(const Disk *d, uint64_t index) {
        return index == 0 || index > d->n ? 0 : d->log[index - 1]->term;
}

void sim_store_begin(const uint32_t *hosts, size_t n, const void *entry, size_t len) {
        SimEntry *first;

        memset(&sim_store, 0, sizeof(sim_store));
        if (n == 0 || n > VOTERS_MAX)
                abort();
        first = sim_entry_new(1, entry, len);
        for (size_t i = 0; i < n; i++) {
                sim_store.disks[i] = (Disk){.raft_id = (uint32_t) i + 1, .host = hosts[i], .term = 1};
                sim_disk_append(&sim_store.disks[i], first);
        }
        sim_store.n_disks = n;
        append(&sim_store.committed, &sim_store.n_committed, &sim_store.committed_room, first);
}

void sim_store_end(void) {
        for (size_t i = 0; i < sim_store.n_disks; i++)
                free(sim_store.disks[i].log);
        for (size_t i = 0; i < sim_store.n_all; i++)
                free(sim_store.all[i]);
        free(sim_store.all);
        free(sim_store.committed);
        memset(&sim_store, 0, sizeof(sim_store));
}

uint64_t sim_store_committed(void) {
        return sim_store.n_committed;
}

const SimEntry *sim_store_entry(uint64_t index) {
        return index == 0 || index > sim_store.n_committed ? NULL : sim_store.committed[index - 1];
}

uint32_t sim_store_leader(void) {
        return sim_store.leader;
}

static const Disk *disk_of(uint32_t raft_id) {
        return raft_id > 0 && raft_id <= sim_store.n_disks ? &sim_store.disks[raft_id - 1] : NULL;
}

bool sim_disk_is_open(const Disk *d) {
        return d->store && !d->store->closing && sim_host(d->host) && sim_host_is_up(sim_host(d->host));
}

uint64_t sim_store_applied(uint32_t raft_id) {
        const Disk *d = disk_of(raft_id);

        return d && sim_disk_is_open(d) ? d->store->applied : 0;
}

void sim_store_on_applied(void (*applied)(uint32_t raft_id, uint64_t index)) {
        sim_store.applied = applied;
}

const char *sim_store_broken(void) {
        return *sim_store.broken ? sim_store.broken : NULL;
}

void sim_store_note_committed(const Store *s, uint64_t before) {
        for (uint64_t i = before + 1; i <= s->commit; i++) {
                if (i > sim_store.n_committed)
                        append(&sim_store.committed, &sim_store.n_committed, &sim_store.committed_room, s->disk->log[i - 1]);
                else if (sim_store.committed[i - 1] != s->disk->log[i - 1] && !*sim_store.broken)
                        snprintf(sim_store.broken, sizeof(sim_store.broken), "raft id %u has committed another entry %llu", s->disk->raft_id,
                                 (unsigned long long) i);
        }
}

size_t sim_disk_index(const Disk *d) {
        return (size_t) (d - sim_store.disks);
}

// ------------------------------------------------------------------------------------------------ who waits

void sim_store_answer(Store *s, size_t i, StoreOutcome outcome) {
        Pending p = s->pending[i];

        s->n_pending--;
        memmove(&s->pending[i], &s->pending[i + 1], (s->n_pending - i) * sizeof(*s->pending));
        p.done(outcome, outcome == STORE_COMMITTED ? p.index : 0, p.userdata);
}

void sim_store_answer_unknown(void *data) {
        Store *s = data;

        while (s->n_pending > 0 && (s->role != STORE_LEADER || s->closing || s->pending[0].term != s->disk->term))
                sim_store_answer(s, 0, STORE_UNKNOWN);
}

static void end_transfer(Store *s, int error) {
        StoreMemberDone done = s->transfer_done;

        s->transferring = false;
        s->transfer_done = NULL;
        if (done)
                done(error, s->transfer_data);
}

void sim_store_follow_up_transfer(void *data) {
        Store *s = data;

        if (s->transfer_done && s->role != STORE_LEADER)
                end_transfer(s, 0);
}

// ------------------------------------------------------------------------------------------------ store.h

int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why) {
        Disk *d = (Disk *) disk_of(config->raft_id);
        Store *s = calloc(1, sizeof(*s));

        if (!s || !d)
                abort();
        *s = (Store){
                .disk = d,
                .host = sim_host_of_loop(config->loop),
                .ops = ops,
                .userdata = userdata,
                .election_us = (config->election_ms ?: 600) * USEC_PER_MSEC,
                .heartbeat_us = (config->heartbeat_ms ?: 200) * USEC_PER_MSEC,
                .heard_us = sim_now_us(), // what it has heard before it does not know, and a leader counts on that
        };
        d->store = s;
        sim_raft_begin(s);
        *ret = s;
        return 0;
}

typedef struct Closing {
        Store *store;
        void (*closed)(void *userdata);
        void *userdata;
} Closing;

static void on_closing(void *data) {
        Closing *c = data;

        sim_store_answer_unknown(c->store);
        if (c->store->transfer_done)
                end_transfer(c->store, -ECANCELED);
        if (c->closed)
                c->closed(c->userdata);
        free(c); // the store itself is what events still point to
}

void store_close(Store *s, void (*closed)(void *userdata), void *userdata) {
        Closing *c = malloc(sizeof(*c));

        if (!c)
                abort();
        *c = (Closing){s, closed, userdata};
        s->closing = true;
        if (sim_store.leader == s->disk->raft_id)
                sim_store.leader = 0;
        if (s->disk->store == s)
                s->disk->store = NULL;
        sim_at(sim_now_us(), s->host, on_closing, c);
}

void store_accept(Store *s, struct Stream *stream, uint32_t raft_id) {
        abort(); // what voters say to each other does not come this way
}

void store_recheck(Store *s) {
}

static int propose(Store *s, const void *data, size_t len, StoreDone done, void *userdata) {
        if (s->closing)
                return -ESHUTDOWN;
        if (s->role != STORE_LEADER || !s->ready || s->transferring)
                return -EAGAIN;
        if (s->n_pending == STORE_PENDING_MAX)
                return -EBUSY;
        sim_disk_append(s->disk, sim_entry_new(s->disk->term, data, len));
        s->pending[s->n_pending++] = (Pending){.index = s->disk->n, .term = s->disk->term, .done = done, .userdata = userdata};
        sim_raft_go_on(s);
        return 0;
}

int store_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata) {
        if (len == 0)
                return -EINVAL;
        return len > STORE_BATCH_MAX ? -E2BIG : propose(s, data, len, done, userdata);
}

int store_barrier(Store *s, StoreDone done, void *userdata) {
        return propose(s, NULL, 0, done, userdata);
}

uint64_t store_authority_until(Store *s) {
        uint64_t until_us, now_us = clock_boot_us();

        if (s->role != STORE_LEADER || s->transferring || s->closing)
                return 0;
        if (sim_store.n_disks == 1)
                return UINT64_MAX;
        until_us = sim_raft_of_most(s, s->acked_us, UINT64_MAX);
        until_us = until_us == 0 ? 0 : until_us + s->election_us + now_us - sim_now_us();
        s->asked_in_vain |= until_us <= now_us;
        return until_us;
}

int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        return -EBUSY;
}

int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        return -EBUSY;
}

static void on_transfer_over(void *data) {
        Store *s = data;

        if (s->transfer_done)
                end_transfer(s, s->role == STORE_LEADER ? -ETIMEDOUT : 0);
}

int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        if (s->closing)
                return -ESHUTDOWN;
        if (s->role != STORE_LEADER || !s->ready)
                return -EAGAIN;
        if (s->transfer_done)
                return -EBUSY;
        for (size_t i = 0; raft_id == 0 && i < sim_store.n_disks; i++)
                if (&sim_store.disks[i] != s->disk && s->match[i] == s->disk->n)
                        raft_id = sim_store.disks[i].raft_id;
        if (raft_id == s->disk->raft_id || !disk_of(raft_id))
                return -ENOENT;
        s->transferring = true;
        s->transfer_to = raft_id;
        s->transfer_done = done;
        s->transfer_data = userdata;
        sim_raft_send(s, sim_disk_index(disk_of(raft_id)));
        sim_at(sim_now_us() + s->election_us, s->host, on_transfer_over, s);
        return 0;
}

void store_stats(const Store *s, StoreStats *ret) {
        *ret = (StoreStats){
                .role = s->told_role,
                .term = s->disk->term,
                .last_index = s->disk->n,
                .commit_index = s->commit,
                .applied_index = s->applied,
                .leader_raft_id = s->leader,
                .n_members = sim_store.n_disks,
                .n_pending = s->n_pending,
        };
        for (size_t i = 0; i < sim_store.n_disks; i++) {
                bool own = i == sim_disk_index(s->disk), leads = s->role == STORE_LEADER;
                uint64_t silent_us = own ? 0 : sim_now_us() - s->answered_us[i];

                ret->members[i] = (StoreMember){
                        .raft_id = sim_store.disks[i].raft_id,
                        .voter = true,
                        .match_index = !leads ? 0 : own ? s->disk->n : s->match[i],
                        .silent_ms = silent_us / 1000,
                        .answers = leads && silent_us < s->election_us,
                        .caught_up = leads && (own || s->match[i] + APPEND_MAX >= s->commit),
                };
        }
}

StoreFigures store_figures(const StoreStats *stats) {
        return (StoreFigures){
                .log_entries = stats->last_index,
                .log_entries_applied = stats->applied_index,
                .log_pending = stats->n_pending,
        };
}

int store_recover(const char *dir, uint32_t raft_id, char **ret_why) {
        return -ENODATA;
}

int store_make(const char *dir, uint32_t raft_id, char **ret_why) {
        return -ENOTSUP;
}

// A voter's log is never lost here; that of a host that never voted is none.
bool store_exists(const char *dir) {
        return disk_of(1) != NULL;
}
