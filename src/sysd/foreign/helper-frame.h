// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Frames between argosyd and its helpers. Pure.

#include "argosy.pb-c.h"
#include "buf.h"
#include "manager-helper.h"

enum { HELPER_HEADER = 4 };

// Appends one frame. -EMSGSIZE, -ENOMEM: nothing was appended.
int helper_frame_pack(const ProtobufCMessage *message, Buf *out);
// 1: the first frame is complete, its content is *ret_payload, and behind *ret_total bytes comes the next;
// 0: more bytes are needed; -EBADMSG: too large.
int helper_frame_cut(const uint8_t *data, size_t len, size_t max, const uint8_t **ret_payload,
                     size_t *ret_payload_len, size_t *ret_total);
// A reply whose errors are errors, and whose load states are what can be seen in a directory. NULL: it is none, or out of memory.
Argosy__HelperReply *helper_reply_parse(const uint8_t *data, size_t len);

// The word on the command line.
const char *helper_mode_to_string(HelperMode mode);
bool helper_mode_from_string(const char *word, HelperMode *ret);
