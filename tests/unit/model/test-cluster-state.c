// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "batch.h"
#include "cluster-state.h"
#include "feature-level.h"

#define WEB "[Service]\nExecStart=/bin/web\n"
#define WEB2 "[Service]\nExecStart=/bin/web2\n"

static int make_state(void **state) {
        *state = cluster_state_new();
        return *state ? 0 : -1;
}

static int free_state(void **state) {
        cluster_state_free(*state);
        return 0;
}

static void apply(ClusterState *s, Batch *b) {
        assert_int_equal(cluster_state_apply(s, &b->log), 0);
        batch_done(b);
}

static Argosy__UnitRecord *unit(ClusterState *s, const char *name) {
        UnitEntry *u = cluster_state_find_unit(s, name);

        assert_non_null(u);
        return u->record;
}

static size_t units_on(ClusterState *s, uint32_t node) {
        size_t n;

        cluster_state_units_on(s, node, &n);
        return n;
}

// ------------------------------------------------------------------------------------------------ units

static void every_change_raises_one_counter(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_cluster(&b, 1);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LOADED});
        batch_unit(&b, "b.service", WEB, (UnitPut){.target = LOADED});
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->revision, 3); // cluster, spec, a
        assert_int_equal(unit(s, "b.service")->revision, 4); // the spec was known
        assert_int_equal(cluster_state_revision(s), 4);
}

static void a_start_is_a_number_that_only_explicit_starts_raise(void **state) {
        ClusterState *s = *state;
        Argosy__UnitRecord *u;
        Batch b = {0};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(s, &b);
        u = unit(s, "a.service");
        assert_int_equal(u->start_rev, u->revision);
        assert_int_equal(u->restart_rev, 0);
        assert_int_equal(u->stop_rev, 0);

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LOADED, .stop = true});
        apply(s, &b);
        u = unit(s, "a.service");
        assert_int_equal(u->start_rev, 2);
        assert_int_equal(u->stop_rev, u->revision);

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .restart = true});
        apply(s, &b);
        u = unit(s, "a.service");
        assert_int_equal(u->start_rev, 2);
        assert_int_equal(u->restart_rev, u->revision);
        assert_int_equal(u->revision, 4);
}

static void a_put_that_expects_another_revision_changes_nothing(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LOADED});
        apply(s, &b);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 1});
        batch_unit(&b, "new.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 2});
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->target, LOADED);
        assert_null(cluster_state_find_unit(s, "new.service"));
        assert_int_equal(cluster_state_revision(s), 2);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .if_revision = 2});
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->target, LAUNCHED);
}

static void what_does_not_fit_is_skipped(void **state) {
        ClusterState *s = *state;
        char long_name[UNIT_NAME_MAX + 2];
        Hash unknown = {{1}};
        Batch b = {0};

        memset(long_name, 'a', sizeof long_name);
        long_name[UNIT_NAME_MAX + 1] = 0;
        batch_unit_only(&b, "a.service", &unknown, (UnitPut){0});
        batch_unit_remove(&b, "none.service");
        batch_host_remove(&b, 7);
        batch_token_remove(&b, "none");
        batch_outcome(&b, "none.service", 1, 0, ARGOSY__OUTCOME__KIND__DONE);
        batch_op(&b, ARGOSY__LOG_OP__OP__NOT_SET);
        apply(s, &b);
        assert_int_equal(cluster_state_revision(s), 0);

        batch_unit(&b, long_name, WEB, (UnitPut){0});
        batch_unit(&b, "", WEB, (UnitPut){0});
        apply(s, &b);
        assert_int_equal(cluster_state_n_units(s), 0);

        batch_unit(&b, "a.service", WEB, (UnitPut){0});
        b.log.ops[0]->spec->content.data[0] ^= 1; // no longer what its hash says
        apply(s, &b);
        assert_int_equal(cluster_state_n_units(s), 0);
}

static void a_spec_lives_as_long_as_its_users(void **state) {
        ClusterState *s = *state;
        Hash web = hash_of(WEB, strlen(WEB)), web2 = hash_of(WEB2, strlen(WEB2));
        Batch b = {0};

        batch_unit(&b, "a@1.service", WEB, (UnitPut){0});
        batch_unit(&b, "a@2.service", WEB, (UnitPut){0});
        batch_spec(&b, WEB2); // nobody uses it
        apply(s, &b);
        assert_int_equal(cluster_state_find_spec(s, &web)->users, 2);
        assert_null(cluster_state_find_spec(s, &web2));

        batch_unit(&b, "a@1.service", WEB2, (UnitPut){0});
        batch_unit_remove(&b, "a@2.service");
        apply(s, &b);
        assert_null(cluster_state_find_spec(s, &web));
        assert_int_equal(cluster_state_find_spec(s, &web2)->users, 1);

        batch_unit_remove(&b, "a@1.service"); // the last user goes and another comes in one batch
        batch_unit_only(&b, "b.service", &web2, (UnitPut){0});
        apply(s, &b);
        assert_memory_equal(cluster_state_find_spec(s, &web2)->content, WEB2, strlen(WEB2));
}

static void a_spec_is_parsed_once(void **state) {
        ClusterState *s = *state;
        const UnitFile *one, *two;
        Batch b = {0};

        batch_unit(&b, "a.service", "[X-Argosy]\nGlobal=yes\n", (UnitPut){.global = true});
        batch_unit(&b, "b.service", "[X-Argosy]\nOption=of the future\n", (UnitPut){0});
        apply(s, &b);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(s, "a.service")->spec, &one), 0);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(s, "a.service")->spec, &two), 0);
        assert_true(one->global);
        assert_ptr_equal(one, two);
        assert_int_equal(spec_entry_file(cluster_state_find_unit(s, "b.service")->spec, &one), -EINVAL);
}

static void units_are_listed_by_node_and_by_name(void **state) {
        ClusterState *s = *state;
        UnitEntry **units;
        Batch b = {0};
        size_t n;

        batch_unit(&b, "b.service", WEB, (UnitPut){.node = 1});
        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 1});
        batch_unit(&b, "g.service", WEB, (UnitPut){.node = 9, .global = true});
        batch_unit(&b, "c.service", WEB, (UnitPut){0});
        apply(s, &b);
        assert_int_equal(units_on(s, 1), 2);
        assert_int_equal(unit(s, "g.service")->node, 0);
        assert_int_equal(units_on(s, 9), 0);
        assert_non_null(cluster_state_global_units(s, &n));
        assert_int_equal(n, 1);
        assert_int_equal(cluster_state_units(s, &units, &n), 0);
        assert_int_equal(n, 4);
        assert_string_equal(units[0]->record->name, "a.service");
        assert_string_equal(units[3]->record->name, "g.service");

        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 2});
        batch_unit(&b, "g.service", WEB, (UnitPut){.node = 2});
        batch_unit_remove(&b, "b.service");
        apply(s, &b);
        assert_null(cluster_state_units_on(s, 1, NULL));
        assert_int_equal(units_on(s, 2), 2);
        assert_null(cluster_state_global_units(s, NULL));
        assert_int_equal(cluster_state_units(s, &units, &n), 0);
        assert_int_equal(n, 3);
        assert_string_equal(units[1]->record->name, "c.service");
}

// ------------------------------------------------------------------------------------------------ outcomes

static void an_outcome_counts_only_for_the_start_that_it_ends(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_outcome(&b, "job.service", 1, 1, ARGOSY__OUTCOME__KIND__DONE); // of no start of this unit
        apply(s, &b);
        assert_int_equal(unit(s, "job.service")->n_outcomes, 0);

        batch_outcome(&b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__FAILED);
        batch_outcome(&b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__DONE);
        apply(s, &b);
        assert_int_equal(unit(s, "job.service")->n_outcomes, 1);
        assert_int_equal(unit(s, "job.service")->outcomes[0]->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(unit(s, "job.service")->revision, 2); // a finding, not a wish
        assert_int_equal(cluster_state_revision(s), 4);
}

static void an_outcome_survives_a_move_and_a_stop_but_not_a_start(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
        batch_outcome(&b, "job.service", 1, 2, ARGOSY__OUTCOME__KIND__DONE);
        batch_unit(&b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 2});
        batch_unit(&b, "job.service", WEB, (UnitPut){.target = LOADED, .node = 2, .stop = true});
        apply(s, &b);
        assert_int_equal(unit(s, "job.service")->n_outcomes, 1);
        assert_int_equal(unit(s, "job.service")->outcomes[0]->node, 1);

        batch_unit(&b, "job.service", WEB, (UnitPut){.target = LAUNCHED, .node = 2, .start = true});
        apply(s, &b);
        assert_int_equal(unit(s, "job.service")->n_outcomes, 0);
}

static void a_put_brings_no_outcomes_and_no_revisions_of_its_own(void **state) {
        ClusterState *s = *state;
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT, *outcomes[] = {&outcome};
        Hash spec;
        Batch b = {0};
        Argosy__UnitRecord *u;

        spec = batch_spec(&b, WEB);
        u = batch_unit_only(&b, "a.service", &spec, (UnitPut){0});
        u->outcomes = outcomes;
        u->n_outcomes = 1;
        u->revision = u->start_rev = u->restart_rev = u->stop_rev = 1000;
        apply(s, &b);
        u = unit(s, "a.service");
        assert_int_equal(u->n_outcomes, 0);
        assert_int_equal(u->revision, 2);
        assert_int_equal(u->start_rev + u->restart_rev + u->stop_rev, 0);
}

static void a_global_unit_has_an_outcome_per_node(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        batch_unit(&b, "g.service", WEB, (UnitPut){.target = LAUNCHED, .global = true, .start = true});
        for (uint32_t node = 1; node <= 3; node++) // there is no node 3
                batch_outcome(&b, "g.service", node, 4, ARGOSY__OUTCOME__KIND__DONE);
        apply(s, &b);
        assert_int_equal(unit(s, "g.service")->n_outcomes, 2);

        batch_outcome(&b, "g.service", 1, 4, ARGOSY__OUTCOME__KIND__NONE);
        apply(s, &b);
        assert_int_equal(unit(s, "g.service")->n_outcomes, 1);
        assert_int_equal(unit(s, "g.service")->outcomes[0]->node, 2);

        batch_host_remove(&b, 2); // its outcome goes with the next one
        batch_outcome(&b, "g.service", 1, 4, ARGOSY__OUTCOME__KIND__FAILED);
        apply(s, &b);
        assert_int_equal(unit(s, "g.service")->n_outcomes, 1);
        assert_int_equal(unit(s, "g.service")->outcomes[0]->node, 1);

        batch_unit(&b, "g.service", WEB, (UnitPut){.target = LAUNCHED});
        apply(s, &b);
        assert_int_equal(unit(s, "g.service")->n_outcomes, 0);
}

// ------------------------------------------------------------------------------------------------ hosts

static void numbers_are_given_once(void **state) {
        ClusterState *s = *state;
        const HostEntry *hosts;
        Batch b = {0};
        size_t n;

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 2)->raft_id = 5;
        apply(s, &b);
        batch_host_remove(&b, 2);
        batch_host(&b, 0, "three", 1);
        batch_host(&b, 2, "two", 1); // a late update of a host that was removed
        batch_host(&b, 17, "four", 1);
        apply(s, &b);
        hosts = cluster_state_hosts(s, &n);
        assert_int_equal(n, 2);
        assert_int_equal(hosts[0].record->host, 1);
        assert_int_equal(hosts[1].record->host, 3);
        assert_int_equal(hosts[0].record->nodes[0]->node, 1);
        assert_int_equal(hosts[1].record->nodes[0]->node, 4);
        assert_int_equal(cluster_state_next_raft_id(s), 6);
        assert_null(cluster_state_find_host(s, 2));
        assert_null(cluster_state_find_host_by_node(s, 2));
}

static void a_raft_id_is_never_used_twice(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1)->raft_id = 1;
        batch_host(&b, 0, "two", 1)->raft_id = 1; // refused as a whole
        batch_host(&b, 0, "three", 1)->raft_id = 2;
        apply(s, &b);
        assert_null(cluster_state_resolve_host(s, "two", NULL));
        assert_int_equal(cluster_state_resolve_host(s, "three", NULL)->host, 2);

        batch_host(&b, 1, "one", 0)->raft_id = 1; // unchanged
        batch_host(&b, 1, "one", 0)->raft_id = 0; // demoted
        batch_host(&b, 1, "one", 0)->raft_id = 1; // cannot come back
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->raft_id, 0);
        batch_host(&b, 1, "one", 0)->raft_id = cluster_state_next_raft_id(s);
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->raft_id, 3);
}

// Also on a follower that is behind: an id that it has not heard of may be a new voter's.
static void an_id_is_retired_when_its_record_gave_it_up(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1)->raft_id = 1;
        batch_host(&b, 0, "two", 1)->raft_id = 2;
        batch_host(&b, 0, "three", 1)->raft_id = 3;
        apply(s, &b);
        for (uint32_t id = 0; id <= 5; id++)
                assert_false(cluster_state_raft_id_is_retired(s, id));
        batch_host(&b, 2, "two", 0)->raft_id = 0; // demoted
        batch_host_remove(&b, 3);
        apply(s, &b);
        for (uint32_t id = 0; id <= 5; id++)
                assert_int_equal(cluster_state_raft_id_is_retired(s, id), id == 2 || id == 3);
        batch_host(&b, 2, "two", 0)->raft_id = 4;
        apply(s, &b);
        assert_false(cluster_state_raft_id_is_retired(s, 4));
        assert_true(cluster_state_raft_id_is_retired(s, 2));
}

static void a_host_keeps_its_nodes_and_cannot_take_others(void **state) {
        ClusterState *s = *state;
        Argosy__HostRecord *h;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        apply(s, &b);
        batch_host(&b, 1, "one", 1)->nodes[0]->node = 2; // belongs to the other
        h = batch_host(&b, 2, "renamed", 2);
        h->nodes[0]->node = 2;
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->nodes[0]->node, 1);
        assert_string_equal(cluster_state_find_host_by_node(s, 2)->name, "renamed");
        assert_int_equal(cluster_state_find_host_by_node(s, 3)->host, 2);

        h = batch_host(&b, 2, "renamed", 2); // one number twice
        h->nodes[0]->node = h->nodes[1]->node = 2;
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 2)->nodes[1]->node, 3);
}

static void a_key_pin_is_one_hosts(void **state) {
        ClusterState *s = *state;
        Hash one = hash_of("one", 3), two = hash_of("two", 3);
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        apply(s, &b);
        batch_host(&b, 0, "one", 1);
        apply(s, &b);
        assert_null(cluster_state_find_host(s, 2));
        assert_int_equal(cluster_state_find_host_by_pin(s, &one)->host, 1);

        batch_host(&b, 1, "two", 1); // a new key
        apply(s, &b);
        assert_null(cluster_state_find_host_by_pin(s, &one));
        assert_int_equal(cluster_state_find_host_by_pin(s, &two)->host, 1);
        batch_host_remove(&b, 1);
        apply(s, &b);
        assert_null(cluster_state_find_host_by_pin(s, &two));
}

static void removing_a_host_leaves_its_units_where_they_are(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 1});
        batch_host_remove(&b, 1);
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->node, 1);
        assert_int_equal(units_on(s, 1), 1);
        assert_null(cluster_state_find_host_by_node(s, 1));
        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 0});
        apply(s, &b);
        assert_int_equal(units_on(s, 1), 0);
}

static void labels_set_at_run_time_outlive_a_host_until_it_joins_again(void **state) {
        ClusterState *s = *state;
        Argosy__Label label = ARGOSY__LABEL__INIT, *labels = &label;
        const Argosy__FormerHost *former;
        Argosy__HostRecord *record;
        _cleanup_buf_ Buf image = {0};
        Batch b = {0};

        label.key = "disk";
        label.value = "ssd";
        batch_host(&b, 0, "plain", 1);
        record = batch_host(&b, 0, "labelled", 1);
        record->set_labels = &labels;
        record->n_set_labels = 1;
        apply(s, &b);
        batch_host_remove(&b, 1);
        batch_host_remove(&b, 2);
        record = batch_host(&b, 0, "plain", 1); // for its host id only
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        apply(s, &b);
        record = batch_host(&b, 0, "labelled", 1);
        former = cluster_state_find_former(s, record->host_id.data, record->host_id.len);
        assert_non_null(former);
        assert_string_equal(former->set_labels[0]->value, "ssd");
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        apply(s, &b);
        record = batch_host(&b, 0, "labelled", 1);
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        batch_done(&b);
}

static void only_so_many_former_hosts_are_remembered(void **state) {
        ClusterState *s = *state;
        Argosy__Label label = ARGOSY__LABEL__INIT, *labels = &label;
        Argosy__HostRecord *record;
        Batch b = {0};
        char name[32];

        label.key = label.value = "x";
        for (uint32_t i = 0; i <= CLUSTER_FORMER_HOSTS_MAX; i++) {
                snprintf(name, sizeof(name), "host-%u", i);
                record = batch_host(&b, 0, name, 1);
                record->set_labels = &labels;
                record->n_set_labels = 1;
                batch_host_remove(&b, i + 1);
                apply(s, &b);
        }
        record = batch_host(&b, 0, "host-0", 1);
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        record = batch_host(&b, 0, "host-1", 1);
        assert_non_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        batch_done(&b);
}

static void hosts_are_found_by_what_people_type(void **state) {
        ClusterState *s = *state;
        const Argosy__HostRecord *one;
        char prefix[9] = {0}, upper[33] = {0};
        bool ambiguous;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        batch_host(&b, 0, "three", 1)->name = (char *) "two";
        apply(s, &b);
        one = cluster_state_resolve_host(s, "one", &ambiguous);
        assert_int_equal(one->host, 1);
        assert_false(ambiguous);
        memcpy(prefix, one->machine_id, 8);
        for (int i = 0; i < 32; i++)
                upper[i] = one->machine_id[i] >= 'a' ? (char) (one->machine_id[i] - 32) : one->machine_id[i];
        assert_ptr_equal(cluster_state_resolve_host(s, prefix, NULL), one);
        assert_ptr_equal(cluster_state_resolve_host(s, upper, NULL), one);
        prefix[3] = 0;
        assert_null(cluster_state_resolve_host(s, prefix, NULL));
        assert_null(cluster_state_resolve_host(s, "two", &ambiguous));
        assert_true(ambiguous);
        assert_null(cluster_state_resolve_host(s, "nobody", &ambiguous));
        assert_false(ambiguous);
}

static void who_follows_hosts_compares_revisions(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        assert_int_equal(cluster_state_hosts_revision(s), 0);
        batch_host(&b, 0, "one", 1);
        batch_unit(&b, "a.service", WEB, (UnitPut){0});
        apply(s, &b);
        assert_int_equal(cluster_state_hosts_revision(s), 1);
        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 1});
        apply(s, &b);
        assert_int_equal(cluster_state_hosts_revision(s), 1);
}

static void expired_tokens_make_room(void **state) {
        ClusterState *s = *state;
        char id[16];
        Batch b = {0};

        for (int i = 0; i <= CLUSTER_TOKENS_MAX; i++) {
                snprintf(id, sizeof id, "t%d", i);
                batch_token(&b, id, 1000);
        }
        b.log.at_us = 500;
        apply(s, &b);
        assert_non_null(cluster_state_find_token(s, "t0"));
        assert_null(cluster_state_find_token(s, id)); // one too many
        batch_token(&b, "new", 3000);
        b.log.at_us = 2000;
        apply(s, &b);
        assert_null(cluster_state_find_token(s, "t0"));
        assert_int_equal(cluster_state_find_token(s, "new")->expires_us, 3000);
        batch_token_remove(&b, "new");
        apply(s, &b);
        assert_null(cluster_state_find_token(s, "new"));
}

// ------------------------------------------------------------------------------------------------ requests

static void applied_requests_are_remembered_with_their_revision(void **state) {
        ClusterState *s = *state;
        uint8_t id[16];
        uint64_t revision = 0;
        Batch b = {0};

        memset(id, 7, sizeof id);
        assert_false(cluster_state_was_applied(s, id, &revision));
        batch_unit(&b, "a.service", WEB, (UnitPut){0});
        batch_request(&b, 7);
        apply(s, &b);
        batch_unit(&b, "b.service", WEB, (UnitPut){0});
        batch_request(&b, 7); // again: the first counts
        apply(s, &b);
        assert_true(cluster_state_was_applied(s, id, &revision));
        assert_int_equal(revision, 2);
}

static void only_the_last_requests_are_remembered(void **state) {
        ClusterState *s = *state;
        uint8_t id[16] = {0};
        ProtobufCBinaryData bytes = {sizeof id, id};
        Argosy__LogBatch batch = ARGOSY__LOG_BATCH__INIT;
        uint64_t revision;

        batch.request_ids = &bytes;
        batch.n_request_ids = 1;
        for (uint32_t i = 0; i <= CLUSTER_REQUESTS_REMEMBERED; i++) {
                memcpy(id, &i, sizeof i);
                assert_int_equal(cluster_state_apply(s, &batch), 0);
        }
        assert_true(cluster_state_was_applied(s, id, &revision));
        memset(id, 0, sizeof id);
        assert_false(cluster_state_was_applied(s, id, &revision));
        id[0] = 1;
        assert_true(cluster_state_was_applied(s, id, &revision));
}

// ---------------------------------------------------------------------------------------------- dirty units

static void each_changed_unit_is_handed_out_once_with_what_it_was(void **state) {
        ClusterState *s = *state;
        UnitEntry *u;
        Batch b = {0};

        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 1});
        batch_unit(&b, "b.service", WEB, (UnitPut){.node = 1});
        apply(s, &b);
        u = cluster_state_next_dirty(s);
        assert_string_equal(u->record->name, "a.service");
        assert_false(u->existed);
        cluster_state_dirty_done(s, u);
        cluster_state_drop_dirty(s);
        assert_null(cluster_state_next_dirty(s));

        batch_unit(&b, "b.service", WEB, (UnitPut){.node = 2});
        batch_unit(&b, "a.service", WEB, (UnitPut){.node = 2});
        batch_unit(&b, "b.service", WEB, (UnitPut){.node = 3});
        apply(s, &b);
        u = cluster_state_next_dirty(s);
        assert_string_equal(u->record->name, "b.service");
        assert_true(u->existed);
        assert_int_equal(u->node_before, 1);
        assert_int_equal(u->record->node, 3);
        u = cluster_state_next_dirty(s);
        assert_string_equal(u->record->name, "a.service");
        assert_null(cluster_state_next_dirty(s));
}

static void a_removed_unit_is_handed_over(void **state) {
        ClusterState *s = *state;
        UnitEntry *u;
        Batch b = {0};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .node = 1});
        apply(s, &b);
        cluster_state_drop_dirty(s);
        batch_unit_remove(&b, "a.service");
        batch_unit(&b, "a.service", WEB2, (UnitPut){.target = LAUNCHED, .node = 2});
        apply(s, &b);

        u = cluster_state_next_dirty(s);
        assert_true(u->removed && u->existed);
        assert_int_equal(u->record->target, INACTIVE);
        assert_int_equal(u->record->revision, 3);
        assert_int_equal(u->node_before, 1);
        assert_null(u->spec);
        cluster_state_dirty_done(s, u);
        u = cluster_state_next_dirty(s);
        assert_false(u->removed || u->existed);
        assert_ptr_equal(u, cluster_state_find_unit(s, "a.service"));
        assert_null(cluster_state_next_dirty(s));
}

static void a_unit_that_came_and_went_unseen_is_not_mentioned(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "a.service", WEB, (UnitPut){0});
        batch_unit_remove(&b, "a.service");
        apply(s, &b);
        assert_null(cluster_state_next_dirty(s));
}

// ------------------------------------------------------------------------------------------------ rollouts

// --------------------------------------------------------------------------------------------- roles, pools

static void put_role(ClusterState *s, const char *name, uint32_t weight) {
        Argosy__RoleRecord role = ARGOSY__ROLE_RECORD__INIT;
        Batch b = {0};

        role.name = (char *) name;
        role.weight = weight;
        batch_op(&b, ARGOSY__LOG_OP__OP_ROLE)->role = &role;
        apply(s, &b);
}

static void put_pool(ClusterState *s, const char *name, const char *host) {
        Argosy__PoolRecord record = ARGOSY__POOL_RECORD__INIT;
        Batch b = {0};

        record.name = (char *) name;
        record.hosts = (char **) &host;
        record.n_hosts = 1;
        batch_op(&b, ARGOSY__LOG_OP__OP_POOL)->pool = &record;
        apply(s, &b);
}

static void remove_named(ClusterState *s, Argosy__LogOp__OpCase what, const char *name) {
        Argosy__LogOp__NameRemove remove = ARGOSY__LOG_OP__NAME_REMOVE__INIT;
        Batch b = {0};

        remove.name = (char *) name;
        batch_op(&b, what)->role_remove = &remove;
        apply(s, &b);
}

static void roles_are_kept_by_name_and_replaced_whole(void **state) {
        ClusterState *s = *state;
        Argosy__RoleRecord *const *roles;
        uint64_t before;
        size_t n;

        put_role(s, "web", 2);
        put_role(s, "batch", 1);
        put_role(s, "web", 5);
        roles = cluster_state_roles(s, &n);
        assert_int_equal(n, 2);
        assert_string_equal(roles[0]->name, "batch");
        assert_int_equal(cluster_state_find_role(s, "web")->weight, 5);
        assert_int_equal(cluster_state_roles_revision(s), cluster_state_revision(s));
        remove_named(s, ARGOSY__LOG_OP__OP_ROLE_REMOVE, "web");
        assert_null(cluster_state_find_role(s, "web"));
        before = cluster_state_revision(s);
        remove_named(s, ARGOSY__LOG_OP__OP_ROLE_REMOVE, "web");
        put_role(s, "", 1);
        put_role(s, "0123456789012345678901234567890123456789012345678901234567890123", 1); // 64 bytes
        assert_int_equal(cluster_state_revision(s), before);                                // skipped
}

static void there_are_only_so_many_roles_and_pools(void **state) {
        ClusterState *s = *state;
        char name[32];
        size_t n;

        for (unsigned i = 0; i <= CLUSTER_ROLES_MAX; i++) {
                snprintf(name, sizeof(name), "r%u", i);
                put_role(s, name, 1);
                put_pool(s, name, "one");
        }
        (void) cluster_state_roles(s, &n);
        assert_int_equal(n, CLUSTER_ROLES_MAX);
        (void) cluster_state_pools(s, &n);
        assert_int_equal(n, CLUSTER_POOLS_MAX);
        put_role(s, "r1", 9); // one of them may still change
        assert_int_equal(cluster_state_find_role(s, "r1")->weight, 9);
}

static void a_pool_is_of_hosts_and_changes_with_them(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        apply(s, &b);
        put_pool(s, "fast", "two");
        assert_int_equal(cluster_state_hosts_revision(s), cluster_state_revision(s));
        assert_false(pool_has_host(cluster_state_find_pool(s, "fast"), cluster_state_find_host(s, 1)));
        assert_true(pool_has_host(cluster_state_find_pool(s, "fast"), cluster_state_find_host(s, 2)));
        remove_named(s, ARGOSY__LOG_OP__OP_POOL_REMOVE, "fast");
        assert_null(cluster_state_find_pool(s, "fast"));
        assert_int_equal(cluster_state_hosts_revision(s), cluster_state_revision(s));
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

static bool has_spec(const ClusterState *s, const char *content) {
        Hash hash = hash_of(content, strlen(content));

        return cluster_state_find_spec(s, &hash);
}

static void a_rollout_keeps_both_contents_until_it_ends(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "w@.service", WEB, (UnitPut){0});
        batch_spec(&b, WEB2);
        batch_rollout(&b, "w@.service", WEB, WEB2);
        apply(s, &b);
        assert_int_equal(cluster_state_find_rollout(s, "w@.service")->revision, cluster_state_revision(s));
        assert_int_equal(cluster_state_rollouts_revision(s), cluster_state_revision(s));
        batch_unit_remove(&b, "w@.service");
        apply(s, &b);
        assert_true(has_spec(s, WEB) && has_spec(s, WEB2));
        batch_rollout(&b, "w@.service", NULL, NULL)->revision = 4;
        apply(s, &b);
        assert_false(has_spec(s, WEB) || has_spec(s, WEB2));
        assert_int_equal(cluster_state_find_rollout(s, "w@.service")->revision, 4);
}

static void a_rollout_to_an_unknown_content_is_skipped(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_unit(&b, "w@.service", WEB, (UnitPut){0});
        batch_rollout(&b, "w@.service", WEB, WEB2);
        apply(s, &b);
        assert_null(cluster_state_find_rollout(s, "w@.service"));
}

static void a_nodes_turn_gets_the_revision_in_which_it_was_given(void **state) {
        ClusterState *s = *state;
        Argosy__RolloutRecord *r;
        Batch b = {0};

        batch_unit(&b, "g.service", WEB, (UnitPut){.global = true});
        batch_spec(&b, WEB2);
        r = batch_rollout(&b, "g.service", WEB, WEB2);
        r->nodes = batch_own(&b, calloc(2, sizeof *r->nodes));
        for (size_t i = 0; i < 2; i++) {
                r->nodes[i] = BATCH_NEW(&b, Argosy__RolloutNode, argosy__rollout_node__init);
                r->nodes[i]->node = (uint32_t) i + 1;
        }
        r->nodes[0]->revision = 1;
        r->n_nodes = 2;
        apply(s, &b);
        assert_int_equal(cluster_state_find_rollout(s, "g.service")->nodes[0]->revision, 1);
        assert_int_equal(cluster_state_find_rollout(s, "g.service")->nodes[1]->revision,
                         cluster_state_revision(s));
}

static void of_too_many_rollouts_the_oldest_that_ended_goes(void **state) {
        ClusterState *s = *state;
        char name[32];
        Batch b = {0};

        batch_unit(&b, "w@.service", WEB, (UnitPut){0});
        batch_rollout(&b, "a@.service", WEB, WEB); // under way: it stays
        for (unsigned i = 0; i < CLUSTER_ROLLOUTS_MAX; i++) {
                snprintf(name, sizeof name, "u%u@.service", i);
                batch_rollout(&b, name, NULL, NULL);
        }
        apply(s, &b);
        assert_non_null(cluster_state_find_rollout(s, "a@.service"));
        assert_null(cluster_state_find_rollout(s, "u0@.service"));
        assert_non_null(cluster_state_find_rollout(s, "u1@.service"));
        assert_non_null(cluster_state_find_rollout(s, name));
}

// ------------------------------------------------------------------------------------------------ images

static void an_image_holds_everything(void **state) {
        ClusterState *s = *state, *t = cluster_state_new();
        _cleanup_buf_ Buf first = {0}, second = {0};
        uint8_t id[16];
        uint64_t revision;
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
        assert_true(cluster_state_was_applied(t, id, &revision));

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
        ClusterState *s = *state;
        Batch b = {0}, keep = {0};
        Argosy__StateImage image = ARGOSY__STATE_IMAGE__INIT;
        Argosy__HostRecord *hosts[2];
        Argosy__UnitRecord *units[2];
        Argosy__Spec *specs[1];
        Hash hash;

        batch_unit(&keep, "kept.service", WEB, (UnitPut){0});
        apply(s, &keep);

        hosts[0] = batch_host(&b, 1, "one", 1);
        hosts[1] = batch_host(&b, 2, "two", 1);
        hosts[0]->nodes[0]->node = 1;
        hosts[1]->nodes[0]->node = 1;
        hash = batch_spec(&b, WEB);
        specs[0] = b.log.ops[2]->spec;
        units[0] = units[1] = batch_unit_only(&b, "a.service", &hash, (UnitPut){0});
        image.hosts = hosts;
        image.units = units;
        image.specs = specs;
        image.last_host = image.last_node = 2;

        image.n_hosts = 2;
        assert_bad_image(s, &image); // one node, two hosts
        hosts[1]->nodes[0]->node = 3;
        assert_bad_image(s, &image); // a number that was never given
        hosts[1]->nodes[0]->node = 2;
        hosts[1]->host = 1;
        assert_bad_image(s, &image);
        image.n_hosts = 0;
        image.n_units = 1;
        assert_bad_image(s, &image); // its spec is missing
        image.n_specs = 1;
        image.n_units = 0;
        assert_bad_image(s, &image); // nobody uses the spec
        image.n_units = 2;
        assert_bad_image(s, &image); // a unit twice
        image.n_units = 1;
        units[0]->revision = 1;
        assert_bad_image(s, &image); // newer than the counter
        units[0]->revision = 0;
        specs[0]->content.data[0] ^= 1;
        assert_bad_image(s, &image); // not what its hash says
        assert_int_equal(cluster_state_restore(s, "\xff\xff", 2), -EBADMSG);
        batch_done(&b);

        assert_non_null(cluster_state_find_unit(s, "kept.service"));
        assert_int_equal(cluster_state_restore(s, NULL, 0), 0);
        assert_int_equal(cluster_state_n_units(s), 0);
}

static void after_a_recovery_no_revision_is_given_twice(void **state) {
        ClusterState *s = *state;
        Batch b = {0};
        UnitEntry *u;
        uint64_t start, hosts;

        batch_cluster(&b, 1);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(s, &b);
        cluster_state_drop_dirty(s);
        start = unit(s, "a.service")->start_rev;
        hosts = cluster_state_hosts_revision(s);

        batch_cluster(&b, 2);
        b.log.ops[0]->cluster->revision_floor = 1000;
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->revision, 1000);
        assert_int_equal(unit(s, "a.service")->start_rev, start);
        assert_true(cluster_state_hosts_revision(s) > hosts);
        u = cluster_state_next_dirty(s);
        assert_ptr_equal(u->record, unit(s, "a.service"));
        cluster_state_dirty_done(s, u);

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        apply(s, &b);
        assert_true(unit(s, "a.service")->start_rev > 1000);
        start = unit(s, "a.service")->revision;

        batch_cluster(&b, 2); // it stays in the record, and counts once
        b.log.ops[0]->cluster->revision_floor = 1000;
        batch_cluster(&b, 2); // and one that no counter reaches is none
        b.log.ops[1]->cluster->revision_floor = UINT64_MAX;
        apply(s, &b);
        assert_int_equal(unit(s, "a.service")->revision, start);
        assert_true(cluster_state_revision(s) < 1100);
}

static void the_first_batch_says_what_may_be_written(void **state) {
        ClusterState *s = *state;
        Batch b = {};

        assert_int_equal(cluster_state_feature_level(s), FEATURE_BASE);
        batch_cluster(&b, 1); // of a log that says nothing
        apply(s, &b);
        assert_int_equal(cluster_state_feature_level(s), FEATURE_BASE);
        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        apply(s, &b);
        assert_int_equal(cluster_state_feature_level(s), FEATURE_LEVEL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_state, free_state)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_change_raises_one_counter),
                TEST(a_start_is_a_number_that_only_explicit_starts_raise),
                TEST(a_put_that_expects_another_revision_changes_nothing),
                TEST(what_does_not_fit_is_skipped),
                TEST(a_spec_lives_as_long_as_its_users),
                TEST(a_spec_is_parsed_once),
                TEST(units_are_listed_by_node_and_by_name),
                TEST(an_outcome_counts_only_for_the_start_that_it_ends),
                TEST(an_outcome_survives_a_move_and_a_stop_but_not_a_start),
                TEST(a_put_brings_no_outcomes_and_no_revisions_of_its_own),
                TEST(a_global_unit_has_an_outcome_per_node),
                TEST(numbers_are_given_once),
                TEST(a_raft_id_is_never_used_twice),
                TEST(an_id_is_retired_when_its_record_gave_it_up),
                TEST(a_host_keeps_its_nodes_and_cannot_take_others),
                TEST(a_key_pin_is_one_hosts),
                TEST(removing_a_host_leaves_its_units_where_they_are),
                TEST(labels_set_at_run_time_outlive_a_host_until_it_joins_again),
                TEST(only_so_many_former_hosts_are_remembered),
                TEST(hosts_are_found_by_what_people_type),
                TEST(who_follows_hosts_compares_revisions),
                TEST(expired_tokens_make_room),
                TEST(applied_requests_are_remembered_with_their_revision),
                TEST(only_the_last_requests_are_remembered),
                TEST(each_changed_unit_is_handed_out_once_with_what_it_was),
                TEST(a_removed_unit_is_handed_over),
                TEST(a_unit_that_came_and_went_unseen_is_not_mentioned),
                TEST(roles_are_kept_by_name_and_replaced_whole),
                TEST(there_are_only_so_many_roles_and_pools),
                TEST(a_pool_is_of_hosts_and_changes_with_them),
                TEST(roles_and_pools_are_part_of_the_image),
                TEST(a_rollout_keeps_both_contents_until_it_ends),
                TEST(a_rollout_to_an_unknown_content_is_skipped),
                TEST(a_nodes_turn_gets_the_revision_in_which_it_was_given),
                TEST(of_too_many_rollouts_the_oldest_that_ended_goes),
                TEST(after_a_recovery_no_revision_is_given_twice),
                TEST(the_first_batch_says_what_may_be_written),
                TEST(an_image_holds_everything),
                TEST(an_image_that_contradicts_itself_is_refused_and_changes_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
