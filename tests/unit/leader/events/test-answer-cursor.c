// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whoever has changed something goes on with its events from the answer's cursor, and misses nothing.
#include <errno.h>
#include <stdlib.h>

#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "event-stream.h"
#include "log-trail.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static void go_on_from(Asked *a, const RigAnswer *answer) {
        *a = (Asked){};
        assert_int_equal(rig_last(answer)->status, 0);
        assert_true(*rig_last(answer)->cursor);
        snprintf(a->cursor, sizeof(a->cursor), "%s", rig_last(answer)->cursor);
}

// Whether one of the events that come is of that kind and name, and has that value.
static bool is_reported(Asked *a, Argosy__EventKind kind, const char *name, const char *field,
                    const char *value) {
        bool found = false;

        while (asked_pull(&g, a))
                for (size_t i = 0; i < a->n; i++)
                        found |= a->events[i]->kind == kind && streq(event_value(a->events[i], 0), name) &&
                                 streq(event_field(a->events[i], field), value);
        return found;
}

static RigAnswer *change(Argosy__Verb verb, const char *name, const char *content, const uint8_t id[16]) {
        RigAnswer *a = rig_change_with(&g, verb, name, content, false, id);

        rig_settle(&g);
        assert_true(a->final);
        return a;
}

// ------------------------------------------------------------------------------------------------ tests

static void the_change_itself_comes_behind_it_also_if_nobody_watched(void **state) {
        Asked a, b;

        go_on_from(&a, change(START, "web.service", SERVICE, NULL));
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "web.service", "active", "active"));
        go_on_from(&b, change(START, "db.service", SERVICE, NULL)); // now there is a ring
        assert_true(asked_pull(&g, &b));
        assert_non_null(asked_find(&b, ARGOSY__EVENT_KIND__EVENT_JOB, "2"));
        assert_non_null(asked_find(&b, ARGOSY__EVENT_KIND__EVENT_UNIT, "db.service"));
        assert_null(asked_find(&b, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"));
        assert_int_equal(b.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_NEW);
        asked_forget(&a);
        asked_forget(&b);
}

static void how_the_job_ended_is_told_behind_it(void **state) {
        Asked a;

        go_on_from(&a, change(START, "web.service", SERVICE, NULL));
        rig_pass_ms(&g, 3000);
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1", "state", "done"));
        asked_forget(&a);
}

static void what_changes_no_unit_has_one_too(void **state) {
        Asked a;

        go_on_from(&a, rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "disks"));
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_NODE, "n2", "mode_reason", "disks"));
        asked_forget(&a);
}

// A rollout is told before the job that has begun it.
static void what_is_told_before_the_job_comes_behind_it_too(void **state) {
        Asked watcher = {}, a;

        (void) change(START, "web.service", SERVICE, NULL);
        assert_true(asked_pull(&g, &watcher));
        go_on_from(&a, rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART,
                                                    .name = "web.service"}));
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web.service", "phase", "running"));
        asked_forget(&watcher);
        asked_forget(&a);
}

static void what_is_refused_or_only_asked_has_none(void **state) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;
        const RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(LIST_NODES, list_nodes, &list));

        assert_string_equal(rig_last(a)->cursor, "");
        a = rig_set_mode(&g, "nowhere", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_not_equal(rig_last(a)->status, 0);
        assert_string_equal(rig_last(a)->cursor, "");
}

// The answer was lost with its leader, and what followed happened before the next one was asked.
static void who_asks_the_next_leader_again_misses_nothing(void **state) {
        static const uint8_t id[16] = {1, 2, 3, 4};
        Asked a;

        (void) change(START, "web.service", SERVICE, id);
        rig_pass_ms(&g, 3000);
        rig_elect_anew(&g);
        rig_change(&g, START, "db.service", SERVICE);
        go_on_from(&a, change(START, "web.service", SERVICE, id));
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "web.service", "active", "active"));
        asked_forget(&a);
}

static void and_the_same_leader(void **state) {
        static const uint8_t id[16] = {1, 2, 3, 4};
        Asked a;

        (void) change(START, "web.service", SERVICE, id);
        rig_pass_ms(&g, 3000);
        go_on_from(&a, change(START, "web.service", SERVICE, id));
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "web.service", "active", "active"));
        asked_forget(&a);
}

// It has the sequence of before the change, so it has the index of the log of before it, too.
static void who_goes_on_under_the_next_leader_is_told_the_change_too(void **state) {
        Asked first = {.from_now = true}, a;

        (void) change(START, "web.service", SERVICE, NULL);
        assert_true(asked_pull(&g, &first));
        // its job ends with its entry
        const RigAnswer *answer = change(ARGOSY__VERB__VERB_SUBMIT, "db.service", SERVICE, NULL);
        rig_pass_ms(&g, 3000);
        go_on_from(&a, answer);
        rig_elect_anew(&g);
        assert_true(is_reported(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "2", "state", "done"));
        asked_forget(&first);
        asked_forget(&a);
}

static void who_knows_the_number_of_a_job_only_goes_on_from_where_it_began(void **state) {
        Asked first = {.from_now = true}, a = {.since_job = 2}, behind = {.since_job = 2};

        assert_true(asked_pull(&g, &first)); // now there is a ring
        (void) change(START, "web.service", SERVICE, NULL);
        (void) change(START, "db.service", SERVICE, NULL);
        (void) change(START, "mail.service", SERVICE, NULL);
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.events[0]->kind, ARGOSY__EVENT_KIND__EVENT_JOB);
        assert_string_equal(event_field(a.events[0], "job"), "2");
        assert_string_equal(event_field(a.events[0], "state"), "running");
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "db.service"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "mail.service"));
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"));
        assert_int_equal(a.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_NEW);
        g.leader->events->ring.bytes_max = 1;
        (void) change(START, "other.service", SERVICE, NULL);
        assert_true(asked_pull(&g, &behind)); // by the order of changes
        assert_int_equal(behind.events[0]->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        assert_false(event_is_word(behind.events[0], EVENT_STREAM_BEGINS));
        assert_non_null(asked_find(&behind, ARGOSY__EVENT_KIND__EVENT_UNIT, "db.service"));
        assert_null(asked_find(&behind, ARGOSY__EVENT_KIND__EVENT_UNIT, "web.service"));
        asked_forget(&first);
        asked_forget(&a);
        asked_forget(&behind);
}

static void also_under_the_next_leader(void **state) {
        Asked a = {.since_job = 2};

        (void) change(START, "web.service", SERVICE, NULL);
        rig_pass_ms(&g, 3000);
        (void) change(START, "db.service", SERVICE, NULL);
        rig_elect_anew(&g);
        assert_true(asked_pull(&g, &a));
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "2"));
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_JOB, "1"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "db.service"));
        asked_forget(&a);
}

// Its end is known still: that is not where it began.
static void who_names_a_job_whose_beginning_is_forgotten_is_told_everything(void **state) {
        static const uint8_t id[16] = {1, 2, 3, 4};
        Asked a = {.since_job = 1};

        rig_host(&g, 1)->lazy = rig_host(&g, 2)->lazy = rig_host(&g, 3)->lazy = true;
        (void) change(START, "web.service", SERVICE, id);
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "db.service", SERVICE, NULL);
        g.leader->trail->n_jobs = 0; // what it has noted is overwritten
        g.leader->trail->jobs_complete_from = g.leader->trail->last;
        for (uint32_t i = 1; i <= 3; i++) {
                VirtualUnit *u = rig_unit_on(&g, i, "web.service");

                rig_host(&g, i)->lazy = false;
                if (u)
                        rig_host_report(&g, rig_host(&g, i), u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE,
                                        ARGOSY__OUTCOME__KIND__NONE);
        }
        rig_pass_ms(&g, 3000);
        assert_string_equal(rig_show_job(&g, 1)->state, "done");
        rig_elect_anew(&g);
        assert_true(asked_pull(&g, &a));
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        assert_string_equal(event_field(a.events[0], "kinds") ?: "", ""); // of all of them
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_UNIT, "db.service"));
        asked_forget(&a);
}

static void a_job_that_there_is_not_is_refused(void **state) {
        Asked a = {.since_job = 7};

        (void) change(START, "web.service", SERVICE, NULL);
        asked_ask(&g, &a);
        rig_settle(&g);
        assert_true(a.answered);
        assert_int_equal(a.status, ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(the_change_itself_comes_behind_it_also_if_nobody_watched),
        TEST(how_the_job_ended_is_told_behind_it),
        TEST(what_changes_no_unit_has_one_too),
        TEST(what_is_told_before_the_job_comes_behind_it_too),
        TEST(what_is_refused_or_only_asked_has_none),
        TEST(who_asks_the_next_leader_again_misses_nothing),
        TEST(and_the_same_leader),
        TEST(who_goes_on_under_the_next_leader_is_told_the_change_too),
        TEST(who_knows_the_number_of_a_job_only_goes_on_from_where_it_began),
        TEST(also_under_the_next_leader),
        TEST(who_names_a_job_whose_beginning_is_forgotten_is_told_everything),
        TEST(a_job_that_there_is_not_is_refused)
)
