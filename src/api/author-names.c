// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See author-names.h. A Lookup is one user with one set of groups: in the queue with those who wait for it, in the pool,
// or kept with its answer. What is in the pool is touched by nobody else until it is back: it gets the numbers whole, and
// gives names.
//
// An account without a name is one that nobody has given rights to: its number stands alone. That a lookup failed (the
// directory cannot be reached) is no reason to believe that somebody is in no group, so nobody is answered by half of it.

#include "author-names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

#include "author.h"
#include "macro.h"
#include "message.h"
#include "time-limit.h"
#include "uvx.h"

typedef struct Lookup {
        AuthorNames *names; // NULL: they were closed meanwhile
        uv_work_t work;
        ListNode link;      // in .waiting or .kept; of neither while it is in the pool
        ListNode questions;
        uint64_t kept_until_ms; // of the loop
        const AccountSource *source;
        Argosy__Author *author; // when it is kept
        int error;
        bool owner;
        uid_t uid;
        size_t n_gids;
        gid_t gids[]; // ascending, each once
} Lookup;

struct AuthorNames {
        uv_loop_t *loop;
        const AccountSource *source;
        ListNode waiting, kept; // oldest first
        size_t n_waiting, n_kept;
        Lookup *flying; // in the pool
        TimeLimit limit;
};

// ------------------------------------------------------------------------------------------------ accounts

// Both functions of the C library say that the buffer was too small by ERANGE, and some sources that there is no such
// account by an errno.
static bool is_none(int error) {
        return error == 0 || error == ENOENT || error == ESRCH;
}

static int system_user(uid_t uid, char **ret) {
        struct passwd account, *found = NULL;

        for (size_t size = 1024; size <= AUTHOR_ACCOUNT_BYTES; size *= 4) {
                _cleanup_free_ char *buf = malloc(size);
                int error;

                if (!buf)
                        return -ENOMEM;
                error = getpwuid_r(uid, &account, buf, size, &found);
                if (found) {
                        *ret = strdup(account.pw_name);
                        return *ret ? 0 : -ENOMEM;
                }
                if (error != ERANGE)
                        return is_none(error) ? -ENOENT : -error;
        }
        return -ENOENT;
}

// One with so many members that it cannot be read has a name, too; but nobody has said how it is to be got at.
static int system_group(gid_t gid, char **ret) {
        struct group group, *found = NULL;

        for (size_t size = 1024; size <= AUTHOR_ACCOUNT_BYTES; size *= 4) {
                _cleanup_free_ char *buf = malloc(size);
                int error;

                if (!buf)
                        return -ENOMEM;
                error = getgrgid_r(gid, &group, buf, size, &found);
                if (found) {
                        *ret = strdup(group.gr_name);
                        return *ret ? 0 : -ENOMEM;
                }
                if (error != ERANGE)
                        return is_none(error) ? -ENOENT : -error;
        }
        return -ENOENT;
}

const AccountSource account_source_system = {.user = system_user, .group = system_group};

// ------------------------------------------------------------------------------------------------ in the pool

static int add_group(Lookup *k, Argosy__Author *author, gid_t gid) {
        _cleanup_free_ char *name = NULL;
        int r = k->source->group(gid, &name);

        if (r == -ENOENT || (r == 0 && !author_name_is_valid(name)))
                return 0;
        if (r == 0)
                author->groups[author->n_groups++] = TAKE_PTR(name);
        return r;
}

static int find_names(Lookup *k, Argosy__Author *author) {
        _cleanup_free_ char *name = NULL;
        int r = k->source->user(k->uid, &name);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && author_name_is_valid(name))
                author->user = TAKE_PTR(name);
        author->groups = calloc(k->n_gids + 1, sizeof(*author->groups));
        if (!author->groups)
                return -ENOMEM;
        for (size_t i = 0; i < k->n_gids; i++) {
                r = add_group(k, author, k->gids[i]);
                if (r < 0)
                        return r;
        }
        return author_admit(author, 0);
}

static void run(uv_work_t *work) {
        Lookup *k = CONTAINER_OF(work, Lookup, work);
        Argosy__Author *author = malloc(sizeof(*author));

        k->error = -ENOMEM;
        if (!author)
                return;
        argosy__author__init(author);
        author->uid = k->uid;
        author->owner = k->owner;
        k->error = find_names(k, author);
        if (k->error == 0)
                k->author = TAKE_PTR(author);
        message_free(author);
}

// ------------------------------------------------------------------------------------------------ lookups

static Lookup *lookup_free(Lookup *k) {
        if (!k)
                return NULL;
        list_unlink(&k->link);
        message_free(k->author);
        free(k);
        return NULL;
}

static int gid_compare(const void *a, const void *b) {
        gid_t x = *(const gid_t *) a, y = *(const gid_t *) b;

        return (x > y) - (x < y);
}

static Lookup *lookup_new(AuthorNames *a, uid_t uid, gid_t gid, const gid_t *groups, size_t n, bool owner) {
        Lookup *k = calloc(1, sizeof(*k) + (n + 1) * sizeof(gid_t));
        size_t kept = 1;

        if (!k)
                return NULL;
        k->names = a;
        k->source = a->source;
        k->uid = uid;
        k->owner = owner;
        k->gids[0] = gid;
        for (size_t i = 0; i < n; i++)
                k->gids[i + 1] = groups[i];
        qsort(k->gids, n + 1, sizeof(gid_t), gid_compare);
        for (size_t i = 1; i <= n; i++)
                if (k->gids[i] != k->gids[kept - 1])
                        k->gids[kept++] = k->gids[i];
        k->n_gids = kept;
        list_init(&k->questions);
        return k;
}

static bool lookup_is_of(const Lookup *k, const Lookup *other) {
        return k->uid == other->uid && k->owner == other->owner && k->n_gids == other->n_gids &&
               memcmp(k->gids, other->gids, k->n_gids * sizeof(gid_t)) == 0;
}

static Lookup *find(const ListNode *head, const Lookup *like) {
        list_foreach (i, head)
                if (lookup_is_of(CONTAINER_OF(i, Lookup, link), like))
                        return CONTAINER_OF(i, Lookup, link);
        return NULL;
}

// Who is told may ask again, or go; each is told once.
static void answer_all(Lookup *k, const Argosy__Author *author, int error) {
        ListNode told = LIST_INIT(told);

        list_splice(&told, &k->questions);
        while (!list_is_empty(&told)) {
                AuthorQuestion *q = CONTAINER_OF(told.next, AuthorQuestion, link);

                list_unlink(&q->link);
                q->answered(author, error, q->userdata);
        }
}

static void drop_kept(AuthorNames *a, Lookup *k) {
        a->n_kept--;
        lookup_free(k);
}

static void keep(AuthorNames *a, Lookup *k) {
        if (a->n_kept >= AUTHOR_KEPT_MAX)
                drop_kept(a, CONTAINER_OF(a->kept.next, Lookup, link));
        k->kept_until_ms = uv_now(a->loop) + AUTHOR_KEPT_MS;
        list_append(&a->kept, &k->link);
        a->n_kept++;
}

static void drop_stale(AuthorNames *a) {
        while (!list_is_empty(&a->kept)) {
                Lookup *k = CONTAINER_OF(a->kept.next, Lookup, link);

                if (k->kept_until_ms > uv_now(a->loop))
                        return;
                drop_kept(a, k);
        }
}

// ------------------------------------------------------------------------------------------------ one at a time

static void begin_next(AuthorNames *a);

// What hangs may hang on. Those who wait behind it have waited as long.
static void on_limit(void *userdata) {
        AuthorNames *a = userdata;

        if (a->flying)
                answer_all(a->flying, NULL, -ETIMEDOUT);
        list_foreach_safe (i, &a->waiting) {
                Lookup *k = CONTAINER_OF(i, Lookup, link);

                answer_all(k, NULL, -ETIMEDOUT);
                a->n_waiting--;
                lookup_free(k);
        }
}

static void on_back(uv_work_t *work, int status) {
        Lookup *k = CONTAINER_OF(work, Lookup, work);
        AuthorNames *a = k->names;

        if (!a) {
                lookup_free(k);
                return;
        }
        a->flying = NULL;
        time_limit_stop(&a->limit);
        if (k->error == 0)
                keep(a, k); // before anybody is told: he may ask the same again
        begin_next(a);
        answer_all(k, k->author, k->error);
        if (k->error < 0)
                lookup_free(k);
}

static void begin_next(AuthorNames *a) {
        Lookup *k;

        if (a->flying || list_is_empty(&a->waiting))
                return;
        k = CONTAINER_OF(a->waiting.next, Lookup, link);
        list_unlink(&k->link);
        a->n_waiting--;
        a->flying = k;
        time_limit_start(&a->limit, AUTHOR_LOOKUP_MS, on_limit);
        (void) uv_queue_work(a->loop, &k->work, run, on_back); // fails only without a callback
}

void author_names_ask(AuthorNames *a, uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, bool owner,
                      AuthorQuestion *q) {
        Lookup *k = lookup_new(a, uid, gid, groups, n_groups, owner), *known;

        list_init(&q->link);
        if (!k) {
                q->answered(NULL, -ENOMEM, q->userdata);
                return;
        }
        drop_stale(a);
        known = find(&a->kept, k);
        if (known) {
                lookup_free(k);
                q->answered(known->author, 0, q->userdata);
                return;
        }
        known = a->flying && lookup_is_of(a->flying, k) ? a->flying : find(&a->waiting, k);
        if (known) {
                lookup_free(k);
                list_append(&known->questions, &q->link);
                if (known == a->flying && !uv_is_active((uv_handle_t *) &a->limit.timer)) // others gave up waiting for it
                        time_limit_start(&a->limit, AUTHOR_LOOKUP_MS, on_limit);
                return;
        }
        if (a->n_waiting >= AUTHOR_WAITING_MAX) {
                lookup_free(k);
                q->answered(NULL, -EBUSY, q->userdata);
                return;
        }
        list_append(&k->questions, &q->link);
        list_append(&a->waiting, &k->link);
        a->n_waiting++;
        if (a->flying && !uv_is_active((uv_handle_t *) &a->limit.timer))
                time_limit_start(&a->limit, AUTHOR_LOOKUP_MS, on_limit);
        begin_next(a);
}

void author_names_forget(AuthorQuestion *q) {
        list_unlink(&q->link);
}

// ------------------------------------------------------------------------------------------------ life

int author_names_new(uv_loop_t *loop, const AccountSource *source, AuthorNames **ret) {
        AuthorNames *a = calloc(1, sizeof(*a));

        if (!a)
                return -ENOMEM;
        a->loop = loop;
        a->source = source;
        list_init(&a->waiting);
        list_init(&a->kept);
        time_limit_init(&a->limit, loop, a);
        uv_unref((uv_handle_t *) &a->limit.timer);
        *ret = a;
        return 0;
}

static void forget_questions(Lookup *k) {
        while (!list_is_empty(&k->questions))
                list_unlink(k->questions.next);
}

static void on_limit_closed(uv_handle_t *timer) {
        free(CONTAINER_OF((uv_timer_t *) timer, AuthorNames, limit.timer));
}

void author_names_close(AuthorNames *a) {
        if (a->flying) { // comes back to nobody
                forget_questions(a->flying);
                a->flying->names = NULL;
        }
        while (!list_is_empty(&a->waiting)) {
                Lookup *k = CONTAINER_OF(a->waiting.next, Lookup, link);

                forget_questions(k);
                lookup_free(k);
        }
        while (!list_is_empty(&a->kept))
                lookup_free(CONTAINER_OF(a->kept.next, Lookup, link));
        time_limit_close(&a->limit, on_limit_closed);
}
