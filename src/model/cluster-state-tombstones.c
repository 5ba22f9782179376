// SPDX-License-Identifier: LGPL-2.1-or-later

// Nodes that may still run what is not wanted there. Each tombstone stands in the table of all and in three
// rings: of its node, of its name, and of those that the leader has not looked at. The first is in the order
// of revisions, since a new one goes to its end: so what a host has let go up to a revision is at the
// beginning of its nodes' rings, and clearing costs what is cleared.
//
// A tombstone does not change: one that is put again is another one in the place of the first.

#include <errno.h>

#include "cluster-state-private.h"

typedef struct TombstoneName {
        ListNode tombstones;
        char name[];
} TombstoneName;

// The map's key is the number and the name behind it.
static size_t key_len(const char *name) {
        return offsetof(Tombstone, name) - offsetof(Tombstone, node) + strlen(name);
}

static TombstoneName *find_name(const ClusterState *s, const char *name) {
        return map_find_str(&s->tombstones_by_name, name);
}

static TombstoneName *need_name(ClusterState *s, const char *name) {
        TombstoneName *n = find_name(s, name);

        if (n)
                return n;
        n = malloc(sizeof *n + strlen(name) + 1);
        if (!n)
                return NULL;
        list_init(&n->tombstones);
        strcpy(n->name, name);
        if (map_add_str(&s->tombstones_by_name, n->name, n) == 0)
                return n;
        free(n);
        return NULL;
}

static void drop_name_if_unused(ClusterState *s, TombstoneName *n) {
        if (!list_is_empty(&n->tombstones))
                return;
        map_take_str(&s->tombstones_by_name, n->name);
        free(n);
}

static Tombstone *find(const ClusterState *s, const char *name, uint32_t node) {
        size_t len = strlen(name);
        struct {
                uint32_t node;
                char name[UNIT_NAME_MANAGED_MAX];
        } key = {.node = node};

        if (len > sizeof key.name)
                return NULL;
        memcpy(key.name, name, len);
        return map_find(&s->tombstones_by_key, &key, sizeof key.node + len);
}

static size_t size_of(const Tombstone *t) {
        return sizeof *t + strlen(t->name) + 1;
}

// Out of all but the table.
static void unlink_and_retire(ClusterState *s, Tombstone *t) {
        map_take(&s->tombstones_by_key, &t->node, key_len(t->name));
        list_unlink(&t->by_name);
        list_unlink(&t->on_node);
        list_unlink(&t->fresh);
        state_retire(s, t, size_of(t));
}

static int drop(ClusterState *s, Tombstone *t) {
        TombstoneName *n = find_name(s, t->name);
        int r = paged_table_remove(&s->tombstone_entries, t->number);

        if (r < 0)
                return r;
        unlink_and_retire(s, t);
        drop_name_if_unused(s, n);
        return 0;
}

// Links a tombstone behind all others; `before` NULL: the first of that name on that node. On failure
// nothing is linked.
static int link_tombstone(ClusterState *s, Tombstone *t, Tombstone *before, NodeIndex *node) {
        TombstoneName *n = need_name(s, t->name);
        int r = n ? 0 : -ENOMEM;

        t->order = ++s->last_order;
        if (r == 0 && before) {
                t->number = before->number;
                r = paged_table_set(&s->tombstone_entries, t->number, &t);
        } else if (r == 0) {
                r = paged_table_add(&s->tombstone_entries, &t, &t->number);
        }
        if (r == 0 && before)
                unlink_and_retire(s, before);
        if (r == 0)
                r = map_add(&s->tombstones_by_key, &t->node, key_len(t->name), t);
        if (r < 0)
                return r; // the state is not used any more
        list_append(&n->tombstones, &t->by_name);
        list_append(&node->tombstones, &t->on_node);
        return 0;
}

// A tombstone like this one, with this name.
static Tombstone *make(const Tombstone *like, const char *name) {
        size_t len = strlen(name);
        Tombstone *t = malloc(sizeof *t + len + 1);

        if (!t)
                return NULL;
        *t = *like;
        memcpy(t->name, name, len + 1);
        list_init(&t->by_name);
        list_init(&t->on_node);
        list_init(&t->fresh);
        return t;
}

static int put(ClusterState *s, const Tombstone *like, const char *name, Tombstone *before, NodeIndex *node,
               Tombstone **ret) {
        Tombstone *t = make(like, name);
        int r = t ? link_tombstone(s, t, before, node) : -ENOMEM;

        if (r < 0)
                free(t);
        else
                *ret = t;
        return r;
}

int state_put_tombstones(ClusterState *s, const char *name, const uint32_t *nodes, size_t n,
                         uint64_t fence_us, uint64_t revision) {
        for (size_t i = 0; i < n; i++) {
                Tombstone like = {.node = nodes[i],
                                  .revision = revision,
                                  .fence_us = fence_us,
                                  .unguarded = fence_us == 0};
                NodeIndex *node = state_find_node(s, nodes[i]);
                Tombstone *t, *before;
                int r;

                if (!node || node->host == 0)
                        continue;
                before = find(s, name, nodes[i]);
                if (before) {
                        like.fence_us = MAX_OF(before->fence_us, fence_us);
                        like.unguarded |= before->unguarded;
                        like.replaced = list_is_linked(&before->fresh) && before->replaced ? before->replaced
                                                                                           : before;
                }
                r = put(s, &like, name, before, node, &t);
                if (r < 0)
                        return r;
                list_append(&s->fresh, &t->fresh);
        }
        return 0;
}

int state_add_tombstone(ClusterState *s, const Argosy__TombstoneRecord *record) {
        NodeIndex *node = state_find_node(s, record->node);
        size_t len = strlen(record->name);
        Tombstone like = {
                .node = record->node,
                .revision = record->revision,
                .fence_us = record->fence_us,
                .unguarded = record->unguarded,
        };
        Tombstone *t;

        if (!node || node->host == 0 || len == 0 || len > UNIT_NAME_MANAGED_MAX ||
            (record->fence_us == 0 && !record->unguarded))
                return -EINVAL;
        if (find(s, record->name, record->node))
                return -EEXIST;
        return put(s, &like, record->name, NULL, node, &t);
}

int state_clear_tombstones(ClusterState *s, uint32_t node, uint64_t revision, uint64_t fence_us,
                           size_t *ret_n) {
        NodeIndex *n = state_find_node(s, node);
        int r;

        if (!n)
                return 0;
        list_foreach_safe (i, &n->tombstones) {
                Tombstone *t = CONTAINER_OF(i, Tombstone, on_node);

                if (t->revision > revision)
                        break;
                if (fence_us > 0 && (t->unguarded || t->fence_us > fence_us))
                        continue;
                r = drop(s, t);
                if (r < 0)
                        return r;
                ++*ret_n;
        }
        return 0;
}

void state_tombstones_done(ClusterState *s) {
        map_foreach (slot, &s->tombstones_by_key)
                state_retire(s, slot->value, size_of(slot->value));
        map_done(&s->tombstones_by_key);
        map_done_with(&s->tombstones_by_name, free);
        paged_table_done(&s->tombstone_entries);
}

// ------------------------------------------------------------------------------------------------ lookups

const ListNode *cluster_state_tombstones_of(const ClusterState *s, const char *name) {
        const TombstoneName *n = find_name(s, name);

        return n ? &n->tombstones : NULL;
}

const ListNode *cluster_state_tombstones_on(const ClusterState *s, uint32_t node) {
        const NodeIndex *n = state_find_node(s, node);

        return n && !list_is_empty(&n->tombstones) ? &n->tombstones : NULL;
}

const Tombstone *cluster_state_find_tombstone(const ClusterState *s, const char *name, uint32_t node) {
        return find(s, name, node);
}

size_t cluster_state_n_tombstones(const ClusterState *s) {
        return s->tombstones_by_key.count;
}

const Tombstone *cluster_state_next_tombstone(ClusterState *s) {
        Tombstone *t;

        if (list_is_empty(&s->fresh))
                return NULL;
        t = CONTAINER_OF(s->fresh.next, Tombstone, fresh);
        list_unlink(&t->fresh);
        return t;
}
