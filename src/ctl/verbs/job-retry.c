// SPDX-License-Identifier: LGPL-2.1-or-later
//
// job retry: asks again for the units of a job that did not end well. How each ended is fixed once the job is over, so
// what is asked for is the same whenever it is, and --key makes it one job. Then it goes as the verb itself does, with its
// waiting, its rights and the rules of the queue.
//
// A job names the first 1,000 units that did not end well, and counts the others. Those others are known if they are all that
// the job changed and says no end of; else some of these ended well, nobody has written down which, and it is refused: a
// restart that went well is not to be done again.
//
// What is no verb of units, is not over, or has nothing to be asked for again, is refused in a sentence. A unit that is not
// there any more is the leader's to refuse.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "array.h"
#include "change.h"
#include "ctl-jobs.h"
#include "ctl.h"
#include "map.h"
#include "str.h"
#include "verbs.h"

typedef struct RetryNames {
        char **names;
        size_t n, allocated;
        Map known;
} RetryNames;

typedef struct Retry {
        uint64_t number;
        char *state, *verb;
        size_t n_bad;           // units that did not end well, by the job's counters
        size_t n_told;          // units of which it names the end
        bool cut;               // not all units that it changed are named
        RetryNames bad, unsaid; // units; and those of which no end is known
        size_t n_said;          // of those that it changed
        uint32_t n_units, more;
} Retry;

static void names_done(RetryNames *names) {
        map_done(&names->known);
        for (size_t i = 0; i < names->n; i++)
                free(names->names[i]);
        free(names->names);
}

static void retry_done(Retry *r) {
        names_done(&r->bad);
        names_done(&r->unsaid);
        free(r->state);
        free(r->verb);
}

// ---- which units

static int add(RetryNames *names, const char *unit) {
        char *name;
        int r;

        if (map_find_str(&names->known, unit))
                return 0;
        if (ARRAY_GROW(names->names, names->allocated, names->n + 1) < 0 || !(name = strdup(unit)))
                return -ENOMEM;
        r = map_add_str(&names->known, name, name);
        if (r < 0) {
                free(name);
                return r;
        }
        names->names[names->n++] = name;
        return 0;
}

static bool is_bad(const char *end) {
        return streq(end, "failed") || streq(end, "unplaced") || streq(end, "cancelled");
}

static int add_unit(Retry *r, const Argosy__Response__JobUnitRow *u) {
        if (!*u->end)
                return add(&r->unsaid, u->unit);
        return is_bad(u->end) ? add(&r->bad, u->unit) : 0;
}

static int on_job(Ctl *ctl, const Argosy__Response *response, void *userdata) {
        const Argosy__Response__JobRow *job;
        Retry *r = userdata;
        int e = 0;

        if (response->what_case != ARGOSY__RESPONSE__WHAT_JOBS || response->jobs->n_rows != 1)
                return 0;
        job = response->jobs->rows[0];
        if (!r->state && (!(r->state = strdup(job->state)) || !(r->verb = strdup(job->verb))))
                return -ENOMEM;
        r->n_bad = (size_t) job->failed + job->unplaced + job->cancelled;
        r->n_told = job->n_ends;
        r->cut = job->cut;
        for (size_t i = 0; e == 0 && i < job->n_units; i++) {
                r->n_said += *job->units[i]->end != 0;
                e = add_unit(r, job->units[i]);
        }
        for (size_t i = 0; e == 0 && i < job->n_ends; i++)
                e = add_unit(r, job->ends[i]);
        r->n_units += (uint32_t) job->n_units;
        r->more = job->n_units > 0 ? job->more_units : 0;
        return e;
}

static int read_job(Ctl *ctl, Retry *r) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        int code;

        list.number = r->number;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        request.list_jobs = &list;
        do {
                list.first_unit = r->n_units;
                r->more = 0;
                code = ctl_ask(ctl, &request, 0, on_job, r);
        } while (code == EXIT_OK && r->more > 0);
        return code == EXIT_OK && !r->state
                       ? ctl_fail(ctl, "job %" PRIu64 ": argosyd says nothing of it", r->number)
                       : code;
}

// ---- whether it can be

// Whether all that did not end well are named, or are all of which nothing is said; so none of these ended well, or was
// overtaken.
static bool knows_all(const Retry *r) {
        size_t n_bad_told = r->bad.n, n_rest = r->n_bad - MIN_OF(r->n_bad, n_bad_told);

        if (n_rest == 0)
                return true;
        return !r->cut && r->n_said == r->n_told && r->unsaid.n == n_rest;
}

static int refuse_unknown(Ctl *ctl, const Retry *r) {
        if (knows_all(r))
                return EXIT_OK;
        return ctl_fail(ctl,
                        "of the %zu units of job %" PRIu64
                        " that did not end well it names %zu only, and nobody has written down which the "
                        "others are: give "
                        "the command itself again, for the units that need it",
                        r->n_bad, r->number, r->bad.n);
}

static int refuse(Ctl *ctl, const Retry *r) {
        if (streq(r->state, "running") || streq(r->state, "held"))
                return ctl_fail(ctl,
                                "job %" PRIu64
                                " is %s: what of it is to be asked for again is known when it has ended "
                                "(argosyctl job wait)",
                                r->number, r->state);
        if (!*r->state)
                return ctl_fail(ctl, "job %" PRIu64 ": nobody has written down how it ended", r->number);
        if (change_again(ctl, r->verb, NULL, 0) == CHANGE_NO_VERB)
                return ctl_fail(
                        ctl,
                        "job %" PRIu64
                        " is no verb that is asked for unit by unit (%s): give the command itself again",
                        r->number, r->verb);
        if (r->bad.n > 0)
                return refuse_unknown(ctl, r);
        if (r->n_units == 0 && !streq(r->state, "done"))
                return ctl_fail(ctl, "job %" PRIu64 " has not begun anything: give the command itself again",
                                r->number);
        return ctl_fail(ctl,
                        "job %" PRIu64
                        " is %s: there is no unit of it that failed, found no place or was called off",
                        r->number, r->state);
}

static int retry(Ctl *ctl, uint64_t number) {
        _cleanup_(retry_done) Retry r = {.number = number};
        int code = read_job(ctl, &r);

        if (code == EXIT_OK)
                code = refuse(ctl, &r);
        if (code != EXIT_OK)
                return code;
        for (size_t i = 0; r.bad.n < r.n_bad && i < r.unsaid.n; i++)
                if (add(&r.bad, r.unsaid.names[i]) < 0)
                        return ctl_oom(ctl);
        if (ctl_jobs_retry(ctl, number, r.bad.names, r.bad.n) < 0)
                return ctl_oom(ctl);
        return change_again(ctl, r.verb, r.bad.names, r.bad.n);
}

int verb_job_retry(Ctl *ctl, char **words, size_t n) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n && (code == EXIT_OK || code == CTL_HELD); i++) {
                uint64_t number;
                int one;

                if (!parse_u64(words[i], INT64_MAX, &number) || number == 0)
                        return ctl_usage(ctl, "'%s' is not the number of a job", words[i]);
                one = retry(ctl, number);
                code = one == EXIT_OK ? code : one;
        }
        return code;
}
