// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which rows of a list somebody has asked for. A name that is left out is not looked at; of the others rows
// are made, and those that nobody wants are dropped again.

#include "cluster-state.h"
#include "map.h"

typedef struct RowFilter {
        const Argosy__ListFilter *m; // the request's; NULL: nothing is left out
        char **nodes;                // that have the labels, if there are any
        size_t n_nodes;
        Map by_name; // of these
        bool looked;
        uint64_t hosts_revision; // as of which they are, once that was
} RowFilter;

void row_filter_init(RowFilter *f, const Argosy__ListFilter *m);
void row_filter_done(RowFilter *f);
// Hosts have come, gone, or been given other labels. 0 or -ENOMEM.
int row_filter_find_nodes(RowFilter *f, const ClusterState *state) _warn_unused_;
// 0: none.
size_t row_filter_limit(const RowFilter *f);
// Whether there can be rows of that unit: they do not all stand before the first one.
bool row_filter_wants_name(const RowFilter *f, const char *unit);
bool row_filter_wants_unit(const RowFilter *f, const Argosy__Response__UnitRow *row);
bool row_filter_wants_file(const RowFilter *f, const Argosy__Response__UnitFileRow *row);
bool row_filter_wants_host(const Argosy__ListFilter *m, const Argosy__HostRecord *host);
// Whether there is anything to be looked at.
bool row_filter_is_any(const Argosy__ListFilter *m);
