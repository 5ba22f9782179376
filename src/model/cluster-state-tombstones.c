// SPDX-License-Identifier: LGPL-2.1-or-later

// Nodes that may still run what is not wanted there. Each tombstone stands in four rings: of all, of its
// node, of its name, and of those that the leader has not looked at. The first two are in the order of
// revisions, since a new one goes to their ends: so what a host has let go up to a revision is at the
// beginning of its nodes' rings, and clearing costs what is cleared.

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
                char name[UNIT_NAME_MAX];
        } key = {.node = node};

        if (len > sizeof key.name)
                return NULL;
        memcpy(key.name, name, len);
        return map_find(&s->tombstones_by_key, &key, sizeof key.node + len);
}

static void drop(ClusterState *s, Tombstone *t) {
        TombstoneName *n = find_name(s, t->name);

        map_take(&s->tombstones_by_key, &t->node, key_len(t->name));
        list_unlink(&t->by_name);
        list_unlink(&t->on_node);
        list_unlink(&t->all);
        list_unlink(&t->fresh);
        free(t);
        drop_name_if_unused(s, n);
}

static Tombstone *make(ClusterState *s, const char *name, uint32_t node) {
        TombstoneName *n = need_name(s, name);
        Tombstone *t = n ? calloc(1, sizeof *t + strlen(name) + 1) : NULL;

        if (t) {
                t->node = node;
                strcpy(t->name, name);
                if (map_add(&s->tombstones_by_key, &t->node, key_len(name), t) == 0) {
                        list_append(&n->tombstones, &t->by_name);
                        return t;
                }
        }
        free(t);
        if (n)
                drop_name_if_unused(s, n);
        return NULL;
}

static void become_newest(ClusterState *s, Tombstone *t, NodeIndex *node, uint64_t revision) {
        t->revision = revision;
        list_unlink(&t->on_node);
        list_append(&node->tombstones, &t->on_node);
        list_unlink(&t->all);
        list_append(&s->tombstones, &t->all);
}

int state_put_tombstones(ClusterState *s, const char *name, const uint32_t *nodes, size_t n,
                         uint64_t fence_us, uint64_t revision) {
        for (size_t i = 0; i < n; i++) {
                NodeIndex *node = state_find_node(s, nodes[i]);
                Tombstone *t;

                if (!node || node->host == 0)
                        continue;
                t = find(s, name, nodes[i]) ?: make(s, name, nodes[i]);
                if (!t)
                        return -ENOMEM;
                t->fence_us = MAX_OF(t->fence_us, fence_us);
                t->unguarded |= fence_us == 0;
                become_newest(s, t, node, revision);
                list_unlink(&t->fresh);
                list_append(&s->fresh, &t->fresh);
        }
        return 0;
}

int state_add_tombstone(ClusterState *s, const Argosy__TombstoneRecord *record) {
        NodeIndex *node = state_find_node(s, record->node);
        size_t len = strlen(record->name);
        Tombstone *t;

        if (!node || node->host == 0 || len == 0 || len > UNIT_NAME_MAX ||
            (record->fence_us == 0 && !record->unguarded))
                return -EINVAL;
        if (find(s, record->name, record->node))
                return -EEXIST;
        t = make(s, record->name, record->node);
        if (!t)
                return -ENOMEM;
        t->fence_us = record->fence_us;
        t->unguarded = record->unguarded;
        become_newest(s, t, node, record->revision);
        return 0;
}

bool state_clear_tombstones(ClusterState *s, uint32_t node, uint64_t revision, uint64_t fence_us) {
        NodeIndex *n = state_find_node(s, node);
        bool any = false;

        if (!n)
                return false;
        list_foreach_safe (i, &n->tombstones) {
                Tombstone *t = CONTAINER_OF(i, Tombstone, on_node);

                if (t->revision > revision)
                        break;
                if (fence_us > 0 && (t->unguarded || t->fence_us > fence_us))
                        continue;
                drop(s, t);
                any = true;
        }
        return any;
}

void state_tombstones_done(ClusterState *s) {
        map_done_with(&s->tombstones_by_key, free); // the key begins inside, the value is the whole
        map_done_with(&s->tombstones_by_name, free);
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
