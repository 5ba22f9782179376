// SPDX-License-Identifier: LGPL-2.1-or-later

// Guard 10: every member knows who the members are, also from its own snapshots.

#include <glob.h>

#include "test.h"

#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"
#include "str.h"

static bool has_compacted(void *userdata) {
        return raft_store(((StoreNode *) userdata)->store)->raft.trail.offset > 0;
}

static bool has_written_snapshot(void *userdata) {
        _cleanup_free_ char *pattern = str_printf("%s/snapshot-*.meta", ((StoreNode *) userdata)->dir);
        glob_t found;
        int r = glob(pattern, 0, NULL, &found);

        globfree(&found);
        return r == 0;
}

typedef struct Pair {
        StoreNode *a, *b;
} Pair;

static bool have_same_configuration(void *userdata) {
        const struct raft *a = &raft_store(((Pair *) userdata)->a->store)->raft;
        const struct raft *b = &raft_store(((Pair *) userdata)->b->store)->raft;

        return a->configuration_committed_index == b->configuration_committed_index &&
               a->configuration_uncommitted_index == 0 && b->configuration_uncommitted_index == 0;
}

static void guard_10_a_configuration_among_other_entries_is_noticed(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c), *away;

        away = leader == &c->servers[2].node ? &c->servers[1].node : &c->servers[2].node;
        store_node_close(away);
        store_cluster_write(c, 5, 100);
        store_cluster_add(c, 3); // two configurations
        store_cluster_write(c, 5, 100);
        store_node_open(away, false, NULL, NULL); // gets all of that at once
        leader = store_cluster_leader(c);
        store_cluster_agree(c);
        store_run_until(&c->loop, have_same_configuration, &(Pair){leader, away}, STORE_PATIENCE_MS,
                        "the same configuration");
}

static void guard_10_a_snapshot_after_a_restart_knows_the_last_configuration(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c), *f;
        StoreStats stats;

        for (size_t i = 0; i < 3; i++) // no snapshots for now
                raft_store(c->servers[i].node.store)->compaction.snapshot_bytes = UINT64_MAX;
        store_cluster_write(c, 40, 1000 * 1000);
        leader = store_cluster_leader(c);
        store_cluster_agree(c);
        f = leader == &c->servers[2].node ? &c->servers[1].node : &c->servers[2].node;
        assert_false(has_compacted(f));
        store_node_close(f);

        // It reads the whole log, applies it in one go, and takes a snapshot, after which the configurations
        // are no longer in the log.
        store_node_open(f, false, NULL, NULL);
        store_run_until(&c->loop, has_compacted, f, STORE_PATIENCE_MS, "a snapshot");
        store_run_until(&c->loop, has_written_snapshot, f, STORE_PATIENCE_MS, "its files");
        store_node_close(f);

        // What the snapshot says.
        store_node_open(f, false, NULL, NULL);
        assert_int_equal(f->n_restores, 1);
        store_stats(f->store, &stats);
        assert_int_equal(stats.n_members, 3);
        for (size_t i = 0; i < 3; i++)
                assert_true(stats.members[i].voter);
}

RUN_TESTS(
        cmocka_unit_test(guard_10_a_configuration_among_other_entries_is_noticed),
        cmocka_unit_test(guard_10_a_snapshot_after_a_restart_knows_the_last_configuration)
)
