// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosyd and its helpers (manager-helper.h) say to each other: frames of a 4-byte big-endian length
// and one message, and how much may be said. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"

enum {
        HELPER_HEADER = 4,                  // bytes
        HELPER_FRAME_MAX = 2 * 1024 * 1024, // bytes of a request
        HELPER_REPLY_MAX = 256 * 1024,      // and of a reply, which a stranger may have made
        HELPER_REPLY_PARTS = 17 * 1024,     // of which there are no more in it: fields, those of its
                                            // results, and loads
        HELPER_BATCH_BYTES = 1024 * 1024,   // of unit files in one request, and one file more
        HELPER_UNITS_PER_REQUEST = 512,
        HELPER_NAMES_PER_REQUEST = 4096, // to look for, up to 260 bytes each
        HELPER_VERIFY_FILES = 32,        // contents in one request, about each of which much may be said
        HELPER_ANSWER_MS = 10000,        // from starting it, and from each request
        HELPER_IDLE_MS = 2000,           // without a request it is ended
};

typedef enum HelperMode {
        HELPER_CONNECT,
        HELPER_WRITE,
        HELPER_SEARCH,
        HELPER_JOURNAL,
        HELPER_VERIFY
} HelperMode; // manager-helper.h

// Appends one frame. -EMSGSIZE, -ENOMEM: nothing was appended.
int helper_frame_pack(const ProtobufCMessage *message, Buf *out);
// 1: the first frame is complete, its content is *ret_payload, and behind *ret_total bytes comes the next;
// 0: more bytes are needed; -EBADMSG: too large.
int helper_frame_cut(const uint8_t *data, size_t len, size_t max, const uint8_t **ret_payload,
                     size_t *ret_payload_len, size_t *ret_total);
// A reply of no more than HELPER_REPLY_PARTS, since each takes memory also if it is empty, whose errors are
// errors, and whose load states are what can be seen in a directory. NULL: it is none, or out of memory.
Argosy__HelperReply *helper_reply_parse(const uint8_t *data, size_t len);

// The word on the command line.
const char *helper_mode_to_string(HelperMode mode);
bool helper_mode_from_string(const char *word, HelperMode *ret);
