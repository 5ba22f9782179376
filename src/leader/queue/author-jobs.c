// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See author-jobs.h. An author is a user, whatever the host: asking on several hosts does not raise the
// limit. There is a counter while the author has open jobs, and for jobs of the entry that is being made, so
// that one entry with hundreds of jobs goes no further than the limit.
//
// Without memory the process ends (oom.h).

#include "author-jobs.h"

#include <stdlib.h>
#include <string.h>

#include "author.h"
#include "oom.h"

struct AuthorJobs {
        size_t n_open, n_admitted;
        ListNode admitted; // in Leader.authors_admitted
        char name[];       // the map's key
};

static AuthorJobs *find(const Leader *l, const Argosy__Author *author) {
        char text[AUTHOR_TEXT_SIZE];

        return map_find_str(&l->author_jobs, author_text(author, text));
}

static AuthorJobs *get(Leader *l, const Argosy__Author *author) {
        char text[AUTHOR_TEXT_SIZE];
        const char *name = author_text(author, text);
        AuthorJobs *a = map_find_str(&l->author_jobs, name);

        if (a)
                return a;
        a = oom_checked(MAP_NEW_STR(&l->author_jobs, AuthorJobs, name, name));
        list_init(&a->admitted);
        return a;
}

static void drop_if_unused(Leader *l, AuthorJobs *a) {
        if (a->n_open > 0 || a->n_admitted > 0)
                return;
        map_take_str(&l->author_jobs, a->name);
        free(a);
}

AuthorJobs *author_jobs_add(Leader *l, const Argosy__Author *author) {
        AuthorJobs *a = get(l, author);

        a->n_open++;
        return a;
}

void author_jobs_drop(Leader *l, AuthorJobs *a) {
        if (!a)
                return;
        a->n_open--;
        drop_if_unused(l, a);
}

void author_jobs_admit(Leader *l, const Argosy__Author *author) {
        AuthorJobs *a = get(l, author);

        if (a->n_admitted++ == 0)
                list_append(&l->authors_admitted, &a->admitted);
}

void author_jobs_settle(Leader *l) {
        while (!list_is_empty(&l->authors_admitted)) {
                AuthorJobs *a = CONTAINER_OF(l->authors_admitted.next, AuthorJobs, admitted);

                list_unlink(&a->admitted);
                a->n_admitted = 0;
                drop_if_unused(l, a);
        }
}

size_t author_jobs_open(const Leader *l, const Argosy__Author *author) {
        const AuthorJobs *a = find(l, author);

        return a ? a->n_open + a->n_admitted : 0;
}

static void free_value(void *value) {
        free(value);
}

void author_jobs_retire(Leader *l) {
        map_done_with(&l->author_jobs, free_value);
        list_init(&l->authors_admitted);
}
