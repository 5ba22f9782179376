// SPDX-License-Identifier: LGPL-2.1-or-later
//
// While an update goes through units, others get an order that goes in a cycle with the next content, or
// what these need to start is down.
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"

#define OLD "[Service]\nExecStart=/bin/sleep 1000\n"
#define NEW "[Service]\nExecStart=/bin/sleep 2000\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define ONE_DOWN "[X-Argosy]\nMaxUnavailable=1\n"
#define GLOBAL "[X-Argosy]\nGlobal=true\n"
#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define START ARGOSY__VERB__VERB_START

enum { START_MS = 1000, HEALTH_MS = 2000, END_MS = 60000 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.bad = hash_of(BAD ONE_DOWN, strlen(BAD ONE_DOWN));
}

RIG_TEARDOWN

static void start(const char *name, const char *content) {
        const Argosy__Response *r =
                rig_last(rig_change_with_and_settle(&g, START, name, content, true, NULL));

        if (r->status != 0 || r->change->units[0]->status != 0)
                fail_msg("%s: %s %s", name, r->message, r->change ? r->change->units[0]->message : "");
}

static const Argosy__RolloutRecord *record(const char *name) {
        return cluster_state_find_rollout(g.state, name);
}

static void begin(const char *name, const char *content) {
        RigAnswer *a = rig_rollout(&g, (RigRollout){UPDATE, name, content, .health_ms = HEALTH_MS});

        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(record(name)->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING);
}

static void start_two_instances(const char *content) {
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", content);
        start("web@1.service", NULL);
        start("web@2.service", NULL);
        g.start_ms = START_MS;
}

static void an_update_goes_back_before_a_unit_that_would_come_after_itself(void **state) {
        start("b.service", OLD);
        start_two_instances(OLD ONE_DOWN);
        begin("web@.service", NEW ONE_DOWN "After=b.service\n");
        assert_true(rig_has_content(&g, "web@1.service", NEW ONE_DOWN "After=b.service\n"));
        start("b.service", OLD "[X-Argosy]\nAfter=web@2.service\n");
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("web@.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED);
        assert_string_equal(record("web@.service")->reason,
                            "web@2.service:5: the order goes in a cycle: web@2.service after b.service "
                            "after web@2.service");
        assert_true(rig_has_content(&g, "web@1.service", OLD ONE_DOWN));
        assert_true(rig_has_content(&g, "web@2.service", OLD ONE_DOWN));
}

static void what_would_come_after_itself_does_not_go_back(void **state) {
        start("b.service", OLD);
        start_two_instances(OLD ONE_DOWN "After=b.service\n");
        begin("web@.service", BAD ONE_DOWN);
        assert_true(rig_has_content(&g, "web@1.service", BAD ONE_DOWN));
        start("b.service", OLD "[X-Argosy]\nAfter=web@1.service\n");
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("web@.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED);
        assert_string_equal(record("web@.service")->reason,
                            "web@1.service on n2: it failed; it does not go back: web@1.service:5: the "
                            "order goes in a cycle: web@1.service after b.service after web@1.service");
        assert_true(rig_has_content(&g, "web@1.service", BAD ONE_DOWN));
        assert_true(rig_has_content(&g, "web@2.service", OLD ONE_DOWN "After=b.service\n"));
}

static void the_nodes_of_a_global_unit_go_back_too(void **state) {
        start("b.service", OLD);
        start("all.service", OLD GLOBAL);
        g.start_ms = START_MS;
        begin("all.service", NEW GLOBAL "After=b.service\n");
        start("b.service", OLD "[X-Argosy]\nAfter=all.service\n");
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("all.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED);
        assert_string_equal(record("all.service")->reason,
                            "all.service:5: the order goes in a cycle: all.service after b.service after "
                            "all.service");
        assert_true(rig_has_content(&g, "all.service", OLD GLOBAL));
}

// What its nodes have cannot stay: its record would get it.
static void of_a_global_unit_a_cancelled_update_goes_back_if_it_cannot_stay(void **state) {
        start("b.service", OLD);
        start("all.service", OLD GLOBAL);
        g.start_ms = START_MS;
        begin("all.service", NEW GLOBAL "After=b.service\n");
        uint64_t job = cluster_state_last_job(g.state);
        start("b.service", OLD "[X-Argosy]\nAfter=all.service\n");
        RigAnswer *a = rig_job_cancel(&g, job);
        assert_int_equal(rig_last(a)->status, 0);
        assert_non_null(strstr(record("all.service")->reason, "the order goes in a cycle: all.service"));
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("all.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED);
        assert_true(rig_has_content(&g, "all.service", OLD GLOBAL));
}

// ------------------------------------------------------------------------------------------------ needs

#define NEEDS_DB "Requires=db.service\n"
#define RESTART ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
#define WOULD_WAIT "it would not start again: it would wait for db.service on n1, which failed"

static void fail_on_host(const char *name) {
        uint32_t h = rig_host_of(&g, name);

        rig_host_report(&g, rig_host(&g, h), rig_unit_on(&g, h, name), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                        ARGOSY__OUTCOME__KIND__NONE);
        rig_settle(&g);
}

static void start_two_beside_db(const char *content) {
        start("db.service", OLD "[X-Argosy]\nHost=n1\n");
        start_two_instances(content);
        rig_pass_ms(&g, START_MS);
}

// It has failed, or gone back, before any time has passed.
static void assert_fails_at_once(Argosy__RolloutKind kind, const char *name, const char *content,
                                 const char *why) {
        (void) rig_rollout(&g, (RigRollout){kind, name, content, .health_ms = HEALTH_MS});
        assert_int_not_equal(record(name)->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING);
        if (!strstr(record(name)->reason, why))
                fail_msg("the reason is %s, not %s", record(name)->reason, why);
}

static void assert_as_it_was(const char *name, const char *content, uint64_t started) {
        assert_true(rig_has_content(&g, name, content));
        assert_int_equal(rig_record(&g, name)->start_rev, started);
        assert_true(rig_record(&g, name)->restart_rev <= started);
}

static void what_would_wait_for_what_it_needs_is_not_restarted(void **state) {
        uint64_t started;

        start_two_beside_db(OLD ONE_DOWN NEEDS_DB);
        started = rig_record(&g, "web@1.service")->start_rev;
        fail_on_host("db.service");
        assert_fails_at_once(RESTART, "web@.service", NULL, "web@1.service on n2: " WOULD_WAIT);
        assert_as_it_was("web@1.service", OLD ONE_DOWN NEEDS_DB, started);
}

static void an_update_is_judged_by_what_the_new_content_needs(void **state) {
        uint64_t started;

        start_two_beside_db(OLD ONE_DOWN);
        started = rig_record(&g, "web@1.service")->start_rev;
        fail_on_host("db.service");
        assert_fails_at_once(UPDATE, "web@.service", NEW ONE_DOWN NEEDS_DB,
                             "web@1.service on n2: " WOULD_WAIT);
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("web@.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED);
        assert_as_it_was("web@1.service", OLD ONE_DOWN, started);
}

static void an_update_to_what_needs_it_no_more_goes_on(void **state) {
        start_two_beside_db(OLD ONE_DOWN NEEDS_DB);
        fail_on_host("db.service");
        begin("web@.service", NEW ONE_DOWN);
        rig_pass_ms(&g, END_MS);
        assert_int_equal(record("web@.service")->phase, ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE);
        assert_true(rig_has_content(&g, "web@2.service", NEW ONE_DOWN));
}

// It has its turn first, since that takes nothing down.
static void who_was_down_and_waits_for_what_it_needs_ends_it(void **state) {
        start_two_beside_db(OLD ONE_DOWN NEEDS_DB);
        fail_on_host("db.service");
        fail_on_host("web@2.service");
        assert_fails_at_once(RESTART, "web@.service", NULL,
                             "web@2.service on n3: waiting for db.service on n1, which failed");
}

static void nodes_keep_running_what_would_wait(void **state) {
        uint64_t started;

        start("db.service", OLD "[X-Argosy]\nHost=n1\n");
        start("all.service", OLD GLOBAL NEEDS_DB);
        started = rig_record(&g, "all.service")->start_rev;
        fail_on_host("db.service");
        assert_fails_at_once(RESTART, "all.service", NULL, "all.service on n1: " WOULD_WAIT);
        assert_as_it_was("all.service", OLD GLOBAL NEEDS_DB, started);
        for (uint32_t h = 1; h <= 3; h++)
                assert_int_equal(rig_unit_on(&g, h, "all.service")->active,
                                 ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

RUN_TESTS(
        RIG_TEST(an_update_goes_back_before_a_unit_that_would_come_after_itself),
        RIG_TEST(what_would_come_after_itself_does_not_go_back),
        RIG_TEST(the_nodes_of_a_global_unit_go_back_too),
        RIG_TEST(of_a_global_unit_a_cancelled_update_goes_back_if_it_cannot_stay),
        RIG_TEST(what_would_wait_for_what_it_needs_is_not_restarted),
        RIG_TEST(an_update_is_judged_by_what_the_new_content_needs),
        RIG_TEST(an_update_to_what_needs_it_no_more_goes_on),
        RIG_TEST(who_was_down_and_waits_for_what_it_needs_ends_it),
        RIG_TEST(nodes_keep_running_what_would_wait)
)
