// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about units, their contents and their jobs.
#include "asks-private.h"

#include "unit-state.h"

static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START,  ARGOSY__VERB__VERB_START,   ARGOSY__VERB__VERB_START,
                                     ARGOSY__VERB__VERB_STOP,   ARGOSY__VERB__VERB_LOAD,    ARGOSY__VERB__VERB_UNLOAD,
                                     ARGOSY__VERB__VERB_SUBMIT, ARGOSY__VERB__VERB_RESTART, ARGOSY__VERB__VERB_DESTROY};

static bool brings_file(Argosy__Verb verb) {
        return verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD || verb == ARGOSY__VERB__VERB_SUBMIT;
}

static void change(Draw *d, Argosy__Request__Change *m, unsigned n) {
        m->id = asks_id();
        m->verb = DRAW_PICK(d, verbs);
        m->names = asks_alloc(n * sizeof(*m->names));
        m->files = asks_alloc(n * sizeof(*m->files));
        m->replace = draw_one_in(d, 2);
        m->dry_run = world.swarm.loads[LOAD_looks] && draw_one_in(d, 8);
        for (unsigned i = 0; i < n; i++) {
                const WorldUnit *u = world_unit_draw(d);

                m->names[m->n_names++] = (char *) u->name;
                if (brings_file(m->verb) && draw_below(d, 8) > 0)
                        m->files[m->n_files++] = asks_file(d, u);
        }
}

bool ask_change(Draw *d, void *message) {
        change(d, message, 1);
        return true;
}

bool ask_change_several(Draw *d, void *message) {
        change(d, message, 2 + draw_below(d, 6));
        return true;
}

bool ask_list_units(Draw *d, void *message) {
        Argosy__Request__ListUnits *m = message;

        m->parts = draw_one_in(d, 2);
        return true;
}

bool ask_undo(Draw *d, void *message) {
        Argosy__Request__Undo *m = message;

        m->job = asks_job(d);
        m->dry_run = draw_one_in(d, 6);
        m->only_untouched = draw_one_in(d, 4);
        m->force = !m->only_untouched && draw_one_in(d, 4);
        return true;
}
