// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A round: what the time has brought (penalties that faded), what the freed nodes make possible, and then
// one grant after the other in the order of roles and queues, until nobody is left that could have something
// or the budget is used up.
#include "placement-private.h"

static void decide(Placement *p, PlacementKind kind, uint32_t unit, uint32_t from, uint32_t to,
                   uint32_t unit_for) {
        table_grow(&p->decisions, &p->decisions_allocated, p->n_decisions + 1, sizeof *p->decisions);
        p->decisions[p->n_decisions++] = (PlacementDecision){
                .kind = kind, .unit = unit, .from = from, .to = to, .unit_for = unit_for};
}

// Whether it may be running where it is.
static bool is_running(const Placement *p, const PlacedUnit *u) {
        return u->node != PLACEMENT_NONE && p->nodes[u->node].state != PLACEMENT_LOST;
}

// ------------------------------------------------------------------------------------------------ bundles

typedef struct Bundle {
        uint32_t units[PLACEMENT_FOLLOWS_MAX], n;
} Bundle;

typedef struct Held {    // what a unit's targets leave it
        uint32_t pin;    // the node where those are that stay; PLACEMENT_NONE: none do
        bool impossible; // these are on different nodes, or nowhere
} Held;

static bool bundle_has(const Bundle *b, uint32_t unit) {
        for (uint32_t i = 0; i < b->n; i++)
                if (b->units[i] == unit)
                        return true;
        return false;
}

static bool stays(const PlacedUnit *u) {
        return u->node != PLACEMENT_NONE && u->queue == PLACEMENT_NONE;
}

// Where a unit's targets hold it. `b` are those that move with it.
static void inspect_targets(const Placement *p, const Bundle *b, uint32_t unit, Held *ret) {
        *ret = (Held){.pin = PLACEMENT_NONE};
        for (uint32_t l = unit_follows(p, unit); l != PLACEMENT_NONE; l = p->links[l].next_of_unit) {
                uint32_t target = p->links[l].target;
                const PlacedUnit *t = &p->units[target];

                if (bundle_has(b, target))
                        continue;
                if (stays(t) && (ret->pin == PLACEMENT_NONE || ret->pin == t->node))
                        ret->pin = t->node;
                else
                        ret->impossible = true;
        }
}

// The unit and those who follow it, directly or not, as far as nothing else holds them.
static void gather(const Placement *p, uint32_t unit, Bundle *b) {
        b->units[0] = unit;
        b->n = 1;
        for (uint32_t i = 0; i < b->n; i++)
                for (uint32_t l = unit_followed(p, b->units[i]); l != PLACEMENT_NONE;
                     l = p->links[l].next_of_target) {
                        uint32_t f = p->links[l].unit;
                        Held held;

                        if (bundle_has(b, f) || !(p->units[f].flags & UNIT_WANTED))
                                continue;
                        inspect_targets(p, b, f, &held);
                        if (held.impossible || held.pin != PLACEMENT_NONE)
                                continue; // it will have to wait, or moves later
                        b->units[b->n++] = f;
                }
}

// ------------------------------------------------------------------------------------------------ granting

static bool has_to_stay(const PlacedUnit *u) {
        return u->node != PLACEMENT_NONE && !(u->flags & UNIT_RELEASED);
}

static Blocked role_refuses(const Placement *p, const uint32_t *units, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                const PlacedUnit *u = &p->units[units[i]];
                const PlacementVector *demand = &unit_class(p, u)->spec.demand;

                if (u->node != PLACEMENT_NONE)
                        continue; // it counts already
                if (role_over_limit(&p->roles[u->role], demand) >= 0)
                        return BLOCKED_LIMIT;
                if (breaks_promises(p, &p->roles[u->role], demand) >= 0)
                        return BLOCKED_HEADROOM;
        }
        return NOT_BLOCKED;
}

PlacementVector bundle_demand(const Placement *p, uint32_t unit) {
        PlacementVector sum = {0};
        Bundle b;

        gather(p, unit, &b);
        for (uint32_t i = 0; i < b.n; i++) {
                const PlacementVector *demand = &unit_class(p, &p->units[b.units[i]])->spec.demand;

                for (unsigned k = 0; k < p->n_resources && !has_to_stay(&p->units[b.units[i]]); k++)
                        if (__builtin_add_overflow(sum.of[k], demand->of[k], &sum.of[k]))
                                sum.of[k] = INT32_MAX;
        }
        return sum;
}

static bool demands_anything(const Placement *p, uint32_t unit) {
        const PlacementVector *demand = &unit_class(p, &p->units[unit])->spec.demand;

        for (unsigned i = 0; i < p->n_resources; i++)
                if (demand->of[i] > 0)
                        return true;
        return false;
}

static void move_bundle(Placement *p, const Bundle *b, uint32_t to) {
        for (uint32_t i = 0; i < b->n; i++) {
                uint32_t unit = b->units[i], from = p->units[unit].node;

                wait_take(p, unit);
                if (from == to) { // released, and nowhere better off: it stays
                        p->units[unit].flags &= (uint8_t) ~UNIT_RELEASED;
                        continue;
                }
                unit_leave(p, unit);
                unit_enter(p, unit, to);
                p->n_grants += demands_anything(p, unit);
                decide(p, PLACEMENT_PLACE, unit, from, to, PLACEMENT_NONE);
        }
        for (uint32_t i = 0; i < b->n; i++)
                unit_call_colocated(p, b->units[i]);
}

static void set_apart_who_stays(const Placement *p, Bundle *b, Bundle *staying) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < b->n; i++)
                if (has_to_stay(&p->units[b->units[i]]))
                        staying->units[staying->n++] = b->units[i];
                else
                        b->units[n++] = b->units[i];
        b->n = n;
}

// Those who stay until it has a node, and then follow, are to find theirs there, too: they run, and would
// wait otherwise.
static uint32_t choose_for_all(Placement *p, const Bundle *b, const Bundle *staying) {
        Bundle all = *b;

        if (staying->n == 0)
                return PLACEMENT_NONE;
        for (uint32_t i = 0; i < staying->n; i++)
                all.units[all.n++] = staying->units[i];
        return placement_choose(p, all.units, all.n);
}

static Blocked refusal_of(const Placement *p, uint32_t unit) {
        uint32_t spread = unit_class(p, &p->units[unit])->spread;

        return spread == PLACEMENT_NONE || unit_class(p, &p->units[unit])->spec.spread_soft ? BLOCKED_NODES
                                                                                            : BLOCKED_SPREAD;
}

static Blocked find_node(Placement *p, Bundle *b, const Bundle *staying, uint32_t *ret) {
        uint32_t unit = b->units[0];
        Held held;

        *ret = PLACEMENT_NONE;
        inspect_targets(p, b, unit, &held);
        if (held.impossible)
                return BLOCKED_FOLLOW;
        if (held.pin != PLACEMENT_NONE) {
                if (units_get_on(p, b->units, b->n) && node_may_hold(p, held.pin, b->units, b->n))
                        *ret = held.pin;
                else if (b->n > 1 && node_may_hold(p, held.pin, b->units, 1)) {
                        b->n = 1;
                        *ret = held.pin;
                }
        } else {
                *ret = choose_for_all(p, b, staying);
                if (*ret == PLACEMENT_NONE)
                        *ret = placement_choose(p, b->units, b->n);
                if (*ret == PLACEMENT_NONE && b->n > 1 && !is_running(p, &p->units[unit])) {
                        b->n = 1; // better it alone than none of them
                        *ret = placement_choose(p, b->units, 1);
                }
        }
        return *ret == PLACEMENT_NONE ? refusal_of(p, unit) : NOT_BLOCKED;
}

// NOT_BLOCKED and *ret_node, or why not now.
static Blocked grant(Placement *p, uint32_t unit, uint32_t *ret_node) {
        Blocked why;
        Bundle b, staying;

        staying.n = 0;
        if (!unit_is_tied(p, unit))
                b.units[0] = unit, b.n = 1;
        else
                gather(p, unit, &b);
        set_apart_who_stays(p, &b, &staying);
        why = role_refuses(p, b.units, b.n);
        if (why && b.n > 1) {
                b.n = 1;
                why = role_refuses(p, b.units, b.n);
        }
        why = why ?: find_node(p, &b, &staying, ret_node);
        if (!why)
                move_bundle(p, &b, *ret_node);
        return why;
}

// ----------------------------------------------------------------------------------------------- preemption

typedef struct Victims {
        uint32_t units[PLACEMENT_VICTIMS_MAX], n;
        int16_t highest; // priority among them
        bool enough;
        bool limited; // there are more, but no more may be preempted now
} Victims;

static bool may_be_preempted(const Placement *p, const PlacedUnit *victim, const PlacedUnit *by, bool own) {
        const Role *r = &p->roles[victim->role];

        if (victim->flags & UNIT_STEADY || (own && victim->role != by->role))
                return false;
        if (victim->priority >= by->priority || victim->queue != PLACEMENT_NONE)
                return false;
        return victim->role == by->role || !role_within_guarantee(r, &(PlacementVector){0}) || is_behind(r);
}

static bool is_enough(const Placement *p, const PlacementVector *free_there, const PlacementVector *demand) {
        for (unsigned i = 0; i < p->n_resources; i++)
                if (demand->of[i] > 0 && demand->of[i] > free_there->of[i])
                        return false;
        return true;
}

// Whether the unit may have what its own role gives up for it: what it is held back by is no further
// exceeded then.
static bool may_swap(const Placement *p, const PlacedUnit *u) {
        const PlacementVector *demand = &unit_class(p, u)->spec.demand;
        const Role *r = &p->roles[u->role];

        for (unsigned i = 0; i < p->n_resources; i++) {
                int64_t others = promised_to_others(p, r, i);

                if (demand->of[i] > 0 &&
                    ((r->settings.limit[i] >= 0 && r->usage[i] > r->settings.limit[i]) ||
                     (others > 0 && p->room[i] < others)))
                        return false;
        }
        return true;
}

// A larger one that came last may make those before it needless: the higher of them are left alone first.
static void leave_out_the_needless(const Placement *p, const PlacementVector *demand, PlacementVector *room,
                                   Victims *v) {
        for (uint32_t i = v->n; i-- > 0;) {
                const PlacementVector *gives = &unit_class(p, &p->units[v->units[i]])->spec.demand;
                PlacementVector without = *room;

                for (unsigned k = 0; k < p->n_resources; k++)
                        without.of[k] -= gives->of[k];
                if (!is_enough(p, &without, demand))
                        continue;
                *room = without;
                memmove(&v->units[i], &v->units[i + 1], (--v->n - i) * sizeof *v->units);
        }
}

// The lowest priorities first, of these the ones that are there for the shortest time.
static void find_victims(const Placement *p, uint32_t host, uint32_t unit, const PlacementBudget *budget,
                         bool own, Victims *v) {
        const PlacedUnit *by = &p->units[unit];
        const PlacementVector *demand = &unit_class(p, by)->spec.demand;
        PlacementVector room = p->hosts[host].free;
        size_t most = budget->disruptions - p->n_preempted;
        int32_t done = INT32_MIN;

        for (unsigned i = 0; i < p->n_resources && own; i++)
                room.of[i] = MIN_OF(room.of[i], 0);
        *v = (Victims){.highest = INT16_MIN};
        while (!is_enough(p, &room, demand)) {
                int32_t next = INT32_MAX;

                for (uint32_t n = p->hosts[host].first_node; n != PLACEMENT_NONE;
                     n = p->nodes[n].next_of_host)
                        for (uint32_t i = p->nodes[n].first_unit; i != PLACEMENT_NONE; i = p->units[i].next)
                                if (p->units[i].priority > done &&
                                    may_be_preempted(p, &p->units[i], by, own))
                                        next = MIN_OF(next, p->units[i].priority);
                if (next == INT32_MAX)
                        return;
                done = next;
                for (uint32_t n = p->hosts[host].first_node; n != PLACEMENT_NONE;
                     n = p->nodes[n].next_of_host)
                        for (uint32_t i = p->nodes[n].first_unit; i != PLACEMENT_NONE;
                             i = p->units[i].next) {
                                const PlacedUnit *u = &p->units[i];

                                if (u->priority != done || !may_be_preempted(p, u, by, own) ||
                                    is_enough(p, &room, demand))
                                        continue;
                                if (v->n == ELEMENTSOF(v->units) || v->n == most) {
                                        v->limited = v->n == most;
                                        return;
                                }
                                if (budget->spares && !budget->spares(i, v->units, v->n, budget->userdata)) {
                                        v->limited = true;
                                        continue;
                                }
                                v->units[v->n++] = i;
                                v->highest = u->priority;
                                for (unsigned k = 0; k < p->n_resources; k++)
                                        room.of[k] += unit_class(p, u)->spec.demand.of[k];
                        }
        }
        leave_out_the_needless(p, demand, &room, v);
        v->enough = true;
}

// What these give back of one resource, of that role (PLACEMENT_NONE: of all).
static int64_t given_back(const Placement *p, const Victims *v, uint32_t role, unsigned resource) {
        int64_t sum = 0;

        for (uint32_t i = 0; i < v->n; i++)
                if (role == PLACEMENT_NONE || p->units[v->units[i]].role == role)
                        sum += unit_class(p, &p->units[v->units[i]])->spec.demand.of[resource];
        return sum;
}

// By how much more is promised to other roles when these have gone.
static int64_t promised_anew(const Placement *p, const Victims *v, uint32_t role, unsigned resource) {
        int64_t sum = 0;

        for (uint32_t i = 0; i < v->n; i++) {
                uint32_t of = p->units[v->units[i]].role;
                bool is_first = of != role;

                for (uint32_t k = 0; k < i && is_first; k++)
                        is_first = p->units[v->units[k]].role != of;
                if (is_first)
                        sum += role_missing_without(&p->roles[of], resource,
                                                    given_back(p, v, of, resource)) -
                               role_missing_without(&p->roles[of], resource, 0);
        }
        return sum;
}

// What a role has lost is promised to it again: the unit must be given the room all the same, or whoever was
// preempted for it would be back at once, and preempted again.
static bool promises_allow(const Placement *p, uint32_t host, uint32_t unit, const Victims *v) {
        const PlacedUnit *u = &p->units[unit];
        const PlacementVector *demand = &unit_class(p, u)->spec.demand;
        Role after;

        if (!p->promises)
                return true;
        after = p->roles[u->role];
        for (unsigned i = 0; i < p->n_resources; i++)
                after.usage[i] -= given_back(p, v, u->role, i);
        if (role_within_guarantee(&after, demand))
                return true;
        for (unsigned i = 0; i < p->n_resources; i++) {
                int64_t others = promised_to_others(p, &p->roles[u->role], i) +
                                 promised_anew(p, v, u->role, i),
                        room = p->room[i];

                if (p->hosts[host].counted)
                        room += given_back(p, v, PLACEMENT_NONE, i);
                if (takes_what_is_promised(demand->of[i], room, others))
                        return false;
        }
        return true;
}

static bool is_better(const Victims *a, const Victims *b) {
        if (!b->enough || a->highest != b->highest)
                return !b->enough || a->highest < b->highest;
        return a->n < b->n;
}

static void evict(Placement *p, const Victims *v, uint32_t unit_for) {
        for (uint32_t i = 0; i < v->n; i++) {
                uint32_t victim = v->units[i], from = p->units[victim].node;

                unit_leave(p, victim);
                decide(p, PLACEMENT_PREEMPT, victim, from, PLACEMENT_NONE, unit_for);
                wait_add(p, victim);
                p->n_preempted++;
        }
}

bool host_would_have_room(const Placement *p, const PlacedHost *h, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        PlacementVector room = h->free;

        if (u->priority <= p->lowest_priority || unit_follows(p, unit) != PLACEMENT_NONE)
                return false;
        for (uint32_t n = h->first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                for (uint32_t i = p->nodes[n].first_unit; i != PLACEMENT_NONE; i = p->units[i].next)
                        for (unsigned k = 0;
                             may_be_preempted(p, &p->units[i], u, false) && k < p->n_resources; k++)
                                room.of[k] += unit_class(p, &p->units[i])->spec.demand.of[k];
        return is_enough(p, &room, &unit_class(p, u)->spec.demand);
}

// Looks at every node of the unit's selector: once per refusal of a unit that has somebody below it.
// Held back by its role, it may only have what that gives up for it.
static void preempt(Placement *p, uint32_t unit, const PlacementBudget *budget, Blocked why, bool *ret_done,
                    bool *ret_limited) {
        bool own = why == BLOCKED_LIMIT || why == BLOCKED_HEADROOM;
        const PlacedUnit *u = &p->units[unit];
        const Class *c = unit_class(p, u);
        const Selector *s = &p->selectors[p->shapes[u->shape].selector];
        Victims best = {0}, v;

        *ret_done = *ret_limited = false;
        if (u->priority <= p->lowest_priority || unit_follows(p, unit) != PLACEMENT_NONE ||
            (own && !may_swap(p, u)))
                return;
        *ret_limited = p->n_preempted >= budget->disruptions;
        if (*ret_limited)
                return;
        for (uint32_t w = 0; w < p->node_words; w++)
                for (Word bits = s->nodes[w]; bits; bits &= bits - 1) {
                        uint32_t node = w * WORD_BITS + (uint32_t) __builtin_ctzll(bits);

                        if (p->nodes[node].state > PLACEMENT_SECOND || unit_excluded(p, unit, node) ||
                            !spread_allows(p, c, node) ||
                            reservation_is_for_another(p, p->nodes[node].host, unit))
                                continue;
                        find_victims(p, p->nodes[node].host, unit, budget, own, &v);
                        *ret_limited |= v.limited;
                        if (v.enough && is_better(&v, &best) &&
                            promises_allow(p, p->nodes[node].host, unit, &v))
                                best = v;
                }
        *ret_done = best.enough;
        if (best.enough)
                evict(p, &best, unit);
}

// ------------------------------------------------------------------------------------------------ time

static void fade_penalties(Placement *p) {
        for (uint32_t i = p->penalised.n; i-- > 0;) {
                uint32_t host = p->penalised.of[i];

                if (host_points(&p->hosts[host], p->now_us) == 0)
                        numbers_drop(&p->penalised, host);
                index_put_host(p, host);
        }
}

// ------------------------------------------------------------------------------------------------ the round

static void begin(Placement *p, uint64_t now_us) {
        p->now_us = MAX_OF(p->now_us, now_us);
        p->n_decisions = p->n_preempted = 0;
        fade_penalties(p);
        queues_unblock(p, p->first_blocked[BLOCKED_BUDGET]);
        roles_settle(p);
        reservation_settle(p);
        queues_refresh_freed(p);
}

void placement_round(Placement *p, uint64_t now_us, const PlacementBudget *budget,
                     const PlacementDecision **ret, size_t *ret_n) {
        uint32_t unit, node;

        begin(p, now_us);
        while (p->n_decisions < budget->decisions && (unit = wait_next(p)) != PLACEMENT_NONE) {
                bool made_room = false, limited = false;
                Blocked why = grant(p, unit, &node);

                if (why && why != BLOCKED_FOLLOW) {
                        preempt(p, unit, budget, why, &made_room, &limited);
                        if (made_room) // the unit uses that room now, though others may be next
                                why = grant(p, unit, &node);
                        else if (limited)
                                why = BLOCKED_BUDGET;
                }
                if (why)
                        queue_block(p, p->units[unit].queue, why);
                if (p->freed.n > 0)
                        queues_refresh_freed(p);
        }
        *ret = p->decisions;
        *ret_n = p->n_decisions;
}

uint32_t placement_move(Placement *p, uint32_t unit, uint64_t now_us) {
        PlacedUnit *u = &p->units[unit];
        uint32_t node;
        Blocked why;
        Bundle b;

        p->now_us = MAX_OF(p->now_us, now_us);
        p->n_decisions = p->n_preempted = 0;
        fade_penalties(p);
        queues_refresh_freed(p);
        if (u->node == PLACEMENT_NONE && u->queue != PLACEMENT_NONE && p->queues[u->queue].blocked)
                return PLACEMENT_NONE; // nothing has changed for it
        gather(p, unit, &b);
        why = role_refuses(p, &unit, 1);
        why = why ?: find_node(p, &b, &(Bundle){}, &node);
        if (why) {
                if (u->node == PLACEMENT_NONE && u->queue != PLACEMENT_NONE)
                        queue_block(p, u->queue, why);
                return PLACEMENT_NONE;
        }
        b.n = 1;
        move_bundle(p, &b, node);
        return node;
}
