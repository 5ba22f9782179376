// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated state as it was after one batch, for readers that take their time: the log's snapshot, and
// streams that send the whole state. Taking one costs microseconds whatever the state's size; while it
// lives, what the loop changes is copied (snapshot-clock.h).
//
//      cluster_state_snapshot()    in the loop
//      cluster-encoder.h           in the pool. From time to time the owner looks at
//                                  cluster_snapshot_is_cut(), in the loop
//      cluster_snapshot_unref()    in the loop; then cluster_state_reclaim() in each turn, as long as it
//                                  returns true

#include "cluster-state.h"
#include "snapshot-clock.h"

// alive; who asks for one of the same state as the last gets that
enum { CLUSTER_SNAPSHOTS_MAX = SNAPSHOTS_MAX };

typedef struct ClusterSnapshot ClusterSnapshot;

// 0, -EBUSY (CLUSTER_SNAPSHOTS_MAX are alive) or -ENOMEM. It outlives batches and cluster_state_restore(),
// but is to end before the state.
int cluster_state_snapshot(ClusterState *s, ClusterSnapshot **ret) _warn_unused_;
void cluster_snapshot_unref(ClusterSnapshot *snapshot);
// It holds so much memory that it is to be given back as soon as possible (SNAPSHOT_RETIRED_MAX).
bool cluster_snapshot_is_cut(const ClusterSnapshot *snapshot);
// Frees a part of what no snapshot holds any more, as much as a turn of the loop has time for. Whether there
// is more.
bool cluster_state_reclaim(ClusterState *s);
