// SPDX-License-Identifier: LGPL-2.1-or-later
//
// All that is asked for has to be true of a row: one of the states, one of the nodes, every label, and a
// place behind the last row of the page before. That place is a name and a node, and nothing else is kept of
// a page: so whatever came or went meanwhile, and under any leader, what stayed is given once.
//
// Labels are those of hosts. Nodes that have them are found once for a list, and again after any host has
// changed.

#include "row-filter.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "manager-name.h"
#include "state-words.h"
#include "str.h"

void row_filter_init(RowFilter *f, const Argosy__ListFilter *m) {
        *f = (RowFilter){.m = m};
}

static void forget_nodes(RowFilter *f) {
        map_done(&f->by_name);
        for (size_t i = 0; i < f->n_nodes; i++)
                free(f->nodes[i]);
        free(f->nodes);
        f->nodes = NULL;
        f->n_nodes = 0;
        f->by_name = (Map){};
}

void row_filter_done(RowFilter *f) {
        forget_nodes(f);
}

static bool has_label(const Argosy__HostRecord *host, const Argosy__Label *label) {
        for (size_t i = 0; i < host->n_labels; i++)
                if (streq(host->labels[i]->key, label->key) && streq(host->labels[i]->value, label->value))
                        return true;
        return false;
}

bool row_filter_wants_host(const Argosy__ListFilter *m, const Argosy__HostRecord *host) {
        for (size_t i = 0; m && i < m->n_labels; i++)
                if (!has_label(host, m->labels[i]))
                        return false;
        return true;
}

static int add_nodes(RowFilter *f, const Argosy__HostRecord *host) {
        for (size_t i = 0; i < host->n_nodes; i++) {
                if (ARRAY_RESERVE(f->nodes, f->n_nodes + 1) < 0)
                        return -ENOMEM;
                f->nodes[f->n_nodes] = manager_node_name(host->name, host->nodes[i]->manager);
                if (!f->nodes[f->n_nodes])
                        return -ENOMEM;
                f->n_nodes++;
                if (!map_find_str(&f->by_name, f->nodes[f->n_nodes - 1]) &&
                    map_add_str(&f->by_name, f->nodes[f->n_nodes - 1], f) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int row_filter_find_nodes(RowFilter *f, const ClusterState *state) {
        uint64_t revision = cluster_state_hosts_revision(state);
        const HostEntry *hosts;
        size_t n;
        int r = 0;

        if (!f->m || f->m->n_labels == 0 || (f->looked && f->hosts_revision == revision))
                return 0;
        forget_nodes(f);
        hosts = cluster_state_hosts(state, &n);
        for (size_t i = 0; i < n && r == 0; i++)
                if (row_filter_wants_host(f->m, hosts[i].record))
                        r = add_nodes(f, hosts[i].record);
        f->hosts_revision = revision;
        f->looked = r == 0;
        return r;
}

size_t row_filter_limit(const RowFilter *f) {
        return f->m ? f->m->limit : 0;
}

bool row_filter_is_any(const Argosy__ListFilter *m) {
        return m && (m->n_states > 0 || m->n_nodes > 0 || m->n_labels > 0 || m->limit > 0 || *m->after ||
                     m->tagged);
}

bool row_filter_wants_name(const RowFilter *f, const char *unit) {
        int order = f->m && *f->m->after ? strcmp(unit, f->m->after) : 1;

        return order > 0 || (order == 0 && *f->m->after_node);
}

static bool is_on(const RowFilter *f, const char *node) {
        const Argosy__ListFilter *m = f->m;
        bool named = m->n_nodes == 0;

        for (size_t i = 0; i < m->n_nodes && !named; i++)
                named = streq(m->nodes[i], node);
        return named && (m->n_labels == 0 || map_find_str(&f->by_name, node));
}

static bool is_behind(const Argosy__ListFilter *m, const char *unit, const char *node) {
        int order = *m->after ? strcmp(unit, m->after) : 1;

        return order > 0 || (order == 0 && *m->after_node && strcmp(node, m->after_node) > 0);
}

bool row_filter_wants_unit(const RowFilter *f, const Argosy__Response__UnitRow *row) {
        const Argosy__ListFilter *m = f->m;
        bool is_so;

        if (!m)
                return true;
        is_so = m->n_states == 0;
        for (size_t i = 0; i < m->n_states && !is_so; i++)
                is_so = state_word_fits_unit(m->states[i], row);
        return is_so && is_on(f, row->node) && is_behind(m, row->unit, row->node);
}

bool row_filter_wants_file(const RowFilter *f, const Argosy__Response__UnitFileRow *row) {
        const Argosy__ListFilter *m = f->m;
        bool is_so;

        if (!m)
                return true;
        is_so = m->n_states == 0;
        for (size_t i = 0; i < m->n_states && !is_so; i++)
                is_so = streq(row->desired, m->states[i]) || streq(row->state, m->states[i]);
        return is_so && is_on(f, row->node) && is_behind(m, row->unit, "");
}
