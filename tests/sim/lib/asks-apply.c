// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Folders: first it is only asked what would be done, and then that is asked for with what the answer said.
#include "asks-private.h"

static const char *const sets[] = {"shop", "farm"};

static const WorldContent *content_in(const Argosy__Request__Apply *m, const WorldUnit *u) {
        for (size_t i = 0; i < m->n_files; i++)
                if (m->files[i] && strcmp(m->files[i]->name, u->file) == 0)
                        return world_content_sent(m->files[i]);
        return NULL;
}

// All instances of a template have one file.
static void name_unit(Draw *d, Argosy__Request__Apply *m, const WorldUnit *u) {
        static const Argosy__Target targets[] = {
                ARGOSY__TARGET__TARGET_LAUNCHED, ARGOSY__TARGET__TARGET_LAUNCHED,
                ARGOSY__TARGET__TARGET_LOADED, ARGOSY__TARGET__TARGET_INACTIVE};
        Argosy__Request__Apply__Unit *unit =
                ASKS_NEW(Argosy__Request__Apply__Unit, argosy__request__apply__unit__init);
        const WorldContent *c = content_in(m, u);

        if (!c) {
                c = world_content_draw(d, u);
                m->files[m->n_files++] = asks_file_of(u, c);
        }
        unit->name = (char *) u->name;
        unit->spec = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) c->hash.bytes};
        unit->from_template = strcmp(u->name, u->file) != 0;
        unit->target = DRAW_PICK(d, targets);
        unit->brought = draw_one_in(d, 32);
        for (size_t i = 0; i < m->n_files; i++)
                if (strcmp(m->files[i]->name, u->file) == 0)
                        unit->file = (uint32_t) i + 1;
        m->units[m->n_units++] = unit;
}

static void make_plan(Draw *d, Argosy__Request__Apply *m) {
        unsigned all = (unsigned) asks.n_units,
                 n = draw_one_in(d, 8) ? 0 : 1 + draw_below(d, MIN_OF(all, 8u)), from = draw_below(d, all);

        m->set = (char *) DRAW_PICK(d, sets);
        m->units = asks_alloc((n + 1) * sizeof(*m->units));
        m->files = asks_alloc((n + 1) * sizeof(*m->files));
        m->preview = true;
        m->prune = draw_one_in(d, 2);
        m->force = draw_one_in(d, 2);
        m->adopt = draw_one_in(d, 2);
        m->rolling = asks.swarm.loads[LOAD_rollout] && draw_one_in(d, 4);
        m->max_unavailable = m->rolling ? draw_below(d, 3) : 0;
        m->health_us = m->rolling && draw_one_in(d, 2) ? draw_log(d, 1, 5000000) : 0;
        for (unsigned i = 0; i < n; i++)
                name_unit(d, m, &asks.units[(from + i) % all]);
}

static bool is_plan(const WorldAsked *a) {
        return a->request->apply->preview && asks_last_response(a)->apply_plan;
}

// As a client does that somebody has told to go on.
static void carry_out(Argosy__Request__Apply *m, const WorldAsked *asked) {
        const Argosy__Response__ApplyPlan *p = asks_last_response(asked)->apply_plan;

        *m = *asked->request->apply;
        m->preview = false;
        m->revision = p->revision;
        m->plan = p->plan;
        m->gone = asks_alloc((p->n_rows + 1) * sizeof(*m->gone));
        for (size_t i = 0; i < p->n_rows; i++)
                if (p->rows[i]->removed)
                        m->gone[m->n_gone++] = p->rows[i]->unit;
}

bool ask_apply(Draw *d, void *message) {
        const WorldAsked *plan =
                draw_below(d, 5) > 1 ? asks_go_on(ARGOSY__REQUEST__WHAT_APPLY, is_plan) : NULL;

        if (plan)
                carry_out(message, plan);
        else
                make_plan(d, message);
        return true;
}
