// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks at the end of a story, when everything works and is at rest. Pages and patterns of a list tell the
// rows of the whole list. The next leader, who knows the log and what hosts say of themselves and nothing
// else, answers each question as the former one did: what a leader keeps up to date from change to change is
// what one makes anew.
//
// Nobody looks at entries and answers any more, and none of this is a part of the story (world.c).
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks-private.h"
#include "request-kind.h"
#include "str.h"
#include "test.h"
#include "unit-name.h"

enum { LINES_MAX = 8192, LINE_SIZE = 256 };

// Answers as lines of text, one for each row.
typedef struct Lines {
        char list[LINES_MAX][LINE_SIZE];
        size_t n;
} Lines;

static void add(Lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

// How long it takes until something is tried again a leader counts from when it has heard of the failure.
static void cut_span(char *line) {
        static const char words[] = "it is tried again in ";
        char *at = strstr(line, words);
        size_t n;

        if (!at)
                return;
        at += strlen(words);
        n = strcspn(at, ";");
        memmove(at, at + n, strlen(at + n) + 1);
}

static void add(Lines *lines, const char *format, ...) {
        va_list ap;

        assert_true(lines->n < LINES_MAX);
        va_start(ap, format);
        (void) vsnprintf(lines->list[lines->n++], LINE_SIZE, format, ap);
        va_end(ap);
        cut_span(lines->list[lines->n - 1]);
}

// ------------------------------------------------------------------------------------------------ questions

// `message`: of that kind. All of its responses, as lines.
static const RigAnswer *ask(Argosy__Request__WhatCase what, void *message) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const RigAnswer *a;

        request.what_case = what;
        request.change = message; // a union: all of them are pointers
        a = rig_ask(&world.rig, &request);
        rig_settle(&world.rig);
        if (a->error || a->n == 0 || !a->final || a->responses[0]->status != 0)
                check_fail("next-leader-says-the-same", "%s is not answered, when everything is at rest",
                           request_kind(what)->name);
        return a;
}

static void add_units(Lines *lines, const Argosy__Response__Units *units) {
        for (size_t i = 0; i < units->n_rows; i++) {
                const Argosy__Response__UnitRow *r = units->rows[i];

                add(lines, "%s %s %s %s %s %.12s waits=%d drift=%d stale=%d looping=%d '%s' '%s'", r->unit,
                    r->node, r->load, r->active, r->sub, r->spec, r->waits, r->drift, r->file_stale,
                    r->looping, r->error, r->note);
        }
}

static void add_files(Lines *lines, const Argosy__Response__UnitFiles *files) {
        for (size_t i = 0; i < files->n_rows; i++) {
                const Argosy__Response__UnitFileRow *r = files->rows[i];

                add(lines, "%s %.12s %s '%s' %s global=%d set=%s", r->unit, r->rev, r->desired, r->state,
                    r->node, r->global, r->set);
        }
}

static void add_nodes(Lines *lines, const Argosy__Response__Nodes *nodes) {
        for (size_t i = 0; i < nodes->n_rows; i++) {
                const Argosy__Response__NodeRow *r = nodes->rows[i];

                add(lines, "%s %s %s units=%u mode=%s '%s' '%s' labels=%zu offers %" PRIu64 " %" PRIu64,
                    r->node, r->state, r->role, r->units, r->mode, r->mode_reason, r->reason, r->n_labels,
                    r->offers_cpu, r->offers_memory);
        }
}

// Jobs of which the log does not say how they ended, with a unit that another job has changed since. That
// such a unit was as its job had asked before it was changed a leader knows who saw it; for the next one it
// is the other job's.
static bool *unknown_ends;

static void note_unknown_ends(uint64_t last) {
        unknown_ends = calloc(last + 1, sizeof(*unknown_ends));
        assert_non_null(unknown_ends);
        for (uint64_t i = log_truth.first_job; i <= last && i <= log_truth.n_jobs; i++)
                for (unsigned k = 0;
                     log_truth.jobs[i] &&
                     cluster_state_job_state(world.rig.state, i) == ARGOSY__JOB_STATE__JOB_RUNNING &&
                     k < asks.n_units;
                     k++)
                        unknown_ends[i] |=
                                log_truth.jobs[i]->touched & 1u << k && log_was_touched_since(i, k);
}

static void add_jobs(Lines *lines, const Argosy__Response__Jobs *jobs, uint64_t last) {
        bool full = queue_is_full_of_members();

        for (size_t i = 0; i < jobs->n_rows; i++) {
                const Argosy__Response__JobRow *r = jobs->rows[i];

                // Those about members go on as long as their client asks, and that is gone with the leader.
                if (r->job <= last && !unknown_ends[r->job] && !str_has_prefix(r->verb, "cluster "))
                        add(lines,
                            "job %" PRIu64 " %s %s %s changed=%u failed=%u unplaced=%u overtaken=%u "
                                           "cancelled=%u '%s' held by '%s'",
                            r->job, r->author, r->verb, r->state, r->changed, r->failed, r->unplaced,
                            r->overtaken, r->cancelled, r->message, full ? "" : r->held_by);
        }
}

static void add_roles(Lines *lines, const Argosy__Response__Roles *roles) {
        for (size_t i = 0; i < roles->n_rows; i++)
                add(lines, "role %s weight=%u share=%u units=%u waiting=%u", roles->rows[i]->name,
                    roles->rows[i]->weight, roles->rows[i]->share_permille, roles->rows[i]->units,
                    roles->rows[i]->waiting);
}

static void add_pools(Lines *lines, const Argosy__Response__Pools *pools) {
        for (size_t i = 0; i < pools->n_rows; i++)
                add(lines, "pool %s nodes=%zu", pools->rows[i]->name, pools->rows[i]->n_nodes);
}

// One that is held may have been let go, and wait for voters: the queue is asked again when these are ready,
// and the next leader asks it at once.
static void add_queue(Lines *lines, const Argosy__Response__Queue *q) {
        bool full = queue_is_full_of_members();

        add(lines, "queue closed=%d '%s' files=%" PRIu64, q->closed, q->reason, q->files_bytes);
        if (queue_count_about_members(ARGOSY__JOB_STATE__JOB_HELD) > 0)
                return;
        add(lines, "held=%u", q->held);
        for (size_t i = 0; i < q->n_rows; i++)
                add(lines, "rule %u running=%u held=%u", q->rows[i]->rule->number, q->rows[i]->running,
                    full ? 0 : q->rows[i]->held);
}

static void add_secrets(Lines *lines, const Argosy__Response__Secrets *s) {
        for (size_t i = 0; i < s->n_rows; i++)
                add(lines, "secret %s version=%" PRIu64 " units=%u stale=%u uses=%zu", s->rows[i]->name,
                    s->rows[i]->version, s->rows[i]->units, s->rows[i]->stale, s->rows[i]->n_uses);
}

// How often it has failed on a node a leader counts from when it leads.
static bool counts_failures(const char *name) {
        int i = world_unit_index(name);
        const WorldContent *c = i >= 0 ? world_content_find(log_truth.units[i].spec.bytes) : NULL;

        return c && c->restart_elsewhere > 0 && heard_has_failed((unsigned) i);
}

// How long a unit has to be up before the next one of a rollout has its turn is counted by the leader, as
// hosts here say no times; so the next one begins anew.
static bool is_counted(const char *rollout) {
        const ClusterState *s = world.rig.state;
        const Argosy__RolloutRecord *r = rollout ? cluster_state_find_rollout(s, rollout) : NULL;

        return r && r->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING && r->health_us > 0;
}

static bool has_gate(const char *name) {
        _cleanup_free_ char *template = unit_name_template(name);

        return is_counted(name) || is_counted(template);
}

static void add_why(Lines *lines, const RigAnswer *a) {
        for (size_t i = 0; i < a->n; i++) {
                const Argosy__Response__Status *s =
                        a->responses[i]->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY
                                ? a->responses[i]->status_reply
                                : NULL;

                if (s && s->row && !counts_failures(s->row->unit) && !has_gate(s->row->unit))
                        add(lines, "why %s %s '%s' %s refusals=%zu '%s' job=%" PRIu64, s->row->unit,
                            s->row->node, s->desired, s->outcome, s->n_refusals, s->why, s->job);
        }
}

// Jobs up to that number: the next leader has one of its own.
static void ask_all(Lines *lines, uint64_t last_job) {
        Argosy__Request__ListUnits units = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request__ListUnitFiles files = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request__ListNodes nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        Argosy__Request__ListJobs jobs = ARGOSY__REQUEST__LIST_JOBS__INIT;
        Argosy__Request__RoleList roles = ARGOSY__REQUEST__ROLE_LIST__INIT;
        Argosy__Request__PoolList pools = ARGOSY__REQUEST__POOL_LIST__INIT;
        Argosy__Request__QueueList queue = ARGOSY__REQUEST__QUEUE_LIST__INIT;
        Argosy__Request__SecretList secrets = ARGOSY__REQUEST__SECRET_LIST__INIT;
        Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
        char *names[WORLD_UNITS_MAX];

        lines->n = 0;
        add_units(lines, ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &units)->responses[0]->units);
        add_files(lines, ask(ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, &files)->responses[0]->unit_files);
        add_nodes(lines, ask(ARGOSY__REQUEST__WHAT_LIST_NODES, &nodes)->responses[0]->nodes);
        add_roles(lines, ask(ARGOSY__REQUEST__WHAT_ROLE_LIST, &roles)->responses[0]->roles);
        add_pools(lines, ask(ARGOSY__REQUEST__WHAT_POOL_LIST, &pools)->responses[0]->pools);
        add_queue(lines, ask(ARGOSY__REQUEST__WHAT_QUEUE_LIST, &queue)->responses[0]->queue);
        add_secrets(lines, ask(ARGOSY__REQUEST__WHAT_SECRET_LIST, &secrets)->responses[0]->secrets);
        jobs.before = last_job + 1;
        add_jobs(lines, ask(ARGOSY__REQUEST__WHAT_LIST_JOBS, &jobs)->responses[0]->jobs, last_job);
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists)
                        names[why.n_names++] = asks.units[i].name;
        why.names = names;
        if (why.n_names > 0)
                add_why(lines, ask(ARGOSY__REQUEST__WHAT_WHY, &why));
}

char *next_said(bool of_all_leaders) {
        Lines *lines = calloc(1, sizeof(*lines));
        Buf text = {};

        assert_non_null(lines);
        note_unknown_ends(cluster_state_last_job(world.rig.state));
        ask_all(lines, cluster_state_last_job(world.rig.state));
        free(unknown_ends);
        for (size_t i = 0; i < lines->n; i++) {
                char *line = lines->list[i], *job = strstr(line, " job=");

                if (of_all_leaders && str_has_prefix(line, "job "))
                        continue;
                if (of_all_leaders && job && str_has_prefix(line, "why "))
                        *job = 0;
                assert_int_equal(buf_printf(&text, "%s\n", line), 0);
        }
        free(lines);
        return buf_take_string(&text);
}

// ------------------------------------------------------------------------------------------- another leader

// That a host has refused a name a leader remembers as long as that host says nothing else; the next one
// asks again.
static bool any_refused(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (heard_was_refused(i))
                        return true;
        return false;
}

// The record of the next leader's own job may have taken the place of the oldest ones.
static void leave_out_what_is_not_kept(Lines *lines) {
        size_t n = 0;

        for (size_t i = 0; i < lines->n; i++) {
                uint64_t job;

                if (sscanf(lines->list[i], "job %" SCNu64 " ", &job) == 1 &&
                    cluster_state_job_state(world.rig.state, job) == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                        continue;
                if (n < i)
                        memcpy(lines->list[n], lines->list[i], LINE_SIZE);
                n++;
        }
        lines->n = n;
}

void next_on_finish(void) {
        Lines *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
        uint64_t last_job = cluster_state_last_job(world.rig.state),
                 revision = cluster_state_revision(world.rig.state);

        assert_true(before && after);
        note_unknown_ends(last_job);
        ask_all(before, last_job);
        story_tell("another one leads, and is asked the same");
        rig_depose(&world.rig);
        rig_elect(&world.rig);
        rig_pass_ms(&world.rig, 2 * asks.swarm.lease_ms);
        rig_settle(&world.rig);
        ask_all(after, last_job);
        leave_out_what_is_not_kept(before);
        // One that failed is counted anew, and may be started again elsewhere: then there is nothing to
        // compare.
        if (cluster_state_revision(world.rig.state) == revision && !any_refused()) {
                check_says("next-leader-says-the-same");
                for (size_t i = 0; i < before->n || i < after->n; i++)
                        if (i >= before->n || i >= after->n || strcmp(before->list[i], after->list[i]) != 0)
                                check_fail("next-leader-says-the-same",
                                           "the former leader said %.200s, and the next one says %.200s",
                                           i < before->n ? before->list[i] : "nothing more",
                                           i < after->n ? after->list[i] : "nothing more");
        }
        free(unknown_ends);
        free(before);
        free(after);
}

// ------------------------------------------------------------------------------------------ parts of a list

static void compare(const Lines *all, const Lines *parts, const char *how,
                    bool (*is_wanted)(const char *line, const void *userdata), const void *userdata) {
        size_t k = 0;

        for (size_t i = 0; i < all->n; i++) {
                if (is_wanted && !is_wanted(all->list[i], userdata))
                        continue;
                if (k >= parts->n || strcmp(all->list[i], parts->list[k]) != 0)
                        check_fail("pages-are-the-list",
                                   "of a list %s row %zu is '%.200s', and not '%.200s'", how, k + 1,
                                   k < parts->n ? parts->list[k] : "", all->list[i]);
                k++;
        }
        if (k != parts->n)
                check_fail("pages-are-the-list", "a list %s has '%.200s' besides", how, parts->list[k]);
}

static bool is_of_pattern(const char *line, const void *pattern) {
        char name[LINE_SIZE];

        snprintf(name, sizeof(name), "%.*s", (int) strcspn(line, " "), line);
        return fnmatch(pattern, name, 0) == 0;
}

static bool is_active(const char *line, const void *state) {
        char active[32] = "";

        (void) sscanf(line, "%*s %*s %*s %31s", active);
        return strcmp(active, state) == 0;
}

static void all_pages(Lines *lines, unsigned limit) {
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__ListFilter f = ARGOSY__LIST_FILTER__INIT;
        const Argosy__Response__Units *units;

        lines->n = 0;
        m.filter = &f;
        f.limit = limit;
        do {
                units = ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m)->responses[0]->units;
                add_units(lines, units);
                if (units->n_rows > 0) {
                        f.after = units->rows[units->n_rows - 1]->unit;
                        f.after_node = units->rows[units->n_rows - 1]->node;
                }
        } while (units->more && units->n_rows > 0);
}

void pages_on_finish(void) {
        static const char *const patterns[] = {"u*", "t0@*", "u[0-4].service"}, *const states[] = {
                                                                                        "active", "failed",
                                                                                        "inactive"};
        Lines *all = calloc(1, sizeof(*all)), *parts = calloc(1, sizeof(*parts));
        Draw d = draw_from(world.plan.chance ^ 16);
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__ListFilter f = ARGOSY__LIST_FILTER__INIT;
        const char *word;

        assert_true(all && parts);
        add_units(all, ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m)->responses[0]->units);
        if (all->n > 1)
                check_says("pages-are-the-list");
        all_pages(parts, 1 + draw_below(&d, 4) + asks.swarm.crowd / 8);
        compare(all, parts, "in pages", NULL, NULL);

        word = DRAW_PICK(&d, patterns);
        m.patterns = (char **) &word;
        m.n_patterns = 1;
        parts->n = 0;
        add_units(parts, ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m)->responses[0]->units);
        compare(all, parts, "by a pattern", is_of_pattern, word);

        word = DRAW_PICK(&d, states);
        m.n_patterns = 0;
        m.filter = &f;
        f.states = (char **) &word;
        f.n_states = 1;
        parts->n = 0;
        add_units(parts, ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m)->responses[0]->units);
        compare(all, parts, "by a state", is_active, word);
        free(all);
        free(parts);
}
