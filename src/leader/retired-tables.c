// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of a leader that leads no more, on their way out. Freeing those of 20,000 units takes 40 ms,
// and a host that steps down has to vote, to follow the next leader and to answer in that moment.
//
// Happy path: who waits for something in there has been answered; then the maps and whatever hangs on them
// move here by their heads, the leader's lists begin anew (registry_retire()), and the pool frees all of it
// as plain memory: no list is unlinked, nobody is counted or touched, the Placement hears of nobody. So it
// crosses to the other thread whole. What stays behind points to nothing of it:
//
//      Host              may outlive the term with its link. Its nodes and orders are heads of lists, and
//                        made anew; the
//                        contents that it was sent, and of its Attach what was not taken, move along
//      Pending request            has ended, and with it its Waiter and NodeCalls
//      OpenJob           moves here, too: its items stand in lists of units
//      Rollout           is freed before
//      SchedulerRebalance   has a copy of the Placement in the pool, and knows units and nodes by numbers
//      StoreDone         of what the log was given walks over lists of the leader, which are empty by then,
//                        or of its
//                        next term
//      ClusterState      is pointed to, and points to nothing here
//
// A leader may lead again, and step down again, before the pool is done: its new tables have nothing to do
// with these. It is closed after that (Leader.n_outside). Without memory for this handful of pointers the
// process ends (oom.h).
#include "retired-tables.h"

#include <assert.h>

#include "disruption-budget.h"
#include "oom.h"
#include "open-jobs.h"
#include "pool.h"
#include "registry.h"
#include "scheduler-rebalance.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"
#include "unit-on-node.h"

typedef struct RetiredTables {
        PoolWork work;
        Leader *leader;
        NameTable units;
        Map nodes, budgets, seen_specs, jobs, data_bindings;
        Activators activators;
        StopDependents stop_dependents, network_users;
        SecretUsers secret_users;
        Companions companions;
        Dependencies dependencies;
        SchedulerTables *places;
        Map *specs; // Host.specs of each host
        size_t n_hosts;
} RetiredTables;

// ---------------------------------------------------------------------------------------------- in the pool

static void free_unit(void *value) {
        Unit *u = value;

        list_foreach_safe (i, &u->on_nodes)
                unit_on_node_discard(CONTAINER_OF(i, UnitOnNode, by_unit));
        unit_discard(u);
}

static void free_node(void *value) {
        node_discard(value);
}

static void free_budget(void *value) {
        disruption_budget_discard(value);
}

static void free_job(void *value) {
        open_job_discard(value);
}

static void free_tables(PoolWork *work) {
        RetiredTables *t = CONTAINER_OF(work, RetiredTables, work);

        map_done_with(&t->data_bindings, free);
        name_table_done_with(&t->units, free_unit);
        map_done_with(&t->nodes, free_node);
        map_done_with(&t->budgets, free_budget);
        map_done_with(&t->seen_specs, free);
        map_done_with(&t->jobs, free_job);
        activators_done(&t->activators);
        stop_dependents_done(&t->stop_dependents);
        stop_dependents_done(&t->network_users);
        secret_users_done(&t->secret_users);
        companions_done(&t->companions);
        dependencies_done_all(&t->dependencies);
        scheduler_tables_free(t->places);
        for (size_t i = 0; i < t->n_hosts; i++)
                map_done_with(&t->specs[i], free);
        free(t->specs);
}

// ---------------------------------------------------------------------------------------------- on the loop

static void on_freed(PoolWork *work) {
        RetiredTables *t = CONTAINER_OF(work, RetiredTables, work);
        Leader *l = t->leader;

        free(t);
        l->n_retired--;
        leader_outside_done(l);
}

static Map take_map(Map *m) {
        Map taken = *m;

        *m = (Map){};
        return taken;
}

static void take_from_hosts(RetiredTables *t) {
        t->specs = oom_checked(calloc(t->leader->hosts.count + 1, sizeof(*t->specs)));
        map_foreach (slot, &t->leader->hosts) {
                Host *h = slot->value;

                t->specs[t->n_hosts++] = take_map(&h->specs);
        }
}

void retired_tables_take(Leader *l) {
        RetiredTables *t = oom_checked(calloc(1, sizeof(*t)));

        assert(l->calls_by_id.count == 0 && l->n_wait_items == 0 && list_is_empty(&l->rollouts));
        t->leader = l;
        t->nodes = take_map(&l->nodes);
        t->units = l->units;
        l->units = (NameTable){.name_of = t->units.name_of};
        t->budgets = take_map(&l->budgets);
        t->seen_specs = take_map(&l->seen_specs);
        t->jobs = take_map(&l->open_jobs);
        t->data_bindings = take_map(&l->data_bindings);
        t->activators = l->activators;
        l->activators = (Activators){};
        t->stop_dependents = l->stop_dependents;
        l->stop_dependents = (StopDependents){};
        t->network_users = l->network_users;
        l->network_users = (StopDependents){};
        t->secret_users = l->secret_users;
        l->secret_users = (SecretUsers){};
        t->companions = l->companions;
        l->companions = (Companions){};
        t->dependencies = l->dependencies;
        l->dependencies = (Dependencies){};
        t->places = scheduler_close(l);
        take_from_hosts(t);
        pool_add(l->config.loop, &t->work, POOL_LATER, free_tables, on_freed);
        l->n_retired++;
        leader_outside_begun(l);
}
