// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The addresses of a host's name, with a deadline. The resolver may take minutes, and a thread that has
// asked it cannot be called back; so `done` is called at the deadline, and a later answer is dropped. It
// runs in the pool (POOL_HOSTS); the time in which it waits there for other look-ups counts, too.

#include <uv.h>

typedef struct HostLookup HostLookup;

// 0 and `found`, the callee's (freeaddrinfo()); -ETIMEDOUT; or -EADDRNOTAVAIL and the resolver's words, else
// "".
typedef void HostLookupDone(int error, const char *why, struct addrinfo *found, void *userdata);

// done() is called once, never before return; then *ret is not valid any more. -ENOMEM: it is not called.
int host_lookup_new(uv_loop_t *loop, const char *name, unsigned timeout_ms, HostLookupDone *done,
                    void *userdata, HostLookup **ret);
// done() is not called any more. NULL: nothing.
void host_lookup_cancel(HostLookup *l);
