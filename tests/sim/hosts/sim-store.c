// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-store.h: what is on the disks of a world, and what store.h asks of a voter. How voters agree is in
// sim-raft.c.
//
//      submit -> log of the leader -> APPEND -> most disks have it -> committed -> apply -> done
//
// Nothing is called back from inside a call: what follows from one is an event of its host.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "clock.h"
#include "fileio.h"
#include "macro.h"
#include "sim-store-private.h"
#include "str.h"

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

SimEntry *sim_entry_new_config(uint64_t term, const SimConfig *config) {
        SimEntry *e = sim_entry_new(term, config, sizeof(*config));

        e->config = (const SimConfig *) e->data;
        e->data = NULL; // it is nothing to those who apply
        return e;
}

static void find_config(Disk *d) {
        d->config = &d->first;
        for (size_t i = d->n; i > 0 && d->config == &d->first; i--)
                if (d->log[i - 1]->config)
                        d->config = d->log[i - 1]->config;
}

void sim_disk_append(Disk *d, SimEntry *e) {
        append(&d->log, &d->n, &d->room, e);
        if (e->config)
                d->config = e->config;
}

void sim_disk_cut_log(Disk *d, uint64_t n) {
        d->n = n;
        find_config(d);
}

uint64_t sim_disk_term_at(const Disk *d, uint64_t index) {
        return index == 0 || index > d->n ? 0 : d->log[index - 1]->term;
}

bool sim_config_has(const SimConfig *c, uint32_t raft_id, bool *ret_voter) {
        for (size_t i = 0; i < c->n; i++) {
                if (c->members[i].raft_id != raft_id)
                        continue;
                if (ret_voter)
                        *ret_voter = c->members[i].voter;
                return true;
        }
        return false;
}

// ------------------------------------------------------------------------------------------------ logs

static Cluster *cluster_new(void) {
        Cluster *c = calloc(1, sizeof(*c));

        if (!c)
                abort();
        return c;
}

static Disk *disk_new(uint32_t raft_id, uint32_t host) {
        Disk *d = calloc(1, sizeof(*d));

        if (!d || ARRAY_GROW(sim_store.disks, sim_store.disks_room, sim_store.n_disks + 1) < 0)
                abort();
        *d = (Disk){.raft_id = raft_id, .host = host};
        d->config = &d->first;
        sim_store.disks[sim_store.n_disks++] = d;
        return d;
}

static char *name_file(const char *dir) {
        char *file = str_printf("%s/memory-log", dir);

        if (!file)
                abort();
        return file;
}

// The directory has that log, which is the newest one.
static int put_name(const char *dir) {
        _cleanup_free_ char *file = name_file(dir);
        char text[16];
        int len = snprintf(text, sizeof(text), "%zu", sim_store.n_disks);

        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                return -errno;
        return file_replace(AT_FDCWD, file, text, (size_t) len, 0600, FILE_SYNC);
}

static int parent_sync(const char *dir) {
        _cleanup_free_ char *parent = strdup(dir);

        if (!parent || !strrchr(parent, '/'))
                abort();
        *strrchr(parent, '/') = 0; // a path that goes up is none that a disk knows
        return dir_sync(AT_FDCWD, parent);
}

// NULL: the directory has no log.
static Disk *find_log(const char *dir) {
        _cleanup_free_ char *file = name_file(dir);
        _cleanup_buf_ Buf text = {};
        size_t number = 0;

        if (file_read(AT_FDCWD, file, 15, &text) < 0 || buf_append(&text, "", 1) < 0)
                return NULL;
        number = strtoul((const char *) text.data, NULL, 10);
        return number > 0 && number <= sim_store.n_disks ? sim_store.disks[number - 1] : NULL;
}

static void begin_log(Disk *d, size_t n, SimEntry *first) {
        _cleanup_free_ char *dir = str_printf("/proc/self/cwd/%u/state/log", d->host);

        if (!dir || put_name(dir) < 0)
                abort();
        for (uint32_t i = 1; i <= n; i++) {
                d->first.members[i - 1].raft_id = i;
                d->first.members[i - 1].voter = true;
        }
        d->first.n = n;
        d->cluster = sim_store.story;
        d->term = 1;
        sim_disk_append(d, first);
}

void sim_store_begin(const uint32_t *hosts, size_t n, const void *entry, size_t len) {
        SimEntry *first;

        memset(&sim_store, 0, sizeof(sim_store));
        if (n == 0 || n > STORE_MEMBERS_MAX)
                abort();
        sim_store.story = cluster_new();
        first = sim_entry_new(1, entry, len);
        for (size_t i = 0; i < n; i++)
                begin_log(disk_new((uint32_t) i + 1, hosts[i]), n, first);
        append(&sim_store.story->committed, &sim_store.story->n, &sim_store.story->room, first);
}

static void cluster_free(Cluster *c) {
        for (size_t i = 0; c && i < sim_store.n_disks; i++)
                if (sim_store.disks[i]->cluster == c)
                        sim_store.disks[i]->cluster = NULL;
        if (c)
                free(c->committed);
        free(c);
}

void sim_store_keep(unsigned snapshot_after, unsigned trailing) {
        // all entries are kept
}

void sim_store_end(void) {
        for (size_t i = 0; i < sim_store.n_disks; i++)
                cluster_free(sim_store.disks[i]->cluster);
        for (size_t i = 0; i < sim_store.n_disks; i++) {
                free(sim_store.disks[i]->log);
                free(sim_store.disks[i]);
        }
        for (size_t i = 0; i < sim_store.n_all; i++)
                free(sim_store.all[i]);
        free(sim_store.all);
        free(sim_store.disks);
        memset(&sim_store, 0, sizeof(sim_store));
}

uint64_t sim_store_committed(void) {
        return sim_store.story->n;
}

const SimEntry *sim_store_entry(uint64_t index) {
        return index == 0 || index > sim_store.story->n ? NULL : sim_store.story->committed[index - 1];
}

uint32_t sim_store_leader(void) {
        return sim_store.story->leader;
}

bool sim_disk_is_open(const Disk *d) {
        return d->store && !d->store->closing && sim_host_life(d->store->host) == d->store->life &&
               sim_host_is_up(d->store->host);
}

uint64_t sim_store_applied(uint32_t host) {
        const Disk *d = host < SIM_HOSTS_MAX ? sim_store.of_host[host] : NULL;

        return d && d->cluster == sim_store.story && sim_disk_is_open(d) ? d->store->applied : 0;
}

// A host applies what its own disk has.
uint64_t sim_store_written(uint32_t host) {
        return sim_store_applied(host);
}

void sim_store_describe(uint32_t host, char *ret, size_t size) {
        static const char *const roles[] = {"follows", "stands", "leads"};
        const Disk *d = host < SIM_HOSTS_MAX ? sim_store.of_host[host] : NULL;
        size_t len;

        *ret = 0;
        if (!d || !sim_disk_is_open(d))
                return;
        len = str_fit(
                ret, size,
                "%s as raft id %u in term %llu, has %zu entries, %llu committed, %llu applied; members",
                roles[d->store->role], d->raft_id, (unsigned long long) d->term, d->n,
                (unsigned long long) d->store->commit, (unsigned long long) d->store->applied);
        for (size_t i = 0; i < d->config->n; i++)
                len += str_fit(ret + len, size - len, " %u%s", d->config->members[i].raft_id,
                               d->config->members[i].voter ? "" : " (spare)");
}

void sim_store_on_applied(void (*applied)(uint32_t host, uint64_t index)) {
        sim_store.applied = applied;
}

const char *sim_store_broken(void) {
        return *sim_store.broken ? sim_store.broken : NULL;
}

void sim_store_broke(const char *format, ...) {
        va_list ap;

        if (*sim_store.broken)
                return;
        va_start(ap, format);
        vsnprintf(sim_store.broken, sizeof(sim_store.broken), format, ap);
        va_end(ap);
}

void sim_store_note_committed(const Store *s, uint64_t before) {
        Cluster *c = s->disk->cluster;

        for (uint64_t i = before + 1; i <= s->commit; i++) {
                if (i > c->n)
                        append(&c->committed, &c->n, &c->room, s->disk->log[i - 1]);
                else if (c->committed[i - 1] != s->disk->log[i - 1])
                        sim_store_broke("raft id %u has committed another entry %llu", s->disk->raft_id,
                                        (unsigned long long) i);
        }
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

        while (s->n_pending > 0 &&
               (s->role != STORE_LEADER || s->closing || s->pending[0].term != s->disk->term))
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

void sim_store_end_change(Store *s, int error) {
        Change c = s->change;

        s->change = (Change){};
        if (c.kind != CHANGE_NONE)
                c.done(error, c.userdata);
}

void sim_store_follow_up_change(void *data) {
        Store *s = data;

        if (s->role != STORE_LEADER)
                sim_store_end_change(s, -EAGAIN);
}

// ------------------------------------------------------------------------------------------------ store.h

// A cluster of one host begins.
static int begin_alone(const StoreConfig *config, uint32_t host, Disk **ret) {
        Disk *d = disk_new(config->raft_id, host);
        int r;

        d->first.n = 1;
        d->first.members[0].raft_id = config->raft_id;
        d->first.members[0].voter = true;
        d->cluster = cluster_new();
        r = put_name(config->dir);
        if (r >= 0)
                r = parent_sync(config->dir);
        *ret = d;
        return r;
}

int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why) {
        SimHost *host = sim_host_of_loop(config->loop);
        Disk *d = find_log(config->dir);
        Store *s;
        int r = d ? 0 : config->bootstrap ? begin_alone(config, sim_host_number(host), &d) : -EBADMSG;

        if (r < 0) {
                *ret_why = str_printf("the log in %s cannot be opened: %s", config->dir, strerror(-r));
                return r;
        }
        s = calloc(1, sizeof(*s));
        if (!s || d->raft_id != config->raft_id)
                abort();
        *s = (Store){
                .disk = d,
                .host = host,
                .life = sim_host_life(host),
                .ops = ops,
                .userdata = userdata,
                .election_us = (config->election_ms ?: 600) * USEC_PER_MSEC,
                .heartbeat_us = (config->heartbeat_ms ?: 200) * USEC_PER_MSEC,
                // what it has heard before it does not know, and a leader counts on that
                .heard_us = sim_now_us(),
        };
        d->store = s;
        sim_store.of_host[sim_host_number(host)] = d;
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
        sim_store_end_change(c->store, -ECANCELED);
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
        if (s->disk->cluster && s->disk->cluster->leader == s->disk->host)
                s->disk->cluster->leader = 0;
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
        s->pending[s->n_pending++] =
                (Pending){.index = s->disk->n, .term = s->disk->term, .done = done, .userdata = userdata};
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

static size_t count_voters(const SimConfig *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                n += c->members[i].voter;
        return n;
}

uint64_t store_authority_until(Store *s) {
        uint64_t until_us, now_us = clock_boot_us();

        if (s->role != STORE_LEADER || s->transferring || s->closing)
                return 0;
        if (count_voters(s->disk->config) == 1)
                return UINT64_MAX;
        until_us = SIM_RAFT_OF_MOST(s, acked_us, UINT64_MAX);
        until_us = until_us == 0 ? 0 : until_us + s->election_us + now_us - sim_now_us();
        s->asked_in_vain |= until_us <= now_us;
        return until_us;
}

// ------------------------------------------------------------------------------------------------ members

enum { CATCH_UP_SEC = 10 };

static void put_config(Store *s, const SimConfig *next) {
        sim_disk_append(s->disk, sim_entry_new_config(s->disk->term, next));
        s->change.index = s->disk->n;
        sim_raft_go_on(s);
}

// Members are in the order of their ids.
static void put_member(Store *s, uint32_t raft_id, bool voter) {
        SimConfig next = *s->disk->config;
        size_t at = 0;

        while (at < next.n && next.members[at].raft_id < raft_id)
                at++;
        if (at == next.n || next.members[at].raft_id != raft_id) {
                memmove(&next.members[at + 1], &next.members[at], (next.n - at) * sizeof(*next.members));
                next.n++;
        }
        next.members[at].raft_id = raft_id;
        next.members[at].voter = voter;
        put_config(s, &next);
}

static void drop_member(Store *s, uint32_t raft_id) {
        SimConfig next = {};

        for (size_t i = 0; i < s->disk->config->n; i++)
                if (s->disk->config->members[i].raft_id != raft_id)
                        next.members[next.n++] = s->disk->config->members[i];
        put_config(s, &next);
}

static void catch_up(Store *s) {
        const Peer *p = sim_raft_peer(s, s->change.raft_id);

        if (sim_now_us() > s->change.until_us)
                sim_store_end_change(s, -ETIMEDOUT);
        else if (p->match >= s->commit)
                put_member(s, s->change.raft_id, true);
}

void sim_store_go_on_with_change(Store *s) {
        Change *c = &s->change;
        bool voter = false;

        if (c->kind == CHANGE_NONE || s->role != STORE_LEADER || c->index > s->commit)
                return;
        (void) sim_config_has(s->disk->config, c->raft_id, &voter);
        if (c->kind == CHANGE_ADD && !voter) {
                c->index = 0;
                catch_up(s);
        } else
                sim_store_end_change(s, 0);
}

static int may_change(const Store *s) {
        if (s->closing)
                return -ESHUTDOWN;
        if (s->role != STORE_LEADER || !s->ready || s->transferring)
                return -EAGAIN;
        return s->change.kind == CHANGE_NONE ? 0 : -EBUSY;
}

int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        int r = may_change(s);
        bool voter = false, known = sim_config_has(s->disk->config, raft_id, &voter);

        if (r < 0)
                return r;
        if (voter)
                return -EEXIST;
        if (!known && s->disk->config->n == STORE_MEMBERS_MAX)
                return -ENOSPC;
        s->change = (Change){.kind = CHANGE_ADD,
                             .raft_id = raft_id,
                             .until_us = sim_now_us() + CATCH_UP_SEC * USEC_PER_SEC,
                             .done = done,
                             .userdata = userdata};
        if (!known)
                put_member(s, raft_id, false);
        return 0;
}

int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        int r = may_change(s);
        bool voter = false;

        if (r < 0)
                return r;
        if (!sim_config_has(s->disk->config, raft_id, &voter))
                return -ENOENT;
        if (voter && count_voters(s->disk->config) == 1)
                return -EPERM;
        s->change = (Change){.kind = CHANGE_REMOVE, .raft_id = raft_id, .done = done, .userdata = userdata};
        drop_member(s, raft_id);
        return 0;
}

static void on_transfer_over(void *data) {
        Store *s = data;

        if (s->transfer_done)
                end_transfer(s, s->role == STORE_LEADER ? -ETIMEDOUT : 0);
}

int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        const SimConfig *c = s->disk->config;
        bool voter = false;

        if (s->closing)
                return -ESHUTDOWN;
        if (s->role != STORE_LEADER || !s->ready)
                return -EAGAIN;
        if (s->transfer_done)
                return -EBUSY;
        for (size_t i = 0; raft_id == 0 && i < c->n; i++)
                if (c->members[i].voter && c->members[i].raft_id != s->disk->raft_id &&
                    sim_raft_peer(s, c->members[i].raft_id)->match == s->disk->n)
                        raft_id = c->members[i].raft_id;
        if (raft_id == s->disk->raft_id || !sim_config_has(c, raft_id, &voter) || !voter)
                return -ENOENT;
        s->transferring = true;
        s->transfer_to = raft_id;
        s->transfer_done = done;
        s->transfer_data = userdata;
        sim_raft_send(s, raft_id);
        sim_at(sim_now_us() + s->election_us, s->host, on_transfer_over, s);
        return 0;
}

static StoreMember member_of(const Store *s, uint32_t raft_id, bool voter) {
        bool own = raft_id == s->disk->raft_id, leads = s->role == STORE_LEADER;
        const Peer *p = own ? NULL : sim_raft_peer((Store *) s, raft_id);
        uint64_t silent_us = own ? 0 : sim_now_us() - p->answered_us;

        return (StoreMember){
                .raft_id = raft_id,
                .voter = voter,
                .match_index = !leads ? 0 : own ? s->disk->n : p->match,
                .silent_ms = silent_us / 1000,
                .answers = leads && silent_us < s->election_us,
                .caught_up = leads && (own || p->match + APPEND_MAX >= s->commit),
        };
}

void store_stats(const Store *s, StoreStats *ret) {
        const SimConfig *c = s->disk->config;

        *ret = (StoreStats){
                .role = s->reported_role,
                .term = s->disk->term,
                .last_index = s->disk->n,
                .commit_index = s->commit,
                .applied_index = s->applied,
                .leader_raft_id = s->leader,
                .n_members = c->n,
                .n_pending = s->n_pending,
        };
        for (size_t i = 0; i < c->n; i++)
                ret->members[i] = member_of(s, c->members[i].raft_id, c->members[i].voter);
}

StoreFigures store_figures(const StoreStats *stats) {
        return (StoreFigures){
                .log_entries = stats->last_index,
                .log_entries_applied = stats->applied_index,
                .log_pending = stats->n_pending,
        };
}

// What the log has is all that the new cluster begins with, and this host alone votes in it.
int store_recover(const char *dir, uint32_t raft_id, char **ret_why) {
        Disk *d, *from = find_log(dir);
        SimConfig alone = {.n = 1};

        if (!from || from->n == 0)
                return -ENODATA;
        alone.members[0].raft_id = raft_id;
        alone.members[0].voter = true;
        d = disk_new(raft_id, from->host);
        d->cluster = from->cluster; // what most voters had committed stays so, if this one has all of it
        d->first = from->first;
        d->term = from->term;
        d->vote = from->vote;
        for (size_t i = 0; i < from->n; i++)
                sim_disk_append(d, from->log[i]);
        sim_disk_append(d, sim_entry_new_config(sim_disk_term_at(from, from->n), &alone));
        return put_name(dir);
}

int store_make(const char *dir, uint32_t raft_id, char **ret_why) {
        int r;

        (void) disk_new(raft_id, sim_host_number(sim_current()));
        r = put_name(dir);
        return r < 0 ? r : parent_sync(dir);
}

bool store_exists(const char *dir) {
        return find_log(dir) != NULL;
}
