// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who would be better off elsewhere (rebalance.h), searched for by the pool while the leader goes on.
//
//      ASKING     who may be moved is the tables' to say: so many units are asked about in each turn, and
//                 the revision
//                 of the record of each that may is noted
//      SEARCHING  the pool has a copy of the Placement and those notes, and nothing else
//      FOUND      the moves are compared with the tables as they are now, and made and taken back on the
//                 Placement
//
// Meanwhile everything may change. A move is dropped if the record of its unit has another revision than
// when it was asked about (so it is also another unit that got the handle), if the unit may not be moved now
// or is elsewhere, if one of the nodes is gone, or if it is not possible or not better any more. What has
// become better since is not in the result.
//
// Who loses interest frees it, also while the pool is at it: the search is told to end, and its callback
// frees what is left. The leader is not closed before. Nobody else's search begins before either, so there
// is one copy at a time.
#include "cluster-state.h"
#include "oom.h"
#include "pool.h"
#include "rebalance.h"
#include "registry.h"
#include "scheduler-private.h"
#include "scheduler-rebalance.h"
#include "scheduler-spec.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"

struct SchedulerRebalance {
        Leader *leader;
        SchedulerMayMove may_move;
        void *userdata;
        enum { ASKING, SEARCHING, FOUND } phase;
        uint64_t *revisions; // by unit; 0: it stays
        uint32_t n_units, n_asked;
        uint32_t *nodes; // by node of the copy: its number in the log
        PoolWork work;
        atomic_bool stopped; // the result is not wanted any more
        Placement *copy;
        RebalanceRules rules;
        RebalanceMove *moves;
        size_t n_moves;
        bool more;
};

enum { UNITS_ASKED_AT_ONCE = 1000 }; // 1 or 2 ms

SchedulerRebalance *scheduler_rebalance_new(Leader *l, size_t max_moves, SchedulerMayMove may_move,
                                            void *userdata) {
        SchedulerRebalance *r = oom_checked(calloc(1, sizeof *r));

        r->leader = l;
        r->may_move = may_move;
        r->userdata = userdata;
        r->rules.max_moves = max_moves;
        r->n_units = placement_unit_end(l->places->placement);
        r->revisions = oom_checked(calloc((size_t) r->n_units + 1, sizeof *r->revisions));
        return r;
}

SchedulerRebalance *scheduler_rebalance_free(SchedulerRebalance *r) {
        if (!r)
                return NULL;
        if (r->phase == SEARCHING) { // on_found() comes back for it
                atomic_store(&r->stopped, true);
                return NULL;
        }
        free(r->revisions);
        free(r->nodes);
        free(r->moves);
        free(r);
        return NULL;
}

// ---------------------------------------------------------------------------------------------- in the pool

static bool might_move(uint32_t unit, void *userdata) {
        const SchedulerRebalance *r = userdata;

        return unit < r->n_units && r->revisions[unit] != 0;
}

static void search(PoolWork *work) {
        SchedulerRebalance *r = CONTAINER_OF(work, SchedulerRebalance, work);

        rebalance_plan(r->copy, &r->rules, &r->moves, &r->n_moves, &r->more);
        r->copy = placement_free(r->copy);
}

// ---------------------------------------------------------------------------------------------- on the loop

static void on_found(PoolWork *work) {
        SchedulerRebalance *r = CONTAINER_OF(work, SchedulerRebalance, work);
        Leader *l = r->leader;

        r->phase = FOUND;
        l->searching = false;
        if (atomic_load(&r->stopped))
                scheduler_rebalance_free(r);
        leader_mark(l);
        leader_outside_done(l);
}

static void begin_search(SchedulerRebalance *r) {
        Leader *l = r->leader;
        const SchedulerTables *t = l->places;

        r->nodes = oom_checked(calloc(t->n_nodes + 1, sizeof *r->nodes));
        for (size_t i = 0; i < t->n_nodes; i++)
                r->nodes[i] = t->nodes[i] ? t->nodes[i]->number : 0;
        r->copy = placement_copy(t->placement);
        r->rules.may_move = might_move;
        r->rules.userdata = r;
        r->rules.stopped = &r->stopped;
        pool_add(l->config.loop, &r->work, POOL_GUESTS, search, on_found);
        r->phase = SEARCHING;
        l->searching = true;
        leader_outside_begun(l);
}

// The unit that has the handle now; NULL: none, or one without a record.
static Unit *unit_at(const Leader *l, uint32_t handle) {
        Unit *u = placement_has_unit(l->places->placement, handle) ? scheduler_unit_at(l, handle) : NULL;

        return u && u->scheduling.place == handle + 1 ? u : NULL;
}

static void ask_about(SchedulerRebalance *r, uint32_t unit) {
        Leader *l = r->leader;
        Unit *u = unit_at(l, unit);
        const UnitEntry *e = u ? cluster_state_find_unit(l->state, u->name) : NULL;

        l->n_searched++;
        if (e && r->may_move(l, u, r->userdata))
                r->revisions[unit] = e->record->revision;
}

bool scheduler_rebalance_step(SchedulerRebalance *r, const Scheduler *p) {
        Leader *l = r->leader;

        if (r->phase != ASKING)
                return r->phase == FOUND;
        for (uint32_t n = 0; n < UNITS_ASKED_AT_ONCE && r->n_asked < r->n_units; n++)
                ask_about(r, r->n_asked++);
        if (r->n_asked < r->n_units)
                leader_mark(l);
        else if (!l->searching) // else on_found() marks
                begin_search(r);
        return false;
}

// The move in the handles and words of now. False: it is not what it was.
static bool is_current(const SchedulerRebalance *r, RebalanceMove *m) {
        Leader *l = r->leader;
        Unit *u = unit_at(l, m->unit);
        const UnitEntry *e = u ? cluster_state_find_unit(l->state, u->name) : NULL;
        const Node *from = node_find(l, r->nodes[m->from]), *to = node_find(l, r->nodes[m->to]);

        if (!e || e->record->revision != r->revisions[m->unit] || !from || !to || !from->scheduling.place ||
            !to->scheduling.place || u->node != from || !r->may_move(l, u, r->userdata))
                return false;
        m->from = from->scheduling.place - 1;
        m->to = to->scheduling.place - 1;
        return true;
}

void scheduler_rebalance_take(SchedulerRebalance *r, const Scheduler *p, SchedulerMove **ret, size_t *ret_n,
                              bool *ret_more) {
        Leader *l = r->leader;
        SchedulerMove *result;
        size_t n = 0;

        assert(r->phase == FOUND);
        for (size_t i = 0; i < r->n_moves; i++) {
                RebalanceMove m = r->moves[i];

                if (is_current(r, &m))
                        r->moves[n++] = m;
        }
        placement_preview_begin(l->places->placement);
        rebalance_revise(l->places->placement, r->moves, &n);
        placement_preview_end(l->places->placement);
        result = oom_checked(calloc(n + 1, sizeof *result));
        for (size_t i = 0; i < n; i++)
                result[i] = (SchedulerMove){.unit = unit_at(l, r->moves[i].unit),
                                            .from = l->places->nodes[r->moves[i].from],
                                            .to = l->places->nodes[r->moves[i].to],
                                            .why = oom_checked(rebalance_why_text(&r->moves[i]))};
        r->n_moves = 0;
        *ret = result;
        *ret_n = n;
        *ret_more = r->more;
}

bool scheduler_carry_out(Scheduler *p, const Unit *u, const Node *to) {
        if (!u->scheduling.place || !to->scheduling.place)
                return false;
        scheduler_touch(p, u->name);
        return rebalance_carry_out(p->leader->places->placement, u->scheduling.place - 1,
                                   to->scheduling.place - 1);
}
