// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-metrics.h"
#include "macro.h"
#include "messages.h"

static Argosy__Response__Counter counter(const char *name, const char *help, uint64_t value) {
        return (Argosy__Response__Counter) MESSAGE_OF(response__counter, .name = (char *) name,
                                                      .help = (char *) help, .value = value);
}

static char *metrics_of(Argosy__Response__Counter **rows, size_t n) {
        Argosy__Response__Counters counters = MESSAGE_OF(response__counters, .rows = rows, .n_rows = n);
        Argosy__Response r = RESPONSE_OF(COUNTERS, counters, &counters);
        _cleanup_free_ uint8_t *data = NULL;

        data = malloc(argosy__response__get_packed_size(&r));
        HttpPart part = (HttpPart){data, argosy__response__pack(&r, data)};
        return http_metrics(&part);
}

static void a_figure_is_type_help_and_value(void **state) {
        Argosy__Response__Counter a = counter("slow_turns", "turns of more than 10 ms", 3),
                                  b = counter("entries", "", UINT64_MAX);
        _cleanup_free_ char *text = NULL;

        b.gauge = true;
        text = metrics_of((Argosy__Response__Counter *[]){&a, &b}, 2);
        assert_string_equal(text, "# TYPE argosy_slow_turns counter\n# HELP argosy_slow_turns turns of more "
                                  "than 10 ms\nargosy_slow_turns_total 3\n"
                                  "# TYPE argosy_entries gauge\n# HELP argosy_entries \nargosy_entries "
                                  "18446744073709551615\n# EOF\n");
}

static void what_has_labels_is_one_figure_for_each_value(void **state) {
        Argosy__Label state_label = ARGOSY__LABEL__INIT, verb = ARGOSY__LABEL__INIT,
                      odd = ARGOSY__LABEL__INIT;
        Argosy__Label *labels[] = {&verb, &state_label}, *odd_labels[] = {&odd};
        Argosy__Response__Counter a = counter("jobs", "jobs", 1), b = counter("jobs", "jobs", 2),
                                  c = counter("x", "", 3);
        _cleanup_free_ char *text = NULL;

        verb.key = (char *) "verb";
        verb.value = (char *) "a\"b\\c\nd";
        state_label.key = (char *) "state";
        state_label.value = (char *) "done";
        odd.key = (char *) "a b"; // no name of a label
        a.labels = b.labels = labels;
        a.n_labels = 1;
        b.n_labels = 2;
        c.labels = odd_labels;
        c.n_labels = 1;
        text = metrics_of((Argosy__Response__Counter *[]){&a, &b, &c}, 3);
        assert_string_equal(text, "# TYPE argosy_jobs counter\n# HELP argosy_jobs jobs\n"
                                  "argosy_jobs_total{verb=\"a\\\"b\\\\c\\nd\"} 1\n"
                                  "argosy_jobs_total{verb=\"a\\\"b\\\\c\\nd\",state=\"done\"} 2\n# EOF\n");
}

static void help_is_one_line(void **state) {
        Argosy__Response__Counter a = counter("a", "a \"b\" \\ c\nargosy_b 7", 1);
        _cleanup_free_ char *text = metrics_of((Argosy__Response__Counter *[]){&a}, 1);

        assert_non_null(
                strstr(text, "# HELP argosy_a a \\\"b\\\" \\\\ c\\nargosy_b 7\nargosy_a_total 1\n# EOF\n"));
}

static void turns_of_the_loop_are_a_histogram(void **state) {
        Argosy__Response__TurnTimes turns = ARGOSY__RESPONSE__TURN_TIMES__INIT;
        uint64_t bounds[] = {100, 10000}, counts[] = {5, 7, 8};
        _cleanup_free_ char *text = NULL, *both = NULL, *without = NULL;
        uint8_t data[512];
        Argosy__Response__Counters counters = MESSAGE_OF(response__counters, .turns = &turns);
        Argosy__Response r = RESPONSE_OF(COUNTERS, counters, &counters);

        turns.bounds_us = bounds;
        turns.n_bounds_us = 2;
        turns.counts = counts;
        turns.n_counts = 3;
        turns.sum_us = 1234567;
        HttpPart part = {.data = data, .len = argosy__response__pack(&r, data)};
        text = http_metrics(&part);
        assert_non_null(strstr(text, "# TYPE argosy_turn_seconds histogram\n"));
        assert_non_null(strstr(text,
                               "argosy_turn_seconds_bucket{le=\"0.000100\"} 5\n"
                               "argosy_turn_seconds_bucket{le=\"0.010000\"} 7\n"
                               "argosy_turn_seconds_bucket{le=\"+Inf\"} 8\n"
                               "argosy_turn_seconds_count 8\nargosy_turn_seconds_sum 1.234567\n# EOF\n"));
        Argosy__Response__Times commits = MESSAGE_OF(response__times, .name = (char *) "log_commit",
                                                     .help = (char *) "How \\ long"),
                                *times = &commits;
        commits.times = &turns;
        counters.times = &times;
        counters.n_times = 1;
        part.len = argosy__response__pack(&r, data);
        both = http_metrics(&part);
        assert_non_null(
                strstr(both, "argosy_turn_seconds_sum 1.234567\n# TYPE argosy_log_commit_seconds histogram\n"
                             "# UNIT argosy_log_commit_seconds seconds\n"
                             "# HELP argosy_log_commit_seconds How \\\\ long\n"
                             "argosy_log_commit_seconds_bucket{le=\"0.000100\"} 5\n"));
        assert_non_null(strstr(
                both, "argosy_log_commit_seconds_count 8\nargosy_log_commit_seconds_sum 1.234567\n# EOF\n"));
        commits.name = (char *) "a b"; // no name of a metric
        turns.n_counts = 2; // not one for each bound
        part.len = argosy__response__pack(&r, data);
        without = http_metrics(&part);
        assert_string_equal(without, "# EOF\n");
}

static void what_is_no_name_is_left_out(void **state) {
        Argosy__Response__Counter a = counter("a b", "", 1), b = counter("", "", 1),
                                  c = counter("ok", "", 1), d = counter("x{y=\"z\"}", "", 1);
        _cleanup_free_ char *text = metrics_of((Argosy__Response__Counter *[]){&a, &b, &c, &d}, 4);

        assert_string_equal(text, "# TYPE argosy_ok counter\n# HELP argosy_ok \nargosy_ok_total 1\n# EOF\n");
}

static void what_has_no_counters_is_none(void **state) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        uint8_t data[64] = {0xff, 0xff};
        HttpPart part = {data, 2};

        assert_null(http_metrics(&part));
        part.len = argosy__response__pack(&r, data);
        assert_null(http_metrics(&part));
}

RUN_TESTS(
        cmocka_unit_test(a_figure_is_type_help_and_value),
        cmocka_unit_test(what_has_labels_is_one_figure_for_each_value),
        cmocka_unit_test(help_is_one_line),
        cmocka_unit_test(turns_of_the_loop_are_a_histogram),
        cmocka_unit_test(what_is_no_name_is_left_out),
        cmocka_unit_test(what_has_no_counters_is_none)
)
