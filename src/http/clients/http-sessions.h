// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sessions of browsers that have logged in, in memory of this host alone: a random id that the browser has
// as a cookie, and the proof of the token behind it. Of the id only the SHA-256 is kept. A session has the
// rights of its token, which is judged with each request. Pure but for the random bytes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "http-bearer.h"

enum {
        // Beyond the first the oldest of all goes; and beyond the other, of one token, the oldest of that:
        // so who has one token ends nobody else's session.
        HTTP_SESSIONS_MAX = 1024,
        HTTP_SESSIONS_PER_TOKEN = 32,
        HTTP_SESSION_SEC = 12 * 3600,
};

typedef struct HttpSession {
        Hash id, proof;
        uint64_t until_us; // boot time
} HttpSession;

typedef struct HttpSessions {
        HttpSession *list; // the oldest first
        size_t n;
} HttpSessions;

void http_sessions_done(HttpSessions *s);
// 0; HTTP_SESSION_GAVE_WAY: another one has ended for it; -ENOMEM, -EIO (no random bytes).
enum { HTTP_SESSION_GAVE_WAY = 1 };
int http_sessions_begin(HttpSessions *s, const Hash *proof, uint64_t now_us, char ret_id[HTTP_SECRET_SIZE]);
// `id`: its hash. False: there is none, or none any more.
bool http_sessions_find(const HttpSessions *s, const Hash *id, uint64_t now_us, Hash *ret_proof);
void http_sessions_end(HttpSessions *s, const Hash *id);
// All with that token.
void http_sessions_end_of(HttpSessions *s, const Hash *proof);
