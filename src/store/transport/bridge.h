// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Between an encrypted Stream and libraft, which insists on a libuv handle of its own: a socket pair.
// libraft gets one end as a uv_pipe_t, the bridge pumps bytes between the other end and the stream, either
// way, and slows down the faster side.
//
//   peer <=TLS=> Stream <-> Bridge <=socket pair=> uv_pipe_t (libraft's, freed by libraft)
//
// Each piece travels in a frame with marks before it (marks.h), which the owner fills in and gets. A frame
// may have marks and nothing else.
//
// Either end's close ends the bridge at once; what was on its way is lost, which Raft is made for.

#include <stdint.h>
#include <uv.h>

#include "frame.h"
#include "list.h"
#include "marks.h"
#include "stream.h"

enum {
        BRIDGE_HIGH_WATER = 1024 * 1024, // bytes waiting for libraft; beyond it the peer is not read
        BRIDGE_LOW_WATER = 256 * 1024,
        // Bytes waiting for the peer; beyond it libraft is not read. They have their marks already, and a
        // leader is sure of itself by the age of marks alone: what waits is to wait before it gets them.
        BRIDGE_UNSENT_MAX = 64 * 1024,
        BRIDGE_READ_SIZE = 16 * 1024, // of one frame: over a slow link the peer hears often that we go on
        BRIDGE_LONG_SIZE = 8 * 1024,  // with less than that a frame is no part of a long message
        BRIDGE_ROOM_SIZE = FRAME_HEADER_SIZE + MARKS_SIZE, // before what is read from libraft
        BRIDGE_FRAME_MAX = MARKS_SIZE + BRIDGE_READ_SIZE,
};

typedef struct Bridge Bridge;

typedef struct BridgeOps {
        // What is to be said before libraft's next bytes, and what the peer said before its.
        void (*fill)(Bridge *b, Marks *ret, void *userdata);
        void (*marks)(Bridge *b, const Marks *marks, void *userdata);
        // Called after the bytes were passed on: `len` bytes have come with these marks.
        void (*piece)(Bridge *b, const Marks *marks, size_t len, void *userdata);
        // From the loop, when the bridge has ended: must free it with free().
        void (*closed)(Bridge *b, void *userdata);
} BridgeOps;

struct Bridge {
        ListNode node;     // for the owner
        uint32_t raft_id;  // for the owner
        bool accepted;     // for the owner
        uint64_t number;   // for the owner
        uint64_t mark_us;  // for the owner: the last that the peer sent, 0: none
        uint64_t received_ms; // loop time when the peer last sent something
        uint64_t sent_ms;     // and when it was last sent something

        Stream *stream; // NULL once it is gone
        uv_pipe_t pipe;
        bool pipe_open, pipe_paused, stream_paused, closing;
        size_t queued; // bytes on their way to libraft that the kernel has not taken
        const BridgeOps *ops;
        void *userdata;
        char buffer[BRIDGE_ROOM_SIZE + BRIDGE_READ_SIZE];
};

// Takes over an open stream. 0: *ret_pipe is for libraft, and `closed` will fire. Negative errno: nothing
// was taken, no callback.
int bridge_new(uv_loop_t *loop, Stream *stream, const BridgeOps *ops, void *userdata, Bridge **ret,
               uv_stream_t **ret_pipe);
// Sends marks alone, unless something waits that has newer ones, or some were sent less than so many
// milliseconds ago.
void bridge_say_marks(Bridge *b, uint64_t pace_ms);
void bridge_close(Bridge *b);
