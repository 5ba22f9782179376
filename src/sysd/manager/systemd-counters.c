// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What several connections have counted, together: every row of SYSTEMD_COUNTERS is a sum but resync_us, of which
// the longest counts.

#include "systemd-manager.h"

#define ADD(name, help) sum->name += more->name;

void systemd_stats_add(SystemdStats *sum, const SystemdStats *more) {
        uint64_t longest = MAX_OF(sum->resync_us, more->resync_us);

        SYSTEMD_COUNTERS(ADD, ADD)
        sum->resync_us = longest;
}
