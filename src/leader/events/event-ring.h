// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The newest events, packed, in the order of their sequences and without a gap: the oldest go when there are
// too many bytes of them. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "macro.h"

typedef struct EventEntry {
        uint64_t index; // of the cursor behind it; the caller's
        Argosy__EventKind kind;
        uint32_t len;               // of the packed Event
        uint16_t role, role_before; // of what is about units: EventObject.role
        bool of_roles;              // nothing else has changed; the caller's
        const char *name;           // what patterns are compared with
        uint8_t bytes[];            // the event, then the name
} EventEntry;

typedef struct EventRing { // zero-initialised but for bytes_max: empty, and the first event is number 0
        EventEntry **slots;
        size_t n_slots; // a power of two, or 0
        uint64_t first; // sequence of the oldest event, or of the first that will come
        size_t n;
        size_t bytes, bytes_max;
} EventRing;

void event_ring_done(EventRing *r);
// Empty, and the next event gets this sequence.
void event_ring_clear(EventRing *r, uint64_t next);
// The next event: room for `len` bytes, which the caller fills before anything else is done. What is more
// than bytes_max goes at the old end. NULL: out of memory, and nothing has changed.
EventEntry *event_ring_add(EventRing *r, Argosy__EventKind kind, const char *name, size_t len) _warn_unused_;
// The sequence behind which it has every event that has come.
uint64_t event_ring_complete_from(const EventRing *r);
// NULL: it has gone, or has not come yet.
const EventEntry *event_ring_find(const EventRing *r, uint64_t seq);
