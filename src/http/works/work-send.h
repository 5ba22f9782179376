// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Responses, as the thread gives them to libmicrohttpd, which then owns them.

#include "http-call.h"

// NULL: out of memory.
enum MHD_Result http_send(struct MHD_Connection *connection, unsigned status, const char *type,
                          struct MHD_Response *r);
// Takes the text; NULL: out of memory.
struct MHD_Response *http_response_of_text(char *text, size_t len);
enum MHD_Result http_send_text(HttpCall *call, const char *type, char *text);
// Without any body: the status, and that header; value NULL: there is none.
enum MHD_Result http_send_nothing(HttpCall *call, unsigned status, const char *header, const char *value);
// methods: what may be done instead; NULL: nothing is said of that. last: the connection ends.
enum MHD_Result http_send_problem(struct MHD_Connection *connection, const HttpProblem *problem,
                                  const char *methods, bool last);
// Why the call has failed.
enum MHD_Result http_send_failure(HttpCall *call);
// It was refused, and perhaps because of its token.
void http_call_note_refusal(HttpCall *call);
