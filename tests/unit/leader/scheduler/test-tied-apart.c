// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit that is to be where another one is (SameNodeAs=), or where its timer is, and that this very node
// may not have: somebody else has its name there, a unit there replaces it. It goes elsewhere if it may, and
// else it waits and `why` says so; who is well stays as it is, and the leader writes nothing more about
// either.
#include "leader-asks.h"
#include "leader-private.h"
#include "macro.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\n"
#define TIMER "[Timer]\nOnActiveSec=1h\n[X-Argosy]\n"
#define HUB SERVICE "Host=n1\n"
#define MATE SERVICE "SameNodeAs=hub.service\n"
#define START ARGOSY__VERB__VERB_START
#define FOREIGN "/etc/systemd/system has a unit of this name"

enum { HOSTS = 3, FEW = 12, MINUTE_MS = 60000 };

static const char *const hub_only[] = {"hub.service", NULL}, *const mate_only[] = {"mate.service", NULL};

static Rig g;
static unsigned since;       // Rig.batches then
static const char *is_well;  // runs, whatever becomes of others; NULL: nobody

static void is_one_of_few(Rig *r) {
        if (r->batches - since > FEW)
                fail_msg("it goes on and on: hub.service is on host %u, mate.service on host %u",
                         rig_host_of(r, "hub.service"), rig_host_of(r, "mate.service"));
}

static void watch(Rig *r) {
        if (is_well && rig_count_running(r, is_well) != 1)
                fail_msg("%s is stopped", is_well);
}

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        is_well = NULL;
        since = g.batches;
        g.on_entry = is_one_of_few;
        g.on_turn = watch;
}

FIXTURE(teardown) {
        is_well = NULL;
        rig_stop(&g);
}

static void change(Argosy__Verb verb, const char *name, const char *content) {
        static uint64_t n;
        uint64_t id[2] = {++n, 79};
        const RigAnswer *a = rig_change_with(&g, verb, name, content, content != NULL, (const uint8_t *) id);

        since = g.batches;
        rig_settle(&g);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
}

static void start(const char *name, const char *content) {
        change(START, name, content);
}

// Nothing is left to be written, but how a job has ended.
static void assert_rests(void) {
        rig_pass_ms(&g, MINUTE_MS);
        since = g.batches;
        rig_pass_ms(&g, MINUTE_MS);
        assert_int_equal(g.batches, since);
}

static void assert_refused_by(const char *unit, const char *node, const char *reason) {
        const Argosy__Response__Status *s = rig_why(&g, unit)->status_reply;

        assert_string_equal(s->row->node, "-");
        for (size_t i = 0; i < s->n_refusals; i++)
                if (strcmp(s->refusals[i]->node, node) == 0) {
                        assert_string_equal(s->refusals[i]->reason, reason);
                        return;
                }
        fail_msg("%s is not said to be refused by %s", unit, node);
}

// ---- stories

static void one_whose_name_is_somebody_elses_where_it_is_to_be_waits(void **state) {
        start("hub.service", HUB);
        is_well = "hub.service";
        rig_host(&g, 1)->others = mate_only;
        start("mate.service", MATE);
        assert_rests();
        assert_int_equal(rig_host_of(&g, "mate.service"), 0);
        assert_refused_by("mate.service", "n1", FOREIGN);
        assert_refused_by("mate.service", "n2", "is to be where hub.service is, which is not there");
        rig_host(&g, 1)->others = NULL;
        start("mate.service", MATE);
        assert_int_equal(rig_host_of(&g, "mate.service"), 1);
        assert_int_equal(rig_count_running(&g, "mate.service"), 1);
        assert_int_equal(rig_unit_on(&g, 1, "hub.service")->starts, 1);
}

static void one_that_waited_for_it_and_is_refused_there_waits_on(void **state) {
        rig_host(&g, 1)->others = mate_only;
        start("mate.service", MATE);
        start("hub.service", HUB);
        is_well = "hub.service";
        assert_rests();
        assert_int_equal(rig_host_of(&g, "mate.service"), 0);
        assert_refused_by("mate.service", "n1", FOREIGN);
}

// Who is to be with it is there already, and says nothing of whether it may be.
static void one_that_is_refused_does_not_go_back_to_who_is_to_be_with_it(void **state) {
        rig_host(&g, 1)->others = hub_only;
        start("mate.service", MATE);
        start("hub.service", HUB);
        assert_rests();
        assert_int_equal(rig_host_of(&g, "hub.service"), 0);
        assert_refused_by("hub.service", "n1", FOREIGN);
}

// The one that it follows goes elsewhere when their node is lost, and that node comes back.
static void one_that_cannot_follow_waits_when_its_node_is_back(void **state) {
        start("mate.service", MATE "Host=n3\n");
        start("hub.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "mate.service"), 3);
        rig_host_off_for(&g, 3, MINUTE_MS);
        assert_int_not_equal(rig_host_of(&g, "hub.service"), 3);
        is_well = "hub.service";
        rig_host_on(&g, 3, true);
        assert_rests();
        assert_refused_by("mate.service", "n3", "is to be where hub.service is, which is not there");
        assert_int_equal(rig_count_running(&g, "mate.service"), 0);
}

static void one_that_was_to_follow_when_the_leader_changed_follows(void **state) {
        start("mate.service", MATE "NodeLost=keep\n");
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        start("hub.service", SERVICE);
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        assert_int_equal(rig_host_of(&g, "mate.service"), 3);
        rig_host_off_for(&g, 3, MINUTE_MS);
        is_well = "hub.service";
        assert_int_equal(rig_host_of(&g, "hub.service"), 1);
        assert_int_equal(rig_host_of(&g, "mate.service"), 3);
        rig_elect_anew(&g);
        rig_host_on(&g, 3, true);
        assert_rests();
        assert_int_equal(rig_host_of(&g, "mate.service"), rig_host_of(&g, "hub.service"));
        assert_int_equal(rig_count_running(&g, "mate.service"), 1);
}

static void two_go_together_where_both_names_are_free(void **state) {
        rig_host(&g, 1)->others = rig_host(&g, 2)->others = hub_only;
        start("mate.service", MATE);
        start("hub.service", SERVICE);
        assert_rests();
        assert_int_equal(rig_host_of(&g, "hub.service"), 3);
        assert_int_equal(rig_host_of(&g, "mate.service"), 3);
        assert_int_equal(rig_count_running(&g, "mate.service"), 1);
}

static void one_that_is_replaced_where_it_is_to_be_waits(void **state) {
        start("hub.service", HUB);
        is_well = "hub.service";
        start("mate.service", MATE);
        start("new.service", HUB "Replaces=mate.service\n");
        assert_rests();
        assert_int_equal(rig_host_of(&g, "mate.service"), 0);
        assert_int_equal(rig_count_running(&g, "new.service"), 1);
        change(ARGOSY__VERB__VERB_DESTROY, "new.service", NULL);
        assert_rests();
        assert_int_equal(rig_host_of(&g, "mate.service"), 1);
        assert_int_equal(rig_count_running(&g, "mate.service"), 1);
}

static void one_that_is_replaced_where_its_timer_is_goes_elsewhere(void **state) {
        start("mate.timer", TIMER "Host=n1\n");
        is_well = "mate.timer";
        start("mate.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "mate.service"), 1);
        start("new.service", HUB "Replaces=mate.service\n");
        assert_rests();
        assert_in_range(rig_host_of(&g, "mate.service"), 2, HOSTS);
        assert_int_equal(rig_count_running(&g, "mate.service"), 1);
}

// The file says where it is to be; that it is activated does not outweigh that.
static void one_whose_timer_is_elsewhere_is_where_its_file_says(void **state) {
        static const Argosy__Verb verbs[] = {START, ARGOSY__VERB__VERB_LOAD};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                start("hub.service", HUB);
                is_well = "hub.service";
                start("mate.timer", TIMER "Host=n2\n");
                change(verbs[i], "mate.service", MATE);
                assert_rests();
                assert_int_equal(rig_host_of(&g, "mate.service"), 1);
                // no other node may have the hub
                (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
                assert_rests();
                assert_int_equal(rig_host_of(&g, "mate.service"), 1);
                (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_OPEN, 0);
                change(ARGOSY__VERB__VERB_DESTROY, "mate.service", NULL);
        }
}

// ---- random lives

static const struct UnitOfLife {
        const char *name, *content;
} units[] = {
        {"hub.service", SERVICE "ReserveResource=slot:2\n"},
        {"hub.service", SERVICE "Host=n1 n2\n"},
        {"mate.service", MATE},
        {"mate.service", MATE "Conflicts=loner.service\n"},
        {"third.service", SERVICE "SameNodeAs=mate.service\nReserveResource=slot:1\n"},
        {"new.service", SERVICE "Replaces=mate.service\nHost=n1\n"},
        {"newer.service", SERVICE "Replaces=hub.service\nReserveResource=slot:2\n"},
        {"loner.service", SERVICE "Conflicts=hub.service third.service\n"},
        {"mate.timer", TIMER "Host=n2 n3\n"},
        {"third.socket", "[Socket]\nListenStream=1\n[X-Argosy]\nReserveResource=slot:1\n"},
        {"ssd.service", SERVICE "SameNodeAs=hub.service\nMachineMetadata=disk=ssd\n"},
};

enum { UNITS = ELEMENTSOF(units), LIVES = 60, STEPS = 60, OF_A_LIFE = 60 };

static const char *others[HOSTS + 1][UNITS + 1]; // of each host, by its number
static unsigned seed_of_life, step_of_life;

static unsigned pick(unsigned n) {
        return (unsigned) rand() % n;
}

static void ends(Rig *r) {
        if (r->batches - since > OF_A_LIFE)
                fail_msg("seed %u, step %u: it goes on and on", seed_of_life, step_of_life);
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

static void step(void) {
        static const char *const nodes[] = {"n1", "n2", "n3"};
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_DESTROY, ARGOSY__VERB__VERB_UNLOAD,
                                             ARGOSY__VERB__VERB_STOP};
        const struct UnitOfLife *u = &units[pick(UNITS)];
        uint32_t host = 1 + pick(HOSTS);
        static uint64_t n;
        uint64_t id[2] = {++n, 80};

        switch (pick(8)) {
        case 0:
                change_others(host);
                break;
        case 1:
                (void) rig_change(&g, verbs[pick(ELEMENTSOF(verbs))], u->name, NULL);
                break;
        case 2:
                (void) rig_set_host_mode(&g, host, (Argosy__NodeMode) pick(3), 0);
                break;
        case 3:
                (void) rig_label(&g, nodes[host - 1], "disk", pick(2) ? "ssd" : NULL);
                break;
        default:
                (void) rig_change_with(&g, pick(4) ? START : ARGOSY__VERB__VERB_LOAD, u->name, u->content,
                                       true, (const uint8_t *) id);
        }
        rig_settle(&g);
}

static void whatever_happens_it_comes_to_an_end(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++) {
                srand(seed_of_life = seed);
                rig_start(&g, HOSTS);
                for (uint32_t h = 1; h <= HOSTS; h++)
                        (void) rig_label(&g, (const char *[]){"n1", "n2", "n3"}[h - 1], "offers/slot", "4");
                g.on_entry = ends;
                for (step_of_life = 0; step_of_life < STEPS; step_of_life++) {
                        since = g.batches;
                        step();
                }
                rig_stop(&g);
        }
}

RUN_TESTS(
        RIG_TEST(one_whose_name_is_somebody_elses_where_it_is_to_be_waits),
        RIG_TEST(one_that_waited_for_it_and_is_refused_there_waits_on),
        RIG_TEST(one_that_is_refused_does_not_go_back_to_who_is_to_be_with_it),
        RIG_TEST(one_that_cannot_follow_waits_when_its_node_is_back),
        RIG_TEST(one_that_was_to_follow_when_the_leader_changed_follows),
        RIG_TEST(two_go_together_where_both_names_are_free),
        RIG_TEST(one_that_is_replaced_where_it_is_to_be_waits),
        RIG_TEST(one_that_is_replaced_where_its_timer_is_goes_elsewhere),
        RIG_TEST(one_whose_timer_is_elsewhere_is_where_its_file_says),
        cmocka_unit_test(whatever_happens_it_comes_to_an_end)
)
