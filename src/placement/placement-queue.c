// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The units that wait. Units of one role, shape and priority form a queue: what one of them cannot have now,
// none of them can. A role holds its queues in a heap by (priority, order of arrival), the Placement its
// roles in a heap by (guarantee not reached yet, weighted dominant share); a grant re-positions one queue
// and one role. A queue that is refused leaves its role's heap and goes to the list of what it waits for,
// where a change finds it without looking at the others.
#include <stdio.h>

#include "placement-private.h"

// --------------------------------------------------------------------------------------------- roles' order

bool is_behind(const Role *r) {
        for (unsigned i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                if (r->usage[i] < r->settings.guarantee[i])
                        return false;
        return true;
}

// Its dominant share of the cluster / weight, as it counts now.
static double share_of(const Placement *p, const Role *r) {
        double share = 0;

        for (unsigned i = 0; i < p->n_resources; i++)
                if (p->capacity[i] > 0 && r->usage[i] > 0)
                        share = MAX_OF(share, (double) r->usage[i] / (double) p->capacity[i]);
        return share / r->settings.weight;
}

typedef struct RoleTurn { // what a role's turn follows from, besides its number
        bool behind;
        double share;
} RoleTurn;

static bool turn_before(RoleTurn x, uint32_t a, RoleTurn y, uint32_t b) {
        if (x.behind != y.behind)
                return y.behind;
        return x.share != y.share ? x.share < y.share : a < b;
}

// As the two counted when they were placed in the heap.
static bool role_before(const Placement *p, uint32_t a, uint32_t b) {
        const Role *x = &p->roles[a], *y = &p->roles[b];

        return turn_before((RoleTurn){x->behind, x->share}, a, (RoleTurn){y->behind, y->share}, b);
}

bool placement_role_before(const Placement *p, uint32_t a, uint32_t b) {
        const Role *x = &p->roles[a], *y = &p->roles[b];

        return turn_before((RoleTurn){is_behind(x), share_of(p, x)}, a,
                           (RoleTurn){is_behind(y), share_of(p, y)}, b);
}

static void role_set(Placement *p, uint32_t i, uint32_t role) {
        p->role_heap[i] = role;
        p->roles[role].place = i;
}

static void role_sift(Placement *p, uint32_t i) {
        uint32_t role = p->role_heap[i];

        for (; i > 0 && role_before(p, role, p->role_heap[(i - 1) / 2]); i = (i - 1) / 2)
                role_set(p, i, p->role_heap[(i - 1) / 2]);
        for (;;) {
                uint32_t child = 2 * i + 1;

                if (child + 1 < p->n_role_heap &&
                    role_before(p, p->role_heap[child + 1], p->role_heap[child]))
                        child++;
                if (child >= p->n_role_heap || !role_before(p, p->role_heap[child], role))
                        break;
                role_set(p, i, p->role_heap[child]);
                i = child;
        }
        role_set(p, i, role);
}

static void role_out(Placement *p, uint32_t role) {
        uint32_t i = p->roles[role].place, last = p->role_heap[--p->n_role_heap];

        p->roles[role].place = PLACEMENT_NONE;
        if (last == role)
                return;
        role_set(p, i, last);
        role_sift(p, i);
}

void role_moved(Placement *p, uint32_t role) {
        Role *r = &p->roles[role];

        if (r->n_heap == 0) {
                if (r->place != PLACEMENT_NONE)
                        role_out(p, role);
                return;
        }
        r->behind = is_behind(r);
        r->share = share_of(p, r);
        if (r->place == PLACEMENT_NONE)
                role_set(p, p->n_role_heap++, role); // roles have room there from the beginning
        role_sift(p, r->place);
}

void roles_settle(Placement *p) {
        if (!p->capacity_changed)
                return;
        p->capacity_changed = false;
        for (uint32_t i = 0; i < p->n_role_heap; i++) {
                Role *r = &p->roles[p->role_heap[i]];

                r->share = share_of(p, r);
        }
        for (uint32_t i = p->n_role_heap; i-- > 0;) // bottom up; each sift only sinks
                role_sift(p, i);
}

// ------------------------------------------------------------------------------------------ a role's queues

static bool queue_before(const Placement *p, uint32_t a, uint32_t b) {
        const Queue *x = &p->queues[a], *y = &p->queues[b];

        if (x->priority != y->priority)
                return x->priority > y->priority;
        return p->units[x->first].seq < p->units[y->first].seq;
}

static void queue_set(Placement *p, Role *r, uint32_t i, uint32_t queue) {
        r->heap[i] = queue;
        p->queues[queue].heap = i;
}

static void queue_sift(Placement *p, Role *r, uint32_t i) {
        uint32_t queue = r->heap[i];

        for (; i > 0 && queue_before(p, queue, r->heap[(i - 1) / 2]); i = (i - 1) / 2)
                queue_set(p, r, i, r->heap[(i - 1) / 2]);
        for (;;) {
                uint32_t child = 2 * i + 1;

                if (child + 1 < r->n_heap && queue_before(p, r->heap[child + 1], r->heap[child]))
                        child++;
                if (child >= r->n_heap || !queue_before(p, r->heap[child], queue))
                        break;
                queue_set(p, r, i, r->heap[child]);
                i = child;
        }
        queue_set(p, r, i, queue);
}

static void queue_in(Placement *p, uint32_t queue) {
        uint32_t role = p->queues[queue].role;
        Role *r = &p->roles[role];

        table_grow(&r->heap, &r->allocated, r->n_heap + 1, sizeof *r->heap);
        queue_set(p, r, r->n_heap++, queue);
        queue_sift(p, r, r->n_heap - 1);
        if (r->n_heap == 1)
                role_moved(p, role);
}

static void queue_out(Placement *p, uint32_t queue) {
        uint32_t role = p->queues[queue].role, i = p->queues[queue].heap, last;
        Role *r = &p->roles[role];

        last = r->heap[--r->n_heap];
        if (last != queue) {
                queue_set(p, r, i, last);
                queue_sift(p, r, i);
        }
        if (r->n_heap == 0)
                role_moved(p, role);
}

// ---------------------------------------------------------------------------------------------- waiting for

static uint32_t *list_of(Placement *p, const Queue *q) {
        const Shape *s = &p->shapes[q->shape];

        switch ((Blocked) q->blocked) {
        case BLOCKED_NODES:
        case BLOCKED_SPREAD:
                return &p->selectors[s->selector].first_blocked;
        case BLOCKED_LIMIT:
                return &p->roles[q->role].first_blocked;
        default:
                return &p->first_blocked[q->blocked];
        }
}

static Group *group_of(Placement *p, const Queue *q) {
        return &p->groups[p->spreads[p->classes[p->shapes[q->shape].class].spread].group];
}

static void spread_list(Placement *p, uint32_t queue) {
        Queue *q = &p->queues[queue];
        Group *g = group_of(p, q);

        q->prev_spread = PLACEMENT_NONE;
        q->next_spread = g->first_blocked;
        if (g->first_blocked != PLACEMENT_NONE)
                p->queues[g->first_blocked].prev_spread = queue;
        g->first_blocked = queue;
}

static void spread_unlist(Placement *p, Queue *q) {
        if (q->prev_spread != PLACEMENT_NONE)
                p->queues[q->prev_spread].next_spread = q->next_spread;
        else
                group_of(p, q)->first_blocked = q->next_spread;
        if (q->next_spread != PLACEMENT_NONE)
                p->queues[q->next_spread].prev_spread = q->prev_spread;
}

void queue_block(Placement *p, uint32_t queue, Blocked why) {
        Queue *q = &p->queues[queue];
        uint32_t *first;

        queue_out(p, queue);
        q->blocked = (uint8_t) why;
        first = list_of(p, q);
        q->prev_blocked = PLACEMENT_NONE;
        q->next_blocked = *first;
        if (*first != PLACEMENT_NONE)
                p->queues[*first].prev_blocked = queue;
        *first = queue;
        if (why == BLOCKED_SPREAD)
                spread_list(p, queue);
        if (q->passed_from == 0 && (why == BLOCKED_NODES || why == BLOCKED_SPREAD || why == BLOCKED_BUDGET))
                q->passed_from = p->n_grants + 1;
        if (why == BLOCKED_NODES || why == BLOCKED_SPREAD)
                bit_set(p->blocked, p->shapes[q->shape].selector);
}

static void unlist(Placement *p, uint32_t queue) {
        Queue *q = &p->queues[queue];
        uint32_t *first = list_of(p, q);

        if (q->prev_blocked != PLACEMENT_NONE)
                p->queues[q->prev_blocked].next_blocked = q->next_blocked;
        else
                *first = q->next_blocked;
        if (q->next_blocked != PLACEMENT_NONE)
                p->queues[q->next_blocked].prev_blocked = q->prev_blocked;
        if (q->blocked == BLOCKED_SPREAD)
                spread_unlist(p, q);
        if (q->blocked <= BLOCKED_SPREAD && *first == PLACEMENT_NONE)
                bit_clear(p->blocked, p->shapes[q->shape].selector);
        q->blocked = NOT_BLOCKED;
}

void queue_unblock(Placement *p, uint32_t queue) {
        if (p->queues[queue].blocked == NOT_BLOCKED)
                return;
        unlist(p, queue);
        queue_in(p, queue);
}

void queues_unblock(Placement *p, uint32_t first) {
        while (first != PLACEMENT_NONE) {
                uint32_t next = p->queues[first].next_blocked;

                queue_unblock(p, first);
                first = next;
        }
}

void queues_unblock_spread(Placement *p, uint32_t group) {
        uint32_t queue = p->groups[group].first_blocked;

        while (queue != PLACEMENT_NONE) {
                uint32_t next = p->queues[queue].next_spread;

                queue_unblock(p, queue);
                queue = next;
        }
}

void node_freed(Placement *p, uint32_t node) {
        if (p->nodes[node].freed)
                return;
        p->nodes[node].freed = true;
        numbers_add(&p->freed, node);
}

// What waits for a selector that this node satisfies, and fits there by its demand, or would if others made
// room.
static void refresh_freed(Placement *p, uint32_t node) {
        const Word *mask = p->masks + (size_t) node * p->n_words;
        const PlacedHost *h = &p->hosts[p->nodes[node].host];

        if (p->nodes[node].state > PLACEMENT_SECOND)
                return;
        for (uint32_t w = 0; w < p->n_words; w++)
                for (Word bits = mask[w] & p->blocked[w]; bits; bits &= bits - 1) {
                        uint32_t selector = w * WORD_BITS + (uint32_t) __builtin_ctzll(bits);
                        uint32_t q = p->selectors[selector].first_blocked;

                        while (q != PLACEMENT_NONE) {
                                uint32_t next = p->queues[q].next_blocked;
                                const Class *c = &p->classes[p->shapes[p->queues[q].shape].class];

                                if (host_has_room(p, h, &c->spec.demand) ||
                                    host_would_have_room(p, h, p->queues[q].first))
                                        queue_unblock(p, q);
                                q = next;
                        }
                }
}

void queues_refresh_freed(Placement *p) {
        for (uint32_t i = 0; i < p->freed.n; i++) {
                uint32_t node = p->freed.of[i];

                p->nodes[node].freed = false;
                if (slots_has(&p->node_slots, node))
                        refresh_freed(p, node);
        }
        p->freed.n = 0;
}

// ------------------------------------------------------------------------------------------------ units

// A unit that follows another, is followed or is excluded somewhere may be refused what others of its kind
// get: its queue is its own.
static bool is_special(const Placement *p, uint32_t unit) {
        return unit_is_tied(p, unit) || p->units[unit].flags & UNIT_EXCLUDED;
}

static void queue_get(Placement *p, uint32_t unit, uint32_t *ret) {
        const PlacedUnit *u = &p->units[unit];
        const uint32_t key[QUEUE_KEY] = {u->role, u->shape, (uint16_t) u->priority,
                                         is_special(p, unit) ? unit + 1 : 0};
        uint32_t number, *kept;

        number = (uint32_t) (uintptr_t) map_find(&p->queues_by_key, key, sizeof key);
        if (number) {
                *ret = number - 1;
                return;
        }
        slots_take(&p->queue_slots, ret);
        table_grow(&p->queues, &p->queues_allocated, *ret + 1, sizeof *p->queues);
        kept = oom_checked(malloc(sizeof key));
        memcpy(kept, key, sizeof key);
        p->queues[*ret] = (Queue){.key = kept,
                                  .role = u->role,
                                  .shape = u->shape,
                                  .priority = u->priority,
                                  .first = PLACEMENT_NONE,
                                  .last = PLACEMENT_NONE};
        p->shapes[u->shape].refs++;
        oom_check(map_add(&p->queues_by_key, kept, sizeof key, (void *) (uintptr_t) (*ret + 1)));
}

static void queue_drop(Placement *p, uint32_t queue) {
        Queue *q = &p->queues[queue];
        uint32_t shape = q->shape;

        map_take(&p->queues_by_key, q->key, QUEUE_KEY * sizeof *q->key);
        free(q->key);
        *q = (Queue){0};
        slots_give(&p->queue_slots, queue);
        shape_unref(p, shape);
}

void wait_again(Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        uint64_t passed_from;

        // One of several shares its queue with its kind, and stays in its place there if it is still one of
        // them.
        if (u->queue == PLACEMENT_NONE || (p->queues[u->queue].n > 1 && !is_special(p, unit)))
                return;
        passed_from = p->queues[p->units[unit].queue].passed_from;
        wait_take(p, unit);
        wait_add(p, unit);
        if (p->queues[p->units[unit].queue].first == unit)
                p->queues[p->units[unit].queue].passed_from = passed_from;
}

// A unit that was wanted before others goes before them, so that one that was taken back has its turn again.
// Cost: none at the end and the front of the queue; elsewhere it walks over those before it.
void wait_add(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];
        uint32_t queue, before;
        bool front;
        Queue *q;

        if (u->queue != PLACEMENT_NONE)
                return;
        queue_get(p, unit, &queue);
        q = &p->queues[queue];
        if (u->seq == 0) {
                preview_note_turn(p, unit);
                u->seq = ++p->seq;
        }
        u->queue = queue;
        before = q->n == 0 || u->seq > p->units[q->last].seq ? PLACEMENT_NONE : q->first;
        while (before != PLACEMENT_NONE && p->units[before].seq < u->seq)
                before = p->units[before].queue_next;
        front = q->n > 0 && before == q->first;
        u->queue_next = before;
        u->queue_prev = before == PLACEMENT_NONE ? q->last : p->units[before].queue_prev;
        *(u->queue_prev == PLACEMENT_NONE ? &q->first : &p->units[u->queue_prev].queue_next) = unit;
        *(u->queue_next == PLACEMENT_NONE ? &q->last : &p->units[u->queue_next].queue_prev) = unit;
        if (q->n++ == 0)
                queue_in(p, queue);
        else if (front && !q->blocked)
                queue_sift(p, &p->roles[q->role], q->heap);
}

void wait_take(Placement *p, uint32_t unit) {
        PlacedUnit *u = &p->units[unit];
        uint32_t queue = u->queue;
        Queue *q;

        if (queue == PLACEMENT_NONE)
                return;
        q = &p->queues[queue];
        if (--q->n == 0) { // while its first unit can still be compared
                if (q->blocked)
                        unlist(p, queue);
                else
                        queue_out(p, queue);
        }
        if (u->queue_prev != PLACEMENT_NONE)
                p->units[u->queue_prev].queue_next = u->queue_next;
        else
                q->first = u->queue_next;
        if (u->queue_next != PLACEMENT_NONE)
                p->units[u->queue_next].queue_prev = u->queue_prev;
        else
                q->last = u->queue_prev;
        u->queue = PLACEMENT_NONE;
        if (u->queue_prev == PLACEMENT_NONE)
                q->passed_from = 0;
        reservation_let_go(p, unit);
        if (q->n == 0)
                queue_drop(p, queue);
        else if (u->queue_prev == PLACEMENT_NONE && !q->blocked)
                queue_sift(p, &p->roles[q->role], q->heap);
}

uint32_t wait_next(const Placement *p) {
        const Role *r;

        if (p->n_role_heap == 0)
                return PLACEMENT_NONE;
        r = &p->roles[p->role_heap[0]];
        return p->queues[r->heap[0]].first;
}

// ------------------------------------------------------------------------------------------- what roles use

int64_t role_missing_without(const Role *r, unsigned resource, int64_t used) {
        return MAX_OF(r->settings.guarantee[resource] - (r->usage[resource] - used), 0);
}

static int64_t missing(const Role *r, unsigned resource) {
        return role_missing_without(r, resource, 0);
}

void role_use(Placement *p, uint32_t role, const PlacementVector *demand, int step) {
        Role *r = &p->roles[role];

        r->n_placed += (uint32_t) step;
        for (unsigned i = 0; i < p->n_resources; i++) {
                int64_t before = missing(r, i);

                r->usage[i] += step * (int64_t) demand->of[i];
                p->promised[i] += missing(r, i) - before;
        }
        if (step < 0) {
                queues_unblock(p, r->first_blocked);
                queues_unblock(p, p->first_blocked[BLOCKED_HEADROOM]);
        }
        if (r->n_heap > 0)
                role_moved(p, role);
}

int role_over_limit(const Role *r, const PlacementVector *demand) {
        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                if (r->settings.limit[i] >= 0 && demand->of[i] > 0 &&
                    r->usage[i] + demand->of[i] > r->settings.limit[i])
                        return i;
        return -1;
}

bool role_within_guarantee(const Role *r, const PlacementVector *demand) {
        for (unsigned i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                if (demand->of[i] > 0 && r->usage[i] + demand->of[i] > r->settings.guarantee[i])
                        return false;
        return true;
}

int64_t promised_to_others(const Placement *p, const Role *r, unsigned resource) {
        return p->promised[resource] - missing(r, resource);
}

bool takes_what_is_promised(int64_t demand, int64_t room, int64_t others) {
        return demand > 0 && others > 0 && room - demand < others;
}

int breaks_promises(const Placement *p, const Role *r, const PlacementVector *demand) {
        if (!p->promises || role_within_guarantee(r, demand))
                return -1;
        for (unsigned i = 0; i < p->n_resources; i++)
                if (takes_what_is_promised(demand->of[i], p->room[i], promised_to_others(p, r, i)))
                        return (int) i;
        return -1;
}

uint32_t placement_role_placed(const Placement *p, uint32_t role) {
        return p->roles[role].n_placed;
}

void placement_role_use(const Placement *p, uint32_t role, PlacementRoleUse *ret) {
        const Role *r = &p->roles[role];

        *ret = (PlacementRoleUse){.units = r->n_units, .placed = r->n_placed};
        memcpy(ret->used, r->usage, sizeof ret->used);
        for (uint32_t i = 0; i < p->queue_slots.n; i++) {
                if (!p->queue_slots.used[i] || p->queues[i].role != role)
                        continue;
                for (uint32_t u = p->queues[i].first; u != PLACEMENT_NONE; u = p->units[u].queue_next)
                        ret->waiting += p->units[u].node == PLACEMENT_NONE;
        }
}
