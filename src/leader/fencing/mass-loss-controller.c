// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nothing is moved when many hosts are lost at once: counts for mass-loss-policy.c, and tells people.
//
// Units of lost hosts are then put beside those that nobody takes (LIFE_STRANDED), where every host that
// comes back makes decide.c look at them again. A drain of a lost host by its owner, or its removal, moves
// its units nevertheless.
//
// A host that was lost long ago and holds nothing that would have to move is in no count, so that a cluster
// from which dead hosts were never removed does not brake for ever. A new leader finds all dead hosts lost
// at the same moment; those whose units were moved by the leader before it do not count either.
#include "due.h"
#include "mass-loss-controller.h"
#include "clock.h"
#include "host-marks.h"
#include "lease.h"
#include "log.h"
#include "mass-loss-policy.h"
#include "nodes.h"
#include "tables.h"
#include "turn.h"

static bool holds_units(const Host *h) {
        list_foreach (i, &h->nodes)
                if (CONTAINER_OF(i, Node, of_host)->n_unfinished > 0)
                        return true;
        return false;
}

static bool lost_at_once(const Leader *l, const Host *h) {
        bool in_mass_loss = h->fencing.mass_loss_of_us > 0 && h->fencing.mass_loss_of_us == h->lost_us;

        return in_mass_loss || leader_now(l) - h->lost_us < MASS_LOSS_WINDOW_SEC * USEC_PER_SEC;
}

// A cluster of three or more hosts with a single voter was recovered: by its owner's word the others are
// gone for good.
static bool was_recovered(const Leader *l) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        size_t n, n_voters = 0;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++)
                n_voters += hosts[i].record->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
        return cluster && cluster->generation > 1 && cluster->voters_wanted > 1 && n >= 3 && n_voters == 1;
}

static MassLossView view_hosts(const Leader *l) {
        MassLossView v = {.percent = l->config.mass_loss_percent ?: MASS_LOSS_PERCENT_DEFAULT,
                          .n_hosts = l->n_hosts.expected,
                          .n_suspect = l->n_hosts.suspect};

        list_foreach (i, &l->lost_hosts) {
                const Host *h = CONTAINER_OF(i, Host, lost);

                if (!host_is_expected(h) || !lost_at_once(l, h) || !holds_units(h))
                        continue;
                v.n_hosts++;
                v.n_lost++;
        }
        return v;
}

static void mark_the_lost(Leader *l, bool in_mass_loss) {
        list_foreach (i, &l->lost_hosts) {
                Host *h = CONTAINER_OF(i, Host, lost);

                h->fencing.mass_loss_of_us = in_mass_loss && host_is_expected(h) ? h->lost_us : 0;
        }
}

void mass_loss_controller_judge(Leader *l) {
        MassLossView v;
        bool on;

        if (!leader_take_due(l, DUE_MASS_LOSS))
                return;
        v = view_hosts(l);
        on = mass_loss_policy_holds(&v) && !was_recovered(l);
        mark_the_lost(l, on);
        if (on == l->in_mass_loss)
                return;
        l->in_mass_loss = on;
        leader_set_due(l, DUE_PLACEMENT | DUE_ENQUEUED | DUE_WAITS);
        if (on)
                log_error("%zu of %zu hosts are gone at once: their units stay where they are until enough "
                          "hosts "
                          "are back, or are drained or removed.",
                          v.n_suspect + v.n_lost, v.n_hosts);
        else
                log_notice("Enough hosts are back: units of lost ones are moved again.");
}

const char *unit_held_by_mass_loss(const Leader *l, const Unit *u) {
        if (!l->in_mass_loss || !u->node || !host_is_lost(u->node->host) || node_is_emptying(u->node))
                return NULL;
        return "its node is lost together with so many others that nothing is moved (see MassLossPercent= "
               "in "
               "argosy.conf(5))";
}

void mass_loss_controller_retire(Leader *l) {
        l->in_mass_loss = false;
}
