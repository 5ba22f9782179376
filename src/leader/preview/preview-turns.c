// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Changes that are only asked about, and how many turns that takes (preview.c says what a plan is).
//
// One of few units is planned in one turn, by the Placement itself; so is one of units that have to do with
// each other (request-ties.h). Other units are planned as they would be started, limits.plan_chunk_units
// after limits.plan_chunk_units, which comes to the same as all at once:
//
//      1. a turn     whether they have to do with each other
//      2. a turn     a copy of the Placement, on which all of it is thought
//      3. turns      limits.plan_chunk_units in each
//      4. a turn     what follows from that: units that would be elsewhere
//      5. a turn     which nodes are to be asked for names that they may refuse (preview-names.c)
//      6. a turn     the words for all of it
//
// What the plan is bound to (Request.Job.if_revision) is judged in its first turn, and again after each
// entry of the log.
//
// Between 5 and 6 the plan waits for what nodes say, for PREVIEW_NODES_US at most, and others are decided: a
// plan of few units is made anew afterwards, one of many only if something is not as it was, a node has
// refused something, or another one is kept already, since each has a copy of the Placement. So few of an
// author ask at a time (limits.plans_asking), and few of all but root; others are not begun until they end.
//
// Nothing is decided meanwhile, for about as long as all of it would take in one turn: the log is as it was
// when the plan began, and what the plan says is what a start at that moment would do. The loop goes on:
// hosts are heard, and who asks something else is answered, by the Placement itself. What hosts say counts
// from the next chunk on, as it does for a start.
//
// Failures: a plan whose numbers or records are not what they were (an entry of the log that was not decided
// here, a unit that was dropped) is begun anew, BEGUN_MAX times in all; then it is refused. So is one of
// more than REQUEST_TIED_MAX units that would have to be planned in one turn. Of units that differ in role
// or priority, and are more than that, each chunk has an order of its own, as in a start. -ENOMEM, and what
// change_plan() fails with.
#include "preview-turns.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "decide-changes.h"
#include "clock.h"
#include "decide-bound.h"
#include "preview.h"
#include "image-pinning.h"
#include "preview-names.h"
#include "request-ties.h"
#include "response.h"
#include "pending-requests.h"
#include "turn.h"

enum {
        BEGUN_MAX = 8,
};

// Of a Change that is only asked about, over many turns.
typedef struct PlanTurns {
        RequestWork work;
        RequestTies ties;
        uint64_t n_bound;    // Leader.n_followed when what it is bound to was judged last
        bool judged, whole;  // whether it is planned in one turn is known; it is
        unsigned n_begun;
        Preview *plan;    // NULL: to be begun
        uint64_t n_followed; // Leader.n_followed when it was begun
        size_t n_planned;    // names
        bool followed;       // what comes of it is known
        bool settled;        // and that nodes would do so
        PlanNames *names;    // what nodes have said
        bool waits;          // for that
        bool kept;           // `plan` is counted in Leader.n_plans_kept
        AuthorTurn *asker;   // its author, once it has asked nodes; NULL: it has not
        uint64_t due_us;     // until then they may answer
} PlanTurns;

// It is over. Others may be begun.
static void stop_asking(Leader *l, PlanTurns *p, bool owner) {
        if (!p->asker)
                return;
        author_turn_asks_no_more(TAKE_PTR(p->asker));
        l->n_plans_asking -= !owner;
        leader_mark(l);
}

static void drop_plan(Leader *l, PlanTurns *p) {
        p->plan = preview_free(p->plan);
        l->n_plans_kept -= p->kept;
        p->kept = false;
}

static void start_asking(Leader *l, PlanTurns *p, const PendingRequest *t) {
        if (!p->asker) { // what nodes have said takes room until it is over, also if it asks again
                p->asker = author_turn_asks(t->turn);
                l->n_plans_asking += !t->author->owner;
        }
        if (l->n_plans_kept > p->kept) { // another one is
                drop_plan(l, p);
                p->n_begun = 0;
        }
        if (p->plan && !p->kept)
                l->n_plans_kept++;
        p->kept = p->plan;
}

static void turns_free(PendingRequest *t, RequestWork *work) {
        PlanTurns *p = CONTAINER_OF(work, PlanTurns, work);

        stop_asking(t->leader, p, t->author->owner);
        request_ties_done(&p->ties);
        drop_plan(t->leader, p);
        plan_names_free(p->names);
        free(p);
}

static const RequestWorkKind turns_kind = {turns_free};

// NULL: none has begun.
static PlanTurns *turns_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &turns_kind);

        return work ? CONTAINER_OF(work, PlanTurns, work) : NULL;
}

bool preview_may_begin(const PendingRequest *t) {
        if (turns_of(t)) // it goes on
                return true;
        return author_turn_may_ask(t->turn, t->leader->limits.plans_asking) &&
               (t->author->owner || t->leader->n_plans_asking < t->leader->limits.plans_asking_others);
}

// ------------------------------------------------------------------------------------------- what nodes say

static void on_settled(PendingRequest *t) {
        request_wait_again(t, true); // in Leader.previews
        leader_mark(t->leader);
}

uint64_t previews_next_deadline(const Leader *l) {
        const ListNode *first = l->previews_asking.next;

        return first == &l->previews_asking ? 0
                                            : turns_of(CONTAINER_OF(first, PendingRequest, queue))->due_us;
}

void previews_on_time(Leader *l) {
        uint64_t due_us;

        while ((due_us = previews_next_deadline(l)) && due_us <= leader_now(l)) {
                PendingRequest *t = CONTAINER_OF(l->previews_asking.next, PendingRequest, queue);

                plan_names_give_up(turns_of(t)->names);
                on_settled(t);
        }
}

// It waits for what nodes say, and others are decided meanwhile.
static void wait_for_nodes(PlanTurns *p, PendingRequest *t) {
        p->waits = true;
        p->due_us = leader_now(t->leader) + PREVIEW_NODES_US;
        start_asking(t->leader, p, t);
        request_wait_in(t, &t->leader->previews_asking);
}

// What follows from it, also from what nodes have refused so far.
static int follow_plan(PlanTurns *p, Preview *plan) {
        int r = preview_follow(plan, plan_names_refuse(p->names), p->names);

        plan_names_take_back(p->names);
        return r;
}

// Plans all of it in this turn, again and again until nodes refuse nothing more of it, or are to be asked.
static int plan_at_once(PlanTurns *p, PendingRequest *t, Argosy__Response **ret) {
        const Argosy__Request__Change *change = t->request->change;
        Preview *plan = preview_new(t->leader, false);
        bool waits = false;
        int r;

        if (!plan)
                return -ENOMEM;
        (void) plan_names_is_news(p->names); // that counts here
        r = preview_enter(plan, change);
        if (r >= 0)
                r = preview_units(plan, change);
        if (r >= 0)
                r = follow_plan(p, plan);
        preview_leave(plan);
        if (r >= 0)
                r = plan_names_ask(p->names, plan, &waits);
        if (r >= 0 && waits)
                wait_for_nodes(p, t);
        else if (r >= 0)
                r = preview_describe(plan, ret);
        preview_free(plan);
        return r;
}

static Argosy__Response *too_many(const Argosy__Request__Change *change, const char *why) {
        return response_error(
                E2BIG,
                "the plan is of %zu units, and %s: of such no more than %d are planned at once; name fewer",
                change->n_names, why, REQUEST_TIED_MAX);
}

// *ret: they are too many to be planned at once.
static int judge(PlanTurns *p, Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret) {
        int r = request_ties_check(&p->ties, d->leader->state, change, d->leader->limits.tie_looks, false,
                                   decide_change_ops(), d);

        if (r == REQUEST_TIES_MORE)
                return 0;
        p->judged = true;
        p->whole =
                p->ties.tied || p->ties.repeats || (p->ties.ranked && change->n_names <= REQUEST_TIED_MAX);
        if (r == 0 && p->ties.tied && change->n_names > REQUEST_TIED_MAX)
                *ret = request_ties_too_many(change);
        else if (r == 0 && p->ties.repeats && change->n_names > REQUEST_TIED_MAX)
                *ret = too_many(change, "names one of them twice");
        request_ties_done(&p->ties);
        return r;
}

static bool is_outdated(const PlanTurns *p, const Leader *l) {
        return p->n_followed != l->n_followed || preview_is_outdated(p->plan);
}

static int begin(PlanTurns *p, Leader *l) {
        drop_plan(l, p);
        p->plan = preview_new(l, true);
        p->n_begun++;
        p->n_followed = l->n_followed;
        p->n_planned = 0;
        p->followed = p->settled = false;
        (void) plan_names_is_news(p->names);
        return p->plan ? 0 : -ENOMEM;
}

// *ret: it cannot go on in parts, and is too much for one turn.
static int plan_part(const Leader *l, PlanTurns *p, const Argosy__Request__Change *change,
                     Argosy__Response **ret) {
        Argosy__Request__Change part = *change;
        int r;

        part.names += p->n_planned;
        part.n_names = MIN_OF(change->n_names - p->n_planned, (size_t) l->limits.plan_chunk_units);
        r = preview_enter(p->plan, &part);
        if (r >= 0)
                r = preview_units(p->plan, &part);
        preview_leave(p->plan);
        p->n_planned += part.n_names;
        if (r != -EBUSY)
                return r;
        p->whole = true;
        if (change->n_names > REQUEST_TIED_MAX)
                *ret = too_many(change, "some of them cannot be planned without the others");
        return 0;
}

static int follow(PlanTurns *p, const Argosy__Request__Change *change) {
        int r = preview_enter(p->plan, change);

        if (r >= 0)
                r = follow_plan(p, p->plan);
        preview_leave(p->plan);
        p->followed = true;
        return r;
}

// A plan that no node refuses is kept as it is while they are asked. *ret: it waits for them.
static int settle(PlanTurns *p, PendingRequest *t) {
        bool waits;
        int r = plan_names_ask(p->names, p->plan, &waits);

        if (r >= 0 && waits)
                wait_for_nodes(p, t);
        else
                p->settled = true;
        return r;
}

// What one turn does. *ret: it was the last.
static int step(PlanTurns *p, Decision *d, PendingRequest *t, Argosy__Response **ret) {
        const Argosy__Request__Change *change = t->request->change;
        Leader *l = d->leader;

        if (!p->judged)
                return judge(p, d, change, ret);
        if (p->plan && is_outdated(p, l)) {
                drop_plan(l, p);
                if (p->n_begun >= BEGUN_MAX) {
                        *ret = response_error(EBUSY,
                                              "the cluster changes faster than a plan of %zu units is made; "
                                              "ask again later, or name fewer",
                                              change->n_names);
                        return *ret ? 0 : -ENOMEM;
                }
        }
        if (p->plan && plan_names_is_news(p->names)) {
                drop_plan(l, p);
                p->n_begun = 0;
        }
        if (p->whole)
                return plan_at_once(p, t, ret);
        if (!p->plan)
                return begin(p, l);
        if (p->n_planned < change->n_names)
                return plan_part(d->leader, p, change, ret);
        if (!p->followed)
                return follow(p, change);
        return p->settled ? preview_describe(p->plan, ret) : settle(p, t);
}

static PlanTurns *turns_new(PendingRequest *t) {
        PlanTurns *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->names = plan_names_new(t->leader, t, on_settled);
        if (!p->names) {
                free(p);
                return NULL;
        }
        p->n_bound = UINT64_MAX;
        request_add_work(t, &turns_kind, &p->work);
        return p;
}

// STEP_PASSED; PLAN_SETTLED: something has changed, and the pending request is told.
static int check_bound(PlanTurns *p, PendingRequest *t) {
        const Leader *l = t->leader;

        if (p->n_bound == l->n_followed)
                return STEP_PASSED;
        p->n_bound = l->n_followed;
        return decide_bound_check_units(l, t, t->request->change);
}

int decide_preview(Decision *d, PendingRequest *t) {
        PlanTurns *p = turns_of(t);
        Argosy__Response *response = NULL;
        int r;

        assert(d->batch.n_ops == 0); // that would count only when the log has it
        assert(!d->scheduler);       // two at once would not know of each other
        if (!p)
                p = image_pinning_adopt(t) < 0 ? NULL : turns_new(t);
        if (!p)
                return -ENOMEM;
        if (check_bound(p, t) == PLAN_SETTLED)
                return 0;
        p->waits = false;
        if (t->request->change->n_names <= t->leader->limits.plan_chunk_units)
                r = plan_at_once(p, t, &response);
        else
                r = step(p, d, t, &response);
        if (r >= 0 && !response)
                return p->waits ? 0 : PREVIEW_GOES_ON;
        request_drop_work(t, &turns_kind);
        if (r < 0)
                return r;
        request_settle(t, response);
        return 0;
}
