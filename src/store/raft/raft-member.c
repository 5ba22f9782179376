// SPDX-License-Identifier: LGPL-2.1-or-later

// The servers of the log. One change at a time, by the leader: a new server is added as a spare (no part
// in any majority), then promoted, which libraft does only when it has caught up. A removed leader steps
// down when its removal is committed.

#include <errno.h>
#include <stdlib.h>

#include "raft-store.h"

enum { RECEIVED_RECENTLY_MS = 2000, REFRESH_MS = 1000 };

typedef struct MemberChange {
        RaftStore *owner;
        uint32_t raft_id;
        bool promoting; // second step of an addition
        StoreMemberDone done;
        void *userdata;
        union {
                struct raft_change change;
                struct raft_transfer transfer;
        };
} MemberChange;

struct raft_server *raft_member_find(const RaftStore *s, raft_id id) {
        for (unsigned i = 0; i < s->raft.configuration.n; i++)
                if (s->raft.configuration.servers[i].id == id)
                        return &s->raft.configuration.servers[i];
        return NULL;
}

static size_t count_voters(const RaftStore *s) {
        size_t n = 0;

        for (unsigned i = 0; i < s->raft.configuration.n; i++)
                n += s->raft.configuration.servers[i].role == RAFT_VOTER;
        return n;
}

static int takes_change(const RaftStore *s) {
        int r = raft_store_takes_requests(s);

        if (r < 0)
                return r;
        return s->change || raft_transferee(&s->raft) != 0 ? -EBUSY : 0;
}

static int change_begin(RaftStore *s, uint32_t raft_id, StoreMemberDone done, void *userdata,
                        MemberChange **ret) {
        MemberChange *c = malloc(sizeof(*c));

        if (!c)
                return -ENOMEM;
        *c = (MemberChange){.owner = s, .raft_id = raft_id, .done = done, .userdata = userdata};
        s->change = *ret = c;
        s->inside = true;
        return 0;
}

// The call to libraft is over; forgets the change if it failed. libraft itself may not have (guard 19).
static int change_submitted(RaftStore *s, int r) {
        s->inside = false;
        if (r != 0) {
                s->raft.legacy.change = NULL;
                free(s->change);
                s->change = NULL;
        }
        return raft_store_errno(r);
}

static void change_finish(MemberChange *c, int error) {
        RaftStore *s = c->owner;
        StoreMemberDone done = c->done;
        void *userdata = c->userdata;

        free(c);
        s->change = NULL;
        done(s->closing ? -ECANCELED : error, userdata);
}

static void on_changed(struct raft_change *req, int status) {
        MemberChange *c = CONTAINER_OF(req, MemberChange, change);
        RaftStore *s = c->owner;

        if (status == 0 && c->promoting && !s->closing) {
                c->promoting = false;
                s->inside = true;
                status = raft_assign(&s->raft, &c->change, c->raft_id, RAFT_VOTER, on_changed);
                s->inside = false;
                if (status == 0)
                        return;
                s->raft.legacy.change = NULL; // as in change_submitted()
        }
        change_finish(c, raft_store_errno(status));
}

int raft_store_member_add(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        const struct raft_server *server = raft_member_find(s, raft_id);
        char address[TRANSPORT_ADDRESS_SIZE];
        MemberChange *c;
        int r = takes_change(s);

        if (r < 0)
                return r;
        if (server && server->role == RAFT_VOTER)
                return -EEXIST;
        if (!server && s->raft.configuration.n >= STORE_MEMBERS_MAX)
                return -ENOSPC;
        r = change_begin(s, raft_id, done, userdata, &c);
        if (r < 0)
                return r;
        c->promoting = !server;
        transport_address(raft_id, address);
        r = server ? raft_assign(&s->raft, &c->change, raft_id, RAFT_VOTER, on_changed)
                   : raft_add(&s->raft, &c->change, raft_id, address, on_changed);
        return change_submitted(s, r);
}

int raft_store_member_remove(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        const struct raft_server *server = raft_member_find(s, raft_id);
        MemberChange *c;
        int r = takes_change(s);

        if (r < 0)
                return r;
        if (!server)
                return -ENOENT;
        if (server->role == RAFT_VOTER && count_voters(s) == 1)
                return -EPERM;
        r = change_begin(s, raft_id, done, userdata, &c);
        if (r < 0)
                return r;
        return change_submitted(s, raft_remove(&s->raft, &c->change, raft_id, on_changed));
}

static void on_transferred(struct raft_transfer *req) {
        MemberChange *c = CONTAINER_OF(req, MemberChange, transfer);

        change_finish(c, raft_state(&c->owner->raft) == RAFT_LEADER ? -ETIMEDOUT : 0);
}

int raft_store_transfer(Store *store, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        MemberChange *c;
        int r = takes_change(s);

        if (r < 0)
                return r;
        r = change_begin(s, raft_id, done, userdata, &c);
        if (r < 0)
                return r;
        return change_submitted(s, raft_transfer(&s->raft, &c->transfer, raft_id, on_transferred));
}

// ---- room

static MemberRoom *find_room(RaftStore *s, uint32_t raft_id) {
        MemberRoom *unused = NULL;

        for (size_t i = 0; i < STORE_MEMBERS_MAX; i++) {
                if (s->rooms[i].raft_id == raft_id)
                        return &s->rooms[i];
                if (!raft_member_find(s, s->rooms[i].raft_id))
                        unused = &s->rooms[i];
        }
        return unused;
}

void raft_store_note_room(RaftStore *s, uint32_t raft_id, unsigned short kib) {
        MemberRoom *room = raft_member_find(s, raft_id) ? find_room(s, raft_id) : NULL;

        if (room)
                *room = (MemberRoom){.raft_id = raft_id, .kib = kib};
}

static bool lacks_room(const RaftStore *s, uint32_t raft_id) {
        if (raft_id == s->raft_id)
                return s->raft.capacity < s->room_kib;
        for (size_t i = 0; i < STORE_MEMBERS_MAX; i++)
                if (s->rooms[i].raft_id == raft_id)
                        return s->rooms[i].kib < s->room_kib;
        return false; // not known
}

// ---- figures

static uint64_t ms_between(uint64_t from, uint64_t to) {
        return to > from ? to - from : 0;
}

// A member that was not listened to was not silent: after a standstill the loop looks at this before it
// reads what has come meanwhile.
static void fill_liveness(const RaftStore *s, StoreMember *m) {
        uint64_t received_ms = transport_received_ms(&s->transport, m->raft_id);

        if (m->raft_id == s->raft_id) {
                m->answers = m->caught_up = true;
                return;
        }
        m->silent_ms = received_ms == 0 ? UINT64_MAX : ms_between(received_ms, uv_now(s->loop));
        m->answers = received_ms > 0 && ms_between(received_ms, s->listened_ms) <= s->raft.election_timeout;
        m->caught_up = m->match_index > 0 && m->match_index >= s->earlier_commit && !m->stuck;
}

void raft_store_stats(const Store *store, StoreStats *ret) {
        const RaftStore *s = raft_store(store);
        struct raft *raft = (struct raft *) &s->raft; // its getters take it without const

        if (s->raft_closing) { // libraft has freed what it would have to look at
                *ret = (StoreStats){.role = STORE_FOLLOWER};
                return;
        }
        uv_update_time(s->loop); // silence is compared with clocks that stand for nobody
        *ret = (StoreStats){
                .role = s->role,
                .term = raft_current_term(raft),
                .last_index = raft_last_index(raft),
                .commit_index = raft_commit_index(raft),
                .applied_index = raft_last_applied(raft),
                .leader_raft_id = s->leader.raft_id,
                .n_pending = s->n_pending,
                .snapshot_failures = s->snapshot_failures,
                .commits = s->commits,
                .snapshots = s->snapshots,
        };
        for (unsigned i = 0; i < raft->configuration.n && ret->n_members < STORE_MEMBERS_MAX; i++) {
                const struct raft_server *server = &raft->configuration.servers[i];
                StoreMember *m = &ret->members[ret->n_members++];
                raft_index match = 0;

                if (raft_match_index(raft, server->id, &match) != 0)
                        match = 0;
                *m = (StoreMember){
                        .raft_id = server->id,
                        .voter = server->role == RAFT_VOTER,
                        .match_index = match,
                };
                for (size_t k = 0; k < STORE_MEMBERS_MAX; k++)
                        m->stuck |= s->watches[k].raft_id == m->raft_id && s->watches[k].stuck;
                if (raft_state(raft) == RAFT_LEADER) {
                        fill_liveness(s, m);
                        m->lacks_room = lacks_room(s, m->raft_id);
                }
        }
}

// A member that talks to us but whose log does not grow although ours is ahead. It watches its own disk
// (raft-disk.c); this is for people, and for whatever else can go wrong there.
static void refresh_member(RaftStore *s, MemberWatch *w, uint32_t raft_id, uint64_t now_ms) {
        uint64_t received_ms = transport_received_ms(&s->transport, raft_id);
        raft_index match = 0;

        if (w->raft_id != raft_id)
                *w = (MemberWatch){.raft_id = raft_id};
        if (raft_id == s->raft_id || raft_match_index(&s->raft, raft_id, &match) != 0 || received_ms == 0 ||
            now_ms > received_ms + RECEIVED_RECENTLY_MS) {
                *w = (MemberWatch){.raft_id = raft_id};
                return;
        }
        w->stuck = progress_is_stuck(&w->progress, match, raft_commit_index(&s->raft), now_ms);
}

void raft_store_refresh_members(RaftStore *s, uint64_t now_ms) {
        if (now_ms < s->refreshed_members_ms + REFRESH_MS)
                return;
        s->refreshed_members_ms = now_ms;
        s->earlier_commit = s->refreshed_commit;
        s->refreshed_commit = raft_commit_index(&s->raft);
        for (unsigned i = 0; i < STORE_MEMBERS_MAX; i++) {
                const struct raft_configuration *c = &s->raft.configuration;
                bool watch =
                        raft_state(&s->raft) == RAFT_LEADER && i < c->n && c->servers[i].role == RAFT_VOTER;

                if (watch)
                        refresh_member(s, &s->watches[i], c->servers[i].id, now_ms);
                else
                        s->watches[i] = (MemberWatch){};
        }
}
