// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The name that a stream dials: looked up in the pool -> one of its addresses, any -> connect. A name that
// is not found fails the stream like an address that does not answer.
//
// A look-up that a thread works on cannot be called back and may take as long as the resolver's patience, so
// it has memory of its own, which outlives a stream that is closed meanwhile. libuv lets look-ups have half
// of the pool's threads at most: those that write the log are never all taken.
#include <errno.h>
#include <stdio.h>

#include "stream-internal.h"

struct StreamLookup {
        uv_getaddrinfo_t request;
        Stream *stream; // NULL: closed since
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
        uint32_t random = 0, n = 0;
        struct addrinfo *a;

        for (a = found; a; a = a->ai_next)
                n++;
        (void) uv_random(NULL, NULL, &random, sizeof(random), 0, NULL); // without it: the first
        a = found;
        for (random %= n; random > 0; random--)
                a = a->ai_next;
        return a;
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found) {
        StreamLookup *l = request->data;
        Stream *s = l->stream;
        struct addrinfo *a;

        free(l);
        if (s)
                s->lookup = NULL;
        if (s && (status < 0 || !found))
                stream_fail(s, -EADDRNOTAVAIL, false, "the name was not found: %s",
                            uv_strerror(status < 0 ? status : UV_EAI_NODATA));
        else if (s) {
                a = choose(found);
                if (a->ai_family == AF_INET6)
                        ((struct sockaddr_in6 *) a->ai_addr)->sin6_port = htons(s->peer.port);
                else
                        ((struct sockaddr_in *) a->ai_addr)->sin_port = htons(s->peer.port);
                (void) stream_address_text(a->ai_addr, s->peer.address);
                stream_connect(s, a->ai_addr);
        }
        uv_freeaddrinfo(found);
}

void stream_lookup(Stream *s, const char *name) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
        StreamLookup *l = calloc(1, sizeof(*l));
        int r = UV_ENOMEM;

        if (l) {
                l->stream = s;
                l->request.data = l;
                r = uv_getaddrinfo(s->handle.loop, &l->request, on_looked_up, name, NULL, &hints);
        }
        if (r == 0) {
                s->lookup = l;
                return;
        }
        free(l);
        stream_fail(s, -EADDRNOTAVAIL, false, "the name was not found: %s", uv_strerror(r));
}

void stream_lookup_forget(Stream *s) {
        StreamLookup *l = TAKE_PTR(s->lookup);

        if (!l)
                return;
        l->stream = NULL;
        (void) uv_cancel((uv_req_t *) &l->request); // those that have not begun come back at once
}
