// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of a unit's states on a node (unit-on-node-life.h): a row for each state, a column for each
// event. unit_on_node_life_after(state, event) -> the next state. ON_NODE_NEVER: the event cannot happen in
// that state; the caller asserts that it never does. Nothing fails.

#include "unit-on-node-life.h"

#include <stdint.h>

enum {
        A = ON_NODE_ABSENT,
        E = ON_NODE_EXPECTED,
        F = ON_NODE_FOUND,
        S = ON_NODE_SENT,
        R = ON_NODE_RESIDENT,
        C = ON_NODE_RECALLED,
        L = ON_NODE_LEAVING,
        o = ON_NODE_NEVER,
};

// clang-format off
static const uint8_t table[ON_NODE_STATES][ON_NODE_EVENTS] = {
        //                     named  told to    its host says
        //                            have go    reported missing gone
        [ON_NODE_ABSENT] =    {E,     o,   o,    o,       o,      o},
        [ON_NODE_EXPECTED] =  {E,     S,   C,    F,       E,      A},
        [ON_NODE_FOUND] =     {F,     R,   L,    F,       E,      A},
        [ON_NODE_SENT] =      {S,     S,   C,    R,       S,      A},
        [ON_NODE_RESIDENT] =  {R,     R,   L,    R,       S,      A},
        [ON_NODE_RECALLED] =  {C,     S,   C,    L,       C,      A},
        [ON_NODE_LEAVING] =   {L,     R,   L,    L,       C,      A},
};
// clang-format on

UnitOnNodeLife unit_on_node_life_after(UnitOnNodeLife life, OnNodeEvent event) {
        return (UnitOnNodeLife) table[life][event];
}
