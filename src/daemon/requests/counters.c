// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this process counts, gathered from wherever it is counted, for `argosyctl counters`. Reading it
// changes nothing; of what does not run at the moment (an agent, a leader) the numbers are 0.

#include "counters.h"
#include "agent.h"
#include "daemon.h"
#include "leader.h"

void daemon_counters(const Daemon *d, Counter ret[static COUNTERS]) {
        HeapStats heap = heap_stats();
        SystemdStats stats = {};
        size_t n_journals = 0, n_held = 0;

        if (d->agent) {
                agent_systemd_stats(d->agent, &stats);
                n_journals = agent_journals(d->agent, &n_held);
        }
        for (size_t i = 0; i < SYSTEMD_COUNTERS; i++)
                ret[i] = (Counter){systemd_counters[i].name, systemd_counters[i].help,
                                   systemd_counter(&stats, i)};
        ret[SYSTEMD_COUNTERS] = (Counter){
                "turn_max_us", "longest turn of the loop, in microseconds, since SIGUSR1", d->turn_max_us};
        ret[SYSTEMD_COUNTERS + 1] = (Counter){
                "turn_cpu_max_us",
                "most CPU time of one turn, in microseconds, since SIGUSR1: without what others of this "
                "machine took meanwhile",
                d->turn_cpu_max_us};
        ret[SYSTEMD_COUNTERS + 2] =
                (Counter){"slow_turns", "turns of the loop of more than 10 ms", d->turns_over_10ms};
        ret[SYSTEMD_COUNTERS + 3] = (Counter){"reports", "changes of units that leaders were told",
                                              d->agent ? agent_n_reports(d->agent) : 0};
        ret[SYSTEMD_COUNTERS + 4] =
                (Counter){"heap_allocated_bytes", "what argosyd has in use of its heap", heap.allocated};
        ret[SYSTEMD_COUNTERS + 5] =
                (Counter){"heap_resident_bytes", "memory that the heap has from the kernel", heap.resident};
        ret[SYSTEMD_COUNTERS + 6] = (Counter){"heap_metadata_bytes", "of that what the allocator keeps its books in",
                                              heap.metadata};
        ret[SYSTEMD_COUNTERS + 7] =
                (Counter){"beats_acknowledged", "signs of life of hosts that this host answered while it led",
                          d->leader ? leader_n_acknowledged(d->leader) : 0};
        ret[SYSTEMD_COUNTERS + 8] =
                (Counter){"journals_read", "journals that are being read on this host now", n_journals};
        ret[SYSTEMD_COUNTERS + 9] = (Counter){
                "journals_held", "of these, that wait until somebody takes their lines", n_held};
        ret[SYSTEMD_COUNTERS + 10] = (Counter){
                "searches", "times that unit files were looked for, since somebody else may have changed them",
                d->agent ? agent_n_searches(d->agent) : 0};
}
