// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What stands before libraft's bytes on a connection, as a peer may send it: whatever is decoded lies inside
// of what came, and is what came when it is encoded again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Not assert(): the checks are the point, also where NDEBUG is set.
#define MUST(x)                                                                 \
        do {                                                                    \
                if (!(x)) {                                                     \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
                        abort();                                                \
                }                                                               \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint8_t again[MARKS_SIZE];
        const uint8_t *rest;
        Marks marks;
        size_t len;

        if (marks_decode(data, size, &marks, &rest, &len) < 0) {
                MUST(size < MARKS_SIZE);
                return 0;
        }
        MUST(rest == data + MARKS_SIZE && rest + len == data + size);
        marks_encode(&marks, again);
        MUST(memcmp(again, data, MARKS_SIZE) == 0);
        return 0;
}
