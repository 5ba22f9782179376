// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The room in memory that bodies and answers have, and whose they are: all together have HTTP_HELD_MAX. Root, and whom this process runs
// as, may take what there is; whoever else asks has a share of it, and all of these leave room for the owners. A user is who he is on a
// unix socket, and over TCP the token that is shown, whether there is one or not.
//
//      headers     -> http_room_enter_user(), http_room_enter_token()
//      bytes come  -> http_room_take(), http_room_take_upload(): all of them, or none
//      they go     -> http_room_give(), http_room_read_upload()
//      the end     -> http_room_leave(), behind the last of these
//
// Pure, but for whom this process runs as; it belongs to one thread at a time.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "hash.h"
#include "map.h"

typedef struct HttpUser HttpUser; // one who has requests

// Compared byte by byte: what stands between the fields is zero.
typedef struct HttpUserKey {
        bool token;
        uid_t uid;
        Hash proof;
} HttpUserKey;

// Zero-initialised is empty.
typedef struct HttpRoom {
        size_t held;    // bytes
        size_t others;  // of these, of all that are no owners
        size_t uploads; // and of bodies over TCP that were not read yet
        Map users;      // HttpUser
} HttpRoom;

// For one request; NULL: out of memory.
HttpUser *http_room_enter_user(HttpRoom *r, uid_t uid, bool owner);
HttpUser *http_room_enter_token(HttpRoom *r, const Hash *proof);
// What he took was given back, or is another request's of his. NULL is fine.
void http_room_leave(HttpRoom *r, HttpUser *u);
// When all have left.
void http_room_done(HttpRoom *r);

// False: there is no room, and nothing was taken.
bool http_room_take(HttpRoom *r, HttpUser *u, size_t bytes);
void http_room_give(HttpRoom *r, HttpUser *u, size_t bytes);
// The same of a body over TCP. Behind http_room_read_upload() its bytes are like any others.
bool http_room_take_upload(HttpRoom *r, HttpUser *u, size_t bytes);
void http_room_read_upload(HttpRoom *r, size_t bytes);
const HttpUserKey *http_room_key(const HttpUser *u);
bool http_room_is_owner(const HttpUser *u);
// How much he would have if nobody else had any.
size_t http_room_most(const HttpUser *u);
