// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A cluster of the first level whose hosts get a build of the next one, one after the other and in any
// order.
#include "feature-level.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "voters.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

static Rig g;

FIXTURE(setup) {
        rig_start_at(&g, 4, FEATURE_BASE); // n4 is a spare
}

FIXTURE(setup_newest) {
        rig_start(&g, 4);
}

RIG_TEARDOWN

static void install(uint32_t host, uint32_t feature_level) {
        rig_host_off(&g, host);
        rig_host(&g, host)->feature_level = feature_level;
        rig_host_on(&g, host, false);
        rig_pass_ms(&g, RIG_BEAT_MS);
}

static const Argosy__Response__ClusterStatus *cluster_status(void) {
        Argosy__Request__ClusterStatus m = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_STATUS, cluster_status, &m)))
                ->cluster_status;
}

static RigAnswer *cluster_role(const char *host, bool promote) {
        Argosy__Request__ClusterRole m =
                MESSAGE_OF(request__cluster_role, .host = (char *) host, .promote = promote);

        return rig_ask_and_settle(&g, A_REQUEST(CLUSTER_ROLE, cluster_role, &m));
}

static void cluster_remove(const char *host) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) host);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m)))->status, 0);
}

static void expect(uint32_t level, const char *notice) {
        assert_int_equal(cluster_state_feature_level(g.state), level);
        assert_int_equal(cluster_status()->feature_level, level);
        assert_string_equal(cluster_status()->feature_notice, notice);
}

static bool rose_without; // there was an entry with the next level, and nothing yet of what that brings

static void note_entry(Rig *r) {
        if (cluster_state_feature_level(r->state) == FEATURE_NEWEST &&
            !cluster_state_cluster(r->state)->synthetic)
                rose_without = true;
}

// An older voter learns that it is too old by an entry that it can read.
static void what_the_level_brings_is_written_once_it_has_risen(void **state) {
        unsigned batches;

        rose_without = false;
        g.on_entry = note_entry;
        install(2, FEATURE_NEWEST);
        install(3, FEATURE_NEWEST);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_false(cluster_state_cluster(g.state)->synthetic);
        install(4, FEATURE_NEWEST);
        assert_true(rose_without);
        assert_true(cluster_state_cluster(g.state)->synthetic);
        batches = g.batches;
        install(3, FEATURE_NEWEST);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_equal(g.batches, batches); // once
}

static void the_level_rises_with_the_last_host(void **state) {
        expect(FEATURE_BASE, "not 2 yet: n2 has 1, n3 has 1, n4 has 1");
        install(3, FEATURE_NEWEST);
        install(4, FEATURE_NEWEST);
        expect(FEATURE_BASE, "not 2 yet: n2 has 1");
        install(2, FEATURE_NEWEST);
        expect(FEATURE_NEWEST, "");
}

static void going_back_works_until_it_has_risen(void **state) {
        install(2, FEATURE_NEWEST);
        install(3, FEATURE_NEWEST);
        install(2, FEATURE_BASE);
        install(4, FEATURE_NEWEST);
        expect(FEATURE_BASE, "not 2 yet: n2 has 1");
        install(2, FEATURE_NEWEST);
        install(2, FEATURE_BASE);
        expect(FEATURE_NEWEST, ""); // it never falls
}

static void a_host_that_is_off_holds_it_until_it_is_removed(void **state) {
        rig_host_off(&g, 4);
        install(2, FEATURE_NEWEST);
        install(3, FEATURE_NEWEST);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        expect(FEATURE_BASE, "not 2 yet: n4 is not heard");
        cluster_remove("n4");
        rig_settle(&g);
        expect(FEATURE_NEWEST, "");
}

// A removal that broke off has left its member in the log's configuration.
static void a_member_that_no_record_names_holds_it_until_it_is_dropped(void **state) {
        g.members[g.n_members++] = (StoreMember){.raft_id = 99, .voter = true};
        voters_pause(g.leader, UINT64_MAX);
        for (uint32_t host = 2; host <= 4; host++)
                install(host, FEATURE_NEWEST);
        expect(FEATURE_BASE, "not 2 yet: a removed host is not heard");
        voters_pause(g.leader, 0);
        rig_pass_ms(&g, RIG_BEAT_MS);
        assert_int_equal(g.n_members, 3);
        expect(FEATURE_NEWEST, "");
}

static void a_host_that_was_demoted_holds_nothing(void **state) {
        cluster_role("n4", false);
        install(2, FEATURE_NEWEST);
        install(3, FEATURE_NEWEST);
        expect(FEATURE_NEWEST, "");
}

static void a_new_leader_goes_on(void **state) {
        install(2, FEATURE_NEWEST);
        install(3, FEATURE_NEWEST);
        rig_depose(&g);
        rig_host(&g, 4)->feature_level = FEATURE_NEWEST;
        rig_elect(&g);
        install(4, FEATURE_NEWEST);
        expect(FEATURE_NEWEST, "");
}

static void a_host_with_an_older_build_becomes_no_voter(void **state) {
        install(4, FEATURE_BASE);
        const Argosy__Response *r = rig_last(cluster_role("n4", true));
        assert_replies(r, EPROTONOSUPPORT, "the argosyd of n4 is too old");
        cluster_role("n3", false);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_equal(cluster_state_find_host(g.state, 4)->raft_id, 0);
        install(4, FEATURE_NEWEST);
        rig_pass_ms(&g, 3 * RIG_BEAT_MS);
        assert_int_not_equal(cluster_state_find_host(g.state, 4)->raft_id, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(the_level_rises_with_the_last_host),
        TEST(what_the_level_brings_is_written_once_it_has_risen),
        TEST(going_back_works_until_it_has_risen),
        TEST(a_host_that_is_off_holds_it_until_it_is_removed),
        TEST(a_member_that_no_record_names_holds_it_until_it_is_dropped),
        TEST(a_host_that_was_demoted_holds_nothing),
        TEST(a_new_leader_goes_on),
        cmocka_unit_test_setup_teardown(a_host_with_an_older_build_becomes_no_voter, setup_newest,
                                        teardown)
)
