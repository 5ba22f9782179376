// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A place in the stream of events, as users keep it: letters and digits that mean nothing to them. Pure.
//
//      byte     version, 2
//      4 bytes  the first ones of the cluster's id
//      numbers  generation, term, mode, sequence, forgotten, index, scope: 7 bits a byte, the lowest first,
//               the last byte below 128
//      4 bytes  CRC-32C of all before, big-endian
//
// written as lower-case hex. A sequence means something in its term only, an index of the log and a term in
// its generation.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EVENT_CURSOR_SIZE = 160, EVENT_CURSOR_CLUSTER = 4 }; // with its NUL; bytes of the cluster's id

typedef enum EventCursorMode {
        EVENT_CURSOR_RING,   // the client has received every event up to the sequence
        EVENT_CURSOR_STATE,  // of the whole state, those objects that changed last up to the sequence
        EVENT_CURSOR_MISSED, // the same for what has changed since the client received everything
} EventCursorMode;

typedef struct EventCursor {
        uint8_t cluster[EVENT_CURSOR_CLUSTER];
        uint64_t generation, term;
        EventCursorMode mode;
        uint64_t seq;
        // of those who are not in the ring: EventStream.complete_from_seq as it was when they began
        uint64_t forgotten;
        // of the log: the client has received what entries up to it say, of the log's own kinds;
        uint64_t index;
                            // 0: it may not have
        uint64_t scope;     // hash of what the client may see (authorization.h); 0: everything
} EventCursor;

void event_cursor_format(const EventCursor *c, char ret[EVENT_CURSOR_SIZE]);
// False (and *ret untouched): that is no cursor.
bool event_cursor_parse(const char *text, EventCursor *ret);
