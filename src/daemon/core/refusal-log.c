// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Logs refused connections, as often as refusals.c allows, with the clock of this process.
// refusal_log_allows() before a message -> true: log it -> refusal_log_counts() later logs how many more
// there were. Messages only count when they repeat, so a flood of connections does not flood the journal.
// Nothing fails.

#include "refusal-log.h"

#include "clock.h"
#include "daemon.h"
#include "log.h"

static void log_count(const Refusal *f) {
        unsigned long long n = f->more;

        if (*f->address)
                log_info("%llu more connection%s from %s refused: %s", n, n == 1 ? "" : "s", f->address,
                         f->why);
        else if (*f->why)
                log_warning("%llu more times no connections were accepted: %s", n, f->why);
        else
                log_info("%llu more connection%s from other addresses refused", n, n == 1 ? "" : "s");
}

void refusal_log_counts(Daemon *d, bool all) {
        Refusal f;

        while (refusals_next(&d->refusals, clock_boot_us(), all, &f))
                log_count(&f);
}

bool refusal_log_allows(Daemon *d, const char *address, const char *why) {
        refusal_log_counts(d, false);
        return refusals_take(&d->refusals, address, why, clock_boot_us());
}
