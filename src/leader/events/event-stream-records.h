// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Objects that small tables of the log consist of: rollouts, roles, pools, rights, and the queue with its
// rules.

#include "event-core.h"
#include "map.h"
#include "tables.h"

enum { EVENT_TABLES = 6 };

// One row of such a table.
typedef struct RecordObject {
        EventObject event;
        size_t at;       // where it stood in its table when that was compared last
        uint64_t values; // hash of them then
        uint64_t pass;   // in which it was seen last
        char name[];
} RecordObject;

typedef struct EventTable {
        Map objects;       // RecordObject by name
        uint64_t revision; // of the table when it was compared last
} EventTable;

struct EventTables {
        EventTable tables[EVENT_TABLES];
        uint64_t pass;
        bool compared;       // all of them
        uint64_t n_followed; // Leader.n_followed when that was done last
};

void event_tables_done(EventTables *t);
// Compares the tables that have changed since. Returns how many rows were looked at.
size_t event_tables_drain(Leader *l);
// The kind of the table's events, and the revision of its last change.
Argosy__EventKind event_table_kind(size_t table);
uint64_t event_table_revision(size_t table, const ClusterRevisions *now);
// One of the kinds that these are.
bool event_tables_have(Argosy__EventKind kind);
// What is so of a row. 0 or -ENOMEM; *d is to be done in any case.
int event_draft_record(Leader *l, const RecordObject *o, EventDraft *d);
// Of a row of that name, if there is one, something else may have changed than its table: whose it is.
void event_tables_mark(Leader *l, Argosy__EventKind kind, const char *name);
// Whether a row that was gone, and then was of `role` (event-stream-roles.h), is there again. It has been
// told anew, and those who may see it no more are told so.
bool event_tables_have_again(Leader *l, Argosy__EventKind kind, const char *name, unsigned role);
void event_tables_on_marked(Leader *l, RecordObject *o);
