// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is told of each kind of object that is not a unit's: updates, drains, roles, pools, rights and the
// queue; and of a unit's content.
#include <errno.h>
#include <stdlib.h>

#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"

#include "access.h"
#include "event-marks.h"
#include "event-stream.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

// ------------------------------------------------------------------------------------------------ asking

static void ask(const Argosy__Request *request) {
        RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_final(a, 0);
}

static void set_role(const char *name, uint32_t weight, uint64_t guarantee, bool remove) {
        Argosy__Amount amount = MESSAGE_OF(amount, .resource = (char *) "slot", .amount = guarantee),
                       *amounts = &amount;
        Argosy__Request__RoleChange change =
                MESSAGE_OF(request__role_change, .name = (char *) name, .weight = weight, .remove = remove,
                           .guarantee = &amounts, .n_guarantee = guarantee > 0);

        ask(A_REQUEST(ROLE_CHANGE, role_change, &change));
}

static void set_pool(const char *name, const char *host, bool remove) {
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) name, .hosts = (char **) &host,
                           .n_hosts = !remove, .remove = remove);

        ask(A_REQUEST(POOL_CHANGE, pool_change, &change));
}

static void set_access(Argosy__Right right, const char *user, const char *host, const char *role,
                       bool revoke) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.revoke = revoke, .right = right, .user = (char *) user,
                                 .host = (char *) host, .role = (char *) role);

        ask(A_REQUEST(ACCESS_CHANGE, access_change, &change));
}

static void from_now(Asked *a, Argosy__EventKind kind) {
        *a = (Asked){.from_now = true, .kind = kind};
        assert_true(asked_pull(&g, a));
}

// The newest event of that name among those that have come since.
static const Argosy__Event *next(Asked *a, const char *name) {
        assert_true(asked_pull(&g, a));
        const Argosy__Event *e = asked_find(a, a->kind, name);
        assert_non_null(e);
        assert_int_equal(e->mark, ARGOSY__EVENT_MARK__EVENT_NEW);
        return e;
}

// ------------------------------------------------------------------------------------------------ tests

static void a_role_is_told_of_when_it_is_made_changed_and_removed(void **state) {
        Asked a;

        from_now(&a, ARGOSY__EVENT_KIND__EVENT_ROLE);
        set_role("web", 5, 0, false);
        set_role("db", 1, 0, false);
        const Argosy__Event *e = next(&a, "web");
        assert_int_equal(a.n, 2);
        assert_string_equal(event_field(e, "weight"), "5");
        set_role("web", 7, 3, false);
        e = next(&a, "web");
        assert_int_equal(a.n, 1); // the other is as it was
        assert_string_equal(event_field(e, "weight"), "7");
        assert_string_equal(event_field(e, "guarantee"), "slot=3");
        assert_true(event_has_changed(e, "weight") && event_has_changed(e, "guarantee"));
        assert_false(event_has_changed(e, "limit"));
        set_role("web", 0, 0, true);
        e = next(&a, "web");
        assert_true(e->gone);
        assert_int_equal(a.n, 1);
        asked_forget(&a);
}

static void a_pool_is_told_of_and_a_host_that_changes_is_no_news_of_it(void **state) {
        Asked a;

        from_now(&a, ARGOSY__EVENT_KIND__EVENT_POOL);
        set_pool("fast", "n2", false);
        const Argosy__Event *e = next(&a, "fast");
        assert_string_equal(event_field(e, "hosts"), "n2");
        (void) rig_label(&g, "n3", "disk", "ssd");
        assert_false(asked_pull(&g, &a));
        set_pool("fast", NULL, true);
        assert_true(next(&a, "fast")->gone);
        asked_forget(&a);
}

// Its end waits for its turn behind the units, and it has been told anew by then.
static void a_pool_that_comes_again_while_much_is_to_be_told_is_there(void **state) {
        char *names[] = {"kv@1.service", "kv@2.service", "kv@3.service", "kv@4.service"},
             *hosts[] = {"n2"};
        uint64_t id[2] = {77, 77};
        Argosy__Request__Change restart = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_RESTART, .names = names, .n_names = ELEMENTSOF(names));
        Argosy__Request__PoolChange remove =
                                            MESSAGE_OF(request__pool_change, .name = (char *) "fast",
                                                       .remove = true),
                                    set = MESSAGE_OF(request__pool_change, .name = (char *) "fast",
                                                     .hosts = hosts, .n_hosts = 1);
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_POOL};
        bool is_there = false;

        (void) rig_change_many(&g, ARGOSY__VERB__VERB_START, "kv", ELEMENTSOF(names),
                               "[Service]\nExecStart=/bin/sleep 1000\n");
        set_pool("fast", "n2", false);
        rig_pass_ms(&g, 3000);
        g.leader->limits.event_marks = g.leader->limits.event_rows = 1;
        (void) rig_ask(&g, A_REQUEST(CHANGE, change, &restart));
        (void) rig_ask(&g, A_REQUEST(POOL_CHANGE, pool_change, &remove));
        rig_turns(&g, 2);
        assert_null(cluster_state_find_pool(g.state, "fast"));
        (void) rig_ask(&g, A_REQUEST(POOL_CHANGE, pool_change, &set));
        rig_settle(&g);
        while (asked_pull(&g, &a))
                for (size_t i = 0; i < a.n; i++)
                        if (a.events[i]->kind == ARGOSY__EVENT_KIND__EVENT_POOL)
                                is_there = !a.events[i]->gone;
        assert_true(is_there);
        asked_forget(&a);
}

static void a_right_is_told_of_as_it_is_given(void **state) {
        Asked a;

        set_role("web", 1, 0, false);
        from_now(&a, ARGOSY__EVENT_KIND__EVENT_GRANT);
        set_access(ARGOSY__RIGHT__RIGHT_OPERATE, "ann", "n2", "web", false);
        const Argosy__Event *e = next(&a, "operate to user:ann@n2 on role web");
        assert_string_equal(event_field(e, "right"), "operate");
        assert_string_equal(event_field(e, "user"), "ann");
        assert_string_equal(event_field(e, "group"), "");
        assert_string_equal(event_field(e, "host"), "n2");
        assert_string_equal(event_field(e, "role"), "web");
        set_access(ARGOSY__RIGHT__RIGHT_OPERATE, "ann", "n2", "web", true);
        assert_true(next(&a, "operate to user:ann@n2 on role web")->gone);
        assert_int_equal(a.n, 1);
        asked_forget(&a);
}

static void an_update_has_its_own_story(void **state) {
        RigRollout update = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "web.service", .health_ms = 1000};
        Asked a;

        rig_change(&g, START, "web.service", SERVICE);
        from_now(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT);
        (void) rig_rollout(&g, update);
        const Argosy__Event *e = next(&a, "web.service");
        assert_string_equal(event_field(e, "verb"), "restart");
        assert_string_equal(event_field(e, "phase"), "running");
        rig_pass_ms(&g, 20000);
        e = next(&a, "web.service");
        assert_string_equal(event_field(e, "phase"), "done");
        assert_true(event_has_changed(e, "phase"));
        asked_forget(&a);
}

static void a_drain_is_told_of_until_the_node_is_open_again(void **state) {
        const Argosy__Event *e = NULL;
        Asked a;

        for (int i = 0; i < 6; i++) {
                rig_change(&g, START, printed("unit-%d.service", i), SERVICE);
        }
        from_now(&a, ARGOSY__EVENT_KIND__EVENT_DRAIN);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 600, "disks");
        e = next(&a, "n2");
        assert_string_equal(event_value(a.events[0], 0), "n2");
        assert_string_equal(event_field(e, "mode"), "draining");
        assert_string_equal(event_field(e, "reason"), "disks");
        assert_true(*event_field(e, "deadline"));
        rig_pass_ms(&g, 5000);
        while (asked_pull(&g, &a)) {
        }
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0, "disks");
        e = next(&a, "n2");
        assert_string_equal(event_field(e, "mode"), "maintenance");
        assert_string_equal(event_field(e, "left"), "0");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        e = next(&a, "n2");
        assert_true(e->gone);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_false(asked_pull(&g, &a));
        asked_forget(&a);
}

static void change_queue(const Argosy__Request__QueueChange *change, const char *reason) {
        Argosy__Request__Job job = MESSAGE_OF(request__job, .reason = (char *) reason);
        Argosy__Request request =
                MESSAGE_OF(request, .job = &job, .what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE,
                           .queue_change = (Argosy__Request__QueueChange *) change);

        ask(&request);
}

static void add_rule(Argosy__QueueAction action, const char *unit, uint32_t before) {
        Argosy__QueueRule rule =
                QUEUE_RULE_OF(.action = action, .unit = (char *) unit,
                              .text = (char *) (action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE ? "not today"
                                                                                             : ""));
        Argosy__Request__QueueChange change =
                MESSAGE_OF(request__queue_change, .add = &rule, .before = before);

        change_queue(&change, "");
}

static void a_rule_of_the_queue_is_told_of_with_its_place(void **state) {
        Argosy__Request__QueueChange change = MESSAGE_OF(request__queue_change, .remove = 2);
        Asked a;

        from_now(&a, ARGOSY__EVENT_KIND__EVENT_RULE);
        add_rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "db*", 0);
        const Argosy__Event *e = next(&a, "1");
        assert_string_equal(event_field(e, "action"), "hold");
        assert_string_equal(event_field(e, "unit"), "db*");
        assert_string_equal(event_field(e, "place"), "1");
        add_rule(ARGOSY__QUEUE_ACTION__QUEUE_REFUSE, "web*", 1); // before it
        e = next(&a, "2");
        assert_string_equal(event_field(e, "text"), "not today");
        assert_string_equal(event_field(e, "place"), "1");
        e = asked_find(&a, a.kind, "1");
        assert_string_equal(event_field(e, "place"), "2");
        assert_int_equal(e->n_changed, 1);
        change_queue(&change, "");
        assert_true(next(&a, "2")->gone);
        asked_forget(&a);
}

static void that_the_queue_is_closed_is_told_and_that_it_is_open(void **state) {
        Argosy__Request__QueueChange change = MESSAGE_OF(request__queue_change, .close = true);
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_QUEUE};

        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 1);
        assert_string_equal(event_field(a.events[0], "closed"), "");
        change_queue(&change, "holidays");
        assert_true(asked_pull(&g, &a));
        assert_int_equal(a.n, 1);
        assert_string_equal(event_field(a.events[0], "closed"), "1");
        assert_string_equal(event_field(a.events[0], "reason"), "holidays");
        add_rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "db*", 0);
        assert_false(asked_pull(&g, &a)); // that is no news of it
        rig_elect_anew(&g);
        change.close = false;
        change.open = true;
        change_queue(&change, "");
        assert_true(asked_pull(&g, &a));
        assert_string_equal(event_field(a.events[a.n - 1], "closed"), "");
        asked_forget(&a);
}

static void replace(const char *name, const char *content) {
        RigAnswer *a = rig_change_with(&g, START, name, content, true, NULL);

        rig_settle(&g);
        assert_true(a->final);
}

static void new_content_is_told_of_and_that_it_is_removed(void **state) {
        char before[65];
        Asked a;

        from_now(&a, ARGOSY__EVENT_KIND__EVENT_CONTENT);
        rig_change(&g, START, "web.service", SERVICE);
        const Argosy__Event *e = next(&a, "web.service");
        assert_int_equal(strlen(event_field(e, "sha256")), 64);
        assert_int_equal(atoi(event_field(e, "bytes")), strlen(SERVICE));
        snprintf(before, sizeof(before), "%s", event_field(e, "sha256"));
        rig_change(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL);
        assert_false(asked_pull(&g, &a)); // it is the same
        replace("web.service", SERVICE "# new\n");
        e = next(&a, "web.service");
        assert_string_not_equal(event_field(e, "sha256"), before);
        assert_true(event_has_changed(e, "sha256") && event_has_changed(e, "bytes"));
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        assert_true(next(&a, "web.service")->gone);
        assert_int_equal(a.n, 1);
        asked_forget(&a);
}

enum { CROWD = 4000 }; // more than are looked at in a few turns

static void change_crowd(Argosy__Verb verb, const char *content) {
        assert_int_equal(rig_last(rig_change_many(&g, verb, "w", CROWD, content))->status, 0);
}

static size_t count_told(Asked *a, bool gone) {
        size_t n = 0;

        while (asked_pull(&g, a))
                for (size_t i = 0; i < a->n; i++)
                        n += a->events[i]->gone == gone && event_value(a->events[i], 0)[0] == 'w';
        return n;
}

// It is gone before it is its turn to be looked at.
static void removed_content_is_told_also_of_units_that_are_gone_by_then(void **state) {
        Asked a;

        from_now(&a, ARGOSY__EVENT_KIND__EVENT_CONTENT);
        a.max_bytes = 8192;
        change_crowd(ARGOSY__VERB__VERB_SUBMIT, SERVICE);
        assert_true(count_told(&a, false) >= CROWD);
        name_table_foreach(u, &g.leader->units)
                event_mark(g.leader, &((Unit *) u)->event);
        Unit *last = unit_find(g.leader, "w@7.service");
        event_unmark(g.leader, &last->event);
        event_mark(g.leader, &last->event);
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "w@7.service", NULL);
        assert_int_equal(count_told(&a, true), 1);
        change_crowd(ARGOSY__VERB__VERB_DESTROY, NULL);
        assert_int_equal(count_told(&a, true), CROWD - 1);
        asked_forget(&a);
}

static void removed_content_is_told_to_who_was_away(void **state) {
        Asked a = {.kind = ARGOSY__EVENT_KIND__EVENT_CONTENT};

        rig_change(&g, START, "web.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        assert_false(asked_find(&a, a.kind, "web.service")->gone);
        g.leader->events->ring.bytes_max = 1;
        rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "db.service", SERVICE);
        assert_true(asked_pull(&g, &a));
        assert_true(asked_find(&a, a.kind, "web.service")->gone);
        assert_false(asked_find(&a, a.kind, "db.service")->gone);
        for (size_t i = 0; i < a.n; i++)
                assert_int_equal(a.events[i]->kind, a.kind);
        asked_forget(&a);
}

static void whoever_comes_from_nothing_is_told_of_all_of_them(void **state) {
        Asked a = {};

        set_role("web", 5, 0, false);
        set_pool("fast", "n2", false);
        rig_change(&g, START, "web.service", SERVICE);
        (void) rig_rollout(
                &g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "web.service"});
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_true(asked_pull(&g, &a));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLE, "web"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_POOL, "fast"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web.service"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_DRAIN, "n3"));
        assert_non_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_GRANT, "admin to group:argosy"));
        asked_forget(&a);
}

static void an_update_of_units_that_match_is_told_to_who_asks_for_them(void **state) {
        Asked web = {.pattern = "web*"}, db = {.pattern = "db*"};

        rig_change(&g, START, "web.service", SERVICE);
        (void) rig_rollout(
                &g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "web.service"});
        assert_true(asked_pull(&g, &web));
        assert_non_null(asked_find(&web, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web.service"));
        assert_true(asked_pull(&g, &db));
        assert_null(asked_find(&db, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, "web.service"));
        asked_forget(&web);
        asked_forget(&db);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_role_is_told_of_when_it_is_made_changed_and_removed),
        TEST(a_pool_is_told_of_and_a_host_that_changes_is_no_news_of_it),
        TEST(a_pool_that_comes_again_while_much_is_to_be_told_is_there),
        TEST(a_right_is_told_of_as_it_is_given),
        TEST(an_update_has_its_own_story),
        TEST(a_drain_is_told_of_until_the_node_is_open_again),
        TEST(a_rule_of_the_queue_is_told_of_with_its_place),
        TEST(that_the_queue_is_closed_is_told_and_that_it_is_open),
        TEST(new_content_is_told_of_and_that_it_is_removed),
        TEST(removed_content_is_told_also_of_units_that_are_gone_by_then),
        TEST(removed_content_is_told_to_who_was_away),
        TEST(whoever_comes_from_nothing_is_told_of_all_of_them),
        TEST(an_update_of_units_that_match_is_told_to_who_asks_for_them)
)
