// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The addresses of a host's name, resolved in the pool, with a time limit:
//
//      host_lookup_new() -> [pool] getaddrinfo() -> done()
//                        -> the time is over    -> done(), and the answer is dropped
//
// A look-up lives until its thread and its timer are both done with it, which may be long after its caller
// has gone. Failures: -ENOMEM at once; -ETIMEDOUT and -EADDRNOTAVAIL (with the resolver's words) by done().

#include "host-lookup.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "pool.h"
#include "str.h"
#include "time-limit.h"

struct HostLookup {
        PoolWork work;
        TimeLimit limit;
        HostLookupDone *done; // NULL: it was called, or is not to be
        void *userdata;
        unsigned refs;          // the thread, the timer
        _Atomic bool forgotten; // then no thread need look
        struct addrinfo *found;
        int error; // EAI_*
        char name[];
};

static void unref(HostLookup *l) {
        if (--l->refs > 0)
                return;
        if (l->found)
                freeaddrinfo(l->found);
        free(l);
}

static void on_limit_closed(uv_handle_t *handle) {
        unref(CONTAINER_OF((uv_timer_t *) handle, HostLookup, limit.timer));
}

// Ends the wait and returns the callback to call; NULL: it was called, or the look-up was cancelled.
static HostLookupDone *end(HostLookup *l) {
        HostLookupDone *done = TAKE_PTR(l->done);

        l->forgotten = true;
        if (done)
                time_limit_close(&l->limit, on_limit_closed);
        return done;
}

void host_lookup_cancel(HostLookup *l) {
        if (l)
                (void) end(l);
}

static void on_over(void *userdata) {
        HostLookup *l = userdata;
        HostLookupDone *done = end(l);

        if (done)
                done(-ETIMEDOUT, "", NULL, l->userdata);
}

static void run(PoolWork *w) {
        HostLookup *l = CONTAINER_OF(w, HostLookup, work);
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};

        l->error = l->forgotten ? EAI_AGAIN : getaddrinfo(l->name, NULL, &hints, &l->found);
}

static void on_run(PoolWork *w) {
        HostLookup *l = CONTAINER_OF(w, HostLookup, work);
        HostLookupDone *done = end(l);

        if (done && l->error == 0 && l->found)
                done(0, "", TAKE_PTR(l->found), l->userdata);
        else if (done)
                done(-EADDRNOTAVAIL, gai_strerror(l->error ?: EAI_NODATA), NULL, l->userdata);
        unref(l);
}

int host_lookup_new(uv_loop_t *loop, const char *name, unsigned timeout_ms, HostLookupDone *done,
                    void *userdata, HostLookup **ret) {
        HostLookup *l = NEW_WITH_TEXT(HostLookup, name, name);

        if (!l)
                return -ENOMEM;
        l->done = done;
        l->userdata = userdata;
        l->refs = 2;
        time_limit_init(&l->limit, loop, l);
        time_limit_start(&l->limit, timeout_ms, on_over);
        pool_add(loop, &l->work, POOL_HOSTS, run, on_run);
        *ret = l;
        return 0;
}
