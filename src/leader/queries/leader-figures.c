// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a leader counts by state, verb and role (LEADER_FAMILIES). All of it was counted as it changed, so
// this costs as many rows as there are, whatever the cluster has. What is true of the cluster is said by who
// leads it; how jobs have ended also later, since what is counted must not fall.
#include "leader.h"

#include "job-state.h"
#include "leader-core.h"
#include "node-state.h"
#include "scheduler.h"
#include "unit-life.h"
#include "unit-state.h"

static const char *const lives[LIFE_STATES] = {
        [LIFE_ABSENT] = "absent",   [LIFE_GLOBAL] = "everywhere", [LIFE_RESIDENT] = "resident",
        [LIFE_MOVING] = "moving",   [LIFE_COMMITTING] = "flying",         [LIFE_HELD] = "held",
        [LIFE_DELAYED] = "delayed", [LIFE_STRANDED] = "stranded",     [LIFE_PENDING] = "pending",
};

static const char *const modes[NODE_MODES] = {
        [ARGOSY__NODE_MODE__MODE_OPEN] = "open",
        [ARGOSY__NODE_MODE__MODE_CORDONED] = "cordoned",
        [ARGOSY__NODE_MODE__MODE_DRAINING] = "draining",
        [ARGOSY__NODE_MODE__MODE_MAINTENANCE] = "maintenance",
};

static void add(CounterList *to, LeaderFamily family, uint64_t value, const char *key, const char *word) {
        counter_list_add(to, (Counter){leader_families[family], value, {{key, word}}});
}

static void add_units(const Tallies *t, CounterList *to) {
        for (unsigned i = LIFE_ABSENT + 1; i < LIFE_STATES; i++)
                add(to, LEADER_FAMILY_units_by_placement, t->lives[i], "placement", lives[i]);
        for (unsigned i = 0; i < UNIT_STATES; i++)
                add(to, LEADER_FAMILY_units_on_nodes, t->seen[i], "state",
                    active_state_to_string((Argosy__ActiveState) i));
}

static void add_nodes(const Tallies *t, CounterList *to) {
        for (unsigned i = 0; i < NODE_STATES; i++)
                add(to, LEADER_FAMILY_nodes, t->nodes[i], "state", node_state_to_string((NodeState) i));
        for (unsigned i = 0; i < NODE_MODES; i++)
                add(to, LEADER_FAMILY_nodes_by_mode, t->modes[i], "mode", modes[i]);
}

static void add_jobs(CounterList *to, LeaderFamily family, const JobTallyRow *row, Argosy__JobState state,
                     uint64_t n) {
        counter_list_add(to, (Counter){leader_families[family],
                                       n,
                                       {{"verb", row->verb}, {"state", job_state_to_string(state)}}});
}

static void add_open_jobs(const JobTally *t, CounterList *to) {
        for (size_t i = 0; i < t->n; i++) {
                const JobTallyRow *row = &t->rows[i];

                add_jobs(to, LEADER_FAMILY_open_jobs, row, ARGOSY__JOB_STATE__JOB_HELD,
                         row->open[ARGOSY__JOB_STATE__JOB_HELD]);
                add_jobs(to, LEADER_FAMILY_open_jobs, row, ARGOSY__JOB_STATE__JOB_RUNNING,
                         row->open[ARGOSY__JOB_STATE__JOB_RUNNING]);
        }
}

// All ways to end from a verb's first job on, so that the first that fails is an increase.
static void add_ended_jobs(const JobTally *t, CounterList *to) {
        for (size_t i = 0; i < t->n; i++)
                for (unsigned k = ARGOSY__JOB_STATE__JOB_DONE; k <= ARGOSY__JOB_STATE__JOB_CANCELLED; k++)
                        add_jobs(to, LEADER_FAMILY_jobs_ended, &t->rows[i], (Argosy__JobState) k,
                                 t->rows[i].ended[k]);
}

void leader_figures(Leader *l, CounterList *to) {
        add_ended_jobs(&l->tallies.jobs, to);
        if (!l->leading)
                return;
        add_units(&l->tallies, to);
        add_nodes(&l->tallies, to);
        add_open_jobs(&l->tallies.jobs, to);
        scheduler_figures(l, to);
}
