// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What goes with a request so that the cluster keeps it as a job, what is said of its number, and the
// commands that show jobs.
#include <errno.h>
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- requests

static void answer(FakeDaemon *d, const char *unit, uint64_t job) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.name = (char *) unit, .revision = 5),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change, .final = true, .job = job);

        fake_reply(d, &r);
}

static void stops(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->job && q->job->n_targets == 2 && streq(q->job->targets[0], "a") &&
               streq(q->job->targets[1], "a.service"));
        assert(q->job->age_ms == 0 && q->job->if_revision == 0 && !*q->job->reason);
        done(q);
        answer(d, "a.service", 17);
}

static void the_words_that_were_typed_go_with_a_change(void **state) {
        _cleanup_outcome_ Outcome o = run(stops, "stop --no-block a a.service");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "17\n"); // for `job wait` and the like
        assert_string_equal(o.err, "");
}

static void who_wants_to_read_more_is_told_in_words(void **state) {
        _cleanup_outcome_ Outcome o = run(stops, "stop --no-block -v a a.service"),
                                  quiet = run(stops, "stop --no-block -q a a.service");

        assert_string_equal(o.out, "17\na.service: to be stopped\n");
        assert_string_equal(o.err, "Job 17.\n");
        assert_string_equal(quiet.out, "");
        assert_string_equal(quiet.err, "");
}

static void programs_find_the_number_with_each_unit(void **state) {
        _cleanup_outcome_ Outcome o = run(stops, "stop --no-block --json=short a a.service");

        assert_non_null(strstr(o.out, "\"job\":17}"));
        assert_string_equal(o.err, "");
}

static uint8_t seen_id[2][16];
static unsigned n_seen;

static void stops_with_a_key(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(streq(q->job->reason, "cold") && q->job->if_revision == 99);
        assert(q->change->id.len == 16);
        memcpy(seen_id[n_seen++ % 2], q->change->id.data, 16);
        done(q);
        answer(d, "a.service", 17);
}

static void a_key_is_the_same_request_whoever_sends_it(void **state) {
        _cleanup_outcome_ Outcome a = run(stops_with_a_key,
                                          "stop -q --no-block --key=k1 --reason=cold --if-revision=99 a"),
                                  b = run(stops_with_a_key,
                                          "stop -q --no-block --key=k1 --reason=cold --if-revision=99 a");

        assert_int_equal(a.code + b.code, 0);
        assert_string_equal(a.err, "");
        assert_memory_equal(seen_id[0], seen_id[1], 16);
}

// What a host asks the leader for on behalf of who talks to it, too.
static void says_why(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE ||
               q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN ||
               q->what_case == ARGOSY__REQUEST__WHAT_REBALANCE);
        assert(q->job && streq(q->job->reason, "cold"));
        reply_error(d, EPERM, "not today", false);
}

static void a_reason_goes_with_all_that_is_a_job(void **state) {
        static const char *const lines[] = {"cluster leave --reason=cold", "cluster token --reason=cold",
                                            "rebalance --reason=cold"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run(says_why, lines[i]);

                assert_warns_of(o, 1, "not today");
        }
}

static void who_leaves_without_the_cluster_tells_nobody_why(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nowhere", "cluster leave --force --reason=hall");

        assert_int_equal(o.code, 2);
}

static void other_keys_are_other_requests(void **state) {
        _cleanup_outcome_ Outcome a = run(stops_with_a_key,
                                          "stop -q --no-block --key=k1 --reason=cold --if-revision=99 a"),
                                  b = run(stops_with_a_key,
                                          "stop -q --no-block --key=k2 --reason=cold --if-revision=99 a");

        assert_memory_not_equal(seen_id[0], seen_id[1], 16);
        assert_int_equal(a.code + b.code, 0);
}

static void wants_less(FakeDaemon *d) {
        fake_accept(d);
        done(read_change(d, ARGOSY__VERB__VERB_STOP));
        reply_error(d, E2BIG, "too much for one entry: nothing was changed", false);
}

// The halves would have ids of their own, and the whole is unknown when the command is given again.
static void what_has_a_key_is_not_asked_for_in_halves(void **state) {
        _cleanup_outcome_ Outcome o = run(wants_less, "stop --key=k1 a b");

        assert_warns_of(o, 1, "nothing was changed; with --key");
}

// Of a node the reason was always shown.
static void cordons(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE && streq(q->node_change->reason, "disks"));
        assert(streq(q->job->reason, "disks") && q->job->id.len == 16);
        fake_reply_last(d, &r);
}

static void the_reason_of_a_node_needs_no_jobs(void **state) {
        _cleanup_outcome_ Outcome o = run(cordons, "cordon n1 --reason=disks");

        assert_int_equal(o.code, 0);
}

static void loses_the_answer(FakeDaemon *d) {
        uint8_t id[16];

        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        memcpy(id, q->change->id.data, sizeof(id));
        done(q);
        fake_hang_up(d);
        fake_accept(d);
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(memcmp(id, q->change->id.data, sizeof(id)) == 0);
        assert(q->job->age_ms > 0);
        done(q);
        answer(d, "a.service", 17);
}

static void what_is_sent_again_says_how_old_it_is(void **state) {
        _cleanup_outcome_ Outcome o = run(loses_the_answer, "stop -q --no-block a");

        assert_int_equal(o.code, 0);
}

static void keys_have_limits(void **state) {
        _cleanup_outcome_ Outcome a = run_at("/nowhere", "stop --key= a"),
                                  b = run_at("/nowhere", "stop --local --key=x a"),
                                  c = run_at("/nowhere", "list-jobs --limit=0");

        assert_int_equal(a.code, 2);
        assert_int_equal(c.code, 2);
        assert_int_equal(b.code, 2);
}

// ---- jobs

static void reply_jobs(FakeDaemon *d, Argosy__Response__JobRow *rows, size_t n, uint64_t before) {
        Argosy__Response__JobRow *pointers[2] = {rows, rows + 1};
        Argosy__Response__Jobs jobs =
                MESSAGE_OF(response__jobs, .rows = pointers, .n_rows = n, .before = before);

        fake_reply(d, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

static char *targets[] = {(char *) "a", (char *) "b"};

static Argosy__Response__JobRow row(uint64_t number) {
        return (Argosy__Response__JobRow) JOB_ROW_OF(.job = number, .author = (char *) "root@n1",
                                                     .verb = (char *) "stop",
                                                     .reason = (char *) "cold \x1b[31m", .targets = targets,
                                                     .n_targets = 2, .more_targets = 3, .changed = 2,
                                                     .revision_before = 40, .revision = 42);
}

static void lists_in_two_answers(FakeDaemon *d) {
        Argosy__Response__JobRow rows[] = {row(9), row(8), row(3)};
        Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->before == 0 &&
               q->list_jobs->limit == 3);
        assert(q->list_jobs->n_patterns == 1 && streq(q->list_jobs->patterns[0], "w*"));
        assert(streq(q->list_jobs->author, "root"));
        done(q);
        reply_jobs(d, rows, 2, 8);
        q = fake_read(d);
        assert(q->list_jobs->before == 8 && q->list_jobs->limit == 1);
        done(q);
        reply_jobs(d, rows + 2, 1, 2);
}

static void jobs_are_asked_for_until_there_are_enough(void **state) {
        _cleanup_outcome_ Outcome o =
                run(lists_in_two_answers,
                    "list-jobs --limit=3 --unit=w* --author=root --fields=job,author,targets,reason");

        assert_prints(o, 0, "JOB AUTHOR  TARGETS        REASON\n"
                            "9   root@n1 a b and 3 more cold ?[31m\n"
                            "8   root@n1 a b and 3 more cold ?[31m\n"
                            "3   root@n1 a b and 3 more cold ?[31m\n"
                            "\n"
                            "3 jobs listed; --limit=N lists more.\n");
}

static void lists_one(FakeDaemon *d) {
        Argosy__Response__JobRow job = row(9);

        done(fake_take(d));
        job.state = (char *) "failed";
        job.failed = 1;
        reply_jobs(d, &job, 1, 0);
}

// Programs get more fields than people.
static void programs_get_all_fields_of_a_job(void **state) {
        _cleanup_outcome_ Outcome o = run(lists_one, "list-jobs --json=short");

        assert_prints_also(o, 0, "\"state\":\"failed\"");
        assert_non_null(strstr(o.out, "\"failed\":1"));
        assert_non_null(strstr(o.out, "\"ended\":0"));
}

static void shows(FakeDaemon *d) {
        Argosy__Response__JobUnitRow units[2] = {ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT,
                                                 ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT},
                                     *pointers[2] = {&units[0], &units[1]};
        Argosy__Response__JobRow job = row(9);

        units[0].unit = (char *) "a.service";
        units[0].rev = (char *) "0123456789abcdef";
        units[0].desired = (char *) "launched";
        units[0].revision = 41;
        units[0].now = (char *) "as asked";
        units[1].unit = (char *) "b.service";
        units[1].revision = 42;
        units[1].now = (char *) "otherwise";
        units[1].message = (char *) "it has failed since";
        units[1].end = (char *) "failed";
        units[1].end_message = (char *) "exit-code";
        units[1].node = (char *) "n2";
        units[1].by = 11;
        Argosy__Request *q = fake_take(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == 9 &&
               q->list_jobs->first_unit == 0);
        done(q);
        job.units = pointers;
        job.n_units = 1;
        job.more_units = 1;
        job.state = (char *) "failed";
        job.failed = 1;
        job.unplaced = 2;
        job.message = (char *) "too \x1b[31m bad";
        reply_jobs(d, &job, 1, 0);
        q = fake_read(d);
        assert(q->list_jobs->number == 9 && q->list_jobs->first_unit == 1);
        done(q);
        job.units = pointers + 1;
        job.more_units = 0;
        reply_jobs(d, &job, 1, 0);
}

static void a_job_is_shown_with_its_units(void **state) {
        _cleanup_outcome_ Outcome o = run(shows, "show-job 9");

        assert_prints_also(o, 0, "Job 9: stop a b and 3 more\n");
        assert_non_null(strstr(
                o.out,
                "  Author: root@n1\n  Reason: cold ?[31m\nRevision: 42, before it 40\n Changed: 2 units\n"));
        assert_non_null(strstr(o.out, "   State: failed (1 failed, 2 unplaced): too ?[31m bad\n"));
        assert_non_null(strstr(o.out,
                               "\nUNIT      BEFORE           REVISION END    NOW       WHY\n"
                               "a.service launched 0123456 41       -      as asked\n"
                               "b.service new              42       failed otherwise n2: exit-code\n"));
}

static void programs_get_a_list_of_jobs(void **state) {
        _cleanup_outcome_ Outcome o = run(shows, "show-job --json=short 9");

        assert_non_null(strstr(o.out, "[{\"job\":9,"));
        assert_non_null(strstr(o.out, "\"targets\":[\"a\",\"b\"]"));
        assert_non_null(strstr(
                o.out,
                "{\"unit\":\"b.service\",\"rev\":\"\",\"desired\":\"\",\"end\":\"failed\",\"end_message\":"
                "\"exit-code\",\"node\":\"n2\",\"now\":\"otherwise\",\"message\":\"it has failed since\","
                "\"revision\":42,\"by\":11,\"from\":\"\",\"time\":0}]}]\n"));
}

static void asks_for_states(FakeDaemon *d) {
        Argosy__Response__JobRow none = row(1);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->limit == 0);
        assert(q->list_jobs->n_states == 2 && q->list_jobs->states[0] == ARGOSY__JOB_STATE__JOB_RUNNING &&
               q->list_jobs->states[1] == ARGOSY__JOB_STATE__JOB_FAILED);
        assert(q->list_jobs->since_us > 0);
        reply_jobs(d, &none, 0, 0);
}

static void jobs_are_chosen_by_state_and_time(void **state) {
        _cleanup_outcome_ Outcome a = run(asks_for_states, "jobs --all --state=running,failed --since=2h"),
                                  b = run(asks_for_states,
                                          "jobs --all --state=running,failed --since=2026-01-31"),
                                  c = run_at("/nowhere", "jobs --state=lost"),
                                  d = run_at("/nowhere", "jobs --since=soon");

        assert_int_equal(a.code, 0);
        assert_int_equal(b.code, 0);
        assert_int_equal(c.code, 2);
        assert_int_equal(d.code, 2);
}

static void asks_for_a_node(FakeDaemon *d) {
        Argosy__Response__JobRow job = row(9), *pointers[] = {&job};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS);
        assert(q->list_jobs->n_nodes == 1 && streq(q->list_jobs->nodes[0], "n1"));
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = pointers, .n_rows = 1);
        fake_reply_last(d, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

static void jobs_are_chosen_by_node(void **state) {
        _cleanup_outcome_ Outcome a = run(asks_for_a_node, "jobs --node=n1 --fields=job");

        assert_prints(a, 0, "JOB\n9\n\n1 job listed.\n");
}

// ---- waiting

static void reads_wait(FakeDaemon *d, uint64_t number) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_WAIT && q->job_wait->number == number);
}

static void reply_two_left(FakeDaemon *d) {
        Argosy__Response__Progress progress = MESSAGE_OF(response__progress, .remaining = 2);

        fake_reply(d, A_RESPONSE(PROGRESS, progress, &progress));
}

// The daemon goes away in the middle.
static void ends_after_a_loss(FakeDaemon *d) {
        Argosy__Response__JobRow job = row(9);

        fake_accept(d);
        reads_wait(d, 9);
        reply_two_left(d);
        fake_hang_up(d);
        fake_accept(d);
        reads_wait(d, 9);
        job.state = (char *) "done";
        reply_jobs(d, &job, 1, 0);
}

static void a_job_is_waited_for_wherever_it_goes_on(void **state) {
        _cleanup_outcome_ Outcome o = run(ends_after_a_loss, "job wait -q -v 9");

        assert_prints(o, 0, "job 9: done\n");
}

static void ends_badly(FakeDaemon *d) {
        Argosy__Response__JobUnitRow end = JOB_UNIT_ROW_OF(.unit = (char *) "a.service",
                                                           .end = (char *) "failed",
                                                           .end_message = (char *) "exit-code",
                                                           .node = (char *) "n2"),
                                     *ends = &end;
        Argosy__Response__JobRow job = row(9);

        fake_accept(d);
        reads_wait(d, 9);
        job.state = (char *) "failed";
        job.failed = 1;
        job.ends = &ends;
        job.n_ends = 1;
        reply_jobs(d, &job, 1, 0);
}

static void what_failed_is_named(void **state) {
        _cleanup_outcome_ Outcome o = run(ends_badly, "job wait 9");

        assert_warns(o, 1, "argosyctl: stop a.service on n2: failed, exit-code\n"
                           "argosyctl: job 9: failed (1 failed)\n");
}

static void there_is_none(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true, .status = ENOENT,
                                           .message = (char *) "there is no job 9: the newest is 8");

        fake_accept(d);
        reads_wait(d, 9);
        fake_reply_last(d, &r);
}

static void what_is_not_there_is_not_waited_for(void **state) {
        _cleanup_outcome_ Outcome o = run(there_is_none, "job wait 9 10"),
                                  p = run_at("/nowhere", "job wait web");

        assert_warns(o, 1, "argosyctl: there is no job 9: the newest is 8\n");
        assert_int_equal(p.code, 2);
}

// It may be held back, or have ended while nobody could be asked.
static void says_nothing(FakeDaemon *d) {
        fake_accept(d);
        reads_wait(d, 9);
}

static void of_a_job_whose_end_was_not_seen_nothing_is_claimed(void **state) {
        _cleanup_outcome_ Outcome o = run(says_nothing, "job wait 9 --timeout=500ms");

        assert_int_equal(o.code, 1);
        assert_string_equal(
                o.err,
                "argosyctl: job 9: timed out waiting; its end was not seen (see argosyctl job show 9)\n");
}

// ---- again

static void shows_ended(FakeDaemon *d, const char *state, const char *verb, bool with_ends) {
        Argosy__Response__JobUnitRow units[4], *pointers[4] = {&units[0], &units[1], &units[2], &units[3]},
                                               *ends = &units[3];
        static const char *const how[] = {"failed", "ok", "cancelled", "unplaced"};
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service"};
        Argosy__Response__JobRow job = row(9);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == 9);
        for (size_t i = 0; i < 4; i++) {
                units[i] = (Argosy__Response__JobUnitRow) JOB_UNIT_ROW_OF(.unit = (char *) names[i],
                                                                          .end = (char *) how[i]);
        }
        job.state = (char *) state;
        job.verb = (char *) verb;
        if (with_ends) {
                job.failed = job.cancelled = job.unplaced = 1;
                job.units = pointers;
                job.n_units = 3;
                job.ends = &ends;
                job.n_ends = 1;
        }
        reply_jobs(d, &job, 1, 0);
}

static void asks_again(FakeDaemon *d) {
        shows_ended(d, "failed", "stop", true);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 3 && streq(q->change->names[0], "a.service") &&
               streq(q->change->names[1], "c.service") && streq(q->change->names[2], "d.service"));
        assert(q->change->n_files == 0 && q->job->retries == 9);
        assert(q->job->n_targets == 3 && q->job->more_targets == 0 &&
               streq(q->job->targets[2], "d.service"));
        done(q);
        answer(d, "a.service", 17);
}

static void what_did_not_end_well_is_asked_for_again(void **state) {
        _cleanup_outcome_ Outcome o = run(asks_again, "job retry --no-block 9");

        assert_ended(o, 0, "17\n", "");
}

// It has changed so many units, names the end of the first, and counts the others.
static void shows_more_than_named(FakeDaemon *d, size_t n_units, uint32_t failed, uint32_t overtaken) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service"};
        Argosy__Response__JobUnitRow units[4], *pointers[4] = {&units[0], &units[1], &units[2], &units[3]};
        Argosy__Response__JobRow job = row(9);

        done(fake_take(d));
        for (size_t i = 0; i < n_units; i++) {
                units[i] = (Argosy__Response__JobUnitRow) JOB_UNIT_ROW_OF(.unit = (char *) names[i]);
        }
        units[0].end = (char *) "failed";
        job.state = (char *) "failed";
        job.verb = (char *) "restart";
        job.failed = failed;
        job.overtaken = overtaken;
        job.units = job.ends = pointers;
        job.n_units = n_units;
        job.n_ends = 1;
        reply_jobs(d, &job, 1, 0);
}

static void all_three_failed(FakeDaemon *d) {
        shows_more_than_named(d, 3, 3, 0);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_RESTART);
        assert(q->change->n_names == 3 && streq(q->change->names[2], "c.service"));
        done(q);
        answer(d, "a.service", 17);
}

static void one_of_four_did_not(FakeDaemon *d) {
        shows_more_than_named(d, 4, 3, 0);
}

static void one_of_three_was_overtaken(FakeDaemon *d) {
        shows_more_than_named(d, 3, 2, 1);
}

static void what_ended_well_is_never_asked_for_again(void **state) {
        _cleanup_outcome_ Outcome all = run(all_three_failed, "job retry --no-block 9"),
                                  some = run(one_of_four_did_not, "job retry --no-block 9"),
                                  overtaken = run(one_of_three_was_overtaken, "job retry --no-block 9");

        assert_int_equal(all.code, 0);
        assert_int_equal(some.code + overtaken.code, 2);
        assert_non_null(strstr(some.err, "of the 3 units of job 9 that did not end well it names 1 only"));
        assert_non_null(
                strstr(overtaken.err, "of the 2 units of job 9 that did not end well it names 1 only"));
}

static void runs(FakeDaemon *d) {
        shows_ended(d, "running", "stop", true);
}

static void is_well(FakeDaemon *d) {
        shows_ended(d, "done", "stop", false);
}

static void is_an_update(FakeDaemon *d) {
        shows_ended(d, "failed", "update", true);
}

static void never_began(FakeDaemon *d) {
        shows_ended(d, "cancelled", "stop", false);
}

static void what_cannot_be_asked_for_again_is_refused(void **state) {
        _cleanup_outcome_ Outcome a = run(runs, "job retry 9"), b = run(is_well, "job retry 9"),
                                  c = run(is_an_update, "job retry 9"), e = run(never_began, "job retry 9"),
                                  f = run_at("/nowhere", "job retry web");

        assert_non_null(strstr(a.err, "job 9 is running"));
        assert_non_null(strstr(b.err, "job 9 is done: there is no unit of it"));
        assert_non_null(strstr(c.err, "(update): give the command itself again"));
        assert_non_null(strstr(e.err, "has not begun anything"));
        assert_int_equal(a.code + b.code + c.code + e.code, 4);
        assert_int_equal(f.code, 2);
}

RUN_TESTS(
        cmocka_unit_test(the_words_that_were_typed_go_with_a_change),
        cmocka_unit_test(who_wants_to_read_more_is_told_in_words),
        cmocka_unit_test(programs_find_the_number_with_each_unit),
        cmocka_unit_test(a_key_is_the_same_request_whoever_sends_it),
        cmocka_unit_test(a_reason_goes_with_all_that_is_a_job),
        cmocka_unit_test(who_leaves_without_the_cluster_tells_nobody_why),
        cmocka_unit_test(other_keys_are_other_requests),
        cmocka_unit_test(what_has_a_key_is_not_asked_for_in_halves),
        cmocka_unit_test(the_reason_of_a_node_needs_no_jobs),
        cmocka_unit_test(what_is_sent_again_says_how_old_it_is),
        cmocka_unit_test(keys_have_limits),
        cmocka_unit_test(jobs_are_asked_for_until_there_are_enough),
        cmocka_unit_test(programs_get_all_fields_of_a_job),
        cmocka_unit_test(a_job_is_shown_with_its_units),
        cmocka_unit_test(programs_get_a_list_of_jobs),
        cmocka_unit_test(jobs_are_chosen_by_state_and_time),
        cmocka_unit_test(jobs_are_chosen_by_node),
        cmocka_unit_test(a_job_is_waited_for_wherever_it_goes_on),
        cmocka_unit_test(what_failed_is_named),
        cmocka_unit_test(what_is_not_there_is_not_waited_for),
        cmocka_unit_test(of_a_job_whose_end_was_not_seen_nothing_is_claimed),
        cmocka_unit_test(what_did_not_end_well_is_asked_for_again),
        cmocka_unit_test(what_ended_well_is_never_asked_for_again),
        cmocka_unit_test(what_cannot_be_asked_for_again_is_refused)
)
