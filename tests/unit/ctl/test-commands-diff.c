// SPDX-License-Identifier: LGPL-2.1-or-later
//
// diff, of a unit and of everything: which questions it asks, and what it prints.
#include "history-words.h"

// ---- diff

static void tells_the_last_change(FakeDaemon *d) {
        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 1, 4, 0); // it was not destroyed
        reply_content(d, ONE, "[Unit]\n# 1\n");
        reply_content(d, TWO, "[Unit]\n# 2\n");
}

static void compares_with_now(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 2);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        tells_of_no_late_jobs(d);
        reply_content(d, ONE, "[Unit]\n# 1\n");
        reply_content(d, NULL, NULL); // it is gone
}

static void a_difference_is_printed(void **state) {
        _cleanup_outcome_ Outcome last = run(tells_the_last_change, "diff a"),
                                  now = run(compares_with_now, "diff a 2"),
                                  bad = run_at("/nowhere", "diff a b");

        assert_int_equal(last.code + now.code, 0);
        assert_string_equal(
                last.out,
                "--- a.service, before job 5\n+++ a.service, job 5\n@@ -1,2 +1,2 @@\n [Unit]\n-# 1\n+# 2\n");
        assert_string_equal(now.out,
                            "--- a.service, job 2\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-[Unit]\n-# 1\n");
        assert_int_equal(bad.code, 2);
}

#define HASH_OF(digit) digit digit digit digit digit digit digit digit
#define A HASH_OF("aaaaaaaa")
#define B HASH_OF("bbbbbbbb")
#define C HASH_OF("cccccccc")
#define D HASH_OF("dddddddd")

#define LISTS(files)                                                                                  \
        "[Unit]\n\n# a.service.d/~argosy.conf\n[Service]\n\n# mode, bytes, SHA-256 and name of each " \
        "file\n" files

static void tells_of_files(FakeDaemon *d) {
        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 1, 4, 0);
        reply_content(d, ONE, LISTS("# 0444 3 " A " bin\n# 0444 4 " B " conf/a\n# 0444 2 " C " same\n"));
        reply_content(d, TWO,
                      LISTS("# 0444 2 " D " conf/a\n# 0555 2 " D " conf/new\n# 0444 2 " C " same\n"));
        reply_content(d, A, NULL);
        reply_content(d, B, "1\n2\n");
        reply_content(d, D, "1\n");
        reply_content(d, D, "1\n");
}

// Of those that are text what is in them, of the others their size and hash.
static void what_differs_in_files_that_come_with_a_unit_is_printed(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_of_files, "diff a");

        assert_prints_also(o, 0, "-# 0444 4 " B " conf/a\n");
        assert_non_null(strstr(o.out, "--- a.service, before job 5: bin\n+++ /dev/null\n-3 bytes, " A
                                      ", not kept any more\n+not there\n"));
        assert_non_null(strstr(o.out, "--- a.service, before job 5: conf/a\n+++ a.service, job 5: "
                                      "conf/a\n@@ -1,2 +1 @@\n 1\n-2\n"));
        assert_non_null(strstr(o.out, "--- /dev/null\n+++ a.service, job 5: conf/new\n@@ -0,0 +1 @@\n+1\n"));
        assert_null(strstr(o.out, ": same"));
}

#define BOX(image, digest, more)                                                                  \
        "[Container]\nImage=reg.example/box:" image "\n" more "\n# a.container.d/~0-image.conf\n" \
        "[X-Argosy]\nImagePin=reg.example/box:" image "@sha256:" digest "\n"

static void tells_of_containers(FakeDaemon *d, const char *before, const char *after) {
        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 1, 4, 0);
        reply_content(d, ONE, before);
        reply_content(d, TWO, after);
        fake_expect_end(d);
}

static void tells_of_a_digest(FakeDaemon *d) {
        tells_of_containers(d, BOX("1", A, ""), BOX("1", B, ""));
}

static void tells_of_a_tag(FakeDaemon *d) {
        tells_of_containers(d, BOX("1", A, ""), BOX("2", B, "Exec=x\n"));
}

static void tells_of_a_file_alone(FakeDaemon *d) {
        tells_of_containers(d, BOX("1", A, ""), BOX("1", A, "Exec=x\n"));
}

static void an_image_differs_in_a_line_of_its_own(void **state) {
        _cleanup_outcome_ Outcome digest = run(tells_of_a_digest, "diff a"),
                                  tag = run(tells_of_a_tag, "diff a"),
                                  file = run(tells_of_a_file_alone, "diff a");

        assert_string_equal(
                digest.out,
                "a.service: image reg.example/box:1  sha256:aaaaaaaaaaaa -> sha256:bbbbbbbbbbbb\n");
        assert_non_null(strstr(tag.out, "-Image=reg.example/box:1\n+Image=reg.example/box:2\n+Exec=x\n"));
        assert_non_null(strstr(tag.out, "a.service: image reg.example/box:1  sha256:aaaaaaaaaaaa -> "
                                        "reg.example/box:2  sha256:bbbbbbbbbbbb\n"));
        assert_null(strstr(file.out, "image"));
        assert_null(strstr(tag.out, "ImagePin"));
        assert_null(strstr(file.out, "ImagePin"));
}

// ---- diff of everything

// Those that had begun when the second of the two jobs was done, whatever their numbers.
static void read_changes_until(FakeDaemon *d, uint64_t revision) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->changes);
        assert(q->list_jobs->before == 0 && q->list_jobs->begun_before == revision);
}

// Two units of a template and two labels: the first row is the newer job.
static void reply_template(FakeDaemon *d, uint32_t more_units) {
        Argosy__Response__JobUnitRow units[2], *unit_pointers[2];
        Argosy__Response__JobSettingRow settings[3], *setting_pointers[3];
        Argosy__Response__JobRow rows[2], *pointers[2];
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);

        for (size_t i = 0; i < 2; i++) {
                units[i] = (Argosy__Response__JobUnitRow)
                        JOB_UNIT_ROW_OF(.unit = (char *) (i ? "w@1.service" : "w@2.service"),
                                        .rev = (char *) ONE, .rev_after = (char *) TWO);
                units[i].desired = units[i].desired_after = (char *) "launched";
                units[i].revision = 50 + i;
                unit_pointers[i] = &units[i];
                rows[i] = (Argosy__Response__JobRow) JOB_ROW_OF(.job = 8 - i, .revision = 60 - i);
                pointers[i] = &rows[i];
        }
        for (size_t i = 0; i < 3; i++) {
                settings[i] = (Argosy__Response__JobSettingRow) ARGOSY__RESPONSE__JOB_SETTING_ROW__INIT;
                setting_pointers[i] = &settings[i];
        }
        settings[0].setting = settings[1].setting = (char *) "label disk of n2";
        settings[0].before = settings[1].after = (char *) "sata";
        settings[0].after = (char *) "ssd";
        settings[1].before = (char *) "hdd";
        settings[2].setting = (char *) "role web";
        settings[2].after = (char *) "weight 3";
        rows[0].settings = &setting_pointers[0];
        rows[0].n_settings = 1;
        rows[1].settings = &setting_pointers[1];
        rows[1].n_settings = 2;
        rows[1].units = unit_pointers;
        rows[1].n_units = 2;
        rows[1].more_units = more_units;
        jobs.rows = pointers;
        jobs.n_rows = 2;
        fake_reply(d, &r);
}

static void tells_what_differs_since(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 4);
        read_all_changes(d, 0);
        reply_changes(d, 0, 2, 7);
        read_all_changes(d, 7);
        reply_changes(d, 2, 3, 0);
        tells_of_no_late_jobs(d);
        reply_content(d, ONE, "[Unit]\n# 1\n");
}

static void tells_what_differs_between(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 2);
        knows_job(d, 7);
        read_changes_until(d, 70);
        reply_changes(d, 1, 4, 0);
        tells_of_no_late_jobs(d);
        reply_content(d, ONE, "[Unit]\n# 1\n");
        reply_content(d, TWO, "[Unit]\n# 2\n");
}

static void tells_it_backwards(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 2);
        knows_job(d, 7);
        read_changes_until(d, 70);
        reply_changes(d, 1, 4, 0);
        tells_of_no_late_jobs(d);
        reply_content(d, TWO, "[Unit]\n# 2\n");
        reply_content(d, ONE, "[Unit]\n# 1\n");
}

static void all_that_differs_between_two_jobs_is_printed(void **state) {
        _cleanup_outcome_ Outcome since = run(tells_what_differs_since, "diff @4"),
                                  between = run(tells_what_differs_between, "diff @2 @7"),
                                  back = run(tells_it_backwards, "diff @7 @2"),
                                  bad = run_at("/nowhere", "diff @2 7"),
                                  none = run_at("/nowhere", "diff @0");

        assert_int_equal(since.code + between.code + back.code, 0);
        assert_string_equal(since.out,
                            "- a.service: was launched\n"
                            "--- a.service, job 4\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-[Unit]\n-# 1\n");
        assert_string_equal(
                between.out,
                "~ a.service: another file, launched -> loaded\n"
                "--- a.service, job 2\n+++ a.service, job 7\n@@ -1,2 +1,2 @@\n [Unit]\n-# 1\n+# 2\n");
        assert_string_equal(
                back.out,
                "~ a.service: another file, loaded -> launched\n"
                "--- a.service, job 7\n+++ a.service, job 2\n@@ -1,2 +1,2 @@\n [Unit]\n-# 2\n+# 1\n");
        assert_int_equal(bad.code, 2);
        assert_int_equal(none.code, 2);
}

static void tells_programs(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 2);
        knows_job(d, 7);
        read_changes_until(d, 70);
        reply_changes(d, 1, 4, 0);
        tells_of_no_late_jobs(d);
}

static void tells_programs_of_a_template(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 4);
        read_all_changes(d, 0);
        reply_template(d, 1);
        tells_of_no_late_jobs(d);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == 7);
        reply_changes(d, 2, 1, 0);
}

static void programs_get_what_differs_with_its_hashes(void **state) {
        _cleanup_outcome_ Outcome back = run(tells_programs, "diff @7 @2 --json=short"),
                                  since = run(tells_programs_of_a_template, "diff @4 --json=short"),
                                  bad = run_at("/nowhere", "diff a.service --json");

        assert_int_equal(back.code + since.code, 0);
        assert_string_equal(back.out, "{\"from\":7,\"to\":2,\"incomplete\":false,\"settings\":[],\"units\":["
                                      "{\"unit\":\"a.service\","
                                      "\"change\":\"change\",\"rev\":\"" TWO "\",\"rev_after\":\"" ONE
                                      "\",\"desired\":\"loaded\",\"desired_after\":\"launched\"}]}\n");
        assert_non_null(strstr(since.out, "{\"from\":4,\"to\":null,\"incomplete\":false,\"settings\":[{"
                                          "\"setting\":\"label disk of n2\","
                                          "\"change\":\"change\",\"before\":\"hdd\",\"after\":\"ssd\"},"
                                          "{\"setting\":\"role web\",\"change\":\"make\",\"before\":\"\","));
        assert_non_null(strstr(since.out, "\"unit\":\"w@2.service\""));
        assert_int_equal(bad.code, 2);
}

static void reply_any_content(FakeDaemon *d, const char *content) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CAT && q->cat->n_revs == 1);
        cat.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        fake_reply(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

// The job has one more unit than the first answer has room for, and one more that is as before again.
static void tells_of_a_template(FakeDaemon *d) {
        fake_accept(d);
        knows_job(d, 4);
        read_all_changes(d, 0);
        reply_template(d, 1);
        tells_of_no_late_jobs(d);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == 7);
        reply_changes(d, 2, 1, 0);
        reply_any_content(d, "[Unit]\n# 1\n");
        reply_any_content(d, "[Unit]\n# 2\n");
}

static void what_changed_alike_is_printed_once(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_of_a_template, "diff @4");

        assert_prints(o, 0, "~ label disk of n2: hdd -> ssd\n"
                            "+ role web: weight 3\n"
                            "~ a.service: another file\n"
                            "~ w@1.service: another file\n"
                            "~ w@2.service: another file\n"
                            "--- a.service and 2 more, job 4\n+++ a.service and 2 more, now\n"
                            "@@ -1,2 +1,2 @@\n [Unit]\n-# 1\n+# 2\n");
}

// Job 3 was held back, and has begun when job 4 was done; job 6, when job 7 was.
static void reply_late(FakeDaemon *d, uint64_t complete_from) {
        static const struct {
                uint64_t job, revision;
                const char *unit;
        } late[] = {{6, 90, "late.service"}, {3, 60, "a.service"}, {3, 20, "early.service"}};
        Argosy__Response__JobUnitRow units[3], *pointers[3];
        Argosy__Response__JobRow rows[3], *row_pointers[3];
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->late_after == 40);
        assert(q->list_jobs->before == 5); // the others are read already
        for (size_t i = 0; i < 3; i++) {
                units[i] =
                        (Argosy__Response__JobUnitRow) JOB_UNIT_ROW_OF(.unit = (char *) late[i].unit,
                                                                       .rev_after = (char *) ONE,
                                                                       .desired_after = (char *) "launched",
                                                                       .revision = late[i].revision);
                pointers[i] = &units[i];
                rows[i] = (Argosy__Response__JobRow) JOB_ROW_OF(.job = late[i].job, .asked_us = 1,
                                                                .units = &pointers[i], .n_units = 1);
                row_pointers[i] = &rows[i];
        }
        jobs.rows = row_pointers;
        jobs.n_rows = 3;
        jobs.complete_from = complete_from;
        fake_reply(d, &r);
}

static void tell_of_late_jobs(FakeDaemon *d, uint64_t complete_from) {
        fake_accept(d);
        tells_the_moment(d, 4, 40);
        tells_the_moment(d, 7, 70);
        read_changes_until(d, 70);
        reply_changes(d, 0, 0, 0);
        reply_late(d, complete_from);
        reply_content(d, ONE, "[Unit]\n# 1\n");
        fake_expect_end(d);
}

static void tells_of_late_jobs(FakeDaemon *d) {
        tell_of_late_jobs(d, 40);
}

static void has_forgotten_a_late_job(FakeDaemon *d) {
        tell_of_late_jobs(d, 41);
}

static void of_jobs_that_went_on_and_are_not_kept_it_is_said_that_they_are_missing(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_of_late_jobs, "diff @4 @7"),
                                  missing = run(has_forgotten_a_late_job, "diff @4 @7");

        assert_string_equal(o.err, "");
        assert_string_equal(missing.out, o.out);
        assert_non_null(strstr(missing.err, "not kept any more"));
}

static void a_job_that_was_held_back_counts_when_it_began(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_of_late_jobs, "diff @4 @7");

        assert_prints(o, 0, "+ a.service: launched\n"
                            "--- /dev/null\n+++ a.service, job 7\n@@ -0,0 +1,2 @@\n+[Unit]\n+# 1\n");
}

RUN_TESTS(cmocka_unit_test(a_difference_is_printed), cmocka_unit_test(an_image_differs_in_a_line_of_its_own),
          cmocka_unit_test(what_differs_in_files_that_come_with_a_unit_is_printed),
          cmocka_unit_test(all_that_differs_between_two_jobs_is_printed),
          cmocka_unit_test(what_changed_alike_is_printed_once),
          cmocka_unit_test(programs_get_what_differs_with_its_hashes),
          cmocka_unit_test(a_job_that_was_held_back_counts_when_it_began),
          cmocka_unit_test(of_jobs_that_went_on_and_are_not_kept_it_is_said_that_they_are_missing))
