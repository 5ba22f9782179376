// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units, and who follows whom: a unit that is put on a node or leaves it is counted there, in its domains
// and for its role, and those who have to be with it are called. What has to leave its node (it conflicts,
// or is not where it is to be) is found here and told by placement_unit_must_go(); who gets which node is
// placement-round.c's to decide.

#include <errno.h>

#include "macro.h"
#include "placement-private.h"

// ------------------------------------------------------------------------------------------------ on a node

static void host_take(Placement *p, PlacedHost *h, const PlacementVector *demand, int step) {
        for (unsigned i = 0; i < p->n_resources; i++) {
                h->free.of[i] -= step * demand->of[i];
                if (h->counted)
                        p->room[i] -= step * (int64_t) demand->of[i];
        }
}

static void count(Placement *p, uint32_t unit, uint32_t node, int step) {
        const PlacedUnit *u = &p->units[unit];
        const Shape *s = &p->shapes[u->shape];
        const Class *c = &p->classes[s->class];
        uint32_t host = p->nodes[node].host;

        host_take(p, &p->hosts[host], &c->spec.demand, step);
        if (s->matches.n + c->globs.n > 0)
                conflicts_count(p, s, node, step);
        if (c->spread != PLACEMENT_NONE) {
                uint32_t group = p->spreads[c->spread].group;

                group_count(p, group, node_domain(p, node, p->groups[group].key), step);
        }
        role_use(p, u->role, &c->spec.demand, step);
        index_put_host(p, host);
}

void unit_leave(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];
        uint32_t node = u->node;
        PlacedNode *n;

        if (node == PLACEMENT_NONE)
                return;
        n = &p->nodes[node];
        if (u->prev != PLACEMENT_NONE)
                p->units[u->prev].next = u->next;
        else
                n->first_unit = u->next;
        if (u->next != PLACEMENT_NONE)
                p->units[u->next].prev = u->prev;
        n->n_units--;
        u->flags &= (uint8_t) ~UNIT_RELEASED;
        u->home = node;
        u->node = PLACEMENT_NONE;
        for (uint32_t i = p->hosts[n->host].first_node; i != PLACEMENT_NONE; i = p->nodes[i].next_of_host)
                node_freed(p, i);
        preview_note_left(p, n->host);
        p->hosts[n->host].left_at = p->n_grants;
        count(p, unit, node, -1);
}

void unit_call_colocated(Placement *p, uint32_t unit) {
        for (uint32_t l = unit_followed(p, unit); l != PLACEMENT_NONE; l = p->links[l].next_of_target)
                if (p->units[p->links[l].unit].queue != PLACEMENT_NONE)
                        queue_unblock(p, p->units[p->links[l].unit].queue);
}

void unit_enter(Placement *p, uint32_t unit, uint32_t node) {
        PlacedUnit *u = &p->units[unit];
        PlacedNode *n = &p->nodes[node];

        u->prev = PLACEMENT_NONE;
        u->next = n->first_unit;
        if (n->first_unit != PLACEMENT_NONE)
                p->units[n->first_unit].prev = unit;
        n->first_unit = unit;
        n->n_units++;
        u->flags &= (uint8_t) ~UNIT_RELEASED;
        if (!(u->flags & UNIT_STEADY))
                p->lowest_priority = MIN_OF(p->lowest_priority, u->priority);
        if (u->home != node)
                preview_note_home(p, unit);
        u->node = u->home = node;
        count(p, unit, node, +1);
}

// Whether those that it follows let it be there. It stays where it is until one of them is at home on
// another node, and goes only where all of them are at home.
static bool is_held_elsewhere(const Placement *p, uint32_t unit, uint32_t node) {
        bool is_there = p->units[unit].node == node;

        for (uint32_t l = unit_follows(p, unit); l != PLACEMENT_NONE; l = p->links[l].next_of_unit) {
                const PlacedUnit *t = &p->units[p->links[l].target];
                bool at_home = t->node != PLACEMENT_NONE && t->queue == PLACEMENT_NONE;

                if (at_home ? t->node != node : !is_there)
                        return true;
        }
        return false;
}

bool placement_node_admits(const Placement *p, uint32_t node, uint32_t unit) {
        return unit_admitted(p, unit, node) && !is_held_elsewhere(p, unit, node);
}

bool placement_unit_mismatches(const Placement *p, uint32_t unit) {
        uint32_t node = p->units[unit].node;

        return node != PLACEMENT_NONE && !unit_suits(p, unit, node);
}

bool placement_unit_only_mismatches(const Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];

        return placement_unit_mismatches(p, unit) && !(u->flags & UNIT_RELEASED) &&
               !unit_excluded(p, unit, u->node) && !conflict_with_others(p, unit) &&
               !is_held_elsewhere(p, unit, u->node);
}

bool unit_must_go(const Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];

        if (u->flags & UNIT_RELEASED)
                return true;
        if (p->nodes[u->node].state == PLACEMENT_LOST) // its owner decides when to give it up
                return false;
        return !placement_node_admits(p, u->node, unit);
}

void unit_check(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];

        if (!(u->flags & UNIT_WANTED))
                return;
        if (u->node == PLACEMENT_NONE || u->flags & UNIT_RELEASED)
                wait_add(p, unit);
        else
                wait_take(p, unit);
}

// ------------------------------------------------------------------------------------------------ life

void placement_unit_add(Placement *p, const char *name, uint32_t class, uint32_t role, int16_t priority,
                        uint32_t *ret) {
        uint32_t shape;
        shape_get(p, class, name, &shape);
        slots_take(&p->unit_slots, ret);
        table_grow(&p->units, &p->units_allocated, *ret + 1, sizeof *p->units);
        table_grow(&p->name_heads, &p->name_heads_allocated, *ret + 1, sizeof *p->name_heads);
        p->name_heads[*ret] = placement_name_head(name);
        p->units[*ret] = (PlacedUnit){.name = name,
                                      .shape = shape,
                                      .node = PLACEMENT_NONE,
                                      .home = PLACEMENT_NONE,
                                      .queue = PLACEMENT_NONE,
                                      .role = (uint16_t) role,
                                      .priority = priority};
        p->roles[role].n_units++;
}

void placement_unit_remove(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];
        uint32_t shape = u->shape;

        wait_take(p, unit);
        unit_leave(p, unit);
        placement_unit_readmit(p, unit, PLACEMENT_NONE);
        placement_unit_unfollow(p, unit);
        for (uint32_t l; (l = unit_followed(p, unit)) != PLACEMENT_NONE;)
                placement_unit_unfollow(p, p->links[l].unit);
        if (p->reservation.unit == unit)
                reservation_end(p);
        p->roles[u->role].n_units--;
        *u = (PlacedUnit){0};
        slots_give(&p->unit_slots, unit);
        shape_unref(p, shape);
}

void placement_unit_change(Placement *p, uint32_t unit, uint32_t class, uint32_t role, int16_t priority) {
        PlacedUnit *u = &p->units[unit];
        uint32_t node = u->node, home = u->home, shape, before = u->shape;
        bool was_released = u->flags & UNIT_RELEASED;
        shape_get(p, class, u->name, &shape);
        wait_take(p, unit);
        unit_leave(p, unit);
        p->roles[u->role].n_units--;
        p->roles[role].n_units++;
        u->shape = shape;
        u->role = (uint16_t) role;
        u->priority = priority;
        shape_unref(p, before);
        u->home = home;
        if (node != PLACEMENT_NONE)
                unit_enter(p, unit, node);
        unit_check(p, unit);
        if (was_released)
                unit_call_colocated(p, unit); // it stays until it is released anew
}

void placement_unit_want(Placement *p, uint32_t unit, bool wanted) {
        PlacedUnit *u = &p->units[unit];

        if (wanted) {
                u->flags |= UNIT_WANTED;
                unit_check(p, unit);
                return;
        }
        u->flags &= (uint8_t) ~UNIT_WANTED;
        wait_take(p, unit);
        if (u->seq != 0)
                preview_note_turn(p, unit);
        u->seq = 0;
        unit_leave(p, unit);
}

void placement_unit_put(Placement *p, uint32_t unit, uint32_t node) {
        if (p->units[unit].node == node) {
                unit_check(p, unit);
                return;
        }
        wait_take(p, unit);
        unit_leave(p, unit);
        if (node != PLACEMENT_NONE)
                unit_enter(p, unit, node);
        unit_check(p, unit);
        unit_call_colocated(p, unit);
}

void placement_unit_set_preemptible(Placement *p, uint32_t unit, bool preemptible) {
        PlacedUnit *u = &p->units[unit];

        if (preemptible)
                u->flags &= (uint8_t) ~UNIT_STEADY;
        else
                u->flags |= UNIT_STEADY;
        if (preemptible && u->node != PLACEMENT_NONE)
                p->lowest_priority = MIN_OF(p->lowest_priority, u->priority);
}

void placement_unit_release(Placement *p, uint32_t unit, bool released) {
        PlacedUnit *u = &p->units[unit];

        if (u->node == PLACEMENT_NONE || released == !!(u->flags & UNIT_RELEASED))
                return;
        u->flags ^= UNIT_RELEASED;
        unit_check(p, unit);
        if (!released)
                unit_call_colocated(p, unit); // it stays, so they know where to go
}

uint32_t placement_unit_role(const Placement *p, uint32_t unit) {
        return p->units[unit].role;
}

int16_t placement_unit_priority(const Placement *p, uint32_t unit) {
        return p->units[unit].priority;
}

const char *placement_unit_name(const Placement *p, uint32_t unit) {
        return p->units[unit].name;
}

bool placement_has_unit(const Placement *p, uint32_t unit) {
        return slots_has(&p->unit_slots, unit);
}

uint32_t placement_unit_end(const Placement *p) {
        return p->unit_slots.n;
}

bool placement_unit_colocated(const Placement *p, uint32_t unit, uint32_t i, uint32_t *ret) {
        uint32_t link = unit_followed(p, unit);

        while (link != PLACEMENT_NONE && i-- > 0)
                link = p->links[link].next_of_target;
        if (link != PLACEMENT_NONE)
                *ret = p->links[link].unit;
        return link != PLACEMENT_NONE;
}

uint32_t placement_unit_class(const Placement *p, uint32_t unit) {
        return p->shapes[p->units[unit].shape].class;
}

bool placement_unit_must_go(const Placement *p, uint32_t unit) {
        return p->units[unit].node != PLACEMENT_NONE && unit_must_go(p, unit);
}

// ------------------------------------------------------------------------------------------------ followers

bool placement_unit_is_apart(const Placement *p, uint32_t unit) {
        uint32_t node = p->units[unit].node;

        return node != PLACEMENT_NONE && is_held_elsewhere(p, unit, node);
}

// Itself first, then all whom it follows, directly or not; `tied`: and those who follow any of them. 0: more
// than there may be.
static uint32_t walk(Placement *p, uint32_t unit, bool tied, uint32_t found[PLACEMENT_FOLLOWS_MAX]) {
        uint32_t n = 1;
        bool fits = true;

        found[0] = unit;
        p->units[unit].flags |= UNIT_MARKED;
        for (uint32_t i = 0; i < n && fits; i++)
                for (int way = tied ? 0 : 1; way < 2; way++) {
                        uint32_t first = way ? unit_follows(p, found[i]) : unit_followed(p, found[i]);

                        for (uint32_t l = first; l != PLACEMENT_NONE && fits;
                             l = way ? p->links[l].next_of_unit : p->links[l].next_of_target) {
                                uint32_t other = way ? p->links[l].target : p->links[l].unit;

                                if (p->units[other].flags & UNIT_MARKED)
                                        continue;
                                fits = n < PLACEMENT_FOLLOWS_MAX;
                                if (!fits)
                                        break;
                                p->units[other].flags |= UNIT_MARKED;
                                found[n++] = other;
                        }
                }
        for (uint32_t i = 0; i < n; i++)
                p->units[found[i]].flags &= (uint8_t) ~UNIT_MARKED;
        return fits ? n : 0;
}

static bool is_among(const uint32_t *units, uint32_t n, uint32_t unit) {
        for (uint32_t i = 0; i < n; i++)
                if (units[i] == unit)
                        return true;
        return false;
}

uint32_t unit_replaced_mate(const Placement *p, uint32_t unit, uint32_t node) {
        uint32_t mates[PLACEMENT_FOLLOWS_MAX] = {unit}, n = 1;

        if (unit_follows(p, unit) == PLACEMENT_NONE || !placement_unit_replaces(p, unit))
                return PLACEMENT_NONE;
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t l = unit_follows(p, mates[i]); l != PLACEMENT_NONE;
                     l = p->links[l].next_of_unit) {
                        uint32_t target = p->links[l].target;
                        const PlacedUnit *t = &p->units[target];

                        if (t->node == node && t->queue == PLACEMENT_NONE &&
                            placement_unit_replaces_unit(p, unit, target))
                                return target;
                        if (n < ELEMENTSOF(mates) && !is_among(mates, n, target))
                                mates[n++] = target;
                }
        return PLACEMENT_NONE;
}

static bool leads_to(Placement *p, uint32_t from, uint32_t to) {
        uint32_t found[PLACEMENT_FOLLOWS_MAX], n = walk(p, from, false, found);

        return is_among(found, n, to);
}

int placement_unit_follow(Placement *p, uint32_t unit, uint32_t target) {
        uint32_t a[PLACEMENT_FOLLOWS_MAX], b[PLACEMENT_FOLLOWS_MAX], link, n_a, n_b;

        if (leads_to(p, target, unit))
                return -ELOOP;
        n_a = walk(p, unit, true, a);
        n_b = walk(p, target, true, b);
        if (!is_among(a, n_a, target) && n_a + n_b > PLACEMENT_FOLLOWS_MAX)
                return -E2BIG;
        slots_take(&p->link_slots, &link);
        table_grow(&p->links, &p->links_allocated, link + 1, sizeof *p->links);
        table_grow(&p->ties, &p->ties_allocated, MAX_OF(unit, target) + 1, sizeof *p->ties);
        p->links[link] = (Link){.unit = unit,
                                .target = target,
                                .next_of_unit = unit_follows(p, unit),
                                .next_of_target = unit_followed(p, target)};
        p->ties[unit].follows = p->ties[target].followed = link + 1;
        wait_again(p, unit);
        wait_again(p, target);
        return 0;
}

static void leave_target(Placement *p, uint32_t link) {
        uint32_t target = p->links[link].target, next = p->links[link].next_of_target,
                 before = unit_followed(p, target);

        if (before == link) {
                p->ties[target].followed = next + 1;
                return;
        }
        while (p->links[before].next_of_target != link)
                before = p->links[before].next_of_target;
        p->links[before].next_of_target = next;
}

// Those of its bundle that replace units are to be with fewer of these from now on.
static void call_replacers(Placement *p, uint32_t unit) {
        uint32_t mates[PLACEMENT_FOLLOWS_MAX], n = walk(p, unit, true, mates);

        for (uint32_t i = 0; i < n; i++)
                if (p->units[mates[i]].queue != PLACEMENT_NONE && placement_unit_replaces(p, mates[i]))
                        queue_unblock(p, p->units[mates[i]].queue);
}

void placement_unit_unfollow(Placement *p, uint32_t unit) {
        if (unit_follows(p, unit) != PLACEMENT_NONE)
                call_replacers(p, unit);
        for (uint32_t link; (link = unit_follows(p, unit)) != PLACEMENT_NONE;) {
                p->ties[unit].follows = p->links[link].next_of_unit + 1;
                leave_target(p, link);
                wait_again(p, p->links[link].target);
                slots_give(&p->link_slots, link);
        }
        wait_again(p, unit);
}

// ----------------------------------------------------------------------------------------------- exclusions

// Each is in the list of its unit and in that of its node, so that ending those of either looks at no
// others.
static Exclusion *exclusion_get(Placement *p, uint32_t unit, uint32_t node) {
        uint32_t *of_unit, *of_node = &p->nodes[node].first_exclusion,
                           number = counts_get(&p->excluded, unit, node);

        if (number)
                return &p->exclusions[number - 1];
        slots_take(&p->exclusion_slots, &number);
        table_grow(&p->exclusions, &p->exclusions_allocated, number + 1, sizeof *p->exclusions);
        table_grow(&p->first_exclusion, &p->first_exclusion_allocated, unit + 1, sizeof *p->first_exclusion);
        of_unit = &p->first_exclusion[unit];
        p->exclusions[number] =
                (Exclusion){.unit = unit, .node = node, .next_of_unit = *of_unit, .next_of_node = *of_node};
        if (*of_unit)
                p->exclusions[*of_unit - 1].prev_of_unit = number + 1;
        if (*of_node)
                p->exclusions[*of_node - 1].prev_of_node = number + 1;
        *of_unit = *of_node = number + 1;
        counts_set(&p->excluded, unit, node, number + 1);
        p->units[unit].flags |= UNIT_EXCLUDED;
        return &p->exclusions[number];
}

static void exclusion_end(Placement *p, uint32_t number) {
        const Exclusion *e = &p->exclusions[number];

        if (e->prev_of_unit)
                p->exclusions[e->prev_of_unit - 1].next_of_unit = e->next_of_unit;
        else
                p->first_exclusion[e->unit] = e->next_of_unit;
        if (e->next_of_unit)
                p->exclusions[e->next_of_unit - 1].prev_of_unit = e->prev_of_unit;
        if (e->prev_of_node)
                p->exclusions[e->prev_of_node - 1].next_of_node = e->next_of_node;
        else
                p->nodes[e->node].first_exclusion = e->next_of_node;
        if (e->next_of_node)
                p->exclusions[e->next_of_node - 1].prev_of_node = e->prev_of_node;
        counts_set(&p->excluded, e->unit, e->node, 0);
        slots_give(&p->exclusion_slots, number);
}

// After some of its exclusions have ended.
static void fewer_exclusions(Placement *p, uint32_t unit) {
        if (!p->first_exclusion[unit] && !(p->units[unit].flags & UNIT_CONFINED))
                p->units[unit].flags &= (uint8_t) ~UNIT_EXCLUDED;
        wait_again(p, unit);
}

void placement_unit_exclude(Placement *p, uint32_t unit, uint32_t node) {
        Exclusion *e = exclusion_get(p, unit, node);

        if (e->excluded)
                return;
        e->excluded = true;
        wait_again(p, unit);
}

void placement_unit_confine(Placement *p, uint32_t unit) {
        table_grow(&p->first_exclusion, &p->first_exclusion_allocated, unit + 1, sizeof *p->first_exclusion);
        p->units[unit].flags |= UNIT_EXCLUDED | UNIT_CONFINED;
        wait_again(p, unit);
}

void placement_unit_admit(Placement *p, uint32_t unit, uint32_t node) {
        exclusion_get(p, unit, node)->admitted = true;
        wait_again(p, unit);
}

void placement_unit_readmit(Placement *p, uint32_t unit, uint32_t node) {
        uint32_t number;

        if (!(p->units[unit].flags & UNIT_EXCLUDED))
                return;
        if (node == PLACEMENT_NONE) {
                while (p->first_exclusion[unit])
                        exclusion_end(p, p->first_exclusion[unit] - 1);
                p->units[unit].flags &= (uint8_t) ~UNIT_CONFINED;
        } else if ((number = counts_get(&p->excluded, unit, node))) {
                p->exclusions[number - 1].excluded = false;
                if (!p->exclusions[number - 1].admitted)
                        exclusion_end(p, number - 1);
        }
        fewer_exclusions(p, unit);
}

void node_readmit_all(Placement *p, uint32_t node) {
        while (p->nodes[node].first_exclusion) {
                uint32_t number = p->nodes[node].first_exclusion - 1, unit = p->exclusions[number].unit;

                exclusion_end(p, number);
                fewer_exclusions(p, unit);
        }
}

// ------------------------------------------------------------------------------------------------ roles

static void promises(Placement *p) {
        memset(p->promised, 0, sizeof p->promised);
        p->promises = false;
        for (uint32_t i = 0; i < p->role_slots.n; i++)
                for (unsigned k = 0; p->role_slots.used[i] && k < PLACEMENT_RESOURCES_MAX; k++) {
                        const Role *r = &p->roles[i];

                        p->promised[k] += MAX_OF(r->settings.guarantee[k] - r->usage[k], 0);
                        p->promises |= r->settings.guarantee[k] > 0;
                }
        queues_unblock(p, p->first_blocked[BLOCKED_HEADROOM]);
}

void placement_role_set(Placement *p, uint32_t role, const PlacementRole *settings) {
        Role *r = &p->roles[role];

        r->settings = *settings;
        r->settings.weight = MAX_OF(settings->weight, 1U);
        promises(p);
        queues_unblock(p, r->first_blocked);
        role_moved(p, role);
}

int placement_role_add(Placement *p, const PlacementRole *settings, uint32_t *ret) {
        if (p->role_slots.count > UINT16_MAX)
                return -ENOSPC;
        slots_take(&p->role_slots, ret);
        table_grow(&p->roles, &p->roles_allocated, *ret + 1, sizeof *p->roles);
        table_grow(&p->role_heap, &p->role_heap_allocated, p->role_slots.n, sizeof *p->role_heap);
        p->roles[*ret] = (Role){.place = PLACEMENT_NONE, .first_blocked = PLACEMENT_NONE};
        placement_role_set(p, *ret, settings);
        return 0;
}

void placement_role_remove(Placement *p, uint32_t role) {
        assert(p->roles[role].n_units == 0);
        table_free(p->roles[role].heap, p->roles[role].allocated, sizeof *p->roles[role].heap);
        p->roles[role] = (Role){0};
        slots_give(&p->role_slots, role);
        promises(p);
}
