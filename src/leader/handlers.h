// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader does about each kind of request that it has the answer to: one row for each, beside the one in
// model/request-kind.c. Which of its functions a row has follows from that one (a test compares):
//
//      LEADER READS     answer, answer_to, answer_each   at once, also by a voter that does not lead; or in turns (is_long)
//      LEADER WAITS     begin                 puts the ticket where whoever answers it later finds it
//      NODES  READS     begin                 no row here: node_calls_start(), and a row in queries/node-calls.c
//      LEADER CHANGES   plan, decide          when the next log entry is decided

#include "leader-core.h"

typedef struct Decision Decision;
typedef struct BatchBuilder BatchBuilder;

// What else is to be known of a kind that goes into the log. All of it is chosen for each of them (a test compares).
typedef struct HandlerLog {
        // How much room an entry needs for it.
        enum {
                ENTRY_SMALL = 1, // as for one unit
                ENTRY_UNITS,     // for those that it names, or a part of them
                ENTRY_FULL,      // as much as the leader fills by itself
        } entry;
        // What must not have changed since the revision that it is bound to (Request.Job.if_revision).
        enum {
                BOUND_UNITS = 1, // those that it names
                BOUND_GROUP,     // that unit or template, and its instances
                BOUND_FOLDER,    // what the folder is about
                BOUND_CLUSTER,   // hosts, pools and the cluster
                BOUND_ROLES,
                BOUND_QUEUE,
                BOUND_RIGHTS,    // and tokens of programs
                BOUND_JOBS,      // those that it names
                BOUND_CONTENTS,  // the same: jobs that have brought or replaced them
                BOUND_LATER,     // who plans it says so, once that is read
        } bound;
        // What is done with it when the log has it already, by its id.
        enum {
                AGAIN_ANSWERED = 1, // who asks is told that it was done
                AGAIN_PLANNED,      // once more, for the answer
                AGAIN_CURRENT,      // the same, if it is what is under way still
        } again;
} HandlerLog;

typedef struct Handler {
        // One response, or NULL for want of memory. The id and the like are set by whoever asks.
        Argosy__Response *(*answer)(Leader *l, const Argosy__Request *request);
        // The same, if it is not the same for everybody, and not only by what authorization_filter() takes out.
        Argosy__Response *(*answer_to)(Leader *l, const Argosy__Author *author, const Argosy__Request *request);
        // May be NULL. It is of so many units that the answer is made in turns (queries/listings.c).
        bool (*is_long)(const Leader *l, const Argosy__Request *request);
        // Several: gives them all, the last one final, before it returns.
        void (*answer_each)(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
        int (*begin)(Leader *l, Ticket *t); // 0 or a negative errno
        // PLAN_IN_BATCH; PLAN_SETTLED; -EBUSY: next batch; or a negative errno (core/tickets.h).
        int (*plan)(Leader *l, Ticket *t, BatchBuilder *b);
        int (*decide)(Decision *d, Ticket *t); // the same for who places units as well
        HandlerLog log; // of these two
        // May be NULL. Answers what cannot be taken on at all; NULL: it can.
        Argosy__Response *(*refuse)(const Argosy__Request *request);
        uint32_t level; // the feature level that it came with; 0: was always there
} Handler;

// NULL: the leader of this build does not answer that.
const Handler *handler_find(Argosy__Request__WhatCase what);

// Answers at once, with all that is said cut down to what one queue holds, and to what the author may see; that he may ask
// this at all is known. False: that is not for this kind, or would
// take long.
bool handler_answer(Leader *l, const Argosy__Author *author, const Argosy__Request *request, LeaderRespond respond,
                    void *userdata);
