// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is answered with a text that is no list of rows:
//
//      /healthz, /readyz    a word, which the loop knows
//      /metrics             what this argosyd has counted
//      /v1/openapi.json     the description; the leader is asked whether the client is known
//      /v1/login            a cookie; the same
//
// Failures: what the leader says against it is the answer.

#include "work-texts.h"

#include <errno.h>
#include <string.h>

#include "http-login.h"
#include "http-metrics.h"
#include "http-openapi.h"
#include "work-rows.h"
#include "work-send.h"
#include "work-session.h"

static void begin_open(HttpCall *call, const Argosy__Author *author) {
        HttpApi *a = call->api;

        if (call->target.resource == HTTP_READYZ && !a->ops->is_ready(a->userdata))
                http_call_fail(call, EHOSTUNREACH, NULL);
        else
                http_call_give_back(call);
}

static enum MHD_Result send_word(HttpCall *call) {
        static const char ok[] = "ok\n";

        if (call->status != 0)
                return http_send_failure(call);
        return http_send(call->connection, 200, "text/plain; charset=utf-8",
                         MHD_create_response_from_buffer(strlen(ok), (char *) ok, MHD_RESPMEM_PERSISTENT));
}

const HttpWork http_open_work = {.begin = begin_open, .send = send_word};

static enum MHD_Result send_metrics(HttpCall *call) {
        if (call->status != 0)
                return http_send_failure(call);
        return http_send_text(call, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                              call->n_parts == 1 ? http_metrics(&call->parts[0]) : NULL);
}

static enum MHD_Result send_openapi(HttpCall *call) {
        return call->status != 0 ? http_send_failure(call)
                                 : http_send_text(call, "application/json", http_openapi());
}

// The leader knows the token.
static enum MHD_Result send_login(HttpCall *call) {
        char id[HTTP_SECRET_SIZE];
        int r;

        if (call->status != 0)
                return http_send_failure(call);
        r = http_auth_begin_session(&call->api->auth, &call->principal.proof, id);
        if (r == HTTP_SESSION_GAVE_WAY)
                http_api_on_logout(call->api);
        return r < 0 ? MHD_NO : http_send_cookie(call, id);
}

#define ASKED .begin = http_rows_begin, .fail = http_rows_fail, .done = http_rows_done

const HttpWork http_metrics_work = {ASKED, .send = send_metrics};
const HttpWork http_openapi_work = {ASKED, .send = send_openapi};
const HttpWork http_login_work = {ASKED, .send = send_login};
