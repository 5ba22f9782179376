// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units whose node is lost and that do not move at once: those whose owner gives the node time to come back
// (NodeLost=, NodeLostDelaySec=), and those that may still run there until they have certainly stopped
// (CutOff=stop).
//
// Such a unit stays placed on the lost node, so the next leader finds it there, and counts anew from when
// it finds the host lost: later than this one would have, never sooner. Until its time comes it waits in
// Leader.move_deadlines and costs nothing; then it is moved like any other, if it still has to be.
//
// One that was already placed elsewhere when its old node was cut off is held back by previous-nodes.c
// instead, as long.
//
// A drain of the lost node overrides NodeLost=, but not the time that CutOff=stop needs. A removal of the
// host, or an unload of the unit, says that nothing of it runs any more.
#include <errno.h>

#include "activation-affinity.h"
#include "clock.h"
#include "deadline-heap.h"
#include "host-marks.h"
#include "node-loss-controller.h"
#include "node-loss-policy.h"
#include "nodes.h"
#include "previous-nodes.h"
#include "registry.h"
#include "tables.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-work.h"

static uint64_t moves_at_by_itself(const Leader *l, const Unit *u, const UnitEntry *e) {
        const Node *n = u->node;
        NodeLossView v = {.options = failing_options_of(e)};

        v.lost_us = n->host->lost_us;
        v.runs_until_us = previous_node_runs_until(l, u, e, n);
        v.emptying = node_is_emptying(n);
        v.deadline_over = node_deadline_is_over(l, n);
        return node_loss_policy_move_at(&v);
}

uint64_t node_loss_moves_at(const Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitEntry *activator;
        const Unit *a;
        uint64_t at;

        if (!u->node || !host_is_lost(u->node->host))
                return 0;
        at = moves_at_by_itself(l, u, e);
        activator = activation_affinity_activator_here(l, e);
        a = activator ? unit_find(l, activator->record->name) : NULL;
        return a && a->node == u->node ? MAX_OF(at, moves_at_by_itself(l, a, activator)) : at;
}

bool node_loss_stays(const Leader *l, const Unit *u, const UnitEntry *e) {
        const FailingOptions *o = failing_options_of(e);
        const Node *n = u->node;

        if (!n)
                return false;
        if (o->cut_off_stop && !n->host->attached && !host_is_lost(n->host))
                return true;
        return o->node_lost == NODE_LOST_NEVER && node_is_emptying(n) && !node_deadline_is_over(l, n) &&
               !unit_exclusion(u, n->number);
}

bool node_loss_strands(const Leader *l, const Unit *u, const UnitEntry *e) {
        if (!e || !u->node)
                return false;
        return u->node->reason || (u->life == LIFE_STRANDED && host_is_lost(u->node->host)) ||
               node_loss_moves_at(l, u, e) == NODE_LOSS_NEVER;
}

int node_loss_delay(Leader *l, Unit *u, uint64_t at_us) {
        unit_event(l, u, LIFE_WAITS);
        unit_touch(l, u);
        return at_us == NODE_LOSS_NEVER ? 0 : unit_set_deadline(l, u, UNIT_MOVES, at_us);
}

void node_loss_on_time(Leader *l) {
        Unit *u;

        while ((u = unit_take_deadline(l, UNIT_MOVES)))
                unit_event(l, u, LIFE_RECONSIDER);
}

static const char *in_how_long(uint64_t us, char buf[static 32]) {
        uint64_t sec = (us + USEC_PER_SEC - 1) / USEC_PER_SEC;

        if (sec < 120)
                snprintf(buf, 32, "%llus", (unsigned long long) sec);
        else
                snprintf(buf, 32, "%llumin", (unsigned long long) ((sec + 59) / 60));
        return buf;
}

bool node_loss_why(const Leader *l, const Unit *u, const UnitEntry *e, char *ret, size_t size) {
        const FailingOptions *o = failing_options_of(e);
        uint64_t at = node_loss_moves_at(l, u, e), now = leader_now(l);
        char buf[32];

        if (at <= now)
                return false;
        if (at == NODE_LOSS_NEVER && o->has_data) {
                snprintf(ret, size,
                         "its data is on %s, which is lost: it waits for the node, and VolumeLoss=accept "
                         "would let it begin without that elsewhere",
                         u->node->name);
                return true;
        }
        if (at == NODE_LOSS_NEVER) {
                snprintf(ret, size, "its node is lost, and NodeLost=%s: it waits for the node",
                         o->node_lost == NODE_LOST_NEVER ? "never" : "keep");
                return true;
        }
        if (previous_node_runs_until(l, u, e, u->node) == at && u->node->host->down)
                snprintf(ret, size, "its node was shut down while it may have run on; it moves in %s",
                         in_how_long(at - now, buf));
        else if (previous_node_runs_until(l, u, e, u->node) == at)
                snprintf(ret, size,
                         "its node is lost; it moves in %s, when it has certainly stopped there "
                         "(CutOff=stop)",
                         in_how_long(at - now, buf));
        else
                snprintf(ret, size, "its node is lost; it moves in %s", in_how_long(at - now, buf));
        return true;
}
