// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers that go on, as the thread sends them:
//
//      on_read() -> text that is there -> ... -> none is left: the connection is suspended, and the loop asked for more
//                -> the loop answered: the next text, or that it is over
//
// What has gone wrong behind the beginning is said in the stream, and then it ends as it should. Only without memory its
// connection breaks.

#include <errno.h>

#include "http-journal.h"
#include "http-private.h"
#include "macro.h"

// That are sent at a time to a client of HTTP/1.0; to others it is what is left of HTTP_HEADER_MAX. A stream has them for as long as it
// is there.
enum { BLOCK_BYTES = 1024 };

// Lines as they are have none: that somebody has gone who is told nothing for long is seen otherwise.
static int write_comment(HttpCall *call) {
        if (call->format == HTTP_STREAM_TEXT)
                return http_peer_is_gone(call->peer) ? -EPIPE : 0;
        return http_stream_append_comment(call->format, &call->out);
}

// Of those that are behind the same cursor only the first one's text is written.
static int write_events(HttpCall *call, const HttpPart *part) {
        AnswersMemo *answers = http_thread_answers(call->thread);
        int r;

        call->shared = answers ? answers_memo_find(answers, part, call->format, call->cursor) : NULL;
        if (call->shared)
                return 0;
        r = http_events_append(part, call->format, http_thread_memo(call->thread), &call->out, call->cursor);
        if (r < 0 || !answers || call->out.len == 0)
                return r;
        call->shared = text_chunk_new(call->out.len, NULL);
        if (!call->shared)
                return 0; // it has its own
        memcpy(call->shared->text, call->out.data, call->out.len);
        answers_memo_keep(answers, part, call->format, call->cursor, call->shared);
        return 0;
}

static int write_part(HttpCall *call, const HttpPart *part) {
        if (call->target.resource == HTTP_JOURNAL)
                return http_journal_append(part, call->target.name, call->format, &call->out);
        return write_events(call, part);
}

static void drop_parts(HttpCall *call) {
        http_parts_free(TAKE_PTR(call->parts), call->n_parts);
        call->n_parts = call->part = 0;
        http_api_release(call, call->n_bytes);
        call->n_bytes = 0;
}

// What is to be read next, to call->out. 0: that is all at present; -ENODATA: for good; or another error.
static int write_more(HttpCall *call) {
        HttpProblem problem = {http_status_of(call->status), call->message, NULL, NULL, 0};
        int r = 0;

        call->shared = text_chunk_unref(call->shared);
        call->out.len = call->out_at = 0;
        if (call->part < call->n_parts)
                r = write_part(call, &call->parts[call->part++]);
        else if (call->status != 0 && !call->over) {
                http_thread_note_refusal(call);
                r = http_stream_append_problem(&problem, call->format, &call->out);
                call->over = true;
        } else if (call->over)
                r = -ENODATA;
        else if (call->comment)
                r = write_comment(call);
        call->comment = false;
        return r;
}

// All that there was has been read: the loop asks for more. It may be there before this returns.
static void ask_for_more(HttpCall *call) {
        call->shared = text_chunk_unref(call->shared);
        buf_done(&call->out);
        call->out_at = 0;
        drop_parts(call);
        MHD_suspend_connection(call->connection);
        if (http_api_post(call))
                return;
        call->status = ESHUTDOWN;
        call->message = strdup("argosyd is ending");
        MHD_resume_connection(call->connection);
}

static size_t text_of(const HttpCall *call, const void **ret) {
        *ret = call->shared ? (const void *) call->shared->text : call->out.data;
        return call->shared ? call->shared->len : call->out.len;
}

static ssize_t on_read(void *userdata, uint64_t pos, char *buf, size_t max) {
        HttpCall *call = userdata;
        const void *text;
        size_t n, len = text_of(call, &text);

        if (call->out_at == len) {
                int r = write_more(call);

                if (r < 0)
                        return r == -ENODATA ? MHD_CONTENT_READER_END_OF_STREAM
                                             : MHD_CONTENT_READER_END_WITH_ERROR;
                len = text_of(call, &text);
                if (len == 0) {
                        ask_for_more(call);
                        return 0;
                }
        }
        n = MIN_OF(max, len - call->out_at);
        memcpy(buf, (const char *) text + call->out_at, n);
        call->out_at += n;
        return (ssize_t) n;
}

void http_thread_choose_stream(HttpCall *call, const char *accept) {
        call->format = call->target.resource == HTTP_JOURNAL ? http_journal_format(accept)
                                                             : http_events_format(accept);
}

struct MHD_Response *http_thread_begin_stream(HttpCall *call) {
        call->streams = true;
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, call, NULL);
}
