// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What several deciders need that put something into an entry of the log (decision.h).
// decision_need_scheduler() makes the scheduler when one is needed first; decision_rollback() takes back
// what a request has put into the entry, and waits for the next one or is refused; decision_touches() finds
// units of the batch; decide_extent() says what a request that failed on the way has changed before. Nothing
// fails; `text` is the caller's.

#include "decision.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "unit-name.h"

void decision_need_scheduler(Decision *d) {
        d->scheduler = d->scheduler ?: scheduler_new(d->leader, 0);
}

DecisionMark decision_mark(const Decision *d) {
        return (DecisionMark){batch_builder_mark(&d->batch), scheduler_mark(d->scheduler)};
}

void decision_rollback(Decision *d, DecisionMark mark) {
        batch_builder_rollback(&d->batch, mark.batch);
        scheduler_rollback(d->scheduler, mark.n_placed, &d->batch);
}

bool decision_touches(const Decision *d, char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strlen(names[i]) <= UNIT_NAME_MAX && batch_builder_has_unit(&d->batch, names[i]))
                        return true;
        return false;
}

const char *decide_extent(const PendingRequest *t, DecideExtent text) {
        if (t->n_kept == 0 && t->job > 0 && request_has_open_job(t)) {
                snprintf(text, sizeof(DecideExtent),
                         "job %" PRIu64 " has done a part of it before, the rest was not done", t->job);
                return text;
        }
        if (t->n_kept == 0)
                return "nothing was changed";
        snprintf(text, sizeof(DecideExtent), "%zu unit%s changed before, the others were not", t->n_kept,
                 t->n_kept == 1 ? " was" : "s were");
        return text;
}
