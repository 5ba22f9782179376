// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the removal of a host says of the secrets that the host could read.
#include "secret-words.h"

#include "batch.h"

// Three of them vote.
static int setup(void **state) {
        return begin(4);
}

static RigAnswer *ask_to_remove(const char *name) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) name);

        return rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

static const Argosy__Response *remove_host(const char *name) {
        RigAnswer *a = ask_to_remove(name);

        rig_pass_ms(&g, 10 * RIG_BEAT_MS);
        assert_true(a->final);
        return rig_last(a);
}

static void a_removal_names_what_the_host_could_read(void **state) {
        set("db", "one");
        set("other", "two");
        do_well(START, "a.service", APP "Host=n4\n");
        assert_int_equal(cluster_state_find_host(g.state, 4)->raft_id, 0);
        const Argosy__Response *r = remove_host("n4");
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "n4 could read the secret db, and may have read others of units "
                                        "that it had earlier: only new values help "
                                        "(argosyctl secret set)");
        assert_int_equal(r->removal->n_secrets, 1);
        assert_string_equal(r->removal->secrets[0], "db");
        assert_false(r->removal->all);
        assert_true(r->removal->others);
        r = remove_host("n2");
        assert_int_equal(r->status, 0);
        assert_string_equal(
                r->message,
                "n2 could read every secret (db, other): only new values help (argosyctl secret set)");
        assert_true(r->removal->all);
        assert_false(r->removal->others);
}

static void put_raft_id(uint32_t host, uint32_t raft_id) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__HostRecord *record = batch_host(&b, host, "n4", 1);

        *record = *cluster_state_find_host(g.state, host);
        record->raft_id = raft_id;
        rig_propose(&g, &b);
        rig_settle(&g);
}

// What it had the log has, whoever leads. Of units that it had earlier nobody knows.
static void a_removal_names_what_a_host_could_read_that_voted_once(void **state) {
        set("db", "one");
        set("new", "two");
        put_raft_id(4, 77); // it is to become a voter
        put_raft_id(4, 0);
        set("db", "three");
        do_well(START, "a.service", APP "Host=n1\n");
        set("later", "four");
        rig_elect_anew(&g);
        const Argosy__Response *r = remove_host("n4");
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "n4 could read the secret new, and may have read others of units "
                                        "that it had earlier: only new values help "
                                        "(argosyctl secret set)");
}

// It gets the log until it is no voter any more.
static void a_removal_names_what_came_while_the_host_was_still_a_voter(void **state) {
        set("db", "one");
        RigAnswer *a = ask_to_remove("n2");
        while (!cluster_state_find_host(g.state, 2)->no_promote)
                rig_turn(&g);
        set("late", "two");
        rig_pass_ms(&g, 10 * RIG_BEAT_MS);
        assert_true(a->final);
        assert_null(cluster_state_find_host(g.state, 2));
        assert_string_equal(
                rig_last(a)->message,
                "n2 could read every secret (db, late): only new values help (argosyctl secret set)");
}

static void of_a_host_without_units_a_removal_says_that_it_may_have_had_some(void **state) {
        set("db", "one");
        const Argosy__Response *r = remove_host("n4");
        assert_string_equal(r->message, "n4 may have read secrets of units that it had earlier: only new "
                                        "values help (argosyctl secret set)");
        assert_int_equal(r->removal->n_secrets, 0);
}

static void without_secrets_a_removal_says_nothing_of_them(void **state) {
        assert_string_equal(remove_host("n4")->message, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(a_removal_names_what_the_host_could_read),
                RIG_TEST(a_removal_names_what_a_host_could_read_that_voted_once),
                RIG_TEST(a_removal_names_what_came_while_the_host_was_still_a_voter),
                RIG_TEST(of_a_host_without_units_a_removal_says_that_it_may_have_had_some),
                RIG_TEST(without_secrets_a_removal_says_nothing_of_them),
        };

        log_set_level(LOG_CRIT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
