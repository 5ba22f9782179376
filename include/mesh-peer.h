// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A voter as others know it, and where a host may be.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "hash.h"
#include "host-address.h"

typedef struct MeshPeer { // a voter, as the log or the peers file names it
        uint32_t host;
        char address[HOST_ADDRESS_SIZE]; // empty: not known
        char name[HOST_ADDRESS_SIZE];    // to be looked up first; empty: none
        char host_name[64];              // to be looked up last
        uint16_t port;
        Hash pin;
        // Passed on to those who dial us, so that a new voter knows its peers' ids before it has a log.
        uint32_t raft_id;
} MeshPeer;

typedef struct MeshAddress {
        char text[HOST_ADDRESS_SIZE]; // numeric or a name
        uint16_t port;
} MeshAddress;

typedef enum MeshRefusal { // what a voter, which showed its key, said last of ours
        MESH_NOT_REFUSED,
        MESH_REFUSED_UNKNOWN, // it does not know it: perhaps not yet
        MESH_REFUSED_GUIDED,  // it votes no more, and has named the voters that it knows
        MESH_REFUSED_REMOVED, // it was a member's that was removed, which is final
} MeshRefusal;

// What one host says of a voter, as far as it can be. False: it makes no sense.
bool mesh_peer_from_voter(const Argosy__Voter *voter, MeshPeer *ret);
