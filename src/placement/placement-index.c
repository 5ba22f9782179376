// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The nodes that take units, in order of a key of 13 bits: the load, or the fit, lower is better. Nodes of
// one key are a list, or a bitmap if they are many. Above the keys stand masks: for each key, each 16 keys
// and each 256, the selectors that some node below satisfies. So "the best node for this selector" is a
// descent over three levels, however many nodes and selectors there are, and a node that changes its key is
// O(selectors / 64).
//
// A bit may be stale (set although the last such node has left): who finds nothing there clears it. It is
// never missing, and where it is set it is set in the masks above.
#include "placement-private.h"

enum { EXACT_LOADS = 3072, COARSE = 64 };

static uint32_t load_key(uint32_t load) {
        if (load < EXACT_LOADS)
                return load;
        return MIN_OF(EXACT_LOADS + (load - EXACT_LOADS) / COARSE, (uint32_t) INDEX_LOADS - 1);
}

uint32_t host_points(const PlacedHost *h, uint64_t now_us) {
        uint64_t age = now_us > h->points_at_us ? now_us - h->points_at_us : 0, halves;

        if (h->points == 0 || h->half_us == 0)
                return 0;
        halves = age / h->half_us;
        if (halves > 30) // nothing is left, and the shift by one more has to be one
                return 0;
        // linear between two halvings
        return (uint32_t) ((h->points >> halves) -
                           (h->points >> (halves + 1)) * (age % h->half_us) / h->half_us);
}

static uint32_t share_of(const PlacedHost *h, unsigned resource, uint32_t whole) {
        int64_t offers = h->offers.of[resource], used = offers - h->free.of[resource];

        if (offers <= 0)
                return used > 0 ? whole : 0;
        if (used <= 0)
                return 0;
        return used >= offers ? whole : (uint32_t) (used * whole / offers);
}

uint32_t host_share(const Placement *p, const PlacedHost *h) {
        uint32_t share = 0;

        for (unsigned i = 0; i < p->n_resources; i++)
                share = MAX_OF(share, share_of(h, i, PLACEMENT_SHARE));
        return share;
}

static uint32_t node_load(const Placement *p, const PlacedNode *n) {
        const PlacedHost *h = &p->hosts[n->host];

        return host_share(p, h) +
               PLACEMENT_UNIT_LOAD * (n->n_units + n->n_others) * PLACEMENT_SIZE_ONE / h->size +
               host_points(h, p->now_us);
}

// The fullest first.
static uint32_t host_fit(const PlacedHost *h) {
        return INDEX_LOADS - 1 -
               MAX_OF(share_of(h, PLACEMENT_CPU, INDEX_LOADS - 1),
                      share_of(h, PLACEMENT_MEMORY, INDEX_LOADS - 1));
}

// ------------------------------------------------------------------------------------------------ masks

static Word *mask_at(const Placement *p, Word *masks, uint32_t i) {
        return masks + (size_t) i * p->n_words;
}

static void mask_add(const Placement *p, Word *to, const Word *from) {
        for (uint32_t w = 0; w < p->n_words; w++)
                to[w] |= from[w];
}

// A mask is what the ones below it are together. False: it was that already.
static bool mask_gather(const Placement *p, Word *masks, uint32_t i, Word *below) {
        Word *mask = mask_at(p, masks, i), changed = 0;

        for (uint32_t w = 0; w < p->n_words; w++) {
                Word all = 0;

                for (uint32_t k = 0; k < INDEX_FAN; k++)
                        all |= mask_at(p, below, i * INDEX_FAN + k)[w];
                changed |= mask[w] ^ all;
                mask[w] = all;
        }
        return changed;
}

static void mask_raise(const Placement *p, Index *ix, uint32_t key, const Word *mask) {
        mask_add(p, mask_at(p, ix->leaf, key), mask);
        mask_add(p, mask_at(p, ix->mid, key / INDEX_FAN), mask);
        mask_add(p, mask_at(p, ix->top, key / INDEX_FAN / INDEX_FAN), mask);
}

static void mask_lower(const Placement *p, Index *ix, uint32_t key) {
        IndexKey *k = &ix->keys[key];
        Word *mask = mask_at(p, ix->leaf, key);

        memset(mask, 0, p->n_words * sizeof *mask);
        for (uint32_t n = k->first; n != PLACEMENT_NONE; n = ix->links[n].next)
                mask_add(p, mask, mask_at(p, p->masks, n));
        if (mask_gather(p, ix->mid, key / INDEX_FAN, ix->leaf))
                mask_gather(p, ix->top, key / INDEX_FAN / INDEX_FAN, ix->mid);
}

void index_drop_bit(Placement *p, Index *ix, uint32_t key, uint32_t selector) {
        uint32_t mid = key / INDEX_FAN, top = mid / INDEX_FAN;

        bit_clear(mask_at(p, ix->leaf, key), selector);
        for (uint32_t i = 0; i < INDEX_FAN; i++)
                if (bit_test(mask_at(p, ix->leaf, mid * INDEX_FAN + i), selector))
                        return;
        bit_clear(mask_at(p, ix->mid, mid), selector);
        for (uint32_t i = 0; i < INDEX_FAN; i++)
                if (bit_test(mask_at(p, ix->mid, top * INDEX_FAN + i), selector))
                        return;
        bit_clear(mask_at(p, ix->top, top), selector);
}

// A bit that is clear has none below it.
void index_drop_selector(Placement *p, Index *ix, uint32_t selector) {
        for (uint32_t top = 0; top < INDEX_TOPS; top++) {
                if (!bit_test(mask_at(p, ix->top, top), selector))
                        continue;
                bit_clear(mask_at(p, ix->top, top), selector);
                for (uint32_t mid = top * INDEX_FAN; mid < (top + 1) * INDEX_FAN; mid++) {
                        if (!bit_test(mask_at(p, ix->mid, mid), selector))
                                continue;
                        bit_clear(mask_at(p, ix->mid, mid), selector);
                        for (uint32_t key = mid * INDEX_FAN; key < (mid + 1) * INDEX_FAN; key++)
                                bit_clear(mask_at(p, ix->leaf, key), selector);
                }
        }
}

void index_add_bit(Placement *p, uint32_t node, uint32_t selector) {
        for (IndexKind kind = 0; kind < N_INDEXES; kind++) {
                Index *ix = &p->indexes[kind];
                uint32_t key;

                if (!ix->on || ix->links[node].key == PLACEMENT_NONE)
                        continue;
                key = ix->links[node].key;
                bit_set(mask_at(p, ix->leaf, key), selector);
                bit_set(mask_at(p, ix->mid, key / INDEX_FAN), selector);
                bit_set(mask_at(p, ix->top, key / INDEX_FAN / INDEX_FAN), selector);
        }
}

// First of masks[from..to) with the selector, or `to`.
static uint32_t scan(const Placement *p, const Word *masks, uint32_t from, uint32_t to, uint32_t selector) {
        const Word *w = masks + (size_t) from * p->n_words + selector / WORD_BITS;
        unsigned shift = selector % WORD_BITS;

        for (; from < to; from++, w += p->n_words)
                if (*w >> shift & 1)
                        return from;
        return to;
}

static uint32_t round_up(uint32_t i) {
        return (i + INDEX_FAN - 1) / INDEX_FAN * INDEX_FAN;
}

uint32_t index_next(const Placement *p, const Index *ix, uint32_t selector, uint32_t from) {
        uint32_t end, mid, top;

        for (;;) {
                if (from >= INDEX_KEYS)
                        return INDEX_KEYS;
                end = from % INDEX_FAN ? round_up(from) : from;
                from = scan(p, ix->leaf, from, end, selector);
                if (from < end)
                        return from;
                mid = end / INDEX_FAN;
                end = mid % INDEX_FAN ? round_up(mid) : mid;
                mid = scan(p, ix->mid, mid, end, selector);
                if (mid == end) {
                        top = scan(p, ix->top, end / INDEX_FAN, INDEX_TOPS, selector);
                        if (top == INDEX_TOPS)
                                return INDEX_KEYS;
                        mid = scan(p, ix->mid, top * INDEX_FAN, (top + 1) * INDEX_FAN, selector);
                        if (mid == (top + 1) * INDEX_FAN) { // stale
                                from = (top + 1) * INDEX_FAN * INDEX_FAN;
                                continue;
                        }
                }
                end = (mid + 1) * INDEX_FAN;
                from = scan(p, ix->leaf, mid * INDEX_FAN, end, selector);
                if (from < end)
                        return from;
        }
}

// ------------------------------------------------------------------------------------------------ nodes

static void to_bitmap(const Placement *p, Index *ix, IndexKey *k) {
        k->nodes = oom_checked(calloc(p->node_words, sizeof *k->nodes));
        for (uint32_t n = k->first; n != PLACEMENT_NONE; n = ix->links[n].next)
                bit_set(k->nodes, n);
}

static void enter(const Placement *p, Index *ix, uint32_t node, uint32_t key) {
        IndexKey *k = &ix->keys[key];
        const PlacementVector *room = &p->hosts[p->nodes[node].host].free;

        ix->links[node] = (IndexLink){.prev = PLACEMENT_NONE, .next = k->first, .key = key};
        if (k->first != PLACEMENT_NONE)
                ix->links[k->first].prev = node;
        k->first = node;
        k->most_cpu = k->n ? MAX_OF(k->most_cpu, room->of[PLACEMENT_CPU]) : room->of[PLACEMENT_CPU];
        k->most_memory =
                k->n ? MAX_OF(k->most_memory, room->of[PLACEMENT_MEMORY]) : room->of[PLACEMENT_MEMORY];
        k->n++;
        mask_raise(p, ix, key, mask_at(p, p->masks, node));
        if (k->nodes)
                bit_set(k->nodes, node);
        else if (k->n > INDEX_LIST_MAX)
                to_bitmap(p, ix, k);
}

static void leave(const Placement *p, Index *ix, uint32_t node) {
        IndexLink *link = &ix->links[node];
        IndexKey *k = &ix->keys[link->key];

        if (link->prev != PLACEMENT_NONE)
                ix->links[link->prev].next = link->next;
        else
                k->first = link->next;
        if (link->next != PLACEMENT_NONE)
                ix->links[link->next].prev = link->prev;
        k->n--;
        if (k->nodes) {
                bit_clear(k->nodes, node);
                if (k->n <= INDEX_LIST_MAX / 2) {
                        free(k->nodes);
                        k->nodes = NULL;
                }
        }
        if (k->n <= 4) // few enough to say at once what is left for whom
                mask_lower(p, ix, link->key);
        link->key = PLACEMENT_NONE;
}

static void put(const Placement *p, Index *ix, uint32_t node, uint32_t key) {
        IndexLink *link = &ix->links[node];

        if (key != PLACEMENT_NONE && link->key == key) { // the same place, but there may be more room
                const PlacementVector *room = &p->hosts[p->nodes[node].host].free;
                IndexKey *k = &ix->keys[key];

                k->most_cpu = MAX_OF(k->most_cpu, room->of[PLACEMENT_CPU]);
                k->most_memory = MAX_OF(k->most_memory, room->of[PLACEMENT_MEMORY]);
                return;
        }
        if (link->key != PLACEMENT_NONE)
                leave(p, ix, node);
        return key != PLACEMENT_NONE ? enter(p, ix, node, key) : 0;
}

void index_put(Placement *p, uint32_t node) {
        const PlacedNode *n = &p->nodes[node];
        const PlacedHost *h = &p->hosts[n->host];
        bool in = n->state == PLACEMENT_OPEN || n->state == PLACEMENT_SECOND;
        uint32_t rank = n->state == PLACEMENT_SECOND ? INDEX_LOADS : 0, key;

        key = in ? rank + load_key(node_load(p, n)) : PLACEMENT_NONE;
        put(p, &p->indexes[INDEX_LOAD], node, key);
        if (!p->indexes[INDEX_FIT].on)
                return;
        key = in ? rank + host_fit(h) : PLACEMENT_NONE;
        put(p, &p->indexes[INDEX_FIT], node, key);
}

void index_put_host(Placement *p, uint32_t host) {
        for (uint32_t n = p->hosts[host].first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                index_put(p, n);
}

// ------------------------------------------------------------------------------------------------ room

static void widen(Word **masks, uint32_t n, uint32_t words, uint32_t wider) {
        Word *new = oom_checked(calloc((size_t) n * wider + 1, sizeof *new));

        for (uint32_t i = 0; i < n && words > 0; i++)
                memcpy(new + (size_t) i *wider, *masks + (size_t) i * words, words * sizeof *new);
        free(*masks);
        *masks = new;
}

void index_restride(Placement *p, uint32_t words) {
        uint32_t old = p->n_words;

        widen(&p->masks, p->masks_allocated, old, words);
        for (IndexKind kind = 0; kind < N_INDEXES; kind++) {
                Index *ix = &p->indexes[kind];

                if (!ix->on)
                        continue;
                widen(&ix->leaf, INDEX_KEYS, old, words);
                widen(&ix->mid, INDEX_MIDS, old, words);
                widen(&ix->top, INDEX_TOPS, old, words);
        }
        widen(&p->blocked, 1, old, words);
        p->n_words = words;
}

static void more_domains(Key *k, uint32_t old, uint32_t nodes) {
        k->domains = oom_checked(realloc(k->domains, nodes * sizeof *k->domains));
        memset(k->domains + old, 0, (nodes - old) * sizeof *k->domains);
}

static void more_words(Word **bits, uint32_t old, uint32_t words) {
        Word *more = oom_checked(realloc(*bits, words * sizeof *more));

        memset(more + old, 0, (words - old) * sizeof *more);
        *bits = more;
}

static void index_more_nodes(Index *ix, uint32_t old, uint32_t nodes, uint32_t old_words, uint32_t words) {
        IndexLink *links = oom_checked(realloc(ix->links, nodes * sizeof *links));

        ix->links = links;
        for (uint32_t i = old; i < nodes; i++)
                links[i] = (IndexLink){.key = PLACEMENT_NONE};
        for (uint32_t k = 0; k < INDEX_KEYS; k++)
                if (ix->keys[k].nodes)
                        more_words(&ix->keys[k].nodes, old_words, words);
}

void index_renode(Placement *p, uint32_t nodes) {
        uint32_t old = p->masks_allocated, old_words = p->node_words, words;
        Word *masks;

        if (nodes <= old)
                return;
        nodes = MAX_OF(nodes, old + old / 4);
        nodes = (nodes + WORD_BITS - 1) / WORD_BITS * WORD_BITS;
        words = nodes / WORD_BITS;
        masks = oom_checked(realloc(p->masks, ((size_t) nodes * p->n_words + 1) * sizeof *masks));
        memset(masks + (size_t) old * p->n_words, 0, (size_t) (nodes - old) * p->n_words * sizeof *masks);
        p->masks = masks;
        for (IndexKind kind = 0; kind < N_INDEXES; kind++)
                if (p->indexes[kind].on)
                        index_more_nodes(&p->indexes[kind], old, nodes, old_words, words);
        for (uint32_t s = 0; s < p->selector_slots.n; s++)
                if (p->selector_slots.used[s])
                        more_words(&p->selectors[s].nodes, old_words, words);
        for (uint32_t k = 0; k < p->n_keys; k++)
                if (p->keys[k].domains)
                        more_domains(&p->keys[k], old, nodes);
        p->masks_allocated = nodes;
        p->node_words = words;
}

void index_start(Placement *p, IndexKind kind) {
        Index *ix = &p->indexes[kind];

        if (ix->on)
                return;
        ix->keys = oom_checked(calloc(INDEX_KEYS, sizeof *ix->keys));
        ix->leaf = oom_checked(calloc((size_t) INDEX_KEYS * p->n_words + 1, sizeof(Word)));
        ix->mid = oom_checked(calloc((size_t) INDEX_MIDS * p->n_words + 1, sizeof(Word)));
        ix->top = oom_checked(calloc((size_t) INDEX_TOPS * p->n_words + 1, sizeof(Word)));
        ix->links = oom_checked(calloc((size_t) p->masks_allocated + 1, sizeof *ix->links));
        ix->on = true;
        for (uint32_t k = 0; k < INDEX_KEYS; k++)
                ix->keys[k].first = PLACEMENT_NONE;
        for (uint32_t i = 0; i < p->masks_allocated; i++)
                ix->links[i].key = PLACEMENT_NONE;
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                if (p->node_slots.used[n])
                        index_put(p, n);
}

void index_done(Index *ix) {
        for (uint32_t k = 0; ix->keys && k < INDEX_KEYS; k++)
                free(ix->keys[k].nodes);
        free(ix->keys);
        free(ix->leaf);
        free(ix->mid);
        free(ix->top);
        free(ix->links);
        *ix = (Index){0};
}
