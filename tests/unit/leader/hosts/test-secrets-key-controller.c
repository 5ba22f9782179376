// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Another key for secrets, from the request to the end. Disks and snapshots of voters are the test's: a
// voter answers in the turn after it was told, and has a snapshot in the turn after the log asked for one.
#include <errno.h>

enum { HOSTS = 4 };

#include "message.h"
#include "printed.h"
#include "secret-box.h"
#include "secret-name.h"
#include "secrets-key-controller.h"
#include "str.h"
#include "voter-disks.h"
#include "voter-secrets.h"

static bool compacts[HOSTS + 1];
static uint32_t compacted[HOSTS + 1];

static unsigned n_keys_drawn;

void __real_random_bytes(void *ret, size_t len);
void __wrap_random_bytes(void *ret, size_t len);

void __wrap_random_bytes(void *ret, size_t len) {
        n_keys_drawn += len == SECRET_KEY_SIZE;
        __real_random_bytes(ret, len);
}

static const Argosy__SecretsKeyRecord *key(void) {
        return cluster_state_cluster(g.state)->secrets_key;
}

static void take_snapshot(uint32_t host) {
        if (!key() || key()->phase != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT || !compacts[host] ||
            compacted[host] == key()->number)
                return;
        compacted[host] = key()->number;
        due[host] = true;
}

static void on_turn(Rig *rig) {
        disks_drop_old();
        for (uint32_t host = 1; host <= HOSTS; host++) {
                if (!rig_host(&g, host)->up || !g.leader->leading)
                        continue;
                take_snapshot(host);
                if (!due[host])
                        continue;
                due[host] = false;
                say_kept_and_compacted(host, compacted[host]);
        }
}

static bool votes(uint32_t host) {
        return cluster_state_find_host(g.state, host)->raft_id > 0;
}

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS); // three of them vote
        rig_give_secrets_key(&g, &disks[1], 1);
        memset(compacted, 0, sizeof(compacted));
        for (uint32_t host = 1; host <= HOSTS; host++) {
                keeps[host] = compacts[host] = due[host] = true;
                if (host > 1 && votes(host))
                        assert_int_equal(voter_secrets_copy(&disks[1], &disks[host]), 0);
        }
        g.on_host_message = disk_on_message;
        g.on_turn = on_turn;
        pass();
}

FIXTURE(teardown) {
        rig_stop(&g);
        for (uint32_t host = 1; host <= HOSTS; host++)
                voter_secrets_done(&disks[host]);
}

// ------------------------------------------------------------------------------------------------ asking

static const Argosy__Response *ask_set(const char *name, const void *value, size_t len) {
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) name,
                                                  .value = (ProtobufCBinaryData){len, (uint8_t *) value});

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(SECRET_SET, secret_set, &m)));
}

static void set(const char *name, const void *value, size_t len) {
        assert_int_equal(ask_set(name, value, len)->status, 0);
}

static const Argosy__Response *rotate(bool abort) {
        Argosy__Request__SecretRotateKey m = MESSAGE_OF(request__secret_rotate_key, .abort = abort);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(SECRET_ROTATE_KEY, secret_rotate_key, &m)));
}

static void rotate_through(void) {
        (void) rotate(false);
        pass();
}

static const char *notice(void) {
        static Argosy__Request__ClusterStatus m;

        argosy__request__cluster_status__init(&m);
        return rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_STATUS, cluster_status, &m)))
                ->cluster_status->secrets_notice;
}

// What the log has of it, opened with the key of that number.
static void assert_sealed_with(const char *name, uint32_t number, const char *value) {
        const Argosy__SecretVersion *v = secret_record_newest(cluster_state_find_secret(g.state, name));
        const SecretLabel label = {.name = name, .version = v->version, .key = number};
        _cleanup_(secret_bytes_done) SecretBytes opened = {};

        assert_int_equal(v->key, number);
        assert_int_equal(secret_box_open(voter_secrets_find(&disks[1], VOTER_SECRET_SECRETS, number)->data,
                                         &label, v->sealed.data, v->sealed.len, &opened),
                         0);
        assert_int_equal(opened.len, strlen(value));
        assert_memory_equal(opened.data, value, opened.len);
}

static void assert_rotated(uint32_t number) {
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        assert_int_equal(key()->number, number);
        assert_string_equal(notice(), "");
        assert_int_equal(cluster_state_cluster(g.state)->n_voter_secrets, 1);
        for (uint32_t host = 1; host <= HOSTS; host++) {
                if (!rig_host(&g, host)->up)
                        continue;
                assert_null(voter_secrets_find(&disks[host], VOTER_SECRET_SECRETS, number - 1));
                assert_int_equal(voter_secrets_find(&disks[host], VOTER_SECRET_SECRETS, number) != NULL,
                                 votes(host));
        }
}

// ------------------------------------------------------------------------------------------------ stories

static void all_versions_are_sealed_with_the_new_key_and_the_old_one_goes(void **state) {
        set("db", "hunter2", 7);
        set("other", "x", 1);
        assert_int_equal(rotate(false)->status, 0);
        pass();
        assert_rotated(2);
        assert_sealed_with("db", 2, "hunter2");
        assert_sealed_with("other", 2, "x");
        set("db", "after", 5);
        assert_sealed_with("db", 2, "after");
        assert_int_equal(rotate(false)->status, 0);
        pass();
        assert_rotated(3);
        assert_sealed_with("db", 3, "after");
}

static uint64_t last_index(void) {
        StoreStats stats;

        store_stats(g.store, &stats);
        return stats.last_index;
}

// The log takes STORE_BATCH_MAX at a time, and other requests in between.
static void many_are_sealed_anew_in_several_entries(void **state) {
        static uint8_t value[SECRET_VALUE_MAX];

        for (unsigned i = 0; i < 40; i++) {
                set(printed("s%u", i), value, sizeof(value));
        }
        uint64_t before = last_index();
        (void) rotate(false);
        for (unsigned i = 0; i < 20; i++)
                pass();
        assert_rotated(2);
        assert_true(last_index() > before + 20);
        for (unsigned i = 0; i < 40; i++) {
                assert_int_equal(
                        secret_record_newest(cluster_state_find_secret(g.state, printed("s%u", i)))->key, 2);
        }
}

static void a_voter_that_is_away_refuses_it_and_is_named(void **state) {
        set("db", "hunter2", 7);
        rig_host_off(&g, 2);
        leader_on_host_link(g.leader, 2, NULL);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        const Argosy__Response *r = rotate(false);
        assert_int_equal(r->status, EHOSTUNREACH);
        assert_string_equal(r->message,
                            "every voter has to take the new key, and n2 is not there; nothing was changed");
        assert_null(key());
}

static void a_voter_that_does_not_keep_it_keeps_the_old_one(void **state) {
        set("db", "hunter2", 7);
        keeps[2] = false;
        rotate_through();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT);
        assert_string_equal(notice(), "the next key comes to the voters; waiting for n2");
        assert_int_equal(rotate(false)->status, EEXIST);
        set("db", "meanwhile", 9);
        assert_sealed_with("db", 1, "meanwhile");
        keeps[2] = true;
        attach_anew(2);
        pass();
        assert_rotated(2);
        assert_sealed_with("db", 2, "meanwhile");
}

static void it_can_be_ended_until_the_new_key_seals(void **state) {
        set("db", "hunter2", 7);
        assert_int_equal(rotate(true)->status, ENOENT);
        keeps[2] = compacts[2] = false;
        rotate_through();
        assert_int_equal(rotate(true)->status, 0);
        pass();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        assert_int_equal(key()->number, 1);
        assert_int_equal(cluster_state_cluster(g.state)->n_voter_secrets, 1);
        assert_sealed_with("db", 1, "hunter2");
        keeps[2] = true;
        rotate_through();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT);
        assert_true(key()->number > 2); // who got the key that was given up has none that counts
        assert_int_equal(rotate(true)->status, EBUSY);
        assert_string_equal(notice(), "all are sealed with the new key, and the former one goes when every "
                                      "voter has a snapshot of that; "
                                      "waiting for n2");
        compacts[2] = true;
        pass();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        assert_null(voter_secrets_find(&disks[2], VOTER_SECRET_SECRETS, 1));
}

static void lose(uint32_t number) {
        for (uint32_t host = 1; host <= HOSTS; host++) {
                voter_secrets_drop(&disks[host], VOTER_SECRET_SECRETS, number);
                due[host] = true;
        }
        pass();
}

static void a_key_that_no_voter_has_any_more_is_said_and_replaced(void **state) {
        set("db", "hunter2", 7);
        lose(1);
        const Argosy__Response *r = ask_set("db", "after", 5);
        assert_int_equal(r->status, ENOKEY);
        assert_string_equal(r->message, SECRETS_KEY_LOST ": nothing was changed");
        assert_string_equal(notice(), SECRETS_KEY_LOST);
        assert_int_equal(rotate(false)->status, 0);
        pass();
        assert_string_equal(notice(), "the former keys stay: version 1 of the secret db cannot be opened");
        set("db", "after", 5);
        pass();
        assert_rotated(2);
        assert_sealed_with("db", 2, "after");
}

// Nothing could be set before either.
// The leader lacks it, and could not hand over.
static void who_removes_the_last_voter_that_has_the_key_hears_it(void **state) {
        Argosy__Request__ClusterRemove m =
                MESSAGE_OF(request__cluster_remove, .host = (char *) "n2", .force = true);

        set("db", "hunter2", 7);
        for (uint32_t host = 1; host <= 3; host += 2) {
                keeps[host] = false;
                voter_secrets_done(&disks[host]);
                due[host] = true;
        }
        rig_settle(&g);
        RigAnswer *a = rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
        rig_pass_ms(&g, 10 * RIG_BEAT_MS);
        assert_true(a->final);
        assert_null(cluster_state_find_host(g.state, 2));
        assert_string_equal(rig_last(a)->message,
                            "n2 could read every secret (db): only new values help (argosyctl secret set); "
                            SECRETS_KEY_LOST);
        due[4] = true; // it votes in the place of the other one
        pass();
        assert_string_equal(notice(), SECRETS_KEY_LOST);
}

static void a_key_that_is_lost_while_it_begins_to_seal_is_replaced(void **state) {
        set("db", "hunter2", 7);
        compacts[2] = false;
        rotate_through();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT);
        lose(2);
        assert_int_equal(ask_set("db", "after", 5)->status, ENOKEY);
        assert_int_equal(rotate(false)->status, 0);
        compacts[2] = true;
        pass();
        set("db", "after", 5);
        pass();
        assert_rotated(3);
        assert_sealed_with("db", 3, "after");
}

static void a_next_key_that_no_voter_has_any_more_is_made_again(void **state) {
        set("db", "hunter2", 7);
        keeps[2] = keeps[3] = false;
        rotate_through();
        keeps[1] = false;
        lose(2);
        keeps[1] = keeps[2] = keeps[3] = true;
        attach_anew(1);
        attach_anew(2);
        attach_anew(3);
        pass();
        assert_rotated(3);
        assert_sealed_with("db", 3, "hunter2");
}

static void elect_anew(void) {
        rig_depose(&g);
        for (uint32_t host = 1; host <= HOSTS; host++)
                due[host] = false;
        rig_elect(&g);
        pass();
}

static void the_next_leader_goes_on_in_each_phase(void **state) {
        set("db", "hunter2", 7);
        keeps[2] = keeps[3] = false;
        rotate_through();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT);
        elect_anew();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT);
        keeps[2] = keeps[3] = true;
        compacts[3] = false;
        elect_anew();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT);
        compacts[3] = true;
        elect_anew();
        pass();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        assert_sealed_with("db", key()->number, "hunter2");
}

static void what_cannot_be_opened_keeps_the_old_key(void **state) {
        set("db", "hunter2", 7);
        set("fine", "x", 1);
        Argosy__SecretVersion *v =
                (Argosy__SecretVersion *) secret_record_newest(cluster_state_find_secret(g.state, "db"));
        v->sealed.data[20] ^= 1;
        rotate_through();
        assert_int_equal(key()->phase, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL);
        assert_string_equal(notice(), "the former keys stay: version 1 of the secret db cannot be opened");
        assert_sealed_with("fine", 2, "x");
        assert_non_null(voter_secrets_find(&disks[1], VOTER_SECRET_SECRETS, 1));
        set("db", "again", 5); // and the damaged one goes, since nobody has it
        pass();
        assert_rotated(2);
}

static void a_key_that_comes_later_is_tried(void **state) {
        _cleanup_(voter_secrets_done) VoterSecrets all = {};

        set("db", "hunter2", 7);
        assert_int_equal(voter_secrets_copy(&disks[1], &all), 0);
        const SecretBytes *first = voter_secrets_find(&all, VOTER_SECRET_SECRETS, 1);
        voter_secrets_drop(&disks[1], VOTER_SECRET_SECRETS, 1);
        rotate_through();
        assert_string_equal(notice(), "the former keys stay: version 1 of the secret db cannot be opened");
        assert_int_equal(voter_secrets_put(&disks[1], VOTER_SECRET_SECRETS, 1, first->data, first->len), 0);
        due[1] = true;
        pass();
        assert_rotated(2);
        assert_sealed_with("db", 2, "hunter2");
}

static const VoterSecrets *(*ask_for_keys)(void *userdata);
static unsigned n_asked, n_asked_in_turn, most_in_turn;

// Each version that is opened asks for the key.
static const VoterSecrets *count_asked(void *userdata) {
        n_asked++;
        most_in_turn = MAX_OF(most_in_turn, ++n_asked_in_turn);
        return ask_for_keys(userdata);
}

static void on_turn_count(Rig *rig) {
        n_asked_in_turn = 0;
        on_turn(rig);
}

static unsigned n_asked_by_starts(const char *prefix) {
        n_asked = 0;
        for (unsigned i = 0; i < 10; i++) {
                (void) rig_change(&g, ARGOSY__VERB__VERB_START, printed("%s%u.service", prefix, i),
                                  "[Service]\nExecStart=/bin/true\n");
                rig_settle(&g);
        }
        return n_asked;
}

// Some of them no key opens: they are tried some in a turn, and then not again, whatever else happens.
static void what_no_key_opens_is_tried_once_and_named(void **state) {
        enum { SECRETS = 30, DAMAGED = 20 };
        static uint8_t value[SECRET_VALUE_MAX];
        unsigned before;
        char name[16];

        for (unsigned i = 0; i < SECRETS; i++) {
                snprintf(name, sizeof(name), "s%02u", i);
                set(name, value, sizeof(value));
                if (i < DAMAGED)
                        ((Argosy__SecretVersion *) secret_record_newest(
                                 cluster_state_find_secret(g.state, name)))
                                ->sealed.data[20] ^= 1;
        }
        ask_for_keys = g.leader->ops.secrets;
        g.leader->ops.secrets = count_asked;
        g.on_turn = on_turn_count;
        before = n_asked_by_starts("a");
        most_in_turn = 0;
        (void) rotate(false);
        for (unsigned i = 0; i < 20; i++)
                pass();
        assert_string_equal(notice(), "the former keys stay: 20 versions of secrets cannot be opened (s00 "
                                      "1, s01 1, s02 1, s03 1, s04 1, s05 1, "
                                      "s06 1, s07 1 and 12 more)");
        for (unsigned i = DAMAGED; i < SECRETS; i++) {
                snprintf(name, sizeof(name), "s%02u", i);
                assert_int_equal(secret_record_newest(cluster_state_find_secret(g.state, name))->key, 2);
        }
        assert_true(most_in_turn < 20);
        // which keys there are is looked at in each turn
        assert_true(n_asked_by_starts("b") < before + 5 * DAMAGED);
        for (unsigned i = 0; i < DAMAGED; i++) {
                snprintf(name, sizeof(name), "s%02u", i);
                set(name, "again", 5);
        }
        for (unsigned i = 0; i < 20; i++)
                pass();
        assert_rotated(2);
}

static void before_the_first_secret_there_is_no_key(void **state) {
        Rig other = g;

        memset(&g, 0, sizeof(g));
        rig_start(&g, 1);
        assert_int_equal(rotate(false)->status, ENOENT);
        rig_stop(&g);
        g = other;
}

// How many turns a request waits follows from the loop; what it draws meanwhile is thrown away, and makes
// another story of the same seed.
static void who_waits_for_the_first_key_draws_no_other_one(void **state) {
        rig_start(&g, 1);
        g.secrets = &disks[1];
        n_keys_drawn = 0;
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(secrets_key_make_first(g.leader), -EBUSY);
        assert_int_equal(n_keys_drawn, 1);
        assert_int_equal(teardown(NULL), 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(
                all_versions_are_sealed_with_the_new_key_and_the_old_one_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(many_are_sealed_anew_in_several_entries, setup, teardown),
        cmocka_unit_test_setup_teardown(a_voter_that_is_away_refuses_it_and_is_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_voter_that_does_not_keep_it_keeps_the_old_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_can_be_ended_until_the_new_key_seals, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_that_no_voter_has_any_more_is_said_and_replaced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_removes_the_last_voter_that_has_the_key_hears_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_key_that_is_lost_while_it_begins_to_seal_is_replaced,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_next_key_that_no_voter_has_any_more_is_made_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_leader_goes_on_in_each_phase, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_opened_keeps_the_old_key, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_that_comes_later_is_tried, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_key_opens_is_tried_once_and_named, setup, teardown),
        cmocka_unit_test(before_the_first_secret_there_is_no_key),
        cmocka_unit_test(who_waits_for_the_first_key_draws_no_other_one)
)
