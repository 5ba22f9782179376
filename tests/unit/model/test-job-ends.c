// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How jobs end in the log: once, the same on every voter, and none is dropped before.
#include "jobs-words.h"

#include "job-state.h"

#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED

static const uint64_t day_us = UINT64_C(86400) * 1000000;

static void put_jobs_in(ClusterState *s, size_t n, uint64_t at_us, Argosy__JobState state) {
        Batch b = {};

        argosy__log_batch__init(&b.log);
        for (size_t i = 0; i < n; i++)
                batch_job(&b, (JobPut){.verb = "start"})->state = state;
        batch_set_time(&b, s, at_us);
        apply(s, &b);
        cluster_state_drop_dirty(s);
}

typedef struct End {
        uint64_t number;
        Argosy__JobState state;
        uint64_t ended_us;
        const char *unit; // that failed; NULL: none
} End;

static void end_job(ClusterState *s, End e) {
        Argosy__LogOp__JobEnds ends = ARGOSY__LOG_OP__JOB_ENDS__INIT;
        Argosy__JobUnitEnd unit = ARGOSY__JOB_UNIT_END__INIT, *units = &unit;
        Argosy__JobRecord record = JOB_RECORD_OF(.number = e.number, .state = e.state,
                                                 .ended_us = e.ended_us),
                          *records = &record;
        Batch b = {};

        if (e.unit) {
                unit.unit = (char *) e.unit;
                unit.end = ARGOSY__UNIT_END__END_FAILED;
                unit.node = (char *) "n2";
                unit.message = (char *) "exit-code";
                record.ends = &units;
                record.n_ends = 1;
                record.failed = 1;
        }
        record.verb = (char *) "is not looked at";
        ends.ends = &records;
        ends.n_ends = 1;
        batch_op(&b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = &ends;
        apply(s, &b);
}

// ------------------------------------------------------------------------------------------------ ends

static void a_job_ends_once(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us + 5, RUNNING);
        assert_int_equal(cluster_state_job_state(g.s, 1), RUNNING);
        end_job(g.s, (End){1, FAILED, day_us + 9, "a.service"});
        end_job(g.s, (End){1, DONE, day_us + 99, NULL}); // by a leader that has not heard
        assert_int_equal(cluster_state_job_state(g.s, 1), FAILED);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_job_state(g.s, 1), FAILED);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->ended_us, day_us + 9);
        assert_int_equal(record->at_us, day_us + 5);
        assert_string_equal(record->verb, "start");
        assert_int_equal(record->failed, 1);
        assert_int_equal(record->n_ends, 1);
        assert_string_equal(record->ends[0]->unit, "a.service");
        assert_string_equal(record->ends[0]->node, "n2");
}

static void which_have_ended_is_said_once(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 2, day_us + 5, RUNNING);
        assert_int_equal(cluster_state_next_ended_job(g.s), 0);
        end_job(g.s, (End){2, DONE, day_us + 9, NULL});
        end_job(g.s, (End){2, DONE, day_us + 9, NULL});
        end_job(g.s, (End){1, FAILED, day_us + 9, "a.service"});
        assert_int_equal(cluster_state_next_ended_job(g.s), 2);
        assert_int_equal(cluster_state_next_ended_job(g.s), 1);
        assert_int_equal(cluster_state_next_ended_job(g.s), 0);
        put_jobs_in(g.s, 1, day_us + 5, RUNNING);
        end_job(g.s, (End){3, DONE, day_us + 9, NULL});
        cluster_state_drop_dirty(g.s);
        assert_int_equal(cluster_state_next_ended_job(g.s), 0);
}

// As the removal of a host does: what it asks for ends it.
static void one_that_ends_with_its_last_part_is_said_to_have_ended(void **state) {
        Argosy__JobState states[] = {RUNNING, DONE, DONE};

        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us + 5, RUNNING);
        for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
                Batch b = {};

                argosy__log_batch__init(&b.log);
                batch_job(&b, (JobPut){.verb = "cluster remove", .number = 1})->state = states[i];
                batch_set_time(&b, g.s, day_us + 9);
                apply(g.s, &b);
                assert_int_equal(cluster_state_next_ended_job(g.s), i == 1 ? 1 : 0);
                assert_int_equal(cluster_state_next_ended_job(g.s), 0);
        }
}

static void what_is_no_running_job_does_not_end(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us, ARGOSY__JOB_STATE__JOB_UNKNOWN); // of a build that wrote no ends
        end_job(g.s, (End){1, DONE, 9, NULL});
        assert_int_equal(cluster_state_job_state(g.s, 1), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        end_job(g.s, (End){2, DONE, 9, NULL}); // there is none
        put_jobs_in(g.s, 1, day_us, RUNNING);
        assert_int_equal(cluster_state_job_state(g.s, 2), RUNNING);
        end_job(g.s, (End){2, RUNNING, 9, NULL}); // no end
        assert_int_equal(cluster_state_job_state(g.s, 2), RUNNING);
}

static void what_ends_with_its_effect_says_when(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us + 7, DONE);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->state, DONE);
        assert_int_equal(record->ended_us, day_us + 7);
}

// Its client has come again when its leader had given it up.
static void a_part_that_comes_later_opens_it_again(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us, RUNNING);
        end_job(g.s, (End){1, DONE, 9, NULL});
        batch_job(&g.b, (JobPut){.number = 1})->state = RUNNING;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_job_state(g.s, 1), RUNNING);
        end_job(g.s, (End){1, FAILED, 10, NULL});
        assert_int_equal(cluster_state_job_state(g.s, 1), FAILED);
        assert_int_equal(cluster_state_last_job(g.s), 1);
}

// Who reads a snapshot sees them as they were.
static void a_snapshot_does_not_see_an_end(void **state) {
        _cleanup_buf_ Buf before = {}, then = {};
        ClusterSnapshot *snapshot;
        int r;

        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 3, day_us, RUNNING);
        put_jobs_in(g.s, 3, day_us * (CLUSTER_JOB_DAYS_MAX + 5), RUNNING); // the first three are held
        assert_int_equal(cluster_state_encode(g.s, &before), 0);
        assert_int_equal(cluster_state_snapshot(g.s, &snapshot), 0);
        end_job(g.s, (End){2, DONE, 9, NULL});
        end_job(g.s, (End){5, FAILED, 9, "a.service"});
        put_jobs_in(g.s, 1, day_us * (2 * CLUSTER_JOB_DAYS_MAX + 5), DONE); // and now the others
        ClusterEncoder *encoder = cluster_encoder_new(snapshot);
        assert_non_null(encoder);
        do {
                r = cluster_encoder_next(encoder, &then);
        } while (r == CLUSTER_ENCODER_MORE);
        assert_int_equal(r, 0);
        cluster_encoder_free(encoder);
        cluster_snapshot_unref(snapshot);
        assert_int_equal(before.len, then.len);
        assert_memory_equal(before.data, then.data, before.len);
}

// ------------------------------------------------------------------------------------------------ held

static void a_running_job_is_never_dropped(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 3, day_us, RUNNING);
        end_job(g.s, (End){2, DONE, day_us, NULL});
        put_jobs_in(g.s, 1, day_us * (CLUSTER_JOB_DAYS_MAX + 5), DONE);
        assert_int_equal(cluster_state_first_job(g.s), 4);
        assert_int_equal(cluster_state_job_state(g.s, 1), RUNNING);
        assert_int_equal(cluster_state_job_state(g.s, 2), ARGOSY__JOB_STATE__JOB_UNKNOWN); // it was
        assert_int_equal(cluster_state_job_state(g.s, 3), RUNNING);
        assert_int_equal(cluster_state_job_before(g.s, UINT64_MAX), 4);
        assert_int_equal(cluster_state_job_before(g.s, 4), 3);
        assert_int_equal(cluster_state_job_before(g.s, 3), 1);
        assert_int_equal(cluster_state_job_before(g.s, 1), 0);
        assert_int_equal(cluster_state_job_after(g.s, 0), 1);
        assert_int_equal(cluster_state_job_after(g.s, 1), 3);
        assert_int_equal(cluster_state_job_after(g.s, 3), 4);
        assert_int_equal(cluster_state_job_after(g.s, 4), 0);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_job_state(g.s, 3), RUNNING);
        end_job(g.s, (End){3, DONE, day_us, NULL});
        // with the others of its time
        assert_int_equal(cluster_state_job_state(g.s, 3), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        assert_int_equal(cluster_state_job_state(g.s, 1), RUNNING);
        assert_int_equal(cluster_state_job_before(g.s, 4), 1);
}

static void a_held_job_gets_its_parts(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us, RUNNING);
        put_jobs_in(g.s, 1, day_us * (CLUSTER_JOB_DAYS_MAX + 5), DONE);
        assert_int_equal(cluster_state_first_job(g.s), 2);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .number = 1})->state = RUNNING;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_last_job(g.s), 2);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->n_units, 1);
}

// Also those of which some were held, ended and dropped in between.
static void every_voter_keeps_the_same(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *twin = cluster_state_new();
        ClusterState *s = *state, *both[] = {s, twin};

        for (unsigned v = 0; v < 2; v++) {
                uint64_t random = 7;

                begin_clean(both[v], day_us);
                for (uint64_t i = 0; i < 400; i++) {
                        random = random * 6364136223846793005 + 1442695040888963407;
                        put_jobs_in(both[v], (random >> 33) % 5, day_us + i * day_us / 4, RUNNING);
                        end_job(both[v], (End){1 + (random >> 40) % (cluster_state_last_job(both[v]) + 1),
                                               (random >> 50) % 2 ? DONE : FAILED, i,
                                               (random >> 51) % 2 ? "a.service" : NULL});
                        if (v == 1 && i % 29 == 0)
                                pass_through_image(both[v]);
                }
        }
        assert_true(cluster_state_job_after(s, 0) < cluster_state_first_job(s)); // some are held
        assert_same_image(s, twin);
}

static void an_image_holds_only_what_can_be(void **state) {
        Argosy__JobRecord record = JOB_RECORD_OF(.number = 7);
        uint8_t packed[2][64], out[256];
        ProtobufCBinaryData jobs, held;

        jobs = (ProtobufCBinaryData){.len = argosy__job_record__pack(&record, packed[0]), .data = packed[0]};
        Argosy__StateImage image = MESSAGE_OF(state_image, .jobs = &jobs, .n_jobs = 1, .last_job = 7,
                                              .held_jobs = &held, .n_held_jobs = 1);
        for (record.number = 0; record.number < 9; record.number++)
                for (record.state = RUNNING; record.state <= DONE; record.state++) {
                        bool fits = record.number > 0 && record.number < 7 && record.state == RUNNING;

                        held = (ProtobufCBinaryData){.len = argosy__job_record__pack(&record, packed[1]),
                                                     .data = packed[1]};
                        assert_int_equal(
                                cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)),
                                fits ? 0 : -EBADMSG);
                }
}

// ------------------------------------------------------------------------------------------------ news

static void who_leads_hears_what_was_brought(void **state) {
        Argosy__JobRecord *record;

        begin_clean(g.s, day_us);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .verb = "start"})->state = RUNNING;
        batch_job(&g.b, (JobPut){.verb = "label"})->state = DONE;
        apply(g.s, &g.b);
        const JobNews *news = cluster_state_next_job(g.s);
        assert_int_equal(news->number, 1);
        assert_int_equal(news->from, 0);
        assert_int_equal(cluster_state_job_state(g.s, 1), RUNNING);
        news = cluster_state_next_job(g.s);
        assert_int_equal(news->number, 2);
        assert_int_equal(cluster_state_job_state(g.s, 2), DONE);
        assert_null(cluster_state_next_job(g.s));

        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .number = 1})->state = RUNNING;
        apply(g.s, &g.b);
        news = cluster_state_next_job(g.s);
        assert_int_equal(news->number, 1);
        assert_true(news->from > 0);
        assert_int_equal(cluster_state_read_job_from(g.s, 1, news->from, &record), 0);
        assert_int_equal(record->n_units, 1); // that part alone
        assert_string_equal(record->units[0]->names[0], "b.service");
        message_free(record);
        assert_null(cluster_state_next_job(g.s));
        end_job(g.s, (End){1, DONE, 9, NULL});
        news = cluster_state_next_job(g.s);
        assert_int_equal(news->number, 1);
        assert_true(news->only_state);
        assert_null(cluster_state_next_job(g.s));
}

static void states_are_read_back_from_their_words(void **state) {
        Argosy__JobState read = DONE;

        for (int i = RUNNING; i <= ARGOSY__JOB_STATE__JOB_CANCELLED; i++) {
                const char *word = job_state_to_string((Argosy__JobState) i);

                assert_true(job_state_from_string(word, strlen(word), &read));
                assert_int_equal(read, i);
        }
        assert_false(job_state_from_string("", 0, &read));
        assert_false(job_state_from_string("runnings", 8, &read));
        assert_string_equal(job_state_to_string((Argosy__JobState) 99), "");
        assert_string_equal(unit_end_to_string(ARGOSY__UNIT_END__END_CANCELLED), "cancelled");
        assert_string_equal(unit_end_to_string((Argosy__UnitEnd) -1), "");
}

RUN_TESTS(
        TEST(a_job_ends_once),
        TEST(which_have_ended_is_said_once),
        TEST(one_that_ends_with_its_last_part_is_said_to_have_ended),
        TEST(what_is_no_running_job_does_not_end),
        TEST(what_ends_with_its_effect_says_when),
        TEST(a_part_that_comes_later_opens_it_again),
        TEST(a_snapshot_does_not_see_an_end),
        TEST(a_running_job_is_never_dropped),
        TEST(a_held_job_gets_its_parts),
        TEST(every_voter_keeps_the_same),
        TEST(an_image_holds_only_what_can_be),
        TEST(who_leads_hears_what_was_brought),
        TEST(states_are_read_back_from_their_words)
)
