// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a helper in the hands of its user may send: one byte for the size of the pieces in which the rest
// arrives, then frames. However it is cut, the same replies must come out, and each must be one.
#include <stdio.h>

#include "helper-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                 \
        do {                                                                    \
                if (!(x)) {                                                     \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
                        abort();                                                \
                }                                                               \
        } while (0)

static bool take(const uint8_t *payload, size_t len) {
        Argosy__HelperReply *reply;

        MUST(len <= HELPER_REPLY_MAX);
        reply = helper_reply_parse(payload, len);
        if (!reply)
                return false;
        MUST(reply->error <= 0 && reply->error > -4096);
        for (size_t i = 0; i < reply->n_results; i++)
                MUST(reply->results[i]->error <= 0 && reply->results[i]->error > -4096);
        for (size_t i = 0; i < reply->n_loads; i++)
                MUST(reply->loads[i] == ARGOSY__LOAD_STATE__LOAD_LOADED ||
                     reply->loads[i] == ARGOSY__LOAD_STATE__LOAD_MASKED ||
                     reply->loads[i] == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
        argosy__helper_reply__free_unpacked(reply, NULL);
        return true;
}

// How many replies come before the end, or before what is none.
static size_t read_in_pieces(const uint8_t *data, size_t size, size_t piece) {
        _cleanup_buf_ Buf in = {};
        size_t n = 0;

        for (size_t at = 0; at < size; at += piece) {
                const uint8_t *payload;
                size_t len, total;
                int r;

                MUST(buf_append(&in, data + at, size - at < piece ? size - at : piece) == 0);
                while ((r = helper_frame_cut(in.data, in.len, HELPER_REPLY_MAX, &payload, &len, &total)) !=
                       0) {
                        if (r < 0 || !take(payload, len))
                                return n;
                        buf_consume(&in, total);
                        n++;
                }
        }
        return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size < 1)
                return 0;
        MUST(read_in_pieces(data + 1, size - 1, data[0] + 1U) == read_in_pieces(data + 1, size - 1, size));
        return 0;
}
