// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "cycles.h"

// "ab" : a leads to b. Whoever asks for `bad` gets an error.
typedef struct Ways {
        const char *const *pairs;
        char bad;
        char text[256], units[64]; // what was found
        unsigned n_found, line;
        int answer;
} Ways;

static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

static int each(CycleWalk *w, const char *name, void *userdata) {
        Ways *ways = userdata;
        int r = *name == ways->bad ? -EIO : 0;

        for (unsigned i = 0; ways->pairs[i] && r == 0; i++)
                if (ways->pairs[i][0] == *name)
                        r = cycles_edge(w, names[ways->pairs[i][1] - 'a'], i + 1, false);
        return r;
}

static int on_found(const Cycle *c, void *userdata) {
        Ways *ways = userdata;

        if (ways->n_found++ == 0)
                cycle_describe(c, ">", ways->text, sizeof(ways->text));
        ways->line = c->line;
        for (size_t i = 0; i < c->n_units; i++)
                strcat(ways->units, c->units[i]);
        return ways->answer;
}

static int find(Ways *ways, size_t max, const char *asked) {
        CycleWalk w = {.next = each, .found = on_found, .userdata = ways, .max = max};
        const char *list[ELEMENTSOF(names)];
        size_t n = strlen(asked);

        for (size_t i = 0; i < n; i++)
                list[i] = names[asked[i] - 'a'];
        return cycles_find(&w, list, n);
}

static void the_shortest_way_round_is_told(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "bc", "cd", "da", "ca", NULL}};

        assert_int_equal(find(&w, 0, "a"), 0);
        assert_string_equal(w.text, "a>b>c>a");
        assert_int_equal(w.line, 1);
}

static void who_leads_to_himself_is_one(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "aa", NULL}};

        assert_int_equal(find(&w, 0, "a"), 0);
        assert_string_equal(w.text, "a>a");
        assert_int_equal(w.line, 2);
}

static void a_cycle_of_others_is_not_told(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "bc", "cb", NULL}};

        assert_int_equal(find(&w, 0, "a"), 0);
        assert_int_equal(w.n_found, 0);
}

static void each_that_was_asked_about_is_told_once(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "ba", "bc", "cb", "de", "ed", NULL}};

        assert_int_equal(find(&w, 0, "abcd"), 0);
        assert_int_equal(strlen(w.units), 4);
        for (const char *c = "abcd"; *c; c++)
                assert_non_null(strchr(w.units, *c));
}

static void too_many_are_refused_and_just_enough_are_not(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "bc", "cd", "da", NULL}};

        assert_int_equal(find(&w, 3, "a"), -E2BIG);
        assert_int_equal(w.n_found, 0);
        assert_int_equal(find(&w, 4, "a"), 0);
        assert_int_equal(w.n_found, 1);
}

static void what_a_callback_returns_ends_the_search(void **state) {
        Ways w = {.pairs = (const char *const[]){"ab", "ba", "cd", "dc", NULL}, .answer = 7};

        assert_int_equal(find(&w, 0, "ac"), 7);
        assert_int_equal(w.n_found, 1);
        w.bad = 'b';
        assert_int_equal(find(&w, 0, "a"), -EIO);
        assert_int_equal(w.n_found, 1);
}

static void a_long_way_is_cut(void **state) {
        const char *const path[] = {"long.service", "longer.service"};
        Cycle c = {.path = path, .n = 2};
        char text[20];

        cycle_describe(&c, " after ", text, sizeof(text));
        assert_string_equal(text, "long.service after ");
}

RUN_TESTS(
        cmocka_unit_test(the_shortest_way_round_is_told),
        cmocka_unit_test(who_leads_to_himself_is_one),
        cmocka_unit_test(a_cycle_of_others_is_not_told),
        cmocka_unit_test(each_that_was_asked_about_is_told_once),
        cmocka_unit_test(too_many_are_refused_and_just_enough_are_not),
        cmocka_unit_test(what_a_callback_returns_ends_the_search),
        cmocka_unit_test(a_long_way_is_cut)
)
