// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secrets with a whole leader: sealed in the log, sent to the hosts of their units and to nobody else, in
// the version that each unit has.
#include "secret-words.h"

#include "batch.h"
#include "buf.h"
#include "secret-name.h"
#include "str.h"

#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define BOX "[Container]\nImage=reg.example/box:1\n[X-Argosy]\nRegistryAuth=db\n"

static int setup(void **state) {
        return begin(3);
}

static const Argosy__Response *delete(const char *name) {
        Argosy__Request__SecretDelete m =
                MESSAGE_OF(request__secret_delete, .names = (char **) &name, .n_names = 1);

        return ask(A_REQUEST(SECRET_DELETE, secret_delete, &m));
}

static size_t n_versions(const char *name) {
        return cluster_state_find_secret(g.state, name)->n_versions;
}

static void it_comes_with_the_order_that_names_it(void **state) {
        unsigned n = 0;

        set("db", "hunter2");
        for (unsigned i = 1; i <= 3; i++)
                n += sent[i].n;
        assert_int_equal(n, 0); // nobody has it
        do_well(START, "a.service", APP);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
        assert_string_equal(at_unit("a.service")->id, "password");
        assert_int_equal(at_unit("a.service")->version, 1);
        for (unsigned i = 1; i <= 3; i++)
                n += sent[i].n;
        assert_int_equal(n, at_unit("a.service")->n); // and nobody else
}

static void the_log_has_it_sealed_only(void **state) {
        _cleanup_buf_ Buf image = {};

        set("db", "hunter2-that-nobody-sees");
        assert_int_equal(cluster_state_encode(g.state, &image), 0);
        assert_null(memmem(image.data, image.len, "hunter2", 7));
        assert_non_null(memmem(image.data, image.len, "db", 2));
}

static void a_unit_gets_another_version_when_it_is_started_or_restarted(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        set("db", "two");
        assert_int_equal(at_unit("a.service")->version, 1);
        assert_int_equal(row("db")->stale, 1);
        do_well(START, "a.service", NULL); // it is up: nothing happens to it
        assert_int_equal(at_unit("a.service")->version, 1);
        do_well(RESTART, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 2);
        assert_string_equal(at_unit("a.service")->value, "two");
        assert_int_equal(row("db")->stale, 0);
        set("db", "three");
        do_well(STOP, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 2);
        do_well(START, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 3);
        set("db", "four");
        do_well(START, "a.service", OTHER); // another file
        assert_int_equal(at_unit("a.service")->version, 4);
}

// Of two units one is on another host than the leader's.
static const char *start_elsewhere(const char *content) {
        do_well(START, "a.service", content);
        do_well(START, "b.service", content);
        return rig_host_of(&g, "a.service") == 1 ? "b.service" : "a.service";
}

static void a_unit_that_moves_keeps_its_version(void **state) {
        set("db", "one");
        const char *name = start_elsewhere(APP);
        uint32_t host = rig_host_of(&g, name);
        set("db", "two");
        assert_int_equal(n_versions("db"), 2);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        assert_int_not_equal(rig_host_of(&g, name), host);
        assert_int_equal(at_unit(name)->version, 1);
        assert_string_equal(at_unit(name)->value, "one");
}

// It may run on there, and nobody would know with what.
static void a_start_where_nobody_hears_of_it_keeps_its_version(void **state) {
        set("db", "one");
        const char *name = start_elsewhere(APP "NodeLost=keep\n");
        uint32_t host = rig_host_of(&g, name);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        set("db", "two");
        (void) change(START, name, NULL);
        assert_int_equal(row("db")->stale, 2);
        rig_host_on(&g, host, false);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_int_equal(sent[host].version, 1);
        do_well(RESTART, name, NULL);
        assert_int_equal(sent[host].version, 2);
}

static void what_was_destroyed_and_comes_again_is_not_what_its_host_has(void **state) {
        set("db", "one");
        const char *name = start_elsewhere(APP "NodeLost=keep\n");
        uint32_t host = rig_host_of(&g, name);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        (void) change(DESTROY, name, NULL);
        assert_null(cluster_state_find_unit(g.state, name));
        do_well(SUBMIT, name, APP "NodeLost=keep\n");
        assert_int_equal(cluster_state_find_unit(g.state, name)->record->stop_rev, 0);
        (void) change(START, name, NULL);
        assert_true(cluster_state_find_unit(g.state, name)->record->stop_rev > 0);
        do_well(START, "c.service", APP); // it is nowhere
        assert_int_equal(cluster_state_find_unit(g.state, "c.service")->record->stop_rev, 0);
}

static void a_version_goes_when_nobody_has_it(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", OTHER);
        set("db", "two");
        set("db", "three"); // nobody had the second
        rig_settle(&g);
        assert_int_equal(n_versions("db"), 2);
        do_well(RESTART, "a.service", NULL);
        assert_int_equal(n_versions("db"), 2);
        do_well(RESTART, "b.service", NULL);
        rig_settle(&g);
        assert_int_equal(n_versions("db"), 1);
        assert_int_equal(row("db")->version, 3);
}

static void has_no_room_for_more(Rig *rig) {
        store_memory_fail(rig->store, -ENOSPC);
}

// The entry that was to say so was not taken.
static void a_version_goes_when_the_log_has_room_again(void **state) {
        set("db", "one");
        g.on_entry = has_no_room_for_more;
        set("db", "two");
        g.on_entry = NULL;
        assert_int_equal(n_versions("db"), 2);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 2000);
        assert_int_equal(n_versions("db"), 1);
}

static void a_list_says_who_has_what_and_no_value(void **state) {
        set("db", "hunter2");
        do_well(START, "a.service", APP);
        do_well(SUBMIT, "b.service", APP);
        const Argosy__Response__SecretRow *r = row("db");
        assert_int_equal(r->version, 1);
        assert_int_equal(r->bytes, 7);
        assert_int_equal(r->units, 2);
        assert_int_equal(r->stale, 0);
        assert_int_equal(r->n_uses, 2);
        assert_string_equal(r->uses[0]->unit, "a.service");
        assert_int_equal(r->uses[0]->version, 1);
        assert_int_equal(r->uses[0]->n_nodes, 1);
        assert_string_equal(r->uses[1]->unit, "b.service");
        assert_int_equal(r->uses[1]->version, 0);
        assert_int_equal(r->uses[1]->n_nodes, 0);
        assert_non_null(strstr(r->by, "@"));
        assert_null(row("none"));
}

static void what_is_used_is_not_deleted(void **state) {
        set("db", "hunter2");
        do_well(START, "a.service", APP);
        assert_int_equal(delete("db")->status, EBUSY);
        assert_string_equal(delete ("db")->message,
                            "1 unit has the secret db (a.service): nothing was changed");
        do_well(START, "a.service", PLAIN);
        assert_int_equal(delete("db")->status, 0);
        assert_null(cluster_state_find_secret(g.state, "db"));
        assert_int_equal(delete("db")->status, ENOENT);
}

static void what_is_not_there_starts_nothing(void **state) {
        const Argosy__Response__UnitResult *r = change(START, "a.service", APP);

        assert_replies(r, ENOENT, "Secret=db: there is no such secret; `argosyctl secret set db` makes it");
        assert_null(rig_record(&g, "a.service"));
        do_well(SUBMIT, "a.service", APP); // it may come later
        set("db", "hunter2");
        do_well(START, "a.service", NULL);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
}

static void bad_ones_are_refused_without_a_word_of_them(void **state) {
        static uint8_t large[SECRET_VALUE_MAX + 1];

        assert_int_equal(set_bytes("db", "", 0)->status, EINVAL);
        assert_int_equal(set_bytes("db", large, sizeof(large))->status, E2BIG);
        assert_int_equal(set_bytes("../db", "x", 1)->status, EINVAL);
        assert_int_equal(set_bytes("", "x", 1)->status, EINVAL);
        assert_null(strstr(set_bytes("a b", "hunter2", 7)->message, "hunter2"));
        assert_int_equal(cluster_state_secrets_bytes(g.state), 0);
}

static void give_podman(void) {
        for (uint32_t i = 1; i <= 3; i++) {
                rig_host_set_labels(&g, i, "podman", "5.4");
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

static void what_a_registry_is_to_see_is_the_newest_and_restarts_nothing(void **state) {
        uint64_t revision;

        give_podman();
        set("db", "me:first");
        do_well(START, "box.service", BOX);
        assert_string_equal(shown, "me:first of db for reg.example/box:1");
        assert_string_equal(at_unit("box.service")->value, "me:first");
        assert_string_equal(at_unit("box.service")->id, "");
        revision = cluster_state_find_unit(g.state, "box.service")->record->revision;
        set("db", "me:second");
        assert_string_equal(at_unit("box.service")->value, "me:second");
        assert_int_equal(at_unit("box.service")->version, 2);
        assert_int_equal(cluster_state_find_unit(g.state, "box.service")->record->revision, revision);
        assert_int_equal(row("db")->units, 1);
        assert_int_equal(row("db")->stale, 0);
        assert_int_equal(n_versions("db"), 1); // nobody has the first
        (void) rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                            .name = "box.service",
                                            .content = BOX "[Service]\nRestart=always\n"});
        assert_non_null(strstr(shown, ", pulled"));
        assert_memory_equal(shown, "me:second", strlen("me:second"));
        assert_int_equal(delete("db")->status, EBUSY);
}

// Nodes have refused the unit, as a registry does not take what it is shown: with another secret it may.
static void with_another_secret_nodes_that_refused_are_asked_again(void **state) {
        give_podman();
        set("db", "me:first");
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->refuses = true;
        (void) change(START, "box.service", BOX);
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, "box.service"), 0);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->refuses = false;
        rig_pass_ms(&g, 60000);
        assert_int_equal(rig_count_running(&g, "box.service"), 0);
        set("db", "me:second");
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, "box.service"), 1);
}

static void without_the_secret_no_registry_is_asked(void **state) {
        give_podman();
        RigAnswer *a = rig_change_with_and_settle(&g, START, "box.service", BOX, true, NULL);
        assert_replies(rig_last(a), EINVAL, "RegistryAuth=db: there is no such secret");
        assert_string_equal(shown, "");
}

static void it_outlives_its_leader(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        set("db", "two");
        rig_depose(&g);
        rig_turns(&g, 3);
        rig_elect(&g);
        assert_int_equal(at_unit("a.service")->version, 1);
        assert_int_equal(row("db")->stale, 1);
        do_well(RESTART, "a.service", NULL);
        assert_string_equal(at_unit("a.service")->value, "two");
}

static void without_its_key_nothing_is_sealed_or_sent(void **state) {
        set("db", "one");
        voter_secrets_done(&keys);
        assert_int_equal(set_bytes("db", "two", 3)->status, ENOKEY);
        do_well(START, "a.service", APP);
        assert_int_equal(at_unit("a.service")->n, 0);
        assert_int_equal(at_unit("a.service")->version, 1); // named all the same: it waits there
}

// As many of the voters say that the key is on their disks.
static void keep_key_on(size_t n_voters) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__ClusterRecord next = *cluster_state_cluster(g.state);
        Argosy__VoterSecretRecord key = *next.voter_secrets[0], *only = &key;
        uint32_t kept_by[3];

        for (size_t i = 0; i < n_voters; i++)
                kept_by[i] = g.members[i].raft_id;
        key.kept_by = kept_by;
        key.n_kept_by = n_voters;
        next.voter_secrets = &only;
        next.n_voter_secrets = 1;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        rig_propose(&g, &b);
        rig_settle(&g);
}

static void while_the_first_waits_for_its_key_others_are_served(void **state) {
        keep_key_on(1);
        RigAnswer *first = begin_set("db", "one", 3);
        rig_settle(&g);
        assert_false(first->final);
        do_well(START, "c.service", PLAIN); // by the same author
        assert_false(first->final);
        keep_key_on(2);
        assert_final(first, 0);
}

// Each is the next version, and neither is lost.
static void two_authors_at_once_get_a_version_each(void **state) {
        Argosy__Request__SecretSet m[2] = {ARGOSY__REQUEST__SECRET_SET__INIT,
                                           ARGOSY__REQUEST__SECRET_SET__INIT};
        static const char *const values[] = {"one", "two"};
        RigAnswer *a[2];

        for (size_t i = 0; i < 2; i++) {
                Argosy__Request request = REQUEST_OF(SECRET_SET, secret_set, &m[i]);

                m[i].name = (char *) "db";
                m[i].value = (ProtobufCBinaryData){3, (uint8_t *) values[i]};
                a[i] = rig_ask(&g, &request);
        }
        rig_settle(&g);
        for (size_t i = 0; i < 2; i++) {
                assert_true(a[i]->final);
                assert_int_equal(rig_last(a[i])->status, 0);
                assert_int_equal(rig_last(a[i])->secrets->rows[0]->version, i + 1);
        }
        do_well(START, "a.service", APP);
        assert_string_equal(at_unit("a.service")->value, "two");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(it_comes_with_the_order_that_names_it),
                RIG_TEST(the_log_has_it_sealed_only),
                RIG_TEST(a_unit_gets_another_version_when_it_is_started_or_restarted),
                RIG_TEST(a_unit_that_moves_keeps_its_version),
                RIG_TEST(a_start_where_nobody_hears_of_it_keeps_its_version),
                RIG_TEST(what_was_destroyed_and_comes_again_is_not_what_its_host_has),
                RIG_TEST(a_version_goes_when_nobody_has_it),
                RIG_TEST(a_version_goes_when_the_log_has_room_again),
                RIG_TEST(a_list_says_who_has_what_and_no_value),
                RIG_TEST(what_is_used_is_not_deleted),
                RIG_TEST(what_is_not_there_starts_nothing),
                RIG_TEST(bad_ones_are_refused_without_a_word_of_them),
                RIG_TEST(two_authors_at_once_get_a_version_each),
                RIG_TEST(while_the_first_waits_for_its_key_others_are_served),
                RIG_TEST(what_a_registry_is_to_see_is_the_newest_and_restarts_nothing),
                RIG_TEST(with_another_secret_nodes_that_refused_are_asked_again),
          RIG_TEST(without_the_secret_no_registry_is_asked),
                RIG_TEST(it_outlives_its_leader),
                RIG_TEST(without_its_key_nothing_is_sealed_or_sent),
        };

        log_set_level(LOG_CRIT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
