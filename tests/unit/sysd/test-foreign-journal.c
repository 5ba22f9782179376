// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lines that a helper reads, and what argosyd makes of a helper that is in the hands of the container's
// root.
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foreign-journal.h"
#include "helper-frame.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

enum { IMPATIENCE_MS = 50, LONGER_MS = 1500, BATCHES = 3 };

// ---- what helpers do

static void send_reply(const Argosy__HelperReply *reply) {
        _cleanup_buf_ Buf frame = {};

        if (helper_frame_pack(&reply->base, &frame) < 0 ||
            write(STDIN_FILENO, frame.data, frame.len) != (ssize_t) frame.len)
                _exit(EXIT_FAILURE);
}

static void send_line(char *line, bool at_end) {
        Argosy__HelperReply reply =
                HELPER_REPLY_OF(.lines = &line, .n_lines = line ? 1 : 0, .at_end = at_end);

        send_reply(&reply);
}

// What was asked; it lives as long as the process.
static Argosy__HelperJournal *receive(void) {
        static Buf in;
        const uint8_t *payload;
        size_t len, total;

        while (helper_frame_cut(in.data, in.len, HELPER_FRAME_MAX, &payload, &len, &total) == 0) {
                uint8_t *p = buf_reserve(&in, 4096);
                ssize_t n = read(STDIN_FILENO, p, 4096);

                if (n <= 0)
                        _exit(EXIT_SUCCESS);
                in.len += (size_t) n;
        }
        Argosy__HelperRequest *q = argosy__helper_request__unpack(NULL, len, payload);
        buf_consume(&in, total);
        if (!q || !q->journal)
                _exit(EXIT_FAILURE);
        return q->journal;
}

// Says what it was asked, too.
static void send_batches(void) {
        for (int i = 0; i < BATCHES; i++) {
                const Argosy__HelperJournal *asked = receive();

                send_line(printed("%s %u %d %d", asked->unit, asked->lines, asked->follow, asked->wait),
                          i == BATCHES - 1);
        }
}

static void send_many(void) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        char **lines = calloc(FOREIGN_LINES_MAX + 1, sizeof(*lines));

        for (reply.n_lines = 0; reply.n_lines <= FOREIGN_LINES_MAX; reply.n_lines++)
                lines[reply.n_lines] = (char *) "";
        reply.lines = lines;
        send_reply(&reply);
}

static void send_who(void) {
        for (;;) {
                const Argosy__HelperJournal *asked = receive();
                send_line(printed("%s %d", asked->unit, (int) getpid()), true);
        }
}

static int helper_main(const char *kind) {
        static char long_line[FOREIGN_LINE_MAX + 2];

        if (streq(kind, "batches") || streq(kind, "empty") || streq(kind, "late"))
                send_batches();
        else if (streq(kind, "who"))
                send_who();
        else
                (void) receive();
        if (streq(kind, "silent"))
                pause();
        else if (streq(kind, "late")) {
                (void) receive();
                usleep(LONGER_MS * 1300); // nobody has written so long
                send_line((char *) "late", true);
        } else if (streq(kind, "empty")) {
                (void) receive();
                send_line(NULL, true);
        } else if (streq(kind, "escape"))
                send_line((char *) "\033[2J", true);
        else if (streq(kind, "two-lines"))
                send_line((char *) "web[1]: well\nother[2]: failed", true);
        else if (streq(kind, "long"))
                send_line(memset(long_line, 'x', sizeof(long_line) - 1), true);
        else if (streq(kind, "many"))
                send_many();
        pause();
        return EXIT_SUCCESS;
}

// ---- what argosyd sees

static struct {
        ForeignJournal *journal;
        char text[256];
        unsigned n_lines, n_ended;
        int error;
        bool closed, hold;
} seen;

static void on_lines(char **lines, size_t n, void *userdata) {
        for (size_t i = 0; i < n; i++) {
                size_t len = strlen(seen.text);

                snprintf(seen.text + len, sizeof(seen.text) - len, "%s|", lines[i]);
                seen.n_lines++;
        }
        if (seen.hold)
                foreign_journal_hold(seen.journal, true);
}

static void on_ended(int error, void *userdata) {
        seen.n_ended++;
        seen.error = error;
}

static void on_closed(void *userdata) {
        seen.closed = true;
}

static void begin(const char *kind, bool follow) {
        static const JournalOps ops = {.lines = on_lines, .ended = on_ended};
        const JournalQuestion q = {
                .manager = JOURNAL_SYSTEM, .unit = "web.service", .n_lines = 7, .follow = follow};
        const char *command[] = {"/proc/self/exe", "--helper", kind, NULL};
        HelperConfig config = {.loop = &test_loop,
                               .command = command,
                               .manager = "container@box",
                               .mode = HELPER_JOURNAL,
                               .answer_ms = streq(kind, "silent") ? IMPATIENCE_MS
                                            : streq(kind, "late") ? LONGER_MS
                                                                  : 0};

        memset(&seen, 0, sizeof(seen));
        assert_int_equal(foreign_journal_new(&config, &q, &ops, NULL, &seen.journal), 0);
        assert_int_equal(seen.n_ended, 0);
}

static void end(void) {
        foreign_journal_close(seen.journal, on_closed, NULL);
        loop_until(seen.closed);
}

static void assert_ends(const char *kind, bool follow, int error) {
        begin(kind, follow);
        loop_until(seen.n_ended);
        assert_int_equal(seen.error, error);
        end();
        assert_int_equal(seen.n_ended, 1);
}

static void lines_come_batch_by_batch_until_the_end(void **state) {
        assert_ends("batches", false, 0);
        assert_string_equal(seen.text, "web.service 7 0 0| 0 0 0| 0 0 0|");
}

static void a_follower_s_helper_waits_longer_than_for_an_answer(void **state) {
        begin("late", true);
        loop_until(seen.n_lines == BATCHES + 1 || seen.n_ended);
        assert_int_equal(seen.n_ended, 0);
        assert_string_equal(seen.text, "web.service 7 1 0| 0 0 0| 0 0 0|late|");
        end();
        assert_int_equal(seen.n_ended, 0);
}

static void one_helper_tells_of_one_unit_after_the_other(void **state) {
        const JournalQuestion q = {.manager = JOURNAL_SYSTEM, .unit = "db.service", .n_lines = 7};
        char unit[2][32];
        int pid[2];

        begin("who", false);
        assert_int_equal(foreign_journal_again(seen.journal, &q), -EPIPE); // not yet
        loop_until(seen.n_ended == 1);
        assert_int_equal(seen.error, 0);
        assert_int_equal(foreign_journal_again(seen.journal, &q), 0);
        loop_until(seen.n_ended == 2);
        assert_int_equal(seen.error, 0);
        assert_int_equal(sscanf(seen.text, "%31s %d|%31s %d|", unit[0], &pid[0], unit[1], &pid[1]), 4);
        assert_string_equal(unit[0], "web.service");
        assert_string_equal(unit[1], "db.service");
        assert_int_equal(pid[0], pid[1]);
        end();
        begin("escape", false);
        loop_until(seen.n_ended == 1);
        assert_int_equal(foreign_journal_again(seen.journal, &q), -EPIPE); // it has ended
        end();
        assert_int_equal(seen.n_ended, 1);
}

static void nothing_is_asked_while_it_is_held_however_long(void **state) {
        begin("batches", false);
        seen.hold = true;
        for (unsigned n = 1; n <= BATCHES; n++) {
                loop_until(seen.n_lines == n);
                for (int i = 0; i < 10; i++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                assert_int_equal(seen.n_lines, n);
                foreign_journal_hold(seen.journal, false);
        }
        loop_until(seen.n_ended);
        assert_int_equal(seen.error, 0);
        end();
}

static void whoever_does_not_answer_is_ended(void **state) {
        assert_ends("silent", false, -ETIMEDOUT);
        begin("silent", true); // or is closed before
        end();
        assert_int_equal(seen.n_ended, 0);
}

static void what_no_helper_of_ours_says_ends_it(void **state) {
        assert_ends("escape", false, -EBADMSG);
        assert_ends("two-lines", false, -EBADMSG);
        assert_ends("long", false, -EBADMSG);
        assert_ends("many", false, -EBADMSG);
        assert_int_equal(seen.n_lines, 0);
        assert_ends("empty", true, -EBADMSG); // would be asked again and again
        assert_int_equal(seen.n_lines, BATCHES);
}

int main(int argc, char **argv) {
#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)
        const struct CMUnitTest tests[] = {
                T(lines_come_batch_by_batch_until_the_end),
                T(a_follower_s_helper_waits_longer_than_for_an_answer),
                T(one_helper_tells_of_one_unit_after_the_other),
                T(nothing_is_asked_while_it_is_held_however_long),
                T(whoever_does_not_answer_is_ended),
                T(what_no_helper_of_ours_says_ends_it),
        };
#undef T

        if (argc == 7 && streq(argv[1], "--helper"))
                return helper_main(argv[2]);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
