// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where units run: the eligible node with the fewest units, among equals the one with the lowest number.
// Pure: the same questions in the same order get the same answers; no clock, no state of the cluster beyond
// what it is given.
//
// A Scheduler lives for one batch of decisions. What it places counts at once, so that a hundred units
// spread; the batch that carries the decisions changes the real counts.
//
//      a node is eligible for a unit if   its options admit it   (MachineID=, MachineMetadata=,
//      Manager=; never changes within a batch)
//                                 and     it takes units         (SchedulerNode.refusal)
//                                 and     the name is free there (SchedulerForeign)
//
// Cost: the options of a unit are matched against all nodes once per distinct UnitOptions.key and batch;
// after that a placement costs O(log nodes), whatever exists. SchedulerForeign is asked only about nodes
// that are about to be taken.

#include "argosy.pb-c.h"
#include "unit-file.h"

typedef struct Scheduler Scheduler;

typedef struct SchedulerNode {
        uint32_t node;                  // number
        const Argosy__HostRecord *host; // borrowed: its machine id and labels count
        const char *manager;            // borrowed
        size_t n_units;                 // what it holds already
        unsigned
                rank; // a lower rank is taken first, however much it holds; 0 if there is no such difference
        const char *refusal; // NULL: takes units; else why it takes no new ones. Borrowed
        bool vacating;       // is to hold nothing any more, global units neither
} SchedulerNode;

// Why this node cannot have a unit of this name, e.g. because it belongs to somebody else there; NULL if it
// can. Borrowed until the next call. It must give the same answer as long as the Scheduler lives.
typedef const char *(*SchedulerForeign)(const char *unit, uint32_t node, void *userdata);

typedef enum SchedulerOutcome {
        SCHEDULER_PLACED = 0,
        SCHEDULER_LATER = 1, // no node takes it now, but there are some that its options admit
        SCHEDULER_NEVER = 2, // its options admit no node of this cluster as it is
} SchedulerOutcome;

typedef struct SchedulerRefusal {
        uint32_t node;
        char *reason;
} SchedulerRefusal;

// Copies the array; what it points to must outlive the Scheduler. `foreign` may be NULL. 0 or -ENOMEM.
int scheduler_new(const SchedulerNode *nodes, size_t n_nodes, SchedulerForeign foreign, void *userdata,
                  Scheduler **ret) _warn_unused_;
Scheduler *scheduler_free(Scheduler *s);
DEFINE_CLEANUP(Scheduler *, scheduler_free)

// A SchedulerOutcome, with *ret_node only if placed; or -ENOMEM. `options` are those of this unit, not
// global.
int scheduler_place(Scheduler *s, const char *unit, const UnitOptions *options,
                    uint32_t *ret_node) _warn_unused_;

// The nodes that a global unit should run on, ascending: admitted by its options, its name free there, not
// vacating. A node that only takes no new units now (lost, suspect, cordoned) is among them: the unit
// belongs there when the node is back. *ret is malloc'd, NULL if there is none. 0 or -ENOMEM.
int scheduler_global(Scheduler *s, const char *unit, const UnitOptions *options, uint32_t **ret,
                     size_t *ret_n) _warn_unused_;
// The same question about one node. False also for a node that is not known here.
bool scheduler_wants_global(const Scheduler *s, const char *unit, const UnitOptions *options, uint32_t node);

// Why each node that is not eligible is not, ascending by node; a reason that is there to stay goes before
// one that may pass. An empty list: all are eligible. 0 or -ENOMEM; free with scheduler_refusals_free().
int scheduler_explain(const Scheduler *s, const char *unit, const UnitOptions *options,
                      SchedulerRefusal **ret, size_t *ret_n) _warn_unused_;
SchedulerRefusal *scheduler_refusals_free(SchedulerRefusal *refusals, size_t n);

// Whether the options admit units to this manager of this host.
bool scheduler_admits(const Argosy__HostRecord *host, const char *manager, const UnitOptions *options);
