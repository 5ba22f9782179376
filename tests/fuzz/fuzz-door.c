// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever a browser says to argosyctl dashboard: without the key nothing of it is passed on, and what is
// has one Host and no body but the one that is counted.

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "door.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A door whose keys are known here, so that inputs can have them.
static const Door known = {.name = "argosy-0.localhost", .secret = "5ec4e7", .cookie = "c00c1e"};

static size_t count(const Buf *b, const char *word) {
        size_t n = 0;

        for (size_t i = 0; i + strlen(word) <= b->len; i++)
                n += strncasecmp((const char *) b->data + i, word, strlen(word)) == 0;
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_buf_ Buf out = {};
        size_t len = door_head_length((const char *) data, size);
        bool has_key = memmem(data, size, known.cookie, strlen(known.cookie)) != NULL;
        Door d = known;
        DoorAnswer a;
        int r;

        if (len == 0)
                return 0;
        r = door_judge(&d, (const char *) data, len, &out, &a);
        if (r < 0 || out.len == 0)
                abort();
        if (r == DOOR_PASS &&
            (!has_key || a.body > DOOR_BODY_MAX || count(&out, "\r\nhost:") != 1 ||
             count(&out, "\r\ncookie:") != 0 || count(&out, "\r\ntransfer-encoding:") != 0 ||
             count(&out, "\r\ncontent-length:") > 1))
                abort();
        if (r == DOOR_REFUSED && (a.status < 400 || !a.why || count(&out, known.cookie) != 0))
                abort();
        if (r == DOOR_WELCOME && !d.used && !has_key)
                abort();
        return 0;
}
