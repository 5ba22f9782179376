// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks of objects with possible news for watchers. They are pulled once, at the end of the turn, so however
// often one is set it costs one look at the object as it is then. An object that goes leaves its name
// behind: what was told of it is to be taken back. Without memory for that watchers would keep it for ever,
// so the process ends (oom.h).
#include "event-marks.h"

#include <string.h>

#include "array.h"
#include "oom.h"
#include "str.h"
#include "tables.h"
#include "turn.h"

void event_mark(Leader *l, EventObject *o) {
        mark_queue_add(&l->event_news.due, &o->due);
        leader_mark(l);
}

void event_unmark(Leader *l, EventObject *o) {
        mark_queue_drop(&l->event_news.due, &o->due);
}

void event_mark_unit_on_node(Leader *l, UnitOnNode *s) {
        if (!l->event_news.kept) { // whoever comes is told of the whole unit
                event_mark(l, &s->unit->event);
                return;
        }
        if (s->event_due)
                return;
        mark_queue_add(&l->event_news.rows, &s->event_due);
        leader_mark(l);
}

void event_marks_keep(Leader *l, bool kept) {
        l->event_news.kept = kept;
        if (!kept)
                event_marks_take_rows(l, SIZE_MAX, event_mark_unit_on_node);
}

void event_marks_take_rows(Leader *l, size_t most, void (*each)(Leader *l, UnitOnNode *s)) {
        MarkQueue *rows = &l->event_news.rows;

        for (; most > 0 && mark_queue_length(rows) > 0; most--) {
                QueueMark *mark = mark_queue_take(rows);

                if (mark)
                        each(l, CONTAINER_OF(mark, UnitOnNode, event_due));
        }
}

size_t event_marks_take_jobs(Leader *l, size_t most, void (*each)(Leader *l, uint64_t number)) {
        EventNews *news = &l->event_news;
        size_t n = MIN_OF(most, news->n_jobs);

        for (size_t i = 0; i < n; i++)
                each(l, news->jobs[i]);
        news->n_jobs -= n;
        if (n > 0)
                memmove(news->jobs, news->jobs + n, news->n_jobs * sizeof(*news->jobs));
        return n;
}

void event_marks_let_go(Leader *l) {
        EventNews *news = &l->event_news;

        news->kept = false;
        mark_queue_done(&news->rows);
        free(news->jobs);
        news->jobs = NULL;
        news->n_jobs = news->jobs_allocated = 0;
}

void event_marks_retire(Leader *l) {
        mark_queue_done(&l->event_news.due);
        list_init(&l->event_news.rows_gone);
        list_init(&l->event_news.nodes);
        list_init(&l->event_news.gone);
}

void event_mark_units_of(Leader *l, Node *n) {
        n->mark_held = n->units_on_node.next;
        n->mark_placed = n->placed.next;
        if (!list_is_linked(&n->units_due))
                list_append(&l->event_news.nodes, &n->units_due);
        leader_mark(l);
}

// Marks a unit on a node that watchers know by a former name: under that name it is gone.
static void mark_held(Leader *l, Node *n, UnitOnNode *s) {
        if (n->former_name)
                event_mark_unit_on_node_gone(l, s);
        event_mark(l, &s->unit->event);
        event_mark_unit_on_node(l, s);
}

bool event_mark_some_units_of(Leader *l, Node *n, size_t *left) {
        for (; n->mark_held != &n->units_on_node && *left > 0; (*left)--) {
                UnitOnNode *s = CONTAINER_OF(n->mark_held, UnitOnNode, by_node);

                n->mark_held = n->mark_held->next;
                mark_held(l, n, s);
        }
        for (; n->mark_placed != &n->placed && *left > 0; (*left)--) {
                Unit *u = CONTAINER_OF(n->mark_placed, Unit, placed);

                n->mark_placed = n->mark_placed->next;
                event_mark(l, &u->event);
        }
        if (n->mark_held != &n->units_on_node || n->mark_placed != &n->placed)
                return false;
        list_unlink(&n->units_due);
        return true;
}

static GoneObject *gone_new(Leader *l, Argosy__EventKind kind, const char *name) {
        GoneObject *g = oom_checked(NEW_WITH_TEXT(GoneObject, name, name));

        g->event.kind = kind;
        g->event.gone = true;
        list_append(&l->event_news.gone, &g->kept);
        leader_mark(l);
        return g;
}

void event_mark_unit_on_node_gone(Leader *l, UnitOnNode *s) {
        GoneObject *g;

        mark_queue_drop(&l->event_news.rows, &s->event_due);
        if (!l->event_news.kept) // whoever comes is told of the whole unit
                return;
        g = gone_new(l, ARGOSY__EVENT_KIND__EVENT_STATE, s->unit->name);
        g->node = s->node->number;
        g->node_name = oom_checked(strdup(s->node->former_name ?: s->node->name));
        g->event.reported = TAKE_PTR(s->reported);
        g->event.role = s->unit->event.role;
        list_insert_before(l->event_news.rows_gone.next, &g->row);
}

GoneObject *event_mark_gone(Leader *l, EventObject *o, const char *name) {
        GoneObject *g = gone_new(l, o->kind, name);

        event_unmark(l, o);
        event_mark(l, &g->event);
        g->event.reported = TAKE_PTR(o->reported);
        if (o->kind == ARGOSY__EVENT_KIND__EVENT_UNIT)
                g->content_reported = TAKE_PTR(CONTAINER_OF(o, Unit, event)->content_reported);
        g->event.seq = o->seq;
        g->event.role = o->role;
        return g;
}

bool event_take_rows_due(Unit *u) {
        bool were = u->rows_due;

        u->rows_due = false;
        return were;
}

void event_mark_job(Leader *l, uint64_t number) {
        (void) oom_check(
                ARRAY_GROW(l->event_news.jobs, l->event_news.jobs_allocated, l->event_news.n_jobs + 1));
        l->event_news.jobs[l->event_news.n_jobs++] = number;
        leader_mark(l);
}

void gone_object_free(GoneObject *g) {
        list_unlink(&g->kept);
        list_unlink(&g->row);
        free(g->event.reported);
        free(g->content_reported);
        free(g->node_name);
        free(g);
}
