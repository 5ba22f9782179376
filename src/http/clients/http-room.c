// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A user is there as long as a request of his is, so there are no more of them than connections. Nobody waits for room: who finds none is
// refused, and asks again.

#include "http-room.h"

#include <stdlib.h>
#include <string.h>

#include "http-bulk.h"
#include "http-limits.h"

static_assert(HTTP_HELD_OTHERS_MAX + HTTP_LINES_BYTES_MAX < HTTP_HELD_MAX, "an owner's longest body always has room");
static_assert(HTTP_HELD_PER_USER > (size_t) HTTP_LINES_BYTES_MAX, "and that of anybody else, as long as he is alone");
static_assert(2 * HTTP_HELD_PER_USER <= HTTP_HELD_OTHERS_MAX, "one of the others leaves room for the next");
static_assert(HTTP_TCP_UPLOADS_MAX <= HTTP_HELD_PER_USER, "whoever shows no token is one of the others");

struct HttpUser {
        HttpUserKey key;
        bool owner;
        size_t held;
        unsigned requests;
};

static HttpUser *enter(HttpRoom *r, const HttpUserKey *key, bool owner) {
        HttpUser *u = map_find(&r->users, key, sizeof(*key));

        if (!u) {
                u = calloc(1, sizeof(*u));
                if (!u)
                        return NULL;
                memcpy(&u->key, key, sizeof(*key)); // with what stands between its fields
                u->owner = owner;
                if (map_add(&r->users, &u->key, sizeof(u->key), u) < 0) {
                        free(u);
                        return NULL;
                }
        }
        u->requests++;
        return u;
}

HttpUser *http_room_enter_user(HttpRoom *r, uid_t uid, bool owner) {
        HttpUserKey key;

        memset(&key, 0, sizeof(key));
        key.uid = uid;
        return enter(r, &key, owner);
}

HttpUser *http_room_enter_token(HttpRoom *r, const Hash *proof) {
        HttpUserKey key;

        memset(&key, 0, sizeof(key));
        key.token = true;
        key.proof = *proof;
        return enter(r, &key, false);
}

void http_room_leave(HttpRoom *r, HttpUser *u) {
        if (!u || --u->requests > 0)
                return;
        (void) map_take(&r->users, &u->key, sizeof(u->key));
        free(u);
}

void http_room_done(HttpRoom *r) {
        map_done(&r->users);
}

const HttpUserKey *http_room_key(const HttpUser *u) {
        return &u->key;
}

bool http_room_is_owner(const HttpUser *u) {
        return u->owner;
}

size_t http_room_most(const HttpUser *u) {
        return u->owner ? HTTP_HELD_MAX : HTTP_HELD_PER_USER;
}

bool http_room_take(HttpRoom *r, HttpUser *u, size_t bytes) {
        if (r->held + bytes > HTTP_HELD_MAX || u->held + bytes > http_room_most(u))
                return false;
        if (!u->owner && r->others + bytes > HTTP_HELD_OTHERS_MAX)
                return false;
        r->held += bytes;
        r->others += u->owner ? 0 : bytes;
        u->held += bytes;
        return true;
}

void http_room_give(HttpRoom *r, HttpUser *u, size_t bytes) {
        r->held -= bytes;
        r->others -= u->owner ? 0 : bytes;
        u->held -= bytes;
}

bool http_room_take_upload(HttpRoom *r, HttpUser *u, size_t bytes) {
        if (r->uploads + bytes > HTTP_TCP_UPLOADS_MAX || !http_room_take(r, u, bytes))
                return false;
        r->uploads += bytes;
        return true;
}

void http_room_read_upload(HttpRoom *r, size_t bytes) {
        r->uploads -= bytes;
}
