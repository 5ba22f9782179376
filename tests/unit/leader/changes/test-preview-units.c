// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a preview says is what the real one does, and it does nothing.
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "printed.h"
#include "request-ties.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static RigAnswer *ask_plan(const char *name, const char *content, bool replace) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint8_t id[16] = {7};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(id), id}, .verb = START,
                           .names = (char **) &name, .n_names = 1, .replace = replace, .preview = true);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        if (content) {
                file.name = file.path = (char *) name;
                file.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
                change.files = &files;
                change.n_files = 1;
        }
        return rig_ask(&g, &request);
}

static const Argosy__Response__UnitResult *plan(const char *name, const char *content, bool replace) {
        unsigned batches = g.batches;
        RigAnswer *a = ask_plan(name, content, replace);

        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(g.batches, batches); // nothing was stored
        assert_int_equal(a->responses[0]->change->n_units, 1);
        return a->responses[0]->change->units[0];
}

static void assert_plan(const char *name, const char *content, bool replace, const char *message) {
        assert_string_equal(plan(name, content, replace)->message, message);
}

static void what_it_says_comes_true(void **state) {
        assert_plan("web.service", SERVICE, false, "would start on n1");
        assert_plan("web.service", SERVICE, false, "would start on n1"); // asking changes nothing
        assert_null(rig_record(&g, "web.service"));
        assert_string_equal(rig_change(&g, START, "web.service", SERVICE)->node, "n1");
        assert_plan("web.service", NULL, false, "is started already on n1");
        assert_plan("web.service", OTHER, true, "would stop and start again with the new file on n1");
        assert_plan("db.service", SERVICE, false, "would start on n2");
        rig_change(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL);
        assert_plan("web.service", NULL, false, "would start on n1");
}

static void a_unit_that_has_to_move_is_told_to(void **state) {
        rig_host_set_labels(&g, 3, "disk", "ssd");
        rig_change(&g, START, "web.service", SERVICE);
        assert_plan("web.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n", true,
                    "would stop where it is and start on n3");
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        assert_non_null(rig_unit_on(&g, 1, "web.service"));
}

static void what_cannot_be_has_its_reasons(void **state) {
        const Argosy__Response__UnitResult *r =
                plan("web.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n", false);

        assert_int_equal(r->status, ENOSPC);
        assert_int_equal(r->n_refusals, 3);
        assert_int_equal(plan("bad.service", "[X-Argosy]\nNonsense=1\n", false)->status, EINVAL);
        assert_int_equal(plan("none.service", NULL, false)->status, ENOENT);
        rig_host_set_labels(&g, 3, "disk", "ssd");
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        assert_plan("web.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n", false,
                    "would wait for a node");
}

static void a_finished_oneshot_would_run_again(void **state) {
        rig_change(&g, START, "job.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n");
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "job.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
        assert_plan("job.service", NULL, false, "has finished and would run again on n1");
}

static void who_refused_it_is_asked_again_as_by_a_start(void **state) {
        rig_host(&g, 1)->refuses = true;
        rig_change(&g, START, "pinned.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_host(&g, 1)->refuses = false;
        assert_int_equal(rig_record(&g, "pinned.service")->node, 0);
        assert_plan("pinned.service", NULL, false, "would start on n1");
        assert_plan("pinned.service", NULL, false, "would start on n1");
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_OPEN, 0, ""); // who waits is looked at again
        assert_int_equal(rig_record(&g, "pinned.service")->node, 0); // who only asked has changed nothing
        assert_string_equal(rig_change(&g, START, "pinned.service", NULL)->node, "n1");
        assert_int_equal(rig_count_running(&g, "pinned.service"), 1);
}

// ---- many units

enum { MANY = 500, PLAN_MAX = 2000, OLD = 3 };

// OLD instances of old@.service, and then of new@.service, which replaces those.
static RigAnswer *plan_many(size_t n) {
        static char names[PLAN_MAX + 1][40], *pointers[PLAN_MAX + 1];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        Argosy__NamedFile old = ARGOSY__NAMED_FILE__INIT, new = ARGOSY__NAMED_FILE__INIT,
                          *files[] = {&old, &new};
        static const char old_content[] = SERVICE, new_content[] = SERVICE "[X-Argosy]\nReplaces=old@*\n";
        uint8_t id[16] = {8};

        assert_in_range(n, 1, PLAN_MAX + 1);
        for (size_t i = 0; i < n; i++) {
                snprintf(names[i], sizeof(names[i]), "%s@%zu.service", i < OLD ? "old" : "new", i);
                pointers[i] = names[i];
        }
        old.name = old.path = (char *) "old@.service";
        old.content = (ProtobufCBinaryData){strlen(old_content), (uint8_t *) old_content};
        new.name = new.path = (char *) "new@.service";
        new.content = (ProtobufCBinaryData){strlen(new_content), (uint8_t *) new_content};
        change.id = (ProtobufCBinaryData){sizeof(id), id};
        change.verb = START;
        change.names = pointers;
        change.n_names = n;
        change.preview = true;
        change.files = files;
        change.n_files = 2;
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final);
        return a;
}

// Of those that are planned on a node only those are looked at who are replaced there.
static void each_of_many_is_looked_at_for_itself(void **state) {
        rig_stop(&g);
        rig_start(&g, 2);
        const Argosy__Response__Change *c = plan_many(MANY)->responses[0]->change;
        assert_int_equal(c->n_units, MANY);
        assert_string_equal(c->units[0]->message, "would wait for a node: new@4.service replaces it there");
        assert_string_equal(c->units[MANY - 1]->node, "n2");
        assert_in_range(g.leader->n_plan_dues, OLD, 4 * OLD);
}

static void more_than_one_turn_can_plan_are_refused(void **state) {
        const Argosy__Response *r = plan_many(PLAN_MAX + 1)->responses[0];

        assert_int_equal(r->status, E2BIG);
        assert_string_equal(r->message, "the plan names 2001 units, more than 2000: plan fewer at once");
        r = plan_many(REQUEST_TIED_MAX + 1)->responses[0]; // they replace others
        assert_replies(r, E2BIG, "of such no more than 512 are changed at once");
        assert_int_equal(plan_many(REQUEST_TIED_MAX)->responses[0]->status, 0);
}

// ---- who is named

// A start of two units, each with a file of its own.
static const Argosy__Response__Change *plan_two(const char *const names[2], const char *const contents[2]) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        Argosy__NamedFile files[2], *pointers[] = {&files[0], &files[1]};
        uint8_t id[16] = {9};

        for (size_t i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) names[i], .path = (char *) names[i],
                        .content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]});
        }
        change.id = (ProtobufCBinaryData){sizeof(id), id};
        change.verb = START;
        change.names = (char **) names;
        change.files = pointers;
        change.n_names = change.n_files = 2;
        change.preview = true;
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final);
        return a->responses[0]->change;
}

static const char *message_about(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (strcmp(c->units[i]->name, name) == 0)
                        return c->units[i]->message;
        return "nothing";
}

static void of_several_who_replace_the_one_is_named_that_does(void **state) {
        static const char *const names[] = {"a-new.service", "b-new.service"};
        static const char *const contents[] = {SERVICE "[X-Argosy]\nHost=n1\nReplaces=a.service\n",
                                               SERVICE "[X-Argosy]\nHost=n1\nReplaces=b.service\n"};

        rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "b.service", SERVICE "[X-Argosy]\nHost=n1\n");
        const Argosy__Response__Change *c = plan_two(names, contents);
        assert_string_equal(message_about(c, "a.service"),
                            "would stop on n1 and wait for a node: a-new.service replaces it there");
        assert_string_equal(message_about(c, "b.service"),
                            "would stop on n1 and wait for a node: b-new.service replaces it there");
}

static const Argosy__Response__Change *plan_all(const char *name, const char *content) {
        RigAnswer *a = ask_plan(name, content, true);

        rig_settle(&g);
        assert_true(a->final);
        return a->responses[0]->change;
}

// Whoever leaves takes up room until the log has it: a round that came before would give what is left to a
// smaller one.
static void who_waits_has_his_turn_when_the_others_have_left(void **state) {
        (void) rig_label(&g, "n1", "offers/slot", "4");
        rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nHost=n2\n");
        rig_change(&g, START, "b.service", SERVICE "[X-Argosy]\nHost=n2\n");
        rig_change(&g, START, "keeper.service", SERVICE "[X-Argosy]\nHost=n1 n2\nReplaces=small.service\n");
        assert_string_equal(rig_node_name(&g, "keeper.service"), "n1");
        rig_change(&g, START, "old.service", SERVICE "[X-Argosy]\nReserveResource=slot:2\n");
        rig_change(&g, START, "large.service",
                   SERVICE "[X-Argosy]\nPriority=2\nPreemptible=no\nReserveResource=slot:3\n");
        rig_change(&g, START, "small.service", SERVICE "[X-Argosy]\nPriority=1\nReserveResource=slot\n");
        assert_string_equal(rig_node_name(&g, "large.service"), "");
        assert_string_equal(rig_node_name(&g, "small.service"), "");
        const Argosy__Response__Change *c =
                plan_all("new.service", SERVICE
                         "[X-Argosy]\nHost=n1\nReplaces=old.service keeper.service\nReserveResource=slot\n");
        assert_string_equal(message_about(c, "large.service"), "would start on n1");
        rig_change(&g, START, "new.service",
                   SERVICE
                   "[X-Argosy]\nHost=n1\nReplaces=old.service keeper.service\nReserveResource=slot\n");
        assert_string_equal(rig_node_name(&g, "large.service"), "n1");
        assert_string_equal(rig_node_name(&g, "small.service"), "");
}

// ---- groups

#define GROUP SERVICE "[X-Argosy]\nHost=n1 n2\nReserveResource=slot\nMaxUnavailable=1\n"
#define NEW SERVICE "[X-Argosy]\nHost=n1\nReplaces=old@*\n"

// Three instances on n1, whose only other node has room for so many.
static void who_waits_has_his_turn_when_another_one_goes_to_all_nodes(void **state) {
        static const char with_enemy[] =
                SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\nConflicts=web.service\n";

        rig_host_set_labels(&g, 1, "disk", "ssd");
        rig_change(&g, START, "web.service", SERVICE);
        assert_string_equal(rig_node_name(&g, "web.service"), "n1");
        rig_change(&g, START, "db.service", with_enemy);
        assert_string_equal(rig_node_name(&g, "db.service"), "");
        RigAnswer *a = ask_plan("web.service", SERVICE "[X-Argosy]\nGlobal=yes\n", true);
        rig_settle(&g);
        assert_int_equal(a->responses[0]->change->n_units, 2);
        assert_string_equal(a->responses[0]->change->units[1]->name, "db.service");
        assert_string_equal(a->responses[0]->change->units[1]->node, "n1");
        rig_change_with_and_settle(&g, START, "web.service", SERVICE "[X-Argosy]\nGlobal=yes\n", true, NULL);
        assert_string_equal(rig_node_name(&g, "db.service"), "n1");
}

static void who_stays_with_another_content_replaces_others(void **state) {
        static const char other[] = SERVICE "[X-Argosy]\nHost=n1\nReplaces=old.service\n";

        rig_change(&g, START, "old.service", SERVICE "[X-Argosy]\nPreferLabel=disk=ssd:1\n");
        rig_change(&g, START, "new.service", SERVICE "[X-Argosy]\nHost=n1\n");
        assert_string_equal(rig_node_name(&g, "old.service"), "n1");
        const Argosy__Response__Change *c = plan_all("new.service", other);
        assert_string_equal(message_about(c, "new.service"),
                            "would stop and start again with the new file on n1");
        assert_string_equal(message_about(c, "old.service"),
                            "would stop on n1 and start on n2: new.service replaces it there");
        rig_change_with_and_settle(&g, START, "new.service", other, true, NULL);
        assert_string_equal(rig_node_name(&g, "old.service"), "n2");
}

static void who_waits_has_his_turn_when_another_one_needs_less(void **state) {
        static const char less[] = SERVICE "[X-Argosy]\nHost=n1\nReserveResource=slot\n";

        (void) rig_label(&g, "n1", "offers/slot", "4");
        rig_change(&g, START, "large.service", SERVICE "[X-Argosy]\nHost=n1\nReserveResource=slot:3\n");
        rig_change(&g, START, "waits.service", SERVICE "[X-Argosy]\nReserveResource=slot:2\n");
        assert_string_equal(rig_node_name(&g, "waits.service"), "");
        const Argosy__Response__Change *c = plan_all("large.service", less);
        assert_string_equal(message_about(c, "waits.service"), "would start on n1");
        rig_change_with_and_settle(&g, START, "large.service", less, true, NULL);
        assert_string_equal(rig_node_name(&g, "waits.service"), "n1");
}

// What its content says of others by now moves it only when something else does.
static void nobody_follows_one_that_stays(void **state) {
        rig_change(&g, START, "db.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "enemy.service", SERVICE "[X-Argosy]\nHost=n1\n");
        rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nMachineOf=db.service\n");
        rig_change_with_and_settle(&g, START, "web.service",
                                   SERVICE "[X-Argosy]\nMachineOf=db.service\nConflicts=enemy.service\n",
                                   true, NULL);
        assert_string_equal(rig_node_name(&g, "web.service"), "n1");
        assert_int_equal(plan_all("db.service", OTHER "[X-Argosy]\nHost=n1\n")->n_units, 1);
        rig_change_with_and_settle(&g, START, "db.service", OTHER "[X-Argosy]\nHost=n1\n", true, NULL);
        assert_string_equal(rig_node_name(&g, "web.service"), "n1");
}

// With each record of it, or of who activates it; then what its content says of others counts, too.
static void what_others_activate_is_looked_at_again(void **state) {
        static const char next[] = SERVICE "[X-Argosy]\nConflicts=enemy.service\n";
        static const char timer[] = "[Timer]\nOnActiveSec=1h\n[X-Argosy]\nHost=n1\n";

        rig_change(&g, START, "job.service", SERVICE);
        rig_change(&g, START, "job.timer", timer);
        rig_change(&g, START, "enemy.service", SERVICE "[X-Argosy]\nHost=n1\n");
        assert_string_equal(rig_node_name(&g, "job.service"), "n1");
        const Argosy__Response__Change *c = plan_all("job.service", next);
        assert_int_equal(c->n_units, 1);
        assert_string_equal(c->units[0]->node, "n2");
        rig_change_with_and_settle(&g, START, "job.service", next, true, NULL);
        assert_string_equal(rig_node_name(&g, "job.service"), "n2");
}

static void start_group(const char *room) {
        (void) rig_label(&g, "n1", "offers/slot", "3");
        for (unsigned i = 1; i <= 3; i++) {
                assert_string_equal(rig_change(&g, START, printed("old@%u.service", i), GROUP)->node, "n1");
        }
        (void) rig_label(&g, "n2", "offers/slot", room);
}

// The plan, which asked twice says the same and leaves nothing behind; then the start, which does that.
static const Argosy__Response__Change *plan_and_start(const char *name, const char *content) {
        const Argosy__Response__Change *c = plan_all(name, content), *again = plan_all(name, content);

        assert_false(g.leader->plans);
        assert_int_equal(c->n_units, again->n_units);
        for (size_t i = 0; i < c->n_units; i++)
                assert_string_equal(c->units[i]->message, message_about(again, c->units[i]->name));
        assert_int_equal(rig_change(&g, START, name, content)->status, 0);
        for (size_t i = 0; i < c->n_units; i++)
                if (strcmp(rig_node_name(&g, c->units[i]->name), c->units[i]->node) != 0)
                        fail_msg("%s is on \"%s\", not on \"%s\"", c->units[i]->name,
                                 rig_node_name(&g, c->units[i]->name), c->units[i]->node);
        return c;
}

static void all_of_a_group_leave_one_after_the_other(void **state) {
        start_group("3");
        const Argosy__Response__Change *c = plan_and_start("new.service", NEW);
        assert_string_equal(message_about(c, "new.service"), "would start on n1");
        assert_string_equal(message_about(c, "old@3.service"),
                            "would stop on n1 and start on n2: new.service replaces it there");
        assert_string_equal(rig_node_name(&g, "old@3.service"), "n2");
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
}

static void of_a_group_that_can_spare_no_more_the_others_stay(void **state) {
        start_group("1");
        const Argosy__Response__Change *c = plan_and_start("new.service", NEW);
        assert_string_equal(message_about(c, "old@1.service"),
                            "would stop on n1 and start on n2: new.service replaces it there");
        assert_string_equal(message_about(c, "old@2.service"),
                            "would stop on n1 and wait for a node: new.service replaces it there");
        assert_string_equal(message_about(c, "old@3.service"),
                            "would stay on n1 until more of its group are up (MaxUnavailable=): "
                            "new.service replaces it there");
        assert_string_equal(
                message_about(c, "new.service"),
                "would start on n1; it waits there until old@3.service has left (MaxUnavailable=)");
        assert_int_equal(rig_count_running(&g, "new.service"), 0);
        assert_int_equal(rig_count_running(&g, "old@1.service") + rig_count_running(&g, "old@3.service"), 2);
}

// The room that the replaced unit leaves is taken by one of the group, which can spare another one then.
static void who_waits_already_leaves_when_the_plan_makes_room(void **state) {
        start_group("2");
        rig_change(&g, START, "high.service", SERVICE "[X-Argosy]\nHost=n2\nReserveResource=slot\n");
        rig_change(&g, START, "new.service", NEW);
        assert_string_equal(rig_node_name(&g, "old@1.service"), "n2");
        assert_string_equal(rig_node_name(&g, "old@2.service"), "");
        assert_string_equal(rig_node_name(&g, "old@3.service"), "n1");
        const Argosy__Response__Change *c =
                plan_and_start("newer.service", SERVICE "[X-Argosy]\nHost=n2\nReplaces=high.service\n");
        assert_string_equal(message_about(c, "high.service"),
                            "would stop on n2 and wait for a node: newer.service replaces it there");
        assert_string_equal(message_about(c, "old@2.service"), "would start on n2");
        assert_string_equal(message_about(c, "old@3.service"),
                            "would stop on n1 and wait for a node: new.service replaces it there");
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
}

// In the same round it could have another node; then somebody who is replaced leaves room where it was.
static void who_is_preempted_comes_back_to_where_it_was(void **state) {
        (void) rig_label(&g, "n1", "offers/slot", "2");
        rig_change(&g, START, "low.service",
                   SERVICE "[X-Argosy]\nHost=n1 n2\nPriority=-5\nReserveResource=slot\n");
        rig_change(&g, START, "old.service", SERVICE "[X-Argosy]\nHost=n1 n2\nReserveResource=slot\n");
        (void) rig_label(&g, "n2", "offers/slot", "2");
        (void) plan_and_start("high.service",
                              SERVICE "[X-Argosy]\nHost=n1\nPriority=5\nReserveResource=slot\n"
                                      "Replaces=old.service\n");
        assert_string_equal(rig_node_name(&g, "high.service"), "n1");
        assert_string_equal(rig_node_name(&g, "old.service"), "n2");
        assert_string_equal(rig_node_name(&g, "low.service"), "n1");
}

// It is known, and on no node: the plan gives it one, and then to somebody else.
static void who_is_planned_first_may_be_preempted_by_the_next_one(void **state) {
        (void) rig_label(&g, "n1", "offers/slot", "1");
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "low.service",
                   SERVICE "[X-Argosy]\nHost=n1\nPriority=-5\nReserveResource=slot\n");
        RigAnswer *a = ask_plan(
                "high.service",
                SERVICE "[X-Argosy]\nHost=n1\nPriority=5\nReserveResource=slot\nRequires=low.service\n",
                false);
        rig_settle(&g);
        const Argosy__Response__Change *c = a->responses[0]->change;
        assert_string_equal(
                message_about(c, "low.service"),
                "would wait for a node: high.service, which has a higher priority, takes its place");
        assert_non_null(strstr(message_about(c, "high.service"), "would start on n1"));
}

static void who_has_the_higher_priority_is_planned_first(void **state) {
        static const char *const names[] = {"low.service", "high.service"};
        static const char *const contents[] = {
                SERVICE "[X-Argosy]\nHost=n1\nPriority=-5\nReserveResource=slot\n",
                SERVICE "[X-Argosy]\nHost=n1\nPriority=5\nReserveResource=slot\n"};

        (void) rig_label(&g, "n1", "offers/slot", "1");
        const Argosy__Response__Change *c = plan_two(names, contents);
        assert_string_equal(c->units[0]->name, "low.service"); // answers are in the order of the names
        assert_string_equal(message_about(c, "low.service"), "would wait for a node");
        assert_string_equal(message_about(c, "high.service"), "would start on n1");
}

static void who_demands_most_is_planned_first(void **state) {
        static const char *const names[] = {"small.service", "large.service"};
        static const char *const contents[] = {SERVICE "[X-Argosy]\nHost=n1\nReserveResource=slot\n",
                                               SERVICE "[X-Argosy]\nHost=n1\nReserveResource=slot:2\n"};

        (void) rig_label(&g, "n1", "offers/slot", "2");
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, names[0], contents[0]);
        const Argosy__Response__Change *c = plan_two(names, contents);
        assert_string_equal(message_about(c, "small.service"), "would wait for a node");
        assert_string_equal(message_about(c, "large.service"), "would start on n1");
}

// ---- beside others

enum { JOBS = 30 };

static void name_job(char name[32], unsigned i) {
        snprintf(name, 32, "job%u.service", i);
}

// In each turn one more of them ends, so that there is something for every batch.
static void end_a_job(Rig *r) {
        static unsigned n;
        char name[32];

        name_job(name, n++ % JOBS);
        for (uint32_t h = 1; h <= 3; h++)
                if (rig_unit_on(r, h, name))
                        rig_host_report(r, rig_host(r, h), rig_unit_on(r, h, name),
                                        ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__DONE);
}

static void who_asks_holds_nobody_up_and_is_held_up_by_nobody(void **state) {
        for (unsigned i = 0; i < JOBS; i++) {
                char name[32];

                name_job(name, i);
                rig_change(&g, START, name, "[Service]\nType=oneshot\nExecStart=/bin/true\n");
        }
        rig_change(&g, START, "web.service", SERVICE);
        g.on_turn = end_a_job;
        rig_turns(&g, 5);
        RigAnswer *asked = ask_plan("db.service", SERVICE, false);
        RigAnswer *stopped = rig_change_with(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL, false, NULL);
        rig_turns(&g, JOBS / 2);
        g.on_turn = NULL;
        assert_true(asked->final);
        assert_true(stopped->final);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
}

static size_t n_asking(void) {
        size_t n = 0;

        list_foreach (i, &g.leader->previews_asking)
                n++;
        return n;
}

static void let_deploy(const char *user) {
        Argosy__Request__AccessChange change =
                ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_DEPLOY, .user = (char *) user);

        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(ACCESS_CHANGE, access_change, &change)))->status,
                0);
}

// Plans ask one node, and as that refuses, the next one. In between they wait for nobody, and the turn of
// who was served less comes between the two.
static void a_plan_that_asks_again_has_kept_its_place_among_those_that_wait(void **state) {
#define FIRST_ON_N1 SERVICE "[X-Argosy]\nHost=n1 n2\nPreferLabel=first\n"
        static const char *const taken[] = {"a.service", "c.service", NULL};
        Argosy__Author alice = AUTHOR_OF(.host = 2, .uid = 1000, .user = (char *) "alice"),
                       bob = AUTHOR_OF(.host = 2, .uid = 1001, .user = (char *) "bob");
        RigAnswer *asked[3];

        let_deploy("alice");
        let_deploy("bob");
        (void) rig_label(&g, "n1", "first", "yes");
        g.leader->limits.plans_asking_others = 2;
        for (uint32_t host = 1; host <= 3; host++)
                rig_host(&g, host)->deaf = true;
        rig_host(&g, 1)->others = taken;
        g.author = &alice;
        asked[0] = ask_plan("a.service", FIRST_ON_N1, false);
        asked[1] = ask_plan("c.service", FIRST_ON_N1, false);
        rig_settle(&g);
        g.author = &bob;
        asked[2] = ask_plan("b.service", SERVICE "[X-Argosy]\nHost=n3\n", false);
        rig_settle(&g);
        assert_int_equal(n_asking(), 2);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        assert_int_equal(n_asking(), 2);
        for (uint32_t host = 2; host <= 3; host++)
                rig_host(&g, host)->deaf = false;
        rig_settle(&g);
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                assert_int_equal(rig_change_answered(asked[i])->n_units, 1);
        g.author = NULL;
}

RUN_TESTS(
        RIG_TEST(what_it_says_comes_true),
        RIG_TEST(a_unit_that_has_to_move_is_told_to),
        RIG_TEST(what_cannot_be_has_its_reasons),
        RIG_TEST(a_finished_oneshot_would_run_again),
        RIG_TEST(who_refused_it_is_asked_again_as_by_a_start),
        RIG_TEST(each_of_many_is_looked_at_for_itself),
        RIG_TEST(more_than_one_turn_can_plan_are_refused),
        RIG_TEST(of_several_who_replace_the_one_is_named_that_does),
        RIG_TEST(who_waits_has_his_turn_when_the_others_have_left),
        RIG_TEST(who_waits_has_his_turn_when_another_one_goes_to_all_nodes),
        RIG_TEST(who_stays_with_another_content_replaces_others),
        RIG_TEST(who_waits_has_his_turn_when_another_one_needs_less),
        RIG_TEST(nobody_follows_one_that_stays),
        RIG_TEST(what_others_activate_is_looked_at_again),
        RIG_TEST(all_of_a_group_leave_one_after_the_other),
        RIG_TEST(of_a_group_that_can_spare_no_more_the_others_stay),
        RIG_TEST(who_waits_already_leaves_when_the_plan_makes_room),
        RIG_TEST(who_is_planned_first_may_be_preempted_by_the_next_one),
        RIG_TEST(who_has_the_higher_priority_is_planned_first),
        RIG_TEST(who_demands_most_is_planned_first),
        RIG_TEST(who_is_preempted_comes_back_to_where_it_was),
        RIG_TEST(who_asks_holds_nobody_up_and_is_held_up_by_nobody),
        RIG_TEST(a_plan_that_asks_again_has_kept_its_place_among_those_that_wait)
)
