// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of the voters: of their logs, their states, and that they find each other in the end.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "clock.h"
#include "daemon.h"
#include "hosts-checks.h"
#include "hosts-members.h"
#include "hosts-story.h"
#include "mesh.h"
#include "sim-host.h"
#include "sim-store.h"
#include "test.h"

#define CALM_US (180 * USEC_PER_SEC) // by then what must come true has
enum { STATES_EVERY = 8, STATES_MAX = 100000 };

static struct {
        Hash *states; // by index / STATES_EVERY
        bool *known;
} voters;

void voters_begin(void) {
        voters.states = calloc(STATES_MAX, sizeof(*voters.states));
        voters.known = calloc(STATES_MAX, sizeof(*voters.known));
        assert_non_null(voters.states);
        assert_non_null(voters.known);
}

void voters_end(void) {
        free(voters.states);
        free(voters.known);
}

static void compare_state(uint32_t host, uint64_t index) {
        _cleanup_buf_ Buf image = {};
        uint64_t at = index / STATES_EVERY;
        Hash hash;

        if (at >= STATES_MAX)
                return;
        assert_int_equal(cluster_state_encode(sim_machine(host)->daemon->state, &image), 0);
        hash = hash_of(image.data, image.len);
        if (!voters.known[at]) {
                voters.known[at] = true;
                voters.states[at] = hash;
                return;
        }
        check_says("voters-are-equal");
        if (!hash_equal(&voters.states[at], &hash))
                check_fail("voters-are-equal", "the state of n%u at entry %" PRIu64 " is another one", host,
                           index);
}

void hosts_checks_on_applied(uint32_t host, uint64_t index) {
        check_says("log-is-one");
        if (index % STATES_EVERY == 0)
                compare_state(host, index);
        if (sim_store_broken())
                check_fail("log-is-one", "%s", sim_store_broken());
}

// ----------------------------------------------------------------------------------------------- in the end

// The machine that leads, as that one knows; 0: nobody does. Hosts have numbers of the log's.
static uint32_t leader_of(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;

        return d && d->attached ? members_machine_of(d->known_leader) : 0;
}

static bool is_up_to_date(const Argosy__HostRecord *r, uint32_t number) {
        return r->role != ARGOSY__HOST_ROLE__ROLE_VOTER ||
               sim_store_applied(number) >= sim_store_committed();
}

bool hosts_checks_have_leader(void *data) {
        uint32_t leader = sim_store_leader();

        hosts_story_catch_up();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Argosy__HostRecord *r = members_record(i);

                if (r && (leader_of(i) != leader || !is_up_to_date(r, i)))
                        return false;
        }
        return leader > 0;
}

void voters_tell_links(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;
        MeshLinkInfo links[SIM_CLUSTER_MAX];
        char log[256];
        size_t n = d ? mesh_links(d->mesh, links, SIM_CLUSTER_MAX) : 0;

        sim_store_describe(number, log, sizeof(log));
        story_tell("n%u: its log %s", number, *log ? log : "is none");
        for (size_t i = 0; i < n; i++)
                story_tell("n%u to n%u: %s %s", number, links[i].host, links[i].up ? "up" : "down",
                           links[i].why);
        if (d)
                story_tell("n%u: leads %i, attached %i, knows n%u as the leader of term %" PRIu64, number,
                           d->leading, d->attached, d->known_leader, d->leader_term);
}

void leader_on_calm(void) {
        if (!sim_run_until(hosts_checks_have_leader, NULL, CALM_US))
                for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                        const Daemon *d = sim_machine(i)->daemon;
                        const Argosy__HostRecord *r = members_record(i);

                        if (!r || (sim_store_leader() > 0 && leader_of(i) == sim_store_leader() &&
                                   is_up_to_date(r, i)))
                                continue;
                        members_tell();
                        check_fail("all-find-the-leader",
                                   "n%u: attached %i, leader n%u; the log's is n%u; applied %" PRIu64
                                   " of %" PRIu64,
                                   i, d && d->attached, leader_of(i), sim_store_leader(),
                                   sim_store_applied(i), sim_store_committed());
                }
        check_says("all-find-the-leader");
        check_says("nobody-ends");
}
