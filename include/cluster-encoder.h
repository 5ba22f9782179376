// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The image of a snapshot of the replicated state (cluster-snapshot.h), piece by piece: work for the pool.
//
//      cluster_encoder_new()  ->  cluster_encoder_next(), until it is not CLUSTER_ENCODER_MORE  ->
//                                 cluster_encoder_free()
//
// All in any thread, one call at a time. Between two pieces the owner looks in the loop whether the snapshot
// is cut, and gives up then.

#include "buf.h"

typedef struct ClusterEncoder ClusterEncoder;
typedef struct ClusterSnapshot ClusterSnapshot;

enum { CLUSTER_ENCODER_MORE = 1 };

// Borrows the snapshot. NULL: out of memory.
ClusterEncoder *cluster_encoder_new(const ClusterSnapshot *snapshot);
ClusterEncoder *cluster_encoder_free(ClusterEncoder *e);
DEFINE_CLEANUP(ClusterEncoder *, cluster_encoder_free)
// Appends the next piece of the image, which may be empty: 0 (it was the last), CLUSTER_ENCODER_MORE or
// -ENOMEM. All pieces together are what cluster_state_encode() makes of an equal state.
int cluster_encoder_next(ClusterEncoder *e, Buf *ret) _warn_unused_;
