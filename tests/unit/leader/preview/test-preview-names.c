// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A plan says what a start meets where a name belongs to somebody else: the nodes are asked, what they
// refuse is planned elsewhere, and what they do not say is said to be unknown.
#include "leader-asks.h"
#include "leader-private.h"
#include "macro.h"
#include "messages.h"
#include "printed.h"
#include "unit-work.h"

#define UNIT(options) "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\n" options
#define START ARGOSY__VERB__VERB_START
#define FOREIGN "/etc/systemd/system has a unit of this name"

enum {
        HOSTS = 3,
        MANY = 700,
};

static const char *const web[] = {"web.service", NULL};
static const char *const mine[] = {"w@1.service", "w@300.service", "w@699.service", NULL};

static Rig g;
static char names[MANY][32], *pointers[MANY];

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i + 1);
                pointers[i] = names[i];
        }
}

RIG_TEARDOWN

// `files`: name and content are given.
static RigAnswer *ask_with_files(char **units, size_t n, Argosy__NamedFile **files, size_t n_files,
                                 bool dry) {
        static uint64_t id;
        uint64_t words[2] = {++id, 78};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(words), (uint8_t *) words},
                           .verb = START, .names = units, .n_names = n, .preview = dry, .files = files,
                           .n_files = n_files);

        return rig_ask(&g, A_REQUEST(CHANGE, change, &change));
}

static Argosy__NamedFile file_of(const char *name, const char *content) {
        Argosy__NamedFile file =
                MESSAGE_OF(named_file, .name = (char *) name, .path = (char *) name,
                           .content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content});

        return file;
}

static RigAnswer *ask_about(char **units, size_t n, const char *file_name, const char *content, bool dry) {
        Argosy__NamedFile file = file_of(file_name, content), *files = &file;

        return ask_with_files(units, n, &files, 1, dry);
}

static RigAnswer *ask_about_web(const char *content) {
        char *name = (char *) web[0];

        return ask_about(&name, 1, name, content, true);
}

static const Argosy__Response__UnitResult *plan_web(const char *content) {
        unsigned batches = g.batches;
        RigAnswer *a = ask_about_web(content);

        rig_settle(&g);
        assert_int_equal(g.batches, batches);
        const Argosy__Response__Change *c = rig_change_answered(a);
        assert_int_equal(c->n_units, 1);
        return c->units[0];
}

// ---- stories

static void where_the_name_is_somebody_elses_it_is_not_planned(void **state) {
        rig_host(&g, 1)->others = web;
        const Argosy__Response__UnitResult *u = plan_web(UNIT(""));
        assert_string_equal(u->message, "would start on n2");
        assert_string_equal(u->node, "n2");
        assert_null(unit_find(g.leader, web[0])); // nothing is left of what was thought
        assert_string_equal(plan_web(UNIT(""))->message, "would start on n2");
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(rig_node_name(&g, web[0]), "n2");
}

static void nobody_is_refused_for_good_by_a_plan(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, web[0], UNIT(""));
        rig_host(&g, 1)->others = web;
        assert_string_equal(plan_web(UNIT(""))->message, "would start on n2");
        assert_null(unit_work_seen(unit_find(g.leader, web[0]))->exclusions);
}

static void where_no_node_has_the_name_free_it_waits(void **state) {
        for (uint32_t h = 1; h <= HOSTS; h++)
                rig_host(&g, h)->others = web;
        const Argosy__Response__UnitResult *u = plan_web(UNIT(""));
        assert_string_equal(u->message, "would wait for a node");
        assert_string_equal(u->node, "");
        assert_int_equal(u->n_refusals, HOSTS);
        for (size_t i = 0; i < HOSTS; i++)
                assert_string_equal(u->refusals[i]->reason, FOREIGN);
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(rig_node_name(&g, web[0]), "");
}

static void report_refused(uint32_t host) {
        Argosy__UnitReport report = UNIT_REPORT_OF(.node = host, .name = (char *) web[0], .refused = true,
                                                   .error = (char *) FOREIGN),
                           *reports = &report;
        Argosy__ToVoter__Reports m = MESSAGE_OF(to_voter__reports, .reports = &reports, .n_reports = 1);
        Argosy__ToVoter message = TO_VOTER_OF(REPORTS, reports, &m);

        leader_on_message(g.leader, host, &message);
        rig_settle(&g);
}

// It has not said yet that it has let go of it, and has nothing of it.
static void a_node_that_has_just_refused_it_is_asked_about_it(void **state) {
        for (uint32_t h = 1; h <= HOSTS; h++)
                rig_host(&g, h)->others = web;
        rig_change(&g, START, web[0], UNIT(""));
        rig_host(&g, 1)->deaf = true;
        report_refused(1);
        RigAnswer *a = ask_about_web(UNIT(""));
        rig_settle(&g);
        assert_int_equal(a->n, 0);
        rig_host(&g, 1)->deaf = false;
        rig_settle(&g);
        const Argosy__Response__UnitResult *u = rig_change_answered(a)->units[0];
        assert_string_equal(u->message, "would wait for a node");
        assert_int_equal(u->n_refusals, HOSTS);
}

// What the start before has found out is asked anew, as a start would.
static void a_node_that_has_the_name_free_by_now_is_planned(void **state) {
        rig_host(&g, 1)->others = rig_host(&g, 2)->others = rig_host(&g, 3)->others = web;
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(plan_web(UNIT(""))->message, "would wait for a node");
        // these are the start's, and stay
        assert_non_null(unit_work_seen(unit_find(g.leader, web[0]))->exclusions);
        rig_host(&g, 3)->others = NULL;
        assert_string_equal(plan_web(UNIT(""))->message, "would start on n3");
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(rig_node_name(&g, web[0]), "n3");
}

static void what_is_there_already_is_not_asked_about(void **state) {
        rig_change(&g, START, web[0], UNIT(""));
        rig_host(&g, 1)->calls = 0;
        assert_string_equal(plan_web(UNIT(""))->message, "is started already on n1");
        assert_int_equal(rig_host(&g, 1)->calls, 0);
}

static void of_one_that_runs_everywhere_the_nodes_that_refuse_it_are_named(void **state) {
        rig_host(&g, 2)->others = web;
        assert_string_equal(plan_web(UNIT("Global=true\n"))->message,
                            "would start on all nodes that fit; not on n2: " FOREIGN);
        assert_string_equal(plan_web(UNIT("Global=true\nHost=n1 n3\n"))->message,
                            "would start on all nodes that fit");
}

static void many_are_asked_about_in_a_few_calls(void **state) {
        rig_host(&g, 1)->others = mine;
        const Argosy__Response__Change *c = rig_change_answered(({
                RigAnswer *a = ask_about(pointers, MANY, "w@.service", UNIT(""), true);
                rig_settle(&g);
                a;
        }));
        assert_int_equal(c->n_units, MANY);
        assert_in_range(rig_host(&g, 1)->calls + rig_host(&g, 2)->calls + rig_host(&g, 3)->calls, 3, 12);
        rig_change_answered(({
                RigAnswer *a = ask_about(pointers, MANY, "w@.service", UNIT(""), false);
                rig_settle(&g);
                a;
        }));
        for (size_t i = 0; mine[i]; i++) {
                assert_string_not_equal(rig_node_name(&g, mine[i]), "");
                assert_string_not_equal(rig_node_name(&g, mine[i]), "n1");
        }
        for (size_t i = 0; i < MANY; i++)
                if (strcmp(c->units[i]->node, "n1") == 0)
                        for (size_t k = 0; mine[k]; k++)
                                assert_string_not_equal(c->units[i]->name, mine[k]);
}

static char *sent; // the content that came with the last question
static unsigned n_sent;

static void keep_content(Rig *r, uint32_t host, const Argosy__ToHost *m) {
        const Argosy__ToHost__NameCheck *q =
                m->msg_case == ARGOSY__TO_HOST__MSG_CALL ? m->call->names : NULL;

        if (!q)
                return;
        free(sent);
        sent = NULL;
        n_sent += q->n_contents;
        assert_true(q->n_contents <= 1);
        assert_int_equal(q->units[0]->content, q->n_contents);
        if (q->n_contents)
                sent = strndup((char *) q->contents[0].data, q->contents[0].len);
}

// Aliases belong to somebody, too: the host finds them in the file.
static void the_file_of_one_with_aliases_goes_along(void **state) {
        static const char *const aliased = UNIT("") "[Install]\nAlias=www.service\n";

        g.on_host_message = keep_content;
        n_sent = 0;
        (void) plan_web(UNIT(""));
        assert_null(sent);
        (void) plan_web(aliased);
        assert_string_equal(sent, aliased);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, web[0], aliased);
        (void) plan_web(aliased); // as the log has it
        assert_string_equal(sent, aliased);
        assert_int_equal(n_sent, 2);
        free(sent);
        sent = NULL;
}

// The host finds in it how its container is called, which somebody else's may be, too.
static void the_file_of_a_container_goes_along(void **state) {
        static const char *const box = "[Container]\nImage=localhost/box:1\n";

        rig_host_set_labels(&g, 1, "podman", "5.4");
        g.on_host_message = keep_content;
        n_sent = 0;
        (void) plan_web(box);
        assert_string_equal(sent, box);
        assert_int_equal(n_sent, 1);
        free(sent);
        sent = NULL;
}

#define FOR_USERS UNIT("Manager=user@*\n")

static uint32_t asked_node; // by the last question

static void keep_node(Rig *r, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_CALL && m->call->names)
                asked_node = m->call->node;
}

static void a_user_s_manager_is_asked_too(void **state) {
        g.on_host_message = keep_node;
        rig_host_set_manager(&g, 1, "user@1001");
        rig_host_set_manager(&g, 2, "user@1002");
        rig_host(&g, 1)->others = web;
        assert_string_equal(plan_web(FOR_USERS)->message, "would start on n2/user@1002");
        assert_string_equal(node_find(g.leader, asked_node)->name, "n2/user@1002");
        rig_change(&g, START, web[0], FOR_USERS);
        assert_string_equal(rig_node_name(&g, web[0]), "n2/user@1002");
}

// It gets nothing as long as it is not there, and what it has waits for it.
static void a_manager_that_is_not_there_is_not_asked(void **state) {
        rig_host(&g, 1)->reason = "the user is not logged in";
        rig_host_set_manager(&g, 1, "user@1001");
        rig_host(&g, 1)->calls = 0;
        const Argosy__Response__UnitResult *u = plan_web(FOR_USERS);
        assert_string_equal(u->message, "would wait for a node");
        assert_string_equal(u->refusals[u->n_refusals - 1]->node, "n1/user@1001");
        assert_string_equal(u->refusals[u->n_refusals - 1]->reason, "the user is not logged in");
        assert_int_equal(rig_host(&g, 1)->calls, 0);
        rig_change(&g, START, web[0], FOR_USERS);
        assert_string_equal(rig_node_name(&g, web[0]), "");
        rig_host_send_reason(&g, 1, NULL);
        assert_string_equal(rig_node_name(&g, web[0]), "n1/user@1001");
        rig_host_send_reason(&g, 1, "the user is not logged in");
        u = plan_web(FOR_USERS);
        assert_string_equal(
                u->message,
                "is started already on n1/user@1001; n1/user@1001 cannot be used at present: the user is "
                "not logged in");
        rig_change(&g, START, web[0], FOR_USERS);
        assert_string_equal(rig_node_name(&g, web[0]), "n1/user@1001");
}

static void one_that_does_not_answer_is_waited_for_as_long_as_it_may_take(void **state) {
        rig_host(&g, 1)->mute = true;
        RigAnswer *a = ask_about_web(UNIT(""));
        rig_settle(&g);
        assert_false(a->final);
        rig_change(&g, START, "other.service", UNIT("Host=n2\n")); // others are decided meanwhile
        assert_string_equal(rig_node_name(&g, "other.service"), "n2");
        rig_pass_ms(&g, 4000);
        assert_false(a->final);
        rig_pass_ms(&g, 2000);
        assert_string_equal(rig_change_answered(a)->units[0]->message,
                            "would start on n1; n1 has not said whether the name is free there");
}

static void one_that_is_lost_meanwhile_is_not_waited_for(void **state) {
        rig_host(&g, 2)->mute = true;
        RigAnswer *a = ask_about_web(UNIT("Host=n2\n"));
        rig_settle(&g);
        rig_host_off(&g, 2);
        rig_host_on(&g, 2, false);
        assert_string_equal(rig_change_answered(a)->units[0]->message,
                            "would start on n2; n2 has not said whether the name is free there");
}

static void a_plan_that_nobody_wants_any_more_is_forgotten(void **state) {
        rig_host(&g, 1)->mute = true;
        RigAnswer *a = ask_about_web(UNIT(""));
        rig_settle(&g);
        rig_cancel(&g, a);
        rig_pass_ms(&g, 6000);
        assert_string_equal(plan_web(UNIT("Host=n2\n"))->message, "would start on n2");
}

// ---- whoever is stopped for a unit that is then refused

static const Argosy__Response__UnitResult *row_of(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (strcmp(c->units[i]->name, name) == 0)
                        return c->units[i];
        fail_msg("the plan does not name %s", name);
        return NULL;
}

static const Argosy__Response__Change *plan_of(const char *name, const char *content) {
        char *one = (char *) name;
        RigAnswer *a = ask_about(&one, 1, name, content, true);

        rig_settle(&g);
        return rig_change_answered(a);
}

static const char *const newer[] = {"new.service", NULL};

// A host says that a name is not free only when it has the unit's order, and that waits until others have
// left.
static void who_is_replaced_where_the_other_one_is_refused_is_stopped(void **state) {
        static const char *const new = UNIT("Replaces=old.service\nHost=n1 n2\n");

        rig_change(&g, START, "old.service", UNIT("Host=n1 n3\n"));
        assert_string_equal(rig_node_name(&g, "old.service"), "n1");
        rig_change(&g, START, "a.service", UNIT("Host=n2\n"));
        rig_change(&g, START, "b.service", UNIT("Host=n2\n"));
        rig_host(&g, 1)->others = newer;
        const Argosy__Response__Change *c = plan_of("new.service", new);
        assert_int_equal(c->n_units, 2);
        assert_string_equal(row_of(c, "new.service")->message, "would start on n2");
        assert_string_equal(
                row_of(c, "old.service")->message,
                "would stop on n1 and start on n3: new.service replaces it there, and is then refused");
        rig_change(&g, START, "new.service", new);
        assert_string_equal(rig_node_name(&g, "new.service"), "n2");
        assert_string_equal(rig_node_name(&g, "old.service"), "n3");
}

static void who_is_replaced_on_each_node_that_refuses_the_other_one_is_stopped(void **state) {
        static const char *const new = UNIT("Replaces=old*\n");

        for (unsigned i = 1; i <= HOSTS; i++) {
                char name[32];

                snprintf(name, sizeof(name), "old%u.service", i);
                rig_change(&g, START, name, printed(UNIT("Host=n%u\n"), i));
                rig_host(&g, i)->others = newer;
        }
        const Argosy__Response__Change *c = plan_of("new.service", new);
        assert_int_equal(c->n_units, 1 + HOSTS);
        assert_string_equal(row_of(c, "new.service")->message, "would wait for a node");
        assert_int_equal(row_of(c, "new.service")->n_refusals, HOSTS);
        for (unsigned i = 1; i <= HOSTS; i++) {
                char name[32], message[128];

                snprintf(name, sizeof(name), "old%u.service", i);
                snprintf(message, sizeof(message),
                         "would stop on n%u and start there again: new.service replaces it there, and is "
                         "then refused",
                         i);
                assert_string_equal(row_of(c, name)->message, message);
        }
        rig_change(&g, START, "new.service", new);
        assert_string_equal(rig_node_name(&g, "new.service"), "");
        assert_string_equal(rig_node_name(&g, "old3.service"), "n3");
}

static void who_is_preempted_where_the_other_one_is_refused_has_its_place_back(void **state) {
        static const char *const new = UNIT("Priority=5\nHost=n1 n2\nReserveResource=slot\n");

        rig_label(&g, "n1", "offers/slot", "1");
        rig_label(&g, "n2", "offers/slot", "1");
        rig_change(&g, START, "low1.service", UNIT("Priority=-5\nHost=n1\nReserveResource=slot\n"));
        rig_change(&g, START, "low2.service", UNIT("Priority=-4\nHost=n2\nReserveResource=slot\n"));
        rig_host(&g, 1)->others = newer;
        const Argosy__Response__Change *c = plan_of("new.service", new);
        assert_int_equal(c->n_units, 3);
        assert_string_equal(row_of(c, "new.service")->message, "would start on n2");
        assert_string_equal(row_of(c, "low1.service")->message,
                            "would stop on n1 and start there again: new.service, which has a higher "
                            "priority, takes its "
                            "place, and is then refused");
        assert_string_equal(row_of(c, "low2.service")->message,
                            "would stop on n2 and wait for a node: new.service, which has a higher "
                            "priority, takes its place");
        rig_change(&g, START, "new.service", new);
        assert_string_equal(rig_node_name(&g, "new.service"), "n2");
        assert_string_equal(rig_node_name(&g, "low1.service"), "n1");
        assert_string_equal(rig_node_name(&g, "low2.service"), "");
}

// Two that nobody knows yet, in one start. On n1 both names are somebody else's; the lower one comes to n2,
// and then the higher one, which n3 refuses too.
static void who_was_refused_makes_room_for_the_higher_one_all_the_same(void **state) {
        static const char *const names_of_two[] = {"low.service", "new.service", NULL};
        static const char *const contents[] = {UNIT("Priority=-5\nHost=n1 n2\nReserveResource=slot\n"),
                                               UNIT("Priority=5\nReserveResource=slot\n")};
        Argosy__NamedFile low = file_of(names_of_two[0], contents[0]),
                          new = file_of(names_of_two[1], contents[1]), *files[] = {&low, &new};

        rig_label(&g, "n1", "offers/slot", "2");
        rig_label(&g, "n2", "offers/slot", "1");
        rig_label(&g, "n3", "offers/slot", "1");
        rig_change(&g, START, "web.service", UNIT("Host=n2\n")); // so that n3 is the emptier one
        rig_host(&g, 1)->others = names_of_two;
        rig_host(&g, 3)->others = newer;
        RigAnswer *a = ask_with_files((char **) names_of_two, 2, files, 2, true);
        rig_settle(&g);
        const Argosy__Response__Change *c = rig_change_answered(a);
        assert_string_equal(row_of(c, "new.service")->node, "n2");
        assert_string_equal(row_of(c, "low.service")->node, "");
        (void) ask_with_files((char **) names_of_two, 2, files, 2, false);
        rig_settle(&g);
        assert_string_equal(rig_node_name(&g, "new.service"), "n2");
        assert_string_equal(rig_node_name(&g, "low.service"), "");
}

// Its group can spare no other one: the order of who replaces it waits, so nobody refuses that.
static void who_waits_for_others_to_leave_is_not_refused_yet(void **state) {
        static const char *const new = UNIT("Replaces=old@*\nHost=n1\n");

        rig_label(&g, "n1", "offers/slot", "2");
        for (unsigned i = 1; i <= 2; i++)
                assert_string_equal(rig_change(&g, START, i == 1 ? "old@1.service" : "old@2.service",
                                               UNIT("Host=n1 n2\nReserveResource=slot\nMaxUnavailable=1\n"))
                                            ->node,
                                    "n1");
        rig_host(&g, 1)->others = newer;
        const Argosy__Response__Change *c = plan_of("new.service", new);
        assert_string_equal(
                row_of(c, "new.service")->message,
                "would start on n1; it waits there until old@2.service has left (MaxUnavailable=); n1 would "
                "refuse it then: " FOREIGN);
        assert_string_equal(row_of(c, "old@1.service")->message,
                            "would stop on n1 and wait for a node: new.service replaces it there");
        rig_change(&g, START, "new.service", new);
        assert_string_equal(rig_node_name(&g, "new.service"), "n1");
        assert_string_equal(rig_node_name(&g, "old@1.service"), "");
        assert_string_equal(rig_node_name(&g, "old@2.service"), "n1");
        assert_null(unit_work_seen(unit_find(g.leader, "new.service"))->exclusions);
        rig_label(&g, "n2", "offers/slot", "2"); // there is room for them now
        rig_settle(&g);
        assert_string_equal(rig_node_name(&g, "old@2.service"), "n2");
        assert_string_equal(
                unit_exclusion(unit_find(g.leader, "new.service"), rig_host(&g, 1)->virtual.node), FOREIGN);
}

// Also a unit that has no record yet, and one that has just found its place.
static void who_is_to_be_with_one_that_is_refused_goes_with_it(void **state) {
        static const char *const mate = UNIT("SameNodeAs=new.service\n");

        rig_change(&g, START, "mate.service", mate);
        assert_string_equal(rig_node_name(&g, "mate.service"), "");
        rig_host(&g, 1)->others = newer;
        const Argosy__Response__Change *c = plan_of("new.service", UNIT(""));
        assert_string_equal(row_of(c, "new.service")->message, "would start on n2");
        assert_string_equal(row_of(c, "mate.service")->message, "would start on n2, where new.service is");
        rig_change(&g, START, "new.service", UNIT(""));
        assert_string_equal(rig_node_name(&g, "new.service"), "n2");
        assert_string_equal(rig_node_name(&g, "mate.service"), "n2");
}

RUN_TESTS(RIG_TEST(where_the_name_is_somebody_elses_it_is_not_planned),
          RIG_TEST(nobody_is_refused_for_good_by_a_plan), RIG_TEST(where_no_node_has_the_name_free_it_waits),
          RIG_TEST(a_node_that_has_just_refused_it_is_asked_about_it),
          RIG_TEST(a_node_that_has_the_name_free_by_now_is_planned),
          RIG_TEST(what_is_there_already_is_not_asked_about),
          RIG_TEST(of_one_that_runs_everywhere_the_nodes_that_refuse_it_are_named),
          RIG_TEST(many_are_asked_about_in_a_few_calls), RIG_TEST(the_file_of_one_with_aliases_goes_along),
          RIG_TEST(the_file_of_a_container_goes_along),
          RIG_TEST(a_user_s_manager_is_asked_too), RIG_TEST(a_manager_that_is_not_there_is_not_asked),
          RIG_TEST(one_that_does_not_answer_is_waited_for_as_long_as_it_may_take),
          RIG_TEST(one_that_is_lost_meanwhile_is_not_waited_for),
          RIG_TEST(a_plan_that_nobody_wants_any_more_is_forgotten),
          RIG_TEST(who_is_replaced_where_the_other_one_is_refused_is_stopped),
          RIG_TEST(who_is_replaced_on_each_node_that_refuses_the_other_one_is_stopped),
          RIG_TEST(who_is_preempted_where_the_other_one_is_refused_has_its_place_back),
          RIG_TEST(who_was_refused_makes_room_for_the_higher_one_all_the_same),
          RIG_TEST(who_waits_for_others_to_leave_is_not_refused_yet),
          RIG_TEST(who_is_to_be_with_one_that_is_refused_goes_with_it))
