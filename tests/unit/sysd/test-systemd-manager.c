// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manager against a fake systemd. Each test is a story: what happens in systemd, then what is told, one
// line per callback. Here: what is watched, loaded, asked, and how it ends.

#include "manager-words.h"

static void on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        n_loaded++;
        record("load %s: %s%s%s", name, load_state_to_string(load), *error ? ", " : "", error);
}

static void the_first_sync_tells_of_all_that_is_watched(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_add(fake, "bad.service", FAKE_RUNS);
        fake_systemd_add(fake, "other.service", FAKE_RUNS);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_set(fake, "bad.service", "failed", "failed", "exit-code");
        fake_systemd_set(fake, "other.service", "active", "running", NULL);
        open_manager(0);
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        assert_int_equal(watch_unit(manager, "bad.service"), 0);
        assert_int_equal(watch_unit(manager, "off.service"), 0);
        assert_int_equal(active("up.service"), ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN);
        assert_null(watched_unit(manager, "other.service"));
        loop_until(n_synced == 1);
        assert_int_equal(active("up.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(active("bad.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_int_equal(active("off.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_false(watched_unit(manager, "off.service")->loaded);
        assert_string_equal(watched_unit(manager, "bad.service")->result, "exit-code");
        assert_true(watched_unit(manager, "up.service")->invocation_id[0] > 0);
        assert_true(recorded.len > 7 && memcmp(recorded.data + recorded.len - 7, "synced\n", 7) == 0);
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"), 0);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 1);
}

static void on_pin(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        *(int *) userdata = (int) result;
}

static bool is_pinned(const char *unit) {
        return systemd_manager_find(manager, unit)->pinned;
}

static void a_pin_is_a_job_and_the_listing_tells_of_it(void **state) {
        int result = -1;

        fake_systemd_add(fake, "job.service", FAKE_ENDS);
        fake_systemd_add(fake, "argosy-pin@job.service.target", FAKE_RUNS);
        fake_systemd_add(fake, "argosy-pin@.target", FAKE_RUNS); // pins nothing
        fake_systemd_set(fake, "argosy-pin@.target", "active", "active", NULL);
        open_and_watch("job.service");
        assert_int_equal(systemd_manager_pin(manager, 0, "job.service", true, on_pin, &result), 0);
        assert_false(is_pinned("job.service"));
        fake_systemd_set(fake, "job.service", "activating", "start", NULL); // stays in memory
        loop_until(result == SYSTEMD_JOB_DONE);
        assert_true(is_pinned("job.service"));
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "argosy-pin@job.service.target", "inactive", "dead", NULL);
        loop_until(n_synced == 2);
        assert_false(is_pinned("job.service")); // somebody has stopped it
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "argosy-pin@job.service.target", "active", "active", NULL);
        loop_until(n_synced == 3);
        assert_true(is_pinned("job.service"));
        result = -1;
        assert_int_equal(systemd_manager_pin(manager, 0, "job.service", false, on_pin, &result), 0);
        loop_until(result == SYSTEMD_JOB_DONE);
        assert_false(is_pinned("job.service"));
}

static void a_name_has_one_watcher(void **state) {
        SystemdUnit second = {};

        open_synced();
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        const SystemdUnit *first = systemd_manager_find(manager, "up.service");
        assert_int_equal(systemd_manager_watch(manager, &second, "up.service"), -EEXIST);
        assert_null(second.name);
        assert_ptr_equal(systemd_manager_find(manager, "up.service"), first);
}

static void a_watched_name_is_asked_for_without_loading_it(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_add(fake, "off.service", FAKE_RUNS);
        open_and_watch("up.service");
        watch_unit(manager, "off.service");
        loop_until(active("up.service") && active("off.service"));
        settle_down();
        expect("off.service: unknown inactive dead (not loaded)\n"
               "up.service: loaded active running\n"
               "up.service: loaded active running\n"); // since when, which nothing waits for
        assert_int_equal(fake_systemd_calls(fake, "GetUnit"), 2);
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"), 1);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 1);
}

static void loading_tells_what_is_wrong(void **state) {
        static const char *const names[] = {"good.service", "bad.service", "none.service"};

        fake_systemd_add(fake, "good.service", FAKE_RUNS);
        fake_systemd_add(fake, "bad.service", FAKE_BAD_SETTING);
        open_and_rest("bad.service");
        assert_int_equal(systemd_manager_load(manager, names, 3, on_loaded, NULL), 0);
        loop_until(n_loaded == 3);
        settle_down();
        expect("bad.service: unknown inactive dead (not loaded)\n"
               "bad.service: unloaded\n"
               "load good.service: loaded\n"
               "bad.service: unknown inactive dead (not loaded)\n" // asking for the reason loads it once
                                                                       // more
               "bad.service: unloaded\n"
               "load bad.service: bad-setting, Unit has a bad unit file setting.\n"
               "load none.service: not-found, Unit none.service not found.\n");
}

static void on_stopped_with(int error, const SystemdDependent *list, size_t n, void *userdata) {
        if (error < 0)
                record("survey: %s", strerror(-error));
        for (size_t i = 0; i < n; i++)
                record("%s: %s through %s%s", list[i].name, active_state_to_string(list[i].active),
                       list[i].through, list[i].needs ? ", needs it" : "");
        ++*(unsigned *) userdata;
}

static void a_stop_spreads_from_each_that_is_up(void **state) {
        unsigned n = 0;
        static const char *const up[] = {"db.service", "web.service", "cache.service", "proxy.service",
                                         "log.service"};

        for (size_t i = 0; i < ELEMENTSOF(up); i++) {
                fake_systemd_add(fake, up[i], FAKE_RUNS);
                fake_systemd_set(fake, up[i], "active", "running", "success");
        }
        fake_systemd_add(fake, "off.service", FAKE_RUNS);
        fake_systemd_pin(fake, "off.service", true);
        fake_systemd_list(fake, "db.service", "RequiredBy", "web.service off.service");
        fake_systemd_list(fake, "db.service", "ConsistsOf", "cache.service");
        // which names it in turn
        fake_systemd_list(fake, "web.service", "BoundBy", "proxy.service db.service");
        fake_systemd_list(fake, "cache.service", "RequiredBy", "log.service");
        // it is down: no stop gets there
        fake_systemd_list(fake, "off.service", "RequiredBy", "never.service");
        open_synced();
        forget_recorded();
        assert_int_equal(systemd_manager_stopped_with(manager, "db.service", on_stopped_with, &n), 0);
        loop_until(n == 1);
        expect("web.service: active through db.service, needs it\n"
               "off.service: inactive through db.service, needs it\n"
               "cache.service: active through db.service\n"
               "proxy.service: active through web.service, needs it\n"
               "log.service: active through cache.service\n");
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"), 3);
        assert_null(fake_systemd_active(fake, "never.service")); // nothing was loaded for it
}

static void a_survey_ends_with_its_connection(void **state) {
        unsigned n = 0;

        fake_systemd_add(fake, "db.service", FAKE_RUNS);
        fake_systemd_set(fake, "db.service", "active", "running", "success");
        open_synced();
        forget_recorded();
        fake_systemd_mute(fake, true);
        assert_int_equal(systemd_manager_stopped_with(manager, "db.service", on_stopped_with, &n), 0);
        loop_until(fake_systemd_calls(fake, "Get") >= 5);
        fake_systemd_mute(fake, false);
        fake_systemd_cut(fake);
        loop_until(n == 1 && n_synced == 2);
        expect("disconnected\nsurvey: Connection reset by peer\nsynced\n");
}

static void loads_come_in_chunks_and_survive_a_lost_connection(void **state) {
        char names[250][32];
        const char *list[250];

        open_synced();
        for (int i = 0; i < 250; i++) {
                snprintf(names[i], sizeof(names[i]), "u%d.service", i);
                list[i] = names[i];
                fake_systemd_add(fake, names[i], FAKE_RUNS);
        }
        assert_int_equal(systemd_manager_load(manager, list, 250, on_loaded, NULL), 0);
        loop_until(fake_systemd_calls(fake, "ListUnitsByNames") == 2);
        fake_systemd_cut(fake);
        loop_until(n_loaded == 250);
        assert_int_equal(n_synced, 2);
        assert_in_range(fake_systemd_calls(fake, "ListUnitsByNames"), 3, 5);
}

static void collection_by_others_is_told(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_pin(fake, "a.service", true);
        open_and_rest("a.service");
        fake_systemd_pin(fake, "a.service", false);
        settle_down();
        expect("a.service: unknown inactive dead (not loaded)\n"
               "a.service: unloaded\n");
}

static void shutdown_is_noticed_once(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        settle_down();
        expect("stopping\n");
}

static void a_shutdown_may_be_cancelled_and_come_again(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        fake_systemd_cancel_shutdown(fake);
        loop_until(!systemd_manager_is_stopping(manager));
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        settle_down();
        expect("stopping\nresumed\nstopping\n");
}

static void a_manager_that_goes_down_at_once_was_stopping(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        fake_systemd_refuse(fake, true);
        fake_systemd_stall(fake, true);
        settle_down();
        fake_systemd_cut(fake);
        loop_until(systemd_manager_is_stopping(manager));
        expect("disconnected\nstopping\n");
}

// Its own word of the shutdown is on its way, or was said before anybody listened.
static void whether_it_stops_is_answered_when_asked(void **state) {
        open_synced();
        assert_true(systemd_manager_ask_stopping(manager));
        settle_down();
        expect("known\n");
        fake_systemd_shutdown(fake);
        assert_true(systemd_manager_ask_stopping(manager));
        settle_down();
        expect("stopping\nknown\n");
}

// The first answer, to the question of the connection, may be older than what it is to say.
static void the_newest_question_is_the_one_that_counts(void **state) {
        open_synced();
        fake_systemd_stall(fake, true);
        assert_true(systemd_manager_ask_stopping(manager));
        settle_down();
        expect("");
        fake_systemd_shutdown(fake);
        assert_true(systemd_manager_ask_stopping(manager));
        fake_systemd_stall(fake, false);
        settle_down();
        expect("stopping\nknown\n");
}

static void who_is_cut_off_gets_no_answer_and_is_told_so(void **state) {
        open_synced();
        fake_systemd_refuse(fake, true);
        fake_systemd_stall(fake, true);
        assert_true(systemd_manager_ask_stopping(manager));
        settle_down();
        fake_systemd_cut(fake);
        settle_down();
        expect("disconnected\nknown\n");
        assert_false(systemd_manager_ask_stopping(manager));
        assert_false(systemd_manager_refresh(manager));
}

static void shutdown_under_way_is_noticed_at_connect(void **state) {
        fake_systemd_shutdown(fake);
        open_manager(0);
        loop_until(systemd_manager_is_stopping(manager));
}

static bool inspected;
static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        static const char *const want[][2] = {
                {"Id", "a.service"},          {"ActiveState", "active"},
                {"MainPID", "4711"},          {"MemoryCurrent", "[not set]"},
                {"ActiveEnterTimestamp", ""}, {"TimeoutStartUSec", "1min 30s"},
                {"NeedDaemonReload", "no"},   {"After", "a.target b.target"},
                {"LimitNOFILE", "infinity"},
        };

        inspected = true;
        assert_int_equal(error, 0);
        for (size_t i = 0; i < ELEMENTSOF(want); i++) {
                const char *value = NULL;

                for (size_t k = 0; k < n; k++)
                        if (streq(properties[k]->key, want[i][0]))
                                value = properties[k]->value;
                assert_non_null(value);
                assert_string_equal(value, want[i][1]);
        }
        for (size_t k = 0; k < n; k++) {
                assert_string_not_equal(properties[k]->key, "LoadError");
                if (streq(properties[k]->key, "InvocationID"))
                        assert_int_equal(strlen(properties[k]->value), 32);
        }
}

static void inspects_as_systemctl_show(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        inspected = false;
        assert_int_equal(systemd_manager_inspect(manager, "a.service", on_inspected, NULL), 0);
        loop_until(inspected);
}

static int group_error;
static char *group;
static void on_group(int error, const char *control_group, void *userdata) {
        group_error = error;
        group = control_group ? strdup(control_group) : NULL;
        *(bool *) userdata = true;
}

static void says_where_a_control_group_is(void **state) {
        bool answered = false;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        assert_int_equal(systemd_manager_pid(manager), getpid()); // the fake is in this process
        assert_int_equal(systemd_manager_control_group(manager, "a.service", on_group, &answered), 0);
        loop_until(answered);
        assert_int_equal(group_error, 0);
        assert_string_equal(group, "/system.slice/it");
        free(TAKE_PTR(group));
        answered = false;
        assert_int_equal(systemd_manager_control_group(manager, "a.target", on_group, &answered), 0);
        loop_until(answered);
        assert_int_equal(group_error, -EOPNOTSUPP);
        assert_null(group);
        answered = false;
        assert_int_equal(systemd_manager_control_group(manager, "a.service", on_group, &answered), 0);
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        loop_until(closed);
        manager = NULL;
        assert_true(answered);
        assert_int_equal(group_error, -ECANCELED);
        assert_null(group);
}

static int inspect_error;
static void on_inspect_error(int error, Argosy__Response__Property *const *properties, size_t n,
                             void *userdata) {
        inspect_error = error;
}

static void closing_ends_everything_once(void **state) {
        static const char *const name = "a.service";

        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        fake_systemd_add(fake, "b.service", FAKE_HANGS);
        open_synced();
        job(SYSTEMD_START, "a.service");
        loop_until(fake_systemd_has_job(fake, "a.service"));
        settle_down();
        job(SYSTEMD_START, "b.service");
        assert_int_equal(systemd_manager_load(manager, &name, 1, on_loaded, NULL), 0);
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, NULL), 0);
        assert_int_equal(systemd_manager_inspect(manager, name, on_inspect_error, NULL), 0);
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, "c.service", on_job, NULL), -ESHUTDOWN);
        expect("");
        loop_until(closed);
        manager = NULL;
        expect("start a.service: lost, the connection to systemd was closed\n"
               "start b.service: lost, the connection to systemd was closed\n"
               "load a.service: unknown, the connection to systemd was closed\n"
               "reload: -125\n");
        assert_int_equal(inspect_error, -ECANCELED);
}

static void close_in_synced(void *userdata) {
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
}

static void may_be_closed_from_a_callback(void **state) {
        SystemdOps closing = ops;
        SystemdConfig config = {.loop = &test_loop, .open_socket = fake_systemd_open, .open_userdata = fake};

        closing.synced = close_in_synced;
        assert_int_equal(systemd_manager_new(&config, &closing, NULL, &manager), 0);
        loop_until(closed);
        manager = NULL;
}

static void a_message_has_a_limit(void **state) {
        enum { LIMIT = 256 * 1024, LESS = LIMIT - 1024 };
        SystemdConfig config = {.loop = &test_loop,
                                .open_socket = fake_systemd_open,
                                .open_userdata = fake,
                                .message_max = LIMIT};

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
        watch_unit(manager, "a.service");
        loop_until(n_synced == 1);
        forget_recorded();
        fake_systemd_send_long(fake, LESS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        loop_until(systemd_manager_find(manager, "a.service")->runtime.active ==
                   ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(n_disconnected, 0);
        fake_systemd_send_long(fake, LIMIT);
        loop_until(n_disconnected == 1);
        assert_string_equal(disconnected_why, strerror(EMSGSIZE));
        loop_until(n_synced == 2); // it is tried again
}

static void unwatch_in_changed(const char *name, const UnitRuntime *now, void *userdata) {
        unwatch_unit(manager, "a.service");
        unwatch_unit(manager, "b.service");
        record("one of them");
}

static void units_may_be_unwatched_from_a_callback(void **state) {
        SystemdOps unwatching = ops;
        SystemdConfig config = {.loop = &test_loop, .open_socket = fake_systemd_open, .open_userdata = fake};

        unwatching.unit_changed = unwatch_in_changed;
        assert_int_equal(systemd_manager_new(&config, &unwatching, NULL, &manager), 0);
        watch_unit(manager, "a.service");
        watch_unit(manager, "b.service");
        loop_until(n_synced == 1);
        expect("one of them\nsynced\n");
}

// 3000 units: the reply is taken in over several turns, what happens meanwhile is not lost.
static void a_long_listing_does_not_hide_changes(void **state) {
        char name[32];

        for (int i = 0; i < 3000; i++) {
                snprintf(name, sizeof(name), "u%d.service", i);
                fake_systemd_add(fake, name, FAKE_RUNS);
                fake_systemd_set(fake, name, "active", "running", NULL);
        }
        open_manager(0);
        for (int i = 0; i < 3000; i += 3) {
                snprintf(name, sizeof(name), "u%d.service", i);
                watch_unit(manager, name);
        }
        loop_until(fake_systemd_calls(fake, "ListUnits") == 1);
        watch_unit(manager, "u1.service");
        fake_systemd_set(fake, "u0.service", "failed", "failed", "signal");
        fake_systemd_set(fake, "u2997.service", "inactive", "dead", NULL);
        loop_until(n_synced == 1);
        settle_down();
        assert_int_equal(active("u0.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_int_equal(active("u2997.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_int_equal(active("u3.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(active("u1.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_true(watched_unit(manager, "u3.service")->invocation_id[0] > 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(the_first_sync_tells_of_all_that_is_watched),
        T(a_name_has_one_watcher),
        T(a_pin_is_a_job_and_the_listing_tells_of_it),
        T(a_watched_name_is_asked_for_without_loading_it),
        T(loading_tells_what_is_wrong),
        T(a_stop_spreads_from_each_that_is_up),
        T(a_survey_ends_with_its_connection),
        T(loads_come_in_chunks_and_survive_a_lost_connection),
        T(collection_by_others_is_told),
        T(shutdown_is_noticed_once),
        T(a_shutdown_may_be_cancelled_and_come_again),
        T(a_manager_that_goes_down_at_once_was_stopping),
        T(whether_it_stops_is_answered_when_asked),
        T(the_newest_question_is_the_one_that_counts),
        T(who_is_cut_off_gets_no_answer_and_is_told_so),
        T(shutdown_under_way_is_noticed_at_connect),
        T(inspects_as_systemctl_show),
        T(says_where_a_control_group_is),
        T(closing_ends_everything_once),
        T(a_message_has_a_limit),
        T(may_be_closed_from_a_callback),
        T(units_may_be_unwatched_from_a_callback),
        T(a_long_listing_does_not_hide_changes)
)
