// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A job stands for the moment of the last thing that it has changed. What lies between two of them is told
// by revisions, not by numbers: what an update changes comes later than its number says, and so does what
// was held back.
//
// Jobs are read newest first, with what each did to units and settings, down to the one that is named; then
// those with smaller numbers that have gone on behind it. Of a unit the change with the smallest revision
// says what it was before, that with the greatest what it became: so the order is that in which they were
// carried out. It costs what was changed, however many units there are.
//
// A job of thousands of units is asked for by its number, in as many answers as it takes.

#include "job-changes.h"

#include <errno.h>

#include <stdlib.h>
#include <string.h>

#include "array.h"
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
        c->bytes += sizeof(*u) + strlen(name) + sizeof(MapSlot);
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
        c->bytes += sizeof(*s) + strlen(name) + sizeof(MapSlot);
        return s;
}

static int set_word(JobChanges *c, char **word, const char *value) {
        c->bytes -= *word ? strlen(*word) : 0;
        free(*word);
        *word = strdup(value);
        c->bytes += *word ? strlen(*word) : 0;
        return *word ? 0 : -ENOMEM;
}

// A change by this revision lies between the two.
static bool is_meant(const JobChanges *c, uint64_t revision) {
        return revision > c->since_revision && (c->until_revision == 0 || revision <= c->until_revision);
}

static int add_setting(JobChanges *c, const Argosy__Response__JobSettingRow *row, uint64_t revision) {
        SettingChange *s;
        int r;

        if (!is_meant(c, revision))
                return 0;
        s = setting_get(c, row->setting);
        r = s ? 0 : -ENOMEM;

        if (r == 0 && (!s->before || revision < s->first)) {
                r = set_word(c, &s->before, row->before);
                s->first = revision;
        }
        if (r == 0 && (!s->after || revision >= s->last)) {
                r = set_word(c, &s->after, row->after);
                s->last = revision;
        }
        return r;
}

static int add_units(JobChanges *c, const Argosy__Response__JobRow *job) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < job->n_units; i++)
                if (is_meant(c, job->units[i]->revision))
                        r = add_unit(c, job->units[i]);
        return r;
}

// What it does not name may lie between the two if anything of it does.
static bool is_cut(const JobChanges *c, const Argosy__Response__JobRow *job) {
        return job->cut && job->revision > c->since_revision &&
               (c->until_revision == 0 || job->revision_before < c->until_revision);
}

static int add_job(JobChanges *c, const Argosy__Response__JobRow *job) {
        int r = 0;

        if (job->own) // what the cluster moved by itself is as it was
                return 0;
        c->cut |= is_cut(c, job);
        for (size_t i = 0; r == 0 && i < job->n_settings; i++)
                r = add_setting(c, job->settings[i], job->revision);
        if (r == 0)
                r = add_units(c, job);
        if (r < 0 || job->more_units == 0)
                return r;
        if (ARRAY_RESERVE(c->long_jobs, c->n_long_jobs + 1) < 0)
                return -ENOMEM;
        c->long_jobs[c->n_long_jobs++] = job->job;
        c->bytes += sizeof(*c->long_jobs);
        return 0;
}

static int add_jobs(JobChanges *c, const Argosy__Response__Jobs *jobs) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < jobs->n_rows; i++)
                r = add_job(c, jobs->rows[i]);
        return r;
}

// ---- what is asked

static void list_one(Argosy__Request__ListJobs *list, uint64_t number, uint32_t first_unit) {
        list->number = number;
        list->first_unit = first_unit;
}

static void list_many(JobChanges *c, Argosy__Request__ListJobs *list) {
        list->changes = true;
        list->patterns = &c->unit;
        list->n_patterns = c->unit ? 1 : 0;
        list->before = c->before;
        if (c->stage == CHANGES_LATE)
                list->late_after = c->since_revision > 0 ? c->since_revision : 1;
        else
                list->begun_before = c->until_revision;
}

void job_changes_begin(JobChanges *c, char *unit, uint64_t since, uint64_t until) {
        c->unit = unit;
        c->since = since;
        c->until = until;
        c->stage = CHANGES_SINCE;
}

bool job_changes_next(JobChanges *c, Argosy__Request *ret, Argosy__Request__ListJobs *ret_list) {
        argosy__request__init(ret);
        argosy__request__list_jobs__init(ret_list);
        ret->what_case = ARGOSY__REQUEST__WHAT_LIST_JOBS;
        ret->list_jobs = ret_list;
        c->answered = false;
        switch (c->stage) {
        case CHANGES_SINCE:
        case CHANGES_UNTIL:
                // without its units
                list_one(ret_list, c->stage == CHANGES_SINCE ? c->since : c->until, UINT32_MAX);
                return true;
        case CHANGES_NEWEST:
        case CHANGES_LATE:
                list_many(c, ret_list);
                return true;
        case CHANGES_LONG:
                list_one(ret_list, c->long_jobs[c->long_job], c->units_seen);
                return true;
        case CHANGES_ARE_READ:
                break;
        }
        return false;
}

// ---- what is answered

static void begin_long(JobChanges *c) {
        c->stage = c->long_job < c->n_long_jobs ? CHANGES_LONG : CHANGES_ARE_READ;
        c->units_seen = 0;
}

static int take_newest(JobChanges *c, const Argosy__Response__Jobs *jobs) {
        int r = add_jobs(c, jobs);

        c->before = jobs->before;
        if (c->before > c->since + 1)
                return r;
        c->stage = CHANGES_LATE;
        c->before = c->since + 1;
        return r;
}

static int take_late(JobChanges *c, const Argosy__Response__Jobs *jobs) {
        int r = add_jobs(c, jobs);

        c->late_left_out = jobs->before > 0;
        c->late_forgotten = jobs->complete_from > c->since_revision;
        begin_long(c);
        return r;
}

static int take_long(JobChanges *c, const Argosy__Response__Jobs *jobs) {
        const Argosy__Response__JobRow *job = jobs->n_rows == 1 ? jobs->rows[0] : NULL;
        int r = job ? add_units(c, job) : 0;

        if (job && job->n_units > 0 && job->more_units > 0) {
                c->units_seen += (uint32_t) job->n_units;
                return r;
        }
        c->long_job++;
        begin_long(c);
        return r;
}

// The one with the greater number may have been done before the other.
static void order_moments(JobChanges *c) {
        uint64_t job = c->since, revision = c->since_revision;

        if (c->until_revision == 0 || c->since_revision <= c->until_revision)
                return;
        c->since = c->until;
        c->since_revision = c->until_revision;
        c->until = job;
        c->until_revision = revision;
}

static void take_moment(JobChanges *c, const Argosy__Response__Jobs *jobs) {
        uint64_t revision = jobs->n_rows == 1 ? jobs->rows[0]->revision : 0;

        if (c->stage == CHANGES_SINCE)
                c->since_revision = revision;
        else
                c->until_revision = revision;
        if (c->stage == CHANGES_SINCE && c->until > 0) {
                c->stage = CHANGES_UNTIL;
                return;
        }
        order_moments(c);
        c->stage = CHANGES_NEWEST;
}

int job_changes_take(JobChanges *c, const Argosy__Response *r) {
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || c->answered)
                return 0;
        c->answered = true;
        switch (c->stage) {
        case CHANGES_SINCE:
        case CHANGES_UNTIL:
                take_moment(c, r->jobs);
                return 0;
        case CHANGES_NEWEST:
                return take_newest(c, r->jobs);
        case CHANGES_LATE:
                return take_late(c, r->jobs);
        case CHANGES_LONG:
                return take_long(c, r->jobs);
        case CHANGES_ARE_READ:
                break;
        }
        return 0;
}
