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
//   placement-copy.c     another one that decides as this one does
//   placement-queue.c    who waits, for what, and whose turn it is
//   placement-choose.c   the node for a unit
//   placement-reservation.c   what is kept free for the one who waits longest
//   placement-round.c    decisions
//   placement-why.c      reasons, when asked
//   placement-tables.c   arrays, lists and counts that the others are made of
//
// A *selector* is a set of terms (and of conflicts): one bit per node says whether the node satisfies it.
// The bits are kept in both directions: as a bitmap over nodes in the selector, and as a mask over selectors
// in the node. A *shape* is a class together with the globs of others that a unit's name matches; units have
// shapes.

#include "placement-index.h"
#include "placement-queue.h"
#include "placement-tables.h"

struct PlacedHost {
        PlacementVector offers, free;
        uint32_t size, first_node;
        uint32_t tried_for; // Reservation.attempt that it was chosen for last
        uint64_t left_at;   // Placement.n_grants when a unit left it last
        bool counted;    // in Placement.capacity and .room
        uint32_t points; // of penalty, at `points_at_us`
        uint64_t points_at_us, half_us;
};

struct PlacedNode {
        uint32_t host, next_of_host;
        uint32_t first_unit, n_units, n_others;
        uint32_t first_exclusion; // + 1; 0: none
        uint32_t *labels; // pairs, ascending
        uint32_t n_labels;
        uint8_t state;
        bool freed; // in Placement.freed
};

typedef struct Term {
        LabelOp op;
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
        bool one_sided;   // the declaring unit may go where matching ones are, but these not to it
        size_t plain;     // bytes of it before the first wildcard
        uint32_t refs;    // classes
        Numbers declared, matched; // selectors
} Glob;

typedef struct Class {
        char *key;
        uint32_t refs, base;
        PlacementSpec spec; // only its plain values
        Numbers globs;
        Term preferences[PLACEMENT_PREFERENCES_MAX];
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
        Numbers nodes;       // that have it, as long as they are few
        bool many;           // they are not
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

enum { // PlacedUnit.flags
        UNIT_WANTED = 1,
        UNIT_EXCLUDED = 2, // somewhere, or confined: it is not like others of its shape
        UNIT_STEADY = 4,   // not preemptible
        UNIT_MARKED = 16,  // by a walk along the links that is under way
        UNIT_RELEASED = 8, // may leave its node, and waits for another
        UNIT_CONFINED = 32, // to the nodes to which it is admitted
};

typedef struct PlacedUnit {
        const char *name;
        uint64_t seq; // when it was wanted first; 0: it never waited since then
        uint32_t shape, node, home;
        uint32_t prev, next;                    // on the node
        uint32_t queue, queue_prev, queue_next; // PLACEMENT_NONE: it does not wait
        uint16_t role;
        int16_t priority;
        uint8_t flags;
} PlacedUnit;

typedef union NameHead { // of a name: how it begins, and a hash of all of it
        struct {
                char letters[14];
                uint16_t hash;
        };
        uint64_t words[2];
} NameHead;

typedef struct Ties { // of a unit, the first Link of each + 1; 0: it has none
        uint32_t follows, followed;
} Ties;

typedef struct Link { // `unit` follows `target`
        uint32_t unit, target, next_of_unit, next_of_target;
} Link;

typedef struct Reservation {    // on one host, for one unit at a time
        uint32_t unit, host;    // PLACEMENT_NONE: none
        PlacementVector demand; // of the unit and those who go with it
        uint64_t chosen_at;     // Placement.n_grants when it was chosen last
        uint64_t better_at;     // the same, when the host came to lack less than before
        uint32_t least;         // what it lacked then
        uint32_t attempt;       // hosts whose tried_for this is have had it for this unit
} Reservation;

typedef struct PreviewNote {
        enum {
                NOTE_PASSED, // Queue.passed_from
                NOTE_TURN,   // PlacedUnit.seq
                NOTE_HOME,   // and .home
                NOTE_LEFT,   // PlacedHost.left_at
                NOTE_TRIED,  // and .tried_for
        } what;
        uint32_t number; // the queue's first unit; the unit; the host
        uint64_t before;
} PreviewNote;

typedef struct PreviewWork { // what is as before when it ends
        bool on;
        uint64_t n_grants;
        Reservation reservation;
        PreviewNote *notes; // first those of queues, as they were at the begin
        uint32_t n_notes, notes_allocated;
} PreviewWork;

typedef struct Exclusion { // what is said of `unit` on `node` alone; one of the two at least
        uint32_t unit, node;
        bool excluded; // it may not be there
        bool admitted; // nor anywhere else, if it is confined
        uint32_t prev_of_unit, next_of_unit, prev_of_node, next_of_node; // exclusion + 1; 0: none
} Exclusion;

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
                spread_slots, role_slots, queue_slots, unit_slots, link_slots,
                exclusion_slots;
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
        NameHead *name_heads; // of these, beside each other
        Link *links;
        Ties *ties; // by unit, as far as any had a link
        uint32_t hosts_allocated, nodes_allocated, classes_allocated, selectors_allocated, shapes_allocated,
                globs_allocated, groups_allocated, spreads_allocated, roles_allocated, queues_allocated,
                units_allocated, name_heads_allocated, links_allocated, ties_allocated;
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
        Counts excluded;  // (unit, node) -> its exclusion + 1
        Exclusion *exclusions;
        uint32_t *first_exclusion; // by unit, as far as any had one: exclusion + 1; 0: none
        uint32_t exclusions_allocated, first_exclusion_allocated;

        int16_t lowest_priority; // no preemptible unit on a node had a lower one, ever
        uint32_t *role_heap, n_role_heap, role_heap_allocated;
        Numbers freed;                     // nodes where something has become possible
        Numbers penalised;                 // hosts
        uint32_t first_blocked[N_BLOCKED]; // queues, for reasons that have one list
        uint64_t now_us, seq;
        uint64_t n_grants; // of units that demand anything
        Reservation reservation;
        PreviewWork preview;

        PlacementDecision *decisions;
        uint32_t n_decisions, decisions_allocated;
        uint32_t n_preempted; // in this round
};

// placement-labels.c
void label_pair(Placement *p, const char *key, const char *value, uint32_t *ret);
const char *pair_value(const Placement *p, uint32_t pair);
void label_key(Placement *p, const char *key, uint32_t *ret);
uint32_t *label_pairs(Placement *p, const PlacementLabel *labels, size_t n); // sorted; owned
// Whether it would be in another domain of a key over which something is spread.
bool node_changes_domain(const Placement *p, uint32_t node, const uint32_t *pairs, size_t n);
void node_set_pairs(Placement *p, uint32_t node, uint32_t *pairs, size_t n); // takes them
void node_forget_labels(Placement *p, uint32_t node); // it goes
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
void selectors_refresh(Placement *p, uint32_t node); // its labels changed

// placement-class.c
bool conflict_on(const Placement *p, const Selector *s, uint32_t node);
// The same for a unit that is there itself, and which unit's name or demand it is.
bool conflict_with_others(const Placement *p, uint32_t unit);
void conflicts_count(Placement *p, const Shape *shape, uint32_t node, int step);
NameHead placement_name_head(const char *name);
void shape_get(Placement *p, uint32_t class, const char *name, uint32_t *ret);
void shape_unref(Placement *p, uint32_t shape);

// placement-spread.c
void spread_get(Placement *p, uint32_t base, uint32_t key, const char *group, uint32_t *ret);
void spread_unref(Placement *p, uint32_t spread);
void spread_settle(const Placement *p, Spread *s); // min and n_min are right afterwards
void group_count(Placement *p, uint32_t group, uint32_t domain, int step);
void spreads_of_node(Placement *p, uint32_t node, int step); // it opened or closed
static inline uint32_t group_at(const Group *g, uint32_t domain) {
        return domain < g->allocated ? g->counts[domain] : 0;
}

// placement-choose.c
// A node for all of them. The first says where to look and what is best.
uint32_t placement_choose(Placement *p, const uint32_t *units, uint32_t n);
bool units_get_on(const Placement *p, const uint32_t *units, uint32_t n); // none conflicts with another
bool node_may_hold(const Placement *p, uint32_t node, const uint32_t *units, uint32_t n);
bool host_has_room(const Placement *p, const PlacedHost *h, const PlacementVector *demand);
// Whether a unit that waits would have room there without those that it may preempt. Cost: the units of the
// host.
bool host_would_have_room(const Placement *p, const PlacedHost *h, uint32_t unit);
bool spread_allows(const Placement *p, const Class *c, uint32_t node);

// placement-reservation.c
bool reservation_bars_there(const Placement *p, const uint32_t *units, uint32_t n,
                            const PlacementVector *demand);
// Whether the host's room is kept from these, whose demand is that, for somebody who waits longer. Asked of
// every node that is looked at, and true of one host at most.
static inline bool reservation_bars(const Placement *p, uint32_t host, const uint32_t *units, uint32_t n,
                                    const PlacementVector *demand) {
        return p->reservation.host == host && reservation_bars_there(p, units, n, demand);
}
// Whether it is kept for somebody to whom this unit does not go before.
bool reservation_is_for_another(const Placement *p, uint32_t host, uint32_t unit);
void reservation_settle(Placement *p);                // chosen anew, if enough has happened
void reservation_let_go(Placement *p, uint32_t unit); // it waits no more: others may have the room
void reservation_end(Placement *p);

// placement-preview.c: what is about to change.
void preview_note_turn(Placement *p, uint32_t unit);
void preview_note_home(Placement *p, uint32_t unit);
void preview_note_left(Placement *p, uint32_t host);
void preview_note_tried(Placement *p, uint32_t host);
// placement-round.c
PlacementVector bundle_demand(const Placement *p, uint32_t unit); // of the unit and those who go with it

// placement-units.c
void unit_leave(Placement *p, uint32_t unit); // its node, which counts it no more
void unit_enter(Placement *p, uint32_t unit, uint32_t node);
void unit_check(Placement *p, uint32_t unit);          // it waits if it is to
bool unit_must_go(const Placement *p, uint32_t unit);  // from the node where it is
void unit_call_colocated(Placement *p, uint32_t unit); // units that could not follow it before may now
bool unit_excluded(const Placement *p, uint32_t unit, uint32_t node);
bool unit_suits(const Placement *p, uint32_t unit, uint32_t node); // by its labels
// by its labels and by who is there, and not excluded
bool unit_admitted(const Placement *p, uint32_t unit, uint32_t node);
// The unit there that it is to be with, directly or not, and would drive out; PLACEMENT_NONE: none.
uint32_t unit_replaced_mate(const Placement *p, uint32_t unit, uint32_t node);
void node_readmit_all(Placement *p, uint32_t node); // it goes
// Where it is; PLACEMENT_NONE: on no node.
static inline uint32_t unit_node(const Placement *p, uint32_t unit) {
        return p->units[unit].node;
}
// The first link by which it follows another; by which it is followed. PLACEMENT_NONE: there is none.
static inline uint32_t unit_follows(const Placement *p, uint32_t unit) {
        return unit < p->ties_allocated ? p->ties[unit].follows - 1 : PLACEMENT_NONE;
}
static inline uint32_t unit_followed(const Placement *p, uint32_t unit) {
        return unit < p->ties_allocated ? p->ties[unit].followed - 1 : PLACEMENT_NONE;
}
static inline bool unit_is_tied(const Placement *p, uint32_t unit) {
        return unit_follows(p, unit) != PLACEMENT_NONE || unit_followed(p, unit) != PLACEMENT_NONE;
}
static inline const Class *unit_class(const Placement *p, const PlacedUnit *u) {
        return &p->classes[p->shapes[u->shape].class];
}
