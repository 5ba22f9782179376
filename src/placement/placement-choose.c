// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chooses the node for a unit, or for a bundle of units that belong on one node.
//
//      placement_choose() -> the unit's home, if nothing speaks against it
//                         -> else the index from its best key on -> the first key with a node that takes all
//
// With preferences each set of them is a walk of its own, bounded by the best so far; with spread the
// domains with the fewest units come first. Nothing allocates. Failure: PLACEMENT_NONE; placement-why.c says
// why.

#include "placement-private.h"

typedef struct Query {
        const uint32_t *units;
        uint32_t n;
        const PlacementVector *demand; // of units[0]
        uint32_t selector;
        Index *index;
        const Spread *spread; // NULL: any domain; else only those whose count is `level`
        uint32_t level;
        uint32_t confined; // one of the units that is; PLACEMENT_NONE: none
} Query;

bool host_has_room(const Placement *p, const PlacedHost *h, const PlacementVector *demand) {
        bool room = true;

        for (unsigned i = 0; i < p->n_resources; i++)
                room &= (demand->of[i] <= h->free.of[i]) | (demand->of[i] == 0);
        return room;
}

bool placement_node_has_room(const Placement *p, uint32_t node, uint32_t unit) {
        const Class *c = unit_class(p, &p->units[unit]);

        return host_has_room(p, &p->hosts[p->nodes[node].host], &c->spec.demand);
}

bool unit_excluded(const Placement *p, uint32_t unit, uint32_t node) {
        const PlacedUnit *u = &p->units[unit];
        const Exclusion *e;
        uint32_t number;

        if (!(u->flags & UNIT_EXCLUDED))
                return false;
        number = counts_get(&p->excluded, unit, node);
        if (!number)
                return u->flags & UNIT_CONFINED;
        e = &p->exclusions[number - 1];
        return e->excluded || (u->flags & UNIT_CONFINED && !e->admitted);
}

bool spread_allows(const Placement *p, const Class *c, uint32_t node) {
        const Group *g;
        Spread *s;

        if (c->spread == PLACEMENT_NONE || c->spec.spread_soft)
                return true;
        s = &p->spreads[c->spread];
        g = &p->groups[s->group];
        spread_settle(p, s); // callers may not have settled it
        return group_at(g, node_domain(p, node, g->key)) < s->min + MAX_OF(c->spec.spread_skew, 1);
}

static bool share_any(const Numbers *a, const Numbers *b) {
        for (uint32_t i = 0; i < a->n; i++)
                for (uint32_t k = 0; k < b->n; k++)
                        if (a->of[i] == b->of[k])
                                return true;
        return false;
}

static const Selector *selector_of(const Placement *p, uint32_t unit) {
        return &p->selectors[p->shapes[p->units[unit].shape].selector];
}

static bool hate_each_other(const Placement *p, uint32_t a, uint32_t b) {
        const Selector *x = selector_of(p, a), *y = selector_of(p, b);

        return share_any(&x->hates, &y->matches) || share_any(&y->hates, &x->matches);
}

bool placement_conflict_between(const Placement *p, uint32_t a, uint32_t b) {
        return hate_each_other(p, a, b);
}

bool placement_conflict_on(const Placement *p, uint32_t unit, uint32_t node) {
        return conflict_on(p, selector_of(p, unit), node);
}

bool placement_may_conflict(const Placement *p, uint32_t unit) {
        const Selector *s = selector_of(p, unit);

        return s->hates.n + s->matches.n > 0;
}

bool unit_suits(const Placement *p, uint32_t unit, uint32_t node) {
        return selector_has(p, unit_class(p, &p->units[unit])->base, node);
}

// On the node where the unit already is, its own entries in the conflict counts are no conflict. It goes to
// none from which it would drive out a unit that it is to be with: that one would be followed, and driven
// out again.
bool unit_admitted(const Placement *p, uint32_t unit, uint32_t node) {
        const PlacedUnit *u = &p->units[unit];

        if (unit_excluded(p, unit, node))
                return false;
        if (u->node == node)
                return unit_suits(p, unit, node) && !conflict_with_others(p, unit);
        if (unit_replaced_mate(p, unit, node) != PLACEMENT_NONE)
                return false;
        return selector_has(p, p->shapes[u->shape].selector, node);
}

// Whether the node takes this unit, apart from room and from the others of its bundle. A node that it has to
// leave does not, though others of the bundle may stay there.
static bool may_go_there(const Placement *p, uint32_t unit, uint32_t node) {
        const PlacedUnit *u = &p->units[unit];

        return unit_admitted(p, unit, node) && (u->node == node || spread_allows(p, unit_class(p, u), node));
}

bool units_get_on(const Placement *p, const uint32_t *units, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < i; k++)
                        if (hate_each_other(p, units[i], units[k]))
                                return false;
        return true;
}

bool node_may_hold(const Placement *p, uint32_t node, const uint32_t *units, uint32_t n) {
        const PlacedNode *to = &p->nodes[node];
        const PlacedHost *h = &p->hosts[to->host];
        PlacementVector sum = {0};

        if (to->state > PLACEMENT_SECOND)
                return false;
        for (uint32_t i = 0; i < n; i++) {
                const PlacedUnit *u = &p->units[units[i]];
                const PlacementVector *demand = &unit_class(p, u)->spec.demand;

                if (!may_go_there(p, units[i], node))
                        return false;
                if (u->node == PLACEMENT_NONE || p->nodes[u->node].host != to->host)
                        for (unsigned d = 0; d < p->n_resources; d++)
                                if (__builtin_add_overflow(sum.of[d], demand->of[d], &sum.of[d]))
                                        return false;
        }
        return host_has_room(p, h, &sum) && !reservation_bars(p, to->host, units, n, &sum);
}

// ------------------------------------------------------------------------------------------------ walking

static bool suits(const Placement *p, const Query *q, uint32_t node) {
        if (!host_has_room(p, &p->hosts[p->nodes[node].host], q->demand))
                return false;
        if (q->spread) {
                const Group *g = &p->groups[q->spread->group];

                if (group_at(g, node_domain(p, node, g->key)) != q->level)
                        return false;
        }
        if (q->n > 1)
                return node_may_hold(p, node, q->units, q->n);
        return !unit_excluded(p, q->units[0], node) &&
               !reservation_bars(p, p->nodes[node].host, q->units, 1, q->demand);
}

static uint32_t best_of_bitmap(const Placement *p, const Query *q, const IndexKey *k, bool *ret_any) {
        const Word *nodes = p->selectors[q->selector].nodes;

        for (uint32_t w = 0; w < p->node_words; w++)
                for (Word bits = k->nodes[w] & nodes[w]; bits; bits &= bits - 1) {
                        uint32_t node = w * WORD_BITS + (uint32_t) __builtin_ctzll(bits);

                        *ret_any = true;
                        if (suits(p, q, node))
                                return node;
                }
        return PLACEMENT_NONE;
}

static uint32_t best_of_list(const Placement *p, const Query *q, IndexKey *k, bool *ret_any) {
        uint32_t best = PLACEMENT_NONE;
        int32_t cpu = INT32_MIN, memory = INT32_MIN;

        for (uint32_t n = k->first; n != PLACEMENT_NONE; n = q->index->links[n].next) {
                const PlacementVector *room = &p->hosts[p->nodes[n].host].free;

                cpu = MAX_OF(cpu, room->of[PLACEMENT_CPU]);
                memory = MAX_OF(memory, room->of[PLACEMENT_MEMORY]);
                if (!selector_has(p, q->selector, n))
                        continue;
                *ret_any = true;
                if (n < best && suits(p, q, n))
                        best = n;
        }
        k->most_cpu = cpu;
        k->most_memory = memory;
        return best;
}

// The first key in which a node can have room for the demand: the key of the largest host with just that
// much free.
static uint32_t first_fit(const Placement *p, const PlacementVector *demand) {
        uint64_t first = INDEX_LOADS;

        for (unsigned i = PLACEMENT_CPU; i <= PLACEMENT_MEMORY; i++)
                first = MIN_OF(first, p->largest[i] > 0 ? (uint64_t) demand->of[i] * (INDEX_LOADS - 1) /
                                                                  (uint64_t) p->largest[i]
                                                        : 0);
        return (uint32_t) MIN_OF(first, (uint64_t) INDEX_LOADS - 1);
}

// Like walk(), for a bundle with a unit that only a few listed nodes admit: only those are looked at.
static uint32_t walk_admitted(const Placement *p, const Query *q, uint32_t first, uint32_t last,
                              uint32_t *ret_node) {
        uint32_t best = INDEX_KEYS;

        *ret_node = PLACEMENT_NONE;
        for (uint32_t e = p->first_exclusion[q->confined]; e; e = p->exclusions[e - 1].next_of_unit) {
                uint32_t node = p->exclusions[e - 1].node, key = q->index->links[node].key;

                if (key == PLACEMENT_NONE || key < first || key > last || key > best ||
                    (key == best && node > *ret_node) || !selector_has(p, q->selector, node) ||
                    !suits(p, q, node))
                        continue;
                best = key;
                *ret_node = node;
        }
        return best;
}

// The best key <= last with a node that takes it, or INDEX_KEYS.
static uint32_t walk(Placement *p, const Query *q, uint32_t first, uint32_t last, uint32_t *ret_node) {
        if (q->confined != PLACEMENT_NONE)
                return walk_admitted(p, q, first, last, ret_node);
        for (uint32_t key = index_next(p, q->index, q->selector, first); key <= last && key < INDEX_KEYS;
             key = index_next(p, q->index, q->selector, key + 1)) {
                IndexKey *k = &q->index->keys[key];
                bool any = false;

                if (k->most_cpu < q->demand->of[PLACEMENT_CPU] && q->demand->of[PLACEMENT_CPU])
                        continue;
                if (k->most_memory < q->demand->of[PLACEMENT_MEMORY] && q->demand->of[PLACEMENT_MEMORY])
                        continue;
                *ret_node = k->nodes ? best_of_bitmap(p, q, k, &any) : best_of_list(p, q, k, &any);
                if (*ret_node != PLACEMENT_NONE)
                        return key;
                if (!any)
                        index_drop_bit(p, q->index, key, q->selector);
        }
        *ret_node = PLACEMENT_NONE;
        return INDEX_KEYS;
}

// With preferences: each set of them has a selector of its own, so the best node for each set is one walk,
// bounded by the best so far.
static uint32_t search(Placement *p, Query *q, const Class *c, const Shape *shape) {
        uint32_t best = PLACEMENT_NONE, best_cost = UINT32_MAX;
        uint32_t first = c->spec.policy == PLACEMENT_BEST_FIT ? first_fit(p, q->demand) : 0;
        uint32_t n_sets = 1U << c->spec.n_preferences;

        for (uint32_t set = n_sets; set-- > 0;) {
                uint32_t weight = 0, node, key;

                for (uint32_t i = 0; i < c->spec.n_preferences; i++)
                        if (!(set & 1U << i))
                                weight += c->spec.weights[i];
                if (best != PLACEMENT_NONE && weight > best_cost)
                        continue;
                q->selector = shape->preferred[set];
                key = walk(p, q, first, best == PLACEMENT_NONE ? INDEX_KEYS : best_cost - weight, &node);
                if (node == PLACEMENT_NONE)
                        continue;
                if (key + weight < best_cost || (key + weight == best_cost && node < best)) {
                        best = node;
                        best_cost = key + weight;
                }
        }
        return best;
}

// The least count > level of a domain that the spread knows; UINT32_MAX: none.
static uint32_t next_level(const Placement *p, const Spread *s, uint32_t level) {
        uint32_t next = UINT32_MAX;

        for (uint32_t d = 0; d < s->allocated; d++) {
                uint32_t count = group_at(&p->groups[s->group], d);

                if (s->open[d] > 0 && count > level && count < next)
                        next = count;
        }
        return next;
}

static uint32_t search_spread(Placement *p, Query *q, const Class *c, const Shape *shape) {
        Spread *s = &p->spreads[c->spread];
        uint32_t end, node = PLACEMENT_NONE;

        if (s->min == UINT32_MAX) // no open domain
                return PLACEMENT_NONE;
        end = c->spec.spread_soft ? UINT32_MAX : s->min + MAX_OF(c->spec.spread_skew, 1);
        q->spread = s;
        for (q->level = s->min; q->level < end && node == PLACEMENT_NONE;
             q->level = next_level(p, s, q->level))
                node = search(p, q, c, shape);
        return node;
}

// Whether the units return to `home`: it is open, has room and no failures, and its domain has the fewest of
// the group.
static bool home_is_best(const Placement *p, const Class *c, uint32_t home, const uint32_t *units,
                         uint32_t n) {
        if (!slots_has(&p->node_slots, home) || p->nodes[home].state != PLACEMENT_OPEN ||
            host_points(&p->hosts[p->nodes[home].host], p->now_us) > 0 || !node_may_hold(p, home, units, n))
                return false;
        if (c->spread != PLACEMENT_NONE) {
                const Spread *s = &p->spreads[c->spread];
                const Group *g = &p->groups[s->group];

                return group_at(g, node_domain(p, home, g->key)) == s->min;
        }
        return true;
}

uint32_t placement_choose(Placement *p, const uint32_t *units, uint32_t n) {
        const PlacedUnit *u = &p->units[units[0]];
        const Shape *shape = &p->shapes[u->shape];
        const Class *c = &p->classes[shape->class];
        Query q = {.units = units, .n = n, .demand = &c->spec.demand, .confined = PLACEMENT_NONE};

        if (!units_get_on(p, units, n))
                return PLACEMENT_NONE;
        q.index = &p->indexes[c->spec.policy == PLACEMENT_BEST_FIT ? INDEX_FIT : INDEX_LOAD];
        for (uint32_t i = 0; i < n; i++) {
                uint32_t spread = unit_class(p, &p->units[units[i]])->spread;

                if (p->units[units[i]].flags & UNIT_CONFINED)
                        q.confined = units[i];
                if (spread != PLACEMENT_NONE)
                        spread_settle(p, &p->spreads[spread]);
        }
        if (u->home != PLACEMENT_NONE && u->home != u->node && home_is_best(p, c, u->home, units, n))
                return u->home;
        return c->spread == PLACEMENT_NONE ? search(p, &q, c, shape) : search_spread(p, &q, c, shape);
}
