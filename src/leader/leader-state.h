// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the top folder keeps in each Host. tables.h includes this header; only the top folder goes into the
// struct.

#include <stdint.h>

#include "list.h"
#include "map.h"

typedef struct HostRequests {        // requests that come over the host's link
        Map forwards;                // Forward by id: those that are under way (forwards.c)
        size_t forward_bytes;        // memory of these
        unsigned n_forwards_refused; // refusals that the host was told, and has not taken
        ListNode asks; // HostAsk.link: messages that wait until the host takes answers (host-asks.c)
        size_t n_asks, asks_bytes; // how many these are, and their memory
        ListNode asks_due;         // in Leader.asks_due: the host takes more again
        uint64_t asks_reported_us;     // when people were told that the host asks on without taking answers
} HostRequests;

static inline void host_requests_init(HostRequests *r) {
        list_init(&r->asks);
        list_init(&r->asks_due);
}

static inline bool host_requests_are_open(const HostRequests *r) {
        return r->forwards.count > 0;
}

static inline void host_requests_done(HostRequests *r) {
        map_done(&r->forwards);
}
