// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Walks over all nodes of global units whose records have changed, in slices (row-walks.h). row_walk_begin()
// -> row_walk_next() per row, several turns long -> NULL at the end. There are few walks at a time. A row
// that is freed moves the walk on. Without memory the process ends (oom.h).

#include "row-walks.h"

#include <stdlib.h>

#include "leader-core.h"
#include "oom.h"
#include "turn.h"

typedef struct RowWalk {
        ListNode list; // in Leader.row_walks
        Unit *unit;
        ListNode *next; // UnitOnNode.by_unit, or the list's head
} RowWalk;

static RowWalk *find(const Leader *l, const Unit *u) {
        list_foreach (i, &l->row_walks)
                if (CONTAINER_OF(i, RowWalk, list)->unit == u)
                        return CONTAINER_OF(i, RowWalk, list);
        return NULL;
}

static void end(RowWalk *w) {
        list_unlink(&w->list);
        free(w);
}

void row_walk_begin(Leader *l, Unit *u) {
        RowWalk *w = find(l, u);

        if (!w) {
                w = oom_checked(calloc(1, sizeof(*w)));
                w->unit = u;
                list_append(&l->row_walks, &w->list);
        }
        w->next = u->on_nodes.next;
        leader_mark(l);
}

UnitOnNode *row_walk_next(Leader *l) {
        while (!list_is_empty(&l->row_walks)) {
                RowWalk *w = CONTAINER_OF(l->row_walks.next, RowWalk, list);
                ListNode *row = w->next;

                if (row != &w->unit->on_nodes) {
                        w->next = row->next;
                        return CONTAINER_OF(row, UnitOnNode, by_unit);
                }
                end(w);
        }
        return NULL;
}

void row_walk_on_freed(Leader *l, const UnitOnNode *s) {
        RowWalk *w = find(l, s->unit);

        if (w)
                list_cursor_pass(&w->next, &s->by_unit);
}

void row_walk_end(Leader *l, const Unit *u) {
        RowWalk *w = find(l, u);

        if (w)
                end(w);
}

void row_walks_retire(Leader *l) {
        while (!list_is_empty(&l->row_walks))
                end(CONTAINER_OF(l->row_walks.next, RowWalk, list));
}
