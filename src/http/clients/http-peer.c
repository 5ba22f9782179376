// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A connection of HTTP as its account sees it: the peer's user or address, and the place that it holds
// (accounts.h).
//
//      http_peer_new(), http_peer_new_tcp() -> http_peer_asks() per request -> http_peer_note_token()
//          -> http_peer_free()
//
// The place is held from before the first byte until just before the socket is closed, so an eviction, which
// may come from any thread, never shuts another connection's socket down. NULL: no memory or credentials, or
// over TCP no place in the account; a unix socket's peer without a place has one_too_many.

#include "http-peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http-limits.h"
#include "macro.h"

enum { GROUPS_MAX = 65536 }; // the kernel's NGROUPS_MAX

void http_peer_free(Accounts *accounts, HttpPeer *p) {
        account_holding_close(accounts, &p->holding);
        free(p->groups);
        free(p);
}

// Called from any thread; libmicrohttpd's thread, which owns the connection, notices by the socket.
static void on_evict(AccountHolding *h) {
        (void) shutdown(CONTAINER_OF(h, HttpPeer, holding)->fd, SHUT_RDWR);
}

static int find_groups(int fd, HttpPeer *p) {
        socklen_t len = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || errno != ERANGE)
                return len == 0 ? 0 : -errno;
        if (len / sizeof(gid_t) > GROUPS_MAX)
                return -E2BIG;
        p->groups = malloc(len);
        if (!p->groups)
                return -ENOMEM;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, p->groups, &len) < 0)
                return -errno;
        p->n_groups = len / sizeof(gid_t);
        return 0;
}

static bool is_owner(uid_t uid) {
        return uid == 0 || uid == geteuid();
}

bool http_peer_is_gone(const HttpPeer *p) {
        struct pollfd f = {.fd = p->fd};

        return poll(&f, 1, 0) > 0 && (f.revents & (POLLHUP | POLLERR));
}

// Notices clients that have vanished: by data that stays unacknowledged for HTTP_TCP_UNANSWERED_SEC, or,
// where nothing is sent (a silent unit's journal), by TCP's keep-alive probes.
static void look_for_silent(int fd) {
        const int unanswered_ms = HTTP_TCP_UNANSWERED_SEC * 1000, silent_sec = HTTP_TCP_SILENT_SEC, on = 1;

        (void) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silent_sec, sizeof(silent_sec));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &silent_sec, sizeof(silent_sec));
        (void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

HttpPeer *http_peer_new_tcp(Accounts *accounts, const struct sockaddr *from, int fd, bool tls,
                            bool by_proxy) {
        Principal place = by_proxy ? principal_of_proxy(from) : principal_of_address(from);
        HttpPeer *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->over_tcp = true;
        p->by_proxy = by_proxy;
        p->uid = UINT32_MAX; // no user's
        p->gid = UINT32_MAX;
        p->tls = tls;
        p->fd = fd;
        p->holding.evict = on_evict;
        p->of = principal_of_address(from);
        look_for_silent(fd);
        if (account_holding_open(accounts, &p->holding, &place))
                return p;
        free(p);
        return NULL;
}

HttpPeer *http_peer_new(Accounts *accounts, int fd) {
        HttpPeer *p = calloc(1, sizeof(*p));
        struct ucred creds;
        socklen_t len = sizeof(creds);

        if (!p)
                return NULL;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &creds, &len) < 0 || find_groups(fd, p) < 0) {
                free(p);
                return NULL;
        }
        p->fd = fd;
        p->uid = creds.uid;
        p->owner = is_owner(creds.uid);
        p->gid = creds.gid;
        p->holding.evict = on_evict;
        p->of = principal_of_user(0, p->uid, p->owner);
        p->one_too_many = !account_holding_open(accounts, &p->holding, &p->of);
        return p;
}

void http_peer_asks(Accounts *accounts, HttpPeer *p) {
        if (p->over_tcp && !p->is_known)
                account_holding_pending(accounts, &p->holding);
        else
                account_holding_busy(accounts, &p->holding);
}

void http_peer_note_token(Accounts *accounts, HttpPeer *p, const Hash *proof) {
        Principal token = principal_of_token(0, proof);

        if (p->by_proxy)
                account_holding_busy(accounts, &p->holding);
        if (!p->over_tcp || p->by_proxy || p->is_known)
                return;
        p->is_known = true;
        p->proof = *proof;
        (void) account_holding_move(accounts, &p->holding, &token); // no room there: the address keeps it
        account_holding_busy(accounts, &p->holding);
}

Principal http_peer_principal(const HttpPeer *p, const Hash *proof, const Principal *from) {
        return p->is_known && hash_equal(&p->proof, proof) ? principal_of_token(0, proof) : *from;
}
