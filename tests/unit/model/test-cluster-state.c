// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What batches make of units, their outcomes, requests and rollouts.

#include "cluster-words.h"

// ------------------------------------------------------------------------------------------------ units

static void every_change_raises_one_counter(void **state) {
        batch_cluster(&g.b, 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LOADED});
        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->revision, 3); // cluster, spec, a
        assert_int_equal(unit(g.s, "b.service")->revision, 4); // the spec was known
        assert_int_equal(cluster_state_revision(g.s), 4);
}

static void a_start_is_a_number_that_only_explicit_starts_raise(void **state) {
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(g.s, &g.b);
        Argosy__UnitRecord *u = unit(g.s, "a.service");
        assert_int_equal(u->start_rev, u->revision);
        assert_int_equal(u->restart_rev, 0);
        assert_int_equal(u->stop_rev, 0);

        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LOADED, .stop = true});
        apply(g.s, &g.b);
        u = unit(g.s, "a.service");
        assert_int_equal(u->start_rev, 2);
        assert_int_equal(u->stop_rev, u->revision);

        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .restart = true});
        apply(g.s, &g.b);
        u = unit(g.s, "a.service");
        assert_int_equal(u->start_rev, 2);
        assert_int_equal(u->restart_rev, u->revision);
        assert_int_equal(u->revision, 4);
}

static void a_put_that_expects_another_revision_changes_nothing(void **state) {
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 1});
        batch_unit(&g.b, "new.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 2});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->target, LOADED);
        assert_null(cluster_state_find_unit(g.s, "new.service"));
        assert_int_equal(cluster_state_revision(g.s), 2);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 2});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->target, LAUNCHED);
}

static void what_does_not_fit_is_skipped(void **state) {
        char long_name[UNIT_NAME_MANAGED_MAX + 2];
        Hash unknown = {{1}};

        memset(long_name, 'a', sizeof long_name);
        long_name[UNIT_NAME_MANAGED_MAX + 1] = 0;
        batch_unit_only(&g.b, "a.service", &unknown, (UnitPut){0});
        batch_unit_remove(&g.b, "none.service");
        batch_host_remove(&g.b, 7);
        batch_token_remove(&g.b, "none");
        batch_outcome(&g.b, "none.service", 1, 0, ARGOSY__OUTCOME__KIND__DONE);
        batch_op(&g.b, ARGOSY__LOG_OP__OP__NOT_SET);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_revision(g.s), 0);

        batch_unit(&g.b, long_name, WEB, (UnitPut){0});
        batch_unit(&g.b, "", WEB, (UnitPut){0});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_units(g.s), 0);
        long_name[UNIT_NAME_MANAGED_MAX] = 0;
        batch_unit(&g.b, long_name, WEB, (UnitPut){0});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_units(g.s), 1);
        batch_unit_remove(&g.b, long_name);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_units(g.s), 0);

        batch_unit(&g.b, "a.service", WEB, (UnitPut){0});
        g.b.log.ops[0]->spec->content.data[0] ^= 1; // no longer what its hash says
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_n_units(g.s), 0);
}

static void a_spec_lives_as_long_as_its_users(void **state) {
        Hash web = hash_of(WEB, strlen(WEB)), web2 = hash_of(WEB2, strlen(WEB2));

        batch_unit(&g.b, "a@1.service", WEB, (UnitPut){0});
        batch_unit(&g.b, "a@2.service", WEB, (UnitPut){0});
        batch_spec(&g.b, WEB2); // nobody uses it
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_spec(g.s, &web)->users, 2);
        assert_null(cluster_state_find_spec(g.s, &web2));

        batch_unit(&g.b, "a@1.service", WEB2, (UnitPut){0});
        batch_unit_remove(&g.b, "a@2.service");
        apply(g.s, &g.b);
        assert_null(cluster_state_find_spec(g.s, &web));
        assert_int_equal(cluster_state_find_spec(g.s, &web2)->users, 1);

        batch_unit_remove(&g.b, "a@1.service"); // the last user goes and another comes in one batch
        batch_unit_only(&g.b, "b.service", &web2, (UnitPut){0});
        apply(g.s, &g.b);
        assert_memory_equal(cluster_state_find_spec(g.s, &web2)->content, WEB2, strlen(WEB2));
}

// There may be a million units: each has its name once, and none has a hash of its own.
static void names_and_hashes_are_kept_once(void **state) {
        Batch batch = {0};

        batch_unit(&batch, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_unit(&batch, "b.service", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &batch);
        const UnitEntry *a = cluster_state_find_unit(g.s, "a.service");
        const UnitEntry *b = cluster_state_find_unit(g.s, "b.service");
        assert_ptr_equal(a->record->name, a->name);
        assert_ptr_equal(a->record->spec.data, a->spec->hash.bytes);
        assert_ptr_equal(b->record->spec.data, a->spec->hash.bytes);
        batch_unit(&batch, "a.service", WEB "# another\n", (UnitPut){.target = LAUNCHED, .node = 1});
        apply(g.s, &batch);
        assert_ptr_not_equal(a->spec, b->spec);
        assert_ptr_equal(a->record->name, a->name);
        assert_ptr_equal(a->record->spec.data, a->spec->hash.bytes);
}

static void a_spec_is_parsed_once(void **state) {
        const UnitFile *one, *two;

        batch_unit(&g.b, "a.service", "[X-Argosy]\nGlobal=yes\n", (UnitPut){.global = true});
        batch_unit(&g.b, "b.service", "[X-Argosy]\nOption=of the future\n", (UnitPut){0});
        apply(g.s, &g.b);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(g.s, "a.service")->spec, &one), 0);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(g.s, "a.service")->spec, &two), 0);
        assert_true(one->global);
        assert_ptr_equal(one, two);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(g.s, "b.service")->spec, &one), -EINVAL);
}

static void units_are_listed_by_node_and_by_name(void **state) {
        size_t n;

        batch_unit(&g.b, "b.service", WEB, (UnitPut){.node = 1});
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 1});
        batch_unit(&g.b, "g.service", WEB, (UnitPut){.node = 9, .global = true});
        batch_unit(&g.b, "c.service", WEB, (UnitPut){0});
        apply(g.s, &g.b);
        assert_int_equal(units_on(g.s, 1), 2);
        assert_int_equal(unit(g.s, "g.service")->node, 0);
        assert_int_equal(units_on(g.s, 9), 0);
        assert_non_null(cluster_state_global_units(g.s, &n));
        assert_int_equal(n, 1);
        assert_int_equal(cluster_state_n_units(g.s), 4);
        assert_string_equal(cluster_state_next_unit(g.s, "")->record->name, "a.service");
        assert_string_equal(cluster_state_next_unit(g.s, "c.service")->record->name, "g.service");
        assert_null(cluster_state_next_unit(g.s, "g.service"));

        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 2});
        batch_unit(&g.b, "g.service", WEB, (UnitPut){.node = 2});
        batch_unit_remove(&g.b, "b.service");
        apply(g.s, &g.b);
        assert_null(cluster_state_units_on(g.s, 1, NULL));
        assert_int_equal(units_on(g.s, 2), 2);
        assert_null(cluster_state_global_units(g.s, NULL));
        assert_int_equal(cluster_state_n_units(g.s), 3);
        assert_string_equal(cluster_state_next_unit(g.s, "a.service")->record->name, "c.service");
}

// ------------------------------------------------------------------------------------------------ outcomes

static void an_outcome_counts_only_for_the_start_that_it_ends(void **state) {
        batch_unit(&g.b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_outcome(&g.b, "job.service", 1, 1, ARGOSY__OUTCOME__KIND__DONE); // of no start of this unit
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "job.service")->n_outcomes, 0);

        batch_outcome(&g.b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__FAILED);
        batch_outcome(&g.b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__DONE);
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "job.service")->n_outcomes, 1);
        assert_int_equal(unit(g.s, "job.service")->outcomes[0]->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(unit(g.s, "job.service")->revision, 2); // a finding, not a wish
        assert_int_equal(cluster_state_revision(g.s), 4);
}

static void an_outcome_survives_a_move_and_a_stop_but_not_a_start(void **state) {
        batch_unit(&g.b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_outcome(&g.b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__DONE);
        batch_unit(&g.b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 2});
        batch_unit(&g.b, "job.service", WEB, (UnitPut){.target = LOADED, .node = 2, .stop = true});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "job.service")->n_outcomes, 1);
        assert_int_equal(unit(g.s, "job.service")->outcomes[0]->node, 1);

        batch_unit(&g.b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 2, .start = true});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "job.service")->n_outcomes, 0);
}

static void a_put_brings_no_outcomes_and_no_revisions_of_its_own(void **state) {
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT, *outcomes[] = {&outcome};
        Hash spec = batch_spec(&g.b, WEB);
        Argosy__UnitRecord *u = batch_unit_only(&g.b, "a.service", &spec, (UnitPut){0});

        u->outcomes = outcomes;
        u->n_outcomes = 1;
        u->revision = u->start_rev = u->restart_rev = u->stop_rev = 1000;
        apply(g.s, &g.b);
        u = unit(g.s, "a.service");
        assert_int_equal(u->n_outcomes, 0);
        assert_int_equal(u->revision, 2);
        assert_int_equal(u->start_rev + u->restart_rev + u->stop_rev, 0);
}

static void a_global_unit_has_an_outcome_per_node(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        batch_unit(&g.b, "g.service", WEB, (UnitPut){.target = LAUNCHED, .global = true, .start = true});
        for (uint32_t node = 1; node <= 3; node++) // there is no node 3
                batch_outcome(&g.b, "g.service", node, 4, ARGOSY__OUTCOME__KIND__DONE);
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "g.service")->n_outcomes, 2);

        batch_outcome(&g.b, "g.service", 1, 4, ARGOSY__OUTCOME__KIND__NONE);
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "g.service")->n_outcomes, 1);
        assert_int_equal(unit(g.s, "g.service")->outcomes[0]->node, 2);

        batch_host_remove(&g.b, 2); // its outcome goes with the next one
        batch_outcome(&g.b, "g.service", 1, 4, ARGOSY__OUTCOME__KIND__FAILED);
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "g.service")->n_outcomes, 1);
        assert_int_equal(unit(g.s, "g.service")->outcomes[0]->node, 1);

        batch_unit(&g.b, "g.service", WEB, (UnitPut){.target = LAUNCHED});
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "g.service")->n_outcomes, 0);
}

// ---------------------------------------------------------------------------------------------- dirty units

static void each_changed_unit_is_handed_out_once_with_what_it_was(void **state) {
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 1});
        batch_unit(&g.b, "b.service", WEB, (UnitPut){.node = 1});
        apply(g.s, &g.b);
        UnitEntry *u = cluster_state_next_dirty(g.s);
        assert_string_equal(u->record->name, "a.service");
        assert_false(u->existed);
        cluster_state_dirty_done(g.s, u);
        cluster_state_drop_dirty(g.s);
        assert_null(cluster_state_next_dirty(g.s));

        batch_unit(&g.b, "b.service", WEB, (UnitPut){.node = 2});
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 2});
        batch_unit(&g.b, "b.service", WEB, (UnitPut){.node = 3});
        apply(g.s, &g.b);
        u = cluster_state_next_dirty(g.s);
        assert_string_equal(u->record->name, "b.service");
        assert_true(u->existed);
        assert_int_equal(u->node_before, 1);
        assert_int_equal(u->record->node, 3);
        u = cluster_state_next_dirty(g.s);
        assert_string_equal(u->record->name, "a.service");
        assert_null(cluster_state_next_dirty(g.s));
}

static void a_removed_unit_is_handed_over(void **state) {
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1});
        apply(g.s, &g.b);
        cluster_state_drop_dirty(g.s);
        batch_unit_remove(&g.b, "a.service");
        batch_unit(&g.b, "a.service", WEB2, (UnitPut){.target = LAUNCHED, .node = 2});
        apply(g.s, &g.b);

        UnitEntry *u = cluster_state_next_dirty(g.s);
        assert_true(u->removed && u->existed);
        assert_int_equal(u->record->target, INACTIVE);
        assert_int_equal(u->record->revision, 3);
        assert_int_equal(u->node_before, 1);
        assert_null(u->spec);
        cluster_state_dirty_done(g.s, u);
        u = cluster_state_next_dirty(g.s);
        assert_false(u->removed || u->existed);
        assert_ptr_equal(u, cluster_state_find_unit(g.s, "a.service"));
        assert_null(cluster_state_next_dirty(g.s));
}

static void a_unit_that_came_and_went_unseen_is_not_mentioned(void **state) {
        batch_unit(&g.b, "a.service", WEB, (UnitPut){0});
        batch_unit_remove(&g.b, "a.service");
        apply(g.s, &g.b);
        assert_null(cluster_state_next_dirty(g.s));
}

// --------------------------------------------------------------------------------------------- roles, pools

static bool has_spec(const ClusterState *s, const char *content) {
        Hash hash = hash_of(content, strlen(content));

        return cluster_state_find_spec(s, &hash);
}

static void a_rollout_keeps_both_contents_until_it_ends(void **state) {
        batch_unit(&g.b, "w@.service", WEB, (UnitPut){0});
        batch_spec(&g.b, WEB2);
        batch_rollout(&g.b, "w@.service", WEB, WEB2);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_rollout(g.s, "w@.service")->revision,
                         cluster_state_revision(g.s));
        assert_int_equal(cluster_state_rollouts_revision(g.s), cluster_state_revision(g.s));
        batch_unit_remove(&g.b, "w@.service");
        apply(g.s, &g.b);
        assert_true(has_spec(g.s, WEB) && has_spec(g.s, WEB2));
        batch_rollout(&g.b, "w@.service", NULL, NULL)->revision = 4;
        apply(g.s, &g.b);
        assert_false(has_spec(g.s, WEB) || has_spec(g.s, WEB2));
        assert_int_equal(cluster_state_find_rollout(g.s, "w@.service")->revision, 4);
}

static void a_rollout_to_an_unknown_content_is_skipped(void **state) {
        batch_unit(&g.b, "w@.service", WEB, (UnitPut){0});
        batch_rollout(&g.b, "w@.service", WEB, WEB2);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_rollout(g.s, "w@.service"));
}

static void a_nodes_turn_gets_the_revision_in_which_it_was_given(void **state) {
        batch_unit(&g.b, "g.service", WEB, (UnitPut){.global = true});
        batch_spec(&g.b, WEB2);
        Argosy__RolloutRecord *r = batch_rollout(&g.b, "g.service", WEB, WEB2);
        r->nodes = batch_own(&g.b, calloc(2, sizeof *r->nodes));
        for (size_t i = 0; i < 2; i++) {
                r->nodes[i] = BATCH_NEW(&g.b, Argosy__RolloutNode, argosy__rollout_node__init);
                r->nodes[i]->node = (uint32_t) i + 1;
        }
        r->nodes[0]->revision = 1;
        r->n_nodes = 2;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_rollout(g.s, "g.service")->nodes[0]->revision, 1);
        assert_int_equal(cluster_state_find_rollout(g.s, "g.service")->nodes[1]->revision,
                         cluster_state_revision(g.s));
}

static void of_too_many_rollouts_the_oldest_that_ended_goes(void **state) {
        char name[32];

        batch_unit(&g.b, "w@.service", WEB, (UnitPut){0});
        batch_rollout(&g.b, "a@.service", WEB, WEB); // under way: it stays
        for (unsigned i = 0; i < CLUSTER_ROLLOUTS_MAX; i++) {
                snprintf(name, sizeof name, "u%u@.service", i);
                batch_rollout(&g.b, name, NULL, NULL);
        }
        apply(g.s, &g.b);
        assert_non_null(cluster_state_find_rollout(g.s, "a@.service"));
        assert_null(cluster_state_find_rollout(g.s, "u0@.service"));
        assert_non_null(cluster_state_find_rollout(g.s, "u1@.service"));
        assert_non_null(cluster_state_find_rollout(g.s, name));
}

// ------------------------------------------------------------------------------------------------ a walk

static void assert_walks_to(ClusterState *s, const char *name) {
        const UnitEntry *u = cluster_state_walk_next(s);

        if (name) {
                assert_non_null(u);
                assert_string_equal(u->record->name, name);
        } else
                assert_null(u);
}

static void a_walk_goes_on_whatever_is_applied_meanwhile(void **state) {
        static const char *const names[] = {"d.service", "a.service", "c.service", "b.service"};

        assert_walks_to(g.s, NULL);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                batch_unit(&g.b, names[i], WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        cluster_state_walk_begin(g.s);
        assert_walks_to(g.s, "a.service");
        batch_unit_remove(&g.b, "a.service");
        batch_unit_remove(&g.b, "b.service"); // which would be next
        batch_unit(&g.b, "c.service", WEB2, (UnitPut){.target = LAUNCHED}); // stays where it is
        batch_unit(&g.b, "e.service", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        assert_walks_to(g.s, "c.service");
        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LOADED}); // the walk is behind it
        apply(g.s, &g.b);
        assert_walks_to(g.s, "d.service");
        assert_walks_to(g.s, "e.service");
        assert_walks_to(g.s, NULL);
        assert_walks_to(g.s, NULL);
        cluster_state_walk_begin(g.s);
        assert_walks_to(g.s, "b.service");
        cluster_state_walk_begin(g.s);
        assert_walks_to(g.s, "b.service");
}

static void a_walk_comes_to_what_an_image_has(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *other = cluster_state_new();
        _cleanup_buf_ Buf image = {0};

        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LOADED});
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LOADED});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        batch_unit(&g.b, "gone.service", WEB, (UnitPut){.target = LOADED});
        apply(other, &g.b);
        cluster_state_walk_begin(other);
        assert_int_equal(cluster_state_restore(other, image.data, image.len), 0);
        assert_walks_to(other, NULL); // that was of before
        cluster_state_walk_begin(other);
        assert_walks_to(other, "a.service");
        assert_walks_to(other, "b.service");
        assert_walks_to(other, NULL);
}

static size_t units_of_set(ClusterState *s, const char *set) {
        const Map *units = cluster_state_units_of_set(s, set);

        return units ? units->count : 0;
}

static void put_in_set(ClusterState *s, const char *name, const char *set) {
        Batch b = {};
        Hash spec = batch_spec(&b, WEB);

        batch_unit_only(&b, name, &spec, (UnitPut){.target = LAUNCHED})->set = batch_own(&b, strdup(set));
        apply(s, &b);
}

static void units_are_found_by_their_set(void **state) {
        _cleanup_buf_ Buf image = {};
        char longest[CLUSTER_SET_NAME_MAX + 2];

        put_in_set(g.s, "a.service", "shop");
        put_in_set(g.s, "b.service", "shop");
        put_in_set(g.s, "c.service", "");
        assert_int_equal(units_of_set(g.s, "shop"), 2);
        put_in_set(g.s, "a.service", "mail");
        put_in_set(g.s, "b.service", "shop"); // as before
        assert_int_equal(units_of_set(g.s, "shop"), 1);
        assert_ptr_equal(map_find_str(cluster_state_units_of_set(g.s, "mail"), "a.service"),
                         cluster_state_find_unit(g.s, "a.service"));
        memset(longest, 'x', sizeof(longest));
        longest[sizeof(longest) - 1] = 0;
        put_in_set(g.s, "c.service", longest); // skipped
        assert_string_equal(unit(g.s, "c.service")->set, "");

        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(g.s, image.data, image.len), 0);
        assert_string_equal(unit(g.s, "a.service")->set, "mail");
        assert_int_equal(units_of_set(g.s, "shop"), 1);
        batch_unit_remove(&g.b, "b.service");
        apply(g.s, &g.b);
        assert_null(cluster_state_units_of_set(g.s, "shop"));
}

RUN_TESTS(
        TEST(every_change_raises_one_counter),
        TEST(a_start_is_a_number_that_only_explicit_starts_raise),
        TEST(a_put_that_expects_another_revision_changes_nothing),
        TEST(what_does_not_fit_is_skipped),
        TEST(a_spec_lives_as_long_as_its_users),
        TEST(names_and_hashes_are_kept_once),
        TEST(a_spec_is_parsed_once),
        TEST(units_are_listed_by_node_and_by_name),
        TEST(an_outcome_counts_only_for_the_start_that_it_ends),
        TEST(an_outcome_survives_a_move_and_a_stop_but_not_a_start),
        TEST(a_put_brings_no_outcomes_and_no_revisions_of_its_own),
        TEST(a_global_unit_has_an_outcome_per_node),
        TEST(each_changed_unit_is_handed_out_once_with_what_it_was),
        TEST(a_removed_unit_is_handed_over),
        TEST(a_unit_that_came_and_went_unseen_is_not_mentioned),
        TEST(a_rollout_keeps_both_contents_until_it_ends),
        TEST(a_rollout_to_an_unknown_content_is_skipped),
        TEST(a_nodes_turn_gets_the_revision_in_which_it_was_given),
        TEST(of_too_many_rollouts_the_oldest_that_ended_goes),
        TEST(a_walk_goes_on_whatever_is_applied_meanwhile),
        TEST(a_walk_comes_to_what_an_image_has),
        TEST(units_are_found_by_their_set)
)
