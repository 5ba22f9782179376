// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names are compared as they stand in the record, so what happened to a node is found when the node is gone,
// and a host that has got the name of a former one is told the jobs of both. Numbers count for nodes alone
// that were to be emptied: of these a record has no names.
//
// Failures: none. A word that names no node, or several hosts, has no number.

#include "job-nodes.h"

#include "macro.h"
#include "str.h"

// As model/request-kind.c calls what is about nodes or hosts; a test compares.
static const char *const verbs_of_nodes[] = {
        "cordon",         "uncordon",        "drain",          "maintenance", "label",
        "cluster remove", "cluster promote", "cluster demote", "cluster join",
};

bool job_verb_names_nodes(const char *verb) {
        for (size_t i = 0; i < ELEMENTSOF(verbs_of_nodes); i++)
                if (streq(verb, verbs_of_nodes[i]))
                        return true;
        return false;
}

void job_nodes_init(JobNodes *nodes, const ClusterState *state, char *const *names, size_t n) {
        *nodes = (JobNodes){.names = names, .n = n};
        for (size_t i = 0; i < n; i++)
                (void) cluster_state_resolve_node(state, names[i], &nodes->numbers[i], NULL);
}

static bool is_meant(const JobNodes *nodes, const char *name) {
        for (size_t i = 0; i < nodes->n; i++)
                if (*name && streq(nodes->names[i], name))
                        return true;
        return false;
}

static bool has_number(const JobNodes *nodes, uint32_t number) {
        for (size_t i = 0; i < nodes->n; i++)
                if (number > 0 && nodes->numbers[i] == number)
                        return true;
        return false;
}

static bool has_failed_there(const JobNodes *nodes, const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_ends; i++)
                if (is_meant(nodes, job->ends[i]->node))
                        return true;
        return false;
}

static bool is_about(const JobNodes *nodes, const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_settings; i++)
                if (is_meant(nodes, job->settings[i]->where))
                        return true;
        for (size_t i = 0; i < job->n_drains; i++)
                if (has_number(nodes, job->drains[i]))
                        return true;
        for (size_t i = 0; i < job->n_targets && (job->own || job_verb_names_nodes(job->verb)); i++)
                if (is_meant(nodes, job->targets[i]))
                        return true;
        return false;
}

static bool has_moved(const JobNodes *nodes, const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_moves; i++)
                if (is_meant(nodes, job->moves[i]->from) || is_meant(nodes, job->moves[i]->to))
                        return true;
        return false;
}

bool job_nodes_match(const JobNodes *nodes, const Argosy__JobRecord *job, bool units_alone) {
        return nodes->n == 0 || has_failed_there(nodes, job) || has_moved(nodes, job) ||
               (!units_alone && is_about(nodes, job));
}

size_t job_nodes_cost(const JobNodes *nodes, const Argosy__JobRecord *job) {
        return nodes->n *
               (job->n_ends + job->n_settings + job->n_drains + job->n_targets + 2 * job->n_moves);
}
