// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sends responses of HTTP: a text, only headers, or a problem (work-send.h).
// http_send_text(), http_send_nothing(), http_send_failure() -> http_send(): type, common headers, queue.
// Texts are taken and freed. Failure: MHD_NO without memory, and the connection ends.

#include "work-send.h"

#include <errno.h>
#include <string.h>

#include "http-headers.h"

enum MHD_Result http_send(struct MHD_Connection *connection, unsigned status, const char *type,
                          struct MHD_Response *r) {
        enum MHD_Result queued = MHD_NO;

        if (r && (!type || MHD_add_response_header(r, "Content-Type", type) == MHD_YES) &&
            http_headers_add(r))
                queued = MHD_queue_response(connection, status, r);
        if (r)
                MHD_destroy_response(r); // it counts its references
        return queued;
}

struct MHD_Response *http_response_of_text(char *text, size_t len) {
        struct MHD_Response *r =
                text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;

        if (text && !r)
                free(text);
        return r;
}

enum MHD_Result http_send_text(HttpCall *call, const char *type, char *text) {
        return http_send(call->connection, 200, type, http_response_of_text(text, text ? strlen(text) : 0));
}

enum MHD_Result http_send_nothing(HttpCall *call, unsigned status, const char *header, const char *value) {
        struct MHD_Response *r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);

        if (r && value && MHD_add_response_header(r, header, value) != MHD_YES) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return http_send(call->connection, status, NULL, r);
}

enum MHD_Result http_send_problem(struct MHD_Connection *connection, const HttpProblem *problem,
                                  const char *methods, bool last) {
        char *text = http_problem(problem);
        struct MHD_Response *r = http_response_of_text(text, text ? strlen(text) : 0);

        if (r && ((methods && MHD_add_response_header(r, "Allow", methods) != MHD_YES) ||
                  (problem->status == 503 && MHD_add_response_header(r, "Retry-After", "1") != MHD_YES) ||
                  (problem->status == 401 &&
                   MHD_add_response_header(r, "WWW-Authenticate", "Bearer") != MHD_YES) ||
                  (last && MHD_add_response_header(r, "Connection", "close") != MHD_YES))) {
                MHD_destroy_response(r);
                r = NULL;
        }
        return http_send(connection, problem->status, "application/problem+json", r);
}

enum MHD_Result http_send_failure(HttpCall *call) {
        HttpProblem problem = {http_status_of(call->status), call->message, call->rows.unit, call->rows.node,
                               call->rows.line};

        http_call_note_refusal(call);
        return http_send_problem(call->connection, &problem, NULL, call->status == ESHUTDOWN);
}

// A 401 over TCP means that the token is not valid any more, so all sessions that began with it end.
void http_call_note_refusal(HttpCall *call) {
        if (call->peer->over_tcp && http_status_of(call->status) == 401 &&
            http_auth_still_lets(&call->api->auth, &call->principal)) // else it was the session that ended
                http_auth_refuse(&call->api->auth, &call->principal);
}
