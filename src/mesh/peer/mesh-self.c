// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The hello, the first message of a host to a voter: its id, cluster, generation, version, feature level,
// boot and raft id. It is made of the MeshSelf as it is now, so a link that is dialled again says what has
// changed. The hello borrows from `self`, owns nothing, and cannot fail.

#include "mesh-self.h"

void mesh_self_hello(MeshSelf *self, Argosy__ToVoter__Hello *ret) {
        ret->host = self->host;
        ret->cluster_id = (ProtobufCBinaryData){sizeof(self->cluster_id), self->cluster_id};
        ret->generation = self->generation;
        ret->version = (char *) ARGOSY_VERSION;
        ret->feature_level = self->feature_level;
        ret->boot_id = (ProtobufCBinaryData){sizeof(self->boot_id), self->boot_id};
        ret->raft_id = self->raft_id;
}
