// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of the connection's counters, by which they are shown, and summed over all connections. All are
// sums but resync_us, of which the longest counts. There is one row for each field of SystemdStats.

#include "systemd-manager.h"

#define AT(field) offsetof(SystemdStats, field)

const SystemdCounter systemd_counters[SYSTEMD_COUNTERS] = {
        {"calls", AT(calls), "calls made to systemd"},
        {"signals", AT(signals), "signals received from systemd"},
        {"connects", AT(connects), "connections to systemd"},
        {"losses", AT(losses), "times that systemd dropped messages for us, or held too many"},
        {"resyncs", AT(resyncs),
         "times that everything was asked for: after connecting, after a reload, after a loss"},
        {"resync_us", AT(resync_us), "microseconds that the last of them took"},
        {"checks", AT(check_rounds), "rounds of the check for lost signals"},
        {"check_calls", AT(check_calls), "calls that it made to systemd"},
        {"check_names", AT(check_names), "units that it looked at"},
        {"check_us", AT(check_us), "microseconds that it took here"},
        {"check_wait_us", AT(check_wait_us), "microseconds until systemd had answered it"},
        {"discrepancies", AT(discrepancies), "changes that it found and no signal had told"},
        {"jobs", AT(jobs), "systemd jobs begun"},
};

static uint64_t *field(SystemdStats *stats, size_t i) {
        return (uint64_t *) ((char *) stats + systemd_counters[i].offset);
}

uint64_t systemd_counter(const SystemdStats *stats, size_t i) {
        return *field((SystemdStats *) stats, i);
}

void systemd_stats_add(SystemdStats *sum, const SystemdStats *more) {
        for (size_t i = 0; i < SYSTEMD_COUNTERS; i++) {
                uint64_t value = systemd_counter(more, i);

                if (systemd_counters[i].offset == AT(resync_us))
                        sum->resync_us = MAX_OF(sum->resync_us, value);
                else
                        *field(sum, i) += value;
        }
}
