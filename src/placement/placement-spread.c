// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many units of a group each domain (value of a label) holds, and the least of these among the domains
// that a set of terms has an open node in. The least is kept while counts change by one; when its last
// domain leaves it, it is searched for again, at most once per so many placements as there are domains.
#include "placement-private.h"
#include "str.h"

// One of its domains went from `before` to one more or one less.
static void on_count(Spread *s, uint32_t count, uint32_t before) {
        if (s->stale)
                return;
        if (before == s->min && count < s->min) {
                s->min = count;
                s->n_min = 1;
        } else if (before == s->min)
                s->stale = --s->n_min == 0;
        else
                s->n_min += count == s->min;
}

void spread_settle(const Placement *p, Spread *s) {
        const Group *g = &p->groups[s->group];

        if (!s->stale)
                return;
        s->stale = false;
        s->min = UINT32_MAX;
        s->n_min = 0;
        for (uint32_t d = 0; d < s->allocated; d++) {
                uint32_t count;

                if (s->open[d] == 0)
                        continue;
                count = group_at(g, d);
                if (count < s->min) {
                        s->min = count;
                        s->n_min = 0;
                }
                s->n_min += count == s->min;
        }
}

void group_count(Placement *p, uint32_t group, uint32_t domain, int step) {
        Group *g = &p->groups[group];
        uint32_t before;

        table_grow(&g->counts, &g->allocated, domain + 1, sizeof *g->counts);
        before = g->counts[domain];
        g->counts[domain] += (uint32_t) step;
        for (uint32_t i = 0; i < g->spreads.n; i++) {
                Spread *s = &p->spreads[g->spreads.of[i]];

                if (domain < s->allocated && s->open[domain] > 0)
                        on_count(s, g->counts[domain], before);
        }
        queues_unblock_spread(p, group);
}

static void spread_open(Placement *p, Spread *s, uint32_t domain, int step) {
        table_grow(&s->open, &s->allocated, domain + 1, sizeof *s->open);
        s->open[domain] += (uint32_t) step;
        if (s->open[domain] == 0 || (step > 0 && s->open[domain] == 1))
                s->stale = true; // domains come and go rarely
}

void spreads_of_node(Placement *p, uint32_t node, int step) {
        for (uint32_t i = 0; i < p->spread_slots.n; i++) {
                Spread *s = &p->spreads[i];

                if (p->spread_slots.used[i] && selector_has(p, s->base, node)) {
                        spread_open(p, s, node_domain(p, node, p->groups[s->group].key), step);
                        queues_unblock_spread(p, s->group);
                }
        }
}

static void group_get(Placement *p, uint32_t key, const char *name, uint32_t *ret) {
        _cleanup_free_ char *text = oom_checked(str_printf("%u %s", key, name));
        uint32_t number = number_of(&p->groups_by_name, text);

        if (number) {
                *ret = number - 1;
                p->groups[*ret].refs++;
                return;
        }
        key_need_domains(p, key);
        slots_take(&p->group_slots, ret);
        table_grow(&p->groups, &p->groups_allocated, *ret + 1, sizeof *p->groups);
        number_add(&p->groups_by_name, text, *ret);
        p->groups[*ret] =
                (Group){.name = TAKE_PTR(text), .refs = 1, .key = key, .first_blocked = PLACEMENT_NONE};
        p->keys[key].spread_users++;
}

static void group_unref(Placement *p, uint32_t group) {
        Group *g = &p->groups[group];
        Key *k = &p->keys[g->key];

        if (--g->refs > 0)
                return;
        map_take_str(&p->groups_by_name, g->name);
        if (--k->spread_users == 0) {
                free(k->domains);
                k->domains = NULL;
        }
        free(g->name);
        table_free(g->counts, g->allocated, sizeof *g->counts);
        numbers_done(&g->spreads);
        *g = (Group){0};
        slots_give(&p->group_slots, group);
}

static void spread_fill(Placement *p, uint32_t spread) {
        Spread *s = &p->spreads[spread];
        uint32_t key = p->groups[s->group].key;

        numbers_add(&p->groups[s->group].spreads, spread);
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                if (p->node_slots.used[n] && p->nodes[n].state <= PLACEMENT_SECOND &&
                    selector_has(p, s->base, n))
                        spread_open(p, s, node_domain(p, n, key), +1);
}

void spread_get(Placement *p, uint32_t base, uint32_t key, const char *name, uint32_t *ret) {
        uint32_t group;
        Group *g;

        group_get(p, key, name, &group);
        g = &p->groups[group];
        for (uint32_t i = 0; i < g->spreads.n; i++)
                if (p->spreads[g->spreads.of[i]].base == base) {
                        g->refs--;
                        *ret = g->spreads.of[i];
                        p->spreads[*ret].refs++;
                        return;
                }
        slots_take(&p->spread_slots, ret);
        table_grow(&p->spreads, &p->spreads_allocated, *ret + 1, sizeof *p->spreads);
        p->selectors[base].refs++;
        p->spreads[*ret] = (Spread){.refs = 1, .group = group, .base = base, .stale = true};
        spread_fill(p, *ret);
}

void spread_unref(Placement *p, uint32_t spread) {
        Spread *s = &p->spreads[spread];
        uint32_t group = s->group, base = s->base;

        if (--s->refs > 0)
                return;
        numbers_drop(&p->groups[group].spreads, spread);
        table_free(s->open, s->allocated, sizeof *s->open);
        *s = (Spread){0};
        slots_give(&p->spread_slots, spread);
        group_unref(p, group);
        selector_unref(p, base);
}
