// SPDX-License-Identifier: LGPL-2.1-or-later

// The marks in front of libraft's messages, by which promises are timed (marks.h): 28 bytes, big endian.
// marks_encode() on the sender's side -> marks_decode() on the receiver's, which returns the message behind
// them. -EBADMSG: the frame is shorter than MARKS_SIZE. Numbers are judged by raft-authority.c. Test:
// store/authority.

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "marks.h"

static void put64(uint8_t *at, uint64_t value) {
        value = htobe64(value);
        memcpy(at, &value, sizeof(value));
}

static uint64_t get64(const uint8_t *at) {
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return be64toh(value);
}

void marks_encode(const Marks *m, uint8_t ret[MARKS_SIZE]) {
        uint32_t promise = htobe32(m->promise_ms);

        put64(ret, m->mark_us);
        put64(ret + 8, m->term);
        put64(ret + 16, m->seen_us);
        memcpy(ret + 24, &promise, sizeof(promise));
}

int marks_decode(const uint8_t *payload, size_t len, Marks *ret, const uint8_t **ret_data, size_t *ret_len) {
        uint32_t promise;

        if (len < MARKS_SIZE)
                return -EBADMSG;
        memcpy(&promise, payload + 24, sizeof(promise));
        *ret = (Marks){
                .mark_us = get64(payload),
                .term = get64(payload + 8),
                .seen_us = get64(payload + 16),
                .promise_ms = be32toh(promise),
        };
        *ret_data = payload + MARKS_SIZE;
        *ret_len = len - MARKS_SIZE;
        return 0;
}
