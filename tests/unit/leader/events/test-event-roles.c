// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is told to somebody who may see units of one role only.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "author.h"
#include "event-marks.h"
#include "event-stream.h"
#include "messages.h"
#include "printed.h"
#include "registry.h"
#include "str.h"

#define WEB "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRole=web\n"
#define DB "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define UNIT ARGOSY__EVENT_KIND__EVENT_UNIT
#define STATE ARGOSY__EVENT_KIND__EVENT_STATE

static Rig g;
static Argosy__Author alice;

static void change_access(bool revoke, const char *role) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.revoke = revoke, .right = ARGOSY__RIGHT__RIGHT_VIEW,
                                 .user = (char *) "alice", .role = (char *) role);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change)))->status,
                0);
}

FIXTURE(setup) {
        rig_start(&g, 3);
        alice = (Argosy__Author) AUTHOR_OF(.host = 2, .uid = 1000);
        alice.user = (char *) "alice";
        rig_make_role(&g, "web");
        change_access(false, "web");
}

RIG_TEARDOWN

// Whether its name is told, in whatever it may stand.
static bool is_reported(Asked *a, const char *unit) {
        bool found = false;

        while (asked_pull(&g, a))
                for (size_t i = 0; i < a->n; i++)
                        for (size_t k = 0; k < a->events[i]->n_values; k++)
                                found |= strstr(a->events[i]->values[k], unit) != NULL;
        return found;
}

static void replace(const char *name, const char *content) {
        RigAnswer *a = rig_change_with(&g, START, name, content, true, NULL);

        rig_settle(&g);
        assert_true(a->final);
        rig_pass_ms(&g, 3000);
}

// ------------------------------------------------------------------------------------------------ tests

static void who_may_see_nothing_is_refused(void **state) {
        Asked a = {.author = &alice};

        change_access(true, "web");
        asked_ask(&g, &a);
        rig_settle(&g);
        assert_true(a.answered);
        assert_int_equal(a.status, EACCES);
}

static void the_whole_state_is_that_of_his_units(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, START, "web.service", WEB);
        rig_change(&g, START, "db.service", DB);
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, UNIT, "web.service"));
        assert_non_null(asked_find(&a, STATE, "web.service"));
        for (size_t i = 0; i < a.n; i++) {
                assert_string_not_equal(event_value(a.events[i], 0), "db.service");
                assert_true(a.events[i]->kind != ARGOSY__EVENT_KIND__EVENT_NODE &&
                            a.events[i]->kind != ARGOSY__EVENT_KIND__EVENT_ROLE &&
                            a.events[i]->kind != ARGOSY__EVENT_KIND__EVENT_GRANT);
        }
        asked_forget(&a);
}

static void what_happens_is_told_of_his_units_also_that_they_go(void **state) {
        Asked a = {.author = &alice}, all = {};

        assert_true(asked_pull(&g, &a));
        assert_true(asked_pull(&g, &all));
        rig_change(&g, START, "db.service", DB);
        rig_change(&g, DESTROY, "db.service", NULL);
        assert_false(is_reported(&a, "db.service"));
        assert_true(is_reported(&all, "db.service"));
        rig_change(&g, START, "web.service", WEB);
        assert_true(is_reported(&a, "web.service"));
        rig_change(&g, DESTROY, "web.service", NULL);
        rig_settle(&g);
        assert_true(is_reported(&a, "web.service"));
        asked_forget(&a);
        asked_forget(&all);
}

// Nodes are heard in turns of their own, however many units are due.
static void what_a_node_says_is_told_also_before_the_unit_is(void **state) {
        Asked a = {.author = &alice};
        bool found = false;

        for (int i = 0; i < 20; i++) {
                rig_change(&g, START, printed("db%d.service", i), DB);
        }
        assert_true(asked_pull(&g, &a));
        g.leader->limits.event_rows = 2;
        for (int i = 0; i < 20; i++) {
                event_mark(g.leader, &unit_find(g.leader, printed("db%d.service", i))->event);
        }
        rig_change(&g, START, "web.service", WEB);
        while (asked_pull(&g, &a))
                found |= asked_find(&a, STATE, "web.service") != NULL;
        assert_true(found);
        asked_forget(&a);
}

static void he_is_told_that_they_went_while_he_was_away(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, START, "web.service", WEB);
        rig_change(&g, START, "db.service", DB);
        assert_true(asked_pull(&g, &a));
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, DESTROY, "web.service", NULL);
        rig_change(&g, DESTROY, "db.service", NULL);
        rig_settle(&g);
        assert_true(asked_pull(&g, &a));
        const Argosy__Event *e = asked_find(&a, UNIT, "web.service");
        assert_non_null(e);
        assert_true(e->gone);
        assert_null(asked_find(&a, UNIT, "db.service"));
        asked_forget(&a);
}

static void jobs_are_told_as_they_would_be_listed_to_him(void **state) {
        Asked a = {.author = &alice, .kind = ARGOSY__EVENT_KIND__EVENT_JOB};
        unsigned n = 0;

        (void) asked_pull(&g, &a);
        rig_change(&g, START, "web.service", WEB);
        rig_change(&g, START, "db.service", DB);
        rig_pass_ms(&g, 3000);
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++, n++)
                        assert_string_equal(event_field(a.events[i], "targets"), "web.service");
        assert_true(n > 0);
        asked_forget(&a);
}

static uint64_t start_lazily(const char *name, const char *content) {
        rig_set_lazy(&g, true);
        rig_change(&g, START, name, content);
        return rig_last_job(&g);
}

static void destroy(const char *name) {
        rig_change(&g, DESTROY, name, NULL);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3000);
}

// As to all others: when the log has that.
static void that_a_job_has_ended_is_told_when_it_is_told_to_others(void **state) {
        Asked his = {.author = &alice, .kind = ARGOSY__EVENT_KIND__EVENT_JOB}, all = {.kind = his.kind};
        const char *web = printed("%" PRIu64, start_lazily("web.service", WEB));

        rig_set_lazy(&g, false);
        assert_true(asked_pull(&g, &all));
        assert_true(asked_pull(&g, &his));
        assert_string_equal(event_field(asked_find(&all, all.kind, web), "state"), "running");
        assert_string_equal(event_field(asked_find(&his, his.kind, web), "state"), "running");
        rig_pass_ms(&g, 3000);
        assert_true(asked_pull(&g, &his));
        assert_string_equal(event_field(asked_find(&his, his.kind, web), "state"), "done");
        asked_forget(&his);
        asked_forget(&all);
}

// He may not see it while its unit is gone, and would not be told when there is one again.
static void a_job_that_ends_when_its_unit_is_gone_is_gone_for_who_could_see_it(void **state) {
        Asked a = {.author = &alice, .kind = ARGOSY__EVENT_KIND__EVENT_JOB};
        const char *web = printed("%" PRIu64, start_lazily("web.service", WEB));
        unsigned n = 0;

        (void) start_lazily("db.service", DB);
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(asked_find(&a, a.kind, web), "state"), "running");
        destroy("db.service");
        destroy("web.service");
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++, n++) {
                        assert_string_equal(event_value(a.events[i], 0), web);
                        assert_true(a.events[i]->gone);
                }
        assert_int_equal(n, 1);
        asked_forget(&a);
}

static void so_it_is_when_another_leader_has_followed_that(void **state) {
        Asked a = {.author = &alice, .kind = ARGOSY__EVENT_KIND__EVENT_JOB};
        const char *web = printed("%" PRIu64, start_lazily("web.service", WEB));

        assert_true(asked_pull(&g, &a));
        destroy("web.service");
        rig_elect_anew(&g);
        assert_true(asked_pull(&g, &a));
        assert_true(asked_find(&a, a.kind, web)->gone);
        asked_forget(&a);
}

static void a_unit_that_comes_to_be_of_another_role_goes_for_him(void **state) {
        Asked a = {.author = &alice};
        const Argosy__Event *e;
        bool gone = false;

        rig_change(&g, START, "web.service", WEB);
        assert_true(asked_pull(&g, &a));
        replace("web.service", DB);
        while (asked_pull(&g, &a)) {
                e = asked_find(&a, UNIT, "web.service");
                gone |= e && e->gone;
        }
        assert_true(gone);
        replace("web.service", WEB); // and comes again, with all that nodes say of it
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, UNIT, "web.service"));
        asked_forget(&a);
}

// He goes on behind the event of a unit that has come to be his, which the ring told him as if he had missed
// it. That another one is his no more came later.
static void who_goes_on_behind_a_unit_that_has_come_begins_anew(void **state) {
        Asked a = {.author = &alice};
        EventCursor c;

        rig_change(&g, START, "web.service", DB);
        rig_change(&g, START, "app.service", WEB);
        (void) is_reported(&a, "-");
        replace("web.service", WEB);
        replace("app.service", DB);
        g.leader->limits.watch_looks = 1;
        while (asked_pull(&g, &a) && !asked_find(&a, UNIT, "web.service"))
                ;
        const Argosy__Event *e = asked_find(&a, UNIT, "web.service");
        assert_non_null(e);
        assert_int_equal(e->mark, ARGOSY__EVENT_MARK__EVENT_MISSED);
        assert_true(event_cursor_parse(a.cursor, &c));
        c.seq = e->seq;
        c.index = e->index;
        c.mode = EVENT_CURSOR_MISSED;
        event_cursor_format(&c, a.cursor);
        assert_true(asked_pull(&g, &a));
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS)); // what is not told anew is not there
        assert_false(is_reported(&a, "app.service"));
        asked_forget(&a);
}

// The ring is read when it is others' again.
static void what_was_his_for_a_while_is_not_told_as_it_is_now(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, START, "web.service", DB);
        (void) is_reported(&a, "-");
        replace("web.service", WEB);
        replace("web.service", DB);
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++)
                        assert_false(a.events[i]->kind == UNIT && !a.events[i]->gone &&
                                     a.events[i]->mark == ARGOSY__EVENT_MARK__EVENT_MISSED);
        asked_forget(&a);
}

// A row that is there again before it is told to have gone is news only for who sees one of the two units.
static void what_nodes_said_of_a_unit_goes_when_it_comes_again_as_anothers(void **state) {
        Asked a = {.author = &alice}, all = {.kind = STATE};
        bool gone = false;

        for (unsigned i = 0; i < 40; i++)
                rig_change(&g, START, printed("x%u.service", i), DB "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "web.service", WEB "Host=n1\n");
        (void) is_reported(&a, "-");
        (void) is_reported(&all, "-");
        g.leader->limits.event_units_of_nodes = 1; // nothing is told before all of its units are marked
        event_mark_units_of(g.leader, node_find(g.leader, 1));
        (void) rig_change_with(&g, DESTROY, "web.service", NULL, true, NULL);
        rig_turns(&g, 8);
        (void) rig_change_with(&g, START, "web.service", DB "[X-Argosy]\nHost=n1\n", true, NULL);
        rig_turns(&g, 8);
        rig_settle(&g);
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++)
                        gone |= a.events[i]->kind == STATE && a.events[i]->gone;
        assert_true(gone);
        while (asked_pull(&g, &all))
                ;
        asked_forget(&all);
        asked_forget(&a);
}

// Whether the rollout is there for him, as he has been told since.
static bool has_rollout(Asked *a, bool has) {
        while (asked_pull(&g, a))
                for (size_t i = 0; i < a->n; i++)
                        if (a->events[i]->kind == ARGOSY__EVENT_KIND__EVENT_ROLLOUT)
                                has = !a->events[i]->gone;
        return has;
}

static void begin_rollout(const char *name) {
        RigRollout restart = {.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = name};

        (void) rig_rollout(&g, restart);
        rig_pass_ms(&g, 20000);
}

static void a_rollout_is_his_as_long_as_all_its_units_are(void **state) {
        Asked a = {.author = &alice}, all = {.kind = ARGOSY__EVENT_KIND__EVENT_ROLLOUT};

        rig_change(&g, START, "db.service", DB);
        rig_change(&g, START, "web.service", WEB);
        begin_rollout("db.service");
        begin_rollout("web.service");
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web.service"));
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "db.service"));
        (void) has_rollout(&all, false);
        replace("web.service", DB);
        assert_false(has_rollout(&a, true));
        replace("db.service", WEB);
        assert_true(has_rollout(&a, false));
        RigHost *host = rig_host(&g, rig_host_of(&g, "db.service"));
        host->deaf = true; // it runs on
        rig_change(&g, DESTROY, "db.service", NULL);
        assert_false(has_rollout(&a, true));
        assert_false(asked_pull(&g, &all)); // for who sees all nothing has changed
        host->deaf = false;
        asked_forget(&all);
        asked_forget(&a);
}

static void a_rollout_of_units_of_several_roles_is_for_who_may_see_all_of_these(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", WEB);
        rig_change(&g, START, "w@1.service", NULL);
        begin_rollout("w@.service");
        assert_true(has_rollout(&a, false));
        (void) rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", DB, true, NULL);
        assert_false(has_rollout(&a, true));
        change_access(false, "default");
        assert_true(has_rollout(&a, false));
        asked_forget(&a);
}

static void a_rollout_that_is_his_no_more_goes_behind_his_back(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", WEB);
        rig_change(&g, START, "web@1.service", NULL);
        begin_rollout("web@.service");
        assert_true(has_rollout(&a, false));
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, START, "web@2.service", DB); // who has never seen it does not miss it
        assert_true(asked_pull(&g, &a));
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web@.service"));
        asked_forget(&a);
}

static void and_also_behind_his_back(void **state) {
        Asked a = {.author = &alice};

        rig_change(&g, START, "web.service", WEB);
        assert_true(asked_pull(&g, &a));
        g.leader->events->ring.bytes_max = 1;
        replace("web.service", DB);
        assert_true(asked_pull(&g, &a));
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        assert_null(asked_find(&a, UNIT, "web.service"));
        asked_forget(&a);
}

static void who_gets_another_right_while_he_waits_begins_anew(void **state) {
        Asked a = {.author = &alice};

        rig_make_role(&g, "db");
        rig_change(&g, START, "web.service", WEB);
        assert_true(asked_pull(&g, &a));
        asked_ask(&g, &a);
        rig_settle(&g);
        assert_false(a.answered);
        change_access(false, "db");
        rig_turns(&g, 3);
        assert_true(a.answered);
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        assert_string_equal(event_field(a.events[0], "kinds"), "");
        change_access(true, "db");
        assert_true(asked_pull(&g, &a)); // his cursor is one of somebody who sees more
        assert_true(event_is_word(a.events[0], EVENT_STREAM_BEGINS));
        asked_forget(&a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(who_may_see_nothing_is_refused),
        TEST(the_whole_state_is_that_of_his_units),
        TEST(what_happens_is_told_of_his_units_also_that_they_go),
        TEST(what_a_node_says_is_told_also_before_the_unit_is),
        TEST(he_is_told_that_they_went_while_he_was_away),
        TEST(jobs_are_told_as_they_would_be_listed_to_him),
        TEST(that_a_job_has_ended_is_told_when_it_is_told_to_others),
        TEST(a_job_that_ends_when_its_unit_is_gone_is_gone_for_who_could_see_it),
        TEST(so_it_is_when_another_leader_has_followed_that),
        TEST(a_unit_that_comes_to_be_of_another_role_goes_for_him),
        TEST(who_goes_on_behind_a_unit_that_has_come_begins_anew),
        TEST(what_was_his_for_a_while_is_not_told_as_it_is_now),
        TEST(what_nodes_said_of_a_unit_goes_when_it_comes_again_as_anothers),
        TEST(and_also_behind_his_back),
        TEST(a_rollout_is_his_as_long_as_all_its_units_are),
        TEST(a_rollout_of_units_of_several_roles_is_for_who_may_see_all_of_these),
        TEST(a_rollout_that_is_his_no_more_goes_behind_his_back),
        TEST(who_gets_another_right_while_he_waits_begins_anew)
)
