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

static void compare_state(uint32_t raft_id, uint64_t index) {
        _cleanup_buf_ Buf image = {};
        uint64_t at = index / STATES_EVERY;
        Hash hash;

        if (at >= STATES_MAX)
                return;
        assert_int_equal(cluster_state_encode(sim_machine(raft_id)->daemon->state, &image), 0);
        hash = hash_of(image.data, image.len);
        if (!voters.known[at]) {
                voters.known[at] = true;
                voters.states[at] = hash;
                return;
        }
        check_says("voters-are-equal");
        if (!hash_equal(&voters.states[at], &hash))
                check_fail("voters-are-equal", "the state of n%u at entry %" PRIu64 " is another one", raft_id, index);
}

void hosts_checks_on_applied(uint32_t raft_id, uint64_t index) {
        check_says("log-is-one");
        if (index % STATES_EVERY == 0)
                compare_state(raft_id, index);
        if (sim_store_broken())
                check_fail("log-is-one", "%s", sim_store_broken());
}

// ------------------------------------------------------------------------------------------------ in the end

bool hosts_checks_have_leader(void *data) {
        const Daemon *first = sim_machine(1)->daemon;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Daemon *d = sim_machine(i)->daemon;

                if (!d || !d->attached || d->known_leader == 0 || d->known_leader != first->known_leader ||
                    (i <= sim_cluster_n_voters() && sim_store_applied(i) < sim_store_committed()))
                        return false;
        }
        return sim_store_leader() == first->known_leader;
}

static void tell_links(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;
        MeshLinkInfo links[SIM_CLUSTER_MAX];
        size_t n = d ? mesh_links(d->mesh, links, SIM_CLUSTER_MAX) : 0;

        for (size_t i = 0; i < n; i++)
                story_tell("n%u to n%u: %s %s", number, links[i].host, links[i].up ? "up" : "down", links[i].why);
        if (d)
                story_tell("n%u: leads %i, attached %i, knows n%u as the leader of term %" PRIu64, number, d->leading, d->attached, d->known_leader, d->leader_term);
}

static bool has_leader(uint32_t number) {
        const Daemon *d = sim_machine(number)->daemon;

        return d && d->attached && d->known_leader > 0 && d->known_leader == sim_store_leader();
}

void leader_on_calm(void) {
        if (!sim_run_until(hosts_checks_have_leader, NULL, CALM_US))
                for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                        const Daemon *d = sim_machine(i)->daemon;

                        if (i < sim_cluster_size() && has_leader(i))
                                continue;
                        tell_links(i);
                        check_fail("all-find-the-leader", "n%u: attached %i, leader %u; the log's is %u; applied %" PRIu64 " of %" PRIu64, i, d && d->attached,
                                   d ? d->known_leader : 0, sim_store_leader(), sim_store_applied(i), sim_store_committed());
                }
        check_says("all-find-the-leader");
        check_says("nobody-ends");
}
