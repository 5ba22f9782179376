// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit files of managers that are not the system's: who writes them, who looks at them, and what is not
// followed.

#include "managers-words.h"

#include "agent-writer.h"
#include "messages.h"
#include "printed.h"

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
        assert_int_equal(symlink(w.foreign_dir, printed("%s/%s/systemd", w.dir, o->name)), 0);
        attach(o);
        loop_until(all_online());
        meet();
        order_everywhere("web.service", 5, web);
        loop_until(report_of("web.service") && *report_of("web.service")->error);
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        assert_int_not_equal(access(printed("%s/user", w.foreign_dir), F_OK), 0);
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
        Argosy__ToHost__Orders o = MESSAGE_OF(to_host__orders, .generation = w.generation, .term = w.term,
                                              .index = w.index++, .orders = &order, .n_orders = 1);

        agent_on_message(w.agent, A_TO_HOST(ORDERS, orders, &o));
}

// One manager with units that were started and stopped, and that its systemd has dropped.
static Other *with_units_that_are_down(const char *const *names, size_t n) {
        static Everywhere e;
        Other *o = add_online(0);

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

// ---- names that are only asked about

typedef struct Ask {
        Argosy__ToHost__NameCheck__Unit units[8], *list[8];
        ProtobufCBinaryData content;
        Argosy__ToHost__NameCheck check;
        Argosy__ToHost__Call call;
        Argosy__ToHost message;
} Ask;

// Asks the first of the other managers.
static void ask_names(const char *const *names, size_t n, const char *content) {
        static uint64_t id;
        Ask q = {};

        argosy__to_host__name_check__init(&q.check);
        argosy__to_host__call__init(&q.call);
        argosy__to_host__init(&q.message);
        for (size_t i = 0; i < n; i++) {
                q.list[i] = &q.units[i];
                *q.list[i] = (Argosy__ToHost__NameCheck__Unit) MESSAGE_OF(
                        to_host__name_check__unit, .name = (char *) names[i], .content = content != NULL);
        }
        q.content = (ProtobufCBinaryData){content ? strlen(content) : 0, (uint8_t *) content};
        q.check.units = q.list;
        q.check.n_units = n;
        q.check.contents = &q.content;
        q.check.n_contents = content != NULL;
        q.call.id = ++id;
        q.call.node = NODE_BASE;
        q.call.names = &q.check;
        q.message.msg_case = ARGOSY__TO_HOST__MSG_CALL;
        q.message.call = &q.call;
        agent_on_message(w.agent, &q.message);
}

static char **answers_to(const char *const *names, size_t n, const char *content) {
        unsigned before = w.n_call_replies;

        ask_names(names, n, content);
        loop_until(w.n_call_replies == before + 1);
        assert_non_null(w.call_reply->call_reply->names);
        assert_int_equal(w.call_reply->call_reply->names->n_refusals, n);
        return w.call_reply->call_reply->names->refusals;
}

static void assert_refused_as_said(const char *name, uint64_t revision) {
        _cleanup_free_ char *said = strdup(answers_to(&name, 1, NULL)[0]);

        assert_string_not_equal(said, "");
        order_everywhere(name, revision, web);
        loop_until(report_of(name) && report_of(name)->refused);
        assert_string_equal(report_of(name)->error, said);
}

static void a_question_about_names_is_answered_as_its_order_would_be(void **state) {
        static const char *const asked[] = {"mine.service", "web.service", "w@1.service", "up.service"};
        static const char alias[] = "[Service]\nExecStart=/bin/true\n[Install]\nAlias=mine.service\n";
        Other *o = add_other(0);
        char dir[512];

        attach(o);
        loop_until(all_online());
        meet();
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                if (i != 1)
                        assert_int_equal(file_replace(AT_FDCWD,
                                                      own_path(o, i == 2 ? "w@.service" : asked[i]), web,
                                                      strlen(web), 0644, 0),
                                         0);
        fake_systemd_set(o->systemd, "up.service", "active", "running", "success");
        char **said = answers_to(asked, ELEMENTSOF(asked), NULL);
        assert_non_null(strstr(said[0], "/own/mine.service"));
        assert_string_equal(said[1], "");
        assert_non_null(strstr(said[2], "/own/w@.service"));
        assert_non_null(strstr(said[3], "already active"));
        assert_non_null(strstr(answers_to(&asked[1], 1, alias)[0], "/own/mine.service"));
        dir_of(o->name, dir);
        assert_int_not_equal(access(dir, F_OK), 0); // nothing is changed by that
        assert_refused_as_said("mine.service", 5);
        assert_refused_as_said("up.service", 6);
        order_everywhere("web.service", 7, web); // by the helper that has only looked so far
        loop_until(answered("web.service", 7) && runs_on(o, "web.service"));
        assert_int_equal(file_replace(AT_FDCWD, own_path(o, "web.service"), web, strlen(web), 0644, 0), 0);
        assert_string_equal(answers_to(&asked[1], 1, NULL)[0], ""); // it is argosy's already
}

static void a_manager_that_cannot_be_used_does_not_say_whose_a_name_is(void **state) {
        static const char *const asked[] = {"web.service"};
        Other *o = add_online(0);

        meet();
        o->down = true;
        fake_systemd_cut(o->systemd);
        loop_until(!all_online());
        ask_names(asked, 1, NULL);
        loop_until(w.n_call_errors == 1);
        o->down = false;
        loop_until(all_online());
        assert_string_equal(answers_to(asked, 1, NULL)[0], "");
}

static char *mark_of_stuck(const Other *o) {
        static char path[512];

        assert_true(snprintf(path, sizeof(path), "%s/%s/stuck", w.dir, o->name) < (int) sizeof(path));
        return path;
}

// What was handed to a helper of its last run nobody answers any more, whether it was to be written or only
// asked.
static void a_manager_that_begins_anew_does_not_wait_for_its_last_helper(void **state) {
        static const char *const asked[] = {"mine.service"};
        Other *o = add_online(0);

        meet();
        AgentNode *node = agent_node_by_name(w.agent, o->name);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(file_replace(AT_FDCWD, mark_of_stuck(o), "", 0, 0600, 0), 0);
                if (i == 0)
                        ask_names(asked, 1, NULL);
                else
                        order_everywhere("web.service", 5, web);
                loop_until(access(mark_of_stuck(o), F_OK) != 0);
                assert_non_null(node->written);
                node->run = 1; // another process than this one
                fake_systemd_cut(o->systemd);
                loop_until(!all_online());
                loop_until(all_online());
                assert_int_equal(w.n_call_errors, 1);
        }
        loop_until(answered("web.service", 5) && runs_on(o, "web.service"));
}

// Whose first order never was answered, since the next one came before; and the helper that has written it
// is gone when another content is to be written in its place.
static void what_was_written_for_an_order_that_was_overtaken_is_ours(void **state) {
        static const char other_web[] = "[Service]\nExecStart=/bin/sleep 9\n";
        Other *o = add_online(0);

        meet();
        order_everywhere("web.service", 5, web);
        loop_until(answered("web.service", 5));
        AgentNode *node = agent_node_by_name(w.agent, o->name);
        agent_unit_find(node, "web.service")->held.revision = 0;
        agent_writer_close(node);
        order_everywhere("web.service", 7, other_web);
        loop_until(answered("web.service", 7));
        assert_string_equal(report_of("web.service")->error, "");
        assert_true(runs_on(o, "web.service"));
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
                T(what_was_written_for_an_order_that_was_overtaken_is_ours),
                T(a_question_about_names_is_answered_as_its_order_would_be),
                T(a_manager_that_cannot_be_used_does_not_say_whose_a_name_is),
                T(a_manager_that_begins_anew_does_not_wait_for_its_last_helper),
        };

        if (argc == 7 && streq(argv[1], "--helper"))
                return helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
