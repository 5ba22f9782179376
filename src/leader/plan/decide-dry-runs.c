// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Changes that are only asked about, and how many turns that takes (decide-plan.c says what a plan is).
//
// One of few units is planned in one turn, by the Placement itself; so is one of units that have to do with each other
// (request-ties.h). Other units are planned as they would be started, PART_UNITS after PART_UNITS, which comes to the
// same as all at once:
//
//      1. a turn     whether they have to do with each other
//      2. a turn     a copy of the Placement, on which all of it is thought
//      3. turns      PART_UNITS in each
//      4. a turn     what follows from that: whoever would be elsewhere
//      5. a turn     the words for all of it
//
// Nothing is decided meanwhile, for about as long as all of it would take in one turn: the log is as it was when the
// plan began, and what the plan says is what a start at that moment would do. The loop goes on: hosts are heard, and
// who asks something else is answered, by the Placement itself. What hosts say counts from the next part on, as it
// does for a start.
//
// Failures: a plan whose numbers or records are not what they were (an entry of the log that was not decided here, a
// unit that was dropped) is begun anew, BEGUN_MAX times in all; then it is planned in one turn. A part that cannot be
// planned by itself has the whole planned in one turn, too. -ENOMEM, and what change_plan() fails with.
#include "decide-dry-runs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "decide-changes.h"
#include "decide-plan.h"
#include "request-ties.h"

enum {
        PART_UNITS = 256, // at 10 to 16 us each
        BEGUN_MAX = 3,
};

struct PlanTurns {
        RequestTies ties;
        bool judged, whole;  // whether it is planned in one turn is known; it is
        unsigned n_begun;
        DryRunPlan *plan;    // NULL: to be begun
        uint64_t n_followed; // Leader.n_followed when it was begun
        size_t n_planned;    // names
        bool followed;       // what comes of it is known
};

void plan_turns_free(Ticket *t) {
        PlanTurns *p = TAKE_PTR(t->plan);

        if (!p)
                return;
        request_ties_done(&p->ties);
        dry_run_plan_free(p->plan);
        free(p);
}

static int plan_at_once(Leader *l, const Argosy__Request__Change *change, Argosy__Response **ret) {
        DryRunPlan *p = dry_run_plan_new(l, false);
        int r;

        if (!p)
                return -ENOMEM;
        r = dry_run_plan_enter(p, change);
        if (r >= 0)
                r = dry_run_plan_units(p, change);
        if (r >= 0)
                r = dry_run_plan_follow(p);
        dry_run_plan_leave(p);
        if (r >= 0)
                r = dry_run_plan_describe(p, ret);
        dry_run_plan_free(p);
        return r;
}

static int judge(PlanTurns *p, Decision *d, const Argosy__Request__Change *change) {
        int r = request_ties_check(&p->ties, d->leader->state, change, change->n_names, decide_change_ops(), d);

        p->judged = true;
        p->whole = p->ties.tied;
        request_ties_done(&p->ties);
        return r;
}

static bool is_outdated(const PlanTurns *p, const Leader *l) {
        return p->n_followed != l->n_followed || dry_run_plan_is_outdated(p->plan);
}

static int begin(PlanTurns *p, Leader *l) {
        dry_run_plan_free(p->plan);
        p->plan = dry_run_plan_new(l, true);
        p->n_begun++;
        p->n_followed = l->n_followed;
        p->n_planned = 0;
        p->followed = false;
        return p->plan ? 0 : -ENOMEM;
}

static int plan_part(PlanTurns *p, const Argosy__Request__Change *change) {
        Argosy__Request__Change part = *change;
        int r;

        part.names += p->n_planned;
        part.n_names = MIN_OF(change->n_names - p->n_planned, (size_t) PART_UNITS);
        r = dry_run_plan_enter(p->plan, &part);
        if (r >= 0)
                r = dry_run_plan_units(p->plan, &part);
        dry_run_plan_leave(p->plan);
        p->n_planned += part.n_names;
        p->whole = r == -EBUSY;
        return p->whole ? 0 : r;
}

static int follow(PlanTurns *p, const Argosy__Request__Change *change) {
        int r = dry_run_plan_enter(p->plan, change);

        if (r >= 0)
                r = dry_run_plan_follow(p->plan);
        dry_run_plan_leave(p->plan);
        p->followed = true;
        return r;
}

// What one turn does. *ret: it was the last.
static int step(PlanTurns *p, Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret) {
        Leader *l = d->leader;

        if (!p->judged)
                return judge(p, d, change);
        if (p->plan && is_outdated(p, l)) {
                p->plan = dry_run_plan_free(p->plan);
                p->whole = p->n_begun >= BEGUN_MAX;
        }
        if (p->whole)
                return plan_at_once(l, change, ret);
        if (!p->plan)
                return begin(p, l);
        if (p->n_planned < change->n_names)
                return plan_part(p, change);
        return p->followed ? dry_run_plan_describe(p->plan, ret) : follow(p, change);
}

int decide_dry_run(Decision *d, Ticket *t) {
        const Argosy__Request__Change *change = t->request->change;
        Argosy__Response *response = NULL;
        int r;

        assert(d->batch.n_ops == 0); // that would count only when the log has it
        assert(!d->scheduler);       // two at once would not know of each other
        if (change->n_names <= PART_UNITS)
                r = plan_at_once(d->leader, change, &response);
        else {
                t->plan = t->plan ?: calloc(1, sizeof(*t->plan));
                r = t->plan ? step(t->plan, d, change, &response) : -ENOMEM;
        }
        if (r >= 0 && !response)
                return DRY_RUN_GOES_ON;
        plan_turns_free(t);
        if (r < 0)
                return r;
        ticket_settle(t, response);
        return 0;
}
