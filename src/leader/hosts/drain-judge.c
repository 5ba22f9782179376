// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See drain-judge.h. A drain is over when nothing is left on its nodes, when one of them is not being
// emptied any more, or when only such units are left as no other node takes, nothing else can move, and no
// deadline is to come. It goes on as long as its host may hold what this leader does not know.
#include "drain-judge.h"

#include "host-marks.h"
#include "nodes.h"
#include "pending.h"
#include "registry.h"
#include "tables.h"
#include "unit-event.h"

static void view_node(DrainView *v, const Node *n) {
        v->emptying &= node_is_emptying(n);
        v->left += n->n_to_leave + n->n_leaving;
        v->stuck += n->n_stuck;
        v->ends |= n->deadline_us && !n->deadline_done;
}

DrainView drain_view(const Host *h, uint32_t node) {
        DrainView v = {.emptying = true, .unattached = !host_has_reported(h) && !host_is_lost(h)};

        list_foreach (i, &h->nodes) {
                const Node *n = CONTAINER_OF(i, Node, of_host);

                if (node == 0 || n->number == node)
                        view_node(&v, n);
        }
        return v;
}

DrainEnd drain_view_judge(const Leader *l, const DrainView *v) {
        if (!v->emptying)
                return DRAIN_OVER;
        if (v->left == 0 && !v->unattached)
                return DRAIN_EMPTY;
        return !v->unattached && v->stuck == v->left && !v->ends && !units_are_moving(l) &&
                               !l->batch_flying && !pending_is_due(l) && l->n_hosts.unattached == 0
                       ? DRAIN_STUCK
                       : DRAIN_GOES_ON;
}

DrainEnd drain_judge(const Leader *l, uint32_t node, size_t *ret_left) {
        const Node *n = node_find(l, node);
        DrainView v;

        *ret_left = 0;
        if (!n)
                return DRAIN_GONE;
        v = drain_view(n->host, node);
        *ret_left = v.left;
        return drain_view_judge(l, &v);
}
