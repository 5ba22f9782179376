// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The text of the newest answers to streams: all that are behind the same cursor, and ask for the same, are
// answered alike, and share one text. For those that ask for something else there is the text of each event
// (events-memo.h). Used by one thread, but for the texts themselves.

#include "event-cursor.h"
#include "http-body.h"
#include "http-stream-format.h"
#include "text-chunk.h"

enum {
        ANSWERS_MEMO_SLOTS = 32,
        ANSWERS_MEMO_BYTES_MAX = 16 * 1024, // of a packed answer; a longer one is not kept
};

typedef struct AnswersMemo AnswersMemo;

AnswersMemo *answers_memo_new(void); // NULL: out of memory
void answers_memo_free(AnswersMemo *m);
// A reference to its text, and the cursor behind it; NULL: that is not known.
TextChunk *answers_memo_find(const AnswersMemo *m, const HttpPart *answer, HttpStreamFormat format,
                             char cursor[EVENT_CURSOR_SIZE]);
// Keeps both, in the place of another answer, or not, if there is no memory. Takes a reference of its own.
void answers_memo_keep(AnswersMemo *m, const HttpPart *answer, HttpStreamFormat format,
                       const char cursor[EVENT_CURSOR_SIZE], TextChunk *text);
