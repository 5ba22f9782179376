// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests that start units, stop them, replace and move them.
#include "asks-private.h"

#include "unit-state.h"

static const Argosy__Verb verbs[] = {
        ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_START,  ARGOSY__VERB__VERB_START,
        ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_STOP,   ARGOSY__VERB__VERB_LOAD,
        ARGOSY__VERB__VERB_UNLOAD,  ARGOSY__VERB__VERB_SUBMIT, ARGOSY__VERB__VERB_RESTART,
        ARGOSY__VERB__VERB_RESTART, ARGOSY__VERB__VERB_DESTROY};

static bool brings_file(Argosy__Verb verb) {
        return verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD ||
               verb == ARGOSY__VERB__VERB_SUBMIT;
}

// A request has a file once, for whichever units it is.
static bool has_file(const Argosy__Request__Change *m, const char *name) {
        for (size_t i = 0; i < m->n_files; i++)
                if (strcmp(m->files[i]->name, name) == 0)
                        return true;
        return false;
}

static void name_unit(Draw *d, Argosy__Request__Change *m, const WorldUnit *u) {
        m->names[m->n_names++] = (char *) u->name;
        if (brings_file(m->verb) && draw_below(d, 8) > 0 && !has_file(m, u->file))
                m->files[m->n_files++] = asks_file(d, u);
}

// What is not there is started, most of the time.
static Argosy__Verb draw_verb(Draw *d, const WorldUnit *u) {
        return !asks_record(u->name) && draw_below(d, 6) > 0 ? ARGOSY__VERB__VERB_START
                                                             : DRAW_PICK(d, verbs);
}

static void begin_change(Draw *d, Argosy__Request__Change *m, const WorldUnit *first, size_t n_max) {
        m->id = asks_id();
        m->verb = draw_verb(d, first);
        m->names = asks_alloc(n_max * sizeof(*m->names));
        m->files = asks_alloc(n_max * sizeof(*m->files));
        m->replace = draw_one_in(d, 2);
        m->preview = asks.swarm.loads[LOAD_looks] && draw_one_in(d, 8);
        (void) draw_one_in(d, 4); // nothing follows from it; what is drawn behind it stays what it was
        m->unpinned = asks.swarm.containers > 0 && draw_one_in(d, 12);
        asks.unpinned |= m->unpinned;
}

bool ask_change(Draw *d, void *message) {
        const WorldUnit *u = world_unit_draw(d);

        begin_change(d, message, u, 1);
        name_unit(d, message, u);
        return true;
}

// A row of them, of which each is named once, as a range would be.
bool ask_change_several(Draw *d, void *message) {
        unsigned all = (unsigned) asks.n_units, n = draw_one_in(d, 3) ? all : 1 + draw_below(d, all),
                 from = draw_below(d, all);

        begin_change(d, message, &asks.units[from], n);
        for (unsigned i = 0; i < n; i++)
                name_unit(d, message, &asks.units[(from + i) % all]);
        return true;
}

// A range of the crowd.
bool ask_change_crowd(Draw *d, void *message) {
        unsigned all = asks.swarm.crowd, n, from;

        if (all == 0)
                return false;
        n = draw_one_in(d, 3) ? all : (unsigned) draw_log(d, 1, all);
        from = draw_below(d, all - n + 1);
        begin_change(d, message, &asks.crowd[from], n);
        for (unsigned i = 0; i < n; i++)
                name_unit(d, message, &asks.crowd[from + i]);
        return true;
}

// -------------------------------------------------------------------------------------- one after the other

bool ask_rollout(Draw *d, void *message) {
        const WorldUnit *u = world_unit_draw(d);
        Argosy__Request__Rollout *m = message;

        m->id = asks_id();
        m->name = (char *) (draw_below(d, 4) > 0 ? u->file : u->name);
        m->kind = draw_one_in(d, 2) ? ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
                                    : ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART;
        m->abort = draw_one_in(d, 8);
        if (m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE && !m->abort && draw_below(d, 4) > 0)
                m->file = asks_file(d, u);
        if (m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART && asks.swarm.loads[LOAD_secrets] &&
            draw_one_in(d, 3))
                m->secret = (char *) asks_secret(d);
        m->max_unavailable = draw_below(d, 4);
        if (draw_one_in(d, 6)) {
                m->max_unavailable = 1 + draw_below(d, 100);
                m->percent = true;
        }
        m->health_us = draw_one_in(d, 2) ? draw_log(d, 1, 5000000) : 0;
        m->pull = asks.swarm.containers > 0 && m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE &&
                  !m->abort && draw_one_in(d, 2);
        return true;
}

bool ask_rebalance(Draw *d, void *message) {
        Argosy__Request__Rebalance *m = message;

        m->id = asks_id();
        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        m->max_moves = draw_below(d, 4);
        m->preview = draw_one_in(d, 4);
        m->abort = !m->preview && draw_one_in(d, 6);
        m->no_wait = draw_one_in(d, 4);
        m->health_us = draw_one_in(d, 2) ? draw_log(d, 1, 5000000) : 0;
        return true;
}
