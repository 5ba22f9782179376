// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this process counts, gathered from wherever it is counted, for `argosyctl counters`. Reading it
// changes nothing; of what does not run at the moment (an agent, a leader) the numbers are 0.
//
// A new counter is a row of the table below, and a function that reads it.

#include "counters.h"
#include "agent.h"
#include "daemon.h"
#include "leader.h"

// What is asked once for several counters.
typedef struct Sources {
        const Daemon *daemon;
        HeapStats heap;
        size_t n_journals, n_held;
} Sources;

static uint64_t turn_max_us(const Sources *s) {
        return s->daemon->turn_max_us;
}

static uint64_t turn_cpu_max_us(const Sources *s) {
        return s->daemon->turn_cpu_max_us;
}

static uint64_t slow_turns(const Sources *s) {
        return s->daemon->turns_over_10ms;
}

static uint64_t reports(const Sources *s) {
        return s->daemon->agent ? agent_n_reports(s->daemon->agent) : 0;
}

static uint64_t heap_allocated_bytes(const Sources *s) {
        return s->heap.allocated;
}

static uint64_t heap_resident_bytes(const Sources *s) {
        return s->heap.resident;
}

static uint64_t heap_metadata_bytes(const Sources *s) {
        return s->heap.metadata;
}

static uint64_t beats_acknowledged(const Sources *s) {
        return s->daemon->leader ? leader_n_acknowledged(s->daemon->leader) : 0;
}

static uint64_t journals_read(const Sources *s) {
        return s->n_journals;
}

static uint64_t journals_held(const Sources *s) {
        return s->n_held;
}

static uint64_t searches(const Sources *s) {
        return s->daemon->agent ? agent_n_searches(s->daemon->agent) : 0;
}

// Shown behind those of systemd's connection (systemd_counters), in this order.
static const struct {
        const char *name, *help;
        uint64_t (*read)(const Sources *s);
} own[] = {
        {"turn_max_us", "longest turn of the loop, in microseconds, since SIGUSR1", turn_max_us},
        {"turn_cpu_max_us",
         "most CPU time of one turn, in microseconds, since SIGUSR1: without what others of this machine took "
         "meanwhile",
         turn_cpu_max_us},
        {"slow_turns", "turns of the loop of more than 10 ms", slow_turns},
        {"reports", "changes of units that leaders were told", reports},
        {"heap_allocated_bytes", "what argosyd has in use of its heap", heap_allocated_bytes},
        {"heap_resident_bytes", "memory that the heap has from the kernel", heap_resident_bytes},
        {"heap_metadata_bytes", "of that what the allocator keeps its books in", heap_metadata_bytes},
        {"beats_acknowledged", "signs of life of hosts that this host answered while it led",
         beats_acknowledged},
        {"journals_read", "journals that are being read on this host now", journals_read},
        {"journals_held", "of these, that wait until somebody takes their lines", journals_held},
        {"searches", "times that unit files were looked for, since somebody else may have changed them", searches},
};
_Static_assert(SYSTEMD_COUNTERS + ELEMENTSOF(own) <= COUNTERS_MAX, "COUNTERS_MAX has to grow");

size_t daemon_counters(const Daemon *d, Counter ret[static COUNTERS_MAX]) {
        Sources sources = {.daemon = d, .heap = heap_stats()};
        SystemdStats stats = {};
        size_t n = 0;

        if (d->agent) {
                agent_systemd_stats(d->agent, &stats);
                sources.n_journals = agent_journals(d->agent, &sources.n_held);
        }
        for (size_t i = 0; i < SYSTEMD_COUNTERS; i++)
                ret[n++] = (Counter){systemd_counters[i].name, systemd_counters[i].help, systemd_counter(&stats, i)};
        for (size_t i = 0; i < ELEMENTSOF(own); i++)
                ret[n++] = (Counter){own[i].name, own[i].help, own[i].read(&sources)};
        return n;
}
