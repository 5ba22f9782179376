// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See job-retry.h. Each answer has the job's row and a page of the units that it changed; those that did not
// end well go to `bad`, those of which nothing is said to `unsaid`. When all was read, one comparison of
// counts tells whether the two are all there is to be asked for again. A job that cannot be asked for again
// is refused in words, of which the caller has a buffer.

#include "job-retry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"
#include "str.h"

static void names_done(JobRetryNames *names) {
        map_done(&names->known);
        for (size_t i = 0; i < names->n; i++)
                free(names->names[i]);
        free(names->names);
}

void job_retry_done(JobRetry *r) {
        names_done(&r->bad);
        names_done(&r->unsaid);
        free(r->state);
        free(r->verb);
}

// ---- which units

static int add(JobRetryNames *names, const char *unit) {
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

static int add_unit(JobRetry *r, const Argosy__Response__JobUnitRow *u) {
        if (!*u->end)
                return add(&r->unsaid, u->unit);
        return is_bad(u->end) ? add(&r->bad, u->unit) : 0;
}

// ---- reading

void job_retry_begin(JobRetry *r, uint64_t number) {
        r->number = number;
}

bool job_retry_next(JobRetry *r, Argosy__Request *ret, Argosy__Request__ListJobs *ret_list) {
        if (r->read)
                return false;
        argosy__request__init(ret);
        argosy__request__list_jobs__init(ret_list);
        ret->what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        ret->list_jobs = ret_list;
        ret_list->number = r->number;
        ret_list->first_unit = r->n_units;
        r->answered = false;
        return true;
}

int job_retry_take(JobRetry *r, const Argosy__Response *response) {
        const Argosy__Response__JobRow *job;
        int e = 0;

        if (response->what_case != ARGOSY__RESPONSE__WHAT_JOBS || response->jobs->n_rows != 1 || r->answered)
                return 0;
        r->answered = true;
        job = response->jobs->rows[0];
        if (!r->state && (!(r->state = strdup(job->state)) || !(r->verb = strdup(job->verb))))
                return -ENOMEM;
        r->n_bad = (size_t) job->failed + job->unplaced + job->cancelled;
        r->n_reported = job->n_ends;
        r->cut = job->cut;
        for (size_t i = 0; e == 0 && i < job->n_units; i++) {
                r->n_said += *job->units[i]->end != 0;
                e = add_unit(r, job->units[i]);
        }
        for (size_t i = 0; e == 0 && i < job->n_ends; i++)
                e = add_unit(r, job->ends[i]);
        r->n_units += (uint32_t) job->n_units;
        r->read = job->n_units == 0 || job->more_units == 0;
        return e;
}

// ---- whether it can be

// Whether all that did not end well are named, or are all of which nothing is said; so none of these ended
// well, or was overtaken.
static bool knows_all(const JobRetry *r) {
        size_t n_bad_reported = r->bad.n, n_rest = r->n_bad - MIN_OF(r->n_bad, n_bad_reported);

        if (n_rest == 0)
                return true;
        return !r->cut && r->n_said == r->n_reported && r->unsaid.n == n_rest;
}

static bool find_verb(const char *name, Argosy__Verb *ret) {
        static const struct {
                const char *name;
                Argosy__Verb verb;
        } verbs[] = {{"load", ARGOSY__VERB__VERB_LOAD},       {"start", ARGOSY__VERB__VERB_START},
                     {"stop", ARGOSY__VERB__VERB_STOP},       {"restart", ARGOSY__VERB__VERB_RESTART},
                     {"unload", ARGOSY__VERB__VERB_UNLOAD},   {"destroy", ARGOSY__VERB__VERB_DESTROY}};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name)) {
                        *ret = verbs[i].verb;
                        return true;
                }
        return false;
}

static int refuse(char why[static JOB_RETRY_WHY_SIZE], const char *format, ...) _printf_(2, 3);
static int refuse(char why[static JOB_RETRY_WHY_SIZE], const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        str_vfit(why, JOB_RETRY_WHY_SIZE, format, ap);
        va_end(ap);
        return -EINVAL;
}

static int refuse_empty(const JobRetry *r, char why[static JOB_RETRY_WHY_SIZE]) {
        if (r->n_units == 0 && !streq(r->state, "done"))
                return refuse(why, "job %" PRIu64 " has not begun anything: give the command itself again",
                              r->number);
        return refuse(why,
                      "job %" PRIu64
                      " is %s: there is no unit of it that failed, found no place or was called off",
                      r->number, r->state);
}

static int judge(const JobRetry *r, Argosy__Verb *ret_verb, char why[static JOB_RETRY_WHY_SIZE]) {
        if (!r->state)
                return refuse(why, "job %" PRIu64 ": argosyd says nothing of it", r->number);
        if (streq(r->state, "running") || streq(r->state, "held"))
                return refuse(why,
                              "job %" PRIu64
                              " is %s: what of it is to be asked for again is known when it has ended "
                              "(argosyctl job wait)",
                              r->number, r->state);
        if (!*r->state)
                return refuse(why, "job %" PRIu64 ": nobody has written down how it ended", r->number);
        if (!find_verb(r->verb, ret_verb))
                return refuse(
                        why,
                        "job %" PRIu64
                        " is no verb that is asked for unit by unit (%s): give the command itself again",
                        r->number, r->verb);
        if (r->bad.n == 0)
                return refuse_empty(r, why);
        if (knows_all(r))
                return 0;
        return refuse(why,
                      "of the %zu units of job %" PRIu64
                      " that did not end well it names %zu only, and nobody has written down which the "
                      "others are: give "
                      "the command itself again, for the units that need it",
                      r->n_bad, r->number, r->bad.n);
}

int job_retry_judge(JobRetry *r, Argosy__Verb *ret_verb, char why[static JOB_RETRY_WHY_SIZE]) {
        int e = judge(r, ret_verb, why);

        for (size_t i = 0; e == 0 && r->bad.n < r->n_bad && i < r->unsaid.n; i++)
                e = add(&r->bad, r->unsaid.names[i]);
        return e;
}
