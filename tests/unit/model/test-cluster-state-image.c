// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images of the state: all that they hold, what is refused, and what a recovery or the first batch begins
// with.

#include "cluster-words.h"

#include "feature-level.h"
#include "messages.h"

static void an_image_holds_everything(void **state) {
        ClusterState *s = *state, *t = cluster_state_new();
        _cleanup_buf_ Buf first = {0}, second = {0};
        uint8_t id[16];
        RequestKey key;
        Batch b = {0};

        batch_cluster(&b, 3);
        batch_host(&b, 0, "one", 2)->raft_id = 4;
        batch_host(&b, 0, "two", 1);
        batch_host_remove(&b, 2);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_unit(&b, "g.service", WEB2, (UnitPut){.global = true});
        batch_outcome(&b, "a.service", 1, 6, ARGOSY__OUTCOME__KIND__DONE);
        batch_token(&b, "token", 99);
        batch_rollout(&b, "g.service", WEB, WEB2);
        batch_request(&b, 1);
        apply(s, &b);
        assert_int_equal(cluster_state_encode(s, &first), 0);

        batch_unit(&b, "old.service", WEB, (UnitPut){.node = 1}); // all of this is replaced
        batch_unit_remove(&b, "old.service");
        batch_unit(&b, "older.service", WEB2, (UnitPut){.global = true});
        apply(t, &b);
        assert_int_equal(cluster_state_restore(t, first.data, first.len), 0);
        assert_int_equal(cluster_state_encode(t, &second), 0);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.data, second.data, first.len);

        assert_true(rollout_is_under_way(cluster_state_find_rollout(t, "g.service")));
        assert_null(cluster_state_next_dirty(t));
        assert_int_equal(cluster_state_hosts_revision(t), cluster_state_revision(t));
        assert_int_equal(cluster_state_cluster(t)->generation, 3);
        assert_int_equal(unit(t, "a.service")->n_outcomes, 1);
        assert_int_equal(units_on(t, 1), 1);
        assert_non_null(cluster_state_global_units(t, NULL));
        assert_int_equal(cluster_state_find_host_by_node(t, 2)->host, 1);
        memset(id, 1, sizeof id);
        assert_true(cluster_state_find_key(t, id, &key));

        batch_host(&b, 0, "three", 1); // numbers go on where they were
        apply(t, &b);
        assert_int_equal(cluster_state_find_host(t, 3)->nodes[0]->node, 4);
        cluster_state_free(t);
}

static void assert_bad_image(ClusterState *s, Argosy__StateImage *image) {
        uint8_t data[1024];
        size_t len = argosy__state_image__pack(image, data);

        assert_int_equal(cluster_state_restore(s, data, len), -EBADMSG);
}

static void an_image_that_contradicts_itself_is_refused_and_changes_nothing(void **state) {
        Batch b = {0}, keep = {0};
        Argosy__HostRecord *hosts[2];
        Argosy__UnitRecord *units[2];
        Argosy__Spec *specs[1];

        batch_unit(&keep, "kept.service", WEB, (UnitPut){0});
        apply(g.s, &keep);

        hosts[0] = batch_host(&b, 1, "one", 1);
        hosts[1] = batch_host(&b, 2, "two", 1);
        hosts[0]->nodes[0]->node = 1;
        hosts[1]->nodes[0]->node = 1;
        Hash hash = batch_spec(&b, WEB);
        specs[0] = b.log.ops[2]->spec;
        units[0] = units[1] = batch_unit_only(&b, "a.service", &hash, (UnitPut){0});

        Argosy__StateImage image = MESSAGE_OF(state_image, .hosts = hosts, .units = units, .specs = specs,
                                              .last_host = 2, .last_node = 2, .n_hosts = 2);
        assert_bad_image(g.s, &image); // one node, two hosts
        hosts[1]->nodes[0]->node = 3;
        assert_bad_image(g.s, &image); // a number that was never given
        hosts[1]->nodes[0]->node = 2;
        hosts[1]->host = 1;
        assert_bad_image(g.s, &image);
        image.n_hosts = 0;
        image.n_units = 1;
        assert_bad_image(g.s, &image); // its spec is missing
        image.n_specs = 1;
        image.n_units = 0;
        assert_bad_image(g.s, &image); // nobody uses the spec
        image.n_units = 2;
        assert_bad_image(g.s, &image); // a unit twice
        image.n_units = 1;
        units[0]->revision = 1;
        assert_bad_image(g.s, &image); // newer than the counter
        units[0]->revision = 0;
        specs[0]->content.data[0] ^= 1;
        assert_bad_image(g.s, &image); // not what its hash says
        assert_int_equal(cluster_state_restore(g.s, "\xff\xff", 2), -EBADMSG);
        batch_done(&b);

        assert_non_null(cluster_state_find_unit(g.s, "kept.service"));
        assert_int_equal(cluster_state_restore(g.s, NULL, 0), 0);
        assert_int_equal(cluster_state_n_units(g.s), 0);
}

static void after_a_recovery_no_revision_is_given_twice(void **state) {
        uint64_t start, hosts;

        batch_cluster(&g.b, 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(g.s, &g.b);
        cluster_state_drop_dirty(g.s);
        start = unit(g.s, "a.service")->start_rev;
        hosts = cluster_state_hosts_revision(g.s);

        batch_cluster(&g.b, 2);
        g.b.log.ops[0]->cluster->revision_floor = 1000;
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->revision, 1000);
        assert_int_equal(unit(g.s, "a.service")->start_rev, start);
        assert_true(cluster_state_hosts_revision(g.s) > hosts);
        UnitEntry *u = cluster_state_next_dirty(g.s);
        assert_ptr_equal(u->record, unit(g.s, "a.service"));
        cluster_state_dirty_done(g.s, u);

        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(g.s, &g.b);
        assert_true(unit(g.s, "a.service")->start_rev > 1000);
        start = unit(g.s, "a.service")->revision;

        batch_cluster(&g.b, 2); // it stays in the record, and counts once
        g.b.log.ops[0]->cluster->revision_floor = 1000;
        batch_cluster(&g.b, 2); // and one that no counter reaches is none
        g.b.log.ops[1]->cluster->revision_floor = UINT64_MAX;
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->revision, start);
        assert_true(cluster_state_revision(g.s) < 1100);
}

static void the_first_batch_says_what_may_be_written(void **state) {
        assert_int_equal(cluster_state_feature_level(g.s), FEATURE_BASE);
        batch_cluster(&g.b, 1); // of a log that says nothing
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_feature_level(g.s), FEATURE_BASE);
        batch_cluster(&g.b, 1);
        g.b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_feature_level(g.s), FEATURE_LEVEL);
}

RUN_TESTS(
        TEST(after_a_recovery_no_revision_is_given_twice),
        TEST(the_first_batch_says_what_may_be_written),
        TEST(an_image_holds_everything),
        TEST(an_image_that_contradicts_itself_is_refused_and_changes_nothing)
)
