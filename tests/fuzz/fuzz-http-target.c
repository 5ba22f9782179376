// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in the first line of a request: it is refused, or it becomes a request that another host can read.

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
        bool several;

        if (!text)
                return 0;
        memcpy(text, data, size);
        if (http_target_parse(text, HTTP_GET, &t, &why) < 0) {
                if (!*why)
                        abort();
                return 0;
        }
        several = http_target_is_open(&t) || t.resource == HTTP_STATE || t.resource == HTTP_STATIC; // none, or several
        if (t.resource == HTTP_STATIC && !t.file)
                abort();
        request = several ? NULL : http_target_request(&t);
        if (!request != several)
                abort();
        message_free(request);
        http_target_done(&t);
        return 0;
}
