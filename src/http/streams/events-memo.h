// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The text of the newest events, so that those that many streams are told of are unpacked and written once
// and not for each of them. What an event's text is depends on nothing but its key. Pure.

#include "buf.h"
#include "http-events.h"

enum {
        EVENTS_MEMO_SLOTS =
                8192, // some seconds in which much happens, since not all streams are equally far
        EVENTS_MEMO_BYTES_MAX = 2 * 1024, // of one, with its key; a longer one is not kept
};

typedef struct EventsMemoKey {
        const uint8_t *packed; // the event
        size_t len;
        const char *
                // the answer's cursor, or of an event that is not its last, what that has but for the place
                // itself
                place;
        bool last;
        HttpStreamFormat format;
} EventsMemoKey;

typedef struct EventsMemo EventsMemo;

EventsMemo *events_memo_new(void); // NULL: out of memory
void events_memo_free(EventsMemo *m);
// Whether its text is known, which then was appended. 1, 0: it is not, or -ENOMEM.
int events_memo_append(const EventsMemo *m, const EventsMemoKey *key, Buf *out);
// Keeps it, in the place of another one, or not, if there is no memory.
void events_memo_keep(EventsMemo *m, const EventsMemoKey *key, const void *text, size_t len);
