// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The newest events, packed, in a ring of pointers, found by their sequence numbers.
//
//      event_ring_add(): room for the caller's bytes -> event_ring_find(seq) by watchers
//          -> the oldest go beyond bytes_max
//
// An event counts with what the heap needs besides. The last one added is never dropped, however long.
// Failure: NULL without memory, and nothing was added.

#include "event-ring.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 256, ENTRY_OVERHEAD = 16 + sizeof(void *) };

static EventEntry **slot_of(const EventRing *r, uint64_t seq) {
        return &r->slots[seq & (r->n_slots - 1)];
}

static size_t cost_of(const EventEntry *e) {
        return sizeof(*e) + e->len + strlen(e->name) + 1 + ENTRY_OVERHEAD;
}

static void drop_oldest(EventRing *r) {
        EventEntry *e = *slot_of(r, r->first);

        r->bytes -= cost_of(e);
        free(e);
        r->first++;
        r->n--;
}

void event_ring_clear(EventRing *r, uint64_t next) {
        while (r->n > 0)
                drop_oldest(r);
        free(r->slots);
        r->slots = NULL;
        r->n_slots = 0;
        r->first = next;
}

void event_ring_done(EventRing *r) {
        event_ring_clear(r, 0);
}

static int grow(EventRing *r) {
        size_t n_slots = r->n_slots ? 2 * r->n_slots : SLOTS_MIN;
        EventEntry **slots = malloc(n_slots * sizeof(*slots));

        if (!slots)
                return -1;
        for (uint64_t seq = r->first; seq < r->first + r->n; seq++)
                slots[seq & (n_slots - 1)] = *slot_of(r, seq);
        free(r->slots);
        r->slots = slots;
        r->n_slots = n_slots;
        return 0;
}

EventEntry *event_ring_add(EventRing *r, Argosy__EventKind kind, const char *name, size_t len) {
        size_t size = strlen(name) + 1;
        EventEntry *e;

        if (r->n == r->n_slots && grow(r) < 0)
                return NULL;
        e = malloc(sizeof(*e) + len + size);
        if (!e)
                return NULL;
        memcpy(e->bytes + len, name, size);
        e->kind = kind;
        e->len = (uint32_t) len;
        e->name = (const char *) e->bytes + len;
        *slot_of(r, r->first + r->n) = e;
        r->n++;
        r->bytes += cost_of(e);
        while (r->bytes > r->bytes_max && r->n > 1)
                drop_oldest(r);
        return e;
}

uint64_t event_ring_complete_from(const EventRing *r) {
        return r->first > 0 ? r->first - 1 : 0;
}

const EventEntry *event_ring_find(const EventRing *r, uint64_t seq) {
        return seq >= r->first && seq - r->first < r->n ? *slot_of(r, seq) : NULL;
}
