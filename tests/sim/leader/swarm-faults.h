// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What may break in a story of a leader.

#include "swarm.h"

// Faults. A new one gets its row here and its function in faults.c.
#define SWARM_FAULTS(F)                                                                         \
        F(power, "a host loses its power, or is switched on again, with its units or without")  \
        F(deaf, "a host beats, but takes and says nothing")                                     \
        F(lazy, "a host obeys, and does not say so")                                            \
        F(link, "the connection to a host breaks")                                              \
        F(full, "a host takes no more")                                                         \
        F(leader, "the leader is deposed, or elected")                                          \
        F(unknown, "the leader is deposed while an entry is on its way, which is kept or lost") \
        F(slow, "the log takes its time")                                                       \
        F(disk, "the log takes nothing")                                                        \
        F(unit, "a unit fails, ends, or is stopped by somebody else")                           \
        F(foreign, "a host has a unit of that name of its own, or refuses")                     \
        F(delay, "what a host says takes its time, or is lost with the link")                   \
        F(mute, "a host does not answer questions, or takes no files")                          \
        F(manager, "a host gets a second manager, or loses it, or cannot use it")               \
        F(voter, "the log of a voter does not open, lags, or does not answer")                  \
        F(clock, "a wall clock jumps")                                                          \
        F(repeat, "a host says once more what it has said before")                              \
        F(garbage, "a host says what its key allows and no agent says")                         \
        F(goodbye, "a host shuts down, or stops doing so")                                      \
        F(labels, "a host comes with other labels")                                             \
        F(age, "much time passes while nothing happens, or has passed by all clocks")           \
        F(lease, "who leads next has another LeaseSec=")                                        \
        F(recovery, "most voters are lost for ever, and the cluster is recovered")              \
        F(meet, "several things happen to a unit, its group and its host at one moment")        \
        F(restart, "systemd restarts a unit by itself, once or again and again")                \
        F(rotate, "a secret gets a new version, and its users are restarted for it")

typedef enum SwarmFault {
#define SWARM_FAULT_NUMBER(name, what) FAULT_##name,
        SWARM_FAULTS(SWARM_FAULT_NUMBER)
#undef SWARM_FAULT_NUMBER
        _FAULTS,
} SwarmFault;

// Those before it are drawn together; those from it on each by itself, from a word of its own.
enum { SWARM_FAULTS_DRAWN = FAULT_age };
