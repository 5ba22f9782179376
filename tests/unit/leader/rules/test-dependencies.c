// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>

#include "dependencies.h"
#include "dependency-cycles.h"
#include "printed.h"
#include "test.h"
#include "random-numbers.h"
#include "str.h"

static Dependencies g, planned;

FIXTURE(teardown) {
        dependencies_done_all(&g);
        dependencies_done_all(&planned);
}

static void set_in(Dependencies *d, const char *name, const char *other, unsigned kinds) {
        const UnitDependency one = {(char *) other, kinds, 7};

        assert_int_equal(dependencies_set(d, name, &one, other ? 1 : 0), 0);
}

static void set(const char *name, const char *other, unsigned kinds) {
        set_in(&g, name, other, kinds);
}

static bool append(const DependencyPeer *peer, void *userdata) {
        char *text = userdata;

        sprintf(text + strlen(text), "%s%s:%u", text[0] ? " " : "", peer->name, peer->kinds);
        return false;
}

static void assert_of(const char *name, const char *expected) {
        char seen[256] = "";

        dependencies_each_of(&g, name, append, seen);
        assert_string_equal(seen, expected);
}

static void assert_on(const char *name, const char *expected) {
        char seen[256] = "";

        dependencies_each_on(&g, name, append, seen);
        assert_string_equal(seen, expected);
}

// ------------------------------------------------------------------------------------------------ the rules

static void after_waits_for_what_is_on_its_way_and_for_nothing_else(void **state) {
        for (Standing s = STANDING_OFF; s <= STANDING_DOWN; s++) {
                bool waits = s == STANDING_UNKNOWN || s == STANDING_COMING || s == STANDING_CHANGING ||
                             s == STANDING_ENDING;

                assert_int_equal(dependency_judge_start(UNIT_AFTER, s),
                                 waits ? DEPENDENCY_WAIT : DEPENDENCY_GO);
                assert_false(dependency_judge_run(UNIT_AFTER, s));
        }
}

static void requires_wants_it_up_or_well_ended(void **state) {
        const unsigned kinds = UNIT_AFTER | UNIT_REQUIRES;

        for (Standing s = STANDING_OFF; s <= STANDING_DOWN; s++) {
                bool goes = s == STANDING_UP || s == STANDING_FINISHED,
                     waits = dependency_judge_start(UNIT_AFTER, s) == DEPENDENCY_WAIT;

                assert_int_equal(dependency_judge_start(kinds, s), goes    ? DEPENDENCY_GO
                                                                   : waits ? DEPENDENCY_WAIT
                                                                           : DEPENDENCY_BLOCKED);
                assert_false(dependency_judge_run(kinds, s)); // what it does later is nothing to it
        }
}

static void binds_to_wants_it_up_all_the_time(void **state) {
        const unsigned kinds = UNIT_AFTER | UNIT_REQUIRES | UNIT_BINDS_TO;

        for (Standing s = STANDING_OFF; s <= STANDING_DOWN; s++) {
                bool stays = s == STANDING_UP || s == STANDING_UNKNOWN || s == STANDING_CHANGING ||
                             s == STANDING_RETRYING;

                assert_int_equal(dependency_judge_start(kinds, s) == DEPENDENCY_GO, s == STANDING_UP);
                assert_int_equal(dependency_judge_run(kinds, s), !stays);
        }
}

static void what_is_wanted_without_an_order_holds_nobody(void **state) {
        for (Standing s = STANDING_OFF; s <= STANDING_DOWN; s++)
                for (unsigned kinds = 0; kinds <= (UNIT_REQUIRES | UNIT_BEFORE | UNIT_WANTS | UNIT_PART_OF);
                     kinds++)
                        if (!(kinds & (UNIT_AFTER | UNIT_BINDS_TO))) {
                                assert_int_equal(dependency_judge_start(kinds, s), DEPENDENCY_GO);
                                assert_false(dependency_judge_run(kinds, s));
                        }
}

// ------------------------------------------------------------------------------------------------ the graph

static void both_directions_are_known(void **state) {
        set("a", "b", UNIT_AFTER);
        set("c", "b", UNIT_REQUIRES | UNIT_AFTER);
        assert_of("a", "b:1");
        assert_of("b", "");
        assert_on("b", "a:1 c:5");
        assert_true(dependencies_has(&g, "a") && !dependencies_has(&g, "b"));
        assert_true(dependencies_knows(&g, "b") && !dependencies_knows(&g, "d"));
}

static void before_is_after_from_the_other_side(void **state) {
        set("a", "b", UNIT_BEFORE);
        assert_of("b", "a:1");
        assert_on("a", "b:1");
        set("a", NULL, 0);
        assert_int_equal(g.names.count, 0);
}

static void nothing_stays_behind(void **state) {
        const UnitDependency two[] = {{(char *) "b", UNIT_AFTER, 1}, {(char *) "c", UNIT_AFTER, 2}};

        assert_int_equal(dependencies_set(&g, "a", two, 2), 0);
        assert_int_equal(dependencies_set(&g, "a", two, 1), 0);
        assert_on("c", "");
        assert_int_equal(g.names.count, 2);
        dependencies_forget(&g, "a");
        dependencies_forget(&g, "a");
        assert_int_equal(g.names.count, 0);
}

// ------------------------------------------------------------------------------------------------ cycles

enum { MANY = 2000, OF_EACH = 20 };

static const char *asked; // may have no dependencies at all

static bool in_batch(const char *name, void *userdata) {
        return dependencies_has(&planned, name) || (asked && streq(name, asked));
}

typedef struct Found {
        char text[64 * 1024];
        unsigned line, n; // cycles
        char units[16 * MANY];
} Found;

static Found found;

static int on_cycle(const Cycle *c, void *userdata) {
        assert_true(c->n > 0 && c->n_units > 0);
        if (found.n++ == 0) {
                cycle_describe(c, " after ", found.text, sizeof(found.text));
                found.line = c->line;
        }
        for (size_t i = 0; i < c->n_units; i++) {
                strcat(found.units, found.n > 1 || i > 0 ? " " : "");
                strcat(found.units, c->units[i]);
        }
        return 0;
}

static DependencyCycleSearch search(void) {
        memset(&found, 0, sizeof(found));
        return (DependencyCycleSearch){
                .current = &g, .planned = &planned, .counts = in_batch, .found = on_cycle};
}

// Whether the unit could have these. It keeps what it has.
static bool closes(const char *name, const UnitDependency *list, size_t n) {
        DependencyCycleSearch s = search();

        asked = name;
        assert_int_equal(dependencies_set(&planned, name, list, n), 0);
        assert_int_equal(dependency_cycles_find(&s, &name, 1), 0);
        dependencies_forget(&planned, name);
        asked = NULL;
        assert_string_equal(found.units, found.n ? name : "");
        return found.n > 0;
}

static void check(const char *name, const char *other, unsigned kinds, const char *expected) {
        const UnitDependency one = {(char *) other, kinds, 7};

        assert_int_equal(closes(name, &one, 1), *expected != 0);
        assert_string_equal(found.text, expected);
        assert_int_equal(found.line, *expected ? 7 : 0);
}

static void a_cycle_is_found_however_long_it_is(void **state) {
        set("a", "b", UNIT_AFTER);
        set("b", "c", UNIT_AFTER);
        check("c", "d", UNIT_AFTER, "");
        check("c", "a", UNIT_AFTER, "c after a after b after c");
        check("c", "c", UNIT_AFTER, "c after c");
        check("c", "a", UNIT_WANTS | UNIT_PART_OF, ""); // no order
        for (int i = 0; i < 1000; i++) {
                char from[16];

                snprintf(from, sizeof(from), "x%d", i);
                set(from, printed("x%d", i + 1), UNIT_AFTER);
        }
        assert_true(closes("x1000", &(UnitDependency){(char *) "x0", UNIT_AFTER, 1}, 1));
        assert_non_null(strstr(found.text, "x499 after x500 after"));
}

static void before_closes_a_cycle_too(void **state) {
        const UnitDependency two[] = {{(char *) "a", UNIT_BEFORE, 7}, {(char *) "b", UNIT_AFTER, 8}};

        set("a", "b", UNIT_BEFORE); // b after a
        check("b", "a", UNIT_BEFORE, "b after a after b");
        check("b", "a", UNIT_AFTER, "");
        set("c", "b", UNIT_AFTER);
        check("a", "c", UNIT_AFTER, ""); // its own old word does not count
        assert_true(closes("c", two, 2));
        assert_string_equal(found.text, "c after b after a after c");
        assert_int_equal(found.line, 8);
}

static void what_the_batch_brings_counts_instead_of_what_there_is(void **state) {
        set("a", "b", UNIT_AFTER);
        check("b", "a", UNIT_AFTER, "b after a after b");
        set_in(&planned, "a", "x", UNIT_AFTER); // it is about to depend on something else
        check("b", "a", UNIT_AFTER, "");
        set_in(&planned, "x", "b", UNIT_AFTER);
        check("b", "a", UNIT_AFTER, "b after a after x after b");
}

enum { N = 24 };

static bool after[N][N]; // as said by the first of the two, directly
static bool before[N][N];

// Takes away who comes after nobody until nothing is left, or everybody left comes after somebody.
static bool has_a_topological_order(void) {
        bool gone[N] = {};

        for (unsigned round = 0; round < N; round++)
                for (unsigned a = 0; a < N; a++) {
                        bool waits = false;

                        for (unsigned b = 0; b < N; b++)
                                waits |= !gone[b] && (after[a][b] || before[b][a]);
                        gone[a] |= !waits;
                }
        for (unsigned a = 0; a < N; a++)
                if (!gone[a])
                        return false;
        return true;
}

static unsigned random_state;

// A file that is sent again and again with other dependencies is refused exactly when no order would exist.
static void what_is_refused_is_what_has_no_order(void **state) {
        unsigned refused = 0, taken = 0;

        random_state = 4;
        for (int i = 0; i < 3000; i++) {
                bool was_after[N], was_before[N];
                UnitDependency list[3];
                char names[N][8], from[8];
                unsigned a = dice(N), n = 0;

                memcpy(was_after, after[a], sizeof(was_after));
                memcpy(was_before, before[a], sizeof(was_before));
                memset(after[a], 0, sizeof(after[a]));
                memset(before[a], 0, sizeof(before[a]));
                for (unsigned k = dice(4); k > 0; k--) {
                        unsigned b = dice(N), kind = dice(3) ? UNIT_AFTER : UNIT_BEFORE;

                        if (a == b || after[a][b] || before[a][b])
                                continue;
                        snprintf(names[n], sizeof(names[n]), "u%u", b);
                        list[n] = (UnitDependency){names[n], kind, n + 1};
                        (kind == UNIT_AFTER ? after : before)[a][b] = true;
                        n++;
                }
                snprintf(from, sizeof(from), "u%u", a);
                bool refuse = closes(from, list, n);
                assert_int_equal(refuse, !has_a_topological_order());
                if (!refuse) {
                        assert_int_equal(dependencies_set(&g, from, list, n), 0);
                        taken++;
                        continue;
                }
                assert_in_range(found.line, 1, n);
                memcpy(after[a], was_after, sizeof(was_after));
                memcpy(before[a], was_before, sizeof(was_before));
                refused++;
        }
        assert_true(refused > 100 && taken > 100);
}

// All at once: a unit is told exactly when it comes after itself, whatever the order of the names.
static void of_a_whole_request_those_are_told_who_come_after_themselves(void **state) {
        random_state = 7;
        for (int i = 0; i < 300; i++) {
                bool reach[N][N] = {};
                char names[N][12], padded[sizeof(found.units) + 8];
                const char *all[N];
                unsigned n = 8 + dice(N - 8);

                for (unsigned a = 0; a < n; a++)
                        snprintf(names[a], sizeof(names[a]), "u%u", a);
                for (unsigned a = 0; a < n; a++) {
                        UnitDependency list[2];
                        unsigned k = 0;

                        for (unsigned b = dice(3); k < b && k < 2; k++) {
                                unsigned other = (a + 1 + dice(n - 1)) % n;
                                bool is_before = dice(3) == 0;

                                list[k] = (UnitDependency){names[other],
                                                           is_before ? UNIT_BEFORE : UNIT_AFTER, 1};
                                reach[is_before ? other : a][is_before ? a : other] = true;
                        }
                        assert_int_equal(dependencies_set(&planned, names[a], list, k), 0);
                }
                for (unsigned k = 0; k < n; k++)
                        for (unsigned a = 0; a < n; a++)
                                for (unsigned b = 0; b < n; b++)
                                        reach[a][b] |= reach[a][k] && reach[k][b];
                for (unsigned a = 0, from = dice(n); a < n; a++)
                        all[a] = names[(from + a) % n];
                DependencyCycleSearch s = search();
                assert_int_equal(dependency_cycles_find(&s, all, n), 0);
                snprintf(padded, sizeof(padded), " %s ", found.units);
                for (unsigned a = 0; a < n; a++) {
                        _cleanup_free_ char *word = str_printf(" %s ", names[a]);
                        const char *at = strstr(padded, word);

                        assert_int_equal(at != NULL, reach[a][a]);
                        assert_true(!at || !strstr(at + 1, word)); // once
                }
                dependencies_done_all(&planned);
        }
}

// Each unit comes after twenty random ones of those before it, so that there are very many ways from the
// last one to the first. `back`: the first ones come after the last ones, too, and everything is one knot.
static size_t count_steps(bool back, size_t *ret_edges) {
        static char names[MANY][8];
        const char *all[MANY];
        size_t edges = 0;

        random_state = 3;
        for (unsigned a = 0; a < MANY; a++)
                snprintf(names[a], sizeof(names[a]), "u%u", a);
        for (unsigned a = 0; a < MANY; a++) {
                UnitDependency list[OF_EACH];
                unsigned n = 0;

                for (; n < OF_EACH && (a > 0 || back); n++)
                        list[n] = (UnitDependency){
                                names[back && a < OF_EACH ? MANY - 1 - dice(OF_EACH) : dice(a)],
                                dice(2) ? UNIT_AFTER : UNIT_AFTER | UNIT_REQUIRES, n + 1};
                edges += n;
                assert_int_equal(dependencies_set(&planned, names[a], list, n), 0);
                all[a] = names[a];
        }
        DependencyCycleSearch s = search();
        assert_int_equal(dependency_cycles_find(&s, all, MANY), 0);
        dependencies_done_all(&planned);
        *ret_edges = edges;
        return s.n_steps;
}

static void a_tangle_costs_what_it_has_units_and_dependencies(void **state) {
        size_t edges, steps = count_steps(false, &edges);

        assert_int_equal(found.n, 0);
        assert_true(edges > 39000);
        assert_in_range(steps, edges, MANY + 2 * edges); // gathered and walked, each once
        steps = count_steps(true, &edges);
        assert_true(found.n > 0);
        assert_true(steps <= MANY + (2 + CYCLES_REPORTED_MAX) * edges);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(after_waits_for_what_is_on_its_way_and_for_nothing_else),
                cmocka_unit_test(requires_wants_it_up_or_well_ended),
                cmocka_unit_test(binds_to_wants_it_up_all_the_time),
                cmocka_unit_test(what_is_wanted_without_an_order_holds_nobody),
                cmocka_unit_test_teardown(both_directions_are_known, teardown),
                cmocka_unit_test_teardown(before_is_after_from_the_other_side, teardown),
                cmocka_unit_test_teardown(nothing_stays_behind, teardown),
                cmocka_unit_test_teardown(a_cycle_is_found_however_long_it_is, teardown),
                cmocka_unit_test_teardown(before_closes_a_cycle_too, teardown),
                cmocka_unit_test_teardown(of_a_whole_request_those_are_told_who_come_after_themselves,
                                          teardown),
                cmocka_unit_test_teardown(a_tangle_costs_what_it_has_units_and_dependencies, teardown),
                cmocka_unit_test_teardown(what_the_batch_brings_counts_instead_of_what_there_is, teardown),
                cmocka_unit_test_teardown(what_is_refused_is_what_has_no_order, teardown),
        };

        return cmocka_run_group_tests_name("dependencies", tests, NULL, NULL);
}
