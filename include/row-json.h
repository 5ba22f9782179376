// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows that are more than a list of fields (row-fields.h), as JSON: an object each, the same from argosyctl and over HTTP. Pure.

#include "argosy.pb-c.h"
#include "json.h"

// Bits of UsageRow.known.
typedef enum UsageKnown { KNOWS_CPU = 1, KNOWS_TASKS = 2, KNOWS_MEMORY = 4, KNOWS_IO = 8 } UsageKnown;

// Each is the value: a `const Argosy__Response__...Row *`, and what is borrowed by it.
void role_json(const void *row, Json *j); // CPU in thousandths of a core, memory in MiB
void pool_json(const void *row, Json *j);
void queue_rule_json(const void *row, Json *j); // nothing, if it has no rule
void grant_json(const void *row, Json *j);      // nothing, if it has no grant
void token_json(const void *row, Json *j);      // nothing, if it has no token
void secret_json(const void *row, Json *j);
void member_json(const void *row, Json *j);     // a ...ClusterStatus__Member
void parts_json(const Argosy__Response__Parts *parts, Json *j);
void why_json(const void *row, Json *j);        // a ...Status, of an answer to Why
void job_unit_json(const void *row, Json *j);
// What a unit uses on that node, called as by `argosyctl top`; in microseconds and bytes. A counter that the node has no number of is null.
void findings_json(const Argosy__Response__FileFindings *file, const Argosy__Response__Verify *of, Json *j);
void usage_json(const Argosy__Response__UsageRow *row, const char *node, Json *j);

// Of a job that was asked for by its number: all that there is of it besides its units. Keys and values.
void job_json_fields(const Argosy__Response__JobRow *job, Json *j);
// The keys and values of one.
void token_json_fields(const Argosy__Response__TokenRow *row, Json *j);
// What the queue is besides its rules: keys and values.
void queue_json(const Argosy__Response__Queue *queue, Json *j);
