// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd stops with a unit that gets new content, and what becomes of it.
#include "agent-world.h"

#include "agent-private.h"
#include "printed.h"

#define DB "[Service]\nExecStart=/bin/db\n"
#define NEW_DB "[Service]\nExecStart=/bin/new-db\n"
#define BAD_DB "[Service]\nExecStart=/bin/false\n"
#define WEB "[Unit]\nRequires=db.service\n[Service]\nExecStart=/bin/web\n"
#define NEW_WEB "[Unit]\nRequires=db.service\n[Service]\nExecStart=/bin/new-web\n"
#define CACHE "[Unit]\nPartOf=db.service\n[Service]\nExecStart=/bin/cache\n"

static const Order db = {.name = "db.service", .content = DB, .revision = 5, .start = 5},
                   web_of_db = {.name = "web.service", .content = WEB, .revision = 6, .start = 6},
                   cache = {.name = "cache.service", .content = CACHE, .revision = 7, .start = 7};

static bool is_up(const char *name) {
        return pid1_is_active(pid1, name);
}

// A unit that systemd has and argosy knows nothing of.
static void start_foreign(const char *name, const char *content) {
        FILE *f = fopen(printed("%s/%s", w.unit_dir, name), "we");

        assert_non_null(f);
        fputs(content, f);
        fclose(f);
        pid1_start(pid1, name);
}

// All of them run.
static void begin(void) {
        meet_leader(NULL, 0);
        send_orders((Order[]){db, web_of_db, cache}, 3);
        loop_until(answered("db.service", 5) && answered("web.service", 6) && answered("cache.service", 7));
        start_foreign("proxy.service", "[Unit]\nRequires=web.service\n[Service]\nExecStart=/bin/proxy\n");
        assert_true(is_up("db.service") && is_up("web.service") && is_up("cache.service") &&
                    is_up("proxy.service"));
        assert_int_equal(pid1_n_surveys(pid1), 0);
}

static Order with(Order order, const char *content, uint64_t revision) {
        order.content = content;
        order.revision = revision;
        return order;
}

static bool all_is_up(void) {
        return is_up("db.service") && is_up("web.service") && is_up("cache.service") &&
               is_up("proxy.service");
}

static void what_a_new_file_takes_down_is_back_when_the_order_is_answered(void **state) {
        begin();
        start_foreign("off.service", "[Unit]\nRequires=db.service\n[Service]\nExecStart=/bin/off\n");
        pid1_pin(pid1, "off.service");
        pid1_stop(pid1, "off.service"); // by hand
        send_order(with(db, NEW_DB, 8));
        loop_until(answered("db.service", 8));
        assert_string_equal(pid1_content(pid1, "db.service"), NEW_DB);
        assert_true(all_is_up());
        assert_false(is_up("off.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
        assert_int_equal(pid1_n_surveys(pid1), 1);
        assert_string_equal(report_of("db.service")->error, "");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(report_of("web.service")->down, ARGOSY__DOWN_CAUSE__DOWN_NOT);
        assert_false(report_of("web.service")->comes_back);
        assert_int_equal(w.agent->system->returns.count, 0);
}

static void what_hangs_on_a_unit_by_another_goes_along_with_it(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){db,
                              web_of_db,
                              {.name = "proxy.service",
                               .content = "[Unit]\nRequires=web.service\n[Service]\nExecStart=/bin/proxy\n",
                               .revision = 7,
                               .start = 7}},
                    3);
        loop_until(answered("db.service", 5) && answered("web.service", 6) && answered("proxy.service", 7));
        send_order((Order){
                .name = "db.service", .content = DB, .revision = 8, .start = 5, .loaded_only = true});
        loop_until(answered("db.service", 8) &&
                   report_of("proxy.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
                   report_of("proxy.service")->down != ARGOSY__DOWN_CAUSE__DOWN_NOT);
        assert_int_equal(report_of("proxy.service")->down, ARGOSY__DOWN_CAUSE__DOWN_BOUND);
}

static void what_somebody_stopped_is_not_started(void **state) {
        begin();
        pid1_stop(pid1, "web.service"); // and proxy.service with it
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        send_order(with(db, NEW_DB, 8));
        loop_until(answered("db.service", 8));
        assert_true(is_up("db.service") && is_up("cache.service"));
        assert_false(is_up("web.service") || is_up("proxy.service"));
        assert_true(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

// It is killed after so many turns of the loop, from the order to its end and beyond.
static void a_crash_at_any_moment_forgets_nobody(void **state) {
        enum { TURNS_MAX = 40 };
        bool done = false;

        for (unsigned turns = 0; turns < TURNS_MAX && !done; turns++) {
                uint64_t revision = 10 + turns;
                const char *content = turns % 2 ? DB : NEW_DB;

                if (turns == 0)
                        begin();
                send_order(with(db, content, revision));
                for (unsigned i = 0; i < turns; i++)
                        uv_run(&test_loop, UV_RUN_ONCE);
                done = answered("db.service", revision);
                agent_down();
                forget_reports();
                agent_up();
                meet_leader((Order[]){with(db, content, revision), web_of_db, cache}, 3);
                loop_until(report_of("db.service") && answered("db.service", revision) && all_is_up());
                assert_string_equal(pid1_content(pid1, "db.service"), content);
                loop_until(w.agent->system->returns.count == 0);
                assert_false(report_of("web.service") &&
                             report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        }
}

static void what_needs_a_unit_that_does_not_start_is_down_until_it_does(void **state) {
        begin();
        send_order(with(db, BAD_DB, 8));
        loop_until(answered("db.service", 8));
        assert_non_null(strstr(report_of("db.service")->error, "proxy.service and 1 more, which need it"));
        assert_false(is_up("db.service") || is_up("web.service") || is_up("proxy.service"));
        assert_true(is_up("cache.service")); // a part of it, and needs nothing
        assert_int_equal(pid1_runs(pid1, "db.service"), 2);
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_BOUND &&
                   report_of("web.service")->comes_back);
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        agent_down(); // which it outlives
        agent_up();
        meet_leader((Order[]){with(db, BAD_DB, 8), web_of_db, cache}, 3);
        send_order(with(db, DB, 9));
        loop_until(answered("db.service", 9));
        assert_true(all_is_up());
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
        assert_int_equal(w.agent->system->returns.count, 0);
}

static void who_is_to_stop_brings_nothing_back(void **state) {
        Order stopped = with(db, BAD_DB, 9);

        begin();
        send_order(with(db, BAD_DB, 8));
        loop_until(answered("db.service", 8));
        stopped.loaded_only = true;
        stopped.stop = 9;
        send_order(stopped);
        loop_until(answered("db.service", 9));
        order_and_wait((Order){.name = "db.service", .content = DB, .revision = 10, .start = 10, .stop = 9});
        assert_true(is_up("db.service"));
        assert_false(is_up("web.service") || is_up("proxy.service"));
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

static void what_is_stopped_meanwhile_stays_down(void **state) {
        Order stopped = with(web_of_db, WEB, 9);

        begin();
        send_order(with(db, BAD_DB, 8));
        loop_until(answered("db.service", 8));
        stopped.loaded_only = true;
        stopped.stop = 9;
        send_order(stopped);
        loop_until(answered("web.service", 9));
        send_order(with(db, DB, 10));
        loop_until(answered("db.service", 10));
        assert_true(is_up("db.service"));
        assert_false(is_up("web.service"));
}

// The start of one does not pull the other up between its stop and its start.
static void both_may_get_new_files_at_once(void **state) {
        begin();
        send_orders((Order[]){with(web_of_db, NEW_WEB, 9), with(db, NEW_DB, 8)}, 2);
        loop_until(answered("db.service", 8) && answered("web.service", 9));
        assert_true(all_is_up());
        assert_string_equal(pid1_content(pid1, "db.service"), NEW_DB);
        assert_string_equal(pid1_content(pid1, "web.service"), NEW_WEB);
        assert_int_equal(w.agent->system->returns.count, 0);
}

static void what_does_not_come_back_is_named(void **state) {
        begin();
        // from its next load on
        start_foreign("proxy.service", "[Unit]\nRequires=web.service\n[Service]\nExecStart=/bin/false\n");
        send_order(with(db, NEW_DB, 8));
        loop_until(answered("db.service", 8));
        assert_true(is_up("db.service") && is_up("web.service"));
        assert_non_null(strstr(report_of("db.service")->error, "it is up, but proxy.service"));
}

static void nothing_is_asked_where_nothing_is_stopped_for_a_file(void **state) {
        Order again = db;

        begin();
        again.restart = again.revision = 8;
        send_order(again);
        loop_until(answered("db.service", 8));
        again.loaded_only = true;
        again.stop = again.revision = 9;
        send_order(again);
        loop_until(answered("db.service", 9));
        again.content = NEW_DB;
        again.revision = 10;
        send_order(again);
        loop_until(answered("db.service", 10));
        assert_int_equal(pid1_n_surveys(pid1), 0);
}

RUN_TESTS(
        WORLD_TEST(what_a_new_file_takes_down_is_back_when_the_order_is_answered),
        WORLD_TEST(what_hangs_on_a_unit_by_another_goes_along_with_it),
        WORLD_TEST(what_somebody_stopped_is_not_started),
        WORLD_TEST(a_crash_at_any_moment_forgets_nobody),
        WORLD_TEST(what_needs_a_unit_that_does_not_start_is_down_until_it_does),
        WORLD_TEST(who_is_to_stop_brings_nothing_back),
        WORLD_TEST(what_is_stopped_meanwhile_stays_down),
        WORLD_TEST(both_may_get_new_files_at_once),
        WORLD_TEST(what_does_not_come_back_is_named),
        WORLD_TEST(nothing_is_asked_where_nothing_is_stopped_for_a_file)
)
