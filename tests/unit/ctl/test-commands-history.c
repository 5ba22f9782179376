// SPDX-License-Identifier: LGPL-2.1-or-later
//
// history, diff, cat --at, history forget, undo: which questions they ask, and what they make of the
// answers.
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"

typedef struct Change {
        uint64_t job;
        const char *before, *desired; // hashes; "": there was no unit
        const char *after, *desired_after;
} Change;

static const Change changes[] = {{9, TWO, "loaded", "", ""},
                                 {7, TWO, "launched", TWO, "loaded"},
                                 {5, ONE, "launched", TWO, "launched"},
                                 {4, ONE, "launched", ONE, "launched"},
                                 {2, "", "", ONE, "launched"}};

static Argosy__Response__Parts *parts_of_job_5; // NULL: the answer has none

// What the unit's jobs from `first` on (an index) are, and where to go on.
static void reply_changes(FakeDaemon *d, size_t first, size_t n, uint64_t before) {
        Argosy__Response__JobUnitRow units[ELEMENTSOF(changes)], *unit_pointers[ELEMENTSOF(changes)];
        Argosy__Response__JobRow rows[ELEMENTSOF(changes)], *pointers[ELEMENTSOF(changes)];
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);

        for (size_t i = 0; i < n; i++) {
                const Change *c = &changes[first + i];

                units[i] = (Argosy__Response__JobUnitRow)
                        JOB_UNIT_ROW_OF(.unit = (char *) "a.service", .rev = (char *) c->before,
                                        .desired = (char *) c->desired, .rev_after = (char *) c->after,
                                        .desired_after = (char *) c->desired_after, .gone = !*c->after,
                                        .revision = 10 * c->job,
                                        .parts = c->job == 5 ? parts_of_job_5 : NULL);
                unit_pointers[i] = &units[i];
                rows[i] = (Argosy__Response__JobRow) JOB_ROW_OF(.job = c->job, .revision = 10 * c->job,
                                                                .author = (char *) "root@n1",
                                                                .verb = (char *) "start",
                                                                .units = &unit_pointers[i], .n_units = 1);
                pointers[i] = &rows[i];
        }
        jobs.rows = pointers;
        jobs.n_rows = n;
        jobs.before = before;
        fake_reply(d, &r);
}

static void read_history(FakeDaemon *d, uint64_t before) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->changes);
        assert(q->list_jobs->n_patterns == 1 && streq(q->list_jobs->patterns[0], "a.service"));
        assert(q->list_jobs->before == before);
}

static void tells_the_moment(FakeDaemon *d, uint64_t number, uint64_t revision) {
        Argosy__Response__JobRow row = JOB_ROW_OF(.job = number, .revision = revision), *rows = &row;
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = &rows, .n_rows = 1);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == number);
        fake_reply(d, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

// The job is kept.
static void knows_job(FakeDaemon *d, uint64_t number) {
        tells_the_moment(d, number, 10 * number);
}

// None was under way then, or held back.
static void tells_of_no_late_jobs(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->late_after > 0 &&
               q->list_jobs->changes);
        reply_changes(d, 0, 0, 0);
}

static void reply_content(FakeDaemon *d, const char *rev, const char *content) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CAT && streq(q->cat->names[0], "a.service"));
        assert(q->cat->n_revs == (rev != NULL) && (!rev || streq(q->cat->revs[0], rev)));
        cat.name = (char *) "a.service";
        cat.content = (ProtobufCBinaryData){strlen(content ?: ""), (uint8_t *) content};
        if (content) {
                r.what_case = ARGOSY__RESPONSE__WHAT_CAT;
                r.cat = &cat;
        } else {
                r.status = ENOENT;
                r.message = (char *) "a.service: its file of then is not kept any more";
        }
        fake_reply(d, &r);
}

// ---- history

static void tells_history(FakeDaemon *d) {
        fake_accept(d);
        read_history(d, 0);
        reply_changes(d, 0, ELEMENTSOF(changes), 0);
        fake_expect_end(d);
}

static void a_history_says_what_each_job_did(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_history, "history a --fields=job,verb,change --no-legend");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "9 start removed\n"
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
                argosy__response__part_row__init(&rows[i]);
                rows[i].part = (char *) names[i];
                rows[i].change = (char *) words[i];
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
        assert_int_equal(before.code, 1);
        assert_non_null(strstr(before.err, "there was no such unit when job 1 was done"));
        assert_int_equal(lost.code, 1);
        assert_non_null(strstr(lost.err, "not kept any more"));
}

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

        assert_int_equal(o.code, 0);
        assert_non_null(strstr(o.out, "-# 0444 4 " B " conf/a\n"));
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

static void read_all_changes(FakeDaemon *d, uint64_t before) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->changes);
        assert(q->list_jobs->n_patterns == 0 && q->list_jobs->before == before &&
               q->list_jobs->begun_before == 0);
}

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

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "~ label disk of n2: hdd -> ssd\n"
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

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "+ a.service: launched\n"
                                   "--- /dev/null\n+++ a.service, job 7\n@@ -0,0 +1,2 @@\n+[Unit]\n+# 1\n");
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

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "a.service 1111111 launched\n"
                                   "b.service 2222222 loaded\n");
        assert_string_equal(some.out, "b.service 2222222 loaded\n");
        assert_string_equal(loaded.out, "b.service 2222222 loaded\n");
        assert_int_equal(labels.code, 2);
}

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

        assert_int_equal(o.code, 0);
        assert_non_null(strstr(o.err, "1 of 2 are not erased"));
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

        assert_int_equal(o.code, 1);
        assert_string_equal(o.out, "b.service: put back, on n2\n");
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

        assert_int_equal(o.code, 1);
        assert_string_equal(o.out, "b.service: put back\n");
        assert_string_equal(o.err, "argosyctl: undo a.service: it was changed since\n");
}

static void plans(FakeDaemon *d) {
        Argosy__Response__UnitResult results[3] = {ARGOSY__RESPONSE__UNIT_RESULT__INIT};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->undo->preview && q->undo->only_untouched);
        results[0].name = (char *) "a.service";
        results[0].message = (char *) "is to be launched again";
        argosy__response__unit_result__init(&results[1]);
        results[1].name = (char *) "n1";
        results[1].message = (char *) "is cordoned (\033[2Jdisks\u202e) again";
        reply_results(d, results, 2);
}

// An owner's words do not command a terminal.
static void a_plan_is_printed(void **state) {
        _cleanup_outcome_ Outcome o = run(plans, "undo 7 --plan --only-untouched"),
                                  both = run_at("/nowhere", "undo 7 --force --only-untouched");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out,
                            "a.service: is to be launched again\nn1: is cordoned (?[2Jdisks?) again\n");
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

        assert_int_equal(o.code, 1);
        assert_string_equal(o.err, "argosyctl: a.service was changed since by job 9\n");
}

RUN_TESTS(
        cmocka_unit_test(a_history_says_what_each_job_did),
        cmocka_unit_test(a_history_names_parts_that_differ),
        cmocka_unit_test(programs_get_both_sides),
        cmocka_unit_test(a_file_is_shown_as_it_was),
        cmocka_unit_test(a_difference_is_printed),
        cmocka_unit_test(an_image_differs_in_a_line_of_its_own),
        cmocka_unit_test(what_differs_in_files_that_come_with_a_unit_is_printed),
        cmocka_unit_test(all_that_differs_between_two_jobs_is_printed),
        cmocka_unit_test(what_changed_alike_is_printed_once),
        cmocka_unit_test(programs_get_what_differs_with_its_hashes),
        cmocka_unit_test(a_job_that_was_held_back_counts_when_it_began),
        cmocka_unit_test(of_jobs_that_went_on_and_are_not_kept_it_is_said_that_they_are_missing),
        cmocka_unit_test(units_are_listed_as_they_were),
        cmocka_unit_test(old_files_are_erased_by_their_hashes),
        cmocka_unit_test(each_unit_is_waited_for_as_what_it_comes_to),
        cmocka_unit_test(what_is_undone_in_parts_is_said_once),
        cmocka_unit_test(a_plan_is_printed),
        cmocka_unit_test(what_is_refused_is_said)
)
