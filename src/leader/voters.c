// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out membership.c's steps, one at a time. Nothing about a step is remembered beyond what keeps two
// from overlapping: after each, and after each failure a little later, the plan is made anew from the log's
// records and the log's configuration.
#include <errno.h>
#include <stdio.h>

#include "identity.h"
#include "leader-private.h"
#include "log.h"
#include "membership.h"
#include "response.h"

enum {
        VOTERS_RETRY_US = 1000000, // after a step that failed
        VOTERS_OPEN_US = 15000000, // for a host to open its log
};

static void retry_later(Leader *l) {
        l->voters_pause_us = leader_now(l) + VOTERS_RETRY_US;
        leader_mark(l);
}

static const char *name_of(const Leader *l, uint32_t host) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, host);

        return r ? r->name : "a removed host";
}

static void say(Leader *l, const char *what, uint32_t host) {
        snprintf(l->voters_notice, sizeof(l->voters_notice), what, name_of(l, host));
}

// ------------------------------------------------------------------------------------------------ the view

static MembershipHost view_of_host(const Leader *l, const Argosy__HostRecord *r) {
        const Host *h = host_find(l, r->host);
        bool here = h && h->attached && h->lease.state == LEASE_ONLINE && !h->leaving;

        return (MembershipHost){
                .host = r->host,
                .raft_id = r->raft_id,
                .running_id = h ? h->running_id : 0,
                .opened_id = h ? h->opened_id : 0,
                .voter = r->role == ARGOSY__HOST_ROLE__ROLE_VOTER,
                .no_promote = r->no_promote,
                .here = here || r->host == l->config.self,
        };
}

static MembershipStep plan(Leader *l) {
        const HostEntry *entries;
        size_t n;
        MembershipMember members[STORE_MEMBERS_MAX];
        _cleanup_free_ MembershipHost *hosts = NULL;
        StoreStats stats = {};
        MembershipView v = {
                .members = members,
                .wanted = cluster_state_cluster(l->state)->voters_wanted,
                .self = l->config.self,
        };

        entries = cluster_state_hosts(l->state, &n);
        hosts = calloc(n + 1, sizeof(*hosts));
        l->ops.stats(&stats, l->userdata);
        if (!hosts || stats.n_members == 0)
                return (MembershipStep){};
        for (size_t i = 0; i < n; i++)
                hosts[v.n_hosts++] = view_of_host(l, entries[i].record);
        for (size_t i = 0; i < stats.n_members && i < STORE_MEMBERS_MAX; i++)
                members[v.n_members++] =
                        (MembershipMember){stats.members[i].raft_id, stats.members[i].voter};
        v.hosts = hosts;
        return membership_plan(&v);
}

// ------------------------------------------------------------------------------------------------ steps

static int put_role(Leader *l, Draft *b, uint32_t host, Argosy__HostRole role, uint32_t raft_id) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, host);
        Argosy__HostRecord next;

        if (!record || draft_has_host(b, host))
                return 0; // in the next batch
        next = *record;
        next.role = role;
        next.raft_id = raft_id;
        return draft_put_host(b, &next);
}

static void send_open(Leader *l, uint32_t host, uint32_t raft_id) {
        const Identity *identity = l->ops.identity(l->userdata);
        Argosy__ToHost__StoreOpen open = ARGOSY__TO_HOST__STORE_OPEN__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Host *h = host_find(l, host);

        open.raft_id = raft_id ? raft_id : cluster_state_next_raft_id(l->state);
        open.generation = cluster_state_cluster(l->state)->generation;
        if (identity)
                open.ca_key =
                        (ProtobufCBinaryData){.data = identity->ca_key.data, .len = identity->ca_key.len};
        m.msg_case = ARGOSY__TO_HOST__MSG_STORE_OPEN;
        m.store_open = &open;
        l->voters_opening = host;
        l->voters_open_id = open.raft_id;
        l->voters_pause_us = leader_now(l) + VOTERS_OPEN_US;
        leader_to_host(l, h, &m);
}

static void send_close(Leader *l, uint32_t host, uint32_t raft_id) {
        Argosy__ToHost__StoreClose close = ARGOSY__TO_HOST__STORE_CLOSE__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Host *h = host_find(l, host);

        close.raft_id = raft_id;
        m.msg_case = ARGOSY__TO_HOST__MSG_STORE_CLOSE;
        m.store_close = &close;
        if (h)
                leader_to_host(l, h, &m); // one that is not here is told when it attaches
}

// Once for each kind of trouble, not once a second.
static void complain(Leader *l, int error) {
        if (l->voters_error != error)
                log_warning("Cannot change the voters: %s. It will be tried again.", strerror(-error));
        l->voters_error = error;
}

static void on_member_done(int error, void *userdata) {
        Leader *l = userdata;

        l->voters_busy = false;
        if (error == 0)
                l->voters_error = 0;
        if (error < 0) {
                complain(l, error);
                l->voters_pause_us = leader_now(l) + VOTERS_RETRY_US;
        }
        leader_mark(l);
        leader_outside_done(l);
}

static void call_log(Leader *l, int (*what)(uint32_t, StoreMemberDone, void *, void *), uint32_t raft_id) {
        int r = what(raft_id, on_member_done, l, l->userdata);

        if (r == -EEXIST || r == -ENOENT) { // it is so already
                retry_later(l);
                return;
        }
        if (r < 0) {
                complain(l, r);
                retry_later(l);
                return;
        }
        l->voters_busy = true;
        l->n_outside++;
}

static bool is_for_the_batch(MembershipAction a) {
        return a == MEMBERSHIP_ENROL || a == MEMBERSHIP_DEMOTE || a == MEMBERSHIP_CLOSE;
}

static int step_in_batch(Leader *l, Draft *b, const MembershipStep *s) {
        switch (s->action) {
        case MEMBERSHIP_ENROL:
                log_notice("Host %s becomes a voter.", name_of(l, s->host));
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_VOTER, s->raft_id);
        case MEMBERSHIP_DEMOTE:
                log_notice("Host %s stops being a voter.", name_of(l, s->host));
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_SPARE, s->raft_id);
        default:
                send_close(l, s->host, s->raft_id);
                return put_role(l, b, s->host, ARGOSY__HOST_ROLE__ROLE_SPARE, 0);
        }
}

static void step_beside(Leader *l, const MembershipStep *s) {
        switch (s->action) {
        case MEMBERSHIP_OPEN:
                say(l, "waiting for %s to open its copy of the log", s->host);
                send_open(l, s->host, s->raft_id);
                break;
        case MEMBERSHIP_ADD:
                say(l, "%s is catching up with the log", s->host);
                call_log(l, l->ops.member_add, s->raft_id);
                break;
        case MEMBERSHIP_DROP:
                say(l, "taking %s out of the log's voters", s->host);
                call_log(l, l->ops.member_remove, s->raft_id);
                break;
        case MEMBERSHIP_TRANSFER:
                say(l, "%s hands leadership to another voter", s->host);
                call_log(l, l->ops.transfer, s->raft_id);
                break;
        default:
                break;
        }
}

// With a batch: steps that are a change of a record. Without: the others, but not while a batch is on its
// way, which may change the plan.
void voters_step(Leader *l, Draft *b) {
        MembershipStep s;

        if (l->voters_busy || l->batch_flying || !cluster_state_cluster(l->state) ||
            l->voters_pause_us > leader_now(l))
                return;
        l->voters_opening = 0;
        s = plan(l);
        if (s.action == MEMBERSHIP_NOTHING)
                l->voters_notice[0] = '\0';
        else if (b && is_for_the_batch(s.action))
                (void) step_in_batch(l, b, &s); // what did not get in is planned again
        else if (!b && !is_for_the_batch(s.action))
                step_beside(l, &s);
}

// ------------------------------------------------------------------------------------------------ events

void voters_on_opened(Leader *l, Host *h, const Argosy__ToVoter__StoreOpened *opened) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

        if (l->voters_opening != h->number || opened->raft_id != l->voters_open_id)
                return; // an answer to an order that nobody waits for any more
        l->voters_opening = 0;
        if (*opened->error) {
                log_host(LOG_WARNING, record->name, "Host %s cannot become a voter: %s.", record->name,
                         opened->error);
                snprintf(l->voters_notice, sizeof(l->voters_notice), "%s cannot become a voter: %s",
                         record->name, opened->error);
                l->voters_pause_us = leader_now(l) + VOTERS_OPEN_US;
                return;
        }
        l->voters_pause_us = 0;
        h->running_id = opened->raft_id;
        if (record->raft_id != opened->raft_id)
                h->opened_id = opened->raft_id;
        leader_mark(l);
}

// A host that runs a log which no record gives it: left over from a promotion that an older leader did not
// finish, or from before it was demoted.
void voters_on_attach(Leader *l, Host *h) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

        if (h->running_id && !record->raft_id) {
                send_close(l, h->number, h->running_id);
                h->running_id = 0;
        }
        if (l->voters_opening == h->number) { // the order went down with the old link
                l->voters_opening = 0;
                l->voters_pause_us = 0;
        }
}
