// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks of units for the passes of reconcile.c: touched, released, unused; and which of their hosts were
// touched.
//
//      unit_touch(), unit_touch_on_node() ... -> the list of the mark
//          -> reconcile.c takes each unit once per turn
//
// However often a mark is set, it is followed once. unit_free() takes a unit out of the lists. Above
// limits.touched_rows or touched_hosts all count as touched. Without memory the process ends (oom.h).

#include "unit-marks.h"

#include "array.h"
#include "event-marks.h"
#include "oom.h"
#include "tables.h"
#include "turn.h"
#include "unit-work.h"

static void touch(Leader *l, Unit *u) {
        UnitWork *w = unit_work(l, u);

        if (!list_is_linked(&w->touched))
                list_append(&l->touched, &w->touched);
        leader_mark(l);
}

static RolloutRows *rows_of(const Unit *u) {
        return u->budget && u->budget->rollout && u->budget->rollout->rows.kept ? &u->budget->rollout->rows
                                                                                : NULL;
}

static void note_row(const Leader *l, RolloutRows *rows, uint32_t node) {
        rows->all |= rows->n == l->limits.touched_rows;
        if (rows->all)
                return;
        (void) oom_check(ARRAY_GROW(rows->touched, rows->allocated, rows->n + 1));
        rows->touched[rows->n++] = node;
}

// Notes the host of a unit with many rows, whose lists are made per range of hosts; of other units all rows
// are made again.
static void note_host(Leader *l, UnitOnNode *s) {
        TouchedHosts *t = &l->touched_hosts;

        if (!s->unit->rows || !l->listing_made) {
                s->unit->touched_itself = true;
                return;
        }
        t->all |= t->n == l->limits.touched_hosts;
        if (t->all)
                return;
        (void) oom_check(ARRAY_GROW(t->hosts, t->allocated, t->n + 1));
        t->hosts[t->n++] = s->node->host->number;
}

void unit_marks_forget_hosts(Leader *l) {
        l->touched_hosts.n = 0;
        l->touched_hosts.all = false;
}

void unit_touch_itself(Leader *l, Unit *u) {
        RolloutRows *rows = rows_of(u);

        u->touched_itself = true;
        if (rows)
                rows->all = true;
        touch(l, u);
}

bool unit_take_touched_itself(Unit *u) {
        bool was = u->touched_itself;

        u->touched_itself = false;
        return was;
}

void unit_touch(Leader *l, Unit *u) {
        u->rows_due = true;
        unit_touch_itself(l, u);
}

void unit_touch_on_node(Leader *l, UnitOnNode *s) {
        RolloutRows *rows = rows_of(s->unit);

        event_mark_unit_on_node(l, s);
        note_host(l, s);
        if (rows)
                note_row(l, rows, s->node->number);
        touch(l, s->unit);
}

void unit_release(Leader *l, Unit *u) {
        UnitWork *w = unit_work(l, u);

        if (!list_is_linked(&w->released))
                list_append(&l->released, &w->released);
        leader_mark(l);
}

void unit_mark_unused(Leader *l, Unit *u) {
        if (u->recorded || list_is_linked(&unit_work_seen(u)->unused))
                return;
        list_append(&l->unused, &unit_work(l, u)->unused);
        leader_mark(l);
}

bool unit_is_used(const Unit *u) {
        const UnitWork *w = unit_work_seen(u);

        return u->recorded || u->followed || !list_is_empty(&u->on_nodes) || !list_is_empty(&w->waiters) ||
               list_is_linked(&w->touched) || list_is_linked(&w->order_due);
}

void unit_marks_retire(Leader *l) {
        list_init(&l->touched);
        list_init(&l->released);
        list_init(&l->unused);
}
