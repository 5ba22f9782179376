// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the voters of sim-store.h agree: Ongaro and Ousterhout, "In Search of an Understandable Consensus
// Algorithm" (2014), with PreVote and the check of a quorum of Ongaro's thesis (9.6, 6.2), and members that
// change one at a time (4.1). Messages go over the ways between hosts (sim-net.h), with delays that are
// drawn.
#include <stddef.h>
#include <stdlib.h>

#include "clock.h"
#include "macro.h"
#include "sim-host.h"
#include "sim-net.h"
#include "sim-store-private.h"
#include "stream.h"

typedef enum MessageKind { ASK_VOTE, VOTE, APPEND, APPENDED, TIMEOUT_NOW } MessageKind;

typedef struct Message {
        MessageKind kind;
        Disk *from, *to;
        Hash pin; // of the host that sends it
        uint64_t term, sent_us;
        bool pre, granted, forced;
        uint64_t last, last_term;    // ASK_VOTE
        uint64_t prev, prev_term, commit;
        uint64_t match;              // APPENDED: up to where; or where to try again
        size_t n;
        SimEntry *entries[APPEND_MAX];
} Message;

// ------------------------------------------------------------------------------------------------ messages

static void receive(Store *s, Message *m);

static void on_received(void *data) {
        Message *m = data;

        if (m->to->store && !m->to->store->closing)
                receive(m->to->store, m);
        free(m);
}

// From the world: whoever is up then, by the ways as they are then; whom its host does not know as a voter
// it does not hear.
static void on_arrived(void *data) {
        Message *m = data;
        SimHost *from = sim_host(m->from->host), *to = sim_host(m->to->host);
        SimWay way = sim_net_way(from, to);

        if (way.cut || way.clogged || !*sim_net_address(from) || !*sim_net_address(to) ||
            !sim_disk_is_open(m->to) || !sim_machine_knows_voter(sim_machine(m->to->host), &m->pin))
                free(m);
        else
                sim_at(sim_now_us(), to, on_received, m);
}

// The log of that id, where the host of `s` says that it is; NULL: it does not know, or there is another
// one.
static Disk *find_disk(Store *s, uint32_t raft_id) {
        char address[STREAM_ADDRESS_SIZE];
        uint16_t port;
        SimHost *host;
        Disk *d;
        Hash pin;

        if (!s->ops->resolve(raft_id, address, sizeof(address), &port, &pin, s->userdata))
                return NULL;
        host = sim_net_find(address);
        d = host ? sim_store.of_host[sim_host_number(host)] : NULL;
        return d && d->raft_id == raft_id && hash_equal(&sim_machine(d->host)->pin, &pin) ? d : NULL;
}

static void post(Store *s, Disk *to, Message m) {
        Message *copy = malloc(sizeof(*copy));
        SimWay way = sim_net_way(s->host, sim_host(to->host));

        if (!copy)
                abort();
        *copy = m;
        copy->from = s->disk;
        copy->to = to;
        copy->pin = sim_machine(s->disk->host)->pin;
        if (copy->term == 0)
                copy->term = s->disk->term;
        sim_at(sim_now_us() + draw_log(sim_draw(), way.delay_min_us, way.delay_max_us), NULL, on_arrived,
               copy);
}

static void post_to(Store *s, uint32_t raft_id, Message m) {
        Disk *to = find_disk(s, raft_id);

        if (to)
                post(s, to, m);
}

static void post_voters(Store *s, Message m) {
        const SimConfig *c = s->disk->config;

        for (size_t i = 0; i < c->n; i++)
                if (c->members[i].voter && c->members[i].raft_id != s->disk->raft_id)
                        post_to(s, c->members[i].raft_id, m);
}

static size_t majority(const Store *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->disk->config->n; i++)
                n += s->disk->config->members[i].voter;
        return n / 2 + 1;
}

static bool votes(const Store *s) {
        bool voter = false;

        return sim_config_has(s->disk->config, s->disk->raft_id, &voter) && voter;
}

Peer *sim_raft_peer(Store *s, uint32_t raft_id) {
        Peer *p = NULL;

        for (size_t i = 0; i < s->n_peers; i++)
                if (s->peers[i].raft_id == raft_id)
                        return &s->peers[i];
        if (s->n_peers < STORE_MEMBERS_MAX)
                p = &s->peers[s->n_peers++];
        for (size_t i = 0; i < s->n_peers && !p; i++)
                if (!sim_config_has(s->disk->config, s->peers[i].raft_id, NULL))
                        p = &s->peers[i];
        if (!p)
                abort();
        *p = (Peer){.raft_id = raft_id,
                    .next = s->disk->n + 1,
                    .answered_us = s->role == STORE_LEADER ? sim_now_us() : 0};
        return p;
}

// ------------------------------------------------------------------------------------------------ roles

static void be_patient(Store *s) {
        s->deadline_us = sim_now_us() + s->election_us + draw_below(sim_draw(), (unsigned) s->election_us);
}

// As its host sees it: a leader that has not applied what was committed before its term is none yet.
static StoreRole shown_role(const Store *s) {
        return s->role == STORE_LEADER && !s->ready ? STORE_CANDIDATE : s->role;
}

static bool has_news(const Store *s) {
        return !s->reported_once || shown_role(s) != s->reported_role || s->leader != s->reported_leader ||
               s->disk->term != s->reported_term;
}

static void tell_role(void *data) {
        Store *s = data;

        if (s->closing || !has_news(s))
                return;
        s->reported_once = true;
        s->reported_role = shown_role(s);
        s->reported_leader = s->leader;
        s->reported_term = s->disk->term;
        s->ops->role(s->reported_role,
                     (StoreLeader){.raft_id = s->reported_role == STORE_CANDIDATE ? 0 : s->leader,
                                   .term = s->reported_term},
                     s->userdata);
}

static void note_role(Store *s) {
        if (has_news(s))
                sim_at(sim_now_us(), s->host, tell_role, s);
}

static void step_down(Store *s, uint64_t term, uint32_t leader) {
        bool led = s->role == STORE_LEADER;
        Cluster *cluster = s->disk->cluster;

        if (term > s->disk->term) {
                s->disk->term = term;
                s->disk->vote = 0;
        }
        if (led && cluster->leader == s->disk->host)
                cluster->leader = 0;
        s->role = STORE_FOLLOWER;
        s->ready = s->pre_voting = false;
        s->leader = leader;
        be_patient(s);
        note_role(s);
        if (led) {
                sim_at(sim_now_us(), s->host, sim_store_answer_unknown, s);
                sim_at(sim_now_us(), s->host, sim_store_follow_up_transfer, s);
                if (s->change.kind != CHANGE_NONE)
                        sim_at(sim_now_us(), s->host, sim_store_follow_up_change, s);
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
                        sim_store_broke("raft id %u cannot apply entry %llu", s->disk->raft_id,
                                        (unsigned long long) index);
                        return;
                }
                if (sim_store.applied && s->disk->cluster == sim_store.story)
                        sim_store.applied(s->disk->host, index);
                for (size_t i = 0; i < s->n_pending; i++)
                        if (s->pending[i].index == index && s->pending[i].term == e->term) {
                                sim_store_answer(s, i, STORE_COMMITTED);
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
        sim_store_go_on_with_change(s);
}

static void set_commit(Store *s, uint64_t commit) {
        uint64_t before = s->commit;

        if (commit <= before)
                return;
        s->commit = commit;
        sim_store_note_committed(s, before);
        sim_at(sim_now_us(), s->host, apply_more, s);
}

// ----------------------------------------------------------------------------------------------- the leader

void sim_raft_send(Store *s, uint32_t raft_id) {
        const Peer *p = sim_raft_peer(s, raft_id);
        Message m = {.kind = APPEND, .sent_us = sim_now_us(), .prev = p->next - 1, .commit = s->commit};

        m.prev_term = sim_disk_term_at(s->disk, m.prev);
        while (m.n < APPEND_MAX && m.prev + m.n < s->disk->n) {
                m.entries[m.n] = s->disk->log[m.prev + m.n];
                m.n++;
        }
        post_to(s, raft_id, m);
}

static void send_appends(Store *s) {
        const SimConfig *c = s->disk->config;

        for (size_t i = 0; i < c->n; i++)
                if (c->members[i].raft_id != s->disk->raft_id)
                        sim_raft_send(s, c->members[i].raft_id);
}

static int newer_first(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? 1 : x > y ? -1 : 0;
}

// What most of them have, or were heard at.
uint64_t sim_raft_of_most(const Store *s, size_t offset, uint64_t own) {
        const SimConfig *c = s->disk->config;
        uint64_t sorted[STORE_MEMBERS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++) {
                const Peer *p = c->members[i].raft_id == s->disk->raft_id
                                        ? NULL
                                        : sim_raft_peer((Store *) s, c->members[i].raft_id);

                if (c->members[i].voter)
                        sorted[n++] = p ? *(const uint64_t *) ((const char *) p + offset) : own;
        }
        qsort(sorted, n, sizeof(*sorted), newer_first);
        return sorted[majority(s) - 1];
}

static void advance_commit(Store *s) {
        uint64_t most = SIM_RAFT_OF_MOST(s, match, s->disk->n);

        if (sim_disk_term_at(s->disk, most) == s->disk->term)
                set_commit(s, most);
}

static void lead(Store *s) {
        Cluster *cluster = s->disk->cluster;

        s->role = STORE_LEADER;
        s->leader = s->disk->raft_id;
        s->ready = s->pre_voting = false;
        if (cluster->leader_term >= s->disk->term)
                sim_store_broke("two leaders in term %llu", (unsigned long long) s->disk->term);
        cluster->leader_term = s->disk->term;
        cluster->leader = s->disk->host;
        for (size_t i = 0; i < s->n_peers; i++)
                s->peers[i] = (Peer){
                        .raft_id = s->peers[i].raft_id, .next = s->disk->n + 1, .answered_us = sim_now_us()};
        sim_disk_append(s->disk, sim_entry_new(s->disk->term, NULL, 0));
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
                     .last_term = sim_disk_term_at(s->disk, s->disk->n)};

        for (size_t i = 0; i < s->n_peers; i++)
                s->peers[i].voted = false;
        post_voters(s, m);
}

static void stand(Store *s, bool forced) {
        s->role = STORE_CANDIDATE;
        s->pre_voting = false;
        s->leader = 0;
        s->disk->term++;
        s->disk->vote = s->disk->raft_id;
        be_patient(s);
        ask_votes(s, false, forced);
        if (majority(s) == 1)
                lead(s);
        else
                note_role(s);
}

static void begin_election(Store *s) {
        s->leader = 0;
        s->pre_voting = votes(s);
        be_patient(s);
        note_role(s);
        if (!votes(s))
                return;
        if (majority(s) == 1)
                stand(s, false);
        else
                ask_votes(s, true, false);
}

static void on_ask_vote(Store *s, const Message *m) {
        Disk *d = s->disk;
        bool newer = m->last_term > sim_disk_term_at(d, d->n) ||
                     (m->last_term == sim_disk_term_at(d, d->n) && m->last >= d->n);
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

static size_t count_votes(const Store *s) {
        const SimConfig *c = s->disk->config;
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                n += c->members[i].voter && (c->members[i].raft_id == s->disk->raft_id ||
                                             sim_raft_peer((Store *) s, c->members[i].raft_id)->voted);
        return n;
}

static void on_vote(Store *s, const Message *m) {
        if (m->pre ? !s->pre_voting || m->term != s->disk->term + 1
                   : s->role != STORE_CANDIDATE || m->term != s->disk->term) {
                if (!m->pre && m->term > s->disk->term)
                        step_down(s, m->term, 0);
                return;
        }
        if (!m->granted)
                return;
        sim_raft_peer(s, m->from->raft_id)->voted = true;
        if (count_votes(s) < majority(s))
                return;
        if (m->pre)
                stand(s, false);
        else
                lead(s);
}

// --------------------------------------------------------------------------------------------- the follower

static bool take_entries(Store *s, const Message *m) {
        Disk *d = s->disk;

        if (m->prev > d->n || sim_disk_term_at(d, m->prev) != m->prev_term)
                return false;
        if (!d->cluster)
                d->cluster = m->from->cluster;
        for (size_t i = 0; i < m->n; i++) {
                uint64_t index = m->prev + i + 1;

                if (index <= d->n && d->log[index - 1] == m->entries[i])
                        continue;
                if (index <= s->commit)
                        sim_store_broke("raft id %u is to forget entry %llu, which is committed", d->raft_id,
                                        (unsigned long long) index);
                if (index <= d->n)
                        sim_disk_cut_log(d, index - 1);
                sim_disk_append(d, m->entries[i]);
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
        Peer *p;

        if (m->term > s->disk->term) {
                step_down(s, m->term, 0);
                return;
        }
        if (s->role != STORE_LEADER || m->term != s->disk->term ||
            !sim_config_has(s->disk->config, m->from->raft_id, NULL))
                return;
        p = sim_raft_peer(s, m->from->raft_id);
        p->answered_us = sim_now_us();
        p->acked_us = MAX_OF(p->acked_us, m->sent_us);
        if (!m->granted) {
                p->next = MAX_OF(m->match, p->match) + 1;
                sim_raft_send(s, p->raft_id);
                return;
        }
        p->match = MAX_OF(p->match, m->match);
        p->next = MAX_OF(p->next, p->match + 1);
        advance_commit(s);
        if (p->match < s->disk->n && m->match == p->match && s->disk->n - p->match > APPEND_MAX / 2)
                sim_raft_send(s, p->raft_id);
        if (s->asked_in_vain && store_authority_until(s) > clock_boot_us()) {
                s->asked_in_vain = false;
                if (s->ops->authority)
                        s->ops->authority(s->userdata);
        }
        if (s->transferring && s->transfer_to == m->from->raft_id && p->match == s->disk->n)
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
                if (m->term == s->disk->term && s->role == STORE_FOLLOWER && votes(s))
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
                if (sim_now_us() > SIM_RAFT_OF_MOST(s, answered_us, sim_now_us()) + s->election_us)
                        step_down(s, s->disk->term, 0);
                else {
                        send_appends(s);
                        sim_store_go_on_with_change(s);
                }
        } else if (sim_now_us() >= s->deadline_us)
                begin_election(s);
        sim_at(sim_now_us() + s->heartbeat_us, s->host, on_tick, s);
}

// -------------------------------------------------------------------------------------- what its store asks

void sim_raft_begin(Store *s) {
        be_patient(s);
        sim_at(sim_now_us(), s->host, tell_role, s);
        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) s->heartbeat_us), s->host, on_tick, s);
}

void sim_raft_go_on(Store *s) {
        send_appends(s);
        advance_commit(s);
}
