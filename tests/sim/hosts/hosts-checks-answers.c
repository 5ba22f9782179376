// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of answers: what was answered well is what the log wants, and everybody is answered in the end.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "clock.h"
#include "hosts-checks.h"
#include "request-kind.h"
#include "sim-client.h"
#include "sim-host.h"
#include "test.h"

#define CALM_US (180 * USEC_PER_SEC)

// ----------------------------------------------------------------------------------------- as of a revision

typedef struct Past { // of a unit
        uint64_t revision;
        Argosy__Target target;
        unsigned unit;
} Past;

static struct {
        Past *list; // revisions grow
        size_t n, room;
} past;

void past_begin(void) {
        past.n = 0;
}

void past_end(void) {
        free(past.list);
        past.list = NULL;
        past.n = past.room = 0;
}

// Of an entry that touches a unit more than once only the last revision is there.
void past_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                unsigned unit = log_truth.touched[i].unit;
                const LogUnit *u = &log_truth.units[unit];

                if (!u->exists)
                        continue;
                assert_int_equal(ARRAY_GROW(past.list, past.room, past.n + 1), 0);
                past.list[past.n++] = (Past){u->revision, u->target, unit};
        }
}

static bool is_wanted(Argosy__Verb verb, Argosy__Target target) {
        switch (verb) {
        case ARGOSY__VERB__VERB_START:
                return target == ARGOSY__TARGET__TARGET_LAUNCHED;
        case ARGOSY__VERB__VERB_STOP:
                return target != ARGOSY__TARGET__TARGET_LAUNCHED;
        case ARGOSY__VERB__VERB_UNLOAD:
                return target == ARGOSY__TARGET__TARGET_INACTIVE;
        default:
                return true; // what follows from the others depends on what was
        }
}

// Of what is gone, there is no record any more that has a revision.
static void compare(const WorldAsked *a, const Argosy__Response__UnitResult *result) {
        Argosy__Verb verb = a->request->change->verb;
        int unit = world_unit_index(result->name);

        if (result->status != 0 || result->revision == 0 || unit < 0 || verb == ARGOSY__VERB__VERB_DESTROY)
                return;
        for (size_t i = past.n; i > 0 && past.list[i - 1].revision >= result->revision; i--) {
                if (past.list[i - 1].revision != result->revision)
                        continue;
                check_says("answered-as-it-is");
                if ((int) past.list[i - 1].unit != unit || !is_wanted(verb, past.list[i - 1].target))
                        check_fail("answered-as-it-is",
                                   "request %zu about %s (%i) was answered as of revision %" PRIu64
                                   ", where the target of %s is %i",
                                   (size_t) (a - asks.asked) + 1, result->name, (int) verb, result->revision,
                                   asks.units[past.list[i - 1].unit].name, (int) past.list[i - 1].target);
        }
        if (result->revision > log_truth.revision)
                check_fail("answered-as-it-is",
                           "request %zu about %s was answered as of revision %" PRIu64
                           ", and the log is at %" PRIu64,
                           (size_t) (a - asks.asked) + 1, result->name, result->revision,
                           log_truth.revision);
}

void past_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const Argosy__Request *q = a->request;

        if (q->what_case != ARGOSY__REQUEST__WHAT_CHANGE || r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE ||
            q->change->preview || r->held || r->status != 0)
                return;
        for (size_t i = 0; i < r->change->n_units; i++)
                compare(a, r->change->units[i]);
}

// ----------------------------------------------------------------------------------------------- in the end

bool hosts_checks_may_stay_open(const WorldAsked *a) {
        const RequestKind *kind = request_kind(a->request->what_case);

        return a->called_off || !kind || kind->effect == REQUEST_WAITS || kind->streams;
}

static bool is_open(const WorldAsked *a) {
        return a->at_host && !a->at_host->final && !hosts_checks_may_stay_open(a);
}

static bool all_are_answered(void *data) {
        for (size_t i = 0; i < asks.n_asked; i++)
                if (is_open(&asks.asked[i]))
                        return false;
        return true;
}

void answered_on_calm(void) {
        if (asks.n_asked > 0)
                check_says("requests-are-answered");
        if (sim_run_until(all_are_answered, NULL, CALM_US))
                return;
        for (size_t i = 0; i < asks.n_asked; i++)
                if (is_open(&asks.asked[i]))
                        check_fail("requests-are-answered",
                                   "nobody has answered %s (%zu), asked at n%u %" PRIu64 " ms ago",
                                   request_kind(asks.asked[i].request->what_case)->name, i + 1,
                                   asks.asked[i].at_host->at,
                                   (sim_now_us() - asks.asked[i].asked_us) / USEC_PER_MSEC);
}
