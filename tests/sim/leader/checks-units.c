// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of where units run.
#include <stdio.h>

#include "checks-private.h"
#include "test.h"

static bool is_container(const Argosy__UnitRecord *r) {
        const WorldContent *c = r->spec.len == HASH_SIZE ? world_content_find(r->spec.data) : NULL;

        return c && c->image > 0;
}

static void one_unit(const WorldUnit *w) {
        const Argosy__UnitRecord *r = rig_record(&world.rig, w->name);
        bool launched = r && r->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        if (r && r->global)
                return;
        if (launched && r->node == 0 && is_container(r))
                return; // it runs on until a node has its image
        if (launched && r->node > 0)
                check_says("one-place");
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                RigHost *h = rig_host(&world.rig, i);
                const VirtualUnit *v =
                        h->up && world_is_member(i) ? virtual_host_find(&h->virtual, w->name) : NULL;

                if (v && v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE &&
                    (!launched || r->node != v->order.node))
                        check_fail("one-place", "%s runs on n%u, where it does not belong", w->name, i);
        }
}

void one_place_on_calm(void) {
        for (size_t i = 0; i < asks.n_units; i++)
                one_unit(&asks.units[i]);
}
