// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of what only grows in the log.
#include <inttypes.h>
#include <stdio.h>

#include "checks-log.h"
#include "test.h"

static bool sets_time(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_TIME_SET)
                        return true;
        return false;
}

// What the entry touched of units has revisions that are newer than all before it.
static void units_only_grow(uint64_t before) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogUnit *u = &log_truth.units[t->unit];

                if (!u->exists)
                        continue;
                if (u->revision <= before || u->start_rev > u->revision || u->restart_rev > u->revision ||
                    u->stop_rev > u->revision)
                        check_fail("counters-only-grow",
                                   "%s has revision %" PRIu64 ", and the entry began at %" PRIu64,
                                   asks.units[t->unit].name, u->revision, before);
                if (t->before.exists &&
                    (u->start_rev < t->before.start_rev || u->restart_rev < t->before.restart_rev ||
                     u->stop_rev < t->before.stop_rev))
                        check_fail("counters-only-grow", "a revision of %s has gone back",
                                   asks.units[t->unit].name);
        }
}

void counters_on_entry(const Argosy__LogBatch *batch) {
        uint64_t revision = cluster_state_revision(asks.port->state()),
                 time_us = cluster_state_time_us(asks.port->state());

        if (revision < log_truth.revision)
                check_fail("counters-only-grow", "the revision goes back from %" PRIu64 " to %" PRIu64,
                           log_truth.revision, revision);
        if (time_us < log_truth.time_us && !sets_time(batch))
                check_fail("counters-only-grow", "the log's time goes back by %" PRIu64 " us",
                           log_truth.time_us - time_us);
        units_only_grow(log_truth.revision);
        if (revision > log_truth.revision)
                check_says("counters-only-grow");
        log_truth.revision = revision;
        log_truth.time_us = time_us;
}
