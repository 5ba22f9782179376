// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a leader counts and lists as it changes is what one finds by looking at all there is.
//
//      after each turn            rig_assert_hosts()
//      when all is settled        rig_assert_counts()
//
// What is marked is left out: it is looked at in a later turn.
#include "leader-rig-private.h"

#include "due.h"
#include "held-jobs.h"
#include "host-marks.h"
#include "leader-private.h"
#include "node-state.h"
#include "nodes.h"
#include "open-jobs.h"
#include "placed-node.h"
#include "recovering.h"
#include "scheduler-tables.h"
#include "scheduler.h"
#include "test.h"
#include "unit-event.h"
#include "unit-on-node-work.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "unit-work.h"

// ------------------------------------------------------------------------------------------------ hosts

static void assert_is_placed(const Leader *l, const Node *n) {
        const Placement *p = l->places->placement;
        PlacementState given = placed_node_state(p, n->scheduling.place - 1);
        bool open = node_takes_units(n, NULL);

        assert_int_equal(given == PLACEMENT_OPEN, open && n->host->attached);
        assert_int_equal(given == PLACEMENT_SECOND, open && !n->host->attached);
        assert_int_equal(given == PLACEMENT_LOST, host_is_lost(n->host));
        assert_int_equal(placed_node_others(p, n->scheduling.place - 1), n->n_globals);
}

static void add_host(HostCounts *all, const Host *h) {
        bool lost = host_is_lost(h), expected = !lost && host_is_expected(h);

        all->unattached += !lost && !h->ever_attached;
        all->untold += !lost && !(h->ever_attached && !h->half_reported);
        all->silent += !h->attached;
        all->awaited += !lost && !h->attached && !h->leaving;
        all->expected += expected;
        all->suspect += expected && h->lease.state == LEASE_SUSPECT;
}

void rig_assert_hosts(const Leader *l) {
        HostCounts found = {};

        map_foreach (slot, &l->hosts) {
                const Host *h = slot->value;

                assert_int_equal(list_is_linked(&h->lost), h->recorded && host_is_lost(h));
                if (h->recorded)
                        add_host(&found, h);
        }
        assert_memory_equal(&found, &l->n_hosts, sizeof found);
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (n->scheduling.place && !host_has_mark(n->host, HOST_PLACE))
                        assert_is_placed(l, n);
        }
}

// ------------------------------------------------------------------------------------------------ units

static void assert_equal_counts(const size_t *counted, const size_t *found, unsigned n, const char *of) {
        for (unsigned i = 0; i < n; i++)
                if (counted[i] != found[i])
                        fail_msg("%zu %s are counted in state %u, and there are %zu", counted[i], of, i,
                                 found[i]);
}

// What figures say is what a walk finds.
static void assert_tallies(const Leader *l) {
        Tallies found = {};
        size_t held = 0, running = 0, n_held = 0, n_open = 0;

        name_table_foreach(unit, &l->units) {
                const Unit *u = unit;

                if (u->life != LIFE_ABSENT)
                        found.lives[u->life]++;
        }
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (!n->host->recorded)
                        continue;
                found.nodes[node_state(n)]++;
                found.modes[n->mode]++;
                list_foreach (i, &n->units_on_node) {
                        const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);

                        if (unit_on_node_is_reported(s))
                                found.seen[unit_on_node_is_heard(s) && s->active < UNIT_STATES
                                                   ? s->active
                                                   : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN]++;
                }
        }
        map_foreach (slot, &l->held_jobs)
                n_held += cluster_state_job_state(l->state, held_job_number(slot->value)) ==
                          ARGOSY__JOB_STATE__JOB_HELD;
        for (size_t i = 0; i < l->tallies.jobs.n; i++) {
                held += l->tallies.jobs.rows[i].open[ARGOSY__JOB_STATE__JOB_HELD];
                running += l->tallies.jobs.rows[i].open[ARGOSY__JOB_STATE__JOB_RUNNING];
        }
        assert_equal_counts(l->tallies.lives, found.lives, LIFE_STATES, "units");
        assert_equal_counts(l->tallies.seen, found.seen, UNIT_STATES, "units on nodes");
        assert_equal_counts(l->tallies.nodes, found.nodes, NODE_STATES, "nodes");
        assert_equal_counts(l->tallies.modes, found.modes, NODE_MODES, "nodes by mode");
        assert_int_equal(held, n_held);
        map_foreach (slot, &l->open_jobs)
                n_open += !((const OpenJob *) slot->value)->end_tallied;
        assert_int_equal(running, n_open);
}

// Whose node would have to be left if it were lost.
static void assert_unfinished(const Leader *l) {
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;
                size_t unfinished = 0;

                list_foreach (i, &n->placed) {
                        const Unit *u = CONTAINER_OF(i, Unit, placed);
                        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                        unfinished += e && (e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED ||
                                            !record_final_outcome(e->record, n->number));
                }
                assert_int_equal(n->n_unfinished, unfinished);
        }
}

static void assert_recovering(Leader *l) {
        map_foreach (slot, &l->budgets) {
                const DisruptionBudget *budget = slot->value;
                bool kept = budget->recovering_known && !list_is_empty(&budget->waiting);
                size_t n = 0;

                list_foreach (i, &budget->units) {
                        const Unit *u = CONTAINER_OF(i, Unit, of_budget);

                        n += u->recovering;
                        if (kept && !list_is_linked(&unit_work_seen(u)->touched) &&
                            u->recovering != recovering_is(l, u))
                                fail_msg("%s is %s its way, and is counted otherwise", u->name,
                                         u->recovering ? "not on" : "on");
                }
                assert_int_equal(budget->n_recovering, n);
        }
}

// What is counted as it happens is what a walk finds.
static void assert_counts(const Rig *g) {
        size_t pending = 0;

        assert_tallies(g->leader);
        assert_unfinished(g->leader);
        assert_recovering(g->leader);

        name_table_foreach(unit, &g->leader->units) {
                const Unit *u = unit;

                pending += unit_life_is_queued(u->life);
                if (!unit_life_is_consistent(g->leader, u))
                        fail_msg("%s lives in no list of state %d, or in others", u->name, u->life);
                if (!unit_work_is_consistent(u))
                        fail_msg("%s has nothing under way, and memory for it", u->name);
        }
        assert_int_equal(g->leader->n_pending, pending);
        map_foreach (slot, &g->leader->nodes) {
                const Node *n = slot->value;
                size_t to_leave = 0, stuck = 0, leaving = 0;

                list_foreach (i, &n->placed) {
                        const Unit *u = CONTAINER_OF(i, Unit, placed);
                        bool has_to_leave = record_has_to_leave(rig_record((Rig *) g, u->name));

                        to_leave += has_to_leave;
                        stuck += has_to_leave && u->life == LIFE_STRANDED; // not what has ended for good
                }
                list_foreach (i, &n->units_on_node) {
                        const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);
                        bool known = unit_on_node_is_known(s);

                        if (!unit_on_node_is_consistent(s))
                                fail_msg("%s is in state %d on %s, and what follows from that is not",
                                         s->unit->name, s->life, n->name);
                        if (host_is_lost(n->host))
                                continue;
                        if (s->unit->life == LIFE_GLOBAL)
                                leaving += known && (unit_on_node_is_to_go(s) ||
                                                     n->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE);
                        else
                                leaving += known && s->unit->node != n;
                }
                assert_int_equal(n->n_to_leave, to_leave);
                assert_int_equal(n->n_stuck, stuck);
                assert_int_equal(n->n_leaving, leaving);
        }
}

// Something that is on its way, or waits, settles it later.
static bool is_unsettled(const UnitOnNode *s) {
        const UnitOnNodeWork *w = unit_on_node_work_seen(s);

        return list_is_linked(&w->order) || list_is_linked(&w->awaiting) || s->hold != HOLD_NOT;
}

static void assert_global_on(const Leader *l, const Unit *u, const Node *n, size_t *wanted) {
        bool is_wanted = unit_wanted_on(l, u, cluster_state_find_unit(l->state, u->name), n);
        const UnitOnNode *s = unit_on_node_find(u, n);

        *wanted += is_wanted;
        if (!n->host->welcomed || (s && is_unsettled(s)))
                return;
        if (is_wanted != (s && unit_on_node_is_to_have(s)))
                fail_msg("%s is in state %d on %s, which is %sto have it", u->name,
                         s ? s->life : ON_NODE_ABSENT, n->name, is_wanted ? "" : "not ");
}

// Each node was told to have the global units that are wanted there, and no others.
static void assert_globals(const Leader *l) {
        enum { VISITED_MAX = 256 };
        size_t n_globals = 0;

        list_foreach (i, &l->globals)
                n_globals++;
        if (leader_is_due(l, DUE_GLOBALS) || hosts_have_mark(l, HOST_GLOBALS) ||
            n_globals * l->nodes.count > VISITED_MAX)
                return;
        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;
                size_t wanted = 0;

                list_foreach (i, &l->globals)
                        assert_global_on(l, CONTAINER_OF(i, UnitWork, queue)->unit, n, &wanted);
                assert_int_equal(n->n_globals, wanted);
        }
}

void rig_assert_counts(const Rig *g) {
        assert_counts(g);
        assert_globals(g->leader);
}
