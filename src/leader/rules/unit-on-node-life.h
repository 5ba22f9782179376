// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit is on one node: one state at a time, and what follows after each event. For a unit that runs
// on all nodes (LIFE_GLOBAL of unit-life.h) this is where it lives, node by node; for one that is
// placed, what its node was told of it, and the nodes that it has left.
//
//      ABSENT      nothing is known of it there, and nothing was said: there is no UnitOnNode
//      EXPECTED    there is to be an order about it, which waits or was not sent yet
//      FOUND       its host has it, by its own word, and was told nothing about it in this session
//      SENT        its host was told to have it, and has not said yet that it does
//      RESIDENT    its host was told to have it, and does
//      RECALLED    its host was told to let go of it, and has not said that it has it
//      LEAVING     its host was told to let go of it, and has it still
//
//      wanted     ABSENT -> EXPECTED -> SENT -> RESIDENT          FOUND -> RESIDENT
//      unwanted                RECALLED <- SENT    LEAVING <- RESIDENT, FOUND       RECALLED, LEAVING ->
//                                                  ABSENT
//
// What it is to be there is not kept: it follows from the records, the node and the units that conflict with
// it (unit_wanted_on()), and if that is not what the host was told an order is marked. What holds an order
// back is beside it (OrderHold, Leader.awaiting), and so is what the host says of the unit besides that it
// has it.
//
// A session that begins ends all of it (ON_NODE_GONE): its host says anew what it has. So does the end of a
// host's record, and a guard that has certainly ended the unit on a host that is lost.

#include <stdbool.h>

typedef enum UnitOnNodeLife { // zero-initialised: absent
        ON_NODE_ABSENT,
        ON_NODE_EXPECTED,
        ON_NODE_FOUND,
        ON_NODE_SENT,
        ON_NODE_RESIDENT,
        ON_NODE_RECALLED,
        ON_NODE_LEAVING,
        ON_NODE_STATES,
        ON_NODE_NEVER = ON_NODE_STATES, // the event cannot happen in such a state
} UnitOnNodeLife;

typedef enum OnNodeEvent {
        ON_NODE_NAMED, // by an order that is to be made, or a report
        // What went out.
        ON_NODE_ORDERED_TO_HAVE,
        ON_NODE_ORDERED_TO_GO,
        // What the host says.
        ON_NODE_REPORTED, // it has the unit
        ON_NODE_MISSING,  // it has not, and is to have it: it has not heard of that yet
        ON_NODE_GONE,     // it has let go; or nothing of the unit can be there
        ON_NODE_EVENTS,
} OnNodeEvent;

UnitOnNodeLife unit_on_node_life_after(UnitOnNodeLife life, OnNodeEvent event);
// The last order of this session, if there was one: to have it; to let go of it.
static inline bool unit_on_node_life_is_to_have(UnitOnNodeLife life) {
        return life == ON_NODE_SENT || life == ON_NODE_RESIDENT;
}
static inline bool unit_on_node_life_is_to_go(UnitOnNodeLife life) {
        return life == ON_NODE_RECALLED || life == ON_NODE_LEAVING;
}
// Its host has it, by its own word.
static inline bool unit_on_node_life_is_reported(UnitOnNodeLife life) {
        return life == ON_NODE_FOUND || life == ON_NODE_RESIDENT || life == ON_NODE_LEAVING;
}
// Something of it may be there: its host has said so, or was told something about it.
static inline bool unit_on_node_life_is_known(UnitOnNodeLife life) {
        return life != ON_NODE_ABSENT && life != ON_NODE_EXPECTED;
}
