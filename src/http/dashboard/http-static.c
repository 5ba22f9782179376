// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      dashboard/NAME -> tools/lib/static-files.py -> http_static_files -> GET /dashboard/NAME
//
// A browser asks again each time and is told that nothing has changed, so after an upgrade no page is made
// of two versions. What it may do with a page stands in its headers: scripts, styles and requests of this
// very place and nothing else, so a name that somebody has made of HTML stays a name. Files are never
// copied: libmicrohttpd sends them from where they stand.

#include "http-static.h"

#include <string.h>

#include "macro.h"
#include "str.h"

#define POLICY                                                                                          \
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " \
        "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors " \
        "'none'"

const HttpStatic *http_static_find(const char *name, size_t len) {
        static const char first[] = "index.html";

        if (len == 0) {
                name = first;
                len = strlen(first);
        }
        for (const HttpStatic *f = http_static_files; f->name; f++)
                if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
                        return f;
        return NULL;
}

// W/ before a tag makes no difference here (RFC 9110, 13.1.2).
bool http_static_is_known(const HttpStatic *f, const char *header) {
        const char *end, *begin = strchr(header, '"');
        size_t len = strlen(f->tag);

        if (streq(header, "*"))
                return true;
        for (; begin && (end = strchr(begin + 1, '"')); begin = strchr(end + 1, '"'))
                if ((size_t) (end - begin) + 1 == len && memcmp(begin, f->tag, len) == 0)
                        return true;
        return false;
}

static bool add_headers(struct MHD_Response *r, const HttpStatic *f) {
        const char *const headers[][2] = {
                {"Content-Type", f->type},
                {"ETag", f->tag},
                {"Cache-Control", "no-cache"}, // kept, and asked for each time
                {"Content-Security-Policy", POLICY},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"},
                {"Cross-Origin-Resource-Policy", "same-origin"},
                {"Cross-Origin-Opener-Policy", "same-origin"},
        };

        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                if (MHD_add_response_header(r, headers[i][0], headers[i][1]) != MHD_YES)
                        return false;
        return true;
}

enum MHD_Result http_static_send(const HttpStatic *f, struct MHD_Connection *connection, const char *known) {
        bool unchanged = known && http_static_is_known(f, known);
        struct MHD_Response *r = MHD_create_response_from_buffer(unchanged ? 0 : f->len, (void *) f->bytes,
                                                                 MHD_RESPMEM_PERSISTENT);
        enum MHD_Result queued = MHD_NO;

        if (r && add_headers(r, f))
                queued = MHD_queue_response(connection, unchanged ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, r);
        if (r)
                MHD_destroy_response(r);
        return queued;
}
