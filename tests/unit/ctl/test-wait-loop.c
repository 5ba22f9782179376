// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The loop in which commands wait, with a kind of waiting that is only for the test: what it asks for is
// counted, and it is finished when the daemon says that nothing remains.

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "test.h"

#include "clock.h"
#include "fake-daemon.h"
#include "messages.h"
#include "str.h"
#include "wait-loop.h"

typedef struct Nap {
        Argosy__Request__Wait wait;
        unsigned asked, enough; // the verb that is asked for counts; with so many it is enough, 0: never
        uint32_t left;
        bool warns;      // whenever it is told something
        WaitEnd at_last; // what leave() was told
} Nap;

static sem_t counted;        // each time that somebody wants to know how far it has come
static sem_t seconds_drawn; // each time that something is drawn, once a wait of a second or more is

static int nap_ask(Ctl *ctl, Argosy__Request *request, void *userdata) {
        Nap *n = userdata;

        if (n->enough && n->asked == n->enough)
                return WAIT_ENOUGH;
        request->wait->verb = (Argosy__Verb) n->asked++;
        return 0;
}

static int nap_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Nap *n = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS)
                return 0;
        n->left = r->progress->remaining;
        if (n->warns)
                ctl_warn(ctl, "%" PRIu32 " left", n->left);
        return WAIT_NEWS;
}

static void nap_count(const void *userdata, ProgressState *ret) {
        const Nap *n = userdata;

        *ret = (ProgressState){.verb = "nap", .done = 9 - n->left, .total = 9};
        sem_post(&counted);
}

static WaitStep nap_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Nap *n = userdata;

        return end->error == 0 && end->status == 0 && n->left == 0 ? WAIT_FINISHED : wait_end_step(end);
}

static int nap_detach(const WaitEnd *end, const void *userdata, Buf *text) {
        const Nap *n = userdata;

        return buf_printf(text, "%" PRIu32 " go on", n->left);
}

enum { NAP_LEFT = 77 };

static int nap_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        Nap *n = userdata;

        n->at_last = *end;
        return NAP_LEFT;
}

static const WaitKind nap = {.ask = nap_ask,
                             .take = nap_take,
                             .count = nap_count,
                             .judge = nap_judge,
                             .detach = nap_detach,
                             .leave = nap_leave};

typedef struct Outcome {
        int code;
        char *err;
} Outcome;

#define RESOLVES "waiting for n2 to resolve x.example/web:1"

// Whether a line says that this has lasted for a second or more.
static bool says_seconds(const char *drawn) {
        while ((drawn = strstr(drawn, RESOLVES " (")))
                if (*(drawn += strlen(RESOLVES " (")) >= '1' && *drawn <= '9')
                        return true;
        return false;
}

static ssize_t on_drawn(void *drawn, const char *text, size_t len) {
        Buf *b = drawn;

        assert_int_equal(buf_append(b, text, len), 0);
        assert_int_equal(buf_append(b, "", 1), 0);
        b->len--;
        if (says_seconds((const char *) b->data))
                sem_post(&seconds_drawn);
        return (ssize_t) len;
}

static void outcome_done(Outcome *o) {
        free(o->err);
}
#define _cleanup_outcome_ _cleanup_(outcome_done)

static Outcome run(FakeScript script, const WaitKind *kind, Nap *n, uint64_t timeout_us, bool tty) {
        FakeDaemon d;
        Outcome o;
        Buf drawn = {};
        Ctl ctl = {.deadline_us = timeout_us ? clock_boot_us() + timeout_us : CLIENT_NEVER};

        n->left = 9;
        argosy__request__wait__init(&n->wait);
        Argosy__Request request = REQUEST_OF(WAIT, wait, &n->wait);
        sem_init(&counted, 0, 0);
        sem_init(&seconds_drawn, 0, 0);
        fake_daemon_start(&d, script);
        terminal_init(&ctl.term, stdout,
                      fopencookie(&drawn, "w", (cookie_io_functions_t){.write = on_drawn}), 0);
        ctl.term.err_tty = tty;
        ctl_use_socket(&ctl, d.path);
        ctl_catch_interrupt(&ctl);
        o.code = wait_loop_run(&ctl, kind, &request, n);
        client_done(&ctl.client);
        fclose(ctl.term.err);
        o.err = drawn.data ? (char *) drawn.data : strdup("");
        fake_daemon_stop(&d);
        return o;
}

// ---- the daemon's side

static void expect_ask(FakeDaemon *d, unsigned number) {
        Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_WAIT && (unsigned) q->wait->verb == number);
        argosy__request__free_unpacked(q, NULL);
}

static void reply_left(FakeDaemon *d, uint32_t remaining, bool final) {
        Argosy__Response__Progress progress = MESSAGE_OF(response__progress, .remaining = remaining);

        fake_reply(d, A_RESPONSE(PROGRESS, progress, &progress, .final = final));
}

static void reply_status(FakeDaemon *d, int status, const char *message, bool no_leader) {
        fake_reply(d, A_RESPONSE_WITH(.final = true, .status = status, .message = (char *) message,
                                      .no_leader = no_leader));
}

// ---- the tests

static void breaks_and_goes_on(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        reply_left(d, 5, false);
        fake_accept(d);
        expect_ask(d, 1);
        reply_status(d, EAGAIN, "the leader changed", true);
        expect_ask(d, 2);
        reply_left(d, 0, true);
}

static void what_is_asked_for_is_made_anew_each_time(void **state) {
        Nap n = {};
        _cleanup_outcome_ Outcome o = run(breaks_and_goes_on, &nap, &n, 0, false);

        assert_int_equal(o.code, EXIT_OK);
        assert_int_equal(n.asked, 3);
        assert_string_equal(o.err, "");
}

// Before it answers the cluster says what for it waits; that is no news for who waits.
static bool has_terminal;

static void waits_itself(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        fake_reply(d, A_RESPONSE_WITH(.awaits = (char *) "n2 to resolve x.example/web:1"));
        if (has_terminal)
                sem_wait(&seconds_drawn); // the client draws each second that has passed
        reply_left(d, 0, true);
}

static void what_the_cluster_waits_for_is_drawn_and_goes_to_nobody(void **state) {
        Nap n = {};
        has_terminal = true;
        _cleanup_outcome_ Outcome o = run(waits_itself, &nap, &n, 0, true), piped = {};

        assert_int_equal(o.code, EXIT_OK);
        assert_true(says_seconds(o.err));
        assert_string_equal(o.err + strlen(o.err) - 4, "\r\x1b[K"); // it is taken away
        n = (Nap){};
        has_terminal = false;
        piped = run(waits_itself, &nap, &n, 0, false);
        assert_int_equal(piped.code, EXIT_OK);
        assert_string_equal(piped.err, "");
}

static void breaks_twice(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        fake_accept(d);
        expect_ask(d, 1);
        reply_status(d, EAGAIN, "the leader changed", true);
}

static void who_has_enough_asks_no_more(void **state) {
        Nap n = {.enough = 2};
        _cleanup_outcome_ Outcome o = run(breaks_twice, &nap, &n, 0, false);

        assert_int_equal(o.code, EXIT_OK);
        assert_string_equal(o.err, "");
}

static void refuses(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        reply_left(d, 3, false);
        reply_status(d, EPERM, "not here", false);
}

static void who_gives_up_is_told_why(void **state) {
        Nap n = {};
        _cleanup_outcome_ Outcome o = run(refuses, &nap, &n, 0, false);

        assert_int_equal(o.code, NAP_LEFT);
        assert_int_equal(n.at_last.error, 0);
        assert_int_equal(n.at_last.status, EPERM);
        assert_string_equal(n.at_last.message, "not here");
        assert_string_equal(o.err, "");
}

static void is_silent(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
}

static void the_end_of_patience_is_an_error_of_its_own(void **state) {
        Nap n = {};
        _cleanup_outcome_ Outcome o = run(is_silent, &nap, &n, 500 * USEC_PER_MSEC, false);

        assert_int_equal(o.code, NAP_LEFT);
        assert_int_equal(n.at_last.error, -ETIMEDOUT);
}

static void is_left(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        kill(getpid(), SIGINT);
}

static void ctrl_c_says_what_goes_on(void **state) {
        WaitKind mute = nap;
        Nap n = {};
        _cleanup_outcome_ Outcome o = run(is_left, &nap, &n, 0, false), silent = {};

        assert_int_equal(o.code, EXIT_DETACHED);
        assert_string_equal(o.err, "argosyctl: detached; 9 go on\n");
        mute.detach = NULL;
        n = (Nap){};
        silent = run(is_left, &mute, &n, 0, false);
        assert_int_equal(silent.code, EXIT_DETACHED);
        assert_string_equal(silent.err, "");
}

enum { ROUNDS = 5 }; // pauses of 100, 200, 400 and 800 ms between them; before the last one it is said

static void has_no_leader(FakeDaemon *d) {
        fake_accept(d);
        for (unsigned i = 0; i < ROUNDS; i++) {
                expect_ask(d, i);
                reply_status(d, EAGAIN, "the leader changed", true);
        }
        expect_ask(d, ROUNDS);
        reply_left(d, 0, true);
}

static void has_news_each_time(FakeDaemon *d) {
        fake_accept(d);
        for (unsigned i = 0; i < ROUNDS; i++) {
                expect_ask(d, i);
                reply_left(d, ROUNDS - i, false);
                reply_status(d, EAGAIN, "the leader changed", true);
        }
        expect_ask(d, ROUNDS);
        reply_left(d, 0, true);
}

static void news_make_patience_new(void **state) {
        WaitKind silent = nap;
        Nap n = {};
        _cleanup_outcome_ Outcome without = run(has_no_leader, &nap, &n, 0, false), with = {}, mute = {};

        assert_int_equal(without.code, EXIT_OK);
        assert_string_equal(without.err,
                            "Warning: the cluster has no leader at the moment; still trying\n");
        n = (Nap){};
        with = run(has_news_each_time, &nap, &n, 0, false);
        assert_int_equal(with.code, EXIT_OK);
        assert_string_equal(with.err, "");
        silent.silent = true;
        n = (Nap){};
        mute = run(has_no_leader, &silent, &n, 0, false);
        assert_int_equal(mute.code, EXIT_OK);
        assert_string_equal(mute.err, "");
}

// " (3s)": for how long it has lasted on this machine.
static void drop_seconds(char *drawn) {
        while ((drawn = strstr(drawn, " ("))) {
                size_t digits = strspn(drawn + 2, "0123456789");

                if (digits > 0 && str_has_prefix(drawn + 2 + digits, "s)"))
                        memmove(drawn, drawn + 4 + digits, strlen(drawn + 4 + digits) + 1);
                else
                        drawn += 2;
        }
}

// The second time that the line's text is wanted is a tick, when nothing has come for a while.
static void takes_its_time(FakeDaemon *d) {
        fake_accept(d);
        expect_ask(d, 0);
        sem_wait(&counted);
        sem_wait(&counted);
        reply_left(d, 4, false);
        reply_left(d, 0, true);
}

static void a_message_takes_the_progress_line_away(void **state) {
        Nap n = {.warns = true};
        _cleanup_outcome_ Outcome o = run(takes_its_time, &nap, &n, 0, true);

        assert_int_equal(o.code, EXIT_OK);
        drop_seconds(o.err);
        assert_non_null(strstr(o.err, "\rnap [>"));
        assert_non_null(strstr(o.err, "0/9\x1b[K\r\x1b[KWarning: 4 left\n"));
        assert_non_null(strstr(o.err, "\r\x1b[KWarning: 0 left\n"));
        // nothing is drawn of the end
        assert_string_equal(o.err + strlen(o.err) - strlen("0 left\n"), "0 left\n");
}

static void the_end_of_answers_is_judged(void **state) {
        static const struct {
                WaitEnd end;
                WaitStep step;
        } cases[] = {
                {{.error = -ECONNRESET, .lost = true}, WAIT_REDIAL},
                {{.error = -ENOENT, .lost = true, .status = EPERM}, WAIT_REDIAL},
                {{.error = -ETIMEDOUT, .status = EAGAIN}, WAIT_GIVE_UP}, // our patience, not the daemon's
                {{.error = -EINTR, .no_leader = true}, WAIT_GIVE_UP},
                {{.status = EAGAIN}, WAIT_REDIAL},
                {{.status = ETIMEDOUT}, WAIT_REDIAL},
                {{.status = EIO, .no_leader = true}, WAIT_REDIAL},
                {{.status = EPERM}, WAIT_GIVE_UP},
                {{.status = 0}, WAIT_GIVE_UP}, // said to be the end, and it is not
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(wait_end_step(&cases[i].end), cases[i].step);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_asked_for_is_made_anew_each_time),
                cmocka_unit_test(what_the_cluster_waits_for_is_drawn_and_goes_to_nobody),
                cmocka_unit_test(who_has_enough_asks_no_more),
                cmocka_unit_test(who_gives_up_is_told_why),
                cmocka_unit_test(the_end_of_patience_is_an_error_of_its_own),
                cmocka_unit_test(ctrl_c_says_what_goes_on),
                cmocka_unit_test(news_make_patience_new),
                cmocka_unit_test(a_message_takes_the_progress_line_away),
                cmocka_unit_test(the_end_of_answers_is_judged),
        };

        setenv("COLUMNS", "80", 1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
