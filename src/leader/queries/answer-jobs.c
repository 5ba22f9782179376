// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs, newest first, or one with its units. Each answer looks at a bounded number and says where the next question is
// to go on, so nobody's question holds the loop, and nothing is kept between two of them.
//
// How a unit stands with what a job asked of it is judged by what is seen now, as a wait would, and only if nobody has
// changed the unit since: how the job ended is recorded nowhere. Without a leader it is not known.
#include "answer-jobs.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>

#include "author.h"
#include "feature-level.h"
#include "response.h"
#include "str.h"
#include "tickets.h"
#include "unit-state.h"
#include "waiters.h"

// ------------------------------------------------------------------------------------------------ units

typedef struct UnitNow {
        const char *word;
        char message[256];
} UnitNow;

static void say(UnitNow *ret, const char *word, const char *message) {
        ret->word = word;
        str_fit(ret->message, sizeof(ret->message), "%s", message);
}

// What somebody would wait for who wants the unit to be as its record says. VERB_NONE: there is nothing to wait for.
static Argosy__Verb verb_to_wait_for(const char *verb, const Argosy__UnitRecord *record, Argosy__Target before) {
        switch (record->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return streq(verb, verb_to_string(ARGOSY__VERB__VERB_STOP)) ? ARGOSY__VERB__VERB_STOP
                                                                             : ARGOSY__VERB__VERB_LOAD;
        default:
                return before == ARGOSY__TARGET__TARGET_INACTIVE ? ARGOSY__VERB__VERB_NONE : ARGOSY__VERB__VERB_UNLOAD;
        }
}

static void say_verdict(UnitNow *ret, const WaitVerdict *v) {
        say(ret, !v->done ? "under way" : v->status == 0 ? "as asked" : "otherwise", v->message);
        if (v->silent)
                say(ret, ret->word, "it may still run on a host that is not heard");
}

// The record is gone: the job has destroyed the unit, or somebody else has since.
static void judge_destroyed(const Leader *l, const Argosy__JobRecord *job, const char *name, uint64_t revision,
                            UnitNow *ret) {
        WaitVerdict v;

        if (!streq(job->verb, verb_to_string(ARGOSY__VERB__VERB_DESTROY)))
                say(ret, "changed since", "it is not in the cluster any more");
        else if (waiter_verdict(l, ARGOSY__VERB__VERB_DESTROY, name, revision, &v))
                say_verdict(ret, &v);
        else
                say(ret, "as asked", "");
}

static void judge(const Leader *l, const Argosy__JobRecord *job, const Argosy__JobUnits *group, size_t i,
                  UnitNow *ret) {
        const UnitEntry *e = cluster_state_find_unit(l->state, group->names[i]);
        Argosy__Verb verb;
        WaitVerdict v;

        *ret = (UnitNow){.word = ""};
        if (!l->leading)
                return;
        if (!e) {
                judge_destroyed(l, job, group->names[i], group->revisions[i], ret);
                return;
        }
        if (e->record->revision != group->revisions[i]) {
                uint64_t by = cluster_state_find_job_of(l->state, group->names[i], e->record->revision);

                ret->word = "changed since";
                str_fit(ret->message, sizeof(ret->message), "%s %" PRIu64, by ? "by job" : "it is at revision",
                        by ?: e->record->revision);
                return;
        }
        verb = verb_to_wait_for(job->verb, e->record, group->target);
        if (verb == ARGOSY__VERB__VERB_NONE)
                ret->word = "as asked";
        else if (waiter_verdict(l, verb, group->names[i], group->revisions[i], &v))
                say_verdict(ret, &v);
}

static int add_unit(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job,
                    const Argosy__JobUnits *group, size_t i) {
        Argosy__Response__JobUnitRow *unit = calloc(1, sizeof(*unit));
        char rev[HASH_HEX_SIZE] = "";
        UnitNow now;
        Hash hash;

        if (!unit)
                return -ENOMEM;
        argosy__response__job_unit_row__init(unit);
        if (FIELD_APPEND(row->units, row->n_units, unit) < 0)
                return -ENOMEM;
        judge(l, job, group, i, &now);
        unit->revision = group->revisions[i];
        if (hash_from_bytes(group->spec.data, group->spec.len, &hash)) {
                hash_hex(&hash, HASH_SIZE, rev);
                if (field_set(&unit->desired, target_to_string(group->target)) < 0)
                        return -ENOMEM;
        }
        if (field_set(&unit->unit, group->names[i]) < 0 || field_set(&unit->rev, rev) < 0 ||
            field_set(&unit->now, now.word) < 0)
                return -ENOMEM;
        return field_set(&unit->message, now.message);
}

static int add_units(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job, uint32_t first) {
        uint32_t at = 0;

        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++, at++) {
                        if (at < first)
                                continue;
                        if (at - first >= JOB_UNITS_LISTED)
                                row->more_units++;
                        else if (add_unit(l, row, job, job->units[g], i) < 0)
                                return -ENOMEM;
                }
        return 0;
}

// ------------------------------------------------------------------------------------------------ jobs

// What an image has brought is not looked at as closely as what was applied.
static bool is_whole(const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_units; i++)
                if (job->units[i]->n_names != job->units[i]->n_revisions)
                        return false;
        return true;
}

typedef char JobAuthor[AUTHOR_TEXT_SIZE];

static const char *user_of(const Argosy__JobRecord *job, JobAuthor buf) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.user = job->user;
        author.uid = job->uid_known ? job->uid : UINT32_MAX;
        return author_text(&author, buf);
}

// "alice@n1", "uid 1234@n1".
static int fill_author(char **field, const Argosy__JobRecord *job) {
        JobAuthor buf;

        return field_printf(field, "%s%s%s", user_of(job, buf), *job->host_name ? "@" : "", job->host_name);
}

static bool is_by(const Argosy__JobRecord *job, const char *pattern) {
        _cleanup_free_ char *whole = NULL;
        JobAuthor buf;
        const char *user = user_of(job, buf);

        if (!*pattern || fnmatch(pattern, user, FNM_NOESCAPE) == 0)
                return true;
        whole = str_printf("%s@%s", user, job->host_name);
        return whole && fnmatch(pattern, whole, FNM_NOESCAPE) == 0;
}

static size_t n_units_of(const Argosy__JobRecord *job) {
        size_t n = 0;

        for (size_t i = 0; i < job->n_units; i++)
                n += job->units[i]->n_names;
        return n;
}

static int fill(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        row->job = job->number;
        row->at_us = job->at_us;
        row->more_targets = job->more_targets;
        row->cut = job->cut;
        row->revision_before = job->revision_before;
        row->revision = job->revision;
        row->changed = (uint32_t) n_units_of(job);
        for (size_t i = 0; i < job->n_targets; i++) {
                char *target = strdup(job->targets[i]);

                if (!target || ARRAY_RESERVE(row->targets, row->n_targets + 1) < 0) {
                        free(target);
                        return -ENOMEM;
                }
                row->targets[row->n_targets++] = target;
        }
        if (fill_author(&row->author, job) < 0 || field_set(&row->verb, job->verb) < 0 ||
            field_set(&row->host, job->host_name) < 0)
                return -ENOMEM;
        return field_set(&row->reason, job->reason);
}

static int add_job(Argosy__Response__Jobs *jobs, const Argosy__JobRecord *job, Argosy__Response__JobRow **ret) {
        Argosy__Response__JobRow *row = calloc(1, sizeof(*row));

        if (!row)
                return -ENOMEM;
        argosy__response__job_row__init(row);
        if (FIELD_APPEND(jobs->rows, jobs->n_rows, row) < 0)
                return -ENOMEM;
        *ret = row;
        return fill(row, job);
}

static bool has_unit(const Argosy__JobRecord *job, char *const *patterns, size_t n) {
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++)
                        for (size_t k = 0; k < n; k++)
                                if (fnmatch(patterns[k], job->units[g]->names[i], FNM_NOESCAPE) == 0)
                                        return true;
        return n == 0;
}

// Newest first, from the one before `before` on.
static int list(const Leader *l, const Argosy__Request__ListJobs *m, Argosy__Response__Jobs *jobs) {
        uint64_t last = cluster_state_last_job(l->state), first = cluster_state_first_job(l->state);
        uint64_t number = m->before > 0 && m->before <= last ? m->before - 1 : last;
        size_t limit = m->limit > 0 ? m->limit : JOBS_LOOKED, looked = 0;

        for (; number >= first && looked < JOBS_LOOKED && jobs->n_rows < limit; number--) {
                Argosy__Response__JobRow *row;
                Argosy__JobRecord *job;
                int r = cluster_state_read_job(l->state, number, &job);

                if (r < 0)
                        return r;
                looked += 1 + n_units_of(job) / 10;
                if (is_by(job, m->author) && has_unit(job, m->patterns, m->n_patterns))
                        r = add_job(jobs, job, &row);
                message_free(job);
                if (r < 0)
                        return r;
        }
        jobs->before = number >= first ? number + 1 : 0;
        return 0;
}

static Argosy__Response *no_such_job(const Leader *l, uint64_t number) {
        uint64_t last = cluster_state_last_job(l->state), first = cluster_state_first_job(l->state);

        if (number > last)
                return last > 0 ? response_error(ENOENT, "there is no job %" PRIu64 ": the newest is %" PRIu64, number, last)
                                : response_error(ENOENT, "there is no job %" PRIu64 ": there has been none", number);
        if (first > last)
                return response_error(ENOENT, "job %" PRIu64 " is not kept any more, and neither is any other", number);
        return response_error(ENOENT, "job %" PRIu64 " is not kept any more: the oldest that is kept is %" PRIu64, number,
                              first);
}

static int show(Leader *l, const Argosy__Request__ListJobs *m, const Argosy__JobRecord *job,
                Argosy__Response__Jobs *jobs) {
        Argosy__Response__JobRow *row;
        int r = add_job(jobs, job, &row);

        return r < 0 || !is_whole(job) ? r : add_units(l, row, job, m->first_unit);
}

Argosy__Response *answer_jobs(Leader *l, const Argosy__Request *request) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_JOBS);
        const Argosy__Request__ListJobs *m = request->list_jobs;
        Argosy__JobRecord *job;
        int r;

        if (cluster_state_feature_level(l->state) < FEATURE_JOBS)
                return response_error(EOPNOTSUPP,
                                      "no jobs are kept while a voter runs a version that does not know them (feature "
                                      "level %" PRIu32 "; see `argosyctl cluster status`)",
                                      cluster_state_feature_level(l->state));
        if (!response)
                return NULL;
        if (m->number == 0)
                return list(l, m, response->jobs) < 0 ? NULL : TAKE_PTR(response);
        r = cluster_state_read_job(l->state, m->number, &job);
        if (r == -ENOENT)
                return no_such_job(l, m->number);
        if (r < 0)
                return NULL;
        r = show(l, m, job, response->jobs);
        message_free(job);
        return r < 0 ? NULL : TAKE_PTR(response);
}
