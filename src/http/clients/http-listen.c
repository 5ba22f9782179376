// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      "[::1]:8443" -> http_listen_parse() -> http_listen_open() -> a listener of an HttpApi
//
// An IPv6 socket takes IPv6 alone, so that 0.0.0.0 and [::] with the same port can stand beside each other
// and each line says what it does. An address that comes later (the network often comes up after us) is
// bound all the same.

#include "http-listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "macro.h"
#include "str.h"

static bool parse_four(HttpListen *l, const char *address, uint16_t port) {
        l->at.four.sin_family = AF_INET;
        l->at.four.sin_port = htons(port);
        l->len = sizeof(l->at.four);
        if (inet_pton(AF_INET, address, &l->at.four.sin_addr) != 1)
                return false;
        l->loopback = ntohl(l->at.four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        l->wildcard = l->at.four.sin_addr.s_addr == htonl(INADDR_ANY);
        str_fit(l->text, sizeof(l->text), "%s:%u", address, port);
        return inet_ntop(AF_INET, &l->at.four.sin_addr, l->address, sizeof(l->address));
}

// ::ffff:127.0.0.1 is no address that an IPv6 socket of ours is reached by.
static bool parse_six(HttpListen *l, const char *address, uint16_t port) {
        l->at.six.sin6_family = AF_INET6;
        l->at.six.sin6_port = htons(port);
        l->len = sizeof(l->at.six);
        if (inet_pton(AF_INET6, address, &l->at.six.sin6_addr) != 1 ||
            IN6_IS_ADDR_V4MAPPED(&l->at.six.sin6_addr))
                return false;
        l->loopback = IN6_IS_ADDR_LOOPBACK(&l->at.six.sin6_addr);
        l->wildcard = IN6_IS_ADDR_UNSPECIFIED(&l->at.six.sin6_addr);
        if (!inet_ntop(AF_INET6, &l->at.six.sin6_addr, l->address, sizeof(l->address)))
                return false;
        str_fit(l->text, sizeof(l->text), "[%s]:%u", l->address, port);
        return true;
}

bool http_listen_parse(const char *text, HttpListen *ret) {
        const char *colon = strrchr(text, ':');
        size_t len = colon ? (size_t) (colon - text) : 0;
        bool six = len > 2 && text[0] == '[' && text[len - 1] == ']';
        char address[INET6_ADDRSTRLEN];
        HttpListen l = {};
        uint64_t port;

        if (!colon || len >= sizeof(address) || !parse_u64(colon + 1, UINT16_MAX, &port) || port == 0)
                return false;
        str_fit(address, sizeof(address), "%.*s", (int) (six ? len - 2 : len), six ? text + 1 : text);
        if (!(six ? parse_six(&l, address, (uint16_t) port) : parse_four(&l, address, (uint16_t) port)))
                return false;
        *ret = l;
        return true;
}

int http_listen_open(const HttpListen *l, int *ret_fd) {
        const int on = 1;
        int r = 0, fd = socket(l->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
            setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) < 0 ||
            (l->at.any.sa_family == AF_INET6 &&
             setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
            bind(fd, &l->at.any, l->len) < 0 || listen(fd, SOMAXCONN) < 0)
                r = -errno;
        if (r < 0)
                close(fd);
        else
                *ret_fd = fd;
        return r;
}
