// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a build can read what stands in the log. Every voter applies the same entries, so a voter that
// skipped what it does not know would have another state from then on, unnoticed: a message that contains
// anything unknown is refused as a whole, and with it the log.
//
// Known is what argosy.proto has, and what it has from a later level only from that level on: the table in
// log-format.c names all of it, and is the only place that does.

#include <stddef.h>
#include <stdint.h>
#include <protobuf-c/protobuf-c.h>

enum { LOG_FORMAT_WHAT_MAX = 128 };

// A message of the log (LogBatch, StateImage, or a part of one) as it was decoded, with all that is in it.
// 0, or -EPROTONOSUPPORT: it has a field or a value that nobody below this level, or nobody at all here,
// knows. `ret_what` (may be NULL) names it then, e.g. "field 200 of UnitRecord". Costs a look at each field
// of each message: a quarter of what decoding took (0.2 us for an operation).
int log_format_check(const ProtobufCMessage *message, uint32_t level, char ret_what[LOG_FORMAT_WHAT_MAX])
        __attribute__((warn_unused_result));
