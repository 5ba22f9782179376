// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows of which argosyctl has no columns (row-fields.h), and what is no list of fields, as JSON: the same
// from argosyctl and over HTTP. The description of HTTP's API is made of the same tables. Pure.

#include "argosy.pb-c.h"
#include "json.h"
#include "row-fields.h"

// Bits of UsageRow.known.
typedef enum UsageKnown { KNOWS_CPU = 1, KNOWS_TASKS = 2, KNOWS_MEMORY = 4, KNOWS_IO = 8 } UsageKnown;

// Each of a message of that name in Response: RoleRow: CPU in thousandths of a core, memory in MiB; PoolRow;
// QueueRow; AccessRow; TokenRow; SecretRow; ClusterStatus.Member. And what stands beside the rows of Queue
// and Access.
extern const Row role_row, pool_row, queue_rule_row, grant_row, token_row, secret_row, member_row, queue_row,
        access_row;
// Rows of UsageOnNode and of FindingsOnNode. A counter that the node has no number of is null.
extern const Row usage_row, findings_row;
// A job that was asked for by its number; `more` has what a list of jobs does not have.
extern const Row job_shown_row;
// A move of a planned rebalance, as the result of a unit.
void move_json(const void *row, Json *j);

// What a unit uses on that node, called as by `argosyctl top`; in microseconds and bytes.
typedef struct UsageOnNode {
        const char *node;
        const Argosy__Response__UsageRow *row;
} UsageOnNode;

// What a node says of a file.
typedef struct FindingsOnNode {
        protobuf_c_boolean refused;
        const Argosy__Response__FileFindings *file;
        const Argosy__Response__Verify *by;
} FindingsOnNode;

// The values.
void parts_json(const Argosy__Response__Parts *parts, Json *j);
void why_json(const void *row, Json *j); // a ...Status, of an answer to Why
void job_unit_json(const void *row, Json *j);
void usage_json(const Argosy__Response__UsageRow *row, const char *node, Json *j);
void findings_json(const Argosy__Response__FileFindings *file, const Argosy__Response__Verify *by, Json *j);

// Keys and values of a job that was asked for by its number, but for its units.
void job_json_fields(const Argosy__Response__JobRow *job, Json *j);
