// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a host can be reached, as people and hosts write it: an IP address or a name. What a text is decides
// who may say it about itself: a host that only looked at its own interfaces must never tell others that it
// is at an address that means somebody else, or nobody, on their machines.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        HOST_ADDRESS_MAX = 253, // the longest name
        HOST_ADDRESS_SIZE = HOST_ADDRESS_MAX + 1,
};

typedef enum HostAddressKind {
        HOST_ADDRESS_NONE,       // empty
        HOST_ADDRESS_INVALID,    // neither address nor name
        HOST_ADDRESS_NOBODY,     // unspecified, multicast, broadcast: no host's
        HOST_ADDRESS_LOOPBACK,   // means another machine on every machine; also "localhost"
        HOST_ADDRESS_LINK_LOCAL, // fe80::/10: means nothing without an interface
        HOST_ADDRESS_ZEROCONF,   // 169.254/16: works on one link only, and changes with every start
        HOST_ADDRESS_GLOBAL,     // any other address
        HOST_ADDRESS_NAME,       // to be looked up
} HostAddressKind;

HostAddressKind host_address_kind(const char *text);
// A person may say it of a host: an address of some host, loopback included, or a name.
bool host_address_may_be_configured(const char *text);
// Whether an address that a person gives is of one link only ("fe80::1%eth0", "fe80::1"). Such an address
// has a meaning on one machine, so it is of no use to others; HOST_ADDRESS_LINK_WORDS say that.
bool host_address_is_of_a_link(const char *host);
#define HOST_ADDRESS_LINK_WORDS                                                                          \
        "an address of one link (fe80::...) means something on one machine only: say another one, or a " \
        "name"
// Takes apart "host", "host:port", "1.2.3.4:port", "[::1]:port", "::1". Without a port *ret_port stays as it
// is. What the host is, is not looked at.
bool host_address_split(const char *text, char *ret_host, size_t size, uint16_t *ret_port);
// What a host found out about itself and others may keep.
bool host_address_may_be_announced(const char *text, bool configured);
