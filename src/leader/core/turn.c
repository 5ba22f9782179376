// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader's clocks, the mark that a turn is due, and its authority; what a turn does, and in which order,
// is in reconcile.c.
//
//      leader_wall(): the voters' clocks if they agree, else counted on from the log's time
//      leader_counted(): time that has passed for the cluster, which no clock can set back
//
// Times are microseconds. Nothing fails: without agreement leader_wall_is_agreed() is false.

#include "turn.h"

#include "clock.h"

// ------------------------------------------------------------------------------------------------ wall time

static uint64_t own_clock(const Leader *l) {
        return l->config.wall_us ? l->config.wall_us(l->userdata) : clock_wall_us();
}

// Whether only this host's clock counts: there is one voter, or no cluster yet.
static bool is_alone(const Leader *l) {
        return l->wall_clock.n_voters <= 1 || !cluster_state_cluster(l->state);
}

static bool leads(const Leader *l) {
        return l->leading || l->building;
}

bool leader_wall_is_agreed(const Leader *l) {
        return is_alone(l) || (leads(l) && l->wall_clock.agreed);
}

uint64_t leader_wall(const Leader *l) {
        if (is_alone(l))
                return own_clock(l);
        if (leads(l) && l->wall_clock.agreed)
                return leader_now(l) + (uint64_t) l->wall_clock.offset_us;
        return cluster_state_time_us(l->state) + (leader_now(l) - l->log_from_us);
}

static void hear_own(Leader *l) {
        (void) wall_clock_hear(&l->wall_clock, l->config.self, (int64_t) (own_clock(l) - leader_now(l)));
}

bool leader_wall_hear(Leader *l, uint32_t host, int64_t offset_us) {
        bool agreed = l->wall_clock.agreed;
        int64_t before = l->wall_clock.offset_us;

        hear_own(l);
        (void) wall_clock_hear(&l->wall_clock, host, offset_us);
        return l->wall_clock.agreed != agreed || (agreed && l->wall_clock.offset_us != before);
}

static void note_voters(Leader *l) {
        uint64_t revision = cluster_state_voters_revision(l->state);
        uint32_t voters[WALL_CLOCK_VOTERS_MAX];
        const HostEntry *hosts;
        size_t n_hosts, n = 0;

        if (l->voters_revision == revision)
                return;
        l->voters_revision = revision;
        hosts = cluster_state_hosts(l->state, &n_hosts);
        for (size_t i = 0; i < n_hosts && n < WALL_CLOCK_VOTERS_MAX; i++)
                if (hosts[i].record->role == ARGOSY__HOST_ROLE__ROLE_VOTER)
                        voters[n++] = hosts[i].record->host;
        wall_clock_set_voters(&l->wall_clock, voters, n);
}

// --------------------------------------------------------------------------------------------- counted time

uint64_t leader_counted(const Leader *l) {
        return cluster_state_counted_us(l->state) + (leader_now(l) - l->log_from_us);
}

// Our own entry says how much time had passed when it was made, and the log's time has advanced by that.
// When an entry of another leader was made is not known: at the latest now.
void leader_time_on_applied(Leader *l) {
        uint64_t counted = cluster_state_counted_us(l->state), now = leader_now(l),
                 passed = counted - l->counted_us;

        l->log_from_us = leads(l) && passed < now - l->log_from_us ? l->log_from_us + passed : now;
        l->counted_us = counted;
        note_voters(l);
}

void leader_time_begin(Leader *l) {
        wall_clock_forget(&l->wall_clock);
        hear_own(l);
}

// ------------------------------------------------------------------------------------------------ the turn

void leader_outside_begun(Leader *l) {
        l->n_outside++;
}

void leader_outside_done(Leader *l) {
        l->n_outside--;
        l->on_outside_done(l);
}

