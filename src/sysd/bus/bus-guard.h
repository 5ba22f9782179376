// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What stands between sd-bus and a manager that is not trusted. sd-bus takes messages of up to 128 MB and
// lets no one see how long one is before it has read it; the guard reads the socket itself, looks at the 16
// bytes with which each message begins, and passes on to sd-bus what is within the limit. Descriptors that
// come with messages are dropped by the kernel.
//
//      manager's socket --bus_guard_pull()--> socketpair --> sd-bus       (what sd-bus says goes directly)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "macro.h"

enum {
        BUS_GUARD_PULL_BYTES = 64 * 1024, // at a time
        BUS_GUARD_LINE_MAX = 1024,        // bytes of a line, while it is agreed who talks to whom
};

// ---- the format; pure

typedef struct BusFraming { // zero-initialised: at the beginning of a connection
        uint8_t head[16];
        size_t n_head; // of them known
        size_t n_line; // bytes of the line under way
        uint64_t left; // of the message under way
} BusFraming;

// The next bytes. 0, -EMSGSIZE: a message longer than `max` bytes, or a line longer than BUS_GUARD_LINE_MAX;
// -EBADMSG: neither the one nor the other.
int bus_framing_feed(BusFraming *f, const uint8_t *data, size_t len, uint64_t max);

// ---- the guard

typedef struct BusGuard BusGuard;

// *ret_input is for sd-bus, and owned by the caller. `fd` is borrowed and outlives the guard.
int bus_guard_new(int fd, uint64_t max, BusGuard **ret, int *ret_input);
BusGuard *bus_guard_free(BusGuard *g);
// To be called when sd-bus has read everything. Bytes that were passed on, 0: there are none at present.
// -ECONNRESET: the end; errors of bus_framing_feed(), -ENOMEM, or of recv(2).
ssize_t bus_guard_pull(BusGuard *g);
