// SPDX-License-Identifier: LGPL-2.1-or-later
//
// There are a few shares, so all of them are looked at. One becomes free when the last byte of its user's documents was read; nobody but
// the loop gives it to the next, and only the loop makes it grow from nothing.

#include "http-shares.h"

#include <assert.h>
#include <string.h>

static_assert(HTTP_STATE_OWN_OTHERS_MAX < HTTP_STATE_OWN_MAX, "an owner always has a copy");
static_assert(2 * HTTP_STATE_OWN_PER_USER <= HTTP_STATE_OWN_OTHERS_MAX, "one of the others leaves some to the next");
static_assert(2 * HTTP_STATE_OWN_BYTES_PER_USER <= HTTP_STATE_OWN_BYTES_MAX, "and bytes");
static_assert(HTTP_STATE_OWN_USERS_MAX > HTTP_STATE_OWN_MAX, "also while others only read");

static bool is_free(const HttpShare *s) {
        return s->n == 0 && s->held == 0;
}

// NULL: there is none for him.
static HttpShare *find(HttpShares *s, const HttpUser *user) {
        HttpShare *unused = NULL;

        for (size_t i = 0; i < HTTP_STATE_OWN_USERS_MAX; i++) {
                if (is_free(&s->all[i]))
                        unused = &s->all[i];
                else if (memcmp(&s->all[i].of, http_room_key(user), sizeof(HttpUserKey)) == 0)
                        return &s->all[i];
        }
        if (unused) {
                memcpy(&unused->of, http_room_key(user), sizeof(HttpUserKey)); // with what stands between its fields
                unused->owner = http_room_is_owner(user);
        }
        return unused;
}

HttpShareRoom http_shares_take(HttpShares *s, const HttpUser *user, HttpShare **ret) {
        HttpShare *of = find(s, user);

        if (!of || s->n >= HTTP_STATE_OWN_MAX)
                return HTTP_SHARE_ALL_ARE_FULL;
        if (!of->owner && of->n >= HTTP_STATE_OWN_PER_USER)
                return HTTP_SHARE_USER_IS_FULL;
        if (!of->owner && s->n_others >= HTTP_STATE_OWN_OTHERS_MAX)
                return HTTP_SHARE_ALL_ARE_FULL;
        of->n++;
        s->n++;
        s->n_others += !of->owner;
        *ret = of;
        return HTTP_SHARE_TAKEN;
}

void http_shares_give(HttpShares *s, HttpShare *of) {
        of->n--;
        s->n--;
        s->n_others -= !of->owner;
}

size_t http_shares_bytes(const HttpShares *s) {
        size_t n = 0;

        for (size_t i = 0; i < HTTP_STATE_OWN_USERS_MAX; i++)
                n += s->all[i].held;
        return n;
}

size_t http_share_most(const HttpShare *of) {
        return of->owner ? HTTP_STATE_OWN_BYTES_MAX : HTTP_STATE_OWN_BYTES_PER_USER;
}

bool http_share_is_full(const HttpShares *s, const HttpShare *of) {
        return of->held > http_share_most(of) || http_shares_bytes(s) > HTTP_STATE_OWN_BYTES_MAX;
}
