// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host tells the others about where it is (address-choice.h decides), and what follows when that
// changes.

#include <stdbool.h>

#include "address-choice.h"
#include "host-address.h"

typedef struct AddressWatch AddressWatch;
typedef struct Daemon Daemon;

typedef struct OwnAddress {
        AddressText text;             // numeric; empty: none that others could use
        char name[HOST_ADDRESS_SIZE]; // Address=, if it is a name
        bool configured;              // `text` is what Address= says
} OwnAddress;

// Looks anew. `from`: NULL, or our end of a connection to a member of the cluster.
OwnAddress address_find(const Daemon *d, const char *from);
// Follows what changes; without such news of the kernel it is still looked for with each Attach.
void address_open(Daemon *d);
void address_close(Daemon *d);
// The configuration or a link has changed: tells the leader if that makes a difference.
void address_check(Daemon *d);
