// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What holds a request: judged by the rule in held-job.h, from what the log says of other jobs and of the
// queue; and how that is said.

#include "held-job.h"
#include "leader-core.h"
#include "queue-subject.h"

enum { HELD_WHY_SIZE = 256 };

// When a request is judged.
typedef enum HeldMoment {
        HELD_COMES,   // it has come, and is to be decided
        HELD_IS_DUE,  // a job may be able to go
        HELD_DECIDED, // it goes, and its turn has come to be decided
} HeldMoment;

typedef struct HeldQuestion {
        const Argosy__Author *author;
        const Argosy__Request *request;
        const Argosy__StoredRequest *stored; // what the log has of it; NULL: it has just come
        HeldMoment moment;
} HeldQuestion;

// What holds it. *ret_rule: by which rule it is held or refused, or which counts it; NULL: none. False: of
// so many units that it is known in a later turn; *left and *look are those of queue_rule_find().
bool held_verdict_find(Leader *l, const HeldQuestion *q, size_t *left, QueueLook **look, HeldJobVerdict *ret,
                       const Argosy__QueueRule **ret_rule);
// The same by what needs no look at what it asks for: it may be held all the same, if this says that it
// goes.
HeldJobVerdict held_verdict_without_rules(const Leader *l, const Argosy__StoredRequest *m);
// For people; "": nothing, or nobody knows. `after`: a job that it waits for, and how many there are.
void held_verdict_phrase(const Leader *l, HeldJobVerdict v, const Argosy__QueueRule *rule,
                         const uint64_t *after, size_t n_after, char ret[HELD_WHY_SIZE]);
