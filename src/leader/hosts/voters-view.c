// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What membership.c decides by: the log's host records, what hosts say, and the log's configuration, in one
// view.
//
//      voters_view_of_log() -> voters_view_add_hosts() -> voters_view_set_live() -> a plan
//          -> voters_view_done()
//
// A view is made per question and forgotten afterwards; it must not move once hosts were added.
// Failure: -ENOMEM, and nothing is planned.

#include "voters-view.h"

#include <errno.h>

#include "clock.h"
#include "feature-controller.h"
#include "lease.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "turn.h"

const char *voters_name_of(const Leader *l, uint32_t host) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, host);

        return r ? r->name : "a removed host";
}

void voters_view_note_opened(Host *h, uint32_t raft_id) {
        h->membership.opened_id = raft_id;
        h->membership.opened_after = h->n_raft_ids;
}

uint32_t host_opened_id(const Host *h) {
        return h->membership.opened_after == h->n_raft_ids ? h->membership.opened_id : 0;
}

static MembershipHost view_of_host(const Leader *l, const Argosy__HostRecord *r) {
        const Host *h = host_find(l, r->host);
        bool here = h && h->attached && h->lease.state == LEASE_ONLINE && !h->leaving;

        return (MembershipHost){
                .host = r->host,
                .raft_id = r->raft_id,
                .running_id = h ? h->running_id : 0,
                .opened_id = h ? host_opened_id(h) : 0,
                .voter = r->role == ARGOSY__HOST_ROLE__ROLE_VOTER,
                .no_promote = r->no_promote,
                .too_old = feature_controller_host_is_too_old(l, h),
                .in_vain = h && h->membership.opened_in_vain,
                .here = here || r->host == l->config.self,
        };
}

void voters_view_done(VotersView *v) {
        free(v->hosts);
}

VotersView voters_view_of_log(const Leader *l) {
        VotersView v = {.view = {.wanted = cluster_state_cluster(l->state)->voters_wanted,
                                 .self = l->config.self}};

        l->ops.stats(&v.stats, l->userdata);
        v.view.n_members = MIN_OF(v.stats.n_members, (size_t) STORE_MEMBERS_MAX);
        for (size_t i = 0; i < v.view.n_members; i++)
                v.members[i] =
                        (MembershipMember){v.stats.members[i].raft_id, v.stats.members[i].voter, false};
        return v;
}

int voters_view_add_hosts(const Leader *l, VotersView *v) {
        size_t n;
        const HostEntry *entries = cluster_state_hosts(l->state, &n);

        v->hosts = calloc(n + 1, sizeof(*v->hosts));
        if (!v->hosts)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                v->hosts[i] = view_of_host(l, entries[i].record);
        v->view.hosts = v->hosts;
        v->view.n_hosts = n;
        v->view.members = v->members; // `v` must not move from now on
        return 0;
}

uint32_t voters_view_host_of(const VotersView *v, uint32_t raft_id) {
        for (size_t i = 0; i < v->view.n_hosts; i++)
                if (raft_id && v->hosts[i].raft_id == raft_id)
                        return v->hosts[i].host;
        return 0;
}

bool voters_host_is_leaving(const Leader *l, uint32_t host) {
        const Host *h = host_find(l, host);

        return h && h->leaving && host != l->config.self;
}

void voters_view_set_live(const Leader *l, VotersView *v, uint64_t since_us, bool hopeful) {
        uint64_t now = leader_now(l);

        for (size_t i = 0; i < v->view.n_members; i++) {
                const StoreMember *m = &v->stats.members[i];
                bool fresh = m->silent_ms <= (now - MIN_OF(now, since_us)) / USEC_PER_MSEC;

                v->members[i].live = m->answers &&
                                     !voters_host_is_leaving(l, voters_view_host_of(v, m->raft_id)) &&
                                     (hopeful || (fresh && m->caught_up));
        }
}

void voters_add_name(char *text, size_t size, const char *name, size_t i, size_t n) {
        size_t len = strlen(text);

        str_fit(text + len, size - len, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", name);
}

void voters_view_name_silent(const Leader *l, const VotersView *v, char *ret, size_t size) {
        size_t n = 0, k = 0;

        *ret = '\0';
        for (size_t i = 0; i < v->view.n_members; i++)
                n += v->members[i].voter && !v->members[i].live;
        for (size_t i = 0; i < v->view.n_members; i++)
                if (v->members[i].voter && !v->members[i].live) {
                        uint32_t host = voters_view_host_of(v, v->members[i].raft_id);

                        voters_add_name(ret, size, voters_name_of(l, host), k++, n);
                }
}
