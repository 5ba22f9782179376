// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What several connections have counted, together: every row of SYSTEMD_COUNTERS is a sum but resync_us, of
// which the longest counts. Of a connection that ends the counters are kept, since a sum that falls would be
// taken for one that began anew; its gauges say nothing any more.

#include "systemd-manager.h"

#define ADD(name, help) sum->name += more->name;
#define FORGET(name, help)

void systemd_stats_add(SystemdStats *sum, const SystemdStats *more) {
        uint64_t longest = MAX_OF(sum->resync_us, more->resync_us);

        SYSTEMD_COUNTERS(ADD, ADD)
        sum->resync_us = longest;
}

void systemd_stats_keep(SystemdStats *sum, const SystemdStats *more) {
        SYSTEMD_COUNTERS(ADD, FORGET)
}
