// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What comes from a manager, taken apart before sd-bus: signals, of which there are many, are given out as
// they are; everything else is passed on to sd-bus, which reads it from a socketpair. The order in which the
// manager sent them stays, if sd-bus reads what was passed on before the next is asked for.
//
//      manager's socket --bus_input_next()--> a signal
//                                         --> socketpair --> sd-bus      (what sd-bus says goes directly)
//
// So a limit holds for the length of messages, too: sd-bus takes up to 128 MB and lets no one see how long
// one is before it has read it. Descriptors that come with messages are dropped by the kernel.

#include "bus-signal.h"

enum {
        BUS_INPUT_READ_BYTES = 64 * 1024, // at a time
        BUS_INPUT_SIGNAL_MAX = 512 * 1024, // of a signal of a manager whose messages have a limit: to look
                                           // at it takes a millisecond
        BUS_INPUT_LINE_MAX = 1024,        // bytes of a line, while it is agreed who talks to whom
};

typedef struct BusInput BusInput;

typedef enum BusInputNext {
        BUS_INPUT_NOTHING, // at present
        BUS_INPUT_SIGNAL,
        BUS_INPUT_PASSED, // sd-bus has something to read
} BusInputNext;

// *ret_sd_bus is for sd-bus to read from, and owned by the caller. `fd` is borrowed and outlives the input.
// `max`: bytes of a message, at most BUS_BYTES_MAX.
int bus_input_new(int fd, uint64_t max, BusInput **ret, int *ret_sd_bus);
BusInput *bus_input_free(BusInput *i);
// The next that came, by BusInputNext; a signal is borrowed until the next call. -ECONNRESET: the end.
// -EMSGSIZE: a message longer than `max`, or a line longer than BUS_INPUT_LINE_MAX; -EBADMSG: what is no
// D-Bus; -ENOMEM; or of recv(2) and send(2).
int bus_input_next(BusInput *i, BusSignal *ret);
// How often the socket was read.
uint64_t bus_input_reads(const BusInput *i);
// The manager numbers what it sends, also what it then drops because too much waits to be read: a number
// that is missing is a message that was lost. Whether there were any since the last call.
bool bus_input_take_loss(BusInput *i);
// Gives memory back that an idle connection does not need: to the next one that is read, or to the heap.
void bus_input_trim(BusInput *i);
