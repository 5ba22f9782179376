// SPDX-License-Identifier: LGPL-2.1-or-later
//
// watch: what it asks for next, what it prints, and what becomes of a program that it runs.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command-words.h"
#include "event-cursor.h"
#include "messages.h"
#include "printed.h"
#include "tmpdir.h"

#define AT_US UINT64_C(1795000000000000)

static void cursor_at(uint64_t seq, EventCursorMode mode, char ret[EVENT_CURSOR_SIZE]) {
        event_cursor_format(&(EventCursor){{1, 2, 3, 4}, 1, 5, mode, seq, 0}, ret);
}

static const char *at(uint64_t seq) {
        static char text[EVENT_CURSOR_SIZE];

        cursor_at(seq, EVENT_CURSOR_RING, text);
        return text;
}

static void expect_question(FakeDaemon *d, const char *cursor, bool from_now) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_EVENTS);
        assert(streq(q->events->cursor, cursor) && q->events->from_now == from_now);
}

static Argosy__Event state_event(uint64_t seq, char **values, size_t n, uint32_t *changed) {
        return (Argosy__Event) MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_STATE, .seq = seq,
                                          .at_us = AT_US, .values = values, .n_values = n,
                                          .changed = changed, .n_changed = changed != NULL);
}

static void reply_events(FakeDaemon *d, uint64_t seq, const Argosy__Event *events, size_t n) {
        Argosy__Response__Events m = ARGOSY__RESPONSE__EVENTS__INIT;
        ProtobufCBinaryData packed[4];
        Argosy__Response r = RESPONSE_OF(EVENTS, events, &m, .final = true);
        uint8_t bytes[4][512];

        assert(n <= 4);
        for (size_t i = 0; i < n; i++)
                packed[i] = (ProtobufCBinaryData){argosy__event__pack(&events[i], bytes[i]), bytes[i]};
        m.cursor = (char *) at(seq);
        m.events = packed;
        m.n_events = n;
        fake_reply(d, &r);
}

static char *web[] = {(char *) "web.service", (char *) "n1", (char *) "loaded", (char *) "failed",
                      (char *) "failed"};

static void reply_failure(FakeDaemon *d, uint64_t seq) {
        static uint32_t changed[] = {3};
        Argosy__Event e = state_event(seq, web, ELEMENTSOF(web), changed);

        reply_events(d, seq, &e, 1);
}

static void refuse(FakeDaemon *d) {
        reply_error(d, EINVAL, "enough", false);
        fake_expect_end(d);
}

static void refuse_at_once(FakeDaemon *d) {
        done(fake_take(d));
        refuse(d);
}

static void tells_with_breaks(FakeDaemon *d) {
        fake_accept(d);
        expect_question(d, "", true);
        reply_events(d, 10, NULL, 0);
        expect_question(d, at(10), false);
        reply_failure(d, 11);
        fake_accept(d); // argosyd restarts
        expect_question(d, at(11), false);
        reply_error(d, EAGAIN, "the leader changed", true);
        expect_question(d, at(11), false);
        reply_failure(d, 12);
        expect_question(d, at(12), false);
        refuse(d);
}

static void it_goes_on_over_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_with_breaks, "watch");
        const char *line = strstr(o.out, " state web.service on n1 active=failed\n");

        assert_int_equal(o.code, 1);
        assert_non_null(line);
        assert_non_null(strstr(line + 1, " state web.service on n1 active=failed\n"));
        assert_string_equal(o.err, "argosyctl: enough\n");
}

static void tells_all(FakeDaemon *d) {
        Argosy__Event events[] = {ARGOSY__EVENT__INIT, state_event(7, web, ELEMENTSOF(web), NULL),
                                  ARGOSY__EVENT__INIT};
        char *begins[] = {(char *) "begins"};

        events[0].kind = ARGOSY__EVENT_KIND__EVENT_STREAM;
        events[0].mark = events[1].mark = ARGOSY__EVENT_MARK__EVENT_WHOLE;
        events[0].values = begins;
        events[0].n_values = 1;
        events[2].kind = (Argosy__EventKind) 30; // of a newer version
        events[2].seq = 9;
        fake_accept(d);
        expect_question(d, "", false);
        reply_events(d, 9, events, ELEMENTSOF(events));
        expect_question(d, at(9), false);
        refuse(d);
}

static void programs_get_a_line_of_json_for_each_with_its_cursor(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_all, "watch --since=0 --json=short --kinds=state,unit");
        char cursor[EVENT_CURSOR_SIZE], *expected;

        cursor_at(7, EVENT_CURSOR_STATE, cursor);
        expected = str_printf(
                "{\"kind\":\"state\",\"time\":%llu,\"cursor\":\"%s\",\"mark\":\"state\",\"gone\":false,"
                "\"changed\":[],\"unit\":\"web.service\",\"node\":\"n1\",\"load\":\"loaded\","
                "\"active\":\"failed\",\"sub\":\"failed\",\"result\":\"\",\"error\":\"\","
                "\"drift\":false,\"stale\":false,\"since\":null,\"note\":\"\",\"restarts\":null,\"looping\":"
                "false}\n",
                (unsigned long long) AT_US, cursor);
        assert_non_null(expected);
        if (!strstr(o.out, expected))
                fail_msg("%s is not in %s", expected, o.out);
        free(expected);
        assert_non_null(strstr(o.out, "\"word\":\"begins\""));
}

static void reply_lead(FakeDaemon *d, const char *cursor, const char *leader) {
        char *values[] = {(char *) leader, (char *) "7",
                          (char *) (*leader ? "" : "n2 reaches no host that leads")};
        uint8_t bytes[256];
        Argosy__Event e = MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_LEADER,
                                     .mark = ARGOSY__EVENT_MARK__EVENT_HERE, .at_us = AT_US,
                                     .values = values, .n_values = ELEMENTSOF(values));
        Argosy__Response__Events m =
                MESSAGE_OF(response__events, .cursor = (char *) cursor,
                           .here = (ProtobufCBinaryData){argosy__event__pack(&e, bytes), bytes});

        fake_reply(d, A_RESPONSE(EVENTS, events, &m, .final = true));
}

static void expect_lead(FakeDaemon *d, const char *cursor, Argosy__Request__Events__Lead lead) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(streq(q->events->cursor, cursor) && q->events->lead == lead);
}

// Before it has a cursor, and behind one.
static void tells_that_nobody_leads(FakeDaemon *d) {
        fake_accept(d);
        expect_lead(d, "", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        reply_lead(d, "", "");
        expect_lead(d, "", ARGOSY__REQUEST__EVENTS__LEAD__NOBODY);
        reply_lead(d, "", "n3");
        expect_lead(d, "", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        reply_events(d, 10, NULL, 0);
        expect_lead(d, at(10), ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        reply_lead(d, at(10), "");
        expect_lead(d, at(10), ARGOSY__REQUEST__EVENTS__LEAD__NOBODY);
        refuse(d);
}

static void people_and_programs_are_told_that_nobody_leads(void **state) {
        _cleanup_outcome_ Outcome o = run(tells_that_nobody_leads, "watch --kinds=unit"),
                                  json = run(tells_that_nobody_leads, "watch --json=short --kinds=unit");
        _cleanup_free_ char *expected = str_printf("\"cursor\":\"%s\",\"mark\":\"here\",\"gone\":false,"
                                                   "\"changed\":[],\"leader\":\"\",\"term\":7,"
                                                   "\"reason\":\"n2 reaches no host that leads\"}\n",
                                                   at(10));

        assert_non_null(strstr(o.out, " leader nobody leads: n2 reaches no host that leads\n"));
        assert_non_null(strstr(o.out, " leader n3 leads\n"));
        assert_non_null(strstr(json.out, expected));
}

// ---- files and programs

static char *read_text(const char *dir, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, name);
        Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &text), 0);
        return buf_take_string(&text);
}

static void make_program(const char *dir, const char *script) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/hook", dir), script, strlen(script), 0755, 0),
                         0);
}

static void tells_two(FakeDaemon *d) {
        Argosy__Event events[] = {state_event(11, web, ELEMENTSOF(web), NULL),
                                  state_event(12, web, ELEMENTSOF(web), NULL)};

        fake_accept(d);
        expect_question(d, at(10), false);
        reply_events(d, 12, events, 2);
        expect_question(d, at(12), false);
        refuse(d);
}

static void a_program_is_run_for_each_and_has_it_all(void **state) {
        const char *dir = *state;
        _cleanup_free_ char *line =
                str_printf("watch --since=%s --exec=%s/hook --cursor-file=%s/cursor", at(10), dir, dir);
        make_program(dir, printed("#!/bin/sh\necho $ARGOSY_EVENT_KIND $ARGOSY_EVENT_UNIT "
                                  "$ARGOSY_EVENT_ACTIVE >> %s/out\n"
                                  "cat >> %s/json\n",
                                  dir, dir));
        {
                _cleanup_outcome_ Outcome o = run(tells_two, line);
                _cleanup_free_ char *out = read_text(dir, "out"), *json = read_text(dir, "json"),
                                    *cursor = read_text(dir, "cursor");
                _cleanup_free_ char *expected = str_printf("%s\n", at(12));

                assert_string_equal(o.err, "argosyctl: enough\n");
                assert_string_equal(out, "state web.service failed\nstate web.service failed\n");
                assert_non_null(strstr(json, "\"active\":\"failed\""));
                assert_string_equal(cursor, expected);
        }
}

static void tells_two_to_one_that_fails(FakeDaemon *d) {
        Argosy__Event events[] = {state_event(11, web, ELEMENTSOF(web), NULL),
                                  state_event(12, web, ELEMENTSOF(web), NULL)};

        fake_accept(d);
        expect_question(d, at(10), false);
        reply_events(d, 12, events, 2);
}

static void goes_on_behind_the_first(FakeDaemon *d) {
        fake_accept(d);
        expect_question(d, at(11), false);
        refuse(d);
}

static void a_program_that_fails_ends_it_and_is_given_that_event_again(void **state) {
        const char *dir = *state;
        _cleanup_free_ char *line =
                str_printf("watch --since=%s --exec=%s/hook --cursor-file=%s/cursor", at(10), dir, dir);
        _cleanup_free_ char *script =
                str_printf("#!/bin/sh\ntest ! -e %s/once || exit 3\ntouch %s/once\n", dir, dir);

        make_program(dir, script);
        {
                _cleanup_outcome_ Outcome o = run(tells_two_to_one_that_fails, line), again = {};

                assert_warns_of(o, 1, "hook failed with status 3");
                again = run(goes_on_behind_the_first, line);
                assert_string_equal(again.err, "argosyctl: enough\n");
        }
}

static void nobody_asks(FakeDaemon *d) {}

static bool exists(const char *dir, const char *name) {
        return access(printed("%s/%s", dir, name), F_OK) == 0;
}

static void a_cursor_that_cannot_be_kept_is_known_before_a_program_is_run(void **state) {
        const char *dir = *state;
        static const char *const places[] = {"0", "@12", NULL};
        make_program(dir, printed("#!/bin/sh\ntouch %s/ran\n", dir));
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *line =
                        str_printf("watch --since=%s --exec=%s/hook --cursor-file=%s/none/cursor",
                                   places[i] ?: at(10), dir, dir);
                _cleanup_outcome_ Outcome o = run(nobody_asks, line);

                assert_warns_of(o, 1, "none/cursor: No such file or directory");
                assert_false(exists(dir, "ran"));
        }
}

// The folder of the cursor goes while the program runs: nobody runs it a second time for that.
static void a_program_is_not_run_again_and_again_for_want_of_a_cursor(void **state) {
        const char *dir = *state;
        _cleanup_free_ char *line =
                str_printf("watch --since=%s --exec=%s/hook --cursor-file=%s/kept/cursor", at(10), dir, dir);
        _cleanup_free_ char *script = str_printf("#!/bin/sh\necho x >> %s/out\nrm -r %s/kept\n", dir, dir);
        _cleanup_free_ char *folder = str_printf("%s/kept", dir);

        make_program(dir, script);
        assert_int_equal(mkdir(folder, 0755), 0);
        {
                _cleanup_outcome_ Outcome o = run(tells_two_to_one_that_fails, line),
                                          again = run(nobody_asks, line);
                _cleanup_free_ char *out = read_text(dir, "out");

                assert_int_equal(o.code, 1);
                assert_int_equal(again.code, 1);
                assert_string_equal(out, "x\n");
        }
}

static void tells_since_a_job(FakeDaemon *d) {
        Argosy__Request *q = fake_take(d);

        assert(q->events->since_job == 12 && !*q->events->cursor && !q->events->from_now);
        done(q);
        reply_failure(d, 11);
        q = fake_read(d);
        assert(q->events->since_job == 0 && streq(q->events->cursor, at(11)));
        done(q);
        refuse(d);
}

static void a_job_is_a_place_to_begin_at_also_when_it_is_started_again(void **state) {
        const char *dir = *state;
        _cleanup_free_ char *line = str_printf("watch --since=@12 --cursor-file=%s/cursor", dir),
                            *kept = NULL;
        _cleanup_outcome_ Outcome o = run(refuse_at_once, line), again = {};

        kept = read_text(dir, "cursor");
        assert_string_equal(kept, "@12\n");
        again = run(tells_since_a_job, line);
        assert_string_equal(again.err, "argosyctl: enough\n");
        free(kept);
        kept = read_text(dir, "cursor");
        assert_memory_equal(kept, at(11), strlen(at(11)));
}

static void what_is_kept_and_is_no_cursor_is_said(void **state) {
        static const char *const garbage[] = {"", "\n", "hello", "@", "@x", "00", "\x01\x02\xff"};
        const char *dir = *state;
        _cleanup_free_ char *line = str_printf("watch --cursor-file=%s/cursor", dir),
                            *path = str_printf("%s/cursor", dir);

        for (size_t i = 0; i < ELEMENTSOF(garbage); i++) {
                assert_int_equal(file_replace(AT_FDCWD, path, garbage[i], strlen(garbage[i]), 0644, 0), 0);
                {
                        _cleanup_outcome_ Outcome o = run(nobody_asks, line);

                        assert_warns_of(o, 1, "that is no cursor");
                }
        }
}

static void what_is_no_cursor_or_kind_is_refused(void **state) {
        static const char *const lines[] = {
                "watch --since=hello", "watch --kinds=unit,colour", "watch --kinds=,",  "watch --since=@",
                "watch --since=@0",    "watch --since=@-1",         "watch --since=@1x"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run(nobody_asks, lines[i]);

                assert_int_equal(o.code, 2);
        }
}

RUN_TESTS(
        cmocka_unit_test(it_goes_on_over_daemon_and_leader),
        cmocka_unit_test(people_and_programs_are_told_that_nobody_leads),
        cmocka_unit_test(programs_get_a_line_of_json_for_each_with_its_cursor),
        cmocka_unit_test_setup_teardown(a_program_is_run_for_each_and_has_it_all, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_program_that_fails_ends_it_and_is_given_that_event_again,
                                        tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(
                a_cursor_that_cannot_be_kept_is_known_before_a_program_is_run, tmpdir_make,
                tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_program_is_not_run_again_and_again_for_want_of_a_cursor,
                                        tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_job_is_a_place_to_begin_at_also_when_it_is_started_again,
                                        tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_is_kept_and_is_no_cursor_is_said, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test(what_is_no_cursor_or_kind_is_refused)
)
