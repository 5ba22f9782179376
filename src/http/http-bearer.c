// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A token is taken as it is, or not at all: no blanks, no other length, no other alphabet. So what is hashed is what was made, and a
// text that is none costs no question to the leader.

#include "http-bearer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "macro.h"
#include "str.h"

static bool is_secret(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (!isascii(text[i]) || (!isalnum(text[i]) && text[i] != '-' && text[i] != '_'))
                        return false;
        return len == HTTP_SECRET_CHARS;
}

bool http_token_proof(const char *text, Hash *ret) {
        size_t len = strlen(text), prefix = strlen(HTTP_TOKEN_PREFIX);

        if (!str_has_prefix(text, HTTP_TOKEN_PREFIX) || !is_secret(text + prefix, len - prefix))
                return false;
        *ret = hash_of(text, len);
        return true;
}

bool http_bearer_proof(const char *authorization, Hash *ret) {
        static const char scheme[] = "Bearer ";

        if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
                return false;
        authorization += strlen(scheme);
        return http_token_proof(authorization + strspn(authorization, " "), ret);
}

// Who could set a second one (a page of another port of this host) could choose whose session counts; so none does then.
bool http_cookie_find(const char *cookie, char ret[HTTP_SECRET_SIZE]) {
        const size_t name = strlen(HTTP_COOKIE "=");
        unsigned n = 0;

        for (const char *p = cookie; *p; p += *p == ';') {
                size_t len;

                p += strspn(p, " \t");
                len = strcspn(p, ";");
                if (strncmp(p, HTTP_COOKIE "=", name) == 0) {
                        if (n++ > 0 || !is_secret(p + name, len - name))
                                return false;
                        str_fit(ret, HTTP_SECRET_SIZE, "%.*s", HTTP_SECRET_CHARS, p + name);
                }
                p += len;
        }
        return n == 1;
}

bool http_target_has_token(const char *text) {
        static const char key[] = "access_token";
        const char *p = strchr(text, '?');

        for (; p; p = strchr(p, '&')) {
                p++;
                if (strncasecmp(p, key, strlen(key)) == 0 &&
                    (p[strlen(key)] == '=' || !p[strlen(key)] || p[strlen(key)] == '&'))
                        return true;
        }
        return false;
}
