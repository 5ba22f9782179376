// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See author-names.h. A Lookup is one user with one set of groups: in the queue with those who wait for it,
// in the pool, or kept with its answer. What is in the pool is touched by nobody else until it is back: it
// gets the numbers whole, and gives names.
//
//      waiting -> flying (in the pool) -> kept, fresh -> kept, of old -> gone
//                   `-> hangs: another one may begin beside it
//
// An account without a name is one that nobody has given rights to: its number stands alone. A group whose
// name cannot be found out (the directory cannot be reached) is left out: rights add up, so this only takes
// away what it would have given. Old names are better than that: numbers are hardly ever given to others,
// and which of them a process has is the kernel's word.

#include "author-names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

#include "author.h"
#include "log.h"
#include "macro.h"
#include "message.h"
#include "pool.h"
#include "time-limit.h"
#include "uvx.h"

typedef struct Lookup {
        AuthorNames *names; // NULL: they were closed meanwhile
        PoolWork work;
        ListNode link;      // in .waiting, .flying or .kept
        ListNode questions; // in the order of asking
        const AccountSource *source;
        // flying: since when, or from when on, it hangs. Times are of the loop
        uint64_t hangs_ms;
        uint64_t fresh_until_ms, kept_until_ms; // kept
        bool hangs;
        Argosy__Author *author; // kept
        int error;
        size_t n_left_out; // groups whose names could not be found out
        int left_out_error;
        bool owner;
        uid_t uid;
        size_t n_gids;
        gid_t gids[]; // ascending, each once
} Lookup;

struct AuthorNames {
        uv_loop_t *loop;
        const AccountSource *source;
        ListNode waiting, flying, kept; // oldest first
        size_t n_waiting, n_flying, n_hanging, n_kept;
        TimeLimit limit;
        uint64_t limit_ms;       // when it is over, UINT64_MAX: it does not run
        uint64_t quiet_until_ms; // the journal has heard of it
};

// ------------------------------------------------------------------------------------------------ accounts

// Both functions of the C library say that the buffer was too small by ERANGE, and some sources that there
// is no such account by an errno.
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
        return -E2BIG;
}

// The group's name; the C library returns all members with it.
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
        return -E2BIG;
}

const AccountSource account_source_system = {
        .user = system_user,
        .group = system_group,
        .hangs_ms = AUTHOR_HANGS_MS,
        .limit_ms = AUTHOR_LOOKUP_MS,
        .fresh_ms = AUTHOR_FRESH_MS,
};

// ---------------------------------------------------------------------------------------------- in the pool

// Users and groups of a user namespace that are not mapped have this number. It is no account's, although
// most systems call it "nobody". (/proc/sys/kernel/overflowuid could say another one.)
enum { OVERFLOW_ID = 65534 };

static int name_of_user(const Lookup *k, uid_t uid, char **ret) {
        return uid == OVERFLOW_ID ? -ENOENT : k->source->user(uid, ret);
}

static int name_of_group(const Lookup *k, gid_t gid, char **ret) {
        return gid == OVERFLOW_ID ? -ENOENT : k->source->group(gid, ret);
}

// 0: added, or without a name.
static int add_group(Lookup *k, Argosy__Author *author, gid_t gid, size_t *bytes) {
        _cleanup_free_ char *name = NULL;
        int r = author->n_groups < AUTHOR_GROUPS_MAX ? name_of_group(k, gid, &name) : -E2BIG;

        if (r == -ENOENT || (r == 0 && !author_name_is_valid(name)))
                return 0;
        if (r == 0 && *bytes + strlen(name) + 1 > AUTHOR_GROUPS_BYTES)
                r = -E2BIG;
        if (r < 0)
                return r;
        *bytes += strlen(name) + 1;
        author->groups[author->n_groups++] = TAKE_PTR(name);
        return 0;
}

// In ascending order of their numbers: the groups of this system come before those of a directory.
static int add_groups(Lookup *k, Argosy__Author *author) {
        size_t bytes = 0;

        author->groups = calloc(MIN_OF(k->n_gids, (size_t) AUTHOR_GROUPS_MAX), sizeof(*author->groups));
        if (!author->groups)
                return -ENOMEM;
        for (size_t i = 0; i < k->n_gids; i++) {
                int r = add_group(k, author, k->gids[i], &bytes);

                if (r == -ENOMEM)
                        return r;
                if (r == 0)
                        continue;
                k->n_left_out++;
                k->left_out_error = r;
        }
        return 0;
}

static int find_names(Lookup *k, Argosy__Author *author) {
        _cleanup_free_ char *name = NULL;
        int r = name_of_user(k, k->uid, &name);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && author_name_is_valid(name))
                author->user = TAKE_PTR(name);
        r = add_groups(k, author);
        return r < 0 ? r : author_admit(author, 0);
}

static void run(PoolWork *work) {
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

static AuthorQuestion *first_question(const Lookup *k) {
        return list_is_empty(&k->questions) ? NULL : CONTAINER_OF(k->questions.next, AuthorQuestion, link);
}

// The callback may ask again, or close: pointers from before this call are not valid after it. `known` may
// be NULL.
static void tell(AuthorQuestion *q, const Lookup *known, int error) {
        list_unlink(&q->link);
        q->answered(known ? known->author : NULL, known ? 0 : error, q->userdata);
}

static void drop_kept(AuthorNames *a, Lookup *k) {
        a->n_kept--;
        lookup_free(k);
}

static void keep(AuthorNames *a, Lookup *k, Lookup *instead_of) {
        if (instead_of)
                drop_kept(a, instead_of);
        if (a->n_kept >= AUTHOR_KEPT_MAX)
                drop_kept(a, CONTAINER_OF(a->kept.next, Lookup, link));
        k->fresh_until_ms = uv_now(a->loop) + a->source->fresh_ms;
        k->kept_until_ms = uv_now(a->loop) + AUTHOR_KEPT_MS;
        list_append(&a->kept, &k->link);
        a->n_kept++;
}

static void drop_old(AuthorNames *a) {
        while (!list_is_empty(&a->kept)) {
                Lookup *k = CONTAINER_OF(a->kept.next, Lookup, link);

                if (k->kept_until_ms > uv_now(a->loop))
                        return;
                drop_kept(a, k);
        }
}

// Those for which nobody waits any more.
static void drop_deserted(AuthorNames *a) {
        list_foreach_safe (i, &a->waiting) {
                Lookup *k = CONTAINER_OF(i, Lookup, link);

                if (first_question(k))
                        continue;
                a->n_waiting--;
                lookup_free(k);
        }
}

// ------------------------------------------------------------------------------------------------ words

static const char *error_words(int error) {
        switch (error) {
        case -ETIMEDOUT:
                return "the accounts of this host do not answer, perhaps since a directory cannot be "
                       "reached";
        case -E2BIG:
                return "they are too many, or too large";
        default:
                return strerror(-error);
        }
}

// The same users ask again and again: the journal hears of the first.
static bool may_warn(AuthorNames *a) {
        if (a->quiet_until_ms > uv_now(a->loop))
                return false;
        a->quiet_until_ms = uv_now(a->loop) + AUTHOR_QUIET_MS;
        return true;
}

static void warn_failed(AuthorNames *a, const Lookup *k, int error) {
        if (may_warn(a))
                log_warning("Who uid %u is could not be found out: %s. %s", (unsigned) k->uid,
                            error_words(error),
                            find(&a->kept, k) ? "What was known before counts."
                                              : "Its requests are refused.");
}

static void warn_left_out(AuthorNames *a, const Lookup *k) {
        if (may_warn(a))
                log_warning("The names of %zu groups of uid %u could not be found out, so rights of theirs "
                            "are not its own: %s.",
                            k->n_left_out, (unsigned) k->uid, error_words(k->left_out_error));
}

// ------------------------------------------------------------------------------------------- in their order

// One at a time. What hangs may hang on for minutes, and is no reason to let others wait.
static bool may_begin(const AuthorNames *a) {
        return a->n_flying == a->n_hanging && a->n_flying < AUTHOR_FLYING_MAX;
}

static void on_back(PoolWork *work);

static void begin(AuthorNames *a, Lookup *k) {
        list_unlink(&k->link);
        a->n_waiting--;
        k->hangs_ms = uv_now(a->loop) + a->source->hangs_ms;
        list_append(&a->flying, &k->link);
        a->n_flying++;
        pool_add(a->loop, &k->work, POOL_USERS, run, on_back);
}

static uint64_t first_due_of(const ListNode *head, bool flying) {
        uint64_t due_ms = UINT64_MAX;

        list_foreach (i, head) {
                const Lookup *k = CONTAINER_OF(i, Lookup, link);
                const AuthorQuestion *q = first_question(k);

                if (q)
                        due_ms = MIN_OF(due_ms, q->due_ms);
                if (flying && !k->hangs)
                        due_ms = MIN_OF(due_ms, k->hangs_ms);
        }
        return due_ms;
}

static void on_limit(void *userdata);

static void run_limit(AuthorNames *a) {
        uint64_t due_ms = MIN_OF(first_due_of(&a->flying, true), first_due_of(&a->waiting, false));
        uint64_t now_ms = uv_now(a->loop);

        if (due_ms == a->limit_ms)
                return;
        a->limit_ms = due_ms;
        if (due_ms == UINT64_MAX)
                time_limit_stop(&a->limit);
        else
                time_limit_start(&a->limit, due_ms > now_ms ? due_ms - now_ms : 0, on_limit);
}

static void go_on(AuthorNames *a) {
        drop_deserted(a);
        if (may_begin(a) && !list_is_empty(&a->waiting))
                begin(a, CONTAINER_OF(a->waiting.next, Lookup, link));
        run_limit(a);
}

static void note_hanging(AuthorNames *a) {
        list_foreach (i, &a->flying) {
                Lookup *k = CONTAINER_OF(i, Lookup, link);

                if (k->hangs || k->hangs_ms > uv_now(a->loop))
                        continue;
                k->hangs = true;
                a->n_hanging++;
        }
}

static Lookup *find_due(const AuthorNames *a, const ListNode *head) {
        list_foreach (i, head) {
                Lookup *k = CONTAINER_OF(i, Lookup, link);

                if (first_question(k) && first_question(k)->due_ms <= uv_now(a->loop))
                        return k;
        }
        return NULL;
}

// Each waiter has its own limit: later ones go on waiting.
static void on_limit(void *userdata) {
        AuthorNames *a = userdata;
        Lookup *k;

        a->limit_ms = UINT64_MAX;
        note_hanging(a);
        while ((k = find_due(a, &a->flying) ?: find_due(a, &a->waiting))) {
                warn_failed(a, k, -ETIMEDOUT);
                tell(first_question(k), find(&a->kept, k), -ETIMEDOUT);
        }
        go_on(a);
}

static void on_back(PoolWork *work) {
        Lookup *k = CONTAINER_OF(work, Lookup, work), *known;
        AuthorNames *a = k->names;
        ListNode told = LIST_INIT(told);

        if (!a) {
                lookup_free(k);
                return;
        }
        list_unlink(&k->link);
        a->n_flying--;
        a->n_hanging -= k->hangs;
        known = find(&a->kept, k);
        if (k->error == 0 && known && known->n_left_out < k->n_left_out)
                k->error = k->left_out_error; // more was known before
        if (k->error < 0)
                warn_failed(a, k, k->error);
        else if (k->n_left_out > 0)
                warn_left_out(a, k);
        if (k->error == 0)
                keep(a, k, known); // before the callbacks: they may ask for the same again
        go_on(a);
        list_splice(&told, &k->questions);
        while (!list_is_empty(&told))
                tell(CONTAINER_OF(told.next, AuthorQuestion, link), k->error == 0 ? k : find(&a->kept, k),
                     k->error);
        if (k->error < 0)
                lookup_free(k);
}

void author_names_ask(AuthorNames *a, uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, bool owner,
                      AuthorQuestion *q) {
        Lookup *k = lookup_new(a, uid, gid, groups, n_groups, owner), *known, *same;

        list_init(&q->link);
        if (!k) {
                tell(q, NULL, -ENOMEM);
                return;
        }
        drop_old(a);
        drop_deserted(a);
        known = find(&a->kept, k);
        // that place is for who is not known
        if (known && (known->fresh_until_ms > uv_now(a->loop) || a->n_hanging > 0)) {
                lookup_free(k);
                tell(q, known, 0);
                return;
        }
        same = find(&a->flying, k) ?: find(&a->waiting, k);
        if (!same && a->n_waiting >= AUTHOR_WAITING_MAX) {
                lookup_free(k);
                tell(q, known, -EBUSY);
                return;
        }
        if (same)
                lookup_free(k);
        else {
                list_append(&a->waiting, &k->link);
                a->n_waiting++;
                same = k;
        }
        q->due_ms = uv_now(a->loop) + (known ? a->source->hangs_ms : a->source->limit_ms);
        list_append(&same->questions, &q->link);
        go_on(a);
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
        a->limit_ms = UINT64_MAX;
        list_init(&a->waiting);
        list_init(&a->flying);
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
        while (!list_is_empty(&a->flying)) { // comes back to nobody
                Lookup *k = CONTAINER_OF(a->flying.next, Lookup, link);

                forget_questions(k);
                list_unlink(&k->link);
                k->names = NULL;
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
