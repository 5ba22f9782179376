// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks of objects that whoever watches may have to hear of. They are pulled once, at the end of the turn, so however
// often one is set it costs one look at the object as it is then. An object that goes leaves its name behind: what was
// told of it is to be taken back. Without memory for that somebody would believe in it for ever, so the process ends
// (oom.h).
#include "event-marks.h"

#include "array.h"
#include "oom.h"
#include "tables.h"
#include "turn.h"

void event_mark(Leader *l, EventObject *o) {
        if (!list_is_linked(&o->due))
                list_append(&l->event_news.due, &o->due);
        leader_mark(l);
}

void event_mark_unit_on_node(Leader *l, UnitOnNode *s) {
        if (!l->event_news.kept || s->event_due) // whoever comes is told of the whole unit
                return;
        (void) oom_check(ARRAY_GROW(l->event_news.rows, l->event_news.rows_allocated, l->event_news.n_rows + 1));
        l->event_news.rows[l->event_news.n_rows++] = s;
        s->event_due = (uint32_t) l->event_news.n_rows;
        leader_mark(l);
}

void event_unmark_row(Leader *l, UnitOnNode *s) {
        if (s->event_due)
                l->event_news.rows[s->event_due - 1] = NULL;
        s->event_due = 0;
}

void event_unmark_rows(Leader *l) {
        for (size_t i = l->event_news.n_rows_followed; i < l->event_news.n_rows; i++)
                if (l->event_news.rows[i])
                        l->event_news.rows[i]->event_due = 0;
        l->event_news.n_rows = l->event_news.n_rows_followed = 0;
}

void event_mark_units_of(Leader *l, const Node *n) {
        list_foreach (i, &n->units_on_node) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);

                event_mark(l, &s->unit->event);
                event_mark_unit_on_node(l, s);
        }
        list_foreach (i, &n->placed)
                event_mark(l, &CONTAINER_OF(i, Unit, placed)->event);
}

static GoneObject *gone_new(Leader *l, Argosy__EventKind kind, const char *name) {
        size_t size = strlen(name) + 1;
        GoneObject *g = oom_checked(calloc(1, sizeof(*g) + size));

        memcpy(g->name, name, size);
        g->event.kind = kind;
        g->event.gone = true;
        list_append(&l->event_news.gone, &g->kept);
        event_mark(l, &g->event);
        return g;
}

void event_mark_unit_on_node_gone(Leader *l, UnitOnNode *s) {
        GoneObject *g;

        event_unmark_row(l, s);
        if (!l->event_news.kept) // whoever comes is told of the whole unit
                return;
        g = gone_new(l, ARGOSY__EVENT_KIND__EVENT_STATE, s->unit->name);
        g->node = s->node->number;
        g->node_name = oom_checked(strdup(s->node->name));
        g->event.told = TAKE_PTR(s->told);
        g->event.role = s->unit->event.role;
}

GoneObject *event_mark_gone(Leader *l, EventObject *o, const char *name) {
        GoneObject *g = gone_new(l, o->kind, name);

        list_unlink(&o->due);
        g->event.told = TAKE_PTR(o->told);
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                g->content_told = TAKE_PTR(CONTAINER_OF(o, Unit, event)->content_told);
        g->event.seq = o->seq;
        g->event.role = o->role;
        return g;
}

void event_mark_job(Leader *l, uint64_t number) {
        (void) oom_check(ARRAY_GROW(l->event_news.jobs, l->event_news.jobs_allocated, l->event_news.n_jobs + 1));
        l->event_news.jobs[l->event_news.n_jobs++] = number;
        leader_mark(l);
}

void gone_object_free(GoneObject *g) {
        list_unlink(&g->event.due);
        list_unlink(&g->kept);
        free(g->event.told);
        free(g->content_told);
        free(g->node_name);
        free(g);
}
