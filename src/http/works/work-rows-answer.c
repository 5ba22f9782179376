// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A document that libmicrohttpd reads a block at a time, a short one whole, that nothing has changed, or a
// job of which no more is known. An answer takes what the call has of it. Failures: without memory its
// connection ends.

#include "work-rows-answer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "http-etag.h"
#include "http-outcome.h"
#include "macro.h"
#include "str.h"
#include "work-send.h"

enum {
        BLOCK_BYTES = 32 * 1024, // of a document that are written at a time
        SHORT_ROWS = 16,         // of one that is written whole, which these are for
        SHORT_BYTES = 2048,
};

static ssize_t on_read(void *body, uint64_t pos, char *buf, size_t max) {
        ssize_t n = http_body_read(body, buf, max);

        return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void on_body_free(void *body) {
        http_body_free(body);
}

// Whether the job may not have ended: nobody waited for it, or not for long enough.
static bool is_open(const HttpCall *call) {
        return !call->rows.waited || call->rows.under_way;
}

static bool add_location(const HttpCall *call, struct MHD_Response *r) {
        char text[sizeof("/v1/jobs/18446744073709551615")];

        str_fit(text, sizeof(text), "/v1/jobs/%" PRIu64, call->rows.job);
        return call->rows.job == 0 || MHD_add_response_header(r, "Location", text) == MHD_YES;
}

static bool add_link(const HttpCall *call, const char *page, struct MHD_Response *r) {
        _cleanup_free_ char *link = http_page_link(call->text, page);

        return link && MHD_add_response_header(r, "Link", link) == MHD_YES;
}

static bool add_tag(const HttpCall *call, struct MHD_Response *r) {
        char tag[HTTP_LIST_ETAG_SIZE];

        return !call->rows.tag || !http_list_etag_format(call->rows.tag, call->text, tag) ||
               MHD_add_response_header(r, "ETag", tag) == MHD_YES;
}

static enum MHD_Result send_unchanged(HttpCall *call) {
        char tag[HTTP_LIST_ETAG_SIZE];
        bool has = http_list_etag_format(call->rows.tag, call->text, tag);

        return http_send_nothing(call, MHD_HTTP_NOT_MODIFIED, "ETag", has ? tag : NULL);
}

// Whole, and sent with its front at once: pieces, of which nobody knows how many come, cost three times as
// many calls of the kernel.
static struct MHD_Response *short_response(HttpBody *body) {
        _cleanup_buf_ Buf text = {};
        struct MHD_Response *r = NULL;
        ssize_t n = -ENOMEM;

        while (buf_reserve(&text, SHORT_BYTES) &&
               (n = http_body_read(body, (char *) text.data + text.len, SHORT_BYTES)) > 0)
                text.len += (size_t) n;
        if (n == 0)
                r = MHD_create_response_from_buffer(text.len, text.data, MHD_RESPMEM_MUST_FREE);
        if (r)
                text = (Buf){};
        http_body_free(body);
        return r;
}

static struct MHD_Response *long_response(HttpBody *body) {
        struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read,
                                                                   body, on_body_free);

        if (!r)
                http_body_free(body);
        return r;
}

static enum MHD_Result send_document(HttpCall *call) {
        bool is_short = call->rows.job > 0 && call->rows.n_rows <= SHORT_ROWS;
        size_t n;
        HttpPart *parts = http_call_give_parts(call, &n);
        HttpBody *body =
                http_body_new(&call->target, parts, n, TAKE_PTR(call->rows.asides), call->rows.n_asides);
        char page[HTTP_PAGE_SIZE];
        bool is_page = body && http_body_next(body, page);
        struct MHD_Response *r = !body ? NULL : is_short ? short_response(body) : long_response(body);

        call->rows.n_asides = 0;
        if (r && (!add_location(call, r) || !add_tag(call, r) || (is_page && !add_link(call, page, r)))) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return http_send(call->connection, call->rows.job > 0 && is_open(call) ? 202 : 200,
                         "application/json", r);
}

// A job that was waited for, and of which nothing more is known here.
static enum MHD_Result send_taken(HttpCall *call) {
        char *text = http_outcome_taken(call->rows.job, call->message);
        struct MHD_Response *r = http_response_of_text(text, text ? strlen(text) : 0);

        if (r && !add_location(call, r)) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return http_send(call->connection, 202, "application/json", r);
}

enum MHD_Result http_rows_send(HttpCall *call) {
        if (call->status != 0 && call->rows.job > 0) {
                http_call_note_refusal(call);
                return send_taken(call);
        }
        return call->status != 0      ? http_send_failure(call)
               : call->rows.unchanged ? send_unchanged(call)
                                      : send_document(call);
}
