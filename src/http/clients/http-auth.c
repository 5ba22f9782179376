// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Judges whether and as whom a request of HTTP is served: host name, then certificate, session or bearer
// token.
//
//      http_auth_judge() -> 0 and the principal; 400, 401 or 421 and why
//          -> the caller answers with a problem
//
// A header that decides something may be there once: a proxy in between may have looked at the other one.
// Names, proxies and sessions are behind one lock, as threads of listeners ask. http-sessions.c has the
// limits.

#include "http-auth.h"

#include <arpa/inet.h>
#include <strings.h>

#include "clock.h"
#include "http-bearer.h"
#include "http-target.h"
#include "macro.h"
#include "str.h"

void http_auth_init(HttpAuth *g) {
        pthread_mutex_init(&g->lock, NULL);
}

void http_auth_done(HttpAuth *g) {
        http_sessions_done(&g->sessions);
        pthread_mutex_destroy(&g->lock);
}

void http_auth_set_names(HttpAuth *g, const HttpNames *names, bool own_addresses) {
        pthread_mutex_lock(&g->lock);
        g->names = *names;
        g->own_addresses = own_addresses;
        pthread_mutex_unlock(&g->lock);
}

void http_auth_set_proxies(HttpAuth *g, const HttpProxies *proxies) {
        pthread_mutex_lock(&g->lock);
        g->proxies = *proxies;
        pthread_mutex_unlock(&g->lock);
}

bool http_auth_trusts(HttpAuth *g, const struct sockaddr *from) {
        bool trusts;

        pthread_mutex_lock(&g->lock);
        trusts = http_proxies_have(&g->proxies, from);
        pthread_mutex_unlock(&g->lock);
        return trusts;
}

typedef struct Header {
        const char *name, *value;
        unsigned n;
} Header;

typedef struct Headers {
        Header host, authorization, cookie, origin, forwarded_host, forwarded_proto;
} Headers;

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
        Headers *h = userdata;
        Header *all[] = {&h->host,   &h->authorization,  &h->cookie,
                         &h->origin, &h->forwarded_host, &h->forwarded_proto};

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (strcasecmp(name, all[i]->name) == 0) {
                        all[i]->value = value ?: "";
                        all[i]->n++;
                }
        return MHD_YES;
}

static Headers find_all(struct MHD_Connection *connection) {
        Headers h = {{"Host"},   {"Authorization"},    {"Cookie"},
                     {"Origin"}, {"X-Forwarded-Host"}, {"X-Forwarded-Proto"}};

        (void) MHD_get_connection_values(connection, MHD_HEADER_KIND, on_header, &h);
        return h;
}

// The headers of the request; behind a trusted proxy X-Forwarded-Host stands for Host.
static Headers find_headers(const HttpClaim *c) {
        Headers h = find_all(c->connection);

        if (c->by_proxy && h.forwarded_host.n > 0)
                h.host = h.forwarded_host;
        return h;
}

typedef struct Following {
        HttpProxies proxies;
        struct sockaddr_storage client;
        bool found;
} Following;

static enum MHD_Result on_forwarded(void *userdata, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
        Following *f = userdata;

        if (strcasecmp(name, "X-Forwarded-For") == 0)
                http_proxies_follow(&f->proxies, value ?: "", &f->client, &f->found);
        return MHD_YES;
}

Principal http_auth_client(HttpAuth *g, struct MHD_Connection *connection, const Principal *proxy) {
        Following f = {};

        pthread_mutex_lock(&g->lock);
        f.proxies = g->proxies;
        pthread_mutex_unlock(&g->lock);
        (void) MHD_get_connection_values(connection, MHD_HEADER_KIND, on_forwarded, &f);
        return f.found ? principal_of_address((struct sockaddr *) &f.client) : *proxy;
}

// More than one X-Forwarded-Proto means "not secure", as it is not known which proxy wrote which.
bool http_auth_is_secure(struct MHD_Connection *connection, bool tls) {
        Headers h = find_all(connection);

        return h.forwarded_proto.n == 0
                       ? tls
                       : h.forwarded_proto.n == 1 && strcasecmp(h.forwarded_proto.value, "https") == 0;
}

// Whether Host is the address at which the client connected. This is safe against DNS rebinding: a foreign
// page would be asked for by its own name.
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

static bool is_asked_for_us(HttpAuth *g, const HttpClaim *c, const HttpName *name) {
        bool is, own_addresses;

        pthread_mutex_lock(&g->lock);
        is = http_names_have(&g->names, name);
        own_addresses = g->own_addresses;
        pthread_mutex_unlock(&g->lock);
        return is || (own_addresses && is_where_he_came(c, name));
}

static bool has_session(HttpAuth *g, const Hash *session, Hash *ret_proof) {
        bool has;

        pthread_mutex_lock(&g->lock);
        has = http_sessions_find(&g->sessions, session, clock_boot_us(), ret_proof);
        pthread_mutex_unlock(&g->lock);
        return has;
}

// A session needs TLS, since a cookie in clear text can be read by others.
static bool find_session(HttpAuth *g, const HttpClaim *c, const Header *cookie, HttpPrincipal *ret) {
        char id[HTTP_SECRET_SIZE];

        if (!c->tls || cookie->n != 1 || !http_cookie_find(cookie->value, id))
                return false;
        ret->by_session = true;
        ret->session = hash_of(id, strlen(id));
        return has_session(g, &ret->session, &ret->proof);
}

// The handshake has proved that the client has the certificate's key. Its issuer does not matter: the leader
// knows the proof, or it does not.
static unsigned find_certificate(const HttpClaim *c, HttpPrincipal *ret, const char **ret_why) {
        *ret_why = "who asks says so by a certificate: argosyctl token create --certificate makes one";
        if (!c->certificate)
                return 401;
        ret->proof = access_token_certificate_proof(c->certificate, c->certificate_len);
        return 0;
}

unsigned http_auth_judge(HttpAuth *g, const HttpClaim *c, HttpPrincipal *ret, const char **ret_why) {
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
        if (c->by_certificate)
                return find_certificate(c, ret, ret_why);
        if (http_target_is_public(c->target))
                return 0;
        *ret_why = "there is no session of that cookie, or none any more";
        if (h.authorization.n == 0 && h.cookie.n > 0)
                return find_session(g, c, &h.cookie, ret) ? 0 : 401;
        *ret_why = "who asks says so by one header Authorization: Bearer, with a token";
        if (h.authorization.n != 1 || !http_bearer_proof(h.authorization.value, &ret->proof))
                return h.authorization.n > 1 ? 400 : 401;
        return 0;
}

int http_auth_begin_session(HttpAuth *g, const Hash *proof, char ret_id[HTTP_SECRET_SIZE]) {
        int r;

        pthread_mutex_lock(&g->lock);
        r = http_sessions_begin(&g->sessions, proof, clock_boot_us(), ret_id);
        pthread_mutex_unlock(&g->lock);
        return r;
}

void http_auth_end_session(HttpAuth *g, const HttpPrincipal *principal) {
        pthread_mutex_lock(&g->lock);
        http_sessions_end(&g->sessions, &principal->session);
        pthread_mutex_unlock(&g->lock);
}

void http_auth_refuse(HttpAuth *g, const HttpPrincipal *principal) {
        pthread_mutex_lock(&g->lock);
        http_sessions_end_of(&g->sessions, &principal->proof);
        pthread_mutex_unlock(&g->lock);
}

bool http_auth_still_lets(HttpAuth *g, const HttpPrincipal *principal) {
        Hash proof;

        return !principal->by_session || has_session(g, &principal->session, &proof);
}

bool http_auth_is_foreign(const HttpClaim *c, const HttpPrincipal *principal) {
        Headers h = find_headers(c);

        if (h.origin.n == 0)
                return principal->by_session;
        return h.origin.n > 1 || !http_origin_is(h.origin.value, c->tls, h.host.value);
}
