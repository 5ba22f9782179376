// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives in which names belong to somebody else here and there, and everybody asks before a start what
// it would do:
//
//   a unit that the plan names is afterwards on the node that it names, or on none
//   a unit that it does not name has not been moved meanwhile either
//   asking stores nothing
//
// A failure prints its seed; `test-leader-preview-names-sim SEED` plays that life alone and tells it.
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "macro.h"
#include "messages.h"

#define UNIT(options) "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\n" options
#define START ARGOSY__VERB__VERB_START

enum { HOSTS = 3 };

static Rig g;

// No two that can be preempted have the same priority, as in test-preview-sim.c.
static const struct UnitOfLife {
        const char *name, *content;
} units[] = {
        {"a.service", UNIT("Priority=1\nReserveResource=slot:1\n")},
        {"b.service", UNIT("Priority=2\nReserveResource=slot:2\n")},
        {"c.service", UNIT("Priority=3\nReserveResource=slot:3\n")},
        {"high.service", UNIT("Priority=9\nReserveResource=slot:3\n")},
        {"higher.service", UNIT("Priority=10\nHost=n1 n2\nReserveResource=slot:3\n")},
        {"alone.service", UNIT("Conflicts=a.service b.service\n")},
        {"pinned.service", UNIT("Host=n1 n2\nPriority=4\nReserveResource=slot:1\n")},
        {"mate.service", UNIT("SameNodeAs=b.service\n")},
        {"new.service", UNIT("Replaces=a.service pinned.service\n")},
        {"new2.service", UNIT("Replaces=c.service new.service\n")},
        {"newer.service", UNIT("Priority=5\nReplaces=new.service b.service w@*\nReserveResource=slot\n")},
        {"w@1.service", NULL},
        {"w@2.service", NULL},
        {"all.service", UNIT("Global=true\n")},
};
#define TEMPLATE UNIT("Preemptible=no\nMaxUnavailable=1\n")

// Of starts with more entries of the log than CHAIN_MAX only the first is certain, as in test-preview-sim.c.
// What else is decided by the time at which a host refuses is up to that host: in one life of a hundred it
// makes a difference once. In these it makes none.
enum {
        UNITS = ELEMENTSOF(units),
        FIRST_LIFE = 1201,
        LIVES = 120,
        STEPS = 60,
        NAMES_MAX = 2,
        CHAIN_MAX = 3,
};

static const char *others[HOSTS + 1][UNITS + 1]; // of each host, by its number
static struct SeenOfLife {
        char node[8];
        bool moved; // since the start began
} seen[UNITS];
static unsigned seed_of_life, n_starts, n_chains, n_refused, n_returned;
static bool verbose;

static unsigned pick(unsigned n) {
        return (unsigned) rand() % n;
}

// What is argosy's there does not become somebody else's.
static void change_others(uint32_t host) {
        size_t n = 0;

        for (size_t i = 0; i < UNITS; i++)
                if (pick(2) == 0 && !rig_unit_on(&g, host, units[i].name))
                        others[host][n++] = units[i].name;
        others[host][n] = NULL;
        rig_host(&g, host)->others = others[host];
}

static void view_turn(Rig *r) {
        for (size_t i = 0; i < UNITS; i++) {
                const char *node = rig_record(r, units[i].name) ? rig_node_name(r, units[i].name) : "";

                if (strcmp(node, seen[i].node) == 0)
                        continue;
                if (verbose)
                        print_message("    %s: '%s' -> '%s'\n", units[i].name, seen[i].node, node);
                snprintf(seen[i].node, sizeof(seen[i].node), "%s", node);
                seen[i].moved = true;
        }
}

typedef struct AskOfLife {
        Argosy__Request__Change change;
        Argosy__Request request;
        Argosy__NamedFile files[NAMES_MAX], *pointers[NAMES_MAX];
        char *units[NAMES_MAX];
        uint64_t id[2];
} AskOfLife;

// How soon an instance leaves that is asked for and replaced at once is its group's business, and how soon a
// global unit counts on its nodes is theirs.
static bool is_asked_alone(const char *name) {
        return strchr(name, '@') || strcmp(name, "all.service") == 0;
}

static void make_ask(AskOfLife *a) {
        *a = (AskOfLife){.id = {0, 79}};
        argosy__request__init(&a->request);
        a->change = (Argosy__Request__Change) MESSAGE_OF(request__change, .verb = START, .names = a->units,
                                                         .files = a->pointers);
        for (unsigned n = 1 + pick(NAMES_MAX); n > 0; n--) {
                const struct UnitOfLife *u = &units[pick(UNITS)];
                Argosy__NamedFile *f = &a->files[a->change.n_files];
                const char *content = u->content ?: TEMPLATE;

                if (a->change.n_names && (strcmp(a->units[0], u->name) == 0 || is_asked_alone(u->name) ||
                                          is_asked_alone(a->units[0])))
                        continue;
                a->units[a->change.n_names++] = (char *) u->name;
                *f = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) (u->content ? u->name : "w@.service"),
                        .path = (char *) (u->content ? u->name : "w@.service"),
                        .content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content});
                a->pointers[a->change.n_files++] = f;
        }
        a->request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        a->request.change = &a->change;
}

static const Argosy__Response__Change *ask_of_life(AskOfLife *a, bool dry) {
        static uint64_t id;

        a->change.preview = dry;
        a->id[0] = ++id;
        a->change.id = (ProtobufCBinaryData){sizeof(a->id), (uint8_t *) a->id};
        RigAnswer *answer = rig_ask(&g, &a->request);
        rig_settle(&g);
        return rig_change_answered(answer);
}

static const Argosy__Response__UnitResult *find_row(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (strcmp(c->units[i]->name, name) == 0)
                        return c->units[i];
        return NULL;
}

static void assert_came_true(const Argosy__Response__Change *plan) {
        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__Response__UnitResult *row = find_row(plan, units[i].name);

                if (!row && seen[i].moved)
                        fail_msg("seed %u: %s was moved, and the plan did not say so", seed_of_life,
                                 units[i].name);
                if (row && !row->status && strcmp(row->node, seen[i].node) != 0)
                        fail_msg("seed %u: %s: \"%s\", and then it is on \"%s\"", seed_of_life, row->name,
                                 row->message, seen[i].node);
                n_refused += row && strstr(row->message, "is then refused");
                n_returned += row && strstr(row->message, "there again");
        }
}

static void plan_and_start(void) {
        unsigned batches = g.batches;
        AskOfLife a;

        make_ask(&a);
        const Argosy__Response__Change *plan = ask_of_life(&a, true);
        if (verbose) {
                print_message("start %s %s\n", a.units[0], a.units[1] ?: "");
                for (uint32_t h = 1; h <= HOSTS; h++) {
                        print_message("  n%u:", h);
                        for (size_t i = 0; others[h][i]; i++)
                                print_message(" %s", others[h][i]);
                        print_message("\n");
                }
                for (size_t i = 0; i < plan->n_units; i++)
                        print_message("  %s: %s\n", plan->units[i]->name, plan->units[i]->message);
        }
        if (g.batches != batches)
                fail_msg("seed %u: to ask changed something", seed_of_life);
        for (size_t i = 0; i < UNITS; i++)
                seen[i].moved = false;
        (void) ask_of_life(&a, false);
        n_starts++;
        n_chains += g.batches - batches > CHAIN_MAX;
        if (g.batches - batches <= CHAIN_MAX)
                assert_came_true(plan);
}

static void live(unsigned seed) {
        static const char *const hosts[] = {"n1", "n2", "n3"};

        seed_of_life = seed;
        srand(seed);
        rig_start(&g, HOSTS);
        memset(seen, 0, sizeof(seen));
        memset(others, 0, sizeof(others));
        g.on_turn = view_turn;
        for (size_t i = 0; i < HOSTS; i++)
                rig_label(&g, hosts[i], "offers/slot", "4");
        for (unsigned i = 0; i < STEPS; i++) {
                const char *name = units[pick(UNITS)].name;
                Argosy__Verb verb = pick(2) ? ARGOSY__VERB__VERB_UNLOAD : ARGOSY__VERB__VERB_DESTROY;

                switch (pick(7)) {
                case 0:
                        change_others(1 + pick(HOSTS));
                        break;
                case 1:
                case 2:
                case 3:
                        if (verbose)
                                print_message("unload %s\n", name);
                        (void) rig_change(&g, verb, name, NULL);
                        break;
                default:
                        plan_and_start();
                }
        }
        rig_stop(&g);
}

static void what_is_planned_comes_true_whosever_the_names_are(void **state) {
        for (unsigned seed = FIRST_LIFE; seed < FIRST_LIFE + LIVES; seed++)
                live(seed);
        assert_true(n_chains < n_starts / 10);
        assert_true(n_refused >= 10);
        assert_true(n_returned >= 4);
}

static void one_life(void **state) {
        verbose = true;
        live(seed_of_life);
}

int main(int argc, char **argv) {
        const struct CMUnitTest all[] = {
                cmocka_unit_test(what_is_planned_comes_true_whosever_the_names_are)};
        const struct CMUnitTest one[] = {cmocka_unit_test(one_life)};

        log_set_level(LOG_ERR);
        if (argc > 1) {
                seed_of_life = (unsigned) strtoul(argv[1], NULL, 10);
                return cmocka_run_group_tests(one, NULL, NULL);
        }
        return cmocka_run_group_tests(all, NULL, NULL);
}
