// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a Change request means: operations for the log, and one result per unit. Pure: the state is only
// read, and who may take a unit is asked through a callback.
//
// Units are planned in the order in which they would have their turns in a round (request-turns.c), and
// answered in that of their names, those that activate others behind the others.
//
// A unit that cannot be had gets its own error and stores nothing; the others go on. What a request does to
// one unit is all or nothing.
//
//   verb      needs                          target            explicit
//   submit    a file                         as it is          -
//   load      a file or a record             loaded (1)        -
//   start     a file or a record             launched          start
//   stop      loaded or launched             loaded            stop
//   restart   loaded or launched             launched          start, and restart if it was launched
//   unload    a record                       inactive          -
//   destroy   a record                       record removed    -
//
//   (1) a launched unit stays launched: to load is no order to stop
//
// What is loaded or started brings what it needs along: the unit that a timer, socket, path or automount
// activates, and what [Install] Also= names, are loaded too if the cluster knows them and they are not. Who
// is stopped, unloaded or destroyed while something may still activate it is told so.
//
// What a unit needs on other nodes ([X-Argosy] Requires=, BindsTo=, Wants=) is started with it; who needs a
// unit or is part of it is stopped, and restarted, with it. Dependencies that would make a cycle once the
// whole request is done are refused, all of those in the request that make it.
//
// Where a file comes from: the unit's own record, the file that the client found, the template's record, the
// template's file that the client found, what the other instances got from their template, in this order. An
// instance keeps the content that it got; --replace (and nothing else) takes over what the client found.

#include "batch-builder.h"
#include "cluster-state.h"
#include "dependencies.h"
#include "dependency-cycles.h"

struct UnitOptions;

typedef struct ChangePlace {
        uint32_t node;              // 0: nobody takes it now
        bool possible;              // some member could if it were up
        char why[256];              // if it is not the nodes that keep it from one; else ""
        char elsewhere[256];        // it runs where argosy cannot take it over, in one sentence; else ""
        Argosy__Refusal **refusals; // owned by the result that they end in
        size_t n_refusals;
} ChangePlace;

// What the turn of a unit in a request follows from, besides its priority.
typedef struct ChangeRank {
        uint32_t role;  // its number
        uint32_t share; // that it demands: of the resource of which this is most, in millionths of what
                        // there is
} ChangeRank;

// What a unit is to be, whatever it is now.
typedef struct ChangeAim {
        bool remove; // nothing: the rest does not count
        bool from_template;
        SpecEntry *spec; // a content that the cluster has, or
        size_t file;     // 1...: of the Change, which has to be this:
        Hash hash;
        const char *set; // that it belongs to; NULL: as it is
        Argosy__Target target;
        unsigned bump; // BATCH_BUMP_START and so on
        bool keeps_secrets; // in the versions that it has
} ChangeAim;

typedef struct ChangeContent {
        const struct UnitFile *file;
        const void *text;
        size_t len;
} ChangeContent;

typedef struct ChangeOps {
        // What each unit is to be; the verb is SUBMIT then and means nothing, and no unit brings others
        // along. NULL: what the verb says.
        const ChangeAim *(*aim)(const char *name, void *userdata);
        // What runs gets this content of a container, on that node (0: on those where it is): whether its
        // image can be there before anything stops. 0; *ret_why (owned): no, and why; -ENOMEM. NULL: nobody
        // asks.
        int (*image)(const char *name, uint32_t node, const ChangeContent *content, char **ret_why,
                     void *userdata);
        // Which node takes the unit, and if none does, why. `activates`: the unit that it activates, NULL:
        // none. `mate`: the options of one that is about to be placed, and is to be on the same node; NULL:
        // none. -ENOSPC or -EINVAL: it demands what cannot be counted any more; -E2BIG: more than
        // PLACEMENT_FOLLOWS_MAX would be on one node together.
        int (*place)(const char *name, const char *activates, const struct UnitOptions *options,
                     const struct UnitOptions *mate, ChangePlace *ret, void *userdata);
        // In which order those of one request are placed, and whether the one role has less than the other
        // now. NULL, both: in that of their names.
        void (*rank)(const struct UnitOptions *options, ChangeRank *ret, void *userdata);
        bool (*role_before)(uint32_t a, uint32_t b, void *userdata);
        // NULL: it is gone; or nobody says.
        const char *(*node_name)(uint32_t node, void *userdata);
        // Whether a placed unit may stay: its host is not lost, takes units, and admits these options. NULL:
        // it is not moved for what it asks for, nor for a drain.
        bool (*may_stay)(uint32_t node, const struct UnitOptions *options, void *userdata);
        // Whether a unit of a lost host has to wait before it may run elsewhere. NULL: none has.
        bool (*waits)(const char *name, void *userdata);
        // Whether there is a role of this name; -EBUSY: not to be said in this batch. NULL: all are.
        int (*role_known)(const char *name, void *userdata);
        // What the instances of a template that is not recorded itself have of it. Whether there are any,
        // and *ret; -ENOTUNIQ: not the same. NULL: there are never any.
        int (*siblings)(const char *template, SpecEntry **ret, void *userdata);
        // The first recorded unit that activates this one and for which `counts` says so, or NULL.
        const char *(*find_activator)(const char *name, bool (*counts)(const char *name, void *userdata),
                                      void *counts_data, void *userdata);
        // Dependencies; NULL: nobody has any. Whether the unit is launched and seen to run.
        bool (*is_up)(const char *name, void *userdata);
        // Whether it is launched where nobody hears of it, so that it may run on. NULL: nothing is.
        bool (*is_unheard)(const char *name, void *userdata);
        // As dependencies_each_on() of what the cluster has.
        bool (*each_dependent)(const char *name, DependencyEach each, void *each_data, void *userdata);
        // The batch is about to give the unit these dependencies, in place of those that it has, if any. 0
        // or -ENOMEM.
        int (*order)(const char *name, const struct UnitDependency *list, size_t n, void *userdata);
        // As dependency_cycles_find(), of these units as the batch has them now.
        int (*cycles)(const char *const *names, size_t n, CycleFound found, void *found_data,
                      void *userdata);
} ChangeOps;

// Plans into `b`. 0 and *ret; -EBUSY: a unit is touched by somebody else in this batch already, try in the
// next (b is as before); -ENOMEM (b is as before). Revisions are missing from the results: see
// change_note_kept() and change_complete().
int change_plan(ClusterState *state, const Argosy__Request__Change *change, BatchBuilder *b,
                const ChangeOps *ops, void *userdata, Argosy__Response **ret);
// Called after change_plan(), `start` being the batch before it: fills in the revisions of units that stay
// as they are. Other operations of the entry may change these units, and the answer is about the records of
// before.
void change_note_kept(const ClusterState *state, const BatchBuilder *b, BatchBuilderMark start,
                      Argosy__Response *planned);
// After the batch was applied: fills in revisions and nodes. `node_name` may return NULL.
void change_complete(const ClusterState *state, Argosy__Response *response,
                     const char *(*node_name)(uint32_t node, void *userdata), void *userdata);
// The answer to a request whose id was applied before, from the records as they are now. `planned` is what
// change_plan() makes of it today (its operations are to be thrown away): its errors stand, except where
// they come from the request's own success.
void change_repeat(const Argosy__Request__Change *change, Argosy__Response *planned);
