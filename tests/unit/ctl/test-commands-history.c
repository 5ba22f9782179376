// SPDX-License-Identifier: LGPL-2.1-or-later
//
// history, cat --at, list-unit-files --at: which questions they ask, and what they make of the answers.
#include "history-words.h"
#include "messages.h"

// ---- history

static void tells_history(FakeDaemon *d) {
        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        fake_expect_end(d);
}

static void a_history_says_what_each_job_did(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_history, "history a --fields=job,verb,change --no-legend");

        assert_prints(o, 0, "9 start removed\n"
                            "7 start launched -> loaded\n"
                            "5 start file 1111111 -> 2222222\n"
                            "4 start -\n"
                            "2 start new, launched\n");
}

// Two names are as many as a line has room for.
static Argosy__Response__Parts *some_parts(void) {
        static Argosy__Response__PartRow rows[3], *pointers[3];
        static Argosy__Response__Parts parts;
        static const char *const names[] = {"a.service.d/x.conf", "web.conf", "web.key"}, *const words[] = {
                                                                                                  "added",
                                                                                                  "changed",
                                                                                                  "removed"};

        argosy__response__parts__init(&parts);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                rows[i] = (Argosy__Response__PartRow) MESSAGE_OF(
                        response__part_row, .part = (char *) names[i], .change = (char *) words[i]);
                pointers[i] = &rows[i];
        }
        parts.rows = pointers;
        parts.n_rows = ELEMENTSOF(rows);
        parts.added = parts.removed = 1;
        parts.changed = 3;
        return &parts;
}

static void tells_history_with_parts(FakeDaemon *d) {
        parts_of_job_5 = some_parts();
        tells_history(d);
}

static void a_history_names_parts_that_differ(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_history_with_parts,
                                          "history a --fields=job,change --no-legend"),
                                  programs = run(tells_history_with_parts,
                                                 "history a --fields=job,change --json=short");

        assert_non_null(strstr(
                o.out,
                "\n5 file 1111111 -> 2222222 (a.service.d/x.conf added, web.conf changed and 3 more)\n"));
        assert_non_null(strstr(programs.out, "\"parts\":{\"added\":1,\"changed\":3,\"removed\":1,\"first\":["
                                             "{\"part\":\"a.service.d/x.conf\",\"change\":\"added\"},"
                                             "{\"part\":\"web.conf\",\"change\":\"changed\"},{\"part\":"
                                             "\"web.key\",\"change\":\"removed\"}]}"));
}

static void programs_get_both_sides(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_history, "history a --fields=job,change --json=short");

        assert_non_null(strstr(o.out,
                               "{\"job\":9,\"change\":[{\"unit\":\"a.service\",\"before\":{\"rev\":\"" TWO
                               "\",\"desired\":\"loaded\"},\"after\":null}]}"));
        assert_non_null(strstr(
                o.out,
                "{\"job\":2,\"change\":[{\"unit\":\"a.service\",\"before\":null,\"after\":{\"rev\":\"" ONE));
}

// ---- cat --at

// The job itself; the next one after it, found in a second answer; and none.
static void asks_for_a_job_of_its_own(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 5);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        tells_of_no_late_jobs(d);
        reply_content(d, TWO, "[Unit]\n# 2\n");
}

static void asks_for_a_job_of_others(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 6);
        read_history(d, 0);
        reply_changes(d, 0, 1, 9);
        read_history(d, 9);
        reply_changes(d, 1, 1, 7);
        tells_of_no_late_jobs(d);
        reply_content(d, TWO, "[Unit]\n# 2\n");
}

static void asks_for_the_newest_job(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 20);
        read_history(d, 0);
        reply_changes(d, 2, 3, 0);
        tells_of_no_late_jobs(d);
        reply_content(d, NULL, "[Unit]\n# now\n");
}

static void asks_for_a_time_before_it(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 1);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        tells_of_no_late_jobs(d);
}

static void asks_for_what_is_not_kept(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 2);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        tells_of_no_late_jobs(d);
        reply_content(d, ONE, NULL);
}

static void a_file_is_shown_as_it_was(void **state) {
        _cleanup_outcome_ Outcome own = run(asks_for_a_job_of_its_own, "cat a --at=5"),
                                  others = run(asks_for_a_job_of_others, "cat a --at=6"),
                                  newest = run(asks_for_the_newest_job, "cat a --at=20"),
                                  before = run(asks_for_a_time_before_it, "cat a --at=1"),
                                  lost = run(asks_for_what_is_not_kept, "cat a --at=2");

        assert_string_equal(own.out, "[Unit]\n# 2\n");
        assert_string_equal(others.out, "[Unit]\n# 2\n");
        assert_string_equal(newest.out, "[Unit]\n# now\n");
        assert_int_equal(own.code + others.code + newest.code, 0);
        assert_warns_of(before, 1, "there was no such unit when job 1 was done");
        assert_warns_of(lost, 1, "not kept any more");
}

// ---- list-unit-files --at

static void lists_what_there_was(FakeDaemon *d) {
        Argosy__Response__UnitFileRow row = UNIT_FILE_ROW_OF(.unit = (char *) "b.service",
                                                             .rev = (char *) TWO,
                                                             .desired = (char *) "loaded",
                                                             .state = (char *) "inactive"),
                                      *rows = &row;
        Argosy__Response__UnitFiles files = MESSAGE_OF(response__unit_files, .rows = &rows, .n_rows = 1);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        fake_reply(d, A_RESPONSE(UNIT_FILES, unit_files, &files, .final = true));
        knows_job(d, 4);
        read_all_changes(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        tells_of_no_late_jobs(d);
}

static void units_are_listed_as_they_were(void **state) {
        _cleanup_outcome_ Outcome o = run(lists_what_there_was, "list-unit-files --at=4 --no-legend"),
                                  some = run(lists_what_there_was,
                                             "list-unit-files 'b*' --at=4 --no-legend"),
                                  loaded = run(lists_what_there_was,
                                               "list-unit-files --at=4 --no-legend --state=inactive,loaded"),
                                  labels = run_at("/nowhere", "list-unit-files --at=4 --label=disk=ssd");

        assert_prints(o, 0, "a.service 1111111 launched\n"
                            "b.service 2222222 loaded\n");
        assert_string_equal(some.out, "b.service 2222222 loaded\n");
        assert_string_equal(loaded.out, "b.service 2222222 loaded\n");
        assert_int_equal(labels.code, 2);
}

RUN_TESTS(cmocka_unit_test(a_history_says_what_each_job_did),
          cmocka_unit_test(a_history_names_parts_that_differ), cmocka_unit_test(programs_get_both_sides),
          cmocka_unit_test(a_file_is_shown_as_it_was), cmocka_unit_test(units_are_listed_as_they_were))
