// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A large request goes into the log chunk by chunk: what is put into an entry, what is done at once, and
// what the client hears when. Nothing else of the leader runs: the test plans, and says what became of the
// entry.
#include "test.h"

#include "leader-tables.h"
#include "log-chunks.h"
#include "messages.h"
#include "response.h"
#include "str.h"
#include "pending-requests.h"

static Tables t;
static Decision d;
static PendingRequest *pending;
static uint8_t id[16] = {1, 2, 3};
static char heard[1024]; // of each response: its first place, its units, and a point if it is the last

static void on_response(const Argosy__Response *response, void *userdata) {
        size_t len = strlen(heard);

        assert_int_equal(response->status, 0);
        len += (size_t) snprintf(heard + len, sizeof(heard) - len, "[%u:", response->change->first);
        for (size_t i = 0; i < response->change->n_units; i++) {
                assert_int_equal(response->change->units[i]->revision, cluster_state_revision(t.state));
                len += (size_t) snprintf(heard + len, sizeof(heard) - len, " %s",
                                         response->change->units[i]->name);
        }
        snprintf(heard + len, sizeof(heard) - len, "]%s", response->final ? "." : "");
}

FIXTURE(setup) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        tables_start(&t, 1);
        d = (Decision){.leader = t.leader};
        heard[0] = '\0';
        Argosy__Request__Change change = MESSAGE_OF(request__change, .verb = ARGOSY__VERB__VERB_START,
                                                    .id = (ProtobufCBinaryData){sizeof(id), id});
        pending = request_new(t.leader, A_REQUEST(CHANGE, change, &change), on_response, NULL);
        assert_non_null(pending);
        pending->author = message_copy(&author);
        assert_int_equal(log_chunk_begin(pending), 0);
}

FIXTURE(teardown) {
        batch_builder_done(&d.batch);
        tables_stop(&t);
}

// The units up to `end`, of which the first `n` are stored.
static int plan(size_t end, bool last, size_t n) {
        BatchBuilderMark mark = batch_builder_mark(&d.batch);
        LogChunks *p = log_chunk_of(pending);

        log_chunk_take(p, end, last);
        assert_null(p->answer);
        p->answer = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        for (size_t i = p->at; i < end; i++) {
                _cleanup_free_ char *name = str_printf("u%zu", i);

                assert_int_equal(FIELD_APPEND(p->answer->change->units, p->answer->change->n_units,
                                              unit_result_new(name)),
                                 0);
                if (i < p->at + n)
                        assert_int_equal(batch_builder_remove_unit(&d.batch, name), 0);
        }
        return log_chunk_put(&d, pending, mark);
}

// The log has the entry, as decide.c says so.
static void commit(void) {
        bool again = pending->again;

        batch_builder_done(&d.batch);
        d.batch = (BatchBuilder){};
        assert_non_null(pending->committed);
        request_on_committed(pending);
        if (!again)
                request_settle(pending, request_take_prepared(pending));
        responses_flush(t.leader);
}

static void each_part_is_answered_as_the_log_has_it(void **state) {
        assert_int_equal(plan(3, false, 2), PLAN_IN_BATCH);
        assert_true(pending->again);
        assert_string_equal(heard, "");
        commit();
        assert_true(pending->made);
        assert_int_equal(pending->n_kept, 2);
        assert_string_equal(heard, "[0: u0 u1 u2]");
        assert_int_equal(plan(4, false, 0), PLAN_SETTLED);
        assert_int_equal(plan(6, false, 2), PLAN_IN_BATCH);
        commit();
        assert_int_equal(pending->n_kept, 4);
        assert_int_equal(plan(7, true, 1), PLAN_IN_BATCH);
        assert_false(pending->again);
        commit();
        assert_string_equal(heard, "[0: u0 u1 u2][3: u3][4: u4 u5][6: u6].");
}

static void what_has_nothing_to_store_needs_no_entry(void **state) {
        assert_int_equal(plan(2, false, 0), PLAN_SETTLED);
        assert_null(pending->committed);
        assert_int_equal(plan(3, true, 0), PLAN_SETTLED);
        assert_false(pending->made);
        responses_flush(t.leader);
        assert_string_equal(heard, "[0: u0 u1][2: u2].");
}

// The log has a chunk of it and waits for more: an entry says that there is none.
static void the_end_of_what_was_begun_is_an_entry_of_its_own(void **state) {
        Batch b = {};

        batch_unit(&b, "u0", "[Service]\n", (UnitPut){});
        batch_job(&b, (JobPut){.n_ops = 2, .more = true, .id = id})->state = ARGOSY__JOB_STATE__JOB_RUNNING;
        tables_apply(&t, &b);
        pending->job = cluster_state_last_job(t.state);
        assert_true(request_has_open_job(pending));
        assert_int_equal(plan(1, false, 0), PLAN_SETTLED);
        assert_int_equal(plan(2, true, 0), PLAN_IN_BATCH);
        commit();
        assert_string_equal(heard, "[0: u0][1: u1].");
}

static void what_was_not_taken_is_planned_anew(void **state) {
        assert_int_equal(plan(2, false, 2), PLAN_IN_BATCH);
        commit();
        assert_int_equal(plan(4, true, 2), PLAN_IN_BATCH);
        batch_builder_done(&d.batch);
        d.batch = (BatchBuilder){};
        request_when_committed(pending, NULL, pending->again); // as decide.c does it
        assert_int_equal(plan(3, false, 1), PLAN_IN_BATCH); // there are more by now
        assert_true(pending->again);
        commit();
        assert_int_equal(pending->n_kept, 3);
        assert_int_equal(plan(5, true, 2), PLAN_IN_BATCH);
        commit();
        assert_string_equal(heard, "[0: u0 u1][2: u2][3: u3 u4].");
}

static void what_does_not_fit_behind_others_is_for_the_next_entry(void **state) {
        static uint8_t content[STORE_BATCH_MAX];
        BatchBuilderMark none = batch_builder_mark(&d.batch), behind;
        Hash hash = hash_of("content", 7);

        assert_int_equal(batch_builder_remove_unit(&d.batch, "of-others"), 0);
        behind = batch_builder_mark(&d.batch);
        assert_true(log_chunk_fit(&d, behind));
        assert_int_equal(
                batch_builder_put_spec(&d.batch, &hash, content, sizeof(content) - ENTRY_SPARE_BYTES), 0);
        assert_false(log_chunk_fit(&d, behind));
        // there are no others: it would not fit into the next one either
        assert_true(log_chunk_fit(&d, none));
        request_free(pending);
}

static void what_was_begun_goes_with_its_request(void **state) {
        assert_int_equal(plan(2, false, 1), PLAN_IN_BATCH);
        assert_int_equal(log_chunk_begin(pending), 0); // is begun only once
        assert_int_equal(log_chunk_of(pending)->end, 2);
        request_free(pending);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(each_part_is_answered_as_the_log_has_it),
        TEST(what_has_nothing_to_store_needs_no_entry),
        TEST(the_end_of_what_was_begun_is_an_entry_of_its_own),
        TEST(what_was_not_taken_is_planned_anew),
        TEST(what_does_not_fit_behind_others_is_for_the_next_entry),
        TEST(what_was_begun_goes_with_its_request)
)
