// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts, their nodes and keys, who was one, and the tokens to become one.

#include "cluster-words.h"
#include "messages.h"

static void numbers_are_given_once(void **state) {
        ClusterState *s = *state;
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
        const HostEntry *hosts = cluster_state_hosts(s, &n);
        assert_int_equal(n, 2);
        assert_int_equal(hosts[0].record->host, 1);
        assert_int_equal(hosts[1].record->host, 3);
        assert_int_equal(hosts[0].record->nodes[0]->node, 1);
        assert_int_equal(hosts[1].record->nodes[0]->node, 4);
        assert_int_equal(cluster_state_next_raft_id(s), 6);
        assert_null(cluster_state_find_host(s, 2));
        assert_ptr_equal(cluster_state_next_host(s, 0), hosts[0].record);
        assert_ptr_equal(cluster_state_next_host(s, 1), hosts[1].record);
        assert_ptr_equal(cluster_state_next_host(s, 2), hosts[1].record);
        assert_null(cluster_state_next_host(s, 3));
        assert_null(cluster_state_next_host(s, UINT32_MAX));
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
        assert_int_equal(cluster_state_resolve_host(s, "Three", NULL)->host, 2);

        batch_host(&b, 1, "one", 0)->raft_id = 1; // unchanged
        batch_host(&b, 1, "one", 0)->raft_id = 0; // demoted
        batch_host(&b, 1, "one", 0)->raft_id = 1; // cannot come back
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->raft_id, 0);
        batch_host(&b, 1, "one", 0)->raft_id = cluster_state_next_raft_id(s);
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->raft_id, 3);
}

// Who keeps the log is the applier's to say, and until when somebody did.
static void until_when_a_host_was_sent_the_log_stands_in_its_record(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1)->log_until = 77;
        batch_host(&b, 0, "two", 1)->raft_id = 2;
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 1)->log_until, 0); // it never was
        assert_int_equal(cluster_state_find_host(s, 2)->log_until, 0); // it is
        batch_host(&b, 2, "two", 0);
        apply(s, &b);
        uint64_t until = cluster_state_find_host(s, 2)->log_until;
        assert_int_equal(until, cluster_state_revision(s));
        batch_host(&b, 2, "other", 0);
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 2)->log_until, until);
        batch_host(&b, 2, "other", 0)->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        apply(s, &b);
        assert_int_equal(cluster_state_find_host(s, 2)->log_until, 0);
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
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        apply(s, &b);
        batch_host(&b, 1, "one", 1)->nodes[0]->node = 2; // belongs to the other
        Argosy__HostRecord *h = batch_host(&b, 2, "renamed", 2);
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
        Argosy__Label label = MESSAGE_OF(label, .key = "disk", .value = "ssd"), *labels = &label;
        _cleanup_buf_ Buf image = {0};
        _cleanup_(batch_done) Batch b = {0};

        batch_host(&b, 0, "plain", 1);
        Argosy__HostRecord *record = batch_host(&b, 0, "labelled", 1);
        record->set_labels = &labels;
        record->n_set_labels = 1;
        apply(s, &b);
        batch_host_remove(&b, 1);
        batch_host_remove(&b, 2);
        record = batch_host(&b, 0, "plain", 1); // for its host id only
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        apply(s, &b);
        record = batch_host(&b, 0, "labelled", 1);
        const Argosy__FormerHost *former =
                cluster_state_find_former(s, record->host_id.data, record->host_id.len);
        assert_non_null(former);
        assert_string_equal(former->set_labels[0]->value, "ssd");
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        apply(s, &b);
        record = batch_host(&b, 0, "labelled", 1);
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
}

static void the_key_of_a_removed_host_is_known_as_such(void **state) {
        ClusterState *s = *state;
        _cleanup_buf_ Buf image = {0};
        Hash pin, next;
        _cleanup_(batch_done) Batch b = {0};
        Argosy__HostRecord *record = batch_host(&b, 0, "one", 1);

        memcpy(pin.bytes, record->key_pin.data, HASH_SIZE);
        apply(s, &b);
        assert_null(cluster_state_find_former_by_pin(s, &pin));
        batch_host_remove(&b, 1);
        apply(s, &b);
        assert_null(cluster_state_find_host_by_pin(s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(s, &pin));
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former_by_pin(s, &pin));
        record = batch_host(&b, 0, "one", 1); // the same machine joins again, with a key of its own
        memset(next.bytes, 0x5a, HASH_SIZE);
        memcpy(record->key_pin.data, next.bytes, HASH_SIZE);
        apply(s, &b);
        assert_non_null(cluster_state_find_host_by_pin(s, &next));
        // it may not have got that one
        assert_non_null(cluster_state_find_former_by_pin(s, &pin));
        batch_host_remove(&b, 2);
        apply(s, &b);
        assert_non_null(cluster_state_find_former_by_pin(s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(s, &next));
        buf_done(&image);
        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former_by_pin(s, &pin));
        record = batch_host(&b, 0, "one", 1); // with the first key
        memcpy(record->key_pin.data, pin.bytes, HASH_SIZE);
        apply(s, &b);
        assert_null(cluster_state_find_former_by_pin(s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(s, &next));
}

static void only_so_many_former_hosts_are_remembered(void **state) {
        ClusterState *s = *state;
        Argosy__Label label = MESSAGE_OF(label, .key = "x", .value = "x"), *labels = &label;
        Argosy__HostRecord *record;
        _cleanup_(batch_done) Batch b = {0};
        char name[32];

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
        // Those that have nothing to come back to push out each other, and one that has only for want of
        // others.
        b = (Batch){0};
        for (uint32_t i = 0; i < 3; i++) {
                snprintf(name, sizeof(name), "plain-%u", i);
                batch_host(&b, 0, name, 1);
                batch_host_remove(&b, CLUSTER_FORMER_HOSTS_MAX + 2 + i);
                apply(s, &b);
        }
        record = batch_host(&b, 0, "host-1", 1);
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        record = batch_host(&b, 0, "host-2", 1);
        assert_non_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        record = batch_host(&b, 0, "plain-1", 1);
        assert_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
        record = batch_host(&b, 0, "plain-2", 1);
        assert_non_null(cluster_state_find_former(s, record->host_id.data, record->host_id.len));
}

static void hosts_are_found_by_what_people_type(void **state) {
        ClusterState *s = *state;
        char prefix[9] = {0}, upper[33] = {0};
        bool ambiguous;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        batch_host(&b, 0, "three", 1)->name = (char *) "two";
        apply(s, &b);
        const Argosy__HostRecord *one = cluster_state_resolve_host(s, "one", &ambiguous);
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

// However names and ids come and go: each is found while one host has it, and a namesake is whoever else has
// it.
static void namesakes_are_known_as_they_come_and_go(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        for (int i = 0; i < 3; i++) {
                Argosy__HostRecord *h = batch_host(&b, 0, i == 0 ? "one" : i == 1 ? "two" : "three", 1);

                h->name = (char *) "same";
        }
        apply(s, &b);
        assert_non_null(cluster_state_other_by_name(s, "same", NULL));
        assert_null(cluster_state_resolve_host(s, "same", NULL));
        for (uint32_t gone = 1; gone < 3; gone++) { // whoever was the first
                Argosy__HostRecord *h = batch_host(&b, gone, gone == 1 ? "one" : "two", 0);

                h->name = (char *) "other";
                apply(s, &b);
                assert_int_equal(cluster_state_other_by_name(s, "other", NULL) != NULL, true);
                assert_int_equal(cluster_state_other_by_name(s, "same", cluster_state_find_host(s, 3)) !=
                                         NULL,
                                 gone == 1);
        }
        assert_int_equal(cluster_state_resolve_host(s, "same", NULL)->host, 3);
        assert_null(cluster_state_resolve_host(s, "other", NULL));
        batch_host_remove(&b, 1);
        apply(s, &b);
        assert_int_equal(cluster_state_resolve_host(s, "other", NULL)->host, 2);
        batch_host_remove(&b, 3);
        apply(s, &b);
        assert_null(cluster_state_other_by_name(s, "same", NULL));
}

static void a_host_id_is_found(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        apply(s, &b);
        const Argosy__HostRecord *one = cluster_state_find_host(s, 1);
        assert_ptr_equal(cluster_state_other_by_id(s, one->host_id.data, one->host_id.len, NULL), one);
        assert_null(cluster_state_other_by_id(s, one->host_id.data, one->host_id.len, one));
        assert_null(cluster_state_other_by_id(s, "0123456789abcdef", 16, NULL));
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

static void each_changed_host_is_handed_out_once(void **state) {
        ClusterState *s = *state;
        Batch b = {0};

        batch_host(&b, 0, "one", 1);
        batch_host(&b, 0, "two", 1);
        batch_host(&b, 0, "three", 1);
        apply(s, &b);
        for (uint32_t host = 1; host <= 3; host++)
                assert_int_equal(cluster_state_next_dirty_host(s), host);
        assert_int_equal(cluster_state_next_dirty_host(s), 0);

        batch_host(&b, 3, "three", 0);
        batch_host(&b, 1, "one", 0);
        batch_host(&b, 3, "renamed", 0);
        batch_host_remove(&b, 1);
        batch_host(&b, 0, "four", 1);
        batch_host_remove(&b, 4); // came and went
        batch_host(&b, 9, "nobody", 0);
        apply(s, &b);
        assert_int_equal(cluster_state_next_dirty_host(s), 3);
        assert_int_equal(cluster_state_next_dirty_host(s), 1);
        assert_null(cluster_state_find_host(s, 1));
        assert_int_equal(cluster_state_next_dirty_host(s), 4);
        assert_int_equal(cluster_state_next_dirty_host(s), 0);

        batch_cluster(&b, 2);
        batch_token(&b, "t0", 1);
        apply(s, &b);
        assert_int_equal(cluster_state_next_dirty_host(s), 0);
        batch_host(&b, 2, "two", 0);
        apply(s, &b);
        cluster_state_drop_dirty(s);
        assert_int_equal(cluster_state_next_dirty_host(s), 0);
}

static void expired_tokens_make_room(void **state) {
        ClusterState *s = *state;
        char id[16];
        Batch b = {0};

        for (int i = 0; i <= CLUSTER_TOKENS_MAX; i++) {
                snprintf(id, sizeof id, "t%d", i);
                batch_token(&b, id, 1000);
        }
        batch_set_time(&b, s, 500);
        apply(s, &b);
        assert_non_null(cluster_state_find_token(s, "t0"));
        assert_null(cluster_state_find_token(s, id)); // one too many
        batch_token(&b, "new", 3000);
        batch_set_time(&b, s, 2000);
        apply(s, &b);
        assert_null(cluster_state_find_token(s, "t0"));
        assert_int_equal(cluster_state_find_token(s, "new")->expires_us, 3000);
        batch_token_remove(&b, "new");
        apply(s, &b);
        assert_null(cluster_state_find_token(s, "new"));
}

RUN_TESTS(
        TEST(numbers_are_given_once),
        TEST(a_raft_id_is_never_used_twice),
        TEST(an_id_is_retired_when_its_record_gave_it_up),
        TEST(until_when_a_host_was_sent_the_log_stands_in_its_record),
        TEST(a_host_keeps_its_nodes_and_cannot_take_others),
        TEST(a_key_pin_is_one_hosts),
        TEST(removing_a_host_leaves_its_units_where_they_are),
        TEST(labels_set_at_run_time_outlive_a_host_until_it_joins_again),
        TEST(the_key_of_a_removed_host_is_known_as_such),
        TEST(only_so_many_former_hosts_are_remembered),
        TEST(hosts_are_found_by_what_people_type),
        TEST(namesakes_are_known_as_they_come_and_go),
        TEST(a_host_id_is_found),
        TEST(who_follows_hosts_compares_revisions),
        TEST(each_changed_host_is_handed_out_once),
        TEST(expired_tokens_make_room)
)
