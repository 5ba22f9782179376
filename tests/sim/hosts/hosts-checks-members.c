// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of members in the middle of a story: tokens are used once, and what runs on a host that was removed
// ends when that can hear of it. What is noted on the way is in hosts-members-private.h.
#include "hosts-members-private.h"

#include <inttypes.h>

#include "asks.h"
#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hosts-addresses.h"
#include "hosts-checks.h"
#include "hosts-faults.h"
#include "hosts-story.h"
#include "story.h"
#include "str.h"
#include "test.h"
#include "unit-state.h"
#include "verdict.h"

#define ALIVE_US (30 * USEC_PER_SEC)
#define ENDS_US (60 * USEC_PER_SEC) // since a host without a fault, removed, has nothing that runs

// Whoever leads has heard it: it runs, and nothing has been wrong with it for longer than a lease.
static bool is_alive(uint32_t machine) {
        const SimMachine *m = sim_machine(machine);

        return m->daemon && m->daemon->attached && sim_now_us() >= hosts_faults_last_us(machine) + ALIVE_US;
}

static bool is_asked_by_force(uint32_t machine) {
        for (size_t i = 0; i < members.n_asked; i++)
                if (members.asked[i].machine == machine && streq(members.asked[i].what, "remove by force"))
                        return true;
        return false;
}

bool members_left_alive(uint32_t machine) {
        return !members_record(machine) && members.was_alive[machine];
}

void members_on_entry(const Argosy__LogBatch *batch) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                bool has = members_record(i);

                if (members.had[i] && !has) {
                        members.gone_us[i] = sim_now_us();
                        members.was_alive[i] = is_alive(i) && !is_asked_by_force(i);
                }
                if (has)
                        members.gone_us[i] = 0;
                members.had[i] = has;
        }
}

unsigned members_first_unit_on(const SimMachine *m) {
        sim_foreach_place(place) {
                FakePid1 *p = sim_place_machine(place) == m ? sim_place_pid1(place) : NULL;

                for (unsigned i = 0; p && i < asks.n_units; i++)
                        if (!active_state_is_down(pid1_active_state(p, asks.units[i].name)))
                                return i;
        }
        return asks.n_units;
}

// It has become a member by itself.
static void look_at_joined(uint32_t machine) {
        unsigned number = members.let_in_with[machine] ?: members.joins_with[machine];
        Token *t = &members.tokens[number];
        const Hash *pin = &sim_machine(machine)->pin;

        members.let_in_with[machine] = 0;
        if (number == 0 || !t->once)
                return;
        check_says("tokens-are-used-once");
        if (t->n_used++ > 0 && !hash_equal(&t->used_by, pin))
                check_fail("tokens-are-used-once",
                           "n%u has joined with token %u, with which another host had joined", machine,
                           number);
        t->used_by = *pin;
}

static uint64_t last_fault_us(void) {
        uint64_t last = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                last = MAX_OF(last, hosts_faults_last_us(i));
        return last;
}

// A member that finds nobody itself, since all others are elsewhere by now, can tell nobody of anything.
static bool knows_the_cluster(uint32_t machine) {
        const Daemon *d = members_is_in(machine) ? sim_machine(machine)->daemon : NULL;

        return d && d->attached;
}

// Whether the voters that it knows can tell it, or, if they vote no more, name one that can: a host believes
// its removal if one says so and most of those that it knows do not want it (mesh_is_removed()). Else it
// waits for somebody who gives it up (`cluster leave --force`).
bool members_can_hear_of_it(const SimMachine *m) {
        const Argosy__PeersFile *peers = m->daemon ? m->daemon->peers : NULL;
        size_t n = 0, n_members = 0;

        for (size_t i = 0; peers && i < peers->n_voters; i++) {
                const Argosy__HostRecord *r =
                        cluster_state_find_host(hosts_story.truth, peers->voters[i]->host);

                if (peers->voters[i]->host == peers->host)
                        continue;
                n++;
                n_members += r && knows_the_cluster(members_machine_of(r->host)) &&
                             hosts_addresses_is_at(peers->voters[i]);
        }
        return 2 * n_members > n;
}

static void look_at_removed(uint32_t machine) {
        const SimMachine *m = sim_machine(machine);
        unsigned unit;

        if (members.gone_us[machine] == 0 ||
            sim_now_us() < MAX_OF(members.gone_us[machine], last_fault_us()) + ENDS_US)
                return;
        if (m->in_cluster && !members_can_hear_of_it(m))
                return;
        check_says("removed-run-nothing");
        unit = members_first_unit_on(m);
        if (unit < asks.n_units)
                check_fail("removed-run-nothing", "%s runs on n%u, which was removed %" PRIu64 " ms ago",
                           asks.units[unit].name, machine,
                           (sim_now_us() - members.gone_us[machine]) / USEC_PER_MSEC);
        if (!m->in_cluster)
                return;
        members_tell();
        check_fail("removed-run-nothing",
                   "n%u takes itself for a member, and was removed %" PRIu64 " ms ago", machine,
                   (sim_now_us() - members.gone_us[machine]) / USEC_PER_MSEC);
}

void members_on_look(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);

                if (m->in_cluster && !members.was_in[i])
                        look_at_joined(i);
                members.was_in[i] = m->in_cluster;
                look_at_removed(i);
        }
}

void members_tell(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Argosy__HostRecord *r = members_record(i);

                story_tell("n%u: member by the log %i, as host %u at %s, role %i, raft id %u, not to vote "
                           "%i; by itself %i, at %s",
                           i, r != NULL, r ? r->host : 0, r ? r->address : "", r ? (int) r->role : 0,
                           r ? r->raft_id : 0, r && r->no_promote, sim_machine(i)->in_cluster,
                           sim_machine_address(sim_machine(i)));
                voters_tell_links(i);
        }
}
