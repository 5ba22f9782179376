// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a story may contain, and how often. Of each story some features are left out first, since a run with three kinds of
// faults finds what a run with all of them hides; then a weight is drawn for each one that is left (Groce et al., "Swarm
// testing", ISSTA 2012).

#include "choices.h"

// Faults. A new one gets its row here and its function in faults.c.
#define SWARM_FAULTS(F)                                                                                                \
        F(power, "a host loses its power, or is switched on again, with its units or without")                         \
        F(deaf, "a host beats, but takes and says nothing")                                                            \
        F(lazy, "a host obeys, and does not say so")                                                                   \
        F(link, "the connection to a host breaks")                                                                     \
        F(full, "a host takes no more")                                                                                \
        F(leader, "the leader is deposed, or elected")                                                                 \
        F(unknown, "the leader is deposed while an entry is on its way, which is kept or lost")                        \
        F(slow, "the log takes its time")                                                                              \
        F(disk, "the log takes nothing")                                                                               \
        F(unit, "a unit fails, ends, or is stopped by somebody else")                                                  \
        F(foreign, "a host has a unit of that name of its own, or refuses")                                            \
        F(delay, "what a host says takes its time, or is lost with the link")                                          \
        F(mute, "a host does not answer questions, or takes no files")                                                 \
        F(manager, "a host gets a second manager, or loses it, or cannot use it")                                      \
        F(voter, "the log of a voter does not open, lags, or does not answer")                                         \
        F(clock, "a wall clock jumps")                                                                                 \
        F(repeat, "a host says once more what it has said before")                                                     \
        F(garbage, "a host says what its key allows and no agent says")                                                \
        F(goodbye, "a host shuts down, or stops doing so")                                                             \
        F(labels, "a host comes with other labels")

// Of what is asked. A group of kinds of requests, or a way of asking.
#define SWARM_LOADS(F)                                                                                                 \
        F(units, "start, stop, load, unload, submit, restart, destroy")                                                \
        F(several, "of several units at once, and of instances of a template")                                         \
        F(apply, "folders")                                                                                            \
        F(undo, "what a job did is undone")                                                                            \
        F(rollout, "updates and restarts one after the other")                                                         \
        F(rebalance, "units are moved for balance")                                                                    \
        F(nodes, "nodes are drained, cordoned, opened, labelled")                                                      \
        F(roles, "roles and pools")                                                                                    \
        F(queue, "jobs are held, released, cancelled; rules come and go")                                              \
        F(access, "rights and tokens, and authors who have some of them")                                              \
        F(secrets, "secrets and units that use them")                                                                  \
        F(members, "hosts are removed, promoted, demoted")                                                             \
        F(looks, "what is only looked at: lists, plans, reasons")                                                      \
        F(waits, "somebody waits for something")                                                                       \
        F(watches, "somebody watches all that happens")                                                                \
        F(again, "who has not heard what became of a request asks again")                                              \
        F(calls_off, "who asked does not wait for the answer")                                                         \
        F(bound, "only if nothing has changed since")                                                                  \
        F(options, "units say where they may run, and with whom")

typedef enum SwarmFault {
#define SWARM_FAULT_NUMBER(name, what) FAULT_##name,
        SWARM_FAULTS(SWARM_FAULT_NUMBER)
#undef SWARM_FAULT_NUMBER
        _FAULTS,
} SwarmFault;

typedef enum SwarmLoad {
#define SWARM_LOAD_NUMBER(name, what) LOAD_##name,
        SWARM_LOADS(SWARM_LOAD_NUMBER)
#undef SWARM_LOAD_NUMBER
        _LOADS,
} SwarmLoad;

extern const char *const swarm_fault_names[_FAULTS], *const swarm_load_names[_LOADS];

// What else is drawn once for a story.
#define SWARM_FIGURES(F)                                                            \
        F(hosts, "of the cluster")                                                  \
        F(units, "that anybody asks for")                                           \
        F(lease_ms, "of hosts")                                                     \
        F(start_ms, "that a start takes")                                           \
        F(stop_ms, "that a stop takes")                                             \
        F(mass_loss_percent, "of hosts that may be lost at once")                   \
        F(batch_max, "bytes of an entry; 0: as many as may be")                     \
        F(time_max_ms, "that pass in one step at most")

typedef struct Swarm {
        unsigned faults[_FAULTS], loads[_LOADS]; // weights; 0: left out
        unsigned steps[_STEP_KINDS];             // likewise; never 0 for STEP_ASK
#define SWARM_FIGURE_FIELD(name, what) unsigned name;
        SWARM_FIGURES(SWARM_FIGURE_FIELD)
#undef SWARM_FIGURE_FIELD
        unsigned n_steps; // that are drawn
} Swarm;

Swarm swarm_draw(uint64_t word);
