// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request that changes something asks for: the Request that argosyctl would send. One table of verbs,
// with the members that each takes; what is not in it is refused, since what was mistyped would otherwise be
// left out. Pure; it reads a client's bytes.
//
//      POST /v1/jobs                   {"verb":"start","units":["web@1.service"],"reason":"..."}
//      PUT /v1/unit-files/NAME         the file
//      DELETE /v1/unit-files/NAME
//      PUT /v1/secrets/NAME            the value, any bytes
//      DELETE /v1/secrets/NAME

#include "http-members.h"
#include "http-target.h"

enum {
        HTTP_BODY_MAX = 4 * 1024 * 1024, // bytes
        HTTP_FILES_MAX = 1024,           // unit files in one request
        HTTP_AFTER_MAX = 100,            // jobs that one may wait for
};

// Headers, borrowed; NULL: it is not there.
typedef struct HttpWriteHeaders {
        const char *key;           // Idempotency-Key
        const char *if_match;      // If-Match: a revision, in quotes
        const char *if_none_match; // If-None-Match: nothing of ours keeps to that, so it is refused
} HttpWriteHeaders;

// The verbs and the members that each takes, besides `verb`, by number; NULL: there are no more.
const char *http_write_verb(size_t i);
const HttpMember *http_write_member(size_t i, size_t k);

// body[len] is 0. 0 and a request, to be freed; or -EINVAL, -E2BIG, -ENOMEM, and *ret_why says more: to be
// freed, NULL: out of memory.
int http_write_parse(const HttpTarget *t, const HttpWriteHeaders *headers, const char *body, size_t len,
                     Argosy__Request **ret, char **ret_why);
// The 16 bytes of the request by which the cluster knows it when it comes again.
ProtobufCBinaryData *http_write_id(Argosy__Request *q);
