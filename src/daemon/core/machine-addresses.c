// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The addresses that this machine has now, as its kernel says (machine-addresses.h).
// machine_addresses_route(): a datagram socket connects to a far address, which sends nothing, and tells its
// own end. machine_addresses_list(): libuv lists the interfaces. The kernel is asked anew each time.
// Failures: whatever fails gives an empty text, or 0 addresses.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "machine-addresses.h"
#include "stream.h"

// Prefers IPv6 addresses that last to those that change for privacy.
void machine_addresses_route(int family, AddressText ret) {
        enum { PREFER_PUBLIC = 2 }; // IPV6_PREFER_SRC_PUBLIC of linux/in6.h, which netinet/in.h rules out
        bool six = family == AF_INET6;
        const int lasting = PREFER_PUBLIC;
        struct sockaddr_storage to = {}, from = {};
        socklen_t len = sizeof(from);
        int r, fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        *ret = 0;
        if (fd < 0)
                return;
        if (six)
                (void) setsockopt(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, &lasting, sizeof(lasting));
        r = six ? uv_ip6_addr("2001:503:ba3e::2:30", 9, (struct sockaddr_in6 *) &to)
                : uv_ip4_addr("198.41.0.4", 9, (struct sockaddr_in *) &to);
        if (r == 0 && connect(fd, (struct sockaddr *) &to, sizeof(to)) == 0 &&
            getsockname(fd, (struct sockaddr *) &from, &len) == 0)
                (void) stream_address_text((struct sockaddr *) &from, ret);
        close(fd);
}

size_t machine_addresses_list(AddressText *ret, size_t max) {
        uv_interface_address_t *list = NULL;
        int n = 0;
        size_t kept = 0;

        if (uv_interface_addresses(&list, &n) < 0)
                return 0;
        for (int i = 0; i < n && kept < max; i++)
                if (stream_address_text((struct sockaddr *) &list[i].address, ret[kept]), *ret[kept])
                        kept++;
        uv_free_interface_addresses(list, n);
        return kept;
}
