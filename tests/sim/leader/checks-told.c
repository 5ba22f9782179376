// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of rights: hosts are told who has which one, and no host that is gone has any. Each host judges
// its users by that before it asks the leader, also while there is none. A session begins with it, and a
// change is told to all.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

static struct {
        bool told;
        uint64_t seq, revision; // seq: of its Attach
        size_t n_grants;
} rights[WORLD_HOSTS_MAX + 1]; // by host, in its session

// All are in session when a story begins.
void told_begin(void) {
        for (uint32_t i = 0; i <= WORLD_HOSTS_MAX; i++) {
                rights[i].told = true;
                rights[i].seq = 0;
                rights[i].revision = cluster_state_grants_revision(world.rig.state);
                rights[i].n_grants = cluster_state_access(world.rig.state).n;
        }
}

// One that comes once more is no new session.
void told_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case != ARGOSY__TO_VOTER__MSG_ATTACH || host > WORLD_HOSTS_MAX ||
            m->attach->seq <= rights[host].seq)
                return;
        rights[host].told = false;
        rights[host].seq = m->attach->seq;
}

void told_on_order(uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case != ARGOSY__TO_HOST__MSG_ACCESS || host > WORLD_HOSTS_MAX)
                return;
        rights[host].told = true;
        rights[host].revision = m->access->revision;
        rights[host].n_grants = m->access->n_grants;
}

void told_on_calm(void) {
        AccessList list = cluster_state_access(world.rig.state);

        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                const RigHost *h = rig_host(&world.rig, i);

                if (!world_is_well() || !world_is_member(i) || world_host_lies(i) || !h->virtual.welcomed)
                        continue;
                check_says("rights-are-told");
                if (!rights[i].told ||
                    rights[i].revision != cluster_state_grants_revision(world.rig.state) ||
                    rights[i].n_grants != list.n)
                        check_fail("rights-are-told",
                                   "n%u was told rights as of %" PRIu64
                                   ", %zu of them, and there are %zu as "
                                   "of %" PRIu64,
                                   i, rights[i].told ? rights[i].revision : 0, rights[i].n_grants, list.n,
                                   cluster_state_grants_revision(world.rig.state));
        }
}

// A right of a host's users goes with the host: whoever joins later with its number has none of them.
void told_on_entry(const Argosy__LogBatch *batch) {
        AccessList list = cluster_state_access(world.rig.state);

        for (size_t i = 0; i < list.n; i++) {
                if (list.grants[i]->host == 0)
                        continue;
                check_says("rights-go-with-hosts");
                if (!world_is_member(list.grants[i]->host))
                        check_fail("rights-go-with-hosts",
                                   "there is a right of users of host %u, which is no member",
                                   list.grants[i]->host);
        }
}
