// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A token is taken as it is, or not at all: no blanks, no other length, no other alphabet (access-token.h). So what is hashed is what was
// made, and a text that is none costs no question to the leader.

#include "http-bearer.h"

#include <string.h>
#include <strings.h>

#include "macro.h"
#include "str.h"

bool http_bearer_proof(const char *authorization, Hash *ret) {
        static const char scheme[] = "Bearer ";

        if (strncasecmp(authorization, scheme, strlen(scheme)) != 0)
                return false;
        authorization += strlen(scheme);
        return access_token_proof(authorization + strspn(authorization, " "), ret);
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
                        if (n++ > 0 || !access_token_is_secret(p + name, len - name))
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
