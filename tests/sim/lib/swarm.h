// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a story may contain, and how often. Of each story some features are left out first, since a run with
// three kinds of faults finds what a run with all of them hides; then a weight is drawn for each one that is
// left (Groce et al., "Swarm testing", ISSTA 2012).

#include "choices.h"
#include "leader-limits.h"

// Faults are the program's own: leader/swarm-faults.h, hosts/hosts-faults.h.
enum { SWARM_FAULTS_MAX = 32 };
extern const char *const swarm_fault_names[];
extern const unsigned swarm_n_faults;

// Of what is asked. A group of kinds of requests, or a way of asking.
#define SWARM_LOADS(F)                                                         \
        F(units, "start, stop, load, unload, submit, restart, destroy")        \
        F(several, "of several units at once, and of instances of a template") \
        F(apply, "folders")                                                    \
        F(undo, "what a job did is undone")                                    \
        F(rollout, "updates and restarts one after the other")                 \
        F(rebalance, "units are moved for balance")                            \
        F(nodes, "nodes are drained, cordoned, opened, labelled")              \
        F(roles, "roles and pools")                                            \
        F(queue, "jobs are held, released, cancelled; rules come and go")      \
        F(access, "rights and tokens, and authors who have some of them")      \
        F(secrets, "secrets and units that use them")                          \
        F(members, "hosts are removed, promoted, demoted")                     \
        F(looks, "what is only looked at: lists, plans, reasons")              \
        F(waits, "somebody waits for something")                               \
        F(watches, "somebody watches all that happens")                        \
        F(again, "who has not heard what became of a request asks again")      \
        F(calls_off, "who asked does not wait for the answer")                 \
        F(bound, "only if nothing has changed since")                          \
        F(options, "units say where they may run, and with whom")              \
        F(crowd, "many units at once, which nobody looks at one by one")       \
        F(bursts, "several requests at one moment, most of them about few units") \
        F(rules, "rules of the queue, and at the same moment what they hold")   \
        F(wrong, "what is to be refused")                                        \
        F(rights, "authors get and lose rights of single roles, which they use")

typedef enum SwarmLoad {
#define SWARM_LOAD_NUMBER(name, what) LOAD_##name,
        SWARM_LOADS(SWARM_LOAD_NUMBER)
#undef SWARM_LOAD_NUMBER
        _LOADS,
} SwarmLoad;

extern const char *const swarm_load_names[_LOADS];

// What else is drawn once for a story.
#define SWARM_FIGURES(F)                                                            \
        F(hosts, "of the cluster")                                                  \
        F(units, "that anybody asks for")                                           \
        F(lease_ms, "of hosts")                                                     \
        F(start_ms, "that a start takes")                                           \
        F(stop_ms, "that a stop takes")                                             \
        F(mass_loss_percent, "of hosts that may be lost at once")                   \
        F(batch_max, "bytes of an entry; 0: as many as may be")                     \
        F(time_max_ms, "that pass in one step at most")                             \
        F(voters, "among the hosts; 0: all")                                        \
        F(guarded, "of 64 contents of units that have CutOff=stop and nothing else") \
        F(fresh, "hosts more that are no members at first")                         \
        F(crowd, "units more, all of one template; 0: there are none")              \
        F(events_bytes, "of the newest events; 0: as many as usual")                \
        F(found, "of 64 hosts that have no Address=")                               \
        F(names, "whether names of hosts can be looked up")                         \
        F(leases, "of 64 hosts that have a LeaseSec= of their own")                  \
        F(configs, "of 64 hosts whose argosy.conf says more than that")              \
        F(users, "of 64 hosts that have a user with a service manager of his own")  \
        F(of_users, "of 64 contents that are for users' managers, and nothing else") \
        F(containers, "of 64 contents that are containers'")                        \
        F(focused, "whether most of it is about few units for a while")             \
        F(theme, "of options that have to do with each other; 0: any are said")       \
        F(tried, "of so many moments at rest one has trials; 0: none has")           \
        F(parts, "of 64 contents that have drop-ins")                                \
        F(places, "of 64 files of units that have a place, most of them below /etc") \
        F(beside, "of 64 contents that name other units as systemd has it")          \
        F(named, "of 64 containers whose image is no tag, or that have more than it") \
        F(fleet, "of 64 contents that were written for fleet")                       \
        F(activators, "of 64 units that activate the one before them")               \
        F(groups, "more of which one of the authors is a member")                    \
        F(turn_us, "of CPU time that a turn takes as the leader sees it")            \
        F(siblings, "of 64 units that are instances of one template")                \
        F(timed, "whether hosts say when their units have changed")                  \
        F(stops_within, "seconds, for units with CutOff=stop; 0: systemd's own time")

typedef struct Swarm {
        unsigned faults[SWARM_FAULTS_MAX], loads[_LOADS]; // weights; 0: left out
        unsigned steps[_STEP_KINDS];             // likewise; never 0 for STEP_ASK
#define SWARM_FIGURE_FIELD(name, what) unsigned name;
        SWARM_FIGURES(SWARM_FIGURE_FIELD)
#undef SWARM_FIGURE_FIELD
        LeaderLimits limits; // 0: the usual one
        unsigned n_steps; // that are drawn
        unsigned n_member_steps, n_recover_steps, n_at_steps; // likewise, among them
} Swarm;

enum { SWARM_WEIGHT_MAX = 64 };
// Loads that swarm_draw_weights() is to draw; those behind them a program draws by itself.
enum { SWARM_LOADS_DRAWN = LOAD_crowd };

// Of each story of a program; every program has its own.
Swarm swarm_draw(uint64_t word);
// Some are left out. The more of them are, the further go those that stay.
void swarm_draw_weights(Draw *d, unsigned *weights, size_t n);
// Limits of the leader. Most stories have the usual ones; in others some are drawn, each order of magnitude
// as often as another one.
void swarm_draw_limits(Draw *d, LeaderLimits *ret);
// What the leader is given: the usual one where none was drawn.
LeaderLimits swarm_limits(const Swarm *s);

typedef struct SwarmLimit {
        const char *name;
        size_t offset; // in LeaderLimits
        unsigned usual, least;
} SwarmLimit;
extern const SwarmLimit swarm_limits_table[];
extern const size_t swarm_n_limits;
unsigned *swarm_limit(LeaderLimits *limits, size_t i);
