// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A plan of many units takes many turns: each plans a part, nobody else sees what is only thought of, and
// what it says comes true.
//
// A failure of a random life prints its seed.
#include "batch-builder.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "macro.h"
#include "messages.h"
#include "printed.h"
#include "request-ties.h"
#include "str.h"

#define UNIT(options) "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\n" options
#define START ARGOSY__VERB__VERB_START

enum {
        HOSTS = 4,
        UNITS = 700,
        PART_MAX = 256, // as in preview-turns.c
        BEGUN_MAX = 8,  // likewise
        ASKING_EACH = 2, // likewise
        LIVES = 8,
};

static Rig g;
static char names[UNITS][32], *pointers[UNITS];
static uint64_t planned, id;
static size_t most_planned;
static unsigned n_turns; // in which something was planned

static void watch_turn(Rig *r) {
        size_t n = (size_t) (r->leader->n_planned - planned);

        most_planned = MAX_OF(most_planned, n);
        n_turns += n > 0;
        planned = r->leader->n_planned;
}

static void watch(void) {
        planned = g.leader->n_planned;
        most_planned = n_turns = 0;
        g.on_turn = watch_turn;
}

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        for (size_t i = 0; i < UNITS; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i + 1);
                pointers[i] = names[i];
        }
}

RIG_TEARDOWN

// `content`: of the template, as the client found it; NULL: it found none. `if_revision`: 0: bound to none.
static RigAnswer *ask_bound(size_t first, size_t n, const char *content, bool dry, uint64_t if_revision) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t words[2] = {++id, 77};
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(words), (uint8_t *) words},
                           .verb = START, .names = pointers + first, .n_names = n, .preview = dry);
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        if (if_revision > 0)
                request.job = &job;
        if (content) {
                file.name = file.path = (char *) "w@.service";
                file.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
                change.files = &files;
                change.n_files = 1;
        }
        return rig_ask(&g, &request);
}

static RigAnswer *ask_about(size_t first, size_t n, const char *content, bool dry) {
        return ask_bound(first, n, content, dry, 0);
}

static const Argosy__Response__Change *plan(size_t n, const char *content) {
        unsigned batches = g.batches;
        RigAnswer *a = ask_about(0, n, content, true);

        rig_settle(&g);
        assert_int_equal(g.batches, batches); // nothing was stored
        return rig_change_answered(a);
}

static void assert_same(const Argosy__Response__Change *a, const Argosy__Response__Change *b) {
        assert_int_equal(a->n_units, b->n_units);
        for (size_t i = 0; i < a->n_units; i++) {
                assert_string_equal(a->units[i]->name, b->units[i]->name);
                assert_string_equal(a->units[i]->message, b->units[i]->message);
        }
}

static void start_as_planned(size_t n, const char *content, const Argosy__Response__Change *said,
                             unsigned seed) {
        RigAnswer *a = ask_about(0, n, content, false);

        rig_settle(&g);
        const Argosy__Response__Change *done = rig_change_answered(a);
        assert_int_equal(done->n_units, n);
        assert_int_equal(said->n_units, n);
        for (size_t i = 0; i < n; i++) {
                const Argosy__Response__UnitResult *u = said->units[i];

                assert_string_equal(u->name, names[i]);
                if (u->status != done->units[i]->status || strcmp(u->node, rig_node_name(&g, names[i])) != 0)
                        fail_msg("seed %u: %s: \"%s\" (%s), and then it is on \"%s\"", seed, u->name,
                                 u->message, u->node, rig_node_name(&g, names[i]));
        }
}

// ---- stories

static void many_are_planned_some_in_each_turn(void **state) {
        watch();
        const Argosy__Response__Change *c = plan(UNITS, UNIT(""));
        assert_int_equal(most_planned, PART_MAX);
        assert_int_equal(n_turns, (UNITS + PART_MAX - 1) / PART_MAX);
        assert_string_equal(c->units[0]->message, "would start on n1");
        assert_same(c, plan(UNITS, UNIT(""))); // to ask changes nothing
        assert_null(rig_record(&g, names[0]));
        start_as_planned(UNITS, UNIT(""), c, 0);
        c = plan(UNITS, NULL);
        assert_string_equal(c->units[UNITS - 1]->node, rig_node_name(&g, names[UNITS - 1]));
        assert_non_null(strstr(c->units[UNITS - 1]->message, "is started already"));
}

// Those with other priorities take turns: they are one part.
static void who_has_to_do_with_each_other_is_planned_in_one_turn(void **state) {
        watch();
        (void) plan(REQUEST_TIED_MAX, UNIT("ReserveResource=slot\nReplaces=other@*\n"));
        assert_int_equal(most_planned, REQUEST_TIED_MAX);
        assert_int_equal(n_turns, 1);
}

static void live(unsigned seed) {
        static const char *const contents[] = {
                UNIT("ReserveResource=slot\n"), UNIT("ReserveResource=slot\nMachineMetadata=zone=a\n"),
                UNIT("ReserveResource=slot:2\nMaxUnavailable=1\nSpreadOver=zone\n")};
        static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
        const char *content = contents[seed % ELEMENTSOF(contents)];
        size_t n = PART_MAX + 1 + (size_t) rand() % (UNITS - PART_MAX - 1), some = 1 + (size_t) rand() % 100;

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", content);
        for (size_t i = 0; i < HOSTS; i++) {
                rig_label(&g, nodes[i], "offers/slot", printed("%d", 50 + rand() % 200));
                rig_label(&g, nodes[i], "zone", rand() % 2 ? "a" : "b");
        }
        RigAnswer *a = ask_about((size_t) rand() % (n - some), some, NULL, false); // these run already
        rig_settle(&g);
        (void) rig_change_answered(a);
        (void) rig_set_mode(&g, nodes[rand() % HOSTS], ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        watch();
        start_as_planned(n, NULL, plan(n, NULL), seed);
        assert_true(most_planned <= PART_MAX);
}

static void what_is_planned_in_parts_comes_true(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++) {
                srand(seed);
                live(seed);
                rig_stop(&g);
                rig_start(&g, HOSTS);
        }
}

// ---- beside others

static Argosy__Response *list_nodes(void) {
        Argosy__Request__ListNodes list = ARGOSY__REQUEST__LIST_NODES__INIT;
        RigAnswer *a = rig_ask(&g, A_REQUEST(LIST_NODES, list_nodes, &list));

        assert_int_equal(a->n, 1); // at once
        return a->responses[0];
}

static const char *message_about(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (strcmp(c->units[i]->name, name) == 0)
                        return c->units[i]->message;
        return "nothing";
}

static void turns_until_something_is_planned(uint64_t n) {
        uint64_t before = g.leader->n_planned;

        for (unsigned turns = 0; g.leader->n_planned < before + n; turns++) {
                assert_true(turns < 100);
                rig_turns(&g, 1);
        }
}

// The tables that others decide and answer by have nothing of it between two of its turns, nor when it has
// ended.
static void what_is_only_thought_of_is_seen_by_nobody_else(void **state) {
        RigAnswer *asked, *stopped, *why;
        char *waits = (char *) "waits.service";
        Argosy__Request__Why question = MESSAGE_OF(request__why, .names = &waits, .n_names = 1);
        unsigned batches;

        rig_label(&g, "n1", "offers/slot", "20");
        rig_change(&g, START, "holds.service", UNIT("ReserveResource=slot:10\n"));
        rig_change(&g, START, waits, UNIT("ReserveResource=slot:15\n"));
        rig_change(&g, START, "web.service", UNIT(""));
        asked = ask_about(0, UNITS, UNIT("ReserveResource=slot\n"), true);
        turns_until_something_is_planned(PART_MAX);
        batches = g.batches;
        stopped = rig_change_with(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL, false, NULL);
        why = rig_ask(&g, A_REQUEST(WHY, why, &question)); // by a Scheduler of its own
        assert_true(why->final);
        (void) list_nodes();
        turns_until_something_is_planned(PART_MAX);
        assert_int_equal(g.batches, batches); // nothing is decided before the plan has ended
        assert_false(g.leader->batch_flying);
        assert_false(asked->final);
        rig_settle(&g);
        assert_true(asked->final);
        assert_true(stopped->final);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        assert_string_equal(message_about(rig_change_answered(asked), names[0]), "would start on n1");
        assert_string_equal(rig_change(&g, START, "ten.service", UNIT("ReserveResource=slot:10\n"))->node,
                            "n1");
}

static void ignore_outcome(StoreOutcome outcome, uint64_t index, void *userdata) {
}

// An entry of the log that this leader has not decided.
static void put_from_elsewhere(const char *name, uint32_t node) {
        Argosy__UnitRecord next = *rig_record(&g, "w@.service");
        _cleanup_(batch_builder_done) BatchBuilder b = {};

        next.name = (char *) name;
        next.from_template = true;
        next.target = ARGOSY__TARGET__TARGET_LAUNCHED;
        next.node = node;
        assert_int_equal(batch_builder_put_unit(&b, &next, BATCH_BUMP_START, 0), 0);
        assert_int_equal(batch_builder_set_time(&b, 1, 0), 0);
        assert_int_equal(store_submit(g.store, b.packed.data, b.packed.len, ignore_outcome, NULL), 0);
}

static void it_begins_anew_when_the_log_says_something_else(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        watch();
        RigAnswer *a = ask_about(0, UNITS, NULL, true);
        turns_until_something_is_planned(PART_MAX);
        put_from_elsewhere(names[0], rig_host(&g, 3)->virtual.node);
        rig_settle(&g);
        assert_string_equal(rig_change_answered(a)->units[0]->message, "is started already on n3");
        assert_int_equal(most_planned, PART_MAX);
        assert_in_range(n_turns, (UNITS + PART_MAX - 1) / PART_MAX + 1,
                        (UNITS + PART_MAX - 1) / PART_MAX + 2);
}

static void assert_changed(const RigAnswer *a, const char *name) {
        assert_int_equal(rig_last(a)->status, ESTALE);
        assert_ptr_equal(strstr(rig_last(a)->message, name), rig_last(a)->message);
        assert_non_null(strstr(rig_last(a)->message, " has changed since revision "));
}

// As the start that it speaks of would.
static void a_plan_is_refused_if_a_unit_has_changed_since(void **state) {
        start_as_planned(2, UNIT(""), plan(2, UNIT("")), 0);
        uint64_t seen = cluster_state_revision(g.state);
        RigAnswer *a = ask_bound(0, 2, NULL, true, seen);
        rig_settle(&g);
        assert_int_equal(rig_change_answered(a)->n_units, 2);
        rig_change(&g, ARGOSY__VERB__VERB_STOP, names[1], NULL);
        a = ask_bound(0, 1, NULL, true, seen);
        rig_settle(&g);
        assert_int_equal(rig_change_answered(a)->n_units, 1);
        a = ask_bound(0, 2, NULL, true, seen);
        rig_settle(&g);
        assert_changed(a, names[1]);
}

static void a_plan_is_refused_if_a_unit_changes_while_it_is_made(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        RigAnswer *a = ask_about(0, UNITS, NULL, false);
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        watch();
        a = ask_bound(0, UNITS, NULL, true, cluster_state_revision(g.state));
        turns_until_something_is_planned(PART_MAX);
        put_from_elsewhere(names[0], rig_host(&g, 3)->virtual.node);
        rig_settle(&g);
        assert_changed(a, names[0]);
}

static void put_another_in_each_turn(Rig *r) {
        static unsigned n;

        watch_turn(r);
        if (n == 50)
                return;
        put_from_elsewhere(printed("w@%u.service", 10000 + n++), rig_host(r, 3)->virtual.node);
}

static void one_that_would_never_end_is_refused(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        watch();
        g.on_turn = put_another_in_each_turn;
        RigAnswer *a = ask_about(0, UNITS, NULL, true);
        rig_settle(&g);
        assert_replies(rig_last(a), EBUSY, "changes faster than a plan of 700 units is made");
        assert_true(most_planned <= PART_MAX);
        assert_true(n_turns <= BEGUN_MAX);
        g.on_turn = NULL;
        (void) plan(UNITS, NULL);
}

// Of more than one turn has time for, each part has an order of its own.
static void many_of_several_roles_are_planned_some_in_each_turn(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT("Priority=%i\n"));
        watch();
        assert_int_equal(plan(UNITS, NULL)->n_units, UNITS);
        assert_int_equal(most_planned, PART_MAX);
        watch();
        assert_int_equal(plan(REQUEST_TIED_MAX, NULL)->n_units, REQUEST_TIED_MAX);
        assert_int_equal(most_planned, REQUEST_TIED_MAX);
}

static void many_of_which_one_is_named_twice_are_refused(void **state) {
        char *first = pointers[0];

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        pointers[0] = pointers[1];
        RigAnswer *a = ask_about(0, UNITS, NULL, true);
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, E2BIG);
        a = ask_about(0, REQUEST_TIED_MAX, NULL, true);
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        pointers[0] = first;
}

static size_t n_asking(void) {
        size_t n = 0;

        list_foreach (i, &g.leader->previews_asking)
                n++;
        return n;
}

// Nodes may take seconds for an answer, and each plan that waits for them has a copy of the Placement if it
// is kept.
static void few_plans_of_an_author_wait_for_nodes_at_a_time(void **state) {
        RigAnswer *asked[6], *one;

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        for (uint32_t host = 1; host <= HOSTS; host++)
                rig_host(&g, host)->deaf = true;
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                asked[i] = ask_about(0, UNITS, NULL, true);
        rig_settle(&g); // nothing is marked for those that are not begun
        assert_int_equal(n_asking(), ASKING_EACH);
        assert_int_equal(g.leader->n_plans_kept, 1);
        one = rig_change_with_and_settle(&g, ARGOSY__VERB__VERB_SUBMIT, "one.service", UNIT(""), false,
                                         NULL);
        assert_true(one->final); // and others are decided
        rig_pass_ms(&g, 6000);
        rig_settle(&g);
        assert_true(asked[0]->final);
        assert_true(asked[1]->final);
        assert_false(asked[5]->final);
        assert_int_equal(n_asking(), ASKING_EACH);
        for (uint32_t host = 1; host <= HOSTS; host++)
                rig_host(&g, host)->deaf = false;
        rig_pass_ms(&g, 6000);
        rig_settle(&g);
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                assert_int_equal(rig_change_answered(asked[i])->n_units, UNITS);
        assert_int_equal(g.leader->n_plans_kept, 0);
        assert_int_equal(n_asking(), 0);
}

static void a_plan_that_waits_goes_with_its_client(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", UNIT(""));
        for (uint32_t host = 1; host <= HOSTS; host++)
                rig_host(&g, host)->deaf = true;
        RigAnswer *a = ask_about(0, UNITS, NULL, true);
        RigAnswer *b = ask_about(0, UNITS, NULL, true);
        rig_settle(&g);
        assert_int_equal(n_asking(), 2);
        leader_cancel(g.leader, a->cancel);
        leader_cancel(g.leader, b->cancel);
        assert_int_equal(n_asking(), 0);
        assert_int_equal(g.leader->n_plans_kept, 0);
        assert_int_equal(g.leader->previews.authors.count, 0);
}

// What hosts offer of it is told to the copy: the Placement itself has to hear of it, too.
static void what_only_a_plan_has_asked_for_is_found_when_it_is_started(void **state) {
#define FOR_USERS UNIT("Manager=user@*\nReserveResource=gpu\n")
        const Argosy__Response__Change *c;

        rig_host_set_manager(&g, 2, "user@1000");
        rig_label(&g, "n2", "offers/gpu", "300");
        c = plan(PART_MAX + 1, FOR_USERS);
        assert_string_equal(c->units[0]->message, "would start on n2/user@1000");
        assert_string_equal(rig_change(&g, START, "one.service", FOR_USERS)->node, "n2/user@1000");
        start_as_planned(PART_MAX + 1, FOR_USERS, plan(PART_MAX + 1, FOR_USERS), 0);
}

static void a_leader_that_ends_has_no_plan(void **state) {
        RigAnswer *a = ask_about(0, UNITS, UNIT(""), true);

        turns_until_something_is_planned(PART_MAX);
        rig_depose(&g);
        assert_true(a->final);
        assert_true(a->responses[0]->no_leader);
        rig_elect(&g);
        start_as_planned(UNITS, UNIT(""), plan(UNITS, UNIT("")), 0);
}

// ---- networks that containers share

#define SHARER(image, subnet)                                                                              \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n2\n\n"        \
        "# front.network\n[Network]\nSubnet=" subnet "\n"

static const char *said_of(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (streq(c->units[i]->name, name))
                        return c->units[i]->message;
        return "";
}

static void a_plan_says_who_stops_because_a_network_changes(void **state) {
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .verb = START, .preview = true, .replace = true);
        const Argosy__Response__Change *c;
        char *name = (char *) "web.service";
        uint8_t of[16] = {1, 2, 3};

        for (uint32_t i = 1; i <= HOSTS; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", SHARER("web", "1"));
        (void) rig_change(&g, START, "app.service", SHARER("app", "1"));
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "idle.service", SHARER("idle", "1"));
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = name, .path = name,
                                            .content =
                                                    (ProtobufCBinaryData){strlen(SHARER("web", "2")),
                                                                          (uint8_t *) SHARER("web", "2")}),
                          *files = &file;
        m.id = (ProtobufCBinaryData){sizeof(of), of};
        m.names = &name;
        m.n_names = 1;
        m.files = &files;
        m.n_files = 1;
        c = rig_change_answered(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m)));
        assert_non_null(strstr(said_of(c, "web.service"), "; front.network is made anew there"));
        assert_string_equal(said_of(c, "app.service"), "would stop and start again with the new file on n2: "
                                                       "it shares front.network, which changes");
        assert_string_equal(said_of(c, "idle.service"),
                            "would get the new file: it shares front.network, which changes");
}

RUN_TESTS(
        RIG_TEST(many_are_planned_some_in_each_turn),
        RIG_TEST(who_has_to_do_with_each_other_is_planned_in_one_turn),
        RIG_TEST(what_is_planned_in_parts_comes_true),
        RIG_TEST(what_is_only_thought_of_is_seen_by_nobody_else),
        RIG_TEST(it_begins_anew_when_the_log_says_something_else),
        RIG_TEST(a_plan_is_refused_if_a_unit_has_changed_since),
        RIG_TEST(a_plan_is_refused_if_a_unit_changes_while_it_is_made),
        RIG_TEST(one_that_would_never_end_is_refused),
        RIG_TEST(many_of_several_roles_are_planned_some_in_each_turn),
        RIG_TEST(many_of_which_one_is_named_twice_are_refused),
        RIG_TEST(few_plans_of_an_author_wait_for_nodes_at_a_time),
        RIG_TEST(a_plan_says_who_stops_because_a_network_changes),
        RIG_TEST(a_plan_that_waits_goes_with_its_client),
        RIG_TEST(what_only_a_plan_has_asked_for_is_found_when_it_is_started),
        RIG_TEST(a_leader_that_ends_has_no_plan)
)
