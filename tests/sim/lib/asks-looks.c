// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests that only look: lists, contents, reasons, and what hosts themselves say.
#include "asks-private.h"

bool ask_nothing_more(Draw *d, void *message) {
        return true;
}

static const char *draw_state(Draw *d) {
        static const char *const states[] = {"active", "inactive", "failed",   "running",
                                             "dead",   "loaded",   "launched", "activating"};

        return DRAW_PICK(d, states);
}

static const char *draw_node(Draw *d) {
        return asks_node(d);
}

static Argosy__ListFilter *draw_filter(Draw *d) {
        Argosy__ListFilter *f;

        if (draw_one_in(d, 2))
                return NULL;
        f = ASKS_NEW(Argosy__ListFilter, argosy__list_filter__init);
        f->states = asks_words(d, &f->n_states, 2, draw_state);
        f->nodes = asks_words(d, &f->n_nodes, 2, draw_node);
        f->labels = asks_labels(d, &f->n_labels, 1);
        f->limit = draw_one_in(d, 2) ? 1 + draw_below(d, 4) : 0;
        if (draw_one_in(d, 3)) {
                f->after = (char *) asks_unit(d);
                f->after_node = (char *) (draw_one_in(d, 2) ? asks_node(d) : "");
        }
        f->tagged = draw_one_in(d, 3);
        return f;
}

bool ask_list_units(Draw *d, void *message) {
        Argosy__Request__ListUnits *m = message;

        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        m->parts = draw_one_in(d, 2);
        m->filter = draw_filter(d);
        return true;
}

bool ask_list_unit_files(Draw *d, void *message) {
        Argosy__Request__ListUnitFiles *m = message;

        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        m->parts = draw_one_in(d, 2);
        m->filter = draw_filter(d);
        return true;
}

bool ask_list_nodes(Draw *d, void *message) {
        Argosy__Request__ListNodes *m = message;

        if (draw_one_in(d, 3)) {
                m->filter = ASKS_NEW(Argosy__ListFilter, argosy__list_filter__init);
                m->filter->labels = asks_labels(d, &m->filter->n_labels, 2);
        }
        return true;
}

bool ask_role_list(Draw *d, void *message) {
        Argosy__Request__RoleList *m = message;

        m->names = asks_words(d, &m->n_names, 2, asks_role);
        return true;
}

bool ask_pool_list(Draw *d, void *message) {
        Argosy__Request__PoolList *m = message;

        m->names = asks_words(d, &m->n_names, 2, asks_pool);
        return true;
}

bool ask_cat(Draw *d, void *message) {
        Argosy__Request__Cat *m = message;

        m->names = asks_words(d, &m->n_names, 3, asks_unit);
        if (m->n_names > 0 && draw_one_in(d, 3)) {
                m->revs = asks_alloc(m->n_names * sizeof(*m->revs));
                while (m->n_revs < m->n_names)
                        m->revs[m->n_revs++] = (char *) asks_rev(d);
        }
        return m->n_names > 0;
}

bool ask_why(Draw *d, void *message) {
        Argosy__Request__Why *m = message;

        m->names = asks_words(d, &m->n_names, 3, asks_unit);
        return m->n_names > 0;
}

// ------------------------------------------------------------------------------------------- what hosts say

bool ask_status(Draw *d, void *message) {
        Argosy__Request__Status *m = message;

        m->names = asks_words(d, &m->n_names, 3, asks_unit);
        m->lines = draw_below(d, 10);
        m->cause_within_ms = draw_one_in(d, 4) ? draw_log(d, 1, 60000) : 0;
        return m->n_names > 0;
}

bool ask_journal(Draw *d, void *message) {
        Argosy__Request__Journal *m = message;

        m->name = (char *) asks_unit(d);
        m->lines = draw_below(d, 10);
        m->follow = draw_one_in(d, 3);
        m->node = (char *) (draw_one_in(d, 3) ? asks_node(d) : "");
        m->window = draw_one_in(d, 2) ? (uint32_t) draw_log(d, 1, 65536) : 0;
        m->says_read = draw_one_in(d, 4);
        return true;
}

bool ask_top(Draw *d, void *message) {
        Argosy__Request__Top *m = message;

        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        m->node = (char *) (draw_one_in(d, 3) ? asks_node(d) : "");
        m->interval_ms = draw_one_in(d, 3) ? (uint32_t) draw_log(d, 100, 5000) : 0;
        return true;
}

bool ask_verify(Draw *d, void *message) {
        Argosy__Request__Verify *m = message;

        m->files = asks_alloc(sizeof(*m->files));
        m->files[m->n_files++] = asks_file(d, world_unit_draw(d));
        m->node = (char *) (draw_one_in(d, 2) ? asks_node(d) : "");
        return true;
}
