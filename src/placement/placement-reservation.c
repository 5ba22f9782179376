// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is kept free for the unit that waits longest, so that small units that come and go cannot keep a
// large one waiting for ever. A unit that found no room while PLACEMENT_PASSES_MAX others were given some
// gets a host: the one that lacks the least for it. Whatever becomes free there is its own until it fits; a
// unit without a higher priority gets only what is left besides.
//
// There is one reservation at a time, for the highest priority and then for who waits longest; it is chosen
// again after as many grants, so that it follows a host that is closed, or gives way to a higher priority.
// It ends when the unit waits no more. What no host could ever hold has none. The choice looks at every node
// that may be chosen, so in a large cluster it comes once in so many grants that each pays for
// NODES_PER_GRANT.
//
// Who is on the host that lacks the least may stay for ever. So a host keeps the reservation as long as it
// comes to lack less at least once while every unit could have come and gone PATIENCE times (as many grants
// as there are units, each). Then it is another host's turn: one that has not had it, of these one that
// units left lately.
#include "placement-private.h"

enum {
        NODES_PER_GRANT = 64,
        PATIENCE = 4,
};

static bool waits(const Placement *p, uint32_t unit) {
        return unit != PLACEMENT_NONE && p->units[unit].queue != PLACEMENT_NONE;
}

bool reservation_is_for_another(const Placement *p, uint32_t host, uint32_t unit) {
        const Reservation *r = &p->reservation;

        return r->host == host && unit != r->unit && waits(p, r->unit) &&
               p->units[unit].priority <= p->units[r->unit].priority;
}

bool reservation_bars_there(const Placement *p, const uint32_t *units, uint32_t n,
                            const PlacementVector *demand) {
        uint32_t host = p->reservation.host;
        const PlacementVector *room = &p->hosts[host].free, *kept = &p->reservation.demand;

        for (uint32_t i = 0; i < n; i++) // together with the one that it is for
                if (!reservation_is_for_another(p, host, units[i]))
                        return false;
        for (unsigned i = 0; i < p->n_resources; i++)
                if (demand->of[i] > 0 && kept->of[i] > 0 &&
                    (int64_t) demand->of[i] + kept->of[i] > room->of[i])
                        return true;
        return false;
}

static void free_host(Placement *p, uint32_t host) {
        for (uint32_t n = p->hosts[host].first_node; n != PLACEMENT_NONE; n = p->nodes[n].next_of_host)
                node_freed(p, n);
}

void reservation_let_go(Placement *p, uint32_t unit) {
        if (p->reservation.unit == unit)
                free_host(p, p->reservation.host);
}

void reservation_end(Placement *p) {
        if (p->reservation.unit == PLACEMENT_NONE)
                return;
        free_host(p, p->reservation.host);
        p->reservation.unit = p->reservation.host = PLACEMENT_NONE;
}

// ----------------------------------------------------------------------------------------------- the choice

static bool is_held_back(const Placement *p, const PlacedUnit *u) {
        const PlacementVector *demand = &unit_class(p, u)->spec.demand;

        return u->node == PLACEMENT_NONE && (role_over_limit(&p->roles[u->role], demand) >= 0 ||
                                             breaks_promises(p, &p->roles[u->role], demand) >= 0);
}

// For whom, of those of whom enough have passed by; PLACEMENT_NONE: nobody. It looks at the kinds of units
// that wait.
static uint32_t choose_unit(const Placement *p) {
        uint32_t best = PLACEMENT_NONE;

        for (uint32_t i = 0; i < p->queue_slots.n; i++) {
                const Queue *q = &p->queues[i];
                const PlacedUnit *u;

                if (!p->queue_slots.used[i] || q->passed_from == 0 ||
                    p->n_grants + 1 - q->passed_from < PLACEMENT_PASSES_MAX)
                        continue;
                u = &p->units[q->first];
                if (is_held_back(p, u)) // it would not be given the room
                        continue;
                if (best == PLACEMENT_NONE || u->priority > p->units[best].priority ||
                    (u->priority == p->units[best].priority && u->seq < p->units[best].seq))
                        best = q->first;
        }
        return best;
}

// How much of what the host offers it lacks, in PLACEMENT_SHARE; UINT32_MAX: it could never hold that.
static uint32_t lack(const Placement *p, const PlacedHost *h, const PlacementVector *demand) {
        int64_t most = 0;

        for (unsigned i = 0; i < p->n_resources; i++) {
                if (demand->of[i] <= 0)
                        continue;
                if (demand->of[i] > h->offers.of[i])
                        return UINT32_MAX;
                most = MAX_OF(most,
                              ((int64_t) demand->of[i] - h->free.of[i]) * PLACEMENT_SHARE / h->offers.of[i]);
        }
        return (uint32_t) most;
}

static bool may_be_on(const Placement *p, uint32_t unit, uint32_t node) {
        const PlacedUnit *u = &p->units[unit];

        return p->nodes[node].state <= PLACEMENT_SECOND && !unit_excluded(p, unit, node) &&
               spread_allows(p, unit_class(p, u), node);
}

// Lower comes first.
typedef struct Rank {
        bool tried, settled; // it had the reservation; nobody left it lately
        uint32_t lack;
} Rank;

static bool is_before(const Rank *a, const Rank *b) {
        if (a->tried != b->tried)
                return b->tried;
        return a->settled != b->settled ? b->settled : a->lack < b->lack;
}

// A lifetime of a unit, in grants: each of them follows somebody's end.
static uint64_t lifetime(const Placement *p) {
        return MAX_OF((uint64_t) PLACEMENT_PASSES_MAX, p->unit_slots.count);
}

static uint32_t choose_host(const Placement *p, uint32_t unit, const PlacementVector *demand, Rank *ret) {
        const Selector *s = &p->selectors[p->shapes[p->units[unit].shape].selector];
        uint32_t best = PLACEMENT_NONE;

        for (uint32_t w = 0; w < p->node_words; w++)
                for (Word bits = s->nodes[w]; bits; bits &= bits - 1) {
                        uint32_t node = w * WORD_BITS + (uint32_t) __builtin_ctzll(bits),
                                 host = p->nodes[node].host;
                        const PlacedHost *h = &p->hosts[host];
                        Rank rank = {.tried = h->tried_for == p->reservation.attempt,
                                     .settled = h->left_at == 0 || p->n_grants - h->left_at > lifetime(p),
                                     .lack = lack(p, h, demand)};

                        if (rank.lack == UINT32_MAX || !may_be_on(p, unit, node) ||
                            (best != PLACEMENT_NONE && !is_before(&rank, ret)))
                                continue;
                        best = host;
                        *ret = rank;
                }
        return best;
}

// Whether the one that has it may have it longer.
static bool keeps(Placement *p, uint32_t unit, const PlacementVector *demand) {
        Reservation *r = &p->reservation;
        const Selector *s = &p->selectors[p->shapes[p->units[unit].shape].selector];
        uint32_t node, missing;

        if (r->unit != unit)
                return false;
        node = p->hosts[r->host].first_node;
        while (node != PLACEMENT_NONE && !(bit_test(s->nodes, node) && may_be_on(p, unit, node)))
                node = p->nodes[node].next_of_host;
        missing = lack(p, &p->hosts[r->host], demand);
        if (node == PLACEMENT_NONE || missing == UINT32_MAX)
                return false;
        if (missing < r->least) {
                r->least = missing;
                r->better_at = p->n_grants;
        }
        return p->n_grants - r->better_at < PATIENCE * lifetime(p);
}

static void give_to(Placement *p, uint32_t unit, const PlacementVector *demand) {
        Reservation *r = &p->reservation;
        Rank rank = {};
        uint32_t host;

        if (r->unit != unit)
                r->attempt++;
        host = choose_host(p, unit, demand, &rank);
        if (host != PLACEMENT_NONE && rank.tried) // all of them were: anew
                r->attempt++;
        if (r->unit != unit || r->host != host)
                reservation_end(p);
        if (host == PLACEMENT_NONE)
                return;
        preview_note_tried(p, host);
        p->hosts[host].tried_for = r->attempt;
        r->unit = unit;
        r->host = host;
        r->least = rank.lack;
        r->better_at = p->n_grants;
}

void reservation_settle(Placement *p) {
        Reservation *r = &p->reservation;
        PlacementVector demand;
        uint32_t unit;

        if (r->unit != PLACEMENT_NONE && !waits(p, r->unit))
                reservation_end(p);
        if (p->n_grants - r->chosen_at <
            MAX_OF((uint64_t) PLACEMENT_PASSES_MAX, p->node_slots.n / NODES_PER_GRANT))
                return;
        r->chosen_at = p->n_grants;
        unit = choose_unit(p);
        if (unit == PLACEMENT_NONE) {
                reservation_end(p);
                return;
        }
        demand = bundle_demand(p, unit);
        if (!keeps(p, unit, &demand))
                give_to(p, unit, &demand);
        r->demand = demand;
}
