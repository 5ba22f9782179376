// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>

#include "dependencies.h"
#include "test.h"

static Dependencies g, planned;

static int teardown(void **state) {
        dependencies_done_all(&g);
        dependencies_done_all(&planned);
        return 0;
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

// ------------------------------------------------------------------------------------------------ circles

static bool in_batch(const char *name, void *userdata) {
        return dependencies_has(&planned, name);
}

static void on_member(const char *name, void *userdata) {
}

static int check(const char *name, const char *other, unsigned kinds, const char *expected) {
        const DependencyCheck c = {&g, &planned, in_batch, on_member, NULL};
        const UnitDependency one = {(char *) other, kinds, 7};
        char text[256] = "";
        unsigned line = 0;
        int r = dependencies_check_cycle(&c, name, &one, 1, text, sizeof(text), &line);

        assert_string_equal(text, expected);
        assert_int_equal(line, r ? 7 : 0);
        return r;
}

static void a_circle_is_found_however_long_it_is(void **state) {
        char *long_text;
        unsigned line;

        set("a", "b", UNIT_AFTER);
        set("b", "c", UNIT_AFTER);
        assert_int_equal(check("c", "d", UNIT_AFTER, ""), 0);
        assert_int_equal(check("c", "a", UNIT_AFTER, "c after a after b after c"), -ELOOP);
        assert_int_equal(check("c", "c", UNIT_AFTER, "c after c"), -ELOOP);
        assert_int_equal(check("c", "a", UNIT_WANTS | UNIT_PART_OF, ""), 0); // no order
        for (int i = 0; i < 1000; i++) {
                char from[16], to[16];

                snprintf(from, sizeof(from), "x%d", i);
                snprintf(to, sizeof(to), "x%d", i + 1);
                set(from, to, UNIT_AFTER);
        }
        long_text = calloc(1, 64 * 1024);
        assert_int_equal(dependencies_check_cycle(&(DependencyCheck){.current = &g}, "x1000",
                                                  &(UnitDependency){(char *) "x0", UNIT_AFTER, 1}, 1,
                                                  long_text, 64 * 1024, &line),
                         -ELOOP);
        assert_non_null(strstr(long_text, "x499 after x500 after"));
        free(long_text);
}

static void before_closes_a_circle_too(void **state) {
        const UnitDependency two[] = {{(char *) "a", UNIT_BEFORE, 7}, {(char *) "b", UNIT_AFTER, 8}};
        const DependencyCheck c = {.current = &g};
        char text[64];
        unsigned line;

        set("a", "b", UNIT_BEFORE); // b after a
        assert_int_equal(check("b", "a", UNIT_BEFORE, "b after a after b"), -ELOOP);
        assert_int_equal(check("b", "a", UNIT_AFTER, ""), 0);
        set("c", "b", UNIT_AFTER);
        assert_int_equal(check("a", "c", UNIT_AFTER, ""), 0); // its own old word does not count
        assert_int_equal(dependencies_check_cycle(&c, "c", two, 2, text, sizeof(text), &line), -ELOOP);
        assert_string_equal(text, "c after b after a after c");
        assert_int_equal(line, 8);
}

static void what_the_batch_brings_counts_instead_of_what_there_is(void **state) {
        set("a", "b", UNIT_AFTER);
        assert_int_equal(check("b", "a", UNIT_AFTER, "b after a after b"), -ELOOP);
        set_in(&planned, "a", "x", UNIT_AFTER); // it is about to depend on something else
        assert_int_equal(check("b", "a", UNIT_AFTER, ""), 0);
        set_in(&planned, "x", "b", UNIT_AFTER);
        assert_int_equal(check("b", "a", UNIT_AFTER, "b after a after x after b"), -ELOOP);
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

static unsigned draw(unsigned n) {
        random_state = random_state * 1103515245u + 12345u;
        return (random_state >> 16) % n;
}

// A file that is sent again and again with other dependencies is refused exactly when no order would exist.
static void what_is_refused_is_what_has_no_order(void **state) {
        unsigned refused = 0, taken = 0;

        random_state = 4;
        for (int i = 0; i < 3000; i++) {
                bool was_after[N], was_before[N];
                UnitDependency list[3];
                char names[N][8], text[1024], from[8];
                unsigned a = draw(N), n = 0, line;
                const DependencyCheck c = {.current = &g};
                int r;

                memcpy(was_after, after[a], sizeof(was_after));
                memcpy(was_before, before[a], sizeof(was_before));
                memset(after[a], 0, sizeof(after[a]));
                memset(before[a], 0, sizeof(before[a]));
                for (unsigned k = draw(4); k > 0; k--) {
                        unsigned b = draw(N), kind = draw(3) ? UNIT_AFTER : UNIT_BEFORE;

                        if (a == b || after[a][b] || before[a][b])
                                continue;
                        snprintf(names[n], sizeof(names[n]), "u%u", b);
                        list[n] = (UnitDependency){names[n], kind, n + 1};
                        (kind == UNIT_AFTER ? after : before)[a][b] = true;
                        n++;
                }
                snprintf(from, sizeof(from), "u%u", a);
                r = dependencies_check_cycle(&c, from, list, n, text, sizeof(text), &line);
                assert_int_equal(r, has_a_topological_order() ? 0 : -ELOOP);
                if (r == 0) {
                        assert_int_equal(dependencies_set(&g, from, list, n), 0);
                        taken++;
                        continue;
                }
                assert_in_range(line, 1, n);
                memcpy(after[a], was_after, sizeof(was_after));
                memcpy(before[a], was_before, sizeof(was_before));
                refused++;
        }
        assert_true(refused > 100 && taken > 100);
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
                cmocka_unit_test_teardown(a_circle_is_found_however_long_it_is, teardown),
                cmocka_unit_test_teardown(before_closes_a_circle_too, teardown),
                cmocka_unit_test_teardown(what_the_batch_brings_counts_instead_of_what_there_is, teardown),
                cmocka_unit_test_teardown(what_is_refused_is_what_has_no_order, teardown),
        };

        return cmocka_run_group_tests_name("dependencies", tests, NULL, NULL);
}
