// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A request as the rules of the queue see it.

#include "leader-core.h"

// The job of the update or restart that is under way and that it would be refused for; 0: there is none.
uint64_t queue_exclusive_job(const Leader *l, const Argosy__Request *request);
// Whether it puts back rules of the queue, or whether that is closed, and nothing else: no rule is about that.
bool queue_undoes_rules(const Leader *l, const Argosy__Request *request);
// The rule that counts for it, in *ret; NULL: none does. At most *left of its units are compared with rules, and taken off
// that: if there are more, false, and *look (NULL at first, queue_look_free()) is where to go on in a later turn, with the same request. What
// took several turns is kept in it until the rules change, or the files of the request; what did not is asked anew each time.
typedef struct QueueLook QueueLook;
bool queue_rule_find(const Leader *l, const Argosy__Author *author, const Argosy__Request *request, size_t *left,
                     QueueLook **look, const Argosy__QueueRule **ret);
QueueLook *queue_look_free(QueueLook *look); // NULL
