// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Texts of single events that several streams share, so that an event is formatted once.
//
//      events_memo_append() -> 1: appended, 0: unknown -> format -> events_memo_keep()
//
// A table of EVENTS_MEMO_SLOTS without chains: a checksum gives the slot, the newest event there is kept,
// and it is compared whole. A slot is one allocation: event, place and text. Without memory an event is not
// kept; -ENOMEM: `out`.

#include "events-memo.h"

#include <errno.h>

#include "hash.h"
#include "macro.h"

typedef struct Slot {
        uint8_t *data;
        uint32_t len, n_place, n_text;
        bool last;
        HttpStreamFormat format;
} Slot;

struct EventsMemo {
        Slot slots[EVENTS_MEMO_SLOTS];
};

EventsMemo *events_memo_new(void) {
        return calloc(1, sizeof(EventsMemo));
}

void events_memo_free(EventsMemo *m) {
        for (size_t i = 0; m && i < EVENTS_MEMO_SLOTS; i++)
                free(m->slots[i].data);
        free(m);
}

static size_t slot_of(const EventsMemoKey *key) {
        return crc32c(key->last * 2 + (uint32_t) key->format, key->packed, key->len) % EVENTS_MEMO_SLOTS;
}

static bool is_slot_of(const Slot *s, const EventsMemoKey *key) {
        return s->data && s->len == key->len && s->last == key->last && s->format == key->format &&
               memcmp(s->data, key->packed, key->len) == 0 && s->n_place == strlen(key->place) &&
               memcmp(s->data + s->len, key->place, s->n_place) == 0;
}

int events_memo_append(const EventsMemo *m, const EventsMemoKey *key, Buf *out) {
        const Slot *s = &m->slots[slot_of(key)];

        if (!is_slot_of(s, key))
                return 0;
        return buf_append(out, s->data + s->len + s->n_place, s->n_text) < 0 ? -ENOMEM : 1;
}

void events_memo_keep(EventsMemo *m, const EventsMemoKey *key, const void *text, size_t len) {
        Slot *s = &m->slots[slot_of(key)];
        size_t n_place = strlen(key->place);
        uint8_t *data;

        if (len == 0 || key->len + n_place + len > EVENTS_MEMO_BYTES_MAX)
                return;
        data = malloc(key->len + n_place + len);
        if (!data)
                return;
        memcpy(data, key->packed, key->len);
        memcpy(data + key->len, key->place, n_place);
        memcpy(data + key->len + n_place, text, len);
        free(s->data);
        *s = (Slot){data, (uint32_t) key->len, (uint32_t) n_place, (uint32_t) len, key->last, key->format};
}
