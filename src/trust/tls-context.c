// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A context owns credentials (key and certificates in GnuTLS' form). Credentials are shared: a session keeps
// those that it began with while the context may already have renewed ones. Lifetimes:
//
//   TlsContext       last of: its owner, its sessions
//   TlsCredentials   last of: the context that has it, the sessions that began with it
//   TlsSession       its stream
//
// GnuTLS itself checks that a peer owns the key of its certificate, and nothing else; whom to trust is
// decided in tls_session_judge() from the key alone.
#include <errno.h>
#include <time.h>

#include "clock.h"
#include "identity.h"
#include "tls-context.h"
#include "x509.h"

#define PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3"

typedef struct TlsCredentials {
        unsigned n_refs;
        gnutls_certificate_credentials_t gnutls;
} TlsCredentials;

struct TlsContext {
        unsigned n_refs;
        TlsCredentials *credentials;
        gnutls_priority_t priorities; // of all its sessions: each would have 8 kB of its own
        TlsJudge judge;
        void *userdata;
        bool joiner;
        Hash ca_hash; // joiner
        gnutls_x509_crt_t own_ca; // of our certificate; NULL: it came without
        gnutls_x509_crt_t cas[TLS_CAS_MAX];
        size_t n_cas;
};

struct TlsSession {
        TlsContext *context;
        TlsCredentials *credentials;
        gnutls_session_t gnutls;
        bool server;
};

static const char *const protocols[] = {ALPN_MESH, ALPN_RAFT, ALPN_JOIN};

static bool is_offered(const char *protocol, const char *alpn) {
        return !alpn || streq(alpn, protocol);
}

static TlsCredentials *credentials_unref(TlsCredentials *c) {
        if (!c || --c->n_refs > 0)
                return NULL;
        if (c->gnutls)
                gnutls_certificate_free_credentials(c->gnutls);
        free(c);
        return NULL;
}
DEFINE_CLEANUP(TlsCredentials *, credentials_unref)

static int credentials_new(TlsCredentials **ret) {
        _cleanup_(credentials_unrefp) TlsCredentials *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;
        c->n_refs = 1;
        if (gnutls_certificate_allocate_credentials(&c->gnutls) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(c);
        return 0;
}

static int credentials_load(TlsCredentials *c, const Identity *identity, gnutls_x509_crt_t *ret_ca) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL, ca = NULL;
        int r;

        r = x509_key_read(identity->key.data, identity->key.len, &key);
        if (r < 0)
                return r;
        r = x509_cert_read(identity->cert.data, identity->cert.len, &cert);
        if (r < 0)
                return r;
        if (identity->ca_cert.len > 0) {
                r = x509_cert_read(identity->ca_cert.data, identity->ca_cert.len, &ca);
                if (r < 0)
                        return r;
        }
        r = gnutls_certificate_set_x509_key(c->gnutls, (gnutls_x509_crt_t[]){cert, ca}, ca ? 2 : 1, key);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        *ret_ca = TAKE_PTR(ca);
        return 0;
}

int tls_context_set_identity(TlsContext *c, const Identity *identity) {
        _cleanup_(credentials_unrefp) TlsCredentials *credentials = NULL;
        gnutls_x509_crt_t ca = NULL;
        int r;

        r = credentials_new(&credentials);
        if (r < 0)
                return r;
        r = credentials_load(credentials, identity, &ca);
        if (r < 0)
                return r;
        if (c->own_ca)
                gnutls_x509_crt_deinit(c->own_ca);
        c->own_ca = ca;
        credentials_unref(c->credentials);
        c->credentials = TAKE_PTR(credentials);
        return 0;
}

static void drop_cas(gnutls_x509_crt_t *cas, size_t n) {
        for (size_t i = 0; i < n; i++)
                gnutls_x509_crt_deinit(cas[i]);
}

int tls_context_set_cas(TlsContext *c, const Buf *certs, size_t n) {
        gnutls_x509_crt_t cas[TLS_CAS_MAX];

        if (n > TLS_CAS_MAX)
                return -E2BIG;
        for (size_t i = 0; i < n; i++) {
                int r = x509_cert_read(certs[i].data, certs[i].len, &cas[i]);

                if (r < 0) {
                        drop_cas(cas, i);
                        return r;
                }
        }
        drop_cas(c->cas, c->n_cas);
        memcpy(c->cas, cas, n * sizeof(*cas));
        c->n_cas = n;
        return 0;
}

static int set_priorities(TlsContext *c) {
        int r = gnutls_priority_init(&c->priorities, PRIORITIES, NULL);

        return r < 0 ? x509_errno(r, -EINVAL) : 0;
}

int tls_context_new(const Identity *identity, TlsJudge judge, void *userdata, TlsContext **ret) {
        _cleanup_(tls_context_unrefp) TlsContext *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        *c = (TlsContext){.n_refs = 1, .judge = judge, .userdata = userdata};
        r = set_priorities(c);
        if (r == 0)
                r = tls_context_set_identity(c, identity);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

int tls_context_new_joiner(const Hash *ca_hash, TlsContext **ret) {
        _cleanup_(tls_context_unrefp) TlsContext *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        *c = (TlsContext){.n_refs = 1, .joiner = true, .ca_hash = *ca_hash};
        r = set_priorities(c);
        if (r == 0)
                r = credentials_new(&c->credentials);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

TlsContext *tls_context_ref(TlsContext *c) {
        c->n_refs++;
        return c;
}

TlsContext *tls_context_unref(TlsContext *c) {
        if (!c || --c->n_refs > 0)
                return NULL;
        credentials_unref(c->credentials);
        drop_cas(c->cas, c->n_cas);
        if (c->own_ca)
                gnutls_x509_crt_deinit(c->own_ca);
        if (c->priorities)
                gnutls_priority_deinit(c->priorities);
        free(c);
        return NULL;
}

static int set_protocols(gnutls_session_t session, const char *alpn) {
        gnutls_datum_t names[ELEMENTSOF(protocols)];
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(protocols); i++)
                if (is_offered(protocols[i], alpn))
                        names[n++] = (gnutls_datum_t){(unsigned char *) protocols[i],
                                                      (unsigned) strlen(protocols[i])};
        return n > 0 ? gnutls_alpn_set_protocols(session, names, n, GNUTLS_ALPN_MANDATORY)
                     : GNUTLS_E_INVALID_REQUEST;
}

static int session_setup(TlsSession *s, const char *alpn) {
        // Tickets off: sessions live for days, and resuming one would need a second way to judge a peer.
        const unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;
        int r;

        r = gnutls_init(&s->gnutls, flags | (s->server ? GNUTLS_SERVER : GNUTLS_CLIENT));
        if (r < 0)
                return r;
        r = gnutls_priority_set(s->gnutls, s->context->priorities);
        if (r < 0)
                return r;
        r = gnutls_credentials_set(s->gnutls, GNUTLS_CRD_CERTIFICATE, s->credentials->gnutls);
        if (r < 0)
                return r;
        if (s->server)
                gnutls_certificate_server_set_request(s->gnutls, GNUTLS_CERT_REQUEST); // joiners have none
        return set_protocols(s->gnutls, alpn);
}

int tls_session_new(TlsContext *c, bool server, const char *alpn, TlsSession **ret) {
        _cleanup_(tls_session_freep) TlsSession *s = NULL;
        int r;

        if (server == (alpn != NULL) || (server && c->joiner))
                return -EINVAL;
        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (TlsSession){.context = tls_context_ref(c), .credentials = c->credentials, .server = server};
        s->credentials->n_refs++;
        r = session_setup(s, alpn);
        if (r < 0)
                return x509_errno(r, -EINVAL);
        *ret = TAKE_PTR(s);
        return 0;
}

TlsSession *tls_session_free(TlsSession *s) {
        if (!s)
                return NULL;
        if (s->gnutls)
                gnutls_deinit(s->gnutls);
        credentials_unref(s->credentials);
        tls_context_unref(s->context);
        free(s);
        return NULL;
}

gnutls_session_t tls_session_gnutls(TlsSession *s) {
        return s->gnutls;
}

static const char *selected_protocol(gnutls_session_t session) {
        gnutls_datum_t name;

        if (gnutls_alpn_get_selected_protocol(session, &name) < 0)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(protocols); i++)
                if (name.size == strlen(protocols[i]) && memcmp(name.data, protocols[i], name.size) == 0)
                        return protocols[i];
        return NULL;
}

// Whether the chain holds the certificate from the token, and that one signed the peer's.
static int judge_chain(const gnutls_datum_t *chain, unsigned n, gnutls_x509_crt_t cert, const Hash *ca_hash,
                       const char **ret_why) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t ca = NULL;
        int r;

        for (unsigned i = 1; i < n; i++) {
                Hash hash = hash_of(chain[i].data, chain[i].size);

                if (!hash_equal(&hash, ca_hash))
                        continue;
                r = x509_cert_read(chain[i].data, chain[i].size, &ca);
                if (r == 0 && x509_is_signed_by(cert, ca))
                        return 0;
                *ret_why = "shows a certificate that the CA of the join token did not sign";
                return -EACCES;
        }
        *ret_why = "belongs to another cluster than the join token";
        return -EACCES;
}

static int judge_pin(const TlsContext *c, const Hash *expect_pin, const TlsPeer *peer,
                     gnutls_x509_crt_t cert, const char **ret_why) {
        if (expect_pin) {
                if (hash_equal(expect_pin, &peer->pin))
                        return 0;
                *ret_why = "has another key than the one known for it";
                return -EACCES;
        }
        switch (c->judge ? c->judge(&peer->pin, peer->alpn, c->userdata) : TLS_STRANGER) {
        case TLS_MEMBER:
                return 0;
        case TLS_REMOVED:
                *ret_why = "was removed from the cluster";
                return -EKEYREVOKED;
        case TLS_GUEST:
                if (c->own_ca && x509_is_signed_by(cert, c->own_ca))
                        return 0;
                break;
        case TLS_STRANGER:
                break;
        }
        *ret_why = "has a key that is not known as a member's";
        return -EACCES;
}

static bool out_of_date(gnutls_x509_crt_t cert) {
        time_t now = (time_t) (clock_wall_us() / USEC_PER_SEC);

        return now < gnutls_x509_crt_get_activation_time(cert) ||
               now >= gnutls_x509_crt_get_expiration_time(cert);
}

static bool is_outdated(const TlsContext *c, gnutls_x509_crt_t cert) {
        for (size_t i = 0; i < c->n_cas; i++)
                if (x509_is_signed_by(cert, c->cas[i]))
                        return false;
        return c->n_cas > 0;
}

int tls_session_judge(TlsSession *s, const Hash *expect_pin, TlsPeer *ret, const char **ret_why) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        TlsPeer peer = {.alpn = selected_protocol(s->gnutls)};
        const gnutls_datum_t *chain;
        unsigned n = 0;
        int r;

        *ret_why = "cannot be judged: out of memory";
        if (!peer.alpn) {
                *ret_why = "speaks none of our protocols";
                return -EACCES;
        }
        if (s->server && streq(peer.alpn, ALPN_JOIN)) {
                *ret = peer;
                return 0;
        }
        chain = gnutls_certificate_get_peers(s->gnutls, &n);
        if (!chain || n == 0) {
                *ret_why = "shows no certificate";
                return -EACCES;
        }
        r = x509_cert_read(chain[0].data, chain[0].size, &cert);
        if (r == 0)
                r = x509_cert_pin(cert, &peer.pin);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                *ret_why = "shows a certificate that cannot be read";
                return -EACCES;
        }
        peer.expired = out_of_date(cert);
        r = s->context->joiner ? judge_chain(chain, n, cert, &s->context->ca_hash, ret_why)
                               : judge_pin(s->context, expect_pin, &peer, cert, ret_why);
        if (r < 0)
                return r;
        peer.outdated = !s->context->joiner && is_outdated(s->context, cert);
        if (peer.outdated && streq(peer.alpn, ALPN_RAFT)) {
                *ret_why = "has a certificate of a CA that the cluster does not have; it has to get another "
                           "one first";
                return -EACCES;
        }
        *ret = peer;
        return 0;
}
