// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Finds secrets in headers: the token of Authorization, the session of Cookie; and a token in a URL, which
// is refused. http_bearer_proof(), http_cookie_find(): header -> proof or id. Both borrow and allocate
// nothing. False: no token or cookie, or not exactly of the format (access-token.h), which spares the leader
// a question.

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

// Of two session cookies neither counts: a page on another port of this host can set one and would choose
// the session.
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
