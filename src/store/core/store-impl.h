// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What stands behind include/store.h: one table of functions per implementation. A Store is the first member
// of the implementation's own object.

#include "store.h"

typedef struct StoreImpl {
        void (*close)(Store *s, void (*closed)(void *userdata), void *userdata);
        void (*accept)(Store *s, Stream *stream, uint32_t raft_id);
        void (*recheck)(Store *s);
        int (*submit)(Store *s, const void *data, size_t len, StoreDone done, void *userdata);
        int (*barrier)(Store *s, StoreDone done, void *userdata);
        int (*member_add)(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
        int (*member_remove)(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
        int (*transfer)(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
        void (*stats)(const Store *s, StoreStats *ret);
        uint64_t (*authority_until)(Store *s);
} StoreImpl;

struct Store {
        const StoreImpl *impl;
        const StoreOps *ops;
        void *userdata;
};
