// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A plan says what a start meets where a name belongs to somebody else: the nodes are asked, what they refuse is planned
// elsewhere, and what they do not say is said to be unknown.
#include "leader-asks.h"
#include "leader-private.h"
#include "macro.h"

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

static int setup(void **state) {
        rig_start(&g, HOSTS);
        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i + 1);
                pointers[i] = names[i];
        }
        return 0;
}

static int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

static RigAnswer *ask_about(char **units, size_t n, const char *file_name, const char *content, bool dry) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        static uint64_t id;
        uint64_t words[2] = {++id, 78};

        change.id = (ProtobufCBinaryData){sizeof(words), (uint8_t *) words};
        change.verb = START;
        change.names = units;
        change.n_names = n;
        change.dry_run = dry;
        file.name = file.path = (char *) file_name;
        file.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        change.files = &files;
        change.n_files = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        return rig_ask(&g, &request);
}

static RigAnswer *ask_about_web(const char *content) {
        char *name = (char *) web[0];

        return ask_about(&name, 1, name, content, true);
}

static const Argosy__Response__UnitResult *plan_web(const char *content) {
        unsigned batches = g.batches;
        RigAnswer *a = ask_about_web(content);
        const Argosy__Response__Change *c;

        rig_settle(&g);
        assert_int_equal(g.batches, batches);
        c = rig_change_answered(a);
        assert_int_equal(c->n_units, 1);
        return c->units[0];
}

// ---- stories

static void where_the_name_is_somebody_elses_it_is_not_planned(void **state) {
        const Argosy__Response__UnitResult *u;

        rig_host(&g, 1)->others = web;
        u = plan_web(UNIT(""));
        assert_string_equal(u->message, "would start on n2");
        assert_string_equal(u->node, "n2");
        assert_null(unit_find(g.leader, web[0])); // nothing is left of what was thought
        assert_string_equal(plan_web(UNIT(""))->message, "would start on n2");
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(rig_node_name(&g, web[0]), "n2");
}

static void where_no_node_has_the_name_free_it_waits(void **state) {
        const Argosy__Response__UnitResult *u;

        for (uint32_t h = 1; h <= HOSTS; h++)
                rig_host(&g, h)->others = web;
        u = plan_web(UNIT(""));
        assert_string_equal(u->message, "would wait for a node");
        assert_string_equal(u->node, "");
        assert_int_equal(u->n_refusals, HOSTS);
        for (size_t i = 0; i < HOSTS; i++)
                assert_string_equal(u->refusals[i]->reason, FOREIGN);
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(rig_node_name(&g, web[0]), "");
}

// What the start before has found out is asked anew, as a start would.
static void a_node_that_has_the_name_free_by_now_is_planned(void **state) {
        rig_host(&g, 1)->others = rig_host(&g, 2)->others = rig_host(&g, 3)->others = web;
        rig_change(&g, START, web[0], UNIT(""));
        assert_string_equal(plan_web(UNIT(""))->message, "would wait for a node");
        assert_non_null(unit_find(g.leader, web[0])->exclusions); // these are the start's, and stay
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
        assert_string_equal(plan_web(UNIT("Global=true\nHost=n1 n3\n"))->message, "would start on all nodes that fit");
}

static void many_are_asked_about_in_a_few_calls(void **state) {
        const Argosy__Response__Change *c;

        rig_host(&g, 1)->others = mine;
        c = rig_change_answered(({
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
        const Argosy__ToHost__NameCheck *q = m->msg_case == ARGOSY__TO_HOST__MSG_CALL ? m->call->names : NULL;

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

static void an_older_host_is_not_asked(void **state) {
        rig_stop(&g);
        rig_start_at(&g, HOSTS, 1);
        rig_host(&g, 1)->others = web;
        rig_host(&g, 1)->calls = 0;
        assert_string_equal(plan_web(UNIT(""))->message, "would start on n1");
        assert_int_equal(rig_host(&g, 1)->calls, 0);
}

static void one_that_does_not_answer_is_waited_for_as_long_as_it_may_take(void **state) {
        RigAnswer *a;

        rig_host(&g, 1)->mute = true;
        a = ask_about_web(UNIT(""));
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
        RigAnswer *a;

        rig_host(&g, 2)->mute = true;
        a = ask_about_web(UNIT("Host=n2\n"));
        rig_settle(&g);
        rig_host_off(&g, 2);
        rig_host_on(&g, 2, false);
        assert_string_equal(rig_change_answered(a)->units[0]->message,
                            "would start on n2; n2 has not said whether the name is free there");
}

static void a_plan_that_nobody_wants_any_more_is_forgotten(void **state) {
        RigAnswer *a;

        rig_host(&g, 1)->mute = true;
        a = ask_about_web(UNIT(""));
        rig_settle(&g);
        rig_cancel(&g, a);
        rig_pass_ms(&g, 6000);
        assert_string_equal(plan_web(UNIT("Host=n2\n"))->message, "would start on n2");
}

// ---- random lives

static const struct UnitOfLife {
        const char *name, *content;
} units[] = {
        {"a.service", UNIT("ReserveResource=slot:1\n")},
        {"b.service", UNIT("ReserveResource=slot:2\n")},
        {"c.service", UNIT("ReserveResource=slot:3\n")},
        {"alone.service", UNIT("Conflicts=a.service b.service\n")},
        {"pinned.service", UNIT("Host=n1 n2\nReserveResource=slot:1\n")},
        {"mate.service", UNIT("SameNodeAs=b.service\n")},
        {"all.service", UNIT("Global=true\n")},
};

enum { UNITS = ELEMENTSOF(units), LIVES = 60, STEPS = 60 };

static const char *others[HOSTS + 1][UNITS + 1]; // of each host, by its number

static unsigned pick(unsigned n) {
        return (unsigned) rand() % n;
}

// What is argosy's there does not become somebody else's.
static void change_others(uint32_t host) {
        size_t n = 0;

        for (size_t i = 0; i < UNITS; i++)
                if (pick(3) == 0 && !rig_unit_on(&g, host, units[i].name))
                        others[host][n++] = units[i].name;
        others[host][n] = NULL;
        rig_host(&g, host)->others = others[host];
}

static const Argosy__Response__Change *ask_of_life(const struct UnitOfLife *u, bool dry) {
        char *name = (char *) u->name;
        RigAnswer *a = ask_about(&name, 1, name, u->content, dry);

        rig_settle(&g);
        return rig_change_answered(a);
}

static void plan_and_start(const struct UnitOfLife *u, unsigned seed) {
        unsigned batches = g.batches;
        const Argosy__Response__Change *plan = ask_of_life(u, true);

        if (g.batches != batches)
                fail_msg("seed %u: to ask changed something", seed);
        (void) ask_of_life(u, false);
        for (size_t i = 0; i < plan->n_units; i++) {
                const Argosy__Response__UnitResult *row = plan->units[i];

                if (!row->status && strcmp(row->node, rig_node_name(&g, row->name)) != 0)
                        fail_msg("seed %u: %s: \"%s\", and then it is on \"%s\"", seed, row->name, row->message,
                                 rig_node_name(&g, row->name));
        }
}

static void live(unsigned seed) {
        static const char *const hosts[] = {"n1", "n2", "n3"};

        srand(seed);
        rig_start(&g, HOSTS);
        for (size_t i = 0; i < HOSTS; i++)
                rig_label(&g, hosts[i], "offers/slot", "4");
        for (unsigned i = 0; i < STEPS; i++) {
                const struct UnitOfLife *u = &units[pick(UNITS)];

                switch (pick(5)) {
                case 0:
                        change_others(1 + pick(HOSTS));
                        break;
                case 1:
                        (void) rig_change(&g, pick(2) ? ARGOSY__VERB__VERB_UNLOAD : ARGOSY__VERB__VERB_DESTROY, u->name, NULL);
                        break;
                default:
                        plan_and_start(u, seed);
                }
        }
        rig_stop(&g);
}

static void what_is_planned_comes_true_whosever_the_names_are(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++)
                live(seed);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(where_the_name_is_somebody_elses_it_is_not_planned),
                RIG_TEST(where_no_node_has_the_name_free_it_waits),
                RIG_TEST(a_node_that_has_the_name_free_by_now_is_planned),
                RIG_TEST(what_is_there_already_is_not_asked_about),
                RIG_TEST(of_one_that_runs_everywhere_the_nodes_that_refuse_it_are_named),
                RIG_TEST(many_are_asked_about_in_a_few_calls),
                RIG_TEST(the_file_of_one_with_aliases_goes_along),
                RIG_TEST(an_older_host_is_not_asked),
                RIG_TEST(one_that_does_not_answer_is_waited_for_as_long_as_it_may_take),
                RIG_TEST(one_that_is_lost_meanwhile_is_not_waited_for),
                RIG_TEST(a_plan_that_nobody_wants_any_more_is_forgotten),
                cmocka_unit_test(what_is_planned_comes_true_whosever_the_names_are),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
