// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a fuzz harness over inputs made of its corpus, without a fuzzer: so many of them, the same for the
// same seed.
//
//      mutated-NAME COUNT SEED FILE...
//
// Each begins as one file of the corpus, of which pieces are taken out, doubled, put somewhere else or into
// another file, and bytes become others: mostly some that mean something in a head.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "fileio.h"
#include "macro.h"
#include "str.h"

enum { FILES_MAX = 64, INPUT_MAX = 4096, CHANGES_MAX = 6, PIECE_MAX = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state;

// Xorshift; below n.
static size_t any(size_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return n > 0 ? (size_t) (state % n) : 0;
}

// To there, as far as there is room.
static void put(Buf *b, size_t at, const uint8_t *piece, size_t len) {
        if (b->len + len > INPUT_MAX || !buf_reserve(b, len))
                return;
        memmove(b->data + at + len, b->data + at, b->len - at);
        memcpy(b->data + at, piece, len);
        b->len += len;
}

static void change(Buf *b, const Buf *other) {
        static const uint8_t marks[] = {'\r', '\n', 0,   ' ',  '\t', ':', '?',
                                        '&',  '%',  '/', 0x7f, 0xff, '0', '9'};
        uint8_t piece[PIECE_MAX];
        size_t at = any(b->len), from = any(other->len), most = any(PIECE_MAX),
               len = MIN_OF(most, b->len - at);

        switch (any(5)) {
        case 0:
                b->data[at] = marks[any(sizeof(marks))];
                break;
        case 1:
                put(b, at, &marks[any(sizeof(marks))], 1);
                break;
        case 2:
                memmove(b->data + at, b->data + at + len, b->len - at - len);
                b->len -= len;
                break;
        case 3:
                memcpy(piece, b->data + at, len);
                put(b, any(b->len), piece, len);
                break;
        default:
                put(b, at, other->data + from, MIN_OF(most, other->len - from));
        }
}

static int feed(const Buf *corpus, size_t n) {
        const Buf *file = &corpus[any(n)];
        _cleanup_buf_ Buf input = {};
        uint8_t *exact;

        if (buf_append(&input, file->data, file->len) < 0)
                return -1;
        for (size_t i = 1 + any(CHANGES_MAX); i > 0 && input.len > 0; i--)
                change(&input, &corpus[any(n)]);
        exact = malloc(input.len + (input.len == 0)); // exactly as long, as in replay.c
        if (!exact)
                return -1;
        memcpy(exact, input.data, input.len);
        (void) LLVMFuzzerTestOneInput(exact, input.len);
        free(exact);
        return 0;
}

int main(int argc, char **argv) {
        Buf corpus[FILES_MAX] = {};
        size_t n = 0;
        uint64_t count = 0;
        int r = 0;

        if (argc < 4 || argc - 3 > FILES_MAX || !parse_u64(argv[1], UINT32_MAX, &count) ||
            !parse_u64(argv[2], UINT64_MAX, &state) || state == 0)
                return EXIT_FAILURE;
        for (int i = 3; i < argc && r == 0; i++)
                r = file_read(AT_FDCWD, argv[i], INPUT_MAX, &corpus[n++]) < 0 || corpus[n - 1].len == 0 ? -1
                                                                                                        : 0;
        for (uint64_t i = 0; i < count && r == 0; i++)
                r = feed(corpus, n);
        while (n > 0)
                buf_done(&corpus[--n]);
        printf("%" PRIu64 " inputs\n", count);
        return r == 0 && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
