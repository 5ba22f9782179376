// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How jobs of many units end: those that are several entries of the log, and those whose record cannot name
// all.
#include "leader-asks.h"
#include "messages.h"
#include "open-jobs-words.h"
#include "printed.h"

// ----------------------------------------------------------------------------------------------- many units

static char names[MANY][32], *pointers[MANY];

// if_revision 0: whatever they are.
static RigAnswer *change_many(Argosy__Verb verb, uint64_t if_revision) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {4711, 99};

        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.verb = verb;
        m.names = pointers;
        m.n_names = MANY;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        m.files = &files;
        m.n_files = 1;
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        request.job = &job;
        return rig_ask(&g, &request);
}

static RigAnswer *start_many(void) {
        return change_many(START, 0);
}

static RigAnswer *begin_a_part_of_many(Argosy__Verb verb, uint64_t if_revision) {
        g.slow = true;
        RigAnswer *a = change_many(verb, if_revision);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        return a;
}

static void lose_the_leader(void) {
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
}

static void all_parts_of_a_job_have_to_end(void **state) {
        rig_set_lazy(&g, true);
        RigAnswer *a = start_many();
        rig_settle(&g);
        assert_true(a->final);
        a = wait_for(rig_last_job(&g));
        assert_int_equal(rig_last(a)->progress->remaining, MANY);
        rig_host(&g, 1)->lazy = rig_host(&g, 2)->lazy = false;
        rig_settle(&g);
        assert_false(a->final);
        assert_in_range(rig_last(a)->progress->remaining, 1, MANY - 1);
        rig_set_lazy(&g, false);
        assert_true(a->final);
        const Argosy__Response__JobRow *row = rig_last(a)->jobs->rows[0];
        assert_string_equal(row->state, "done");
        assert_int_equal(row->changed, MANY);
        assert_int_equal(row->n_ends, 0);
}

static void what_was_begun_and_comes_again_is_one_job_that_ends_once(void **state) {
        (void) begin_a_part_of_many(START, 0);
        uint64_t job = rig_last_job(&g);
        lose_the_leader();
        rig_pass_ms(&g, 10 * LATER_MS);
        assert_int_equal(state_of(job), RUNNING); // its client may come again
        (void) start_many();
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(rig_last_job(&g), job);
        assert_int_equal(state_of(job), DONE);
}

// All that there is of it is as it was to be, and it is not all.
static void assert_partial(uint64_t job) {
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);

        assert_string_equal(row->state, "failed");
        assert_int_equal(row->failed, 0);
        assert_in_range(row->changed, 1, MANY - 1);
        assert_non_null(strstr(row->message, "only a part of it was carried out"));
}

static void what_nobody_goes_on_with_has_failed(void **state) {
        static const Argosy__Verb verbs[] = {START, SUBMIT};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                if (i > 0) {
                        rig_stop(&g);
                        (void) setup(NULL);
                }
                (void) begin_a_part_of_many(verbs[i], 0);
                uint64_t job = rig_last_job(&g);
                lose_the_leader();
                assert_int_equal(state_of(job), RUNNING);
                rig_pass_ms(&g, 62 * 1000);
                assert_partial(job);
                (void) change_many(verbs[i], 0); // late
                rig_settle(&g);
                rig_pass_ms(&g, LATER_MS);
                assert_int_equal(rig_last_job(&g), job);
                const Argosy__Response__JobRow *row = rig_show_job(&g, job);
                assert_string_equal(row->state, "done");
                assert_int_equal(row->changed, MANY);
                assert_null(strstr(row->message, "only a part"));
        }
}

static void what_is_refused_in_the_middle_has_failed(void **state) {
        (void) rig_change_many(&g, SUBMIT, "w", MANY, SERVICE);
        rig_pass_ms(&g, 62 * 1000);
        RigAnswer *a = begin_a_part_of_many(START, 0);
        uint64_t job = rig_last_job(&g);
        rig_hurry(&g);
        g.batch_max = 1;
        rig_settle(&g);
        g.batch_max = 0;
        assert_true(a->final);
        assert_replies(rig_last(a), E2BIG, "changed before, the others were not");
        rig_pass_ms(&g, LATER_MS);
        assert_partial(job);
}

// --------------------------------------------------------------------------------- more than a record names

enum { LONG_NAMES = 5500, LONG_NAME = 200 };

static char texts[LONG_NAMES][LONG_NAME + 32], *all[LONG_NAMES];

static RigAnswer *change_long_names(Argosy__Verb verb, uint64_t number) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {number, 99};

        for (size_t i = 0; i < LONG_NAMES; i++) {
                snprintf(texts[i], sizeof(texts[i]), "w@%0*zu.service", LONG_NAME, i);
                all[i] = texts[i];
        }
        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.verb = verb;
        m.names = all;
        m.n_names = LONG_NAMES;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        m.files = &files;
        m.n_files = verb == START ? 1 : 0;
        return rig_ask_and_settle(&g, &request);
}

static void of_units_that_its_record_cannot_name_nobody_says_that_they_are_done(void **state) {
        const Argosy__Response__UnitResult *last = NULL;

        (void) change_long_names(START, 4711);
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, rig_last_job(&g));
        assert_true(row->cut);
        assert_string_equal(row->state, "failed");
        assert_non_null(strstr(row->message, "more units than"));
        // Nor to who asks again: the last of them is one that the record has no room for.
        RigAnswer *again = change_long_names(START, 4711);
        for (size_t i = 0; i < again->n; i++) {
                const Argosy__Response *r = again->responses[i];

                if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                        continue;
                for (size_t u = 0; u < r->change->n_units; u++)
                        if (streq(r->change->units[u]->name, texts[LONG_NAMES - 1]))
                                last = r->change->units[u];
        }
        assert_non_null(last);
        assert_non_null(strstr(last->message, "is not kept"));
        assert_int_equal(last->status, ENODATA);
}

// The rollout's record says how it ended, whatever the job's has room for.
static void an_update_of_more_units_than_its_record_names_is_done(void **state) {
        (void) change_long_names(START, 4711);
        (void) rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                            .name = "w@.service",
                                            .content = SERVICE "RestartSec=7\n",
                                            .max = 100,
                                            .percent = true});
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, rig_last_job(&g));
        assert_string_equal(row->verb, "update");
        assert_true(row->cut);
        assert_string_equal(row->message, "");
        assert_string_equal(row->state, "done");
}

static void keep_one_mib_of_history(void) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .history_mib = 1);

        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(QUEUE_CHANGE, queue_change, &m)))->status,
                         0);
}

// That it was carried out is known by its id, and no more than that.
static void of_a_job_that_is_not_kept_who_asks_again_is_told_no_end(void **state) {
        enum { JOBS = 8 };
        uint64_t id[2] = {4712, 99}, job;

        keep_one_mib_of_history();
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "a.service", SERVICE, false, (const uint8_t *) id);
        job = rig_last(a)->job;
        rig_pass_ms(&g, LATER_MS);
        for (unsigned i = 0; i < JOBS && state_of(job) != ARGOSY__JOB_STATE__JOB_UNKNOWN; i++) {
                (void) change_long_names(i % 2 ? STOP : START, 5000 + i);
                rig_pass_ms(&g, LATER_MS);
        }
        assert_int_equal(state_of(job), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        a = rig_change_with_and_settle(&g, START, "a.service", SERVICE, false, (const uint8_t *) id);
        const Argosy__Response__UnitResult *told = rig_last(a)->change->units[0];
        assert_int_equal(rig_last(a)->job, job);
        assert_int_equal(told->status, ENODATA);
        assert_true(told->repeated);
        assert_non_null(strstr(told->message, "how it ended is not known"));
}

// ------------------------------------------------------------------------------------ one thing at a time

enum { JOBS_AT_ONCE = 12 };

// No node takes their units, and the log is told of that a second later.
static void start_without_a_node(uint64_t jobs[JOBS_AT_ONCE]) {
        RigAnswer *answers[JOBS_AT_ONCE];

        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        for (uint32_t host = 2; host <= 3; host++)
                rig_host_off(&g, host);
        rig_pass_ms(&g, 60 * 1000);
        for (size_t i = 0; i < JOBS_AT_ONCE; i++)
                answers[i] = rig_change_with(&g, START, printed("w%zu.service", i), SERVICE, false, NULL);
        rig_settle(&g);
        for (size_t i = 0; i < JOBS_AT_ONCE; i++)
                jobs[i] = rig_last(answers[i])->job;
}

// Units get nodes when the hosts are back, and jobs end: that is one entry, if it has room for them.
static void what_is_due_at_once_is_decided_however_little_an_entry_holds(void **state) {
        enum { LEAST = 300, MOST = 3000, STEP = 300 };
        uint64_t jobs[JOBS_AT_ONCE];

        for (size_t max = LEAST; max <= MOST; max += STEP) {
                start_without_a_node(jobs);
                g.batch_max = max;
                for (uint32_t host = 2; host <= 3; host++)
                        rig_host_on(&g, host, false);
                rig_pass_ms(&g, 3 * LATER_MS);
                for (size_t i = 0; i < JOBS_AT_ONCE; i++) {
                        assert_int_equal(rig_count_running(&g, printed("w%zu.service", i)), 1);
                        assert_int_not_equal(state_of(jobs[i]), RUNNING);
                }
                assert_false(g.leader->one_by_one);
                rig_stop(&g);
                (void) setup(NULL);
        }
}

RUN_TESTS(
        TEST(all_parts_of_a_job_have_to_end),
        TEST(what_was_begun_and_comes_again_is_one_job_that_ends_once),
        TEST(what_nobody_goes_on_with_has_failed),
        TEST(what_is_refused_in_the_middle_has_failed),
        TEST(of_a_job_that_is_not_kept_who_asks_again_is_told_no_end),
        TEST(of_units_that_its_record_cannot_name_nobody_says_that_they_are_done),
        TEST(an_update_of_more_units_than_its_record_names_is_done),
        TEST(what_is_due_at_once_is_decided_however_little_an_entry_holds)
)
