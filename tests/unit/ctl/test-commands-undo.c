// SPDX-License-Identifier: LGPL-2.1-or-later
//
// undo and history forget: what they ask, and what they make of the answers.
#include "history-words.h"
#include "messages.h"

// ---- forget

static void forgets(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true,
                                           .message = (char *) "1 of 2 are not erased: units have them now");

        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 1, 4, 0);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_FORGET && q->forget->n_revs == 2 && q->job);
        assert(streq(q->job->targets[0], "a"));
        fake_reply_last(d, &r);
}

static void old_files_are_erased_by_their_hashes(void **state) {
        _cleanup_outcome_ Outcome o = run(forgets, "history forget a");

        assert_warns_of(o, 0, "1 of 2 are not erased");
}

// ---- undo

static void reply_results(FakeDaemon *d, Argosy__Response__UnitResult *results, size_t n) {
        Argosy__Response__UnitResult *pointers[] = {&results[0], &results[1], &results[2]};
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = pointers, .n_units = n);

        fake_reply(d, A_RESPONSE(CHANGE, change, &change, .final = true, .job = 12));
}

static void finishes(FakeDaemon *d, Argosy__Verb verb, const char *name, int status) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.name = (char *) name, .status = status,
                                                             .node = (char *) "n2"),
                                     *results = &result;
        Argosy__Response__Progress progress = MESSAGE_OF(response__progress, .done = &results, .n_done = 1);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_WAIT && q->wait->verb == verb && q->wait->n_items == 1);
        assert(streq(q->wait->items[0]->name, name));
        fake_reply(d, A_RESPONSE(PROGRESS, progress, &progress, .final = true));
}

// Only of the unit that did not start is it asked why.
static void tells_the_cause(FakeDaemon *d, const char *name) {
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        char *lines[] = {
                "n2 systemd[1]: a.service: Failed to load environment files: No such file or directory"};
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_STATUS && q->status->n_names == 1);
        assert(streq(q->status->names[0], name) && q->status->cause_within_ms > 0);
        status.log = lines;
        status.n_log = 1;
        fake_reply(d, A_RESPONSE(STATUS_REPLY, status_reply, &status, .final = true));
}

static void undoes(FakeDaemon *d) {
        Argosy__Response__UnitResult results[3] = {ARGOSY__RESPONSE__UNIT_RESULT__INIT,
                                                   ARGOSY__RESPONSE__UNIT_RESULT__INIT,
                                                   ARGOSY__RESPONSE__UNIT_RESULT__INIT};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_UNDO && q->undo->job == 7 && q->undo->force &&
               !q->undo->preview);
        assert(q->job && q->job->id.len == 16 && streq(q->job->targets[0], "7"));
        results[0].name = (char *) "a.service";
        results[0].revision = 5;
        results[0].verb = ARGOSY__VERB__VERB_START;
        results[1].name = (char *) "b.service";
        results[1].revision = 6;
        results[1].verb = ARGOSY__VERB__VERB_DESTROY;
        results[2].name = (char *) "c.service";
        results[2].message = (char *) "it is as it was before already";
        reply_results(d, results, 3);
        finishes(d, ARGOSY__VERB__VERB_DESTROY, "b.service", 0);
        finishes(d, ARGOSY__VERB__VERB_START, "a.service", EIO);
        tells_the_cause(d, "a.service");
}

static void each_unit_is_waited_for_as_what_it_comes_to(void **state) {
        _cleanup_outcome_ Outcome o = run(undoes, "undo 7 --force -v");

        assert_prints(o, 1, "b.service: put back, on n2\n");
        assert_non_null(strstr(o.err, "Job 12.\n"));
        assert_non_null(strstr(o.err, "c.service: it is as it was before already"));
        assert_non_null(strstr(o.err, "undo a.service on n2: "));
        assert_non_null(strstr(o.err, "\n  n2 systemd[1]: a.service: Failed to load environment files"));
}

// The daemon is restarted in the middle, and the next one begins with the first part again.
static void undoes_in_parts(FakeDaemon *d) {
        for (unsigned i = 0; i < 2; i++) {
                Argosy__Request *q = fake_take(d);

                assert(q->what_case == ARGOSY__REQUEST__WHAT_UNDO);
                done(q);
                reply_change_part(
                        d, RESULTS({"a.service", .status = ESTALE, .message = "it was changed since"}), 0,
                        false);
                reply_change_part(d, RESULTS({"b.service"}), 1, i == 1);
                if (i == 0)
                        fake_hang_up(d);
        }
}

static void what_is_undone_in_parts_is_said_once(void **state) {
        _cleanup_outcome_ Outcome o = run(undoes_in_parts, "undo 7 -v");

        assert_ended(o, 1, "b.service: put back\n", "argosyctl: undo a.service: it was changed since\n");
}

static void plans(FakeDaemon *d) {
        Argosy__Response__UnitResult results[3] = {ARGOSY__RESPONSE__UNIT_RESULT__INIT};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->undo->preview && q->undo->only_untouched);
        results[0].name = (char *) "a.service";
        results[0].message = (char *) "is to be launched again";
        results[1] = (Argosy__Response__UnitResult)
                UNIT_RESULT_OF(.name = (char *) "n1",
                               .message = (char *) "is cordoned (\033[2Jdisks\u202e) again");
        reply_results(d, results, 2);
}

// An owner's words do not command a terminal.
static void a_plan_is_printed(void **state) {
        _cleanup_outcome_ Outcome o = run(plans, "undo 7 --plan --only-untouched"),
                                  both = run_at("/nowhere", "undo 7 --force --only-untouched");

        assert_prints(o, 0, "a.service: is to be launched again\nn1: is cordoned (?[2Jdisks?) again\n");
        assert_int_equal(both.code, 2);
}

static void refuses(FakeDaemon *d) {
        Argosy__Response r = RESPONSE_WITH(.final = true, .status = EBUSY,
                                           .message = (char *) "a.service was changed since by job 9");

        done(fake_take(d));
        fake_reply_last(d, &r);
}

static void what_is_refused_is_said(void **state) {
        _cleanup_outcome_ Outcome o = run(refuses, "undo 7");

        assert_warns(o, 1, "argosyctl: a.service was changed since by job 9\n");
}

RUN_TESTS(cmocka_unit_test(old_files_are_erased_by_their_hashes),
          cmocka_unit_test(each_unit_is_waited_for_as_what_it_comes_to),
          cmocka_unit_test(what_is_undone_in_parts_is_said_once), cmocka_unit_test(a_plan_is_printed),
          cmocka_unit_test(what_is_refused_is_said))
