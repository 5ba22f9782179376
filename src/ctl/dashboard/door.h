// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which client argosyctl dashboard lets in: the browser that was first to bring the secret of the printed
// address, and no other, since every user of this machine can connect. Looks at the head of one request;
// nothing here is a socket or a clock.
//
//      GET /?secret=...   once                 DOOR_WELCOME: to /, with a cookie
//      with that cookie   for a name of ours   DOOR_PASS: as it came, but for what is between the browser
//                                              and us
//      all else                                DOOR_REFUSED
//
// The cookie is for a name that nobody else has on this machine, since a browser sends cookies of one
// address to all ports of it. Tests: ctl/door, fuzz/door, integration/dashboard-proxy.

#include <stdint.h>

#include "buf.h"

enum {
        DOOR_HEAD_MAX = 16 * 1024, // bytes of a request's line and headers
        DOOR_KEY_SIZE = 32,
        DOOR_KEY_HEX = 2 * DOOR_KEY_SIZE + 1,
        DOOR_NAME_SIZE = 64,
        DOOR_BODY_MAX = 64 * 1024 * 1024, // argosyd itself takes less
};

typedef struct Door {
        char name[DOOR_NAME_SIZE]; // of the host, as in the address
        char secret[DOOR_KEY_HEX], cookie[DOOR_KEY_HEX];
        bool used; // the secret
} Door;

typedef enum DoorVerdict { DOOR_PASS, DOOR_WELCOME, DOOR_REFUSED } DoorVerdict;

typedef struct DoorAnswer {
        unsigned status; // of DOOR_REFUSED
        const char *why; // the same, for people; static
        uint64_t body;   // of DOOR_PASS: bytes that follow the head
} DoorAnswer;

// With new keys.
void door_init(Door *d);
// `head` is a head to the end of its empty line. *head_out gets what is said to argosyd (DOOR_PASS) or to
// the browser (all else). A verdict, or -ENOMEM.
int door_judge(Door *d, const char *head, size_t len, Buf *head_out, DoorAnswer *ret) _warn_unused_;
// Where a head ends: its length with the empty line; 0: not yet.
size_t door_head_length(const char *bytes, size_t len);
// An answer to the browser that ends its connection, in words that are static. 0 or -ENOMEM.
int door_refuse(unsigned status, const char *why, Buf *out) _warn_unused_;
