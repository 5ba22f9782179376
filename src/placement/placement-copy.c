// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A second Placement that decides as the first one does, and shares nothing with it: for a search that is to
// run on another thread while the first one goes on, and for what is thought of in many turns.
//
// Happy path: every array is copied in one piece, then what its items own; a map keeps its slots, and its
// keys are those of the copy. So the copy costs what exists, mostly by memcpy(): tests/bench/README.md says
// how much. Without memory the process ends (oom.h).
//
// What the copy has not: the names of units, which are their owner's and may go before the copy does. For
// what needs names (new units and globs, another class for a unit, placement_unit_name()) ask the first one,
// or keep the names alive (placement_copy_named()).
#include "placement-private.h"

// ------------------------------------------------------------------------------------------------ pieces

// Never NULL but for NULL, since for some arrays that says something.
static void *duplicate(const void *items, size_t n, size_t item) {
        void *copy;

        if (!items)
                return NULL;
        copy = oom_checked(malloc(n * item + 1));
        if (n > 0)
                memcpy(copy, items, n * item);
        return copy;
}

// A table as long as it is used; it grows when the copy needs more.
static void *duplicate_used(const void *items, uint32_t n, size_t item, uint32_t *ret_allocated) {
        *ret_allocated = items ? n : 0;
        return items ? table_copy(items, n, item) : NULL;
}

static char *duplicate_text(const char *text) {
        return text ? oom_checked(strdup(text)) : NULL;
}

static void numbers_own(Numbers *l) {
        l->of = duplicate_used(l->of, l->n, sizeof *l->of, &l->allocated);
}

static void slots_own(Slots *s) {
        s->used = duplicate_used(s->used, s->n, sizeof *s->used, &s->allocated);
        s->free = duplicate_used(s->free, s->n, sizeof *s->free, &s->allocated);
}

static void term_own(Term *t) {
        t->values = duplicate(t->values, t->n_values, sizeof *t->values);
}

// ------------------------------------------------------------------------------------------------ items

static void nodes_own(Placement *c) {
        c->hosts = duplicate_used(c->hosts, c->host_slots.n, sizeof *c->hosts, &c->hosts_allocated);
        c->nodes = duplicate_used(c->nodes, c->node_slots.n, sizeof *c->nodes, &c->nodes_allocated);
        for (uint32_t i = 0; i < c->nodes_allocated; i++)
                c->nodes[i].labels = duplicate(c->nodes[i].labels, c->nodes[i].n_labels, sizeof(uint32_t));
}

static void labels_own(Placement *c) {
        c->keys = duplicate_used(c->keys, c->n_keys, sizeof *c->keys, &c->keys_allocated);
        for (uint32_t i = 0; i < c->keys_allocated; i++) {
                c->keys[i].name = duplicate_text(c->keys[i].name);
                c->keys[i].domains = duplicate(c->keys[i].domains, c->masks_allocated, sizeof(uint32_t));
        }
        c->pairs = duplicate_used(c->pairs, c->n_pairs, sizeof *c->pairs, &c->pairs_allocated);
        for (uint32_t i = 0; i < c->pairs_allocated; i++) {
                c->pairs[i].text = duplicate_text(c->pairs[i].text);
                numbers_own(&c->pairs[i].nodes);
        }
}

static void selectors_own(Placement *c) {
        c->selectors = duplicate_used(c->selectors, c->selector_slots.n, sizeof *c->selectors,
                                      &c->selectors_allocated);
        for (uint32_t i = 0; i < c->selectors_allocated; i++) {
                Selector *s = &c->selectors[i];

                s->key = duplicate_text(s->key);
                s->terms = duplicate(s->terms, s->n_terms, sizeof *s->terms);
                for (uint32_t t = 0; t < s->n_terms; t++)
                        term_own(&s->terms[t]);
                s->nodes = duplicate(s->nodes, c->node_words, sizeof *s->nodes);
                numbers_own(&s->hates);
                numbers_own(&s->matches);
                numbers_own(&s->spreads);
        }
}

static void classes_own(Placement *c) {
        c->classes = duplicate_used(c->classes, c->class_slots.n, sizeof *c->classes, &c->classes_allocated);
        for (uint32_t i = 0; i < c->classes_allocated; i++) {
                Class *class = &c->classes[i];

                class->key = duplicate_text(class->key);
                numbers_own(&class->globs);
                for (uint32_t t = 0; t < PLACEMENT_PREFERENCES_MAX; t++)
                        term_own(&class->preferences[t]);
        }
        c->shapes = duplicate_used(c->shapes, c->shape_slots.n, sizeof *c->shapes, &c->shapes_allocated);
        for (uint32_t i = 0; i < c->shapes_allocated; i++) {
                c->shapes[i].key = duplicate_text(c->shapes[i].key);
                numbers_own(&c->shapes[i].matches);
        }
}

static void globs_own(Placement *c) {
        c->globs = duplicate_used(c->globs, c->glob_slots.n, sizeof *c->globs, &c->globs_allocated);
        for (uint32_t i = 0; i < c->globs_allocated; i++) {
                Glob *g = &c->globs[i];
                size_t before = g->key ? (size_t) (g->text - g->key) : 0;

                g->key = duplicate_text(g->key);
                g->text = g->key ? g->key + before : NULL;
                numbers_own(&g->declared);
                numbers_own(&g->matched);
        }
}

static void groups_own(Placement *c) {
        c->groups = duplicate_used(c->groups, c->group_slots.n, sizeof *c->groups, &c->groups_allocated);
        for (uint32_t i = 0; i < c->groups_allocated; i++) {
                Group *g = &c->groups[i];

                g->name = duplicate_text(g->name);
                g->counts = duplicate_used(g->counts, g->allocated, sizeof *g->counts, &g->allocated);
                numbers_own(&g->spreads);
        }
        c->spreads =
                duplicate_used(c->spreads, c->spread_slots.n, sizeof *c->spreads, &c->spreads_allocated);
        for (uint32_t i = 0; i < c->spreads_allocated; i++) {
                Spread *s = &c->spreads[i];

                s->open = duplicate_used(s->open, s->allocated, sizeof *s->open, &s->allocated);
        }
}

// A role has room for itself in the heap of roles as long as it exists.
static void queues_own(Placement *c) {
        c->roles = duplicate_used(c->roles, c->role_slots.n, sizeof *c->roles, &c->roles_allocated);
        for (uint32_t i = 0; i < c->roles_allocated; i++) {
                Role *r = &c->roles[i];

                r->heap = duplicate_used(r->heap, r->n_heap, sizeof *r->heap, &r->allocated);
        }
        c->role_heap = duplicate_used(c->role_heap, c->role_heap_allocated, sizeof *c->role_heap,
                                      &c->role_heap_allocated);
        c->queues = duplicate_used(c->queues, c->queue_slots.n, sizeof *c->queues, &c->queues_allocated);
        for (uint32_t i = 0; i < c->queues_allocated; i++)
                c->queues[i].key = duplicate(c->queues[i].key, QUEUE_KEY, sizeof *c->queues[i].key);
}

static void units_own(Placement *c, bool named) {
        c->units = duplicate_used(c->units, c->unit_slots.n, sizeof *c->units, &c->units_allocated);
        c->name_heads = duplicate_used(c->name_heads, c->unit_slots.n, sizeof *c->name_heads,
                                       &c->name_heads_allocated);
        for (uint32_t i = 0; !named && i < c->units_allocated; i++)
                c->units[i].name = NULL;
        c->links = duplicate_used(c->links, c->link_slots.n, sizeof *c->links, &c->links_allocated);
        c->ties = duplicate_used(c->ties, c->ties_allocated, sizeof *c->ties, &c->ties_allocated);
        c->exclusions = duplicate_used(c->exclusions, c->exclusion_slots.n, sizeof *c->exclusions,
                                       &c->exclusions_allocated);
        c->first_exclusion = duplicate_used(c->first_exclusion, c->first_exclusion_allocated,
                                            sizeof *c->first_exclusion, &c->first_exclusion_allocated);
}

static void index_own(const Placement *c, Index *ix) {
        ix->keys = duplicate(ix->keys, INDEX_KEYS, sizeof *ix->keys);
        for (uint32_t k = 0; ix->keys && k < INDEX_KEYS; k++)
                ix->keys[k].nodes = duplicate(ix->keys[k].nodes, c->node_words, sizeof(Word));
        ix->leaf = duplicate(ix->leaf, (size_t) INDEX_KEYS * c->n_words, sizeof(Word));
        ix->mid = duplicate(ix->mid, (size_t) INDEX_MIDS * c->n_words, sizeof(Word));
        ix->top = duplicate(ix->top, (size_t) INDEX_TOPS * c->n_words, sizeof(Word));
        ix->links = duplicate(ix->links, c->masks_allocated, sizeof *ix->links);
}

static void masks_own(Placement *c) {
        c->masks = duplicate(c->masks, (size_t) c->masks_allocated * c->n_words, sizeof *c->masks);
        c->blocked = duplicate(c->blocked, c->n_words, sizeof *c->blocked);
        for (IndexKind kind = 0; kind < N_INDEXES; kind++)
                index_own(c, &c->indexes[kind]);
}

// ------------------------------------------------------------------------------------------------ keys

static const void *key_of_class(const Placement *c, uint32_t i) {
        return c->classes[i].key;
}

static const void *key_of_selector(const Placement *c, uint32_t i) {
        return c->selectors[i].key;
}

static const void *key_of_shape(const Placement *c, uint32_t i) {
        return c->shapes[i].key;
}

static const void *key_of_glob(const Placement *c, uint32_t i) {
        return c->globs[i].key;
}

static const void *key_of_group(const Placement *c, uint32_t i) {
        return c->groups[i].name;
}

static const void *key_of_key(const Placement *c, uint32_t i) {
        return c->keys[i].name;
}

static const void *key_of_pair(const Placement *c, uint32_t i) {
        return c->pairs[i].text;
}

static const void *key_of_queue(const Placement *c, uint32_t i) {
        return c->queues[i].key;
}

// The values are numbers + 1, so where a key is in the copy follows from the value.
static MapSlot *duplicate_slots(const Placement *c, const MapSlot *theirs, size_t n,
                                const void *(*key_of)(const Placement *c, uint32_t i)) {
        MapSlot *slots = duplicate(theirs, n, sizeof *slots);

        for (size_t i = 0; i < n; i++)
                if (slots[i].key)
                        slots[i].key = key_of(c, (uint32_t) (uintptr_t) slots[i].value - 1);
        return slots;
}

static void map_own(const Placement *c, Map *m, const void *(*key_of)(const Placement *c, uint32_t i)) {
        m->slots = duplicate_slots(c, m->slots, m->n_slots, key_of);
        m->old = duplicate_slots(c, m->old, map_n_old(m), key_of);
}

static void maps_own(Placement *c) {
        map_own(c, &c->classes_by_key, key_of_class);
        map_own(c, &c->selectors_by_key, key_of_selector);
        map_own(c, &c->shapes_by_key, key_of_shape);
        map_own(c, &c->globs_by_text, key_of_glob);
        map_own(c, &c->groups_by_name, key_of_group);
        map_own(c, &c->keys_by_name, key_of_key);
        map_own(c, &c->pairs_by_text, key_of_pair);
        map_own(c, &c->queues_by_key, key_of_queue);
}

// ------------------------------------------------------------------------------------------------ the whole

static void lists_own(Placement *c) {
        Slots *slots[] = {&c->host_slots,  &c->node_slots,  &c->class_slots, &c->selector_slots,
                          &c->shape_slots, &c->glob_slots,  &c->group_slots, &c->spread_slots,
                          &c->role_slots,  &c->queue_slots, &c->unit_slots,  &c->link_slots,
                          &c->exclusion_slots};

        for (size_t i = 0; i < ELEMENTSOF(slots); i++)
                slots_own(slots[i]);
        numbers_own(&c->freed);
        numbers_own(&c->penalised);
        counts_own(&c->conflicts);
        counts_own(&c->excluded);
}

static Placement *copy(const Placement *p, bool named) {
        Placement *c = duplicate(p, 1, sizeof *p); // with all that the first one owns, until it has its own

        assert(!p->preview.on);
        c->preview = (PreviewWork){};
        c->decisions = NULL;
        c->n_decisions = c->decisions_allocated = 0;
        for (uint32_t i = 0; i < c->n_resources; i++)
                c->resources[i] = duplicate_text(c->resources[i]);
        lists_own(c);
        nodes_own(c);
        labels_own(c);
        selectors_own(c);
        classes_own(c);
        globs_own(c);
        groups_own(c);
        queues_own(c);
        units_own(c, named);
        masks_own(c);
        maps_own(c);
        return c;
}

Placement *placement_copy(const Placement *p) {
        return copy(p, false);
}

Placement *placement_copy_named(const Placement *p) {
        return copy(p, true);
}
