// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The rules of include/placement.h, read off the page: every question looks at everything. Numbers are
// those of the Placement that it is compared with. Specs, names and labels are borrowed. Allocations that
// fail abort.

#include "placement.h"

typedef struct BruteHost {
        PlacementVector offers;
        uint32_t size;
        PlacementVector used;
} BruteHost;

typedef struct BruteNode {
        bool present;
        uint32_t host;
        PlacementState state;
        const PlacementLabel *labels;
        size_t n_labels;
        uint32_t *units, n_units, allocated;
} BruteNode;

typedef struct BruteUnit {
        bool present, wanted;
        const char *name;
        const PlacementSpec *spec;
        uint32_t node, home, place; // in the node's list
} BruteUnit;

typedef struct Brute {
        BruteHost *hosts;
        BruteNode *nodes;
        BruteUnit *units;
        uint32_t n_hosts, n_nodes, n_units;
        // Told, not chosen: all have one priority, and the host keeps this much for that unit as long as it
        // waits.
        bool keeps;
        uint32_t kept_host, kept_unit;
        PlacementVector kept;
} Brute;

void brute_done(Brute *b);
void brute_host(Brute *b, uint32_t host, const PlacementVector *offers, uint32_t size);
void brute_node(Brute *b, uint32_t node, uint32_t host, const PlacementLabel *labels, size_t n);
void brute_unit(Brute *b, uint32_t unit, const char *name, const PlacementSpec *spec); // on no node
void brute_put(Brute *b, uint32_t unit, uint32_t node);
void brute_drop(Brute *b, uint32_t unit);
bool brute_eligible(const Brute *b, uint32_t unit, uint32_t node);
bool brute_admits(const Brute *b, const PlacementSpec *spec, uint32_t node); // by its labels
bool brute_conflict(const Brute *b, uint32_t unit, uint32_t node);           // with another one there
bool brute_must_go(const Brute *b, uint32_t unit); // from the node where it is
// The node that it is to get, or PLACEMENT_NONE.
uint32_t brute_choose(const Brute *b, uint32_t unit);
// How many of the spec's group are in the domain that the node is in.
uint32_t brute_in_domain(const Brute *b, const PlacementSpec *spec, uint32_t node);
