// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which addresses this machine has now, as its kernel says. When that changes address-watch.h says.

#include <stddef.h>

#include "address-choice.h"

// What the kernel would send from to somebody far away, by this family (AF_INET, AF_INET6): that is up to
// its default route, its source address and its rules. Empty: there is no such route.
void machine_addresses_route(int family, AddressText ret);
// The addresses of all interfaces that are up, at most `max`. Returns how many they are; 0 also if the
// kernel does not say.
size_t machine_addresses_list(AddressText *ret, size_t max);
