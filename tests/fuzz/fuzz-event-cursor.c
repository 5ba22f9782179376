// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever somebody gives as a cursor: it is none, or it is written again as it was, but for the case of its
// letters.

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "event-cursor.h"
#include "macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = calloc(1, size + 1);
        char again[EVENT_CURSOR_SIZE];
        EventCursor cursor;

        if (!text)
                return 0;
        memcpy(text, data, size);
        if (!event_cursor_parse(text, &cursor))
                return 0;
        event_cursor_format(&cursor, again);
        if (strcasecmp(text, again) != 0)
                abort();
        return 0;
}
