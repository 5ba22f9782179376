// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A job of more units than one entry of the log takes.
#include "jobs-words.h"
#include "messages.h"

enum { MANY = 600 }; // more than are one entry

static char names[MANY][32], *pointers[MANY];

static RigAnswer *ask_many(Argosy__Verb verb, uint64_t if_revision) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {4711 + (uint64_t) verb, 99};

        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = verb;
        change.names = pointers;
        change.n_names = MANY;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        change.files = &files;
        change.n_files = verb == START;
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        request.job = &job;
        return rig_ask(&g, &request);
}

static RigAnswer *start_many(void) {
        return ask_many(START, 0);
}

static size_t n_known(void) {
        return cluster_state_n_units(g.state);
}

static void what_goes_into_the_log_in_parts_is_one_job(void **state) {
        RigAnswer *a = start_many();

        rig_settle(&g);
        assert_int_equal(rig_last(a)->job, rig_last_job(&g));
        assert_int_equal(rig_show_job(&g, rig_last_job(&g))->changed, MANY);
        assert_int_equal(rig_show_job(&g, rig_last_job(&g))->n_targets, 16);
        assert_int_equal(rig_show_job(&g, rig_last_job(&g))->more_targets, MANY - 16);
}

static void it_stays_one_job_under_the_next_leader(void **state) {
        g.slow = true;
        (void) start_many();
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        uint64_t n = rig_last_job(&g);
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(n_known(), 1, MANY - 1);
        assert_int_equal(rig_show_job(&g, n)->changed, n_known());
        RigAnswer *a = start_many();
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(a)->job, n);
        assert_int_equal(rig_last_job(&g), n);
        assert_int_equal(rig_show_job(&g, n)->changed, MANY);
}

static void commit_one_entry(void) {
        for (unsigned committed = g.batches; g.batches == committed;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
}

// What somebody changes while the others of the request are being changed is left as it is.
static void a_revision_binds_each_part(void **state) {
        (void) start_many();
        rig_settle(&g);
        uint64_t seen = cluster_state_revision(g.state);
        g.slow = true;
        RigAnswer *a = ask_many(STOP, seen);
        commit_one_entry();
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_RESTART, names[MANY - 1], NULL, false,
                               (uint8_t[16]){7});
        rig_hurry_and_settle(&g);
        uint64_t theirs = rig_record(&g, names[MANY - 1])->restart_rev;
        assert_true(theirs > seen);
        assert_int_equal(rig_record(&g, names[MANY - 1])->target, ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_int_equal(rig_record(&g, names[0])->target, ARGOSY__TARGET__TARGET_LOADED);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(a)->change->n_units, MANY);
        assert_int_equal(rig_last(a)->change->units[MANY - 1]->status, ESTALE);
        assert_string_equal(rig_last(a)->change->units[MANY - 1]->name, names[MANY - 1]);
        assert_int_equal(rig_record(&g, names[MANY - 2])->target, ARGOSY__TARGET__TARGET_LOADED);
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, rig_last(a)->job)->state, "failed");
        assert_int_equal(rig_show_job(&g, rig_last(a)->job)->failed, 1);
        a = ask_many(STOP, seen); // the answer was lost
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_record(&g, names[MANY - 1])->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static void units_are_told_some_at_a_time(void **state) {
        const Argosy__Response__JobRow *job;
        size_t n = 0;

        (void) start_many();
        rig_settle(&g);
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.number = rig_last_job(&g));
        do {
                list.first_unit = (uint32_t) n;
                job = rig_last(rig_list_jobs(&g, &list))->jobs->rows[0];
                assert_true(job->n_units > 0 && job->n_units <= 256);
                assert_string_equal(job->units[0]->unit, names[n]);
                n += job->n_units;
                assert_int_equal(job->more_units, MANY - n);
        } while (job->more_units > 0);
        assert_int_equal(n, MANY);
}

RUN_TESTS(TEST(what_goes_into_the_log_in_parts_is_one_job), TEST(it_stays_one_job_under_the_next_leader),
          TEST(a_revision_binds_each_part), TEST(units_are_told_some_at_a_time))
