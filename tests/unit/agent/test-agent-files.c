// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and unit files: new content, names of others, files that are hidden, removed or cannot be
// written.
#include "agent-world.h"

#include "agent-private.h"
#include "clock.h"
#include "files-pace.h"
#include "messages.h"

// Ten units ordered one by one, as units of a big destroy end one by one: the first has its file at once,
// the others share the directory's next change.
static void small_batches_of_files_keep_their_distance(void **state) {
        enum { N = 10 };
        char names[N][32];
        uint64_t in_time = 0; // so many certainly came before the second batch, however slow this machine is

        meet_leader(NULL, 0);
        const AgentNode *node = CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent);
        for (int i = 0; i < N; i++)
                snprintf(names[i], sizeof(names[i]), "web-%i.service", i);
        uint64_t begin_us = clock_boot_us();
        send_order((Order){.name = names[0], .content = web, .revision = 5, .start = 5});
        loop_until(has_file(names[0]));
        for (int i = 1; i < N; i++) {
                send_order((Order){.name = names[i], .content = web, .revision = 5 + i, .start = 5 + i});
                uv_run(&test_loop, UV_RUN_NOWAIT); // a turn of its own, in which it is taken over
                // and one in which it is planned, and goes into the ledger
                uv_run(&test_loop, UV_RUN_NOWAIT);
                uint64_t queued = node->files_queued;
                if (clock_boot_us() - begin_us < FILES_PACE_US)
                        in_time = queued;
        }
        loop_until(has_file(names[1]));
        assert_true(clock_boot_us() - begin_us > FILES_PACE_US);
        loop_until(answered(names[1], 6)); // the pool is done with the batch
        for (uint64_t i = 0; i < in_time; i++)
                assert_true(has_file(names[i]));
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5 + i));
}

static void a_file_that_is_hidden_or_gone_is_told_without_asking_systemd(void **state) {
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};
        _cleanup_free_ char *mask = str_printf("%s/web.service", w.foreign_dir),
                            *file = str_printf("%s/web.service", w.unit_dir);

        meet_leader(NULL, 0);
        send_order(order);
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        order.loaded_only = true;
        order.revision = order.stop = 6;
        send_order(order);
        loop_until(answered("web.service", 6) && !pid1_is_active(pid1, "web.service"));
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(symlink("/dev/null", mask), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_MASKED);
        assert_int_equal(unlink(mask), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_int_equal(unlink(file), 0);
        loop_until(report_of("web.service")->load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
}

// What systemd refused to start is what it says, also after a restart of argosyd, until somebody mends it.
static void a_refused_file_is_shown_as_systemd_reads_it(void **state) {
        _cleanup_free_ char *file = str_printf("%s/bad.service", w.unit_dir);

        meet_leader(NULL, 0);
        send_order((Order){.name = "bad.service", .content = "[Broken", .revision = 5, .start = 5});
        loop_until(answered("bad.service", 5) && *report_of("bad.service")->error);
        loop_until(report_of("bad.service")->load == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING);
        agent_restart();
        meet_leader(NULL, 0);
        loop_until(report_of("bad.service"));
        assert_int_equal(report_of("bad.service")->load, ARGOSY__LOAD_STATE__LOAD_BAD_SETTING);
}

static void a_foreign_name_is_refused_and_untouched(void **state) {
        write_foreign("nginx.service");
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "nginx.service", .content = web, .revision = 5, .start = 5},
                              {.name = "web.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("nginx.service", 5) && answered("web.service", 6));
        assert_true(report_of("nginx.service")->refused);
        assert_non_null(strstr(report_of("nginx.service")->error, "/etc/nginx.service"));
        assert_false(has_file("nginx.service"));
        assert_int_equal(pid1_runs(pid1, "nginx.service"), 0);
        send_order((Order){.name = "nginx.service", .remove = true, .revision = 7});
        loop_until(is_gone("nginx.service"));
}

// ---- names that are only asked about

typedef struct Ask {
        Argosy__ToHost__NameCheck__Unit units[64], *list[64];
        ProtobufCBinaryData contents[1];
        Argosy__ToHost__NameCheck check;
        Argosy__ToHost__Call call;
        Argosy__ToHost message;
        uint64_t id;
} Ask;

static void send_names(Ask *q, uint32_t node) {
        q->call = (Argosy__ToHost__Call) CALL_OF(.id = ++q->id, .node = node, .names = &q->check);
        q->message = (Argosy__ToHost) MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_CALL,
                                                 .call = &q->call);
        agent_on_message(w.agent, &q->message);
}

static void ask_names(Ask *q, const char *const *names, size_t n, const char *content) {
        argosy__to_host__name_check__init(&q->check);
        for (size_t i = 0; i < n; i++) {
                q->list[i] = &q->units[i];
                *q->list[i] = (Argosy__ToHost__NameCheck__Unit) MESSAGE_OF(
                        to_host__name_check__unit, .name = (char *) names[i], .content = content != NULL);
        }
        q->contents[0] = (ProtobufCBinaryData){content ? strlen(content) : 0, (uint8_t *) content};
        q->check.units = q->list;
        q->check.n_units = n;
        q->check.contents = q->contents;
        q->check.n_contents = content != NULL;
}

// What the agent says of each.
static char **answers_to(Ask *q, const char *const *names, size_t n, const char *content) {
        unsigned before = w.n_call_replies;

        ask_names(q, names, n, content);
        send_names(q, 0);
        loop_until(w.n_call_replies == before + 1);
        assert_int_equal(w.call_reply->call_reply->id, q->id);
        assert_non_null(w.call_reply->call_reply->names);
        assert_int_equal(w.call_reply->call_reply->names->n_refusals, n);
        return w.call_reply->call_reply->names->refusals;
}

static void a_question_about_names_is_answered_as_an_order_would_be(void **state) {
        static const char *const asked[] = {"nginx.service", "web.service", "w@1.service", "up.service"};
        static const char alias[] = "[Service]\nExecStart=/bin/true\n[Install]\nAlias=nginx.service\n";
        _cleanup_free_ char *path = str_printf("%s/up.service", w.unit_dir);
        Ask q = {};

        write_foreign("nginx.service");
        write_foreign("w@.service");
        assert_int_equal(file_replace(AT_FDCWD, path, web, strlen(web), 0644, 0), 0);
        pid1_start(pid1, "up.service");
        meet_leader(NULL, 0);
        char **said = answers_to(&q, asked, 4, NULL);
        assert_non_null(strstr(said[0], "/etc/nginx.service"));
        assert_string_equal(said[1], "");
        assert_non_null(strstr(said[2], "/etc/w@.service"));
        assert_non_null(strstr(said[3], "already active"));
        said = answers_to(&q, &asked[1], 1, alias);
        assert_non_null(strstr(said[0], "/etc/nginx.service"));
        assert_false(has_file("web.service")); // nothing is changed by that
        for (size_t i = 0; i < 4; i += 3) {
                said = answers_to(&q, &asked[i], 1, NULL);
                order_and_wait((Order){.name = asked[i], .content = web, .revision = 5, .start = 5});
                assert_string_equal(report_of(asked[i])->error, said[0]);
        }
}

static void what_argosy_has_is_nobody_elses(void **state) {
        static const char *const asked[] = {"web.service"};
        Ask q = {};

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        assert_string_equal(answers_to(&q, asked, 1, NULL)[0], "");
        write_foreign("web.service");
        assert_string_equal(answers_to(&q, asked, 1, NULL)[0], "");
}

static void a_question_that_makes_no_sense_is_answered_with_an_error(void **state) {
        static const char *const good[] = {"web.service"}, *const bad_names[] = {"../etc/passwd"};
        Ask q = {};

        meet_leader(NULL, 0);
        ask_names(&q, bad_names, 1, NULL);
        send_names(&q, 0);
        loop_until(w.n_call_errors == 1);
        ask_names(&q, good, 1, NULL);
        send_names(&q, 4711); // no such node
        loop_until(w.n_call_errors == 2);
        for (size_t i = 0; i < 100; i++) // more than wait
                send_names(&q, 0);
        loop_until(w.n_call_replies == 102);
        assert_int_equal(w.n_call_errors, 2 + 100 - 64);
}

// As many as there may be are with systemd, and their leader has long given up.
static void questions_that_systemd_does_not_answer_make_room_for_no_others(void **state) {
        enum { CHECKS_MAX = 64, MORE = 6 };
        static const char *const asked[] = {"nginx.service"};
        Ask q = {};

        write_foreign("nginx.service");
        meet_leader(NULL, 0);
        const AgentNode *node = CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent);
        pid1_hold_jobs(pid1, true);
        ask_names(&q, asked, 1, NULL);
        for (size_t i = 0; i < CHECKS_MAX + MORE; i++) {
                send_names(&q, 0);
                loop_until(!node->writing && list_is_empty(&node->name_checks)); // looked, and with systemd
        }
        assert_int_equal(w.n_call_errors, MORE);
        pid1_hold_jobs(pid1, false);
        loop_until(w.n_call_replies == CHECKS_MAX + MORE);
        assert_int_equal(w.n_call_errors, MORE);
        assert_non_null(answers_to(&q, asked, 1, NULL)[0]);
}

static void a_question_of_a_leader_that_is_gone_is_not_answered(void **state) {
        static const char *const asked[] = {"web.service"};
        unsigned before;
        Ask q = {};

        meet_leader(NULL, 0);
        before = w.n_call_replies;
        ask_names(&q, asked, 1, NULL);
        send_names(&q, 0);
        send_names(&q, 0);
        agent_on_leader(w.agent, 0, 0);
        meet_leader(NULL, 0);
        assert_string_equal(answers_to(&q, asked, 1, NULL)[0], "");
        assert_int_equal(w.n_call_replies, before + 1);
}

static void new_content_replaces_a_running_unit(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        order_and_wait((Order){.name = "web.service", .content = web2, .revision = 6, .start = 5});
        assert_string_equal(pid1_content(pid1, "web.service"), web2);
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
        assert_int_equal(pid1_n_reloads(pid1), 0);
        assert_false(report_of("web.service")->file_stale);
}

static bool has_on_disk(const char *name, const char *content) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);
        _cleanup_buf_ Buf found = {};

        return file_read(AT_FDCWD, path, 4096, &found) == 0 && found.len == strlen(content) &&
               memcmp(found.data, content, found.len) == 0;
}

static void a_pinned_unit_gets_its_new_content_by_one_reload(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_pin(pid1, "web.service");
        order_and_wait((Order){.name = "web.service", .content = web2, .revision = 6, .start = 5});
        assert_string_equal(pid1_content(pid1, "web.service"), web2);
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

// argosyd ends when the file is there, and before systemd was told to read it.
static void what_is_pinned_is_read_again_after_a_crash_before_it_starts(void **state) {
        Order next = {.name = "web.service", .content = web2, .revision = 6, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_pin(pid1, "web.service");
        send_order(next);
        loop_until(has_on_disk("web.service", web2));
        assert_int_equal(pid1_n_reloads(pid1), 0);
        agent_down();
        forget_reports();
        agent_up();
        meet_leader(&next, 1);
        loop_until(answered("web.service", 6) && pid1_is_active(pid1, "web.service"));
        assert_string_equal(pid1_content(pid1, "web.service"), web2);
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

// systemd says of a file with a later date that it has not read it, whatever is in it; so it must not be
// asked of what runs and has not changed.
static void a_file_that_is_written_again_below_what_runs_is_not_asked_about(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};
        _cleanup_free_ char *path = str_printf("%s/web.service", w.unit_dir);

        meet_leader(NULL, 0);
        order_and_wait(o);
        agent_down();
        assert_int_equal(unlink(path), 0);
        forget_reports();
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("web.service", 5) && has_on_disk("web.service", web));
        AgentNode *node = CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent);
        assert_false(agent_unit_find(node, "web.service")->held.unread);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

// Somebody has started it meanwhile.
static void what_runs_with_what_was_not_read_gets_its_new_content_after_a_crash(void **state) {
        Order next = {.name = "web.service", .content = web2, .revision = 6, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_pin(pid1, "web.service");
        send_order(next);
        loop_until(has_on_disk("web.service", web2));
        agent_down();
        pid1_start(pid1, "web.service");
        assert_string_equal(pid1_content(pid1, "web.service"), web);
        forget_reports();
        agent_up();
        meet_leader(&next, 1);
        loop_until(answered("web.service", 6) && pid1_is_active(pid1, "web.service") &&
                   streq(pid1_content(pid1, "web.service"), web2));
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

static void what_is_pinned_cannot_be_started_after_its_removal(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_pin(pid1, "web.service");
        send_order((Order){.name = "web.service", .remove = true, .revision = 6});
        loop_until(is_gone("web.service"));
        assert_int_equal(pid1_n_reloads(pid1), 1);
        assert_null(pid1_content(pid1, "web.service"));
}

static void a_file_that_somebody_removed_is_written_again_when_it_is_needed(void **state) {
        _cleanup_free_ char *path = str_printf("%s/web.service", w.unit_dir);

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_stop(pid1, "web.service");
        assert_int_equal(unlink(path), 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 6, .start = 6});
        assert_string_equal(report_of("web.service")->error, "");
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_true(has_file("web.service"));
}

// Somebody takes the name over in /etc, so that new content cannot be written; then nobody wants the unit.
static void what_could_not_be_replaced_is_removed(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        write_foreign("web.service");
        order_and_wait((Order){.name = "web.service", .content = web2, .revision = 6, .start = 6});
        assert_non_null(strstr(report_of("web.service")->error, "somebody else"));
        send_order((Order){.name = "web.service", .remove = true, .revision = 7});
        loop_until(is_gone("web.service"));
        assert_false(has_file("web.service"));
        assert_false(has_file("web.service.d"));
}

static void two_revisions_of_a_template_live_side_by_side(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web@1.service",
                               .content = web,
                               .from_template = true,
                               .revision = 5,
                               .start = 5},
                              {.name = "web@2.service",
                               .content = web,
                               .from_template = true,
                               .revision = 6,
                               .start = 6}},
                    2);
        loop_until(answered("web@1.service", 5) && answered("web@2.service", 6));
        send_order((Order){
                .name = "web@1.service", .content = web2, .from_template = true, .revision = 7, .start = 5});
        loop_until(answered("web@1.service", 7));
        assert_string_equal(pid1_content(pid1, "web@1.service"), web2);
        assert_int_equal(pid1_runs(pid1, "web@2.service"), 1);
        // The old one restarts by itself, or after a reload, with its own content.
        pid1_stop(pid1, "web@2.service");
        pid1_start(pid1, "web@2.service");
        assert_string_equal(pid1_content(pid1, "web@2.service"), web);
}

static void a_file_that_cannot_be_written_is_reported_and_tried_again(void **state) {
        _cleanup_free_ char *in_the_way = str_printf("%s/web.service.d", w.unit_dir);

        meet_leader(NULL, 0);
        assert_int_equal(file_replace(AT_FDCWD, in_the_way, "", 0, 0644, 0), 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        assert_non_null(strstr(report_of("web.service")->error, "cannot write its file"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 0);
        assert_int_equal(unlink(in_the_way), 0);
        loop_until(!*report_of("web.service")->error);
        loop_until(pid1_is_active(pid1, "web.service"));
}

// The slice of ours that an instance was put into, -1 for none.
static int slice_of(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s.d/50-argosy.conf", w.unit_dir, name);
        _cleanup_buf_ Buf text = {};

        if (file_read(AT_FDCWD, path, 4096, &text) < 0)
                return -1;
        assert_int_equal(buf_append(&text, "", 1), 0);
        const char *slice = strstr((char *) text.data, "Slice=argosy-");
        return slice ? atoi(slice + strlen("Slice=argosy-")) : -1;
}

static void beyond_200_units_new_ones_get_slices(void **state) {
        enum { N = 310 };
        static char names[N][32];
        static Order orders[N];
        unsigned n_plain = 0, n_in[2] = {0};

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){
                        .name = names[i], .content = web, .from_template = true, .revision = 5, .start = 5};
        }
        meet_leader(NULL, 0);
        send_orders(orders, N);
        for (int i = 0; i < N; i++) {
                loop_until(answered(names[i], 5));
                int slice = slice_of(names[i]);
                assert_true(slice <= 1);
                if (slice < 0)
                        n_plain++;
                else
                        n_in[slice]++;
        }
        assert_int_equal(n_plain, 200);
        assert_int_equal(n_in[0], 100);
        assert_int_equal(n_in[1], 10);
}

RUN_TESTS(
        WORLD_TEST(small_batches_of_files_keep_their_distance),
        WORLD_TEST(a_file_that_is_hidden_or_gone_is_told_without_asking_systemd),
        WORLD_TEST(a_refused_file_is_shown_as_systemd_reads_it),
        WORLD_TEST(a_foreign_name_is_refused_and_untouched),
        WORLD_TEST(a_question_about_names_is_answered_as_an_order_would_be),
        WORLD_TEST(what_argosy_has_is_nobody_elses),
        WORLD_TEST(a_question_that_makes_no_sense_is_answered_with_an_error),
        WORLD_TEST(questions_that_systemd_does_not_answer_make_room_for_no_others),
        WORLD_TEST(a_question_of_a_leader_that_is_gone_is_not_answered),
        WORLD_TEST(new_content_replaces_a_running_unit),
        WORLD_TEST(a_pinned_unit_gets_its_new_content_by_one_reload),
        WORLD_TEST(what_is_pinned_is_read_again_after_a_crash_before_it_starts),
        WORLD_TEST(a_file_that_is_written_again_below_what_runs_is_not_asked_about),
        WORLD_TEST(what_runs_with_what_was_not_read_gets_its_new_content_after_a_crash),
        WORLD_TEST(what_is_pinned_cannot_be_started_after_its_removal),
        WORLD_TEST(what_could_not_be_replaced_is_removed),
        WORLD_TEST(a_file_that_somebody_removed_is_written_again_when_it_is_needed),
        WORLD_TEST(two_revisions_of_a_template_live_side_by_side),
        WORLD_TEST(a_file_that_cannot_be_written_is_reported_and_tried_again),
        WORLD_TEST(beyond_200_units_new_ones_get_slices)
)
