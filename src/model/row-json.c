// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See row-json.h. A word that is empty is null, and so is a number that there is not; but for jobs, which are made of fields.

#include "row-json.h"

#include "access.h"
#include "macro.h"
#include "row-fields.h"
#include "unit-findings.h"

static void json_word(Json *j, const char *key, const char *value) {
        json_key(j, key);
        if (*value)
                json_string(j, value);
        else
                json_null(j);
}

static void json_words(Json *j, const char *key, char *const *words, size_t n) {
        json_key(j, key);
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                json_string(j, words[i]);
        json_end(j, ']');
}

// ---- roles and pools

static void use_json(const Argosy__Response__RoleUse *u, Json *j) {
        json_begin(j, '{');
        json_key(j, "resource");
        json_string(j, u->resource);
        json_u64_or_null(j, "used", u->used, true);
        json_u64_or_null(j, "total", u->total, true);
        json_u64_or_null(j, "guarantee", u->guarantee, u->has_guarantee);
        json_u64_or_null(j, "limit", u->limit, u->has_limit);
        json_end(j, '}');
}

void role_json(const void *row, Json *j) {
        const Argosy__Response__RoleRow *role = row;

        json_begin(j, '{');
        json_key(j, "role");
        json_string(j, role->name);
        json_u64_or_null(j, "weight", role->weight, true);
        json_u64_or_null(j, "share_permille", role->share_permille, true);
        json_u64_or_null(j, "units", role->units, true);
        json_u64_or_null(j, "waiting", role->waiting, true);
        json_key(j, "resources");
        json_begin(j, '[');
        for (size_t i = 0; i < role->n_uses; i++)
                use_json(role->uses[i], j);
        json_end(j, ']');
        json_end(j, '}');
}

void pool_json(const void *row, Json *j) {
        const Argosy__Response__PoolRow *pool = row;

        json_begin(j, '{');
        json_key(j, "pool");
        json_string(j, pool->name);
        json_words(j, "named", pool->hosts, pool->n_hosts);
        json_key(j, "labels");
        json_begin(j, '{');
        for (size_t i = 0; i < pool->n_labels; i++) {
                json_key(j, pool->labels[i]->key);
                json_string(j, pool->labels[i]->value);
        }
        json_end(j, '}');
        json_words(j, "nodes", pool->nodes, pool->n_nodes);
        json_end(j, '}');
}

// ---- the queue

static const char *action_word(Argosy__QueueAction action) {
        static const char *const words[] = {[ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT] = "accept",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_HOLD] = "hold",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_REFUSE] = "refuse",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_LIMIT] = "limit"};

        return (size_t) action < ELEMENTSOF(words) ? words[action] : "";
}

void queue_rule_json(const void *row, Json *j) {
        const Argosy__Response__QueueRow *r = row;

        if (!r->rule)
                return;
        json_begin(j, '{');
        json_u64_or_null(j, "rule", r->rule->number, true);
        json_word(j, "action", action_word(r->rule->action));
        json_word(j, "text", r->rule->text);
        json_u64_or_null(j, "limit", r->rule->limit, true);
        json_word(j, "author", r->rule->author);
        json_word(j, "verb", r->rule->verb);
        json_word(j, "unit", r->rule->unit);
        json_word(j, "role", r->rule->role);
        json_word(j, "reason", r->rule->reason);
        json_u64_or_null(j, "running", r->running, true);
        json_u64_or_null(j, "held", r->held, true);
        json_end(j, '}');
}

void queue_json(const Argosy__Response__Queue *queue, Json *j) {
        json_key(j, "closed");
        json_bool(j, queue->closed);
        json_word(j, "reason", queue->reason);
        json_u64_or_null(j, "held", queue->held, true);
        json_u64_or_null(j, "open_max", queue->open_max, true);
        json_u64_or_null(j, "history_mib", queue->history_mib, true);
        json_u64_or_null(j, "file_kib", queue->file_kib, true);
        json_u64_or_null(j, "unit_files_kib", queue->unit_files_kib, true);
        json_u64_or_null(j, "files_mib", queue->files_mib, true);
        json_u64_or_null(j, "files_bytes", queue->files_bytes, true);
        json_u64_or_null(j, "undo_from", queue->undo_from, true);
}

// ---- rights

void grant_json(const void *row, Json *j) {
        const Argosy__Response__AccessRow *r = row;

        if (!r->grant)
                return;
        json_begin(j, '{');
        json_word(j, "right", right_to_string(r->grant->right));
        json_word(j, "user", r->grant->user);
        json_word(j, "group", r->grant->group);
        json_word(j, "host", r->host);
        json_word(j, "role", r->grant->role);
        json_end(j, '}');
}

// ---- tokens

void token_json_fields(const Argosy__Response__TokenRow *r, Json *j) {
        const Argosy__AccessTokenRecord *t = r->token;

        json_word(j, "id", t->id);
        json_word(j, "name", t->name);
        json_word(j, "right", right_to_string(t->right));
        json_word(j, "role", t->role);
        json_word(j, "created_by", t->created_by);
        json_u64_or_null(j, "created_us", t->created_us, true);
        json_u64_or_null(j, "expires_us", t->expires_us, true);
        json_u64_or_null(j, "used_us", t->used_us, t->used_us > 0);
        json_u64_or_null(j, "revoked_us", t->revoked_us, t->revoked_us > 0);
        json_word(j, "revoked_by", t->revoked_by);
        json_word(j, "state", r->state);
}

void token_json(const void *row, Json *j) {
        const Argosy__Response__TokenRow *r = row;

        if (!r->token)
                return;
        json_begin(j, '{');
        token_json_fields(r, j);
        json_end(j, '}');
}

// ---- secrets

static void secret_use_json(const Argosy__Response__SecretUse *use, Json *j) {
        json_begin(j, '{');
        json_word(j, "unit", use->unit);
        json_u64_or_null(j, "version", use->version, use->version > 0);
        json_key(j, "nodes");
        json_begin(j, '[');
        for (size_t i = 0; i < use->n_nodes; i++)
                json_string(j, use->nodes[i]);
        json_end(j, ']');
        json_end(j, '}');
}

void secret_json(const void *row, Json *j) {
        const Argosy__Response__SecretRow *r = row;

        json_begin(j, '{');
        json_word(j, "name", r->name);
        json_u64_or_null(j, "version", r->version, true);
        json_u64_or_null(j, "set_us", r->at_us, true);
        json_word(j, "set_by", r->by);
        json_u64_or_null(j, "bytes", r->bytes, true);
        json_u64_or_null(j, "units", r->units, true);
        json_u64_or_null(j, "stale", r->stale, true);
        json_key(j, "uses");
        json_begin(j, '[');
        for (size_t i = 0; i < r->n_uses; i++)
                secret_use_json(r->uses[i], j);
        json_end(j, ']');
        json_end(j, '}');
}

// ---- hosts

void member_json(const void *row, Json *j) {
        const Argosy__Response__ClusterStatus__Member *m = row;

        json_begin(j, '{');
        json_strings(
                j,
                (const char *const[][2]){
                        {"host", m->name}, {"address", m->address}, {"role", m->role}, {"state", m->state}},
                4);
        json_key(j, "leader");
        json_bool(j, m->leader);
        json_u64_or_null(j, "log_index", m->log_index, m->log_index > 0); // 0: no log, or nobody leads who would know it
        json_u64_or_null(j, "lag", m->lag, m->log_index > 0);
        json_word(j, "version", m->version);
        json_end(j, '}');
}

// ---- a job

static void json_jobs(Json *j, const char *key, const uint64_t *numbers, size_t n) {
        json_key(j, key);
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                json_u64(j, numbers[i]);
        json_end(j, ']');
}

void job_json_fields(const Argosy__Response__JobRow *job, Json *j) {
        for (size_t i = 0; i < JOB_ROW_FIELDS; i++)
                field_json(&job_row_fields[i], job, j);
        json_key(j, "cut");
        json_bool(j, job->cut);
        json_jobs(j, "after", job->after, job->n_after);
        json_jobs(j, "waiting", job->waiting, job->n_waiting);
        json_key(j, "settings");
        json_begin(j, '[');
        for (size_t i = 0; i < job->n_settings; i++)
                fields_json(job_setting_row_fields, JOB_SETTING_ROW_FIELDS, job->settings[i], j);
        json_end(j, ']');
}

void job_unit_json(const void *row, Json *j) {
        fields_json(job_unit_row_fields, JOB_UNIT_ROW_FIELDS, row, j);
}

// ---- why

void parts_json(const Argosy__Response__Parts *p, Json *j) {
        json_begin(j, '{');
        json_key(j, "added");
        json_u64(j, p->added);
        json_key(j, "changed");
        json_u64(j, p->changed);
        json_key(j, "removed");
        json_u64(j, p->removed);
        json_key(j, "first");
        json_begin(j, '[');
        for (size_t i = 0; i < p->n_rows; i++) {
                json_begin(j, '{');
                json_strings(j, (const char *const[][2]){{"part", p->rows[i]->part}, {"change", p->rows[i]->change}}, 2);
                json_end(j, '}');
        }
        json_end(j, ']');
        json_end(j, '}');
}

void why_json(const void *row, Json *j) {
        const Argosy__Response__Status *s = row;
        const char *const pairs[][2] = {
                {"unit", s->row->unit}, {"node", s->row->node},     {"desired", s->desired},
                {"load", s->row->load}, {"active", s->row->active}, {"sub", s->row->sub},
                {"why", s->why},        {"note", s->note},          {"outcome", s->outcome}};

        json_begin(j, '{');
        json_strings(j, pairs, ELEMENTSOF(pairs));
        json_key(j, "as_wanted");
        json_bool(j, !*s->why);
        json_key(j, "refusals");
        refusals_json(s->refusals, s->n_refusals, j);
        json_end(j, '}');
}

// ---- verify

void findings_json(const Argosy__Response__FileFindings *file, const Argosy__Response__Verify *of, Json *j) {
        bool refused = false;

        json_begin(j, '{');
        json_strings(j, (const char *const[][2]){{"unit", file->unit}, {"node", of->node}, {"systemd", of->systemd}}, 3);
        json_key(j, "findings");
        json_begin(j, '[');
        for (size_t i = 0; i < file->n_findings; i++) {
                const Argosy__Response__Finding *f = file->findings[i];

                refused |= f->kind == ARGOSY__FINDING_KIND__FINDING_REFUSED;
                json_begin(j, '{');
                json_u64_or_null(j, "line", f->line, f->line > 0);
                json_strings(j, (const char *const[][2]){{"kind", unit_finding_kind_to_string((UnitFindingKind) f->kind)}, {"text", f->text}}, 2);
                json_end(j, '}');
        }
        json_end(j, ']');
        json_key(j, "refused");
        json_bool(j, refused);
        json_end(j, '}');
}

// ---- usage

void usage_json(const Argosy__Response__UsageRow *row, const char *node, Json *j) {
        json_begin(j, '{');
        json_strings(j, (const char *const[][2]){{"unit", row->unit}, {"node", node}}, 2);
        json_u64_or_null(j, "tasks", row->tasks, row->known & KNOWS_TASKS);
        json_u64_or_null(j, "memory", row->memory, row->known & KNOWS_MEMORY);
        json_u64_or_null(j, "cpu-time", row->cpu_us, row->known & KNOWS_CPU);
        json_u64_or_null(j, "read-total", row->io_read, row->known & KNOWS_IO);
        json_u64_or_null(j, "written-total", row->io_write, row->known & KNOWS_IO);
        json_u64_or_null(j, "run", row->run, true);
        json_u64_or_null(j, "time", row->at_us, true);
        json_end(j, '}');
}
