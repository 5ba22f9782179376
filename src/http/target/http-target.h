// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request's target asks for: method, path and query, as they stand in its first line, by the table of
// resources (http-resource.h). Pure; it reads a client's bytes.

#include <stdbool.h>

#include "http-resource.h"

// 0: none that we know.
HttpMethod http_method_from_string(const char *text);
// As the header Allow has them, what may be done with the thing at that path. "" if there is no such thing.
void http_target_methods(const char *text, char ret[HTTP_METHODS_SIZE]);

// 0; or -ENOENT: there is no such thing, -EPERM: but this is not how to use it, -EINVAL: it is no proper
// target, or has a parameter that means nothing there, -E2BIG: a parameter is there too often, and *ret_why
// (borrowed) says more; -ENOMEM. Nothing is in *ret then.
int http_target_parse(const char *text, HttpMethod method, HttpTarget *ret, const char **ret_why);
void http_target_done(HttpTarget *t);

// Whether anything stands behind the rows of one thing (http_resource_aside()).
bool http_target_has_aside(const HttpTarget *t);
// It is asked how it was when a job was done (work-past.c).
bool http_target_is_past(const HttpTarget *t);
static inline bool http_target_is(const HttpTarget *t, HttpTrait trait) {
        return http_resource_is(t->resource, trait);
}
// It is made of a body, and nothing is changed.
static inline bool http_target_only_asks(const HttpTarget *t) {
        return http_target_is(t, HTTP_IS_WRITTEN) && !http_target_is(t, HTTP_CHANGES);
}
// Whether what it is about needs no token, whatever else may be wrong with the target.
bool http_target_is_public(const char *text);
// Whether a page of that origin may change things: there is none, or it is ours, as the Host says. Either
// may be NULL.
bool http_origin_is_ours(const char *origin, const char *host);
