// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A voter as one host describes it in a message, made into a MeshPeer that can be dialled.
// mesh_peer_from_voter(): id, port, address and key pin are copied, then the names that can be looked up.
// False: the port, address or pin is not valid, and the record is useless. A name that is no DNS name is
// left out.

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
