// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Proxies that are trusted to say for whom they ask. What a client says of itself in the same headers counts
// for nothing: each proxy adds whom it has heard it from at the right, so the rightmost address that is no
// such proxy is who asks. Pure; it reads a client's bytes.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { HTTP_PROXIES_MAX = 64 };

// An address, or all with the same front.
typedef struct HttpProxy {
        sa_family_t family;
        uint8_t address[16]; // of IPv4 4 of them; bits behind the front are 0
        unsigned bits;
} HttpProxy;

typedef struct HttpProxies {
        HttpProxy list[HTTP_PROXIES_MAX];
        size_t n;
} HttpProxies;

// "192.0.2.7", "192.0.2.0/24", "2001:db8::/32". False: it is none, or would be everybody ("/0").
bool http_proxy_parse(const char *text, HttpProxy *ret);
// False: there is no room.
bool http_proxies_add(HttpProxies *all, const HttpProxy *proxy);
bool http_proxies_have(const HttpProxies *all, const struct sockaddr *address);

// Takes the values of X-Forwarded-For, one header after the other as they came; *found begins as false. In
// the end it says whether *client is who asks; else that is the proxy itself. What is no address hides all
// that stands in front of it.
void http_proxies_follow(const HttpProxies *all, const char *value, struct sockaddr_storage *client,
                         bool *found);
