// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The peer of a connection, and its place among the connections (accounts.h). Used by the HTTP thread alone,
// but for what the accounts do with the place.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "accounts.h"
#include "http-handshakes.h"
#include "http-pace.h"

// The other end of a connection, as the kernel describes it.
typedef struct HttpPeer {
        AccountHolding holding;
        Principal of;   // the principal of its requests: the user, or the address until a token was valid
        bool over_tcp;  // then nothing is known of who it is
        bool by_proxy;  // that is believed: each request may be somebody else's
        bool is_known;  // but that it has shown a token that was good:
        Hash proof;     // this one
        HttpPaced paced;
        HttpHandshake handshake; // with TLS
        struct HttpCall *call; // of which not everything was answered; NULL: there is none
        bool tls;
        int fd;     // borrowed
        bool owner; // root, or whom this process runs as
        uid_t uid;
        gid_t gid;
        gid_t *groups;
        size_t n_groups;
        bool one_too_many; // it has no place: it is told so, and has to go
        uint64_t
                sees_all_by; // 1 + the revision of rights by which it may see everything; 0: it may not
} HttpPeer;

// The peer of a unix socket, which is shut down when another connection gets its place. NULL: its
// credentials are not known, or out of memory.
HttpPeer *http_peer_new(Accounts *accounts, int fd);
// The same over TCP: not identified until one of its requests has a token. `by_proxy`: it is a proxy that we
// trust, which has places of its own. NULL: there is no place for it either.
HttpPeer *http_peer_new_tcp(Accounts *accounts, const struct sockaddr *from, int fd, bool tls,
                            bool by_proxy);
// The head of a request has come: the connection is busy until it is answered.
void http_peer_asks(Accounts *accounts, HttpPeer *p);
// A token of that proof was good: the place is its from now on, if it has one left.
void http_peer_note_token(Accounts *accounts, HttpPeer *p, const Hash *proof);
// The principal of a request with that token. `from`: the peer, or behind a proxy the client that the proxy
// names.
Principal http_peer_principal(const HttpPeer *p, const Hash *proof, const Principal *from);
// Whether the peer has closed and reads no more. Over TCP a peer that has only ended sending looks the same
// as one that has closed, until its kernel was sent data or a keep-alive probe (HTTP_TCP_SILENT_SEC).
bool http_peer_is_gone(const HttpPeer *p);
// Before its socket is closed.
void http_peer_free(Accounts *accounts, HttpPeer *p);
