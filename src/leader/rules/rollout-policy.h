// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a rollout does next. Pure.
//
// The rules, while it runs:
//   - One that failed with what the rollout brought, or is still not up START_PATIENCE after it had it, ends
//     the way forward.
//   - Of those that are wanted up, at most `max` are down or have not been up for `health_us` yet, whatever
//     it is that took them down; only then the next one is taken.
//   - One that is down anyway has its turn before those that are up, since that takes nothing down; but of
//     those, too, no more than `max` are on their way at a time.
//   - What is not to be up is changed at once.
// On the way back the same holds, but being up is enough, and what fails with the old content as well holds
// up nobody: it did so before us.
//
// How long one has been up is counted from the event, not from its report, and on one clock, that of its
// host: a report may be late, and clocks of hosts differ. Up to now, too, is what the host has told: one
// that has failed by the end of its health_us is not well because the report of it is still on its way.
//
// One that nobody can see counts as down. It is taken only when there is room for all that count, since it
// may well be up. If it is placed elsewhere for that, the rollout waits until it is up there. If not, and if
// it has no node, it has its turn, and is not waited for, but it is counted, so that the answer names it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROLLOUT_START_PATIENCE_SEC = 300 }; // systemd's own limit ends a start long before that

// One unit, or a global unit on one node.
typedef struct RolloutItem {
        bool mine;           // the rollout is to change it; false: it only counts
        bool changed;        // it has what the rollout brings
        bool wanted_up;      // by its owner
        bool up;             // as its record says, with the content that its record says
        bool unreachable;    // its node is not heard
        bool unplaced;       // nor can anybody, since it has no node
        bool moves;          // its node is not heard, and it is placed elsewhere, now or after a time
        bool busy;           // a change of it is on its way already
        const char *failure; // NULL: none
        uint64_t since_us;   // it is up, or it has been changed and is not up
        bool timed;          // its host says when that was seen: `known_up_us` counts instead, while it is
                             // up
        uint64_t known_up_us; // for so long it has been up, by its host's clock and as far as was told
} RolloutItem;

typedef struct RolloutView {
        bool returning;
        size_t max; // at least 1
        uint64_t health_us, now_us;
        uint64_t beat_us; // how often hosts say until when they have told everything
        const RolloutItem *items;
        size_t n_items;
} RolloutView;

// Those that are to be changed, by what that takes; in the order in which they have their turn.
typedef enum RolloutTurn {
        ROLLOUT_TURN_UNWANTED, // they are not to be up
        ROLLOUT_TURN_UNSEEN,   // their nodes are not heard
        ROLLOUT_TURN_DOWN,     // they are down anyway
        ROLLOUT_TURN_UP,
        ROLLOUT_TURNS,
        ROLLOUT_TURN_NONE = ROLLOUT_TURNS, // they are not to be changed, or not any more
} RolloutTurn;

typedef struct RolloutSums {
        size_t wanted; // up, by their owner
        size_t down;   // count against `max`
        size_t on_way; // of these, by our doing
        size_t left;   // are still to be changed, or to become well
        size_t unplaced; // had their turn, are wanted up, have no node, and no node takes them
        size_t unseen;   // the same, and have one that cannot be asked, which they do not leave
} RolloutSums;

typedef enum RolloutAction {
        ROLLOUT_GO_ON,  // change the `chosen` ones, if any
        ROLLOUT_FAILED, // `culprit` did
        ROLLOUT_OVER,   // all have what they are to have
} RolloutAction;

typedef struct RolloutStep {
        RolloutAction action;
        size_t n_chosen;
        size_t left;         // that are still to be changed, or to become well
        size_t n_down;       // that count against `max` before this step
        size_t culprit;      // index
        const char *failure; // why
        uint64_t next_us;    // look again at this time, if nothing happens before; 0: no need
} RolloutStep;

// `chosen` has room for n_items indices; those that are down come first, else in order.
//
// The same, for who keeps sums of thousands of items: what one of them adds, whether it ends the way forward
// (why; NULL: it does not), whether it is to be changed, when time alone makes something else of it (0:
// never), and, by the sums of all, whether one may have that turn now, which changes the sums.
RolloutSums rollout_policy_counts(const RolloutView *v, const RolloutItem *i);
const char *rollout_policy_failure(const RolloutView *v, const RolloutItem *i);
RolloutTurn rollout_policy_turn(const RolloutView *v, const RolloutItem *i);
uint64_t rollout_policy_wake_us(const RolloutView *v, const RolloutItem *i);
bool rollout_policy_may_take(const RolloutView *v, RolloutTurn turn, RolloutSums *sums);

RolloutStep rollout_policy_step(const RolloutView *v, size_t *chosen);
