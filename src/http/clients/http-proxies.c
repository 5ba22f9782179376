// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      [Http] TrustedProxy= -> http_proxy_parse() -> http_proxies_have(), when somebody connects
//      X-Forwarded-For: a, b, c -> http_proxies_follow() -> b, if c is such a proxy
//
// From the left to the right an address that is no proxy takes the place of all before it, and a proxy only
// that of nothing: so at the end it is the rightmost, and where all are proxies the first of them.

#include "http-proxies.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "macro.h"
#include "str.h"

enum { FOUR_BITS = 32, SIX_BITS = 128 };

static const void *bytes_of(const struct sockaddr *a) {
        return a->sa_family == AF_INET ? (const void *) &((const struct sockaddr_in *) a)->sin_addr
                                       : &((const struct sockaddr_in6 *) a)->sin6_addr;
}

// ::ffff:192.0.2.7 is what a proxy calls an IPv4 client that it listens to with an IPv6 socket.
static bool parse_address(const char *text, struct sockaddr_storage *ret) {
        struct sockaddr_in *four = (struct sockaddr_in *) ret;
        struct in6_addr six;

        *ret = (struct sockaddr_storage){.ss_family = AF_INET};
        if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
                return true;
        if (inet_pton(AF_INET6, text, &six) != 1)
                return false;
        if (IN6_IS_ADDR_V4MAPPED(&six)) {
                memcpy(&four->sin_addr, six.s6_addr + sizeof(six) - sizeof(four->sin_addr),
                       sizeof(four->sin_addr));
                return true;
        }
        ret->ss_family = AF_INET6;
        ((struct sockaddr_in6 *) ret)->sin6_addr = six;
        return true;
}

static void cut(uint8_t *address, size_t len, unsigned bits) {
        for (size_t i = 0; i < len; i++, bits -= MIN_OF(bits, 8U))
                address[i] &= (uint8_t) (bits >= 8 ? 0xff : 0xff << (8 - bits));
}

bool http_proxy_parse(const char *text, HttpProxy *ret) {
        const char *slash = strchr(text, '/');
        size_t len = slash ? (size_t) (slash - text) : strlen(text);
        struct sockaddr_storage address;
        char copy[INET6_ADDRSTRLEN];
        uint64_t bits, most;

        if (len >= sizeof(copy))
                return false;
        str_fit(copy, sizeof(copy), "%.*s", (int) len, text);
        if (!parse_address(copy, &address))
                return false;
        most = bits = address.ss_family == AF_INET ? FOUR_BITS : SIX_BITS;
        if (slash && (!parse_u64(slash + 1, most, &bits) || bits == 0))
                return false;
        *ret = (HttpProxy){.family = address.ss_family, .bits = (unsigned) bits};
        memcpy(ret->address, bytes_of((struct sockaddr *) &address), most / 8);
        cut(ret->address, most / 8, ret->bits);
        return true;
}

bool http_proxies_add(HttpProxies *all, const HttpProxy *proxy) {
        if (all->n == HTTP_PROXIES_MAX)
                return false;
        all->list[all->n++] = *proxy;
        return true;
}

static bool has(const HttpProxy *proxy, const struct sockaddr *address) {
        size_t len = proxy->family == AF_INET ? FOUR_BITS / 8 : SIX_BITS / 8;
        uint8_t front[SIX_BITS / 8];

        if (proxy->family != address->sa_family)
                return false;
        memcpy(front, bytes_of(address), len);
        cut(front, len, proxy->bits);
        return memcmp(front, proxy->address, len) == 0;
}

bool http_proxies_have(const HttpProxies *all, const struct sockaddr *address) {
        for (size_t i = 0; i < all->n; i++)
                if (has(&all->list[i], address))
                        return true;
        return false;
}

// "192.0.2.7", "192.0.2.7:1234", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:1234": proxies differ in
// that.
static bool parse_hop(const char *text, size_t len, struct sockaddr_storage *ret) {
        char copy[INET6_ADDRSTRLEN + sizeof("[]:65535")], *end;
        uint64_t port;

        if (len >= sizeof(copy) || memchr(text, 0, len))
                return false;
        str_fit(copy, sizeof(copy), "%.*s", (int) len, text);
        if (*copy != '[' && parse_address(copy, ret))
                return true;
        end = strchr(copy, *copy == '[' ? ']' : ':');
        if (!end)
                return false;
        *end++ = 0;
        if (*copy == '[' && *end && *end++ != ':')
                return false;
        if ((*copy != '[' || *end) && !parse_u64(end, UINT16_MAX, &port))
                return false;
        return parse_address(copy + (*copy == '['), ret);
}

void http_proxies_follow(const HttpProxies *all, const char *value, struct sockaddr_storage *client,
                         bool *found) {
        for (const char *p = value; *p; p += *p == ',') {
                struct sockaddr_storage hop;
                size_t len;

                p += strspn(p, " \t");
                len = strcspn(p, ",");
                while (len > 0 && (p[len - 1] == ' ' || p[len - 1] == '\t'))
                        len--;
                if (!parse_hop(p, len, &hop))
                        *found = false;
                else if (!*found || !http_proxies_have(all, (struct sockaddr *) &hop)) {
                        *client = hop;
                        *found = true;
                }
                p += strcspn(p, ",");
        }
}
