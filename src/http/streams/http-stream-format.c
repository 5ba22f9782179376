// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formats of streams: content type, comments that keep a stream alive, and problems in the middle of
// one. http_stream_wants_lines() chooses by Accept -> http_stream_append_problem(),
// http_stream_append_comment(). A problem is an event, a line with a problem document, or in text a line "--
// ..." as journalctl has it; it also ends a stream that did not end by itself. Failure: -ENOMEM.

#include "http-stream-format.h"

#include <errno.h>
#include <string.h>

#include "macro.h"

#define LINES "application/x-ndjson"

bool http_stream_wants_lines(const char *accept) {
        return accept && strstr(accept, LINES);
}

const char *http_stream_type(HttpStreamFormat format) {
        return format == HTTP_STREAM_LINES ? LINES
               : format == HTTP_STREAM_SSE ? "text/event-stream"
                                           : "text/plain; charset=utf-8";
}

int http_stream_append_problem(const HttpProblem *problem, HttpStreamFormat format, Buf *out) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (format == HTTP_STREAM_TEXT)
                return buf_printf(out, "-- %s\n",
                                  problem->detail && *problem->detail ? problem->detail : "it ends here");
        text = http_problem(problem);
        r = text ? 0 : -ENOMEM;
        if (r == 0 && format == HTTP_STREAM_SSE)
                r = buf_printf(out, "event: problem\ndata: ");
        if (r == 0)
                r = buf_append(out, text, strlen(text));
        return r < 0 || format == HTTP_STREAM_LINES ? r : buf_append(out, "\n", 1);
}

int http_stream_append_comment(HttpStreamFormat format, Buf *out) {
        if (format == HTTP_STREAM_TEXT)
                return 0;
        return format == HTTP_STREAM_SSE ? buf_append(out, ":\n\n", 3) : buf_append(out, "\n", 1);
}
