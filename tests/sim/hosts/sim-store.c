// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-store.h. Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), with PreVote and the check of a quorum
// of Ongaro's thesis (9.6, 6.2).
//
//      submit -> log of the leader -> APPEND -> most disks have it -> committed -> apply -> done
//
// Nothing is called back from inside a call: what follows from one is an event of its host.
#include "sim-store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "macro.h"
#include "sim-net.h"
#include "store.h"

enum { VOTERS_MAX = 7, APPEND_MAX = 64 };

typedef struct Disk { // of a voter
        uint32_t raft_id, host;
        uint64_t term;
        uint32_t vote; // in that term; 0: none
        SimEntry **log;
        uint64_t n, room;
        Store *store; // that is open on it
} Disk;

typedef struct Pending {
        uint64_t index, term;
        bool barrier;
        uint64_t begun_us;
        StoreDone done;
        void *userdata;
} Pending;

struct Store {
        Disk *disk;
        SimHost *host;
        const StoreOps *ops;
        void *userdata;
        uint64_t election_us, heartbeat_us;
        bool closing;
        StoreRole role;
        StoreRole told_role;
        StoreLeader told;
        uint32_t leader;
        bool pre_voting, ready; // ready: all that was committed before its term is applied
        uint64_t commit, applied, first_commit;
        bool heard_commit, complete;
        uint64_t heard_us; // from a leader
        uint64_t deadline_us; // of the follower's or candidate's patience
        uint32_t votes; // bits
        uint64_t next[VOTERS_MAX], match[VOTERS_MAX], acked_us[VOTERS_MAX], answered_us[VOTERS_MAX];
        uint64_t noop; // index of the first entry of its own term
        bool asked_in_vain, transferring;
        uint32_t transfer_to;
        StoreMemberDone transfer_done;
        void *transfer_data;
        Pending pending[STORE_PENDING_MAX];
        size_t n_pending;
        bool told_once;
};

typedef enum MessageKind { ASK_VOTE, VOTE, APPEND, APPENDED, TIMEOUT_NOW } MessageKind;

typedef struct Message {
        MessageKind kind;
        Disk *from, *to;
        uint64_t term, sent_us;
        bool pre, granted, forced;
        uint64_t last, last_term;    // ASK_VOTE
        uint64_t prev, prev_term, commit;
        uint64_t match;              // APPENDED: up to where; or where to try again
        size_t n;
        SimEntry *entries[APPEND_MAX];
} Message;

static struct {
        Disk disks[VOTERS_MAX];
        size_t n_disks;
        SimEntry **all;
        size_t n_all, room;
        SimEntry **committed;
        uint64_t n_committed, committed_room;
        uint64_t leader_term;
        uint32_t leader;
        void (*applied)(uint32_t raft_id, uint64_t index);
        char broken[160];
} store;

// ------------------------------------------------------------------------------------------------ entries

static SimEntry *entry_new(uint64_t term, const void *data, size_t len) {
        SimEntry *e = calloc(1, sizeof(*e) + len);

        if (!e)
                abort();
        *e = (SimEntry){.term = term, .data = data ? (uint8_t *) (e + 1) : NULL, .len = len};
        if (data)
                memcpy(e + 1, data, len);
        if (store.n_all == store.room) {
                store.room = MAX_OF(2 * store.room, (size_t) 256);
                store.all = realloc(store.all, store.room * sizeof(*store.all));
                if (!store.all)
                        abort();
        }
        store.all[store.n_all++] = e;
        return e;
}

static void append(SimEntry ***log, uint64_t *n, uint64_t *room, SimEntry *e) {
        if (*n == *room) {
                *room = MAX_OF(2 * *room, (uint64_t) 256);
                *log = realloc(*log, *room * sizeof(**log));
                if (!*log)
                        abort();
        }
        (*log)[(*n)++] = e;
}

static void disk_append(Disk *d, SimEntry *e) {
        append(&d->log, &d->n, &d->room, e);
}

static uint64_t term_at(const Disk *d, uint64_t index) {
        return index == 0 || index > d->n ? 0 : d->log[index - 1]->term;
}

void sim_store_begin(const uint32_t *hosts, size_t n, const void *entry, size_t len) {
        SimEntry *first;

        memset(&store, 0, sizeof(store));
        if (n == 0 || n > VOTERS_MAX)
                abort();
        first = entry_new(1, entry, len);
        for (size_t i = 0; i < n; i++) {
                store.disks[i] = (Disk){.raft_id = (uint32_t) i + 1, .host = hosts[i], .term = 1};
                disk_append(&store.disks[i], first);
        }
        store.n_disks = n;
        append(&store.committed, &store.n_committed, &store.committed_room, first);
}

void sim_store_end(void) {
        for (size_t i = 0; i < store.n_disks; i++)
                free(store.disks[i].log);
        for (size_t i = 0; i < store.n_all; i++)
                free(store.all[i]);
        free(store.all);
        free(store.committed);
        memset(&store, 0, sizeof(store));
}

uint64_t sim_store_committed(void) {
        return store.n_committed;
}

const SimEntry *sim_store_entry(uint64_t index) {
        return index == 0 || index > store.n_committed ? NULL : store.committed[index - 1];
}

uint32_t sim_store_leader(void) {
        return store.leader;
}

static const Disk *disk_of(uint32_t raft_id) {
        return raft_id > 0 && raft_id <= store.n_disks ? &store.disks[raft_id - 1] : NULL;
}

static bool is_open(const Disk *d) {
        return d->store && !d->store->closing && sim_host(d->host) && sim_host_is_up(sim_host(d->host));
}

uint64_t sim_store_applied(uint32_t raft_id) {
        const Disk *d = disk_of(raft_id);

        return d && is_open(d) ? d->store->applied : 0;
}

void sim_store_on_applied(void (*applied)(uint32_t raft_id, uint64_t index)) {
        store.applied = applied;
}

const char *sim_store_broken(void) {
        return *store.broken ? store.broken : NULL;
}

static void note_committed(const Store *s) {
        for (uint64_t i = 1; i <= s->commit; i++) {
                if (i > store.n_committed)
                        append(&store.committed, &store.n_committed, &store.committed_room, s->disk->log[i - 1]);
                else if (store.committed[i - 1] != s->disk->log[i - 1] && !*store.broken)
                        snprintf(store.broken, sizeof(store.broken), "raft id %u has committed another entry %llu", s->disk->raft_id,
                                 (unsigned long long) i);
        }
}

// ------------------------------------------------------------------------------------------------ messages

static void receive(Store *s, Message *m);

static void on_received(void *data) {
        Message *m = data;

        if (m->to->store && !m->to->store->closing)
                receive(m->to->store, m);
        free(m);
}

// From the world: whoever is up then, by the ways as they are then.
static void on_arrived(void *data) {
        Message *m = data;
        SimHost *from = sim_host(m->from->host), *to = sim_host(m->to->host);
        SimWay way = sim_net_way(from, to);

        if (way.cut || way.clogged || !is_open(m->to))
                free(m);
        else
                sim_at(sim_now_us(), to, on_received, m);
}

static void post(Store *s, Disk *to, Message m) {
        Message *copy = malloc(sizeof(*copy));
        SimWay way = sim_net_way(s->host, sim_host(to->host));

        if (!copy)
                abort();
        *copy = m;
        copy->from = s->disk;
        copy->to = to;
        if (copy->term == 0)
                copy->term = s->disk->term;
        sim_at(sim_now_us() + draw_log(sim_draw(), way.delay_min_us, way.delay_max_us), NULL, on_arrived, copy);
}

static void post_all(Store *s, Message m) {
        for (size_t i = 0; i < store.n_disks; i++)
                if (&store.disks[i] != s->disk)
                        post(s, &store.disks[i], m);
}

static size_t majority(void) {
        return store.n_disks / 2 + 1;
}

static size_t index_of(const Disk *d) {
        return (size_t) (d - store.disks);
}

// ------------------------------------------------------------------------------------------------ roles

static void be_patient(Store *s) {
        s->deadline_us = sim_now_us() + s->election_us + draw_below(sim_draw(), (unsigned) s->election_us);
}

static bool has_news(const Store *s) {
        StoreRole role = s->role == STORE_LEADER && !s->ready ? STORE_CANDIDATE : s->role;

        return !s->told_once || role != s->told_role || s->leader != s->told.raft_id || s->disk->term != s->told.term;
}

static void tell_role(void *data) {
        Store *s = data;

        if (s->closing || !has_news(s))
                return;
        s->told_once = true;
        s->told_role = s->role == STORE_LEADER && !s->ready ? STORE_CANDIDATE : s->role;
        s->told = (StoreLeader){.raft_id = s->told_role == STORE_CANDIDATE ? 0 : s->leader, .term = s->disk->term};
        if (s->told_role == STORE_CANDIDATE)
                s->told.raft_id = s->leader; // so that it is no news again
        s->ops->role(s->told_role, (StoreLeader){.raft_id = s->told_role == STORE_CANDIDATE ? 0 : s->leader, .term = s->disk->term}, s->userdata);
}

static void note_role(Store *s) {
        if (has_news(s))
                sim_at(sim_now_us(), s->host, tell_role, s);
}

static void answer(Store *s, size_t i, StoreOutcome outcome) {
        Pending p = s->pending[i];

        s->n_pending--;
        memmove(&s->pending[i], &s->pending[i + 1], (s->n_pending - i) * sizeof(*s->pending));
        p.done(outcome, outcome == STORE_COMMITTED ? p.index : 0, p.userdata);
}

static void answer_unknown(void *data) {
        Store *s = data;

        while (s->n_pending > 0 && (s->role != STORE_LEADER || s->closing || s->pending[0].term != s->disk->term))
                answer(s, 0, STORE_UNKNOWN);
}

static void end_transfer(Store *s, int error) {
        StoreMemberDone done = s->transfer_done;

        s->transferring = false;
        s->transfer_done = NULL;
        if (done)
                done(error, s->transfer_data);
}

static void follow_up_transfer(void *data) {
        Store *s = data;

        if (s->transfer_done && s->role != STORE_LEADER)
                end_transfer(s, 0);
}

static void step_down(Store *s, uint64_t term, uint32_t leader) {
        bool led = s->role == STORE_LEADER;

        if (term > s->disk->term) {
                s->disk->term = term;
                s->disk->vote = 0;
        }
        if (led && store.leader == s->disk->raft_id)
                store.leader = 0;
        s->role = STORE_FOLLOWER;
        s->ready = s->pre_voting = false;
        s->leader = leader;
        be_patient(s);
        note_role(s);
        if (led) {
                sim_at(sim_now_us(), s->host, answer_unknown, s);
                sim_at(sim_now_us(), s->host, follow_up_transfer, s);
        }
}

static void note_complete(Store *s) {
        if (s->complete || !s->heard_commit || s->applied < s->first_commit)
                return;
        s->complete = true;
        if (s->ops->complete)
                s->ops->complete(s->userdata);
}

// What is committed is applied, and whoever waits for it hears of that. In an event of the host.
static void apply_more(void *data) {
        Store *s = data;

        while (s->applied < s->commit && !s->closing) {
                uint64_t index = ++s->applied;
                const SimEntry *e = s->disk->log[index - 1];

                if (e->data && s->ops->apply(index, e->data, e->len, s->userdata) < 0) {
                        snprintf(store.broken, sizeof(store.broken), "raft id %u cannot apply entry %llu", s->disk->raft_id,
                                 (unsigned long long) index);
                        return;
                }
                if (store.applied)
                        store.applied(s->disk->raft_id, index);
                for (size_t i = 0; i < s->n_pending; i++)
                        if (s->pending[i].index == index && s->pending[i].term == e->term) {
                                answer(s, i, STORE_COMMITTED);
                                break;
                        }
        }
        note_complete(s);
        if (s->role == STORE_LEADER && !s->ready && s->applied >= s->noop) {
                s->heard_commit = true;
                s->first_commit = 0;
                note_complete(s);
                s->ready = true;
                note_role(s);
        }
}

static void set_commit(Store *s, uint64_t commit) {
        if (commit <= s->commit)
                return;
        s->commit = commit;
        note_committed(s);
        sim_at(sim_now_us(), s->host, apply_more, s);
}

// ------------------------------------------------------------------------------------------------ the leader

static void send_append(Store *s, size_t i) {
        Message m = {.kind = APPEND, .sent_us = sim_now_us(), .prev = s->next[i] - 1, .commit = s->commit};

        m.prev_term = term_at(s->disk, m.prev);
        while (m.n < APPEND_MAX && m.prev + m.n < s->disk->n) {
                m.entries[m.n] = s->disk->log[m.prev + m.n];
                m.n++;
        }
        post(s, &store.disks[i], m);
}

static void send_appends(Store *s) {
        for (size_t i = 0; i < store.n_disks; i++)
                if (&store.disks[i] != s->disk)
                        send_append(s, i);
}

static int newer_first(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? 1 : x > y ? -1 : 0;
}

// What most of them have, or were heard at.
static uint64_t of_most(const Store *s, const uint64_t *values, uint64_t own) {
        uint64_t sorted[VOTERS_MAX];

        for (size_t i = 0; i < store.n_disks; i++)
                sorted[i] = i == index_of(s->disk) ? own : values[i];
        qsort(sorted, store.n_disks, sizeof(*sorted), newer_first);
        return sorted[majority() - 1];
}

static void advance_commit(Store *s) {
        uint64_t most = of_most(s, s->match, s->disk->n);

        if (term_at(s->disk, most) == s->disk->term)
                set_commit(s, most);
}

static void lead(Store *s) {
        s->role = STORE_LEADER;
        s->leader = s->disk->raft_id;
        s->ready = s->pre_voting = false;
        if (store.leader_term >= s->disk->term)
                snprintf(store.broken, sizeof(store.broken), "two leaders in term %llu", (unsigned long long) s->disk->term);
        store.leader_term = s->disk->term;
        store.leader = s->disk->raft_id;
        for (size_t i = 0; i < store.n_disks; i++) {
                s->next[i] = s->disk->n + 1;
                s->match[i] = s->acked_us[i] = s->answered_us[i] = 0;
        }
        for (size_t i = 0; i < store.n_disks; i++)
                s->answered_us[i] = sim_now_us();
        disk_append(s->disk, entry_new(s->disk->term, NULL, 0));
        s->noop = s->disk->n;
        send_appends(s);
        advance_commit(s);
        note_role(s);
}

// ------------------------------------------------------------------------------------------------ elections

static void ask_votes(Store *s, bool pre, bool forced) {
        Message m = {.kind = ASK_VOTE,
                     .term = s->disk->term + pre,
                     .pre = pre,
                     .forced = forced,
                     .last = s->disk->n,
                     .last_term = term_at(s->disk, s->disk->n)};

        s->votes = 1U << index_of(s->disk);
        post_all(s, m);
}

static void stand(Store *s, bool forced) {
        s->role = STORE_CANDIDATE;
        s->pre_voting = false;
        s->leader = 0;
        s->disk->term++;
        s->disk->vote = s->disk->raft_id;
        be_patient(s);
        ask_votes(s, false, forced);
        if (majority() == 1)
                lead(s);
        else
                note_role(s);
}

static void begin_election(Store *s) {
        s->leader = 0;
        s->pre_voting = true;
        be_patient(s);
        note_role(s);
        if (majority() == 1)
                stand(s, false);
        else
                ask_votes(s, true, false);
}

static void on_ask_vote(Store *s, const Message *m) {
        Disk *d = s->disk;
        bool newer = m->last_term > term_at(d, d->n) || (m->last_term == term_at(d, d->n) && m->last >= d->n);
        bool loyal = !m->forced && (s->role == STORE_LEADER || sim_now_us() < s->heard_us + s->election_us);
        Message reply = {.kind = VOTE, .pre = m->pre, .term = m->term};

        if (loyal)
                return;
        if (m->pre)
                reply.granted = newer && m->term > d->term;
        else {
                if (m->term > d->term)
                        step_down(s, m->term, 0);
                reply.granted = newer && m->term == d->term && (d->vote == 0 || d->vote == m->from->raft_id);
                if (reply.granted) {
                        d->vote = m->from->raft_id;
                        be_patient(s);
                }
                reply.term = d->term;
        }
        post(s, m->from, reply);
}

static void on_vote(Store *s, const Message *m) {
        if (m->pre ? !s->pre_voting || m->term != s->disk->term + 1 : s->role != STORE_CANDIDATE || m->term != s->disk->term) {
                if (!m->pre && m->term > s->disk->term)
                        step_down(s, m->term, 0);
                return;
        }
        if (!m->granted)
                return;
        s->votes |= 1U << index_of(m->from);
        if ((size_t) __builtin_popcount(s->votes) < majority())
                return;
        if (m->pre)
                stand(s, false);
        else
                lead(s);
}

// ------------------------------------------------------------------------------------------------ the follower

static bool take_entries(Store *s, const Message *m) {
        Disk *d = s->disk;

        if (m->prev > d->n || term_at(d, m->prev) != m->prev_term)
                return false;
        for (size_t i = 0; i < m->n; i++) {
                uint64_t index = m->prev + i + 1;

                if (index <= d->n && d->log[index - 1] == m->entries[i])
                        continue;
                if (index <= s->commit && !*store.broken)
                        snprintf(store.broken, sizeof(store.broken), "raft id %u is to forget entry %llu, which is committed", d->raft_id,
                                 (unsigned long long) index);
                d->n = index - 1;
                disk_append(d, m->entries[i]);
        }
        return true;
}

static void on_append(Store *s, const Message *m) {
        Message reply = {.kind = APPENDED, .sent_us = m->sent_us};

        if (m->term >= s->disk->term) {
                if (m->term > s->disk->term || s->role != STORE_FOLLOWER || s->leader != m->from->raft_id)
                        step_down(s, m->term, m->from->raft_id);
                s->pre_voting = false;
                s->heard_us = sim_now_us();
                be_patient(s);
                if (!s->heard_commit) {
                        s->heard_commit = true;
                        s->first_commit = m->commit;
                }
                reply.granted = take_entries(s, m);
                reply.match = reply.granted ? m->prev + m->n : MIN_OF(s->disk->n, m->prev - 1);
                if (reply.granted)
                        set_commit(s, MIN_OF(m->commit, reply.match));
                sim_at(sim_now_us(), s->host, apply_more, s); // it may be complete
        }
        reply.term = s->disk->term;
        post(s, m->from, reply);
}

static void on_appended(Store *s, const Message *m) {
        size_t i = index_of(m->from);

        if (m->term > s->disk->term) {
                step_down(s, m->term, 0);
                return;
        }
        if (s->role != STORE_LEADER || m->term != s->disk->term)
                return;
        s->answered_us[i] = sim_now_us();
        s->acked_us[i] = MAX_OF(s->acked_us[i], m->sent_us);
        if (!m->granted) {
                s->next[i] = MAX_OF(m->match, s->match[i]) + 1;
                send_append(s, i);
                return;
        }
        s->match[i] = MAX_OF(s->match[i], m->match);
        s->next[i] = MAX_OF(s->next[i], s->match[i] + 1);
        advance_commit(s);
        if (s->match[i] < s->disk->n && m->match == s->match[i] && s->disk->n - s->match[i] > APPEND_MAX / 2)
                send_append(s, i);
        if (s->asked_in_vain && store_authority_until(s) > clock_boot_us()) {
                s->asked_in_vain = false;
                if (s->ops->authority)
                        s->ops->authority(s->userdata);
        }
        if (s->transferring && s->transfer_to == m->from->raft_id && s->match[i] == s->disk->n)
                post(s, m->from, (Message){.kind = TIMEOUT_NOW});
}

static void receive(Store *s, Message *m) {
        switch (m->kind) {
        case ASK_VOTE:
                on_ask_vote(s, m);
                break;
        case VOTE:
                on_vote(s, m);
                break;
        case APPEND:
                on_append(s, m);
                break;
        case APPENDED:
                on_appended(s, m);
                break;
        case TIMEOUT_NOW:
                if (m->term == s->disk->term && s->role == STORE_FOLLOWER)
                        stand(s, true);
                break;
        }
}

// ------------------------------------------------------------------------------------------------ time

static void on_tick(void *data) {
        Store *s = data;

        if (s->closing)
                return;
        if (s->role == STORE_LEADER) {
                if (sim_now_us() > of_most(s, s->answered_us, sim_now_us()) + s->election_us)
                        step_down(s, s->disk->term, 0);
                else
                        send_appends(s);
        } else if (sim_now_us() >= s->deadline_us)
                begin_election(s);
        sim_at(sim_now_us() + s->heartbeat_us, s->host, on_tick, s);
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
        be_patient(s);
        sim_at(sim_now_us(), s->host, tell_role, s);
        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) s->heartbeat_us), s->host, on_tick, s);
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

        answer_unknown(c->store);
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
        if (store.leader == s->disk->raft_id)
                store.leader = 0;
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
        disk_append(s->disk, entry_new(s->disk->term, data, len));
        s->pending[s->n_pending++] = (Pending){.index = s->disk->n, .term = s->disk->term, .done = done, .userdata = userdata};
        send_appends(s);
        advance_commit(s);
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
        if (store.n_disks == 1)
                return UINT64_MAX;
        until_us = of_most(s, s->acked_us, UINT64_MAX);
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
        for (size_t i = 0; raft_id == 0 && i < store.n_disks; i++)
                if (&store.disks[i] != s->disk && s->match[i] == s->disk->n)
                        raft_id = store.disks[i].raft_id;
        if (raft_id == s->disk->raft_id || !disk_of(raft_id))
                return -ENOENT;
        s->transferring = true;
        s->transfer_to = raft_id;
        s->transfer_done = done;
        s->transfer_data = userdata;
        send_append(s, index_of(disk_of(raft_id)));
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
                .n_members = store.n_disks,
                .n_pending = s->n_pending,
        };
        for (size_t i = 0; i < store.n_disks; i++) {
                bool own = i == index_of(s->disk), leads = s->role == STORE_LEADER;
                uint64_t silent_us = own ? 0 : sim_now_us() - s->answered_us[i];

                ret->members[i] = (StoreMember){
                        .raft_id = store.disks[i].raft_id,
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
