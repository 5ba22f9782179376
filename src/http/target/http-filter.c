// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The leader looks at the filter; of states and nodes the thread does so, too (http_target_wants()). A question's number is a
// checksum, and not a secret: who makes up a page gets rows that he may see, of another place.

#include "http-filter.h"

#include <string.h>

#include "hash.h"
#include "str.h"

static void add_label(HttpFilter *f, const char *text) {
        size_t i = f->m.n_labels++, key = strcspn(text, "=");

        memcpy(f->keys[i], text, key); // it was parsed
        f->keys[i][key] = '\0';
        argosy__label__init(&f->labels[i]);
        f->labels[i].key = f->keys[i];
        f->labels[i].value = (char *) text + key + 1;
        f->pointers[i] = &f->labels[i];
}

static bool is_of_pages(const HttpTarget *t) {
        return (t->resource == HTTP_UNITS || t->resource == HTTP_UNIT_FILES) && (t->limit > 0 || *t->page.unit);
}

Argosy__ListFilter *http_filter_of(const HttpTarget *t, HttpFilter *f) {
        if (!http_target_is_tagged(t) && t->n_states == 0 && t->n_nodes == 0 && t->n_labels == 0 && !is_of_pages(t))
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
        f->m.tagged = http_target_is_tagged(t);
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

static char *thing_of(const HttpTarget *t) {
        switch (t->resource) {
        case HTTP_JOBS:
                return "jobs";
        case HTTP_HISTORY:
                return "history";
        case HTTP_UNIT_FILES:
                return "unit-files";
        default:
                return "units";
        }
}

uint32_t http_filter_question(const HttpTarget *t) {
        char *thing = thing_of(t);
        uint32_t crc = add_texts(0, 'r', &thing, 1);

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
