// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Modes of nodes, and what a drain waits for.

#include "leader-core.h"
#include "tables.h"

// Marks, as those of hosts (host-marks.h). true: it was not set before; and the first that has it, which has
// it no more; NULL: none
bool node_mark(Leader *l, Node *n, NodeMark mark);
static inline bool nodes_have_mark(const Leader *l, NodeMark mark) {
        return !list_is_empty(&l->node_marks[mark]);
}
static inline Node *node_take_marked(Leader *l, NodeMark mark) {
        ListNode *first = l->node_marks[mark].next;

        if (!nodes_have_mark(l, mark))
                return NULL;
        list_unlink(first);
        return CONTAINER_OF(first - mark, Node, marks);
}
void node_forget_former_name(Node *n); // watchers know its new name
// Nobody knows what its units do: the host is lost or its manager cannot be used.
bool node_is_unreachable(const Node *n);
// Its host is in session and can ask its manager: a unit that it has not named is not there.
bool node_is_heard(const Node *n);
bool node_is_emptying(const Node *n);
bool node_deadline_is_over(const Leader *l, const Node *n);
bool unit_has_to_leave(const Unit *u, const UnitEntry *e);
int node_sync_mode(Leader *l, Node *n, const Argosy__NodeRecord *record);
// The manager came or went, or cannot be used for another reason; "": it can. What is placed there stays: it
// could go nowhere else, and may run again as soon as the manager does.
void node_set_reason(Leader *l, Node *n, const char *reason);
uint64_t nodes_next_deadline(const Leader *l);
void nodes_on_time(Leader *l);
void nodes_on_wall(Leader *l); // leader_wall() is another one
// Its host is not lost any more: units that were to leave the node, and waited since their host was lost,
// are looked at again.
void node_empty_anew(Leader *l, Node *n);
// Goes on with telling units that their nodes are being emptied. Whether all were told: nobody decides
// before.
bool nodes_empty_step(Leader *l);
bool record_has_to_leave(const Argosy__UnitRecord *r); // if its node is emptied
void nodes_retire(Leader *l); // a term is over: nothing is due of those that there were
