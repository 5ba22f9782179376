// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader looks at the filter; of states and nodes the thread does so, too (http_filter_wants_unit()). A
// question's number is a checksum, and not a secret: a client that makes up a page gets rows of another
// place, all of which it may see.

#include "http-filter.h"

#include <string.h>

#include "hash.h"
#include "macro.h"
#include "message-of.h"
#include "state-words.h"
#include "str.h"

static void add_label(HttpFilter *f, const char *text) {
        size_t i = f->m.n_labels++, key = strcspn(text, "=");

        memcpy(f->keys[i], text, key); // it was parsed
        f->keys[i][key] = '\0';
        f->labels[i] =
                (Argosy__Label) MESSAGE_OF(label, .key = f->keys[i], .value = (char *) text + key + 1);
        f->pointers[i] = &f->labels[i];
}

static bool is_of_pages(const HttpTarget *t) {
        return http_resource_is(t->resource, HTTP_IS_TAGGED) && (t->limit > 0 || *t->page.unit);
}

Argosy__ListFilter *http_filter_of(const HttpTarget *t, HttpFilter *f) {
        if (!http_resource_is(t->resource, HTTP_IS_TAGGED) && t->n_states == 0 && t->n_nodes == 0 &&
            t->n_labels == 0 && !is_of_pages(t))
                return NULL;
        argosy__list_filter__init(&f->m);
        f->m.states = (char **) t->states;
        f->m.n_states = t->n_states;
        f->m.nodes = (char **) t->nodes;
        f->m.n_nodes = t->n_nodes;
        f->m.labels = f->pointers;
        for (size_t i = 0; i < t->n_labels; i++)
                add_label(f, t->labels[i]);
        f->m.limit = t->limit;
        f->m.after = (char *) t->page.unit;
        f->m.after_node = (char *) t->page.node;
        f->m.tagged = http_resource_is(t->resource, HTTP_IS_TAGGED);
        if (t->known)
                f->m.known = t->known;
        return &f->m;
}

// With its NUL, and behind a letter for each list.
static uint32_t add_texts(uint32_t crc, char kind, char *const *texts, size_t n) {
        crc = crc32c(crc, &kind, 1);
        for (size_t i = 0; i < n; i++)
                crc = crc32c(crc, texts[i], strlen(texts[i]) + 1);
        return crc;
}

// The list, as its path names it.
static uint32_t add_list(uint32_t crc, const HttpResourceRow *of) {
        const char *path = of->takes & TAKES_PAGE ? of->path : http_resource(HTTP_UNITS)->path;
        const char *name = path + strlen("/v1/");

        crc = crc32c(crc, "r", 1);
        crc = crc32c(crc, name, strcspn(name, "/"));
        return crc32c(crc, "", 1);
}

uint32_t http_filter_question(const HttpTarget *t) {
        uint32_t crc = add_list(0, http_resource(t->resource));

        crc = add_texts(crc, 'u', &t->name, t->name != NULL);
        crc = add_texts(crc, 'p', t->patterns, t->n_patterns);
        crc = add_texts(crc, 's', t->states, t->n_states);
        crc = add_texts(crc, 'n', t->nodes, t->n_nodes);
        crc = add_texts(crc, 'l', t->labels, t->n_labels);
        return add_texts(crc, 'a', &t->author, t->author != NULL);
}

static bool set_place(HttpPage *ret, const char *unit, const char *node) {
        *ret = (HttpPage){};
        return str_copy(ret->unit, sizeof(ret->unit), unit) && str_copy(ret->node, sizeof(ret->node), node);
}

bool http_filter_next(const Argosy__Response *r, HttpPage *ret) {
        const Argosy__Response__UnitRow *row;

        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                if (!r->units->more || r->units->n_rows == 0)
                        return false;
                row = r->units->rows[r->units->n_rows - 1];
                return set_place(ret, row->unit, row->node);
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                return r->unit_files->more && r->unit_files->n_rows > 0 &&
                       set_place(ret, r->unit_files->rows[r->unit_files->n_rows - 1]->unit, "");
        case ARGOSY__RESPONSE__WHAT_JOBS:
                *ret = (HttpPage){.before = r->jobs->before};
                return r->jobs->before > 0;
        default:
                return false;
        }
}

// ---- rows

static bool wants_node(const HttpTarget *t, const char *node) {
        for (size_t i = 0; i < t->n_nodes; i++)
                if (streq(node, t->nodes[i]))
                        return true;
        return t->n_nodes == 0;
}

static bool is_asked_for(const HttpTarget *t, const char *node, const char *const states[], size_t n) {
        if (!wants_node(t, node))
                return false;
        for (size_t i = 0; i < t->n_states; i++)
                for (size_t k = 0; k < n; k++)
                        if (streq(states[k], t->states[i]))
                                return true;
        return t->n_states == 0;
}

bool http_filter_wants_unit(const HttpTarget *t, const void *a_row, const Argosy__Response *of) {
        const Argosy__Response__UnitRow *row = a_row;

        if (!wants_node(t, row->node))
                return false;
        for (size_t i = 0; i < t->n_states; i++)
                if (state_word_fits_unit(t->states[i], row))
                        return true;
        return t->n_states == 0;
}

bool http_filter_wants_file(const HttpTarget *t, const void *a_row, const Argosy__Response *of) {
        const Argosy__Response__UnitFileRow *row = a_row;
        const char *const states[] = {row->desired, row->state};

        return is_asked_for(t, row->node, states, ELEMENTSOF(states));
}

bool http_filter_wants_row_of_node(const HttpTarget *t, const void *a_row, const Argosy__Response *of) {
        const Argosy__Response__NodeRow *row = a_row;
        const char *const states[] = {row->state, row->mode};

        return is_asked_for(t, row->node, states, ELEMENTSOF(states));
}

bool http_filter_wants_host(const HttpTarget *t, const void *a_row, const Argosy__Response *of) {
        const Argosy__Response__ClusterStatus__Member *row = a_row;
        const char *const states[] = {row->state};

        return is_asked_for(t, row->name, states, ELEMENTSOF(states));
}

bool http_filter_wants_usage(const HttpTarget *t, const void *row, const Argosy__Response *of) {
        return wants_node(t, of->usage->node);
}
