// SPDX-License-Identifier: LGPL-2.1-or-later
//
// New content, or a restart, on its way through units that stand in for each other, a few at a time: the
// instances of a template, the nodes of a global unit, or one unit.
//
// The log says what is to be brought, what was there before, and whether it goes forward or back
// (RolloutRecord); how far it has come follows from the units' own records, so a new leader goes on where
// the old one was. A global unit has one record for all nodes: its rollout lists the nodes that had their
// turn, the others keep the content of before (rollout_content()), and its record gets the new content at
// the end.
//
// What is next is rollout.c's to say, looked at whenever something about the units was seen or changed, and
// when a health gate ends. How long a unit is up is seen by this leader's clock alone: after a change of
// leader, or of the host's session, the gate begins anew.
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "leader-private.h"
#include "log.h"
#include "response.h"
#include "rollout.h"
#include "str.h"
#include "unit-install.h"
#include "unit-name.h"

enum {
        CHANGES_PER_BATCH = 1000, // units that one entry changes
        HEALTH_US_MAX = 3600 * 1000000U,
        REASON_SIZE = 256,
};

static bool is_update(const Argosy__RolloutRecord *r) {
        return r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
}

static bool is_returning(const Argosy__RolloutRecord *r) {
        return r->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING;
}

static ProtobufCBinaryData hash_field(const Hash *hash) {
        return (ProtobufCBinaryData){.data = (uint8_t *) hash->bytes, .len = HASH_SIZE};
}

static bool field_equal(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b) {
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static SpecEntry *spec_of(const Leader *l, const ProtobufCBinaryData *field) {
        Hash hash;

        return hash_from_bytes(field->data, field->len, &hash) ? cluster_state_find_spec(l->state, &hash)
                                                               : NULL;
}

// ------------------------------------------------------------------------------------------------ global
// units

static const Argosy__RolloutNode *turn_of(const Argosy__RolloutRecord *r, uint32_t node) {
        for (size_t i = 0; i < r->n_nodes; i++)
                if (r->nodes[i]->node == node)
                        return r->nodes[i];
        return NULL;
}

Content rollout_content(const Leader *l, const UnitEntry *e, uint32_t node) {
        Content c = {e->spec, e->record->revision, e->record->restart_rev};
        const Argosy__RolloutRecord *r =
                e->record->global ? cluster_state_find_rollout(l->state, e->record->name) : NULL;
        const Argosy__RolloutNode *turn = rollout_is_under_way(r) ? turn_of(r, node) : NULL;

        if (!turn)
                return c;
        if (is_update(r) && !turn->back)
                c.spec = spec_of(l, &r->spec) ?: c.spec;
        c.revision = MAX_OF(c.revision, turn->revision);
        c.restart_rev = MAX_OF(c.restart_rev, turn->revision);
        return c;
}

// ------------------------------------------------------------------------------------------------ tables

static Rollout *rollout_find(const Leader *l, const char *name) {
        const Group *g = group_find(l, name);

        return g ? g->rollout : NULL;
}

static void rollout_end(Leader *l, Rollout *o) {
        Group *g = o->group;

        list_unlink(&o->all);
        g->rollout = NULL;
        free(o);
        if (unit_name_kind(g->name, NULL) == UNIT_NAME_TEMPLATE || list_is_empty(&g->units))
                group_drop_if_unused(l, g);
        else // it was a group only for this, and ends with its unit
                group_leave(l, CONTAINER_OF(g->units.next, Unit, of_group));
}

static int rollout_begin(Leader *l, const char *name) {
        Group *g = group_get(l, name);
        Unit *u = unit_find(l, name);
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        if (!g)
                return -ENOMEM;
        if (!g->rollout) {
                g->rollout = calloc(1, sizeof(*g->rollout));
                if (!g->rollout) {
                        group_drop_if_unused(l, g);
                        return -ENOMEM;
                }
                g->rollout->group = g;
                list_append(&l->rollouts, &g->rollout->all);
        }
        g->rollout->due = true;
        // A unit of its own is in no group before.
        return u && e ? group_join(l, u, e) : 0;
}

// The nodes of a global unit have got another content each.
static void order_nodes(Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Unit *u = unit_find(l, name);

        if (!e || !e->record->global || !u)
                return;
        list_foreach (i, &u->sites) { // the patience with those that have their turn now begins
                Site *s = CONTAINER_OF(i, Site, by_unit);

                if (!s->up && rollout_content(l, e, s->node->number).revision > s->ordered_revision)
                        s->up_flip_us = leader_now(l);
        }
        orders_on_unit(l, e, u, NULL);
        unit_touch(l, u);
}

static int sync_all(Leader *l) {
        size_t n;
        Argosy__RolloutRecord *const *records = cluster_state_rollouts(l->state, &n);
        int r = 0;

        l->rollouts_revision = cluster_state_rollouts_revision(l->state);
        for (size_t i = 0; i < n; i++) {
                Rollout *o = rollout_find(l, records[i]->name);

                if (rollout_is_under_way(records[i])) {
                        if (rollout_begin(l, records[i]->name) < 0)
                                r = -ENOMEM;
                } else if (o)
                        rollout_end(l, o);
                else
                        continue;
                order_nodes(l, records[i]->name);
        }
        return r;
}

int rollouts_build(Leader *l) {
        return sync_all(l);
}

void rollouts_sync(Leader *l) {
        if (l->rollouts_revision == cluster_state_rollouts_revision(l->state))
                return;
        if (sync_all(l) < 0) // tables that miss a record would decide wrongly
                abort();
}

void rollouts_clear(Leader *l) {
        while (!list_is_empty(&l->rollouts))
                rollout_end(l, CONTAINER_OF(l->rollouts.next, Rollout, all));
        l->rollout_due_us = 0;
}

void rollouts_look_again(Leader *l) {
        list_foreach (i, &l->rollouts)
                CONTAINER_OF(i, Rollout, all)->due = true;
}

static void note_next(Leader *l, uint64_t at_us) {
        if (at_us && (!l->rollout_due_us || at_us < l->rollout_due_us))
                l->rollout_due_us = at_us;
}

void rollouts_on_time(Leader *l) {
        uint64_t now = leader_now(l);

        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);

                if (o->next_us && o->next_us <= now) {
                        o->due = true;
                        o->next_us = 0;
                }
                note_next(l, o->next_us);
        }
}

// ------------------------------------------------------------------------------------------------ the view

// What is to be changed, in the order of names.
typedef struct View {
        RolloutView rules;
        RolloutItem *items;
        size_t *chosen;
        Unit **units;    // of each item; the same for all nodes of a global unit
        uint32_t *nodes; // of each item of a global unit, else 0
        size_t n;
} View;

static void view_done(View *v) {
        free(v->items);
        free(v->chosen);
        free(v->units);
        free(v->nodes);
}

static int by_name(const void *a, const void *b) {
        return strverscmp((*(Unit *const *) a)->name, (*(Unit *const *) b)->name);
}

static int view_alloc(const Leader *l, const Group *g, View *v) {
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
        if (is_update(r))
                return field_equal(&unit->spec, &r->spec);
        return MAX_OF(unit->restart_rev, unit->start_rev) > r->revision;
}

static void look_at_site(const Leader *l, const Site *s, const UnitEntry *e, RolloutItem *item) {
        item->dark = !s || site_is_dark(s);
        if (!s)
                return;
        item->up = s->up;
        item->since_us = s->up_flip_us;
        item->failure = item->up ? NULL : site_failure(l, s, e);
}

static void look_at_unit(const Leader *l, const Draft *b, const Argosy__RolloutRecord *r, const Unit *u,
                         RolloutItem *item) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const Argosy__Outcome *o = e ? record_final_outcome(e->record, e->record->node) : NULL;

        *item = (RolloutItem){.busy = draft_has_unit(b, u->name)};
        if (!e)
                return;
        item->wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
                          !(o && o->kind == ARGOSY__OUTCOME__KIND__DONE);
        item->mine = is_update(r) ? e->record->from_template || streq(u->name, r->name) : item->wanted_up;
        item->changed = is_changed(r, e->record);
        look_at_site(l, u->node ? site_find(u, u->node) : NULL, e, item);
        if (o && o->kind == ARGOSY__OUTCOME__KIND__FAILED)
                item->failure = *o->result ? o->result : "failed";
}

static void view_units(const Leader *l, const Draft *b, const Argosy__RolloutRecord *r, const Group *g,
                       View *v) {
        list_foreach (i, &g->units)
                v->units[v->n++] = CONTAINER_OF(i, Unit, of_group);
        qsort(v->units, v->n, sizeof(*v->units), by_name);
        for (size_t i = 0; i < v->n; i++)
                look_at_unit(l, b, r, v->units[i], &v->items[i]);
}

static void look_at_node(const Leader *l, const Argosy__RolloutRecord *r, const UnitEntry *e, const Unit *u,
                         const Node *n, RolloutItem *item) {
        const Argosy__RolloutNode *turn = turn_of(r, n->number);
        const Argosy__Outcome *o = record_final_outcome(e->record, n->number);

        *item = (RolloutItem){
                .mine = true,
                .changed = turn && !turn->back,
                .wanted_up = e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && !o,
        };
        look_at_site(l, site_find(u, n), e, item);
}

static void view_nodes(const Leader *l, const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e,
                       View *v) {
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (!unit_wanted_on(l, u, e, n))
                        continue;
                v->units[v->n] = u;
                v->nodes[v->n] = n->number;
                look_at_node(l, r, e, u, n, &v->items[v->n++]);
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
        option = MIN_OF(option_of(spec_of(l, &r->spec), n), option_of(spec_of(l, &r->spec_before), n));
        option = MIN_OF(option, option_of(e ? e->spec : NULL, n));
        return MIN_OF(option, share_or((UnitShare){r->max_unavailable, r->percent}, n,
                                       option == SIZE_MAX ? 1 : option));
}

static int look(const Leader *l, const Draft *b, const Argosy__RolloutRecord *r, const Group *g, View *v) {
        UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Unit *u = unit_find(l, r->name);

        if (view_alloc(l, g, v) < 0)
                return -ENOMEM;
        if (e && u && e->record->global)
                view_nodes(l, r, u, e, v);
        else
                view_units(l, b, r, g, v);
        v->rules = (RolloutView){
                .returning = is_returning(r),
                .max = max_of(l, r, v),
                .health_us = r->health_us,
                .now_us = leader_now(l),
                .items = v->items,
                .n_items = v->n,
        };
        return 0;
}

// ------------------------------------------------------------------------------------------------ steps

static const char *node_name(const Leader *l, const View *v, size_t i) {
        const Node *n = v->nodes[i] ? node_find(l, v->nodes[i]) : v->units[i]->node;

        return n ? n->name : "-";
}

// The template's own record, if there is one, takes the content too.
static int put_template(Leader *l, Draft *b, const char *name, const ProtobufCBinaryData *spec) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Argosy__UnitRecord next;

        if (!e || unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE || field_equal(&e->record->spec, spec))
                return 0;
        if (draft_has_unit(b, name))
                return -EBUSY;
        next = *e->record;
        next.spec = *spec;
        return draft_put_unit(b, &next, 0, 0);
}

// A global unit's record gets what its nodes have by now.
static int settle_global(Leader *l, Draft *b, const Argosy__RolloutRecord *r) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Argosy__UnitRecord next;

        if (!e || !e->record->global)
                return 0;
        if (draft_has_unit(b, r->name))
                return -EBUSY;
        next = *e->record;
        if (is_update(r) && !is_returning(r))
                next.spec = r->spec;
        return draft_put_unit(b, &next, 0, e->record->revision);
}

// From here on it goes back, or ends where it is if there is nothing to go back to.
static int turn_back(Leader *l, Draft *b, const Argosy__RolloutRecord *r, const char *reason) {
        Argosy__RolloutRecord next = *r;
        int k;

        next.reason = (char *) reason;
        next.phase = is_update(r) ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING
                                  : ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        k = is_update(r) ? put_template(l, b, r->name, &r->spec_before) : settle_global(l, b, r);
        return k < 0 ? k : draft_put_rollout(b, &next);
}

static int finish(Leader *l, Draft *b, const Argosy__RolloutRecord *r) {
        Argosy__RolloutRecord next = *r;
        int k = settle_global(l, b, r);

        if (k < 0)
                return k;
        next.phase = is_returning(r) ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED
                                     : ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        log_unit(LOG_NOTICE, r->name, "%s: its %s %s%s.", r->name, is_update(r) ? "update" : "restart",
                 is_returning(r) ? "was taken back: " : "is done", is_returning(r) ? r->reason : "");
        return draft_put_rollout(b, &next);
}

// Gives the nodes their turn, in one record.
static int change_nodes(Draft *b, const Argosy__RolloutRecord *r, const View *v, const RolloutStep *step) {
        _cleanup_free_ Argosy__RolloutNode *fresh = calloc(step->n_chosen + 1, sizeof(*fresh));
        _cleanup_free_ Argosy__RolloutNode **nodes = calloc(r->n_nodes + step->n_chosen + 1, sizeof(*nodes));
        Argosy__RolloutRecord next = *r;
        size_t n = 0;

        if (!fresh || !nodes)
                return -ENOMEM;
        for (size_t i = 0; i < step->n_chosen; i++) {
                argosy__rollout_node__init(&fresh[i]);
                fresh[i].node = v->nodes[v->chosen[i]];
                fresh[i].back = is_returning(r);
                nodes[n++] = &fresh[i];
        }
        for (size_t i = 0; i < r->n_nodes; i++) {
                bool again = false;

                for (size_t k = 0; k < step->n_chosen; k++)
                        again |= fresh[k].node == r->nodes[i]->node;
                if (!again)
                        nodes[n++] = r->nodes[i];
        }
        next.nodes = nodes;
        next.n_nodes = n;
        return draft_put_rollout(b, &next);
}

// Where the unit goes with another content: where it is, if that node may have it. 1: nowhere, now.
static int place(Leader *l, const Unit *u, SpecEntry *spec, Placer **placer, Argosy__UnitRecord *next) {
        UnitOptions *options = NULL;
        PlacerAnswer place = {};
        const UnitFile *file;
        int r;

        if (next->target == ARGOSY__TARGET__TARGET_INACTIVE || !u->node)
                return 0; // placed later, by whoever does that
        r = spec_entry_file(spec, &file);
        if (r >= 0)
                r = unit_file_expand(file, u->name, u->name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? 1 : r;
        if (!node_admits(l, u->node, options)) {
                if (!*placer)
                        r = placer_new(l, 0, placer);
                if (r >= 0)
                        r = placer_place(*placer, u->name, options, false, &place);
                next->node = place.node;
        }
        unit_options_unref(options);
        return r < 0 ? r : next->node == 0;
}

// 1: no node takes it with the new content.
static int change_unit(Leader *l, Draft *b, const Argosy__RolloutRecord *r, Unit *u, bool wanted_up,
                       Placer **placer) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        Argosy__UnitRecord next = *e->record;
        SpecEntry *spec = spec_of(l, is_returning(r) ? &r->spec_before : &r->spec);
        int k;

        if (is_update(r) && spec) {
                next.spec = hash_field(&spec->hash);
                k = place(l, u, spec, placer, &next);
                if (k < 0 || (k == 1 && !is_returning(r)))
                        return k;
        }
        l->retry_homeless |= !u->node; // the other content may have a node
        group_take(l, u);
        return draft_put_unit(b, &next, wanted_up ? DRAFT_BUMP_START | DRAFT_BUMP_RESTART : 0,
                              e->record->revision);
}

static int fail(Leader *l, Draft *b, const Argosy__RolloutRecord *r, const View *v, size_t i,
                const char *why) {
        char reason[REASON_SIZE];

        snprintf(reason, sizeof(reason), "%s on %s: %s", v->units[i]->name, node_name(l, v, i), why);
        log_unit(LOG_WARNING, r->name, "%s: its %s %s: %s.", r->name, is_update(r) ? "update" : "restart",
                 is_update(r) ? "goes back" : "stops", reason);
        return turn_back(l, b, r, reason);
}

static int change(Leader *l, Draft *b, const Argosy__RolloutRecord *r, const View *v,
                  const RolloutStep *step, Placer **placer) {
        if (step->n_chosen && v->nodes[v->chosen[0]])
                return change_nodes(b, r, v, step);
        for (size_t i = 0; i < MIN_OF(step->n_chosen, (size_t) CHANGES_PER_BATCH); i++) {
                size_t k = v->chosen[i];
                int e = change_unit(l, b, r, v->units[k], v->items[k].wanted_up, placer);

                if (e == 1)
                        return fail(l, b, r, v, k, "no node takes it with the new content");
                if (e < 0)
                        return e;
        }
        return 0;
}

// The unit that it was about is gone. (Of a template it may have been the last one, and that is well.)
static int end_without_unit(Draft *b, const Argosy__RolloutRecord *r) {
        Argosy__RolloutRecord next = *r;

        next.phase = ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        next.reason = "the unit was destroyed";
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        return draft_put_rollout(b, &next);
}

static int take_step(Leader *l, Draft *b, Rollout *o, const Argosy__RolloutRecord *r, Placer **placer) {
        _cleanup_(view_done) View v = {};
        RolloutStep step;
        int k;

        if (unit_name_kind(r->name, NULL) != UNIT_NAME_TEMPLATE &&
            !cluster_state_find_unit(l->state, r->name))
                return end_without_unit(b, r);
        k = look(l, b, r, o->group, &v);
        if (k < 0)
                return k;
        step = rollout_step(&v.rules, v.chosen);
        o->next_us = step.next_us;
        o->left = step.left;
        o->n_items = v.n;
        o->n_down = step.n_down;
        o->max = v.rules.max;
        switch (step.action) {
        case ROLLOUT_FAILED:
                return fail(l, b, r, &v, step.culprit, step.failure);
        case ROLLOUT_OVER:
                return finish(l, b, r);
        default:
                return change(l, b, r, &v, &step, placer);
        }
}

int rollouts_decide(Leader *l, Draft *b, Placer **placer) {
        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);
                const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, o->group->name);
                DraftMark mark = draft_mark(b);
                int k;

                if (o->due && rollout_is_under_way(r) && l->n_unheard == 0) {
                        o->due = false;
                        k = take_step(l, b, o, r, placer);
                        if (k == -EBUSY) { // the batch touches its records already
                                draft_rollback(b, mark);
                                o->due = true;
                        } else if (k < 0)
                                return k;
                }
                note_next(l, o->next_us);
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ requests

static int refuse(Ticket *t, int status, const char *format, ...) _printf_(3, 4);
static int refuse(Ticket *t, int status, const char *format, ...) {
        char why[2 * REASON_SIZE];
        va_list args;

        va_start(args, format);
        vsnprintf(why, sizeof(why), format, args);
        va_end(args);
        ticket_settle(t, response_error(status, "%s", why));
        return 0;
}

static Argosy__Response *response_about(const char *name, uint64_t revision, const char *message) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        Argosy__Response__UnitResult *result;

        if (!r)
                return NULL;
        result = unit_result_new(name);
        if (FIELD_APPEND(r->change->units, r->change->n_units, result) < 0 ||
            field_set(&result->message, message) < 0)
                return NULL;
        result->revision = revision;
        return TAKE_PTR(r);
}

static void on_committed(Leader *l, Ticket *t) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, t->request->rollout->name);

        if (r)
                t->response->change->units[0]->revision = r->revision;
}

static int into_batch(Ticket *t, Draft *b) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        int r = draft_add_request(b, m->id.data, m->id.len);

        if (r < 0)
                return r;
        t->response = response_about(m->name, 0, NULL);
        if (!t->response)
                return -ENOMEM;
        t->committed = on_committed;
        return 1;
}

static int plan_abort(Leader *l, Ticket *t, Draft *b, const Argosy__RolloutRecord *r) {
        int k;

        if (!rollout_is_under_way(r))
                return refuse(t, ENOENT, "nothing is under way for %s", t->request->rollout->name);
        if (is_returning(r)) {
                ticket_settle(t, response_about(r->name, r->revision, "it goes back already"));
                return 0;
        }
        k = turn_back(l, b, r, "its owner gave it up");
        return k < 0 ? k : into_batch(t, b);
}

// What a plan is made of.
typedef struct Plan {
        const char *name;
        bool template;
        const UnitEntry *entry;  // of the name itself, or NULL
        const UnitFile *file;    // the new content
        Hash hash;               // and its hash
        const SpecEntry *before; // what most of the units have that have something else; NULL: none has
        size_t n_units;
} Plan;

// Whether the unit could have the new content at all. 0, or 1 and refused.
static int check_unit(Ticket *t, const Plan *p, const char *name) {
        _cleanup_free_ char *why = NULL;
        UnitOptions *options = NULL;
        UnitInstall install;
        int r;

        r = unit_install_expand(p->file, name, name, &install, &why);
        if (r == 0) {
                unit_install_done(&install);
                r = unit_file_expand(p->file, name, name, &options, &why);
                unit_options_unref(options);
        }
        if (r != -EINVAL)
                return r;
        refuse(t, EINVAL, "%s", why ?: "the file is not valid");
        return 1;
}

typedef struct Tally {
        const SpecEntry *spec;
        size_t n;
} Tally;

enum { TALLIES_MAX = 16 }; // contents that instances of one template are told apart by

static void tally(Tally tallies[static TALLIES_MAX], const SpecEntry *spec) {
        for (size_t i = 0; i < TALLIES_MAX; i++) {
                if (tallies[i].spec && tallies[i].spec != spec)
                        continue;
                tallies[i].spec = spec;
                tallies[i].n++;
                return;
        }
}

static int look_at_units(Leader *l, Ticket *t, Plan *p) {
        Tally tallies[TALLIES_MAX] = {}, *most = &tallies[0];
        const Group *g = group_find(l, p->name);

        if (p->entry && (!p->template || !hash_equal(&p->entry->spec->hash, &p->hash)))
                tally(tallies, p->entry->spec);
        if (g && p->template)
                list_foreach (i, &g->units) {
                        const UnitEntry *e =
                                cluster_state_find_unit(l->state, CONTAINER_OF(i, Unit, of_group)->name);
                        int r;

                        if (!e || !e->record->from_template)
                                continue;
                        p->n_units++;
                        r = p->file ? check_unit(t, p, e->record->name) : 0;
                        if (r != 0)
                                return r;
                        if (!hash_equal(&e->spec->hash, &p->hash))
                                tally(tallies, e->spec);
                }
        for (size_t i = 1; i < TALLIES_MAX; i++)
                if (tallies[i].n > most->n)
                        most = &tallies[i];
        p->before = most->spec;
        return 0;
}

// The file that came along, or what the template's record has. 0, or 1 and refused. *ret_parsed: to be
// freed.
static int find_content(Ticket *t, Plan *p, UnitFile **ret_parsed) {
        const Argosy__NamedFile *f = t->request->rollout->file;
        _cleanup_free_ char *why = NULL;
        int r;

        *ret_parsed = NULL;
        if (!f) {
                if (!p->entry || !p->template) {
                        refuse(t, ENOENT, "%s: there is no file of that name", p->name);
                        return 1;
                }
                p->hash = p->entry->spec->hash;
                return spec_entry_file(p->entry->spec, &p->file);
        }
        r = unit_file_parse(*f->path ? f->path : f->name, f->content.data, f->content.len, ret_parsed, &why);
        if (r == -EINVAL) {
                refuse(t, EINVAL, "%s", why ?: "the file is not valid");
                return 1;
        }
        p->file = *ret_parsed;
        p->hash = hash_of(f->content.data, f->content.len);
        return r;
}

// 0, or 1 and refused.
static int check_global(Ticket *t, const Plan *p) {
        bool global = !p->template && p->entry->record->global;

        if (p->file->global == global)
                return 0;
        refuse(t, EINVAL,
               p->template ? "instances that run on every node are updated one by one: name the instance"
                           : "Global= differs from what %s has; use `start --replace`",
               p->name);
        return 1;
}

static int put_update(Leader *l, Ticket *t, Draft *b, const Plan *p, Argosy__RolloutRecord *r) {
        const Argosy__NamedFile *f = t->request->rollout->file;
        int k = 0;

        r->spec = hash_field(&p->hash);
        r->spec_before = p->before ? hash_field(&p->before->hash) : r->spec;
        if (f && !cluster_state_find_spec(l->state, &p->hash))
                k = draft_put_spec(b, &p->hash, f->content.data, f->content.len);
        return k < 0 ? k : put_template(l, b, p->name, &r->spec);
}

static int plan_begin(Leader *l, Ticket *t, Draft *b, Plan *p) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        Argosy__RolloutRecord next = ARGOSY__ROLLOUT_RECORD__INIT;
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        bool update = m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        int r = update ? find_content(t, p, &parsed) : 0;

        if (r == 0)
                r = look_at_units(l, t, p);
        if (r == 0 && !p->entry && p->n_units == 0) {
                refuse(t, ENOENT, "%s: no such unit in the cluster", p->name);
                r = 1;
        }
        if (r == 0 && update)
                r = check_global(t, p) ?: check_unit(t, p, p->name);
        if (r != 0)
                return r == 1 ? 0 : r;
        next.name = (char *) p->name;
        next.kind = m->kind;
        next.max_unavailable = m->max_unavailable;
        next.percent = m->percent;
        next.health_us = m->health_us;
        next.request = m->id;
        r = update ? put_update(l, t, b, p, &next) : 0;
        if (r >= 0)
                r = draft_put_rollout(b, &next);
        return r < 0 ? r : into_batch(t, b);
}

static bool is_sensible(const Argosy__Request__Rollout *m) {
        return m->id.len == 16 && m->health_us <= HEALTH_US_MAX &&
               (!m->percent || (m->max_unavailable >= 1 && m->max_unavailable <= 100)) &&
               (m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ||
                m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART);
}

int rollouts_plan(Leader *l, Ticket *t, Draft *b) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        const Argosy__RolloutRecord *now;
        UnitNameKind kind = unit_name_kind(m->name, NULL);
        Plan p = {.name = m->name, .template = kind == UNIT_NAME_TEMPLATE};

        if (!is_sensible(m) || kind == UNIT_NAME_INVALID)
                return refuse(t, EINVAL, "%s is no name, or a number is out of range", m->name);
        if (draft_has_request(b, m->id.data, m->id.len) || draft_has_rollout(b, m->name) ||
            draft_has_unit(b, m->name))
                return -EBUSY;
        p.entry = cluster_state_find_unit(l->state, m->name);
        now = cluster_state_find_rollout(l->state, m->name);
        if (now && now->request.len == 16 && memcmp(now->request.data, m->id.data, 16) == 0) {
                ticket_settle(t, response_about(m->name, now->revision, NULL)); // sent again
                return 0;
        }
        if (m->abort)
                return plan_abort(l, t, b, now);
        if (rollout_is_under_way(now)) {
                char phrase[REASON_SIZE];

                (void) rollout_phrase(l, m->name, phrase, sizeof(phrase));
                return refuse(t, EBUSY, "%s: %s; wait for that, or end it with `argosyctl update --abort`",
                              m->name, phrase);
        }
        if (kind == UNIT_NAME_INSTANCE && p.entry && p.entry->record->from_template &&
            !p.entry->record->global)
                return refuse(t, EINVAL, "%s is an instance; name its template", m->name);
        return plan_begin(l, t, b, &p);
}

// ------------------------------------------------------------------------------------------------ telling

const char *rollout_word(const Leader *l, const char *name) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);

        if (!rollout_is_under_way(r))
                return NULL;
        return is_returning(r) ? "returning" : is_update(r) ? "updating" : "restarting";
}

bool rollout_phrase(const Leader *l, const char *name, char *ret, size_t size) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);
        const Rollout *o = rollout_find(l, name);
        int n;

        if (!rollout_is_under_way(r))
                return false;
        n = snprintf(ret, size, "it %s, %zu of %zu are left",
                     is_returning(r) ? "goes back to the content of before"
                     : is_update(r)  ? "is being updated"
                                     : "is being restarted",
                     o ? o->left : 0, o ? o->n_items : 0);
        if (o && n > 0 && (size_t) n < size && o->n_down >= o->max)
                n += snprintf(ret + n, size - (size_t) n, "; %zu down or new, and %zu may be", o->n_down,
                              o->max);
        if (is_returning(r) && n > 0 && (size_t) n < size)
                snprintf(ret + n, size - (size_t) n, " (%s)", r->reason);
        return true;
}

int rollout_wait_start(Leader *l, Ticket *t) {
        list_append(&l->rollout_waits, &t->rollout);
        t->drain_left = UINT32_MAX;
        leader_mark(l);
        return 0;
}

static Argosy__Response *ended_response(const Argosy__RolloutRecord *r, const char *name,
                                        uint64_t revision) {
        if (!r || r->revision != revision)
                return response_error(ECANCELED, "%s: another update or restart has taken its place", name);
        switch (r->phase) {
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED:
                return response_error(EIO, "%s; everything has the content of before again", r->reason);
        case ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED:
                return response_error(EIO, "%s; nothing more is changed", r->reason);
        default:
                return response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);
        }
}

// Says what is news of one rollout. True: whoever was told may have cancelled any ticket, so begin anew.
static bool tell(Leader *l, Ticket *t) {
        const Argosy__Request__RolloutWait *m = t->request->rollout_wait;
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, m->name);
        const Rollout *o = rollout_find(l, m->name);
        Argosy__Response *response;

        if (!rollout_is_under_way(r) || r->revision != m->revision) {
                ticket_finish(t, ended_response(r, m->name, m->revision));
                return true;
        }
        if (!o || o->due || o->left == t->drain_left)
                return false;
        t->drain_left = (uint32_t) o->left;
        response = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);
        if (response) {
                response->progress->remaining = t->drain_left;
                if (is_returning(r))
                        (void) field_set(&response->message, r->reason);
        }
        ticket_respond(t, response);
        return true;
}

void rollouts_tell(Leader *l) {
        bool again;

        do {
                again = false;
                list_foreach (i, &l->rollout_waits) {
                        again = tell(l, CONTAINER_OF(i, Ticket, rollout));
                        if (again)
                                break;
                }
        } while (again);
}
