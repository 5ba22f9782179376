// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is asked, through callbacks, while a Change is planned (request.h): of the cluster, and of who may
// take a unit.

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
        // What each unit is to be, NULL: it is not named; the verb is SUBMIT then and means nothing, and no
        // unit brings others along. NULL: what the verb says.
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
        // The unit that was placed is refused after all. NULL: nothing keeps its place.
        void (*unplace)(const char *name, void *userdata);
        // In which order those of one request are placed, and whether the one role has less than the other
        // now. NULL, both: in that of their names.
        void (*rank)(const struct UnitOptions *options, ChangeRank *ret, void *userdata);
        bool (*role_before)(uint32_t a, uint32_t b, void *userdata);
        // NULL: it is gone; or nobody says.
        const char *(*node_name)(uint32_t node, void *userdata);
        // Whether a placed unit may stay: its host is not lost, takes units, and admits these options. NULL:
        // it is not moved for what it asks for, nor for a drain.
        bool (*may_stay)(uint32_t node, const struct UnitOptions *options, void *userdata);
        // It stays there with other options: what comes behind it in the request is placed by these. NULL:
        // by those that it has.
        void (*stays)(const char *name, const struct UnitOptions *options, uint32_t node, void *userdata);
        // It runs on all nodes from now on: others may have its room on its node. May be NULL.
        void (*leaves)(const char *name, void *userdata);
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
        // Calls `each` for all recorded units and templates that name the network's file. NULL: nobody does.
        void (*each_sharer)(const char *network, void (*each)(const char *name, void *userdata),
                            void *each_data, void *userdata);
        // The update that changes the network from or to that file; NULL: none does. Asked only if there is
        // each_sharer.
        const char *(*find_network_update)(const char *network, const Hash *of, void *userdata);
        // As the batch has it so far: the first by name of those on the unit's node that have another volume
        // or network of a name that it has, too, and count; *ret_claim: "network front=...", which lives as
        // long as the class of the unit. NULL: none does, or nobody says.
        const char *(*find_other)(const char *name, bool (*counts)(const char *name, void *userdata),
                                  void *counts_data, const char **ret_claim, void *userdata);
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
