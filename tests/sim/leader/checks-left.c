// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of what the log remembers of places where units may still run: units that have left nodes, and
// tombstones of those that are gone. When everything works, and each host has said what it has, only what
// still runs there is remembered.
#include "checks-private.h"
#include "cluster-state.h"
#include "leader-private.h"
#include "nodes.h"
#include "previous-nodes.h"
#include "registry.h"
#include "test.h"

// The host says what is true, was heard, and has nothing of that name.
static bool is_gone_from(uint32_t node, const char *name) {
        uint32_t host = places_host_of(node);
        const RigHost *h = host > 0 && host <= asks.swarm.hosts ? rig_host(&world.rig, host) : NULL;

        return h && h->up && h->attached && h->virtual.welcomed && !places_lies(node) &&
               places_is_certain(host) && !virtual_host_find(&h->virtual, name);
}

// A record names nodes on which the unit may have run when it was written, and is not written anew for their
// sake. The leader knows better what it has heard since.
static void of_unit(const UnitEntry *e) {
        for (size_t i = 0; i < e->record->n_left; i++) {
                uint32_t number = e->record->left[i];
                const Node *n = node_find(world.rig.leader, number);

                if (n && is_gone_from(number, e->record->name) &&
                    previous_node_may_run(world.rig.leader, e->record->name,
                                          unit_find(world.rig.leader, e->record->name), e, n))
                        check_fail("left-is-forgotten",
                                   "the leader has it that %s may still run on node %u, and it is gone from "
                                   "there",
                                   e->record->name, number);
        }
}

static void of_name(const char *name) {
        const UnitEntry *e = cluster_state_find_unit(world.rig.state, name);
        const ListNode *stones = cluster_state_tombstones_of(world.rig.state, name);

        if (e)
                of_unit(e);
        if (!stones)
                return;
        list_foreach (i, stones) {
                const Tombstone *t = CONTAINER_OF(i, Tombstone, by_name);

                if (is_gone_from(t->node, name))
                        check_fail("left-is-forgotten",
                                   "the log has a tombstone of %s on node %u, and it is gone from there",
                                   name, t->node);
        }
}

static bool names_node(const Argosy__LogOp__UnitRemove *m, uint32_t node) {
        for (size_t i = 0; i < m->n_nodes; i++)
                if (m->nodes[i] == node)
                        return true;
        return false;
}

// What is removed while it runs is remembered.
void left_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp__UnitRemove *m = batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE
                                                             ? batch->ops[i]->unit_remove
                                                             : NULL;
                int unit = m ? world_unit_index(m->name) : -1;
                const LogUnit *u = unit >= 0 ? &log_truth.units_before[unit] : NULL;
                uint32_t host = u && u->exists ? places_host_of(u->node) : 0;
                const VirtualUnit *v =
                        host > 0 && host <= asks.swarm.hosts && !world_host_lies(host)
                                ? virtual_host_find(&rig_host(&world.rig, host)->virtual, m->name)
                                : NULL;

                if (!v || !v->ordered || v->order.node != u->node || u->global ||
                    v->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
                    heard_guard_has_ended(host, (unsigned) unit, v))
                        continue;
                check_says("left-is-forgotten");
                if (!names_node(m, u->node))
                        check_fail("left-is-forgotten",
                                   "%s is removed while it runs on node %u, and nothing remembers that",
                                   m->name, u->node);
        }
}

void left_on_calm(void) {
        for (size_t i = 0; i < asks.n_units; i++)
                of_name(asks.units[i].name);
        for (size_t i = 0; i < asks.swarm.crowd; i++)
                of_name(asks.crowd[i].name);
        check_says("left-is-forgotten");
}
