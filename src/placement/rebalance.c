// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A local search: moves are tried on the Placement itself, kept if they are better, and all taken back at
// the end.
//
//      1. units whose node does not match, whose group is uneven, or that have an unmatched preference, in
//      the order of their handles
//      2. the host with the highest load, again and again: of its units the one whose move evens out most
//      3. from 1, until neither finds anything
//      4. units that may as well stay return; from 1 if there are any
//
// Each step lowers what rebalance.h says (4: or leaves it and lowers the number of moves), so this ends.
#include "rebalance.h"

#include "array.h"
#include "deadline-heap.h"
#include "placement-private.h"
#include "str.h"

enum {
        MARGIN_PART = 16, // of a load: smaller differences are none
};

typedef struct Badness { // less is better; the first counts more
        int64_t mismatch, spread, load;
} Badness;

typedef struct HostRank { // in the heaps: the highest load first that may be lowered; the lowest first
        Deadline high, low;
        uint32_t host;
} HostRank;

typedef struct Search {
        Placement *p;
        const RebalanceRules *rules;
        uint8_t *may;     // by unit: 0 not asked, 1 may move, 2 may not
        uint32_t *origin; // by unit; PLACEMENT_NONE: it did not move
        RebalanceMove *moves;
        uint32_t n_moves; // a unit has one entry, the latest at the end
        size_t moves_allocated;
        HostRank *ranks; // by host
        DeadlineHeap high, low;
        bool full; // max_moves reached, or nobody wants more
} Search;

static bool is_full(Search *s) {
        s->full |= s->rules->stopped && atomic_load_explicit(s->rules->stopped, memory_order_relaxed);
        return s->full;
}

static bool is_better(Badness d) { // of a difference
        if (d.mismatch != 0)
                return d.mismatch < 0;
        return d.spread < 0 || (d.spread == 0 && d.load < 0);
}

static bool is_worse(Badness d) {
        if (d.mismatch != 0)
                return d.mismatch > 0;
        return d.spread > 0 || (d.spread == 0 && d.load > 0);
}

// ------------------------------------------------------------------------------------------------ measures

static uint32_t units_on(const Placement *p, const PlacedHost *h) {
        uint32_t units = 0;

        for (uint32_t n = h->first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                units += p->nodes[n].n_units + p->nodes[n].n_others;
        return units;
}

// Like node_load(), for all nodes of the host, and without penalties, which come and go.
static int64_t host_load(const Placement *p, uint32_t host) {
        const PlacedHost *h = &p->hosts[host];

        return host_share(p, h) +
               (int64_t) PLACEMENT_UNIT_LOAD * units_on(p, h) * PLACEMENT_SIZE_ONE / h->size;
}

// What the unit adds to a load, wherever it is.
static int64_t unit_weight(const Placement *p, const Class *c) {
        int64_t share = 0;

        for (unsigned i = 0; i < p->n_resources; i++)
                if (p->largest[i] > 0)
                        share = MAX_OF(share,
                                       (int64_t) c->spec.demand.of[i] * PLACEMENT_SHARE / p->largest[i]);
        return share + PLACEMENT_UNIT_LOAD;
}

static uint32_t unmatched(const Placement *p, const Class *c, uint32_t node) {
        uint32_t weights = 0;

        for (uint32_t i = 0; i < c->spec.n_preferences; i++)
                if (!term_matches(p, &c->preferences[i], node))
                        weights += c->spec.weights[i];
        return weights;
}

// Units of its group in the domain of the node.
static uint32_t level(const Placement *p, const Class *c, uint32_t node) {
        const Group *g;

        if (c->spread == PLACEMENT_NONE)
                return 0;
        g = &p->groups[p->spreads[c->spread].group];
        return group_at(g, node_domain(p, node, g->key));
}

static int64_t squared(int64_t n) {
        return n * n;
}

// ------------------------------------------------------------------------------------------------ one move

typedef struct Trial {
        Badness change;
        int64_t gain;   // of load and weights, as the unit sees them
        int64_t load;   // of the host that it leaves, with it
        uint32_t share; // of that
        RebalanceMove move;
} Trial;

// The unit goes to `to`; what that changes.
static void shift(Placement *p, uint32_t unit, uint32_t to, Trial *ret) {
        PlacedUnit *u = &p->units[unit];
        const Class *c = unit_class(p, u);
        uint32_t from = u->node, a = p->nodes[from].host, b = p->nodes[to].host;
        int64_t there = host_load(p, b), weight_here = unmatched(p, c, from), weight = unmatched(p, c, to);
        uint32_t units_here = units_on(p, &p->hosts[a]), units_there = units_on(p, &p->hosts[b]);
        uint32_t share_here = host_share(p, &p->hosts[a]), share_there = host_share(p, &p->hosts[b]);
        uint32_t level_here = level(p, c, from), level_there;

        *ret = (Trial){.load = host_load(p, a),
                       .share = share_here,
                       .move = {.unit = unit, .from = from, .to = to}};
        ret->change.mismatch = unit_suits(p, unit, from) - unit_suits(p, unit, to);
        unit_leave(p, unit);
        level_there = level(p, c, to);
        if (a == b)
                there = host_load(p, b);
        ret->gain = host_load(p, a) + weight_here - there - weight;
        ret->change.load = squared(host_load(p, a)) - squared(ret->load);
        unit_enter(p, unit, to);
        ret->change.load +=
                squared(host_load(p, b)) - squared(there) + 2 * unit_weight(p, c) * (weight - weight_here);
        if (c->spread != PLACEMENT_NONE)
                ret->change.spread = squared(level_here - 1) - squared(level_here) +
                                     squared(level_there + 1) - squared(level_there);
        if (ret->change.mismatch < 0) {
                ret->move.why = REBALANCE_MISMATCH;
        } else if (ret->change.spread < 0) {
                ret->move.why = REBALANCE_SPREAD;
                ret->move.here = level_here;
                ret->move.there = level_there;
        } else if (weight < weight_here) {
                ret->move.why = REBALANCE_PREFERENCE;
                ret->move.here = (uint32_t) weight_here;
                ret->move.there = (uint32_t) weight;
        } else if (share_here > share_there) {
                ret->move.why = REBALANCE_SHARE;
                ret->move.here = share_here * 100 / PLACEMENT_SHARE;
                ret->move.there = share_there * 100 / PLACEMENT_SHARE;
        } else {
                ret->move.why = REBALANCE_UNITS;
                ret->move.here = units_here;
                ret->move.there = units_there;
        }
}

static void shift_back(Placement *p, uint32_t unit, uint32_t node) {
        unit_leave(p, unit);
        unit_enter(p, unit, node);
}

// Whether the node would take the unit if that were on no node.
static bool node_takes(Placement *p, uint32_t unit, uint32_t node) {
        uint32_t from = p->units[unit].node;
        bool takes;

        unit_leave(p, unit);
        takes = p->nodes[node].state == PLACEMENT_OPEN && node_may_hold(p, node, &unit, 1);
        unit_enter(p, unit, from);
        return takes;
}

// What is reserved is no measure of small units that reserve nothing.
static int64_t margin(int64_t load, uint32_t share, bool reserves) {
        return MAX_OF((load - (reserves ? 0 : share)) / MARGIN_PART, (int64_t) PLACEMENT_UNIT_LOAD);
}

static bool is_worth_it(const Placement *p, const Trial *t) {
        bool reserves = unit_weight(p, unit_class(p, &p->units[t->move.unit])) > PLACEMENT_UNIT_LOAD;

        if (t->change.mismatch != 0 || t->change.spread != 0)
                return is_better(t->change);
        return t->change.load < 0 && t->gain >= margin(t->load, t->share, reserves);
}

// Where the unit would go if it were on no node; PLACEMENT_NONE: where it is.
static uint32_t find_node(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];
        uint32_t from = u->node, home = u->home, to;

        unit_leave(p, unit);
        u->home = PLACEMENT_NONE; // it is not to go home
        to = placement_choose(p, &unit, 1);
        unit_enter(p, unit, from);
        u->home = home;
        if (to == from || (to != PLACEMENT_NONE && p->nodes[to].state != PLACEMENT_OPEN))
                return PLACEMENT_NONE;
        return to;
}

// The best that can be done for the unit, tried and taken back; ret->move.to is PLACEMENT_NONE if that is
// nothing.
static void try_unit(Search *s, uint32_t unit, Trial *ret) {
        uint32_t from = s->p->units[unit].node, to = find_node(s->p, unit);

        *ret = (Trial){.move.to = PLACEMENT_NONE};
        if (to == PLACEMENT_NONE)
                return;
        shift(s->p, unit, to, ret);
        if (!is_worth_it(s->p, ret))
                ret->move.to = PLACEMENT_NONE;
        shift_back(s->p, unit, from);
}

// A round moves it, or its owner when it is released.
static bool goes_anyway(const Placement *p, uint32_t unit) {
        return unit_must_go(p, unit) && !placement_unit_only_mismatches(p, unit);
}

static bool may_move(Search *s, uint32_t unit) {
        const Placement *p = s->p;
        const PlacedUnit *u = &p->units[unit];

        if (!s->may[unit])
                s->may[unit] =
                        u->node != PLACEMENT_NONE && u->flags & UNIT_WANTED && !goes_anyway(p, unit) &&
                                        !unit_is_tied(p, unit) &&
                                        p->nodes[u->node].state == PLACEMENT_OPEN &&
                                        (unit_class(p, u)->spec.policy != PLACEMENT_BEST_FIT ||
                                         placement_unit_mismatches(p, unit)) &&
                                        (!s->rules->may_move || s->rules->may_move(unit, s->rules->userdata))
                                ? 1
                                : 2;
        return s->may[unit] == 1;
}

// ------------------------------------------------------------------------------------------------ the plan

static void forget_move(Search *s, uint32_t unit) {
        uint32_t kept = 0;

        for (uint32_t i = 0; i < s->n_moves; i++)
                if (s->moves[i].unit != unit)
                        s->moves[kept++] = s->moves[i];
        s->n_moves = kept;
}

static void make(Search *s, const Trial *t) {
        uint32_t unit = t->move.unit, *origin = &s->origin[unit];
        bool first = *origin == PLACEMENT_NONE;

        oom_check(ARRAY_GROW(s->moves, s->moves_allocated, s->n_moves + 1));
        shift_back(s->p, unit, t->move.to);
        if (first)
                *origin = t->move.from;
        else
                forget_move(s, unit);
        if (t->move.to == *origin) {
                *origin = PLACEMENT_NONE;
        } else {
                s->moves[s->n_moves] = t->move;
                s->moves[s->n_moves++].from = *origin;
        }
        s->full |= s->n_moves >= s->rules->max_moves;
}

// ------------------------------------------------------------------------------------------- spread, wishes

static bool wants_elsewhere(Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        const Class *c = unit_class(p, u);

        if (placement_unit_mismatches(p, unit))
                return true;
        if (c->spread != PLACEMENT_NONE) {
                Spread *s = &p->spreads[c->spread];

                spread_settle(p, s);
                if (s->min != UINT32_MAX && level(p, c, u->node) > s->min + 1)
                        return true;
        }
        return c->spec.n_preferences > 0 && unmatched(p, c, u->node) > 0;
}

static void please_units(Search *s, bool *ret_changed) {
        const Placement *p = s->p;

        for (uint32_t unit = 0; unit < p->unit_slots.n && !is_full(s); unit++) {
                const Class *c;
                Trial t;

                if (!p->unit_slots.used[unit])
                        continue;
                c = unit_class(p, &p->units[unit]);
                if ((c->spread == PLACEMENT_NONE && c->spec.n_preferences == 0 &&
                     !placement_unit_mismatches(p, unit)) ||
                    !may_move(s, unit) || !wants_elsewhere(s->p, unit))
                        continue;
                try_unit(s, unit, &t);
                if (t.move.to == PLACEMENT_NONE)
                        continue;
                make(s, &t);
                if (c->spec.policy == PLACEMENT_BEST_FIT)
                        s->may[unit] = 2; // where it is now, it stays
                *ret_changed = true;
        }
}

// ---------------------------------------------------------------------------------------------- evening out

static void enter_heaps(Search *s, uint32_t host) {
        HostRank *d = &s->ranks[host];
        uint64_t load = (uint64_t) host_load(s->p, host);

        d->host = host;
        oom_check(deadline_heap_set(&s->high, &d->high, (uint64_t) INT64_MAX - load));
        oom_check(deadline_heap_set(&s->low, &d->low, load + 1)); // 0 is no time
}

static int64_t least_load(const Search *s) {
        return (int64_t) deadline_heap_next(&s->low) - 1;
}

static bool is_open(const Placement *p, const PlacedHost *h) {
        for (uint32_t n = h->first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                if (p->nodes[n].state == PLACEMENT_OPEN)
                        return true;
        return false;
}

static void fill_heaps(Search *s) {
        for (uint32_t h = 0; h < s->p->host_slots.n; h++)
                if (s->p->host_slots.used[h] && is_open(s->p, &s->p->hosts[h]))
                        enter_heaps(s, h);
}

static int by_shape(const void *a, const void *b) {
        const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

// The units of the node that may move, one of each shape: those are alike but for their exclusions.
static void list_units(Search *s, uint32_t node, uint64_t **ret, uint32_t *ret_n) {
        const Placement *p = s->p;
        uint64_t *list = oom_checked(calloc((size_t) p->nodes[node].n_units + 1, sizeof *list));
        uint32_t n = 0, kept = 0;

        for (uint32_t u = p->nodes[node].first_unit; u != PLACEMENT_NONE; u = p->units[u].next)
                if (may_move(s, u))
                        list[n++] = (uint64_t) p->units[u].shape << 32 | u;
        qsort(list, n, sizeof *list, by_shape);
        for (uint32_t i = 0; i < n; i++)
                if (i == 0 || list[i] >> 32 != list[i - 1] >> 32 ||
                    p->units[(uint32_t) list[i]].flags & UNIT_EXCLUDED ||
                    p->units[(uint32_t) list[i - 1]].flags & UNIT_EXCLUDED)
                        list[kept++] = list[i];
        *ret = list;
        *ret_n = kept;
}

// Whether the least loaded host, if it took the unit, would make the move worth while: a glance that spares
// the search for a node.
static bool may_be_worth_it(const Search *s, uint32_t unit) {
        const Placement *p = s->p;
        const PlacedUnit *u = &p->units[unit];
        const Class *c = unit_class(p, u);
        PlacedHost without = p->hosts[p->nodes[u->node].host];
        bool reserves = unit_weight(p, c) > PLACEMENT_UNIT_LOAD;
        uint32_t share = host_share(p, &without);
        int64_t load = host_load(p, p->nodes[u->node].host), left;

        if (c->spread != PLACEMENT_NONE || c->spec.n_preferences > 0)
                return true;
        for (unsigned i = 0; i < p->n_resources; i++)
                without.free.of[i] += c->spec.demand.of[i];
        left = load - share + host_share(p, &without) -
               (int64_t) PLACEMENT_UNIT_LOAD * PLACEMENT_SIZE_ONE / without.size;
        return left - least_load(s) >= margin(load, share, reserves);
}

static bool evens_more(const Trial *a, const Trial *b) {
        if (b->move.to != PLACEMENT_NONE && a->change.mismatch != b->change.mismatch)
                return a->change.mismatch < b->change.mismatch;
        if (b->move.to == PLACEMENT_NONE || a->change.spread != b->change.spread)
                return b->move.to == PLACEMENT_NONE || a->change.spread < b->change.spread;
        if (a->change.load != b->change.load)
                return a->change.load < b->change.load;
        return a->move.unit < b->move.unit;
}

static void best_of_node(Search *s, uint32_t node, Trial *best) {
        _cleanup_free_ uint64_t *list = NULL;
        uint32_t n;

        list_units(s, node, &list, &n);
        for (uint32_t i = 0; i < n && !is_full(s); i++) {
                Trial t;

                if (!may_be_worth_it(s, (uint32_t) list[i]))
                        continue;
                try_unit(s, (uint32_t) list[i], &t);
                if (t.move.to != PLACEMENT_NONE && evens_more(&t, best))
                        *best = t;
        }
}

static void even_out(Search *s, bool *ret_changed) {
        Placement *p = s->p;
        Deadline *d;

        fill_heaps(s);
        while (!is_full(s) && (d = deadline_heap_pop(&s->high, UINT64_MAX))) {
                uint32_t host = CONTAINER_OF(d, HostRank, high)->host;
                Trial best = {.move.to = PLACEMENT_NONE};

                if (host_load(p, host) - least_load(s) <
                    margin(host_load(p, host), host_share(p, &p->hosts[host]), false))
                        continue;
                for (uint32_t n = p->hosts[host].first_node; n != PLACEMENT_NONE;
                     n = p->nodes[n].next_of_host)
                        best_of_node(s, n, &best);
                if (best.move.to == PLACEMENT_NONE)
                        continue;
                *ret_changed = true;
                make(s, &best);
                enter_heaps(s, host);
                enter_heaps(s, p->nodes[best.move.to].host);
        }
        // for the next time
        while (deadline_heap_pop(&s->high, UINT64_MAX) || deadline_heap_pop(&s->low, UINT64_MAX))
                ;
}

// ------------------------------------------------------------------------------------------------ the whole

// Takes back moves that serve nobody any more.
static void prune(Search *s, bool *ret_changed) {
        Placement *p = s->p;

        for (uint32_t i = s->n_moves; i-- > 0;) {
                uint32_t unit = s->moves[i].unit, to = s->moves[i].to, origin = s->origin[unit];
                Trial t;

                if (!node_takes(p, unit, origin))
                        continue;
                shift(p, unit, origin, &t);
                if (is_worse(t.change))
                        shift_back(p, unit, to);
                else {
                        forget_move(s, unit);
                        s->origin[unit] = PLACEMENT_NONE;
                        *ret_changed = true;
                }
        }
}

static void search(Search *s) {
        bool changed = true;

        while (changed) {
                changed = false;
                please_units(s, &changed);
                even_out(s, &changed);
                if (!changed || s->full)
                        prune(s, &changed);
                if (s->full)
                        break;
        }
}

// Each of the units has moved.
static void take_back(Placement *p, const RebalanceMove *moves, size_t n) {
        while (n-- > 0)
                shift_back(p, moves[n].unit, moves[n].from);
}

static void search_init(Search *s, Placement *p, const RebalanceRules *rules) {
        size_t n = (size_t) p->unit_slots.n + 1;

        *s = (Search){.p = p, .rules = rules, .full = rules->max_moves == 0};
        s->may = oom_checked(calloc(n, sizeof *s->may));
        s->origin = oom_checked(malloc(n * sizeof *s->origin));
        s->ranks = oom_checked(calloc((size_t) p->host_slots.n + 1, sizeof *s->ranks));
        memset(s->origin, 0xff, n * sizeof *s->origin);
}

// Makes the moves once more, now each unit straight to its end, in an order in which every one is possible
// and better. What does not fit into any is not part of the plan: it may be of the next one.
static void put_in_order(Search *s) {
        uint32_t done = 0, n = s->n_moves;
        bool progress = true;

        while (progress && done < n) {
                progress = false;
                for (uint32_t i = done; i < n; i++) {
                        RebalanceMove m = s->moves[i];

                        if (!rebalance_carry_out(s->p, m.unit, m.to))
                                continue;
                        memmove(&s->moves[done + 1], &s->moves[done], (i - done) * sizeof m);
                        s->moves[done++] = m;
                        progress = true;
                }
        }
        s->n_moves = done;
}

void rebalance_plan(Placement *p, const RebalanceRules *rules, RebalanceMove **ret, size_t *ret_n,
                    bool *ret_more) {
        Search s;

        search_init(&s, p, rules);
        search(&s);
        take_back(p, s.moves, s.n_moves);
        put_in_order(&s);
        take_back(p, s.moves, s.n_moves);
        free(s.may);
        free(s.origin);
        deadline_heap_done(&s.high);
        deadline_heap_done(&s.low);
        free(s.ranks);
        *ret = s.moves;
        *ret_n = s.n_moves;
        *ret_more = s.n_moves >= rules->max_moves;
}

bool rebalance_carry_out(Placement *p, uint32_t unit, uint32_t to) {
        PlacedUnit *u = &p->units[unit];
        uint32_t from = u->node;
        Trial t;

        if (from == PLACEMENT_NONE || from == to || goes_anyway(p, unit) || unit_is_tied(p, unit) ||
            !slots_has(&p->node_slots, to) || !node_takes(p, unit, to))
                return false;
        shift(p, unit, to, &t);
        if (is_better(t.change))
                return true;
        shift_back(p, unit, from);
        return false;
}

void rebalance_revise(Placement *p, RebalanceMove *moves, size_t *n) {
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++) {
                RebalanceMove m = moves[i];

                if (p->units[m.unit].node == m.from && rebalance_carry_out(p, m.unit, m.to))
                        moves[kept++] = m;
        }
        take_back(p, moves, kept);
        *n = kept;
}

char *rebalance_why_text(const RebalanceMove *m) {
        switch (m->why) {
        case REBALANCE_MISMATCH:
                return str_printf("mismatch: the labels there are what it asks for, those here are not");
        case REBALANCE_SPREAD:
                return str_printf("spread: its group has %u there and %u here", m->there, m->here);
        case REBALANCE_PREFERENCE:
                return str_printf("preferred there (PreferLabel=)");
        case REBALANCE_SHARE:
                return str_printf("load: %u%% is reserved there and %u%% here", m->there, m->here);
        default:
                return str_printf("load: %u unit%s there and %u here", m->there, m->there == 1 ? "" : "s",
                                  m->here);
        }
}
