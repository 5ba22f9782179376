// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts that leave: what runs there ends before it begins elsewhere, and before its host is removed. A host
// that is deaf has not been told to stop anything yet.
#include "member-words.h"
#include "messages.h"

#define START ARGOSY__VERB__VERB_START
#define ONE_DOWN "[X-Argosy]\nMaxUnavailable=1\n"

static int setup(void **state) {
        return begin_with_ca();
}

static int teardown(void **state) {
        end_with_ca();
        return 0;
}

static RigAnswer *remove_by_force(const char *host) {
        Argosy__Request__ClusterRemove m =
                MESSAGE_OF(request__cluster_remove, .host = (char *) host, .force = true);

        return rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

static bool is_member(uint32_t host) {
        return cluster_state_find_host(g.state, host);
}

// Units a.service to c.service are on n1 to n3.
static void start_three(void) {
        static const char *const names[] = {"a.service", "b.service", "c.service"};

        for (uint32_t i = 0; i < 3; i++) {
                rig_change(&g, START, names[i], SERVICE);
                assert_int_equal(rig_record(&g, names[i])->node, i + 1);
        }
}

static bool b_began_elsewhere;
static void look_for_b(Rig *rig) {
        bool runs = is_member(2) && rig_host(rig, 2)->up && rig_unit_on(rig, 2, "b.service") &&
                    rig_unit_on(rig, 2, "b.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;

        b_began_elsewhere |= runs && rig_count_running(rig, "b.service") > 1;
        b_began_elsewhere |= !is_member(2) && !b_began_elsewhere && runs;
}

static void set_vote(const char *host, bool promote) {
        Argosy__Request__ClusterRole m =
                MESSAGE_OF(request__cluster_role, .host = (char *) host, .promote = promote);

        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_ROLE, cluster_role, &m)))->status,
                         0);
}

static void take_vote(const char *host) {
        set_vote(host, false);
}

// Both requests wait for an entry that is on its way, and the host goes with the next one.
static void no_right_is_given_at_a_host_that_goes_by_the_same_entry(void **state) {
        Argosy__Request removal = ARGOSY__REQUEST__INIT, grant = ARGOSY__REQUEST__INIT;
        Argosy__Request__AccessChange change = ARGOSY__REQUEST__ACCESS_CHANGE__INIT;
        Argosy__Request__ClusterRemove remove =
                MESSAGE_OF(request__cluster_remove, .host = change.host = (char *) "n2", .force = true);

        removal.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        removal.cluster_remove = &remove;
        change.right = ARGOSY__RIGHT__RIGHT_ADMIN;
        change.user = (char *) "alice";
        grant.what_case = ARGOSY__REQUEST__WHAT_ACCESS_CHANGE;
        grant.access_change = &change;
        take_vote("n2");
        g.slow = true;
        (void) rig_change_with(&g, START, "a.service", SERVICE, false, NULL);
        rig_turns(&g, 2);
        (void) rig_ask(&g, &removal);
        RigAnswer *given = rig_ask(&g, &grant);
        rig_hurry_and_settle(&g);
        assert_false(is_member(2));
        assert_int_equal(rig_last(given)->status, ENOENT);
        assert_int_equal(cluster_state_figures(g.state).state_operations_refused, 0);
}

// Both requests wait for an entry that is on its way.
static void nothing_is_placed_on_a_host_that_goes_by_the_same_entry(void **state) {
        Argosy__Request__ClusterRemove remove = MESSAGE_OF(request__cluster_remove, .host = (char *) "n2");

        take_vote("n2");
        rig_pass_ms(&g, 3000);
        g.slow = true;
        (void) rig_change_with(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n1\n", false, NULL);
        rig_turns(&g, 2);
        (void) rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &remove));
        RigAnswer *started =
                rig_change_with(&g, START, "b.service", SERVICE "[X-Argosy]\nHost=n2\n", false, NULL);
        g.slow = false;
        rig_release(&g);
        rig_settle(&g);
        assert_false(is_member(2));
        assert_true(started->final);
        assert_int_equal(rig_record(&g, "b.service") ? rig_record(&g, "b.service")->node : 0, 0);
}

static void set_admin(const char *user, bool revoke) {
        Argosy__Request__AccessChange m =
                ACCESS_CHANGE_OF(.user = (char *) user, .right = ARGOSY__RIGHT__RIGHT_ADMIN,
                                 .revoke = revoke);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &m)))->status, 0);
}

// The removal waits until the voters have answered, and nothing of it is in the log.
static void whoever_loses_the_right_before_it_has_begun_removes_no_host(void **state) {
        Argosy__Author alice = AUTHOR_OF(.host = 1, .uid = 1001, .user = (char *) "alice");

        set_admin("alice", false);
        g.lags = true;
        rig_pass_ms(&g, 100);
        g.author = &alice;
        RigAnswer *a = cluster_remove("n2");
        g.author = NULL;
        assert_false(a->final);
        set_admin("alice", true);
        g.lags = false;
        rig_pass_ms(&g, 5000);
        assert_final(a, EACCES);
        assert_true(is_member(2));
}

static void a_unit_ends_before_its_host_is_removed(void **state) {
        start_three();
        b_began_elsewhere = false;
        g.on_turn = look_for_b;
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        assert_false(a->final);
        assert_true(is_member(2));
        assert_int_equal(cluster_state_find_host(g.state, 2)->nodes[0]->mode,
                         ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
        assert_non_null(rig_unit_on(&g, 2, "b.service"));
        rig_host(&g, 2)->deaf = false;
        rig_pass_ms(&g, RIG_BEAT_MS);
        g.on_turn = NULL;
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_false(is_member(2));
        assert_true(rig_host(&g, 2)->removed);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
        assert_false(b_began_elsewhere);
}

// The entry that says so is on its way, and then its vote goes, which takes another one.
static void an_empty_host_that_gives_up_its_vote_takes_no_unit_meanwhile(void **state) {
        Argosy__Request__ClusterRemove remove = MESSAGE_OF(request__cluster_remove, .host = (char *) "n2");

        g.slow = true;
        RigAnswer *removal = rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &remove));
        RigAnswer *started =
                rig_change_with(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n2\n", false, NULL);
        rig_turns(&g, 2);
        rig_release(&g);
        rig_turns(&g, 2);
        assert_true(is_member(2));
        assert_int_equal(cluster_state_find_host(g.state, 2)->nodes[0]->mode,
                         ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        rig_hurry_and_settle(&g);
        assert_int_equal(rig_last(removal)->status, 0);
        assert_false(is_member(2));
        assert_true(started->final);
        assert_int_equal(rig_record(&g, "a.service") ? rig_record(&g, "a.service")->node : 0, 0);
}

// It has not said yet that it has the unit.
static void what_a_host_was_told_to_start_has_ended_before_it_is_removed(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_host(&g, 2)->deaf = true;
        (void) rig_change_with(&g, START, "b.service", SERVICE, false, NULL);
        rig_turns(&g, 20);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        assert_false(a->final);
        assert_true(is_member(2));
        assert_int_not_equal(rig_record(&g, "b.service")->node, 2);
        assert_int_equal(rig_count_running(&g, "b.service"), 0);
        rig_host(&g, 2)->deaf = false;
        rig_pass_ms(&g, RIG_BEAT_MS);
        assert_final(a, 0);
        assert_false(is_member(2));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

// It had no vote when it began to leave, and is the only one that votes when its units have left.
static void a_removal_that_is_refused_for_its_vote_says_what_was_changed(void **state) {
        start_three();
        take_vote("n2");
        rig_pass_ms(&g, 3000);
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        assert_false(a->final);
        set_vote("n2", true);
        rig_pass_ms(&g, 300);
        take_vote("n3");
        take_vote("n1");
        rig_host(&g, 2)->deaf = false;
        rig_pass_ms(&g, 3000);
        assert_true(a->final);
        assert_replies(rig_last(a), EEXIST, "uncordon n2");
        assert_null(strstr(rig_last(a)->message, "nothing was changed"));
}

// It is closed for as long as that takes, and nothing more comes there.
static void whoever_opens_the_node_calls_the_removal_off(void **state) {
        start_three();
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        assert_false(a->final);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        rig_turns(&g, 20);
        assert_true(a->final);
        assert_replies(a->responses[a->n - 1], ECANCELED,
                       "n2 has a node that is open: the host stays a member");
        assert_non_null(strstr(a->responses[a->n - 1]->message, "`argosyctl cluster promote`"));
        assert_true(is_member(2));
}

// The log keeps its request, with which another leader would begin anew.
static void a_held_removal_that_was_called_off_is_over_for_the_next_leader_too(void **state) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) "n2");
        uint64_t id[2] = {++g.id, 88}, job;

        start_three();
        rig_host(&g, 2)->deaf = true;
        Argosy__Request__Job held = JOB_OF(
                .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)}, .hold = true);
        (void) rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m, .job = &held));
        job = rig_last_job(&g);
        Argosy__Request__JobRelease release =
                MESSAGE_OF(request__job_release, .numbers = &job, .n_numbers = 1);
        (void) rig_ask_and_settle(&g, A_REQUEST(JOB_RELEASE, job_release, &release));
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        rig_pass_ms(&g, 1500);
        assert_string_equal(rig_show_job(&g, job)->state, "failed");
        assert_non_null(strstr(rig_show_job(&g, job)->message, "n2 has a node that is open"));
        rig_host(&g, 2)->deaf = false;
        rig_elect_anew(&g);
        rig_pass_ms(&g, 3000);
        assert_true(is_member(2));
}

static void what_no_other_node_takes_is_stopped_and_waits(void **state) {
        start_three();
        (void) rig_change_with_and_settle(&g, START, "here.service", SERVICE "[X-Argosy]\nHost=n2\n", true,
                                          NULL);
        assert_int_equal(rig_record(&g, "here.service")->node, 2);
        RigAnswer *a = cluster_remove("n2");
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_false(is_member(2));
        assert_int_equal(rig_record(&g, "here.service")->node, 0);
        assert_null(rig_unit_on(&g, 2, "here.service"));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

static size_t most_down;
static void count_down(Rig *rig) {
        size_t n = 0;

        for (char c = 'a'; c < 'a' + 6; c++)
                n += rig_count_running(
                             rig, (char[]){'w', '@', c, '.', 's', 'e', 'r', 'v', 'i', 'c', 'e', 0}) == 0;
        most_down = MAX_OF(most_down, n);
}

static void a_host_that_leaves_keeps_the_budgets(void **state) {
        (void) rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", SERVICE ONE_DOWN,
                                          true, NULL);
        for (char c = 'a'; c < 'a' + 6; c++)
                rig_change(&g, START, (char[]){'w', '@', c, '.', 's', 'e', 'r', 'v', 'i', 'c', 'e', 0},
                           NULL);
        most_down = 0;
        g.on_turn = count_down;
        g.start_ms = 1000;
        RigAnswer *a = cluster_remove("n2");
        for (unsigned i = 0; i < 10 && !a->final; i++)
                rig_pass_ms(&g, 1000);
        g.on_turn = NULL;
        assert_true(a->final);
        assert_false(is_member(2));
        assert_true(most_down <= 1);
}

static void a_host_that_is_lost_on_its_way_is_waited_for_no_longer(void **state) {
        start_three();
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        assert_false(a->final);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_false(is_member(2));
}

// Of NodeLost=never argosy-unit(5) says that a removal of the node lets the unit go elsewhere.
static void what_waits_for_its_node_goes_when_a_host_that_is_lost_on_its_way_is_removed(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", SERVICE "[X-Argosy]\nNodeLost=never\n");
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host_off(&g, 2);
        rig_elect_anew(&g);
        RigAnswer *a = cluster_remove("n2");
        assert_false(a->final);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_final(a, 0);
        assert_false(is_member(2));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

#define FENCED SERVICE "TimeoutStopSec=10\n[X-Argosy]\nCutOff=stop\nCutOffSec=20\n"

// Nobody has said that it is dead.
static void what_must_not_run_twice_is_waited_for_where_its_host_is_lost_on_its_way(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_change(&g, START, "b.service", FENCED);
        assert_int_equal(rig_record(&g, "b.service")->node, 2);
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = cluster_remove("n2");
        rig_turns(&g, 20);
        rig_host_off_for(&g, 2, 4 * RIG_LEASE_MS);
        assert_false(a->final);
        assert_true(is_member(2));
        for (uint32_t h = 1; h <= 3; h += 2)
                assert_null(rig_unit_on(&g, h, "b.service"));
        rig_pass_ms(&g, 60 * 1000);
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_false(is_member(2));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

static void by_force_nothing_is_waited_for(void **state) {
        start_three();
        rig_host(&g, 2)->deaf = true;
        RigAnswer *a = remove_by_force("n2");
        assert_true(a->final);
        assert_int_equal(a->responses[a->n - 1]->status, 0);
        assert_false(is_member(2));
}

// Its units are more than one entry takes, and no other node takes them.
static void by_force_no_unit_comes_back_to_a_host_that_goes(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service"};

        take_vote("n2");
        rig_pass_ms(&g, 3000);
        for (unsigned i = 0; i < 3; i++)
                rig_change(&g, START, names[i], SERVICE "[X-Argosy]\nHost=n2\n");
        g.leader->limits.entry_units = 1;
        RigAnswer *a = remove_by_force("n2");
        assert_final(a, 0);
        assert_false(is_member(2));
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(rig_record(&g, names[i])->node, 0);
}

static void the_next_leader_goes_on_with_the_same_command(void **state) {
        start_three();
        rig_host(&g, 2)->deaf = true;
        (void) cluster_remove("n2");
        rig_turns(&g, 20);
        rig_depose(&g);
        rig_host(&g, 2)->deaf = false;
        rig_elect(&g);
        assert_true(is_member(2));
        assert_int_equal(cluster_remove("n2")->responses[0]->status, 0);
        assert_false(is_member(2));
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(whoever_loses_the_right_before_it_has_begun_removes_no_host, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_unit_ends_before_its_host_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_host_that_gives_up_its_vote_takes_no_unit_meanwhile, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_a_host_was_told_to_start_has_ended_before_it_is_removed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_right_is_given_at_a_host_that_goes_by_the_same_entry,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_placed_on_a_host_that_goes_by_the_same_entry,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(by_force_no_unit_comes_back_to_a_host_that_goes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removal_that_is_refused_for_its_vote_says_what_was_changed,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(whoever_opens_the_node_calls_the_removal_off, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_held_removal_that_was_called_off_is_over_for_the_next_leader_too,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_other_node_takes_is_stopped_and_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_host_that_leaves_keeps_the_budgets, setup, teardown),
        cmocka_unit_test_setup_teardown(
                what_waits_for_its_node_goes_when_a_host_that_is_lost_on_its_way_is_removed, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_host_that_is_lost_on_its_way_is_waited_for_no_longer,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                what_must_not_run_twice_is_waited_for_where_its_host_is_lost_on_its_way, setup,
                teardown),
        cmocka_unit_test_setup_teardown(by_force_nothing_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_leader_goes_on_with_the_same_command, setup,
                                        teardown)
)
