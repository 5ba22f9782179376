// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a container gets another node -> that is told to have it, down (UnitOrder.stay) -> its agent pulls the
//   image and installs the unit, and reports that content -> the former node is told to let go -> the unit
//   starts
//
// So what runs is not stopped for a pull, or for one that fails: by a drain, a rebalance, a start that moves
// it. The former node's order is held as a stop that waits for other units (HOLD_STOP, ordering.c). A node
// that refuses the unit meanwhile loses it, and another one is looked for, while it runs on. Nothing of this
// is in the log: a new leader finds a unit that runs where it is not to be, and holds that back the same.
//
// A container that has no node because another unit took its place ends: no node is about to get its image.
// So does one that has no node and runs where somebody is placed who has another file of a network that it
// runs with.
//
// A host that shuts down waits for nobody, nor does a drain when its deadline is over; of a lost host, or of
// what is down, there is nothing to wait for. Units that are no containers cost a look at a flag.

#include "image-moves.h"

#include "cluster-state.h"
#include "data-nodes.h"
#include "network-change.h"
#include "nodes.h"
#include "quadlet.h"
#include "registry.h"
#include "replacers.h"
#include "rollout-content.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-wanted.h"

static bool is_container(const UnitEntry *e) {
        const UnitFile *file;

        return e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && !e->record->global &&
               spec_entry_file(e->spec, &file) == 0 && file->container;
}

static bool runs(const Leader *l, const UnitOnNode *s) {
        return !node_deadline_is_over(l, s->node) && s->node->host->attached && !s->node->host->leaving &&
               unit_on_node_is_reported(s) && !unit_on_node_is_down(s) &&
               s->active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

// Its agent installs a content when the image is there, and not before.
static bool is_prepared(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        Content c = rollout_content(l, e, s->node->number);

        return unit_on_node_is_reported(s) && !unit_on_node_is_to_go(s) &&
               hash_equal(unit_on_node_seen(s), &c.spec->hash);
}

// What runs there was to end before a unit of that name came again.
static bool is_of_one_before(const Leader *l, const UnitOnNode *s) {
        const Tombstone *t = cluster_state_find_tombstone(l->state, s->unit->name, s->node->number);

        return t && s->revision <= t->revision;
}

typedef struct Beside {
        const Leader *l;
        const Node *node;
} Beside;

static int find_other(const NamedNetwork *network, void *userdata) {
        const Beside *b = userdata;
        Hash of = quadlet_beside_hash(&network->part);

        list_foreach (i, &b->node->placed) {
                const UnitEntry *e =
                        cluster_state_find_unit(b->l->state, CONTAINER_OF(i, Unit, placed)->name);

                if (e && quadlet_beside_is_other(e->spec->content, e->spec->len, network->file, &of))
                        return 1;
        }
        return 0;
}

// By the content that it runs with, as far as the cluster has that still.
static bool has_lost_network(const Leader *l, const UnitOnNode *s) {
        SpecEntry *seen = cluster_state_find_spec(l->state, unit_on_node_seen(s));
        Beside b = {l, s->node};
        const UnitFile *file;

        return seen && spec_entry_file(seen, &file) == 0 && file->networks &&
               network_change_each_named(file->networks, seen->content, seen->len, NULL, find_other, &b) > 0;
}

bool image_move_waits(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        const Unit *u = s->unit;
        const UnitOnNode *next;

        if (!e || u->node == s->node || !is_container(e) || !runs(l, s) || is_of_one_before(l, s))
                return false;
        if (!u->node) // all have refused it meanwhile, or it has lost its place to another unit
                return !*e->record->displaced_by && data_node_of(l, u, e) != s->node &&
                       !has_lost_network(l, s) && !replacer_on(l, u, s->node);
        next = unit_on_node_find(u, u->node);
        if (next && runs(l, next)) // as one that ran on every node: its agent pulls before it stops it
                return false;
        return !next || !is_prepared(l, next, e);
}

bool image_move_prepares(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        if (s->unit->node != s->node || !is_container(e))
                return false;
        list_foreach (i, &s->unit->on_nodes) {
                const UnitOnNode *other = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (other != s && runs(l, other))
                        return true;
        }
        return false;
}
