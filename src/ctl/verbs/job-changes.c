// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs are read newest first, with what each did to units and settings, down to the one that is named; then those that were
// held back, which began later than their numbers say. Of a unit the change with the smallest revision says what it was
// before, that with the greatest what it became: so the order is that in which they were carried out. It costs what was
// changed, however many units there are.
//
// A job of thousands of units is asked for by its number, in as many answers as it takes.

#include "job-changes.h"

#include <errno.h>

#include "array.h"
#include "ctl.h"
#include "str.h"

static void unit_free(void *p) {
        UnitChange *u = p;

        free(u->unit);
        free(u);
}

static void setting_free(void *p) {
        SettingChange *s = p;

        free(s->setting);
        free(s->before);
        free(s->after);
        free(s);
}

void job_changes_done(JobChanges *c) {
        map_done_with(&c->units, unit_free);
        map_done_with(&c->settings, setting_free);
        free(c->long_jobs);
}

static UnitThen then_of(const char *rev, const char *desired) {
        UnitThen then;

        str_fit(then.rev, sizeof(then.rev), "%s", rev);
        str_fit(then.desired, sizeof(then.desired), "%s", desired);
        return then;
}

static UnitChange *unit_get(JobChanges *c, const char *name) {
        UnitChange *u = map_find_str(&c->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u));
        if (!u)
                return NULL;
        u->unit = strdup(name);
        if (!u->unit || map_add_str(&c->units, u->unit, u) < 0) {
                unit_free(u);
                return NULL;
        }
        return u;
}

static int add_unit(JobChanges *c, const Argosy__Response__JobUnitRow *row) {
        UnitChange *u = unit_get(c, row->unit);

        if (!u)
                return -ENOMEM;
        if (u->last == 0 || row->revision < u->first) {
                u->before = then_of(row->rev, row->desired);
                u->first = row->revision;
        }
        if (row->revision >= u->last) {
                u->after = then_of(row->rev_after, row->desired_after);
                u->last = row->revision;
        }
        return 0;
}

static SettingChange *setting_get(JobChanges *c, const char *name) {
        SettingChange *s = map_find_str(&c->settings, name);

        if (s)
                return s;
        s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->setting = strdup(name);
        if (!s->setting || map_add_str(&c->settings, s->setting, s) < 0) {
                setting_free(s);
                return NULL;
        }
        return s;
}

static int set_word(char **word, const char *value) {
        free(*word);
        *word = strdup(value);
        return *word ? 0 : -ENOMEM;
}

static int add_setting(JobChanges *c, const Argosy__Response__JobSettingRow *row, uint64_t revision) {
        SettingChange *s = setting_get(c, row->setting);
        int r = s ? 0 : -ENOMEM;

        if (r == 0 && (!s->before || revision < s->first)) {
                r = set_word(&s->before, row->before);
                s->first = revision;
        }
        if (r == 0 && (!s->after || revision >= s->last)) {
                r = set_word(&s->after, row->after);
                s->last = revision;
        }
        return r;
}

// One that was held back counts from when it was carried out, and any other by its number.
static bool is_meant(const JobChanges *c, const Argosy__Response__JobRow *job, uint64_t revision) {
        if (job->asked_us == 0)
                return job->job > c->since;
        return revision > c->since_revision && (c->until_revision == 0 || revision <= c->until_revision);
}

static int add_units(JobChanges *c, const Argosy__Response__JobRow *job) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < job->n_units; i++)
                if (is_meant(c, job, job->units[i]->revision))
                        r = add_unit(c, job->units[i]);
        return r;
}

static int add_job(JobChanges *c, const Argosy__Response__JobRow *job) {
        int r = 0;

        c->cut |= job->cut && is_meant(c, job, job->revision);
        for (size_t i = 0; r == 0 && i < job->n_settings; i++)
                if (is_meant(c, job, job->revision))
                        r = add_setting(c, job->settings[i], job->revision);
        if (r == 0)
                r = add_units(c, job);
        if (r < 0 || job->more_units == 0)
                return r;
        if (ARRAY_RESERVE(c->long_jobs, c->n_long_jobs + 1) < 0)
                return -ENOMEM;
        c->long_jobs[c->n_long_jobs++] = job->job;
        return 0;
}

static int on_jobs(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        JobChanges *c = userdata;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS)
                return 0;
        c->before = r->jobs->before;
        for (size_t i = 0; e == 0 && i < r->jobs->n_rows; i++)
                e = add_job(c, r->jobs->rows[i]);
        return e;
}

typedef struct LongJob {
        JobChanges *changes;
        uint32_t seen, more;
} LongJob;

static int on_units(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        LongJob *j = userdata;
        const Argosy__Response__JobRow *job;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || r->jobs->n_rows != 1)
                return 0;
        job = r->jobs->rows[0];
        e = add_units(j->changes, job);
        j->seen += (uint32_t) job->n_units;
        j->more = job->n_units > 0 ? job->more_units : 0;
        return e;
}

static int read_long_job(Ctl *ctl, uint64_t number, JobChanges *c) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        LongJob j = {.changes = c};
        int code;

        list.number = number;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        request.list_jobs = &list;
        do {
                list.first_unit = j.seen;
                j.more = 0;
                code = ctl_ask(ctl, &request, 0, on_units, &j);
        } while (code == EXIT_OK && j.more > 0);
        return code;
}

static int on_moment(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_JOBS && r->jobs->n_rows == 1)
                *(uint64_t *) userdata = r->jobs->rows[0]->revision;
        return 0;
}

// The revision at which the job was done. Says so if it is not kept.
static int ask_moment(Ctl *ctl, uint64_t job, uint64_t *ret) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        list.number = job;
        list.first_unit = UINT32_MAX; // none of them
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        request.list_jobs = &list;
        return ctl_ask(ctl, &request, 0, on_moment, ret);
}

static int read_by_number(Ctl *ctl, Argosy__Request *request, uint64_t until, JobChanges *c) {
        int code;

        c->before = until > 0 ? until + 1 : 0;
        do {
                request->list_jobs->before = c->before;
                c->before = 0;
                code = ctl_ask(ctl, request, 0, on_jobs, c);
        } while (code == EXIT_OK && c->before > c->since + 1);
        return code;
}

// Those whose numbers do not say when they were carried out.
static int read_late(Ctl *ctl, Argosy__Request *request, JobChanges *c) {
        int code;

        request->list_jobs->before = 0;
        request->list_jobs->late_after = MAX_OF(c->since_revision, UINT64_C(1));
        c->before = 0;
        code = ctl_ask(ctl, request, 0, on_jobs, c);
        if (code == EXIT_OK && c->before > 0)
                ctl_warn(ctl, "so many jobs that had been held back have begun since that what the first of them did is left out");
        return code;
}

static int read_all(Ctl *ctl, char *unit, uint64_t until, JobChanges *c) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        int code;

        list.changes = true;
        list.patterns = &unit;
        list.n_patterns = unit ? 1 : 0;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        request.list_jobs = &list;
        code = read_by_number(ctl, &request, until, c);
        return code == EXIT_OK ? read_late(ctl, &request, c) : code;
}

int job_changes_read(Ctl *ctl, char *unit, uint64_t since, uint64_t until, JobChanges *ret) {
        int code = ask_moment(ctl, since, &ret->since_revision);

        ret->since = since;
        if (code == EXIT_OK && until > 0)
                code = ask_moment(ctl, until, &ret->until_revision);
        if (code == EXIT_OK)
                code = read_all(ctl, unit, until, ret);
        for (size_t i = 0; code == EXIT_OK && i < ret->n_long_jobs; i++)
                code = read_long_job(ctl, ret->long_jobs[i], ret);
        if (code == EXIT_OK && ret->cut)
                ctl_warn(ctl, "one of the jobs changed more units than it can name: what it did to the others is left out");
        return code;
}
