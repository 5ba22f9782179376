// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// libuv's pool, which serves in order of arrival, and by which the log is written. So all but libraft hands
// its work in here, where each sort of work has a share of the threads, and all together leave
// POOL_LOG_THREADS:
//
//      POOL_CLUSTER     what the cluster waits for: unit files, the fence record, messages of members,
//                       snapshots
//      POOL_GUESTS      what is done for somebody who asks: journals, messages of clients, documents
//      POOL_LATER       what nobody waits for: memory that is given back
//      POOL_USERS       users' names, which may hang for minutes: beside the others
//      POOL_HOSTS       hosts' names, likewise
//      POOL_PLACES      paths on file systems of others, whose servers may be dead: likewise
//
// What finds no thread stands in a line of its sort, and the sorts are served in this order. Work that
// belongs to an account gives way to that of others in its line while other work of the same account is
// under way; and it waits for that, if the client decides how long it takes (PoolWork.alone): so no account
// has the whole share.

#include <stdbool.h>
#include <uv.h>

#include "list.h"

typedef struct PoolWork PoolWork;

typedef enum PoolShare {
        POOL_CLUSTER,
        POOL_GUESTS,
        POOL_LATER,
        POOL_USERS,
        POOL_HOSTS,
        POOL_PLACES,
        _POOL_SHARES
} PoolShare;

enum {
        POOL_LOG_THREADS = 2, // at the least, for libraft
        POOL_OURS = 4,        // of the shares that do not hang, together
        POOL_GUESTS_MAX = 2,
        POOL_LATER_MAX = 1,
        POOL_USERS_MAX = 2,
        POOL_HOSTS_MAX = 2,
        POOL_PLACES_MAX = 3,
        POOL_OWN_NAME_THREADS = 1, // libuv's own look-up of this machine's full name
        POOL_THREADS = POOL_LOG_THREADS + POOL_OURS + POOL_USERS_MAX + POOL_HOSTS_MAX + POOL_PLACES_MAX +
                       POOL_OWN_NAME_THREADS,
};
_Static_assert(POOL_GUESTS_MAX + POOL_LATER_MAX < POOL_OURS, "whatever others do, the cluster has a thread");

// Zero-initialised; its memory is the caller's until `done`.
struct PoolWork {
        uv_work_t work; // `work.data` is the caller's
        uv_loop_t *loop;
        ListNode link; // in its line
        PoolShare share;
        const void *of; // on whose behalf, an Account perhaps; NULL: nobody's
        bool alone;     // not while other work of the same is under way
        void (*run)(PoolWork *w);  // by a thread: touches nothing but what was handed over
        void (*done)(PoolWork *w); // on the loop; may free it
};

// From the thread that runs the loop, which has all these shares for itself.
void pool_add(uv_loop_t *loop, PoolWork *w, PoolShare share, void (*run)(PoolWork *w),
              void (*done)(PoolWork *w));

// `release` by a thread, of what is large, one after the other. Nobody hears of it; without memory it is
// done at once.
void pool_release(uv_loop_t *loop, void *what, void (*release)(void *what));
// On the loop, when all that was released before is gone.
void pool_after_releases(uv_loop_t *loop, PoolWork *w, void (*done)(PoolWork *w));
