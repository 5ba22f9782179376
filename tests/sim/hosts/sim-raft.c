// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the voters of sim-store.h agree: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), with PreVote and the check
// of a quorum of Ongaro's thesis (9.6, 6.2). Messages go over the ways between hosts (sim-net.h), with delays that are drawn.
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "macro.h"
#include "sim-net.h"
#include "sim-store-private.h"

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

        if (way.cut || way.clogged || !sim_disk_is_open(m->to))
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
        for (size_t i = 0; i < sim_store.n_disks; i++)
                if (&sim_store.disks[i] != s->disk)
                        post(s, &sim_store.disks[i], m);
}

static size_t majority(void) {
        return sim_store.n_disks / 2 + 1;
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
        return !s->told_once || shown_role(s) != s->told_role || s->leader != s->told_leader || s->disk->term != s->told_term;
}

static void tell_role(void *data) {
        Store *s = data;

        if (s->closing || !has_news(s))
                return;
        s->told_once = true;
        s->told_role = shown_role(s);
        s->told_leader = s->leader;
        s->told_term = s->disk->term;
        s->ops->role(s->told_role, (StoreLeader){.raft_id = s->told_role == STORE_CANDIDATE ? 0 : s->leader, .term = s->told_term}, s->userdata);
}

static void note_role(Store *s) {
        if (has_news(s))
                sim_at(sim_now_us(), s->host, tell_role, s);
}

static void step_down(Store *s, uint64_t term, uint32_t leader) {
        bool led = s->role == STORE_LEADER;

        if (term > s->disk->term) {
                s->disk->term = term;
                s->disk->vote = 0;
        }
        if (led && sim_store.leader == s->disk->raft_id)
                sim_store.leader = 0;
        s->role = STORE_FOLLOWER;
        s->ready = s->pre_voting = false;
        s->leader = leader;
        be_patient(s);
        note_role(s);
        if (led) {
                sim_at(sim_now_us(), s->host, sim_store_answer_unknown, s);
                sim_at(sim_now_us(), s->host, sim_store_follow_up_transfer, s);
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
                        snprintf(sim_store.broken, sizeof(sim_store.broken), "raft id %u cannot apply entry %llu", s->disk->raft_id,
                                 (unsigned long long) index);
                        return;
                }
                if (sim_store.applied)
                        sim_store.applied(s->disk->raft_id, index);
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
}

static void set_commit(Store *s, uint64_t commit) {
        uint64_t before = s->commit;

        if (commit <= before)
                return;
        s->commit = commit;
        sim_store_note_committed(s, before);
        sim_at(sim_now_us(), s->host, apply_more, s);
}

// ------------------------------------------------------------------------------------------------ the leader

void sim_raft_send(Store *s, size_t i) {
        Message m = {.kind = APPEND, .sent_us = sim_now_us(), .prev = s->next[i] - 1, .commit = s->commit};

        m.prev_term = sim_disk_term_at(s->disk, m.prev);
        while (m.n < APPEND_MAX && m.prev + m.n < s->disk->n) {
                m.entries[m.n] = s->disk->log[m.prev + m.n];
                m.n++;
        }
        post(s, &sim_store.disks[i], m);
}

static void send_appends(Store *s) {
        for (size_t i = 0; i < sim_store.n_disks; i++)
                if (&sim_store.disks[i] != s->disk)
                        sim_raft_send(s, i);
}

static int newer_first(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? 1 : x > y ? -1 : 0;
}

// What most of them have, or were heard at.
uint64_t sim_raft_of_most(const Store *s, const uint64_t *values, uint64_t own) {
        uint64_t sorted[VOTERS_MAX];

        for (size_t i = 0; i < sim_store.n_disks; i++)
                sorted[i] = i == sim_disk_index(s->disk) ? own : values[i];
        qsort(sorted, sim_store.n_disks, sizeof(*sorted), newer_first);
        return sorted[majority() - 1];
}

static void advance_commit(Store *s) {
        uint64_t most = sim_raft_of_most(s, s->match, s->disk->n);

        if (sim_disk_term_at(s->disk, most) == s->disk->term)
                set_commit(s, most);
}

static void lead(Store *s) {
        s->role = STORE_LEADER;
        s->leader = s->disk->raft_id;
        s->ready = s->pre_voting = false;
        if (sim_store.leader_term >= s->disk->term)
                snprintf(sim_store.broken, sizeof(sim_store.broken), "two leaders in term %llu", (unsigned long long) s->disk->term);
        sim_store.leader_term = s->disk->term;
        sim_store.leader = s->disk->raft_id;
        for (size_t i = 0; i < sim_store.n_disks; i++) {
                s->next[i] = s->disk->n + 1;
                s->match[i] = s->acked_us[i] = 0;
                s->answered_us[i] = sim_now_us();
        }
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

        s->votes = 1U << sim_disk_index(s->disk);
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
        bool newer = m->last_term > sim_disk_term_at(d, d->n) || (m->last_term == sim_disk_term_at(d, d->n) && m->last >= d->n);
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
        s->votes |= 1U << sim_disk_index(m->from);
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

        if (m->prev > d->n || sim_disk_term_at(d, m->prev) != m->prev_term)
                return false;
        for (size_t i = 0; i < m->n; i++) {
                uint64_t index = m->prev + i + 1;

                if (index <= d->n && d->log[index - 1] == m->entries[i])
                        continue;
                if (index <= s->commit && !*sim_store.broken)
                        snprintf(sim_store.broken, sizeof(sim_store.broken), "raft id %u is to forget entry %llu, which is committed", d->raft_id,
                                 (unsigned long long) index);
                d->n = index - 1;
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
        size_t i = sim_disk_index(m->from);

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
                sim_raft_send(s, i);
                return;
        }
        s->match[i] = MAX_OF(s->match[i], m->match);
        s->next[i] = MAX_OF(s->next[i], s->match[i] + 1);
        advance_commit(s);
        if (s->match[i] < s->disk->n && m->match == s->match[i] && s->disk->n - s->match[i] > APPEND_MAX / 2)
                sim_raft_send(s, i);
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
                if (sim_now_us() > sim_raft_of_most(s, s->answered_us, sim_now_us()) + s->election_us)
                        step_down(s, s->disk->term, 0);
                else
                        send_appends(s);
        } else if (sim_now_us() >= s->deadline_us)
                begin_election(s);
        sim_at(sim_now_us() + s->heartbeat_us, s->host, on_tick, s);
}

// ------------------------------------------------------------------------------------------------ what its store asks

void sim_raft_begin(Store *s) {
        be_patient(s);
        sim_at(sim_now_us(), s->host, tell_role, s);
        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) s->heartbeat_us), s->host, on_tick, s);
}

void sim_raft_go_on(Store *s) {
        send_appends(s);
        advance_commit(s);
}
