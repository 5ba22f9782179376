// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this process counts, gathered from wherever it is counted, for `argosyctl counters`. Reading it
// changes nothing; of what does not run at the moment (an agent, a leader) the numbers are 0.
//
// A new counter is a row in the table of whoever counts it (counter.h), and nothing here.

#include "counters.h"
#include "agent.h"
#include "daemon.h"
#include "leader.h"

typedef struct AllStats {
        SystemdStats systemd;
        DaemonStats daemon;
        AgentStats agent;
        HeapStats heap;
        StoreFigures store;
        LeaderStats leader;
} AllStats;
_Static_assert(sizeof(AllStats) / sizeof(uint64_t) <= COUNTERS_MAX, "COUNTERS_MAX has to grow");

// Of a row of a table: its figure in `stats`.
#define SHOW(name, help) *to++ = (Counter){#name, help, stats.name, false};
#define SHOW_GAUGE(name, help) *to++ = (Counter){#name, help, stats.name, true};

static Counter *show_systemd(const Daemon *d, Counter *to) {
        SystemdStats stats = {};

        if (d->agent)
                agent_systemd_stats(d->agent, &stats);
        SYSTEMD_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

static Counter *show_daemon(const Daemon *d, Counter *to) {
        const DaemonStats stats = d->stats;

        DAEMON_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

static Counter *show_agent(const Daemon *d, Counter *to) {
        const AgentStats stats = d->agent ? agent_stats(d->agent) : (AgentStats){};

        AGENT_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

static Counter *show_heap(Counter *to) {
        const HeapStats stats = heap_stats();

        HEAP_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

static Counter *show_leader(const Daemon *d, Counter *to) {
        const LeaderStats stats = d->leader ? leader_stats(d->leader) : (LeaderStats){};

        LEADER_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

static StoreStats store_stats_of(const Daemon *d) {
        StoreStats stats = {};

        if (d->store)
                store_stats(d->store, &stats);
        return stats;
}

static Counter *show_store(const Daemon *d, Counter *to) {
        const StoreStats all = store_stats_of(d);
        const StoreFigures stats = store_figures(&all);

        STORE_COUNTERS(SHOW, SHOW_GAUGE)
        return to;
}

void daemon_counted_times(const Daemon *d, CountedTimes ret[static COUNTED_TIMES]) {
        const StoreStats stats = store_stats_of(d);

        ret[0] = (CountedTimes){"log_commit", "How long the leader's log took from a batch to its commit.",
                                stats.commits};
        ret[1] =
                (CountedTimes){"log_snapshot", "How long snapshots of the log took until they were written.",
                               stats.snapshots};
}

size_t daemon_counters(const Daemon *d, Counter ret[static COUNTERS_MAX]) {
        Counter *end = show_systemd(d, ret);

        end = show_daemon(d, end);
        end = show_agent(d, end);
        end = show_heap(end);
        end = show_store(d, end);
        end = show_leader(d, end);
        return (size_t) (end - ret);
}
