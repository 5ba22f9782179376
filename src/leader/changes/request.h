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
#include "change-ops.h"
#include "cluster-state.h"

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
