// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that a host's systemd runs from the directory of fleet, which argosy has not taken over: each host
// names its own with its Attach, and again when that changes. A unit of such a name may start nowhere else,
// or it would run twice: it goes to that host, which takes it over as it runs, or its start is refused.
//
// What a host has named is kept while it is not heard, since it may go on running there, until the host says
// otherwise or has no record any more. A new leader has it from the host's record (HostRecord.fleet) until
// it hears the host. Units that run on all nodes are judged by each node alone.

#include "tables.h"

enum { FLEET_UNITS_MAX = 4096 }; // names that are taken of one host

// `said` NULL: none; without a directory: the host does not know yet, and what it has named before is kept.
// Marks the units whose names come or go (unit_mark_refusals()).
void fleet_units_set(Leader *l, Host *h, const Argosy__FleetUnits *said);
// Some host runs a unit of that name; and it may not start on that node for this reason.
bool fleet_units_has(const Leader *l, const char *name);
bool fleet_units_bars(const Leader *l, const char *name, const Node *n);
// Whether a host that is heard, or may come back in time, does not know yet what it runs: then nothing new
// is started anywhere, and *ret says in one sentence why.
bool fleet_units_unknown(const Leader *l, char *ret, size_t size);
// Which host runs it for fleet, why no host takes it over, and what to do about that, in one sentence.
// False: none runs it.
bool fleet_units_why(const Leader *l, const char *name, char *ret, size_t size);
// The nodes that take a unit of that name over, one after the other; NULL: no more of them. Nothing may be
// said of fleet's units meanwhile.
typedef struct FleetUnitNodes {
        const ListNode *at, *end;
} FleetUnitNodes;
FleetUnitNodes fleet_units_nodes(const Leader *l, const char *name);
const Node *fleet_units_next_node(FleetUnitNodes *nodes);
void fleet_units_mark(Leader *l, const Host *h); // a node of its own is new: all that it names
void fleet_units_retire(Leader *l);              // of all hosts; marks nothing
