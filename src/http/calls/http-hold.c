// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a call holds: its place and its bytes in the client's account, and responses, packed, until the
// client has read them.
//
//      enter -> hold, hold_body, part_pack -> release -> leave
//
// Failures: where there is no room for more nothing is kept, and the caller says so.

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "http-call.h"
#include "macro.h"

bool http_call_enter(HttpCall *call) {
        Principal of = http_peer_principal(call->peer, &call->principal.proof, &call->from);

        call->user = account_enter(call->api->accounts, &of);
        if (call->user && account_take(call->user, ACCOUNT_REQUESTS, 1))
                return true;
        account_leave(TAKE_PTR(call->user));
        return false;
}

void http_call_leave(HttpCall *call) {
        if (!call->user)
                return;
        account_give(call->user, ACCOUNT_REQUESTS, 1);
        account_leave(TAKE_PTR(call->user));
}

bool http_api_hold(HttpCall *call, size_t bytes) {
        bool fits = account_take(call->user, ACCOUNT_BYTES, bytes);

        call->held += fits ? bytes : 0;
        return fits;
}

void http_api_release(HttpCall *call, size_t bytes) {
        if (bytes == 0)
                return;
        call->held -= bytes;
        account_give(call->user, ACCOUNT_BYTES, bytes);
}

// Bodies of the length that is allowed without the right to bring content are charged to a part of the
// user's account.
bool http_api_hold_body(HttpCall *call, size_t bytes) {
        bool many = call->announced > HTTP_SHORT_BODY_MAX && call->announced <= HTTP_SMALL_BODY_MAX &&
                    !call->peer->owner;
        bool fits = account_take_within(call->user, ACCOUNT_BYTES, bytes,
                                        many ? (size_t) HTTP_SMALL_HELD_MAX : SIZE_MAX);

        call->held += fits ? bytes : 0;
        call->body_bytes += fits ? bytes : 0;
        return fits;
}

void http_api_release_body(HttpCall *call) {
        http_api_release(call, call->body_bytes);
        call->body_bytes = 0;
}

// Where there is no room in the token's account, it stays in that of the address.
void http_call_note_known(HttpCall *call) {
        Principal of = principal_of_token(0, &call->principal.proof);
        Account *u;

        if (!call->peer->over_tcp || call->is_known || !call->proves)
                return;
        call->is_known = true;
        u = account_enter(call->api->accounts, &of);
        if (!u || u == call->user || !account_take(u, ACCOUNT_REQUESTS, 1)) {
                account_leave(u);
                return;
        }
        if (!account_take(u, ACCOUNT_BYTES, call->held)) {
                account_give(u, ACCOUNT_REQUESTS, 1);
                account_leave(u);
                return;
        }
        account_give(call->user, ACCOUNT_BYTES, call->held);
        http_call_leave(call);
        call->user = u;
}

void http_call_drop_parts(HttpCall *call) {
        http_api_release(call, call->n_bytes);
        http_parts_free(TAKE_PTR(call->parts), call->n_parts);
        call->n_parts = call->n_bytes = 0;
}

HttpPart *http_call_give_parts(HttpCall *call, size_t *ret_n) {
        *ret_n = call->n_parts;
        call->n_parts = 0;
        return TAKE_PTR(call->parts);
}

void http_call_take_parts(HttpCall *call, HttpPart *parts, size_t n, size_t bytes) {
        call->parts = parts;
        call->n_parts = n;
        call->n_bytes = bytes;
}

void http_call_count(HttpCall *call, size_t bytes) {
        call->n_bytes += bytes;
}

int http_call_why_full(const HttpCall *call, size_t bytes) {
        return bytes > account_most(call->user, ACCOUNT_BYTES) ? -E2BIG : -EBUSY;
}

int http_part_pack(HttpCall *call, const Argosy__Response *response, HttpPart *ret) {
        size_t len = argosy__response__get_packed_size(response);
        uint8_t *data;

        if (!http_api_hold(call, len))
                return http_call_why_full(call, call->n_bytes + len);
        data = malloc(MAX_OF(len, (size_t) 1));
        if (!data) {
                http_api_release(call, len);
                return -ENOMEM;
        }
        *ret = (HttpPart){data, argosy__response__pack(response, data)};
        return 0;
}

int http_parts_keep(HttpCall *call, const Argosy__Response *response, HttpPart **parts, size_t *n,
                    size_t *bytes) {
        int r;

        if (ARRAY_RESERVE(*parts, *n + 1) < 0)
                return -ENOMEM;
        r = http_part_pack(call, response, &(*parts)[*n]);
        if (r == 0)
                *bytes += (*parts)[(*n)++].len;
        return r;
}

int http_call_keep(HttpCall *call, const Argosy__Response *response) {
        return http_parts_keep(call, response, &call->parts, &call->n_parts, &call->n_bytes);
}

const char *http_why_not_kept(int status) {
        return status == EAGAIN  ? "the leader changed in the middle of the list: ask again"
               : status == EBUSY ? "too many long answers wait to be read"
               : status == E2BIG ? "the answer is too long for one: ask for pages of it, or for less"
                                 : "this host has no memory for the answer";
}
