// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The columns of the lists: one table each for list-units, list-unit-files, list-nodes, list-jobs, history
// and top, from which the text, `--fields` and the completions come. What a field is, and JSON:
// row-fields.h. Pure.

#include "argosy.pb-c.h"
#include "row-fields.h"
#include "table.h"

typedef struct FieldList {
        const char *verb;
        const Field *fields;
        size_t n_fields;
        Colour (*colour)(const Field *f, const void *row);
} FieldList;

extern const FieldList unit_fields, unit_file_fields, node_fields, manager_fields, job_fields,
        history_fields, top_fields;

enum { FIELDS_MAX = 24, HASH_SHOWN = 7 };

// Reads a --fields value; NULL: those shown by default (or, for `all`, every one). Names may repeat. -EINVAL
// and a sentence in `why`.
int fields_select(const FieldList *list, const char *text, bool all, const Field **ret, size_t *ret_n,
                  Buf *why);
void fields_words(FILE *f, const FieldList *list);

int field_append(const Field *f, const void *row, Buf *out); // as in a table; unset: nothing
// What a job's targets are, as they were typed, and how many more there are.
int job_targets_append(const Argosy__Response__JobRow *job, Buf *out);
int job_groups_append(const Argosy__Response__JobRow *job, Buf *out);
Colour job_state_colour(const char *state);
// How it ended, and why: "failed (2 failed, 1 unplaced): MESSAGE".
int job_state_append(const Argosy__Response__JobRow *job, Buf *out);
