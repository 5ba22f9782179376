// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change that is only asked about: what it would do, and what would follow from that.
//
// The change is planned like any other, with a batch and a Scheduler of its own. Then the turns that would
// follow it are gone through with the functions that decide them, on what the Scheduler counts: who is
// replaced on the nodes that were given away, or goes where one of them goes, looks for another node
// (move_choose()), and who has none waits for its turn in a round, in which it may preempt others
// (pending_round()); until nothing follows any more. Every unit that would be elsewhere, or nowhere, is
// noted once, with its last place. When the Scheduler is freed everything counts as before. Cost: the units
// that are noted, those on nodes where somebody replaces others, those that their groups hold back, and a
// round.
//
// Time is simulated in two steps. At first what was moved is down, and units that their group cannot spare
// (MaxUnavailable=) are held back. When nothing follows any more, all that has a node is taken to be up
// there: the units held back leave one after the other, until as many as may be down have no node; the
// others stay. How long a unit takes to end is not simulated: that decides when something happens, not what.
//
// Hosts report that a name is taken only when they get the unit's order. By that time the units that it
// replaces there, or that were preempted for it, have left. So what is known of that (preview-names.c)
// counts when all that was to leave before has left: the unit looks for another node then, and the units
// that had to go for it are noted all the same. Its order waits as long as a group holds one of those back,
// and until then no host refuses it.
//
// A plan of many units is made in many turns (preview-turns.c): its Scheduler has a copy of the Placement
// then, and preview_enter() and preview_leave() stand round what each turn does with it. What
// follows from the plan is gone through in one turn, by what the groups are in that.
//
// Failures: what change_plan() fails with, and -ENOMEM.
#include "preview.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "activators.h"
#include "array.h"
#include "arrivals.h"
#include "batch-builder.h"
#include "decide-changes.h"
#include "decide-moves.h"
#include "disruption-budget.h"
#include "message.h"
#include "nodes.h"
#include "pending.h"
#include "plan-dues.h"
#include "preview-contents.h"
#include "preview-units.h"
#include "registry.h"
#include "replacers.h"
#include "response.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-work.h"

enum {
        // until somebody is refused, or all ends: each goes to fewer units, or to such of lower priority
        TURNS_MAX = 64,
};

// What the change would forget of a unit, which has it again when all is planned.
typedef struct Forgotten {
        Unit *unit;
        Exclusion *exclusions;
        Retry *retry;
} Forgotten;

struct Preview {
        Decision alone;
        Argosy__Response *response; // of the units that the change names
        void **batches;             // what was planned of them, unpacked, in its order
        size_t n_batches, batches_allocated;
        Forgotten *forgotten;
        size_t n_forgotten, forgotten_allocated;
        PreviewUnit **units; // as they were noted
        size_t n, allocated;
        PlanDues due;
        PlanDue *held; // units that would leave when more of their group are up
        size_t n_held, held_allocated;
        bool late; // what was moved first is up by now
        PreviewUnit **put; // of a turn that is not over, in its order
        size_t n_put, put_allocated;
        BatchBuilder turn; // the same
        Map by_name;
        PreviewContents contents; // in `batches`
        PreviewRefuses refuses; // while it is followed; NULL: nobody does
        void *refuses_data;
        bool waiting; // a waiting unit may find something since the last round
};

static void remember(Preview *p) {
        for (size_t i = 0; i < p->n_forgotten; i++) {
                const Forgotten *f = &p->forgotten[i];

                UnitWork *w = unit_work(p->alone.leader, f->unit);

                w->exclusions = f->exclusions;
                w->retry = f->retry;
                (void) scheduler_set_refusals(p->alone.leader, f->unit);
        }
        p->n_forgotten = 0;
}

Preview *preview_free(Preview *p) {
        if (!p)
                return NULL;
        assert(p->n_forgotten == 0);
        for (size_t i = 0; i < p->n; i++) {
                for (size_t k = 0; k < p->units[i]->n_refusals; k++)
                        message_free(p->units[i]->refusals[k]);
                free(p->units[i]->refusals);
                free(p->units[i]->note);
                free(p->units[i]->networks);
                free(p->units[i]);
        }
        preview_contents_done(&p->contents);
        for (size_t i = 0; i < p->n_batches; i++)
                message_free(p->batches[i]);
        message_free(p->response);
        free(p->batches);
        free(p->forgotten);
        free(p->units);
        plan_dues_done(&p->due);
        free(p->held);
        free(p->put);
        map_done(&p->by_name);
        batch_builder_done(&p->turn);
        batch_builder_done(&p->alone.batch);
        scheduler_free(p->alone.scheduler);
        dependencies_done_all(&p->alone.planned);
        free(p);
        return NULL;
}

Preview *preview_new(Leader *l, bool in_turns) {
        Preview *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->alone.leader = l;
        p->alone.batch.state = l->state;
        p->alone.batch.soft_bytes = l->limits.entry_bytes;
        p->alone.batch.soft_units = l->limits.entry_units;
        p->alone.batch.most_units = l->limits.requests_units;
        p->alone.batch.judges = true;
        p->alone.batch.held.counted_us = leader_counted(l);
        p->alone.scheduler = in_turns ? scheduler_new_copy(l) : scheduler_new_preview(l);
        p->response = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        return p->response ? p : preview_free(p);
}

bool preview_is_outdated(const Preview *p) {
        return scheduler_is_outdated(p->alone.scheduler);
}

static int forget(Preview *p, const Argosy__Request__Change *change) {
        Leader *l = p->alone.leader;

        for (size_t i = 0; i < change->n_names; i++) {
                Unit *u = unit_find(l, change->names[i]);
                UnitWork *w;

                if (!decide_forgets_refusals(change, u) ||
                    (!unit_work_seen(u)->exclusions && !unit_work_seen(u)->retry))
                        continue;
                if (ARRAY_GROW(p->forgotten, p->forgotten_allocated, p->n_forgotten + 1) < 0)
                        return -ENOMEM;
                w = unit_work(l, u);
                p->forgotten[p->n_forgotten++] = (Forgotten){u, TAKE_PTR(w->exclusions), TAKE_PTR(w->retry)};
                (void) scheduler_set_refusals(l, u); // a host that runs it from fleet's directory keeps it
        }
        return 0;
}

static int add_held(Preview *p, const char *name, PreviewReason reason, const char *by) {
        int r = ARRAY_GROW(p->held, p->held_allocated, p->n_held + 1);

        if (r >= 0)
                p->held[p->n_held++] = (PlanDue){name, reason, by};
        return r;
}

// What is counted of a unit. The first of a group brings those along that wait already: they may leave
// before others.
static int join_budget(Preview *p, const char *name, BudgetShare *ret) {
        Leader *l = p->alone.leader;
        int r = disruption_budget_plan_join(l, name, ret);

        if (r != BUDGET_JOINED_FIRST)
                return r < 0 ? r : 0;
        list_foreach (i, &ret->budget->waiting) {
                const Unit *u = CONTAINER_OF(i, UnitWork, queue)->unit, *by = replacer_of(l, u);

                r = add_held(p, u->name, by ? PREVIEW_REPLACED : PREVIEW_TURN, by ? by->name : NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int hold(Preview *p, const PlanDue *due) {
        BudgetShare share;
        int r = join_budget(p, due->name, &share);

        return r < 0 ? r : add_held(p, due->name, due->reason, due->by);
}

// What is given a node is down there for a while: until the plan is late.
static void count_planned(const Preview *p, PreviewUnit *u) {
        const Argosy__UnitRecord *r = u->record;
        bool counted = r->target == ARGOSY__TARGET__TARGET_LAUNCHED && !r->global &&
                       !(u->brought && record_final_outcome(r, r->node));

        disruption_budget_plan(&u->share, counted, counted && (!u->node || !p->late));
}

static int add(Preview *p, const Argosy__UnitRecord *record, PreviewUnit **ret) {
        int r = ARRAY_GROW(p->units, p->allocated, p->n + 1);
        PreviewUnit *u = r < 0 ? NULL : calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        u->record = record;
        p->units[p->n++] = *ret = u;
        r = map_add_str(&p->by_name, record->name, u);
        return r < 0 ? r : join_budget(p, record->name, &u->share);
}

static int add_due(Preview *p, const char *name, PreviewReason reason, const char *by) {
        p->alone.leader->n_plan_dues++;
        return plan_dues_add(&p->due, &(PlanDue){name, reason, by});
}

static bool has_node(const Preview *p, const char *name) {
        const PreviewUnit *noted = map_find_str(&p->by_name, name);
        const Unit *u = noted ? NULL : unit_find(p->alone.leader, name);

        return noted ? noted->node : u && u->recorded && u->node;
}

// Those who are to be where this unit is, and are somewhere; others have their turn again.
static int add_colocated(Preview *p, const char *name) {
        Leader *l = p->alone.leader;
        const char *colocated[PLACEMENT_FOLLOWS_MAX];
        size_t n = scheduler_colocated_names(l, name, colocated);
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                if (has_node(p, colocated[i]))
                        r = add_due(p, colocated[i], PREVIEW_FOLLOWS, name);
                else
                        p->waiting = true; // scheduler_refresh_colocated()
        return r;
}

// What the unit activates, and it itself if another one does that, is looked at again with each record of
// it: activation_affinity_on_unit().
static int add_activated(Preview *p, const char *name) {
        const Leader *l = p->alone.leader;
        const char *activated = activators_activated(&l->activators, name);
        int r = activated && unit_find(l, activated) ? add_due(p, activated, PREVIEW_FOLLOWS, name) : 0;

        return r >= 0 && activators_has_any(&l->activators, name)
                       ? add_due(p, name, PREVIEW_FOLLOWS, NULL)
                       : r;
}

// Nobody else follows one that stays where it is.
static int add_followers(Preview *p, const PreviewUnit *u) {
        int r = add_activated(p, u->record->name);

        return r < 0 || (u->left && u->left == u->node) ? r : add_colocated(p, u->record->name);
}

static int add_put(Preview *p, PreviewUnit *u) {
        int r = ARRAY_GROW(p->put, p->put_allocated, p->n_put + 1);

        if (r >= 0)
                p->put[p->n_put++] = u;
        return r < 0 ? r : add_followers(p, u);
}

// A unit that the change does not name would be elsewhere, or one that it names not where it was planned
// first.
static int note(Preview *p, const char *name, uint32_t node, PreviewReason reason, const char *by) {
        PreviewUnit *u = map_find_str(&p->by_name, name);
        Argosy__UnitRecord next;
        int r;

        if (!u) {
                const UnitEntry *e = cluster_state_find_unit(p->alone.leader->state, name);

                if (!e)
                        return 0;
                r = add(p, e->record, &u);
                if (r < 0)
                        return r;
                u->brought = true;
                u->node = e->record->node;
        }
        u->left = u->node ?: u->left;
        u->node = node;
        u->reason = node && u->by ? u->reason : reason; // the unit that took its place counts
        u->by = node && u->by ? u->by : by;
        count_planned(p, u);
        next = *u->record;
        next.node = node;
        p->waiting = true;
        r = add_put(p, u);
        r = r < 0 ? r : batch_builder_put_unit(&p->turn, &next, 0, 0);
        return r < 0 ? r : batch_builder_put_unit(&p->alone.batch, &next, 0, 0); // for those who follow it
}

static bool runs_there(const Leader *l, const char *name, uint32_t node) {
        const Unit *u = unit_find(l, name);
        const UnitOnNode *s = u && u->node && u->node->number == node ? unit_on_node_find(u, u->node) : NULL;

        return s && unit_on_node_is_reported(s) && !unit_on_node_is_down(s);
}

// As move_is_held(), of what was noted. What runs and is started again goes on meanwhile.
static bool is_noted_held(const Preview *p, const PreviewUnit *u) {
        const Leader *l = p->alone.leader;
        const UnitEntry *e = cluster_state_find_unit(l->state, u->record->name);
        bool runs_on =
                e && record_has_spec_of(e->record, u->record) && runs_there(l, u->record->name, u->node);

        return e && u->share.budget && u->share.counted && (!u->share.down || runs_on) &&
               scheduler_is_replaced(l, u->record->name) &&
               disruption_budget_room(l, u->share.budget, e) == 0;
}

// What was noted is not where its record says.
static int drive_noted(Preview *p, const PreviewUnit *u, const PlanDue *due) {
        uint32_t node;

        if (!u->node)
                return 0;
        if (is_noted_held(p, u))
                return hold(p, due);
        if (!scheduler_drive(p->alone.scheduler, u->record->name, &node))
                return 0;
        return note(p, u->record->name, node, due->reason, due->by);
}

static int drive(Preview *p, const PlanDue *due) {
        Leader *l = p->alone.leader;
        UnitEntry *e = cluster_state_find_unit(l->state, due->name);
        const PreviewUnit *noted = map_find_str(&p->by_name, due->name);
        Unit *u = unit_find(l, due->name);
        MoveChoice choice;
        int r;

        if (noted)
                return drive_noted(p, noted, due);
        if (!u || !u->recorded || !move_is_due(&p->alone, u, e))
                return 0;
        if (move_is_held(&p->alone, u, e))
                return hold(p, due);
        r = move_choose(&p->alone, u, e, &choice);
        if (r < 0 || choice.verdict != MOVE_GOES || (!u->node && !choice.node))
                return r;
        return note(p, u->name, choice.node, due->reason, due->by);
}

static int drive_all(Preview *p) {
        PlanDue due;
        int r = 0;

        while (r >= 0 && plan_dues_take(&p->due, &due)) // there may be more of them then
                r = drive(p, &due);
        return r;
}

static int on_replaced(const char *name, const char *by, void *userdata) {
        return add_due(userdata, name, PREVIEW_REPLACED, by);
}

static int find_all_replaced_and_colocated(Preview *p) {
        Arrivals arrivals;
        int r = arrivals_init(&arrivals, p->alone.leader, p->put, p->n_put, p->units, p->n, &p->by_name);

        for (size_t i = 0; i < p->n_put && r >= 0; i++) {
                r = arrivals_each_replaced(&arrivals, p->put[i], on_replaced, p);
                r = r < 0 ? r : add_followers(p, p->put[i]);
        }
        arrivals_done(&arrivals);
        return r;
}

static bool waits(const PreviewUnit *u) {
        return !u->node && !u->record->global && u->record->target != ARGOSY__TARGET__TARGET_INACTIVE;
}

// The turn is over: the log has what it put.
static int end_turn(Preview *p) {
        size_t n = p->n_put;
        int r;

        for (size_t i = 0; i < n; i++)
                if (waits(p->put[i])) {
                        scheduler_take_off(p->alone.scheduler, p->put[i]->record->name, p->put[i]->left);
                        p->waiting = true;
                }
        for (size_t i = 0; i < n; i++)
                if (waits(p->put[i]))
                        scheduler_want(p->alone.scheduler, p->put[i]->record->name, true);
        r = find_all_replaced_and_colocated(p);
        p->n_put = 0;
        batch_builder_done(&p->turn);
        return r;
}

static bool is_planned(const char *name, void *userdata) {
        const Preview *p = userdata;
        const PreviewUnit *u = map_find_str(&p->by_name, name);

        return u && u->node;
}

// Gives those without a node their turn, among all others who wait. *ret: whether it made a difference.
static int give_turns(Preview *p, bool *ret) {
        _cleanup_free_ SchedulerStep *steps = NULL;
        size_t n;
        int r = 0;

        pending_round(p->alone.leader, &(PendingView){&p->turn, is_planned, p}, p->alone.scheduler,
                      p->alone.leader->limits.plan_steps, &steps, &n);
        *ret = false;
        for (size_t i = 0; i < n && r >= 0; i++) {
                *ret = true;
                if (batch_builder_has_unit(&p->turn, steps[i].name)) { // in the next turn, as it is then
                        p->waiting = true;
                        continue;
                }
                r = note(p, steps[i].name, steps[i].node ? steps[i].node->number : 0,
                         steps[i].node ? PREVIEW_TURN : PREVIEW_PREEMPTED, steps[i].by);
        }
        return r;
}

// All that was moved is up where it is now: units that waited for that leave, one after the other.
static int let_go(Preview *p) {
        _cleanup_free_ PlanDue *held = TAKE_PTR(p->held);
        size_t n = p->n_held;
        bool first = !p->late;
        int r = 0;

        p->late = true;
        p->n_held = p->held_allocated = 0;
        for (size_t i = 0; i < p->n && first; i++)
                count_planned(p, p->units[i]);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = add_due(p, held[i].name, held[i].reason, held[i].by);
        return r < 0 ? r : drive_all(p);
}

// The unit that replaces this one and begins when it has left; NULL: none, it runs there already, or is of
// the same group.
static PreviewUnit *who_awaits(const Preview *p, const PlanDue *due) {
        const Unit *u = unit_find(p->alone.leader, due->name);
        const PreviewUnit *noted = map_find_str(&p->by_name, due->name);
        PreviewUnit *by = due->by ? map_find_str(&p->by_name, due->by) : NULL;
        uint32_t node = noted ? noted->node : u && u->node ? u->node->number : 0;

        if (!u || !by || by->node != node || by->share.budget == u->budget ||
            runs_there(p->alone.leader, due->by, node))
                return NULL;
        return by;
}

static void mark_awaiting(Preview *p) {
        for (size_t i = 0; i < p->n; i++)
                p->units[i]->awaits = false;
        for (size_t i = 0; i < p->n_held; i++) {
                PreviewUnit *by = who_awaits(p, &p->held[i]);

                if (by)
                        by->awaits = true;
        }
}

// Another node, or none; no group keeps it where it is refused.
static int drive_refused(Preview *p, PreviewUnit *u) {
        uint32_t node;

        if (!scheduler_drive(p->alone.scheduler, u->record->name, &node))
                return 0;
        p->late = false;
        return note(p, u->record->name, node, u->reason, u->by);
}

static bool is_refused_now(const Preview *p, const PreviewUnit *u) {
        return u->record->target != ARGOSY__TARGET__TARGET_INACTIVE && !u->awaits &&
               (u->record->global ? !u->refused : u->node > 0) &&
               p->refuses(u->record->name, u->node, p->refuses_data);
}

static int by_name(const void *a, const void *b) {
        return strcmp((*(PreviewUnit *const *) a)->record->name, (*(PreviewUnit *const *) b)->record->name);
}

// Hosts are told of what they are to have, and some of it they refuse, all at once: who is refused looks for
// another node in the order of the names, as a turn does. *ret: whether it made a difference.
static int tell_hosts(Preview *p, bool *ret) {
        _cleanup_free_ PreviewUnit **refused = NULL;
        size_t n = 0;
        int r = 0;

        *ret = false;
        if (!p->refuses)
                return 0;
        refused = reallocarray(NULL, p->n ?: 1, sizeof(*refused));
        if (!refused)
                return -ENOMEM;
        mark_awaiting(p);
        for (size_t i = 0; i < p->n; i++)
                if (is_refused_now(p, p->units[i]))
                        refused[n++] = p->units[i];
        qsort(refused, n, sizeof(*refused), by_name);
        for (size_t i = 0; i < n && r >= 0; i++) {
                bool global = refused[i]->record->global;

                refused[i]->refused = true;
                p->waiting |= global; // for room that it does not take up
                if (!global)
                        r = drive_refused(p, refused[i]);
        }
        *ret = n > 0;
        return r;
}

static int simulate_turns(Preview *p) {
        bool more = true, told;
        int r = 0;

        for (unsigned turns = 0; r >= 0 && more && turns < TURNS_MAX; turns++) {
                bool due;

                r = end_turn(p);
                due = p->waiting;
                p->waiting = false;
                r = r < 0 ? r : drive_all(p);
                more = p->n_put > 0;
                if (r >= 0 && due)
                        r = give_turns(p, &more);
                more |= p->n_put > 0 || p->waiting;
                if (r < 0 || more)
                        continue;
                r = tell_hosts(p, &told);
                if (r >= 0 && told && p->waiting)
                        r = give_turns(p, &more);
                if (r < 0 || told) {
                        more = true;
                        turns = 0;
                        continue;
                }
                r = let_go(p);
                more = p->n_put > 0;
        }
        return r;
}

// Notes the units that were to leave and would stay.
static int note_held(Preview *p) {
        Leader *l = p->alone.leader;

        for (size_t i = 0; i < p->n_held; i++) {
                const PlanDue due = p->held[i];
                const Unit *u = unit_find(l, due.name);
                const UnitEntry *e = cluster_state_find_unit(l->state, due.name);
                PreviewUnit *held = map_find_str(&p->by_name, due.name), *by = who_awaits(p, &due);
                int r;

                if (!u || !e)
                        continue;
                if (by && !by->waits_for)
                        by->waits_for = due.name;
                if (u->life == LIFE_HELD) // that is nothing new
                        continue;
                if (!held) {
                        r = add(p, e->record, &held);
                        if (r < 0)
                                return r;
                        held->brought = true;
                        held->node = e->record->node;
                }
                held->held = true;
                held->reason = due.reason == PREVIEW_REPLACED ? due.reason : PREVIEW_TURN;
                held->by = due.reason == PREVIEW_REPLACED ? due.by : NULL;
        }
        return 0;
}

// Notes the refused units, and those that had to leave for them, as long as that counts.
static int note_refused(Preview *p) {
        const Leader *l = p->alone.leader;
        int r = 0;

        for (size_t i = 0; i < p->n && p->refuses && r >= 0; i++) {
                PreviewUnit *u = p->units[i];
                const PreviewUnit *noted = u->by ? map_find_str(&p->by_name, u->by) : NULL;
                const UnitEntry *e =
                        noted && noted->refused ? cluster_state_find_unit(l->state, u->record->name) : NULL;
                SchedulerAnswer answer;

                u->by_refused = e && e->record->node && e->record->node != noted->node &&
                                unit_exclusion(unit_find(l, u->by), e->record->node);
                if (!u->refused || !waits(u))
                        continue;
                r = scheduler_explain(p->alone.scheduler, u->record->name, &answer);
                if (r < 0)
                        continue;
                u->refusals = answer.refusals;
                u->n_refusals = answer.n_refusals;
        }
        return r;
}

// The units that the change puts, in its order; a unit that is put twice is as it was put last.
static int note_planned(Preview *p, const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__UnitRecord *record;
                const UnitEntry *e;
                PreviewUnit *u;
                int r = 0;

                if (batch->ops[i]->op_case != ARGOSY__LOG_OP__OP_UNIT)
                        continue;
                record = batch->ops[i]->unit->unit;
                u = map_find_str(&p->by_name, record->name);
                if (!u)
                        r = add(p, record, &u);
                if (r < 0)
                        return r;
                e = cluster_state_find_unit(p->alone.leader->state, record->name);
                u->record = record;
                u->left = e ? e->record->node : 0;
                u->node = record->node;
                p->waiting |= u->left && (u->left != u->node || !record_has_spec_of(e->record, record));
                count_planned(p, u);
                r = add_put(p, u);
                if (r < 0)
                        return r;
        }
        return 0;
}

static const char *name_of_node(uint32_t node, void *userdata) {
        const Node *n = node_find(userdata, node);

        return n ? n->name : NULL;
}

int preview_enter(Preview *p, const Argosy__Request__Change *change) {
        scheduler_enter(p->alone.scheduler);
        return forget(p, change);
}

void preview_leave(Preview *p) {
        remember(p);
        scheduler_leave(p->alone.scheduler);
}

int preview_units(Preview *p, const Argosy__Request__Change *change) {
        BatchBuilderMark mark = batch_builder_mark(&p->alone.batch);
        _cleanup_response_ Argosy__Response *response = NULL;
        int r = ARRAY_GROW(p->batches, p->batches_allocated, p->n_batches + 1);

        p->alone.leader->n_planned += change->n_names;
        if (r >= 0)
                r = decision_plan_change(&p->alone, change, &response);
        if (r >= 0)
                r = unit_results_move(response->change, p->response->change);
        if (r >= 0)
                r = message_unpack(&argosy__log_batch__descriptor, p->alone.batch.packed.data + mark.len,
                                   p->alone.batch.packed.len - mark.len, &p->batches[p->n_batches]);
        p->n_batches += r >= 0;
        return r;
}

int preview_follow(Preview *p, PreviewRefuses refuses, void *userdata) {
        int r = 0;

        p->refuses = refuses;
        p->refuses_data = userdata;
        disruption_budget_plan_begin(p->alone.leader);
        for (size_t i = 0; i < p->n_batches && r >= 0; i++)
                r = note_planned(p, p->batches[i]);
        if (r >= 0)
                r = simulate_turns(p);
        if (r >= 0)
                r = note_held(p);
        if (r >= 0)
                r = note_refused(p);
        disruption_budget_plan_end(p->alone.leader);
        return r;
}

int preview_each(Preview *p, PreviewEach each, void *userdata) {
        int r = preview_contents_take(&p->contents, p->batches, p->n_batches);

        for (size_t i = 0; i < p->n && r >= 0; i++) {
                ProtobufCBinaryData content;
                bool known = preview_contents_find(&p->contents, p->alone.leader->state, p->units[i],
                                                   &content);

                r = each(p->units[i], known ? &content : NULL, userdata);
        }
        return r;
}

int preview_describe(Preview *p, Argosy__Response **ret) {
        Leader *l = p->alone.leader;
        int r = preview_contents_take(&p->contents, p->batches, p->n_batches);

        if (r >= 0)
                r = preview_contents_compare(&p->contents, l, p->units, p->n);
        if (r >= 0)
                r = preview_units_describe(l->state, p->units, p->n, p->response, name_of_node, l);

        if (r >= 0)
                *ret = TAKE_PTR(p->response);
        return r;
}
