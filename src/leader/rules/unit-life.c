// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of a unit's states in the leader (unit-life.h): a row for each state, a column for each event.
// unit_life_after(state, event) -> the next state.
// LIFE_NEVER: the event cannot happen in that state; the caller asserts that it never does. Nothing fails.

#include "unit-life.h"

#include <stdint.h>

enum {
        A = LIFE_ABSENT,
        E = LIFE_GLOBAL,
        R = LIFE_RESIDENT,
        M = LIFE_MOVING,
        F = LIFE_COMMITTING,
        H = LIFE_HELD,
        D = LIFE_DELAYED,
        S = LIFE_STRANDED,
        P = LIFE_PENDING,
        o = LIFE_NEVER,
};

// clang-format off
static const uint8_t table[LIFE_STATES][LIFE_EVENTS] = {
        //                  its record is                     the node  look      landed  stays held
        //                                                              untaken
        //                  unwanted global placed unplaced   is gone     anyway          goes   waits
        [LIFE_ABSENT] =     {A,      E,     R,     P,         o,        A,A,      o,      o,o,  o,o,   o},
        [LIFE_GLOBAL] =     {A,      E,     R,     P,         o,        E,E,      o,      o,o,  o,o,   o},
        [LIFE_RESIDENT] =   {A,      E,     R,     P,         P,        M,M,      o,      o,F,  o,o,   o},
        [LIFE_MOVING] =     {A,      E,     M,     P,         P,        M,M,      o,      R,F,  H,D,   S},
        [LIFE_COMMITTING] = {A,      E,     F,     P,         P,        F,F,      M,      o,o,  o,o,   o},
        [LIFE_HELD] =       {A,      E,     M,     P,         P,        H,M,      o,      o,o,  o,o,   o},
        [LIFE_DELAYED] =    {A,      E,     R,     P,         P,        M,M,      o,      o,o,  o,o,   o},
        [LIFE_STRANDED] =   {A,      E,     R,     P,         P,        M,M,      o,      R,F,  H,D,   o},
        [LIFE_PENDING] =    {A,      E,     R,     P,         o,        P,P,      o,      o,F,  o,o,   o},
};
// clang-format on

UnitLife unit_life_after(UnitLife life, LifeEvent event) {
        return (UnitLife) table[life][event];
}
