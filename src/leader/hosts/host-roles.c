// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See host-roles.h. A request changes a record, that of a host or of the cluster, and nothing else. Nothing
// is begun unless the log can go on at each step of the way, by what the voters answer since the command
// came; if that changes on the way, what was asked for waits, and the opposite request calls it off: a
// promotion of the host, the old number of voters.
#include "host-roles.h"

#include <errno.h>

#include "feature-controller.h"
#include "host-marks.h"
#include "registry.h"
#include "response.h"
#include "tables.h"
#include "pending-requests.h"
#include "voters.h"

int host_refuse_unknown(PendingRequest *t, const char *word, bool ambiguous) {
        request_settle(t,
                      response_error(ENOENT,
                                     ambiguous ? "several hosts are meant by '%s'" : "there is no host '%s'",
                                     word));
        return 0;
}

bool host_votes(const Argosy__HostRecord *r) {
        return r->role == ARGOSY__HOST_ROLE__ROLE_VOTER || r->raft_id;
}

bool host_is_last_to_vote(const Leader *l, const Argosy__HostRecord *record) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++)
                if (hosts[i].record != record && !hosts[i].record->no_promote)
                        return false;
        return true;
}

// Whether the log has or can get a voter without this host.
static bool can_do_without(Leader *l, const Argosy__HostRecord *leaving) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++) {
                const Host *h = host_find(l, hosts[i].record->host);

                if (hosts[i].record != leaving && !hosts[i].record->no_promote && h && h->attached &&
                    !host_is_lost(h))
                        return true;
        }
        return false;
}

int host_may_stop_voting(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, const char *verb,
                         const char *changed) {
        char why[512];
        int r;

        if (!can_do_without(l, record))
                return request_refuse(t, EEXIST, "no other host can keep the cluster's log at present: %s",
                                     changed);
        r = voters_judge(l, record->host, t->asked_us, verb, why, sizeof(why));
        if (r == VOTERS_UNSAFE)
                return request_refuse(t, EEXIST, "%s; %s", why, changed);
        return r < 0 ? r : r == VOTERS_SAFE ? STEP_PASSED : PLAN_SETTLED;
}

// ------------------------------------------------------------------------------------------------ requests

static int refuse_too_old(Leader *l, PendingRequest *t, const Argosy__HostRecord *record) {
        request_refuse(t, EPROTONOSUPPORT,
                      "the argosyd of %s is too old to keep this cluster's log (feature level "
                      "%u, needed %u): install a newer one there",
                      record->name, host_find(l, record->host)->feature_level,
                      cluster_state_feature_level(l->state));
        return 0;
}

int host_roles_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__ClusterRole *m = t->request->cluster_role;
        bool ambiguous = false;
        const Argosy__HostRecord *record = cluster_state_resolve_host(l->state, m->host, &ambiguous);
        Argosy__HostRecord next;
        int r;

        if (!record)
                return host_refuse_unknown(t, m->host, ambiguous);
        if (batch_builder_has_host(b, record->host))
                return -EBUSY;
        if (!m->promote && host_votes(record) && !record->no_promote) {
                r = host_may_stop_voting(l, t, record, "demote", "nothing was changed");
                if (r <= 0)
                        return r;
        }
        if (m->promote && feature_controller_host_is_too_old(l, host_find(l, record->host)))
                return refuse_too_old(l, t, record);
        next = *record;
        next.no_promote = !m->promote;
        r = batch_builder_put_host(b, &next);
        if (r < 0)
                return r;
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        if (m->promote == host_votes(record))
                (void) field_printf(&t->response->message, "%s is %s already", record->name,
                                    m->promote ? "a voter" : "no voter");
        else
                (void) field_printf(
                        &t->response->message,
                        m->promote ? "%s becomes a voter when the cluster needs one more (see "
                                     "`argosyctl cluster status`)"
                                   : "%s stops being a voter as soon as the others can do without it",
                        record->name);
        return PLAN_IN_BATCH;
}

// How many there are to be; membership.c makes it so, step by step.
int host_roles_plan_voters(Leader *l, PendingRequest *t, BatchBuilder *b) {
        uint32_t wanted = t->request->cluster_voters->wanted;
        Argosy__ClusterRecord cluster = *cluster_state_cluster(l->state);
        char why[512];
        size_t n_hosts;
        int r;

        if (wanted != 1 && wanted != 3 && wanted != 5)
                return request_refuse(t, EINVAL, "a cluster has 1, 3 or 5 voters");
        if (wanted != cluster.voters_wanted) {
                r = voters_judge_wanted(l, wanted, t->asked_us, why, sizeof(why));
                if (r == VOTERS_UNSAFE)
                        return request_refuse(t, EEXIST, "%s", why);
                if (r != VOTERS_SAFE)
                        return r < 0 ? r : 0; // asked again when they had time to answer
        }
        (void) cluster_state_hosts(l->state, &n_hosts);
        cluster.voters_wanted = wanted;
        r = batch_builder_put_cluster(b, &cluster);
        if (r < 0)
                return r;
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0)
                return -ENOMEM;
        if (wanted > n_hosts)
                (void) field_printf(
                        &t->response->message,
                        "there are %u as soon as so many hosts can be (`argosyctl cluster status`)", wanted);
        return PLAN_IN_BATCH;
}
