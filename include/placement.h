// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where units run. A Placement lives as long as its owner leads: it is told what changed (a host came, a
// label was set, a unit is wanted) and answers with decisions. Pure: no loop, no I/O, no clock; the same
// calls in the same order give the same decisions. Time is an argument, in microseconds of a clock that only
// rises; only penalties depend on it.
//
//      host    capacity: how much of each resource it offers. Free = offered - reserved by its units; never
//              over-committed by a decision, but placement_unit_put() takes what is true as it is
//      node    a manager on a host; has labels and a state. Units run on nodes, capacity is the host's
//      class   what the units of one spec demand: labels, resources, spread, conflicts, preferences, policy
//      unit    of one class, for one role; wanted or not; on a node or not. It waits for a node if it is
//              wanted and on none, or was released from the one where it is
//      role    whose it is: weight, guarantee, limit
//
//      a node is eligible for a unit if  it is open                           (placement_node_set_state)
//                                 and    the class's terms all match its labels
//                                 and    nothing on it conflicts, in either direction, or replaces the unit
//                                 and    its host has room for the demand
//                                 and    a hard spread allows its domain
//                                 and    the unit is not excluded there, and not confined to others
//      it is chosen     where it was last (home), if that is eligible and the spread leaves it free to
//              then     the domain with the fewest of its group (spread)
//              then     the lowest load + weights of the preferences that it does not match
//              then     the lowest slot (order of placement_node_add)
//      load             2 per unit on the node, relative to the host's size, + 1024 * the largest reserved
//                       share of a resource, + penalty points; exact up to 3072, in steps of 64 above.
//                       Nodes of second choice come after all others
//      PLACEMENT_BEST_FIT   instead of the lowest load the highest share of CPU or memory, in 1/4096
//
// Who goes next: the role with the lowest weighted dominant share, after roles below their guarantee; in a
// role the highest priority, then first come, first served. A unit that nothing takes blocks only units of
// its own kind, and is looked at again when something changed that may matter to it.
//
// So small units may pass by a large one. When PLACEMENT_PASSES_MAX were placed while a unit found no room,
// it gets a reservation: on the host that lacks the least for it, nobody of its priority or a lower one is
// given what it needs. There is one reservation at a time: for the highest priority, then for who waits
// longest.
//
// Cost: placing and taking away are O(1) in nodes, units and classes but for the masks (one bit per distinct
// set of terms). A round looks at what is dirty. New sets of terms, labels and globs look at everything
// once.
//
// Without memory the process ends (oom.h): a Placement that has missed something would lie.
// Handles (uint32_t) are small and reused after the remove. Strings are copied except the names of units.

#include <stdbool.h>

#include "label-op.h"
#include "macro.h"

enum {
        PLACEMENT_CPU = 0,    // thousandths of a core
        PLACEMENT_MEMORY = 1, // MiB
        PLACEMENT_RESOURCES_MAX = 8,
        PLACEMENT_TERMS_MAX = 64,
        PLACEMENT_PREFERENCES_MAX = 3,
        PLACEMENT_CLAIM = '@',
        PLACEMENT_SHARED = '&',
        PLACEMENT_CONFLICTS_MAX = 1024, // distinct globs in the cluster
        PLACEMENT_FOLLOWS_MAX = 64,     // units that are to be on one node because they follow each other
        PLACEMENT_VICTIMS_MAX = 64,     // units that are preempted for one
        PLACEMENT_SIZE_ONE = 16,        // size of a host that counts as one
        PLACEMENT_SHARE = 1024,         // load of a host that is reserved altogether
        PLACEMENT_UNIT_LOAD = 2,        // load of a unit on a host of size one
        PLACEMENT_PASSES_MAX = 8,       // so many that demand something are placed before one is waited for
};
#define PLACEMENT_POOL "pool"     // key of the label that hosts of a pool have
#define PLACEMENT_NONE UINT32_MAX // no node, no unit

typedef struct Placement Placement;

typedef struct PlacementVector {
        int32_t of[PLACEMENT_RESOURCES_MAX];
} PlacementVector;

typedef struct PlacementLabel {
        const char *key, *value;
} PlacementLabel;

// Names labels of nodes, and says whether they are to be there (label-op.h).
typedef struct PlacementTerm {
        LabelOp op;
        const char *key;
        const char *const *values; // NULL-terminated; NULL for LABEL_EXISTS and LABEL_ABSENT
        const char *reason; // said of nodes that it does not admit; constant. NULL: made from the term
} PlacementTerm;

typedef enum PlacementPolicy {
        PLACEMENT_LEAST_LOADED,
        PLACEMENT_BEST_FIT,
} PlacementPolicy;

typedef struct PlacementSpec {
        const PlacementTerm *terms; // all must match
        size_t n_terms;
        const PlacementTerm *preferences; // at most PLACEMENT_PREFERENCES_MAX
        uint16_t weights[PLACEMENT_PREFERENCES_MAX];
        size_t n_preferences;
        const char *const
                *conflicts; // globs over unit names, NULL-terminated, or NULL; one that begins with
                            // PLACEMENT_CLAIM matches units that have it, too: one unit of a node may;
                            // and one that begins with PLACEMENT_SHARED units that have another value of it:
                            // "&KEY=VALUE"
        const char *const *replaces; // likewise: units that may not be where this one is, but not vice versa
        PlacementVector demand;
        const char *spread;       // key of a label whose values are the domains; NULL: no spread
        const char *spread_group; // units of one group are spread together
        bool spread_soft;
        uint16_t spread_skew; // hard: largest difference between two domains; 0 counts as 1
        PlacementPolicy policy;
} PlacementSpec;

typedef struct PlacementRole {
        uint32_t weight;                            // 1..1000000
        int64_t guarantee[PLACEMENT_RESOURCES_MAX]; // 0: none
        int64_t limit[PLACEMENT_RESOURCES_MAX];     // negative: none
} PlacementRole;

typedef enum PlacementState {
        PLACEMENT_OPEN,
        PLACEMENT_SECOND, // takes units that no open node takes
        PLACEMENT_CLOSED, // cordoned, suspect: keeps what it has
        PLACEMENT_LOST,   // the same, and its host counts in no capacity if that has no other node
} PlacementState;

typedef enum PlacementKind {
        PLACEMENT_PLACE,   // from PLACEMENT_NONE, a lost node, or one that it was released from
        PLACEMENT_PREEMPT, // to PLACEMENT_NONE, in favour of `unit_for`. It waits for a node
} PlacementKind;

typedef struct PlacementDecision {
        PlacementKind kind;
        uint32_t unit, from, to, unit_for;
} PlacementDecision;

typedef struct PlacementBudget {
        size_t decisions;   // at most so many in this round (one bundle of followers may exceed it)
        size_t disruptions; // of these, preemptions
        // Whether the unit may be preempted together with those n; NULL: any may. Its answer follows from
        // what does not change during the round.
        bool (*spares)(uint32_t unit, const uint32_t *taken, uint32_t n, void *userdata);
        void *userdata;
} PlacementBudget;

typedef enum PlacementReason {
        PLACEMENT_REASON_LABELS, // of the class's terms: stays until labels change
        PLACEMENT_REASON_EXCLUDED,
        PLACEMENT_REASON_AFFINITY, // conflicts, or whom it is to be with
        PLACEMENT_REASON_STATE,
        PLACEMENT_REASON_ROOM,
        PLACEMENT_REASON_SPREAD,
} PlacementReason;

typedef struct PlacementRefusal {
        uint32_t node;
        PlacementReason kind;
        char *reason;
} PlacementRefusal;

Placement *placement_new(void) _warn_unused_;
Placement *placement_free(Placement *p);
DEFINE_CLEANUP(Placement *, placement_free)
// Another one that decides as this one does, with the same handles and nothing shared: another thread may
// have it. It knows no names of units, so it takes no new ones, nor new globs or another class for any. Not
// within a preview. Cost: what exists.
Placement *placement_copy(const Placement *p) _warn_unused_;
// The same with the names of units, which it borrows, too: they live longer, or it is not asked any more.
Placement *placement_copy_named(const Placement *p) _warn_unused_;

// The index of a counted resource, given when first asked for. It is given to another name when all are
// used up, no class demands it, no role has a guarantee or limit of it, and another class was made since:
// what hosts offer must then be told anew. *ret_new (may be NULL): this name did not have one. -ENOSPC:
// there are PLACEMENT_RESOURCES_MAX that are needed.
int placement_resource(Placement *p, const char *name, bool *ret_new) _warn_unused_;
int placement_find_resource(const Placement *p, const char *name); // -ENOENT: nobody has asked for it

void placement_host_add(Placement *p, const PlacementVector *offers, uint32_t size, uint32_t *ret);
void placement_host_set(Placement *p, uint32_t host, const PlacementVector *offers, uint32_t size);
void placement_host_remove(Placement *p, uint32_t host); // with its nodes
// A failure there: its load grows by `points` that halve every `half_us`. The node is chosen less, not
// never.
void placement_host_penalise(Placement *p, uint32_t host, uint32_t points, uint64_t half_us,
                             uint64_t now_us);

// A new node is closed.
void placement_node_add(Placement *p, uint32_t host, const PlacementLabel *labels, size_t n, uint32_t *ret);
// Units there that the new labels do not admit stay: placement_unit_must_go().
void placement_node_label(Placement *p, uint32_t node, const PlacementLabel *labels, size_t n);
void placement_node_set_state(Placement *p, uint32_t node, PlacementState state);
// Units there that are none of this Placement's count in its load.
void placement_node_set_others(Placement *p, uint32_t node, uint32_t n_units);
// Its units are on no node any more and wait for another if they are wanted.
void placement_node_remove(Placement *p, uint32_t node);

// A reference to the class with this meaning. -ENOSPC: too many globs. -EINVAL: more terms or preferences
// than allowed.
int placement_class_get(Placement *p, const PlacementSpec *spec, uint32_t *ret) _warn_unused_;
void placement_class_ref(Placement *p, uint32_t class);
void placement_class_unref(Placement *p, uint32_t class);
// Whether there is any node, in whatever state, that its terms admit.
bool placement_class_possible(const Placement *p, uint32_t class);

int placement_role_add(Placement *p, const PlacementRole *role, uint32_t *ret) _warn_unused_;
void placement_role_set(Placement *p, uint32_t role, const PlacementRole *settings);
void placement_role_remove(Placement *p, uint32_t role); // without units
typedef struct PlacementRoleUse {
        int64_t used[PLACEMENT_RESOURCES_MAX];
        uint32_t units;   // of this role, wanted or not
        uint32_t placed;  // of these: on a node
        uint32_t waiting; // wanted, on none
} PlacementRoleUse;
// Cost: the kinds of units that wait.
void placement_role_use(const Placement *p, uint32_t role, PlacementRoleUse *ret);
// units of it on a node, without that cost
uint32_t placement_role_placed(const Placement *p, uint32_t role);
// Whether a unit of the one role has its turn before one of the other as things are: the order of a round.
bool placement_role_before(const Placement *p, uint32_t a, uint32_t b);
// Offered by the hosts that are not lost.
int64_t placement_capacity(const Placement *p, unsigned resource);
// Memory of its tables, by the room that they have; without texts, and without lists of single roles, groups
// and globs.
size_t placement_bytes(const Placement *p);
// What of the capacity is not reserved by units; negative if more is reserved than there is.
int64_t placement_room(const Placement *p, unsigned resource);
// "cpu", "memory" or the name given; NULL: there is no such resource.
const char *placement_resource_name(const Placement *p, unsigned resource);

// `name` is borrowed until the remove. Not wanted, on no node. Takes a reference to the class.
void placement_unit_add(Placement *p, const char *name, uint32_t class, uint32_t role, int16_t priority,
                        uint32_t *ret);
void placement_unit_remove(Placement *p, uint32_t unit);
// Another class, role or priority. It stays where it is, also if the new class does not admit that.
void placement_unit_change(Placement *p, uint32_t unit, uint32_t class, uint32_t role, int16_t priority);
// Whether it gives way to units of higher priority. A new unit does.
void placement_unit_set_preemptible(Placement *p, uint32_t unit, bool preemptible);
// Lets a wanted unit leave the node where it is, so that it waits for another one. It stays as long as there
// is none. Over when it has moved, its turn finds no better node than that, or it is held again (`released`
// false).
void placement_unit_release(Placement *p, uint32_t unit, bool released);
uint32_t placement_unit_role(const Placement *p, uint32_t unit);
int16_t placement_unit_priority(const Placement *p, uint32_t unit);
// A unit that is not wanted any more leaves its node at once.
void placement_unit_want(Placement *p, uint32_t unit, bool wanted);
// So it is, whatever is thought of it: it is on this node (or none) and counts there.
void placement_unit_put(Placement *p, uint32_t unit, uint32_t node);
// It is to be where `target` is, and moves with it. -ELOOP: target follows it; -E2BIG: too many in one
// bundle.
int placement_unit_follow(Placement *p, uint32_t unit, uint32_t target) _warn_unused_;
void placement_unit_unfollow(Placement *p, uint32_t unit); // all that it follows
// The unit may not be on that node, until it is readmitted.
void placement_unit_exclude(Placement *p, uint32_t unit, uint32_t node);
void placement_unit_readmit(Placement *p, uint32_t unit,
                            uint32_t node); // PLACEMENT_NONE: everywhere, and it is not confined any more
// Only where it is admitted, and not excluded as well: what is said so costs the nodes that are named, not
// all that there are or will be.
void placement_unit_confine(Placement *p, uint32_t unit);
void placement_unit_admit(Placement *p, uint32_t unit, uint32_t node);
// Whether a unit that is on the node conflicts with it, in either direction; whether two units do; and
// whether it could with anybody. For units that run everywhere and are placed nowhere.
bool placement_conflict_on(const Placement *p, uint32_t unit, uint32_t node);
bool placement_conflict_between(const Placement *p, uint32_t a, uint32_t b);
bool placement_may_conflict(const Placement *p, uint32_t unit);
// The next unit on its node, behind `after` (PLACEMENT_NONE: from the first one), that has another value of
// something that units of a node share: *ret is "KEY=VALUE" (PLACEMENT_SHARED), as it has it itself.
// PLACEMENT_NONE: there is no more.
uint32_t placement_next_other(const Placement *p, uint32_t unit, uint32_t after, const char **ret);

// Decides. What is decided counts at once; the array is borrowed until the next call. More may be left
// to do if a budget was used up.
void placement_round(Placement *p, uint64_t now_us, const PlacementBudget *budget,
                     const PlacementDecision **ret, size_t *ret_n);
// What is decided, put and wanted between the two is only thought of. The caller puts each unit back before
// the end; who waited longest, and what is kept free for whom, is then as it was. Not one within another.
void placement_preview_begin(Placement *p);
void placement_preview_end(Placement *p);
// Finds a unit that is wanted another node than the one where it is, or one at all, whether it must go or
// not, as if its turn had come. Where it is from now on, or PLACEMENT_NONE: nothing has changed.
// Those who follow it stay where they are, but the node is one that takes them too, if there is one.
uint32_t placement_move(Placement *p, uint32_t unit, uint64_t now_us) _warn_unused_;
// Whether it replaces others.
bool placement_unit_replaces(const Placement *p, uint32_t unit);
// Whether it replaces that one, wherever the two are.
bool placement_unit_replaces_unit(const Placement *p, uint32_t unit, uint32_t other);
// Whether a unit that replaces it is on its node. False for a unit on no node.
bool placement_unit_replaced(const Placement *p, uint32_t unit);
// Whether it is where it may not be, or was released. False for a unit on no node or a lost one.
bool placement_unit_must_go(const Placement *p, uint32_t unit);
// The labels of its node are not what it asks for (any more). False for a unit on no node.
bool placement_unit_mismatches(const Placement *p, uint32_t unit);
// Nothing but that is wrong with where it is: its owner decides when it goes.
bool placement_unit_only_mismatches(const Placement *p, uint32_t unit);
// "needs label disk=ssd, has no label disk", the caller's to free; NULL if it does not, or there is no
// memory.
char *placement_mismatch_text(const Placement *p, uint32_t unit);
// Whether the unit may be there or stay there, apart from room, spread and the state of the node: by its
// labels, by who is there, by whom it follows, and not excluded.
bool placement_node_admits(const Placement *p, uint32_t node, uint32_t unit);
// Whether what the unit reserves is left on the node's host, if it is not there itself.
bool placement_node_has_room(const Placement *p, uint32_t node, uint32_t unit);
const char *placement_unit_name(const Placement *p, uint32_t unit);
// Whether there is a unit of this handle; none has placement_unit_end() or a higher one.
bool placement_has_unit(const Placement *p, uint32_t unit);
uint32_t placement_unit_end(const Placement *p);
// Whether one that it follows is at home on another node. False for a unit on no node.
bool placement_unit_is_apart(const Placement *p, uint32_t unit);
// The i-th unit that follows this one; false: there are not so many.
bool placement_unit_colocated(const Placement *p, uint32_t unit, uint32_t i, uint32_t *ret);
uint32_t placement_unit_class(const Placement *p, uint32_t unit);

// Why each node does not take the unit, one entry per node that does not, also of the one that it must
// leave; a string each. Cost: every node, when asked. *ret NULL and 0 entries if all would.
int placement_why(const Placement *p, uint32_t unit, PlacementRefusal **ret, size_t *ret_n) _warn_unused_;
typedef enum PlacementHold {
        PLACEMENT_FREE,
        PLACEMENT_OVER_LIMIT, // of its role
        PLACEMENT_PROMISED,   // the room is guaranteed to other roles
} PlacementHold;
// Whether it is its role that keeps a unit from going to a node, and by which resource. FREE for one that is
// on a node.
PlacementHold placement_held_back(const Placement *p, uint32_t unit, unsigned *ret_resource);
PlacementRefusal *placement_refusals_free(PlacementRefusal *refusals, size_t n);
