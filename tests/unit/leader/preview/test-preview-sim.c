// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of a cluster in which everybody asks what a start would do before it is done.
//
//   the same units are refused, and for the same reason
//   a unit that the plan names, asked for or not, is afterwards on the node that it names, or on none
//   all others are where they were
//   asking stores nothing, and asked again it says the same (if nobody else has to go: of two that may be
//   preempted it
//   is the newer one on its node, and who was only planned to go comes back as the newest)
//
// Of a start that moves one unit after the other, each because of the last one, in more than CHAIN_MAX
// entries of the log, only the first is certain: how far each of them has come when the next is looked at
// decides where it goes. Entries that only move instances which their group had held back (MaxUnavailable=)
// do not count: those have all the time.
//
// A failure prints its seed; `test-leader-plan-sim SEED` plays that life alone and tells it.
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "macro.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

enum {
        HOSTS = 4,
        SLOTS = 5,
        STEPS = 60,
        LIVES = 100,
        NAMES_MAX = 3,
        CHAIN_MAX = 3, // log entries
};

#define UNIT(options) "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\n" options
#define SLOT(priority, n) UNIT("Priority=" #priority "\nReserveResource=slot:" #n "\n")

// No two that can be preempted have the same priority: which of those goes depends on how long they are
// there, and who was only planned to go comes back as the newest.
static const struct UnitOfLife {
        const char *name, *content; // NULL: of its template
} units[] = {
        {"low1.service", SLOT(-5, 1)},
        {"low2.service", SLOT(-4, 2)},
        {"low3.service", SLOT(-6, 1)},
        {"mid1.service", SLOT(0, 1)},
        {"mid2.service", SLOT(1, 2)},
        {"mid3.service", SLOT(2, 3)},
        {"high1.service", SLOT(10, 2)},
        {"high2.service", SLOT(11, 4)},
        {"high3.service", SLOT(12, 5)},
        {"steady.service", UNIT("Priority=-3\nPreemptible=no\nReserveResource=slot:1\n")},
        {"new.service", UNIT("Replaces=low* w@*\n")},
        {"newer.service", UNIT("Priority=6\nReplaces=new.service mid1*\nReserveResource=slot:1\n")},
        {"there.service", UNIT("Priority=4\nReplaces=w@*\nHost=n2\nReserveResource=slot\n")},
        {"alone.service", UNIT("Conflicts=mid* high*\n")},
        {"mate.service", UNIT("SameNodeAs=mid1.service\n")},
        {"mate2.service", UNIT("Priority=-1\nSameNodeAs=new.service\nReserveResource=slot\n")},
        {"pinned.service", UNIT("Host=n1 n2\nPriority=3\nReserveResource=slot:2\n")},
        {"all.service", UNIT("Global=true\n")},
        {"nowhere.service", UNIT("Host=n9\n")},
        {"w@1.service", NULL},
        {"w@2.service", NULL},
        {"w@3.service", NULL},
        {"w@4.service", NULL},
        {"tick.timer", "[Timer]\nOnActiveSec=1h\n"},
        {"tick.service", UNIT("")},
};

enum { UNITS = ELEMENTSOF(units) };
#define TEMPLATE(max) UNIT("ReserveResource=slot\nPreemptible=no\nMaxUnavailable=" max "\n")

static const char *const templates[] = {TEMPLATE("1"), TEMPLATE("2"), TEMPLATE("50%")}; // one of a life

static Rig g;
static unsigned seed_of_life;
static bool verbose;
static unsigned n_starts, n_chains, n_held;
static unsigned n_waits; // turns in which nobody moved but instances

static unsigned pick(unsigned n) {
        return (unsigned) rand() % n;
}

typedef struct Ask {
        Argosy__Request request;
        Argosy__Request__Change change;
        Argosy__NamedFile files[NAMES_MAX + 1], *pointers[NAMES_MAX + 1];
        const char *names[NAMES_MAX];
        uint64_t id[2];
} Ask;

static void add_file(Ask *a, const char *name, const char *content) {
        Argosy__NamedFile *f = &a->files[a->change.n_files];

        *f = (Argosy__NamedFile) MESSAGE_OF(
                named_file, .name = (char *) name, .path = (char *) name,
                .content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content});
        a->pointers[a->change.n_files++] = f;
}

static const Argosy__Response__Change *ask(Ask *a, bool dry) {
        unsigned batches = g.batches;

        a->change.preview = dry;
        a->id[0]++;
        RigAnswer *answer = rig_ask_and_settle(&g, &a->request);
        assert_true(answer->final);
        assert_int_equal(answer->responses[0]->status, 0);
        if (dry)
                if (g.batches != batches)
                        fail_msg("seed %u: to ask changed something", seed_of_life);
        return answer->responses[0]->change;
}

static void make_ask(Ask *a) {
        static uint64_t id;

        *a = (Ask){.id = {0, ++id << 32}};
        argosy__request__init(&a->request);
        a->change = (Argosy__Request__Change) MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){sizeof(a->id), (uint8_t *) a->id},
                .verb = ARGOSY__VERB__VERB_START, .names = (char **) a->names, .files = a->pointers);
        for (unsigned n = 1 + pick(NAMES_MAX); n > 0; n--) {
                const struct UnitOfLife *u = &units[pick(UNITS)];
                bool twice = false;

                for (size_t i = 0; i < a->change.n_names; i++)
                        twice |= streq(a->names[i], u->name);
                if (twice)
                        continue;
                a->names[a->change.n_names++] = u->name;
                add_file(a, u->content ? u->name : "w@.service",
                         u->content ?: templates[seed_of_life % ELEMENTSOF(templates)]);
        }
        a->request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        a->request.change = &a->change;
}

typedef struct Seen {
        bool known;
        uint32_t node;
} Seen;

static void look(Seen *seen) {
        for (size_t i = 0; i < UNITS; i++) {
                const Argosy__UnitRecord *r = rig_record(&g, units[i].name);

                seen[i] = (Seen){r, r ? r->node : 0};
        }
}

static const char *name_of_host(uint32_t node, char buf[8]) {
        for (uint32_t h = 1; h <= HOSTS; h++)
                if (node && rig_host(&g, h)->virtual.node == node) {
                        snprintf(buf, 8, "n%u", h);
                        return buf;
                }
        return "";
}

static const Argosy__Response__UnitResult *row_of(const Argosy__Response__Change *c, const char *name) {
        for (size_t i = 0; i < c->n_units; i++)
                if (streq(c->units[i]->name, name))
                        return c->units[i];
        return NULL;
}

static void fail_life(const char *name, const char *what, const Argosy__Response__UnitResult *row,
                      const char *is, const char *was) {
        fail_msg("seed %u: %s %s; the plan says \"%s\" (%s), it is on \"%s\", and was on \"%s\"",
                 seed_of_life, name, what, row ? row->message : "nothing", row ? row->node : "-", is, was);
}

static void assert_came_true(const Argosy__Response__Change *plan, const Argosy__Response__Change *done,
                             const Seen *before) {
        Seen after[UNITS];

        look(after);
        for (size_t i = 0; i < UNITS; i++) {
                const char *name = units[i].name;
                const Argosy__Response__UnitResult *row = row_of(plan, name), *result = row_of(done, name);
                char is[8], was[8];

                if (row && row->status) {
                        if (!result || result->status != row->status ||
                            !streq(result->message, row->message))
                                fail_life(name, "is not refused as planned", row, "", "");
                        continue;
                }
                if (result && result->status)
                        fail_life(name, result->message, row, "", "");
                if (row && !streq(row->node, name_of_host(after[i].node, is)))
                        fail_life(name, "is not where it was planned", row, name_of_host(after[i].node, is),
                                  name_of_host(before[i].node, was));
                if (!row && (before[i].node != after[i].node || before[i].known != after[i].known))
                        fail_life(name, "was moved, and the plan did not say so", row,
                                  name_of_host(after[i].node, is), name_of_host(before[i].node, was));
        }
}

static void print_plan(const Argosy__Response__Change *plan) {
        for (size_t i = 0; verbose && i < plan->n_units; i++)
                print_message("  %s: %s%s\n", plan->units[i]->name,
                              plan->units[i]->status ? "refused: " : "", plan->units[i]->message);
}

static void assert_says_the_same(const Argosy__Response__Change *a, const Argosy__Response__Change *b) {
        for (size_t i = 0; i < b->n_units; i++)
                if (!row_of(a, b->units[i]->name))
                        fail_msg("seed %u: only when asked again it says of %s \"%s\"", seed_of_life,
                                 b->units[i]->name, b->units[i]->message);
        for (size_t i = 0; i < a->n_units; i++)
                if (!row_of(b, a->units[i]->name))
                        fail_msg("seed %u: asked again it does not say of %s \"%s\"", seed_of_life,
                                 a->units[i]->name, a->units[i]->message);
        for (size_t i = 0; i < a->n_units; i++)
                if (!streq(a->units[i]->message, b->units[i]->message))
                        fail_msg("seed %u: asked again, of %s it says \"%s\" and not \"%s\"", seed_of_life,
                                 a->units[i]->name, b->units[i]->message, a->units[i]->message);
}

static bool is_one_held(void) {
        for (size_t i = 0; i < UNITS; i++) {
                const Unit *u = unit_find(g.leader, units[i].name);

                if (u && u->life == LIFE_HELD)
                        return true;
        }
        return false;
}

static void plan_and_start(void) {
        Seen before[UNITS];
        unsigned batches, waits;
        Ask a;

        make_ask(&a);
        look(before);
        if (verbose) {
                print_message("start");
                for (size_t i = 0; i < a.change.n_names; i++)
                        print_message(" %s", a.names[i]);
                print_message("\n");
        }
        const Argosy__Response__Change *plan = ask(&a, true);
        print_plan(plan);
        const Argosy__Response__Change *again = plan->n_units > a.change.n_names ? plan : ask(&a, true);
        batches = g.batches;
        waits = n_waits;
        const Argosy__Response__Change *done = ask(&a, false);
        n_starts++;
        n_held += n_waits > waits || is_one_held();
        if (g.batches - batches > CHAIN_MAX + n_waits - waits) {
                n_chains++;
                return;
        }
        assert_says_the_same(plan, again);
        assert_came_true(plan, done, before);
}

static void step(void) {
        static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
        const char *node = nodes[pick(HOSTS)], *unit = units[pick(UNITS)].name;
        unsigned what = pick(20);

        if (what < 5) {
                if (verbose)
                        print_message("unload %s\n", unit);
                (void) rig_change(&g, what < 4 ? ARGOSY__VERB__VERB_UNLOAD : ARGOSY__VERB__VERB_DESTROY,
                                  unit, NULL);
        } else if (what < 7) {
                if (verbose)
                        print_message("%s %s\n", what == 5 ? "cordon" : "uncordon", node);
                (void) rig_set_mode(
                        &g, node,
                        what == 5 ? ARGOSY__NODE_MODE__MODE_CORDONED : ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        } else
                plan_and_start();
}

static Seen last_seen[UNITS];

// Which units went where in this turn.
static void view_turn(Rig *r) {
        Seen now[UNITS];
        char from[8], to[8];
        bool instances = false, others = false;

        look(now);
        for (size_t i = 0; i < UNITS; i++) {
                if (now[i].node == last_seen[i].node)
                        continue;
                instances |= !units[i].content;
                others |= units[i].content != NULL;
                if (verbose)
                        print_message("    %s: '%s' -> '%s'\n", units[i].name,
                                      name_of_host(last_seen[i].node, from), name_of_host(now[i].node, to));
        }
        n_waits += instances && !others;
        memcpy(last_seen, now, sizeof(last_seen));
}

static void live(unsigned seed) {
        static const char *const names[] = {"n1", "n2", "n3", "n4"};

        seed_of_life = seed;
        srand(seed);
        rig_start(&g, HOSTS);
        memset(last_seen, 0, sizeof(last_seen));
        g.on_turn = view_turn;
        for (size_t i = 0; i < HOSTS; i++) {
                rig_label(&g, names[i], "offers/slot", printed("%d", SLOTS));
        }
        for (unsigned i = 0; i < STEPS; i++)
                step();
        rig_stop(&g);
}

static void what_is_planned_comes_true(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++)
                live(seed);
        assert_true(n_starts > 2500);
        assert_true(n_chains < n_starts / 20);
        assert_true(n_held > 100);
}

static unsigned only;

static void one_life(void **state) {
        verbose = true;
        live(only);
}

int main(int argc, char **argv) {
        const struct CMUnitTest all[] = {cmocka_unit_test(what_is_planned_comes_true)};
        const struct CMUnitTest one[] = {cmocka_unit_test(one_life)};

        log_set_level(LOG_ERR);
        if (argc > 1) {
                only = (unsigned) strtoul(argv[1], NULL, 10);
                return cmocka_run_group_tests(one, NULL, NULL);
        }
        return cmocka_run_group_tests(all, NULL, NULL);
}
