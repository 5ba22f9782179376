// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the rows of answers consist of: one table each for units, unit files, nodes and jobs. Names and
// shapes are the same wherever somebody sees them as JSON, from argosyctl or over HTTP; argosyctl makes its
// tables, `--fields` and completions of them, too. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "json.h"

typedef enum FieldType {
        FIELD_STRING,
        FIELD_HASH,  // a string of which people see the first digits only
        FIELD_ROLE,  // of a node: that it leads says more than that it votes
        FIELD_STATE, // of a node: people see its mode behind it
        FIELD_BOOL,
        FIELD_U32,
        FIELD_RESTARTS, // of a unit; shown only of what is known
        FIELD_U64,
        FIELD_TIME,    // microseconds since 1970; in JSON that number
        FIELD_LABELS,  // offset: of their number
        FIELD_TARGETS, // of a job: what the person named
        FIELD_GROUPS,  // the same: of its author
        FIELD_CHANGE,  // of a job: what it did to its first unit
        // of top, UINT64_MAX: not known, which is nothing in a table and null in JSON
        FIELD_COUNT,
        FIELD_BYTES,
        FIELD_PERMILLE, // shown as percent
        FIELD_USEC,     // a time span
        // of a result
        FIELD_OK,       // a status: whether it is none of an error
        FIELD_MAY_RUN,  // nodes; offset: of their number
        FIELD_REFUSALS, // node and reason
        // of what argosyctl has no columns for
        FIELD_WORD,         // a string; of an empty one null
        FIELD_ENUM,         // a value that has a word: `word`
        FIELD_ENUM_OR_NULL, // of an empty one null
        FIELD_WORDS,   // strings. offset: of their number; the list stands behind it, as in each message
        FIELD_NUMBERS, // the same: of 64 bits
        FIELD_ROWS,    // the same: rows of `of`
} FieldType;

typedef struct Row Row;

typedef struct Field {
        const char *name;  // as in --fields and JSON
        const char *alias; // fleetctl's name, or NULL
        const char *header;
        FieldType type;
        size_t offset;   // in the row's message
        bool by_default; // shown without --fields
        bool shrink;
        // What few fields have is named where it is given.
        size_t via;    // where the row points to the message in which that stands; 0: it is the row itself
        bool or_null;  // a number: 0 is none, and null in JSON
        size_t has;    // the same: where there is a number that is 0 then; 0: nowhere
        uint32_t mask; // and bits of that, of 32; 0: all, of 64
        const char *(*word)(int value);
        const Row *of;
        bool is_rare; // it is there only if there is something to say
} Field;

// One kind of rows.
struct Row {
        const Field *fields;
        size_t n;
        size_t n_always; // the first so many are there in each, whatever it is of; 0: all
        // where it points to what it is about: without that there is no row; 0: it is about itself
        size_t needs;
        const Row *more; // what stands behind these
};

enum {
        UNIT_ROW_FIELDS = 17,
        UNIT_FILE_ROW_FIELDS = 8,
        NODE_ROW_FIELDS = 14,
        JOB_ROW_FIELDS = 22,
        HISTORY_ROW_FIELDS = 10,
        UNIT_RESULT_FIELDS = 10,
        JOB_UNIT_ROW_FIELDS = 12,
        JOB_SETTING_ROW_FIELDS = 3
};
// Fields that are known of a past unit file: unit, rev, desired.
enum { UNIT_FILE_PAST_FIELDS = 3 };
extern const Field unit_row_fields[UNIT_ROW_FIELDS], unit_file_row_fields[UNIT_FILE_ROW_FIELDS],
        node_row_fields[NODE_ROW_FIELDS], job_row_fields[JOB_ROW_FIELDS],
        history_row_fields[HISTORY_ROW_FIELDS], unit_result_fields[UNIT_RESULT_FIELDS],
        job_unit_row_fields[JOB_UNIT_ROW_FIELDS], job_setting_row_fields[JOB_SETTING_ROW_FIELDS];

void field_json(const Field *f, const void *row, Json *j); // key and value
extern const Row unit_row, unit_file_row, unit_file_at_row /* as it is, or was */, node_row, job_row,
        history_row, unit_result_row;

void row_json(const Row *row, const void *message,
              Json *j); // the value: an object, or nothing without what it needs
void row_fields_json(const Row *row, const void *message, Json *j);        // keys and values, without `more`
void fields_json(const Field *fields, size_t n, const void *row, Json *j); // the value: an object
void refusals_json(Argosy__Refusal **refusals, size_t n, Json *j);         // the value
static inline const char *field_string(const Field *f, const void *row) {
        return *(char *const *) ((const char *) row + f->offset);
}
