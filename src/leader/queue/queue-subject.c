// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the rules of the queue ask of a request: who, what, why, and which units it names, with their roles. A Change
// names them, an Apply, too, a rollout its template and the instances that there are; an undo what its job has changed.
// What comes along because of a unit's own file is not asked about.
//
// The role of a unit that is there is what its file says now; of one that comes, what the file says that comes with it.
// Files are read only if a rule asks for a role.
//
// An update, or a restart a few at a time, is one thing: another one of the same units, and other content for them, are
// refused as long as it is under way.
//
// Failures: what cannot be read, and what there is no memory for, has no role.

#include "queue-subject.h"

#include <stdlib.h>

#include "author.h"
#include "disruption-budget.h"
#include "job-words.h"
#include "message.h"
#include "queue-policy.h"
#include "scheduler-roles.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-record.h"

enum { ROLE_SIZE = LABEL_MAX + 1 };

typedef struct Subject {
        const Leader *leader;
        const Argosy__Request *request;
        const char **units; // of an undo, or a rollout; NULL: the request names them
        size_t n_units;
        Argosy__JobRecord *undone;
        char role[ROLE_SIZE]; // that was asked for last
} Subject;

// ------------------------------------------------------------------------------------------------ units

static const char *unit_at(size_t i, void *userdata) {
        const Subject *s = userdata;
        const Argosy__Request *q = s->request;

        if (s->units)
                return i < s->n_units ? s->units[i] : NULL;
        if (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                return i < q->change->n_names ? q->change->names[i] : NULL;
        if (q->what_case != ARGOSY__REQUEST__WHAT_APPLY)
                return NULL;
        if (i < q->apply->n_units)
                return q->apply->units[i]->name;
        i -= q->apply->n_units;
        return i < q->apply->n_gone ? q->apply->gone[i] : NULL;
}

static void name_undone(Subject *s, uint64_t job) {
        size_t n = 0;

        if (cluster_state_read_job(s->leader->state, job, &s->undone) < 0)
                return;
        for (size_t g = 0; g < s->undone->n_units; g++)
                n += s->undone->units[g]->n_names;
        s->units = calloc(n + 1, sizeof(*s->units));
        for (size_t g = 0; s->units && g < s->undone->n_units; g++)
                for (size_t i = 0; i < s->undone->units[g]->n_names; i++)
                        s->units[s->n_units++] = s->undone->units[g]->names[i];
}

static void name_group(Subject *s, const char *name) {
        const DisruptionBudget *g = disruption_budget_find(s->leader, name);
        size_t n = 1;

        if (g)
                list_foreach (i, &g->units)
                        n++;
        s->units = calloc(n, sizeof(*s->units));
        if (!s->units)
                return;
        s->units[s->n_units++] = name;
        if (g)
                list_foreach (i, &g->units)
                        s->units[s->n_units++] = CONTAINER_OF(i, const Unit, of_budget)->name;
}

// ------------------------------------------------------------------------------------------------ roles

static const Argosy__NamedFile *file_of(const Argosy__Request *q, const char *unit) {
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : NULL;

        if (q->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return q->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ? q->rollout->file : NULL;
        for (size_t i = 0; i < q->change->n_files; i++)
                if (streq(q->change->files[i]->name, unit) ||
                    (template && streq(q->change->files[i]->name, template)))
                        return q->change->files[i];
        return NULL;
}

static void keep_role(Subject *s, UnitOptions *options) {
        str_fit(s->role, sizeof(s->role), "%s", options->role ?: ROLE_DEFAULT);
        unit_options_unref(options);
}

static bool read_role(Subject *s, const Argosy__NamedFile *file, const char *unit) {
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        UnitOptions *options;

        if (unit_file_parse(unit, file->content.data, file->content.len, &parsed, NULL) < 0 ||
            unit_file_expand(parsed, unit, unit, &options, NULL) < 0)
                return false;
        keep_role(s, options);
        return true;
}

static const char *role_at(size_t i, void *userdata) {
        Subject *s = userdata;
        const char *unit = unit_at(i, s);
        const UnitEntry *e = unit ? cluster_state_find_unit(s->leader->state, unit) : NULL;
        const Argosy__NamedFile *file = unit && !e ? file_of(s->request, unit) : NULL;
        UnitOptions *options;

        if (e && unit_options_of(e, &options) == 0) {
                keep_role(s, options);
                return s->role;
        }
        return file && read_role(s, file, unit) ? s->role : NULL;
}

// ------------------------------------------------------------------------------------------------ what is under way

static uint64_t job_of_rollout(const Leader *l, const char *name) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);
        RequestKey key;

        if (!rollout_is_under_way(r) || r->request.len != JOB_REQUEST_ID_SIZE ||
            !cluster_state_find_key(l->state, r->request.data, &key) ||
            cluster_state_job_state(l->state, key.job) != ARGOSY__JOB_STATE__JOB_RUNNING)
                return 0;
        return key.job;
}

static bool brings_content(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return q->change->n_files > 0;
        case ARGOSY__REQUEST__WHAT_APPLY:
        case ARGOSY__REQUEST__WHAT_UNDO:
                return true;
        default:
                return false;
        }
}

static uint64_t job_of_unit(const Leader *l, const char *unit) {
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : NULL;
        uint64_t job = template ? job_of_rollout(l, template) : 0;

        return job > 0 ? job : job_of_rollout(l, unit);
}

uint64_t queue_exclusive_job(const Leader *l, const Argosy__Request *request) {
        Subject s = {.leader = l, .request = request};
        const char *unit;
        uint64_t job = 0;
        size_t n;

        if (request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                return job_of_rollout(l, request->rollout->name);
        (void) cluster_state_rollouts(l->state, &n);
        if (n == 0 || !brings_content(request))
                return 0;
        if (request->what_case == ARGOSY__REQUEST__WHAT_UNDO)
                name_undone(&s, request->undo->job);
        for (size_t i = 0; job == 0 && (unit = unit_at(i, &s)); i++)
                job = job_of_unit(l, unit);
        free(s.units);
        message_free(s.undone);
        return job;
}

// ------------------------------------------------------------------------------------------------ the rule

static bool is_of_rules_only(const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_settings; i++)
                if (job->settings[i]->kind != ARGOSY__SETTING_KIND__SETTING_RULE &&
                    job->settings[i]->kind != ARGOSY__SETTING_KIND__SETTING_QUEUE)
                        return false;
        return job->n_settings > 0 && job->n_units == 0;
}

bool queue_undoes_rules(const Leader *l, const Argosy__Request *request) {
        Argosy__JobRecord *job;
        bool is;

        if (request->what_case != ARGOSY__REQUEST__WHAT_UNDO ||
            cluster_state_read_job(l->state, request->undo->job, &job) < 0)
                return false;
        is = is_of_rules_only(job);
        message_free(job);
        return is;
}

const Argosy__QueueRule *queue_rule_of(const Leader *l, const Argosy__Author *author,
                                       const Argosy__Request *request) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, author->host);
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);
        Subject s = {.leader = l, .request = request};
        const Argosy__QueueRule *rule;
        char user[AUTHOR_TEXT_SIZE];

        if (queue->n_rules == 0 || !queue_policy_is_for(request, author))
                return NULL;
        if (request->what_case == ARGOSY__REQUEST__WHAT_UNDO)
                name_undone(&s, request->undo->job);
        else if (request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                name_group(&s, request->rollout->name);
        rule = queue_policy_match(queue, &(QueueSubject){
                                                 .user = author_text(author, user),
                                                 .host = host ? host->name : "",
                                                 .verb = job_verb(request),
                                                 .reason = request->job ? request->job->reason : "",
                                                 .unit = unit_at,
                                                 .role = role_at,
                                                 .userdata = &s,
                                         });
        free(s.units);
        message_free(s.undone);
        return rule;
}
