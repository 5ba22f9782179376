// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A header that decides something may be there once: of two, whoever stands between us and the client may have looked at the other.

#include "http-gate.h"

#include <arpa/inet.h>
#include <strings.h>

#include "http-bearer.h"
#include "http-target.h"
#include "macro.h"
#include "str.h"

void http_gate_init(HttpGate *g) {
        pthread_mutex_init(&g->lock, NULL);
}

void http_gate_done(HttpGate *g) {
        pthread_mutex_destroy(&g->lock);
}

void http_gate_set_names(HttpGate *g, const HttpNames *names, bool own_addresses) {
        pthread_mutex_lock(&g->lock);
        g->names = *names;
        g->own_addresses = own_addresses;
        pthread_mutex_unlock(&g->lock);
}

typedef struct Header {
        const char *name, *value;
        unsigned n;
} Header;

typedef struct Headers {
        Header host, authorization, origin;
} Headers;

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
        Headers *h = userdata;
        Header *all[] = {&h->host, &h->authorization, &h->origin};

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (strcasecmp(name, all[i]->name) == 0) {
                        all[i]->value = value ?: "";
                        all[i]->n++;
                }
        return MHD_YES;
}

static Headers find_headers(const HttpClaim *c) {
        Headers h = {{"Host"}, {"Authorization"}, {"Origin"}};

        (void) MHD_get_connection_values(c->connection, MHD_HEADER_KIND, on_header, &h);
        return h;
}

// A page of somebody else has a name of his and no address of ours, so who has found the way to an address may say it.
static bool is_where_he_came(const HttpClaim *c, const HttpName *name) {
        struct sockaddr_storage at = {};
        socklen_t len = sizeof(at);
        char text[INET6_ADDRSTRLEN];
        const void *address;

        if (getsockname(c->fd, (struct sockaddr *) &at, &len) < 0)
                return false;
        address = at.ss_family == AF_INET ? (const void *) &((struct sockaddr_in *) &at)->sin_addr
                                          : &((struct sockaddr_in6 *) &at)->sin6_addr;
        return inet_ntop(at.ss_family, address, text, sizeof(text)) && streq(text, name->text);
}

static bool is_asked_for_us(HttpGate *g, const HttpClaim *c, const HttpName *name) {
        bool is, own_addresses;

        pthread_mutex_lock(&g->lock);
        is = http_names_have(&g->names, name);
        own_addresses = g->own_addresses;
        pthread_mutex_unlock(&g->lock);
        return is || (own_addresses && is_where_he_came(c, name));
}

unsigned http_gate_judge(HttpGate *g, const HttpClaim *c, Hash *ret_proof, const char **ret_why) {
        Headers h = find_headers(c);
        HttpName name;

        *ret_why = "the request has not one Host";
        if (h.host.n != 1 || !http_name_of_host(h.host.value, &name))
                return 400;
        *ret_why = "this host is not asked for by that name";
        if (!is_asked_for_us(g, c, &name))
                return 421;
        *ret_why = "a token stands in the header Authorization, and never in a URL: it was seen by others "
                   "now, so revoke it";
        if (http_target_has_token(c->target))
                return 400;
        if (http_target_is_public(c->target))
                return 0;
        *ret_why = "who asks says so by one header Authorization: Bearer, with a token";
        if (h.authorization.n != 1 || !http_bearer_proof(h.authorization.value, ret_proof))
                return h.authorization.n > 1 ? 400 : 401;
        return 0;
}

bool http_gate_is_foreign(const HttpClaim *c) {
        Headers h = find_headers(c);

        return h.origin.n > 0 && (h.origin.n > 1 || !http_origin_is(h.origin.value, c->tls, h.host.value));
}
