// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that wait, what for, and their order: see placement-queue.c.

#include "placement-tables.h"

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

enum { QUEUE_KEY = 4 }; // numbers that say who is of one kind

typedef struct Queue { // waiting units of one role, shape and priority
        uint32_t *key; // the map's
        uint32_t role, shape;
        int16_t priority;
        uint8_t blocked;
        uint32_t first, last, n;
        uint32_t prev_blocked, next_blocked; // of the same reason and place
        uint32_t prev_spread, next_spread;   // BLOCKED_SPREAD: of the same group
        uint32_t heap;                       // place in its role's heap
        uint64_t passed_from; // Placement.n_grants when its first unit was refused first, + 1; 0: it was not
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

void wait_add(Placement *p, uint32_t unit);
void wait_again(Placement *p, uint32_t unit); // what queue it belongs to has changed
void wait_take(Placement *p, uint32_t unit);  // does nothing if it does not wait
uint32_t wait_next(const Placement *p);       // the next unit; PLACEMENT_NONE: none waits
void queue_block(Placement *p, uint32_t queue, Blocked why);
void queue_unblock(Placement *p, uint32_t queue);
void queues_unblock(Placement *p, uint32_t first); // of one list
void queues_unblock_spread(Placement *p, uint32_t group);
void node_freed(Placement *p, uint32_t node); // something may be possible there that was not
void queues_refresh_freed(Placement *p);
void role_use(Placement *p, uint32_t role, const PlacementVector *demand, int step);
void role_moved(Placement *p, uint32_t role); // its share, or whether it has somebody waiting, changed
void roles_settle(Placement *p);              // capacity changed
bool role_within_guarantee(const Role *r, const PlacementVector *demand);
// The first resource of which it would have too much; -1: none.
int role_over_limit(const Role *r, const PlacementVector *demand);
// The first of which too little would be left for what others are guaranteed; -1: none.
int breaks_promises(const Placement *p, const Role *r, const PlacementVector *demand);
int64_t promised_to_others(const Placement *p, const Role *r, unsigned resource); // and not used yet
// Of such room too little would be left for what others were promised and do not use yet.
bool takes_what_is_promised(int64_t demand, int64_t room, int64_t others);
// What it is promised and does not use, once it uses so much less.
int64_t role_missing_without(const Role *r, unsigned resource, int64_t used);
bool is_behind(const Role *r);
