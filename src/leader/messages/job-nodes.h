// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which nodes the record of a job names: where units were that did not end well, whose labels and modes it
// changed, which it was to empty, and those that it was asked for, if its verb is about nodes. Where a unit
// was started that is well is in no record.

#include <stdbool.h>
#include <stddef.h>

#include "cluster-state.h"

enum {
        JOB_NODES_MAX = 16,         // that one question is about
        JOB_NODES_IN_A_LOOK = 200,  // names that are compared in the time in which a job is looked at
};

// Nodes that somebody asks about. Zeroed: none, and so every job is meant.
typedef struct JobNodes {
        char *const *names; // borrowed
        size_t n;
        uint32_t numbers[JOB_NODES_MAX]; // 0: there is no such node now
} JobNodes;

// n: up to JOB_NODES_MAX.
void job_nodes_init(JobNodes *nodes, const ClusterState *state, char *const *names, size_t n);
// Whether the record names one of them. units_alone: what is not about units does not count, for who may see
// some units only.
bool job_nodes_match(const JobNodes *nodes, const Argosy__JobRecord *job, bool units_alone);
// How many names were compared with that.
size_t job_nodes_cost(const JobNodes *nodes, const Argosy__JobRecord *job);

// Whether what was typed are names of nodes, or of hosts.
bool job_verb_names_nodes(const char *verb);
