// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The columns of the lists: one table each for list-units, list-unit-files, list-nodes, list-jobs, history and top, from
// which the text, the JSON, `--fields` and the completions come. Pure.

#include "argosy.pb-c.h"
#include "json.h"
#include "table.h"

typedef enum FieldType {
        FIELD_STRING,
        FIELD_HASH,  // a string of which people see the first digits only
        FIELD_ROLE,  // of a node: that it leads says more than that it votes
        FIELD_STATE, // of a node: people see its mode behind it
        FIELD_BOOL,
        FIELD_U32,
        FIELD_U64,
        FIELD_TIME, // microseconds since 1970; in JSON that number
        FIELD_LABELS,
        FIELD_TARGETS, // of a job: what the person named
        FIELD_CHANGE,  // of a job: what it did to its first unit
        // of top, UINT64_MAX: not known, which is nothing in a table and null in JSON
        FIELD_COUNT,
        FIELD_BYTES,
        FIELD_PERMILLE, // shown as percent
        FIELD_USEC,     // a time span
} FieldType;

typedef struct Field {
        const char *name;  // as in --fields and JSON
        const char *alias; // fleetctl's name, or NULL
        const char *header;
        FieldType type;
        size_t offset;   // in the row's message
        bool by_default; // shown without --fields
        bool shrink;
} Field;

typedef struct FieldList {
        const char *verb;
        const Field *fields;
        size_t n_fields;
        Colour (*colour)(const Field *f, const void *row);
} FieldList;

extern const FieldList unit_fields, unit_file_fields, node_fields, manager_fields, job_fields, history_fields,
        top_fields;

enum { FIELDS_MAX = 24, HASH_SHOWN = 7 };

// Reads a --fields value; NULL: those shown by default (or, for `all`, every one). Names may repeat. -EINVAL
// and a sentence in `why`.
int fields_select(const FieldList *list, const char *text, bool all, const Field **ret, size_t *ret_n,
                  Buf *why);
void fields_words(FILE *f, const FieldList *list);

int field_append(const Field *f, const void *row, Buf *out); // as in a table; unset: nothing
// What a job's targets are, as they were typed, and how many more there are.
int job_targets_append(const Argosy__Response__JobRow *job, Buf *out);
Colour job_state_colour(const char *state);
// How it ended, and why: "failed (2 failed, 1 unplaced): MESSAGE".
int job_state_append(const Argosy__Response__JobRow *job, Buf *out);
void job_targets_json(const Argosy__Response__JobRow *job, Json *j); // the value
// "launched -> loaded", "file 0123456 -> 89abcde", "new, launched", "removed"; "-": it was only started, or again.
int job_change_append(const Argosy__Response__JobUnitRow *unit, Buf *out);
void field_json(const Field *f, const void *row, Json *j);   // key and value
static inline const char *field_string(const Field *f, const void *row) {
        return *(char *const *) ((const char *) row + f->offset);
}
