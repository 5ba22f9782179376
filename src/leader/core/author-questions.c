// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A counter for each author with a question to nodes, from the first question to the end of the last: a
// pending request has a share in it from its beginning to its end. So one look says whether another question
// is allowed, however many there are. Without memory the question is not taken, and nothing has changed.
#include "author-questions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "access-token.h"
#include "str.h"

enum { KEY_SIZE = sizeof("4294967295:4294967295:") + ACCESS_TOKEN_ID_LEN };

struct AuthorQuestions {
        size_t n;
        char key[KEY_SIZE]; // the map's
};

static void make_key(const Argosy__Author *author, char ret[KEY_SIZE]) {
        str_fit(ret, KEY_SIZE, "%" PRIu32 ":%" PRIu32 ":%s", author->host, author->uid, author->token);
}

AuthorQuestions *author_questions_add(Leader *l, const Argosy__Author *author) {
        AuthorQuestions *a;
        char key[KEY_SIZE];

        make_key(author, key);
        a = map_find_str(&l->author_questions, key);
        if (!a) {
                a = calloc(1, sizeof(*a));
                if (!a)
                        return NULL;
                memcpy(a->key, key, sizeof(key));
                if (map_add_str(&l->author_questions, a->key, a) < 0) {
                        free(a);
                        return NULL;
                }
        }
        a->n++;
        return a;
}

void author_questions_drop(Leader *l, AuthorQuestions *a) {
        if (!a || --a->n > 0)
                return;
        map_take_str(&l->author_questions, a->key);
        free(a);
}

size_t author_questions_open(const Leader *l, const Argosy__Author *author) {
        const AuthorQuestions *a;
        char key[KEY_SIZE];

        make_key(author, key);
        a = map_find_str(&l->author_questions, key);
        return a ? a->n : 0;
}
