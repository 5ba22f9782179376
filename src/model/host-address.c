// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a text that names a host is. An address is what inet_pton() takes, without interface ("fe80::1%eth0"
// has a meaning on one machine only); an IPv4 address in its IPv6 form counts as what it contains. A name is
// what may stand in the DNS or /etc/hosts: letters, digits, '-', '_', in parts of at most 63 separated by
// dots. One whose last part is a number would be taken for an address by some resolvers, so it is none.
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "host-address.h"
#include "macro.h"
#include "str.h"

enum { LABEL_MAX = 63 };

static HostAddressKind kind_of_ipv4(uint32_t address) {
        if (address == 0 || address == UINT32_MAX || IN_MULTICAST(address))
                return HOST_ADDRESS_NOBODY;
        if (address >> 24 == IN_LOOPBACKNET)
                return HOST_ADDRESS_LOOPBACK;
        if (address >> 16 == (169 << 8 | 254))
                return HOST_ADDRESS_ZEROCONF;
        return HOST_ADDRESS_GLOBAL;
}

static HostAddressKind kind_of_ipv6(const struct in6_addr *address) {
        uint32_t v4;

        if (IN6_IS_ADDR_V4MAPPED(address)) {
                memcpy(&v4, address->s6_addr + 12, sizeof(v4));
                return kind_of_ipv4(ntohl(v4));
        }
        if (IN6_IS_ADDR_UNSPECIFIED(address) || IN6_IS_ADDR_MULTICAST(address))
                return HOST_ADDRESS_NOBODY;
        if (IN6_IS_ADDR_LOOPBACK(address))
                return HOST_ADDRESS_LOOPBACK;
        return IN6_IS_ADDR_LINKLOCAL(address) ? HOST_ADDRESS_LINK_LOCAL : HOST_ADDRESS_GLOBAL;
}

static bool is_name(const char *text) {
        const char *last = strrchr(text, '.');
        size_t in_label = 0;

        for (const char *p = text; *p; p++) {
                if (*p == '.') {
                        if (in_label == 0 || p[-1] == '-')
                                return false;
                        in_label = 0;
                } else if (!isalnum((unsigned char) *p) && *p != '_' && (*p != '-' || in_label == 0))
                        return false;
                else if (++in_label > LABEL_MAX)
                        return false;
        }
        last = last ? last + 1 : text;
        return in_label > 0 && text[strlen(text) - 1] != '-' && strspn(last, "0123456789") < strlen(last);
}

HostAddressKind host_address_kind(const char *text) {
        struct in6_addr six;
        struct in_addr four;

        if (!*text)
                return HOST_ADDRESS_NONE;
        if (strlen(text) > HOST_ADDRESS_MAX)
                return HOST_ADDRESS_INVALID;
        if (inet_pton(AF_INET, text, &four) == 1)
                return kind_of_ipv4(ntohl(four.s_addr));
        if (inet_pton(AF_INET6, text, &six) == 1)
                return kind_of_ipv6(&six);
        if (strcasecmp(text, "localhost") == 0)
                return HOST_ADDRESS_LOOPBACK;
        return is_name(text) ? HOST_ADDRESS_NAME : HOST_ADDRESS_INVALID;
}

bool host_address_is_of_a_link(const char *host) {
        return strchr(host, '%') || host_address_kind(host) == HOST_ADDRESS_LINK_LOCAL;
}

bool host_address_may_be_configured(const char *text) {
        switch (host_address_kind(text)) {
        case HOST_ADDRESS_LOOPBACK:
        case HOST_ADDRESS_ZEROCONF:
        case HOST_ADDRESS_GLOBAL:
        case HOST_ADDRESS_NAME:
                return true;
        default:
                return false;
        }
}

bool host_address_may_be_announced(const char *text, bool configured) {
        HostAddressKind kind = host_address_kind(text);

        if (configured)
                return host_address_may_be_configured(text);
        return kind == HOST_ADDRESS_GLOBAL || kind == HOST_ADDRESS_ZEROCONF;
}

bool host_address_split(const char *text, char *ret_host, size_t size, uint16_t *ret_port) {
        const char *port = NULL, *end = text + strlen(text);
        uint64_t n;

        if (*text == '[') {
                text++;
                end = strchr(text, ']');
                if (!end || (end[1] && end[1] != ':'))
                        return false;
                port = end[1] ? end + 2 : NULL;
        } else if (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) {
                end = strchr(text, ':');
                port = end + 1;
        }
        if (port && (!parse_u64(port, UINT16_MAX, &n) || n == 0))
                return false;
        if (end == text || (size_t) (end - text) >= size)
                return false;
        memcpy(ret_host, text, (size_t) (end - text));
        ret_host[end - text] = 0;
        if (port)
                *ret_port = (uint16_t) n;
        return true;
}
