// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-addresses.h. An address that a machine gives up another one may get.
//
//      address      the network has another one at once; argosyd runs, or is down until it is over. Where
//                   Address= says it somebody writes it
//                   anew when it is over
//      no_network   there is none, while argosyd runs or from a boot on; then it comes back, or another one
//                   does, and its route perhaps later
#include "hosts-addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "daemon.h"
#include "hosts-checks.h"
#include "hosts-members.h"
#include "hosts-story.h"
#include "macro.h"
#include "sim-client.h"
#include "story.h"
#include "str.h"
#include "test.h"

// in which kernels have given up connections to where nobody is any more
#define NOTICE_US (30 * USEC_PER_SEC)
#define FIND_US (60 * USEC_PER_SEC) // in which hosts find each other
#define ANSWER_US (30 * USEC_PER_SEC)
enum { GIVEN_UP_MAX = 64, ROUNDS_MAX = 8, PEERS_MAX = 4, CHANCES = 64 };

typedef char Address[16];

static struct {
        Address next[SIM_CLUSTER_MAX + 1]; // that it is to have when it has one again; empty: it has one
        bool stale[SIM_CLUSTER_MAX + 1];   // its Address= is another one
        Address given_up[GIVEN_UP_MAX];
        size_t n_given_up;
        unsigned n_new;
        bool any; // has changed
} addresses;

void hosts_addresses_settings(const StoryPlan *plan, SimSettings ret[SIM_CLUSTER_MAX]) {
        Draw d = draw_from(plan->chance ^ 5);

        for (size_t i = 0; i < SIM_CLUSTER_MAX; i++)
                ret[i] = (SimSettings){.finds_address = draw_below(&d, CHANCES) < plan->swarm.found,
                                       .has_bridge = draw_one_in(&d, 3) && plan->swarm.found > 0,
                                       .hears_nothing = draw_one_in(&d, 8) && plan->swarm.found > 0};
}

void hosts_addresses_begin(const StoryPlan *plan) {
        memset(&addresses, 0, sizeof(addresses));
        sim_net_know_names(plan->swarm.names);
}

// ------------------------------------------------------------------------------------------------ faults

static bool is_of_somebody(const char *address) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (streq(sim_machine_address(sim_machine(i)), address) || streq(addresses.next[i], address))
                        return true;
        return false;
}

static void draw_address(uint32_t number, Draw *d, Address ret) {
        size_t from = addresses.n_given_up ? draw_below(d, (unsigned) addresses.n_given_up) : 0;

        for (size_t i = 0; i < addresses.n_given_up && draw_one_in(d, 4); i++)
                if (!is_of_somebody(addresses.given_up[(from + i) % addresses.n_given_up])) {
                        str_fit(ret, sizeof(Address), "%s",
                                addresses.given_up[(from + i) % addresses.n_given_up]);
                        return;
                }
        str_fit(ret, sizeof(Address), "10.0.%u.%u", 1 + addresses.n_new++ % 250, number);
}

static void give_up(const char *address) {
        if (addresses.n_given_up < GIVEN_UP_MAX)
                str_fit(addresses.given_up[addresses.n_given_up++], sizeof(Address), "%s", address);
}

static void set_address(SimMachine *m, const char *address, Draw *d) {
        uint64_t route_us = draw_one_in(d, 3) ? draw_log(d, 1000, 20 * USEC_PER_SEC) : 0;

        if (*address && !streq(address, sim_machine_address(m))) {
                give_up(sim_machine_address(m));
                addresses.stale[m->number] = !m->settings.finds_address;
        }
        addresses.any = true;
        story_tell("n%u has %s", m->number, *address ? address : "no address");
        sim_machine_set_address(m, address, route_us);
}

static bool has_none(uint32_t number) {
        return *addresses.next[number];
}

static void change(SimMachine *m, Draw *d) {
        Address next;

        draw_address(m->number, d, next);
        if (has_none(m->number))
                str_fit(addresses.next[m->number], sizeof(Address), "%s", next);
        else
                set_address(m, next, d);
}

static void start(void *data) {
        SimMachine *m = data;

        if (!m->daemon)
                sim_machine_start(m);
}

static void take_away(SimMachine *m, Draw *d) {
        if (has_none(m->number))
                return;
        if (draw_one_in(d, 3))
                draw_address(m->number, d, addresses.next[m->number]);
        else
                str_fit(addresses.next[m->number], sizeof(Address), "%s", sim_machine_address(m));
        set_address(m, "", d);
}

uint64_t hosts_addresses_trouble(HostsFault fault, uint32_t number, Draw *d) {
        SimMachine *m = sim_machine(number);
        unsigned how = draw_below(d, 3);

        if (how == 1 && fault == HOSTS_FAULT_address)
                sim_machine_kill(m);
        else if (how > 0)
                sim_machine_power_off(m);
        if (fault == HOSTS_FAULT_address)
                change(m, d);
        else
                take_away(m, d);
        if (how > 0 && fault == HOSTS_FAULT_no_network)
                sim_at(sim_now_us() + draw_log(d, 10 * USEC_PER_MSEC, 10 * USEC_PER_SEC), NULL, start, m);
        return draw_log(d, 10 * USEC_PER_MSEC, 60 * USEC_PER_SEC);
}

static void configure(SimMachine *m) {
        if (!addresses.stale[m->number])
                return;
        story_tell("n%u: somebody writes Address= anew", m->number);
        addresses.stale[m->number] = false;
        sim_machine_configure(m);
}

void hosts_addresses_end_trouble(uint32_t number) {
        SimMachine *m = sim_machine(number);
        Address next;

        if (has_none(number)) {
                str_fit(next, sizeof(next), "%s", addresses.next[number]);
                addresses.next[number][0] = 0;
                set_address(m, next, sim_draw());
        }
        configure(m);
}

void hosts_addresses_mend(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                hosts_addresses_end_trouble(i);
}

// ---------------------------------------------------------------------------------------------- who is told

bool hosts_addresses_is_at(const Argosy__Voter *v) {
        const uint32_t machine = members_machine_of(v->host);
        SimHost *found = sim_net_find(v->address), *named = v->host_name ? sim_net_find(v->host_name) : NULL;

        // who has lost its disk and goes by the same address is a stranger there
        return machine && members_is_in(machine) &&
               ((found && sim_host_number(found) == machine) ||
                (named && sim_host_number(named) == machine));
}

// Whom it asks who votes: voters that it knows, where it knows them to be.
static uint32_t asked_by(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;
        uint32_t bits = 0;

        for (size_t i = 0; d && d->peers && i < d->peers->n_voters; i++) {
                const Argosy__Voter *v = d->peers->voters[i];

                if (v->host != d->peers->host && hosts_addresses_is_at(v))
                        bits |= 1u << members_machine_of(v->host);
        }
        return bits;
}

// One that is to vote no more, and has its log still, elects nobody.
static bool votes(uint32_t number) {
        const Argosy__HostRecord *r = members_record(number);

        return r && r->raft_id > 0 && r->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
}

static bool knows_nobody_else(const Argosy__PeersFile *peers) {
        return peers->n_voters == 0 || (peers->n_voters == 1 && peers->voters[0]->host == peers->host);
}

// Those that it asks name the voters that they know.
bool hosts_addresses_knows_place(uint32_t number) {
        uint32_t found = asked_by(number), before = 0;
        const Daemon *d = sim_machine(number)->daemon;

        if (!d || !d->peers || knows_nobody_else(d->peers))
                return true;
        while (found != before) {
                before = found;
                for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                        if (before & 1u << i)
                                found |= asked_by(i);
        }
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != number && found & 1u << i && votes(i))
                        return true;
        return false;
}

static bool is_final(void *data) {
        return ((const SimAsk *) data)->final;
}

// Where the voters are; not all of five fit.
static void tell(uint32_t number, Draw *d) {
        Argosy__Request__ClusterPeers peers = ARGOSY__REQUEST__CLUSTER_PEERS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        uint32_t n = (uint32_t) sim_cluster_size(), first = draw_below(d, n);
        char *list[PEERS_MAX];

        for (uint32_t i = 0; i < n && peers.n_addresses < PEERS_MAX; i++) {
                uint32_t at = 1 + (first + i) % n;
                const Argosy__HostRecord *r = members_record(at);

                if (at != number && r && r->raft_id > 0 && members_is_in(at))
                        list[peers.n_addresses++] = (char *) sim_machine_address(sim_machine(at));
        }
        if (peers.n_addresses == 0)
                return;
        peers.addresses = list;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_PEERS;
        request.cluster_peers = &peers;
        story_tell("n%u is told where %zu voters are", number, peers.n_addresses);
        (void) sim_run_until(is_final, sim_client_send(number, NULL, &request), ANSWER_US);
}

void hosts_addresses_tell(void) {
        if (addresses.any)
                sim_run_for(NOTICE_US);
        for (unsigned i = 0;
             addresses.any && i < ROUNDS_MAX && !sim_run_until(hosts_checks_have_leader, NULL, FIND_US); i++)
                for (uint32_t n = 1; n <= sim_cluster_size(); n++)
                        if (members_is_in(n) && sim_machine(n)->daemon &&
                            !sim_machine(n)->daemon->attached && !hosts_addresses_knows_place(n))
                                tell(n, sim_draw());
}
