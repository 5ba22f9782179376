// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes as owners want them: open, cordoned, drained, in maintenance.
//
// A node's mode is in the log, and everything follows from it, also under the next leader: a node that is
// not open takes no new units (scheduler-nodes.c), one that is being emptied has its units moving until
// decide-moves.c has found each another node. A unit ends on the old node before it begins on the new one
// (orders.c). A unit that no other node takes stays until one does, or until the drain's deadline: then it
// is taken off the node and waits without one. What has finished for good has nothing to do elsewhere and
// leaves nothing behind.
//
// Requests for a mode are answered in node-changes.c, waits for a drain in drain-waiters.c.
#include "nodes.h"

#include <errno.h>

#include "due.h"
#include "host-marks.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-record.h"

enum { EMPTIED = 2048 }; // units that are told of it in one turn, at about 1 us each

#define MAINTENANCE ARGOSY__NODE_MODE__MODE_MAINTENANCE

// ------------------------------------------------------------------------------------------------ marks

bool node_mark(Leader *l, Node *n, NodeMark mark) {
        if (list_is_linked(&n->marks[mark]))
                return false;
        list_append(&l->node_marks[mark], &n->marks[mark]);
        return true;
}

void node_forget_former_name(Node *n) {
        free(n->former_name);
        n->former_name = NULL;
}

// ------------------------------------------------------------------------------------------------ modes

bool node_is_unreachable(const Node *n) {
        return n->reason || host_is_lost(n->host);
}

bool node_is_heard(const Node *n) {
        return n->host->attached && !node_is_unreachable(n);
}

bool node_is_emptying(const Node *n) {
        return n->mode >= ARGOSY__NODE_MODE__MODE_DRAINING;
}

bool node_deadline_is_over(const Leader *l, const Node *n) {
        return n->deadline_us && n->deadline_us <= leader_wall(l);
}

bool record_has_to_leave(const Argosy__UnitRecord *r) {
        return r->target != ARGOSY__TARGET__TARGET_INACTIVE &&
               !(r->target == ARGOSY__TARGET__TARGET_LAUNCHED && record_final_outcome(r, r->node));
}

bool unit_has_to_leave(const Unit *u, const UnitEntry *e) {
        return u->node && node_is_emptying(u->node) && e && record_has_to_leave(e->record);
}

static void empty(Leader *l, Node *n) {
        n->empty_placed = n->placed.next;
        if (!list_is_linked(&n->emptying))
                list_append(&l->nodes_emptying, &n->emptying);
        leader_mark(l);
}

void node_empty_anew(Leader *l, Node *n) {
        if (node_is_emptying(n))
                empty(l, n);
}

static bool is_walked(const Node *n) {
        return !node_is_emptying(n) || n->empty_placed == &n->placed;
}

bool nodes_empty_step(Leader *l) {
        unsigned looks = 0;

        while (!list_is_empty(&l->nodes_emptying)) {
                Node *n = CONTAINER_OF(l->nodes_emptying.next, Node, emptying);

                for (; !is_walked(n) && looks < EMPTIED; looks++) {
                        Unit *u = CONTAINER_OF(n->empty_placed, Unit, placed);

                        n->empty_placed = n->empty_placed->next;
                        if (u->leaves) // it may be waiting for its budget, which the deadline ends
                                unit_event(l, u, LIFE_RECONSIDER_ANYWAY);
                }
                if (!is_walked(n)) {
                        leader_mark(l);
                        return false;
                }
                n->empty_placed = NULL;
                list_unlink(&n->emptying);
        }
        return true;
}

static const char *mode_phrase(Argosy__NodeMode mode) {
        switch (mode) {
        case ARGOSY__NODE_MODE__MODE_CORDONED:
                return "the node is cordoned";
        case ARGOSY__NODE_MODE__MODE_DRAINING:
                return "the node is being drained";
        case ARGOSY__NODE_MODE__MODE_MAINTENANCE:
                return "the node is in maintenance";
        default:
                return "the node is closed";
        }
}

int node_sync_mode(Leader *l, Node *n, const Argosy__NodeRecord *record) {
        bool changed = n->mode != record->mode || n->deadline_us != record->mode_deadline_us,
             maintained = (n->mode == MAINTENANCE) != (record->mode == MAINTENANCE);
        char *closed = NULL;

        if (record->mode != ARGOSY__NODE_MODE__MODE_OPEN) {
                closed = str_printf("%s%s%s", mode_phrase(record->mode), *record->mode_reason ? ": " : "",
                                    record->mode_reason);
                if (!closed)
                        return -ENOMEM;
        }
        free(n->closed);
        n->closed = closed;
        n->mode = record->mode;
        n->deadline_us = record->mode_deadline_us;
        n->deadline_done = changed ? node_deadline_is_over(l, n) : n->deadline_done;
        if (!node_is_emptying(n) || !n->deadline_us)
                list_unlink(&n->deadline);
        else if (!list_is_linked(&n->deadline))
                list_append(&l->drain_deadlines, &n->deadline);
        if (changed)
                leader_set_due(l, DUE_ENQUEUED | DUE_DATA);
        if (maintained) // global units leave, or come back
                list_foreach (i, &n->units_on_node)
                        unit_on_node_count(CONTAINER_OF(i, UnitOnNode, by_node));
        if (changed && node_is_emptying(n))
                empty(l, n);
        return 0;
}

// ------------------------------------------------------------------------------------------------ reasons

void node_set_reason(Leader *l, Node *n, const char *reason) {
        const char *now = n->reason ?: "";
        size_t len = str_cut(reason, REASON_MAX); // what would be kept

        if (strlen(now) == len && memcmp(now, reason, len) == 0)
                return;
        free(n->reason);
        n->reason = *reason ? str_dup_cut(reason, REASON_MAX) : NULL;
        leader_set_due(l, DUE_PLACEMENT | DUE_WAITS);
        tally_node(l, n);
        host_mark_place(l, n->host);
        node_mark(l, n, NODE_TOUCHED);
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ deadlines

// The earliest that was not acted on, as a boot time; 0: none.
uint64_t nodes_next_deadline(const Leader *l) {
        uint64_t next = 0, wall = leader_wall(l);

        list_foreach (i, &l->drain_deadlines) {
                const Node *n = CONTAINER_OF(i, Node, deadline);

                if (!n->deadline_done && (!next || n->deadline_us < next))
                        next = n->deadline_us;
        }
        return next ? leader_now(l) + (next > wall ? next - wall : 0) : 0;
}

// What runs on there until it may stop (image-moves.c) is not waited for any more.
static void release_held(Leader *l, const Node *n) {
        list_foreach (i, &n->units_on_node) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);

                if (s->hold == HOLD_STOP)
                        unit_touch_itself(l, s->unit);
        }
}

void nodes_on_time(Leader *l) {
        if (!l->drain_due_us || l->drain_due_us > leader_now(l))
                return;
        list_foreach (i, &l->drain_deadlines) {
                Node *n = CONTAINER_OF(i, Node, deadline);

                if (n->deadline_done || !node_deadline_is_over(l, n))
                        continue;
                n->deadline_done = true;
                empty(l, n);
                release_held(l, n);
                leader_set_due(l, DUE_DATA);
        }
        l->drain_due_us = nodes_next_deadline(l);
}

// The time may have gone back: by the voters' clocks a deadline is to come that was over by the log's time.
void nodes_on_wall(Leader *l) {
        list_foreach (i, &l->drain_deadlines) {
                Node *n = CONTAINER_OF(i, Node, deadline);

                n->deadline_done &= node_deadline_is_over(l, n);
        }
        l->drain_due_us = nodes_next_deadline(l);
}

void nodes_retire(Leader *l) {
        for (unsigned mark = 0; mark < NODE_MARKS; mark++)
                list_init(&l->node_marks[mark]);
        list_init(&l->nodes_emptying);
        list_init(&l->drain_deadlines);
}
