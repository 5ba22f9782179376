// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What all streams have in common, whatever they tell of: their formats, how they end, and what is said when
// there is nothing to say. Pure.

#include "buf.h"
#include "http-problem.h"

typedef enum HttpStreamFormat {
        HTTP_STREAM_SSE,   // Server-Sent Events, which browsers read by themselves
        HTTP_STREAM_LINES, // JSON, an object on each line
        HTTP_STREAM_TEXT,  // for people
} HttpStreamFormat;

// Whether the header Accept (NULL: there is none) wants lines of JSON.
bool http_stream_wants_lines(const char *accept);
const char *http_stream_type(HttpStreamFormat format); // Content-Type
// That something went wrong, and why. 0 or -ENOMEM.
int http_stream_append_problem(const HttpProblem *problem, HttpStreamFormat format, Buf *out);
// Appends what a reader ignores, to keep a stream alive; in text that is nothing at all. 0 or -ENOMEM.
int http_stream_append_comment(HttpStreamFormat format, Buf *out);
