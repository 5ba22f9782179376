// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks what systemd would say of a content has an answer, or none in time; the helper is asked once for
// each content.
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages.h"
#include "printed.h"
#include "str.h"
#include "unit-verifier.h"

enum { LONG_MS = 60000, SHORT_MS = 20 };

// ---- the helper: one byte in the file `asked` for each request

static void read_exactly(void *data, size_t len) {
        if (recv(STDIN_FILENO, data, len, MSG_WAITALL) != (ssize_t) len)
                _exit(EXIT_SUCCESS);
}

static Argosy__HelperRequest *read_request(void) {
        static uint8_t bytes[65536];
        uint8_t header[HELPER_HEADER];
        size_t len = 0;

        read_exactly(header, sizeof(header));
        for (int i = 0; i < HELPER_HEADER; i++)
                len = len << 8 | header[i];
        if (len > sizeof(bytes))
                _exit(EXIT_FAILURE);
        read_exactly(bytes, len);
        return argosy__helper_request__unpack(NULL, len, bytes);
}

static void reply_about(const Argosy__HelperVerify *q) {
        Argosy__HelperFinding list[HELPER_VERIFY_FILES], *pointers[HELPER_VERIFY_FILES];
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        Buf frame = {};

        for (size_t i = 0; i < q->n_files; i++) {
                bool bad = memmem(q->files[i]->content.data, q->files[i]->content.len, "bad", 3);

                if (!bad && !memmem(q->files[i]->content.data, q->files[i]->content.len, "odd", 3))
                        continue;
                list[reply.n_findings] = (Argosy__HelperFinding) MESSAGE_OF(
                        helper_finding, .file = (uint32_t) i, .line = 1,
                        .kind = bad ? ARGOSY__FINDING_KIND__FINDING_REFUSED
                                    : ARGOSY__FINDING_KIND__FINDING_WARNING,
                        .text = q->files[i]->name);
                pointers[reply.n_findings] = &list[reply.n_findings];
                reply.n_findings++;
        }
        reply.findings = pointers;
        reply.systemd = (char *) "systemd 252";
        if (helper_frame_pack(&reply.base, &frame) < 0 || send(STDIN_FILENO, frame.data, frame.len, 0) < 0)
                _exit(EXIT_FAILURE);
}

static int helper_main(const char *kind, const char *asked) {
        for (;;) {
                Argosy__HelperRequest *q = read_request();
                int fd = open(asked, O_WRONLY | O_CREAT | O_APPEND, 0600);

                if (!q || !q->verify || fd < 0 || write(fd, "x", 1) != 1)
                        return EXIT_FAILURE;
                close(fd);
                if (strcmp(kind, "hangs") == 0)
                        pause();
                if (strcmp(kind, "dies") == 0)
                        return EXIT_FAILURE;
                reply_about(q->verify);
        }
}

// ---- who asks

typedef struct Answer {
        int n, error;
        int place; // among all answers
        bool refused;
        size_t n_findings;
        char text[64];
} Answer;

static char asked[] = "/tmp/argosy-test-verifier-XXXXXX";
static UnitVerifier *verifier;
static bool closed;
static int n_answers;

static off_t n_asked(void) {
        struct stat st;

        assert_int_equal(stat(asked, &st), 0);
        return st.st_size;
}

static void open_verifier(const char *kind) {
        static const char *command[5] = {"/proc/self/exe", "--helper"};
        int fd = open(asked, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        close(fd);
        command[2] = kind;
        command[3] = asked;
        closed = false;
        assert_int_equal(unit_verifier_new(&test_loop, command, &verifier), 0);
}

static void on_closed(void *userdata) {
        closed = true;
}

static void close_verifier(void) {
        unit_verifier_close(verifier, on_closed, NULL);
        loop_until(closed);
        unlink(asked);
}

static void on_answer(int error, const UnitVerdict *verdict, void *userdata) {
        const UnitFindings *findings = verdict->findings;
        size_t n = verdict->n;
        Answer *a = userdata;

        a->n++;
        a->place = ++n_answers;
        a->error = error;
        a->refused = n > 0 && findings[0].refused;
        a->n_findings = n > 0 ? findings[0].n : 0;
        if (a->n_findings > 0)
                snprintf(a->text, sizeof(a->text), "%s", findings[0].list[0].text);
        assert_true(error < 0 || strcmp(verdict->systemd, "systemd 252") == 0 || n == 0 ||
                    findings[0].n == 0);
}

static uint64_t ask_for(const char *name, const char *content, unsigned patience_ms, Answer *a) {
        const UnitAnalysisFile file = {name, content, strlen(content)};
        uint64_t number;

        *a = (Answer){};
        assert_int_equal(unit_verifier_ask(verifier, &file, 1, false, patience_ms, on_answer, a, &number),
                         0);
        assert_int_equal(a->n, 0);
        return number;
}

static void what_is_taken_is_asked_once(void **state) {
        Answer a, b, c;

        open_verifier("answers");
        ask_for("a.service", "odd", LONG_MS, &a);
        loop_until(a.n == 1);
        assert_int_equal(a.error, 0);
        assert_false(a.refused);
        assert_string_equal(a.text, "a.service");
        ask_for("a.service", "odd", LONG_MS, &b);
        ask_for("a.service", "other", LONG_MS, &c);
        loop_until(b.n == 1 && c.n == 1);
        assert_string_equal(b.text, "a.service");
        assert_int_equal(c.n_findings, 0);
        assert_int_equal(n_asked(), 2);
        close_verifier();
}

// A drop-in may have mended it since.
static void what_is_refused_is_asked_again(void **state) {
        Answer a;

        open_verifier("answers");
        for (int i = 1; i <= 2; i++) {
                ask_for("a.service", "bad", LONG_MS, &a);
                loop_until(a.n == 1);
                assert_true(a.refused);
                assert_int_equal(n_asked(), i);
        }
        close_verifier();
}

static void instances_share_one_question(void **state) {
        Answer a[5];

        open_verifier("answers");
        for (size_t i = 0; i < ELEMENTSOF(a); i++) {
                ask_for(printed("a@%zu.service", i), "bad", LONG_MS, &a[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(a); i++) {
                loop_until(a[i].n == 1);
                assert_true(a[i].refused);
        }
        assert_int_equal(n_asked(), 1);
        close_verifier();
}

static void what_depends_on_the_instance_is_asked_of_each(void **state) {
        Answer a, b;

        open_verifier("answers");
        ask_for("a@1.service", "bad %i", LONG_MS, &a);
        ask_for("a@2.service", "bad %i", LONG_MS, &b);
        loop_until(a.n == 1 && b.n == 1);
        assert_string_equal(a.text, "a@1.service");
        assert_string_equal(b.text, "a@2.service");
        assert_int_equal(n_asked(), 2);
        close_verifier();
}

// Its own limit ends the helper later; nobody waits for that.
static void who_hangs_holds_up_nobody_longer_than_he_waits(void **state) {
        Answer a, b;

        open_verifier("hangs");
        ask_for("a.service", "x", SHORT_MS, &a);
        ask_for("b.service", "y", SHORT_MS, &b);
        loop_until(a.n == 1 && b.n == 1);
        assert_int_equal(a.error, -ETIMEDOUT);
        assert_int_equal(b.error, -ETIMEDOUT);
        close_verifier();
}

static void a_shorter_patience_ends_first(void **state) {
        Answer a, b;

        open_verifier("hangs");
        ask_for("a.service", "x", LONG_MS, &a);
        ask_for("b.service", "y", SHORT_MS, &b);
        loop_until(b.n == 1);
        assert_int_equal(a.n, 0);
        close_verifier();
}

// A deployment waits for seconds, whoever verifies a folder for longer.
static void who_waits_less_is_asked_about_first(void **state) {
        Answer first, folder, same, deployment;

        open_verifier("answers");
        (void) ask_for("a.service", "one", LONG_MS, &first);
        (void) ask_for("b.service", "two", LONG_MS, &folder);
        (void) ask_for("c.service", "three", LONG_MS, &same);
        (void) ask_for("d.service", "four", LONG_MS / 2, &deployment);
        loop_until(first.n && folder.n && same.n && deployment.n);
        assert_true(deployment.place < folder.place && folder.place < same.place);
        (void) ask_for("e.service", "five", LONG_MS, &first);
        (void) ask_for("f.service", "six", LONG_MS, &folder);
        (void) ask_for("g.service", "seven", LONG_MS, &same);
        (void) ask_for("g.service", "seven", LONG_MS / 2, &deployment); // the same question is wanted sooner
        loop_until(first.n && folder.n && same.n && deployment.n);
        assert_true(deployment.place < folder.place && same.place < folder.place);
        close_verifier();
}

// Containers that come to a host are made one after the other, however many those are.
static void who_waits_without_a_limit_is_asked_about_all_the_same(void **state) {
        static Answer many[UNIT_VERIFIER_WAITING_MAX + 100];
        Answer other;

        open_verifier("answers");
        for (size_t i = 0; i < ELEMENTSOF(many); i++) {
                _cleanup_free_ char *content = str_printf("odd %zu", i);

                (void) ask_for("a.service", content, UNIT_VERIFIER_NO_LIMIT, &many[i]);
        }
        (void) ask_for("b.service", "other", LONG_MS, &other);
        for (size_t i = 0; i < ELEMENTSOF(many); i++) {
                loop_until(many[i].n == 1);
                assert_int_equal(many[i].error, 0);
                assert_true(i == 0 || many[i].place > many[i - 1].place);
        }
        assert_int_equal(other.error, 0);
        assert_true(other.n == 1 && other.place < many[1].place);
        assert_int_equal(n_asked(), ELEMENTSOF(many) + 1);
        close_verifier();
}

static void who_waits_without_a_limit_has_every_second_turn(void **state) {
        Answer patient[2], others[3];

        open_verifier("answers");
        (void) ask_for("a.service", "one", UNIT_VERIFIER_NO_LIMIT, &patient[0]);
        (void) ask_for("b.service", "two", UNIT_VERIFIER_NO_LIMIT, &patient[1]);
        (void) ask_for("c.service", "three", LONG_MS, &others[0]);
        (void) ask_for("d.service", "four", LONG_MS, &others[1]);
        (void) ask_for("b.service", "two", LONG_MS, &others[2]); // the same question has a limit now
        loop_until(patient[0].n && patient[1].n && others[0].n && others[1].n && others[2].n);
        assert_true(others[0].place < patient[0].place && patient[0].place < others[1].place);
        assert_true(others[1].place < patient[1].place);
        assert_int_equal(n_asked(), 4);
        close_verifier();
}

static void who_waits_without_a_limit_is_not_told_that_time_is_over(void **state) {
        Answer a, b;

        open_verifier("hangs");
        ask_for("a.service", "x", UNIT_VERIFIER_NO_LIMIT, &a);
        ask_for("a.service", "x", SHORT_MS, &b);
        loop_until(b.n == 1);
        assert_int_equal(b.error, -ETIMEDOUT);
        assert_int_equal(a.n, 0);
        close_verifier();
}

static void a_helper_that_dies_is_an_answer_and_the_next_is_asked(void **state) {
        Answer a, b;

        open_verifier("dies");
        ask_for("a.service", "x", LONG_MS, &a);
        ask_for("b.service", "y", LONG_MS, &b);
        loop_until(a.n == 1 && b.n == 1);
        assert_true(a.error < 0 && b.error < 0);
        assert_int_equal(n_asked(), 2);
        close_verifier();
}

static void who_has_cancelled_hears_nothing(void **state) {
        Answer a, b;

        open_verifier("answers");
        assert_ptr_equal(unit_verifier_cancel(verifier, ask_for("a.service", "x", LONG_MS, &a)), &a);
        ask_for("b.service", "y", LONG_MS, &b);
        loop_until(b.n == 1);
        assert_int_equal(a.n, 0);
        assert_int_equal(n_asked(), 1);
        close_verifier();
}

static void what_is_too_much_is_refused(void **state) {
        static char big[UNIT_VERIFIER_BYTES_MAX + 1];
        UnitAnalysisFile files[UNIT_VERIFIER_FILES_MAX + 1] = {};
        const UnitAnalysisFile one = {"a.service", big, sizeof(big)};
        uint64_t number;

        open_verifier("answers");
        assert_int_equal(unit_verifier_ask(verifier, files, ELEMENTSOF(files), false, LONG_MS, on_answer,
                                           NULL, &number),
                         -E2BIG);
        assert_int_equal(unit_verifier_ask(verifier, &one, 1, false, LONG_MS, on_answer, NULL, &number),
                         -E2BIG);
        assert_int_equal(unit_verifier_ask(verifier, files, 0, false, LONG_MS, on_answer, NULL, &number),
                         -E2BIG);
        close_verifier();
}

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(what_is_taken_is_asked_once),
                T(what_is_refused_is_asked_again),
                T(instances_share_one_question),
                T(what_depends_on_the_instance_is_asked_of_each),
                T(who_hangs_holds_up_nobody_longer_than_he_waits),
                T(a_shorter_patience_ends_first),
                T(who_waits_less_is_asked_about_first),
                T(who_waits_without_a_limit_is_asked_about_all_the_same),
                T(who_waits_without_a_limit_has_every_second_turn),
                T(who_waits_without_a_limit_is_not_told_that_time_is_over),
                T(a_helper_that_dies_is_an_answer_and_the_next_is_asked),
                T(who_has_cancelled_hears_nothing),
                T(what_is_too_much_is_refused),
        };

        if (argc > 3 && strcmp(argv[1], "--helper") == 0)
                return helper_main(argv[2], argv[3]);
        if (mkstemp(asked) < 0)
                return EXIT_FAILURE;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
