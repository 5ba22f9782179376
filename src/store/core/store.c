// SPDX-License-Identifier: LGPL-2.1-or-later

// The store's interface: checks that hold for every implementation, then the implementation (StoreImpl).
//
//      store_submit(), store_barrier(), store_member_add() ... -> s->impl
//          -> done() from the loop, after the return
//
// Failures at once: a batch of 0 bytes -EINVAL, of more than STORE_BATCH_MAX -E2BIG; the rest is the
// implementation's.

#include <errno.h>

#include "store-impl.h"

void store_close(Store *s, void (*closed)(void *userdata), void *userdata) {
        s->impl->close(s, closed, userdata);
}

void store_accept(Store *s, Stream *stream, uint32_t raft_id) {
        s->impl->accept(s, stream, raft_id);
}

void store_recheck(Store *s) {
        s->impl->recheck(s);
}

int store_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata) {
        assert(done);

        if (len == 0)
                return -EINVAL;
        if (len > STORE_BATCH_MAX)
                return -E2BIG;
        return s->impl->submit(s, data, len, done, userdata);
}

int store_barrier(Store *s, StoreDone done, void *userdata) {
        assert(done);

        return s->impl->barrier(s, done, userdata);
}

int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        assert(raft_id > 0);
        assert(done);

        return s->impl->member_add(s, raft_id, done, userdata);
}

int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        assert(raft_id > 0);
        assert(done);

        return s->impl->member_remove(s, raft_id, done, userdata);
}

int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        assert(done);

        return s->impl->transfer(s, raft_id, done, userdata);
}

void store_stats(const Store *s, StoreStats *ret) {
        *ret = (StoreStats){};
        s->impl->stats(s, ret);
}

StoreFigures store_figures(const StoreStats *stats) {
        return (StoreFigures){
                .log_entries = stats->last_index,
                .log_entries_applied = stats->applied_index,
                .log_pending = stats->n_pending,
                .log_snapshot_failures = stats->snapshot_failures,
        };
}

uint64_t store_authority_until(Store *s) {
        return s->impl->authority_until(s);
}
