// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a rollout is about, as rollout-policy.c is to judge it: one item for each unit of the budget, or for
// each node of a global unit.
#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "clock.h"
#include "registry.h"
#include "rollout-content.h"
#include "rollout-private.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"

void view_done(View *v) {
        free(v->items);
        free(v->chosen);
        free(v->units);
        free(v->nodes);
}

static int by_name(const void *a, const void *b) {
        return strverscmp((*(Unit *const *) a)->name, (*(Unit *const *) b)->name);
}

static int view_alloc(const Leader *l, const DisruptionBudget *g, View *v) {
        size_t most = l->nodes.count + 1;

        list_foreach (i, &g->units)
                most++;
        v->items = calloc(most, sizeof(*v->items));
        v->chosen = calloc(most, sizeof(*v->chosen));
        v->units = calloc(most, sizeof(*v->units));
        v->nodes = calloc(most, sizeof(*v->nodes));
        return v->items && v->chosen && v->units && v->nodes ? 0 : -ENOMEM;
}

static bool is_changed(const Argosy__RolloutRecord *r, const Argosy__UnitRecord *unit) {
        if (rollout_is_update(r))
                return field_equal(&unit->spec, &r->spec);
        return MAX_OF(unit->restart_rev, unit->start_rev) > r->revision;
}

static void view_unit_on_node(const Leader *l, const UnitOnNode *s, const UnitEntry *e, RolloutItem *item) {
        item->unreachable = !s || unit_on_node_is_unreachable(s);
        if (!s)
                return;
        item->up = s->up;
        item->since_us = s->up_flip_us;
        item->timed = item->up && unit_on_node_is_timed(s);
        item->known_up_us = item->timed ? unit_on_node_known_us(s) : 0;
        item->failure = unit_on_node_failure(l, s, e); // also of one that is up, if its node has kept the old content there
}

static void view_unit(const Leader *l, const BatchBuilder *b, const Argosy__RolloutRecord *r, const Unit *u,
                      RolloutItem *item) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const Argosy__Outcome *o = e ? record_final_outcome(e->record, e->record->node) : NULL;

        *item = (RolloutItem){.busy = batch_builder_has_unit(b, u->name)};
        if (!e)
                return;
        item->wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
                          !(o && o->kind == ARGOSY__OUTCOME__KIND__DONE);
        item->mine =
                rollout_is_update(r) ? e->record->from_template || streq(u->name, r->name) : item->wanted_up;
        item->changed = is_changed(r, e->record);
        view_unit_on_node(l, u->node ? unit_on_node_find(u, u->node) : NULL, e, item);
        if (o && o->kind != ARGOSY__OUTCOME__KIND__DONE)
                item->failure = outcome_phrase(o);
}

static void view_units(const Leader *l, const BatchBuilder *b, const Argosy__RolloutRecord *r,
                       const DisruptionBudget *g, View *v) {
        list_foreach (i, &g->units)
                v->units[v->n++] = CONTAINER_OF(i, Unit, of_budget);
        qsort(v->units, v->n, sizeof(*v->units), by_name);
        for (size_t i = 0; i < v->n; i++)
                view_unit(l, b, r, v->units[i], &v->items[i]);
}

static void view_node(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e, const Unit *u,
                      const Node *n, RolloutItem *item) {
        const Argosy__RolloutNode *turn = rollout_turn(r, n->number);
        const Argosy__Outcome *o = record_final_outcome(e->record, n->number);

        *item = (RolloutItem){
                .mine = true,
                .changed = turn && !turn->back,
                .wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && !o,
        };
        view_unit_on_node(l, unit_on_node_find(u, n), e, item);
}

static void view_nodes(const Leader *l, const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e,
                       View *v) {
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (!unit_wanted_on(l, u, e, n))
                        continue;
                v->units[v->n] = u;
                v->nodes[v->n] = n->number;
                view_node(l, r, e, u, n, &v->items[v->n++]);
        }
}

// A share of nothing said is `otherwise`.
static size_t share_or(UnitShare share, size_t n, size_t otherwise) {
        return share.value ? unit_share_of(share, n) : otherwise;
}

static size_t option_of(SpecEntry *spec, size_t n) {
        const UnitFile *file;

        return spec && spec_entry_file(spec, &file) == 0 ? share_or(file->max_unavailable, n, SIZE_MAX)
                                                         : SIZE_MAX;
}

// The strictest of what the command said, and what the contents before and after say.
static size_t max_of(const Leader *l, const Argosy__RolloutRecord *r, const View *v) {
        const UnitEntry *e = v->n ? cluster_state_find_unit(l->state, v->units[0]->name) : NULL;
        size_t n = 0, option;

        for (size_t i = 0; i < v->n; i++)
                n += v->items[i].wanted_up;
        option = MIN_OF(option_of(rollout_spec(l, &r->spec), n),
                        option_of(rollout_spec(l, &r->spec_before), n));
        option = MIN_OF(option, option_of(e ? e->spec : NULL, n));
        return MIN_OF(option, share_or((UnitShare){r->max_unavailable, r->percent}, n,
                                       option == SIZE_MAX ? 1 : option));
}

int view_fill(const Leader *l, const BatchBuilder *b, const Argosy__RolloutRecord *r,
              const DisruptionBudget *g, View *v) {
        UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Unit *u = unit_find(l, r->name);

        if (view_alloc(l, g, v) < 0)
                return -ENOMEM;
        if (e && u && e->record->global)
                view_nodes(l, r, u, e, v);
        else
                view_units(l, b, r, g, v);
        v->rules = (RolloutView){
                .returning = rollout_is_returning(r),
                .max = max_of(l, r, v),
                .health_us = r->health_us,
                .now_us = leader_now(l),
                .beat_us = l->config.beat_ms * USEC_PER_MSEC,
                .items = v->items,
                .n_items = v->n,
        };
        return 0;
}
