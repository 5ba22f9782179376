// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts of units, nodes and jobs by state, for /metrics, kept up with each change (tallies.h).
//
//      tally_unit_on_node(), tally_node(), tally_unit(), tally_job(): minus what was counted, plus what is
//
// Units are counted per node, and for all nodes that are heard; when a node is not heard, all its units
// become unknown in one step. A state of a newer version counts as unknown. Nothing allocates or fails.

#include "tallies.h"

#include <string.h>

#include "node-state.h"
#include "turn.h"

// A state that only a newer host knows counts as unknown.
static unsigned state_of(const UnitOnNode *s) {
        return (unsigned) s->active < UNIT_STATES ? (unsigned) s->active
                                                  : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static void count_units(Node *n, int step) {
        for (unsigned i = 0; i < UNIT_STATES; i++)
                n->all->seen[n->tally.heard ? i : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN] +=
                        (size_t) step * n->seen[i];
        if (n->tally.heard)
                n->all->looping += (size_t) step * n->n_looping;
}

static NodeTally tally_of(const Node *n) {
        if (!n->host->recorded)
                return (NodeTally){};
        return (NodeTally){
                .counted = true,
                .heard = n->host->attached && !n->reason && n->host->lease.state != LEASE_LOST,
                .state = node_state(n),
                .mode = (unsigned) n->mode < NODE_MODES
                                ? n->mode
                                : ARGOSY__NODE_MODE__MODE_MAINTENANCE, // a mode of a newer version
        };
}

static void count_node(Node *n, int step) {
        if (!n->tally.counted)
                return;
        n->all->nodes[n->tally.state] += (size_t) step;
        n->all->modes[n->tally.mode] += (size_t) step;
        count_units(n, step);
}

static void set(Node *n, NodeTally now) {
        count_node(n, -1);
        n->tally = now;
        count_node(n, +1);
}

void tally_node(const Leader *l, Node *n) {
        NodeTally now = tally_of(n);

        if (now.counted && (!n->tally.counted || now.state != n->tally.state))
                n->state_since_us = leader_wall(l);
        if (now.counted != n->tally.counted || now.heard != n->tally.heard || now.state != n->tally.state ||
            now.mode != n->tally.mode)
                set(n, now);
}

void tally_node_gone(Node *n) {
        set(n, (NodeTally){});
}

static void count_unit(UnitOnNode *s, int step) {
        Node *n = s->node;

        if (s->tallied == 0)
                return;
        n->seen[s->tallied - 1] += (size_t) step;
        if (n->tally.counted)
                n->all->seen[n->tally.heard ? s->tallied - 1 : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN] +=
                        (size_t) step;
}

static void tally_loop(UnitOnNode *s) {
        bool now = s->looping && unit_on_node_life_is_reported(s->life);
        Node *n = s->node;

        if (now == s->loop_tallied)
                return;
        s->loop_tallied = now;
        n->n_looping += now ? 1 : (size_t) -1;
        if (n->tally.counted && n->tally.heard)
                n->all->looping += now ? 1 : (size_t) -1;
}

void tally_unit_on_node(UnitOnNode *s) {
        unsigned now = unit_on_node_life_is_reported(s->life) ? state_of(s) + 1 : 0;

        tally_loop(s);
        if (now == s->tallied)
                return;
        count_unit(s, -1);
        s->tallied = now;
        count_unit(s, +1);
}

void tally_unit(Tallies *t, UnitLife life, int step) {
        if (life != LIFE_ABSENT)
                t->lives[life] += (size_t) step;
}

size_t tally_job_row(Leader *l, const char *verb) {
        return job_tally_row(&l->tallies.jobs, verb);
}

static bool is_open(Argosy__JobState state) {
        return state == ARGOSY__JOB_STATE__JOB_HELD || state == ARGOSY__JOB_STATE__JOB_RUNNING;
}

void tally_job(Leader *l, size_t row, Argosy__JobState before, Argosy__JobState after) {
        JobTally *t = &l->tallies.jobs;

        if (is_open(before))
                job_tally_leave(t, row, before);
        if (is_open(after))
                job_tally_begin(t, row, after);
        else if (after != ARGOSY__JOB_STATE__JOB_UNKNOWN)
                job_tally_end(t, row, after);
}

static void clear(Tallies *t) {
        memset(t->lives, 0, sizeof(t->lives));
        memset(t->seen, 0, sizeof(t->seen));
        t->looping = 0;
        memset(t->nodes, 0, sizeof(t->nodes));
        memset(t->modes, 0, sizeof(t->modes));
        job_tally_forget_open(&t->jobs);
}

void tallies_retire(Leader *l) {
        clear(&l->tallies);
}
