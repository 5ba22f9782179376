// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Events as they are streamed: as Server-Sent Events, which browsers read by themselves, or as JSON, one on
// a line. Pure.
//
//      id: CURSOR                              {"kind":"unit",...}
//      event: unit
//      data: {"kind":"unit",...}
//

#include "buf.h"
#include "event-cursor.h"
#include "http-body.h"
#include "http-stream-format.h"

typedef struct EventsMemo EventsMemo;

// As the header Accept wants it; NULL: it has no wishes.
HttpStreamFormat http_events_format(const char *accept);
// What one answer has; the cursor behind it is copied to `cursor`. memo: what others were told; NULL: none.
// 0, -EBADMSG: it is none, or -ENOMEM.
int http_events_append(const HttpPart *part, HttpStreamFormat format, EventsMemo *memo, Buf *out,
                       char cursor[EVENT_CURSOR_SIZE]);
