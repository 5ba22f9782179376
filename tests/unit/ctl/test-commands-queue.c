// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is said to be held back, that it is waited for, and how the rules of the queue are typed and shown.
#include <errno.h>

#include "command-words.h"
#include "messages.h"
#include "printed.h"

static void reply_held(FakeDaemon *d, uint64_t job) {
        fake_reply(d, A_RESPONSE_WITH(.final = true, .held = true, .job = job,
                                      .message = (char *) "job 17 is held back: it waits for job 9"));
}

static void reply_row(FakeDaemon *d, uint64_t number, const char *state) {
        Argosy__Response__JobRow job = JOB_ROW_OF(.job = number, .verb = (char *) "stop",
                                                  .state = (char *) state), *rows = &job;
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = &rows, .n_rows = 1);

        fake_reply(d, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

// ---- held back

static void holds(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->job->hold && q->job->n_after == 0 && !q->job->queue);
        done(q);
        reply_held(d, 17);
}

static void what_is_to_be_held_is_not_waited_for(void **state) {
        _cleanup_outcome_ Outcome o = run(holds, "stop --hold a");

        assert_prints(o, 0, "");
        assert_non_null(strstr(o.err, "job 17 is held back: it waits for job 9"));
}

static void waits_through(FakeDaemon *d, const char *state) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(!q->job->hold && q->job->n_after == 2 && q->job->after[0] == 9 && q->job->after[1] == 12);
        done(q);
        reply_held(d, 17);
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_WAIT && q->job_wait->number == 17);
        done(q);
        reply_row(d, 17, state);
        fake_expect_end(d);
}

static void goes_well(FakeDaemon *d) {
        waits_through(d, "done");
}

static void is_cancelled(FakeDaemon *d) {
        waits_through(d, "cancelled");
}

static void what_waits_for_others_is_waited_for(void **state) {
        _cleanup_outcome_ Outcome a = run(goes_well, "stop -q --after=9,12 a"),
                                  b = run(is_cancelled, "stop -q --after=9,12 a");

        assert_int_equal(a.code, 0);
        assert_warns_of(b, 1, "job 17: cancelled");
}

// ---- called off

static void is_called_off(FakeDaemon *d) {
        Argosy__Response__UnitResult results[3], *pointers[3] = {&results[0], &results[1], &results[2]};
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change, .final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_CANCEL && q->job_cancel->n_numbers == 2);
        for (size_t i = 0; i < 3; i++)
                argosy__response__unit_result__init(&results[i]);
        results[0].name = "a.service";
        results[1].name = "b.service";
        results[1].message = "it has begun, and goes on";
        results[2].name = "c.service";
        results[2].status = ENODATA;
        results[2].message = "the file is gone";
        change.units = pointers;
        change.n_units = 3;
        fake_reply_last(d, &r);
}

static void what_was_called_off_and_what_goes_on_is_said(void **state) {
        _cleanup_outcome_ Outcome a = run(is_called_off, "job cancel 3 4");

        assert_prints(a, 1, "a.service: called off\nb.service: it has begun, and goes on\n");
        assert_non_null(strstr(a.err, "c.service: the file is gone"));
}

// The daemon is restarted in the middle, and the next one begins with the first part again.
static void is_called_off_in_parts(FakeDaemon *d) {
        for (unsigned i = 0; i < 2; i++) {
                Argosy__Request *q = fake_take(d);

                assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_CANCEL);
                done(q);
                reply_change_part(d,
                                  RESULTS({"a.service", .status = ENODATA, .message = "the file is gone"}),
                                  0, false);
                reply_change_part(d, RESULTS({"b.service"}), 1, i == 1);
                if (i == 0)
                        fake_hang_up(d);
        }
}

static void what_was_called_off_in_parts_is_said_once(void **state) {
        _cleanup_outcome_ Outcome a = run(is_called_off_in_parts, "job cancel 3");

        assert_ended(a, 1, "b.service: called off\n", "argosyctl: a.service: the file is gone\n");
}

static void is_asked_without_waiting(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->job->queue);
        done(q);
        reply_held(d, 17);
}

static void nobody_waits_who_has_said_so(void **state) {
        _cleanup_outcome_ Outcome o =
                run(is_asked_without_waiting, "stop -q --no-block --queue --json=short a");

        assert_int_equal(o.code, 0);
        assert_string_equal(
                o.out,
                "[{\"job\":17,\"held\":true,\"message\":\"job 17 is held back: it waits for job 9\"}]\n");
}

static void whoever_does_not_wait_is_told_the_number(void **state) {
        _cleanup_outcome_ Outcome o = run(is_asked_without_waiting, "stop --no-block --queue a");

        assert_prints(o, 0, "17\n");
        assert_non_null(strstr(o.err, "job 17 is held back: it waits for job 9"));
}

static void read_rebalance(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_REBALANCE && q->job->queue);
        reply_held(d, 17);
}

static void rebalance_is_held(FakeDaemon *d) {
        fake_accept(d);
        read_rebalance(d);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_WAIT && q->job_wait->number == 17);
        reply_row(d, 17, "done");
}

static void rebalance_is_not_waited_for(FakeDaemon *d) {
        fake_accept(d);
        read_rebalance(d);
}

// That nothing is better off elsewhere is for who carries it out to find.
static void a_rebalance_that_is_held_is_a_job_like_others(void **state) {
        _cleanup_outcome_ Outcome a = run(rebalance_is_held, "rebalance --queue"),
                                  b = run(rebalance_is_not_waited_for, "rebalance --queue --no-block"),
                                  c = run(rebalance_is_not_waited_for,
                                          "rebalance --queue --no-block --json=short");

        assert_int_equal(a.code, 0);
        assert_null(strstr(a.out, "better off"));
        assert_prints(b, 0, "17\n");
        assert_string_equal(
                c.out,
                "[{\"job\":17,\"held\":true,\"message\":\"job 17 is held back: it waits for job 9\"}]\n");
}

static void drain_is_held(FakeDaemon *d) {
        Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE);
        done(q);
        reply_held(d, 17);
        q = fake_read(d); // and not the drain that has not begun
        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_WAIT && q->job_wait->number == 17);
        done(q);
        reply_row(d, 17, "done");
}

static void whatever_is_held_its_job_is_waited_for(void **state) {
        _cleanup_outcome_ Outcome o = run(drain_is_held, "drain -q n1");

        assert_int_equal(o.code, 0);
}

static void numbers_of_jobs_are_numbers(void **state) {
        static const char *const lines[] = {"stop --after= a",  "stop --after=7, a", "stop --after=web a",
                                            "stop --after=0 a", "job release web",   "job release 0"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nowhere", lines[i]);

                assert_int_equal(o.code, 2);
        }
}

static void releases(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true, .job = 20);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_JOB_RELEASE && q->job_release->n_numbers == 2);
        assert(q->job_release->numbers[0] == 17 && q->job_release->numbers[1] == 19 && q->job->id.len == 16);
        fake_reply_last(d, &r);
}

static void jobs_are_released_together(void **state) {
        _cleanup_outcome_ Outcome o = run(releases, "job release 17 19");

        assert_prints(o, 0, "");
}

// ---- rules

static Argosy__QueueRule rule_of(uint32_t number, const char *unit) {
        return (Argosy__QueueRule) QUEUE_RULE_OF(.number = number, .unit = (char *) unit);
}

static void reply_rules(FakeDaemon *d, Argosy__QueueRule *rules, size_t n) {
        Argosy__Response__QueueRow rows[2] = {ARGOSY__RESPONSE__QUEUE_ROW__INIT,
                                              ARGOSY__RESPONSE__QUEUE_ROW__INIT};
        Argosy__Response__QueueRow *pointers[2] = {&rows[0], &rows[1]};
        Argosy__Response__Queue queue = ARGOSY__RESPONSE__QUEUE__INIT;
        Argosy__Response r = RESPONSE_OF(QUEUE, queue, &queue, .final = true);

        for (size_t i = 0; i < n; i++)
                rows[i].rule = &rules[i];
        rows[0].running = 3;
        rows[0].held = 1;
        queue.rows = pointers;
        queue.n_rows = n;
        queue.closed = true;
        queue.reason = (char *) "racks";
        queue.held = 1;
        queue.history_mib = 64;
        queue.file_kib = 256;
        queue.unit_files_kib = 512;
        queue.files_mib = 32;
        queue.files_bytes = 2049;
        queue.undo_from = 117;
        fake_reply(d, &r);
}

static void adds(FakeDaemon *d) {
        Argosy__QueueRule rule = rule_of(7, "db@*.service");
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_CHANGE && q->queue_change->add &&
               q->queue_change->before == 3);
        assert(q->queue_change->add->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT &&
               q->queue_change->add->limit == 2);
        assert(streq(q->queue_change->add->author, "ann@n1") && streq(q->queue_change->add->role, "db"));
        assert(!*q->queue_change->add->verb);
        reply_rules(d, &rule, 1);
}

static void a_rule_is_what_was_typed(void **state) {
        _cleanup_outcome_ Outcome o =
                run(adds, "queue rule add limit 2 author=ann@n1 unit=db@* role=db before=3");

        assert_string_equal(o.err, "");
        assert_prints(o, 0, "Rule 7.\n");
}

static void what_is_no_rule_is_not_sent(void **state) {
        static const char *const lines[] = {
                "queue rule",
                "queue rule add",
                "queue rule add stop",
                "queue rule add limit",
                "queue rule add limit x",
                "queue rule add refuse",
                "queue rule add hold unit=",
                "queue rule add hold web",
                "queue rule add hold colour=red",
                "queue rule add hold verb=a verb=b",
                "queue rule add hold unit=a unit=b",
                "queue rule add hold before=x",
                "queue rule delete",
                "queue rule delete web",
                "queue rule list all",
                "queue rule what",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nowhere", lines[i]);

                if (o.code != 2)
                        fail_msg("%s: %d: %s", lines[i], o.code, o.err);
        }
}

static void lists(FakeDaemon *d) {
        Argosy__QueueRule rules[] = {rule_of(7, "db*"), rule_of(9, "")};

        rules[0].action = ARGOSY__QUEUE_ACTION__QUEUE_LIMIT;
        rules[0].limit = 3;
        rules[1].action = ARGOSY__QUEUE_ACTION__QUEUE_REFUSE;
        rules[1].text = (char *) "frozen";
        _cleanup_request_ Argosy__Request *q = fake_take(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_LIST && !q->job);
        reply_rules(d, rules, 2);
}

static void rules_are_listed_in_their_order(void **state) {
        _cleanup_outcome_ Outcome o = run(lists, "queue rule list");

        assert_prints(o, 0, "RULE ACTION          ABOUT      RUNNING HELD\n"
                            "7    limit 3         unit=db*   3       1\n"
                            "9    refuse \"frozen\" everything 0       0\n"
                            "\nThe queue is closed: racks; 1 job is held back.\n"
                            "Of jobs that are over 64 MiB are kept, and as many of their files: what "
                            "jobs before 117 have changed may not be there whole to be undone.\n"
                            "A file of a unit may have 256 KiB, a unit with all of its files 512 "
                            "KiB; all of them may have 32 MiB, and have 3 KiB.\n");
}

static void programs_get_the_rules(void **state) {
        _cleanup_outcome_ Outcome o = run(lists, "queue rule list --json=short");

        assert_prints(o, 0,
                      "{\"rules\":[{\"rule\":7,\"action\":\"limit\",\"text\":null,\"limit\":3,"
                      "\"author\":null,\"verb\":null,"
                      "\"unit\":\"db*\",\"role\":null,\"reason\":null,\"running\":3,\"held\":1},"
                      "{\"rule\":9,\"action\":\"refuse\",\"text\":\"frozen\",\"limit\":0,\"author\":"
                      "null,\"verb\":null,"
                      "\"unit\":null,\"role\":null,\"reason\":null,\"running\":0,\"held\":0}],"
                      "\"closed\":true,\"reason\":\"racks\",\"held\":1,\"open_max\":0,\"history_mib\":64,"
                      "\"file_kib\":256,\"unit_files_kib\":512,\"files_mib\":32,\"files_bytes\":2049,"
                      "\"undo_from\":117}\n");
}

static void closes(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_CHANGE && q->queue_change->close &&
               !q->queue_change->open);
        assert(streq(q->job->reason, "racks") && q->job->if_revision == 17);
        fake_reply_last(d, &r);
}

static void a_queue_is_closed_for_a_reason(void **state) {
        _cleanup_outcome_ Outcome o = run(closes, "queue close --reason=racks --if-revision=17");

        assert_warns(o, 0, "");
}

static void limits(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_CHANGE && q->queue_change->history_mib == 1024);
        fake_reply_last(d, &r);
}

static void limits_files(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_take(d);
        const Argosy__Request__QueueChange *m = q->queue_change;

        assert(q->what_case == ARGOSY__REQUEST__WHAT_QUEUE_CHANGE && m->file_kib == 256 &&
               m->unit_files_kib == 0 && m->files_mib == 32);
        fake_reply_last(d, &r);
}

static void files_of_units_have_a_size(void **state) {
        _cleanup_outcome_ Outcome o = run(limits_files, "files limit file=256K all=32M"),
                                  bad = run_at("/nowhere", "files limit file=256"),
                                  other = run_at("/nowhere", "files limit some=256K");

        assert_int_equal(o.code, 0);
        assert_warns_of(bad, 2, "'file=256' is neither file=, unit= nor all= with a size");
        assert_int_equal(other.code, 2);
}

static void the_past_has_a_size(void **state) {
        _cleanup_outcome_ Outcome o = run(limits, "history limit 1G");

        assert_warns(o, 0, "");
}

static void what_is_no_size_is_not_sent(void **state) {
        static const char *const sizes[] = {"64", "64K", "0M", "M", "much"};

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nowhere", printed("history limit %s", sizes[i]));

                assert_warns_of(o, 2, "is no size, such as 64M");
        }
}

RUN_TESTS(
        cmocka_unit_test(what_is_to_be_held_is_not_waited_for),
        cmocka_unit_test(what_waits_for_others_is_waited_for),
        cmocka_unit_test(what_was_called_off_and_what_goes_on_is_said),
        cmocka_unit_test(what_was_called_off_in_parts_is_said_once),
        cmocka_unit_test(nobody_waits_who_has_said_so),
        cmocka_unit_test(whoever_does_not_wait_is_told_the_number),
        cmocka_unit_test(a_rebalance_that_is_held_is_a_job_like_others),
        cmocka_unit_test(whatever_is_held_its_job_is_waited_for),
        cmocka_unit_test(numbers_of_jobs_are_numbers),
        cmocka_unit_test(jobs_are_released_together),
        cmocka_unit_test(a_rule_is_what_was_typed),
        cmocka_unit_test(what_is_no_rule_is_not_sent),
        cmocka_unit_test(rules_are_listed_in_their_order),
        cmocka_unit_test(programs_get_the_rules),
        cmocka_unit_test(a_queue_is_closed_for_a_reason),
        cmocka_unit_test(the_past_has_a_size),
        cmocka_unit_test(files_of_units_have_a_size),
        cmocka_unit_test(what_is_no_size_is_not_sent)
)
