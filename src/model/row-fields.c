// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fields of rows of responses (row-fields.h): where a value stands in its message, and of what type it
// is.
//
//      a table below -> field_json() writes one member -> fields_json() and row_json() whole rows
//
// argosyctl's columns come from the same tables (ctl/view/fields.c). Nothing fails but memory, which Json
// keeps (json.h).

#include "row-fields.h"

#include <inttypes.h>

#include "macro.h"
#include "row-json.h"

#define AT(type, member) offsetof(Argosy__Response__##type, member)

const Field unit_row_fields[UNIT_ROW_FIELDS] = {
        {"unit", NULL, "UNIT", FIELD_STRING, AT(UnitRow, unit), true, true},
        {"node", "machine", "NODE", FIELD_STRING, AT(UnitRow, node), true, true},
        {"load", NULL, "LOAD", FIELD_STRING, AT(UnitRow, load), true, false},
        {"active", NULL, "ACTIVE", FIELD_STRING, AT(UnitRow, active), true, false},
        {"sub", NULL, "SUB", FIELD_STRING, AT(UnitRow, sub), true, false},
        {"rev", "hash", "REV", FIELD_HASH, AT(UnitRow, spec), false, false},
        {"note", NULL, "NOTE", FIELD_STRING, AT(UnitRow, note), false, false},
        {"drift", NULL, "DRIFT", FIELD_BOOL, AT(UnitRow, drift), false, false},
        {"stale", NULL, "STALE", FIELD_BOOL, AT(UnitRow, file_stale), false, false},
        {"error", NULL, "ERROR", FIELD_STRING, AT(UnitRow, error), false, true},
        {"host-id", NULL, "HOST-ID", FIELD_STRING, AT(UnitRow, host_id), false, false},
        {"restarts", NULL, "RESTARTS", FIELD_RESTARTS, AT(UnitRow, restarts), true, false},
        {"since", NULL, "SINCE", FIELD_TIME, AT(UnitRow, since), true, false},
        {"looping", NULL, "LOOPING", FIELD_BOOL, AT(UnitRow, looping), false, false},
        {"image", NULL, "IMAGE", FIELD_STRING, AT(UnitRow, image), false, true},
        {"digest", NULL, "DIGEST", FIELD_STRING, AT(UnitRow, digest), false, true},
        {"pulling", NULL, "PULLING", FIELD_BOOL, AT(UnitRow, pulling), false, false},
};

const Field unit_file_row_fields[UNIT_FILE_ROW_FIELDS] = {
        {"unit", NULL, "UNIT", FIELD_STRING, AT(UnitFileRow, unit), true, true},
        {"rev", "hash", "REV", FIELD_HASH, AT(UnitFileRow, rev), true, false},
        {"desired", "dstate", "DESIRED", FIELD_STRING, AT(UnitFileRow, desired), true, false},
        {"state", NULL, "STATE", FIELD_STRING, AT(UnitFileRow, state), true, false},
        {"node", "target", "NODE", FIELD_STRING, AT(UnitFileRow, node), true, true},
        {"global", NULL, "GLOBAL", FIELD_BOOL, AT(UnitFileRow, global), false, false},
        {"set", NULL, "SET", FIELD_STRING, AT(UnitFileRow, set), false, true},
        {"description", "desc", "DESCRIPTION", FIELD_STRING, AT(UnitFileRow, description), false, true},
};

const Field node_row_fields[NODE_ROW_FIELDS] = {
        {"node", "machine", "NODE", FIELD_STRING, AT(NodeRow, node), true, true},
        {"address", "ip", "ADDRESS", FIELD_STRING, AT(NodeRow, address), true, false},
        {"state", NULL, "STATE", FIELD_STATE, AT(NodeRow, state), true, false},
        {"role", NULL, "ROLE", FIELD_ROLE, AT(NodeRow, role), true, false},
        {"units", NULL, "UNITS", FIELD_U32, AT(NodeRow, units), true, false},
        {"labels", "metadata", "LABELS", FIELD_LABELS, AT(NodeRow, n_labels), true, true},
        {"leader", NULL, "LEADER", FIELD_BOOL, AT(NodeRow, leader), false, false},
        {"host-id", NULL, "HOST-ID", FIELD_STRING, AT(NodeRow, host_id), false, false},
        {"machine-id", NULL, "MACHINE-ID", FIELD_STRING, AT(NodeRow, machine_id), false, false},
        {"mode", NULL, "MODE", FIELD_STRING, AT(NodeRow, mode), false, false},
        {"reason", NULL, "REASON", FIELD_STRING, AT(NodeRow, reason), false, true},
        {"mode-reason", NULL, "MODE-REASON", FIELD_STRING, AT(NodeRow, mode_reason), false, true},
        {"offers-cpu", NULL, "OFFERS-CPU", FIELD_U64, AT(NodeRow, offers_cpu), false, false},
        {"offers-memory", NULL, "OFFERS-MEMORY", FIELD_U64, AT(NodeRow, offers_memory), false, false},
};

const Field job_row_fields[JOB_ROW_FIELDS] = {
        {"job", NULL, "JOB", FIELD_U64, AT(JobRow, job), true, false},
        {"time", NULL, "TIME", FIELD_TIME, AT(JobRow, at_us), true, false},
        {"state", NULL, "STATE", FIELD_STRING, AT(JobRow, state), true, false},
        {"author", NULL, "AUTHOR", FIELD_STRING, AT(JobRow, author), true, true},
        {"verb", NULL, "VERB", FIELD_STRING, AT(JobRow, verb), true, false},
        {"targets", NULL, "TARGETS", FIELD_TARGETS, AT(JobRow, n_targets), true, true},
        {"changed", NULL, "CHANGED", FIELD_U32, AT(JobRow, changed), true, false},
        {"reason", NULL, "REASON", FIELD_STRING, AT(JobRow, reason), true, true},
        {"host", NULL, "HOST", FIELD_STRING, AT(JobRow, host), false, true},
        {"before", NULL, "BEFORE", FIELD_U64, AT(JobRow, revision_before), false, false},
        {"revision", NULL, "REVISION", FIELD_U64, AT(JobRow, revision), false, false},
        {"ended", NULL, "ENDED", FIELD_TIME, AT(JobRow, ended_us), false, false},
        {"failed", NULL, "FAILED", FIELD_U32, AT(JobRow, failed), false, false},
        {"unplaced", NULL, "UNPLACED", FIELD_U32, AT(JobRow, unplaced), false, false},
        {"overtaken", NULL, "OVERTAKEN", FIELD_U32, AT(JobRow, overtaken), false, false},
        {"cancelled", NULL, "CANCELLED", FIELD_U32, AT(JobRow, cancelled), false, false},
        {"message", NULL, "MESSAGE", FIELD_STRING, AT(JobRow, message), false, true},
        {"retries", NULL, "RETRIES", FIELD_U64, AT(JobRow, retries), false, false},
        {"asked", NULL, "ASKED", FIELD_TIME, AT(JobRow, asked_us), false, false},
        {"waits", NULL, "WAITS", FIELD_STRING, AT(JobRow, held_by), false, true},
        {"groups", NULL, "GROUPS", FIELD_GROUPS, AT(JobRow, n_groups), false, true},
        {"more-targets", NULL, "MORE-TARGETS", FIELD_U32, AT(JobRow, more_targets), false, false},
};

// A job in the history of one unit.
const Field history_row_fields[HISTORY_ROW_FIELDS] = {
        {"job", NULL, "JOB", FIELD_U64, AT(JobRow, job), true, false},
        {"time", NULL, "TIME", FIELD_TIME, AT(JobRow, at_us), true, false},
        {"author", NULL, "AUTHOR", FIELD_STRING, AT(JobRow, author), true, true},
        {"verb", NULL, "VERB", FIELD_STRING, AT(JobRow, verb), true, false},
        {"change", NULL, "CHANGE", FIELD_CHANGE, 0, true, false},
        {"reason", NULL, "REASON", FIELD_STRING, AT(JobRow, reason), true, true},
        {"targets", NULL, "TARGETS", FIELD_TARGETS, AT(JobRow, n_targets), false, true},
        {"host", NULL, "HOST", FIELD_STRING, AT(JobRow, host), false, true},
        {"revision", NULL, "REVISION", FIELD_U64, AT(JobRow, revision), false, false},
        {"more-targets", NULL, "MORE-TARGETS", FIELD_U32, AT(JobRow, more_targets), false, false},
};

// What became of one unit of a change. A message that stands beside `ok` is a warning.
const Field unit_result_fields[UNIT_RESULT_FIELDS] = {
        {"unit", NULL, "UNIT", FIELD_STRING, AT(UnitResult, name), true, true},
        {"ok", NULL, "OK", FIELD_OK, AT(UnitResult, status), true, false},
        {"node", NULL, "NODE", FIELD_STRING, AT(UnitResult, node), true, true},
        {"message", NULL, "MESSAGE", FIELD_STRING, AT(UnitResult, message), true, true},
        {"revision", NULL, "REVISION", FIELD_U64, AT(UnitResult, revision), false, false},
        {"from", NULL, "FROM", FIELD_STRING, AT(UnitResult, from), false, true},
        {"because_of", NULL, "BECAUSE-OF", FIELD_STRING, AT(UnitResult, because_of), false, true},
        {"file_change", NULL, "FILE-CHANGE", FIELD_STRING, AT(UnitResult, file_change), false, true},
        {"refusals", NULL, "REFUSALS", FIELD_REFUSALS, 0, false, true},
        {"may_run_on", NULL, "MAY-RUN-ON", FIELD_MAY_RUN, AT(UnitResult, n_may_run_on), false, true},
};

// Of a job: what became of a unit that it has changed, and how that is now. by: the job that has overtaken
// it; 0: none. from, time: of one that the cluster moved by itself, from there to `node`, and when.
const Field job_unit_row_fields[JOB_UNIT_ROW_FIELDS] = {
        {"unit", NULL, "UNIT", FIELD_STRING, AT(JobUnitRow, unit), true, true},
        {"rev", NULL, "REV", FIELD_HASH, AT(JobUnitRow, rev), true, false},
        {"desired", NULL, "DESIRED", FIELD_STRING, AT(JobUnitRow, desired), true, false},
        {"end", NULL, "END", FIELD_STRING, AT(JobUnitRow, end), true, false},
        {"end_message", NULL, "END-MESSAGE", FIELD_STRING, AT(JobUnitRow, end_message), true, true},
        {"node", NULL, "NODE", FIELD_STRING, AT(JobUnitRow, node), true, true},
        {"now", NULL, "NOW", FIELD_STRING, AT(JobUnitRow, now), true, false},
        {"message", NULL, "MESSAGE", FIELD_STRING, AT(JobUnitRow, message), true, true},
        {"revision", NULL, "REVISION", FIELD_U64, AT(JobUnitRow, revision), true, false},
        {"by", NULL, "BY", FIELD_U64, AT(JobUnitRow, by), true, false},
        {"from", NULL, "FROM", FIELD_STRING, AT(JobUnitRow, from), false, true},
        {"time", NULL, "TIME", FIELD_TIME, AT(JobUnitRow, at_us), false, false},
};

// A setting that a job has changed.
const Field job_setting_row_fields[JOB_SETTING_ROW_FIELDS] = {
        {"setting", NULL, "SETTING", FIELD_STRING, AT(JobSettingRow, setting), true, true},
        {"before", NULL, "BEFORE", FIELD_STRING, AT(JobSettingRow, before), true, true},
        {"after", NULL, "AFTER", FIELD_STRING, AT(JobSettingRow, after), true, true},
};

const Row unit_row = {unit_row_fields, UNIT_ROW_FIELDS},
          unit_file_row = {unit_file_row_fields, UNIT_FILE_ROW_FIELDS},
          unit_file_at_row = {unit_file_row_fields, UNIT_FILE_ROW_FIELDS, .n_always = UNIT_FILE_PAST_FIELDS},
          node_row = {node_row_fields, NODE_ROW_FIELDS}, job_row = {job_row_fields, JOB_ROW_FIELDS},
          history_row = {history_row_fields, HISTORY_ROW_FIELDS},
          unit_result_row = {unit_result_fields, UNIT_RESULT_FIELDS};

// ---- JSON

static const void *pointer_at(const void *message, size_t offset) {
        return *(void *const *) ((const char *) message + offset);
}

static uint32_t u32_at(const void *message, size_t offset) {
        return *(const uint32_t *) ((const char *) message + offset);
}

static uint64_t u64_at(const void *message, size_t offset) {
        return *(const uint64_t *) ((const char *) message + offset);
}

// A repeated field: its number, and behind that the list.
static const void *list_at(const void *message, size_t offset, size_t *ret_n) {
        *ret_n = *(const size_t *) ((const char *) message + offset);
        return pointer_at(message, offset + sizeof(size_t));
}

static bool is_known(const Field *f, const void *message, uint64_t n) {
        bool has = f->has == 0 ||
                   (f->mask > 0 ? (u32_at(message, f->has) & f->mask) : u64_at(message, f->has) > 0);

        return has && !(f->or_null && n == 0);
}

static void json_known(const Field *f, const void *message, uint64_t n, Json *j) {
        if (is_known(f, message, n))
                json_u64(j, n);
        else
                json_null(j);
}

static void json_number(FieldType type, uint64_t n, Json *j) {
        if (n == UINT64_MAX)
                json_null(j);
        else if (type == FIELD_PERMILLE)
                json_tenths(j, n);
        else
                json_u64(j, n);
}

static void json_word(const char *word, Json *j) {
        if (*word)
                json_string(j, word);
        else
                json_null(j);
}

static void json_words(char *const *words, size_t n, Json *j) {
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                json_string(j, words[i]);
        json_end(j, ']');
}

static void json_words_at(const Field *f, const void *message, Json *j) {
        size_t n;
        char *const *words = list_at(message, f->offset, &n);

        json_words(words, n, j);
}

static void json_numbers_at(const Field *f, const void *message, Json *j) {
        size_t n;
        const uint64_t *numbers = list_at(message, f->offset, &n);

        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                json_u64(j, numbers[i]);
        json_end(j, ']');
}

static void json_rows_at(const Field *f, const void *message, Json *j) {
        size_t n;
        void *const *rows = list_at(message, f->offset, &n);

        json_begin(j, '[');
        for (size_t i = 0; i < n; i++)
                row_json(f->of, rows[i], j);
        json_end(j, ']');
}

static void json_labels_at(const Field *f, const void *message, Json *j) {
        size_t n;
        Argosy__Label *const *labels = list_at(message, f->offset, &n);

        json_begin(j, '{');
        for (size_t i = 0; i < n; i++) {
                json_member_string(j, labels[i]->key, labels[i]->value);
        }
        json_end(j, '}');
}

static void json_side(Json *j, const char *key, const char *rev, const char *desired) {
        json_key(j, key);
        if (!*rev) {
                json_null(j);
                return;
        }
        json_begin(j, '{');
        json_member_string(j, "rev", rev);
        json_member_string(j, "desired", desired);
        json_end(j, '}');
}

static void json_changes(const Argosy__Response__JobRow *job, Json *j) {
        json_begin(j, '[');
        for (size_t i = 0; i < job->n_units; i++) {
                const Argosy__Response__JobUnitRow *u = job->units[i];

                json_begin(j, '{');
                json_member_string(j, "unit", u->unit);
                json_side(j, "before", u->rev, u->desired);
                json_side(j, "after", u->rev_after, u->desired_after);
                if (u->parts) {
                        json_key(j, "parts");
                        parts_json(u->parts, j);
                }
                if (u->at_us > 0) // the cluster moved it by itself
                        json_strings(j,
                                     (const char *const[][2]){
                                             {"from", u->from}, {"node", u->node}, {"message", u->message}},
                                     3);
                json_end(j, '}');
        }
        json_end(j, ']');
}

void refusals_json(Argosy__Refusal **refusals, size_t n, Json *j) {
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++) {
                json_begin(j, '{');
                json_strings(j,
                             (const char *const[][2]){{"node", refusals[i]->node},
                                                      {"reason", refusals[i]->reason}},
                             2);
                json_end(j, '}');
        }
        json_end(j, ']');
}

void field_json(const Field *f, const void *row, Json *j) {
        const void *m = f->via > 0 ? pointer_at(row, f->via) : row;
        const Argosy__Response__UnitResult *result = m;
        const Argosy__Response__NodeRow *node = m;

        json_key(j, f->name);
        switch (f->type) {
        case FIELD_STRING:
        case FIELD_STATE:
        case FIELD_HASH:
                json_string(j, field_string(f, m));
                break;
        case FIELD_WORD:
                json_word(field_string(f, m), j);
                break;
        case FIELD_ENUM:
                json_string(j, f->word((int) u32_at(m, f->offset)));
                break;
        case FIELD_ENUM_OR_NULL:
                json_word(f->word((int) u32_at(m, f->offset)), j);
                break;
        case FIELD_ROLE:
                json_string(j, node->leader ? "leader" : node->role);
                break;
        case FIELD_BOOL:
                json_bool(j, u32_at(m, f->offset));
                break;
        case FIELD_U32:
        case FIELD_RESTARTS:
                json_known(f, m, u32_at(m, f->offset), j);
                break;
        case FIELD_U64:
        case FIELD_TIME:
                json_known(f, m, u64_at(m, f->offset), j);
                break;
        case FIELD_TARGETS:
        case FIELD_GROUPS:
        case FIELD_MAY_RUN:
        case FIELD_WORDS:
                json_words_at(f, m, j);
                break;
        case FIELD_NUMBERS:
                json_numbers_at(f, m, j);
                break;
        case FIELD_ROWS:
                json_rows_at(f, m, j);
                break;
        case FIELD_CHANGE:
                json_changes(m, j);
                break;
        case FIELD_COUNT:
        case FIELD_BYTES:
        case FIELD_PERMILLE:
        case FIELD_USEC:
                json_number(f->type, u64_at(m, f->offset), j);
                break;
        case FIELD_OK:
                json_bool(j, u32_at(m, f->offset) == 0);
                break;
        case FIELD_REFUSALS:
                refusals_json(result->refusals, result->n_refusals, j);
                break;
        case FIELD_LABELS:
                json_labels_at(f, m, j);
                break;
        }
}

void fields_json(const Field *fields, size_t n, const void *row, Json *j) {
        json_begin(j, '{');
        for (size_t i = 0; i < n; i++)
                field_json(&fields[i], row, j);
        json_end(j, '}');
}

void row_fields_json(const Row *row, const void *message, Json *j) {
        for (size_t i = 0; i < row->n; i++)
                field_json(&row->fields[i], message, j);
}

void row_json(const Row *row, const void *message, Json *j) {
        if (row->needs == 0 || pointer_at(message, row->needs))
                fields_json(row->fields, row->n, message, j);
}
