// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The parts of a Placement, shared by its files only.
//
//   placement.c          life, hosts, nodes
//   placement-units.c    units, roles, who follows whom
//   placement-index.c    nodes in order of their load, with what each stretch of the order has for whom
//   placement-labels.c   label strings, terms, selectors: which node is eligible for which set of terms
//   placement-class.c    classes, and conflicts by glob
//   placement-spread.c   counts of groups in domains
//   placement-queue.c    who waits, for what, and whose turn it is
//   placement-choose.c   the node for a unit
//   placement-round.c    decisions
//   placement-why.c      reasons, when asked
//
// A *selector* is a set of terms (and of conflicts): one bit per node says whether the node satisfies it.
// The bits are kept in both directions: as a bitmap over nodes in the selector, and as a mask over selectors
// in the node. A *shape* is a class together with the globs of others that a unit's name matches; units have
// shapes.

#include "map.h"
#include "oom.h"
#include "placement.h"

typedef uint64_t Word;
enum { WORD_BITS = 64 };

static inline bool bit_test(const Word *bits, uint32_t i) {
        return bits[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}
static inline void bit_set(Word *bits, uint32_t i) {
        bits[i / WORD_BITS] |= (Word) 1 << (i % WORD_BITS);
}
static inline void bit_clear(Word *bits, uint32_t i) {
        bits[i / WORD_BITS] &= ~((Word) 1 << (i % WORD_BITS));
}

// Makes room for `need` items of `item` bytes; what is new is zero. 0 or -ENOMEM.
void grow(void *array_pointer, uint32_t *allocated, uint32_t need, size_t item);

// Numbers in use; the one that was given back last is handed out first.
typedef struct Slots {
        uint8_t *used;
        uint32_t *free, n_free; // room for all of them
        uint32_t n, allocated;
        uint32_t count;
} Slots;
void slots_take(Slots *s, uint32_t *ret);
void slots_give(Slots *s, uint32_t slot);
void slots_done(Slots *s);
static inline bool slots_has(const Slots *s, uint32_t slot) {
        return slot < s->n && s->used[slot];
}

// Counts by a pair of numbers; what is zero takes no room.
typedef struct Counts {
        struct CountSlot *slots;
        uint32_t n_slots, count;
} Counts;
uint32_t counts_get(const Counts *c, uint32_t a, uint32_t b);
void counts_set(Counts *c, uint32_t a, uint32_t b, uint32_t value);
void counts_done(Counts *c);

// Numbers by a text that somebody else keeps.
static inline uint32_t number_of(const Map *m, const char *text) {
        return (uint32_t) (uintptr_t) map_find_str(m, text); // + 1; 0: none
}
void number_add(Map *m, const char *text, uint32_t number);

// A list of numbers.
typedef struct Numbers {
        uint32_t *of, n, allocated;
} Numbers;
void numbers_add(Numbers *l, uint32_t number);
void numbers_drop(Numbers *l, uint32_t number); // one occurrence; the order changes
void numbers_done(Numbers *l);

// ------------------------------------------------------------------------------------------------ index

enum {
        INDEX_LOADS = 4096, // distinct keys of one rank
        INDEX_KEYS = 2 * INDEX_LOADS,
        INDEX_FAN = 16,
        INDEX_MIDS = INDEX_KEYS / INDEX_FAN,
        INDEX_TOPS = INDEX_MIDS / INDEX_FAN,
        INDEX_LIST_MAX = 32, // nodes of one key kept as a list; more are a bitmap
};

typedef struct IndexKey { // all nodes with this key
        uint32_t first, n;
        Word *nodes;                   // bitmap; NULL: a list
        int32_t most_cpu, most_memory; // no node here has more free; may be too large
} IndexKey;

typedef struct IndexLink {
        uint32_t prev, next;
        uint32_t key; // PLACEMENT_NONE: not in the index
} IndexLink;

typedef struct Index {
        bool on;
        IndexKey *keys;
        Word *leaf, *mid, *top; // masks over selectors: what may be found below; a bit may be stale
        IndexLink *links;       // by node
} Index;

typedef enum IndexKind { INDEX_LOAD, INDEX_FIT, N_INDEXES } IndexKind;

// ------------------------------------------------------------------------------------------------ things

typedef struct PlacedHost {
        PlacementVector offers, free;
        uint32_t size, first_node;
        bool counted;    // in Placement.capacity and .room
        uint32_t points; // of penalty, at `points_at_us`
        uint64_t points_at_us, half_us;
} PlacedHost;

typedef struct PlacedNode {
        uint32_t host, next_of_host;
        uint32_t first_unit, n_units, n_others;
        uint32_t *labels; // pairs, ascending
        uint32_t n_labels;
        uint8_t state;
        bool freed; // in Placement.freed
} PlacedNode;

typedef struct Term {
        PlacementOp op;
        uint32_t key;
        uint32_t *values; // pairs
        uint32_t n_values;
        const char *reason;
} Term;

typedef struct Selector {
        char *key; // the map's
        uint32_t refs;
        Term *terms;
        uint32_t n_terms;
        uint32_t base;          // without the conflicts; itself if it has none
        Numbers hates, matches; // globs: that it declares; that match it
        Word *nodes;
        uint32_t first_blocked; // queue
        Numbers spreads;        // of this base
} Selector;

typedef struct Glob {
        char *key;        // the map's
        const char *text; // part of it
        bool one_sided;   // who declares it may go where those are that match it, but these not to him
        size_t plain;     // bytes of it before the first wildcard
        uint32_t refs;    // classes
        Numbers declared, matched; // selectors
} Glob;

typedef struct Class {
        char *key;
        uint32_t refs, base;
        PlacementSpec spec; // only its plain values
        Numbers globs;
        Term prefers[PLACEMENT_PREFERENCES_MAX];
        uint32_t spread; // PLACEMENT_NONE: none
        uint32_t plain;  // its shape for names that no glob matches; PLACEMENT_NONE: there is none
} Class;

typedef struct Shape {
        char *key;
        uint32_t refs, class, selector;
        uint32_t preferred[1 << PLACEMENT_PREFERENCES_MAX]; // selectors; [mask of preferences that match]
        Numbers matches;                                    // globs
} Shape;

typedef struct Key { // of labels
        char *name;
        uint32_t n_values;
        uint32_t *domains; // by node: index of its value + 1, 0: none; only once something is spread over it
        uint32_t spread_users;
} Key;

typedef struct Pair {
        char *text;          // "key=value"
        uint32_t key, index; // of the value among its key's
} Pair;

typedef struct Group {
        char *name; // "key group"
        uint32_t refs, key;
        uint32_t *counts, allocated; // by domain
        Numbers spreads;
        uint32_t first_blocked; // queue
} Group;

typedef struct Spread { // a group as one set of terms sees it: only domains with open, admitted nodes count
        uint32_t refs, group, base;
        uint32_t *open, allocated; // nodes, by domain
        uint32_t min, n_min;
        bool stale; // min and n_min are to be found again
} Spread;

typedef enum Blocked {
        NOT_BLOCKED,
        BLOCKED_NODES,  // no node: looked at when one of its selector has got room
        BLOCKED_SPREAD, // the same, and when the group's counts change
        BLOCKED_LIMIT,
        BLOCKED_HEADROOM,
        BLOCKED_BUDGET,
        BLOCKED_FOLLOW, // the unit that it follows is on no node
        N_BLOCKED,
} Blocked;

typedef struct Queue { // waiting units of one role, shape and priority
        uint32_t *key; // the map's
        uint32_t role, shape;
        int16_t priority;
        uint8_t blocked;
        uint32_t first, last, n;
        uint32_t prev_blocked, next_blocked; // of the same reason and place
        uint32_t prev_spread, next_spread;   // BLOCKED_SPREAD: of the same group
        uint32_t heap;                       // place in its role's heap
} Queue;

typedef struct Role {
        PlacementRole settings;
        int64_t usage[PLACEMENT_RESOURCES_MAX];
        uint32_t *heap, n_heap, allocated; // queues that are not blocked
        uint32_t place;                    // in Placement.role_heap; PLACEMENT_NONE: not there
        bool behind;                       // it has its guarantee: others go first
        double share;                      // both as of when it was placed there
        uint32_t first_blocked;            // queue, by its limit
        uint32_t n_units, n_placed;
} Role;

enum { // Unit.flags
        UNIT_WANTED = 1,
        UNIT_EXCLUDED = 2, // somewhere
        UNIT_STEADY = 4,   // not preemptible
        UNIT_RELEASED = 8, // may leave its node, and waits for another
};

typedef struct PlacedUnit {
        const char *name;
        uint64_t seq; // when it was wanted first; 0: it never waited since then
        uint32_t shape, node, home;
        uint32_t prev, next;                    // on the node
        uint32_t queue, queue_prev, queue_next; // PLACEMENT_NONE: it does not wait
        uint32_t follows, followed;             // Link
        uint16_t role;
        int16_t priority;
        uint8_t flags;
} PlacedUnit;

typedef struct Link { // `unit` follows `target`
        uint32_t unit, target, next_of_unit, next_of_target;
} Link;

typedef struct Excluded {
        uint32_t unit, node;
} Excluded;

struct Placement {
        char *resources[PLACEMENT_RESOURCES_MAX];
        uint32_t n_resources;
        uint32_t fresh_resources;                  // bit each: asked for since a class was made last
        int64_t capacity[PLACEMENT_RESOURCES_MAX]; // of hosts that are not lost
        int64_t room[PLACEMENT_RESOURCES_MAX];     // free there
        int64_t promised[PLACEMENT_RESOURCES_MAX]; // by guarantees and not yet used
        int32_t largest[PLACEMENT_RESOURCES_MAX];  // offer of a host, ever
        bool capacity_changed;                     // shares are to be computed again
        bool promises;                             // any role has a guarantee

        Slots host_slots, node_slots, class_slots, selector_slots, shape_slots, glob_slots, group_slots,
                spread_slots, role_slots, queue_slots, unit_slots, link_slots;
        PlacedHost *hosts;
        PlacedNode *nodes;
        Class *classes;
        Selector *selectors;
        Shape *shapes;
        Glob *globs;
        Group *groups;
        Spread *spreads;
        Role *roles;
        Queue *queues;
        PlacedUnit *units;
        Link *links;
        uint32_t hosts_allocated, nodes_allocated, classes_allocated, selectors_allocated, shapes_allocated,
                globs_allocated, groups_allocated, spreads_allocated, roles_allocated, queues_allocated,
                units_allocated, links_allocated;
        Map classes_by_key, selectors_by_key, shapes_by_key, globs_by_text, groups_by_name, keys_by_name,
                pairs_by_text, queues_by_key; // number + 1 as the value
        Key *keys;
        Pair *pairs;
        uint32_t n_keys, keys_allocated, n_pairs, pairs_allocated;

        Word *masks;                       // by node: n_words each
        uint32_t n_words, masks_allocated; // words of a mask; nodes
        uint32_t node_words;               // words of a bitmap over nodes
        Word *blocked;                     // selectors that queues wait for
        Index indexes[N_INDEXES];
        Counts conflicts; // (2 * glob + matched, node) -> units there
        Counts excluded;  // (unit, node) -> 1
        Excluded *exclusions;
        uint32_t n_exclusions, exclusions_allocated;

        int16_t lowest_priority; // no preemptible unit on a node had a lower one, ever
        uint32_t *role_heap, n_role_heap, role_heap_allocated;
        Numbers freed;                     // nodes where something has become possible
        Numbers penalised;                 // hosts
        uint32_t first_blocked[N_BLOCKED]; // queues, for reasons that have one list
        uint64_t now_us, seq;

        PlacementDecision *decisions;
        uint32_t n_decisions, decisions_allocated;
        uint32_t n_preempted; // in this round
};

// placement-index.c
void index_start(Placement *p, IndexKind kind);
void index_done(Index *ix);
void index_restride(Placement *p, uint32_t words); // masks get wider
void index_renode(Placement *p, uint32_t nodes);   // room for more nodes
void index_put(Placement *p, uint32_t node); // where its state and load say; also takes it out
void index_put_host(Placement *p, uint32_t host);
void host_count(Placement *p, uint32_t host); // placement.c: whether it counts in the cluster's capacity
void index_add_bit(Placement *p, uint32_t node, uint32_t selector); // the node got it
// The first key >= from that may have a node for the selector; INDEX_KEYS: none.
uint32_t index_next(const Placement *p, const Index *ix, uint32_t selector, uint32_t from);
void index_drop_bit(Placement *p, Index *ix, uint32_t key, uint32_t selector); // nothing there has it
uint32_t node_load(const Placement *p, const PlacedNode *n);  // before it is fitted into the keys
uint32_t host_share(const Placement *p, const PlacedHost *h); // largest reserved one, of PLACEMENT_SHARE
uint32_t host_fit(const PlacedHost *h);
uint32_t load_key(uint32_t load);
uint32_t host_points(const PlacedHost *h, uint64_t now_us);

// placement-labels.c
void label_pair(Placement *p, const char *key, const char *value, uint32_t *ret);
void label_key(Placement *p, const char *key, uint32_t *ret);
void node_set_labels(Placement *p, uint32_t node, const PlacementLabel *labels, size_t n);
void term_make(Placement *p, const PlacementTerm *from, Term *ret);
void term_done(Term *t);
bool term_matches(const Placement *p, const Term *t, uint32_t node);
uint32_t node_domain(const Placement *p, uint32_t node, uint32_t key); // value's index + 1; 0: none
void key_need_domains(Placement *p, uint32_t key);
void selector_get(Placement *p, const Term *const *terms, uint32_t n_terms, const Numbers *hates,
                 const Numbers *matches, uint32_t *ret);
void selector_done(Selector *s); // frees what it owns
void selector_unref(Placement *p, uint32_t selector);
void selector_set(Placement *p, uint32_t selector, uint32_t node, bool yes);
void selector_refresh(Placement *p, uint32_t selector, uint32_t node); // looks again
bool selector_has(const Placement *p, uint32_t selector, uint32_t node);
void selectors_look_again(Placement *p, uint32_t node); // its labels changed

// placement-class.c
bool conflict_on(const Placement *p, const Selector *s, uint32_t node);
// The same for a unit that is there itself, and which unit's name or demand it is.
bool conflict_with_others(const Placement *p, uint32_t unit);
void conflicts_count(Placement *p, const Shape *shape, uint32_t node, int step);
void shape_get(Placement *p, uint32_t class, const char *name, uint32_t *ret);
void shape_unref(Placement *p, uint32_t shape);

// placement-spread.c
void spread_get(Placement *p, uint32_t base, uint32_t key, const char *group, uint32_t *ret);
void spread_unref(Placement *p, uint32_t spread);
void spread_settle(const Placement *p, Spread *s); // min and n_min are right afterwards
void group_count(Placement *p, uint32_t group, uint32_t domain, int step);
void spread_open(Placement *p, Spread *s, uint32_t domain, int step);
void spreads_of_node(Placement *p, uint32_t node, int step); // it opened or closed
static inline uint32_t group_at(const Group *g, uint32_t domain) {
        return domain < g->allocated ? g->counts[domain] : 0;
}

// placement-queue.c
void wait_add(Placement *p, uint32_t unit);
void wait_again(Placement *p, uint32_t unit); // what queue it belongs to has changed
void wait_take(Placement *p, uint32_t unit);               // does nothing if it does not wait
uint32_t wait_next(const Placement *p);                    // whose turn it is; PLACEMENT_NONE: nobody's
void queue_block(Placement *p, uint32_t queue, Blocked why);
void queue_unblock(Placement *p, uint32_t queue);
void queues_unblock(Placement *p, uint32_t first); // of one list
void queues_unblock_spread(Placement *p, uint32_t group);
void node_freed(Placement *p, uint32_t node); // something may be possible there that was not
void queues_look_at_freed(Placement *p);
void role_use(Placement *p, uint32_t role, const PlacementVector *demand, int step);
void role_moved(Placement *p, uint32_t role); // its share, or whether it has somebody waiting, changed
void roles_settle(Placement *p);              // capacity changed
bool role_within_guarantee(const Role *r, const PlacementVector *demand);
// The first resource of which it would have too much; -1: none.
int role_over_limit(const Role *r, const PlacementVector *demand);
// The first of which too little would be left for what others are guaranteed; -1: none.
int breaks_promises(const Placement *p, const Role *r, const PlacementVector *demand);
int64_t promised_to_others(const Placement *p, const Role *r, unsigned resource); // and not used yet
bool is_behind(const Role *r);

// placement-choose.c
// A node for all of them. The first says where to look and what is best.
uint32_t choose(Placement *p, const uint32_t *units, uint32_t n);
bool node_may_hold(const Placement *p, uint32_t node, const uint32_t *units, uint32_t n);
bool host_has_room(const Placement *p, const PlacedHost *h, const PlacementVector *demand);
bool spread_allows(const Placement *p, const Class *c, uint32_t node);

// placement-units.c
void unit_leave(Placement *p, uint32_t unit); // its node, which counts it no more
void unit_enter(Placement *p, uint32_t unit, uint32_t node);
void unit_check(Placement *p, uint32_t unit); // it waits if it is to
bool unit_must_go(const Placement *p, uint32_t unit);      // from the node where it is
void unit_call_followers(Placement *p, uint32_t unit); // who could not follow it before may now
bool unit_excluded(const Placement *p, uint32_t unit, uint32_t node);
// Where it is; PLACEMENT_NONE: on no node.
static inline uint32_t unit_node(const Placement *p, uint32_t unit) {
        return p->units[unit].node;
}
static inline const Class *unit_class(const Placement *p, const PlacedUnit *u) {
        return &p->classes[p->shapes[u->shape].class];
}
