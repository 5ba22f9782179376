// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The names of a user and its groups on this host. Looking them up may take seconds (a directory over the
// network),
// so it is done in the pool, one question at a time, and one more when that one hangs: the log needs its
// threads, too (daemon/main.c has their number). Names are kept for a while; many connections of one user
// ask once.
//
//      author_names_ask() -> kept and fresh, or kept and somebody's lookup hangs: at once
//                         -> in the pool, or behind who is there -> `answered`, once
//                         -> that failed, or takes too long -> `answered` with what is still kept, or
//                         without an author
//
// A new name of a user or a group is seen as late as AUTHOR_FRESH_MS, or AUTHOR_KEPT_MS while the accounts
// do not answer. In which groups a process is, the kernel says each time.

#include <sys/types.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "list.h"

enum {
        AUTHOR_KEPT_MAX = 64,          // users whose names are kept; the oldest goes
        AUTHOR_KEPT_MS = 3600 * 1000,  // and for how long
        AUTHOR_FRESH_MS = 30 * 1000,   // of which so long nobody is asked again
        AUTHOR_HANGS_MS = 2 * 1000,    // from when on a lookup counts as one that hangs: who is kept waits
                                       // no longer
        AUTHOR_LOOKUP_MS = 10 * 1000,  // how long anybody waits
        AUTHOR_FLYING_MAX = 2,         // in the pool at a time: one that hangs, and the next
        AUTHOR_WAITING_MAX = 64,       // different users who wait for their names
        AUTHOR_QUIET_MS = 600 * 1000,  // between two lines in the journal that accounts do not answer
        AUTHOR_ACCOUNT_BYTES = 16 * 1024 * 1024, // of one account, as it is read: a group comes with all
                                                 // members
};

typedef struct AuthorNames AuthorNames;

// Functions that look accounts up; called in the pool. 0 and a name to be freed, -ENOENT: there is none; or
// another negative errno.
typedef struct AccountSource {
        int (*user)(uid_t uid, char **ret);
        int (*group)(gid_t gid, char **ret);
        unsigned hangs_ms, limit_ms, fresh_ms; // AUTHOR_HANGS_MS, AUTHOR_LOOKUP_MS, AUTHOR_FRESH_MS
} AccountSource;
extern const AccountSource account_source_system;

// Owned by the asker; a zeroed one waits for nothing.
typedef struct AuthorQuestion {
        ListNode link;
        uint64_t due_ms; // of the loop: until then it waits
        // `author` is borrowed, and gone when this asks again; NULL: nobody can say, `error` says why
        // (-ETIMEDOUT, -EBUSY, -EINVAL, -ENOMEM ...).
        void (*answered)(const Argosy__Author *author, int error, void *userdata);
        void *userdata;
} AuthorQuestion;

// `source` is borrowed. 0 or negative errno.
int author_names_new(uv_loop_t *loop, const AccountSource *source, AuthorNames **ret);
// Nobody is answered any more. Asynchronous; what is in the pool may outlive it by minutes.
void author_names_close(AuthorNames *a);
// `groups`: besides `gid`, in any order. May answer before it returns. `owner` goes into the author.
void author_names_ask(AuthorNames *a, uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, bool owner,
                      AuthorQuestion *q);
// `q` is not answered; nothing if it waits for nothing.
void author_names_forget(AuthorQuestion *q);
