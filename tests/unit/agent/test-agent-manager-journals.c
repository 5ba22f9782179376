// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The newest lines of a container's units: read inside, by as few helpers as that takes. The helper here
// writes its number down, then says a line for each unit, or that nothing can be read.

#include "helper-frame.h"
#include "managers-words.h"
#include "messages.h"
#include "printed.h"

enum { UNITS = 12 };

// ---- the helper: DIR MODE MANAGER LEADER BORN

static void note_start(const char *dir) {
        _cleanup_(closep) int fd =
                open(printed("%s/started", dir), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        if (fd < 0 || write(fd, "x", 1) != 1)
                _exit(EXIT_FAILURE);
}

static void answer_one(const Argosy__HelperRequest *q, bool fails) {
        _cleanup_buf_ Buf frame = {};
        char *line = q->journal->unit;
        Argosy__HelperReply reply = HELPER_REPLY_OF(.at_end = true, .lines = &line, .n_lines = fails ? 0 : 1,
                                                    .error = fails ? -EIO : 0);

        if (helper_frame_pack(&reply.base, &frame) < 0 ||
            write(STDIN_FILENO, frame.data, frame.len) != (ssize_t) frame.len)
                _exit(EXIT_FAILURE);
}

static int read_journal(const char *dir) {
        _cleanup_free_ char *path = str_printf("%s/broken", dir);
        _cleanup_buf_ Buf in = {};

        note_start(dir);
        for (;;) {
                const uint8_t *payload;
                size_t len, total;
                uint8_t *p = buf_reserve(&in, 4096);
                ssize_t n = read(STDIN_FILENO, p, 4096);

                if (n <= 0)
                        return EXIT_SUCCESS;
                in.len += (size_t) n;
                while (helper_frame_cut(in.data, in.len, HELPER_FRAME_MAX, &payload, &len, &total) > 0) {
                        Argosy__HelperRequest *q = argosy__helper_request__unpack(NULL, len, payload);

                        buf_consume(&in, total);
                        answer_one(q, access(path, F_OK) == 0);
                        argosy__helper_request__free_unpacked(q, NULL);
                }
        }
}

// ---- what is asked

static unsigned n_answers, n_with_lines;
static bool answered_all;
static char line[256];

static void on_answer(const Argosy__Response *response, void *userdata) {
        assert_int_equal(response->status, 0);
        n_answers++;
        if (response->status_reply->n_log > 0) {
                assert_int_equal(response->status_reply->n_log, 1);
                n_with_lines++;
                snprintf(line, sizeof(line), "%s", response->status_reply->log[0]);
        }
        answered_all = response->final;
}

static void add_container(void) {
        Other *o = &others[n_others++];
        _cleanup_free_ char *why = NULL;
        char dir[512];

        *o = (Other){.name = "container@box"};
        dir_of(o->name, dir);
        o->systemd = fake_systemd_new(&test_loop, dir);
        if (agent_manager_attach(w.agent, o->name, getpid(), &why) < 0)
                fail_msg("%s", why);
        loop_until(all_online());
        meet();
}

static void ask_about_all(void) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        char text[UNITS][32], *names[UNITS];
        uint64_t cancel;

        for (int i = 0; i < UNITS; i++) {
                snprintf(text[i], sizeof(text[i]), "u%d.service", i);
                names[i] = text[i];
        }
        status.names = names;
        status.n_names = UNITS;
        status.lines = 3;
        n_answers = n_with_lines = 0;
        answered_all = false;
        assert_int_equal(agent_call(w.agent, 0, NODE_BASE, &request, on_answer, NULL, &cancel), 0);
        loop_until(answered_all);
        assert_int_equal(n_answers, UNITS);
        assert_int_equal(n_with_lines, UNITS);
}

static size_t n_started(void) {
        _cleanup_free_ char *path = str_printf("%s/started", w.dir);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return (size_t) st.st_size;
}

static void one_helper_reads_for_all_units_of_a_request(void **state) {
        add_container();
        ask_about_all();
        assert_string_equal(line, "u11.service");
        assert_int_equal(n_started(), 1);
        ask_about_all();
        assert_int_equal(n_started(), 2);
}

// A helper that does not answer costs its whole patience: once, not for each unit.
static void one_that_fails_has_failed_for_all_of_them(void **state) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/broken", w.dir), "", 0, 0644, 0), 0);
        add_container();
        ask_about_all();
        assert_non_null(strstr(line, "cannot be read"));
        assert_non_null(strstr(line, "u11.service"));
        assert_int_equal(n_started(), 1);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(one_helper_reads_for_all_units_of_a_request),
                T(one_that_fails_has_failed_for_all_of_them),
        };

        if (argc == 7 && streq(argv[1], "--helper"))
                return streq(argv[3], "journal") ? read_journal(argv[2]) : helper_main(argv + 2);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
