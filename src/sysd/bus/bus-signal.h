// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A signal of D-Bus, read in place. One start of a unit comes back as thirteen signals with 12 kB of
// properties, of which a dozen values count: sd-bus takes 26,000 instructions to walk through the longer
// ones, this a tenth. Only signals, and only reading: calls, replies and the agreement about who talks to
// whom are sd-bus's.
//
// Format: D-Bus Specification, "Message Protocol" and "Marshaling". Every byte may be a stranger's: nothing
// is read beyond the message, and what does not follow the format is -EBADMSG. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macro.h"

enum {
        BUS_HEAD_BYTES = 16,               // what every message begins with
        BUS_DEPTH_MAX = 64,                // containers in each other; the specification has the same number
        BUS_TYPE_SIGNAL = 4,               // of BusHead.type
        BUS_BYTES_MAX = 128 * 1024 * 1024, // of a message, as the specification has it
};

// The first BUS_HEAD_BYTES of a message.
typedef struct BusHead {
        bool little; // byte order of all numbers
        uint8_t type;
        uint32_t serial;   // the sender counts its messages
        uint32_t n_fields; // bytes of the header's fields, without the padding behind them
        uint64_t total;    // bytes of the message altogether; at most about 2^33
} BusHead;

// -EBADMSG: no message begins so.
int bus_head_read(const uint8_t head[BUS_HEAD_BYTES], BusHead *ret);

// Values one after the other. After the first one that is wrong `error` is set, and all that follow are
// empty: so it is enough to look once, before what was read is used.
typedef struct BusReader {
        // borrowed; begins where a message or a body does, so that alignment counts from here
        const uint8_t *data;
        size_t len, at;
        bool little;
        int error; // 0 or -EBADMSG
} BusReader;

uint32_t bus_read_u32(BusReader *r);
uint64_t bus_read_u64(BusReader *r);
// A string or an object path, borrowed and NUL-terminated; "" after an error. UTF-8 is not looked at.
const char *bus_read_string(BusReader *r);
// The name with which the next entry of a dictionary begins: *ret_len bytes, for comparing. Unlike a
// string's they are not looked through for a NUL, since most entries are passed over. Empty after an error.
const char *bus_read_key(BusReader *r, size_t *ret_len);
// The signature in front of a variant's value, likewise.
const char *bus_read_signature(BusReader *r);
// Where an array's elements end; they begin at r->at. `type`: the first character of an element's.
size_t bus_read_array(BusReader *r, char type);
// Where the next entry of a dictionary or the next struct begins.
void bus_read_align(BusReader *r, size_t alignment);
// Moves past one value of the first type of `signature`. Arrays are not walked through.
void bus_skip(BusReader *r, const char *signature);
// A variant, whatever is in it.
void bus_skip_variant(BusReader *r);

typedef struct BusSignal {
        const char *path, *interface, *member; // never NULL
        const char *signature;                 // of the body; "": there is none
        BusReader body;
} BusSignal;

// A whole message, of head->total bytes. Everything in *ret points into it.
int bus_signal_read(const BusHead *head, const uint8_t *message, BusSignal *ret);
