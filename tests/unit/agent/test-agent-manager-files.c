// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit files of managers that are not the system's: who writes them, who looks at them, and what is not followed.

#include "managers-words.h"

static void a_name_of_the_user_s_own_is_refused(void **state) {
        Other *o = add_other(0);
        char dir[512];
        _cleanup_free_ char *path = NULL, *link = NULL;

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("first.service", 5, web); // makes the directory
        loop_until(answered("first.service", 5));
        dir_of(o->name, dir);
        path = str_printf("%s/mine.service", dir);
        assert_int_equal(file_replace(AT_FDCWD, path, "[Service]\n", 10, 0644, 0), 0);
        order_everywhere("mine.service", 6, web);
        loop_until(report_of("mine.service") && report_of("mine.service")->refused);
        link = str_printf("%s/link.service", dir);
        assert_int_equal(symlink("/etc/hostname", link), 0);
        order_everywhere("link.service", 7, web);
        loop_until(report_of("link.service") && report_of("link.service")->refused);
}

static void a_drop_in_directory_that_is_a_link_is_not_followed(void **state) {
        Other *o = add_other(0);
        char dir[512];
        _cleanup_free_ char *link = NULL, *trap = str_printf("%s/50-argosy.conf", w.foreign_dir);

        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("first.service", 5, web); // makes the directory
        loop_until(answered("first.service", 5));
        dir_of(o->name, dir);
        link = str_printf("%s/trap.service.d", dir);
        assert_int_equal(symlink(w.foreign_dir, link), 0);
        order_everywhere("trap.service", 6, web);
        loop_until(report_of("trap.service") && *report_of("trap.service")->error);
        assert_int_not_equal(access(trap, F_OK), 0);
}

static void a_directory_that_is_a_link_is_not_followed(void **state) {
        Other *o = add_other(0);
        _cleanup_free_ char *systemd_dir = str_printf("%s/%s/systemd", w.dir, o->name);

        assert_int_equal(symlink(w.foreign_dir, systemd_dir), 0);
        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(report_of("web.service") && *report_of("web.service")->error);
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        _cleanup_free_ char *trap = str_printf("%s/user", w.foreign_dir);
        assert_int_not_equal(access(trap, F_OK), 0);
}

// What else its owner has, before the directory that we write to.
static char *own_path(const Other *o, const char *name) {
        static char path[512];
        _cleanup_free_ char *dir = str_printf("%s/%s/own", w.dir, o->name);

        assert_true(mkdir(dir, 0700) == 0 || errno == EEXIST);
        assert_true(snprintf(path, sizeof(path), "%s/%s", dir, name) < (int) sizeof(path));
        return path;
}

static void mask(const Other *o, const char *name) {
        assert_int_equal(symlink("/dev/null", own_path(o, name)), 0);
        fake_systemd_files_changed(o->systemd);
}

static void unmask(const Other *o, const char *name) {
        assert_int_equal(unlink(own_path(o, name)), 0);
        fake_systemd_files_changed(o->systemd);
}

static void remove_file(const Other *o, const char *name) {
        char dir[512];
        _cleanup_free_ char *path = NULL;

        dir_of(o->name, dir);
        path = str_printf("%s/%s", dir, name);
        assert_int_equal(unlink(path), 0);
}

static bool is_shown_as(const char *name, Argosy__LoadState load) {
        return report_of(name) && report_of(name)->load == load;
}

static Argosy__UnitOrder *stopped_order(Everywhere *e, const char *name, uint64_t revision) {
        fill_everywhere(e, name, revision, web);
        e->orders[0].target = ARGOSY__TARGET__TARGET_LOADED;
        e->orders[0].start_rev = 5;
        e->orders[0].stop_rev = revision;
        return &e->orders[0];
}

static void order_one(Argosy__UnitOrder *order) {
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;
        Argosy__ToHost__Orders o = ARGOSY__TO_HOST__ORDERS__INIT;

        o.generation = w.generation;
        o.term = w.term;
        o.index = w.index++;
        o.orders = &order;
        o.n_orders = 1;
        m.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        m.orders = &o;
        agent_on_message(w.agent, &m);
}

// One manager with units that were started and stopped, and that its systemd has dropped.
static Other *with_units_that_are_down(const char *const *names, size_t n) {
        static Everywhere e;
        Other *o = add_other(0);

        attach(o);
        loop_until(all_online());
        meet();
        for (size_t i = 0; i < n; i++) {
                order_everywhere(names[i], 5, web);
                loop_until(answered(names[i], 5) && runs_on(o, names[i]));
        }
        for (size_t i = 0; i < n; i++) {
                order_one(stopped_order(&e, names[i], 6));
                loop_until(answered(names[i], 6) && !fake_systemd_active(o->systemd, names[i]));
        }
        for (size_t i = 0; i < n; i++)
                assert_int_equal(report_of(names[i])->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        return o;
}

// What hides it, or took it away, while systemd does not have it in memory.
static void a_file_that_is_hidden_or_gone_is_seen_by_a_helper(void **state) {
        static const char *const names[] = {"web.service", "other.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));
        unsigned before = fake_systemd_calls(o->systemd, "ListUnitsByNames");

        mask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
        unmask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        remove_file(o, "web.service");
        fake_systemd_reload_begin(o->systemd); // by somebody else
        fake_systemd_reload_end(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_NOT_FOUND));
        assert_true(is_shown_as("other.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        assert_int_equal(fake_systemd_calls(o->systemd, "ListUnitsByNames"), before);
        assert_int_equal(fake_systemd_calls(o->systemd, "LoadUnit"), 0);
}

// Nobody watches there, so what we write ourselves over a file that was gone is to be remembered.
static void a_file_that_was_gone_and_is_written_again_is_there(void **state) {
        static const char *const names[] = {"web.service"};
        static Everywhere e;
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        remove_file(o, "web.service");
        fake_systemd_files_changed(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_NOT_FOUND));
        order_everywhere("web.service", 7, web);
        loop_until(answered("web.service", 7) && runs_on(o, "web.service"));
        order_one(stopped_order(&e, "web.service", 8));
        loop_until(answered("web.service", 8));
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
}

static bool nobody_is_to_search(const Other *o) {
        const AgentNode *node = agent_node_by_name(w.agent, o->name);

        return !node->searching && agent_search_due(node) == 0;
}

static void our_own_batches_start_nobody_who_looks(void **state) {
        static const char *const names[] = {"web.service", "other.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        assert_true(nobody_is_to_search(o));
        assert_int_equal(agent_stats(w.agent).searches, 0);
        mask(o, "web.service");
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
        order_everywhere("more.service", 7, web);
        loop_until(answered("more.service", 7));
        assert_true(nobody_is_to_search(o));
        assert_int_equal(agent_stats(w.agent).searches, 1);
}

static char *mark_of_a_liar(const Other *o) {
        static char path[512];

        assert_true(snprintf(path, sizeof(path), "%s/%s/liar", w.dir, o->name) < (int) sizeof(path));
        return path;
}

static void an_answer_about_other_units_is_none(void **state) {
        static const char *const names[] = {"web.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        assert_int_equal(mkdir(mark_of_a_liar(o), 0700), 0);
        mask(o, "web.service");
        loop_until(agent_stats(w.agent).searches == 1 && nobody_is_to_search(o));
        assert_true(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_LOADED));
        assert_int_equal(rmdir(mark_of_a_liar(o)), 0);
        fake_systemd_files_changed(o->systemd);
        loop_until(is_shown_as("web.service", ARGOSY__LOAD_STATE__LOAD_MASKED));
}

static void whoever_looks_goes_with_his_manager(void **state) {
        static const char *const names[] = {"web.service"};
        Other *o = with_units_that_are_down(names, ELEMENTSOF(names));

        mask(o, "web.service");
        loop_until(agent_stats(w.agent).searches == 1);
        detach(o, true);
        loop_until(agent_managers(w.agent, NULL, 0) == 1);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(a_name_of_the_user_s_own_is_refused),
                T(a_directory_that_is_a_link_is_not_followed),
                T(a_drop_in_directory_that_is_a_link_is_not_followed),
                T(a_file_that_is_hidden_or_gone_is_seen_by_a_helper),
                T(a_file_that_was_gone_and_is_written_again_is_there),
                T(our_own_batches_start_nobody_who_looks),
                T(an_answer_about_other_units_is_none),
                T(whoever_looks_goes_with_his_manager),
        };

        if (argc == 7 && streq(argv[1], "--helper"))
                return helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
