// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that wait for a person, or for other jobs: once, whatever becomes of leaders, and as if they had just
// been asked for.
#include "messages.h"
#include "queue-words.h"

// ------------------------------------------------------------------------------------------------ by hand

static void a_held_job_begins_when_it_is_released(void **state) {
        unsigned batches;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});

        rig_pass_ms(&g, 10 * LATER_MS);
        assert_null(rig_record(&g, "a.service"));
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "held");
        assert_non_null(strstr(row->held_by, "release"));
        batches = g.batches;
        assert_int_equal(release(job), 0);
        assert_int_equal(g.batches,
                         batches + 2); // the release, and the effect with the end of what was kept
        assert_true(is_launched("a.service"));
        assert_int_equal(n_held(), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        row = rig_show_job(&g, job);
        assert_int_equal(row->changed, 1);
        assert_true(row->asked_us > 0 && row->asked_us <= row->at_us);
        assert_string_equal(row->held_by, "");
        assert_int_equal(release(job), EALREADY);
        assert_int_equal(release(99), ENOENT);
}

// By its number it is older than what it came after.
static void what_began_late_is_listed_by_when_it_began(void **state) {
        const Argosy__Response__Jobs *jobs;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});

        (void) hold((Ask){START, "c.service", SERVICE, .hold = true}); // it never begins
        (void) answer((Ask){START, "b.service", SERVICE});
        uint64_t between = rig_last_job(&g);
        uint64_t then = rig_show_job(&g, between)->revision;
        assert_int_equal(release(job), 0);
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.changes = true, .late_after = then);
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, 1);
        assert_int_equal(jobs->before, 0);
        assert_int_equal(jobs->rows[0]->job, job);
        assert_true(job < between);
        assert_string_equal(jobs->rows[0]->units[0]->unit, "a.service");
        assert_true(jobs->rows[0]->units[0]->revision > then);
        list.begun_before = rig_show_job(&g, job)->revision_before; // it had not begun by then
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 0);
        list.begun_before++;
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 1);
        list.begun_before = 0;
        list.late_after = cluster_state_revision(g.state);
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 0);
}

static void of_what_began_late_only_jobs_in_the_state_asked_for_are_listed(void **state) {
        Argosy__JobState held = HELD, done = DONE;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});

        (void) answer((Ask){START, "b.service", SERVICE});
        uint64_t then = rig_show_job(&g, rig_last_job(&g))->revision;
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.late_after = then, .states = &held, .n_states = 1);
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 0);
        list.states = &done;
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 1);
}

static void nothing_of_it_is_lost_or_done_twice_with_its_leader(void **state) {
        uint64_t job, revision;

        job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        rig_elect_anew(&g);
        assert_int_equal(state_of(job), HELD);
        assert_null(rig_record(&g, "a.service"));
        assert_int_equal(release(job), 0);
        revision = rig_record(&g, "a.service")->revision;
        rig_elect_anew(&g);
        assert_int_equal(rig_record(&g, "a.service")->revision, revision);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

// Its entry was on the way, and is not there, or is.
static void a_leader_that_is_lost_as_it_begins_leaves_it_to_the_next(void **state) {
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});

        assert_int_equal(release(hold((Ask){START, "b.service", SERVICE, .hold = true})), 0);
        (void) ask((Ask){START, "c.service", SERVICE, .after = job});
        g.slow = true;
        (void) ask_to_release(job);
        rig_hurry(&g);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 3 * LATER_MS);
        if (state_of(job) == HELD)
                assert_int_equal(release(job), 0);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_show_job(&g, job)->changed, 1);
        assert_int_equal(n_held(), 0);
}

static void asked_again_it_is_the_same_job(void **state) {
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true, .id = 4444});
        const Argosy__Response *r = answer((Ask){START, "a.service", SERVICE, .hold = true, .id = 4444});

        assert_int_equal(r->job, job);
        assert_true(r->held);
        assert_int_equal(n_held(), 1);
        assert_int_equal(answer((Ask){STOP, "a.service", .id = 4444})->status, EEXIST);
        assert_int_equal(release(job), 0);
        r = answer((Ask){START, "a.service", SERVICE, .id = 4444});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job);
        assert_false(r->held);
}

static void one_that_was_cancelled_before_it_began_is_not_done_when_asked_again(void **state) {
        uint64_t first, job;

        rig_set_lazy(&g, true);
        first = answer((Ask){START, "bad.service", BAD})->job;
        job = hold((Ask){START, "a.service", SERVICE, .after = first, .id = 4444});
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(first), FAILED);
        assert_int_equal(state_of(job), CANCELLED);
        assert_int_equal(answer((Ask){START, "a.service", SERVICE, .id = 4444})->status, ECANCELED);
        assert_null(rig_record(&g, "a.service"));
}

// --------------------------------------------------------------------------------------------- after others

static void a_job_begins_when_those_before_it_are_done(void **state) {
        uint64_t first, second, job;

        rig_set_lazy(&g, true);
        first = answer((Ask){START, "a.service", SERVICE})->job;
        second = hold((Ask){START, "b.service", SERVICE, .hold = true});
        job = hold((Ask){START, "c.service", SERVICE, .after = first, .after_too = second});
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_int_equal(row->n_after, 2);
        assert_string_equal(row->held_by, "job 1 and 1 more");
        row = rig_show_job(&g, first);
        assert_int_equal(row->n_waiting, 1);
        assert_int_equal(row->waiting[0], job);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(first), DONE);
        assert_int_equal(state_of(job), HELD); // the second one has not even begun
        assert_int_equal(release(second), 0);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(second), DONE);
        assert_int_equal(state_of(job), DONE);
        assert_true(rig_record(&g, "c.service")->revision > rig_record(&g, "b.service")->revision);
}

static void a_chain_ends_with_its_first_failure(void **state) {
        uint64_t jobs[4];

        rig_set_lazy(&g, true);
        jobs[0] = answer((Ask){START, "bad.service", BAD})->job;
        for (size_t i = 1; i < ELEMENTSOF(jobs); i++)
                jobs[i] = hold((Ask){START, "a.service", SERVICE, .after = jobs[i - 1]});
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(state_of(jobs[0]), FAILED);
        for (size_t i = 1; i < ELEMENTSOF(jobs); i++)
                assert_int_equal(state_of(jobs[i]), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, jobs[1])->message, "job 1, which it waited for"));
        assert_null(rig_record(&g, "a.service"));
        assert_int_equal(n_held(), 0);
}

static void a_job_waits_for_none_that_cannot_end_well(void **state) {
        uint64_t failed = answer((Ask){START, "bad.service", BAD})->job;

        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(answer((Ask){START, "a.service", SERVICE, .after = failed})->status, ECANCELED);
        const Argosy__Response *r =
                answer((Ask){START, "a.service", SERVICE, .after = rig_last_job(&g) + 1});
        assert_replies(r, EINVAL, "cycle");
        assert_int_equal(rig_last_job(&g), failed);
}

static void a_job_after_one_that_is_done_begins_at_once(void **state) {
        const Argosy__Response *r = answer((Ask){SUBMIT, "b.service", SERVICE});

        assert_int_equal(state_of(r->job), DONE);
        r = answer((Ask){START, "a.service", SERVICE, .after = r->job});
        assert_false(r->held);
        assert_true(is_launched("a.service"));
}

static void a_new_leader_waits_for_the_same(void **state) {
        uint64_t first, job;

        rig_set_lazy(&g, true);
        first = answer((Ask){START, "a.service", SERVICE})->job;
        job = hold((Ask){START, "c.service", SERVICE, .after = first});
        rig_elect_anew(&g);
        assert_int_equal(state_of(job), HELD);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(first), DONE);
        assert_int_equal(state_of(job), DONE);
}

// ----------------------------------------------------------------------------------------- behind an update

static uint64_t update(const char *content, bool queue, const Argosy__Response **ret) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request__Job job = JOB_OF(.queue = queue);
        Argosy__NamedFile file = NAMED_FILE_OF(.name = m.name = (char *) "w@.service",
                                               .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                                .len = strlen(content)});
        uint64_t id[2] = {++g.id, 67};

        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        m.file = &file;
        m.health_us = 1000000;
        *ret = rig_last(rig_ask_and_settle(&g, A_REQUEST(ROLLOUT, rollout, &m, .job = &job)));
        return (*ret)->job;
}

static void start_instances(void) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        char *names[] = {(char *) "w@1.service", (char *) "w@2.service"};
        uint64_t id[2] = {++g.id, 66};

        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .names = names, .n_names = 2, .files = &files, .n_files = 1);
        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change)))->status, 0);
}

static void an_update_waits_behind_another_one_if_it_is_to(void **state) {
        static const char third[] = "[Service]\nExecStart=/bin/sleep 3000\n";
        const Argosy__Response *r;

        start_instances();
        uint64_t first = update(OTHER, false, &r);
        assert_int_equal(r->status, 0);
        assert_int_equal(state_of(first), RUNNING);
        (void) update(third, false, &r);
        assert_int_equal(r->status, EEXIST); // as ever
        uint64_t second = update(third, true, &r);
        assert_int_equal(r->status, 0);
        assert_true(r->held);
        assert_non_null(strstr(rig_show_job(&g, second)->held_by, "beside which"));
        rig_elect_anew(&g);
        assert_int_equal(state_of(second), HELD);
        for (unsigned i = 0; i < 60 && state_of(second) != DONE; i++)
                rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(first), DONE);
        assert_int_equal(state_of(second), DONE);
        assert_int_equal(rig_show_job(&g, second)->failed, 0);
}

// It has its turn, and cannot go for another reason.
static void one_that_waits_behind_an_update_leaves_its_place_of_a_limit_to_the_next(void **state) {
        Argosy__QueueRule two = rule(ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, "");
        const Argosy__Response *r;

        start_instances();
        two.limit = 2;
        (void) add_rule(two);
        rig_set_lazy(&g, true);
        (void) update(OTHER, false, &r);
        (void) answer((Ask){START, "a.service", SERVICE});
        (void) update(SERVICE, true, &r);
        assert_true(r->held);
        uint64_t job = hold((Ask){START, "b.service", SERVICE});
        for (uint32_t h = 1; h <= 3; h++) {
                VirtualUnit *u = rig_unit_on(&g, h, "a.service");

                if (u)
                        rig_host_report(&g, rig_host(&g, h), u, u->active, u->outcome);
        }
        rig_pass_ms(&g, 2 * LATER_MS);
        assert_non_null(strstr(rig_show_job(&g, job - 1)->held_by, "beside which"));
        assert_int_equal(state_of(job), RUNNING);
        rig_set_lazy(&g, false);
}

// ---------------------------------------------------------------------------------------------- judged anew

static void who_has_lost_his_right_meanwhile_is_refused(void **state) {
        Argosy__Author alice = user("alice", 1000);

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        g.author = &alice;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        g.author = NULL;
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", true);
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, job)->message, "alice"));
        assert_null(rig_record(&g, "a.service"));
}

static void only_who_could_ask_for_it_releases_it(void **state) {
        Argosy__Author alice = user("alice", 1000), bob = user("bob", 1001);

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "bob", false);
        g.author = &alice;
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        g.author = &bob;
        assert_int_equal(release(job), EACCES); // it brings content
        assert_int_equal(state_of(job), HELD);
        g.author = &alice;
        assert_int_equal(release(job), 0);
        assert_true(is_launched("a.service"));
        g.author = NULL;
}

static void what_somebody_changed_meanwhile_is_left_alone(void **state) {
        (void) answer((Ask){START, "a.service", SERVICE});
        uint64_t seen = cluster_state_revision(g.state);
        uint64_t job = hold((Ask){RESTART, "a.service", .hold = true, .if_revision = seen});
        (void) answer((Ask){RESTART, "a.service"});
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, job)->message, "has changed since"));
}

static void what_somebody_else_has_released_meanwhile_is_left_as_it_is(void **state) {
        Argosy__Author alice = user("alice", 1000);

        (void) answer((Ask){START, "a.service", SERVICE});
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "alice", false);
        (void) add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "a.service"));
        uint64_t job = hold((Ask){RESTART, "a.service", .hold = true});
        uint64_t seen = rig_show_job(&g, job)->revision;
        (void) answer((Ask){START, "b.service", SERVICE}); // that is no business of the job
        g.author = &alice;
        assert_int_equal(release(job), 0); // the rule holds it still
        g.author = NULL;
        assert_int_equal(state_of(job), HELD);
        assert_int_equal(rig_last(ask_to_release_at(job, seen))->status, ESTALE);
        assert_int_equal(cancel_at(job, seen), ESTALE);
        assert_int_equal(state_of(job), HELD);
        seen = cluster_state_revision(g.state);
        assert_int_equal(rig_last(ask_to_release_at(job, seen))->status, 0);
        assert_int_not_equal(state_of(job), HELD);
}

static void who_saw_it_as_it_is_releases_it_or_calls_it_off(void **state) {
        (void) answer((Ask){START, "a.service", SERVICE});
        uint64_t first = hold((Ask){RESTART, "a.service", .hold = true});
        uint64_t second = hold((Ask){RESTART, "a.service", .hold = true});
        (void) answer((Ask){START, "b.service", SERVICE});
        assert_int_equal(cancel_at(second, rig_show_job(&g, second)->revision), 0);
        assert_int_equal(state_of(second), CANCELLED);
        assert_int_equal(rig_last(ask_to_release_at(first, rig_show_job(&g, first)->revision))->status, 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(first), DONE);
}

static void what_is_refused_of_it_makes_it_failed(void **state) {
        uint64_t job = hold((Ask){RESTART, "nobody.service", .hold = true});

        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_int_equal(row->failed, 1);
        assert_int_equal(row->changed, 0);
}

// ---------------------------------------------------------------------------------------- refused at length

enum { REFUSED = 100, LONG_JOBS = 4, PATH_LEN = 4000 };

// Instances whose role nobody has made, from a file that lies far away, and one unit that can be started if
// `well`.
static const Argosy__Response *hold_refused(bool well, size_t path_len) {
        Argosy__NamedFile file[2] = {ARGOSY__NAMED_FILE__INIT, ARGOSY__NAMED_FILE__INIT},
                          *files[2] = {&file[0], &file[1]};
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        const char *content = "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRole=nobody\n";
        uint64_t id[2] = {++g.id, 66};
        char names[REFUSED][32], *pointers[REFUSED + 1], path[2 * PATH_LEN + 1];

        memset(path, 'p', sizeof(path));
        path[path_len] = '\0';
        for (size_t i = 0; i < REFUSED; i++) {
                snprintf(names[i], sizeof(names[i]), "r@%zu.service", i);
                pointers[i] = names[i];
        }
        pointers[REFUSED] = (char *) "well.service";
        file[0].name = (char *) "r@.service";
        file[0].path = path;
        file[0].content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
        file[1].name = file[1].path = pointers[REFUSED];
        file[1].content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE, .len = strlen(SERVICE)};
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = START;
        change.names = pointers;
        change.n_names = REFUSED + well;
        change.files = files;
        change.n_files = 1 + well;
        Argosy__Request__Job job = JOB_OF(.hold = true);
        request.job = &job;
        return rig_last(rig_ask_and_settle(&g, &request));
}

static void assert_short(uint64_t job) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_read_job(g.state, job, &record), 0);
        assert_int_equal(record->state, FAILED);
        assert_int_equal(record->failed, REFUSED);
        assert_int_equal(record->n_ends, REFUSED);
        for (size_t i = 0; i < record->n_ends; i++)
                assert_in_range(strlen(record->ends[i]->message), 1, 255);
        message_free(record);
}

static RigAnswer *ask_to_release_all(uint64_t *jobs, size_t n) {
        Argosy__Request__JobRelease m = MESSAGE_OF(request__job_release, .numbers = jobs, .n_numbers = n);

        return ask_and_go_on(A_REQUEST(JOB_RELEASE, job_release, &m));
}

static void release_all(uint64_t *jobs, size_t n) {
        assert_int_equal(rig_last(ask_to_release_all(jobs, n))->status, 0);
}

static void what_is_refused_at_length_leaves_room_for_others(void **state) {
        uint64_t jobs[LONG_JOBS];

        for (size_t i = 0; i < LONG_JOBS; i++) {
                assert_int_equal(hold_refused(i == 0, PATH_LEN)->status, 0);
                jobs[i] = rig_last_job(&g);
                assert_int_equal(state_of(jobs[i]), HELD);
        }
        release_all(jobs, LONG_JOBS);
        rig_pass_ms(&g, 3 * LATER_MS);
        for (size_t i = 0; i < LONG_JOBS; i++)
                assert_short(jobs[i]);
        assert_false(g.leader->one_by_one);
        assert_int_equal(n_held(), 0);
        assert_int_equal(hold_refused(false, PATH_LEN + 200)->status, EINVAL); // no file lies that deep
}

// So many that one entry cannot tell how they ended. Returns how many told it.
static unsigned refuse_many(size_t batch_max) {
        uint64_t jobs[20];
        unsigned batches;

        g.batch_max = batch_max;
        for (size_t i = 0; i < ELEMENTSOF(jobs); i++) {
                assert_int_equal(hold_refused(false, PATH_LEN)->status, 0);
                jobs[i] = rig_last_job(&g);
        }
        batches = g.batches;
        release_all(jobs, ELEMENTSOF(jobs));
        rig_pass_ms(&g, 3 * LATER_MS);
        for (size_t i = 0; i < ELEMENTSOF(jobs); i++)
                assert_short(jobs[i]);
        assert_false(g.leader->one_by_one);
        return g.batches - batches;
}

static void many_refusals_are_as_many_entries_as_they_need(void **state) {
        unsigned at_once = refuse_many(0);

        g.leader->limits.held_ends_bytes = 16 * 1024;
        assert_in_range(refuse_many(0), at_once + 3, at_once + 20);
}

static void of_many_refusals_each_is_told_though_the_log_takes_little(void **state) {
        (void) refuse_many(64 * 1024);
}

// ----------------------------------------------------------------------------------------------- many units

enum { LONG_NAME = 220 };

// `letter` is the template's name, and of so many dashes at least is the instance's.
static void instance_name(char letter, size_t n_dashes, size_t i, char ret[UNIT_NAME_MAX + 1]) {
        char dashes[LONG_NAME + 1];

        memset(dashes, '-', n_dashes);
        dashes[n_dashes] = 0;
        snprintf(ret, UNIT_NAME_MAX + 1, "%c@%s%zu.service", letter, dashes, i);
}

static void ask_for_many_of(char letter, size_t n_dashes, bool hold_it) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        char names[MANY][UNIT_NAME_MAX + 1], *pointers[MANY], of[] = "m@.service";
        uint64_t id[2] = {++g.id, 66};

        for (size_t i = 0; i < MANY; i++) {
                instance_name(letter, n_dashes, i, names[i]);
                pointers[i] = names[i];
        }
        *of = letter;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = of, .path = of,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = START;
        change.names = pointers;
        change.n_names = MANY;
        change.files = &files;
        change.n_files = 1;
        Argosy__Request__Job job = JOB_OF(.hold = hold_it);
        request.job = &job;
        (void) ask_and_go_on(&request);
}

static void ask_for_many(bool hold_it) {
        ask_for_many_of('m', 0, hold_it);
}

static size_t n_started_of(char letter, size_t n_dashes) {
        size_t n = 0;

        for (size_t i = 0; i < MANY; i++) {
                char name[UNIT_NAME_MAX + 1];

                instance_name(letter, n_dashes, i, name);
                n += is_launched(name);
        }
        return n;
}

static size_t n_started(void) {
        return n_started_of('m', 0);
}

static void one_of_several_entries_is_gone_on_with_by_the_next_leader(void **state) {
        uint64_t job, revision;

        ask_for_many(true);
        job = rig_last_job(&g);
        assert_int_equal(state_of(job), HELD);
        g.slow = true;
        (void) ask_to_release(job);
        while (n_started() == 0) { // entry by entry
                rig_release(&g);
                rig_turns(&g, 3);
        }
        size_t before = n_started();
        assert_true(before < MANY);
        revision = rig_record(&g, "m@0.service")->revision;
        rig_hurry(&g);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(n_started(), MANY);
        assert_int_equal(rig_record(&g, "m@0.service")->revision, revision);
        assert_int_equal(rig_last_job(&g), job + 1); // and the release
        assert_int_equal(n_held(), 0);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_show_job(&g, job)->changed, MANY);
}

static void a_job_does_not_begin_after_a_part_of_another(void **state) {
        g.slow = true;
        ask_for_many(false);
        while (n_started() == 0) {
                rig_release(&g);
                rig_turns(&g, 3);
        }
        uint64_t first = rig_last_job(&g);
        rig_hurry(&g);
        rig_elect_anew(&g);
        assert_true(n_started() < MANY);
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .after = first});
        rig_pass_ms(&g, 62 * 1000);
        assert_int_equal(state_of(first), FAILED);
        assert_int_equal(state_of(job), CANCELLED);
        assert_null(rig_record(&g, "a.service"));
}

enum { LARGE_JOBS = 5 }; // of 140 KiB each: more than are read in one turn

static size_t n_started_of_large(size_t job) {
        return n_started_of((char) ('m' + job), LONG_NAME);
}

// The log has a part of each, of which the units have ended. Nobody is about to come again and go on with
// any of them.
static void begin_large_jobs(uint64_t jobs[LARGE_JOBS]) {
        rig_pass_ms(&g, 62 * 1000);
        for (size_t i = 0; i < LARGE_JOBS; i++) {
                ask_for_many_of((char) ('m' + i), LONG_NAME, true);
                jobs[i] = rig_last_job(&g);
                assert_int_equal(state_of(jobs[i]), HELD);
        }
        g.slow = true;
        (void) ask_to_release_all(jobs, LARGE_JOBS);
        while (n_started_of_large(LARGE_JOBS - 1) == 0) {
                rig_release(&g);
                rig_turns(&g, 3);
        }
        g.slow = false;
}

static void what_is_released_outlasts_full_disks(void **state) {
        uint64_t jobs[LARGE_JOBS];

        begin_large_jobs(jobs);
        rig_release(&g); // behind which there is no room
        store_memory_fail(g.store, -ENOSPC);
        rig_pass_ms(&g, 3 * LATER_MS);
        for (size_t i = 0; i < LARGE_JOBS; i++)
                assert_in_range(n_started_of_large(i), 1, MANY - 1);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 5 * LATER_MS);
        for (size_t i = 0; i < LARGE_JOBS; i++) {
                assert_int_equal(n_started_of_large(i), MANY);
                assert_int_equal(state_of(jobs[i]), DONE);
        }
        assert_int_equal(n_held(), 0);
}

// Nobody waits for ever for what no entry can hold.
static void what_can_never_be_written_ends_in_part(void **state) {
        ask_for_many(true);
        uint64_t job = rig_last_job(&g);
        g.slow = true;
        (void) ask_to_release(job);
        while (n_started() == 0) {
                rig_release(&g);
                rig_turns(&g, 3);
        }
        rig_hurry(&g);
        g.batch_max = 4096;
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_in_range(n_started(), 1, MANY - 1);
        assert_int_equal(state_of(job), FAILED);
        assert_int_equal(n_held(), 0);
}

// ------------------------------------------------------------------------------------------------ waiting

static void who_waits_for_it_waits_through_it(void **state) {
        uint64_t job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        RigAnswer *a = wait_for(job);

        rig_pass_ms(&g, 5 * LATER_MS);
        assert_false(a->final);
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_true(a->final);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "done");
}

static void who_waits_hears_that_it_was_cancelled(void **state) {
        uint64_t first, job;

        rig_set_lazy(&g, true);
        first = answer((Ask){START, "bad.service", BAD})->job;
        job = hold((Ask){START, "a.service", SERVICE, .after = first});
        RigAnswer *a = wait_for(job);
        assert_false(a->final);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_true(a->final);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "cancelled");
}

// ------------------------------------------------------------------------------------------------ taken out

static void a_held_job_is_taken_out_with_what_waits_for_it(void **state) {
        Argosy__Author bob = user("bob", 1001);
        uint64_t job, after;

        give(ARGOSY__RIGHT__RIGHT_OPERATE, "bob", false);
        job = hold((Ask){START, "a.service", SERVICE, .hold = true});
        after = hold((Ask){START, "b.service", SERVICE, .after = job});
        g.author = &bob;
        assert_int_equal(cancel(job), EACCES); // who could not have asked for it
        g.author = NULL;
        assert_int_equal(cancel(job), 0);
        assert_int_equal(state_of(job), CANCELLED);
        assert_string_equal(rig_show_job(&g, job)->message, "by root@n1, before it began");
        assert_int_equal(state_of(after), CANCELLED);
        assert_int_equal(n_held(), 0);
        assert_null(rig_record(&g, "a.service"));
        assert_int_equal(cancel(job), EALREADY);
        assert_int_equal(cancel(answer((Ask){START, "c.service", SERVICE})->job), EALREADY); // it has begun
        assert_true(is_launched("c.service"));
}

// ----------------------------------------------------------------------------------------- cost, and bounds

static void those_that_wait_cost_nothing(void **state) {
        uint64_t judged, first = 0;

        for (unsigned i = 0; i < 300; i++) {
                uint64_t job =
                        hold((Ask){RESTART, "a.service", .hold = i % 2 == 0, .after = i % 2 ? first : 0});

                first = first ? first : job;
        }
        judged = g.leader->n_held_judged;
        for (unsigned i = 0; i < 50; i++)
                (void) answer((Ask){START, "b.service", SERVICE});
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(g.leader->n_held_judged, judged);
        assert_int_equal(release(first + 2), 0); // by hand, too
        assert_int_equal(g.leader->n_held_judged, judged + 1);
}

// More than go at a time, while the log takes its time with the first of them.
static void many_that_may_go_wait_quietly_for_the_log(void **state) {
        uint64_t jobs[90];

        for (size_t i = 0; i < ELEMENTSOF(jobs); i++)
                jobs[i] = hold((Ask){SUBMIT, "a.service", SERVICE, .hold = true});
        g.slow = true;
        (void) ask_to_release_all(jobs, ELEMENTSOF(jobs));
        rig_release(&g);
        rig_turns(&g, 10);
        assert_true(g.leader->batch_flying);
        assert_true(g.leader->held_due.n > 0);
        assert_false(g.leader->drain.marked);
        rig_hurry(&g);
        rig_pass_ms(&g, 2 * LATER_MS);
        for (size_t i = 0; i < ELEMENTSOF(jobs); i++)
                assert_int_equal(state_of(jobs[i]), DONE);
}

static void what_cannot_be_held_is_refused(void **state) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request__Job job = JOB_OF(.hold = true);
        uint64_t before = rig_last_job(&g);

        assert_int_equal(rig_last(rig_ask_and_settle(
                                          &g, A_REQUEST(CLUSTER_TOKEN, cluster_token, &token, .job = &job)))
                                 ->status,
                         EEXIST);
        assert_int_equal(rig_last_job(&g), before);
}

RUN_TESTS(
        RIG_TEST(a_held_job_begins_when_it_is_released),
        RIG_TEST(what_began_late_is_listed_by_when_it_began),
        RIG_TEST(of_what_began_late_only_jobs_in_the_state_asked_for_are_listed),
        RIG_TEST(nothing_of_it_is_lost_or_done_twice_with_its_leader),
        RIG_TEST(a_leader_that_is_lost_as_it_begins_leaves_it_to_the_next),
        RIG_TEST(asked_again_it_is_the_same_job),
        RIG_TEST(one_that_was_cancelled_before_it_began_is_not_done_when_asked_again),
        RIG_TEST(a_job_begins_when_those_before_it_are_done),
        RIG_TEST(a_chain_ends_with_its_first_failure),
        RIG_TEST(a_job_waits_for_none_that_cannot_end_well),
        RIG_TEST(a_job_after_one_that_is_done_begins_at_once),
        RIG_TEST(a_new_leader_waits_for_the_same),
        RIG_TEST(an_update_waits_behind_another_one_if_it_is_to),
        RIG_TEST(one_that_waits_behind_an_update_leaves_its_place_of_a_limit_to_the_next),
        RIG_TEST(who_has_lost_his_right_meanwhile_is_refused),
        RIG_TEST(only_who_could_ask_for_it_releases_it),
        RIG_TEST(what_somebody_changed_meanwhile_is_left_alone),
        RIG_TEST(what_somebody_else_has_released_meanwhile_is_left_as_it_is),
        RIG_TEST(who_saw_it_as_it_is_releases_it_or_calls_it_off),
        RIG_TEST(what_is_refused_of_it_makes_it_failed),
        RIG_TEST(what_is_refused_at_length_leaves_room_for_others),
        RIG_TEST(many_refusals_are_as_many_entries_as_they_need),
        RIG_TEST(of_many_refusals_each_is_told_though_the_log_takes_little),
        RIG_TEST(one_of_several_entries_is_gone_on_with_by_the_next_leader),
        RIG_TEST(a_job_does_not_begin_after_a_part_of_another),
        RIG_TEST(what_is_released_outlasts_full_disks),
        RIG_TEST(what_can_never_be_written_ends_in_part),
        RIG_TEST(who_waits_for_it_waits_through_it),
        RIG_TEST(who_waits_hears_that_it_was_cancelled),
        RIG_TEST(a_held_job_is_taken_out_with_what_waits_for_it),
        RIG_TEST(those_that_wait_cost_nothing),
        RIG_TEST(many_that_may_go_wait_quietly_for_the_log),
        RIG_TEST(what_cannot_be_held_is_refused)
)
