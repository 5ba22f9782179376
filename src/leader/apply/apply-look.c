// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a unit of `apply` is at present (apply-look.h): facts from the leader's tables, judged by
// apply-seen.c.
//
//      apply_look() -> the unit's node, or all nodes -> ApplyFacts -> apply_seen_of()
//          -> what is seen, where, its group
//
// Of a unit that runs on all nodes the worst node counts. Nothing allocates or fails; a unit without a node
// is queued.

#include "apply-look.h"

#include "retry-controller.h"
#include "host-marks.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"

static bool waits_on_node(const UnitOnNode *s) {
        return list_is_linked(&unit_on_node_work_seen(s)->awaiting) || s->hold == HOLD_START ||
               s->hold == HOLD_BLOCKED || s->hold == HOLD_BOUND;
}

static bool has_answered(const UnitOnNode *s, const Argosy__UnitRecord *r) {
        bool launched = r->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        return unit_on_node_is_reported(s) && s->revision >= (launched ? r->start_rev : r->revision);
}

static ApplySeen see_on_node(const UnitEntry *e, const Node *n, const UnitOnNode *s) {
        const Argosy__UnitRecord *r = e->record;
        ApplyFacts f = {
                .target = r->target,
                .lost = host_is_lost(n->host) || !n->host->attached || n->reason,
                .outcome = record_final_outcome(r, n->number),
        };

        if (s) {
                f.waits = waits_on_node(s);
                f.answered = has_answered(s, r);
                f.active = s->active;
                f.restarts = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
                             str_has_prefix(unit_on_node_sub(s), "auto-restart");
                f.loops = s->looping;
                f.error = *unit_on_node_error(s);
                f.down = s->down;
        }
        return apply_seen_of(&f);
}

static ApplySight see_everywhere(const UnitEntry *e, const Unit *u) {
        ApplySight worst = {};

        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                ApplySeen seen = unit_on_node_is_to_have(s) ? see_on_node(e, s->node, s) : APPLY_SEEN_WELL;

                if (seen > worst.seen)
                        worst = (ApplySight){seen, s->node, NULL};
        }
        return worst;
}

// Whether the cluster itself is about to act on the unit: place, move or retry it.
static bool waits(const Leader *l, const Unit *u) {
        char ignored[256];

        return !u->node || u->life == LIFE_MOVING || u->life == LIFE_COMMITTING || u->life == LIFE_PENDING ||
               retry_controller_phrase(l, u, ignored, sizeof(ignored));
}

static ApplySight see(Leader *l, const UnitEntry *e, Unit *u) {
        if (e->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return (ApplySight){};
        if (u && e->record->global)
                return see_everywhere(e, u);
        if (!u || waits(l, u))
                return (ApplySight){APPLY_SEEN_QUEUED, u ? u->node : NULL, NULL};
        return (ApplySight){see_on_node(e, u->node, unit_on_node_find(u, u->node)), u->node, NULL};
}

ApplySight apply_look(Leader *l, const UnitEntry *e) {
        Unit *u = unit_find(l, e->record->name);
        ApplySight sight = see(l, e, u);

        sight.group = u ? u->budget : NULL;
        return sight;
}
