// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which address this host tells the others that it is at. A pure decision; address.c collects what it needs.
//
//   Address=                                  whatever it says, loopback included
//   our end of a link to a voter              works, as can be seen
//   what we would send from to anybody        that of the interface of the default route, IPv4 first
//   any other interface's                     IPv4 first
//   nothing                                   rather than an address that means somebody else, or nobody
//
// Of several that are as good, the one that was announced before stays, so that other hosts need not learn
// another.

#include <stddef.h>

#include "stream.h"

typedef char AddressText[STREAM_ADDRESS_SIZE];

typedef struct AddressFacts {
        const char *configured;    // numeric, or empty
        const AddressText *links;  // our ends of links that are up, the leader's first
        size_t n_links;
        AddressText routed[2];     // what we would send from, by IPv4 and IPv6; empty: no route
        const AddressText *others; // of all interfaces
        size_t n_others;
        const char *before; // what it was until now; empty: nothing
} AddressFacts;

// Points into what it was given; empty: none.
const char *address_choose(const AddressFacts *f);
