// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes that a unit has left and may still run on: what overlap.h asks about them, from the tables.
//
// What a host holds is known by its sites, from what it said when it attached, has reported and was ordered
// since. A new leader knows nothing of the kind before it has heard the host, so the unit's record names the
// nodes too (`left`): whenever a record is written, those on which the unit may run at that moment. They are
// not written for their own sake, so the record may name a node that has let go long ago; that host's next
// words say so.
//
// An order that waits puts its site into Leader.awaiting. It is looked at again when a report touches the
// old home's site or that site goes (orders_release()), when its time has come (Unit.due), and when a host
// was heard, lost or removed (Leader.homes_due): then all that wait are, which are few, and nothing else.
#include <errno.h>

#include "leader-private.h"
#include "overlap.h"

static bool is_down(const Site *s) {
        return s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE ||
               s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
}

// `s`: the unit's site there, if any.
static OldHome look(const Node *n, const Site *s) {
        const Host *h = n->host;

        return (OldHome){
                .stopped = h->down || !h->recorded,
                .heard = h->heard,
                .held = s && (s->ordered || s->reported),
                .ended = s && s->reported && s->leaving && is_down(s),
                .lost = host_is_lost(h),
                .lost_us = h->lost_us,
        };
}

uint64_t home_runs_until(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        OldHome home = look(n, site_find(u, n));
        uint64_t until = overlap_until(&home, failing_options_of(e), l->config.lease_ms * USEC_PER_MSEC);

        return until > leader_now(l) ? until : 0;
}

// The earlier one of those that are in the way.
static void consider(const Leader *l, const Site *s, const UnitEntry *e, const Node *n,
                     const Node **in_the_way, uint64_t *until) {
        uint64_t t = n && n != s->node ? home_runs_until(l, s->unit, e, n) : 0;

        if (!t || (*in_the_way && *until <= t))
                return;
        *in_the_way = n;
        *until = t;
}

const Node *home_in_the_way(const Leader *l, const Site *s, uint64_t *ret_until_us) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);
        const Node *in_the_way = NULL;

        *ret_until_us = 0;
        if (!e || list_is_linked(&s->unit->global) || (s->reported && !is_down(s)))
                return NULL;
        list_foreach (i, &s->unit->sites)
                consider(l, s, e, CONTAINER_OF(i, Site, by_unit)->node, &in_the_way, ret_until_us);
        for (size_t i = 0; i < e->record->n_left; i++)
                consider(l, s, e, node_find(l, e->record->left[i]), &in_the_way, ret_until_us);
        return in_the_way;
}

bool home_is_kept(Leader *l, Site *s) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);
        uint64_t until = e ? home_runs_until(l, s->unit, e, s->node) : 0;

        return until && s->unit->node != s->node && due_set(&l->dues, &s->unit->due, until) == 0;
}

void homes_on_time(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

        if (!e)
                return;
        orders_release(l, u);
        list_foreach_safe (i, &u->sites) {
                Site *s = CONTAINER_OF(i, Site, by_unit);

                if (s->node != u->node && host_is_lost(s->node->host) && !home_runs_until(l, u, e, s->node))
                        site_free(l, s);
        }
}

void homes_look_again(Leader *l) {
        if (!l->homes_due)
                return;
        l->homes_due = false;
        list_foreach (i, &l->awaiting) {
                Site *s = CONTAINER_OF(i, Site, awaiting);

                orders_mark(l, s->unit, s->node);
        }
}

// ------------------------------------------------------------------------------------------------ records

static void add_left(const Leader *l, const UnitEntry *e, uint32_t number, const Argosy__UnitRecord *next,
                     uint32_t *left, size_t *n_left) {
        const Unit *u = unit_find(l, next->name);
        const Node *n = node_find(l, number);

        if (!u || !n || number == next->node || !home_runs_until(l, u, e, n))
                return;
        for (size_t i = 0; i < *n_left; i++)
                if (left[i] == number)
                        return;
        left[(*n_left)++] = number;
}

int homes_left(const Argosy__UnitRecord *next, uint32_t **ret, size_t *ret_n, void *userdata) {
        const Leader *l = userdata;
        const UnitEntry *e = cluster_state_find_unit(l->state, next->name);
        uint32_t *left = NULL;

        *ret_n = 0;
        if (e && !next->global && (e->record->n_left || e->record->node)) {
                left = calloc(e->record->n_left + 1, sizeof(*left));
                if (!left)
                        return -ENOMEM;
                for (size_t i = 0; i < e->record->n_left; i++)
                        add_left(l, e, e->record->left[i], next, left, ret_n);
                add_left(l, e, e->record->node, next, left, ret_n);
        }
        *ret = left;
        return 0;
}
