// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Why a unit on a node waits: for a dependency, a dependent's stop, or the units that it replaces; in words.
//
//      ordering_why(): replaced units -> the kind of hold -> the first peer that holds it -> a sentence
//
// It is looked up when somebody asks, and nothing is kept. False: nothing holds it. Texts are cut to `size`;
// nothing fails.

#include <stdio.h>

#include "dependencies.h"
#include "disruption-budget.h"
#include "ordering.h"
#include "registry.h"
#include "replacers.h"
#include "str.h"
#include "tables.h"
#include "unit-on-node.h"
#include "unit-record.h"

typedef struct Description {
        const Leader *leader;
        const char *begin; // of a sentence about a start
        const BatchBuilder *batch; // NULL: none is in the making
        char *ret;
        size_t size;
        bool blocked; // only peers that are not being started
        OrderingStop stop;
} Description;

// The state of the other unit, as a clause.
static const char *phrase(const Unit *u, Standing standing) {
        switch (standing) {
        case STANDING_OFF:
                return u && u->recorded ? "which is not started" : "which the cluster does not know";
        case STANDING_UNKNOWN:
                return "whose state its node has not reported yet";
        case STANDING_NOWHERE:
                return u && u->node ? "whose node is away" : "which no node takes at present";
        case STANDING_COMING:
                return "which is being started";
        case STANDING_BLOCKED:
                return "which waits itself";
        case STANDING_CHANGING:
                return "which is being stopped or restarted";
        case STANDING_ENDING:
                return "which is to be stopped";
        case STANDING_RETRYING:
                return "whose start failed; systemd tries again";
        case STANDING_FINISHED:
                return "which has finished";
        case STANDING_OUTCOME_UNKNOWN:
                return "of which nobody can tell how it ended (outcome unknown)";
        case STANDING_DOWN:
                return "which is not running";
        case STANDING_UP:
                break;
        }
        return "which is up";
}

static const Argosy__Outcome *outcome_of(const Leader *l, const char *name, const Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e && u && u->node ? record_final_outcome(e->record, u->node->number) : NULL;
}

static void describe(const Description *t, const char *begin, const char *name, Standing standing) {
        const Unit *u = unit_find(t->leader, name);
        const UnitOnNode *s = u && u->node ? unit_on_node_find(u, u->node) : NULL;
        const char *result = s ? unit_on_node_bad_result(s) : NULL;
        const Argosy__Outcome *o = outcome_of(t->leader, name, u);
        bool failed = o || (s && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);

        if (o && *o->result)
                result = o->result;
        if (standing == STANDING_DOWN && s && failed)
                str_fit(t->ret, t->size, "%s %s on %s, which failed (%s)", begin, name, u->node->name,
                        result ?: "systemd does not say why");
        else
                str_fit(t->ret, t->size, "%s %s%s%s, %s", begin, name, u && u->node ? " on " : "",
                        u && u->node ? u->node->name : "", phrase(u, standing));
}

static bool describe_start(const DependencyPeer *peer, void *userdata) {
        const Description *t = userdata;
        Standing standing = ordering_standing(t->leader, peer->name);
        DependencyVerdict v = dependency_judge_start(peer->kinds, standing);

        if (v == DEPENDENCY_GO || (t->blocked && v != DEPENDENCY_BLOCKED) ||
            (t->batch && batch_builder_has_unit(t->batch, peer->name)))
                return false;
        describe(t, t->begin, peer->name, standing);
        return true;
}

static bool describe_run(const DependencyPeer *peer, void *userdata) {
        const Description *t = userdata;
        Standing standing = ordering_standing(t->leader, peer->name);

        if (!dependency_judge_run(peer->kinds, standing))
                return false;
        describe(t, "stopped because of", peer->name, standing);
        return true;
}

static bool describe_stop(const DependencyPeer *peer, void *userdata) {
        Description *t = userdata;

        if (!ordering_ends_first(peer, &t->stop))
                return false;
        str_fit(t->ret, t->size, "its stop waits for the stop of %s", peer->name);
        return true;
}

// Whether it waits for a unit that it replaces and that is still on the node.
static bool describe_replaced(const Leader *l, const UnitOnNode *s, char *ret, size_t size) {
        const Unit *u = ordering_waits_for_replaced(l, s) ? replacer_waits_for(l, s->unit) : NULL;

        if (!u)
                return false;
        str_fit(ret, size,
                "waiting until %s, which it replaces, has left %s: %zu of its group are down, "
                "MaxUnavailable=%zu",
                u->name, s->node->name, u->budget->n_down,
                disruption_budget_max(l, u->budget, cluster_state_find_unit(l->state, u->name)));
        return true;
}

bool ordering_why(const Leader *l, const UnitOnNode *s, char *ret, size_t size) {
        const Dependencies *g = &l->dependencies;
        Description t = {.leader = l,
                         .begin = "waiting for",
                         .ret = ret,
                         .size = size,
                         .blocked = s->hold == HOLD_BLOCKED,
                         .stop = ordering_stop(l, s)};

        if (describe_replaced(l, s, ret, size))
                return true;
        switch (s->hold) {
        case HOLD_START:
        case HOLD_BLOCKED:
                return dependencies_each_of(g, s->unit->name, describe_start, &t);
        case HOLD_BOUND:
                return dependencies_each_of(g, s->unit->name, describe_run, &t);
        case HOLD_STOP:
                return dependencies_each_on(g, s->unit->name, describe_stop, &t);
        default:
                return false;
        }
}

const char *ordering_blocked(const Leader *l, const UnitOnNode *s, char *buffer, size_t size) {
        return s->hold == HOLD_BLOCKED && ordering_why(l, s, buffer, size) ? buffer : NULL;
}

bool ordering_would_block(const Leader *l, const BatchBuilder *b, const char *name,
                          const UnitOptions *options, char *ret, size_t size) {
        Description t = {.leader = l,
                         .begin = "it would not start again: it would wait for",
                         .batch = b,
                         .ret = ret,
                         .size = size,
                         .blocked = true};

        if (!options)
                return dependencies_each_of(&l->dependencies, name, describe_start, &t);
        for (size_t i = 0; i < options->n_dependencies; i++) {
                const UnitDependency *d = &options->dependencies[i];

                if (describe_start(&(DependencyPeer){.name = d->name, .kinds = d->kinds}, &t))
                        return true;
        }
        return false;
}
