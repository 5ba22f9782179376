// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JSON of the rows that argosyctl and HTTP share (row-json.h), one line per member.
//
//      a row's table -> row_json() writes it; the OpenAPI description lists its members
//
// Members that depend on a sub-message are left out without it (`needs`). Failures are Json's (json.h).

#include "row-json.h"

#include "access.h"
#include "macro.h"
#include "row-fields.h"
#include "unit-findings.h"

#define AT(type, member) offsetof(Argosy__Response__##type, member)
#define FIELD(name_, type_, offset_, ...) \
        { .name = name_, .type = FIELD_##type_, .offset = offset_, ##__VA_ARGS__ }
#define FIELDS(table, ...) \
        { .fields = table, .n = ELEMENTSOF(table), ##__VA_ARGS__ }

// ---- roles and pools

static const Field use_fields[] = {
        FIELD("resource", STRING, AT(RoleUse, resource)),
        FIELD("used", U64, AT(RoleUse, used)),
        FIELD("total", U64, AT(RoleUse, total)),
        FIELD("guarantee", U64, AT(RoleUse, guarantee), .has = AT(RoleUse, has_guarantee), .mask = 1),
        FIELD("limit", U64, AT(RoleUse, limit), .has = AT(RoleUse, has_limit), .mask = 1),
};

static const Row use_row = FIELDS(use_fields);

static const Field role_fields[] = {
        FIELD("role", STRING, AT(RoleRow, name)),
        FIELD("weight", U32, AT(RoleRow, weight)),
        FIELD("share_permille", U32, AT(RoleRow, share_permille)),
        FIELD("units", U32, AT(RoleRow, units)),
        FIELD("waiting", U32, AT(RoleRow, waiting)),
        FIELD("resources", ROWS, AT(RoleRow, n_uses), .of = &use_row),
};

static const Field pool_fields[] = {
        FIELD("pool", STRING, AT(PoolRow, name)),
        FIELD("named", WORDS, AT(PoolRow, n_hosts)),
        FIELD("labels", LABELS, AT(PoolRow, n_labels)),
        FIELD("nodes", WORDS, AT(PoolRow, n_nodes)),
};

const Row role_row = FIELDS(role_fields), pool_row = FIELDS(pool_fields);

// ---- the queue

static const char *action_word(int action) {
        static const char *const words[] = {[ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT] = "accept",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_HOLD] = "hold",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_REFUSE] = "refuse",
                                            [ARGOSY__QUEUE_ACTION__QUEUE_LIMIT] = "limit"};

        return (size_t) action < ELEMENTSOF(words) ? words[action] : "";
}

#define OF_RULE(name_, type_, member, ...) \
        FIELD(name_, type_, offsetof(Argosy__QueueRule, member), .via = AT(QueueRow, rule), ##__VA_ARGS__)

static const Field rule_fields[] = {
        OF_RULE("rule", U32, number),
        OF_RULE("action", ENUM_OR_NULL, action, .word = action_word),
        OF_RULE("text", WORD, text),
        OF_RULE("limit", U32, limit),
        OF_RULE("author", WORD, author),
        OF_RULE("verb", WORD, verb),
        OF_RULE("unit", WORD, unit),
        OF_RULE("role", WORD, role),
        OF_RULE("reason", WORD, reason),
        FIELD("running", U32, AT(QueueRow, running)),
        FIELD("held", U32, AT(QueueRow, held)),
};

static const Field queue_fields[] = {
        FIELD("closed", BOOL, AT(Queue, closed)),
        FIELD("reason", WORD, AT(Queue, reason)),
        FIELD("held", U32, AT(Queue, held)),
        FIELD("open_max", U32, AT(Queue, open_max)),
        FIELD("history_mib", U32, AT(Queue, history_mib)),
        FIELD("file_kib", U32, AT(Queue, file_kib)),
        FIELD("unit_files_kib", U32, AT(Queue, unit_files_kib)),
        FIELD("files_mib", U32, AT(Queue, files_mib)),
        FIELD("files_bytes", U64, AT(Queue, files_bytes)),
        FIELD("undo_from", U64, AT(Queue, undo_from)),
};

const Row queue_rule_row = FIELDS(rule_fields, .needs = AT(QueueRow, rule)),
          queue_row = FIELDS(queue_fields);

// ---- rights

static const char *right_word(int right) {
        return right_to_string((Argosy__Right) right);
}

static const char *own_word(int right) {
        return right == ARGOSY__RIGHT__RIGHT_NONE ? "" : right_word(right);
}

#define OF_GRANT(name_, type_, member, ...)                                                     \
        FIELD(name_, type_, offsetof(Argosy__GrantRecord, member), .via = AT(AccessRow, grant), \
              ##__VA_ARGS__)

static const Field grant_fields[] = {
        OF_GRANT("right", ENUM_OR_NULL, right, .word = right_word),
        OF_GRANT("user", WORD, user),
        OF_GRANT("group", WORD, group),
        FIELD("host", WORD, AT(AccessRow, host)),
        OF_GRANT("role", WORD, role),
};

// The author's own rights; the dashboard offers buttons by them.
static const Field access_fields[] = {
        FIELD("own", ENUM_OR_NULL, AT(Access, own), .word = own_word),
        FIELD("own_of_some", ENUM_OR_NULL, AT(Access, own_of_some), .word = own_word),
};

const Row grant_row = FIELDS(grant_fields, .needs = AT(AccessRow, grant)),
          access_row = FIELDS(access_fields);

// ---- tokens

#define OF_TOKEN(name_, type_, member, ...)                                                          \
        FIELD(name_, type_, offsetof(Argosy__AccessTokenRecord, member), .via = AT(TokenRow, token), \
              ##__VA_ARGS__)

static const Field token_fields[] = {
        OF_TOKEN("id", WORD, id),
        OF_TOKEN("name", WORD, name),
        OF_TOKEN("right", ENUM_OR_NULL, right, .word = right_word),
        OF_TOKEN("role", WORD, role),
        OF_TOKEN("created_by", WORD, created_by),
        OF_TOKEN("created_us", U64, created_us),
        OF_TOKEN("expires_us", U64, expires_us),
        OF_TOKEN("used_us", U64, used_us, .or_null = true),
        OF_TOKEN("revoked_us", U64, revoked_us, .or_null = true),
        OF_TOKEN("revoked_by", WORD, revoked_by),
        FIELD("state", WORD, AT(TokenRow, state)),
};

const Row token_row = FIELDS(token_fields, .needs = AT(TokenRow, token));

// ---- secrets

static const Field secret_use_fields[] = {
        FIELD("unit", STRING, AT(SecretUse, unit)),
        FIELD("version", U64, AT(SecretUse, version), .or_null = true),
        FIELD("nodes", WORDS, AT(SecretUse, n_nodes)),
};

static const Row secret_use_row = FIELDS(secret_use_fields);

static const Field secret_fields[] = {
        FIELD("name", STRING, AT(SecretRow, name)),
        FIELD("version", U64, AT(SecretRow, version)),
        FIELD("set_us", U64, AT(SecretRow, at_us)),
        FIELD("set_by", STRING, AT(SecretRow, by)),
        FIELD("bytes", U32, AT(SecretRow, bytes)),
        FIELD("units", U32, AT(SecretRow, units)),
        FIELD("stale", U32, AT(SecretRow, stale)),
        FIELD("uses", ROWS, AT(SecretRow, n_uses), .of = &secret_use_row),
};

const Row secret_row = FIELDS(secret_fields);

// ---- hosts

// log_index 0: the host has no log, or there is no leader to ask for it.
static const Field member_fields[] = {
        FIELD("host", STRING, AT(ClusterStatus__Member, name)),
        FIELD("address", STRING, AT(ClusterStatus__Member, address)),
        FIELD("role", STRING, AT(ClusterStatus__Member, role)),
        FIELD("state", STRING, AT(ClusterStatus__Member, state)),
        FIELD("leader", BOOL, AT(ClusterStatus__Member, leader)),
        FIELD("log_index", U64, AT(ClusterStatus__Member, log_index), .or_null = true),
        FIELD("lag", U64, AT(ClusterStatus__Member, lag), .has = AT(ClusterStatus__Member, log_index)),
        FIELD("version", WORD, AT(ClusterStatus__Member, version)),
};

const Row member_row = FIELDS(member_fields);

// ---- a job

static const Row setting_row = {job_setting_row_fields, JOB_SETTING_ROW_FIELDS},
                 job_unit_row = {job_unit_row_fields, JOB_UNIT_ROW_FIELDS};

// job_json_fields() stops before `units` and `more_units`: its caller writes these, as the units may come in
// chunks.
enum { DETAILS_BEFORE_UNITS = 4 };

static const Field job_details[] = {
        FIELD("cut", BOOL, AT(JobRow, cut)),
        FIELD("after", NUMBERS, AT(JobRow, n_after)),
        FIELD("waiting", NUMBERS, AT(JobRow, n_waiting)),
        FIELD("settings", ROWS, AT(JobRow, n_settings), .of = &setting_row),
        FIELD("units", ROWS, AT(JobRow, n_units), .of = &job_unit_row),
        FIELD("more_units", U32, AT(JobRow, more_units), .is_rare = true),
};

static const Row job_details_row = FIELDS(job_details);
const Row job_shown_row = {job_row_fields, JOB_ROW_FIELDS, .more = &job_details_row};

void job_json_fields(const Argosy__Response__JobRow *job, Json *j) {
        row_fields_json(&job_shown_row, job, j);
        for (size_t i = 0; i < DETAILS_BEFORE_UNITS; i++)
                field_json(&job_details[i], job, j);
}

void job_unit_json(const void *row, Json *j) {
        row_json(&job_unit_row, row, j);
}

void move_json(const void *row, Json *j) {
        const Argosy__Response__Rebalance__Move *move = row;
        Argosy__Response__UnitResult unit = ARGOSY__RESPONSE__UNIT_RESULT__INIT;

        unit.name = move->unit;
        unit.from = move->from;
        unit.node = move->to;
        unit.message = move->why;
        row_json(&unit_result_row, &unit, j);
}

// ---- why

void parts_json(const Argosy__Response__Parts *p, Json *j) {
        json_begin(j, '{');
        json_member_u64(j, "added", p->added);
        json_member_u64(j, "changed", p->changed);
        json_member_u64(j, "removed", p->removed);
        json_member_begin(j, "first", '[');
        for (size_t i = 0; i < p->n_rows; i++) {
                json_begin(j, '{');
                json_strings(
                        j,
                        (const char *const[][2]){{"part", p->rows[i]->part}, {"change", p->rows[i]->change}},
                        2);
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
        json_member_bool(j, "as_wanted", !*s->why);
        json_key(j, "refusals");
        refusals_json(s->refusals, s->n_refusals, j);
        json_end(j, '}');
}

// ---- verify

static const char *finding_word(int kind) {
        return unit_finding_kind_to_string((UnitFindingKind) kind);
}

static const Field finding_fields[] = {
        FIELD("line", U32, AT(Finding, line), .or_null = true),
        FIELD("kind", ENUM, AT(Finding, kind), .word = finding_word),
        FIELD("text", STRING, AT(Finding, text)),
};

static const Row finding_row = FIELDS(finding_fields);

static const Field findings_fields[] = {
        FIELD("unit", STRING, AT(FileFindings, unit), .via = offsetof(FindingsOnNode, file)),
        FIELD("node", STRING, AT(Verify, node), .via = offsetof(FindingsOnNode, by)),
        FIELD("systemd", STRING, AT(Verify, systemd), .via = offsetof(FindingsOnNode, by)),
        FIELD("findings", ROWS, AT(FileFindings, n_findings), .via = offsetof(FindingsOnNode, file),
              .of = &finding_row),
        FIELD("refused", BOOL, offsetof(FindingsOnNode, refused)),
};

const Row findings_row = FIELDS(findings_fields);

void findings_json(const Argosy__Response__FileFindings *file, const Argosy__Response__Verify *by, Json *j) {
        FindingsOnNode found = {.file = file, .by = by};

        for (size_t i = 0; i < file->n_findings; i++)
                found.refused |= file->findings[i]->kind == ARGOSY__FINDING_KIND__FINDING_REFUSED;
        row_json(&findings_row, &found, j);
}

// ---- usage

#define USED(name_, member, known_)                                                \
        FIELD(name_, U64, AT(UsageRow, member), .via = offsetof(UsageOnNode, row), \
              .has = AT(UsageRow, known), .mask = known_)

static const Field usage_fields[] = {
        FIELD("unit", STRING, AT(UsageRow, unit), .via = offsetof(UsageOnNode, row)),
        FIELD("node", STRING, offsetof(UsageOnNode, node)),
        USED("tasks", tasks, KNOWS_TASKS),
        USED("memory", memory, KNOWS_MEMORY),
        USED("cpu-time", cpu_us, KNOWS_CPU),
        USED("read-total", io_read, KNOWS_IO),
        USED("written-total", io_write, KNOWS_IO),
        FIELD("run", U64, AT(UsageRow, run), .via = offsetof(UsageOnNode, row)),
        FIELD("time", U64, AT(UsageRow, at_us), .via = offsetof(UsageOnNode, row)),
};

const Row usage_row = FIELDS(usage_fields);

void usage_json(const Argosy__Response__UsageRow *row, const char *node, Json *j) {
        row_json(&usage_row, &(UsageOnNode){.node = node, .row = row}, j);
}
