// SPDX-License-Identifier: LGPL-2.1-or-later
//
// RestartElsewhere= in a leader with everything around it: units that fail are started again where they
// are, then elsewhere, and in the end left alone.
#include "leader-private.h"
#include "leader-asks.h"
#include "printed.h"
#include "test.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define PLAIN SERVICE "Environment=RESTART=no\n"
#define ONCE SERVICE "[X-Argosy]\nRestartElsewhere=1\n"
#define TWICE SERVICE "[X-Argosy]\nRestartElsewhere=2\n"
#define THRICE SERVICE "[X-Argosy]\nRestartElsewhere=3\nRestartElsewhereDecaySec=1h\n"
#define KEPT SERVICE "[X-Argosy]\nRestartElsewhere=2\nNodeLost=keep\n"
#define PINNED SERVICE "[X-Argosy]\nRestartElsewhere=1\nHost=n2\n"
#define PICKY ONCE "PreferLabel=!x\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

// From now on units with this content fail, but for hosts that are sound.
static void break_content(const char *content) {
        g.bad = hash_of(content, strlen(content));
}

static unsigned starts_on(uint32_t host, const char *name) {
        const VirtualUnit *u = rig_unit_on(&g, host, name);

        return u ? u->starts : 0;
}

static void start(const char *name, const char *content) {
        assert_int_equal(rig_change(&g, START, name, content)->status, 0);
}

static const Argosy__Response__Status *why_of(const char *unit) {
        Argosy__Request__Why why = MESSAGE_OF(request__why, .names = (char **) &unit, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &why))->responses[0]->status_reply;
}

static void assert_says(const char *unit, const char *text) {
        const char *why = why_of(unit)->why;

        if (!strstr(why, text))
                fail_msg("why %s says \"%s\", not \"%s\"", unit, why, text);
}

static void without_the_option_a_failed_unit_stays_as_it_is(void **state) {
        break_content(PLAIN);
        start("x.service", PLAIN);
        rig_pass_ms(&g, 600000);
        assert_int_equal(starts_on(rig_host_of(&g, "x.service"), "x.service"), 1);
        assert_says("x.service", "it failed");
}

static void it_is_started_where_it_is_before_it_goes_elsewhere(void **state) {
        break_content(THRICE);
        start("x.service", THRICE);
        uint32_t first = rig_host_of(&g, "x.service");
        assert_says("x.service", "; failure 1 of 3 here, it is started again in 1s");
        rig_pass_ms(&g, 1100);
        assert_int_equal(starts_on(first, "x.service"), 2);
        assert_says("x.service", "; failure 2 of 3 here, it is started again in 2s");
        rig_pass_ms(&g, 2100);
        assert_int_equal(starts_on(first, "x.service"), 3);
        assert_says("x.service", "; failure 3 of 3 here, it is started on another node in 4s");
        rig_host(&g, 1)->sound = rig_host(&g, 2)->sound = rig_host(&g, 3)->sound = true;
        rig_pass_ms(&g, 4100);
        uint32_t second = rig_host_of(&g, "x.service");
        assert_int_not_equal(second, first);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
        assert_string_equal(why_of("x.service")->why, "");
        rig_pass_ms(&g, 600000);
        assert_int_equal(rig_host_of(&g, "x.service"), second); // it is not brought back
}

// systemd has restarted it, n times in all after failures.
static void restart_there(const char *name, uint32_t n) {
        uint32_t host = rig_host_of(&g, name);
        VirtualUnit *u = rig_unit_on(&g, host, name);

        u->n_restarts = u->failed_restarts = n;
        rig_host_report_and_settle(&g, rig_host(&g, host), u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE,
                                   ARGOSY__OUTCOME__KIND__NONE);
}

static void what_systemd_restarts_again_and_again_is_started_elsewhere(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 1);
        rig_pass_ms(&g, 20000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
        assert_int_equal(starts_on(first, "x.service"), 1); // systemd has started it
        restart_there("x.service", 2);
        assert_says("x.service", "failure 2 of 2 here, it is started on another node");
        rig_pass_ms(&g, 1000);
        restart_there("x.service", 3); // once more, before it is moved
        assert_says("x.service", "3 failures here (RestartElsewhere=2), it is started on another node");
        rig_pass_ms(&g, 4100);
        assert_int_not_equal(rig_host_of(&g, "x.service"), first);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

// systemd says `failed` for a moment of what it is about to restart, and a report may come just then.
static void what_fails_while_it_waits_does_not_put_off_its_move(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 2);
        rig_pass_ms(&g, 1000);
        rig_host_report_and_settle(&g, rig_host(&g, first), rig_unit_on(&g, first, "x.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        restart_there("x.service", 3);
        rig_pass_ms(&g, 1500);
        assert_int_not_equal(rig_host_of(&g, "x.service"), first);
}

// So many failures make a back-off of minutes, and by its end what is reported counts.
static void one_that_has_recovered_when_its_back_off_ends_stays(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 8);
        assert_says("x.service", "8 failures here (RestartElsewhere=2), it is started on another node in");
        rig_pass_ms(&g, 300000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
        assert_string_equal(why_of("x.service")->why, "");
        restart_there("x.service", 9); // so it had not
        rig_pass_ms(&g, 100);
        assert_int_not_equal(rig_host_of(&g, "x.service"), first);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void one_that_fails_still_when_its_back_off_ends_goes(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 8);
        for (uint32_t n = 9; n < 12 && rig_host_of(&g, "x.service") == first; n++) {
                rig_pass_ms(&g, 50000);
                if (rig_host_of(&g, "x.service") == first)
                        restart_there("x.service", n);
        }
        rig_pass_ms(&g, 50000);
        assert_int_not_equal(rig_host_of(&g, "x.service"), first);
}

// A failure is forgiven sooner than it comes: nothing is left of what was to be done.
static void one_that_fails_rarely_stays(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 8);
        for (uint32_t n = 9; n < 12; n++) {
                rig_pass_ms(&g, 6 * 3600 * 1000);
                restart_there("x.service", n);
        }
        rig_pass_ms(&g, 300000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
}

// systemd shows what it is about to restart as failed for a moment.
static void a_failure_that_systemd_restarts_counts_once(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        VirtualUnit *u = rig_unit_on(&g, first, "x.service");
        rig_host_report_and_settle(&g, rig_host(&g, first), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                                   ARGOSY__OUTCOME__KIND__NONE);
        restart_there("x.service", 1);
        rig_pass_ms(&g, 20000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
        rig_host_report_and_settle(&g, rig_host(&g, first), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                                   ARGOSY__OUTCOME__KIND__NONE);
        restart_there("x.service", 2);
        rig_pass_ms(&g, 20000);
        assert_int_not_equal(rig_host_of(&g, "x.service"), first);
}

static void without_the_option_it_loops_where_it_is(void **state) {
        start("x.service", PLAIN);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 50);
        rig_pass_ms(&g, 600000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
}

// Nor what was counted before this session, nor a count that begins anew.
static void a_new_leader_moves_nothing_for_an_old_count(void **state) {
        start("x.service", TWICE);
        uint32_t first = rig_host_of(&g, "x.service");
        restart_there("x.service", 1);
        rig_unit_on(&g, first, "x.service")->failed_restarts = 500;
        rig_elect_anew(&g);
        rig_pass_ms(&g, 600000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
        restart_there("x.service", 501);
        rig_pass_ms(&g, 20000);
        assert_int_equal(rig_host_of(&g, "x.service"), first);
}

static void a_failure_that_is_reported_again_counts_once(void **state) {
        break_content(THRICE);
        start("x.service", THRICE);
        uint32_t host = rig_host_of(&g, "x.service");
        for (int i = 0; i < 5; i++)
                rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, "x.service"),
                                ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
        assert_says("x.service", "failure 1 of 3 here, it is started again in 1s");
}

static void it_visits_every_node_and_ends_as_failed(void **state) {
        break_content(ONCE);
        start("x.service", ONCE);
        rig_pass_ms(&g, 1000 + 2000 + 4000 + 1000);
        for (uint32_t h = 1; h <= 3; h++)
                assert_true(g.hosts[h - 1].virtual.node != 0);
        assert_says("x.service", "it failed (systemd does not say why); no other node takes it "
                                 "(RestartElsewhere=1), it is tried again in ");
        assert_int_equal(why_of("x.service")->n_refusals, 3);
        assert_string_equal(why_of("x.service")->refusals[0]->reason, "it failed there");
        assert_int_equal(rig_record(&g, "x.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void it_comes_back_when_its_failures_are_forgiven(void **state) {
        unsigned batches;

        break_content(ONCE);
        start("x.service", ONCE);
        rig_pass_ms(&g, 10000);
        uint32_t host = rig_host_of(&g, "x.service");
        batches = g.batches;
        rig_pass_ms(&g, 500000); // a failure counts until its half-life of ten minutes is over
        assert_int_equal(rig_host_of(&g, "x.service"), host);
        assert_int_equal(g.batches, batches);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->sound = true;
        rig_pass_ms(&g, 110000);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void in_some_hours_it_is_started_rarely(void **state) {
        unsigned before;

        break_content(ONCE);
        start("x.service", ONCE);
        before = g.batches;
        rig_pass_ms(&g, 3 * 3600000);
        assert_in_range(g.batches - before, 9, 9 * 12);
}

static void a_node_that_comes_is_tried_at_once(void **state) {
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        break_content(ONCE);
        start("x.service", ONCE);
        rig_pass_ms(&g, 10000);
        assert_says("x.service", "no other node takes it");
        rig_host(&g, 3)->sound = true;
        (void) rig_set_host_mode(&g, 3, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        assert_int_equal(rig_host_of(&g, "x.service"), 3);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void a_unit_of_one_node_is_tried_again_there(void **state) {
        break_content(PINNED);
        start("x.service", PINNED);
        rig_pass_ms(&g, 10000);
        assert_int_equal(starts_on(2, "x.service"), 1);
        assert_says("x.service", "no other node takes it");
        rig_pass_ms(&g, 650000);
        assert_int_equal(starts_on(2, "x.service"), 2);
}

static void an_explicit_start_forgets_its_failures(void **state) {
        break_content(TWICE);
        start("x.service", TWICE);
        uint32_t host = rig_host_of(&g, "x.service");
        rig_pass_ms(&g, 1100);
        assert_says("x.service", "failure 2 of 2 here");
        start("x.service", NULL);
        assert_int_equal(rig_host_of(&g, "x.service"), host);
        assert_says("x.service", "failure 1 of 2 here, it is started again in 1s");
}

static void who_stops_it_has_stopped_it(void **state) {
        break_content(TWICE);
        start("x.service", TWICE);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "x.service", NULL)->status, 0);
        rig_pass_ms(&g, 600000);
        assert_int_equal(starts_on(rig_host_of(&g, "x.service"), "x.service"), 1);
}

static void a_new_leader_counts_what_it_finds_once(void **state) {
        break_content(TWICE);
        start("x.service", TWICE);
        uint32_t host = rig_host_of(&g, "x.service");
        rig_pass_ms(&g, 1100);
        assert_says("x.service", "failure 2 of 2 here");
        rig_elect_anew(&g);
        assert_int_equal(rig_host_of(&g, "x.service"), host);
        assert_says("x.service", "failure 1 of 2 here, it is started again in 1s");
        rig_pass_ms(&g, 5000);
        assert_int_not_equal(rig_host_of(&g, "x.service"), host);
}

static void a_session_that_begins_anew_counts_nothing_twice(void **state) {
        break_content(THRICE);
        start("x.service", THRICE);
        uint32_t host = rig_host_of(&g, "x.service");
        rig_pass_ms(&g, 1100);
        rig_host_off(&g, host);
        rig_host_on(&g, host, false);
        assert_says("x.service", "failure 2 of 3 here");
}

static void a_lost_node_is_left_to_node_lost(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        break_content(KEPT);
        start("x.service", KEPT);
        uint32_t host = rig_host_of(&g, "x.service");
        rig_host_off_for(&g, host, 60000);
        assert_int_equal(rig_host_of(&g, "x.service"), host);
        assert_says("x.service", "NodeLost=keep");
        rig_host_on(&g, host, false);
        rig_pass_ms(&g, 5000); // and now it counts
        assert_int_not_equal(rig_host_of(&g, "x.service"), host);
}

static void a_unit_whose_node_is_lost_avoids_where_it_failed(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        break_content(PICKY);
        rig_host(&g, 1)->sound = rig_host(&g, 3)->sound = true;
        start("x.service", PICKY);
        assert_int_equal(rig_host_of(&g, "x.service"), 2); // and fails there
        rig_pass_ms(&g, 1100);
        assert_int_equal(rig_host_of(&g, "x.service"), 3);
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        for (int i = 0; i < 30; i++) { // so that it would be chosen last
                start(printed("load-%d.service", i), SERVICE "[X-Argosy]\nHost=n1\n");
        }
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_host_of(&g, "x.service"), 1);
}

static void better_where_it_failed_than_nowhere(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        break_content(ONCE);
        rig_host(&g, 3)->sound = true;
        start("x.service", ONCE);
        rig_pass_ms(&g, 1100);
        assert_int_equal(rig_host_of(&g, "x.service"), 3);
        rig_host(&g, 2)->sound = true;
        rig_host_off_for(&g, 3, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_host_of(&g, "x.service"), 2);
        assert_int_equal(rig_count_running(&g, "x.service"), 1);
}

static void the_node_is_chosen_less_for_a_while(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        break_content(ONCE);
        start("x.service", ONCE);
        uint32_t failed = rig_host_of(&g, "x.service");
        rig_host(&g, 5 - failed)->sound = true;
        rig_pass_ms(&g, 1100);
        start("a.service", SERVICE); // both have as many units, or the failed one fewer
        start("b.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "a.service"), 5 - failed);
        assert_int_equal(rig_host_of(&g, "b.service"), 5 - failed);
        rig_pass_ms(&g, 4 * 3600000);
        start("c.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "c.service"), failed);
}

static void a_slow_log_starts_it_once(void **state) {
        break_content(TWICE);
        start("x.service", TWICE);
        uint32_t host = rig_host_of(&g, "x.service");
        g.slow = true;
        for (int i = 0; i < 10; i++) {
                g.now_us += USEC_PER_SEC;
                leader_on_time(g.leader);
                rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, "x.service"),
                                ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
                rig_turns(&g, 10);
        }
        rig_hurry_and_settle(&g);
        assert_int_equal(starts_on(host, "x.service"), 2);
}

static void what_a_full_disk_refused_is_done_later(void **state) {
        break_content(TWICE);
        start("x.service", TWICE);
        uint32_t host = rig_host_of(&g, "x.service");
        store_memory_fail(g.store, -ENOSPC);
        rig_pass_ms(&g, 5000);
        assert_int_equal(starts_on(host, "x.service"), 1);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 2000);
        assert_int_equal(starts_on(host, "x.service"), 2);
}

// It is to lead no more, and takes nothing meanwhile; then nobody takes it over.
static void what_came_while_it_handed_over_is_done_when_it_leads_on(void **state) {
        uint64_t before;
        uint32_t host;

        break_content(TWICE);
        start("x.service", TWICE);
        host = rig_host_of(&g, "x.service");
        store_memory_fail(g.store, -EAGAIN);
        before = g.leader->n_batches;
        rig_pass_ms(&g, 5000);
        assert_in_range(g.leader->n_batches - before, 1, 200); // nothing is tried without a pause
        assert_int_equal(starts_on(host, "x.service"), 1);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 2000);
        assert_int_equal(starts_on(host, "x.service"), 2);
}

static void update(const char *name, const char *content, uint64_t health_us) {
        Argosy__NamedFile file = NAMED_FILE_OF(
                .name = (char *) name,
                .content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)});
        Argosy__Request__Rollout m =
                ROLLOUT_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) "0123456789abcdef", .len = 16},
                           .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, .name = file.name, .file = &file,
                           .max_unavailable = 1, .health_us = health_us);
        RigAnswer *answer = rig_ask_and_settle(&g, A_REQUEST(ROLLOUT, rollout, &m));

        assert_true(answer->final);
        assert_int_equal(answer->responses[0]->status, 0);
}

// An update of web@.service is waiting for one of the two to prove healthy when the other one fails.
static void during_an_update_failures_are_the_updates_to_judge(void **state) {
        const char *name = "web@1.service";

        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", ONCE)->status, 0);
        start("web@1.service", NULL);
        start("web@2.service", NULL);
        update("web@.service", ONCE "# new\n", 20 * USEC_PER_SEC);
        if (rig_record(&g, name)->revision > rig_record(&g, "web@2.service")->revision)
                name = "web@2.service"; // the one that has not had its turn
        uint32_t host = rig_host_of(&g, name);
        rig_host_report(&g, rig_host(&g, host), rig_unit_on(&g, host, name),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_host_of(&g, name), host);
        assert_says(name, "the update under way decides about it");
        rig_pass_ms(&g, 60000); // and it is the next to get the new content
        assert_int_equal(rig_host_of(&g, name), host);
        assert_int_equal(rig_count_running(&g, name), 1);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(one_that_has_recovered_when_its_back_off_ends_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_fails_still_when_its_back_off_ends_goes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_fails_rarely_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_that_systemd_restarts_counts_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_systemd_restarts_again_and_again_is_started_elsewhere,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_fails_while_it_waits_does_not_put_off_its_move, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_the_option_it_loops_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_leader_moves_nothing_for_an_old_count, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_the_option_a_failed_unit_stays_as_it_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_is_started_where_it_is_before_it_goes_elsewhere, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failure_that_is_reported_again_counts_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_visits_every_node_and_ends_as_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(it_comes_back_when_its_failures_are_forgiven, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(in_some_hours_it_is_started_rarely, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_comes_is_tried_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_of_one_node_is_tried_again_there, setup, teardown),
        cmocka_unit_test_setup_teardown(an_explicit_start_forgets_its_failures, setup, teardown),
        cmocka_unit_test_setup_teardown(who_stops_it_has_stopped_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_leader_counts_what_it_finds_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_session_that_begins_anew_counts_nothing_twice, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_lost_node_is_left_to_node_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_whose_node_is_lost_avoids_where_it_failed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(better_where_it_failed_than_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(the_node_is_chosen_less_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(a_slow_log_starts_it_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_full_disk_refused_is_done_later, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_while_it_handed_over_is_done_when_it_leads_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(during_an_update_failures_are_the_updates_to_judge, setup,
                                        teardown)
)
