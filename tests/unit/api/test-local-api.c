// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <pwd.h>
#include <sys/stat.h>

#include "tmpdir.h"

#include "accounts.h"
#include "clock.h"
#include "frame.h"
#include "local-api.h"
#include "log.h"
#include "messages.h"
#include "str.h"
#include "stream.h"

enum {
        CLIENTS = 2,
        PER_USER = 16,
        OTHERS = 3 * PER_USER,
        ALL = OTHERS + PER_USER,
        CALLS_PER_USER = 3 * API_CALLS_MAX,
        MIB = 1024 * 1024,
        SUBMITTER = 4300, // this user, and root, may bring content
};

static const AccountLimits limits = {
        [ACCOUNT_CONNECTIONS] = {PER_USER, 0, OTHERS, ALL},
        [ACCOUNT_REQUESTS] = {CALLS_PER_USER, 0, 2 * CALLS_PER_USER, 4 * CALLS_PER_USER},
        [ACCOUNT_BYTES] = {44 * MIB, 0, 88 * MIB, 256 * MIB},
};

static struct World {
        uv_loop_t loop;
        Accounts *accounts;
        LocalApi *api;
        char *path;
        bool api_closed;
        ApiCall *calls[CALLS_PER_USER + 1];
        size_t n_calls, n_cancelled, n_drained;
        bool answer_at_once;
        uv_sem_t names; // answer while it can be had
        uid_t not_admitted;
        struct Peer {
                Stream *stream;
                bool closed;
                int error;
                size_t answers;
                uint64_t last_id;
                int last_status;
        } peers[CLIENTS];
} w;

typeof(getpwuid_r) __wrap_getpwuid_r; // the compiler compares them

int __wrap_getpwuid_r(uid_t uid, struct passwd *account, char *buf, size_t size, struct passwd **ret) {
        uv_sem_wait(&w.names);
        uv_sem_post(&w.names);
        *ret = NULL;
        return 0;
}

static void on_request(ApiCall *call, Argosy__Request *request, void *userdata) {
        if (w.answer_at_once)
                api_call_fail(call, 0, "%s", "");
        else
                w.calls[w.n_calls++] = call;
}

static void on_cancelled(ApiCall *call, void *userdata) {
        w.n_cancelled++;
}

static void on_drained(ApiCall *call, void *userdata) {
        assert_false(api_call_is_full(call));
        w.n_drained++;
}

static LocalApiAdmission admits(const Argosy__Author *author, void *userdata) {
        return author->uid == w.not_admitted                              ? LOCAL_API_MAY_NOTHING
               : author->owner || author->uid == SUBMITTER ? LOCAL_API_MAY_SUBMIT
                                                           : LOCAL_API_MAY_ASK;
}

static const LocalApiOps api_ops = {
        .request = on_request, .cancelled = on_cancelled, .admits = admits, .drained = on_drained};

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        struct Peer *p = userdata;
        Argosy__Response *r = argosy__response__unpack(NULL, len, payload);

        assert_non_null(r);
        p->answers++;
        p->last_id = r->id;
        p->last_status = r->status;
        argosy__response__free_unpacked(r, NULL);
        return 0;
}

static void on_peer_closed(Stream *s, int error, void *userdata) {
        struct Peer *p = userdata;

        p->closed = true;
        p->error = error;
}

static const StreamOps peer_ops = {.frame = on_frame, .closed = on_peer_closed};

static void on_api_closed(void *userdata) {
        w.api_closed = true;
}

FIXTURE(begin) {
        int fd;

        memset(&w, 0, sizeof(w));
        w.not_admitted = (uid_t) -1;
        tmpdir_make(state);
        assert_int_equal(uv_sem_init(&w.names, 1), 0);
        w.path = str_printf("%s/sock", (char *) *state);
        w.accounts = accounts_new(&limits);
        assert_non_null(w.accounts);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(listener_bind_unix(w.path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(local_api_new(&w.loop, fd, w.accounts, &api_ops, NULL, &w.api), 0);
        for (size_t i = 0; i < CLIENTS; i++) {
                assert_int_equal(
                        stream_dial_unix(&w.loop, w.path, &peer_ops, &w.peers[i], &w.peers[i].stream), 0);
                stream_set_frames(w.peers[i].stream, FRAME_MAX_LOCAL);
        }
}

static int end(void **state) {
        uv_sem_post(&w.names); // a test that has failed may not have
        for (size_t i = 0; i < CLIENTS; i++)
                if (!w.peers[i].closed)
                        stream_close(w.peers[i].stream, 0, false);
        if (w.api)
                local_api_close(w.api, on_api_closed, NULL);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_true(w.api_closed);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        uv_sem_destroy(&w.names);
        accounts_free(w.accounts); // which sees that nothing is held any more
        free(w.path);
        return tmpdir_drop(state);
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

static void ask_on(Stream *s, uint64_t id) {
        Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        Argosy__Request q = REQUEST_OF(VERSION, version, &version, .id = id);

        assert_int_equal(stream_send(s, &q.base), 0);
}

static void ask(size_t i, uint64_t id) {
        ask_on(w.peers[i].stream, id);
}

static void cancel(size_t i, uint64_t id) {
        Argosy__Request q = MESSAGE_OF(request, .cancel_id = id);

        assert_int_equal(stream_send(w.peers[i].stream, &q.base), 0);
}

static void answers_carry_the_id_of_their_request(void **state) {
        ask(0, 7);
        ask(0, 8);
        RUN_UNTIL(w.n_calls == 2);
        api_call_fail(w.calls[1], 5, "later first");
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.peers[0].last_id, 8);
        assert_int_equal(w.peers[0].last_status, 5);
        api_call_fail(w.calls[0], 0, "%s", "");
        RUN_UNTIL(w.peers[0].answers == 2);
        assert_int_equal(w.peers[0].last_id, 7);
        assert_int_equal(w.n_cancelled, 0);
}

static void answering_from_inside_is_allowed(void **state) {
        w.answer_at_once = true;
        ask(0, 1);
        RUN_UNTIL(w.peers[0].answers == 1);
}

static void a_client_that_goes_cancels_its_calls_and_nobody_elses(void **state) {
        ask(0, 1);
        ask(0, 2);
        ask(1, 1);
        RUN_UNTIL(w.n_calls == 3);
        stream_close(w.peers[0].stream, 0, false);
        RUN_UNTIL(w.n_cancelled == 2);
        assert_false(w.peers[1].closed);
}

static void one_call_can_be_cancelled(void **state) {
        ask(0, 1);
        ask(0, 2);
        RUN_UNTIL(w.n_calls == 2);
        cancel(0, 2);
        cancel(0, 99); // not there: nothing happens
        RUN_UNTIL(w.n_cancelled == 1);
        api_call_fail(w.calls[0], 0, "%s", "");
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.peers[0].last_id, 1);
}

static void unanswered_requests_have_a_limit(void **state) {
        for (uint64_t i = 1; i <= API_CALLS_MAX + 1; i++)
                ask(0, i);
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.n_calls, API_CALLS_MAX);
        assert_int_equal(w.peers[0].last_id, API_CALLS_MAX + 1);
        assert_int_equal(w.peers[0].last_status, EBUSY);
}

// How many came in the first turn that any came in, of so many for each of the clients, who send them at
// once.
static size_t calls_of_one_turn(size_t n_clients, uint64_t n_each) {
        uint64_t before_ms = uv_now(&w.loop);

        while (uv_now(&w.loop) == before_ms) // what was sent before is of another turn
                uv_run(&w.loop, UV_RUN_NOWAIT);
        w.n_calls = 0;
        for (size_t i = 0; i < n_clients; i++)
                for (uint64_t k = 0; k < n_each; k++)
                        ask(i, 100 + k);
        RUN_UNTIL(w.n_calls > 0);
        size_t n = w.n_calls;
        RUN_UNTIL(w.n_calls == n_clients * n_each);
        for (size_t i = 0; i < w.n_calls; i++)
                api_call_fail(w.calls[i], 0, "%s", "");
        for (size_t i = 0; i < n_clients; i++)
                w.peers[i].answers = 0;
        RUN_UNTIL(w.peers[n_clients - 1].answers == n_each);
        return n;
}

// What one client has under way goes into one batch of the log; where others are there, too, each has its
// share of the turn.
static void who_is_alone_has_more_of_a_turn(void **state) {
        enum { ALONE = 64, SHARE = 16 };

        (void) calls_of_one_turn(CLIENTS, 1); // all have been let in
        assert_int_equal(calls_of_one_turn(1, ALONE), ALONE);
        assert_int_equal(calls_of_one_turn(CLIENTS, ALONE), ALONE + SHARE);
}

static void garbage_ends_its_own_connection_only(void **state) {
        static const uint8_t not_a_message[] = {0, 0, 0, 3, 0xff, 0xff, 0xff};

        assert_int_equal(stream_write(w.peers[0].stream, not_a_message, sizeof(not_a_message)), 0);
        RUN_UNTIL(w.peers[0].closed);
        w.answer_at_once = true;
        ask(1, 1);
        RUN_UNTIL(w.peers[1].answers == 1);
}

static void a_huge_frame_is_refused_before_it_arrives(void **state) {
        static const uint8_t header[] = {0xff, 0xff, 0xff, 0xff};

        assert_int_equal(stream_write(w.peers[0].stream, header, sizeof(header)), 0);
        RUN_UNTIL(w.peers[0].closed);
        assert_false(w.peers[1].closed);
}

static void an_unknown_request_is_answered_with_an_error(void **state) {
        Argosy__Request q = MESSAGE_OF(request, .id = 3);

        assert_int_equal(stream_send(w.peers[0].stream, &q.base), 0);
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.peers[0].last_status, EOPNOTSUPP);
}

static void respond_with(ApiCall *call, size_t bytes, bool final) {
        _cleanup_free_ char *text = calloc(1, bytes + 1);

        memset(text, 'x', bytes);
        api_call_respond(call, A_RESPONSE_WITH(.message = text, .final = final));
}

static void an_answer_in_many_pieces_arrives_whole(void **state) {
        enum { N = 8 };

        ask(0, 7);
        RUN_UNTIL(w.n_calls == 1);
        for (unsigned i = 0; i < N; i++) // nobody can read between two of them
                respond_with(w.calls[0], API_QUEUE_MAX / 10, i + 1 == N);
        RUN_UNTIL(w.peers[0].answers == N);
        assert_false(w.peers[0].closed);
}

static void a_client_that_does_not_read_is_cut_off(void **state) {
        ask(0, 7);
        RUN_UNTIL(w.n_calls == 1);
        stream_pause(w.peers[0].stream, true);
        while (w.n_cancelled == 0) {
                respond_with(w.calls[0], API_QUEUE_MAX / 10, false);
                uv_run(&w.loop, UV_RUN_NOWAIT);
        }
        stream_pause(w.peers[0].stream, false);
        RUN_UNTIL(w.peers[0].closed);
}

static void who_has_much_to_say_hears_when_it_was_read(void **state) {
        ask(0, 7);
        ask(0, 8);
        ask(1, 9);
        RUN_UNTIL(w.n_calls == 3);
        stream_pause(w.peers[0].stream, true);
        while (!api_call_is_full(w.calls[0])) {
                respond_with(w.calls[0], STREAM_LOW_WATER / 4, false);
                uv_run(&w.loop, UV_RUN_NOWAIT); // what the socket takes is gone
        }
        assert_true(api_call_is_full(w.calls[0]));
        assert_int_equal(w.n_drained, 0);
        stream_pause(w.peers[0].stream, false);
        RUN_UNTIL(w.n_drained == 2); // both calls of this client, and nobody else's
        assert_int_equal(w.n_cancelled, 0);
}

static void an_answer_that_no_frame_holds_becomes_a_reason(void **state) {
        ask(0, 7);
        RUN_UNTIL(w.n_calls == 1);
        respond_with(w.calls[0], FRAME_MAX_LOCAL, true);
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.peers[0].last_id, 7);
        assert_int_equal(w.peers[0].last_status, E2BIG);
}

// ---- many clients of one user

static struct Peer many[ALL + 1];

static void dial_many(size_t from, size_t n) {
        for (size_t i = from; i < from + n; i++) {
                many[i] = (struct Peer){};
                assert_int_equal(stream_dial_unix(&w.loop, w.path, &peer_ops, &many[i], &many[i].stream), 0);
                stream_set_frames(many[i].stream, FRAME_MAX_LOCAL);
                ask_on(many[i].stream, 1); // answered: it has been accepted
                RUN_UNTIL(many[i].answers == 1 || many[i].closed);
        }
}

static void hang_up(size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!many[i].closed)
                        stream_close(many[i].stream, 0, false);
        for (size_t i = 0; i < n; i++)
                RUN_UNTIL(many[i].closed);
}

static void the_longest_idle_client_of_a_user_goes_for_a_new_one(void **state) {
        w.answer_at_once = true;
        ask(0, 1);
        RUN_UNTIL(w.peers[0].answers == 1);
        ask(1, 1);
        RUN_UNTIL(w.peers[1].answers == 1);
        dial_many(0, PER_USER - CLIENTS);
        assert_false(w.peers[0].closed || w.peers[1].closed);
        ask(0, 2); // no longer the longest idle one
        RUN_UNTIL(w.peers[0].answers == 2);
        dial_many(PER_USER - CLIENTS, 1);
        RUN_UNTIL(w.peers[1].closed);
        assert_int_equal(many[PER_USER - CLIENTS].answers, 1);
        assert_false(w.peers[0].closed);
        hang_up(PER_USER - CLIENTS + 1);
}

static void who_reads_an_answer_is_not_put_out(void **state) {
        ask(0, 1); // the longest idle one, if it were idle
        RUN_UNTIL(w.n_calls == 1);
        stream_pause(w.peers[0].stream, true);
        respond_with(w.calls[0], API_QUEUE_MAX / 10, true);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        w.n_calls = 0;
        w.answer_at_once = true;
        ask(1, 1);
        RUN_UNTIL(w.peers[1].answers == 1);
        dial_many(0, PER_USER - CLIENTS + 1);
        RUN_UNTIL(w.peers[1].closed);
        stream_pause(w.peers[0].stream, false);
        RUN_UNTIL(w.peers[0].answers == 1 || w.peers[0].closed);
        assert_int_equal(w.peers[0].answers, 1);
        hang_up(PER_USER - CLIENTS + 1);
}

static void who_waits_for_an_answer_is_not_put_out(void **state) {
        ask(0, 1);
        ask(1, 1);
        RUN_UNTIL(w.n_calls == CLIENTS);
        for (size_t i = 0; i < PER_USER - CLIENTS; i++) {
                many[i] = (struct Peer){};
                assert_int_equal(stream_dial_unix(&w.loop, w.path, &peer_ops, &many[i], &many[i].stream), 0);
                stream_set_frames(many[i].stream, FRAME_MAX_LOCAL);
                ask_on(many[i].stream, 1);
                RUN_UNTIL(w.n_calls == CLIENTS + i + 1);
        }
        dial_many(PER_USER, 1);
        assert_int_equal(many[PER_USER].last_status, EBUSY);
        assert_int_equal(many[PER_USER].last_id, 0);
        assert_int_equal(w.n_cancelled, 0);
        RUN_UNTIL(many[PER_USER].closed);
        hang_up(PER_USER - CLIENTS);
}

static void dial_as(uid_t uid, struct Peer *p) {
        *p = (struct Peer){};
        assert_int_equal(seteuid(uid), 0);
        assert_int_equal(stream_dial_unix(&w.loop, w.path, &peer_ops, p, &p->stream), 0);
        assert_int_equal(seteuid(0), 0);
        stream_set_frames(p->stream, FRAME_MAX_LOCAL);
        uv_run(&w.loop, UV_RUN_NOWAIT);
}

static void who_waits_for_his_name_is_not_put_out_by_the_next_of_his(void **state) {
        struct Peer *next = &many[PER_USER];

        if (geteuid() != 0)
                skip(); // only root can be somebody else
        assert_int_equal(chmod(*state, 0711), 0);
        assert_int_equal(chmod(w.path, 0666), 0);
        uv_sem_wait(&w.names);
        for (size_t i = 0; i <= PER_USER; i++)
                dial_as(4242, &many[i]);
        RUN_UNTIL(next->closed || many[0].closed);
        assert_false(many[0].closed);
        assert_int_equal(next->last_status, EBUSY);
        w.answer_at_once = true;
        ask_on(many[0].stream, 1);
        uv_sem_post(&w.names);
        RUN_UNTIL(many[0].answers == 1 || many[0].closed);
        assert_int_equal(many[0].last_status, 0);
        assert_int_equal(many[0].last_id, 1);
        hang_up(PER_USER);
}

static void be_open_to_all(void **state) {
        if (geteuid() != 0)
                skip(); // only root can be somebody else
        assert_int_equal(chmod(*state, 0711), 0);
        assert_int_equal(chmod(w.path, 0666), 0);
}

static void who_may_do_nothing_is_shown_out(void **state) {
        be_open_to_all(state);
        w.not_admitted = 4242;
        dial_as(4242, &many[0]);
        RUN_UNTIL(many[0].closed);
        assert_int_equal(many[0].last_status, EACCES);
        dial_as(4243, &many[0]);
        dial_as(4244, &many[1]);
        ask_on(many[0].stream, 1);
        ask_on(many[1].stream, 1);
        RUN_UNTIL(w.n_calls == 2);
        w.not_admitted = 4243; // he loses what he had
        local_api_recheck(w.api);
        RUN_UNTIL(many[0].closed);
        assert_int_equal(many[0].last_status, EACCES);
        RUN_UNTIL(w.n_cancelled == 1);
        assert_false(many[1].closed);
        stream_close(many[1].stream, 0, false);
        RUN_UNTIL(many[1].closed);
}

static void the_requests_of_one_user_have_a_limit(void **state) {
        enum { USED = CALLS_PER_USER / API_CALLS_MAX };

        be_open_to_all(state);
        for (size_t i = 0; i <= USED; i++)
                dial_as(4242, &many[i]);
        for (size_t i = 0; i < USED; i++)
                for (uint64_t id = 1; id <= API_CALLS_MAX; id++)
                        ask_on(many[i].stream, id);
        RUN_UNTIL(w.n_calls == CALLS_PER_USER);
        ask_on(many[USED].stream, 7);
        RUN_UNTIL(many[USED].answers == 1);
        assert_int_equal(many[USED].last_status, EBUSY);
        ask(0, 1); // root's
        RUN_UNTIL(w.n_calls == CALLS_PER_USER + 1);
        hang_up(USED + 1);
}

static void others_leave_root_a_place(void **state) {
        size_t n = OTHERS;

        be_open_to_all(state);
        for (size_t i = 0; i < n; i++) { // of four users
                if (i % PER_USER == 0)
                        uv_run(&w.loop, UV_RUN_NOWAIT);
                dial_as(4242 + (uid_t) (i / (PER_USER - 1)), &many[i]);
                ask_on(many[i].stream, 1);
        }
        RUN_UNTIL(w.n_calls == n);
        dial_as(5000, &many[n]);
        RUN_UNTIL(many[n].closed);
        assert_int_equal(many[n].last_status, EBUSY);
        ask(0, 1); // root's, which came first, and another one
        RUN_UNTIL(w.n_calls == n + 1);
        w.answer_at_once = true;
        dial_as(0, &many[n]);
        ask_on(many[n].stream, 1);
        RUN_UNTIL(many[n].answers == 1 || many[n].closed);
        assert_int_equal(many[n].answers, 1);
        assert_int_equal(w.n_cancelled, 0);
        hang_up(n + 1);
}

// ---- bytes, before they are there

// As somebody whose name is known: what he sends is read.
static void come_as(uid_t uid, struct Peer *p) {
        dial_as(uid, p);
        ask_on(p->stream, 1);
        RUN_UNTIL(p->answers == 1 || p->closed);
        assert_int_equal(p->last_status, 0);
}

static void begin_frame(Stream *s, size_t announced, size_t come) {
        _cleanup_free_ uint8_t *bytes = calloc(1, 4 + come);

        assert_non_null(bytes);
        for (unsigned i = 0; i < 4; i++)
                bytes[i] = (uint8_t) (announced >> (24 - 8 * i));
        assert_int_equal(stream_write(s, bytes, 4 + come), 0);
}

static size_t count_closed(size_t n) {
        size_t closed = 0;

        for (size_t i = 0; i < n; i++)
                closed += many[i].closed;
        return closed;
}

static void run_for_a_while(void) {
        uint64_t until = clock_boot_us() + 300 * USEC_PER_MSEC;

        while (clock_boot_us() < until)
                uv_run(&w.loop, UV_RUN_NOWAIT);
}

static void who_brings_no_content_sends_no_long_frame(void **state) {
        be_open_to_all(state);
        w.answer_at_once = true;
        come_as(4242, &many[0]);
        begin_frame(many[0].stream, API_SMALL_FRAME_MAX + 1, 0);
        RUN_UNTIL(many[0].closed);
        assert_int_equal(many[0].last_status, E2BIG);
        come_as(SUBMITTER, &many[0]);
        begin_frame(many[0].stream, API_SMALL_FRAME_MAX + 1, 0);
        run_for_a_while();
        assert_false(many[0].closed);
        hang_up(1);
}

static void half_frames_of_a_user_have_a_limit(void **state) {
        enum { N = PER_USER };

        be_open_to_all(state);
        w.answer_at_once = true;
        for (size_t i = 0; i < N; i++) {
                come_as(SUBMITTER, &many[i]);
                begin_frame(many[i].stream, 32 * MIB, 3 * MIB);
        }
        RUN_UNTIL(count_closed(N) > 0);
        run_for_a_while();
        assert_true(count_closed(N) >= N - 44 / 3);
        for (size_t i = 0; i < N; i++)
                assert_true(!many[i].closed || many[i].last_status == EBUSY);
        ask(0, 1); // root's
        RUN_UNTIL(w.peers[0].answers == 1);
        hang_up(N);
}

static unsigned count_status(unsigned n, int status) {
        unsigned count = 0;

        for (unsigned i = 0; i < n; i++)
                count += many[i].last_status == status;
        return count;
}

static void long_answers_of_a_user_have_a_limit(void **state) {
        enum { N = PER_USER, ANSWER = 6 * MIB };
        struct Peer *one = &many[N - 1]; // that got none

        be_open_to_all(state);
        w.answer_at_once = true;
        for (size_t i = 0; i < N; i++)
                come_as(4242, &many[i]);
        w.answer_at_once = false;
        for (size_t i = 0; i < N; i++)
                ask_on(many[i].stream, 2);
        RUN_UNTIL(w.n_calls == N);
        for (size_t i = 0; i < N; i++) { // nobody can read between two of them
                respond_with(w.calls[i], ANSWER, true);
                assert_true(accounts_have(w.accounts, ACCOUNT_BYTES) <= 44 * MIB);
        }
        assert_true(accounts_have(w.accounts, ACCOUNT_BYTES) > 6 * ANSWER);
        for (size_t i = 0; i < N; i++)
                RUN_UNTIL(many[i].answers == 2 || many[i].closed);
        assert_int_equal(count_status(N, EBUSY), N - 7); // and the reason
        assert_int_equal(count_closed(N), 0);
        RUN_UNTIL(accounts_have(w.accounts, ACCOUNT_BYTES) == 0);
        ask_on(one->stream, 3);
        RUN_UNTIL(w.n_calls == N + 1);
        respond_with(w.calls[N], ANSWER, true);
        RUN_UNTIL(one->answers == 3);
        hang_up(N);
}

// Nobody can stop who answers: the reason is the last of these answers.
static void one_of_several_answers_without_room_is_the_last(void **state) {
        enum { N = 8, ANSWER = 6 * MIB };

        be_open_to_all(state);
        w.answer_at_once = true;
        come_as(4242, &many[0]);
        w.answer_at_once = false;
        ask_on(many[0].stream, 2);
        RUN_UNTIL(w.n_calls == 1);
        stream_pause(many[0].stream, true);
        for (size_t i = 0; i < N; i++)
                respond_with(w.calls[0], ANSWER, false);
        stream_pause(many[0].stream, false);
        RUN_UNTIL(many[0].closed);
        assert_int_equal(many[0].last_status, EBUSY);
        assert_int_equal(many[0].last_id, 2);
        RUN_UNTIL(w.n_cancelled == 1);
        RUN_UNTIL(accounts_have(w.accounts, ACCOUNT_BYTES) == 0);
        hang_up(1);
}

static void what_a_frame_becomes_is_known_before(void **state) {
        enum { FIELDS = 60000 };
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request q = REQUEST_OF(LIST_UNITS, list_units, &list);
        _cleanup_free_ char **patterns = calloc(FIELDS, sizeof(*patterns));

        be_open_to_all(state);
        w.answer_at_once = true;
        for (size_t i = 0; i < FIELDS; i++)
                patterns[i] = (char *) "";
        list.patterns = patterns;
        list.n_patterns = FIELDS; // 120 kB
        q.id = 7;
        come_as(4242, &many[0]);
        assert_int_equal(stream_send(many[0].stream, &q.base), 0);
        RUN_UNTIL(many[0].closed);
        assert_int_equal(many[0].last_status, E2BIG);
        assert_int_equal(stream_send(w.peers[0].stream, &q.base), 0);
        RUN_UNTIL(w.peers[0].answers == 1);
        assert_int_equal(w.peers[0].last_id, 7);
        assert_int_equal(w.peers[0].last_status, 0);
        hang_up(1);
}

static void a_frame_that_has_begun_has_an_end(void **state) {
        begin_frame(w.peers[0].stream, 1000, 10);
        ask(1, 1);
        w.answer_at_once = true;
        RUN_UNTIL(w.peers[1].answers == 1);
        RUN_UNTIL(w.peers[0].closed); // or the test never ends
        assert_false(w.peers[1].closed); // that began nothing
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
        const struct CMUnitTest tests[] = {
                CASE(answers_carry_the_id_of_their_request),
                CASE(answering_from_inside_is_allowed),
                CASE(a_client_that_goes_cancels_its_calls_and_nobody_elses),
                CASE(one_call_can_be_cancelled),
                CASE(unanswered_requests_have_a_limit),
                CASE(garbage_ends_its_own_connection_only),
                CASE(a_huge_frame_is_refused_before_it_arrives),
                CASE(an_unknown_request_is_answered_with_an_error),
                CASE(an_answer_in_many_pieces_arrives_whole),
                CASE(a_client_that_does_not_read_is_cut_off),
                CASE(who_has_much_to_say_hears_when_it_was_read),
                CASE(an_answer_that_no_frame_holds_becomes_a_reason),
                CASE(the_longest_idle_client_of_a_user_goes_for_a_new_one),
                CASE(who_waits_for_an_answer_is_not_put_out),
                CASE(who_reads_an_answer_is_not_put_out),
                CASE(who_waits_for_his_name_is_not_put_out_by_the_next_of_his),
                CASE(who_may_do_nothing_is_shown_out),
                CASE(the_requests_of_one_user_have_a_limit),
                CASE(others_leave_root_a_place),
                CASE(who_is_alone_has_more_of_a_turn),
                CASE(who_brings_no_content_sends_no_long_frame),
                CASE(half_frames_of_a_user_have_a_limit),
                CASE(long_answers_of_a_user_have_a_limit),
                CASE(one_of_several_answers_without_room_is_the_last),
                CASE(what_a_frame_becomes_is_known_before),
                CASE(a_frame_that_has_begun_has_an_end),
        };

        log_set_level(-1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
