// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who would be better off elsewhere (rebalance.h), in the words of the tables.
#include "oom.h"
#include "rebalance.h"
#include "registry.h"
#include "scheduler-private.h"
#include "scheduler.h"
#include "tables.h"

typedef struct Question {
        Leader *leader;
        bool (*may_move)(Unit *u, void *userdata);
        void *userdata;
} Question;

static bool ask_about(uint32_t unit, void *userdata) {
        const Question *q = userdata;
        Unit *u = unit_find(q->leader, placement_unit_name(q->leader->places->placement, unit));

        return u && u->place == unit + 1 && q->may_move(u, q->userdata);
}

void scheduler_rebalance(Scheduler *p, size_t max_moves, size_t max_tries,
                         bool (*may_move)(Unit *u, void *userdata), void *userdata, SchedulerMove **ret,
                         size_t *ret_n, bool *ret_more) {
        Leader *l = p->leader;
        Question question = {l, may_move, userdata};
        RebalanceRules rules = {max_moves, max_tries, ask_about, &question};
        _cleanup_free_ RebalanceMove *moves = NULL;
        SchedulerMove *result;
        size_t n;

        rebalance_plan(l->places->placement, &rules, &moves, &n, ret_more);
        result = oom_checked(calloc(n + 1, sizeof *result));
        for (size_t i = 0; i < n; i++) {
                result[i].unit = unit_find(l, placement_unit_name(l->places->placement, moves[i].unit));
                result[i].from = l->places->nodes[moves[i].from];
                result[i].to = l->places->nodes[moves[i].to];
                result[i].why = oom_checked(rebalance_why_text(&moves[i]));
        }
        *ret = result;
        *ret_n = n;
}

bool scheduler_carry_out(Scheduler *p, const Unit *u, const Node *to) {
        if (!u->place || !to->place)
                return false;
        scheduler_touch(p, u->name);
        return rebalance_carry_out(p->leader->places->placement, u->place - 1, to->place - 1);
}
