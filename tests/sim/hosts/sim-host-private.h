// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Between the machines of a cluster (sim-host.c) and how a cluster begins and ends (sim-cluster.c).

#include "ca.h"
#include "identity.h"
#include "run.h"
#include "sim-host.h"
#include "voter-secrets.h"

typedef struct Member {
        SimMachine machine;
        RunOptions options;
        Identity identity;
        char address[16];
} Member;

struct SimCluster {
        char dir[64];
        Member members[SIM_CLUSTER_MAX + 1];
        size_t n, n_members, n_voters; // machines; of these members at first, and voters
        uint8_t cluster_id[16];
        Ca ca;
        VoterSecrets secrets;
        SimEndings endings;
        void (*changed)(SimMachine *m, const char *name, Argosy__ActiveState was, Argosy__ActiveState is);
};
extern struct SimCluster sim_cluster; // sim-cluster.c

// sim-cluster.c
void sim_check(int r, const char *what); // ends the process if it is an error
char *sim_machine_path(const SimMachine *m, const char *name); // in its directory

// sim-host.c
void sim_machine_make_pid1(SimMachine *m);
void sim_machine_on_end(SimHost *h, int status);
