// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Our identity and the peers that are trusted, for every TLS connection: TLS 1.3 only, certificates on both
// sides, one port, and the application protocol (ALPN) says what the connection is for. Trust is the pinned
// public key (SHA-256 of SubjectPublicKeyInfo), not the certificate's dates or signature: an expired
// certificate of a pinned key is welcome, and TlsPeer says so for a warning.
//
// A stranger that wants to join shows no certificate; a server lets it in with ALPN_JOIN and with nothing
// else.

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "buf.h"
#include "hash.h"
#include "macro.h"

#define ALPN_MESH "argosy/1"
#define ALPN_RAFT "argosy-raft/1"
#define ALPN_JOIN "argosy-join/1"

typedef struct Identity Identity; // include/identity.h
typedef struct TlsContext TlsContext;

typedef enum TlsVerdict {
        TLS_STRANGER, // not known
        TLS_GUEST,    // not known, and let in if the CA of our own certificate signed the peer's, whose time
                      // may be over
        TLS_MEMBER,   // go on
        TLS_REMOVED,  // was a member's, and will never be one's again: the peer is told so
} TlsVerdict;

// Judges a peer's public key. Called from the handshake of either side, except for ALPN_JOIN and where the
// dialler named the pin that it expects. `alpn` is one of the constants above.
typedef TlsVerdict (*TlsJudge)(const Hash *pin, const char *alpn, void *userdata);

// `identity` needs key and certificate; its CA certificate, if any, is sent along, so that joiners can check
// it against their token. Everything is copied. `userdata` must outlive all sessions of the context.
// -EBADMSG: key or certificate unusable.
int tls_context_new(const Identity *identity, TlsJudge judge, void *userdata, TlsContext **ret);
// For a joiner, dialling only: no certificate of its own. The server must show the CA certificate that has
// this SHA-256 and a certificate that this CA signed.
int tls_context_new_joiner(const Hash *ca_hash, TlsContext **ret);
// A renewed certificate: for sessions begun from now on; those that run keep what they have. On error
// nothing changed.
int tls_context_set_identity(TlsContext *c, const Identity *identity);
// The CAs of which one is to have signed a member's certificate, for sessions judged from now on
// (TlsPeer.outdated); n 0: any CA. More than TLS_CAS_MAX are -E2BIG; on error nothing changed.
enum { TLS_CAS_MAX = 4 };
int tls_context_set_cas(TlsContext *c, const Buf *certs, size_t n);
TlsContext *tls_context_ref(TlsContext *c);
TlsContext *tls_context_unref(TlsContext *c);
DEFINE_CLEANUP(TlsContext *, tls_context_unref)

// ---- For src/wire. A session holds a reference to its context.
typedef struct TlsSession TlsSession;

typedef struct TlsPeer {
        Hash pin;         // zero for ALPN_JOIN at the server
        const char *alpn; // one of the constants above
        bool expired;     // its certificate's time is over (or has not begun)
        bool outdated;    // its certificate is of none of the CAs, so it is to get another one. Never with
                          // ALPN_RAFT: that is refused
} TlsPeer;

// `alpn` is what a client offers; a server (alpn NULL) offers all. -EINVAL: a joiner's context cannot serve.
int tls_session_new(TlsContext *c, bool server, const char *alpn, TlsSession **ret);
TlsSession *tls_session_free(TlsSession *s);
DEFINE_CLEANUP(TlsSession *, tls_session_free)
// Borrowed, for gnutls_handshake() and the transport functions.
gnutls_session_t tls_session_gnutls(TlsSession *s);
// After the handshake. `expect_pin` NULL: ask the judge. -EACCES if the peer is not welcome, -EKEYREVOKED if
// it was removed, -ENOMEM; all with *ret_why, a static sentence that goes on from the peer's name.
int tls_session_judge(TlsSession *s, const Hash *expect_pin, TlsPeer *ret, const char **ret_why);
