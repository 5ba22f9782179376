// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of the placement, by brute force: each question looks at everything. What a Placement was told
// (hosts, labels, states, classes, who is where) is read from its tables before it decides; what follows
// from that (room, conflicts, domains, loads) is worked out here once more, by the rules of placement.h, and
// compared with what it decides, whom it leaves without a node, whom it preempts, and the reasons it gives.
// Placements of plans are looked at likewise.
//
// Nothing is said of what depends on more than that: units that follow each other, roles that have a limit
// or a guarantee, hosts where something has failed lately, room that is kept for somebody.
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/placement/placement-private.h"
#include "checks.h"
#include "macro.h"
#include "str.h"
#include "test.h"

enum { UNITS_LOOKED_MAX = 80, LEFT_LOOKED = 4, LOADS = 4095, EXACT_LOADS = 3072, COARSE = 64 };

typedef struct Told {
        const Placement *p;
        uint32_t n;
        uint32_t node[UNITS_LOOKED_MAX], home[UNITS_LOOKED_MAX];
        bool released[UNITS_LOOKED_MAX];
        bool plain_roles, kept, penalised;
} Told;

void __real_placement_round(Placement *p, uint64_t now_us, const PlacementBudget *budget,
                            const PlacementDecision **ret, size_t *ret_n);
uint32_t __real_placement_move(Placement *p, uint32_t unit, uint64_t now_us);
void __wrap_placement_round(Placement *p, uint64_t now_us, const PlacementBudget *budget,
                            const PlacementDecision **ret, size_t *ret_n);
uint32_t __wrap_placement_move(Placement *p, uint32_t unit, uint64_t now_us);

#define WRONG(...) check_fail("placed-by-the-rules", __VA_ARGS__)

static bool are_roles_plain(const Placement *p) {
        for (uint32_t i = 0; i < p->role_slots.n; i++)
                for (unsigned k = 0; slots_has(&p->role_slots, i) && k < p->n_resources; k++)
                        if (p->roles[i].settings.limit[k] >= 0 || p->roles[i].settings.guarantee[k] > 0)
                                return false;
        return true;
}

// False: there are too many to look at.
static bool told_read(Told *t, const Placement *p) {
        *t = (Told){.p = p,
                    .n = p->unit_slots.n,
                    .plain_roles = are_roles_plain(p),
                    .kept = p->reservation.unit != PLACEMENT_NONE,
                    .penalised = p->penalised.n > 0};
        if (t->n > UNITS_LOOKED_MAX)
                return false;
        for (uint32_t i = 0; i < t->n; i++) {
                bool is = slots_has(&p->unit_slots, i);

                if (is && !p->units[i].name) // one that was copied for another thread
                        return false;
                t->node[i] = is ? p->units[i].node : PLACEMENT_NONE;
                t->home[i] = is ? p->units[i].home : PLACEMENT_NONE;
                t->released[i] = is && p->units[i].flags & UNIT_RELEASED;
        }
        return true;
}

static void told_put(Told *t, uint32_t unit, uint32_t node) {
        if (t->node[unit] != PLACEMENT_NONE)
                t->home[unit] = t->node[unit];
        t->node[unit] = node;
        t->released[unit] = false;
        if (node != PLACEMENT_NONE)
                t->home[unit] = node;
}

static const PlacementSpec *spec_of(const Told *t, uint32_t unit) {
        return &unit_class(t->p, &t->p->units[unit])->spec;
}

static bool is_alone(const Told *t, uint32_t unit) {
        return unit_follows(t->p, unit) == PLACEMENT_NONE && unit_followed(t->p, unit) == PLACEMENT_NONE;
}

// ------------------------------------------------------------------------------------------------ labels

static const char *value_of(const Placement *p, uint32_t pair) {
        return strchr(p->pairs[pair].text, '=') + 1;
}

// NULL: the node has none of that key.
static const char *label_of(const Placement *p, uint32_t node, uint32_t key) {
        for (uint32_t i = 0; i < p->nodes[node].n_labels; i++)
                if (p->pairs[p->nodes[node].labels[i]].key == key)
                        return value_of(p, p->nodes[node].labels[i]);
        return NULL;
}

static bool has_any(const Placement *p, uint32_t node, const Term *term) {
        for (uint32_t i = 0; i < p->nodes[node].n_labels; i++)
                for (uint32_t k = 0; k < term->n_values; k++) {
                        uint32_t pair = p->nodes[node].labels[i];

                        if (p->pairs[pair].key == term->key &&
                            (term->op == LABEL_LIKE
                                     ? fnmatch(value_of(p, term->values[k]), value_of(p, pair),
                                               FNM_NOESCAPE) == 0
                                     : streq(value_of(p, term->values[k]), value_of(p, pair))))
                                return true;
                }
        return false;
}

static bool meets(const Placement *p, uint32_t node, const Term *term) {
        if (term->op == LABEL_EXISTS || term->op == LABEL_ABSENT)
                return !!label_of(p, node, term->key) == (term->op == LABEL_EXISTS);
        return has_any(p, node, term) == (term->op != LABEL_NOT_IN);
}

static bool suits(const Placement *p, const Class *c, uint32_t node) {
        const Selector *base = &p->selectors[c->base];

        for (uint32_t i = 0; i < base->n_terms; i++)
                if (!meets(p, node, &base->terms[i]))
                        return false;
        return true;
}

// ------------------------------------------------------------------------------------------------ with whom

static bool declares(const Placement *p, const Class *c, const char *text) {
        for (uint32_t i = 0; i < c->globs.n; i++)
                if (streq(p->globs[c->globs.of[i]].text, text))
                        return true;
        return false;
}

// "&KEY=VALUE": there is another value of that key.
static bool has_another(const Placement *p, const Class *c, const char *text) {
        size_t key = (size_t) (strchr(text, '=') - text) + 1;

        for (uint32_t i = 0; i < c->globs.n; i++) {
                const char *other = p->globs[c->globs.of[i]].text;

                if (strncmp(other, text, key) == 0 && !streq(other, text))
                        return true;
        }
        return false;
}

static bool names(const Placement *p, const Glob *g, uint32_t unit) {
        const Class *c = unit_class(p, &p->units[unit]);

        if (*g->text == PLACEMENT_CLAIM)
                return declares(p, c, g->text);
        if (*g->text == PLACEMENT_SHARED)
                return has_another(p, c, g->text);
        return fnmatch(g->text, p->units[unit].name, 0) == 0;
}

// `both`: also what minds only whose name matches.
static bool minds(const Placement *p, uint32_t unit, uint32_t other, bool both) {
        const Class *c = unit_class(p, &p->units[unit]);

        for (uint32_t i = 0; i < c->globs.n; i++) {
                const Glob *g = &p->globs[c->globs.of[i]];

                if ((both || !g->one_sided) && names(p, g, other))
                        return true;
        }
        return false;
}

static bool is_in_conflict(const Told *t, uint32_t unit, uint32_t node) {
        for (uint32_t i = 0; i < t->n; i++)
                if (i != unit && t->node[i] == node &&
                    (minds(t->p, unit, i, false) || minds(t->p, i, unit, true)))
                        return true;
        return false;
}

static bool is_excluded(const Placement *p, uint32_t unit, uint32_t node) {
        bool confined = p->units[unit].flags & UNIT_CONFINED;

        for (uint32_t i = 0; i < p->exclusion_slots.n; i++) {
                const Exclusion *e = &p->exclusions[i];

                if (slots_has(&p->exclusion_slots, i) && e->unit == unit && e->node == node)
                        return e->excluded || (confined && !e->admitted);
        }
        return confined;
}

// ------------------------------------------------------------------------------------------------ how much

static int64_t used(const Told *t, uint32_t host, unsigned resource) {
        int64_t sum = 0;

        for (uint32_t i = 0; i < t->n; i++)
                if (t->node[i] != PLACEMENT_NONE && t->p->nodes[t->node[i]].host == host)
                        sum += spec_of(t, i)->demand.of[resource];
        return sum;
}

static bool has_room(const Told *t, uint32_t unit, uint32_t host) {
        const PlacementVector *demand = &spec_of(t, unit)->demand;

        for (unsigned i = 0; i < t->p->n_resources; i++)
                if (demand->of[i] > 0 && used(t, host, i) + demand->of[i] > t->p->hosts[host].offers.of[i])
                        return false;
        return true;
}

static bool is_open(const Placement *p, uint32_t node) {
        return slots_has(&p->node_slots, node) && p->nodes[node].state <= PLACEMENT_SECOND;
}

static bool is_same(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static uint32_t n_in_domain(const Told *t, uint32_t group, const char *domain) {
        const Placement *p = t->p;
        uint32_t n = 0;

        for (uint32_t i = 0; i < t->n; i++) {
                uint32_t spread =
                        t->node[i] == PLACEMENT_NONE ? PLACEMENT_NONE : unit_class(p, &p->units[i])->spread;

                n += spread != PLACEMENT_NONE && p->spreads[spread].group == group &&
                     is_same(label_of(p, t->node[i], p->groups[group].key), domain);
        }
        return n;
}

// How many of its group are where the node is; *ret_min: the least of a domain with an open node for it.
static uint32_t n_beside(const Told *t, uint32_t unit, uint32_t node, uint32_t *ret_min) {
        const Placement *p = t->p;
        const Class *c = unit_class(p, &p->units[unit]);
        uint32_t group = p->spreads[c->spread].group, key = p->groups[group].key;

        *ret_min = UINT32_MAX;
        for (uint32_t i = 0; i < p->node_slots.n; i++)
                if (is_open(p, i) && suits(p, c, i))
                        *ret_min = MIN_OF(*ret_min, n_in_domain(t, group, label_of(p, i, key)));
        return n_in_domain(t, group, label_of(p, node, key));
}

static bool is_spread(const Told *t, uint32_t unit, uint32_t node) {
        const Class *c = unit_class(t->p, &t->p->units[unit]);
        uint32_t min;

        if (c->spread == PLACEMENT_NONE || c->spec.spread_soft)
                return true;
        return n_beside(t, unit, node, &min) < min + MAX_OF(c->spec.spread_skew, 1);
}

static bool could_have(const Told *t, uint32_t unit, uint32_t node) {
        return is_open(t->p, node) && suits(t->p, unit_class(t->p, &t->p->units[unit]), node) &&
               !is_excluded(t->p, unit, node) && has_room(t, unit, t->p->nodes[node].host) &&
               !is_in_conflict(t, unit, node) && is_spread(t, unit, node);
}

// ------------------------------------------------------------------------------------------------ which

static uint32_t share(const Told *t, uint32_t host, unsigned resource, int64_t whole) {
        int64_t taken = used(t, host, resource), offers = t->p->hosts[host].offers.of[resource];

        if (taken <= 0)
                return 0;
        return (uint32_t) (offers <= taken ? whole : taken * whole / offers);
}

static uint32_t load_of(const Told *t, uint32_t node) {
        const PlacedNode *n = &t->p->nodes[node];
        uint32_t most = 0, units = n->n_others;

        for (unsigned i = 0; i < t->p->n_resources; i++)
                most = MAX_OF(most, share(t, n->host, i, PLACEMENT_SHARE));
        for (uint32_t i = 0; i < t->n; i++)
                units += t->node[i] == node;
        most += PLACEMENT_UNIT_LOAD * units * PLACEMENT_SIZE_ONE / t->p->hosts[n->host].size;
        return MIN_OF(most < EXACT_LOADS ? most : EXACT_LOADS + (most - EXACT_LOADS) / COARSE, LOADS);
}

static uint32_t cost_of(const Told *t, uint32_t unit, uint32_t node) {
        const Class *c = unit_class(t->p, &t->p->units[unit]);
        uint32_t host = t->p->nodes[node].host, cost;

        if (c->spec.policy == PLACEMENT_BEST_FIT)
                cost = LOADS -
                       MAX_OF(share(t, host, PLACEMENT_CPU, LOADS), share(t, host, PLACEMENT_MEMORY, LOADS));
        else
                cost = load_of(t, node);
        if (t->p->nodes[node].state == PLACEMENT_SECOND)
                cost += LOADS + 1;
        for (size_t i = 0; i < c->spec.n_preferences; i++)
                if (!meets(t->p, node, &c->preferences[i]))
                        cost += c->spec.weights[i];
        return cost;
}

// PLACEMENT_NONE: nowhere.
static uint32_t choose(const Told *t, uint32_t unit) {
        const Placement *p = t->p;
        bool spreads = unit_class(p, &p->units[unit])->spread != PLACEMENT_NONE;
        uint32_t best = PLACEMENT_NONE, home = t->home[unit], min, fewest = 0;

        if (home != PLACEMENT_NONE && slots_has(&p->node_slots, home) &&
            p->nodes[home].state == PLACEMENT_OPEN && could_have(t, unit, home) &&
            (!spreads || n_beside(t, unit, home, &min) == min))
                return home;
        for (uint32_t i = 0; i < p->node_slots.n; i++) {
                uint32_t beside;

                if (!could_have(t, unit, i))
                        continue;
                beside = spreads ? n_beside(t, unit, i, &min) : 0;
                if (best != PLACEMENT_NONE &&
                    (beside > fewest || (beside == fewest && cost_of(t, unit, i) >= cost_of(t, unit, best))))
                        continue;
                best = i;
                fewest = beside;
        }
        return best;
}

// ------------------------------------------------------------------------------------------------ decisions

static void is_given_a_node(Told *t, const PlacementDecision *d) {
        const Placement *p = t->p;
        uint32_t expected;

        if (!(p->units[d->unit].flags & UNIT_WANTED) || d->from != t->node[d->unit])
                WRONG("%s goes to a node that it does not want", p->units[d->unit].name);
        if (!is_open(p, d->to) || !suits(p, unit_class(p, &p->units[d->unit]), d->to) ||
            is_excluded(p, d->unit, d->to) || is_in_conflict(t, d->unit, d->to))
                WRONG("%s is given node %u, where it may not be", p->units[d->unit].name, d->to);
        if ((d->from == PLACEMENT_NONE || p->nodes[d->from].host != p->nodes[d->to].host) &&
            !has_room(t, d->unit, p->nodes[d->to].host))
                WRONG("%s is given node %u, which has no room for it", p->units[d->unit].name, d->to);
        if (!is_alone(t, d->unit) || d->from != PLACEMENT_NONE || t->kept || t->penalised)
                return;
        check_says("placed-by-the-rules");
        expected = choose(t, d->unit);
        if (d->to != expected)
                WRONG("%s is given node %u, and by the rules it is %d", p->units[d->unit].name, d->to,
                      (int) expected);
}

// Those n give way to one unit.
static void are_preempted(Told *t, const PlacementDecision *d, size_t n) {
        const Placement *p = t->p;
        const PlacedUnit *by = &p->units[d->unit_for];
        uint32_t host = p->nodes[d->from].host;
        bool is_plain = t->plain_roles && is_alone(t, d->unit_for) && !t->kept &&
                        t->node[d->unit_for] == PLACEMENT_NONE;

        if (is_plain && choose(t, d->unit_for) != PLACEMENT_NONE)
                WRONG("%s preempts others, and node %u has room", by->name, choose(t, d->unit_for));
        for (size_t i = 0; i < n; i++) {
                const PlacedUnit *u = &p->units[d[i].unit];

                if (u->priority >= by->priority || u->flags & UNIT_STEADY)
                        WRONG("%s is preempted for %s, which does not come before it", u->name, by->name);
                told_put(t, d[i].unit, PLACEMENT_NONE);
        }
        if (!is_plain)
                return;
        check_says("placed-by-the-rules");
        if (!has_room(t, d->unit_for, host))
                WRONG("units are preempted for %s, which has no room then", by->name);
        for (size_t i = 0; i < n; i++) {
                t->node[d[i].unit] = d[i].from;
                if (has_room(t, d->unit_for, host))
                        WRONG("%s is preempted, and %s would have had room without that",
                              p->units[d[i].unit].name, by->name);
                t->node[d[i].unit] = PLACEMENT_NONE;
        }
}

static bool waits(const Told *t, uint32_t unit) {
        return slots_has(&t->p->unit_slots, unit) && t->p->units[unit].flags & UNIT_WANTED &&
               t->node[unit] == PLACEMENT_NONE;
}

static void has_its_reasons(const Told *t, uint32_t unit) {
        PlacementRefusal *refusals;
        bool refused[64] = {};
        size_t n;

        if (t->p->node_slots.n > ELEMENTSOF(refused) || placement_why(t->p, unit, &refusals, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                refused[refusals[i].node] = true;
        placement_refusals_free(refusals, n);
        for (uint32_t i = 0; i < t->p->node_slots.n; i++)
                if (slots_has(&t->p->node_slots, i) && refused[i] == could_have(t, unit, i))
                        WRONG("a reason is %sgiven why %s cannot be on node %u", refused[i] ? "" : "not ",
                              t->p->units[unit].name, i);
}

// Some of those who have no node yet, others each time.
static void none_is_forgotten(const Told *t) {
        static uint32_t at;
        unsigned n = 0;

        for (uint32_t i = 0; i < t->n && n < LEFT_LOOKED; i++) {
                uint32_t unit = (at + i) % t->n;

                if (!waits(t, unit) || !is_alone(t, unit))
                        continue;
                n++;
                check_says("placed-by-the-rules");
                if (choose(t, unit) != PLACEMENT_NONE)
                        WRONG("%s waits, and node %u could have it", t->p->units[unit].name,
                              choose(t, unit));
                has_its_reasons(t, unit);
        }
        at++;
}

// What is kept up to date is what follows from who is where.
static void is_counted(const Told *t) {
        const Placement *p = t->p;

        for (uint32_t i = 0; i < p->host_slots.n; i++)
                for (unsigned k = 0; slots_has(&p->host_slots, i) && k < p->n_resources; k++)
                        if (p->hosts[i].free.of[k] != p->hosts[i].offers.of[k] - used(t, i, k))
                                WRONG("host %u has %d of a resource free, and not %d", i,
                                      (int) (p->hosts[i].offers.of[k] - used(t, i, k)),
                                      (int) p->hosts[i].free.of[k]);
        for (uint32_t i = 0; i < t->n; i++) {
                uint32_t node = t->node[i];
                bool may_stay;

                if (node == PLACEMENT_NONE || unit_follows(p, i) != PLACEMENT_NONE || t->released[i] ||
                    p->nodes[node].state == PLACEMENT_LOST)
                        continue;
                may_stay = suits(p, unit_class(p, &p->units[i]), node) && !is_excluded(p, i, node) &&
                           !is_in_conflict(t, i, node);
                if (placement_unit_must_go(p, i) == may_stay)
                        WRONG("%s is said %sto have to leave its node", p->units[i].name,
                              may_stay ? "" : "not ");
        }
}

void __wrap_placement_round(Placement *p, uint64_t now_us, const PlacementBudget *budget,
                            const PlacementDecision **ret, size_t *ret_n) {
        Told t;
        bool looks = told_read(&t, p);

        if (looks)
                is_counted(&t);
        __real_placement_round(p, now_us, budget, ret, ret_n);
        if (!looks)
                return;
        t.kept |= p->reservation.unit != PLACEMENT_NONE;
        for (size_t i = 0, n; i < *ret_n; i += n) {
                const PlacementDecision *d = &(*ret)[i];

                n = 1;
                if (d->kind == PLACEMENT_PREEMPT) {
                        while (i + n < *ret_n && d[n].kind == PLACEMENT_PREEMPT &&
                               d[n].unit_for == d->unit_for)
                                n++;
                        are_preempted(&t, d, n);
                        continue;
                }
                is_given_a_node(&t, d);
                told_put(&t, d->unit, d->to);
        }
        if (t.plain_roles && !t.kept && *ret_n < budget->decisions)
                none_is_forgotten(&t);
}

uint32_t __wrap_placement_move(Placement *p, uint32_t unit, uint64_t now_us) {
        Told t;
        bool looks = told_read(&t, p);
        uint32_t node, expected;

        if (looks)
                is_counted(&t);
        node = __real_placement_move(p, unit, now_us);
        if (!looks)
                return node;
        t.kept |= p->reservation.unit != PLACEMENT_NONE;
        if (t.node[unit] != PLACEMENT_NONE || !is_alone(&t, unit) || t.kept || t.penalised ||
            (node == PLACEMENT_NONE && !t.plain_roles))
                return node;
        check_says("placed-by-the-rules");
        expected = choose(&t, unit);
        if (node != expected)
                WRONG("%s is given node %d, and by the rules it is %d", p->units[unit].name, (int) node,
                      (int) expected);
        return node;
}
