// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Three headers of every response: no caching, no sniffing of types, no frames.
// http_headers_add() before the response is queued, by all that make responses.
// False: out of memory, and the response must not be sent with only some of them.

#include "http-headers.h"

#include "macro.h"

bool http_headers_add(struct MHD_Response *r) {
        static const char *const headers[][2] = {
                {"Cache-Control", "no-store"},
                {"X-Content-Type-Options", "nosniff"},
                {"Content-Security-Policy", "frame-ancestors 'none'"},
        };

        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                if (MHD_add_response_header(r, headers[i][0], headers[i][1]) != MHD_YES)
                        return false;
        return true;
}
