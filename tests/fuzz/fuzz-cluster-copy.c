// SPDX-License-Identifier: LGPL-2.1-or-later

// Events of a leader, each behind the byte that says how long it is: whatever they are, what is written of
// them has as many brackets that open as end, and nothing of it is left in memory.

#include <stdlib.h>
#include <string.h>

#include "cluster-copy.h"
#include "macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_it(ClusterCopy *copy) {
        long depth = 0;
        bool in_string = false;
        TextPiece *pieces;
        size_t n;

        if (cluster_copy_write(copy, "c", &pieces, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < pieces[i].len; k++) {
                        const char *p = pieces[i].chunk->text + pieces[i].offset + k;

                        if (*p == '\\')
                                k++;
                        else if (*p == '"')
                                in_string = !in_string;
                        else if (!in_string)
                                depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
                }
        text_pieces_free(pieces, n);
        if (depth != 0 || in_string)
                abort();
}

static void follow(const uint8_t *data, size_t size, bool changes) {
        _Atomic size_t held = 0;
        ClusterCopy *copy = cluster_copy_new(changes, &held);

        for (size_t at = 0, len; copy && at < size; at += len) {
                ProtobufCBinaryData event = {0, (uint8_t *) data + at + 1};

                len = 1 + MIN_OF(size - at - 1, (size_t) data[at]);
                event.len = len - 1;
                if (cluster_copy_take_packed(copy, &event) < 0)
                        break;
                if (data[at] & 1)
                        write_it(copy);
        }
        if (copy)
                write_it(copy);
        cluster_copy_free(copy);
        if (held != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        follow(data, size, false);
        follow(data, size, true);
        return 0;
}
