// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Root, and whom this process runs as, are owners: they look after the cluster, and whatever others do there is room for them.
// So each of the others has a share, all of them together have one, and each owner has what those leave.

#include "http-peer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http-limits.h"
#include "macro.h"

enum { GROUPS_MAX = 65536 }; // the kernel's NGROUPS_MAX

void http_peer_free(HttpPeer *p) {
        list_unlink(&p->link);
        free(p->groups);
        free(p);
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

bool http_peer_is_one_too_many(const ListNode *peers, uid_t uid) {
        size_t n_of_user = 0, n_others = 0;

        list_foreach (n, peers) {
                const HttpPeer *p = CONTAINER_OF(n, const HttpPeer, link);

                if (p->one_too_many)
                        continue; // they take no share
                n_of_user += p->uid == uid;
                n_others += !is_owner(p->uid);
        }
        if (is_owner(uid))
                return n_of_user >= HTTP_CONNECTIONS_PER_OWNER;
        return n_of_user >= HTTP_CONNECTIONS_PER_USER || n_others >= HTTP_CONNECTIONS_OTHERS_MAX;
}

static size_t count_refused(const ListNode *peers) {
        size_t n = 0;

        list_foreach (node, peers)
                n += CONTAINER_OF(node, const HttpPeer, link)->one_too_many;
        return n;
}

bool http_peer_is_gone(const HttpPeer *p) {
        struct pollfd f = {.fd = p->fd};

        return poll(&f, 1, 0) > 0 && (f.revents & (POLLHUP | POLLERR));
}

HttpPeer *http_peer_new_tcp(ListNode *peers, int fd, bool tls) {
        HttpPeer *p = calloc(1, sizeof(*p));

        if (!p)
                return NULL;
        p->uid = UINT32_MAX; // nobody's
        p->gid = UINT32_MAX;
        p->tls = tls;
        p->fd = fd;
        list_init(&p->link);
        list_append(peers, &p->link);
        return p;
}

HttpPeer *http_peer_new(ListNode *peers, int fd) {
        HttpPeer *p = calloc(1, sizeof(*p));
        struct ucred creds;
        socklen_t len = sizeof(creds);

        if (!p)
                return NULL;
        list_init(&p->link);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &creds, &len) < 0 || find_groups(fd, p) < 0) {
                http_peer_free(p);
                return NULL;
        }
        p->fd = fd;
        p->uid = creds.uid;
        p->owner = is_owner(creds.uid);
        p->gid = creds.gid;
        p->one_too_many = http_peer_is_one_too_many(peers, p->uid);
        if (p->one_too_many && count_refused(peers) >= HTTP_CONNECTIONS_REFUSED_MAX) {
                http_peer_free(p);
                return NULL;
        }
        list_append(peers, &p->link);
        return p;
}
