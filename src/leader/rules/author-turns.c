// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See author-turns.h. This is fair queueing by start times: `had` of an author is the virtual time at which
// its next request starts, and `served` is the current virtual time. Waiting authors stand in that order,
// those with the same as they came, so where all ask for little, requests are served as they came.
//
//      a request comes -> waiting -> next: seen -> end of the round: waiting again, at the head of its
//      author's
//                                         \-> unlinked when it is served
//
// Cost: putting an author in its place looks at those behind it, at most all authors with waiting requests.
// Without memory nothing has changed.
#include "author-turns.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "access-token.h"

enum { KEY_SIZE = 1 + ACCESS_TOKEN_ID_LEN };

// Which of the two it is, and a user's host and number, or a token.
typedef struct AuthorKey {
        size_t len;
        char bytes[KEY_SIZE];
} AuthorKey;
static_assert(KEY_SIZE >= 1 + 2 * sizeof(uint32_t), "a user has room, too");

struct AuthorTurn {
        AuthorTurns *turns;
        size_t n; // requests under way
        size_t n_orphans; // of these
        size_t n_asking;  // of these
        size_t n_begun[_AUTHOR_BEGUN]; // of these
        uint64_t had;
        ListNode place;    // in AuthorTurns.waiting or .over; in neither while nothing of it waits
        ListNode requests; // that wait
        ListNode seen;     // that wait still, and had their turns in this round
        AuthorKey key;
};

void author_turns_init(AuthorTurns *t, unsigned begun_max) {
        *t = (AuthorTurns){.begun_max = begun_max};
        list_init(&t->waiting);
        list_init(&t->over);
}

void author_turns_done(AuthorTurns *t) {
        map_done(&t->authors);
}

// ------------------------------------------------------------------------------------------------ authors

// The key of an author. A token has one key, whichever host it was shown to.
static AuthorKey key_of(const Argosy__Author *author) {
        const uint32_t user[] = {author->host, author->uid};
        AuthorKey key = {.bytes[0] = *author->token ? 't' : 'u'};

        key.len = 1 + (*author->token ? strnlen(author->token, KEY_SIZE - 1) : sizeof(user));
        memcpy(key.bytes + 1, *author->token ? (const void *) author->token : user, key.len - 1);
        return key;
}

static AuthorTurn *turn_new(AuthorTurns *t, const AuthorKey *key) {
        AuthorTurn *a = calloc(1, sizeof(*a));

        if (!a)
                return NULL;
        a->turns = t;
        a->key = *key;
        list_init(&a->place);
        list_init(&a->requests);
        list_init(&a->seen);
        if (map_add(&t->authors, a->key.bytes, a->key.len, a) == 0)
                return a;
        free(a);
        return NULL;
}

AuthorTurn *author_turns_enter(AuthorTurns *t, const Argosy__Author *author) {
        AuthorKey key = key_of(author);
        AuthorTurn *a = map_find(&t->authors, key.bytes, key.len) ?: turn_new(t, &key);

        if (a)
                a->n++;
        return a;
}

void author_turn_leave(AuthorTurn *a) {
        if (!a || --a->n > 0)
                return;
        list_unlink(&a->place);
        map_take(&a->turns->authors, a->key.bytes, a->key.len);
        free(a);
}

// ---------------------------------------------------------------------------------------------- their order

static bool has_requests(const AuthorTurn *a) {
        return !list_is_empty(&a->requests) || !list_is_empty(&a->seen);
}

// Puts the author behind those that have had as much: mostly at the end, or close to it.
static void put_in_place(AuthorTurn *a) {
        ListNode *where = &a->turns->waiting;

        list_unlink(&a->place);
        while (where->prev != &a->turns->waiting &&
               CONTAINER_OF(where->prev, AuthorTurn, place)->had > a->had)
                where = where->prev;
        list_insert_before(where, &a->place);
}

// Before a request of it begins to wait.
static void come(AuthorTurn *a) {
        if (has_requests(a))
                return;
        a->had = MAX_OF(a->had, a->turns->served);
        put_in_place(a);
}

void author_turn_wait(AuthorTurn *a, ListNode *request) {
        come(a);
        list_append(&a->requests, request);
}

void author_turn_wait_first(AuthorTurn *a, ListNode *request) {
        come(a);
        list_insert_before(a->requests.next, request);
}

void author_turn_charge(AuthorTurn *a, size_t units) {
        a->turns->served = MAX_OF(a->turns->served, a->had);
        a->had += units;
        if (list_is_linked(&a->place))
                put_in_place(a);
}

bool author_turn_orphan(AuthorTurn *a) {
        if (a->n_orphans >= AUTHOR_ORPHANS_MAX)
                return false;
        a->n_orphans++;
        return true;
}

void author_turn_orphan_over(AuthorTurn *a) {
        assert(a->n_orphans > 0);
        a->n_orphans--;
}

void author_turn_begins(AuthorTurn *a, AuthorBegun kind) {
        a->n_begun[kind]++;
}

void author_turn_begun_over(AuthorTurn *a, AuthorBegun kind) {
        assert(a->n_begun[kind] > 0);
        a->n_begun[kind]--;
}

bool author_turn_may_begin(const AuthorTurn *a, AuthorBegun kind) {
        return a->n_begun[kind] < a->turns->begun_max;
}

AuthorTurn *author_turn_asks(AuthorTurn *a) {
        a->n++;
        a->n_asking++;
        return a;
}

void author_turn_asks_no_more(AuthorTurn *a) {
        a->n_asking--;
        author_turn_leave(a);
}

bool author_turn_may_ask(const AuthorTurn *a, size_t most) {
        return a->n_asking < most;
}

// ------------------------------------------------------------------------------------------------ rounds

ListNode *author_turns_next(AuthorTurns *t) {
        while (!list_is_empty(&t->waiting)) {
                AuthorTurn *a = CONTAINER_OF(t->waiting.next, AuthorTurn, place);
                ListNode *request = a->requests.next;

                if (list_is_empty(&a->requests)) {
                        list_unlink(&a->place);
                        list_append(&t->over, &a->place);
                        continue;
                }
                list_unlink(request);
                list_append(&a->seen, request);
                return request;
        }
        return NULL;
}

void author_turns_end(AuthorTurns *t) {
        list_foreach (i, &t->waiting) {
                AuthorTurn *a = CONTAINER_OF(i, AuthorTurn, place);

                list_splice_front(&a->requests, &a->seen);
        }
        while (!list_is_empty(&t->over)) {
                AuthorTurn *a = CONTAINER_OF(t->over.next, AuthorTurn, place);

                list_unlink(&a->place);
                list_splice_front(&a->requests, &a->seen);
                if (has_requests(a))
                        put_in_place(a);
        }
}

bool author_turns_are_empty(const AuthorTurns *t) {
        list_foreach (i, &t->waiting)
                if (has_requests(CONTAINER_OF(i, AuthorTurn, place)))
                        return false;
        return true;
}
