// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who has connected, and whether there is room for him. Used by the HTTP thread alone.

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "http-tcp.h"
#include "list.h"

// Whoever is at the other end of a connection, as the kernel says.
typedef struct HttpPeer {
        ListNode link; // in HttpThread.peers
        HttpTcpConnection tcp; // if it is one: then nothing is known of who it is
        bool tls;
        int fd;     // borrowed
        bool owner; // root, or whom this process runs as
        uid_t uid;
        gid_t gid;
        gid_t *groups;
        size_t n_groups;
        bool one_too_many; // it is told so, and has to go
        uint64_t
                sees_all_by; // 1 + the revision of rights by which he was found to see everything; 0: he was not
} HttpPeer;

// Of a connection's socket, to the end of `peers`. NULL: it is not known who that is, or too many wait to be refused; he is not answered.
HttpPeer *http_peer_new(ListNode *peers, int fd);
// The same of one over TCP: nobody, until a request of his has a token. NULL: out of memory.
HttpPeer *http_peer_new_tcp(ListNode *peers, int fd, bool tls);
// Whether he reads nothing any more. Who will say no more may yet read: over TCP nobody can tell him from one who has closed, until his kernel
// was sent something, or asked whether it is there (HTTP_TCP_SILENT_SEC).
bool http_peer_is_gone(const HttpPeer *p);
// And out of that list.
void http_peer_free(HttpPeer *p);
// Pure, but for whom this process runs as: whether there is no room beside those for one more connection of that user.
bool http_peer_is_one_too_many(const ListNode *peers, uid_t uid);
