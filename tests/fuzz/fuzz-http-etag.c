// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in an If-None-Match: it matches the place of one of its tags, or none.

#include <stdlib.h>
#include <string.h>

#include "http-etag.h"
#include "macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = calloc(1, size + 1), *known = NULL;
        char tag[HTTP_LIST_ETAG_SIZE];
        EventCursor place = {};
        const char *quote;

        if (!text)
                return 0;
        memcpy(text, data, size);
        if (http_etag_matches(text, &place))
                abort(); // no cluster has that
        quote = strchr(text, '"');
        if (quote && event_cursor_parse(quote + 1, &place) && http_etag_matches(text, &place))
                abort(); // without its other quote it is no tag
        known = http_list_etags(text, "/v1/units");
        if (!known || strpbrk(known, "\"-"))
                abort();
        if (http_list_etag_format(text, "/v1/units", tag)) {
                _cleanup_free_ char *again = http_list_etags(tag, "/v1/units"),
                                    *other = http_list_etags(tag, "/v1/units?limit=1");

                if (strcmp(again, text) != 0 || *other)
                        abort();
        }
        return 0;
}
