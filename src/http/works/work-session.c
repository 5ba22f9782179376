// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Login and logout of browsers: the response is 204 and a cookie, or its removal (work-session.h).
// http_send_cookie() after a login; http_send_logout(): end the session -> streams of it end -> an empty
// cookie. The cookie's copy is overwritten. Failure: MHD_NO without memory, and the connection ends.

#include "work-session.h"

#include <string.h>

#include "http-login.h"
#include "work-send.h"

enum MHD_Result http_send_cookie(HttpCall *call, const char *id) {
        char cookie[HTTP_LOGIN_COOKIE_SIZE];
        enum MHD_Result queued;

        http_login_cookie(id, cookie);
        queued = http_send_nothing(call, MHD_HTTP_NO_CONTENT, "Set-Cookie", cookie);
        explicit_bzero(cookie, sizeof(cookie));
        return queued;
}

enum MHD_Result http_send_logout(HttpCall *call) {
        http_auth_end_session(&call->api->auth, &call->principal);
        http_api_on_logout(call->api);
        return http_send_cookie(call, NULL);
}
