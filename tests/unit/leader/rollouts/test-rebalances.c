// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An owner asks for a rebalance, as the leader's neighbours see it.
#include "messages.h"
#include "name-patterns.h"
#include "rebalance-words.h"

#define STAYS SERVICE "[X-Argosy]\nRebalance=no\n"
#define NEVER SERVICE "[X-Argosy]\nNodeLost=never\n"

enum { FLYING_MAX = 4 };

// ------------------------------------------------------------------------------------------------ moving

static void a_node_that_came_back_gets_its_share_and_a_second_time_moves_nothing(void **state) {
        start_on_two(9, SERVICE);
        assert_int_equal(units_on(3), 0);
        RigAnswer *a = ask((Wish){});
        assert_final(a, 0);
        assert_int_equal(n_moved(a), 3);
        assert_int_equal(units_on(1), 3);
        assert_int_equal(units_on(2), 3);
        assert_int_equal(units_on(3), 3);
        assert_int_equal(n_moved(ask((Wish){.id = 2})), 0);
}

static void a_dry_run_says_who_goes_where_and_why_and_does_nothing(void **state) {
        unsigned before;

        start_on_two(6, SERVICE);
        before = g.batches;
        RigAnswer *a = ask((Wish){.preview = true});
        assert_true(a->final);
        const Argosy__Response__Rebalance *r = rig_last(a)->rebalance;
        assert_int_equal(r->n_moves, 2);
        assert_string_equal(r->moves[0]->unit, "web@1.service");
        assert_string_equal(r->moves[0]->from, "n1");
        assert_string_equal(r->moves[0]->to, "n3");
        assert_string_equal(r->moves[0]->why, "load: 0 units there and 3 here");
        assert_string_equal(r->moves[1]->from, "n2");
        assert_int_equal(g.batches, before);
        assert_int_equal(units_on(3), 0);
        a = ask((Wish){});
        assert_string_equal(rig_record(&g, "web@1.service")->name, "web@1.service");
        assert_int_equal(n_moved(a), 2);
        assert_non_null(rig_unit_on(&g, 3, r->moves[0]->unit));
        assert_non_null(rig_unit_on(&g, 3, r->moves[1]->unit));
}

static void no_more_of_a_group_are_down_than_it_allows(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        assert_int_equal(watch(a, 12), 1);
        assert_int_equal(n_moved(a), 4);
        assert_int_equal(units_on(3), 4);
}

static void only_a_few_move_at_a_time_whoever_they_are(void **state) {
        start_on_two(18, SERVICE);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        assert_int_equal(watch(a, 18), FLYING_MAX);
        assert_int_equal(n_moved(a), 6);
}

static void it_is_one_job_however_many_entries_it_takes(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        uint64_t before = cluster_state_last_job(g.state);
        RigAnswer *a = ask((Wish){});
        watch(a, 12);
        assert_int_equal(cluster_state_last_job(g.state), before + 1);
        assert_int_equal(rig_last(a)->job, before + 1);
        assert_string_equal(rig_show_job(&g, before + 1)->verb, "rebalance");
        assert_int_equal(rig_show_job(&g, before + 1)->changed, n_moved(a));
}

static void who_does_not_wait_hears_of_its_job(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        uint64_t job = cluster_state_last_job(g.state) + 1;
        RigAnswer *a = ask((Wish){.no_wait = true});
        assert_true(a->final);
        assert_int_equal(a->n, 1);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(a)->job, job);
        assert_int_equal(cluster_state_job_state(g.state, job), ARGOSY__JOB_STATE__JOB_RUNNING);
        assert_in_range(rig_show_job(&g, job)->changed, 1, 3); // the others are still to come
        rig_pass_ms(&g, 24 * START_MS);
        assert_int_equal(cluster_state_job_state(g.state, job), ARGOSY__JOB_STATE__JOB_DONE);
        assert_in_range(rig_show_job(&g, job)->changed, 4, 12);
        a = ask((Wish){.no_wait = true, .id = 2}); // nothing is better off elsewhere
        assert_final(a, 0);
        assert_int_equal(rig_last(a)->job, 0);
}

static void each_end_is_told_as_it_comes(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        assert_int_equal(a->n, 1);
        assert_int_equal(rig_last(a)->rebalance->n_moves, 0);
        assert_int_equal(rig_last(a)->rebalance->remaining, 4);
        rig_pass_ms(&g, START_MS + 250);
        assert_int_equal(rig_last(a)->rebalance->n_moves, 1);
        assert_int_equal(rig_last(a)->rebalance->remaining, 3);
        watch(a, 12);
}

static void no_more_are_moved_than_asked_for(void **state) {
        start_on_two(9, SERVICE);
        RigAnswer *a = ask((Wish){.max_moves = 2});
        assert_int_equal(n_moved(a), 2);
        assert_true(rig_last(a)->rebalance->more);
        assert_int_equal(units_on(3), 2);
}

// ------------------------------------------------------------------------------------------------ who stays

// Each unit is compared with each of them, in the turns of one loop.
static void nothing_is_moved_if_somebody_has_changed_a_unit_meanwhile(void **state) {
        start_on_two(9, SERVICE);
        uint64_t seen = cluster_state_revision(g.state);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "web@1.service", NULL)->status, 0);
        RigAnswer *a = ask((Wish){.id = 2, .if_revision = seen});
        assert_final(a, ESTALE);
        a = ask((Wish){.id = 3, .if_revision = seen, .preview = true});
        assert_int_equal(rig_last(a)->status, ESTALE);
        assert_int_equal(units_on(3), 0);
        // no business of theirs
        a = ask((Wish){.id = 4, .if_revision = seen, .pattern = "web@[2-9].service"});
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(n_moved(a) > 0);
}

static void nothing_is_moved_if_somebody_has_changed_a_host_meanwhile(void **state) {
        start_on_two(9, SERVICE);
        uint64_t seen = cluster_state_revision(g.state);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(rig_last(ask((Wish){.id = 2, .if_revision = seen}))->status, ESTALE);
        assert_int_equal(units_on(3), 0);
        RigAnswer *a = ask((Wish){.id = 3, .if_revision = cluster_state_revision(g.state)});
        assert_int_equal(rig_last(a)->status, 0);
        assert_true(n_moved(a) > 1); // its own moves are no change
}

static void only_so_many_patterns_are_compared(void **state) {
        Argosy__Request__Rebalance m = ARGOSY__REQUEST__REBALANCE__INIT;
        Argosy__Request request = REQUEST_OF(REBALANCE, rebalance, &m);
        char *patterns[NAME_GLOBS_MAX + 1];
        uint8_t id[16] = {9, [15] = 62};

        for (size_t i = 0; i <= NAME_GLOBS_MAX; i++)
                patterns[i] = (char *) "web@*";
        m.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        m.patterns = patterns;
        m.n_patterns = NAME_GLOBS_MAX + 1;
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, E2BIG);
        for (size_t i = 0; i < NAME_GLOBS_MAX; i++)
                patterns[i] = (char *) "web@1.service"; // names are looked up
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, 0);
}

static void only_what_the_patterns_mean_is_moved(void **state) {
        start_on_two(6, SERVICE);
        assert_int_equal(n_moved(ask((Wish){.pattern = "db*"})), 0);
        assert_int_equal(n_moved(ask((Wish){.pattern = "web@1.*"})), 1);
        assert_non_null(rig_unit_on(&g, 3, "web@1.service"));
}

static void who_says_so_stays(void **state) {
        start_on_two(6, STAYS);
        assert_int_equal(n_moved(ask((Wish){})), 0);
}

static void who_never_leaves_a_lost_node_stays_too(void **state) {
        start_on_two(6, NEVER);
        assert_int_equal(n_moved(ask((Wish){})), 0);
}

static void a_unit_that_is_down_is_left_alone_and_takes_up_the_budget(void **state) {
        start_on_two(6, ONE_DOWN);
        VirtualUnit *u = rig_unit_on(&g, 1, "web@1.service");
        rig_host_report_and_settle(&g, rig_host(&g, 1), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                                   ARGOSY__OUTCOME__KIND__NONE);
        RigAnswer *a = ask((Wish){});
        assert_true(a->final);
        assert_int_equal(n_moved(a), 0);
        assert_replies(rig_last(a), 0, "2 more would be better off elsewhere and cannot be moved");
}

#define NEEDS_DB ONE_DOWN "Requires=db.service\n"

static void who_runs_without_what_it_needs_stays(void **state) {
        assert_int_equal(rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nHost=n1\n")->status, 0);
        start_on_two(12, NEEDS_DB);
        rig_host_report(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "db.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
        RigAnswer *a = ask((Wish){});
        assert_final(a, 0);
        assert_int_equal(n_moved(a), 0);
        assert_int_equal(count_down(12), 0);
        assert_int_equal(rig_change(&g, START, "db.service", NULL)->status, 0);
        assert_true(n_moved(ask((Wish){.id = 2})) > 0); // nothing else was in the way
}

// ------------------------------------------------------------------------------------------------ trouble

// Both move with one entry, and what the other one needs fails where it went.
static void when_what_one_waits_for_fails_where_both_went_nothing_more_is_moved(void **state) {
        static const char db[] = SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n";

        (void) rig_label(&g, "n1", "disk", "ssd");
        assert_int_equal(rig_change(&g, START, "db.service", db)->status, 0);
        start_on_two(12, NEEDS_DB);
        (void) rig_label(&g, "n1", "disk", NULL);
        (void) rig_label(&g, "n3", "disk", "ssd");
        g.start_ms = START_MS;
        g.bad = hash_of(db, strlen(db));
        RigAnswer *a = ask((Wish){});
        assert_int_equal(watch(a, 12), 1);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_string_equal(rig_last(a)->message,
                            "db.service failed on n3, where it was moved: it failed; nothing more is moved");
        assert_int_equal(units_on(3), 1);
}

static void when_one_fails_where_it_went_nothing_more_is_moved(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        g.bad = hash_of(ONE_DOWN, strlen(ONE_DOWN));
        rig_pass_ms(&g, START_MS + 250);
        assert_final(a, EIO);
        assert_string_equal(
                rig_last(a)->message,
                "web@1.service failed on n3, where it was moved: it failed; nothing more is moved");
        assert_int_equal(n_moved(a), 1);
        rig_pass_ms(&g, 5 * START_MS);
        assert_int_equal(units_on(3), 1);
}

static void each_has_to_be_well_for_a_while_before_the_next(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.health = true});
        rig_pass_ms(&g, START_MS + HEALTH_MS - 500);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(n_moved(a), 0);
        rig_pass_ms(&g, 1000);
        assert_int_equal(n_moved(a), 1);
        assert_int_equal(units_on(3), 2);
        rig_host_report(&g, rig_host(&g, 3), rig_unit_on(&g, 3, "web@1.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        watch(a, 12);
        assert_int_equal(rig_last(a)->status, EIO); // also of one that was well for long enough
        assert_int_equal(units_on(3), 2);
}

// It may have failed long ago: what says so is still on its way.
static void a_host_that_has_not_told_everything_proves_nothing(void **state) {
        g.timed = true;
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.health = true});
        rig_pass_ms(&g, START_MS + HEALTH_MS / 2);
        assert_int_equal(units_on(3), 1);
        rig_host(&g, 3)->deaf = true;
        rig_pass_ms(&g, 3 * HEALTH_MS);
        assert_int_equal(n_moved(a), 0);
        rig_host(&g, 3)->deaf = false;
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(n_moved(a), 1);
        watch(a, 12);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(units_on(3), 4);
}

// A report that was long on its way brings the time that it is about.
static void a_late_report_holds_nothing_up(void **state) {
        g.timed = true;
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.health = true});
        rig_host(&g, 3)->deaf = true;
        rig_pass_ms(&g, START_MS + HEALTH_MS + 500);
        rig_host(&g, 3)->deaf = false;
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(n_moved(a), 1);
}

static void a_host_that_is_away_for_a_moment_is_waited_for(void **state) {
        start_on_two(9, SERVICE);
        rig_host_off(&g, 2);
        rig_host(&g, 2)->linked = false;
        rig_turns(&g, 4);
        RigAnswer *a = ask((Wish){});
        RigAnswer *dry = ask((Wish){.preview = true});
        rig_pass_ms(&g, RIG_LEASE_MS / 4);
        assert_false(a->final || dry->final);
        rig_host_on(&g, 2, false);
        assert_int_equal(n_moved(a), 3);
        assert_true(dry->final);
}

// A time that has come and is not looked at would wake the leader again and again.
static void while_a_host_is_waited_for_no_time_stands_still(void **state) {
        start_on_two(12, ONE_DOWN);
        RigAnswer *a = ask((Wish){.health = true});
        assert_int_equal(units_on(3), 1);
        rig_host_off(&g, 2);
        rig_host(&g, 2)->linked = false;
        rig_pass_ms(&g, HEALTH_MS + 250);
        assert_false(a->final);
        assert_int_equal(g.leader->rebalance_due_us, 0);
        rig_host_on(&g, 2, false);
        watch(a, 12);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(units_on(3), 4);
}

static void one_is_under_way_at_a_time_and_can_be_ended(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.id = 1});
        assert_int_equal(rig_last(ask((Wish){.id = 2}))->status, EEXIST);
        RigAnswer *b = ask((Wish){.id = 1}); // sent again
        assert_false(b->final);
        assert_int_equal(rig_last(ask((Wish){.abort = true}))->status, 0);
        watch(a, 12);
        assert_int_equal(rig_last(a)->status, ECANCELED);
        assert_int_equal(rig_last(b)->status, ECANCELED);
        assert_int_equal(n_moved(a), 1);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(rig_last(ask((Wish){.abort = true}))->status, ENOENT);
}

static void who_ends_one_leaves_a_job(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.id = 1});
        uint64_t job = cluster_state_last_job(g.state);
        assert_string_equal(rig_show_job(&g, job)->verb, "rebalance");
        assert_int_equal(rig_last(ask((Wish){.abort = true}))->job, job + 1);
        assert_string_equal(rig_show_job(&g, job + 1)->verb, "rebalance --abort");
        assert_string_equal(rig_show_job(&g, job + 1)->state, "done");
        watch(a, 12);
        rig_pass_ms(&g, 1100);
        assert_string_equal(rig_show_job(&g, job)->state, "cancelled");
}

static void a_rebalance_is_called_off_by_its_job(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.id = 1});
        uint64_t job = cluster_state_last_job(g.state);
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &job, .n_numbers = 1);
        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(JOB_CANCEL, job_cancel, &m)))->status, 0);
        watch(a, 12);
        assert_int_equal(rig_last(a)->status, ECANCELED);
        assert_int_equal(units_on(3), 1);
        rig_pass_ms(&g, 1100);
        assert_string_equal(rig_show_job(&g, job)->state, "cancelled");
}

static void a_client_that_goes_away_does_not_end_it(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        leader_cancel(g.leader, a->cancel);
        rig_pass_ms(&g, 12 * START_MS);
        assert_int_equal(units_on(3), 4);
}

static void with_its_leader_it_ends_and_the_next_one_goes_on_when_asked(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        rig_elect_anew(&g);
        assert_true(a->final);
        assert_true(rig_last(a)->no_leader);
        rig_pass_ms(&g, 10 * START_MS);
        assert_int_equal(units_on(3), 1);
        watch(ask((Wish){}), 12);
        assert_int_equal(units_on(3), 4);
}

static void the_next_leader_is_not_done_before_what_the_former_one_moved_is_up(void **state) {
        start_on_two(9, SERVICE);
        g.start_ms = 5 * START_MS;
        RigAnswer *a = ask((Wish){.max_moves = 3});
        assert_false(a->final);
        rig_elect_anew(&g);
        a = ask((Wish){.max_moves = 1, .health = true});
        rig_pass_ms(&g, START_MS);
        assert_false(a->final);
        assert_int_equal(count_down(9), 3); // all that there is to move is on its way
        watch(a, 9);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(a)->rebalance->more, false); // those were not its own
        assert_int_equal(count_down(9), 0);
        assert_int_equal(units_on(3), 3);
}

static void what_a_former_leader_moved_and_fails_ends_it(void **state) {
        start_on_two(9, SERVICE);
        g.start_ms = 5 * START_MS;
        (void) ask((Wish){.pattern = "web@1.service"});
        rig_elect_anew(&g);
        RigAnswer *a = ask((Wish){.pattern = "web@1.service", .health = true});
        assert_false(a->final);
        g.bad = hash_of(SERVICE, strlen(SERVICE));
        watch(a, 9);
        assert_replies(rig_last(a), EIO, "web@1.service failed on n3, where it was moved");
}

static void a_node_that_is_lost_meanwhile_gets_nothing_more(void **state) {
        start_on_two(12, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){});
        rig_host_off_for(&g, 3, 3 * RIG_LEASE_MS);
        assert_true(a->final);
        assert_int_equal(units_on(1) + units_on(2), 12);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        T(a_node_that_came_back_gets_its_share_and_a_second_time_moves_nothing),
        T(a_dry_run_says_who_goes_where_and_why_and_does_nothing),
        T(no_more_of_a_group_are_down_than_it_allows),
        T(only_a_few_move_at_a_time_whoever_they_are),
        T(it_is_one_job_however_many_entries_it_takes),
        T(who_does_not_wait_hears_of_its_job),
        T(each_end_is_told_as_it_comes),
        T(no_more_are_moved_than_asked_for),
        T(only_what_the_patterns_mean_is_moved),
        T(nothing_is_moved_if_somebody_has_changed_a_unit_meanwhile),
        T(nothing_is_moved_if_somebody_has_changed_a_host_meanwhile),
        T(only_so_many_patterns_are_compared),
        T(who_says_so_stays),
        T(who_never_leaves_a_lost_node_stays_too),
        T(a_unit_that_is_down_is_left_alone_and_takes_up_the_budget),
        T(who_runs_without_what_it_needs_stays),
        T(when_what_one_waits_for_fails_where_both_went_nothing_more_is_moved),
        T(when_one_fails_where_it_went_nothing_more_is_moved),
        T(each_has_to_be_well_for_a_while_before_the_next),
        T(a_host_that_has_not_told_everything_proves_nothing),
        T(a_late_report_holds_nothing_up),
        T(a_host_that_is_away_for_a_moment_is_waited_for),
        T(while_a_host_is_waited_for_no_time_stands_still),
        T(one_is_under_way_at_a_time_and_can_be_ended),
        T(who_ends_one_leaves_a_job),
        T(a_rebalance_is_called_off_by_its_job),
        T(a_client_that_goes_away_does_not_end_it),
        T(with_its_leader_it_ends_and_the_next_one_goes_on_when_asked),
        T(the_next_leader_is_not_done_before_what_the_former_one_moved_is_up),
        T(what_a_former_leader_moved_and_fails_ends_it),
        T(a_node_that_is_lost_meanwhile_gets_nothing_more)
)
