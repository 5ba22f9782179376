// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What of a list somebody wants, as its target says: what the leader is asked for, and of which question a
// page is. Pure.

#include "http-resource.h"
#include "unit-options.h"

typedef struct HttpFilter {
        Argosy__ListFilter m; // points into the target, and in here
        Argosy__Label labels[HTTP_LABELS_MAX], *pointers[HTTP_LABELS_MAX];
        char keys[HTTP_LABELS_MAX][LABEL_MAX + 1];
} HttpFilter;

// To be sent with a question for units, unit files or nodes. NULL: all of them are wanted.
Argosy__ListFilter *http_filter_of(const HttpTarget *t, HttpFilter *f);
// A number that a page of another list, or one with other filters, does not have.
uint32_t http_filter_question(const HttpTarget *t);
// Where the list goes on behind this part, which is its last. False: nowhere.
bool http_filter_next(const Argosy__Response *r, HttpPage *ret);
// Whether a row is in the states, and on the nodes, that were asked for. A leader may be of a version that
// looks at less.
bool http_filter_wants_unit(const HttpTarget *t, const void *row, const Argosy__Response *of);
bool http_filter_wants_file(const HttpTarget *t, const void *row, const Argosy__Response *of);
bool http_filter_wants_row_of_node(const HttpTarget *t, const void *row, const Argosy__Response *of);
// of a ClusterStatus
bool http_filter_wants_host(const HttpTarget *t, const void *row, const Argosy__Response *of);
bool http_filter_wants_usage(const HttpTarget *t, const void *row, const Argosy__Response *of);
