// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a machine's kernel says of its addresses: machine-addresses.h and address-watch.h again. It has the
// one that the network knows (sim-net.h), and others that the machine's settings say (sim-host.h).

#include <stdint.h>

#include "sim-world.h"

// Another address has come or gone: who follows that hears of it. `route_us`: how long it is until there is
// a route.
void sim_addresses_changed(SimHost *h, uint64_t route_us);
