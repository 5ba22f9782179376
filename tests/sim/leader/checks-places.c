// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where units may be, judged from what is known of their contents and from the records of hosts alone. A unit that an entry places was allowed
// there when the entry was made.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

static const Argosy__NodeRecord *node_of(uint32_t node) {
        const Argosy__HostRecord *h = cluster_state_find_host(world.rig.state, node);

        return h && h->n_nodes > 0 ? h->nodes[0] : NULL;
}

static const char *label_of(uint32_t node, const char *key) {
        const Argosy__HostRecord *h = cluster_state_find_host(world.rig.state, node);

        for (size_t i = 0; h && i < h->n_labels; i++)
                if (strcmp(h->labels[i]->key, key) == 0)
                        return h->labels[i]->value;
        return "";
}

static unsigned conflicts_of(unsigned i) {
        const WorldContent *c = log_truth.units[i].exists ? world_content_find(log_truth.units[i].spec.bytes) : NULL;

        return c ? c->conflicts & ~(1u << i) : 0;
}

// Whether the content of either forbids the other's company.
static bool are_in_conflict(unsigned i, unsigned k) {
        return i != k && ((conflicts_of(i) & 1u << k) || (conflicts_of(k) & 1u << i));
}

bool places_are_barred(unsigned i) {
        for (unsigned k = 0; k < world.n_units; k++)
                if (log_truth.units[k].exists && are_in_conflict(i, k))
                        return true;
        return heard_was_refused(i);
}

bool places_any_open(void) {
        for (uint32_t n = 1; n <= world.swarm.hosts; n++) {
                const Argosy__NodeRecord *node = node_of(n);

                if (rig_host(&world.rig, n)->up && node && node->mode == ARGOSY__NODE_MODE__MODE_OPEN)
                        return true;
        }
        return false;
}

const char *places_why_not(unsigned i, uint32_t n) {
        const LogUnit *u = &log_truth.units[i];
        const WorldContent *c = world_content_find(u->spec.bytes);

        if (!node_of(n))
                return "which no host has";
        if (c && c->hosts && !(c->hosts & 1u << (n - 1)))
                return "which its Host= does not name";
        if (c && c->zone && strcmp(label_of(n, "zone"), c->zone) != 0)
                return "which has not the label that it requires";
        for (unsigned k = 0; k < world.n_units; k++)
                if (are_in_conflict(i, k) && log_truth.units[k].exists && log_truth.units[k].node == n && log_truth.units[k].target >= ARGOSY__TARGET__TARGET_LOADED)
                        return "where one is that it conflicts with";
        return NULL;
}

// Nodes that were open before the entry, or are so behind it: bit N-1.
static uint64_t open_before, open_now;

static void read_nodes(void) {
        open_before = open_now;
        open_now = 0;
        for (uint32_t n = 1; n <= world.swarm.hosts; n++)
                if (node_of(n) && node_of(n)->mode == ARGOSY__NODE_MODE__MODE_OPEN)
                        open_now |= UINT64_C(1) << (n - 1);
}

void places_begin(void) {
        read_nodes();
}

static void one_place(const struct LogTouched *t) {
        const LogUnit *u = &log_truth.units[t->unit];
        const WorldContent *c = u->exists ? world_content_find(u->spec.bytes) : NULL;
        const char *why;

        if (!c || u->node == 0 || (t->before.exists && t->before.node == u->node))
                return;
        why = places_why_not(t->unit, u->node);
        if (why)
                check_fail("placed-where-allowed", "%s is placed on n%u, %s", world.units[t->unit].name, u->node, why);
        if (c->picky)
                check_says("placed-where-allowed");
        if (!((open_before | open_now) & UINT64_C(1) << (u->node - 1)))
                check_fail("placed-where-open", "%s is placed on n%u, which takes none", world.units[t->unit].name, u->node);
        check_says("placed-where-open");
}

void places_on_entry(const Argosy__LogBatch *batch) {
        read_nodes();
        for (size_t i = 0; i < log_truth.n_touched; i++)
                one_place(&log_truth.touched[i]);
}
