// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where HTTP is spoken over TCP: "192.0.2.7:8443", "[2001:db8::1]:8443", "0.0.0.0:8443", "[::]:8443".
// Numbers, not names: which addresses a name has may change, and who is let in must not.

#include <netinet/in.h>
#include <stdbool.h>

enum {
        HTTP_LISTENERS_MAX = 8,
        HTTP_LISTEN_SIZE = INET6_ADDRSTRLEN + sizeof("[]:65535"),
};

typedef struct HttpListen {
        union {
                struct sockaddr any;
                struct sockaddr_in four;
                struct sockaddr_in6 six;
        } at;
        socklen_t len;
        char text[HTTP_LISTEN_SIZE];
        char address[INET6_ADDRSTRLEN];
        bool loopback; // not reachable from other machines
        bool wildcard; // all addresses of this host
} HttpListen;

// Pure. False: it is none.
bool http_listen_parse(const char *text, HttpListen *ret);
// A listening socket, also on an address that this host does not have yet. 0 or negative errno.
int http_listen_open(const HttpListen *l, int *ret_fd);
