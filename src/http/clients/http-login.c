// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The body of a login, and the cookie of its session.
//
//      http_login_parse(): {"token": "..."} -> the token's proof -> the leader judges it
//          -> http_login_cookie()
//
// The cookie is SameSite=Strict, HttpOnly and Secure, and its name binds it to TLS, this host and the path /
// (RFC 6265bis, 4.1.3.2). Failures: -EINVAL and why. The body and its token are overwritten in any case.

#include "http-login.h"

#include <errno.h>
#include <string.h>

#include "http-json.h"
#include "http-sessions.h"
#include "macro.h"
#include "str.h"

static bool find_proof(const cJSON *object, Hash *ret) {
        const cJSON *token = object->child;

        return token && !token->next && streq(token->string, "token") && cJSON_IsString(token) &&
               access_token_proof(token->valuestring, ret);
}

static void forget(cJSON *object) {
        for (cJSON *m = object->child; m; m = m->next)
                if (cJSON_IsString(m))
                        explicit_bzero(m->valuestring, strlen(m->valuestring));
        cJSON_Delete(object);
}

int http_login_parse(char *body, size_t len, Hash *ret_proof, const char **ret_why) {
        cJSON *object;
        int r = http_json_parse(body, len, &object, ret_why);

        if (r == 0) {
                if (!find_proof(object, ret_proof)) {
                        *ret_why = "the body is an object with a token and nothing else";
                        r = -EINVAL;
                }
                forget(object);
        }
        explicit_bzero(body, len);
        return r;
}

void http_login_cookie(const char *id, char ret[HTTP_LOGIN_COOKIE_SIZE]) {
        str_fit(ret, HTTP_LOGIN_COOKIE_SIZE,
                HTTP_COOKIE "=%s; Path=/; Max-Age=%i; Secure; HttpOnly; SameSite=Strict", id ?: "",
                id ? (int) HTTP_SESSION_SEC : 0);
}
