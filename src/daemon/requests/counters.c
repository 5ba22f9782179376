// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this process counts, gathered from wherever it is counted, for `argosyctl counters`. Reading it
// changes nothing; of what does not run at the moment (an agent, a leader) the numbers are 0.
//
// A new counter is a row in the table of the room that counts it (counter.h), and needs nothing here; the
// manual describes it (FOR PROMETHEUS in argosy-api(7); test-counters.c compares).

#include "counters.h"
#include "agent.h"
#include "daemon.h"
#include "http-api.h"
#include "leader.h"
#include "mesh.h"
#include "route-types.h"

// Adds one row of a table, with its figure in `stats`.
#define SHOW(name, help) counter_list_add(to, (Counter){{#name, help, false}, stats.name, {}});
#define SHOW_GAUGE(name, help) counter_list_add(to, (Counter){{#name, help, true}, stats.name, {}});

static void show_systemd(const Daemon *d, CounterList *to) {
        SystemdStats stats = {};

        if (d->agent)
                agent_systemd_stats(d->agent, &stats);
        SYSTEMD_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_daemon(const Daemon *d, CounterList *to) {
        const DaemonStats stats = d->stats;

        DAEMON_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_agent(const Daemon *d, CounterList *to) {
        const AgentStats stats = d->agent ? agent_stats(d->agent) : (AgentStats){};

        AGENT_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_mesh(const Daemon *d, CounterList *to) {
        const MeshStats stats = d->mesh ? mesh_stats(d->mesh) : (MeshStats){};

        MESH_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_http(const Daemon *d, CounterList *to) {
        const HttpStats stats = d->http ? http_api_stats(d->http) : (HttpStats){};

        HTTP_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_router(const Daemon *d, CounterList *to) {
        const RouterStats stats = d->router ? router_stats(d->router) : (RouterStats){};

        ROUTER_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_state(const Daemon *d, CounterList *to) {
        const StateFigures stats = d->state ? cluster_state_figures(d->state) : (StateFigures){};

        STATE_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_heap(CounterList *to) {
        const HeapStats stats = heap_stats();

        HEAP_COUNTERS(SHOW, SHOW_GAUGE)
}

static void show_leader(const Daemon *d, CounterList *to) {
        const LeaderStats stats = d->leader ? leader_stats(d->leader) : (LeaderStats){};

        LEADER_COUNTERS(SHOW, SHOW_GAUGE)
}

static StoreStats store_stats_of(const Daemon *d) {
        StoreStats stats = {};

        if (d->store)
                store_stats(d->store, &stats);
        return stats;
}

static void show_store(const Daemon *d, CounterList *to) {
        const StoreStats all = store_stats_of(d);
        const StoreFigures stats = store_figures(&all);

        STORE_COUNTERS(SHOW, SHOW_GAUGE)
}

void daemon_counted_times(const Daemon *d, CountedTimes ret[static COUNTED_TIMES]) {
        const StoreStats stats = store_stats_of(d);

        ret[0] = (CountedTimes){"log_commit", "How long the leader's log took from a batch to its commit.",
                                stats.commits};
        ret[1] =
                (CountedTimes){"log_snapshot", "How long snapshots of the log took until they were written.",
                               stats.snapshots};
        ret[2] = (CountedTimes){
                "beat", "How long leaders took to answer a sign of life of this host, there and back.",
                d->agent ? agent_beat_times(d->agent) : (TimeHistogram){}};
        ret[3] = (CountedTimes){"loop_lag",
                                "How long the loop was not there for a request over HTTP that had come.",
                                d->http ? http_api_loop_lag(d->http) : (TimeHistogram){}};
        ret[4] = (CountedTimes){"placement",
                                "How long this host took, while it led, to look for a node for a unit, or "
                                "for all that wait.",
                                d->leader ? leader_placement_times(d->leader) : (TimeHistogram){}};
}

void daemon_counters(const Daemon *d, CounterList *to) {
        show_systemd(d, to);
        show_daemon(d, to);
        show_agent(d, to);
        show_mesh(d, to);
        show_http(d, to);
        show_router(d, to);
        show_heap(to);
        show_state(d, to);
        show_store(d, to);
        show_leader(d, to);
        if (d->leader)
                leader_figures(d->leader, to);
}
