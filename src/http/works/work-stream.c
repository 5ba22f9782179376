// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers that go on, as the thread sends them:
//
//      on_read() -> text that is there -> ... -> none is left: the connection is suspended, and the loop
// asked for more
//                -> the loop answered: the next text, or that it is over
//
// What has gone wrong behind the beginning is said in the stream, and then it ends as it should. Only
// without memory its connection breaks.

#include "work-stream.h"

#include <errno.h>

#include "http-events.h"
#include "http-journal.h"
#include "macro.h"
#include "work-send.h"

// That are sent at a time to a client of HTTP/1.0; to others it is what is left of HTTP_HEADER_MAX. A stream
// has them for as long as it is there.
enum { BLOCK_BYTES = 1024 };

// Lines as they are have none: that somebody has gone who is told nothing for long is seen otherwise.
static int write_comment(HttpCall *call) {
        if (call->stream.format == HTTP_STREAM_TEXT)
                return http_peer_is_gone(call->peer) ? -EPIPE : 0;
        return http_stream_append_comment(call->stream.format, &call->stream.out);
}

// What streams of its thread were told of. NULL: out of memory, and there is more to do.
static EventsMemo *events_of(HttpMemos *m) {
        if (!m->events)
                m->events = events_memo_new();
        return m->events;
}

static AnswersMemo *answers_of(HttpMemos *m) {
        if (!m->answers)
                m->answers = answers_memo_new();
        return m->answers;
}

// Writes events. Of streams with the same cursor only the first one formats the text.
static int write_events(HttpCall *call, const HttpPart *part) {
        AnswersMemo *answers = answers_of(call->memos);
        int r;

        call->stream.shared =
                answers ? answers_memo_find(answers, part, call->stream.format, call->stream.cursor) : NULL;
        if (call->stream.shared)
                return 0;
        r = http_events_append(part, call->stream.format, events_of(call->memos), &call->stream.out,
                               call->stream.cursor);
        if (r < 0 || !answers || call->stream.out.len == 0)
                return r;
        call->stream.shared = text_chunk_new(call->stream.out.len, NULL);
        if (!call->stream.shared)
                return 0; // it has its own
        memcpy(call->stream.shared->text, call->stream.out.data, call->stream.out.len);
        answers_memo_keep(answers, part, call->stream.format, call->stream.cursor, call->stream.shared);
        return 0;
}

static int write_part(HttpCall *call, const HttpPart *part) {
        if (call->target.resource == HTTP_JOURNAL)
                return http_journal_append(part, call->target.name, call->stream.format, &call->stream.out);
        return write_events(call, part);
}

// What is to be read next, to call->stream.out. 0: that is all at present; -ENODATA: for good; or another
// error.
static int write_more(HttpCall *call) {
        HttpProblem problem = {http_status_of(call->status), call->message, NULL, NULL, 0};
        int r = 0;

        call->stream.shared = text_chunk_unref(call->stream.shared);
        call->stream.out.len = call->stream.out_at = 0;
        if (call->stream.part < call->n_parts)
                r = write_part(call, &call->parts[call->stream.part++]);
        else if (call->status != 0 && !call->stream.over) {
                http_call_note_refusal(call);
                r = http_stream_append_problem(&problem, call->stream.format, &call->stream.out);
                call->stream.over = true;
        } else if (call->stream.over)
                r = -ENODATA;
        else if (call->stream.comment)
                r = write_comment(call);
        call->stream.comment = false;
        return r;
}

// All that there was has been read: the loop asks for more. It may be there before this returns.
static void ask_for_more(HttpCall *call) {
        call->stream.shared = text_chunk_unref(call->stream.shared);
        buf_done(&call->stream.out);
        call->stream.out_at = 0;
        http_call_drop_parts(call);
        call->stream.part = 0;
        MHD_suspend_connection(call->connection);
        if (http_api_post(call))
                return;
        http_call_set_status(call, ESHUTDOWN);
        http_call_set_message(call, strdup("argosyd is ending"));
        MHD_resume_connection(call->connection);
}

static size_t text_of(const HttpCall *call, const void **ret) {
        *ret = call->stream.shared ? (const void *) call->stream.shared->text : call->stream.out.data;
        return call->stream.shared ? call->stream.shared->len : call->stream.out.len;
}

static ssize_t on_read(void *userdata, uint64_t pos, char *buf, size_t max) {
        HttpCall *call = userdata;
        const void *text;
        size_t n, len = text_of(call, &text);

        if (call->stream.out_at == len) {
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
        n = MIN_OF(max, len - call->stream.out_at);
        memcpy(buf, (const char *) text + call->stream.out_at, n);
        call->stream.out_at += n;
        return (ssize_t) n;
}

void http_stream_choose(HttpCall *call, const char *accept) {
        call->stream.format = call->target.resource == HTTP_JOURNAL ? http_journal_format(accept)
                                                                    : http_events_format(accept);
}

enum MHD_Result http_stream_send(HttpCall *call) {
        if (call->status != 0)
                return http_send_failure(call);
        call->stream.begun = true;
        return http_send(
                call->connection, 200, http_stream_type(call->stream.format),
                MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, call, NULL));
}

void http_stream_done(HttpCall *call) {
        buf_done(&call->stream.out);
        text_chunk_unref(call->stream.shared);
}
