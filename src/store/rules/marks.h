// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What stands before libraft's bytes on a connection with ALPN_RAFT. The stream is cut into frames
// (include/frame.h has their length); each begins with
//
//    0  u64  mark: the sender's boot-time clock in us when the frame was made
//    8  u64  term          of the newest message of a leader that the receiver of this frame sent and
//   16  u64  seen mark     the sender of this frame took: the mark that it held then. 0: none
//   24  u32  promise in ms: from then on it follows no other so long
//   28  libraft's bytes, at least one
//
// All big-endian. With these a leader knows how old an answer is (authority.h). They cost neither a packet
// nor a system call, since they travel with what libraft says anyway.
//
// Pure; fuzzed by tests/fuzz/fuzz-marks.c.

#include <stddef.h>
#include <stdint.h>

enum { MARKS_SIZE = 28 };

typedef struct Marks {
        uint64_t mark_us;
        uint64_t term, seen_us;
        uint32_t promise_ms;
} Marks;

void marks_encode(const Marks *m, uint8_t ret[MARKS_SIZE]);
// *ret_data points into `payload`. -EBADMSG: not such a frame.
int marks_decode(const uint8_t *payload, size_t len, Marks *ret, const uint8_t **ret_data, size_t *ret_len);
