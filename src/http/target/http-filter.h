// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What of a list somebody wants, as its target says: what the leader is asked for, and of which question a page is. Pure.

#include "http-target.h"
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
