// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader does about each kind of request that it has the answer to: one row for each, beside the
// one in model/request-kind.c. Which of its functions a row has follows from that one (a test compares):
//
//      LEADER READS     answer, answer_to, answer_each   at once, also by a voter that does not lead; or in
//                                                        turns (is_long)
//      LEADER WAITS     begin                 puts the pending request into the list of those that are
//                                             answered later
//      NODES  READS     begin                 no row here: node_questions_start(), and a row in
//                                             queries/node-questions.c
//      LEADER CHANGES   plan, decide          when the next log entry is decided

#include "handler-log.h"
#include "leader-core.h"

typedef struct Decision Decision;
typedef struct BatchBuilder BatchBuilder;

typedef struct Handler {
        // One response, or NULL for want of memory. The caller sets the id and the like.
        Argosy__Response *(*answer)(Leader *l, const Argosy__Request *request);
        // The same, if it is not the same for everybody, and not only by what authorization_filter() takes
        // out.
        Argosy__Response *(*answer_to)(Leader *l, const Argosy__Author *author,
                                       const Argosy__Request *request);
        // May be NULL. It is of so many units that the answer is made in turns, which begin_long() sets out
        // on (0 or a negative errno).
        bool (*is_long)(const Leader *l, const Argosy__Request *request);
        int (*begin_long)(Leader *l, PendingRequest *t);
        // Several: gives them all, the last one final, before it returns.
        void (*answer_each)(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                            void *userdata);
        int (*begin)(Leader *l, PendingRequest *t); // 0 or a negative errno
        // PLAN_IN_BATCH; PLAN_SETTLED; -EBUSY: next batch; or a negative errno (core/pending-requests.h).
        int (*plan)(Leader *l, PendingRequest *t, BatchBuilder *b);
        int (*decide)(Decision *d, PendingRequest *t); // the same for who places units as well
        // May be NULL. False: it waits for something that takes longer than an entry, and others go before
        // it; a mark comes when that is over.
        bool (*may_begin)(Leader *l, const PendingRequest *t);
        // May be NULL. What is said of what has begun and cannot go on, by the error of plan or decide;
        // NULL: as of any other.
        Argosy__Response *(*failed)(const PendingRequest *t, int error);
        HandlerLog log; // of these two
        // May be NULL. Answers what cannot be taken on at all; NULL: it can.
        Argosy__Response *(*refuse)(const Argosy__Request *request);
} Handler;

// NULL: the leader of this build does not answer that.
const Handler *handler_find(Argosy__Request__WhatCase what);

// Answers at once; the answer is limited to what one queue holds, and to what the author may see. The
// author's right to ask was judged before. False: this kind is not answered at once, or it would take long.
bool handler_answer(Leader *l, const Handler *h, const Argosy__Author *author,
                    const Argosy__Request *request, LeaderRespond respond, void *userdata);
