// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sessions of browsers: at most HTTP_SESSIONS_MAX, of each token HTTP_SESSIONS_PER_TOKEN, for
// HTTP_SESSION_SEC each.
//
//      http_sessions_begin(): a random id -> http_sessions_find() per request
//          -> http_sessions_end(), or by time
//
// All last equally long, so the oldest is in front. Ids are kept and compared as hashes, so the time of a
// search tells nothing. When full, the oldest of the token, or of all, gives way (HTTP_SESSION_GAVE_WAY).
// Failure: -ENOMEM.

#include "http-sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "macro.h"
#include "random.h"

void http_sessions_done(HttpSessions *s) {
        free(s->list);
        *s = (HttpSessions){};
}

static void drop(HttpSessions *s, size_t first, size_t n) {
        memmove(&s->list[first], &s->list[first + n], (s->n - first - n) * sizeof(*s->list));
        s->n -= n;
}

static void drop_ended(HttpSessions *s, uint64_t now_us) {
        size_t n = 0;

        while (n < s->n && s->list[n].until_us <= now_us)
                n++;
        drop(s, 0, n);
}

static int make_room(HttpSessions *s, const Hash *proof) {
        size_t n = 0, oldest = 0;

        for (size_t i = s->n; i > 0; i--)
                if (hash_equal(&s->list[i - 1].proof, proof)) {
                        n++;
                        oldest = i - 1;
                }
        if (n >= HTTP_SESSIONS_PER_TOKEN)
                drop(s, oldest, 1);
        else if (s->n == HTTP_SESSIONS_MAX)
                drop(s, 0, 1);
        else
                return 0;
        return HTTP_SESSION_GAVE_WAY;
}

int http_sessions_begin(HttpSessions *s, const Hash *proof, uint64_t now_us, char ret_id[HTTP_SECRET_SIZE]) {
        uint8_t secret[ACCESS_TOKEN_SECRET_SIZE];
        int r;

        if (!s->list)
                s->list = calloc(HTTP_SESSIONS_MAX, sizeof(*s->list));
        if (!s->list)
                return -ENOMEM;
        random_bytes(secret, sizeof(secret));
        drop_ended(s, now_us);
        r = make_room(s, proof);
        access_token_secret_text(secret, ret_id);
        s->list[s->n++] = (HttpSession){.id = hash_of(ret_id, HTTP_SECRET_CHARS),
                                        .proof = *proof,
                                        .until_us = now_us + HTTP_SESSION_SEC * (uint64_t) USEC_PER_SEC};
        return r;
}

bool http_sessions_find(const HttpSessions *s, const Hash *id, uint64_t now_us, Hash *ret_proof) {
        for (size_t i = 0; i < s->n; i++)
                if (hash_equal(&s->list[i].id, id) && s->list[i].until_us > now_us) {
                        *ret_proof = s->list[i].proof;
                        return true;
                }
        return false;
}

void http_sessions_end(HttpSessions *s, const Hash *id) {
        for (size_t i = s->n; i > 0; i--)
                if (hash_equal(&s->list[i - 1].id, id))
                        drop(s, i - 1, 1);
}

void http_sessions_end_of(HttpSessions *s, const Hash *proof) {
        for (size_t i = s->n; i > 0; i--)
                if (hash_equal(&s->list[i - 1].proof, proof))
                        drop(s, i - 1, 1);
}
