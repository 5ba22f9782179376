// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A cluster as large as one may be, in a rig: what each case of test-turns-are-short.c finds.
//
//      big@N.service    LARGE_UNITS instances of one template, all up, of one role, for one label, with one
//                       conflict
//      part@N.service   SET_UNITS units of one set
//      all.service      on every node
//
// Its hosts do something only when there is something to do, a few in a turn, since a host of a real cluster
// has a connection of its own, and a loop reads of few of them in a turn.

#include "leader-rig-private.h"

enum { SET_UNITS = 4096, NAMES_MAX = 20000 };

typedef struct LargeCluster {
        Rig rig;
        unsigned n_hosts, n_units;
        char *big[NAMES_MAX], *part[SET_UNITS],
                *fresh[NAMES_MAX]; // names; `fresh` are of no unit, and of the template new@.service
} LargeCluster;

extern LargeCluster large;

#define SLEEPS "[Service]\nExecStart=/bin/sleep 1000\n"
#define BIG                                                                                                \
        SLEEPS "[X-Argosy]\nRole=crew\nMachineMetadata=zone=a\nConflicts=other@*.service\nMaxUnavailable=" \
               "10%\n"
#define BIG_NEXT BIG "RestartElsewhere=3\n"

void large_cluster_make(unsigned n_hosts, unsigned n_units);
// Turns, until nothing happens any more, or so many.
void large_cluster_turns(unsigned most);
// Hosts that are up beat.
void large_cluster_pass_ms(unsigned ms);
void large_cluster_elect(void);
