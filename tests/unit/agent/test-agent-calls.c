// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions about this host's units: status, journal, the local stop, and the list of what is held. The
// agent is whole, PID 1 is in memory, and the journal says what the test says.
#include "agent-rig.h"

#include "agent-private.h"
#include "fake-pid1.h"
#include "journal.h"
#include "message.h"
#include "messages.h"

static FakePid1 *pid1;

// ---- the journal

enum { ASKER = 7 };

typedef struct Reader { // stands for a JournalReader
        uv_idle_t handle;
        JournalOps ops;
        void *userdata, *closed_data;
        void (*closed)(void *userdata);
        char unit[64];
        unsigned n_lines;
        bool follow;
} Reader;

static Reader *reader; // the newest one that is open

typeof(journal_reader_new) __wrap_journal_reader_new; // the compiler compares them
typeof(journal_reader_close) __wrap_journal_reader_close;

int __wrap_journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *journal_ops,
                              void *userdata, JournalReader **ret) {
        Reader *r = calloc(1, sizeof(*r));

        assert_int_equal(q->manager, JOURNAL_SYSTEM);
        assert_int_equal(q->asker, ASKER); // whose turn it is in the pool
        r->ops = *journal_ops;
        r->userdata = userdata;
        r->n_lines = q->n_lines;
        r->follow = q->follow;
        snprintf(r->unit, sizeof(r->unit), "%s", q->unit);
        assert_int_equal(uv_idle_init(loop, &r->handle), 0);
        reader = r;
        *ret = (JournalReader *) r;
        return 0;
}

static void on_reader_closed(uv_handle_t *handle) {
        _cleanup_free_ Reader *r = CONTAINER_OF((uv_idle_t *) handle, Reader, handle);

        r->closed(r->closed_data);
}

void __wrap_journal_reader_close(JournalReader *journal, void (*closed)(void *userdata), void *userdata) {
        Reader *r = (Reader *) journal;

        r->closed = closed;
        r->closed_data = userdata;
        if (reader == r)
                reader = NULL;
        uv_close((uv_handle_t *) &r->handle, on_reader_closed);
}

static void journal_gets(const char *line) {
        reader->ops.lines((char **) &line, 1, reader->userdata);
}

static void journal_ends(int error) {
        reader->ops.ended(error, reader->userdata);
}

// ---- the world

static Argosy__Response *answers[100];
static size_t n_answers;
static uint64_t cancel;
static bool cancel_at_once; // from within the reply

static void on_answer(const Argosy__Response *response, void *userdata) {
        assert_true(n_answers < ELEMENTSOF(answers));
        assert_true(n_answers == 0 || userdata || !answers[n_answers - 1]->final);
        answers[n_answers++] = message_copy(response);
        if (cancel_at_once)
                agent_cancel(w.agent, cancel);
}

static void forget_answers(void) {
        while (n_answers > 0)
                message_free(answers[--n_answers]);
}

static const Argosy__Response *last(void) {
        assert_true(n_answers > 0);
        return answers[n_answers - 1];
}

static bool is_final(void) {
        return n_answers > 0 && last()->final;
}

FIXTURE(world_up) {
        cancel = 0;
        cancel_at_once = false;
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        pid1 = pid1_free(pid1);
        forget_answers();
        return rig_down();
}

static int ask_status(uint32_t node, const char *const *names, size_t n, unsigned lines, void *userdata) {
        Argosy__Request__Status status =
                MESSAGE_OF(request__status, .names = (char **) names, .n_names = n, .lines = lines);

        return agent_call(w.agent, ASKER, node, A_REQUEST(STATUS, status, &status), on_answer, userdata,
                          &cancel);
}

// The status of one unit, without lines. Borrowed until the next.
static const Argosy__Response__Status *status_of(const char *name) {
        forget_answers();
        assert_int_equal(ask_status(0, &name, 1, 0, NULL), 0);
        loop_until(reader);
        journal_ends(0);
        assert_true(is_final());
        return last()->status_reply;
}

static int ask_journal(uint32_t node, const char *name, unsigned lines, bool follow) {
        Argosy__Request__Journal journal =
                JOURNAL_OF(.name = (char *) name, .lines = lines, .follow = follow);

        return agent_call(w.agent, ASKER, node, A_REQUEST(JOURNAL, journal, &journal), on_answer, NULL,
                          &cancel);
}

static int ask_stop(const char *const *names, size_t n) {
        Argosy__Request__LocalStop stop =
                MESSAGE_OF(request__local_stop, .names = (char **) names, .n_names = n);

        return agent_call(w.agent, 0, 0, A_REQUEST(LOCAL_STOP, local_stop, &stop), on_answer, NULL, &cancel);
}

static const char *const one[] = {"web.service"}, *const two[] = {"web.service", "nobody.service"};

// ---- which calls there are

static void what_cannot_be_asked_is_refused_without_a_reply(void **state) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;

        assert_int_equal(agent_call(w.agent, 0, 0, A_REQUEST(LIST_UNITS, list_units, &list), on_answer, NULL,
                                    &cancel),
                         -EOPNOTSUPP);
        assert_int_equal(ask_status(NODE + 1, one, 1, 0, NULL), -ENXIO);
        assert_int_equal(ask_status(0, one, 0, 0, NULL), -EINVAL);
        assert_int_equal(ask_stop(one, 0), -EINVAL);
        assert_int_equal(cancel, 0);
        assert_int_equal(n_answers, 0);
        assert_int_equal(w.agent->n_calls, 0);
}

static void calls_have_a_limit(void **state) {
        pid1_hold_jobs(pid1, true);
        for (int i = 0; i < AGENT_CALLS_MAX; i++)
                assert_int_equal(ask_status(0, one, 1, 0, NULL), 0);
        assert_int_equal(ask_status(0, one, 1, 0, NULL), -EBUSY);
        agent_cancel(w.agent, 1);
        assert_int_equal(ask_status(0, one, 1, 0, NULL), 0);
        assert_int_equal(ask_status(0, one, 1, 0, NULL), -EBUSY);
        agent_calls_drop(w.agent);
        assert_int_equal(w.agent->n_calls, 0);
        pid1_hold_jobs(pid1, false); // what systemd still answers is about nobody's call
        loop_until(pid1_n_held(pid1) == 0);
        assert_int_equal(n_answers, 0);
}

// ---- status

static void a_status_answers_for_each_name_in_turn(void **state) {
        assert_int_equal(ask_status(0, two, 2, 100000, NULL), 0);
        loop_until(reader);
        assert_string_equal(reader->unit, "web.service");
        assert_int_equal(reader->n_lines, 1000); // as many as one answer may hold
        assert_false(reader->follow);
        journal_gets("first");
        journal_gets("second");
        assert_int_equal(n_answers, 0);
        journal_ends(0);
        assert_int_equal(n_answers, 1);
        assert_false(last()->final);
        const Argosy__Response__Status *s = last()->status_reply;
        assert_string_equal(s->row->unit, "web.service");
        assert_string_equal(s->row->node, "one");
        assert_string_equal(s->row->load, "loaded");
        assert_string_equal(s->row->active, "active");
        assert_string_equal(s->row->sub, "running");
        assert_int_equal(strlen(s->row->spec), 2 * HASH_SIZE);
        assert_string_equal(s->desired, "launched");
        assert_string_equal(s->why, "");
        assert_int_equal(s->revision, 5);
        assert_int_equal(s->n_log, 2);
        assert_string_equal(s->log[1], "second");
        assert_string_equal(s->properties[0]->value, "web.service");
        loop_until(reader);
        assert_string_equal(reader->unit, "nobody.service");
        journal_ends(0);
        assert_int_equal(n_answers, 2);
        assert_true(is_final());
        s = last()->status_reply;
        assert_string_equal(s->row->unit, "nobody.service");
        assert_string_equal(s->why, "this node does not hold it");
        assert_string_equal(s->row->active, "inactive");
        assert_int_equal(s->n_log, 0); // the lines before were the other's
        assert_int_equal(w.agent->n_calls, 0);
}

static void whoever_is_answered_may_cancel_the_rest(void **state) {
        cancel_at_once = true;
        assert_int_equal(ask_status(0, two, 2, 0, NULL), 0);
        loop_until(reader);
        journal_ends(0);
        assert_int_equal(n_answers, 1);
        assert_int_equal(w.agent->n_calls, 0);
        assert_null(reader);
}

static void after_a_cancel_there_is_no_reply(void **state) {
        pid1_hold_jobs(pid1, true);
        assert_int_equal(ask_status(0, one, 1, 0, NULL), 0);
        agent_cancel(w.agent, cancel); // while systemd is asked
        pid1_hold_jobs(pid1, false);
        loop_until(pid1_n_held(pid1) == 0);
        assert_null(reader);
        assert_int_equal(ask_status(0, one, 1, 0, NULL), 0);
        loop_until(reader);
        agent_cancel(w.agent, cancel); // while the journal is read
        assert_null(reader);
        agent_cancel(w.agent, cancel); // and one that has ended
        assert_int_equal(n_answers, 0);
}

static void without_systemd_a_status_ends_with_an_error(void **state) {
        pid1_hold_jobs(pid1, true);
        assert_int_equal(ask_status(0, two, 2, 0, NULL), 0);
        assert_true(cancel > 0);
        pid1_disconnect(pid1);
        assert_true(is_final());
        assert_int_equal(last()->status, ECONNRESET);
        forget_answers();
        assert_int_equal(ask_status(0, two, 2, 0, NULL), 0); // now it is known at once
        assert_true(is_final());
        assert_int_equal(last()->status, ENOTCONN);
        assert_int_equal(cancel, 0);
}

static void a_status_is_worth_showing_without_a_journal(void **state) {
        assert_int_equal(ask_status(0, one, 1, 10, NULL), 0);
        loop_until(reader);
        journal_ends(-EACCES);
        assert_true(is_final());
        assert_int_equal(last()->status, 0);
        assert_string_equal(last()->status_reply->row->active, "active");
        assert_int_equal(last()->status_reply->n_log, 1);
        assert_non_null(strstr(last()->status_reply->log[0], "may read no journal"));
}

static void a_status_says_why_a_unit_is_not_as_wanted(void **state) {
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_non_null(strstr(status_of("web.service")->why, "somebody stopped it there without argosy"));
        assert_true(last()->status_reply->row->drift);
        assert_string_equal(last()->status_reply->row->sub, "dead");

        send_order((Order){.name = "job.service", .content = job, .revision = 6, .start = 6});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6));
        assert_string_equal(status_of("job.service")->why, "it has finished");

        order_and_wait(
                (Order){.name = "odd.service", .content = broken, .loaded_only = true, .revision = 7});
        assert_string_equal(status_of("odd.service")->why, report_of("odd.service")->error);
        assert_string_equal(last()->status_reply->row->error, report_of("odd.service")->error);
        assert_string_equal(last()->status_reply->desired, "loaded");

        send_order((Order){
                .name = "box.service", .content = "[Container]\nImage=localhost/box:1\n", .revision = 8});
        loop_until(report_of("box.service"));
        assert_string_equal(status_of("box.service")->row->spec, ""); // it is not written yet

        pid1_shut_down(pid1);
        loop_until(w.stopping);
        assert_string_equal(status_of("web.service")->why, "the machine is shutting down");
}

// ---- journal

static void journal_lines_travel_as_they_come(void **state) {
        assert_int_equal(ask_journal(0, "web.service", UINT32_MAX, true), 0);
        assert_int_equal(reader->n_lines, 100000);
        assert_true(reader->follow);
        journal_gets("first");
        journal_gets("second");
        assert_int_equal(n_answers, 2);
        assert_false(last()->final);
        assert_string_equal(last()->journal->lines[0], "second");
        journal_ends(0);
        assert_true(is_final());
        assert_int_equal(last()->status, 0);
        assert_int_equal(w.agent->n_calls, 0);
}

static void a_journal_that_may_not_be_read_is_an_error(void **state) {
        assert_int_equal(ask_journal(0, "web.service", 10, false), 0);
        journal_ends(-EACCES);
        assert_true(is_final());
        assert_replies(last(), EACCES, "may read no journal");
}

// What it has under that name may be about anything else; who names the node knows better.
static void a_host_reads_the_journal_of_what_it_holds(void **state) {
        assert_int_equal(ask_journal(0, "nobody.service", 10, false), 0);
        assert_true(is_final());
        assert_int_equal(last()->status, EHOSTUNREACH);
        assert_string_equal(last()->message, "nobody.service: this host does not hold it");
        assert_int_equal(cancel, 0);
        forget_answers();
        assert_int_equal(ask_journal(NODE, "nobody.service", 10, false), 0);
        assert_string_equal(reader->unit, "nobody.service");
        journal_ends(0);
        assert_int_equal(last()->status, 0);
}

// ---- local stop

static void a_local_stop_answers_for_every_unit(void **state) {
        const Argosy__Response__Change *change;

        assert_int_equal(ask_stop(two, 2), 0);
        assert_true(cancel > 0);
        loop_until(is_final());
        change = last()->change;
        assert_int_equal(change->n_units, 2);
        assert_string_equal(change->units[0]->name, "web.service");
        assert_string_equal(change->units[0]->node, "one");
        assert_int_equal(change->units[0]->status, 0);
        assert_int_equal(change->units[1]->status, ENOENT);
        assert_string_equal(change->units[1]->message, "this node does not hold it");
        assert_false(pid1_is_active(pid1, "web.service"));
}

static void a_local_stop_of_nothing_that_is_held_is_answered_at_once(void **state) {
        assert_int_equal(ask_stop(two + 1, 1), 0);
        assert_true(is_final());
        assert_int_equal(last()->change->units[0]->status, ENOENT);
        assert_int_equal(cancel, 0);
}

static void a_local_stop_without_systemd_did_not_end_well(void **state) {
        pid1_hold_jobs(pid1, true);
        assert_int_equal(ask_stop(one, 1), 0);
        pid1_disconnect(pid1);
        assert_true(is_final());
        assert_int_equal(last()->change->units[0]->status, EIO);
        assert_string_equal(last()->change->units[0]->message, "the stop job did not end well");
        forget_answers();
        assert_int_equal(ask_stop(one, 1), 0);
        assert_true(is_final());
        assert_int_equal(last()->change->units[0]->status, ENOTCONN);
}

// ---- ends

static void a_manager_that_is_detached_ends_its_calls(void **state) {
        pid1_hold_jobs(pid1, true);
        for (int i = 0; i < 3; i++)
                assert_int_equal(ask_status(NODE, one, 1, 0, &n_answers), 0);
        agent_calls_drop_node(w.agent->system);
        assert_int_equal(n_answers, 3);
        for (size_t i = 0; i < n_answers; i++) {
                assert_true(answers[i]->final);
                assert_int_equal(answers[i]->status, ECONNRESET);
                assert_string_equal(answers[i]->message, "the manager was detached");
        }
        assert_int_equal(w.agent->n_calls, 0);
        pid1_hold_jobs(pid1, false);
}

static void an_agent_that_ends_says_nothing_more(void **state) {
        assert_int_equal(ask_status(0, one, 1, 0, NULL), 0);
        loop_until(reader);
        agent_down();
        assert_null(reader);
        assert_int_equal(n_answers, 0);
}

// ---- what is held

static void held_units_are_listed_with_what_systemd_knows_of_them(void **state) {
        Argosy__Response rows = ARGOSY__RESPONSE__INIT;
        unsigned seen = 0;

        order_and_wait((Order){.name = "idle.service", .content = web2, .loaded_only = true, .revision = 6});
        agent_unit_find(w.agent->system, "idle.service")->hidden = ARGOSY__LOAD_STATE__LOAD_MASKED;
        write_foreign("theirs.service");
        send_order((Order){.name = "theirs.service", .content = web, .revision = 7, .start = 7});
        loop_until(answered("theirs.service", 7)); // refused, so not held
        agent_local_units(w.agent, &rows);
        assert_int_equal(rows.what_case, ARGOSY__RESPONSE__WHAT_UNITS);
        assert_int_equal(rows.units->n_rows, 2);
        for (size_t i = 0; i < rows.units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = rows.units->rows[i];

                assert_string_equal(row->node, "one");
                assert_int_equal(strlen(row->spec), 2 * HASH_SIZE);
                if (streq(row->unit, "web.service")) {
                        assert_string_equal(row->load, "loaded");
                        assert_string_equal(row->active, "active");
                        seen |= 1;
                } else {
                        assert_string_equal(row->unit, "idle.service");
                        assert_string_equal(row->load, "masked"); // although systemd was not asked
                        assert_string_equal(row->active, "inactive");
                        assert_string_equal(row->sub, "dead");
                        seen |= 2;
                }
        }
        assert_int_equal(seen, 3);
        agent_local_units_drop(w.agent);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

RUN_TESTS(
        WORLD_TEST(what_cannot_be_asked_is_refused_without_a_reply),
        WORLD_TEST(calls_have_a_limit),
        WORLD_TEST(a_status_answers_for_each_name_in_turn),
        WORLD_TEST(whoever_is_answered_may_cancel_the_rest),
        WORLD_TEST(after_a_cancel_there_is_no_reply),
        WORLD_TEST(without_systemd_a_status_ends_with_an_error),
        WORLD_TEST(a_status_is_worth_showing_without_a_journal),
        WORLD_TEST(a_status_says_why_a_unit_is_not_as_wanted),
        WORLD_TEST(journal_lines_travel_as_they_come),
        WORLD_TEST(a_journal_that_may_not_be_read_is_an_error),
        WORLD_TEST(a_host_reads_the_journal_of_what_it_holds),
        WORLD_TEST(a_local_stop_answers_for_every_unit),
        WORLD_TEST(a_local_stop_of_nothing_that_is_held_is_answered_at_once),
        WORLD_TEST(a_local_stop_without_systemd_did_not_end_well),
        WORLD_TEST(a_manager_that_is_detached_ends_its_calls),
        WORLD_TEST(an_agent_that_ends_says_nothing_more),
        WORLD_TEST(held_units_are_listed_with_what_systemd_knows_of_them)
)
