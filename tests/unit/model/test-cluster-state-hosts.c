// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts, their nodes and keys, who was one, and the tokens to become one.

#include "cluster-words.h"
#include "messages.h"
#include "printed.h"

static void numbers_are_given_once(void **state) {
        size_t n;

        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 2)->raft_id = 5;
        apply(g.s, &g.b);
        batch_host_remove(&g.b, 2);
        batch_host(&g.b, 0, "three", 1);
        batch_host(&g.b, 2, "two", 1); // a late update of a host that was removed
        batch_host(&g.b, 17, "four", 1);
        apply(g.s, &g.b);
        const HostEntry *hosts = cluster_state_hosts(g.s, &n);
        assert_int_equal(n, 2);
        assert_int_equal(hosts[0].record->host, 1);
        assert_int_equal(hosts[1].record->host, 3);
        assert_int_equal(hosts[0].record->nodes[0]->node, 1);
        assert_int_equal(hosts[1].record->nodes[0]->node, 4);
        assert_int_equal(cluster_state_next_raft_id(g.s), 6);
        assert_null(cluster_state_find_host(g.s, 2));
        assert_ptr_equal(cluster_state_next_host(g.s, 0), hosts[0].record);
        assert_ptr_equal(cluster_state_next_host(g.s, 1), hosts[1].record);
        assert_ptr_equal(cluster_state_next_host(g.s, 2), hosts[1].record);
        assert_null(cluster_state_next_host(g.s, 3));
        assert_null(cluster_state_next_host(g.s, UINT32_MAX));
        assert_null(cluster_state_find_host_by_node(g.s, 2));
}

static void a_raft_id_is_never_used_twice(void **state) {
        batch_host(&g.b, 0, "one", 1)->raft_id = 1;
        batch_host(&g.b, 0, "two", 1)->raft_id = 1; // refused as a whole
        batch_host(&g.b, 0, "three", 1)->raft_id = 2;
        apply(g.s, &g.b);
        assert_null(cluster_state_resolve_host(g.s, "two", NULL));
        assert_int_equal(cluster_state_resolve_host(g.s, "three", NULL)->host, 2);
        assert_int_equal(cluster_state_resolve_host(g.s, "Three", NULL)->host, 2);

        batch_host(&g.b, 1, "one", 0)->raft_id = 1; // unchanged
        batch_host(&g.b, 1, "one", 0)->raft_id = 0; // demoted
        batch_host(&g.b, 1, "one", 0)->raft_id = 1; // cannot come back
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 1)->raft_id, 0);
        batch_host(&g.b, 1, "one", 0)->raft_id = cluster_state_next_raft_id(g.s);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 1)->raft_id, 3);
}

// Who keeps the log is the applier's to say, and until when somebody did.
static void until_when_a_host_was_sent_the_log_stands_in_its_record(void **state) {
        batch_host(&g.b, 0, "one", 1)->log_until = 77;
        batch_host(&g.b, 0, "two", 1)->raft_id = 2;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 1)->log_until, 0); // it never was
        assert_int_equal(cluster_state_find_host(g.s, 2)->log_until, 0); // it is
        batch_host(&g.b, 2, "two", 0);
        apply(g.s, &g.b);
        uint64_t until = cluster_state_find_host(g.s, 2)->log_until;
        assert_int_equal(until, cluster_state_revision(g.s));
        batch_host(&g.b, 2, "other", 0);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 2)->log_until, until);
        batch_host(&g.b, 2, "other", 0)->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 2)->log_until, 0);
}

// Also on a follower that is behind: an id that it has not heard of may be a new voter's.
static void an_id_is_retired_when_its_record_gave_it_up(void **state) {
        batch_host(&g.b, 0, "one", 1)->raft_id = 1;
        batch_host(&g.b, 0, "two", 1)->raft_id = 2;
        batch_host(&g.b, 0, "three", 1)->raft_id = 3;
        apply(g.s, &g.b);
        for (uint32_t id = 0; id <= 5; id++)
                assert_false(cluster_state_raft_id_is_retired(g.s, id));
        batch_host(&g.b, 2, "two", 0)->raft_id = 0; // demoted
        batch_host_remove(&g.b, 3);
        apply(g.s, &g.b);
        for (uint32_t id = 0; id <= 5; id++)
                assert_int_equal(cluster_state_raft_id_is_retired(g.s, id), id == 2 || id == 3);
        batch_host(&g.b, 2, "two", 0)->raft_id = 4;
        apply(g.s, &g.b);
        assert_false(cluster_state_raft_id_is_retired(g.s, 4));
        assert_true(cluster_state_raft_id_is_retired(g.s, 2));
}

static void a_host_keeps_its_nodes_and_cannot_take_others(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        apply(g.s, &g.b);
        batch_host(&g.b, 1, "one", 1)->nodes[0]->node = 2; // belongs to the other
        Argosy__HostRecord *h = batch_host(&g.b, 2, "renamed", 2);
        h->nodes[0]->node = 2;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 1)->nodes[0]->node, 1);
        assert_string_equal(cluster_state_find_host_by_node(g.s, 2)->name, "renamed");
        assert_int_equal(cluster_state_find_host_by_node(g.s, 3)->host, 2);

        h = batch_host(&g.b, 2, "renamed", 2); // one number twice
        h->nodes[0]->node = h->nodes[1]->node = 2;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_host(g.s, 2)->nodes[1]->node, 3);
}

static void a_key_pin_is_one_hosts(void **state) {
        Hash one = hash_of("one", 3), two = hash_of("two", 3);

        batch_host(&g.b, 0, "one", 1);
        apply(g.s, &g.b);
        batch_host(&g.b, 0, "one", 1);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_host(g.s, 2));
        assert_int_equal(cluster_state_find_host_by_pin(g.s, &one)->host, 1);

        batch_host(&g.b, 1, "two", 1); // a new key
        apply(g.s, &g.b);
        assert_null(cluster_state_find_host_by_pin(g.s, &one));
        assert_int_equal(cluster_state_find_host_by_pin(g.s, &two)->host, 1);
        batch_host_remove(&g.b, 1);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_host_by_pin(g.s, &two));
}

static void removing_a_host_leaves_its_units_where_they_are(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 1});
        batch_host_remove(&g.b, 1);
        apply(g.s, &g.b);
        assert_int_equal(unit(g.s, "a.service")->node, 1);
        assert_int_equal(units_on(g.s, 1), 1);
        assert_null(cluster_state_find_host_by_node(g.s, 1));
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 0});
        apply(g.s, &g.b);
        assert_int_equal(units_on(g.s, 1), 0);
}

static void labels_set_at_run_time_outlive_a_host_until_it_joins_again(void **state) {
        Argosy__Label label = MESSAGE_OF(label, .key = "disk", .value = "ssd"), *labels = &label;
        _cleanup_buf_ Buf image = {0};

        batch_host(&g.b, 0, "plain", 1);
        Argosy__HostRecord *record = batch_host(&g.b, 0, "labelled", 1);
        record->set_labels = &labels;
        record->n_set_labels = 1;
        apply(g.s, &g.b);
        batch_host_remove(&g.b, 1);
        batch_host_remove(&g.b, 2);
        record = batch_host(&g.b, 0, "plain", 1); // for its host id only
        assert_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        apply(g.s, &g.b);
        record = batch_host(&g.b, 0, "labelled", 1);
        const Argosy__FormerHost *former =
                cluster_state_find_former(g.s, record->host_id.data, record->host_id.len);
        assert_non_null(former);
        assert_string_equal(former->set_labels[0]->value, "ssd");
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(g.s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        apply(g.s, &g.b);
        record = batch_host(&g.b, 0, "labelled", 1);
        assert_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
}

static void the_key_of_a_removed_host_is_known_as_such(void **state) {
        _cleanup_buf_ Buf image = {0};
        Hash pin, next;
        Argosy__HostRecord *record = batch_host(&g.b, 0, "one", 1);

        memcpy(pin.bytes, record->key_pin.data, HASH_SIZE);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_former_by_pin(g.s, &pin));
        batch_host_remove(&g.b, 1);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_host_by_pin(g.s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(g.s, &pin));
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(g.s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former_by_pin(g.s, &pin));
        record = batch_host(&g.b, 0, "one", 1); // the same machine joins again, with a key of its own
        memset(next.bytes, 0x5a, HASH_SIZE);
        memcpy(record->key_pin.data, next.bytes, HASH_SIZE);
        apply(g.s, &g.b);
        assert_non_null(cluster_state_find_host_by_pin(g.s, &next));
        // it may not have got that one
        assert_non_null(cluster_state_find_former_by_pin(g.s, &pin));
        batch_host_remove(&g.b, 2);
        apply(g.s, &g.b);
        assert_non_null(cluster_state_find_former_by_pin(g.s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(g.s, &next));
        buf_done(&image);
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(g.s, image.data, image.len), 0);
        assert_non_null(cluster_state_find_former_by_pin(g.s, &pin));
        record = batch_host(&g.b, 0, "one", 1); // with the first key
        memcpy(record->key_pin.data, pin.bytes, HASH_SIZE);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_former_by_pin(g.s, &pin));
        assert_non_null(cluster_state_find_former_by_pin(g.s, &next));
}

static void only_so_many_former_hosts_are_remembered(void **state) {
        Argosy__Label label = MESSAGE_OF(label, .key = "x", .value = "x"), *labels = &label;
        Argosy__HostRecord *record;

        for (uint32_t i = 0; i <= CLUSTER_FORMER_HOSTS_MAX; i++) {
                record = batch_host(&g.b, 0, printed("host-%u", i), 1);
                record->set_labels = &labels;
                record->n_set_labels = 1;
                batch_host_remove(&g.b, i + 1);
                apply(g.s, &g.b);
        }
        record = batch_host(&g.b, 0, "host-0", 1);
        assert_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        record = batch_host(&g.b, 0, "host-1", 1);
        assert_non_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        batch_done(&g.b);
        // Those that have nothing to come back to push out each other, and one that has only for want of
        // others.
        g.b = (Batch){0};
        for (uint32_t i = 0; i < 3; i++) {
                batch_host(&g.b, 0, printed("plain-%u", i), 1);
                batch_host_remove(&g.b, CLUSTER_FORMER_HOSTS_MAX + 2 + i);
                apply(g.s, &g.b);
        }
        record = batch_host(&g.b, 0, "host-1", 1);
        assert_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        record = batch_host(&g.b, 0, "host-2", 1);
        assert_non_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        record = batch_host(&g.b, 0, "plain-1", 1);
        assert_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
        record = batch_host(&g.b, 0, "plain-2", 1);
        assert_non_null(cluster_state_find_former(g.s, record->host_id.data, record->host_id.len));
}

static void hosts_are_found_by_what_people_type(void **state) {
        char prefix[9] = {0}, upper[33] = {0};
        bool ambiguous;

        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        batch_host(&g.b, 0, "three", 1)->name = (char *) "two";
        apply(g.s, &g.b);
        const Argosy__HostRecord *one = cluster_state_resolve_host(g.s, "one", &ambiguous);
        assert_int_equal(one->host, 1);
        assert_false(ambiguous);
        memcpy(prefix, one->machine_id, 8);
        for (int i = 0; i < 32; i++)
                upper[i] = one->machine_id[i] >= 'a' ? (char) (one->machine_id[i] - 32) : one->machine_id[i];
        assert_ptr_equal(cluster_state_resolve_host(g.s, prefix, NULL), one);
        assert_ptr_equal(cluster_state_resolve_host(g.s, upper, NULL), one);
        prefix[3] = 0;
        assert_null(cluster_state_resolve_host(g.s, prefix, NULL));
        assert_null(cluster_state_resolve_host(g.s, "two", &ambiguous));
        assert_true(ambiguous);
        assert_null(cluster_state_resolve_host(g.s, "nobody", &ambiguous));
        assert_false(ambiguous);
}

// However names and ids come and go: each is found while one host has it, and a namesake is whoever else has
// it.
static void namesakes_are_known_as_they_come_and_go(void **state) {
        for (int i = 0; i < 3; i++) {
                Argosy__HostRecord *h = batch_host(&g.b, 0, i == 0 ? "one" : i == 1 ? "two" : "three", 1);

                h->name = (char *) "same";
        }
        apply(g.s, &g.b);
        assert_non_null(cluster_state_other_by_name(g.s, "same", NULL));
        assert_null(cluster_state_resolve_host(g.s, "same", NULL));
        for (uint32_t gone = 1; gone < 3; gone++) { // whoever was the first
                Argosy__HostRecord *h = batch_host(&g.b, gone, gone == 1 ? "one" : "two", 0);

                h->name = (char *) "other";
                apply(g.s, &g.b);
                assert_int_equal(cluster_state_other_by_name(g.s, "other", NULL) != NULL, true);
                assert_int_equal(cluster_state_other_by_name(g.s, "same", cluster_state_find_host(g.s, 3)) !=
                                         NULL,
                                 gone == 1);
        }
        assert_int_equal(cluster_state_resolve_host(g.s, "same", NULL)->host, 3);
        assert_null(cluster_state_resolve_host(g.s, "other", NULL));
        batch_host_remove(&g.b, 1);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_resolve_host(g.s, "other", NULL)->host, 2);
        batch_host_remove(&g.b, 3);
        apply(g.s, &g.b);
        assert_null(cluster_state_other_by_name(g.s, "same", NULL));
}

static void a_host_id_is_found(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        apply(g.s, &g.b);
        const Argosy__HostRecord *one = cluster_state_find_host(g.s, 1);
        assert_ptr_equal(cluster_state_other_by_id(g.s, one->host_id.data, one->host_id.len, NULL), one);
        assert_null(cluster_state_other_by_id(g.s, one->host_id.data, one->host_id.len, one));
        assert_null(cluster_state_other_by_id(g.s, "0123456789abcdef", 16, NULL));
}

static void who_follows_hosts_compares_revisions(void **state) {
        assert_int_equal(cluster_state_hosts_revision(g.s), 0);
        batch_host(&g.b, 0, "one", 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){0});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_hosts_revision(g.s), 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.node = 1});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_hosts_revision(g.s), 1);
}

static void each_changed_host_is_handed_out_once(void **state) {
        batch_host(&g.b, 0, "one", 1);
        batch_host(&g.b, 0, "two", 1);
        batch_host(&g.b, 0, "three", 1);
        apply(g.s, &g.b);
        for (uint32_t host = 1; host <= 3; host++)
                assert_int_equal(cluster_state_next_dirty_host(g.s), host);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 0);

        batch_host(&g.b, 3, "three", 0);
        batch_host(&g.b, 1, "one", 0);
        batch_host(&g.b, 3, "renamed", 0);
        batch_host_remove(&g.b, 1);
        batch_host(&g.b, 0, "four", 1);
        batch_host_remove(&g.b, 4); // came and went
        batch_host(&g.b, 9, "nobody", 0);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 3);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 1);
        assert_null(cluster_state_find_host(g.s, 1));
        assert_int_equal(cluster_state_next_dirty_host(g.s), 4);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 0);

        batch_cluster(&g.b, 2);
        batch_token(&g.b, "t0", 1);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 0);
        batch_host(&g.b, 2, "two", 0);
        apply(g.s, &g.b);
        cluster_state_drop_dirty(g.s);
        assert_int_equal(cluster_state_next_dirty_host(g.s), 0);
}

static void expired_tokens_make_room(void **state) {
        char id[16];

        for (int i = 0; i <= CLUSTER_TOKENS_MAX; i++) {
                snprintf(id, sizeof id, "t%d", i);
                batch_token(&g.b, id, 1000);
        }
        batch_set_time(&g.b, g.s, 500);
        apply(g.s, &g.b);
        assert_non_null(cluster_state_find_token(g.s, "t0"));
        assert_null(cluster_state_find_token(g.s, id)); // one too many
        batch_token(&g.b, "new", 3000);
        batch_set_time(&g.b, g.s, 2000);
        apply(g.s, &g.b);
        assert_null(cluster_state_find_token(g.s, "t0"));
        assert_int_equal(cluster_state_find_token(g.s, "new")->expires_us, 3000);
        batch_token_remove(&g.b, "new");
        apply(g.s, &g.b);
        assert_null(cluster_state_find_token(g.s, "new"));
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
