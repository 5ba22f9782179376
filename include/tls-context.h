// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who we are and whom we talk to, for every TLS connection: TLS 1.3 only, certificates on both sides, one port, the application
// protocol says what for. Trust is the pinned public key (SHA-256 of SubjectPublicKeyInfo), not the certificate's dates.

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "hash.h"

#define ALPN_MESH "argosy/1"
#define ALPN_RAFT "argosy-raft/1"
#define ALPN_JOIN "argosy-join/1"

typedef struct TlsContext TlsContext;

// Judges a peer's public key. True: go on. For ALPN_JOIN the listener's side has no client certificate and is not asked.
typedef bool (*TlsJudge)(const Hash *pin, const char *alpn, void *userdata);

// cert and key as DER. The context is reference-counted: each session holds one.
int tls_context_new(const void *cert, size_t cert_len, const void *key, size_t key_len, TlsJudge judge, void *userdata, TlsContext **ret);
// For a joiner: no certificate of its own; the server must show a chain to the CA whose certificate has this SHA-256.
int tls_context_new_joiner(const Hash *ca_hash, TlsContext **ret);
TlsContext *tls_context_ref(TlsContext *c);
TlsContext *tls_context_unref(TlsContext *c);
DEFINE_CLEANUP(TlsContext *, tls_context_unref)
// The CA's certificate is sent along (chain), so that joiners can check it against their token.
int tls_context_set_chain(TlsContext *c, const void *ca_cert, size_t len);

// One session. `alpn` is what a client offers; a server offers all. For src/wire only.
int tls_context_session(TlsContext *c, bool server, const char *alpn, gnutls_session_t *ret);
// After the handshake: the peer's pin and the protocol; -EACCES with *ret_why (static) if the peer is not welcome.
int tls_context_judge(TlsContext *c, gnutls_session_t session, const Hash *expect_pin, Hash *ret_pin, const char **ret_alpn, const char **ret_why);
