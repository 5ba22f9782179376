// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Why a node does not take a unit, as sentences for people.
//
//      placement_why()
//          -> per node the first reason, from the most lasting to the least: labels, an earlier failure,
//                         affinity, the node's state, conflicts, room, reservations, spread
//
// Nothing is kept for this: the rules are evaluated again, for one unit on all nodes. The texts are the
// caller's (placement_refusals_free()). Failure: -ENOMEM or NULL.

#include <errno.h>
#include <inttypes.h>

#include "buf.h"
#include "placement-private.h"
#include "str.h"

enum { CORE = 1000 }; // PLACEMENT_CPU of one core

// "has disk=hdd", "has no label disk"
static int add_has(const Placement *p, const PlacedNode *n, uint32_t key, Buf *text) {
        int found = 0, r = 0;

        for (uint32_t i = 0; i < n->n_labels && r >= 0; i++)
                if (p->pairs[n->labels[i]].key == key)
                        r = buf_printf(text, "%s%s", found++ ? " and " : "has ",
                                       p->pairs[n->labels[i]].text);
        return r < 0 || found ? r : buf_printf(text, "has no label %s", p->keys[key].name);
}

// "is in pool gold", "is in no pool"
static int add_pools(const Placement *p, const PlacedNode *n, uint32_t key, Buf *text) {
        int found = 0, r = 0;

        for (uint32_t i = 0; i < n->n_labels && r >= 0; i++)
                if (p->pairs[n->labels[i]].key == key)
                        r = buf_printf(text, "%s%s", found++ ? " and " : "is in pool ",
                                       pair_value(p, n->labels[i]));
        return r < 0 || found ? r : buf_printf(text, "is in no pool");
}

// Membership in a pool is a label inside, but users know it as Pool= only.
static char *pool_text(const Placement *p, const Term *t, uint32_t node) {
        _cleanup_buf_ Buf text = {0};
        int r = buf_printf(&text, "needs pool ");

        for (uint32_t i = 0; i < t->n_values && r >= 0; i++)
                r = buf_printf(&text, "%s%s", i ? " or " : "", pair_value(p, t->values[i]));
        r = r < 0 ? r : buf_printf(&text, ", ");
        r = r < 0 ? r : add_pools(p, &p->nodes[node], t->key, &text);
        return r < 0 ? NULL : buf_take_string(&text);
}

// Keys that begin with '@' are internal, and most such terms bring their own `reason`.
static char *term_text(const Placement *p, const Term *t, uint32_t node) {
        const char *key = p->keys[t->key].name, *what = *key == '@' ? "" : "label ";
        _cleanup_buf_ Buf text = {0};
        int r;

        if (t->reason)
                return strdup(t->reason);
        if (streq(key, PLACEMENT_POOL) && t->op == LABEL_IN)
                return pool_text(p, t, node);
        key += *key == '@';
        if (t->op == LABEL_EXISTS || t->op == LABEL_ABSENT)
                r = buf_printf(&text, "needs %s%s%s", t->op == LABEL_EXISTS ? "" : "no ", what, key);
        else
                r = buf_printf(&text, "needs %s%s%s", what, key, label_op_sign(t->op));
        for (uint32_t i = 0; i < t->n_values && r >= 0; i++)
                r = buf_printf(&text, "%s%s", i ? label_op_wants(t->op) ? " or " : " and " : "",
                               pair_value(p, t->values[i]));
        r = r < 0 ? r : buf_printf(&text, ", ");
        r = r < 0 ? r : add_has(p, &p->nodes[node], t->key, &text);
        return r < 0 ? NULL : buf_take_string(&text);
}

static const char *state_text(const PlacedNode *n) {
        static const char *const texts[] = {
                [PLACEMENT_CLOSED] = "the node takes no new units",
                [PLACEMENT_LOST] = "the node is lost",
        };

        return n->state < ELEMENTSOF(texts) ? texts[n->state] : NULL;
}

static bool listed(const Numbers *l, uint32_t number) {
        for (uint32_t i = 0; i < l->n; i++)
                if (l->of[i] == number)
                        return true;
        return false;
}

// A unit on the node with which `unit` conflicts. *ret_its: by the unit's own Conflicts=, not by the
// other's.
static uint32_t find_conflict(const Placement *p, uint32_t unit, uint32_t node, uint32_t *ret_glob,
                              bool *ret_its) {
        const Selector *s = &p->selectors[p->shapes[p->units[unit].shape].selector];

        for (uint32_t i = p->nodes[node].first_unit; i != PLACEMENT_NONE; i = p->units[i].next) {
                const Selector *other = &p->selectors[p->shapes[p->units[i].shape].selector];

                for (uint32_t g = 0; g < other->matches.n && i != unit; g++)
                        if (listed(&s->hates, other->matches.of[g]) &&
                            !p->globs[other->matches.of[g]].one_sided) {
                                *ret_glob = other->matches.of[g];
                                *ret_its = true;
                                return i;
                        }
                for (uint32_t g = 0; g < other->hates.n && i != unit; g++)
                        if (listed(&s->matches, other->hates.of[g])) {
                                *ret_glob = other->hates.of[g];
                                *ret_its = false;
                                return i;
                        }
        }
        return PLACEMENT_NONE;
}

// What the first one has of a thing that is shared, and the second one has another value of. NULL: none.
static const char *find_shared(const Placement *p, const Selector *s, const Selector *other) {
        for (uint32_t g = 0; g < s->hates.n; g++) {
                const char *text = p->globs[s->hates.of[g]].text;

                if (*text == PLACEMENT_SHARED && listed(&other->matches, s->hates.of[g]))
                        return text + 1;
        }
        return NULL;
}

uint32_t placement_next_other(const Placement *p, uint32_t unit, uint32_t after, const char **ret) {
        const PlacedUnit *u = &p->units[unit];
        const Selector *s = &p->selectors[p->shapes[u->shape].selector];
        uint32_t i = after;

        if (u->node == PLACEMENT_NONE || !conflict_with_others(p, unit))
                return PLACEMENT_NONE;
        i = after == PLACEMENT_NONE ? p->nodes[u->node].first_unit : p->units[after].next;
        while (i != PLACEMENT_NONE &&
               !(*ret = find_shared(p, s, &p->selectors[p->shapes[p->units[i].shape].selector])))
                i = p->units[i].next;
        return i;
}

static char *conflict_text(const Placement *p, uint32_t unit, uint32_t node, bool *ret_is) {
        uint32_t glob, other;
        bool its;

        other = find_conflict(p, unit, node, &glob, &its);
        *ret_is = other != PLACEMENT_NONE;
        if (!*ret_is)
                return NULL;
        if (*p->globs[glob].text == PLACEMENT_SHARED)
                return str_printf("%s there has another %.*s", p->units[other].name,
                                  (int) strcspn(p->globs[glob].text + 1, "="), p->globs[glob].text + 1);
        if (*p->globs[glob].text == PLACEMENT_CLAIM)
                return str_printf("%s there has %s", p->units[other].name, p->globs[glob].text + 1);
        if (its)
                return str_printf("conflicts with %s there (Conflicts=%s)", p->units[other].name,
                                  p->globs[glob].text);
        return str_printf("%s there %s it (%s=%s)", p->units[other].name,
                          p->globs[glob].one_sided ? "replaces" : "conflicts with",
                          p->globs[glob].one_sided ? "Replaces" : "Conflicts", p->globs[glob].text);
}

typedef struct AmountUnit {
        const char *word;
        int32_t amount; // MiB or milli-cores in one
} AmountUnit;

static const AmountUnit memory_units[] = {{"T", 1 << 20}, {"G", 1 << 10}, {"M", 1}};

// The largest unit that divides the amount: most likely the one that the unit file uses.
static const AmountUnit *memory_unit_of(int32_t mib) {
        const AmountUnit *u = memory_units;

        while (mib % u->amount != 0)
                u++;
        return u;
}

// The largest unit that is not above the amount, nor above `most`.
static const AmountUnit *memory_unit_for(int32_t mib, const AmountUnit *most) {
        while (most->amount > 1 && mib < most->amount)
                most++;
        return most;
}

// "2", "1.5", "0.25", rounded down: what is free never looks like as much as is needed.
static int number_text(int32_t amount, const AmountUnit *u, Buf *text) {
        int digits = u->amount == CORE ? 3 : 1, decimals = u->amount == CORE ? CORE : 10;
        int64_t rest = (int64_t) (amount % u->amount) * decimals / u->amount;

        if (rest == 0)
                return buf_printf(text, "%d%s", amount / u->amount, u->word);
        for (; rest % 10 == 0; rest /= 10)
                digits--;
        return buf_printf(text, "%d.%0*" PRId64 "%s", amount / u->amount, digits, rest, u->word);
}

// "needs 4 cores, 1.5 of 8 are free", "needs 900G of memory, 21.1G of 31.2G are free", "needs 2 gpu, has
// none"
static int lacks_text(const Placement *p, unsigned resource, int32_t needs, int32_t free, int32_t offers,
                      Buf *text) {
        static const AmountUnit one = {"", 1}, core = {"", CORE};
        bool memory = resource == PLACEMENT_MEMORY;
        const AmountUnit *u = resource == PLACEMENT_CPU ? &core : memory ? memory_unit_of(needs) : &one;
        int r;

        r = buf_printf(text, "needs ");
        r = r < 0 ? r : number_text(needs, u, text);
        if (r >= 0 && resource == PLACEMENT_CPU)
                r = buf_printf(text, needs == CORE ? " core" : " cores");
        else if (r >= 0)
                r = buf_printf(text, " %s", memory ? "of memory" : p->resources[resource]);
        if (r < 0 || offers == 0)
                return r < 0 ? r : buf_printf(text, ", has none");
        r = buf_printf(text, ", ");
        r = r < 0 ? r : number_text(free, memory ? memory_unit_for(free, u) : u, text);
        r = r < 0 ? r : buf_printf(text, " of ");
        r = r < 0 ? r : number_text(offers, memory ? memory_unit_for(offers, u) : u, text);
        return r < 0 ? r : buf_printf(text, " %s free", free == u->amount ? "is" : "are");
}

// The resources of which the host has too little. NULL and *ret_is false: there is room.
static char *room_text(const Placement *p, const PlacedHost *h, const PlacementVector *demand,
                       bool *ret_is) {
        _cleanup_buf_ Buf text = {0};

        *ret_is = false;
        for (unsigned i = 0; i < p->n_resources; i++) {
                if (demand->of[i] <= h->free.of[i] || demand->of[i] == 0)
                        continue;
                if (buf_printf(&text, *ret_is ? "; " : "") < 0)
                        return NULL;
                *ret_is = true;
                if (lacks_text(p, i, demand->of[i], MAX_OF(h->free.of[i], 0), h->offers.of[i], &text) < 0)
                        return NULL;
        }
        return *ret_is ? buf_take_string(&text) : NULL;
}

static const char *target_elsewhere(const Placement *p, uint32_t unit, uint32_t node) {
        for (uint32_t l = unit_follows(p, unit); l != PLACEMENT_NONE; l = p->links[l].next_of_unit) {
                const PlacedUnit *t = &p->units[p->links[l].target];

                if (t->node != node)
                        return t->name;
        }
        return NULL;
}

static char *spread_text(const Placement *p, const Class *c, uint32_t node) {
        const Spread *s = &p->spreads[c->spread];
        const Group *g = &p->groups[s->group];

        return str_printf("%s has %u of its group there already, another has %u", p->keys[g->key].name,
                          group_at(g, node_domain(p, node, g->key)), s->min);
}

static char *kept_for_it(char *lack) {
        char *text = lack ? str_printf("%s; what becomes free is kept for it", lack) : NULL;

        free(lack);
        return text;
}

// The first term of the class that the node's labels do not meet. NULL: they meet all.
static const Term *unmatched_term(const Placement *p, const Class *c, uint32_t node) {
        const Selector *base = &p->selectors[c->base];

        for (uint32_t i = 0; i < base->n_terms; i++)
                if (!term_matches(p, &base->terms[i], node))
                        return &base->terms[i];
        return NULL;
}

char *placement_mismatch_text(const Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        const Term *t = u->node == PLACEMENT_NONE ? NULL : unmatched_term(p, unit_class(p, u), u->node);

        return t ? term_text(p, t, u->node) : NULL;
}

// *ret_is: whether there is a reason at all.
static char *reason(const Placement *p, uint32_t unit, uint32_t node, bool *ret_is,
                    PlacementReason *ret_kind) {
        const PlacedUnit *u = &p->units[unit];
        const Class *c = unit_class(p, u);
        const Term *lacks = unmatched_term(p, c, node);
        const char *target = target_elsewhere(p, unit, node), *state = state_text(&p->nodes[node]);
        uint32_t mate = unit_replaced_mate(p, unit, node);
        char *text;

        *ret_is = true;
        *ret_kind = PLACEMENT_REASON_LABELS;
        if (lacks)
                return term_text(p, lacks, node);
        *ret_kind = PLACEMENT_REASON_EXCLUDED;
        if (unit_excluded(p, unit, node))
                return strdup("it failed or was refused there");
        *ret_kind = PLACEMENT_REASON_AFFINITY;
        if (target)
                return str_printf("is to be where %s is, which is not there", target);
        if (mate != PLACEMENT_NONE && u->node != node)
                return str_printf("would replace %s, with which it is to be", p->units[mate].name);
        *ret_kind = PLACEMENT_REASON_STATE;
        if (state)
                return strdup(state);
        *ret_kind = PLACEMENT_REASON_AFFINITY;
        text = conflict_text(p, unit, node, ret_is);
        if (*ret_is)
                return text;
        *ret_kind = PLACEMENT_REASON_ROOM;
        text = room_text(p, &p->hosts[p->nodes[node].host], &c->spec.demand, ret_is);
        if (*ret_is && p->reservation.unit == unit && p->reservation.host == p->nodes[node].host)
                return kept_for_it(text);
        if (*ret_is)
                return text;
        if (reservation_bars(p, p->nodes[node].host, &unit, 1, &c->spec.demand)) {
                *ret_is = true;
                return str_printf("its room is kept for %s, which waits longer",
                                  p->units[p->reservation.unit].name);
        }
        if (spread_allows(p, c, node))
                return NULL;
        *ret_is = true;
        *ret_kind = PLACEMENT_REASON_SPREAD;
        return spread_text(p, c, node);
}

int placement_why(const Placement *p, uint32_t unit, PlacementRefusal **ret, size_t *ret_n) {
        PlacementRefusal *refusals = calloc((size_t) p->node_slots.count + 1, sizeof *refusals);
        size_t n = 0;

        if (!refusals)
                return -ENOMEM;
        for (uint32_t node = 0; node < p->node_slots.n; node++) {
                bool is;

                if (!p->node_slots.used[node] ||
                    (p->units[unit].node == node && !p->nodes[node].state && !unit_must_go(p, unit)))
                        continue;
                refusals[n] = (PlacementRefusal){.node = node};
                refusals[n].reason = reason(p, unit, node, &is, &refusals[n].kind);
                if (is && !refusals[n].reason) {
                        placement_refusals_free(refusals, n);
                        return -ENOMEM;
                }
                n += is;
        }
        *ret = refusals;
        *ret_n = n;
        return 0;
}

PlacementRefusal *placement_refusals_free(PlacementRefusal *refusals, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(refusals[i].reason);
        free(refusals);
        return NULL;
}

PlacementHold placement_held_back(const Placement *p, uint32_t unit, unsigned *ret_resource) {
        const PlacedUnit *u = &p->units[unit];
        const PlacementVector *demand = &unit_class(p, u)->spec.demand;
        int resource;

        if (u->node != PLACEMENT_NONE)
                return PLACEMENT_FREE;
        resource = role_over_limit(&p->roles[u->role], demand);
        if (resource >= 0) {
                *ret_resource = (unsigned) resource;
                return PLACEMENT_OVER_LIMIT;
        }
        resource = breaks_promises(p, &p->roles[u->role], demand);
        if (resource < 0)
                return PLACEMENT_FREE;
        *ret_resource = (unsigned) resource;
        return PLACEMENT_PROMISED;
}
