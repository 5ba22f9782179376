// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Three headers that every answer has, whoever makes it. Without memory for one of
// them whoever makes the answer is told so, and does not give it with some of them.

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
