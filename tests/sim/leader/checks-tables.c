// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of what a leader keeps up to date from change to change: counts, states and marks of hosts, nodes,
// units, groups, rollouts and jobs. When all is at rest and another one leads, it has made all of them anew,
// from the log and from what hosts say, and they are what the former leader had.
//
//      tables_read()      one line of text for each object
//      tables_compare()   the first line that differs ends the story
//
// Left out is what depends on when a leader began, and what only the one that saw it can know: revisions,
// times, failures, which job a word is about.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "checks-private.h"
#include "disruption-budget.h"
#include "held-jobs.h"
#include "host-marks.h"
#include "leader-private.h"
#include "node-state.h"
#include "rollout-members.h"
#include "scheduler-tables.h"
#include "test.h"

typedef struct Lines {
        char **list;
        size_t n, allocated;
} Lines;

static void add(Lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(Lines *lines, const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        if (lines->n == lines->allocated) {
                lines->allocated = 2 * lines->allocated + 64;
                lines->list = realloc(lines->list, lines->allocated * sizeof(*lines->list));
                assert_non_null(lines->list);
        }
        lines->list[lines->n] = strdup(text);
        assert_non_null(lines->list[lines->n++]);
}

static const char *node_of(const Unit *u) {
        return u->node ? u->node->name : "-";
}

// That its node is back one hears whose time has come: until then it counts as delayed.
static UnitLife life_of(const Unit *u) {
        return u->life == LIFE_DELAYED && !host_is_lost(u->node->host) ? LIFE_RESIDENT : u->life;
}

static void add_leader(Lines *lines, const Leader *l) {
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);
        const HostCounts *n = &l->n_hosts;

        add(lines, "hosts: unattached %zu, untold %zu, silent %zu, awaited %zu, expected %zu, suspect %zu",
            n->unattached, n->untold, n->silent, n->awaited, n->expected, n->suspect);
        add(lines, "units: pending %zu; mass loss %d", l->n_pending, l->in_mass_loss);
        add(lines, "tables: hosts %zu, nodes %zu, groups %zu, contents seen %zu, bound to data %zu",
            l->hosts.count, l->nodes.count, l->budgets.count, l->seen_specs.count, l->data_bindings.count);
        // Which jobs run may change meanwhile: their ends are written with the next entry.
        add(lines, "jobs: held %zu, awaited %zu, going %zu", l->held_jobs.count, l->held_awaited.count,
            l->n_held_going);
        for (size_t i = 0; i < queue->n_rules; i++)
                add(lines, "rule %u: %zu running, %zu held", queue->rules[i]->number,
                    held_limit_running(l, queue->rules[i]->number),
                    held_jobs_of_rule(l, queue->rules[i]->number));
        for (size_t i = 0; i < LIFE_STATES; i++)
                if (i != LIFE_RESIDENT && i != LIFE_DELAYED)
                        add(lines, "units in state %zu: %zu", i, l->tallies.lives[i]);
        for (size_t i = 0; i < UNIT_STATES; i++)
                add(lines, "units on nodes in state %zu: %zu", i, l->tallies.seen[i]);
}

static void add_host(Lines *lines, const Host *h) {
        add(lines,
            "host %u: recorded %d, linked %d, attached %d, welcomed %d, leaving %d, down %d, lease %d, "
            "offers %u %u, voter %d, level %u",
            h->number, h->recorded, h->linked, h->attached, h->welcomed, h->leaving, h->down,
            (int) h->lease.state, h->cpu_milli, h->memory_mib, h->voter_known,
            h->feature_level);
}

static void add_node(Lines *lines, const Node *n) {
        add(lines,
            "node %s: placed %zu, unfinished %zu, on it %zu, global %zu, to leave %zu, stuck %zu, leaving "
            "%zu, mode %d, closed '%s', looping %zu",
            n->name, n->n_placed, n->n_unfinished, n->n_units_on_node, n->n_globals, n->n_to_leave,
            n->n_stuck, n->n_leaving, (int) n->mode, n->closed ?: "", n->n_looping);
}

static void add_group(Lines *lines, const DisruptionBudget *g) {
        add(lines, "group %s: to be up %zu, down %zu, contents %zu, rollout %d", g->name, g->n_launched,
            g->n_down, g->contents.count, !!g->rollout);
}

static void add_rollout(Lines *lines, const Rollout *o) {
        const RolloutSums *s = &o->members.sums;

        add(lines, "rollout %s: wanted %zu, down %zu, on the way %zu, left %zu, unplaced %zu, unseen %zu",
            o->budget->name, s->wanted, s->down, s->on_way, s->left, s->unplaced, s->unseen);
}

static void add_unit(Lines *lines, const Unit *u) {
        add(lines, "unit %s: node %s, life %d, group %s, counted %d, down %d, leaves %d, unfinished %d",
            u->name, node_of(u), (int) life_of(u), u->budget ? u->budget->name : "-", u->counted, u->down,
            u->leaves, u->unfinished);
        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                add(lines, "unit %s on %s: life %d, hold %d, up %d, active %d, stays %d, leaving %d",
                    u->name, s->node->name, (int) s->life, (int) s->hold, u->budget && s->up, s->active,
                    s->stays, s->leaving);
        }
}

static int by_text(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

// Who leads anew has all nodes in the order of their numbers, by which equals are told apart.
void tables_are_in_order(void) {
        const SchedulerTables *t = world.rig.leader->places;
        uint32_t last = 0;

        for (size_t i = 0; t && i < t->n_nodes; i++) {
                if (!t->nodes[i])
                        continue;
                if (t->nodes[i]->number < last)
                        check_fail("next-leader-has-the-same",
                                   "of equals node %u comes before node %u, for who leads anew", last,
                                   t->nodes[i]->number);
                last = t->nodes[i]->number;
        }
}

char *tables_read(void) {
        const Leader *l = world.rig.leader;
        Lines lines = {};
        Buf text = {};

        add_leader(&lines, l);
        map_foreach (slot, &l->hosts)
                add_host(&lines, slot->value);
        map_foreach (slot, &l->nodes)
                add_node(&lines, slot->value);
        map_foreach (slot, &l->budgets)
                add_group(&lines, slot->value);
        list_foreach (i, &l->rollouts)
                add_rollout(&lines, CONTAINER_OF(i, Rollout, all));
        name_table_foreach(unit, &l->units) if (((const Unit *) unit)->recorded) add_unit(&lines, unit);
        qsort(lines.list, lines.n, sizeof(*lines.list), by_text);
        for (size_t i = 0; i < lines.n; i++) {
                assert_int_equal(buf_printf(&text, "%s\n", lines.list[i]), 0);
                free(lines.list[i]);
        }
        free(lines.list);
        return buf_take_string(&text);
}

void tables_compare(char *before, char *after) {
        const char *had, *has;

        check_says("next-leader-has-the-same");
        if (check_texts_differ(before, after, &had, &has))
                check_fail("next-leader-has-the-same",
                           "the former leader has '%.220s', and the next one '%.220s'", had, has);
}
