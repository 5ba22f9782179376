// SPDX-License-Identifier: LGPL-2.1-or-later
//
// job retry: asks again for the units of a job that did not end well. How each ended is fixed once the job is over, so
// what is asked for is the same whenever it is, and --key makes it one job. Then it goes as the verb itself does, with its
// waiting, its rights and the rules of the queue.
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

typedef struct Retry {
        uint64_t number;
        char *state, *verb;
        size_t n_bad; // units that did not end well, by the job's counters
        char **names;
        size_t n_names, allocated;
        Map known; // of these names
        uint32_t n_units, more;
} Retry;

static void retry_done(Retry *r) {
        map_done(&r->known);
        for (size_t i = 0; i < r->n_names; i++)
                free(r->names[i]);
        free(r->names);
        free(r->state);
        free(r->verb);
}

// ---- which units

static int add(Retry *r, const Argosy__Response__JobUnitRow *u) {
        static const char *const bad[] = {"failed", "unplaced", "cancelled"};
        bool is_bad = false;
        char *name;
        int e;

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                is_bad |= streq(u->end, bad[i]);
        if (!is_bad || map_find_str(&r->known, u->unit))
                return 0;
        if (ARRAY_GROW(r->names, r->allocated, r->n_names + 1) < 0 || !(name = strdup(u->unit)))
                return -ENOMEM;
        e = map_add_str(&r->known, name, name);
        if (e < 0) {
                free(name);
                return e;
        }
        r->names[r->n_names++] = name;
        return 0;
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
        for (size_t i = 0; e == 0 && i < job->n_units; i++)
                e = add(r, job->units[i]);
        for (size_t i = 0; e == 0 && i < job->n_ends; i++)
                e = add(r, job->ends[i]);
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
        if (r->n_names > 0)
                return EXIT_OK;
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
        if (r.n_bad > r.n_names)
                ctl_warn(ctl, "of job %" PRIu64 " %zu more units did not end well, and are not named by it",
                         number, r.n_bad - r.n_names);
        if (ctl_jobs_retry(ctl, number, r.names, r.n_names) < 0)
                return ctl_oom(ctl);
        return change_again(ctl, r.verb, r.names, r.n_names);
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
