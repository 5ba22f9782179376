// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Life of a Placement, and its hosts and nodes (placement.h).
//
//      placement_new() -> placement_host_add() -> placement_node_add() -> labels, state, room change
//          -> placement_free()
//
// A change is entered into whatever indexes it, and units that wait for something like it are unblocked;
// nothing is decided here. Without memory the process ends (oom.h); -ENOSPC: PLACEMENT_RESOURCES_MAX
// resources are in use.

#include "placement.h"

#include <errno.h>

#include "placement-private.h"
#include "process-end.h"

// ------------------------------------------------------------------------------------------------ hosts

static void add_to_capacity(Placement *p, const PlacedHost *h, int step) {
        for (unsigned i = 0; i < PLACEMENT_RESOURCES_MAX; i++) {
                p->capacity[i] += step * (int64_t) h->offers.of[i];
                p->room[i] += step * (int64_t) h->free.of[i];
        }
        p->capacity_changed = true;
}

static void host_count(Placement *p, uint32_t host) {
        PlacedHost *h = &p->hosts[host];
        bool counts = false;

        for (uint32_t n = h->first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                counts |= p->nodes[n].state != PLACEMENT_LOST;
        if (counts == h->counted)
                return;
        add_to_capacity(p, h, counts ? +1 : -1);
        h->counted = counts;
        if (counts)
                queues_unblock(p, p->first_blocked[BLOCKED_HEADROOM]);
}

void placement_host_set(Placement *p, uint32_t host, const PlacementVector *offers, uint32_t size) {
        PlacedHost *h = &p->hosts[host];

        if (h->counted)
                add_to_capacity(p, h, -1);
        for (unsigned i = 0; i < PLACEMENT_RESOURCES_MAX; i++) {
                h->free.of[i] += offers->of[i] - h->offers.of[i];
                h->offers.of[i] = offers->of[i];
                p->largest[i] = MAX_OF(p->largest[i], offers->of[i]);
        }
        h->size = MAX_OF(size, 1U);
        if (h->counted)
                add_to_capacity(p, h, +1);
        for (uint32_t n = h->first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                node_freed(p, n);
        index_put_host(p, host);
        queues_unblock(p, p->first_blocked[BLOCKED_HEADROOM]);
}

void placement_host_add(Placement *p, const PlacementVector *offers, uint32_t size, uint32_t *ret) {
        slots_take(&p->host_slots, ret);
        table_grow(&p->hosts, &p->hosts_allocated, *ret + 1, sizeof *p->hosts);
        p->hosts[*ret] = (PlacedHost){.first_node = PLACEMENT_NONE};
        placement_host_set(p, *ret, offers, size);
}

void placement_host_remove(Placement *p, uint32_t host) {
        while (p->hosts[host].first_node != PLACEMENT_NONE)
                placement_node_remove(p, p->hosts[host].first_node);
        numbers_drop(&p->penalised, host);
        if (p->reservation.host == host)
                p->reservation.unit = p->reservation.host = PLACEMENT_NONE;
        p->hosts[host] = (PlacedHost){0};
        slots_give(&p->host_slots, host);
}

void placement_host_penalise(Placement *p, uint32_t host, uint32_t points, uint64_t half_us,
                             uint64_t now_us) {
        PlacedHost *h = &p->hosts[host];
        uint32_t before;

        p->now_us = MAX_OF(p->now_us, now_us);
        before = host_points(h, p->now_us);
        if (before == 0) {
                numbers_drop(&p->penalised, host);
                numbers_add(&p->penalised, host);
        }
        h->points = MIN_OF(before + points, (uint32_t) INDEX_LOADS);
        h->points_at_us = p->now_us;
        h->half_us = half_us;
        index_put_host(p, host);
}

// ------------------------------------------------------------------------------------------------ nodes

void placement_node_add(Placement *p, uint32_t host, const PlacementLabel *labels, size_t n, uint32_t *ret) {
        PlacedNode *node;

        slots_take(&p->node_slots, ret);
        table_grow(&p->nodes, &p->nodes_allocated, *ret + 1, sizeof *p->nodes);
        index_renode(p, *ret + 1);
        node = &p->nodes[*ret];
        *node = (PlacedNode){.host = host,
                             .next_of_host = p->hosts[host].first_node,
                             .first_unit = PLACEMENT_NONE,
                             .state = PLACEMENT_CLOSED};
        p->hosts[host].first_node = *ret;
        host_count(p, host);
        node_set_pairs(p, *ret, label_pairs(p, labels, n), n);
        selectors_refresh(p, *ret);
}

static bool is_open(const PlacedNode *n) {
        return n->state == PLACEMENT_OPEN || n->state == PLACEMENT_SECOND;
}

// Adds or removes the node's units in the counts of its domains, which depend on the node's labels. A walk
// over units, which lie anywhere in memory: only for a node whose domain changes.
static void count_domains(Placement *p, uint32_t node, int step) {
        for (uint32_t u = p->nodes[node].first_unit; u != PLACEMENT_NONE; u = p->units[u].next) {
                const Class *c = unit_class(p, &p->units[u]);

                if (c->spread != PLACEMENT_NONE) {
                        uint32_t group = p->spreads[c->spread].group;

                        group_count(p, group, node_domain(p, node, p->groups[group].key), step);
                }
        }
}

void placement_node_label(Placement *p, uint32_t node, const PlacementLabel *labels, size_t n) {
        uint32_t *pairs = label_pairs(p, labels, n);
        bool open = is_open(&p->nodes[node]), moves = node_changes_domain(p, node, pairs, n);

        if (moves)
                count_domains(p, node, -1);
        if (open)
                spreads_of_node(p, node, -1);
        node_set_pairs(p, node, pairs, n);
        selectors_refresh(p, node);
        if (open)
                spreads_of_node(p, node, +1);
        if (moves)
                count_domains(p, node, +1);
}

void placement_node_set_others(Placement *p, uint32_t node, uint32_t n_units) {
        if (p->nodes[node].n_others == n_units)
                return;
        p->nodes[node].n_others = n_units;
        index_put(p, node);
}

void placement_node_set_state(Placement *p, uint32_t node, PlacementState state) {
        PlacedNode *n = &p->nodes[node];
        bool was_open = is_open(n);

        if (n->state == state)
                return;
        n->state = (uint8_t) state;
        if (was_open != is_open(n))
                spreads_of_node(p, node, was_open ? -1 : +1);
        index_put(p, node);
        host_count(p, n->host);
        if (is_open(n))
                node_freed(p, node);
}

void placement_node_remove(Placement *p, uint32_t node) {
        uint32_t host = p->nodes[node].host, *at = &p->hosts[host].first_node, unit;

        placement_node_set_state(p, node, PLACEMENT_CLOSED);
        while ((unit = p->nodes[node].first_unit) != PLACEMENT_NONE) {
                wait_take(p, unit);
                unit_leave(p, unit);
                p->units[unit].home = PLACEMENT_NONE;
                unit_check(p, unit);
        }
        for (uint32_t s = 0; s < p->selector_slots.n; s++)
                if (p->selector_slots.used[s])
                        selector_set(p, s, node, false);
        while (*at != node)
                at = &p->nodes[*at].next_of_host;
        *at = p->nodes[node].next_of_host;
        host_count(p, host);
        node_readmit_all(p, node);
        node_forget_labels(p, node);
        p->nodes[node] = (PlacedNode){.freed = p->nodes[node].freed};
        slots_give(&p->node_slots, node);
}

// ------------------------------------------------------------------------------------------------ life

int placement_find_resource(const Placement *p, const char *name) {
        for (uint32_t i = 0; i < p->n_resources; i++)
                if (strcmp(p->resources[i], name) == 0)
                        return (int) i;
        return -ENOENT;
}

static bool is_needed(const Placement *p, uint32_t resource) {
        bool needed = p->fresh_resources & 1U << resource;

        for (uint32_t c = 0; c < p->class_slots.n && !needed; c++)
                needed = p->class_slots.used[c] && p->classes[c].spec.demand.of[resource] != 0;
        for (uint32_t r = 0; r < p->role_slots.n && !needed; r++)
                needed = p->role_slots.used[r] && (p->roles[r].settings.guarantee[resource] > 0 ||
                                                   p->roles[r].settings.limit[resource] >= 0);
        return needed;
}

int placement_resource(Placement *p, const char *name, bool *ret_new) {
        int found = placement_find_resource(p, name);
        uint32_t i = found < 0 ? p->n_resources : (uint32_t) found;
        char *copy;

        if (ret_new && found < 0)
                *ret_new = true;
        if (i == PLACEMENT_RESOURCES_MAX)
                for (i = PLACEMENT_MEMORY + 1; i < PLACEMENT_RESOURCES_MAX && is_needed(p, i); i++)
                        ;
        if (i == PLACEMENT_RESOURCES_MAX)
                return -ENOSPC;
        p->fresh_resources |= 1U << i;
        if (found >= 0)
                return found;
        copy = oom_checked(strdup(name));
        free(p->resources[i]);
        p->resources[i] = copy;
        p->n_resources = MAX_OF(p->n_resources, i + 1);
        return (int) i;
}

const char *placement_resource_name(const Placement *p, unsigned resource) {
        return resource < p->n_resources ? p->resources[resource] : NULL;
}

int64_t placement_room(const Placement *p, unsigned resource) {
        return resource < p->n_resources ? p->room[resource] : 0;
}

int64_t placement_capacity(const Placement *p, unsigned resource) {
        return resource < p->n_resources ? p->capacity[resource] : 0;
}

Placement *placement_new(void) {
        Placement *p = oom_checked(calloc(1, sizeof *p));

        for (int i = 0; i < N_BLOCKED; i++)
                p->first_blocked[i] = PLACEMENT_NONE;
        p->lowest_priority = INT16_MAX;
        p->reservation.unit = p->reservation.host = PLACEMENT_NONE;
        if (placement_resource(p, "cpu", NULL) != PLACEMENT_CPU ||
            placement_resource(p, "memory", NULL) != PLACEMENT_MEMORY)
                process_abort("cpu and memory are not the first resources");
        index_restride(p, 1);
        index_start(p, INDEX_LOAD);
        return p;
}

static size_t index_bytes(const Placement *p, const Index *ix) {
        size_t words = (size_t) (INDEX_KEYS + INDEX_MIDS + INDEX_TOPS) * p->n_words;

        return ix->on ? INDEX_KEYS * sizeof *ix->keys + words * sizeof *ix->leaf +
                                p->masks_allocated * sizeof *ix->links
                      : 0;
}

static size_t things_bytes(const Placement *p) {
        return p->hosts_allocated * sizeof *p->hosts + p->nodes_allocated * sizeof *p->nodes +
               p->classes_allocated * sizeof *p->classes + p->selectors_allocated * sizeof *p->selectors +
               p->shapes_allocated * sizeof *p->shapes + p->globs_allocated * sizeof *p->globs +
               p->groups_allocated * sizeof *p->groups + p->spreads_allocated * sizeof *p->spreads +
               p->roles_allocated * sizeof *p->roles + p->queues_allocated * sizeof *p->queues +
               p->units_allocated * sizeof *p->units +
               p->name_heads_allocated * sizeof *p->name_heads +
               p->links_allocated * sizeof *p->links + p->ties_allocated * sizeof *p->ties +
               p->keys_allocated * sizeof *p->keys + p->pairs_allocated * sizeof *p->pairs;
}

static size_t lists_bytes(const Placement *p) {
        return p->exclusions_allocated * sizeof *p->exclusions +
               p->first_exclusion_allocated * sizeof *p->first_exclusion +
               p->role_heap_allocated * sizeof *p->role_heap +
               p->decisions_allocated * sizeof *p->decisions +
               (size_t) p->masks_allocated * p->n_words * sizeof *p->masks +
               (p->freed.allocated + p->penalised.allocated) * sizeof *p->freed.of;
}

size_t placement_bytes(const Placement *p) {
        const Slots *slots[] = {&p->host_slots,     &p->node_slots,  &p->class_slots, &p->selector_slots,
                                &p->shape_slots,    &p->glob_slots,  &p->group_slots, &p->spread_slots,
                                &p->role_slots,     &p->queue_slots, &p->unit_slots,  &p->link_slots,
                                &p->exclusion_slots};
        const Map *maps[] = {&p->classes_by_key, &p->selectors_by_key, &p->shapes_by_key, &p->globs_by_text,
                             &p->groups_by_name, &p->keys_by_name,     &p->pairs_by_text, &p->queues_by_key};
        size_t bytes = sizeof *p + things_bytes(p) + lists_bytes(p) + counts_bytes(&p->conflicts) +
                       counts_bytes(&p->excluded);

        for (size_t i = 0; i < ELEMENTSOF(slots); i++)
                bytes += slots_bytes(slots[i]);
        for (size_t i = 0; i < ELEMENTSOF(maps); i++)
                bytes += map_bytes(maps[i]);
        for (int i = 0; i < N_INDEXES; i++)
                bytes += index_bytes(p, &p->indexes[i]);
        return bytes;
}

static void free_numbers(Placement *p) {
        Numbers *lists[] = {&p->freed, &p->penalised};
        Slots *slots[] = {&p->host_slots,     &p->node_slots,  &p->class_slots, &p->selector_slots,
                          &p->shape_slots,    &p->glob_slots,  &p->group_slots, &p->spread_slots,
                          &p->role_slots,     &p->queue_slots, &p->unit_slots,  &p->link_slots,
                          &p->exclusion_slots};

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                numbers_done(lists[i]);
        for (size_t i = 0; i < ELEMENTSOF(slots); i++)
                slots_done(slots[i]);
        counts_done(&p->conflicts);
        counts_done(&p->excluded);
}

static void free_labels(Placement *p) {
        for (uint32_t i = 0; i < p->n_keys; i++) {
                free(p->keys[i].name);
                free(p->keys[i].domains);
        }
        for (uint32_t i = 0; i < p->n_pairs; i++) {
                free(p->pairs[i].text);
                numbers_done(&p->pairs[i].nodes);
        }
        for (uint32_t i = 0; i < p->nodes_allocated; i++)
                free(p->nodes[i].labels);
        for (uint32_t i = 0; i < p->selectors_allocated; i++)
                selector_done(&p->selectors[i]);
}

static void free_classes(Placement *p) {
        for (uint32_t i = 0; i < p->classes_allocated; i++) {
                for (uint32_t t = 0; t < PLACEMENT_PREFERENCES_MAX; t++)
                        term_done(&p->classes[i].preferences[t]);
                numbers_done(&p->classes[i].globs);
                free(p->classes[i].key);
        }
        for (uint32_t i = 0; i < p->shapes_allocated; i++) {
                numbers_done(&p->shapes[i].matches);
                free(p->shapes[i].key);
        }
        for (uint32_t i = 0; i < p->globs_allocated; i++) {
                numbers_done(&p->globs[i].declared);
                numbers_done(&p->globs[i].matched);
                free(p->globs[i].key);
        }
        for (uint32_t i = 0; i < p->groups_allocated; i++) {
                numbers_done(&p->groups[i].spreads);
                table_free(p->groups[i].counts, p->groups[i].allocated, sizeof *p->groups[i].counts);
                free(p->groups[i].name);
        }
        for (uint32_t i = 0; i < p->spreads_allocated; i++)
                table_free(p->spreads[i].open, p->spreads[i].allocated, sizeof *p->spreads[i].open);
        for (uint32_t i = 0; i < p->roles_allocated; i++)
                table_free(p->roles[i].heap, p->roles[i].allocated, sizeof *p->roles[i].heap);
        for (uint32_t i = 0; i < p->queues_allocated; i++)
                free(p->queues[i].key);
}

#define FREE_TABLE(p, name) table_free((p)->name, (p)->name##_allocated, sizeof *(p)->name)

static void free_tables(Placement *p) {
        FREE_TABLE(p, hosts);
        FREE_TABLE(p, nodes);
        FREE_TABLE(p, classes);
        FREE_TABLE(p, selectors);
        FREE_TABLE(p, shapes);
        FREE_TABLE(p, globs);
        FREE_TABLE(p, groups);
        FREE_TABLE(p, spreads);
        FREE_TABLE(p, roles);
        FREE_TABLE(p, role_heap);
        FREE_TABLE(p, queues);
        FREE_TABLE(p, units);
        FREE_TABLE(p, name_heads);
        FREE_TABLE(p, links);
        FREE_TABLE(p, ties);
        FREE_TABLE(p, exclusions);
        FREE_TABLE(p, first_exclusion);
        FREE_TABLE(p, keys);
        FREE_TABLE(p, pairs);
        FREE_TABLE(p, decisions);
}

Placement *placement_free(Placement *p) {
        Map *maps[8];

        if (!p)
                return NULL;
        free_labels(p);
        free_classes(p);
        free_numbers(p);
        for (int i = 0; i < N_INDEXES; i++)
                index_done(&p->indexes[i]);
        memcpy(maps,
               (Map *[]){&p->classes_by_key, &p->selectors_by_key, &p->shapes_by_key, &p->globs_by_text,
                         &p->groups_by_name, &p->keys_by_name, &p->pairs_by_text, &p->queues_by_key},
               sizeof maps);
        for (size_t i = 0; i < ELEMENTSOF(maps); i++)
                map_done(maps[i]);
        free_tables(p);
        free(p->masks);
        free(p->blocked);
        for (uint32_t i = 0; i < p->n_resources; i++)
                free(p->resources[i]);
        free(p);
        return NULL;
}
