// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A request as the rules of the queue see it.

#include "leader-core.h"

// The job of a rebalance that is under way, for which others may wait (rollouts/rebalances.h).
struct RebalanceJob {
        Argosy__Request *request; // owned, as is
        Argosy__Author *author;
        uint64_t content; // job_request_content()
        uint64_t number;  // 0: nothing of it is in the log
        uint64_t flying;  // in the entry that is on its way; 0: nothing of it is
        // Under which it was held back: until its last entry the log keeps its request, so that any leader
        // goes on with it. 0: it was not.
        uint64_t held;
        uint32_t limited_by; // rule of the queue that counts it; 0: none
        bool awaited;        // a job waits for it: it has a number then, whether it moves anything or not
        bool is_last;        // all of it is over, and only the log is yet to hear that
};

// Whether this request for a rebalance is the one that began it, sent again by the same author.
bool rebalance_job_is_asked_by(const RebalanceJob *job, const Argosy__Request *request);

// Whether something is under way that it would be refused for: an update or a restart, another rebalance.
// *ret: its job; 0: it has none yet.
bool queue_exclusive_job(const Leader *l, const Argosy__Request *request, uint64_t *ret);
// Whether it puts back rules of the queue, or whether that is closed, and nothing else: no rule is about
// that.
bool queue_undoes_rules(const Leader *l, const Argosy__Request *request);
// The rule that counts for it, in *ret; NULL: none does. At most *left of its units are compared with rules,
// and taken off that: if there are more, false, and *look (NULL at first, queue_look_free()) is where to go
// on in a later turn, with the same request. What was found is kept in it until the rules change, or the
// files of the request or of a unit whose role was asked for.
typedef struct QueueLook QueueLook;
bool queue_rule_find(Leader *l, const Argosy__Author *author, const Argosy__Request *request, size_t *left,
                     QueueLook **look, const Argosy__QueueRule **ret);
QueueLook *queue_look_free(QueueLook *look); // NULL
// That of a pending request, which keeps it from one turn to the next. NULL: there is none, or it is
// dropped.
QueueLook *queue_look_take(PendingRequest *t);
void queue_look_keep(PendingRequest *t, QueueLook *look);
// What was asked of units for that. NULL: nothing, since no rule is about the request.
typedef struct QueueWatch QueueWatch;
struct HeldJob;
QueueWatch *queue_look_take_watch(QueueLook *look, struct HeldJob *job); // of one that is known now
// NULL. What it has asked about is freed in later turns, or when the term ends.
QueueWatch *queue_watch_free(QueueWatch *w);
void queue_watches_turn(Leader *l);   // frees some
void queue_watches_retire(Leader *l); // frees all
// An entry of the log has changed this unit, or removed it.
void queue_names_on_unit(Leader *l, const UnitEntry *e);
// The next job of which something may be found that is not so any more; NULL: there is none.
struct HeldJob *queue_take_changed(Leader *l);
