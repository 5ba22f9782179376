// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Frames: 4 bytes big-endian length of what follows, then one protobuf message. The kind of connection fixes
// the message type in each direction:
//
//   connection                     ALPN               dialler sends   listener sends
//   mesh, host to voter            argosy/1           ToVoter         ToHost
//   join, stranger to member       argosy-join/1      JoinRequest     JoinReply
//   raft                           argosy-raft/1      libraft's own bytes, no frames
//   raft                           argosy-raft/2      frames of marks and libraft's bytes
//                                                     (src/store/rules/marks.h)
//   local socket                   -                  Request         Response
//
// Pure; fuzzed by tests/fuzz/fuzz-frame.c.

#include <protobuf-c/protobuf-c.h>

#include "buf.h"

enum {
        FRAME_HEADER_SIZE = 4,
        FRAME_MAX = 32 * 1024 * 1024, // between members; what may be longer is sent in parts
        FRAME_MAX_LOCAL = 32 * 1024 * 1024,
        FRAME_MAX_JOIN = 16 * 1024,
};

// Appends one frame. -ENOMEM, -EMSGSIZE beyond `max`.
int frame_append(Buf *out, const ProtobufCMessage *message, size_t max);

// The same into an empty buffer that has room for it and no more, for what is long.
int frame_pack(const ProtobufCMessage *message, size_t max, Buf *ret);

// Looks at the front of `data`. Returns 1 and the payload's place when a whole frame is there (the frame is
// FRAME_HEADER_SIZE + *ret_len bytes long), 0 when more bytes are needed, -EMSGSIZE when the announced
// length is over `max`.
int frame_peek(const void *data, size_t len, size_t max, const uint8_t **ret_payload, size_t *ret_len);

// A message from a peer's bytes, to be freed with protobuf_c_message_free_unpacked(); NULL: it is none (or
// out of memory). Stricter than the generated functions: they keep unknown fields with the invalid number 0,
// and what they then pack again can no longer be read. A request that is forwarded must not break the next
// one's link.
ProtobufCMessage *frame_unpack(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len);

// How many bytes of memory unpacking such a message takes at most, what it needs for a while included.
// SIZE_MAX: more than `most`, or it is no message; it costs no more time than `most` allows.
size_t frame_cost(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len, size_t most);
