// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the accounts of this host call a user and his groups. Asking them may take seconds (a directory over the network),
// so it is done in the pool, one question at a time: whoever hangs there takes one of its threads and not all of them,
// which the log needs, too. Names are kept for a while; many connections of one user ask once.
//
//      author_names_ask() -> kept: at once
//                         -> in the pool, or behind who is there -> `answered`, once
//                         -> nobody has answered for AUTHOR_LOOKUP_MS -> `answered` without an author
//
// The end of a user's membership of a group is seen as late as AUTHOR_KEPT_MS; a process keeps the groups that it began with
// anyhow.

#include <sys/types.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "list.h"

enum {
        AUTHOR_KEPT_MAX = 64,       // users whose names are kept; the oldest goes
        AUTHOR_KEPT_MS = 30 * 1000, // and for how long
        AUTHOR_LOOKUP_MS = 10 * 1000,
        AUTHOR_WAITING_MAX = 64,    // different users who wait for their names
        AUTHOR_ACCOUNT_BYTES = 256 * 1024, // of one account, as it is read
};

typedef struct AuthorNames AuthorNames;

// By whom accounts are asked; called in the pool. 0 and a name to be freed, -ENOENT: there is none; or another negative
// errno.
typedef struct AccountSource {
        int (*user)(uid_t uid, char **ret);
        int (*group)(gid_t gid, char **ret);
} AccountSource;
extern const AccountSource account_source_system;

// Of whoever waits; a zeroed one waits for nothing.
typedef struct AuthorQuestion {
        ListNode link;
        // `author` is borrowed; NULL: nobody can say, `error` says why (-ETIMEDOUT, -EBUSY, -EINVAL, -ENOMEM ...).
        void (*answered)(const Argosy__Author *author, int error, void *userdata);
        void *userdata;
} AuthorQuestion;

// `source` is borrowed. 0 or negative errno.
int author_names_new(uv_loop_t *loop, const AccountSource *source, AuthorNames **ret);
// Nobody is answered any more. Asynchronous; what is in the pool may outlive it by a while.
void author_names_close(AuthorNames *a);
// `groups`: besides `gid`, in any order. May answer before it returns. `owner` goes into the author.
void author_names_ask(AuthorNames *a, uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, bool owner, AuthorQuestion *q);
// `q` is not answered; nothing if it waits for nothing.
void author_names_forget(AuthorQuestion *q);
