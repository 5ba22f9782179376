// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whole commands against a daemon that plays a script: what is asked, what is printed, and how it exits.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#include "ctl.h"
#include "fake-daemon.h"
#include "str.h"

enum { WORDS_MAX = 16 };

typedef struct Outcome {
        int code;
        char *out, *err;
} Outcome;

static void outcome_done(Outcome *o) {
        free(o->out);
        free(o->err);
}
#define _cleanup_outcome_ _cleanup_(outcome_done)

static Outcome run_at(const char *path, const char *line) {
        char copy[256], *save = NULL, *argv[WORDS_MAX] = {(char *) "argosyctl"};
        size_t out_size, err_size;
        FILE *out, *err;
        Outcome o = {};
        int argc = 1;

        snprintf(copy, sizeof(copy), "%s", line);
        for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
                argv[argc++] = w;
        setenv("ARGOSY_SOCKET", path, 1);
        out = open_memstream(&o.out, &out_size);
        err = open_memstream(&o.err, &err_size);
        o.code = ctl_main(argc, argv, out, err);
        fclose(out);
        fclose(err);
        return o;
}

static Outcome run(FakeScript script, const char *line) {
        FakeDaemon d;
        Outcome o;

        fake_daemon_start(&d, script);
        o = run_at(d.path, line);
        fake_daemon_stop(&d);
        return o;
}

// ---- the daemon's side

typedef struct Result {
        const char *name;
        int status;
        const char *message;
        uint64_t revision;
        const char *node;
        char *may_run_on; // NULL: nowhere
} Result;

enum { RESULTS_MAX = 4 };

static size_t fill(const Result *results, Argosy__Response__UnitResult *units,
                   Argosy__Response__UnitResult **pointers) {
        size_t n = 0;

        for (; results[n].name; n++) {
                assert(n < RESULTS_MAX);
                units[n] = (Argosy__Response__UnitResult) ARGOSY__RESPONSE__UNIT_RESULT__INIT;
                units[n].name = (char *) results[n].name;
                units[n].status = results[n].status;
                units[n].message = (char *) (results[n].message ?: "");
                units[n].revision = results[n].revision;
                units[n].node = (char *) (results[n].node ?: "");
                units[n].may_run_on = (char **) &results[n].may_run_on;
                units[n].n_may_run_on = results[n].may_run_on != NULL;
                pointers[n] = &units[n];
        }
        return n;
}

static void reply_change(FakeDaemon *d, const Result *results) {
        Argosy__Response__UnitResult units[RESULTS_MAX], *pointers[RESULTS_MAX];
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        change.n_units = fill(results, units, pointers);
        change.units = pointers;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_CHANGE;
        r.change = &change;
        fake_reply(d, &r);
}

static void reply_progress(FakeDaemon *d, const Result *results, bool final) {
        Argosy__Response__UnitResult units[RESULTS_MAX], *pointers[RESULTS_MAX];
        Argosy__Response__Progress progress = ARGOSY__RESPONSE__PROGRESS__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        progress.n_done = fill(results, units, pointers);
        progress.done = pointers;
        r.final = final;
        r.what_case = ARGOSY__RESPONSE__WHAT_PROGRESS;
        r.progress = &progress;
        fake_reply(d, &r);
}

static void reply_error(FakeDaemon *d, int status, const char *message, bool no_leader) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        r.final = true;
        r.status = status;
        r.message = (char *) message;
        r.no_leader = no_leader;
        fake_reply(d, &r);
}

// The next request must be a Change with this verb; its id is kept in the script's memory.
static Argosy__Request *read_change(FakeDaemon *d, Argosy__Verb verb) {
        Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CHANGE);
        assert(q->change->verb == verb);
        assert(q->change->id.len == 16);
        memcpy(d->memory, q->change->id.data, 16);
        return q;
}

static void done(Argosy__Request *q) {
        argosy__request__free_unpacked(q, NULL);
}

// The next request must be a Wait for exactly these units and revisions.
static void expect_wait(FakeDaemon *d, Argosy__Verb verb, const Result *items) {
        Argosy__Request *q = fake_read(d);
        size_t n = 0;

        assert(q->what_case == ARGOSY__REQUEST__WHAT_WAIT && q->wait->verb == verb);
        for (; items[n].name; n++) {
                assert(n < q->wait->n_items);
                assert(streq(q->wait->items[n]->name, items[n].name));
                assert(q->wait->items[n]->revision == items[n].revision);
        }
        assert(n == q->wait->n_items);
        done(q);
}

#define RESULTS(...) ((const Result[]){__VA_ARGS__, {}})

// ---- changes

static void starts_two(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = read_change(d, ARGOSY__VERB__VERB_START);
        assert(q->change->n_names == 2 && q->change->n_files == 0 && !q->change->replace);
        assert(streq(q->change->names[0], "web@1.service") && streq(q->change->names[1], "web@2.service"));
        assert(q->timeout_ms == 0);
        done(q);
        reply_change(d, RESULTS({"web@1.service", .revision = 5}, {"web@2.service", .revision = 6}));
        expect_wait(d, ARGOSY__VERB__VERB_START,
                    RESULTS({"web@1.service", .revision = 5}, {"web@2.service", .revision = 6}));
        reply_progress(d, RESULTS({"web@2.service", .node = "n2"}), false);
        reply_progress(d, RESULTS({"web@1.service", .node = "n1"}), true);
        fake_expect_end(d);
}

static void start_is_silent_when_all_is_well(void **state) {
        _cleanup_outcome_ Outcome o = run(starts_two, "start web@{1..2}");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "");
        assert_string_equal(o.err, "");
}

static void verbose_names_each_unit_as_it_gets_there(void **state) {
        _cleanup_outcome_ Outcome o = run(starts_two, "start -v web@1 web@2");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "web@2.service: started on n2\nweb@1.service: started on n1\n");
}

static void one_fails(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        reply_change(d, RESULTS({"a.service", .revision = 5},
                                {"b.service", .status = ENOENT, .message = "no such unit"}));
        expect_wait(d, ARGOSY__VERB__VERB_START, RESULTS({"a.service", .revision = 5}));
        reply_progress(d, RESULTS({"a.service", .status = EIO, .message = "exit-code on n1"}), true);
        fake_expect_end(d);
}

static void every_failure_is_named_and_the_exit_is_1(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails, "start a b");

        assert_int_equal(o.code, 1);
        assert_string_equal(
                o.err,
                "argosyctl: start b.service: no such unit\nargosyctl: start a.service: exit-code on n1\n");
}

static void one_fails_on_a_node(FakeDaemon *d) {
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        char *lines[] = {"n2 systemd[1]: a.service: no ExecStart=.", "n2 a[7]: alas"};
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Request *q;

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        reply_change(d, RESULTS({"a.service", .revision = 5}));
        expect_wait(d, ARGOSY__VERB__VERB_START, RESULTS({"a.service", .revision = 5}));
        reply_progress(d, RESULTS({"a.service", .status = EIO, .message = "it failed", .node = "n2"}), true);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_STATUS && q->status->n_names == 1 && q->status->lines == 3);
        assert(streq(q->status->names[0], "a.service"));
        done(q);
        status.log = lines;
        status.n_log = 2;
        r.what_case = ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
        r.status_reply = &status;
        r.final = true;
        fake_reply(d, &r);
        fake_expect_end(d);
}

static void who_fails_on_a_node_has_the_last_word(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails_on_a_node, "start a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: start a.service on n2: it failed\n"
                                   "  n2 systemd[1]: a.service: no ExecStart=.\n"
                                   "  n2 a[7]: alas\n");
}

static void results_come_as_json(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails, "start --json=short a b");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.out, "[{\"unit\":\"b.service\",\"ok\":false,\"node\":\"\",\"message\":\"no "
                                   "such unit\",\"refusals\":[],\"may_run_on\":[]},"
                                   "{\"unit\":\"a.service\",\"ok\":false,\"node\":\"\",\"message\":\"exit-"
                                   "code on n1\",\"refusals\":[],\"may_run_on\":[]}]\n");
}

// ---- hosts that are not heard

#define MAY_RUN "may still run on n4 until that host is heard"

static void destroys_on_a_silent_node(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"},
                                {"b.service", .revision = 6}));
        expect_wait(d, ARGOSY__VERB__VERB_DESTROY,
                    RESULTS({"a.service", .revision = 5}, {"b.service", .revision = 6}));
        reply_progress(d, RESULTS({"b.service"}), false);
        reply_progress(
                d, RESULTS({"a.service", .status = EHOSTDOWN, .message = MAY_RUN, .may_run_on = "n4"}), true);
        fake_expect_end(d);
}

static void what_may_still_run_has_an_exit_status_of_its_own(void **state) {
        _cleanup_outcome_ Outcome o = run(destroys_on_a_silent_node, "destroy -v a b");

        assert_int_equal(o.code, 5);
        assert_string_equal(o.out, "b.service: destroyed\n");
        assert_string_equal(o.err, "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void only_asks_for_it(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"},
                                {"b.service", .revision = 6}));
        fake_expect_end(d);
}

static void who_does_not_wait_is_told_as_well(void **state) {
        _cleanup_outcome_ Outcome o = run(only_asks_for_it, "destroy -v --no-block a b");

        assert_int_equal(o.code, 5);
        assert_string_equal(o.out, "b.service: to be destroyed\n");
        assert_string_equal(o.err, "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void is_not_answered(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"}));
        expect_wait(d, ARGOSY__VERB__VERB_DESTROY, RESULTS({"a.service", .revision = 5}));
        fake_expect_end(d);
}

static void and_at_the_end_of_ones_patience(void **state) {
        _cleanup_outcome_ Outcome o = run(is_not_answered, "destroy --timeout=1 a");

        assert_int_equal(o.code, 5);
        assert_string_equal(o.err, "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void destroys_and_fails(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"},
                                {"b.service", .status = ENOENT, .message = "no such unit"}));
        expect_wait(d, ARGOSY__VERB__VERB_DESTROY, RESULTS({"a.service", .revision = 5}));
        reply_progress(
                d, RESULTS({"a.service", .status = EHOSTDOWN, .message = MAY_RUN, .may_run_on = "n4"}), true);
        fake_expect_end(d);
}

static void a_failure_counts_more(void **state) {
        _cleanup_outcome_ Outcome o = run(destroys_and_fails, "destroy a b");

        assert_int_equal(o.code, 1);
}

static void loses_connection_before_the_answer(FakeDaemon *d) {
        Argosy__Request *q;
        uint8_t id[16];

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_STOP));
        memcpy(id, d->memory, sizeof(id));
        fake_accept(d); // hangs up first
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(memcmp(q->change->id.data, id, sizeof(id)) == 0);
        assert(q->change->n_names == 1 && streq(q->change->names[0], "a.service"));
        done(q);
        reply_change(d, RESULTS({"a.service", .revision = 9}));
        expect_wait(d, ARGOSY__VERB__VERB_STOP, RESULTS({"a.service", .revision = 9}));
        reply_progress(d, RESULTS({"a.service"}), true);
        fake_expect_end(d);
}

static void a_lost_change_is_sent_again_under_its_id(void **state) {
        _cleanup_outcome_ Outcome o = run(loses_connection_before_the_answer, "stop a");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.err, "");
}

static void loses_connection_in_the_wait(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_RESTART));
        reply_change(d, RESULTS({"a.service", .revision = 1}, {"b.service", .revision = 2},
                                {"c.service", .revision = 3}));
        expect_wait(d, ARGOSY__VERB__VERB_RESTART,
                    RESULTS({"a.service", .revision = 1}, {"b.service", .revision = 2},
                            {"c.service", .revision = 3}));
        reply_progress(d, RESULTS({"b.service"}), false);
        fake_accept(d);
        expect_wait(d, ARGOSY__VERB__VERB_RESTART,
                    RESULTS({"a.service", .revision = 1}, {"c.service", .revision = 3}));
        reply_progress(d, RESULTS({"b.service", .status = EIO}, {"a.service"}), false); // b again: not news
        reply_error(d, ETIMEDOUT, "no leader can be reached", false); // an election: waits on
        expect_wait(d, ARGOSY__VERB__VERB_RESTART, RESULTS({"c.service", .revision = 3}));
        reply_progress(d, RESULTS({"c.service"}), true);
        fake_expect_end(d);
}

static void a_wait_survives_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(loses_connection_in_the_wait, "restart a b c");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.err, "");
}

static void interrupts_the_wait(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        reply_change(d, RESULTS({"a.service", .revision = 1}, {"b.service", .revision = 2}));
        done(fake_read(d));
        reply_progress(d, RESULTS({"a.service"}), false);
        kill(getpid(), SIGINT);
        fake_expect_end(d); // nothing is cancelled: no further request
}

static void ctrl_c_detaches_and_cancels_nothing(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_wait, "start a b");

        assert_int_equal(o.code, 130);
        assert_non_null(strstr(o.err, "argosyctl: detached; the cluster goes on with "));
}

static void never_finishes(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = read_change(d, ARGOSY__VERB__VERB_START);
        assert(q->timeout_ms > 0 && q->timeout_ms <= 200);
        done(q);
        reply_change(d, RESULTS({"a.service", .revision = 1}));
        done(fake_read(d));
        fake_expect_end(d);
}

static void a_timeout_is_a_failure_that_says_what_is_open(void **state) {
        _cleanup_outcome_ Outcome o = run(never_finishes, "start --timeout=200ms a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: timed out waiting; the cluster goes on with 1 unit (see "
                                   "argosyctl list-units)\n");
}

static void takes_it(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        reply_change(d, RESULTS({"a.service", .revision = 1,
                                 .message = "kept, the file here differs; see --replace"}));
        fake_expect_end(d);
}

static void no_block_and_submit_do_not_wait(void **state) {
        _cleanup_outcome_ Outcome a = run(takes_it, "start --no-block a"), b = run(takes_it, "submit -q a");

        assert_int_equal(a.code, 0);
        assert_string_equal(a.err, "Warning: a.service: kept, the file here differs; see --replace\n");
        assert_int_equal(b.code, 0);
        assert_string_equal(b.err, "");
}

static void has_no_leader(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        reply_error(d, ETIMEDOUT, "no leader can be reached for 10 s", true);
        fake_expect_end(d);
}

static void a_change_without_a_leader_fails(void **state) {
        _cleanup_outcome_ Outcome o = run(has_no_leader, "stop a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: stop: no leader can be reached for 10 s\n");
}

static void expect_manager(FakeDaemon *d, Argosy__Request__WhatCase what) {
        Argosy__Request *q = fake_read(d);

        assert(q->what_case == what);
        done(q);
}

static void attaches_at_an_old_leaders(FakeDaemon *d) {
        fake_accept(d);
        for (int i = 0; i < 2; i++) { // all of them first
                expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_ATTACH);
                reply_error(d, 0, "", false);
        }
        for (int i = 0; i < 2; i++) {
                expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_WAIT);
                reply_error(d, EOPNOTSUPP, "the leader does not know this request", false);
        }
        fake_expect_end(d);
}

static void attaches_only_here(FakeDaemon *d) {
        fake_accept(d);
        expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_ATTACH);
        reply_error(d, 0, "", false);
        fake_expect_end(d);
}

static void detaches_what_the_cluster_keeps(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        expect_manager(d, ARGOSY__REQUEST__WHAT_MANAGER_DETACH);
        reply_error(d, 0, "", false);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_MANAGER_WAIT && q->manager_wait->detached);
        assert(streq(q->manager_wait->manager, "user@1001"));
        done(q);
        reply_error(d, EINVAL, "it has 20000 labels", false);
        fake_expect_end(d);
}

static void what_the_host_has_done_with_a_manager_is_said_apart(void **state) {
        _cleanup_outcome_ Outcome a = run(attaches_at_an_old_leaders, "manager attach user@1001 user@1002"),
                                  b = run(attaches_only_here, "manager attach --no-block user@1001"),
                                  c = run(detaches_what_the_cluster_keeps, "manager detach user@1001");

        assert_int_equal(a.code, 0);
        assert_string_equal(a.err, "");
        assert_int_equal(b.code, 0);
        assert_int_equal(c.code, 1);
        assert_string_equal(c.err, "argosyctl: user@1001 is detached on this host, but the cluster may still "
                                   "show it: it has 20000 labels\n");
}

static void wants_less(FakeDaemon *d) {
        Argosy__Request *q;
        uint8_t id[16];

        fake_accept(d);
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 3);
        memcpy(id, d->memory, sizeof(id));
        done(q);
        reply_error(d, E2BIG, "too much for one entry", false);
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 1 && streq(q->change->names[0], "a.service"));
        assert(memcmp(id, q->change->id.data, sizeof(id)) !=
               0); // the log would take it for the one that it refused
        done(q);
        reply_change(d, RESULTS({"a.service", .revision = 1}));
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 2 && streq(q->change->names[1], "c.service"));
        done(q);
        reply_change(d, RESULTS({"b.service", .revision = 2}, {"c.service", .revision = 2}));
        expect_wait(d, ARGOSY__VERB__VERB_STOP,
                    RESULTS({"a.service", .revision = 1}, {"b.service", .revision = 2},
                            {"c.service", .revision = 2}));
        reply_progress(d, RESULTS({"a.service"}, {"b.service"}, {"c.service"}), true);
        fake_expect_end(d);
}

static void what_is_too_much_at_once_goes_in_parts(void **state) {
        _cleanup_outcome_ Outcome o = run(wants_less, "stop a b c");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.err, "");
}

static void answers_at_the_last_moment(FakeDaemon *d) {
        struct timespec t = {};
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        t.tv_nsec = (long) (q->timeout_ms + 50) * 1000000; // as long as it was told to look, and a little
        done(q);
        nanosleep(&t, NULL);
        reply_error(d, ETIMEDOUT, "no leader can be reached", false);
        fake_expect_end(d);
}

static void the_daemons_reason_is_waited_for(void **state) {
        _cleanup_outcome_ Outcome o = run(answers_at_the_last_moment, "stop --timeout=100ms a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: stop: no leader can be reached\n");
}

static void stops_locally(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LOCAL_STOP &&
               streq(q->local_stop->names[0], "a.service"));
        done(q);
        reply_change(d, RESULTS({"a.service", .status = EPERM, .message = "is not ours"}));
        fake_expect_end(d);
}

static void stop_local_needs_no_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(stops_locally, "stop --local a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: stop a.service: is not ours\n");
}

// ---- reading

static void reply_units(FakeDaemon *d, const char *const (*rows)[5], size_t n, bool drift,
                        uint64_t stale_ms) {
        Argosy__Response__UnitRow units[4], *pointers[4];
        Argosy__Response__Units list = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        for (size_t i = 0; i < n; i++) {
                units[i] = (Argosy__Response__UnitRow) ARGOSY__RESPONSE__UNIT_ROW__INIT;
                units[i].unit = (char *) rows[i][0];
                units[i].node = (char *) rows[i][1];
                units[i].load = (char *) rows[i][2];
                units[i].active = (char *) rows[i][3];
                units[i].sub = (char *) rows[i][4];
                units[i].drift = drift && i == 0;
                pointers[i] = &units[i];
        }
        list.rows = pointers;
        list.n_rows = n;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNITS;
        r.units = &list;
        r.stale_ms = stale_ms;
        r.no_leader = stale_ms > 0;
        fake_reply(d, &r);
}

static const char *const two_units[][5] = {{"a.service", "n1", "loaded", "inactive", "dead"},
                                           {"b.service", "", "", "unknown", ""}};

static void lists(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS);
        done(q);
        reply_units(d, two_units, 2, true, 12000);
        fake_expect_end(d);
}

static void a_list_shows_drift_and_its_age(void **state) {
        _cleanup_outcome_ Outcome o = run(lists, "list-units");

        assert_int_equal(o.code, 0);
        assert_string_equal(
                o.out,
                "UNIT      NODE LOAD   ACTIVE   SUB  NOTE\n"
                "a.service n1   loaded inactive dead drift\n"
                "b.service -    -      unknown  -\n"
                "\n"
                "2 units listed.\n"
                "drift: changed on its node by somebody else; `argosyctl start UNIT` mends it.\n");
        assert_string_equal(o.err, "Warning: the cluster has no leader at the moment; this is 12s old\n");
}

static void a_list_for_programs_is_bare(void **state) {
        _cleanup_outcome_ Outcome a = run(lists, "list-units -q --no-legend --fields=unit,drift"),
                                  b = run(lists, "list-units --json=short --fields=unit,node"),
                                  c = run(lists, "list-units --state=unknown --no-legend");

        assert_string_equal(a.out, "a.service yes\nb.service no\n");
        assert_string_equal(a.err, "");
        assert_string_equal(
                b.out,
                "[{\"unit\":\"a.service\",\"node\":\"n1\"},{\"unit\":\"b.service\",\"node\":\"\"}]\n");
        assert_string_equal(c.out, "b.service - - unknown -\n");
}

static void lists_many(FakeDaemon *d) {
        static const char *const units[][5] = {{"a.service", "n1", "loaded", "active", "running"},
                                               {"b.service", "n1", "loaded", "active", "running"},
                                               {"c.service", "n1", "loaded", "active", "running"},
                                               {"d.service", "n1", "loaded", "active", "running"}};
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        done(q);
        reply_units(d, units, 4, false, 0);
        fake_expect_end(d);
}

// Lists four units into `fd`, with room for so many bytes before they are written.
static Outcome list_into(int fd, size_t buffer_size) {
        char *argv[] = {(char *) "argosyctl", (char *) "list-units"}, buffer[8192];
        FILE *out = fdopen(fd, "w"), *err;
        Outcome o = {};
        FakeDaemon d;
        size_t size;

        assert(buffer_size <= sizeof(buffer));
        setvbuf(out, buffer, _IOFBF, buffer_size);
        fake_daemon_start(&d, lists_many);
        setenv("ARGOSY_SOCKET", d.path, 1);
        err = open_memstream(&o.err, &size);
        o.code = ctl_main(2, argv, out, err);
        fclose(err);
        (void) fclose(out);
        fake_daemon_stop(&d);
        return o;
}

static void a_reader_that_has_read_enough_is_no_error(void **state) {
        signal(SIGPIPE, SIG_IGN);
        for (size_t size = 16; size <= 8192; size *= 8) { // noticed in the middle, or at the end
                int fds[2];

                assert_int_equal(pipe(fds), 0);
                close(fds[0]);

                _cleanup_outcome_ Outcome o = list_into(fds[1], size);

                assert_string_equal(o.err, "");
                assert_int_equal(o.code, 0);
        }
}

static void output_that_is_lost_is_an_error(void **state) {
        for (size_t size = 16; size <= 8192; size *= 8) {
                _cleanup_outcome_ Outcome o = list_into(open("/dev/full", O_WRONLY), size);

                assert_non_null(strstr(o.err, "cannot write the output"));
                assert_int_equal(o.code, 1);
        }
}

static void an_unknown_field_is_a_usage_error(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nonexistent", "list-units --fields=nonsense");

        assert_int_equal(o.code, 2);
        assert_non_null(strstr(o.err, "list-units has no field 'nonsense'"));
}

static void is_active_exits_as_systemctl_does(void **state) {
        _cleanup_outcome_ Outcome a = run(lists, "is-active -q a"), b = run(lists, "is-active -q b"),
                                  c = run(lists, "is-active a b nosuch");

        assert_int_equal(a.code, 3);
        assert_int_equal(b.code, 4);
        assert_int_equal(c.code, 3);
        assert_string_equal(c.out, "inactive\nunknown\nunknown\n");
}

static void restarts_in_a_question(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        fake_accept(d);
        done(fake_read(d));
        reply_units(d, two_units, 1, false, 0);
        fake_expect_end(d);
}

static void a_question_is_asked_again_after_a_restart(void **state) {
        _cleanup_outcome_ Outcome o = run(restarts_in_a_question, "list-units --no-legend");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "a.service n1 loaded inactive dead\n");
}

static void cats(FakeDaemon *d) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        fake_accept(d);
        done(fake_read(d));
        cat.content.data = (uint8_t *) "[Unit]\r\n\x01\xff";
        cat.content.len = 10;
        r.what_case = ARGOSY__RESPONSE__WHAT_CAT;
        r.cat = &cat;
        fake_reply(d, &r);
        reply_error(d, ENOENT, "b.service: no such unit", false);
        fake_expect_end(d);
}

static void cat_changes_no_byte(void **state) {
        _cleanup_outcome_ Outcome o = run(cats, "cat a b");

        assert_int_equal(o.code, 1);
        assert_memory_equal(o.out, "[Unit]\r\n\x01\xff", 11);
        assert_string_equal(o.err, "argosyctl: b.service: no such unit\n");
}

static void reply_line(FakeDaemon *d, const char *line, bool final) {
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        char *lines[] = {(char *) line};

        journal.lines = lines;
        journal.n_lines = 1;
        r.final = final;
        r.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
        r.journal = &journal;
        fake_reply(d, &r);
}

static Argosy__Request__Journal *expect_journal(FakeDaemon *d, Argosy__Request **q) {
        *q = fake_read(d);
        assert((*q)->what_case == ARGOSY__REQUEST__WHAT_JOURNAL);
        assert(streq((*q)->journal->name, "a.service"));
        return (*q)->journal;
}

static void follows(FakeDaemon *d) {
        Argosy__Request__Journal *j;
        Argosy__Request *q;

        fake_accept(d);
        j = expect_journal(d, &q);
        assert(j->follow && j->lines == 3 && streq(j->node, "n2"));
        done(q);
        reply_line(d, "one", false);
        reply_error(d, ECONNRESET, "the leader changed", false);
        j = expect_journal(d, &q);
        assert(j->follow && j->lines == 0);
        done(q);
        reply_line(d, "two", false);
        fake_accept(d); // argosyd restarts
        j = expect_journal(d, &q);
        assert(j->lines == 0);
        done(q);
        reply_error(d, ENOENT, "a.service: no such unit", false);
        fake_expect_end(d);
}

static void following_goes_on_and_says_where_it_was_cut(void **state) {
        _cleanup_outcome_ Outcome o = run(follows, "journal -f -n3 --node=n2 a");

        assert_int_equal(o.code, 1);
        assert_string_equal(o.out, "one\ntwo\n");
        assert_string_equal(
                o.err, "Warning: the connection to the unit's node was lost; lines may be missing here\n"
                       "Warning: the connection to the unit's node was lost; lines may be missing here\n"
                       "argosyctl: a.service: no such unit\n");
}

static void matches(FakeDaemon *d) {
        static const char *const names[] = {"web@.service", "web@1.service", "web@2.service"};
        Argosy__Response__UnitFileRow rows[3], *pointers[3];
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        assert(q->list_unit_files->n_patterns == 1 && streq(q->list_unit_files->patterns[0], "web@*"));
        done(q);
        for (size_t i = 0; i < 3; i++) {
                rows[i] = (Argosy__Response__UnitFileRow) ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT;
                rows[i].unit = (char *) names[i];
                pointers[i] = &rows[i];
        }
        files.rows = pointers;
        files.n_rows = 3;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNIT_FILES;
        r.unit_files = &files;
        fake_reply(d, &r);
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 2 && streq(q->change->names[0], "web@1.service"));
        done(q);
        reply_change(d, RESULTS({"web@1.service"}, {"web@2.service"}));
        fake_expect_end(d);
}

static void a_pattern_means_the_units_that_there_are(void **state) {
        _cleanup_outcome_ Outcome o = run(matches, "stop web@*");

        assert_int_equal(o.code, 0);
}

static void status_of_nothing(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        reply_error(d, ENOENT, "a.service: no such unit", false);
        fake_expect_end(d);
}

static void status_of_an_unknown_unit_exits_4(void **state) {
        _cleanup_outcome_ Outcome o = run(status_of_nothing, "status a");

        assert_int_equal(o.code, 4);
        assert_string_equal(o.err, "argosyctl: a.service: no such unit\n");
}

// ---- counters

static void counters_of_two(FakeDaemon *d) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Counters counters = ARGOSY__RESPONSE__COUNTERS__INIT;
        Argosy__Response__Counter rows[2] = {ARGOSY__RESPONSE__COUNTER__INIT,
                                             ARGOSY__RESPONSE__COUNTER__INIT},
                                  *pointers[] = {&rows[0], &rows[1]};
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_COUNTERS);
        done(q);
        rows[0].name = (char *) "calls";
        rows[0].value = 12345678901;
        rows[0].help = (char *) "calls made";
        rows[1].name = (char *) "discrepancies";
        rows[1].help = (char *) "changes found";
        counters.rows = pointers;
        counters.n_rows = 2;
        r.what_case = ARGOSY__RESPONSE__WHAT_COUNTERS;
        r.counters = &counters;
        r.final = true;
        fake_reply(d, &r);
        fake_expect_end(d);
}

static void counters_are_shown_for_people_and_programs(void **state) {
        _cleanup_outcome_ Outcome o = run(counters_of_two, "counters"),
                                  j = run(counters_of_two, "counters --json=short");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "COUNTER       VALUE       WHAT\n"
                                   "calls         12345678901 calls made\n"
                                   "discrepancies 0           changes found\n");
        assert_int_equal(j.code, 0);
        assert_string_equal(j.out, "{\"calls\":12345678901,\"discrepancies\":0}\n");
}

// ---- trouble

// ---- roles and pools

static void assert_amount(const Argosy__Amount *a, const char *resource, uint64_t amount, bool unset) {
        assert(streq(a->resource, resource));
        assert(a->amount == amount);
        assert(a->unset == unset);
}

static void takes_a_role(FakeDaemon *d) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        const Argosy__Request__RoleChange *m;
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_ROLE_CHANGE);
        m = q->role_change;
        assert(streq(m->name, "web") && m->weight == 3 && !m->remove);
        assert(m->n_guarantee == 1 && m->n_limit == 4);
        assert_amount(m->guarantee[0], "cpu", 1500, false);
        assert_amount(m->limit[0], "memory", 2048, false);
        assert_amount(m->limit[1], "gpu", 2, false);
        assert_amount(m->limit[2], "cpu", 0, true);
        assert_amount(m->limit[3], "fan", 0, true);
        done(q);
        r.final = true;
        fake_reply(d, &r);
        fake_expect_end(d);
}

static void settings_of_a_role_are_named_as_options_of_units_are(void **state) {
        _cleanup_outcome_ Outcome o =
                run(takes_a_role, "role set web Weight=3 GuaranteeCPU=150% LimitMemory=2G "
                                  "LimitResource=gpu:2 LimitCPU= LimitResource=fan:");

        assert_string_equal(o.err, "");
        assert_int_equal(o.code, 0);
}

static void what_is_no_setting_never_reaches_the_daemon(void **state) {
        static const char *const bad[] = {
                "role set web Weight=0",       "role set web Weight=10001",
                "role set web LimitCPU=-1",    "role set web Limit=3",
                "role set web LimitCPUs=3",    "role set web cpu=3",
                "role set web LimitMemory=1X", "role set web LimitResource=gpu:x",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent", bad[i]);

                assert_int_equal(o.code, 2);
                assert_non_null(strstr(o.err, "is none of Weight="));
        }
}

static void has_a_role(FakeDaemon *d) {
        Argosy__Response__RoleUse cpu = ARGOSY__RESPONSE__ROLE_USE__INIT, *uses = &cpu;
        Argosy__Response__RoleRow row = ARGOSY__RESPONSE__ROLE_ROW__INIT, *rows = &row;
        Argosy__Response__Roles roles = ARGOSY__RESPONSE__ROLES__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        fake_accept(d);
        done(fake_read(d));
        cpu.resource = "cpu";
        cpu.used = 1500;
        cpu.total = 6000;
        cpu.has_limit = true;
        cpu.limit = 4000;
        row.name = "web";
        row.weight = 2;
        row.share_permille = 250;
        row.units = 3;
        row.waiting = 1;
        row.uses = &uses;
        row.n_uses = 1;
        roles.rows = &rows;
        roles.n_rows = 1;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_ROLES;
        r.roles = &roles;
        fake_reply(d, &r);
        fake_expect_end(d);
}

static void roles_are_shown_for_people_and_programs(void **state) {
        _cleanup_outcome_ Outcome table = run(has_a_role, "role show"),
                                  json = run(has_a_role, "role show --json=short");

        assert_string_equal(table.out, "ROLE WEIGHT SHARE UNITS WAITING USED    GUARANTEE LIMIT\n"
                                       "web  2      25.0% 3     1       cpu=1.5 -         cpu=4\n");
        assert_string_equal(json.out, "[{\"role\":\"web\",\"weight\":2,\"share_permille\":250,\"units\":3,"
                                      "\"waiting\":1,\"resources\":[{\"resource\":\"cpu\",\"used\":1500,"
                                      "\"total\":6000,\"guarantee\":null,\"limit\":4000}]}]\n");
}

static void takes_a_pool(FakeDaemon *d) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_POOL_CHANGE);
        assert(streq(q->pool_change->name, "fast"));
        assert(q->pool_change->n_hosts == 2 && streq(q->pool_change->hosts[1], "n2"));
        assert(q->pool_change->n_labels == 1 && streq(q->pool_change->labels[0]->key, "disk") &&
               streq(q->pool_change->labels[0]->value, "ssd"));
        done(q);
        r.final = true;
        fake_reply(d, &r);
        fake_expect_end(d);
}

static void a_pool_is_made_of_nodes_and_labels(void **state) {
        _cleanup_outcome_ Outcome o = run(takes_a_pool, "pool set fast n1 disk=ssd n2");

        assert_int_equal(o.code, 0);
}

static void without_a_daemon_the_path_is_named(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", "list-units"),
                                  b = run_at("/nonexistent/sock", "start a"),
                                  v = run_at("/nonexistent/sock", "version");

        assert_int_equal(o.code, 1);
        assert_string_equal(
                o.err, "argosyctl: cannot reach argosyd at /nonexistent/sock: No such file or directory; is "
                       "argosyd.service running?\n");
        assert_int_equal(b.code, 1);
        assert_string_equal(b.err, o.err);
        assert_int_equal(v.code, 0);
        assert_string_equal(v.out, "argosyctl " ARGOSY_VERSION "\n");
}

static void usage_errors_exit_2(void **state) {
        static const char *const lines[] = {
                "", "frobnicate", "start", "start a --follow", "cluster recover", "help frob"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                assert_int_equal(o.code, 2);
                assert_true(str_has_prefix(o.err, "argosyctl: "));
                assert_string_equal(o.out, "");
        }
}

static void a_family_of_verbs_has_help_of_its_own(void **state) {
        static const char *const lines[] = {"help role", "role --help"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                assert_int_equal(o.code, 0);
                assert_non_null(strstr(o.out, "role set ROLE"));
                assert_non_null(strstr(o.out, "role delete ROLE"));
                assert_null(strstr(o.out, "pool set"));
        }
}

static void help_fits_a_terminal(void **state) {
        static const char *const lines[] = {"help", "help cluster", "help restart", "help manager attach",
                                            "help top"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                for (const char *line = o.out, *end; (end = strchr(line, '\n')); line = end + 1)
                        if (end - line > 80)
                                fail_msg("%s: %.*s", lines[i], (int) (end - line), line);
        }
}

static void bad_names_never_reach_the_daemon(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", "start we$b"),
                                  p = run_at("/nonexistent/sock", "start ./nothere.service");

        assert_int_equal(o.code, 2);
        assert_non_null(strstr(o.err, "'we$b' is not a unit name"));
        assert_int_equal(p.code, 1);
        assert_string_equal(p.err, "argosyctl: there is no ./nothere.service\n");
}

// One reading of a node with one unit that has used so much CPU time since the beginning.
static void reply_usage(FakeDaemon *d, const char *node, uint64_t at_us, uint64_t cpu_us, bool final) {
        Argosy__Response__UsageRow row = ARGOSY__RESPONSE__USAGE_ROW__INIT, *rows[] = {&row};
        Argosy__Response__Usage usage = ARGOSY__RESPONSE__USAGE__INIT;
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        row.unit = (char *) "web.service";
        row.known = 1 + 2;
        row.run = 1;
        row.at_us = at_us;
        row.cpu_us = cpu_us;
        row.tasks = 3;
        usage.node = (char *) node;
        usage.rows = rows;
        usage.n_rows = 1;
        usage.last = true;
        r.final = final;
        r.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
        r.usage = &usage;
        fake_reply(d, &r);
}

static void two_nodes_use_cpu(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_TOP);
        assert(q->top->n_patterns == 1 && streq(q->top->patterns[0], "we*"));
        assert(q->top->interval_ms == 200 && !q->top->local && streq(q->top->node, "n1"));
        done(q);
        reply_usage(d, "n1", 1000000, 0, false);
        reply_usage(d, "n2", 5000000, 0, false);
        reply_usage(d, "n1", 1200000, 20000, false);
        reply_usage(d, "n2", 5200000, 100000, false);
        fake_expect_end(d); // hanging up is how it says that it has seen enough
}

static void top_prints_once_with_rates_for_programs(void **state) {
        _cleanup_outcome_ Outcome
                o = run(two_nodes_use_cpu, "top we* --node n1 -d 200ms --no-legend"),
                j = run(two_nodes_use_cpu,
                        "top we* --node n1 -d 200ms --json short --fields unit,cpu,memory --order path");

        assert_string_equal(o.err, "");
        assert_string_equal(o.out, "web.service n2 3 50.0 - - -\nweb.service n1 3 10.0 - - -\n");
        assert_int_equal(o.code, 0);
        assert_string_equal(j.out, "[{\"unit\":\"web.service\",\"cpu\":10.0,\"memory\":null},"
                                   "{\"unit\":\"web.service\",\"cpu\":50.0,\"memory\":null}]\n");
}

static void goes_on_over_a_restart(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        reply_usage(d, "n1", 1000000, 0, false);
        fake_hang_up(d);
        fake_accept(d);
        done(fake_read(d));
        reply_usage(d, "n1", 2000000, 500000, false);
        fake_expect_end(d);
}

static void top_goes_on_over_a_restart_of_the_daemon(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_on_over_a_restart, "top -n 1 -d 1s --fields cpu --no-legend");

        assert_string_equal(o.out, "50.0\n");
        assert_int_equal(o.code, 0);
}

static void knows_no_such_node(FakeDaemon *d) {
        fake_accept(d);
        done(fake_read(d));
        reply_error(d, ENOENT, "n9: no such node", false);
        fake_expect_end(d);
}

static void top_of_an_unknown_node_fails(void **state) {
        _cleanup_outcome_ Outcome o = run(knows_no_such_node, "top --node n9");

        assert_string_equal(o.err, "argosyctl: n9: no such node\n");
        assert_int_equal(o.code, 1);
}

static void joins_and_dies(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_JOIN);
        assert(streq(q->cluster_join->address, "10.0.0.1:99") && streq(q->cluster_join->token, "secret"));
        assert(q->cluster_join->discard);
        done(q);
}

static void a_join_is_asked_once(void **state) {
        _cleanup_outcome_ Outcome o = run(joins_and_dies, "cluster join 10.0.0.1:99 secret --discard");

        assert_int_equal(o.code, 1);
        assert_non_null(strstr(o.err, "the connection to argosyd was lost"));
}

// ---- the argosyd of a user

static void gives_a_token(FakeDaemon *d) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Token token = ARGOSY__RESPONSE__TOKEN__INIT;
        Argosy__Request *q;

        fake_accept(d);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN);
        done(q);
        token.token = (char *) "secret";
        token.address = (char *) "10.0.0.1";
        token.port = 4242;
        response.what_case = ARGOSY__RESPONSE__WHAT_TOKEN;
        response.token = &token;
        response.final = true;
        fake_reply(d, &response);
}

// Its socket, where XDG_RUNTIME_DIR says; the one of the machine's is set, too, and is nowhere.
static Outcome run_as_user(FakeScript script, const char *line) {
        char dir[] = "/tmp/argosy-test-XXXXXX", below[32], path[64];
        FakeDaemon d;
        Outcome o;

        assert_non_null(mkdtemp(dir));
        snprintf(below, sizeof(below), "%s/argosy", dir);
        snprintf(path, sizeof(path), "%s/argosy.sock", below);
        assert_int_equal(mkdir(below, 0700), 0);
        fake_daemon_start(&d, script);
        assert_int_equal(symlink(d.path, path), 0);
        setenv("XDG_RUNTIME_DIR", dir, 1);
        o = run_at("/nonexistent", line);
        fake_daemon_stop(&d);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(below), 0);
        assert_int_equal(rmdir(dir), 0);
        return o;
}

static void user_means_the_socket_in_the_runtime_directory(void **state) {
        _cleanup_outcome_ Outcome o = run_as_user(gives_a_token, "--user cluster token --json=short");

        assert_string_equal(o.err, "");
        assert_string_equal(
                o.out, "{\"token\":\"secret\",\"expires_us\":0,\"address\":\"10.0.0.1\",\"port\":4242}\n");
        assert_int_equal(o.code, 0);
}

static void user_without_a_runtime_directory_says_what_is_missing(void **state) {
        _cleanup_outcome_ Outcome unset = {}, none = {};

        setenv("XDG_RUNTIME_DIR", "relative", 1);
        unset = run_at("/nonexistent", "--user list-units");
        assert_int_equal(unset.code, 1);
        assert_non_null(strstr(unset.err, "XDG_RUNTIME_DIR"));
        setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
        none = run_at("/nonexistent", "--user list-units");
        assert_int_equal(none.code, 1);
        assert_non_null(strstr(none.err, "/nonexistent/argosy/argosy.sock"));
        assert_non_null(strstr(none.err, "systemctl --user"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(user_means_the_socket_in_the_runtime_directory),
                cmocka_unit_test(user_without_a_runtime_directory_says_what_is_missing),
                cmocka_unit_test(settings_of_a_role_are_named_as_options_of_units_are),
                cmocka_unit_test(what_is_no_setting_never_reaches_the_daemon),
                cmocka_unit_test(roles_are_shown_for_people_and_programs),
                cmocka_unit_test(a_pool_is_made_of_nodes_and_labels),
                cmocka_unit_test(start_is_silent_when_all_is_well),
                cmocka_unit_test(verbose_names_each_unit_as_it_gets_there),
                cmocka_unit_test(every_failure_is_named_and_the_exit_is_1),
                cmocka_unit_test(who_fails_on_a_node_has_the_last_word),
                cmocka_unit_test(results_come_as_json),
                cmocka_unit_test(what_may_still_run_has_an_exit_status_of_its_own),
                cmocka_unit_test(who_does_not_wait_is_told_as_well),
                cmocka_unit_test(and_at_the_end_of_ones_patience),
                cmocka_unit_test(a_failure_counts_more),
                cmocka_unit_test(a_lost_change_is_sent_again_under_its_id),
                cmocka_unit_test(a_wait_survives_daemon_and_leader),
                cmocka_unit_test(ctrl_c_detaches_and_cancels_nothing),
                cmocka_unit_test(a_timeout_is_a_failure_that_says_what_is_open),
                cmocka_unit_test(no_block_and_submit_do_not_wait),
                cmocka_unit_test(a_change_without_a_leader_fails),
                cmocka_unit_test(what_the_host_has_done_with_a_manager_is_said_apart),
                cmocka_unit_test(what_is_too_much_at_once_goes_in_parts),
                cmocka_unit_test(the_daemons_reason_is_waited_for),
                cmocka_unit_test(stop_local_needs_no_leader),
                cmocka_unit_test(a_list_shows_drift_and_its_age),
                cmocka_unit_test(a_list_for_programs_is_bare),
                cmocka_unit_test(a_reader_that_has_read_enough_is_no_error),
                cmocka_unit_test(output_that_is_lost_is_an_error),
                cmocka_unit_test(an_unknown_field_is_a_usage_error),
                cmocka_unit_test(is_active_exits_as_systemctl_does),
                cmocka_unit_test(a_question_is_asked_again_after_a_restart),
                cmocka_unit_test(cat_changes_no_byte),
                cmocka_unit_test(following_goes_on_and_says_where_it_was_cut),
                cmocka_unit_test(a_pattern_means_the_units_that_there_are),
                cmocka_unit_test(status_of_an_unknown_unit_exits_4),
                cmocka_unit_test(counters_are_shown_for_people_and_programs),
                cmocka_unit_test(without_a_daemon_the_path_is_named),
                cmocka_unit_test(usage_errors_exit_2),
                cmocka_unit_test(a_family_of_verbs_has_help_of_its_own),
                cmocka_unit_test(help_fits_a_terminal),
                cmocka_unit_test(bad_names_never_reach_the_daemon),
                cmocka_unit_test(top_prints_once_with_rates_for_programs),
                cmocka_unit_test(top_goes_on_over_a_restart_of_the_daemon),
                cmocka_unit_test(top_of_an_unknown_node_fails),
                cmocka_unit_test(a_join_is_asked_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
