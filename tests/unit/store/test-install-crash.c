// SPDX-License-Identifier: LGPL-2.1-or-later

// Guard 3, the two ways in which a follower that crashes while it takes over the leader's snapshot used to
// lose entries that it had acknowledged. The crash is an image of the directory, taken at the moment when
// libraft unlinks the first segment (so the snapshot is durable and nothing has been unlinked yet), on which
// the follower goes on.

#include "printed.h"
#include "test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "log-marker.h"
#include "macro.h"
#include "store-cluster.h"
#include "str.h"

static const char *_Atomic watched; // directory of the follower that is going to crash
static char image[600];
static _Atomic unsigned n_images;

// libuv's unlink() lands here. Worker thread; the main thread waits in its loop.
int unlink(const char *path);
_public_ int unlink(const char *path) {
        int (*real)(const char *) = (int (*)(const char *)) dlsym(RTLD_NEXT, "unlink");
        const char *name = strrchr(path, '/');

        if (watched && name && str_has_prefix(path, watched) && str_has_prefix(name, "/0000")) {
                store_dir_copy(watched, image);
                watched = NULL;
                n_images++;
        }
        return real(path);
}

static bool has_image(void *userdata) {
        return n_images > 0;
}

static bool has_marker(const char *dir) {
        return access(printed("%s/" INSTALL_MARKER, dir), F_OK) == 0;
}

// A cluster of three whose follower has just "crashed": its store is closed, its directory is the image.
static StoreCluster *crash_while_installing(StoreNode **ret_follower, unsigned n_before) {
        StoreCluster *c = store_cluster_of(3);

        n_images = 0;
        store_cluster_write_to_all(c, n_before, 1000);
        StoreNode *f =
                store_cluster_leader(c) == &c->servers[2].node ? &c->servers[1].node : &c->servers[2].node;
        store_node_close(f);
        store_cluster_write(c, 40, 1000 * 1000);

        snprintf(image, sizeof(image), "%s/image", c->base);
        watched = f->dir;
        store_node_open(f, false, NULL, NULL);
        store_run_until(&c->loop, has_image, NULL, STORE_PATIENCE_MS, "installing");
        store_node_close(f);
        store_dir_replace(f->dir, image);
        assert_true(has_marker(f->dir));
        *ret_follower = f;
        return c;
}

// The follower takes part again, acknowledges entries, and crashes once more.
static void crash_after_acknowledging(StoreCluster *c, StoreNode *f) {
        StoreStats stats;

        store_node_open(f, false, NULL, NULL);
        assert_false(has_marker(f->dir));
        store_cluster_agree(c);
        store_cluster_write_to_all(c, 20, 1000);
        store_stats(f->store, &stats);
        uint64_t acknowledged = stats.commit_index; // it applied so far, so it has written so far
        store_dir_copy(f->dir, image);
        store_node_close(f);

        // alone, so that nobody can give it back what it lost
        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++)
                c->servers[i].unreachable = true;
        store_dir_replace(f->dir, image);
        store_node_open(f, false, NULL, NULL);
        store_stats(f->store, &stats);
        assert_in_range(stats.last_index, acknowledged, UINT64_MAX);
}

static void guard_3_nothing_is_lost_with_open_segments_from_before(void **state) {
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = crash_while_installing(&f, 20);

        crash_after_acknowledging(c, f);
}

static void guard_3_nothing_is_lost_when_old_segments_are_many(void **state) {
        StoreNode *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = crash_while_installing(&f, 300);

        crash_after_acknowledging(c, f);
}

// The marker of an install that went well is gone before the follower writes anything behind it.
static void the_marker_does_not_outlive_the_install(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *f = &c->servers[2].node;

        store_cluster_write(c, 40, 1000 * 1000);
        store_cluster_add(c, 2);
        store_cluster_agree(c);
        assert_true(f->n_restores > 0);
        assert_false(has_marker(f->dir));
}

RUN_TESTS(
        cmocka_unit_test(guard_3_nothing_is_lost_with_open_segments_from_before),
        cmocka_unit_test(guard_3_nothing_is_lost_when_old_segments_are_many),
        cmocka_unit_test(the_marker_does_not_outlive_the_install)
)
