// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Networks that containers share: a node has one of each name. When nothing more happens all that a host
// runs with a network of one name has one file of it, whoever has changed that.
//
//      each host's units that are up -> the file of the network that the content of their order has
//
// While an update is under way units go from one to the other: then nothing is said.
#include "checks-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "quadlet.h"
#include "story.h"
#include "test.h"
#include "unit-parts.h"
#include "world-images.h"

// False: it has none.
static bool file_of(const Hash *spec, unsigned network, Hash *ret) {
        const SpecEntry *e = cluster_state_find_spec(world.rig.state, spec);
        char name[32];
        UnitPart part;

        snprintf(name, sizeof(name), "net%u.network", network);
        if (!e || !quadlet_beside_find(e->content, e->len, name, &part))
                return false;
        *ret = quadlet_beside_hash(&part);
        return true;
}

static void one_network(uint32_t host, unsigned network) {
        const char *first = NULL;
        Hash of = {}, other;

        map_foreach (slot, &rig_host(&world.rig, host)->virtual.units) {
                const VirtualUnit *u = slot->value;

                if (u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
                    !file_of(&u->order.spec, network, &other))
                        continue;
                if (first)
                        check_says("network-is-one");
                if (first && !hash_equal(&of, &other))
                        check_fail("network-is-one",
                                   "n%" PRIu32 " runs %s and %s, with two files of net%u.network", host,
                                   first, u->name, network);
                first = u->name;
                of = other;
        }
}

void networks_on_calm(void) {
        if (asks.swarm.containers == 0 || waiting_any_rollout())
                return;
        for (uint32_t host = 1; host <= asks.swarm.hosts; host++)
                for (unsigned network = 1; network <= WORLD_NETWORKS; network++)
                        if (places_is_certain(host))
                                one_network(host, network);
}
