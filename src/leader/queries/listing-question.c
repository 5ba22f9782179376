// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a question about units or unit files asks for: patterns, filter, whether it needs slices, and what is
// refused. listing_refuse() first -> listing_is_long() -> answer.c in one turn, or listings.c in slices.
// Refused: more than LISTED_GLOBS_MAX patterns, or one longer than LISTED_GLOB_MAX bytes. Nothing allocates
// but refusals.

#include "listing-question.h"

#include <errno.h>
#include <string.h>

#include "answer.h"
#include "response.h"
#include "row-filter.h"

char **listing_patterns(const Argosy__Request *q, size_t *ret_n) {
        if (q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                *ret_n = q->list_units->n_patterns;
                return q->list_units->patterns;
        }
        *ret_n = q->list_unit_files->n_patterns;
        return q->list_unit_files->patterns;
}

const Argosy__ListFilter *listing_filter(const Argosy__Request *q) {
        return q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS ? q->list_units->filter
                                                                : q->list_unit_files->filter;
}

// Only a leader has tables of units; other hosts count records.
static size_t count_units(const Leader *l) {
        return (l->leading ? l->units.count : cluster_state_n_units(l->state)) +
               cluster_state_n_tombstones(l->state);
}

static size_t count_nodes(const Leader *l) {
        const HostEntry *hosts;
        size_t n_hosts, n = 0;

        if (l->leading)
                return l->nodes.count;
        hosts = cluster_state_hosts(l->state, &n_hosts);
        for (size_t i = 0; i < n_hosts; i++)
                n += hosts[i].record->n_nodes;
        return n;
}

static size_t rows_of(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e && e->record->global ? count_nodes(l) : 1;
}

static bool is_long(const Leader *l, char *const *patterns, size_t n_patterns, bool files) {
        size_t n = count_units(l), rows = 0, n_globals;

        if (!files && answer_is_of_few_names(patterns, n_patterns)) {
                for (size_t i = 0; i < n_patterns; i++)
                        rows += rows_of(l, patterns[i]);
                return rows > l->limits.units_at_once;
        }
        (void) cluster_state_global_units(l->state, &n_globals);
        if (!files && n_globals > 0)
                rows = n_globals * count_nodes(l);
        return n + rows > l->limits.units_at_once || n * n_patterns > l->limits.compared_at_once;
}

bool listing_is_long(const Leader *l, const Argosy__Request *q) {
        size_t n;
        char **patterns = listing_patterns(q, &n);

        if (row_filter_is_any(listing_filter(q)))
                return true; // answer.c knows no filters
        return is_long(l, patterns, n, q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
}

static bool is_any_glob(char *const *patterns, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (answer_is_glob(patterns[i]))
                        return true;
        return false;
}

bool listing_compares_all(const Argosy__ListFilter *m, char *const *patterns, size_t n) {
        return m && m->limit > 0 && is_any_glob(patterns, n);
}

Argosy__Response *listing_refuse(const Argosy__Request *q) {
        size_t n, n_globs = 0;
        char **patterns = listing_patterns(q, &n);
        bool all = listing_compares_all(listing_filter(q), patterns, n);

        for (size_t i = 0; i < n; i++) {
                if (!all && !answer_is_glob(patterns[i]))
                        continue;
                if (strlen(patterns[i]) > LISTED_GLOB_MAX)
                        return response_error(EINVAL, "a pattern is longer than %d bytes", LISTED_GLOB_MAX);
                n_globs++;
        }
        if (n_globs > LISTED_GLOBS_MAX)
                return response_error(E2BIG,
                                      "the request has %zu patterns, more than %d: ask for fewer at once",
                                      n_globs, LISTED_GLOBS_MAX);
        return NULL;
}
