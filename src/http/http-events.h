// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Events as they are streamed: as Server-Sent Events, which browsers read by themselves, or as JSON, one on a line. Pure.
//
//      id: CURSOR                              {"kind":"unit",...}
//      event: unit
//      data: {"kind":"unit",...}
//

#include "buf.h"
#include "event-cursor.h"
#include "http-body.h"
#include "http-problem.h"

typedef struct EventsMemo EventsMemo;

typedef enum HttpEventsFormat { HTTP_EVENTS_SSE, HTTP_EVENTS_LINES } HttpEventsFormat;

// As the header Accept wants it; NULL: it has no wishes.
HttpEventsFormat http_events_format(const char *accept);
const char *http_events_type(HttpEventsFormat format); // Content-Type
// What one answer has; the cursor behind it is copied to `cursor`. memo: what others were told; NULL: none. 0, -EBADMSG: it is
// none, or -ENOMEM.
int http_events_append(const HttpPart *part, HttpEventsFormat format, EventsMemo *memo, Buf *out,
                       char cursor[EVENT_CURSOR_SIZE]);
// The end of a stream, and why. 0 or -ENOMEM.
int http_events_append_problem(const HttpProblem *problem, HttpEventsFormat format, Buf *out);
// What means nothing to whoever reads it. 0 or -ENOMEM.
int http_events_append_comment(HttpEventsFormat format, Buf *out);
