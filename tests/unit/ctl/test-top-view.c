// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "messages.h"
#include "top-view.h"

enum { CPU = 1, TASKS = 2, MEMORY = 4, IO = 8, ALL = 15, ROWS_MAX = 8 };

typedef struct Unit {
        const char *name;
        uint32_t known;
        uint64_t run, at_us, cpu_us, tasks, memory, io_read, io_write;
} Unit;

static TopView view;
static uint64_t now_us;

FIXTURE(setup) {
        view = (TopView){};
        now_us = 0;
}

FIXTURE(teardown) {
        top_view_done(&view);
}

static int take(const char *node, const Unit *units, size_t n, bool last) {
        Argosy__Response__UsageRow rows[ROWS_MAX], *pointers[ROWS_MAX];

        for (size_t i = 0; i < n; i++) {
                rows[i] = (Argosy__Response__UsageRow) MESSAGE_OF(
                        response__usage_row, .unit = (char *) units[i].name, .known = units[i].known,
                        .run = units[i].run, .at_us = units[i].at_us, .cpu_us = units[i].cpu_us,
                        .tasks = units[i].tasks, .memory = units[i].memory, .io_read = units[i].io_read,
                        .io_write = units[i].io_write);
                pointers[i] = &rows[i];
        }
        Argosy__Response__Usage usage = MESSAGE_OF(response__usage, .node = (char *) node, .rows = pointers,
                                                   .n_rows = n, .last = last);
        return top_view_take(&view, &usage, now_us);
}

static void take_one(const char *node, Unit unit) {
        assert_int_equal(take(node, &unit, 1, true), 1);
}

// The only row.
static TopRow row(void) {
        const TopRow **rows;
        size_t n;

        assert_int_equal(top_view_rows(&view, TOP_BY_PATH, false, &rows, &n), 0);
        assert_int_equal(n, 1);
        TopRow r = *rows[0];
        free(rows);
        return r;
}

// "a/n1 b/n2": the units and their nodes in that order.
static const char *listed(TopOrder order, bool reverse) {
        static char text[256];
        const TopRow **rows;
        size_t n;

        *text = 0;
        assert_int_equal(top_view_rows(&view, order, reverse, &rows, &n), 0);
        for (size_t i = 0; i < n; i++)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s/%s", i ? " " : "",
                         rows[i]->unit, rows[i]->node);
        free(rows);
        return text;
}

static void rates_come_from_two_readings_and_their_own_times(void **state) {
        take_one("n1", (Unit){"a", ALL, 1, 1000000, 500000, 3, 4096, 1000, 2000});
        assert_true(row().cpu_permille == TOP_NONE && row().io_read_rate == TOP_NONE);
        assert_int_equal(row().tasks, 3);
        assert_int_equal(row().memory, 4096);
        take_one("n1", (Unit){"a", ALL, 1, 3000000, 1500000, 4, 8192, 5000, 2000});
        assert_int_equal(row().cpu_permille, 500);
        assert_int_equal(row().io_read_rate, 2000);
        assert_int_equal(row().io_write_rate, 0);
        assert_int_equal(row().tasks, 4);
        take_one("n1", (Unit){"a", ALL, 1, 3500000, 3000000, 4, 8192, 5000, 2000});
        assert_int_equal(row().cpu_permille, 3000); // three processors
}

static void another_run_has_no_rate_yet(void **state) {
        take_one("n1", (Unit){"a", CPU, 1, 1000000, 500000});
        take_one("n1", (Unit){"a", CPU, 2, 2000000, 700000});
        assert_true(row().cpu_permille == TOP_NONE);
        take_one("n1", (Unit){"a", CPU, 2, 3000000, 800000});
        assert_int_equal(row().cpu_permille, 100);
        take_one("n1", (Unit){"a", CPU, 2, 3000000, 900000}); // no time went by
        assert_true(row().cpu_permille == TOP_NONE);
        take_one("n1", (Unit){"a", CPU, 2, 4000000, 1}); // a counter that went back
        assert_true(row().cpu_permille == TOP_NONE);
}

static void what_is_not_known_stays_so(void **state) {
        take_one("n1", (Unit){"a", CPU, 1, 1000000, 1, 2, 3, 4, 5});
        take_one("n1", (Unit){"a", TASKS, 1, 2000000, 1, 2, 3, 4, 5});
        assert_true(row().cpu_us == TOP_NONE && row().cpu_permille == TOP_NONE && row().memory == TOP_NONE &&
                    row().io_read == TOP_NONE && row().io_write_rate == TOP_NONE);
        assert_int_equal(row().tasks, 2);
}

static void a_reading_is_shown_when_it_is_complete(void **state) {
        Unit a = {"a", CPU, 1, 1, 1}, b = {"b", CPU, 2, 1, 1};

        assert_int_equal(take("n1", &a, 1, false), 0);
        assert_string_equal(listed(TOP_BY_PATH, false), "");
        assert_int_equal(take("n1", &b, 1, true), 1);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n1 b/n1");
        take_one("n1", b);
        assert_string_equal(listed(TOP_BY_PATH, false), "b/n1");
        assert_int_equal(take("n1", NULL, 0, true), 1);
        assert_string_equal(listed(TOP_BY_PATH, false), "");
}

static void nodes_come_and_go(void **state) {
        Argosy__Response__Usage gone = MESSAGE_OF(response__usage, .node = (char *) "n1", .gone = true);
        Unit a = {"a", CPU, 1, 1, 1};

        take_one("n2", a);
        take_one("n1", a);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n1 a/n2");
        assert_int_equal(top_view_n_nodes(&view), 2);
        assert_int_equal(top_view_n_fresh(&view, 1), 2);
        assert_int_equal(top_view_n_fresh(&view, 2), 0);
        top_view_mark(&view);
        take_one("n1", a);
        assert_int_equal(top_view_n_fresh(&view, 1), 1);
        assert_int_equal(top_view_take(&view, &gone, 0), 0);
        assert_int_equal(top_view_take(&view, &gone, 0), 0);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n2");
}

static void another_connection_begins_readings_anew(void **state) {
        Unit a = {"a", CPU, 1, 1, 1};

        assert_int_equal(take("n1", &a, 1, false), 0);
        top_view_begin(&view);
        take_one("n1", a);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n1"); // once
        now_us = 10;
        take_one("n2", a);
        top_view_forget(&view, 0);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n1 a/n2");
        top_view_forget(&view, 10);
        assert_string_equal(listed(TOP_BY_PATH, false), "a/n2");
}

static void orders(void **state) {
        Unit before[] = {
                {"a", ALL, 1, 0, 0, 0, 0, 0, 0}, {"b", ALL, 2, 0, 0, 0, 0, 0, 0}, {"c", CPU, 3, 0, 0}};
        Unit now[] = {{"a", ALL, 1, 1000000, 10000, 9, 100, 5, 5},
                      {"b", ALL, 2, 1000000, 20000, 1, 200, 2, 2},
                      {"c", CPU, 3, 1000000, 15000},
                      {"d", 0, 4, 1000000}};

        assert_int_equal(take("n", before, 3, true), 1);
        assert_int_equal(take("n", now, 4, true), 1);
        assert_string_equal(listed(TOP_BY_CPU, false), "b/n c/n a/n d/n");
        assert_string_equal(listed(TOP_BY_CPU, true), "a/n c/n b/n d/n");
        assert_string_equal(listed(TOP_BY_MEMORY, false), "b/n a/n c/n d/n");
        assert_string_equal(listed(TOP_BY_TASKS, false), "a/n b/n c/n d/n");
        assert_string_equal(listed(TOP_BY_IO, false), "a/n b/n c/n d/n");
        assert_string_equal(listed(TOP_BY_IO, true), "b/n a/n c/n d/n");
        assert_string_equal(listed(TOP_BY_PATH, true), "d/n c/n b/n a/n");
}

static void words_of_orders(void **state) {
        TopOrder o;

        for (TopOrder i = 0; i < _TOP_ORDER_MAX; i++) {
                assert_true(top_order_from_string(top_order_to_string(i), &o));
                assert_int_equal(o, i);
        }
        assert_false(top_order_from_string("", &o));
        assert_false(top_order_from_string("cpus", &o));
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        VIEW_TEST(rates_come_from_two_readings_and_their_own_times),
        VIEW_TEST(another_run_has_no_rate_yet),
        VIEW_TEST(what_is_not_known_stays_so),
        VIEW_TEST(a_reading_is_shown_when_it_is_complete),
        VIEW_TEST(nodes_come_and_go),
        VIEW_TEST(another_connection_begins_readings_anew),
        VIEW_TEST(orders),
        cmocka_unit_test(words_of_orders)
)
