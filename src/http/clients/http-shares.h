// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Copies of the state that are one user's alone, and whose their bytes are: all together have HTTP_STATE_OWN_MAX and
// HTTP_STATE_OWN_BYTES_MAX. Who is neither root nor whom this process runs as has a share of both, and all of these leave some copies.
//
//      who needs one   -> http_shares_take()
//      bytes           -> HttpShare.held, also of what is being read when the copy is gone: by workers and the HTTP thread, too
//      it is gone      -> http_shares_give()
//
// A share is somebody's as long as he has a copy or bytes. All but the bytes belongs to the loop.

#include <stdbool.h>
#include <stddef.h>

#include "http-limits.h"
#include "http-room.h"

typedef struct HttpShare {
        HttpUserKey of;
        bool owner;
        size_t n; // copies
        _Atomic size_t held;
} HttpShare;

// Zero-initialised is empty.
typedef struct HttpShares {
        HttpShare all[HTTP_STATE_OWN_USERS_MAX];
        size_t n, n_others; // copies; of these, of all that are no owners
} HttpShares;

typedef enum HttpShareRoom {
        HTTP_SHARE_TAKEN,
        HTTP_SHARE_USER_IS_FULL, // he has as many as one user may have
        HTTP_SHARE_ALL_ARE_FULL,
} HttpShareRoom;

// For one copy of his; ret: whose bytes it counts.
HttpShareRoom http_shares_take(HttpShares *s, const HttpUser *user, HttpShare **ret);
void http_shares_give(HttpShares *s, HttpShare *of);
// Of all of them.
size_t http_shares_bytes(const HttpShares *s);
// How many of them he would have if nobody else had any.
size_t http_share_most(const HttpShare *of);
// Whether he, or all of them, have more.
bool http_share_is_full(const HttpShares *s, const HttpShare *of);
