// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log's snapshot, as the store asks for it:
//
//   taken in the loop -> encoded by a worker, piece by piece -> released in the loop -> what it kept is
//   freed in as many
//   turns as that takes -> the heap gives the pages back
//
// Nothing here fails but for want of memory, and then the store tries it again later.

#include <errno.h>

#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "daemon-log.h"
#include "daemon-secrets.h"
#include "daemon.h"

typedef struct LogSnapshot {
        ClusterSnapshot *state;
        ClusterEncoder *encoder;
        uint32_t secrets_key; // daemon_secrets_only_key() of it
} LogSnapshot;

int daemon_log_snapshot(void **ret, void *userdata) {
        Daemon *d = userdata;
        _cleanup_free_ LogSnapshot *snapshot = malloc(sizeof(*snapshot));
        int r = snapshot ? cluster_state_snapshot(d->state, &snapshot->state) : -ENOMEM;

        if (r < 0)
                return r;
        snapshot->encoder = cluster_encoder_new(snapshot->state);
        if (!snapshot->encoder) {
                cluster_snapshot_unref(snapshot->state);
                return -ENOMEM;
        }
        snapshot->secrets_key = daemon_secrets_only_key(d);
        *ret = TAKE_PTR(snapshot);
        return 0;
}

static_assert((int) CLUSTER_ENCODER_MORE == (int) STORE_SNAPSHOT_MORE);

int daemon_log_snapshot_encode(void *snapshot, Buf *ret) { // worker thread
        return cluster_encoder_next(((LogSnapshot *) snapshot)->encoder, ret);
}

bool daemon_log_snapshot_is_cut(const void *snapshot) {
        return cluster_snapshot_is_cut(((const LogSnapshot *) snapshot)->state);
}

void daemon_log_snapshot_release(void *data, void *userdata) {
        LogSnapshot *snapshot = data;
        Daemon *d = userdata;

        d->snapshot_key = snapshot->secrets_key;
        cluster_encoder_free(snapshot->encoder);
        cluster_snapshot_unref(snapshot->state);
        free(snapshot);
        drain_mark(&d->reclaim_drain);
}

void daemon_log_snapshot_written(void *userdata) {
        Daemon *d = userdata;

        daemon_secrets_on_compacted(d, d->snapshot_key);
}

void daemon_log_on_reclaim(void *userdata) {
        Daemon *d = userdata;

        if (d->state && cluster_state_reclaim(d->state))
                drain_mark(&d->reclaim_drain);
        else
                heap_keeper_note(&d->heap, HEAP_RELEASE_AFTER);
}
