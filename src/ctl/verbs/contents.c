// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cat, diff of a unit, history forget: the contents of unit files, as they are and as they were.
//
// Jobs say which content a unit had before and after each of them, by its hash. What it had when a job was
// done is what the next one found there; if none came, it is what it has now (job-changes.h). Then the
// content is asked for by its hash. What is not kept any more ends it.

#include <errno.h>
#include <inttypes.h>

#include "array.h"
#include "carried-diff.h"
#include "changes-between.h"
#include "cluster-diff.h"
#include "contents.h"
#include "ctl.h"
#include "hash.h"
#include "image-diff.h"
#include "map.h"
#include "message-of.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"

// ---- which content it was

// A unit's content at some time.
typedef struct Version {
        bool now;                // what it has
        bool absent;             // there was no such unit
        char rev[HASH_HEX_SIZE]; // else
} Version;

static Version version_of(const char *rev) {
        Version v = {.absent = !*rev};

        str_fit(v.rev, sizeof(v.rev), "%s", rev);
        return v;
}

// What is made of the rows of a unit's history, newest first. Below 0: it ends; 1: that is enough.
typedef int (*HistoryEach)(const Argosy__Response__JobRow *job, void *userdata);

typedef struct History {
        HistoryEach each;
        void *userdata;
        uint64_t before; // where the next question goes on; 0: there are no older ones
        bool enough;
} History;

static int on_history(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        History *h = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS)
                return 0;
        h->before = r->jobs->before;
        for (size_t i = 0; i < r->jobs->n_rows && !h->enough; i++) {
                int e = r->jobs->rows[i]->n_units > 0 && !r->jobs->rows[i]->own
                                ? h->each(r->jobs->rows[i], h->userdata)
                                : 0;

                if (e < 0)
                        return e;
                h->enough = e > 0;
        }
        return 0;
}

// Down to this job.
static int read_history(Ctl *ctl, char *unit, uint64_t down_to, HistoryEach each, void *userdata) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, &list);
        History h = {.each = each, .userdata = userdata};
        int code;

        list.patterns = &unit;
        list.n_patterns = 1;
        list.changes = true;
        do {
                list.before = h.before;
                code = ctl_ask(ctl, &request, 0, on_history, &h);
        } while (code == EXIT_OK && !h.enough && h.before > down_to);
        return code;
}

// What it was before the first change since then, or else what it is now.
static int find_at(Ctl *ctl, char *unit, uint64_t job, Version *ret) {
        JobChanges changes = {};
        int code = changes_between(ctl, unit, job, 0, &changes);
        const UnitChange *u = map_find_str(&changes.units, unit);

        *ret = u ? version_of(u->before.rev) : (Version){.now = true};
        job_changes_done(&changes);
        return code;
}

// ---- contents

static int on_content(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Content *c = userdata;

        if (r->status == ENOENT && c->quiet)
                return 0;
        if (r->status != 0) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                c->failed = true;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return 0;
        c->there = true;
        return buf_append(&c->bytes, r->cat->content.data, r->cat->content.len);
}

int content_fetch(Ctl *ctl, char *unit, char *rev, Content *ret) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request request = REQUEST_OF(CAT, cat, &cat);
        int code;

        cat.names = &unit;
        cat.n_names = 1;
        if (rev) {
                cat.revs = &rev;
                cat.n_revs = 1;
        }
        code = ctl_ask(ctl, &request, CALL_STATUS, on_content, ret);
        return code ?: ret->failed ? EXIT_FAILED : EXIT_OK;
}

static int fetch(Ctl *ctl, char *unit, Version *v, Content *c) {
        return v->absent ? EXIT_OK : content_fetch(ctl, unit, v->now ? NULL : v->rev, c);
}

// ---- cat

// Each byte of it, but to a terminal only what that would not obey.
static int print_file(Ctl *ctl, const void *data, size_t len) {
        _cleanup_buf_ Buf clean = {};

        if (ctl->term.out_tty && text_append_clean_file(&clean, data, len) < 0)
                return -ENOMEM;
        pager_open(&ctl->term);
        if (ctl->term.out_tty)
                fwrite(clean.data, 1, clean.len, ctl->term.out);
        else
                fwrite(data, 1, len, ctl->term.out);
        return 0;
}

typedef struct Cat {
        bool failed;
} Cat;

static int on_cat(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Cat *c = userdata;

        if (r->status != 0) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                c->failed = true;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return 0;
        return print_file(ctl, r->cat->content.data, r->cat->content.len);
}

static int cat_at(Ctl *ctl, char *unit, uint64_t job) {
        Content c = {};
        Version v;
        int code = find_at(ctl, unit, job, &v);

        if (code != EXIT_OK)
                return code;
        if (v.absent)
                return ctl_fail(ctl, "%s: there was no such unit when job %" PRIu64 " was done", unit, job);
        code = fetch(ctl, unit, &v, &c);
        if (code == EXIT_OK && print_file(ctl, c.bytes.data, c.bytes.len) < 0)
                code = ctl_oom(ctl);
        buf_done(&c.bytes);
        return code;
}

int verb_cat(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request request = REQUEST_OF(CAT, cat, &cat);
        _cleanup_strv_ char **names = NULL;
        Cat c = {};
        int code;

        code = ctl_names(ctl, args, n, 0, &names, &cat.n_names);
        if (code != EXIT_OK)
                return code;
        if (ctl->opt.at > 0) {
                for (size_t i = 0; i < cat.n_names; i++)
                        code = cat_at(ctl, names[i], ctl->opt.at) ?: code;
                return code;
        }
        cat.names = names;
        code = ctl_ask(ctl, &request, CALL_STATUS, on_cat, &c);
        return code ?: c.failed ? EXIT_FAILED : EXIT_OK;
}

// ---- diff

// One side of a difference, and what it is called.
typedef struct Side {
        Version version;
        char name[64 + 256];
        Content content;
} Side;

static int name_side(Ctl *ctl, Side *s, char *unit, const char *when) {
        int code = fetch(ctl, unit, &s->version, &s->content);

        str_fit(s->name, sizeof(s->name), "%s%s%s", unit, *when ? ", " : "", when);
        if (!s->content.there)
                str_fit(s->name, sizeof(s->name), "/dev/null");
        return code;
}

int content_print_difference(Ctl *ctl, char *unit, const DiffSide *from, const DiffSide *to) {
        _cleanup_buf_ Buf text = {};
        int code = image_diff_append(unit, from, to, false, &ctl->term.style, ctl->term.out_tty, &text) < 0
                           ? ctl_oom(ctl)
                           : EXIT_OK;

        if (code == EXIT_OK)
                code = carried_diff_append(ctl, unit, &(CarriedSide){.content = from},
                                           &(CarriedSide){.content = to}, &text);
        if (code != EXIT_OK)
                return code;
        if (text.len == 0)
                return EXIT_OK;
        pager_open(&ctl->term);
        fwrite(text.data, 1, text.len, ctl->term.out);
        return EXIT_OK;
}

static int print_difference(Ctl *ctl, char *unit, const Side *from, const Side *to) {
        return content_print_difference(
                ctl, unit, &(DiffSide){from->name, from->content.bytes.data, from->content.bytes.len},
                &(DiffSide){to->name, to->content.bytes.data, to->content.bytes.len});
}

typedef struct LastChange {
        uint64_t job; // 0: none
        Version before, after;
} LastChange;

static int look_for_change(const Argosy__Response__JobRow *job, void *userdata) {
        const Argosy__Response__JobUnitRow *first = job->units[0], *last = job->units[job->n_units - 1];
        LastChange *c = userdata;

        if (streq(first->rev, last->rev_after))
                return 0;
        *c = (LastChange){job->job, version_of(first->rev), version_of(last->rev_after)};
        return 1;
}

// What the last job that changed the file did to it.
static int find_last_change(Ctl *ctl, char *unit, Side *from, Side *to) {
        LastChange change = {};
        char when[64];
        int code = read_history(ctl, unit, 0, look_for_change, &change);

        if (code != EXIT_OK)
                return code;
        if (change.job == 0)
                return ctl_fail(ctl, "%s: no job that is kept has changed its file", unit);
        from->version = change.before;
        to->version = change.after;
        str_fit(when, sizeof(when), "before job %" PRIu64, change.job);
        code = name_side(ctl, from, unit, when);
        str_fit(when, sizeof(when), "job %" PRIu64, change.job);
        return code ?: name_side(ctl, to, unit, when);
}

// job 0: now.
static int find_side(Ctl *ctl, char *unit, uint64_t job, Side *ret) {
        char when[64] = "now";
        int code = EXIT_OK;

        ret->version = (Version){.now = true};
        ret->content.quiet = job == 0;
        if (job > 0) {
                str_fit(when, sizeof(when), "job %" PRIu64, job);
                code = find_at(ctl, unit, job, &ret->version);
        }
        return code ?: name_side(ctl, ret, unit, when);
}

int verb_diff(Ctl *ctl, char **args, size_t n) {
        _cleanup_strv_ char **names = NULL;
        uint64_t jobs[2] = {};
        Side from = {}, to = {};
        size_t n_names;
        int code;

        if (*args[0] == '@')
                return cluster_diff_run(ctl, args, n);
        if (ctl->opt.json != JSON_OFF)
                return ctl_usage(ctl, "--json is for what differs in the cluster: diff @JOB [@JOB]");
        for (size_t i = 1; i < n; i++)
                if (!parse_u64(args[i], INT64_MAX, &jobs[i - 1]) || jobs[i - 1] == 0)
                        return ctl_usage(ctl, "'%s' is not the number of a job", args[i]);
        code = ctl_names(ctl, args, 1, 0, &names, &n_names);
        if (code != EXIT_OK)
                return code;
        if (n_names != 1)
                return ctl_usage(ctl, "diff takes one unit at a time");
        if (n == 1)
                code = find_last_change(ctl, names[0], &from, &to);
        else
                code = find_side(ctl, names[0], jobs[0], &from) ?: find_side(ctl, names[0], jobs[1], &to);
        if (code == EXIT_OK)
                code = print_difference(ctl, names[0], &from, &to);
        buf_done(&from.content.bytes);
        buf_done(&to.content.bytes);
        return code;
}

// ---- forget

// Hashes, each once.
typedef struct Revs {
        char **list;
        size_t n;
        Map known;
        bool newest_seen; // of the unit at hand
} Revs;

static int add_rev(Revs *revs, const char *rev) {
        char *copy;

        if (!*rev || map_find_str(&revs->known, rev))
                return 0;
        copy = strdup(rev);
        if (!copy || ARRAY_RESERVE(revs->list, revs->n + 2) < 0) { // it ends with NULL
                free(copy);
                return -ENOMEM;
        }
        revs->list[revs->n++] = copy;
        revs->list[revs->n] = NULL;
        return map_add_str(&revs->known, copy, copy);
}

// What the newest job gave the unit it may still have.
static int add_versions(const Argosy__Response__JobRow *job, void *userdata) {
        Revs *revs = userdata;
        int r = 0;

        for (size_t i = 0; i < job->n_units && r == 0; i++) {
                const Argosy__Response__JobUnitRow *u = job->units[i];
                bool newest = !revs->newest_seen && i + 1 == job->n_units;

                if (!newest)
                        r = add_rev(revs, u->rev_after);
                if (r == 0 && !(newest && streq(u->rev, u->rev_after)))
                        r = add_rev(revs, u->rev);
        }
        revs->newest_seen = true;
        return r;
}

typedef struct JobRevs {
        Revs *revs;
        uint32_t seen, more;
} JobRevs;

static int on_job_units(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        JobRevs *j = userdata;
        const Argosy__Response__JobRow *job;
        int e = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOBS || r->jobs->n_rows != 1)
                return 0;
        job = r->jobs->rows[0];
        for (size_t i = 0; i < job->n_units && e == 0; i++)
                e = add_rev(j->revs, job->units[i]->rev);
        j->seen += (uint32_t) job->n_units;
        j->more = job->n_units > 0 ? job->more_units : 0;
        return e;
}

// What the job found.
static int add_job(Ctl *ctl, uint64_t number, Revs *revs) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_JOBS, list_jobs, &list);
        JobRevs j = {.revs = revs};
        int code;

        list.number = number;
        do {
                list.first_unit = j.seen;
                code = ctl_ask(ctl, &request, 0, on_job_units, &j);
        } while (code == EXIT_OK && j.more > 0);
        return code;
}

static int add_unit(Ctl *ctl, char *word, Revs *revs) {
        _cleanup_strv_ char **names = NULL;
        size_t n;
        int code = ctl_names(ctl, &word, 1, 0, &names, &n);

        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                revs->newest_seen = false;
                code = read_history(ctl, names[i], 0, add_versions, revs);
        }
        return code;
}

static int forget(Ctl *ctl, const Revs *revs) {
        Argosy__Request__Forget m = ARGOSY__REQUEST__FORGET__INIT;
        Argosy__Request request = REQUEST_OF(FORGET, forget, &m);

        if (revs->n == 0)
                return ctl_fail(ctl, "no job that is kept names an old file of that");
        m.revs = revs->list;
        m.n_revs = revs->n;
        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

int verb_history_forget(Ctl *ctl, char **args, size_t n) {
        int code = EXIT_OK;
        Revs revs = {};

        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                uint64_t number;

                code = parse_u64(args[i], INT64_MAX, &number) && number > 0 ? add_job(ctl, number, &revs)
                                                                            : add_unit(ctl, args[i], &revs);
        }
        if (code == EXIT_OK)
                code = forget(ctl, &revs);
        map_done(&revs.known);
        strv_free(revs.list);
        return code;
}
