// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How far a journal is read for somebody who takes its lines slowly, or not at all. PID 1 is in memory, and
// so is the journal: its reader hands over a batch whenever the test lets it, unless it is held.
#include "agent-rig.h"

#include "agent-private.h"
#include "fake-pid1.h"
#include "feature-level.h"
#include "flow-window.h"
#include "journal.h"
#include "messages.h"

enum { LINE = 1023, CALL = 77, WINDOW = 64 * 1024 }; // LINE: bytes of a line without its end

static FakePid1 *pid1;

static struct JournalReader {
        JournalOps ops;
        void *userdata;
        bool held, closed;
        size_t batch_bytes, n_lines; // n_lines: that were handed over
        char line[LINE + 1];
} reader;

int __wrap_journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *ops,
                              void *userdata, JournalReader **ret);
void __wrap_journal_reader_hold(JournalReader *r, bool hold);
void __wrap_journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata);

int __wrap_journal_reader_new(uv_loop_t *loop, const JournalQuestion *q, const JournalOps *o, void *userdata,
                              JournalReader **ret) {
        reader = (JournalReader){.ops = *o, .userdata = userdata, .batch_bytes = q->batch_bytes};
        memset(reader.line, 'x', LINE);
        *ret = &reader;
        return 0;
}

void __wrap_journal_reader_hold(JournalReader *r, bool hold) {
        r->held = hold;
}

void __wrap_journal_reader_close(JournalReader *r, void (*closed)(void *userdata), void *userdata) {
        r->closed = true;
        closed(userdata);
}

FIXTURE(world_up) {
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
}

static int world_down(void **state) {
        agent_down();
        pid1 = pid1_free(pid1);
        return rig_down();
}

static void ask_as(uint32_t window, bool says_read) {
        Argosy__Request__Journal journal = JOURNAL_OF(.name = "web.service", .lines = 100000,
                                                      .window = window, .says_read = says_read);
        Argosy__Request request = REQUEST_OF(JOURNAL, journal, &journal);
        Argosy__ToHost__Call call = CALL_OF(.id = CALL, .node = NODE, .request = &request);

        agent_on_message(w.agent, A_TO_HOST(CALL, call, &call));
}

static void ask(uint32_t window) {
        ask_as(window, false);
}

static void taken(uint64_t id, uint64_t mark) {
        Argosy__ToHost__CallTaken t = MESSAGE_OF(to_host__call_taken, .id = id, .mark = mark);

        agent_on_message(w.agent, A_TO_HOST(CALL_TAKEN, call_taken, &t));
}

// The reader goes on until it is held, but for `max` lines at most; the newest mark that came with them.
static uint64_t read_on(size_t max) {
        char *batch[] = {reader.line, reader.line, reader.line, reader.line};
        uint64_t mark = 0;

        for (size_t n = 0; n < max && !reader.held; n += ELEMENTSOF(batch)) {
                reader.n_lines += ELEMENTSOF(batch);
                reader.ops.lines(batch, ELEMENTSOF(batch), reader.userdata);
                assert_int_equal(w.call_reply->call_reply->id, CALL);
                mark = w.call_reply->call_reply->response->journal->mark ?: mark;
        }
        return mark;
}

static void a_reader_waits_when_nobody_takes_its_lines(void **state) {
        ask(WINDOW);
        uint64_t mark = read_on(100000);
        assert_true(reader.held);
        assert_int_equal(reader.n_lines, WINDOW / (LINE + 1));
        assert_true(mark > 0);
        taken(CALL + 1, mark); // another one's
        assert_true(reader.held);
        taken(CALL, mark);
        assert_false(reader.held);
        (void) read_on(100000);
        assert_int_equal(reader.n_lines, 2 * WINDOW / (LINE + 1));
}

static void a_reader_that_is_heard_in_time_is_never_held(void **state) {
        ask(WINDOW);
        while (reader.n_lines < 10000) {
                uint64_t mark = read_on(4);

                assert_false(reader.held);
                if (mark)
                        taken(CALL, mark);
        }
}

static void an_asker_who_offers_no_window_gets_everything_at_once(void **state) {
        ask(0);
        assert_int_equal(read_on(10000), 0);
        assert_int_equal(reader.n_lines, 10000);
        assert_int_equal(reader.batch_bytes, 0);
}

static void a_small_window_has_small_batches(void **state) {
        ask(FLOW_WINDOW_SHARE_MIN);
        assert_int_equal(reader.batch_bytes, FLOW_WINDOW_SHARE_MIN);
}

static size_t lines_of_reply(void) {
        return w.call_reply->call_reply->response->journal->n_lines;
}

static void who_wants_to_know_is_told_once_that_it_is_read(void **state) {
        char *batch[] = {reader.line};

        ask(WINDOW);
        reader.ops.read(reader.userdata);
        assert_null(w.call_reply); // he did not
        ask_as(WINDOW, true);
        reader.ops.read(reader.userdata);
        assert_int_equal(lines_of_reply(), 0);
        reader.ops.lines(batch, 1, reader.userdata);
        reader.ops.read(reader.userdata);
        assert_int_equal(lines_of_reply(), 1);
        ask_as(WINDOW, true);
        reader.ops.lines(batch, 1, reader.userdata);
        reader.ops.read(reader.userdata);
        assert_int_equal(lines_of_reply(), 1); // he knows
}

static void a_reader_that_waits_ends_when_its_asker_goes(void **state) {
        Argosy__ToHost__CallCancel cancel = MESSAGE_OF(to_host__call_cancel, .id = CALL);

        ask(WINDOW);
        (void) read_on(100000);
        agent_on_message(w.agent, A_TO_HOST(CALL_CANCEL, call_cancel, &cancel));
        assert_true(reader.closed);
        taken(CALL, UINT64_MAX); // on its way when that was said
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

RUN_TESTS(
        CASE(a_reader_waits_when_nobody_takes_its_lines),
        CASE(a_reader_that_is_heard_in_time_is_never_held),
        CASE(an_asker_who_offers_no_window_gets_everything_at_once),
        CASE(a_small_window_has_small_batches),
        CASE(who_wants_to_know_is_told_once_that_it_is_read),
        CASE(a_reader_that_waits_ends_when_its_asker_goes)
)
