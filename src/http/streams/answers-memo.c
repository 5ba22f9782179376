// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Texts of answers that several streams of events share, so that an answer is formatted once.
//
//      answers_memo_find() -> a reference, or NULL -> format -> answers_memo_keep()
//
// A table of ANSWERS_MEMO_SLOTS without chains: the slot comes from the length and the last HASHED_BYTES
// bytes (the cursor), and its answer is compared whole. Answers above ANSWERS_MEMO_BYTES_MAX, or without
// memory, are not kept.

#include "answers-memo.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "macro.h"

enum { HASHED_BYTES = 64 };

typedef struct Slot {
        uint8_t *data;
        size_t len;
        HttpStreamFormat format;
        char cursor[EVENT_CURSOR_SIZE];
        TextChunk *text;
} Slot;

struct AnswersMemo {
        Slot slots[ANSWERS_MEMO_SLOTS];
};

AnswersMemo *answers_memo_new(void) {
        return calloc(1, sizeof(AnswersMemo));
}

static void slot_done(Slot *s) {
        free(s->data);
        text_chunk_unref(s->text);
        *s = (Slot){};
}

void answers_memo_free(AnswersMemo *m) {
        for (size_t i = 0; m && i < ANSWERS_MEMO_SLOTS; i++)
                slot_done(&m->slots[i]);
        free(m);
}

static size_t slot_of(const HttpPart *answer, HttpStreamFormat format) {
        size_t n = MIN_OF(answer->len, (size_t) HASHED_BYTES);

        return (crc32c((uint32_t) format, answer->data + answer->len - n, n) + answer->len) %
               ANSWERS_MEMO_SLOTS;
}

static bool is_slot_of(const Slot *s, const HttpPart *answer, HttpStreamFormat format) {
        return s->text && s->len == answer->len && s->format == format &&
               memcmp(s->data, answer->data, s->len) == 0;
}

TextChunk *answers_memo_find(const AnswersMemo *m, const HttpPart *answer, HttpStreamFormat format,
                             char cursor[EVENT_CURSOR_SIZE]) {
        const Slot *s = &m->slots[slot_of(answer, format)];

        if (!is_slot_of(s, answer, format))
                return NULL;
        memcpy(cursor, s->cursor, sizeof(s->cursor));
        return text_chunk_ref(s->text);
}

void answers_memo_keep(AnswersMemo *m, const HttpPart *answer, HttpStreamFormat format,
                       const char cursor[EVENT_CURSOR_SIZE], TextChunk *text) {
        Slot *s = &m->slots[slot_of(answer, format)];
        uint8_t *data =
                answer->len > 0 && answer->len <= ANSWERS_MEMO_BYTES_MAX ? malloc(answer->len) : NULL;

        if (!data)
                return;
        memcpy(data, answer->data, answer->len);
        slot_done(s);
        *s = (Slot){.data = data, .len = answer->len, .format = format, .text = text_chunk_ref(text)};
        memcpy(s->cursor, cursor, sizeof(s->cursor));
}
