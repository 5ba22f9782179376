// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a unit lives: one state at a time, and what follows after each event. A table, so that it can be
// read whole.
//
//      ABSENT      there is no record of it, or its record wants it nowhere
//      EVERYWHERE  it is global: it has no node of its own, and lives on each as unit-on-node-life.h says
//      RESIDENT    it has a node, and nothing is known for which it would have to leave
//      MOVING      it may have to leave its node: the next batch looks, and finds it another one
//      FLYING      the batch in flight gives it another node, or takes its node away
//      HELD        it is to leave, but too many of its budget are down: until others are up
//      DELAYED     its node is lost, and its owner or its guard gives that time
//      STRANDED    it is to leave, and nobody takes it: it stays where it is until its turn comes
//      PENDING     it has no node: until its turn comes
//
// What is decided in a batch is known by its record when the batch is in the log (the events UNWANTED to
// UNPLACED), and otherwise not at all: what was FLYING is MOVING afterwards and looked at once more,
// whatever became of the batch, since something may have happened to its new node meanwhile.
//
// Lists are queues of such states, and follow from them (unit-event.c of view/). Marks beside (touched,
// asked, an order that is due) say that something is to be looked at, never where a unit lives.

#include <stdbool.h>

typedef enum UnitLife { // zero-initialised: absent
        LIFE_ABSENT,
        LIFE_GLOBAL,
        LIFE_RESIDENT,
        LIFE_MOVING,
        LIFE_COMMITTING,
        LIFE_HELD,
        LIFE_DELAYED,
        LIFE_STRANDED,
        LIFE_PENDING,
        LIFE_STATES,
        LIFE_NEVER = LIFE_STATES, // the event cannot happen to such a unit
} UnitLife;

typedef enum LifeEvent {
        // What its record says now.
        LIFE_IS_UNWANTED,
        LIFE_IS_GLOBAL,
        LIFE_IS_PLACED,
        LIFE_IS_UNPLACED,
        // What has happened.
        LIFE_NODE_GONE,  // the log knows its node no more
        LIFE_RECONSIDER, // something for which it may have to leave, or may go where it could not before
        LIFE_RECONSIDER_ANYWAY, // the same, and it does not wait for its budget any more
        LIFE_LANDED, // the batch that it was in is over, and it has a node (otherwise it is unplaced)
        // What was decided.
        LIFE_STAYS,   // it need not leave
        LIFE_GOES,    // the batch in the making moves it, or takes its node away for another unit
        LIFE_IS_HELD, // its budget holds it back
        LIFE_WAITS,   // time has to pass
        LIFE_UNSCHEDULABLE, // no node takes it, or not before its turn
        LIFE_EVENTS,
} LifeEvent;

UnitLife unit_life_after(UnitLife life, LifeEvent event);
// It has its turn in the next round of the Placement.
static inline bool unit_life_is_queued(UnitLife life) {
        return life == LIFE_STRANDED || life == LIFE_PENDING;
}
// It is to leave, and what comes next is under way: nobody has said that no node takes it.
static inline bool unit_life_is_moving(UnitLife life) {
        return life == LIFE_MOVING || life == LIFE_COMMITTING || life == LIFE_HELD;
}
