// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What one host tells of a voter, taken over as far as it can be: an address, a port or a key that cannot be
// one makes it useless, a name that cannot be looked up is left out.

#include "mesh-peer.h"

#include "str.h"

bool mesh_peer_from_voter(const Argosy__Voter *v, MeshPeer *ret) {
        *ret = (MeshPeer){.host = v->host, .port = (uint16_t) v->port, .raft_id = v->raft_id};
        if (v->port > UINT16_MAX || !str_copy(ret->address, sizeof(ret->address), v->address) ||
            !hash_from_bytes(v->key_pin.data, v->key_pin.len, &ret->pin))
                return false;
        // A host's name need not be one that can be looked up: it is what people call it.
        if (host_address_kind(v->name) == HOST_ADDRESS_NAME)
                (void) str_copy(ret->name, sizeof(ret->name), v->name);
        if (host_address_kind(v->host_name) == HOST_ADDRESS_NAME)
                (void) str_copy(ret->host_name, sizeof(ret->host_name), v->host_name);
        return true;
}
