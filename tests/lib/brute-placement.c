// SPDX-License-Identifier: LGPL-2.1-or-later
#include "brute-placement.h"

#include <fnmatch.h>
#include <stdlib.h>

static void *enlarge(void *array, uint32_t before, uint32_t n, size_t item) {
        char *larger = realloc(array, n * item);

        if (!larger)
                abort();
        memset(larger + before * item, 0, (n - before) * item);
        return larger;
}

#define NEED(array, n, i)                                                             \
        do {                                                                          \
                if ((i) >= (n)) {                                                     \
                        (array) = enlarge(array, n, 2 * (i) + 8, sizeof((array)[0])); \
                        (n) = 2 * (i) + 8;                                            \
                }                                                                     \
        } while (0)

void brute_done(Brute *b) {
        for (uint32_t i = 0; i < b->n_nodes; i++)
                free(b->nodes[i].units);
        free(b->hosts);
        free(b->nodes);
        free(b->units);
        *b = (Brute){0};
}

void brute_host(Brute *b, uint32_t host, const PlacementVector *offers, uint32_t size) {
        NEED(b->hosts, b->n_hosts, host);
        b->hosts[host].offers = *offers;
        b->hosts[host].size = size;
}

void brute_node(Brute *b, uint32_t node, uint32_t host, const PlacementLabel *labels, size_t n) {
        NEED(b->nodes, b->n_nodes, node);
        b->nodes[node].present = true;
        b->nodes[node].host = host;
        b->nodes[node].labels = labels;
        b->nodes[node].n_labels = n;
}

void brute_unit(Brute *b, uint32_t unit, const char *name, const PlacementSpec *spec) {
        NEED(b->units, b->n_units, unit);
        b->units[unit] = (BruteUnit){.present = true,
                                     .wanted = true,
                                     .name = name,
                                     .spec = spec,
                                     .node = PLACEMENT_NONE,
                                     .home = PLACEMENT_NONE};
}

static void count(Brute *b, uint32_t unit, uint32_t node, int step) {
        BruteHost *h = &b->hosts[b->nodes[node].host];

        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                h->used.of[i] += step * b->units[unit].spec->demand.of[i];
}

void brute_put(Brute *b, uint32_t unit, uint32_t node) {
        BruteUnit *u = &b->units[unit];

        if (u->node != PLACEMENT_NONE) {
                BruteNode *n = &b->nodes[u->node];

                count(b, unit, u->node, -1);
                n->units[u->place] = n->units[--n->n_units];
                b->units[n->units[u->place]].place = u->place;
                u->home = u->node;
        }
        u->node = node;
        if (node != PLACEMENT_NONE) {
                BruteNode *n = &b->nodes[node];

                NEED(n->units, n->allocated, n->n_units);
                u->place = n->n_units;
                n->units[n->n_units++] = unit;
                u->home = node;
                count(b, unit, node, +1);
        }
}

void brute_drop(Brute *b, uint32_t unit) {
        brute_put(b, unit, PLACEMENT_NONE);
        b->units[unit].present = false;
}

// ------------------------------------------------------------------------------------------------ rules

static const char *label_of(const BruteNode *n, const char *key) {
        for (size_t i = 0; i < n->n_labels; i++)
                if (strcmp(n->labels[i].key, key) == 0)
                        return n->labels[i].value;
        return NULL;
}

static bool has_any(const BruteNode *n, const PlacementTerm *t) {
        for (size_t i = 0; i < n->n_labels; i++)
                for (const char *const *v = t->values; v && *v; v++)
                        if (strcmp(n->labels[i].key, t->key) == 0 && strcmp(n->labels[i].value, *v) == 0)
                                return true;
        return false;
}

static bool is_like(const BruteNode *n, const PlacementTerm *t) {
        for (size_t i = 0; i < n->n_labels; i++)
                for (const char *const *v = t->values; v && *v; v++)
                        if (strcmp(n->labels[i].key, t->key) == 0 &&
                            fnmatch(*v, n->labels[i].value, FNM_NOESCAPE) == 0)
                                return true;
        return false;
}

static bool matches(const BruteNode *n, const PlacementTerm *t) {
        switch (t->op) {
        case LABEL_IN:
                return has_any(n, t);
        case LABEL_NOT_IN:
                return !has_any(n, t);
        case LABEL_LIKE:
                return is_like(n, t);
        case LABEL_EXISTS:
                return label_of(n, t->key);
        default:
                return !label_of(n, t->key);
        }
}

bool brute_admits(const Brute *b, const PlacementSpec *spec, uint32_t node) {
        for (size_t i = 0; i < spec->n_terms; i++)
                if (!matches(&b->nodes[node], &spec->terms[i]))
                        return false;
        return !spec->spread || spec->spread_soft || label_of(&b->nodes[node], spec->spread);
}

static bool hates(const BruteUnit *a, const BruteUnit *b) {
        for (const char *const *g = a->spec->conflicts; g && *g; g++)
                if (fnmatch(*g, b->name, 0) == 0)
                        return true;
        return false;
}

bool brute_conflict(const Brute *b, uint32_t unit, uint32_t node) {
        const BruteNode *n = &b->nodes[node];

        for (uint32_t i = 0; i < n->n_units; i++)
                if (n->units[i] != unit && (hates(&b->units[unit], &b->units[n->units[i]]) ||
                                            hates(&b->units[n->units[i]], &b->units[unit])))
                        return true;
        return false;
}

static bool same_domain(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint32_t in_domain(const Brute *b, const PlacementSpec *spec, const char *domain) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < b->n_units; i++) {
                const BruteUnit *u = &b->units[i];

                n += u->present && u->node != PLACEMENT_NONE && u->spec->spread &&
                     strcmp(u->spec->spread, spec->spread) == 0 &&
                     strcmp(u->spec->spread_group, spec->spread_group) == 0 &&
                     same_domain(label_of(&b->nodes[u->node], spec->spread), domain);
        }
        return n;
}

uint32_t brute_in_domain(const Brute *b, const PlacementSpec *spec, uint32_t node) {
        return in_domain(b, spec, label_of(&b->nodes[node], spec->spread));
}

static bool is_open(const BruteNode *n) {
        return n->present && (n->state == PLACEMENT_OPEN || n->state == PLACEMENT_SECOND);
}

// By node, how many of the group are in its domain; PLACEMENT_NONE for nodes that do not count. *ret_min:
// the least.
static uint32_t *count_domains(const Brute *b, const PlacementSpec *spec, uint32_t *ret_min) {
        uint32_t *counts = calloc(b->n_nodes + 1, sizeof *counts);

        if (!counts)
                abort();
        *ret_min = UINT32_MAX;
        for (uint32_t i = 0; i < b->n_nodes; i++) {
                const char *domain = is_open(&b->nodes[i]) ? label_of(&b->nodes[i], spec->spread) : NULL;
                uint32_t k = 0;

                counts[i] = PLACEMENT_NONE;
                if (!is_open(&b->nodes[i]) || !brute_admits(b, spec, i))
                        continue;
                while (k < i && (counts[k] == PLACEMENT_NONE ||
                                 !same_domain(domain, label_of(&b->nodes[k], spec->spread))))
                        k++;
                counts[i] = k < i ? counts[k] : in_domain(b, spec, domain);
                *ret_min = counts[i] < *ret_min ? counts[i] : *ret_min;
        }
        return counts;
}

static bool has_room(const Brute *b, const PlacementSpec *spec, uint32_t node) {
        const BruteHost *h = &b->hosts[b->nodes[node].host];

        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                if (spec->demand.of[i] > 0 && h->used.of[i] + spec->demand.of[i] > h->offers.of[i])
                        return false;
        return true;
}

static bool waits(const Brute *b, uint32_t unit) {
        const BruteUnit *u = &b->units[unit];

        return u->present && u->wanted && (u->node == PLACEMENT_NONE || brute_must_go(b, unit));
}

// Whether the room that it would take is kept for another one.
static bool is_kept(const Brute *b, uint32_t unit, uint32_t node) {
        const BruteHost *h = &b->hosts[b->nodes[node].host];

        if (!b->keeps || b->kept_host != b->nodes[node].host || unit == b->kept_unit ||
            !waits(b, b->kept_unit))
                return false;
        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++) {
                int32_t demand = b->units[unit].spec->demand.of[i];

                if (demand > 0 && b->kept.of[i] > 0 &&
                    h->used.of[i] + demand + b->kept.of[i] > h->offers.of[i])
                        return true;
        }
        return false;
}

bool brute_must_go(const Brute *b, uint32_t unit) {
        const BruteUnit *u = &b->units[unit];
        PlacementState state = b->nodes[u->node].state;

        return state == PLACEMENT_LOST || !brute_admits(b, u->spec, u->node) ||
               brute_conflict(b, unit, u->node);
}

bool brute_eligible(const Brute *b, uint32_t unit, uint32_t node) {
        const PlacementSpec *spec = b->units[unit].spec;

        return is_open(&b->nodes[node]) && brute_admits(b, spec, node) && !brute_conflict(b, unit, node) &&
               has_room(b, spec, node) && !is_kept(b, unit, node);
}

static uint32_t share(const BruteHost *h, int resource, int64_t whole) {
        int64_t used = h->used.of[resource], offers = h->offers.of[resource];

        if (used <= 0)
                return 0;
        return (uint32_t) (offers <= used ? whole : used * whole / offers);
}

static uint32_t cost(const Brute *b, const PlacementSpec *spec, uint32_t node) {
        const BruteHost *h = &b->hosts[b->nodes[node].host];
        uint32_t load = 0;

        if (spec->policy == PLACEMENT_BEST_FIT) {
                load = share(h, PLACEMENT_CPU, 4095);
                load = 4095 -
                       (share(h, PLACEMENT_MEMORY, 4095) > load ? share(h, PLACEMENT_MEMORY, 4095) : load);
        } else {
                for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                        load = share(h, i, PLACEMENT_SHARE) > load ? share(h, i, PLACEMENT_SHARE) : load;
                load += PLACEMENT_UNIT_LOAD * b->nodes[node].n_units * PLACEMENT_SIZE_ONE / h->size;
                load = load < 3072 ? load : 3072 + (load - 3072) / 64;
                load = load < 4095 ? load : 4095;
        }
        if (b->nodes[node].state == PLACEMENT_SECOND)
                load += 4096;
        for (size_t i = 0; i < spec->n_preferences; i++)
                if (!matches(&b->nodes[node], &spec->preferences[i]))
                        load += spec->weights[i];
        return load;
}

uint32_t brute_choose(const Brute *b, uint32_t unit) {
        const BruteUnit *u = &b->units[unit];
        const PlacementSpec *spec = u->spec;
        uint32_t best = PLACEMENT_NONE, min = 0, *domains = NULL, skew = spec->spread_skew;

        if (spec->spread)
                domains = count_domains(b, spec, &min);
        if (u->home != PLACEMENT_NONE && b->nodes[u->home].present &&
            b->nodes[u->home].state == PLACEMENT_OPEN && brute_eligible(b, unit, u->home) &&
            (!domains || domains[u->home] == min))
                best = u->home;
        bool at_home = best != PLACEMENT_NONE;
        for (uint32_t i = 0; i < b->n_nodes && !at_home; i++) {
                if (!brute_eligible(b, unit, i))
                        continue;
                if (domains && !spec->spread_soft && domains[i] >= min + (skew > 1 ? skew : 1))
                        continue;
                if (best == PLACEMENT_NONE || (domains && domains[i] < domains[best]) ||
                    ((!domains || domains[i] == domains[best]) && cost(b, spec, i) < cost(b, spec, best)))
                        best = i;
        }
        free(domains);
        return best;
}
