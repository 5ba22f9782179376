// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Commands that read: lists, status, cat, journal, counters and top, for people and for programs.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- reading

static void reply_part(FakeDaemon *d, const char *const (*rows)[5], size_t n, size_t first, bool final,
                       bool drift, uint64_t stale_ms) {
        Argosy__Response__UnitRow units[4], *pointers[4];
        Argosy__Response__Units list = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response r = RESPONSE_OF(UNITS, units, &list);

        for (size_t i = 0; i < n; i++) {
                units[i] = (Argosy__Response__UnitRow) UNIT_ROW_OF(.unit = (char *) rows[i][0],
                                                                   .node = (char *) rows[i][1],
                                                                   .load = (char *) rows[i][2],
                                                                   .active = (char *) rows[i][3],
                                                                   .sub = (char *) rows[i][4],
                                                                   .drift = drift && i == 0);
                units[i].note = (char *) (units[i].drift ? "drift,stale" : "");
                pointers[i] = &units[i];
        }
        list.rows = pointers;
        list.n_rows = n;
        list.first = (uint32_t) first;
        r.final = final;
        r.stale_ms = stale_ms;
        r.no_leader = stale_ms > 0;
        fake_reply(d, &r);
}

static void reply_units(FakeDaemon *d, const char *const (*rows)[5], size_t n, bool drift,
                        uint64_t stale_ms) {
        reply_part(d, rows, n, 0, true, drift, stale_ms);
}

static const char *const two_units[][5] = {{"a.service", "n1", "loaded", "inactive", "dead"},
                                           {"b.service", "", "", "unknown", ""}};

static void lists(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS);
        reply_units(d, two_units, 2, true, 12000);
}

static void a_list_shows_drift_and_its_age(void **state) {
        _cleanup_outcome_ Outcome o = run(lists, "list-units");

        assert_int_equal(o.code, 0);
        assert_string_equal(
                o.out,
                "UNIT      NODE LOAD   ACTIVE   SUB  RESTARTS SINCE NOTE\n"
                "a.service n1   loaded inactive dead 0        -     drift,stale\n"
                "b.service -    -      unknown  -    -        -\n"
                "\n"
                "2 units listed.\n"
                "drift: changed on its node by somebody else; `argosyctl start UNIT` mends it.\n"
                "stale: systemd runs an older file of it; `argosyctl restart UNIT` takes up the new.\n");
        assert_string_equal(o.err, "Warning: the cluster has no leader at the moment; this is 12s old\n");
}

// The first leader ends after its first part.
static void lists_in_parts(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->list_units->parts);
        reply_part(d, two_units, 1, 0, false, false, 0);
        reply_part(d, two_units, 1, 0, false, false, 0);
        reply_part(d, two_units + 1, 1, 1, true, false, 0);
}

static void a_list_in_parts_is_one_list_whoever_gives_the_rest(void **state) {
        _cleanup_outcome_ Outcome a = run(lists_in_parts, "list-units -q --no-legend --fields=unit"),
                                  b = run(lists_in_parts, "list-units --json=short --fields=unit");

        assert_string_equal(a.out, "a.service\nb.service\n");
        assert_string_equal(b.out, "[{\"unit\":\"a.service\"},{\"unit\":\"b.service\"}]\n");
}

static const char *const three_units[][5] = {{"a.service", "n1", "loaded", "active", "running"},
                                             {"b.service", "n1", "loaded", "active", "running"},
                                             {"c.service", "n1", "loaded", "active", "running"}};

static void list_with_a_hole(FakeDaemon *d) {
        Argosy__Request *q = fake_take(d);

        done(q);
        reply_part(d, three_units, 1, 0, false, false, 0);
        reply_part(d, three_units + 2, 1, 2, true, false, 0);
        fake_hang_up(d);
        q = fake_take(d);
        done(q);
        reply_part(d, three_units, 3, 0, true, false, 0);
}

static void a_list_of_which_a_part_is_missing_is_asked_for_again(void **state) {
        _cleanup_outcome_ Outcome o = run(list_with_a_hole, "list-units -q --no-legend --fields=unit");

        assert_string_equal(o.out, "a.service\nb.service\nc.service\n");
        assert_int_equal(o.code, 0);
}

static void lists_by_label(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->list_units->filter->n_labels == 2);
        assert(streq(q->list_units->filter->labels[0]->key, "disk"));
        assert(streq(q->list_units->filter->labels[0]->value, "ssd"));
        assert(streq(q->list_units->filter->labels[1]->key, "zone"));
        reply_part(d, three_units, 1, 0, true, false, 0);
}

static void units_are_listed_by_the_labels_of_their_nodes(void **state) {
        _cleanup_outcome_ Outcome a = run(lists_by_label,
                                          "list-units -q --no-legend --label=disk=ssd,zone=eu"),
                                  b = run_at("/nowhere", "list-units --label=disk"),
                                  c = run_at("/nowhere", "list-nodes --label=disk=ssd,"),
                                  e = run_at("/nowhere", "list-units --local --label=disk=ssd");

        assert_non_null(strstr(a.out, "a.service"));
        assert_int_equal(a.code, 0);
        assert_warns_of(b, 2, "'disk'");
        assert_int_equal(c.code, 2);
        assert_int_equal(e.code, 2);
}

static void lists_two_nodes(FakeDaemon *d) {
        Argosy__Response__NodeRow rows[2] = {ARGOSY__RESPONSE__NODE_ROW__INIT,
                                             ARGOSY__RESPONSE__NODE_ROW__INIT},
                                  *pointers[] = {&rows[0], &rows[1]};

        done(fake_take(d));
        rows[0].node = (char *) "n1";
        rows[0].state = rows[1].state = (char *) "online";
        rows[1].node = (char *) "n2";
        rows[1].mode = (char *) "draining";
        Argosy__Response__Nodes nodes = MESSAGE_OF(response__nodes, .rows = pointers, .n_rows = 2);
        fake_reply_last(d, A_RESPONSE(NODES, nodes, &nodes, .final = true));
}

static void nodes_are_chosen_by_state_and_mode(void **state) {
        _cleanup_outcome_ Outcome
                all = run(lists_two_nodes, "list-nodes --no-legend --fields=node --state=lost,online"),
                draining = run(lists_two_nodes, "list-nodes --no-legend --fields=node --state=draining"),
                lost = run(lists_two_nodes, "list-nodes --no-legend --fields=node --state=lost");

        assert_string_equal(all.out, "n1\nn2\n");
        assert_string_equal(draining.out, "n2\n");
        assert_string_equal(lost.out, "");
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
        assert_string_equal(c.out, "b.service - - unknown - - -\n");
}

static void lists_many(FakeDaemon *d) {
        static const char *const units[][5] = {{"a.service", "n1", "loaded", "active", "running"},
                                               {"b.service", "n1", "loaded", "active", "running"},
                                               {"c.service", "n1", "loaded", "active", "running"},
                                               {"d.service", "n1", "loaded", "active", "running"}};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        reply_units(d, units, 4, false, 0);
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

static void what_is_no_command_is_quoted_without_what_a_terminal_obeys(void **state) {
        char *words[] = {(char *) "\x1b[31mstart", (char *) "--\x1b]0;x\x07",
                         (char *) "c\xc2\x9b\xe2\x80\xae"};

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                char *argv[] = {(char *) "argosyctl", words[i]}, *text = NULL;
                size_t size;
                FILE *err = open_memstream(&text, &size);

                assert_int_equal(ctl_main(2, argv, stdout, err), EXIT_USAGE);
                fclose(err);
                assert_non_null(strchr(text, '?'));
                assert_null(strpbrk(text, "\x1b\x07\xc2\xe2"));
                free(text);
        }
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

        assert_warns_of(o, 2, "list-units has no field 'nonsense'");
}

static void is_active_exits_as_systemctl_does(void **state) {
        _cleanup_outcome_ Outcome a = run(lists, "is-active -q a"), b = run(lists, "is-active -q b"),
                                  c = run(lists, "is-active a b nosuch");

        assert_int_equal(a.code, 3);
        assert_int_equal(b.code, 4);
        assert_prints(c, 3, "inactive\nunknown\nunknown\n");
}

static void restarts_in_a_question(FakeDaemon *d) {
        done(fake_take(d));
        done(fake_take(d));
        reply_units(d, two_units, 1, false, 0);
}

static void a_question_is_asked_again_after_a_restart(void **state) {
        _cleanup_outcome_ Outcome o = run(restarts_in_a_question, "list-units --no-legend");

        assert_prints(o, 0, "a.service n1 loaded inactive dead 0 -\n");
}

static void cats(FakeDaemon *d) {
        done(fake_take(d));
        Argosy__Response__Cat cat =
                CAT_OF(.content.data = (uint8_t *) "[Unit]\r\n\x01\xff", .content.len = 10);
        fake_reply(d, A_RESPONSE(CAT, cat, &cat));
        reply_error(d, ENOENT, "b.service: no such unit", false);
}

static void cat_changes_no_byte(void **state) {
        _cleanup_outcome_ Outcome o = run(cats, "cat a b");

        assert_int_equal(o.code, 1);
        assert_memory_equal(o.out, "[Unit]\r\n\x01\xff", 11);
        assert_string_equal(o.err, "argosyctl: b.service: no such unit\n");
}

static void cats_commands(FakeDaemon *d) {
        static const char content[] = "[Unit]\r\n\t# a\x1b[2J\0b\n# c";

        done(fake_take(d));
        Argosy__Response__Cat cat =
                CAT_OF(.content = (ProtobufCBinaryData){sizeof(content) - 1, (uint8_t *) content});
        fake_reply_last(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

// Whole, on a terminal of its own that changes nothing of what is written.
static void run_on_terminal(const char *path, int terminal) {
        char *argv[] = {(char *) "argosyctl", (char *) "cat", (char *) "--no-pager", (char *) "a", NULL};

        setenv("ARGOSY_SOCKET", path, 1);
        if (dup2(terminal, STDOUT_FILENO) < 0 || ctl_main(ELEMENTSOF(argv) - 1, argv, stdout, stderr) != 0)
                _exit(1);
        _exit(fflush(stdout) == 0 ? 0 : 1);
}

static void a_terminal_gets_no_commands_out_of_a_file(void **state) {
        int master = posix_openpt(O_RDWR | O_NOCTTY), slave, status;
        char out[256] = "";
        struct termios raw;
        FakeDaemon d;

        assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        slave = open(ptsname(master), O_RDWR | O_NOCTTY);
        assert_true(slave >= 0);
        assert_int_equal(tcgetattr(slave, &raw), 0);
        cfmakeraw(&raw);
        assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
        fake_daemon_start(&d, cats_commands);
        fflush(NULL); // or what waits there is written twice
        pid_t pid = fork();
        if (pid == 0)
                run_on_terminal(d.path, slave);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        fake_daemon_stop(&d);
        assert_int_equal(status, 0);
        ssize_t n = read(master, out, sizeof(out) - 1);
        assert_true(n > 0);
        assert_string_equal(out, "[Unit]?\n\t# a?[2J?b\n# c");
        close(slave);
        close(master);
}

static void reply_line(FakeDaemon *d, const char *line, bool final) {
        char *lines[] = {(char *) line};
        Argosy__Response__Journal journal = JOURNAL_LINES_OF(.lines = lines, .n_lines = 1);

        fake_reply(d, A_RESPONSE(JOURNAL, journal, &journal, .final = final));
}

static Argosy__Request__Journal *expect_journal(FakeDaemon *d, Argosy__Request **q) {
        *q = fake_read(d);
        assert((*q)->what_case == ARGOSY__REQUEST__WHAT_JOURNAL);
        assert(streq((*q)->journal->name, "a.service"));
        return (*q)->journal;
}

static void follows(FakeDaemon *d) {
        Argosy__Request *q;

        fake_accept(d);
        Argosy__Request__Journal *j = expect_journal(d, &q);
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
}

static void following_goes_on_and_says_where_it_was_cut(void **state) {
        _cleanup_outcome_ Outcome o = run(follows, "journal -f -n3 --node=n2 a");

        assert_ended(o, 1, "one\ntwo\n",
                     "Warning: the connection to the unit's node was lost; lines may be missing here\n"
                     "Warning: the connection to the unit's node was lost; lines may be missing here\n"
                     "argosyctl: a.service: no such unit\n");
}

static void matches(FakeDaemon *d) {
        static const char *const names[] = {"web@.service", "web@1.service", "web@2.service"};
        Argosy__Response__UnitFileRow rows[3], *pointers[3];
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response r = RESPONSE_OF(UNIT_FILES, unit_files, &files, .final = true);
        Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        assert(q->list_unit_files->n_patterns == 1 && streq(q->list_unit_files->patterns[0], "web@*"));
        done(q);
        for (size_t i = 0; i < 3; i++) {
                rows[i] = (Argosy__Response__UnitFileRow) UNIT_FILE_ROW_OF(.unit = (char *) names[i]);
                pointers[i] = &rows[i];
        }
        files.rows = pointers;
        files.n_rows = 3;
        fake_reply(d, &r);
        q = read_change(d, ARGOSY__VERB__VERB_STOP);
        assert(q->change->n_names == 2 && streq(q->change->names[0], "web@1.service"));
        done(q);
        reply_change(d, RESULTS({"web@1.service"}, {"web@2.service"}));
}

static void a_pattern_means_the_units_that_there_are(void **state) {
        _cleanup_outcome_ Outcome o = run(matches, "stop web@*");

        assert_int_equal(o.code, 0);
}

static void matches_too_many(FakeDaemon *d) {
        Argosy__Response__UnitFileRow row = ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT, *rows = &row;
        Argosy__Response__UnitFiles files = MESSAGE_OF(response__unit_files, .rows = &rows, .n_rows = 1);

        done(fake_take(d));
        row.unit = (char *) "web@{1..100001}.service"; // as so many rows
        fake_reply_last(d, A_RESPONSE(UNIT_FILES, unit_files, &files, .final = true));
}

static void a_pattern_of_too_many_units_is_refused_and_says_so(void **state) {
        _cleanup_outcome_ Outcome o = run(matches_too_many, "stop web@*");

        assert_warns(o, 1, "argosyctl: 'web@*' means more than 100000 units; name fewer at a time\n");
}

static void status_of_nothing(FakeDaemon *d) {
        done(fake_take(d));
        reply_error(d, ENOENT, "a.service: no such unit", false);
}

static void status_of_a_slip(FakeDaemon *d) {
        static const char *const names[] = {"wide.service", "web.service", "web.timer"};
        Argosy__Response__UnitFileRow rows[3], *pointers[3];
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response r = RESPONSE_OF(UNIT_FILES, unit_files, &files, .final = true);

        done(fake_take(d));
        reply_error(d, ENOENT, "wbe.service: no such unit", false);
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        assert(q->list_unit_files->n_patterns == 2 && streq(q->list_unit_files->patterns[0], "w*") &&
               streq(q->list_unit_files->patterns[1], "*be*"));
        for (size_t i = 0; i < 3; i++) {
                rows[i] = (Argosy__Response__UnitFileRow) UNIT_FILE_ROW_OF(.unit = (char *) names[i]);
                pointers[i] = &rows[i];
        }
        files.rows = pointers;
        files.n_rows = 3;
        fake_reply_last(d, &r);
}

static void a_name_that_is_not_there_is_answered_with_the_one_that_was_meant(void **state) {
        _cleanup_outcome_ Outcome o = run(status_of_a_slip, "status wbe");

        assert_warns(o, 4, "argosyctl: wbe.service: no such unit\nargosyctl: did you mean web.service?\n");
}

static void status_of_a_quadlet_file(FakeDaemon *d) {
        done(fake_take(d));
        reply_error(d, ENOENT, "blog.pod.service: no such unit", false);
}

static void a_name_that_was_made_of_a_file_of_another_type_says_so(void **state) {
        _cleanup_outcome_ Outcome o = run(status_of_a_quadlet_file, "status blog.pod");

        assert_warns_of(o, 4, "blog.pod would be a Quadlet file of podman");
}

static void status_of_an_unknown_unit_exits_4(void **state) {
        _cleanup_outcome_ Outcome o = run(status_of_nothing, "status a");

        assert_warns(o, 4, "argosyctl: a.service: no such unit\n");
}

// ---- counters

static void counters_of_two(FakeDaemon *d) {
        Argosy__Response__Counter rows[2] = {ARGOSY__RESPONSE__COUNTER__INIT,
                                             ARGOSY__RESPONSE__COUNTER__INIT},
                                  *pointers[] = {&rows[0], &rows[1]};
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_COUNTERS);
        rows[0].name = (char *) "calls";
        rows[0].value = 12345678901;
        rows[0].help = (char *) "calls made";
        rows[1].name = (char *) "discrepancies";
        rows[1].help = (char *) "changes found";
        Argosy__Response__Counters counters = MESSAGE_OF(response__counters, .rows = pointers, .n_rows = 2);
        fake_reply_last(d, A_RESPONSE(COUNTERS, counters, &counters, .final = true));
}

static void counters_are_shown_for_people_and_programs(void **state) {
        _cleanup_outcome_ Outcome o = run(counters_of_two, "counters"),
                                  j = run(counters_of_two, "counters --json=short");

        assert_prints(o, 0, "COUNTER       VALUE       WHAT\n"
                            "calls         12345678901 calls made\n"
                            "discrepancies 0           changes found\n");
        assert_prints(j, 0, "{\"calls\":12345678901,\"discrepancies\":0}\n");
}

static void counters_of_states_and_times(FakeDaemon *d) {
        Argosy__Response__Counters counters = ARGOSY__RESPONSE__COUNTERS__INIT;
        Argosy__Response r = RESPONSE_OF(COUNTERS, counters, &counters, .final = true);
        Argosy__Response__Counter rows[4], *pointers[] = {&rows[0], &rows[1], &rows[2], &rows[3]};
        static const char *const words[4][2] = {
                {"start", "done"}, {"start", "failed"}, {"stop", "done"}, {"online", NULL}};
        static const uint64_t values[] = {7, 0, 2, 3};
        Argosy__Label labels[4][2], *label_pointers[4][2];
        Argosy__Response__TurnTimes turns = ARGOSY__RESPONSE__TURN_TIMES__INIT,
                                    none = ARGOSY__RESPONSE__TURN_TIMES__INIT;
        Argosy__Response__Times commits = ARGOSY__RESPONSE__TIMES__INIT, *times[] = {&commits};
        uint64_t bounds[] = {250, 2500, 10000000}, counts[] = {50, 98, 100, 100}, zeros[] = {0, 0, 0, 0};

        done(fake_take(d));
        for (size_t i = 0; i < 4; i++) {
                rows[i] = (Argosy__Response__Counter) COUNTER_OF(.name = (char *) (i < 3 ? "jobs" : "nodes"),
                                                                 .value = values[i],
                                                                 .labels = label_pointers[i]);
                for (size_t k = 0; k < 2 && words[i][k]; k++) {
                        labels[i][k] = (Argosy__Label) MESSAGE_OF(
                                label, .key = (char *) (k == 0 && i < 3 ? "verb" : "state"),
                                .value = (char *) words[i][k]);
                        label_pointers[i][rows[i].n_labels++] = &labels[i][k];
                }
        }
        turns.bounds_us = none.bounds_us = bounds;
        turns.n_bounds_us = none.n_bounds_us = 3;
        turns.counts = counts;
        none.counts = zeros;
        turns.n_counts = none.n_counts = 4;
        turns.sum_us = 123;
        commits.name = (char *) "log_commit";
        commits.times = &none;
        counters.rows = pointers;
        counters.n_rows = 4;
        counters.turns = &turns;
        counters.times = times;
        counters.n_times = 1;
        fake_reply_last(d, &r);
}

static void counters_of_states_and_times_are_shown_for_people_and_programs(void **state) {
        _cleanup_outcome_ Outcome o = run(counters_of_states_and_times, "counters"),
                                  j = run(counters_of_states_and_times, "counters --json=short");

        assert_prints(o, 0, "COUNTER                         VALUE WHAT\n"
                            "jobs{verb=\"start\",state=\"done\"} 7     -\n"
                            "jobs{verb=\"stop\",state=\"done\"}  2     -\n"
                            "nodes{state=\"online\"}           3     -\n"
                            "\n"
                            "TIMES      COUNT HALF  99% LONGEST WHAT\n"
                            "turn       100   250us 10s 10s     how long turns of the loop took\n"
                            "log_commit 0     -     -   -       -\n");
        assert_prints(j, 0,
                      "{\"jobs\":{\"start\":{\"done\":7,\"failed\":0},\"stop\":{\"done\":2}},"
                      "\"nodes\":{\"online\":3},"
                      "\"turn_seconds\":{\"count\":100,\"sum_us\":123,\"p50_us\":250,\"p99_us\":10000000,"
                      "\"max_us\":10000000},"
                      "\"log_commit_seconds\":{\"count\":0,\"sum_us\":0,\"p50_us\":null,\"p99_us\":null,"
                      "\"max_us\":null}}\n");
}

// ---- roles and pools

// One reading of a node with one unit that has used so much CPU time since the beginning.
static void reply_usage(FakeDaemon *d, const char *node, uint64_t at_us, uint64_t cpu_us, bool final) {
        Argosy__Response__UsageRow row = MESSAGE_OF(response__usage_row, .unit = (char *) "web.service",
                                                    .known = 1 + 2, .run = 1, .at_us = at_us,
                                                    .cpu_us = cpu_us, .tasks = 3),
                                   *rows[] = {&row};
        Argosy__Response__Usage usage =
                MESSAGE_OF(response__usage, .node = (char *) node, .rows = rows, .n_rows = 1, .last = true);
        Argosy__Response r = RESPONSE_OF(USAGE, usage, &usage, .final = final);

        fake_reply(d, &r);
}

static void two_nodes_use_cpu(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_TOP);
        assert(q->top->n_patterns == 1 && streq(q->top->patterns[0], "we*"));
        assert(q->top->interval_ms == 200 && !q->top->local && streq(q->top->node, "n1"));
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
        done(fake_take(d));
        reply_usage(d, "n1", 1000000, 0, false);
        fake_hang_up(d);
        done(fake_take(d));
        reply_usage(d, "n1", 2000000, 500000, false);
}

static void top_goes_on_over_a_restart_of_the_daemon(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_on_over_a_restart, "top -n 1 -d 1s --fields cpu --no-legend");

        assert_string_equal(o.out, "50.0\n");
        assert_int_equal(o.code, 0);
}

static void knows_no_such_node(FakeDaemon *d) {
        done(fake_take(d));
        reply_error(d, ENOENT, "n9: no such node", false);
}

static void top_of_an_unknown_node_fails(void **state) {
        _cleanup_outcome_ Outcome o = run(knows_no_such_node, "top --node n9");

        assert_string_equal(o.err, "argosyctl: n9: no such node\n");
        assert_int_equal(o.code, 1);
}

static void reply_why(FakeDaemon *d, uint32_t number, const char *unit) {
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.unit = (char *) unit, .node = (char *) "-");
        Argosy__Response__Status status =
                STATUS_OF(.row = &row, .why = (char *) "no node takes it", .number = number);

        fake_reply(d, A_RESPONSE(STATUS_REPLY, status_reply, &status));
}

static void end_of_why(FakeDaemon *d) {
        fake_reply(d, A_RESPONSE_WITH(.final = true));
}

// First by another leader, and then by another daemon.
static void explains_anew(FakeDaemon *d) {
        done(fake_take(d));
        reply_why(d, 1, "a.service");
        reply_why(d, 2, "b.service");
        reply_why(d, 1, "a.service");
        fake_hang_up(d);
        done(fake_take(d));
        reply_why(d, 1, "a.service");
        reply_why(d, 2, "b.service");
        end_of_why(d);
}

static void each_unit_is_explained_once_however_often_it_begins_anew(void **state) {
        _cleanup_outcome_ Outcome o = run(explains_anew, "why a b");

        assert_prints(o, 3, "a.service: no node takes it\nb.service: no node takes it\n");
}

RUN_TESTS(
        cmocka_unit_test(a_list_shows_drift_and_its_age),
        cmocka_unit_test(nodes_are_chosen_by_state_and_mode),
        cmocka_unit_test(a_list_for_programs_is_bare),
        cmocka_unit_test(units_are_listed_by_the_labels_of_their_nodes),
        cmocka_unit_test(a_list_in_parts_is_one_list_whoever_gives_the_rest),
        cmocka_unit_test(a_list_of_which_a_part_is_missing_is_asked_for_again),
        cmocka_unit_test(a_reader_that_has_read_enough_is_no_error),
        cmocka_unit_test(what_is_no_command_is_quoted_without_what_a_terminal_obeys),
        cmocka_unit_test(output_that_is_lost_is_an_error),
        cmocka_unit_test(an_unknown_field_is_a_usage_error),
        cmocka_unit_test(is_active_exits_as_systemctl_does),
        cmocka_unit_test(a_question_is_asked_again_after_a_restart),
        cmocka_unit_test(cat_changes_no_byte),
        cmocka_unit_test(a_terminal_gets_no_commands_out_of_a_file),
        cmocka_unit_test(following_goes_on_and_says_where_it_was_cut),
        cmocka_unit_test(a_pattern_means_the_units_that_there_are),
        cmocka_unit_test(a_pattern_of_too_many_units_is_refused_and_says_so),
        cmocka_unit_test(status_of_an_unknown_unit_exits_4),
        cmocka_unit_test(a_name_that_is_not_there_is_answered_with_the_one_that_was_meant),
        cmocka_unit_test(a_name_that_was_made_of_a_file_of_another_type_says_so),
        cmocka_unit_test(counters_are_shown_for_people_and_programs),
        cmocka_unit_test(counters_of_states_and_times_are_shown_for_people_and_programs),
        cmocka_unit_test(top_prints_once_with_rates_for_programs),
        cmocka_unit_test(top_goes_on_over_a_restart_of_the_daemon),
        cmocka_unit_test(top_of_an_unknown_node_fails),
        cmocka_unit_test(each_unit_is_explained_once_however_often_it_begins_anew)
)
