// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit that replaces others waits as long as their group has no room. Whether it ever will is told by how
// many of the group are on their way (DisruptionBudget.n_recovering). That number is kept as units are
// touched, and only while units of the group wait for room, since nobody asks at other times:
//
//      nobody waits             nothing is kept; Unit.recovering is what it was when somebody did
//      somebody asks            a walk looks at all of the group, WALKED_UNITS a turn. Until its end they
//                               are taken to be on their way
//      the walk is over         the number is right, and is kept by touches
//
// n_recovering is at any time how many units of the group have `recovering`, so a walk that begins anew
// corrects what is old. A unit that comes meanwhile is appended and met; one that goes moves the walk on
// (disruption_budget_leave()).
#include "recovering.h"

#include "ordering.h"
#include "replacers.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-work.h"

enum { WALKED_UNITS = 4096 };

bool recovering_is(const Leader *l, const Unit *u) {
        const UnitWork *w = unit_work_seen(u);
        Standing standing;

        if (u->life == LIFE_MOVING || u->life == LIFE_COMMITTING || list_is_linked(&w->unscheduled) ||
            unit_has_deadline(u, UNIT_MOVES))
                return true;
        standing = u->down ? ordering_standing(l, u->name) : STANDING_UP;
        return standing == STANDING_COMING || standing == STANDING_CHANGING || standing == STANDING_ENDING ||
               standing == STANDING_UNKNOWN;
}

static void refresh(const Leader *l, Unit *u) {
        bool is = recovering_is(l, u);

        u->budget->n_recovering = u->budget->n_recovering - u->recovering + is;
        u->recovering = is;
}

bool recovering_any(Leader *l, DisruptionBudget *g) {
        if (!g->recovering_known && !list_is_linked(&g->recovering_walk)) {
                g->recovering_at = g->units.next;
                list_append(&l->recovering_walks, &g->recovering_walk);
                leader_mark(l);
        }
        return !g->recovering_known || g->n_recovering > 0;
}

void recovering_on_touched(Leader *l, Unit *u) {
        DisruptionBudget *g = u->budget;

        if (!g)
                return;
        if (!list_is_empty(&g->waiting)) {
                refresh(l, u);
        } else {
                g->recovering_known = false;
                list_unlink(&g->recovering_walk);
        }
}

static bool walk_is_over(Leader *l, DisruptionBudget *g, size_t *left) {
        for (; *left > 0 && g->recovering_at != &g->units; (*left)--) {
                refresh(l, CONTAINER_OF(g->recovering_at, Unit, of_budget));
                g->recovering_at = g->recovering_at->next;
        }
        return g->recovering_at == &g->units;
}

void recovering_step(Leader *l) {
        size_t left = WALKED_UNITS;

        while (left > 0 && !list_is_empty(&l->recovering_walks)) {
                DisruptionBudget *g =
                        CONTAINER_OF(l->recovering_walks.next, DisruptionBudget, recovering_walk);

                if (!walk_is_over(l, g, &left))
                        break;
                list_unlink(&g->recovering_walk);
                g->recovering_known = true;
                if (g->n_recovering == 0)
                        replacers_reconsider(l);
        }
        if (!list_is_empty(&l->recovering_walks))
                leader_mark(l);
}

void recovering_retire(Leader *l) {
        list_init(&l->recovering_walks);
}
