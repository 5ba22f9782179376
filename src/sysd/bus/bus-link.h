// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One connection to a systemd under the loop: sd-bus for calls and their replies, signals by themselves
// (bus-input.h), all in the order in which they were sent. It lives from a connected socket to the first
// error and is then replaced by a new one. Messages are taken in bursts of SYSTEMD_READ_BUDGET per turn of
// the loop.

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <uv.h>

#include "bus-signal.h"
#include "macro.h"
#include "systemd-manager.h"

typedef struct BusLink BusLink;

typedef struct BusLinkOps {
        // Every signal, borrowed: must not close the link. Negative errno breaks the link with it.
        int (*signal)(BusSignal *signal, void *userdata);
        // After each burst. May close the link.
        void (*turn)(void *userdata);
        // The connection is lost; last callback, the owner closes the link (now or later).
        void (*broken)(int error, void *userdata);
        // The handles are closed, the memory goes after this returns.
        void (*closed)(void *userdata);
} BusLinkOps;

// Owns `fd` after success and after failure. Calls may be queued at once, they go out when the peer has
// accepted us.
// `message_max` 0: the peer is trusted; else a message of more bytes breaks the link with -EMSGSIZE before
// it is read.
int bus_link_new(uv_loop_t *loop, int fd, uint64_t message_max, const BusLinkOps *ops, void *userdata,
                 BusLink **ret);
// Drops the connection with all calls under way: their handlers are not called. Never from inside `signal`
// or a reply handler.
void bus_link_close(BusLink *l);
// How many messages a turn takes depends on how many others have more, too.
void bus_link_set_share(BusLink *l, SystemdShare *share);
sd_bus *bus_link_bus(BusLink *l);
int bus_link_fd(const BusLink *l); // the peer's socket, borrowed
// A reply handler found nonsense: the link breaks at the end of the burst.
void bus_link_fail(BusLink *l, int error);
// Whether messages were lost since the last call (bus_input_take_loss()).
bool bus_link_take_loss(BusLink *l);
// While paused nothing is read, from the message after the present one on.
void bus_link_pause(BusLink *l, bool pause);
// While allowed, messages that trickle in are read together, BUS_REST_US later (bus-pace.h). Not at first.
void bus_link_allow_rest(BusLink *l, bool allow);
// Boot time at which everything that had arrived until then was processed.
uint64_t bus_link_drained_us(const BusLink *l);
// Processes what has arrived in the next turn, also if nothing has: then that is known to be so.
void bus_link_receive(BusLink *l);
// The same at once, as far as a turn goes; never from inside `signal`, `turn` or a reply handler. Whether
// that was all. The link may be closed afterwards.
bool bus_link_catch_up(BusLink *l);
