// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Marks for the stream of events (events/event-stream.c).

#include "leader-core.h"
#include "tables.h"

// Something of it may have changed.
void event_mark(Leader *l, EventObject *o);
void event_unmark(Leader *l, EventObject *o); // it was looked at, or goes
// Marks that one node's report of the unit may have changed; the unit itself, if nothing is kept.
void event_mark_unit_on_node(Leader *l, UnitOnNode *s);
// it was touched since that was asked last, so all that nodes say of it is to be looked at
bool event_take_rows_due(Unit *u);
// Marks each unit that is seen on that node, or placed there: the node is noted, and its units are marked
// some in each turn, before anything is told. False: *left, which is 0 then, was too little for them.
void event_mark_units_of(Leader *l, Node *n);
bool event_mark_some_units_of(Leader *l, Node *n, size_t *left);
// It is about to be freed; who was told of it is to be told that.
void event_mark_unit_on_node_gone(Leader *l, UnitOnNode *s);
// The same of an object that the stream has given a sequence; its place there is taken over by what is
// returned.
GoneObject *event_mark_gone(Leader *l, EventObject *o, const char *name);
// The log knows how it ended.
void event_mark_job(Leader *l, uint64_t number);
// Whether what nodes say is marked from now on; if not, units of which that is marked are marked instead.
void event_marks_keep(Leader *l, bool kept);
// At most so many of what nodes say, or jobs that have ended, in the order in which they were marked. They
// are marked no more.
void event_marks_take_rows(Leader *l, size_t most, void (*each)(Leader *l, UnitOnNode *s));
size_t event_marks_take_jobs(Leader *l, size_t most, void (*each)(Leader *l, uint64_t number)); // how many
// The next object that is marked, which stays so. In front of them all are units on nodes that are gone:
// they may be there again, so what was told of them is looked at before all else. NULL: there is none.
static inline EventObject *event_marks_next_row_gone(const Leader *l) {
        const ListNode *first = l->event_news.rows_gone.next;

        return first == &l->event_news.rows_gone ? NULL : &CONTAINER_OF(first, GoneObject, row)->event;
}
static inline EventObject *event_marks_next(Leader *l) {
        QueueMark *mark = mark_queue_first(&l->event_news.due);

        return mark ? CONTAINER_OF(mark, EventObject, due) : NULL;
}
void event_marks_let_go(Leader *l); // a term ends: nothing more is noted
void event_marks_retire(Leader *l); // a term is over: marks of objects go with their tables
void gone_object_free(GoneObject *g);
