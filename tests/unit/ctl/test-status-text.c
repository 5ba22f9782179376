// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "messages.h"
#include "status-text.h"

#define NOW UINT64_C(1763633105000000) // Thu 2025-11-20 10:05:05 UTC

typedef struct Example {
        Argosy__Response__Status status;
        Argosy__Response__UnitRow row;
        Argosy__Response__Property properties[16], *pointers[16];
        Argosy__Refusal refusal, *refusals[1];
        char *log[1];
} Example;

static void set(Example *e, const char *key, const char *value) {
        size_t n = e->status.n_properties++;

        e->properties[n] = (Argosy__Response__Property) MESSAGE_OF(response__property, .key = (char *) key,
                                                                   .value = (char *) value);
        e->pointers[n] = &e->properties[n];
        e->status.properties = e->pointers;
}

typedef struct Pair {
        const char *key, *value;
} Pair;

static void set_all(Example *e, const Pair *pairs) {
        for (; pairs->key; pairs++)
                set(e, pairs->key, pairs->value);
}

#define SET(e, ...) set_all(e, (const Pair[]){__VA_ARGS__, {}})

static void init(Example *e, const char *unit, const char *active, const char *sub) {
        setenv("TZ", "UTC", 1);
        *e = (Example){};
        e->status = (Argosy__Response__Status) ARGOSY__RESPONSE__STATUS__INIT;
        e->row = (Argosy__Response__UnitRow) UNIT_ROW_OF(.unit = (char *) unit, .load = (char *) "loaded",
                                                         .active = (char *) active, .sub = (char *) sub);
        e->status.row = &e->row;
        e->status.desired = (char *) "launched";
        e->status.revision = 12;
}

static void expect(const Example *e, const char *text) {
        TextStyle style = {};
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(status_format(&e->status, &style, NOW, &b), 0);
        got = buf_take_string(&b);
        assert_string_equal(got, text);
}

static void a_running_service_looks_as_in_systemctl(void **state) {
        Example e;

        init(&e, "web.service", "active", "running");
        e.row.node = (char *) "n2";
        e.row.spec = (char *) "1f2e3d4c5b6a79881f2e3d4c5b6a7988";
        SET(&e, {"Description", "Example web server"}, {"FragmentPath", "/run/systemd/system/web.service"},
            {"ActiveEnterTimestamp", "Thu 2025-11-20 10:00:00 UTC"}, {"MainPID", "4711"},
            {"TasksCurrent", "3"}, {"TasksMax", "4915"}, {"MemoryCurrent", "4718592"},
            {"CPUUsageNSec", "61000000000"}, {"ControlGroup", "/argosy.slice/web.service"},
            {"Result", "success"});
        e.log[0] = (char *) "Nov 20 10:00:00 n2 web[4711]: ready\x1b[2J";
        e.status.log = e.log;
        e.status.n_log = 1;
        expect(&e, "* web.service - Example web server\n"
                   "     Loaded: loaded (/run/systemd/system/web.service)\n"
                   "     Active: active (running) since Thu 2025-11-20 10:00:00 UTC; 5min 5s ago\n"
                   "       Node: n2\n"
                   "    Desired: launched (revision 12, file 1f2e3d4)\n"
                   "   Main PID: 4711\n"
                   "      Tasks: 3 (limit: 4915)\n"
                   "     Memory: 4.5M\n"
                   "        CPU: 1min 1s\n"
                   "     CGroup: /argosy.slice/web.service\n"
                   "\n"
                   "Nov 20 10:00:00 n2 web[4711]: ready?[2J\n");
}

static void drop_ins_stand_below_the_file(void **state) {
        char *drop_ins[] = {(char *) "web.service.d/10-limits.conf", (char *) "web.service.d/20\x1b.conf"};
        Example e;

        init(&e, "web.service", "active", "running");
        e.status.drop_ins = drop_ins;
        e.status.n_drop_ins = 2;
        set(&e, "DropInPaths",
            "/etc/systemd/system/web.service.d/5.conf /run/systemd/system/web.service.d/50-argosy.conf");
        expect(&e, "* web.service\n"
                   "     Loaded: loaded\n"
                   "    Drop-In: web.service.d/10-limits.conf\n"
                   "             web.service.d/20?.conf\n"
                   "             /etc/systemd/system/web.service.d/5.conf (the node's own)\n"
                   "     Active: active (running)\n"
                   "       Node: -\n"
                   "    Desired: launched (revision 12)\n");
}

static void volumes_and_networks_are_no_drop_ins(void **state) {
        char *parts[] = {(char *) "web.container.d/10-limits.conf", (char *) "data.volume",
                         (char *) "front.network"};
        Example e;

        init(&e, "web.service", "active", "running");
        e.status.drop_ins = parts;
        e.status.n_drop_ins = 3;
        expect(&e, "* web.service\n"
                   "     Loaded: loaded\n"
                   "    Drop-In: web.container.d/10-limits.conf\n"
                   "    Quadlet: data.volume\n"
                   "             front.network\n"
                   "     Active: active (running)\n"
                   "       Node: -\n"
                   "    Desired: launched (revision 12)\n");
}

static void what_is_used_is_that_of_the_control_group(void **state) {
        Argosy__Response__UsageRow usage = USAGE_ROW_OF(.known = 1 + 2 + 8, .cpu_us = 61000000, .tasks = 3,
                                                        .memory = 77, .io_read = 4718592, .io_write = 0);
        Example e;

        init(&e, "web.service", "active", "running");
        SET(&e, {"TasksCurrent", "9"}, {"TasksMax", "4915"},
            {"MemoryCurrent", "1024"}, // what the group does not tell
            {"CPUUsageNSec", "1000"});
        e.status.usage = &usage;
        expect(&e, "* web.service\n"
                   "     Loaded: loaded\n"
                   "     Active: active (running)\n"
                   "       Node: -\n"
                   "    Desired: launched (revision 12)\n"
                   "         IO: 4.5M read, 0B written\n"
                   "      Tasks: 3 (limit: 4915)\n"
                   "     Memory: 1.0K\n"
                   "        CPU: 1min 1s\n");
}

static void a_unit_that_nobody_takes_says_why(void **state) {
        Example e;

        init(&e, "db.service", "inactive", "dead");
        e.row.load = (char *) "";
        e.status.why = (char *) "no node can take it";
        e.refusal = (Argosy__Refusal) MESSAGE_OF(refusal, .node = (char *) "n1",
                                                 .reason = (char *) "label disk=ssd is missing");
        e.refusals[0] = &e.refusal;
        e.status.refusals = e.refusals;
        e.status.n_refusals = 1;
        expect(&e, "o db.service\n"
                   "     Loaded: -\n"
                   "     Active: inactive (dead)\n"
                   "       Node: -\n"
                   "    Desired: launched (revision 12)\n"
                   "        Why: no node can take it\n"
                   "             n1: label disk=ssd is missing\n");
}

static void failure_drift_and_an_old_file_are_visible(void **state) {
        Example e;

        init(&e, "job.service", "failed", "failed");
        e.row.node = (char *) "n1";
        e.row.drift = true;
        e.row.file_stale = true;
        SET(&e, {"Result", "exit-code"}, {"ExecMainPID", "99"}, {"ExecMainCode", "2"},
            {"ExecMainStatus", "9"}, {"MemoryCurrent", "[not set]"},
            {"InactiveEnterTimestamp", "1763633100000000"});
        expect(&e,
               "x job.service\n"
               "     Loaded: loaded - systemd runs an older file; argosyctl restart takes up the new one\n"
               "     Active: failed (Result: exit-code) since Thu 2025-11-20 10:05:00 UTC; 5s ago\n"
               "       Node: n1\n"
               "    Desired: launched (revision 12)\n"
               "      Drift: changed on the node by somebody else; argosyctl start brings it back\n"
               "   Main PID: 99 (code=killed, signal=9/KILL)\n");
}

static void an_answer_without_a_row_is_survived(void **state) {
        Example e;

        init(&e, "", "", "");
        e.status.row = NULL;
        e.status.desired = (char *) "";
        expect(&e, "* \n     Loaded: -\n     Active: -\n       Node: -\n    Desired: - (revision 12)\n");
        e.status.revision = 0; // it is destroyed, and its host is not heard
        expect(&e, "* \n     Loaded: -\n     Active: -\n       Node: -\n    Desired: -\n");
}

static void timestamps_are_read_in_both_forms(void **state) {
        setenv("TZ", "UTC", 1);
        assert_true(property_time_us("1763632800000000") == UINT64_C(1763632800000000));
        assert_true(property_time_us("Thu 2025-11-20 10:00:00 UTC") == UINT64_C(1763632800000000));
        assert_true(property_time_us("") == 0);
        assert_true(property_time_us("n/a") == 0);
        assert_true(property_time_us("0") == 0);
        assert_true(property_time_us("Thu yesterday") == 0);
}

static void exit_codes_are_systemctls(void **state) {
        assert_int_equal(status_exit_code("active"), 0);
        assert_int_equal(status_exit_code("reloading"), 0);
        assert_int_equal(status_exit_code("inactive"), 3);
        assert_int_equal(status_exit_code("failed"), 3);
        assert_int_equal(status_exit_code("activating"), 3);
        assert_int_equal(status_exit_code("unknown"), 4);
        assert_int_equal(status_exit_code(""), 4);
}

static int tally(const char *a, const char *b) {
        ActiveTally t = {};

        active_tally_add(&t, a);
        active_tally_add(&t, b);
        return active_tally_exit_code(&t);
}

static void one_active_unit_is_enough(void **state) {
        assert_int_equal(tally("failed", "active"), 0);
        assert_int_equal(tally("unknown", "active"), 0);
        assert_int_equal(tally("unknown", "failed"), 3);
        assert_int_equal(tally("unknown", "unknown"), 4);
}

static void a_global_unit_is_active_if_it_is_somewhere(void **state) {
        assert_string_equal(active_state_of_two("failed", "active"), "active");
        assert_string_equal(active_state_of_two("active", "failed"), "active");
        assert_string_equal(active_state_of_two("unknown", "failed"), "failed");
        assert_string_equal(active_state_of_two("inactive", "unknown"), "inactive");
}

RUN_TESTS(
        cmocka_unit_test(a_running_service_looks_as_in_systemctl),
        cmocka_unit_test(drop_ins_stand_below_the_file),
        cmocka_unit_test(volumes_and_networks_are_no_drop_ins),
        cmocka_unit_test(what_is_used_is_that_of_the_control_group),
        cmocka_unit_test(a_unit_that_nobody_takes_says_why),
        cmocka_unit_test(failure_drift_and_an_old_file_are_visible),
        cmocka_unit_test(an_answer_without_a_row_is_survived),
        cmocka_unit_test(timestamps_are_read_in_both_forms),
        cmocka_unit_test(exit_codes_are_systemctls),
        cmocka_unit_test(one_active_unit_is_enough),
        cmocka_unit_test(a_global_unit_is_active_if_it_is_somewhere)
)
