// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Commands that change units: what is asked, what is printed, and how they exit, also when daemon, leader or
// a host is gone.
#include <signal.h>
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- changes

static void starts_two(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_START);
        assert(q->change->n_names == 2 && q->change->n_files == 0 && !q->change->replace);
        assert(streq(q->change->names[0], "web@1.service") && streq(q->change->names[1], "web@2.service"));
        assert(q->timeout_ms == 0);
        done(q);
        reply_change(d, RESULTS({"web@1.service", .revision = 5}, {"web@2.service", .revision = 6}));
        expect_wait(d, ARGOSY__VERB__VERB_START,
                    RESULTS({"web@1.service", .revision = 5}, {"web@2.service", .revision = 6}));
        reply_progress(d, RESULTS({"web@2.service", .node = "n2"}), false);
        reply_progress(d, RESULTS({"web@1.service", .node = "n1"}), true);
}

static void start_is_silent_when_all_is_well(void **state) {
        _cleanup_outcome_ Outcome o = run(starts_two, "start web@{1..2}");

        assert_ended(o, 0, "", "");
}

static void verbose_names_each_unit_as_it_gets_there(void **state) {
        _cleanup_outcome_ Outcome o = run(starts_two, "start -v web@1 web@2");

        assert_prints(o, 0, "web@2.service: started on n2\nweb@1.service: started on n1\n");
}

static void one_fails(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        reply_change(d, RESULTS({"a.service", .revision = 5},
                                {"b.service", .status = ENOENT, .message = "no such unit"}));
        expect_wait(d, ARGOSY__VERB__VERB_START, RESULTS({"a.service", .revision = 5}));
        reply_progress(d, RESULTS({"a.service", .status = EIO, .message = "exit-code on n1"}), true);
}

static void every_failure_is_named_and_the_exit_is_1(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails, "start a b");

        assert_int_equal(o.code, 1);
        assert_string_equal(
                o.err,
                "argosyctl: start b.service: no such unit\nargosyctl: start a.service: exit-code on n1\n");
}

static void refuses_an_older_plan(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_START);
        assert(q->change->preview && q->job && q->job->if_revision == 41);
        done(q);
        reply_error(d, ESTALE, "a.service has changed since revision 41, it is at 42: nothing was changed",
                    false);
}

static void a_plan_is_bound_to_a_revision(void **state) {
        _cleanup_outcome_ Outcome o = run(refuses_an_older_plan, "plan a --if-revision=41");

        assert_prints(o, 1, "");
        assert_non_null(strstr(o.err, "a.service has changed since revision 41"));
}

static void answers_with_a_cursor(FakeDaemon *d) {
        Argosy__Response__UnitResult unit = UNIT_RESULT_OF(.name = (char *) "a.service", .revision = 5),
                                     *units = &unit;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &units, .n_units = 1);

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        fake_reply_last(d, A_RESPONSE(CHANGE, change, &change, .final = true, .job = 7,
                                      .cursor = (char *) "c0ffee"));
}

static void programs_are_told_where_their_change_stands_in_the_stream(void **state) {
        _cleanup_outcome_ Outcome o = run(answers_with_a_cursor, "start --no-block --json=short a");

        assert_prints_also(o, 0, "\"job\":7,\"cursor\":\"c0ffee\"}");
}

static void one_fails_on_a_node(FakeDaemon *d) {
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        char *lines[] = {"n2 systemd[1]: a.service: no ExecStart=.", "n2 a[7]: alas"};

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        reply_change(d, RESULTS({"a.service", .revision = 5}));
        expect_wait(d, ARGOSY__VERB__VERB_START, RESULTS({"a.service", .revision = 5}));
        reply_progress(d, RESULTS({"a.service", .status = EIO, .message = "it failed", .node = "n2"}), true);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_STATUS && q->status->n_names == 1 &&
               q->status->lines == 3 && q->status->cause_within_ms > 0);
        assert(streq(q->status->names[0], "a.service"));
        status.log = lines;
        status.n_log = 2;
        fake_reply_last(d, A_RESPONSE(STATUS_REPLY, status_reply, &status, .final = true));
}

static void who_fails_on_a_node_has_the_last_word(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails_on_a_node, "start a");

        assert_warns(o, 1, "argosyctl: start a.service on n2: it failed\n"
                           "  n2 systemd[1]: a.service: no ExecStart=.\n"
                           "  n2 a[7]: alas\n");
}

// The daemon is restarted in the middle: what was asked is asked again, and what was heard is not said
// again.
static void answers_in_parts(FakeDaemon *d) {
        uint8_t id[16];

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        memcpy(id, d->memory, sizeof(id));
        reply_change_part(d, RESULTS({"a.service", .status = ENOENT, .message = "no such unit"}), 0, false);
        reply_change_part(d, RESULTS({"b.service", .revision = 5}), 1, false);
        fake_hang_up(d);
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        assert(memcmp(id, d->memory, sizeof(id)) == 0);
        reply_change_part(d, RESULTS({"a.service", .status = ENOENT, .message = "no such unit"}), 0, false);
        reply_change_part(d, RESULTS({"b.service", .revision = 5}), 1, false);
        reply_change_part(d, RESULTS({"c.service", .revision = 6}), 2, true);
        expect_wait(d, ARGOSY__VERB__VERB_START,
                    RESULTS({"b.service", .revision = 5}, {"c.service", .revision = 6}));
        reply_progress(d, RESULTS({"b.service"}, {"c.service"}), true);
}

static void an_answer_in_parts_is_one_answer_whoever_gives_the_rest(void **state) {
        _cleanup_outcome_ Outcome o = run(answers_in_parts, "start a b c");

        assert_warns(o, 1, "argosyctl: start a.service: no such unit\n");
}

static void results_come_as_json(void **state) {
        _cleanup_outcome_ Outcome o = run(one_fails, "start --json=short a b");

        assert_prints(o, 1, "[{\"unit\":\"b.service\",\"ok\":false,\"node\":\"\",\"message\":\"no "
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
        reply_progress(d,
                       RESULTS({"a.service", .status = EHOSTDOWN, .message = MAY_RUN, .may_run_on = "n4"}),
                       true);
}

static void what_may_still_run_has_an_exit_status_of_its_own(void **state) {
        _cleanup_outcome_ Outcome o = run(destroys_on_a_silent_node, "destroy -v a b");

        assert_ended(o, 5, "b.service: destroyed\n", "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void only_asks_for_it(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(
                d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"}, {"b.service", .revision = 6}));
}

static void who_does_not_wait_is_told_as_well(void **state) {
        _cleanup_outcome_ Outcome o = run(only_asks_for_it, "destroy -v --no-block a b");

        assert_ended(o, 5, "b.service: to be destroyed\n", "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void is_not_answered(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"}));
        expect_wait(d, ARGOSY__VERB__VERB_DESTROY, RESULTS({"a.service", .revision = 5}));
}

static void and_at_the_end_of_ones_patience(void **state) {
        _cleanup_outcome_ Outcome o = run(is_not_answered, "destroy --timeout=1 a");

        assert_warns(o, 5, "argosyctl: destroy a.service: " MAY_RUN "\n");
}

static void destroys_and_fails(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_DESTROY));
        reply_change(d, RESULTS({"a.service", .revision = 5, .may_run_on = "n4"},
                                {"b.service", .status = ENOENT, .message = "no such unit"}));
        expect_wait(d, ARGOSY__VERB__VERB_DESTROY, RESULTS({"a.service", .revision = 5}));
        reply_progress(d,
                       RESULTS({"a.service", .status = EHOSTDOWN, .message = MAY_RUN, .may_run_on = "n4"}),
                       true);
}

static void a_failure_counts_more(void **state) {
        _cleanup_outcome_ Outcome o = run(destroys_and_fails, "destroy a b");

        assert_int_equal(o.code, 1);
}

static void loses_connection_before_the_answer(FakeDaemon *d) {
        uint8_t id[16];

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_STOP));
        memcpy(id, d->memory, sizeof(id));
        fake_accept(d); // hangs up first
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(memcmp(q->change->id.data, id, sizeof(id)) == 0);
        assert(q->change->n_names == 1 && streq(q->change->names[0], "a.service"));
        done(q);
        reply_change(d, RESULTS({"a.service", .revision = 9}));
        expect_wait(d, ARGOSY__VERB__VERB_STOP, RESULTS({"a.service", .revision = 9}));
        reply_progress(d, RESULTS({"a.service"}), true);
}

static void a_lost_change_is_sent_again_under_its_id(void **state) {
        _cleanup_outcome_ Outcome o = run(loses_connection_before_the_answer, "stop a");

        assert_warns(o, 0, "");
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
}

static void a_wait_survives_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(loses_connection_in_the_wait, "restart a b c");

        assert_warns(o, 0, "");
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

static void interrupts_the_wait_for_a_job(FakeDaemon *d) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.name = (char *) "a.service", .revision = 7),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);

        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        fake_reply(d, A_RESPONSE(CHANGE, change, &change, .job = 12, .final = true));
        done(fake_read(d));
        kill(getpid(), SIGINT);
}

// Which is what goes on to be waited for.
static void ctrl_c_names_the_job_that_goes_on(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_wait_for_a_job, "start a");

        assert_warns(o, 130,
                     "argosyctl: detached; the cluster goes on with 1 unit (see argosyctl job wait 12)\n");
}

static void ctrl_c_detaches_and_cancels_nothing(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_wait, "start a b");

        assert_warns_of(o, 130, "argosyctl: detached; the cluster goes on with ");
}

static void never_finishes(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_START);
        assert(q->timeout_ms > 0 && q->timeout_ms <= 200);
        done(q);
        reply_change(d, RESULTS({"a.service", .revision = 1}));
        done(fake_read(d));
}

static void a_timeout_is_a_failure_that_says_what_is_open(void **state) {
        _cleanup_outcome_ Outcome o = run(never_finishes, "start --timeout=200ms a");

        assert_warns(o, 1, "argosyctl: timed out waiting; the cluster goes on with 1 unit (see "
                           "argosyctl list-units)\n");
}

static void takes_it(FakeDaemon *d) {
        done(fake_take(d));
        reply_change(d, RESULTS({"a.service", .revision = 1,
                                 .message = "kept, the file here differs; see --replace"}));
}

// The cluster has said for what it waits, and does so.
static void waits_for_n2(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_START));
        fake_reply(d, A_RESPONSE_WITH(.awaits = (char *) "n2 to resolve x.example/web:1"));
}

static void a_timeout_says_for_whom_the_cluster_waited(void **state) {
        _cleanup_outcome_ Outcome o = run(waits_for_n2, "start --timeout=200ms a");

        assert_warns(o, 1, "argosyctl: no answer in time: the cluster waited for n2 to resolve "
                           "x.example/web:1; it may still carry out the request\n");
}

static void waits_for_n2_and_is_left(FakeDaemon *d) {
        waits_for_n2(d);
        usleep(100 * 1000); // the client has it
        kill(getpid(), SIGINT);
}

static void ctrl_c_says_for_whom_the_cluster_waits(void **state) {
        _cleanup_outcome_ Outcome o = run(waits_for_n2_and_is_left, "start a");

        assert_warns(o, 130, "argosyctl: interrupted while the cluster waited for n2 to resolve "
                             "x.example/web:1; it may still carry out the request\n");
}

static void no_block_and_submit_do_not_wait(void **state) {
        _cleanup_outcome_ Outcome a = run(takes_it, "start --no-block a"), b = run(takes_it, "submit -q a");

        assert_warns(a, 0, "Warning: a.service: kept, the file here differs; see --replace\n");
        assert_warns(b, 0, "");
}

static void has_no_leader(FakeDaemon *d) {
        done(fake_take(d));
        reply_error(d, ETIMEDOUT, "no leader can be reached for 10 s", true);
}

static void a_change_without_a_leader_fails(void **state) {
        _cleanup_outcome_ Outcome o = run(has_no_leader, "stop a");

        assert_warns(o, 1, "argosyctl: stop: no leader can be reached for 10 s\n");
}

static void wants_less(FakeDaemon *d) {
        uint8_t id[16];

        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
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
}

static void what_is_too_much_at_once_goes_in_parts(void **state) {
        _cleanup_outcome_ Outcome o = run(wants_less, "stop a b c");

        assert_warns(o, 0, "");
}

// A request of so many units, all of which are stopped.
static void read_and_answer_many(FakeDaemon *d, size_t n, const char *last) {
        _cleanup_free_ Argosy__Response__UnitResult *units = calloc(n, sizeof(*units)),
                                                    **pointers = calloc(n, sizeof(*pointers));
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change, .final = true);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);

        assert(units && pointers);
        assert(q->change->n_names == n && streq(q->change->names[n - 1], last));
        for (size_t i = 0; i < n; i++) {
                units[i] = (Argosy__Response__UnitResult) UNIT_RESULT_OF(.name = q->change->names[i],
                                                                         .revision = 1);
                pointers[i] = &units[i];
        }
        change.units = pointers;
        change.n_units = n;
        fake_reply(d, &r);
        done(q);
}

static void takes_only_so_many(FakeDaemon *d) {
        fake_accept(d);
        read_and_answer_many(d, 20000, "a@20000.service");
        read_and_answer_many(d, 1, "a@20001.service");
}

static void no_request_names_more_units_than_a_leader_takes(void **state) {
        _cleanup_outcome_ Outcome o = run(takes_only_so_many, "stop --no-block -q a@{1..20001}");

        assert_warns(o, 0, "");
}

static void answers_at_the_last_moment(FakeDaemon *d) {
        struct timespec t = {};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        t.tv_nsec = (long) (q->timeout_ms + 50) * 1000000; // as long as it was told to look, and a little
        nanosleep(&t, NULL);
        reply_error(d, ETIMEDOUT, "no leader can be reached", false);
}

static void the_daemons_reason_is_waited_for(void **state) {
        _cleanup_outcome_ Outcome o = run(answers_at_the_last_moment, "stop --timeout=100ms a");

        assert_warns(o, 1, "argosyctl: stop: no leader can be reached\n");
}

static void stops_locally(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LOCAL_STOP &&
               streq(q->local_stop->names[0], "a.service"));
        reply_change(d, RESULTS({"a.service", .status = EPERM, .message = "is not ours"}));
}

static void stop_local_needs_no_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(stops_locally, "stop --local a");

        assert_warns(o, 1, "argosyctl: stop a.service: is not ours\n");
}

RUN_TESTS(
        cmocka_unit_test(start_is_silent_when_all_is_well),
        cmocka_unit_test(verbose_names_each_unit_as_it_gets_there),
        cmocka_unit_test(every_failure_is_named_and_the_exit_is_1),
        cmocka_unit_test(a_plan_is_bound_to_a_revision),
        cmocka_unit_test(who_fails_on_a_node_has_the_last_word),
        cmocka_unit_test(results_come_as_json),
        cmocka_unit_test(programs_are_told_where_their_change_stands_in_the_stream),
        cmocka_unit_test(an_answer_in_parts_is_one_answer_whoever_gives_the_rest),
        cmocka_unit_test(what_may_still_run_has_an_exit_status_of_its_own),
        cmocka_unit_test(who_does_not_wait_is_told_as_well),
        cmocka_unit_test(and_at_the_end_of_ones_patience),
        cmocka_unit_test(a_failure_counts_more),
        cmocka_unit_test(a_lost_change_is_sent_again_under_its_id),
        cmocka_unit_test(a_wait_survives_daemon_and_leader),
        cmocka_unit_test(ctrl_c_names_the_job_that_goes_on),
        cmocka_unit_test(ctrl_c_detaches_and_cancels_nothing),
        cmocka_unit_test(a_timeout_is_a_failure_that_says_what_is_open),
        cmocka_unit_test(a_timeout_says_for_whom_the_cluster_waited),
        cmocka_unit_test(ctrl_c_says_for_whom_the_cluster_waits),
        cmocka_unit_test(no_block_and_submit_do_not_wait),
        cmocka_unit_test(a_change_without_a_leader_fails),
        cmocka_unit_test(what_is_too_much_at_once_goes_in_parts),
        cmocka_unit_test(no_request_names_more_units_than_a_leader_takes),
        cmocka_unit_test(the_daemons_reason_is_waited_for),
        cmocka_unit_test(stop_local_needs_no_leader)
)
