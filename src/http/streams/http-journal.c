// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lines of a unit's journal as a stream: plain text, or JSON by lines (http-journal.h).
// http_journal_append(): a packed response -> its lines, or its failure as a problem in the stream. A line
// has no line break in it; JSON makes it valid UTF-8, plain text leaves it as it is. Failures: -EBADMSG,
// -ENOMEM.

#include "http-journal.h"

#include <errno.h>

#include "json.h"
#include "macro.h"
#include "message.h"

HttpStreamFormat http_journal_format(const char *accept) {
        return http_stream_wants_lines(accept) ? HTTP_STREAM_LINES : HTTP_STREAM_TEXT;
}

static int append_text(const Argosy__Response__Journal *j, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < j->n_lines && r == 0; i++) {
                r = buf_append(out, j->lines[i], strlen(j->lines[i]));
                if (r == 0)
                        r = buf_append(out, "\n", 1);
        }
        return r;
}

static int append_row(const char *line, const char *node, const char *unit, Buf *out) {
        Json j = {.text = *out};

        json_begin(&j, '{');
        json_strings(&j, (const char *const[][2]){{"unit", unit}}, 1);
        if (*node)
                json_strings(&j, (const char *const[][2]){{"node", node}}, 1);
        json_strings(&j, (const char *const[][2]){{"line", line}}, 1);
        json_end(&j, '}');
        json_finish(&j);
        *out = j.text;
        return j.failed ? -ENOMEM : 0;
}

static int append_json(const Argosy__Response__Journal *j, const char *unit, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < j->n_lines && r == 0; i++)
                r = append_row(j->lines[i], j->node, unit, out);
        return r;
}

static int append(const Argosy__Response *r, const char *unit, HttpStreamFormat format, Buf *out) {
        const HttpProblem problem = {http_status_of(r->status), r->message, unit, NULL, 0};

        if (r->status != 0)
                return http_stream_append_problem(&problem, format, out);
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOURNAL)
                return -EBADMSG;
        return format == HTTP_STREAM_TEXT ? append_text(r->journal, out)
                                          : append_json(r->journal, unit, out);
}

int http_journal_append(const HttpPart *part, const char *unit, HttpStreamFormat format, Buf *out) {
        Argosy__Response *response;
        int r = message_unpack(&argosy__response__descriptor, part->data, part->len, (void **) &response);

        if (r < 0)
                return r;
        r = append(response, unit, format, out);
        message_free(response);
        return r;
}
