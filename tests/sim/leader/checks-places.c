// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where units may be, judged from what is known of their contents and from the records of hosts alone. A
// unit that an entry places was allowed there when the entry was made.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

uint32_t places_host_of(uint32_t node) {
        const Argosy__HostRecord *h = node ? cluster_state_find_host_by_node(world.rig.state, node) : NULL;

        return h ? h->host : 0;
}

bool places_lies(uint32_t node) {
        uint32_t host = places_host_of(node);

        return host > 0 && host <= asks.swarm.hosts && world_host_lies(host);
}

bool places_is_in_session(uint32_t node) {
        uint32_t host = places_host_of(node);
        const RigHost *h = host > 0 && host <= asks.swarm.hosts ? rig_host(&world.rig, host) : NULL;

        return h && h->up && h->linked && h->attached && h->virtual.welcomed && !h->lies && !h->reason;
}

// What is not off a node by then is stopped: that comes by itself.
bool places_has_deadline(uint32_t node) {
        const Argosy__HostRecord *h = node ? cluster_state_find_host_by_node(world.rig.state, node) : NULL;

        for (size_t i = 0; h && i < h->n_nodes; i++)
                if (h->nodes[i]->mode_deadline_us > 0)
                        return true;
        return false;
}

bool places_is_emptied(uint32_t node) {
        const Argosy__HostRecord *h = node ? cluster_state_find_host_by_node(world.rig.state, node) : NULL;

        for (size_t i = 0; h && i < h->n_nodes; i++)
                if (h->nodes[i]->node == node)
                        return h->nodes[i]->mode >= ARGOSY__NODE_MODE__MODE_DRAINING;
        return false;
}

// Zones of hosts, and nodes that take units, as they were before the entry and are behind it: who decides
// sees the former, and may change it in the same entry.
enum { NODES_KNOWN = 64, ZONE_SIZE = 16 };
typedef struct Nodes {
        char zones[NODES_KNOWN + 1][ZONE_SIZE]; // by host
        uint64_t open;                          // bit N-1 of each node
} Nodes;

static Nodes before, now;

static void read_nodes(void) {
        before = now;
        memset(&now, 0, sizeof(now));
        for (const Argosy__HostRecord *h = cluster_state_next_host(world.rig.state, 0); h;
             h = cluster_state_next_host(world.rig.state, h->host)) {
                for (size_t i = 0; i < h->n_labels && h->host <= NODES_KNOWN; i++)
                        if (strcmp(h->labels[i]->key, "zone") == 0)
                                snprintf(now.zones[h->host], ZONE_SIZE, "%s", h->labels[i]->value);
                for (size_t i = 0; i < h->n_nodes; i++)
                        if (h->nodes[i]->node <= NODES_KNOWN &&
                            h->nodes[i]->mode == ARGOSY__NODE_MODE__MODE_OPEN)
                                now.open |= UINT64_C(1) << (h->nodes[i]->node - 1);
        }
}

void places_begin(void) {
        read_nodes();
}

const char *places_zone_of(uint32_t host) {
        return host <= NODES_KNOWN ? now.zones[host] : NULL;
}

const char *places_former_zone_of(uint32_t host) {
        return host <= NODES_KNOWN ? before.zones[host] : NULL;
}

bool places_is_certain(uint32_t host) {
        const RigHost *h = rig_host(&world.rig, host);
        const Argosy__HostRecord *r = cluster_state_find_host(world.rig.state, host);
        uint32_t node = r && r->n_nodes > 0 ? r->nodes[0]->node : 0;

        if (!node || node > NODES_KNOWN || !h->up || !h->linked || !h->attached || !h->virtual.welcomed ||
            h->lies || h->deaf || h->reason)
                return false;
        return before.open & now.open & UINT64_C(1) << (node - 1) &&
               strcmp(before.zones[host], now.zones[host]) == 0 && heard_is_lively(host);
}

static unsigned conflicts_of(unsigned i) {
        const WorldContent *c = log_content(&log_truth.units[i]);

        return c ? c->conflicts & ~(1u << i) : 0;
}

// Whether the content of either forbids the other's company.
static bool are_in_conflict(unsigned i, unsigned k) {
        return i != k && ((conflicts_of(i) & 1u << k) || (conflicts_of(k) & 1u << i));
}

// Whether the other's content has it leave, and stay away from, the node that the other is given.
static bool is_replaced_by(unsigned i, unsigned k) {
        const WorldContent *c = log_content(&log_truth.units[k]);

        return c && c->replaces & 1u << i;
}

bool places_are_barred(unsigned i) {
        int partner = world_unit_partner(i);

        if (partner >= 0 && log_truth.units[partner].exists)
                return true; // they go together, as far as the contents of both let them
        for (unsigned k = 0; k < asks.n_units; k++)
                if (log_truth.units[k].exists && (are_in_conflict(i, k) || is_replaced_by(i, k)))
                        return true;
        return heard_was_refused(i);
}

bool places_any_open(void) {
        for (uint32_t n = 1; n <= asks.swarm.hosts; n++)
                if (rig_host(&world.rig, n)->up && now.open & UINT64_C(1) << (n - 1))
                        return true;
        return false;
}

unsigned places_n_down(void) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                n += !rig_host(&world.rig, i)->up && world_is_member(i);
        return n;
}

// Units that have got another content where they are. They stay there, whatever that says of others; also
// with the content of before, if they have that again: meanwhile others may have come.
static bool has_new_content[WORLD_UNITS_MAX];

static void note_place(const struct LogTouched *t) {
        if (!t->before.exists || t->before.node != t->after.node)
                has_new_content[t->unit] = false;
        else
                has_new_content[t->unit] |= memcmp(&t->before.spec, &t->after.spec, sizeof(Hash)) != 0;
}

static int find_conflict(unsigned i) {
        const LogUnit *u = &log_truth.units[i], *other;

        for (unsigned k = 0; k < asks.n_units; k++) {
                other = &log_truth.units[k];
                if (are_in_conflict(i, k) && other->exists && other->node > 0 && other->node == u->node &&
                    other->target >= ARGOSY__TARGET__TARGET_LOADED && !has_new_content[k])
                        return (int) k;
        }
        return -1;
}

static const char *why_not(unsigned i, uint32_t host) {
        static char with[96];
        const WorldContent *c = world_content_find(log_truth.units[i].spec.bytes);

        if (c && c->hosts && !(c->hosts & 1u << (host - 1)))
                return "which its Host= does not name";
        if (c && c->zone && strcmp(now.zones[host], c->zone) != 0 &&
            strcmp(before.zones[host], c->zone) != 0)
                return "which has not the label that it requires";
        if (find_conflict(i) >= 0)
                snprintf(with, sizeof(with), "where %s is, with which it is in conflict",
                         asks.units[find_conflict(i)].name);
        return find_conflict(i) >= 0 ? with : NULL;
}

static void one_place(const struct LogTouched *t) {
        const LogUnit *u = &log_truth.units[t->unit];
        const WorldContent *c = log_content(u);
        const char *name = asks.units[t->unit].name, *why;
        uint32_t host = places_host_of(u->node);

        if (!c || u->node == 0 || (t->before.exists && t->before.node == u->node) ||
            (host && places_lies(u->node)))
                return;
        if (!host && before.open & UINT64_C(1) << (u->node - 1))
                return; // its host leaves by the same entry
        if (!host)
                check_fail("placed-where-open", "%s is placed on a node that no host has", name);
        why = why_not(t->unit, host);
        if (why)
                check_fail("placed-where-allowed", "%s is placed on n%u, %s", name, host, why);
        if (c->picky)
                check_says("placed-where-allowed");
        if (!((before.open | now.open) & UINT64_C(1) << (u->node - 1)))
                check_fail("placed-where-open", "%s is placed on a node of n%u, which takes none", name,
                           host);
        check_says("placed-where-open");
}

void places_on_entry(const Argosy__LogBatch *batch) {
        read_nodes();
        for (size_t i = 0; i < log_truth.n_touched; i++)
                note_place(&log_truth.touched[i]);
        for (size_t i = 0; i < log_truth.n_touched; i++)
                one_place(&log_truth.touched[i]);
}

void conflicts_on_calm(void) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                int k = log_truth.units[i].exists && !has_new_content[i] ? find_conflict(i) : -1;

                if (k >= 0)
                        check_fail("conflicts-are-apart", "%s and %s are on one node, and are in conflict",
                                   asks.units[i].name, asks.units[k].name);
                if (conflicts_of(i) && log_truth.units[i].node > 0)
                        check_says("conflicts-are-apart");
        }
}
