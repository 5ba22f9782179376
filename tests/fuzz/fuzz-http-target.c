// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in the first line of a request: it is refused, or it becomes a request that another host
// can read.

#include <stdlib.h>
#include <string.h>

#include "http-target.h"
#include "macro.h"
#include "message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = calloc(1, size + 1);
        Argosy__Request *request;
        const char *why;
        HttpTarget t;
        const HttpResourceRow *row;

        if (!text)
                return 0;
        memcpy(text, data, size);
        if (http_target_parse(text, HTTP_GET, &t, &why) < 0) {
                if (!*why)
                        abort();
                return 0;
        }
        if (http_resource_is_page(t.resource) != (t.file != NULL))
                abort();
        row = http_resource(t.resource);
        request = http_resource_request(&t);
        if ((row->ask || row->request > 0) != (request != NULL))
                abort();
        message_free(request);
        http_target_done(&t);
        return 0;
}
