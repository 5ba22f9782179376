// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The name that a stream dials: looked up in the pool -> one of its addresses, any -> connect. A name that
// is not found fails the stream like an address that does not answer.
//
// A look-up that a thread works on cannot be called back and may take as long as the resolver's patience, so
// it has memory of its own, which outlives a stream that is closed meanwhile. Look-ups have a share of the
// pool's threads (POOL_HOSTS), so that nothing else waits for them.
#include <errno.h>
#include <netdb.h>
#include <stdio.h>

#include "pool.h"
#include "random.h"
#include "str.h"
#include "stream-internal.h"

struct StreamLookup {
        PoolWork work;
        Stream *stream; // NULL: closed since
        _Atomic bool forgotten; // then nobody need look
        struct addrinfo *found;
        int error; // EAI_*
        char name[STREAM_NAME_MAX + 1];
};

uint16_t stream_address_text(const struct sockaddr *from, char ret[STREAM_ADDRESS_SIZE]) {
        *ret = 0;
        if (from->sa_family == AF_INET6) {
                const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *) from;

                if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) // its last four bytes
                        uv_inet_ntop(AF_INET, in6->sin6_addr.s6_addr + 12, ret, STREAM_ADDRESS_SIZE);
                else
                        uv_ip6_name(in6, ret, STREAM_ADDRESS_SIZE);
                return ntohs(in6->sin6_port);
        }
        if (from->sa_family != AF_INET)
                return 0;
        uv_ip4_name((const struct sockaddr_in *) from, ret, STREAM_ADDRESS_SIZE);
        return ntohs(((const struct sockaddr_in *) from)->sin_port);
}

// Any of them, so that a link that dials again and again comes to each.
static struct addrinfo *choose(struct addrinfo *found) {
        uint32_t n = 0;
        struct addrinfo *a;

        for (a = found; a; a = a->ai_next)
                n++;
        a = found;
        for (uint32_t skip = random_below(n); skip > 0; skip--)
                a = a->ai_next;
        return a;
}

static void run_lookup(PoolWork *w) {
        StreamLookup *l = CONTAINER_OF(w, StreamLookup, work);
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};

        l->error = l->forgotten ? EAI_AGAIN : getaddrinfo(l->name, NULL, &hints, &l->found);
}

static void on_looked_up(PoolWork *w) {
        StreamLookup *l = CONTAINER_OF(w, StreamLookup, work);
        struct addrinfo *found = l->found;
        int error = l->error;
        Stream *s = l->stream;
        struct addrinfo *a;

        free(l);
        if (s)
                s->lookup = NULL;
        if (s && (error != 0 || !found))
                stream_fail(s, -EADDRNOTAVAIL, false, "the name was not found: %s",
                            gai_strerror(error ?: EAI_NODATA));
        else if (s) {
                a = choose(found);
                if (a->ai_family == AF_INET6)
                        ((struct sockaddr_in6 *) a->ai_addr)->sin6_port = htons(s->peer.port);
                else
                        ((struct sockaddr_in *) a->ai_addr)->sin_port = htons(s->peer.port);
                (void) stream_address_text(a->ai_addr, s->peer.address);
                stream_connect(s, a->ai_addr);
        }
        if (found)
                freeaddrinfo(found);
}

void stream_lookup(Stream *s, const char *name) {
        StreamLookup *l = calloc(1, sizeof(*l));

        if (!l) {
                stream_fail(s, -EADDRNOTAVAIL, false, "the name was not found: %s", strerror(ENOMEM));
                return;
        }
        l->stream = s;
        (void) str_copy(l->name, sizeof(l->name), name); // it fits: stream_dial()
        s->lookup = l;
        pool_add(s->handle.loop, &l->work, POOL_HOSTS, run_lookup, on_looked_up);
}

void stream_lookup_forget(Stream *s) {
        StreamLookup *l = TAKE_PTR(s->lookup);

        if (!l)
                return;
        l->stream = NULL;
        l->forgotten = true;
}
