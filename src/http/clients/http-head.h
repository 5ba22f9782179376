// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether the head of a request is read by all implementations as we read it. libmicrohttpd takes more for a
// head than RFC 9112 does, and a proxy between us and the client may see another request in it: its body as
// the next request, or the next request as its body (request smuggling). So a head that is not strictly
// valid is refused, before the body is read.

#include <microhttpd.h>

// As the access handler was given it, before anything of it was answered.
typedef struct HttpHead {
        struct MHD_Connection *connection;
        const char *method, *url, *version; // where they lie in libmicrohttpd's memory
        const char *target;                 // as it came, a copy
} HttpHead;

// 0, or the status with which it is refused, and *ret_why (borrowed for good).
unsigned http_head_judge(const HttpHead *head, const char **ret_why);
// For MHD_OPTION_STRICT_FOR_CLIENT.
int http_head_strictness(void);
// Hides the parameters of a target from libmicrohttpd, as they are ours to read (http-target.h). For each of
// them it would take memory of the connection, and with very many it would block for half a minute.
// `target`: as its log callback got it.
void http_head_hide_parameters(const char *target);
