// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a node may run a unit, by what the unit's options say of nodes, whatever units and room are there.
// The Placement is given the same terms and labels (scheduler-spec.c), so both say the same. Labels that
// begin with '@' are facts of the host, not people's: @id (machine id), @host (name), @manager.
//
// Pure. Terms and labels borrow the texts of the options and of the records.

#include "cluster-state.h"
#include "placement.h"
#include "unit-file.h"

enum { ELIGIBILITY_TERMS_MAX = UNIT_FILE_VALUES_MAX + 4 };

typedef struct EligibilityTerms { // all are to be met
        PlacementTerm of[ELIGIBILITY_TERMS_MAX];
        size_t n;
        const char *id[2];
} EligibilityTerms;

// *ret is not to be moved: a term borrows from it.
void eligibility_terms(const UnitOptions *o, EligibilityTerms *ret);
// Whether they say anything of nodes. All that ask for no manager say that they run in system managers only:
// that is nothing.
bool eligibility_narrows(const UnitOptions *o);
PlacementTerm eligibility_term(const LabelMatch *m);

// A walk over the labels of a node; begins with `next` 0.
typedef struct NodeLabels {
        const ClusterState *state; // its pools: a host of one has the label PLACEMENT_POOL with its name
        const Argosy__HostRecord *host;
        const char *manager;
        const char *changed; // this pool is to be as `pool` says, NULL: not at all; changed NULL: none is
        const Argosy__PoolRecord *pool;
        size_t next;
} NodeLabels;

bool node_labels_next(NodeLabels *walk, PlacementLabel *ret); // false: there are no more
// The most that there can be.
size_t node_labels_max(const NodeLabels *walk);

// NULL: the node may run it. Else the first term that is not met.
const PlacementTerm *eligibility_unmet(const EligibilityTerms *terms, const NodeLabels *labels);
bool eligibility_admits_node(const UnitOptions *o, const NodeLabels *labels);
bool eligibility_admits(const ClusterState *state, const Argosy__HostRecord *host, const char *manager,
                        const UnitOptions *o);
