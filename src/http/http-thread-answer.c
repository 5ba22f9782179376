// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the thread answers: a problem, a document that libmicrohttpd reads a block at a time, a word, or that nothing has changed.
// An answer takes what the call has of it. Failures: without memory its connection ends.

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "http-etag.h"
#include "http-headers.h"
#include "http-login.h"
#include "http-metrics.h"
#include "http-openapi.h"
#include "http-outcome.h"
#include "http-private.h"
#include "http-problem.h"
#include "macro.h"
#include "str.h"

enum {
        BLOCK_BYTES = 32 * 1024, // of a document that are written at a time
        SHORT_ROWS = 16,         // of one that is written whole, which these are for
        SHORT_BYTES = 2048,
};

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, const char *type,
                                     struct MHD_Response *r) {
        enum MHD_Result queued = MHD_NO;

        if (r && MHD_add_response_header(r, "Content-Type", type) == MHD_YES && http_headers_add(r))
                queued = MHD_queue_response(connection, status, r);
        if (r)
                MHD_destroy_response(r); // it counts its references
        return queued;
}

enum MHD_Result http_thread_send_problem(struct MHD_Connection *connection, const HttpProblem *problem,
                                         const char *methods, bool last) {
        char *text = http_problem(problem);
        struct MHD_Response *r =
                text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

        if (text && !r)
                free(text);
        if (r && ((methods && MHD_add_response_header(r, "Allow", methods) != MHD_YES) ||
                  (problem->status == 503 && MHD_add_response_header(r, "Retry-After", "1") != MHD_YES) ||
                  (problem->status == 401 && MHD_add_response_header(r, "WWW-Authenticate", "Bearer") != MHD_YES) ||
                  (last && MHD_add_response_header(r, "Connection", "close") != MHD_YES))) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return send_response(connection, problem->status, "application/problem+json", r);
}

static ssize_t on_read(void *body, uint64_t pos, char *buf, size_t max) {
        ssize_t n = http_body_read(body, buf, max);

        return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void on_body_free(void *body) {
        http_body_free(body);
}

// Whether the job may not have ended: nobody waited for it, or not for long enough.
static bool is_open(const HttpCall *call) {
        return call->step == HTTP_STEP_ASK || call->under_way;
}

static bool add_location(const HttpCall *call, struct MHD_Response *r) {
        char text[sizeof("/v1/jobs/18446744073709551615")];

        str_fit(text, sizeof(text), "/v1/jobs/%" PRIu64, call->job);
        return call->job == 0 || MHD_add_response_header(r, "Location", text) == MHD_YES;
}

static bool add_link(const HttpCall *call, const char *page, struct MHD_Response *r) {
        _cleanup_free_ char *link = http_page_link(call->text, page);

        return link && MHD_add_response_header(r, "Link", link) == MHD_YES;
}

static bool add_tag(const HttpCall *call, struct MHD_Response *r) {
        char tag[HTTP_LIST_ETAG_SIZE];

        return !call->tag || !http_list_etag_format(call->tag, call->text, tag) ||
               MHD_add_response_header(r, "ETag", tag) == MHD_YES;
}

static enum MHD_Result send_unchanged(HttpCall *call) {
        struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
        enum MHD_Result queued = MHD_NO;

        if (r && add_tag(call, r) && http_headers_add(r))
                queued = MHD_queue_response(call->connection, MHD_HTTP_NOT_MODIFIED, r);
        if (r)
                MHD_destroy_response(r);
        return queued;
}

// Whole, and sent with its front at once: pieces, of which nobody knows how many come, cost three times as many calls of the kernel.
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
        struct MHD_Response *r =
                MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, body, on_body_free);

        if (!r)
                http_body_free(body);
        return r;
}

static enum MHD_Result send_document(HttpCall *call) {
        bool is_short = call->job > 0 && call->n_rows <= SHORT_ROWS;
        HttpBody *body = http_body_new(&call->target, TAKE_PTR(call->parts), call->n_parts,
                                       TAKE_PTR(call->asides), call->n_asides);
        char page[HTTP_PAGE_SIZE];
        bool is_page = body && http_body_next(body, page);
        struct MHD_Response *r = !body ? NULL : is_short ? short_response(body) : long_response(body);

        call->n_parts = call->n_asides = 0;
        if (r && (!add_location(call, r) || !add_tag(call, r) || (is_page && !add_link(call, page, r)))) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return send_response(call->connection, call->job > 0 && is_open(call) ? 202 : 200,
                             "application/json", r);
}

// Takes the text; NULL: out of memory.
static enum MHD_Result send_text(HttpCall *call, const char *type, char *text) {
        struct MHD_Response *r =
                text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

        if (text && !r)
                free(text);
        return send_response(call->connection, 200, type, r);
}

static enum MHD_Result send_diff(HttpCall *call) {
        HttpProblem problem = {};
        char *text;
        int r = http_changes_document(call, &text);

        if (r == 0)
                return send_text(call, "application/json", text);
        problem.status = http_status_of(-r);
        problem.detail = http_why_not_kept(-r);
        return http_thread_send_problem(call->connection, &problem, NULL, false);
}

static enum MHD_Result send_metrics(HttpCall *call) {
        return send_text(call, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                         call->n_parts == 1 ? http_metrics(&call->parts[0]) : NULL);
}

// What the leader says of a token over TCP is true of all sessions that began with it.
void http_thread_note_refusal(HttpCall *call) {
        if (call->peer->over_tcp && http_status_of(call->status) == 401 &&
            http_gate_still_lets(&call->api->gate, &call->pass)) // else it was the session that ended
                http_gate_refuse(&call->api->gate, &call->pass);
}

// ---- the others

static enum MHD_Result send_word(HttpCall *call) {
        static const char ok[] = "ok\n";

        return send_response(
                call->connection, 200, "text/plain; charset=utf-8",
                MHD_create_response_from_buffer(strlen(ok), (char *) ok, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_lines(HttpCall *call) {
        size_t len;
        char *text = http_bulk_answer(call->bulk, &len);
        struct MHD_Response *r =
                text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;

        if (text && !r)
                free(text);
        return send_response(call->connection, 200, "application/x-ndjson", r);
}

// ---- sessions of browsers

static enum MHD_Result send_cookie(HttpCall *call, const char *id) {
        struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
        enum MHD_Result queued = MHD_NO;
        char cookie[HTTP_LOGIN_COOKIE_SIZE];

        http_login_cookie(id, cookie);
        if (r && MHD_add_response_header(r, "Set-Cookie", cookie) == MHD_YES && http_headers_add(r))
                queued = MHD_queue_response(call->connection, MHD_HTTP_NO_CONTENT, r);
        if (r)
                MHD_destroy_response(r);
        explicit_bzero(cookie, sizeof(cookie));
        return queued;
}

// The leader knows the token.
static enum MHD_Result send_login(HttpCall *call) {
        char id[HTTP_SECRET_SIZE];
        int r = http_gate_begin_session(&call->api->gate, &call->pass.proof, id);

        if (r == HTTP_SESSION_GAVE_WAY)
                http_api_on_logout(call->api);
        return r < 0 ? MHD_NO : send_cookie(call, id);
}

enum MHD_Result http_thread_send_logout(HttpCall *call) {
        http_gate_end_session(&call->api->gate, &call->pass);
        http_api_on_logout(call->api);
        return send_cookie(call, NULL);
}

// A job that was waited for, and of which nothing more is known here.
static enum MHD_Result send_taken(HttpCall *call) {
        char *text = http_outcome_taken(call->job, call->message);
        struct MHD_Response *r = text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;

        if (text && !r)
                free(text);
        if (r && !add_location(call, r)) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return send_response(call->connection, 202, "application/json", r);
}

enum MHD_Result http_thread_send_answer(HttpCall *call) {
        HttpProblem problem = {http_status_of(call->status), call->message, call->unit, call->node,
                               call->line};

        if (call->fleet)
                return http_fleet_send(call);
        if (call->status != 0) {
                http_thread_note_refusal(call);
                return call->job > 0 ? send_taken(call)
                                     : http_thread_send_problem(call->connection, &problem, NULL,
                                                                call->status == ESHUTDOWN);
        }
        if (call->target.resource == HTTP_LOGIN)
                return send_login(call);
        if (http_target_is(&call->target, HTTP_IS_OPEN))
                return send_word(call);
        if (call->bulk)
                return send_lines(call);
        if (call->target.resource == HTTP_DIFF)
                return send_diff(call);
        if (call->target.resource == HTTP_OPENAPI)
                return send_text(call, "application/json", http_openapi());
        if (call->unchanged)
                return send_unchanged(call);
        if (http_target_is(&call->target, HTTP_IS_STREAM))
                return send_response(call->connection, 200, http_stream_type(call->format), http_thread_begin_stream(call));
        if (call->target.resource == HTTP_STATE) {
                call->peer->sees_all_by = call->peer->over_tcp ? 0 : call->state.sees_all_by; // each request has its own token there
                return http_state_send(call);
        }
        return call->target.resource == HTTP_METRICS ? send_metrics(call) : send_document(call);
}
