// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Roles and pools.

#include "cluster-words.h"
#include "messages.h"

static void put_role(ClusterState *s, const char *name, uint32_t weight) {
        Argosy__RoleRecord role = MESSAGE_OF(role_record, .name = (char *) name, .weight = weight);
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_ROLE)->role = &role;
        apply(s, &b);
}

static void put_pool(ClusterState *s, const char *name, const char *host) {
        Argosy__PoolRecord record =
                MESSAGE_OF(pool_record, .name = (char *) name, .hosts = (char **) &host, .n_hosts = 1);
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_POOL)->pool = &record;
        apply(s, &b);
}

static void remove_named(ClusterState *s, Argosy__LogOp__OpCase what, const char *name) {
        Argosy__LogOp__NameRemove remove = MESSAGE_OF(log_op__name_remove, .name = (char *) name);
        Batch b = {0};

        batch_op(&b, what)->role_remove = &remove;
        apply(s, &b);
}

static void roles_are_kept_by_name_and_replaced_whole(void **state) {
        size_t n;

        put_role(g.s, "web", 2);
        put_role(g.s, "batch", 1);
        put_role(g.s, "web", 5);
        Argosy__RoleRecord *const *roles = cluster_state_roles(g.s, &n);
        assert_int_equal(n, 2);
        assert_string_equal(roles[0]->name, "batch");
        assert_int_equal(cluster_state_find_role(g.s, "web")->weight, 5);
        assert_int_equal(cluster_state_roles_revision(g.s), cluster_state_revision(g.s));
        remove_named(g.s, ARGOSY__LOG_OP__OP_ROLE_REMOVE, "web");
        assert_null(cluster_state_find_role(g.s, "web"));
        uint64_t before = cluster_state_revision(g.s);
        remove_named(g.s, ARGOSY__LOG_OP__OP_ROLE_REMOVE, "web");
        put_role(g.s, "", 1);
        put_role(g.s, "0123456789012345678901234567890123456789012345678901234567890123", 1); // 64 bytes
        assert_int_equal(cluster_state_revision(g.s), before);                                // skipped
}

static void there_are_only_so_many_roles_and_pools(void **state) {
        char name[32];
        size_t n;

        for (unsigned i = 0; i <= CLUSTER_ROLES_MAX; i++) {
                snprintf(name, sizeof(name), "r%u", i);
                put_role(g.s, name, 1);
                put_pool(g.s, name, "one");
        }
        (void) cluster_state_roles(g.s, &n);
        assert_int_equal(n, CLUSTER_ROLES_MAX);
        (void) cluster_state_pools(g.s, &n);
        assert_int_equal(n, CLUSTER_POOLS_MAX);
        put_role(g.s, "r1", 9); // one of them may still change
        assert_int_equal(cluster_state_find_role(g.s, "r1")->weight, 9);
}

static void a_pool_is_of_hosts_and_changes_with_them(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        apply(g.s, &g.b);
        cluster_state_drop_dirty(g.s);
        put_pool(g.s, "fast", "two");
        assert_int_equal(cluster_state_hosts_revision(g.s), cluster_state_revision(g.s));
        assert_int_equal(cluster_state_pools_revision(g.s), cluster_state_revision(g.s));
        assert_int_equal(cluster_state_next_dirty_host(g.s), 0); // their records are as they were
        assert_false(pool_has_host(cluster_state_find_pool(g.s, "fast"), cluster_state_find_host(g.s, 1)));
        assert_true(pool_has_host(cluster_state_find_pool(g.s, "fast"), cluster_state_find_host(g.s, 2)));
        remove_named(g.s, ARGOSY__LOG_OP__OP_POOL_REMOVE, "fast");
        assert_null(cluster_state_find_pool(g.s, "fast"));
        assert_int_equal(cluster_state_hosts_revision(g.s), cluster_state_revision(g.s));
        assert_int_equal(cluster_state_pools_revision(g.s), cluster_state_revision(g.s));
}

static void roles_and_pools_are_part_of_the_image(void **state) {
        ClusterState *s = *state, *t = cluster_state_new();
        _cleanup_buf_ Buf first = {0}, second = {0};

        put_role(s, "web", 2);
        put_role(s, "batch", 1);
        put_pool(s, "fast", "two");
        assert_int_equal(cluster_state_encode(s, &first), 0);
        assert_int_equal(cluster_state_restore(t, first.data, first.len), 0);
        assert_int_equal(cluster_state_encode(t, &second), 0);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);
        assert_int_equal(cluster_state_find_role(t, "web")->weight, 2);
        assert_non_null(cluster_state_find_pool(t, "fast"));
        cluster_state_free(t);
}

RUN_TESTS(
        TEST(roles_are_kept_by_name_and_replaced_whole),
        TEST(there_are_only_so_many_roles_and_pools),
        TEST(a_pool_is_of_hosts_and_changes_with_them),
        TEST(roles_and_pools_are_part_of_the_image)
)
