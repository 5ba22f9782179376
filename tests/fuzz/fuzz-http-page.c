// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever somebody gives as a page: it is none, or one of another question, or it is written again as it
// was, but for the case of its letters. No cursor is a page.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "event-cursor.h"
#include "http-page.h"
#include "macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = calloc(1, size + 1), *link = NULL;
        char again[HTTP_PAGE_SIZE];
        EventCursor cursor;
        uint32_t question = 0;
        HttpPage page = {};
        bool is;

        if (!text)
                return 0;
        memcpy(text, data, size);
        is = http_page_question(text, &question) && http_page_parse(text, question, &page) == 0;
        if (is &&
            (http_page_parse(text, question + 1, &page) != -ESTALE || event_cursor_parse(text, &cursor)))
                abort();
        link = http_page_link(text, "p1");
        if (!link || strpbrk(link, "\r\n \"") != strstr(link, " rel="))
                abort();
        if (!is)
                return 0;
        http_page_format(&page, question, again);
        if (strcasecmp(text, again) != 0)
                abort();
        return 0;
}
