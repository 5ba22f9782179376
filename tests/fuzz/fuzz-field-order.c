// SPDX-License-Identifier: LGPL-2.1-or-later

// Bytes that are to be a request: they are none, or stand in an order that does not change any more, and are
// as good, or as bad, a request as before.

#include <stdlib.h>
#include <string.h>

#include "argosy.pb-c.h"
#include "field-order.h"
#include "macro.h"
#include "message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_request(const uint8_t *data, size_t size) {
        void *request = NULL;
        int r = message_unpack(&argosy__request__descriptor, data, size, &request);

        message_free(request);
        return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ uint8_t *sorted = malloc(size + 1), *again = malloc(size + 1);

        if (!sorted || !again)
                return 0;
        memcpy(sorted, data, size);
        if (field_order_sort(&argosy__request__descriptor, sorted, size) < 0)
                return 0;
        memcpy(again, sorted, size);
        if (field_order_sort(&argosy__request__descriptor, again, size) < 0 ||
            memcmp(again, sorted, size) != 0)
                abort();
        if (is_request(data, size) != is_request(sorted, size))
                abort();
        return 0;
}
