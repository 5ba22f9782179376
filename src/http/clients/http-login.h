// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a browser logs in: POST /v1/login with {"token":"argosy_..."}, and it has a cookie. Pure; it reads a
// client's bytes.

#include <stddef.h>

#include "hash.h"
#include "http-bearer.h"

enum {
        HTTP_LOGIN_BODY_MAX = 1024, // bytes
        HTTP_LOGIN_COOKIE_SIZE = 192,
};

// body[len] is 0; what of it is secret is gone behind it. 0; -EINVAL, -E2BIG, and *ret_why (borrowed for
// good) says more; -ENOMEM.
int http_login_parse(char *body, size_t len, Hash *ret_proof, const char **ret_why);
// The header Set-Cookie for a session of that id; NULL: the browser is to forget it.
void http_login_cookie(const char *id, char ret[HTTP_LOGIN_COOKIE_SIZE]);
