// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What may still run although nobody wants it, in the log. Hosts h1, h2 and h3 have the nodes 1 and 2, 3,
// and 4.
#include <errno.h>

#include "cluster-words.h"
#include "messages.h"

#define X "x.service"
#define Y "y.service"

FIXTURE(begin) {
        (void) make_state(state);
        batch_host(&g.b, 0, "h1", 2);
        batch_host(&g.b, 0, "h2", 1);
        batch_host(&g.b, 0, "h3", 1);
        batch_unit(&g.b, X, WEB, (UnitPut){.target = LAUNCHED, .node = 1});
        batch_unit(&g.b, Y, WEB, (UnitPut){.target = LAUNCHED, .node = 3});
        apply(g.s, &g.b);
}

static void destroy(ClusterState *s, const char *name, const uint32_t *nodes, size_t n, uint64_t fence_us) {
        Batch b = {0};

        batch_unit_remove_from(&b, name, nodes, n, fence_us);
        apply(s, &b);
}

static void clear(ClusterState *s, uint32_t host, uint64_t revision, uint64_t fence_us) {
        Batch b = {0};

        batch_tombstone_clear(&b, host, revision, fence_us);
        apply(s, &b);
}

static const Tombstone *find(ClusterState *s, const char *name, uint32_t node) {
        return cluster_state_find_tombstone(s, name, node);
}

// ------------------------------------------------------------------------------------------------ tests

static void a_removal_leaves_one_on_each_node(void **state) {
        uint64_t revision = cluster_state_revision(g.s) + 1;

        destroy(g.s, X, (uint32_t[]){1, 3}, 2, 17);
        assert_null(cluster_state_find_unit(g.s, X));
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
        for (uint32_t node = 1; node <= 3; node += 2) {
                assert_int_equal(find(g.s, X, node)->revision, revision);
                assert_int_equal(find(g.s, X, node)->fence_us, 17);
                assert_false(find(g.s, X, node)->unguarded);
        }
        assert_int_equal(cluster_state_revision(g.s), revision);
        destroy(g.s, Y, NULL, 0, 0);
        assert_null(cluster_state_find_unit(g.s, Y));
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
        destroy(g.s, Y, (uint32_t[]){1}, 1, 0); // there is no such unit any more
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
}

static void only_nodes_of_hosts_have_them(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){0, 4, 5}, 3, 0);
        batch_tombstone(&g.b, "", (uint32_t[]){4}, 1, 0);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_tombstones(g.s), 1);
        assert_true(find(g.s, X, 4)->unguarded);
}

static void a_second_one_covers_both_contents(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 17);
        batch_tombstone(&g.b, Y, (uint32_t[]){1}, 1, 0);
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 0);
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 5);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
        assert_int_equal(find(g.s, X, 1)->fence_us, 17);
        assert_true(find(g.s, X, 1)->unguarded);
        assert_true(find(g.s, X, 1)->revision > find(g.s, Y, 1)->revision);
}

static void a_host_clears_what_it_has_let_go_up_to_a_revision(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){1, 3}, 2, 0);
        apply(g.s, &g.b);
        uint64_t revision = cluster_state_revision(g.s);
        batch_tombstone(&g.b, Y, (uint32_t[]){2, 3}, 2, 0);
        apply(g.s, &g.b);
        clear(g.s, 1, revision, 0);
        assert_null(find(g.s, X, 1));
        assert_non_null(find(g.s, Y, 2)); // it is newer
        assert_non_null(find(g.s, X, 3)); // of another host
        assert_int_equal(cluster_state_revision(g.s), revision + 2);
        clear(g.s, 1, revision, 0); // nothing is left of that
        clear(g.s, 9, revision, 0);
        assert_int_equal(cluster_state_revision(g.s), revision + 2);
        clear(g.s, 1, revision + 1, 0);
        assert_null(find(g.s, Y, 2));
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
}

static void a_guard_ends_only_what_it_guards(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 0);
        batch_tombstone(&g.b, Y, (uint32_t[]){1}, 1, 20);
        batch_tombstone(&g.b, "z.service", (uint32_t[]){1}, 1, 10);
        apply(g.s, &g.b);
        clear(g.s, 1, UINT64_MAX, 10);
        assert_null(find(g.s, "z.service", 1));
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
        clear(g.s, 1, UINT64_MAX, 1000);
        assert_int_equal(cluster_state_n_tombstones(g.s), 1);
        assert_non_null(find(g.s, X, 1));
}

static void they_go_with_their_host_and_with_their_node(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){1, 2, 3, 4}, 4, 0);
        Argosy__HostRecord *h = batch_host(&g.b, 1, "h1", 1);
        h->nodes[0]->node = 1;
        batch_host_remove(&g.b, 3);
        apply(g.s, &g.b);
        assert_non_null(find(g.s, X, 1));
        assert_null(find(g.s, X, 2));
        assert_non_null(find(g.s, X, 3));
        assert_null(find(g.s, X, 4));
}

static void a_new_unit_of_that_name_leaves_them(void **state) {
        destroy(g.s, X, (uint32_t[]){1}, 1, 0);
        batch_unit(&g.b, X, WEB, (UnitPut){.target = LAUNCHED, .node = 3});
        apply(g.s, &g.b);
        assert_non_null(find(g.s, X, 1));
        destroy(g.s, X, (uint32_t[]){3}, 1, 0);
        assert_int_equal(cluster_state_n_tombstones(g.s), 2);
}

static void each_is_named_once_to_who_follows(void **state) {
        batch_tombstone(&g.b, X, (uint32_t[]){1, 3}, 2, 0);
        batch_tombstone(&g.b, Y, (uint32_t[]){4}, 1, 0);
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 0);
        batch_tombstone_clear(&g.b, 2, UINT64_MAX, 0);
        apply(g.s, &g.b);
        assert_string_equal(cluster_state_next_tombstone(g.s)->name, Y);
        assert_int_equal(cluster_state_next_tombstone(g.s)->node, 1);
        assert_null(cluster_state_next_tombstone(g.s));
}

static void an_image_has_them(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *other = cluster_state_new();
        _cleanup_buf_ Buf image = {0}, again = {0};

        batch_tombstone(&g.b, Y, (uint32_t[]){4, 1}, 2, 7);
        batch_tombstone(&g.b, X, (uint32_t[]){1}, 1, 0);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(other, image.data, image.len), 0);
        assert_int_equal(cluster_state_n_tombstones(other), 3);
        assert_int_equal(find(other, Y, 1)->fence_us, 7);
        assert_true(find(other, X, 1)->unguarded);
        clear(other, 1, find(other, Y, 1)->revision, 0);
        assert_null(find(other, Y, 1));
        assert_non_null(find(other, X, 1));
        assert_null(cluster_state_next_tombstone(other));
        clear(g.s, 1, find(g.s, Y, 1)->revision, 0);
        image.len = 0;
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_encode(other, &again), 0);
        assert_int_equal(image.len, again.len);
        assert_memory_equal(image.data, again.data, image.len);
}

// What is not possible by applying is not taken from a snapshot.
static void an_image_that_contradicts_itself_is_refused(void **state) {
        static const struct {
                const char *name;
                uint32_t node;
                uint64_t revision, fence_us;
        } bad[] = {
                {"", 1, 1, 5}, {X, 9, 1, 5}, {X, 1, 1000000, 5}, {X, 1, 1, 0}, {Y, 1, 2, 5},
        };
        _cleanup_buf_ Buf image = {0};

        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_(cluster_state_freep) ClusterState *other = cluster_state_new();
                Argosy__TombstoneRecord first = ARGOSY__TOMBSTONE_RECORD__INIT,
                                        record = ARGOSY__TOMBSTONE_RECORD__INIT, *both[] = {&first, &record};
                Argosy__StateImage more = MESSAGE_OF(state_image, .tombstones = both, .n_tombstones = 2);
                _cleanup_buf_ Buf whole = {0};

                first.name = (char *) Y;
                first.node = 1;
                first.revision = 1;
                first.fence_us = 5;
                record.name = (char *) bad[i].name;
                record.node = bad[i].node;
                record.revision = bad[i].revision;
                record.fence_us = bad[i].fence_us;
                assert_int_equal(buf_append(&whole, image.data, image.len), 0);
                assert_non_null(buf_reserve(&whole, 1000));
                whole.len += argosy__state_image__pack(&more, whole.data + whole.len);
                assert_int_equal(cluster_state_restore(other, whole.data, whole.len), -EBADMSG);
        }
}

#define TOMBS(name) cmocka_unit_test_setup_teardown(name, begin, free_state)

RUN_TESTS(
        TOMBS(a_removal_leaves_one_on_each_node),
        TOMBS(only_nodes_of_hosts_have_them),
        TOMBS(a_second_one_covers_both_contents),
        TOMBS(a_host_clears_what_it_has_let_go_up_to_a_revision),
        TOMBS(a_guard_ends_only_what_it_guards),
        TOMBS(they_go_with_their_host_and_with_their_node),
        TOMBS(a_new_unit_of_that_name_leaves_them),
        TOMBS(each_is_named_once_to_who_follows),
        TOMBS(an_image_has_them),
        TOMBS(an_image_that_contradicts_itself_is_refused)
)
