// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the two parts of planning a Change share: request.c (one unit) and request-together.c (what belongs
// to it).

#include "map.h"
#include "request.h"
#include "unit-file.h"

typedef struct Planner {
        ClusterState *state;
        const Argosy__Request__Change *change;
        Draft *batch;
        const ChangeOps *ops;
        void *userdata;
        UnitFile **parsed; // of change->files, as far as needed
        Hash *hashes;      // likewise
        Map named;         // change->names, once somebody asked
        DraftMark start;   // of this request
        unsigned depth;    // of units that bring others along
} Planner;

// A unit's content as this request would have it.
typedef struct Source {
        const UnitFile *file;
        Hash hash;
        const void *content; // NULL: the log has it already
        size_t len;
        bool from_template;
        bool changes; // the record gets another content
} Source;

// request.c
// Plans a unit: 1: the result has an error, and what was put into the batch is to be taken back.
int request_plan_unit(Planner *p, const char *name, Argosy__Response__UnitResult *result);

// request-together.c
// Whether it is planned after the units that it may activate.
bool request_is_activator(const char *name);
// Loads what the unit needs and is not loaded, before the unit itself is planned. What cannot be had is a
// warning.
int request_bring_along(Planner *p, const char *name, const Source *source,
                        Argosy__Response__UnitResult *result);
// Warns if it is somewhere else than what it activates. Afterwards.
int request_warn_apart(Planner *p, const char *name, const Source *source,
                       Argosy__Response__UnitResult *result);
// Warns if it is about to go, or to stop, and something may activate it all the same.
int request_warn_activated(Planner *p, const char *name, Argosy__Response__UnitResult *result);
