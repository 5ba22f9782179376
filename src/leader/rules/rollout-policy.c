// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One look at all units of a rollout: how many are down, which had their turn, whether one of them ends the
// way forward, and who is next as far as the budget allows. When nothing can be done but time will change
// that, the step says when to look again. The same input gives the same step, so a new leader goes on where
// the old one was.

#include "rollout-policy.h"
#include "clock.h"
#include "macro.h"

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

// When a unit that is up and not well yet may be well. More is known with a beat, not before; and the first
// one of a session may tell of any time.
static uint64_t may_be_well_us(const RolloutView *v, const RolloutItem *i) {
        uint64_t left = i->known_up_us > 0 ? v->health_us - i->known_up_us : 0;

        return i->timed ? v->now_us + MAX_OF(left, v->beat_us) : well_us(v, i);
}

static uint64_t patience_us(const RolloutItem *i) {
        return i->since_us + ROLLOUT_START_PATIENCE_SEC * USEC_PER_SEC;
}

const char *rollout_policy_failure(const RolloutView *v, const RolloutItem *i) {
        if (v->returning || !had_its_turn(v, i) || !i->wanted_up || i->busy)
                return NULL;
        if (i->failure)
                return i->failure;
        return !i->up && !i->unreachable && v->now_us >= patience_us(i) ? "it does not become active" : NULL;
}

uint64_t rollout_policy_wake_us(const RolloutView *v, const RolloutItem *i) {
        if (!had_its_turn(v, i) || !i->wanted_up || i->busy || is_well(v, i))
                return 0;
        if (i->up)
                return may_be_well_us(v, i);
        return i->unreachable || v->returning || v->now_us >= patience_us(i) ? 0 : patience_us(i);
}

RolloutSums rollout_policy_counts(const RolloutView *v, const RolloutItem *i) {
        bool well = is_well(v, i), is_awaited = !well && had_its_turn(v, i),
             on_way = is_awaited && !i->unreachable;

        return (RolloutSums){.wanted = i->wanted_up,
                             .down = !well,
                             .on_way = on_way,
                             .left = is_to_change(v, i) || on_way || (is_awaited && i->moves),
                             .unplaced = is_awaited && i->unplaced && !i->moves,
                             .unseen = is_awaited && i->unreachable && !i->unplaced && !i->moves};
}

RolloutTurn rollout_policy_turn(const RolloutView *v, const RolloutItem *i) {
        if (!is_to_change(v, i))
                return ROLLOUT_TURN_NONE;
        if (!i->wanted_up)
                return ROLLOUT_TURN_UNWANTED;
        return i->unreachable ? ROLLOUT_TURN_UNSEEN : i->up ? ROLLOUT_TURN_UP : ROLLOUT_TURN_DOWN;
}

bool rollout_policy_may_take(const RolloutView *v, RolloutTurn turn, RolloutSums *sums) {
        switch (turn) {
        case ROLLOUT_TURN_UNWANTED:
                return true;
        case ROLLOUT_TURN_UNSEEN:
                return sums->down <= v->max;
        default:
                if ((turn == ROLLOUT_TURN_UP ? sums->down : sums->on_way) >= v->max)
                        return false;
                sums->down += turn == ROLLOUT_TURN_UP;
                sums->on_way++;
                return true;
        }
}

static void wake_at(RolloutStep *step, uint64_t at_us) {
        if (at_us && (!step->next_us || at_us < step->next_us))
                step->next_us = at_us;
}

static RolloutSums count(const RolloutView *v, RolloutStep *step) {
        RolloutSums sums = {};

        for (size_t k = 0; k < v->n_items; k++) {
                RolloutSums one = rollout_policy_counts(v, &v->items[k]);

                sums.down += one.down;
                sums.on_way += one.on_way;
                sums.left += one.left;
                wake_at(step, rollout_policy_wake_us(v, &v->items[k]));
        }
        return sums;
}

static void choose(const RolloutView *v, RolloutSums sums, RolloutStep *step, size_t *chosen) {
        for (RolloutTurn turn = 0; turn < ROLLOUT_TURNS; turn++)
                for (size_t k = 0; k < v->n_items; k++)
                        if (rollout_policy_turn(v, &v->items[k]) == turn &&
                            rollout_policy_may_take(v, turn, &sums))
                                chosen[step->n_chosen++] = k;
}

RolloutStep rollout_policy_step(const RolloutView *v, size_t *chosen) {
        RolloutStep step = {.action = ROLLOUT_GO_ON};
        RolloutSums sums;

        for (size_t k = 0; k < v->n_items; k++) {
                step.failure = rollout_policy_failure(v, &v->items[k]);
                if (step.failure) {
                        step.action = ROLLOUT_FAILED;
                        step.culprit = k;
                        return step;
                }
        }
        sums = count(v, &step);
        step.left = sums.left;
        step.n_down = sums.down;
        if (step.left == 0)
                step.action = ROLLOUT_OVER;
        else
                choose(v, sums, &step, chosen);
        return step;
}
