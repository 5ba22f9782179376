// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One look at all units of a rollout: how many are down, which had their turn, whether one of them ends the
// way forward, and who is next as far as the budget allows. When nothing can be done but time will change
// that, the step says when to look again. The same input gives the same step, so a new leader goes on where
// the old one was.

#include "rollout-policy.h"
#include "clock.h"
#include "macro.h"

typedef struct Count {
        size_t down;   // count against the budget
        size_t on_way; // of these, by our doing
} Count;

static bool is_to_change(const RolloutView *v, const RolloutItem *i) {
        return i->mine && i->changed == v->returning && !i->busy;
}

static bool had_its_turn(const RolloutView *v, const RolloutItem *i) {
        return i->mine && (i->busy || i->changed != v->returning);
}

static uint64_t well_us(const RolloutView *v, const RolloutItem *i) {
        return i->since_us + (v->returning ? 0 : v->health_us);
}

static bool is_healthy(const RolloutView *v, const RolloutItem *i) {
        return i->timed ? v->returning || i->known_up_us >= v->health_us : v->now_us >= well_us(v, i);
}

static bool is_well(const RolloutView *v, const RolloutItem *i) {
        if (!i->wanted_up)
                return true;
        if (i->busy)
                return false;
        if (!i->up) // on the way back: it failed before us, too
                return v->returning && !i->changed && i->failure;
        return !had_its_turn(v, i) || is_healthy(v, i);
}

// Of one that is up and not well yet. More is known with a beat, not before.
static uint64_t may_be_well_us(const RolloutView *v, const RolloutItem *i) {
        return i->timed ? v->now_us + MAX_OF(v->health_us - i->known_up_us, v->beat_us) : well_us(v, i);
}

static uint64_t patience_us(const RolloutItem *i) {
        return i->since_us + ROLLOUT_START_PATIENCE_SEC * USEC_PER_SEC;
}

// Why it ends the way forward, or NULL.
static const char *failure_of(const RolloutView *v, const RolloutItem *i) {
        if (v->returning || !had_its_turn(v, i) || !i->wanted_up || i->busy)
                return NULL;
        if (i->failure)
                return i->failure;
        return !i->up && !i->unreachable && v->now_us >= patience_us(i) ? "it does not become active" : NULL;
}

static void wake_at(RolloutStep *step, uint64_t at_us) {
        if (!step->next_us || at_us < step->next_us)
                step->next_us = at_us;
}

// When time alone changes what this one counts as.
static void note_time(const RolloutView *v, const RolloutItem *i, RolloutStep *step) {
        if (!had_its_turn(v, i) || !i->wanted_up || i->busy || is_well(v, i))
                return;
        if (i->up)
                wake_at(step, may_be_well_us(v, i));
        else if (!i->unreachable && !v->returning)
                wake_at(step, patience_us(i));
}

static Count count(const RolloutView *v, RolloutStep *step) {
        Count c = {};

        for (size_t k = 0; k < v->n_items; k++) {
                const RolloutItem *i = &v->items[k];
                bool well = is_well(v, i);

                c.down += !well;
                c.on_way += !well && had_its_turn(v, i) && !i->unreachable;
                step->left += is_to_change(v, i) || (had_its_turn(v, i) && !well && !i->unreachable);
                note_time(v, i, step);
        }
        return c;
}

static bool may_take(const RolloutView *v, const RolloutItem *i, Count *c) {
        if (!i->wanted_up)
                return true;
        if (i->unreachable)
                return c->down <= v->max;
        if ((i->up ? c->down : c->on_way) >= v->max)
                return false;
        c->down += i->up;
        c->on_way++;
        return true;
}

static void choose(const RolloutView *v, Count c, RolloutStep *step, size_t *chosen) {
        for (unsigned up = 0; up < 2; up++)
                for (size_t k = 0; k < v->n_items; k++) {
                        const RolloutItem *i = &v->items[k];

                        if (is_to_change(v, i) && (i->wanted_up && i->up) == up && may_take(v, i, &c))
                                chosen[step->n_chosen++] = k;
                }
}

RolloutStep rollout_policy_step(const RolloutView *v, size_t *chosen) {
        RolloutStep step = {.action = ROLLOUT_GO_ON};
        Count c;

        for (size_t k = 0; k < v->n_items; k++) {
                step.failure = failure_of(v, &v->items[k]);
                if (step.failure) {
                        step.action = ROLLOUT_FAILED;
                        step.culprit = k;
                        return step;
                }
        }
        c = count(v, &step);
        step.n_down = c.down;
        if (step.left == 0)
                step.action = ROLLOUT_OVER;
        else
                choose(v, c, &step, chosen);
        return step;
}
