// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests as jobs: each that changes something has a number, and one entry of the log with its effect; it
// is known again when it comes again; and whoever asks hears who wanted what, what it replaced, and how it
// stands now.
#include "job-nodes.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "name-patterns.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

enum { MANY = 600 }; // more than are one entry

RIG_OF(3)

typedef struct Ask {
        Argosy__Verb verb;
        const char *name, *content, *reason;
        uint64_t id; // 0: a new one
        uint64_t if_revision, age_ms;
} Ask;

static const Argosy__Response *ask(Ask w) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        uint64_t id[2] = {w.id ?: ++g.id, 55};
        char *target = (char *) "as typed";
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = w.verb, .names = (char **) &w.name, .n_names = 1);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        if (w.content) {
                file.name = file.path = (char *) w.name;
                file.content =
                        (ProtobufCBinaryData){.data = (uint8_t *) w.content, .len = strlen(w.content)};
                change.files = &files;
                change.n_files = 1;
        }
        job.reason = (char *) (w.reason ?: "");
        job.targets = &target;
        job.n_targets = 1;
        job.if_revision = w.if_revision;
        job.age_ms = w.age_ms;
        request.job = &job;
        return rig_last(rig_ask_and_settle(&g, &request));
}

static void a_change_is_a_job_in_the_same_entry(void **state) {
        const Argosy__Response__JobRow *job;
        unsigned batches;

        batches = g.batches;
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, "the hall is cold"});
        assert_int_equal(r->status, 0);
        assert_int_equal(g.batches, batches + 1);
        assert_int_equal(r->job, rig_last_job(&g));
        job = rig_show_job(&g, r->job);
        assert_string_equal(job->verb, "start");
        assert_string_equal(job->reason, "the hall is cold");
        assert_string_equal(job->author, "root@n1");
        assert_int_equal(job->n_targets, 1);
        assert_string_equal(job->targets[0], "as typed");
        assert_int_equal(job->changed, 1);
        assert_string_equal(job->units[0]->unit, "a.service");
        assert_string_equal(job->units[0]->rev, "");
        assert_string_equal(job->units[0]->now, "as asked");
        assert_int_equal(job->units[0]->revision, r->change->units[0]->revision);
}

static void what_it_replaced_and_how_it_stands_is_told(void **state) {
        const Argosy__Response__JobRow *job;
        uint64_t start = ask((Ask){START, "a.service", SERVICE})->job;
        uint64_t stop = ask((Ask){STOP, "a.service"})->job;

        assert_int_equal(stop, start + 1);
        job = rig_show_job(&g, stop);
        assert_string_equal(job->units[0]->desired, "launched");
        assert_string_equal(job->units[0]->now, "as asked");
        job = rig_show_job(&g, start);
        assert_string_equal(job->units[0]->now, "changed since");
        assert_string_equal(job->units[0]->message, "by job 2");
        stop = ask((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"})->job;
        assert_string_equal(rig_show_job(&g, stop)->units[0]->now, "as asked");
        assert_string_equal(rig_show_job(&g, start)->units[0]->message, "it is not in the cluster any more");
}

static void a_job_that_removed_it_by_another_verb_has_done_so(void **state) {
        uint64_t start = ask((Ask){START, "a.service", SERVICE})->job;
        const Argosy__Response *undo = rig_undo(&g, (RigUndo){start, .id = 4711});

        rig_settle(&g);
        assert_int_equal(undo->status, 0);
        assert_string_equal(rig_show_job(&g, undo->job)->units[0]->now, "as asked");
        assert_string_equal(rig_show_job(&g, start)->units[0]->now, "changed since");
}

static const Argosy__Response__UnitResult *waited(const char *name, uint64_t revision) {
        return rig_wait(&g, START, name, revision)->responses[0]->progress->done[0];
}

// Of a destroyed unit the log keeps on which silent hosts it may run; of another life of that name this says
// nothing.
static void a_wait_that_comes_late_says_destroyed_only_if_the_log_does(void **state) {
        uint64_t revision = ask((Ask){START, "a.service", SERVICE})->change->units[0]->revision;

        rig_host_off(&g, rig_host_of(&g, "a.service"));
        (void) ask((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"});
        assert_string_equal(waited("a.service", revision)->message, "the unit was destroyed meanwhile");
        assert_string_equal(waited("a.service", 1000)->message,
                            "the unit is not in the cluster; what became of it is no longer known");
        assert_string_equal(waited("never.service", 1)->message,
                            "the unit is not in the cluster; what became of it is no longer known");
}

static void what_fails_is_not_as_asked(void **state) {
        const Argosy__Response__JobRow *job;

        g.bad = hash_of(OTHER, strlen(OTHER));
        uint64_t number = ask((Ask){START, "a.service", OTHER})->job;
        job = rig_show_job(&g, number);
        assert_string_equal(job->units[0]->now, "otherwise");
        assert_true(*job->units[0]->message);
}

static void what_changes_nothing_is_no_job(void **state) {
        (void) ask((Ask){ARGOSY__VERB__VERB_LOAD, "a.service", SERVICE});
        uint64_t before = rig_last_job(&g);
        assert_int_equal(ask((Ask){ARGOSY__VERB__VERB_LOAD, "a.service", SERVICE})->job, 0);
        assert_int_equal(ask((Ask){STOP, "b.service"})->job, 0);
        assert_int_equal(rig_last_job(&g), before);
}

static void a_request_that_comes_again_is_the_same_job(void **state) {
        const Argosy__Response *first = ask((Ask){START, "a.service", SERVICE, .id = 7777});
        uint64_t n = first->job;
        const Argosy__Response *again = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});

        assert_int_equal(again->status, 0);
        assert_int_equal(again->job, n);
        assert_int_equal(rig_last_job(&g), n);
        rig_elect_anew(&g);
        again = ask((Ask){START, "a.service", SERVICE, .id = 7777});
        assert_int_equal(again->job, n);
        assert_int_equal(rig_last_job(&g), n);
}

// Its answer is what its job did, and not what there would be to do now.
static void a_request_that_comes_again_hears_how_its_job_has_ended(void **state) {
        uint64_t n = ask((Ask){START, "a.service", SERVICE, .id = 7777})->job;

        (void) ask((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"});
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->n_units, 1);
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, 0); // there is nothing to wait for
        assert_null(rig_record(&g, "a.service"));

        g.bad = hash_of(OTHER, strlen(OTHER));
        n = ask((Ask){START, "b.service", OTHER, .id = 8888})->job;
        rig_pass_ms(&g, 2000); // its end is in the log
        (void) ask((Ask){ARGOSY__VERB__VERB_DESTROY, "b.service"});
        r = ask((Ask){START, "b.service", OTHER, .id = 8888, .age_ms = 10});
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->units[0]->status, EIO);
        assert_true(*r->change->units[0]->message);
        assert_null(rig_record(&g, "b.service"));
}

// As those who have asked for the first time.
static void a_request_that_comes_again_waits_while_its_job_runs(void **state) {
        uint64_t revision;

        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        revision = ask((Ask){START, "a.service", SERVICE, .id = 7777})->change->units[0]->revision;
        (void) ask((Ask){START, "b.service", SERVICE});
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, .id = 7777, .age_ms = 10});
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, revision);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
}

static const Argosy__Response *replace(const char *name, const char *content, uint64_t number) {
        uint64_t id[2] = {number, 55};
        RigAnswer *a = rig_change_with(&g, START, name, content, true, (const uint8_t *) id);

        rig_settle(&g);
        return rig_last(a);
}

static void a_request_that_comes_again_during_an_update_is_not_refused(void **state) {
        uint64_t n = replace("a.service", SERVICE, 7777)->job;

        assert_int_equal(rig_last(rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                               "a.service", OTHER, .health_ms = 60000}))
                                 ->status,
                         0);
        // nobody else may
        assert_int_equal(replace("a.service", SERVICE, 9999)->change->units[0]->status, EEXIST);
        const Argosy__Response *r = replace("a.service", SERVICE, 7777);
        assert_int_equal(r->job, n);
        assert_int_equal(r->change->units[0]->status, 0);
        assert_int_equal(r->change->units[0]->revision, 0);
}

// Restarts them, and asks again. Each time the answer is about these three, of which only a.service is
// there.
static void restart_twice(const char *const *names, size_t n_names) {
        static const char *const told[] = {"nobody.service", "a.service", "no.service"};
        const Argosy__Response *r;
        uint64_t id[2] = {7777, 55}, n = 0;

        (void) ask((Ask){START, "a.service", SERVICE});
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_RESTART, .names = (char **) names, .n_names = n_names);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        for (unsigned i = 0; i < 2; i++) {
                r = rig_last(rig_ask_and_settle(&g, &request));
                assert_true(i == 0 || r->job == n);
                n = r->job;
                assert_int_equal(r->change->n_units, 3);
                for (size_t k = 0; k < 3; k++)
                        assert_string_equal(r->change->units[k]->name, told[k]);
                assert_int_equal(r->change->units[0]->status, ENOENT);
                assert_int_equal(r->change->units[1]->status, 0);
                assert_int_equal(r->change->units[1]->repeated, i > 0);
                assert_int_equal(r->change->units[2]->status, ENOENT);
        }
}

// What was refused then has left nothing behind.
static void what_its_job_knows_nothing_of_is_planned_again(void **state) {
        restart_twice((const char *const[]){"nobody.service", "a.service", "no.service"}, 3);
}

// It was refused, since there was no such unit. Somebody else has made it before the request comes again:
// which has not restarted it.
static void what_was_refused_is_not_told_to_be_done_once_it_could_be(void **state) {
        char *names[] = {(char *) "a.service", (char *) "b.service"};
        uint64_t id[2] = {7777, 55}, revision;

        (void) ask((Ask){START, "a.service", SERVICE});
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_RESTART, .names = names, .n_names = 2);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        const Argosy__Response *r = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(r->change->units[1]->status, ENOENT);
        (void) ask((Ask){START, "b.service", SERVICE});
        revision = rig_record(&g, "b.service")->revision;
        r = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(r->change->units[0]->status, 0);
        assert_true(r->change->units[0]->repeated);
        assert_int_equal(r->change->units[1]->status, ECANCELED);
        assert_int_equal(r->change->units[1]->revision, 0);
        assert_int_equal(rig_record(&g, "b.service")->revision, revision);
}

static void what_is_named_twice_is_told_once(void **state) {
        restart_twice((const char *const[]){"nobody.service", "a.service", "nobody.service", "a.service",
                                            "no.service"},
                      5);
}

static void a_key_is_not_used_for_two_things(void **state) {
        uint64_t n = ask((Ask){START, "a.service", SERVICE, .id = 7777})->job;
        const Argosy__Response *r = ask((Ask){STOP, "a.service", .id = 7777});

        assert_int_equal(r->status, EEXIST);
        assert_int_equal(rig_last_job(&g), n);
        assert_int_equal(rig_record(&g, "a.service")->target, ARGOSY__TARGET__TARGET_LAUNCHED);
}

static RigAnswer *set_mode(Argosy__NodeMode mode, const uint8_t id[16], uint64_t age_ms) {
        Argosy__Request__NodeChange change = NODE_CHANGE_OF(.nodes = (char *[]){(char *) "n2"}, .n_nodes = 1,
                                                            .mode = mode);
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 16}, .age_ms = age_ms);

        return rig_ask_and_settle(&g, A_REQUEST(NODE_CHANGE, node_change, &change, .job = &job));
}

// Somebody has opened it meanwhile.
static void also_other_requests_are_not_carried_out_twice(void **state) {
        static const uint8_t id[16] = {1, 2, 3};
        uint64_t n = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 0))->job;

        assert_int_equal(n, rig_last_job(&g));
        assert_string_equal(rig_show_job(&g, n)->verb, "cordon");
        assert_string_equal(rig_show_job(&g, n)->targets[0], "n2");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        assert_string_equal(rig_show_job(&g, n + 1)->verb, "uncordon");
        const Argosy__Response *r = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 0));
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, n);
        assert_non_null(strstr(r->message, "carried this out before"));
        assert_int_equal(rig_last_job(&g), n + 1);
        r = rig_last(set_mode(ARGOSY__NODE_MODE__MODE_CORDONED, id, 5)); // only the answer was lost
        assert_string_equal(r->message, "");
}

static void a_change_can_be_bound_to_a_revision(void **state) {
        uint64_t seen = ask((Ask){START, "a.service", SERVICE})->change->units[0]->revision;

        (void) ask((Ask){STOP, "a.service"});
        const Argosy__Response *r = ask((Ask){START, "a.service", .if_revision = seen});
        assert_int_equal(r->status, ESTALE);
        assert_int_equal(rig_record(&g, "a.service")->target, ARGOSY__TARGET__TARGET_LOADED);
        seen = rig_record(&g, "a.service")->revision;
        assert_int_equal(ask((Ask){START, "a.service", .if_revision = seen})->status, 0);
        assert_int_equal(ask((Ask){START, "b.service", SERVICE, .if_revision = seen})->status, ESTALE);
}

static const Argosy__Response *set_pool(uint64_t if_revision) {
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        char *host = (char *) "n1";
        Argosy__Request__PoolChange change =
                MESSAGE_OF(request__pool_change, .name = (char *) "fast", .hosts = &host, .n_hosts = 1);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(POOL_CHANGE, pool_change, &change, .job = &job)));
}

static void other_requests_too(void **state) {
        uint64_t seen = cluster_state_revision(g.state);

        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(set_pool(seen)->status, ESTALE);
        assert_int_equal(set_pool(cluster_state_revision(g.state))->status, 0);
}

static void a_reason_is_text(void **state) {
        char words[600];
        const Argosy__Response *r = ask((Ask){START, "a.service", SERVICE, "red \x1b[31m"});

        assert_int_equal(r->status, EINVAL);
        memset(words, 'x', sizeof(words) - 1);
        words[sizeof(words) - 1] = 0;
        r = ask((Ask){START, "a.service", SERVICE, words});
        assert_int_equal(r->status, EINVAL);
        assert_null(rig_record(&g, "a.service"));
}

// ----------------------------------------------------------------------------------------------- many units

static char names[MANY][32], *pointers[MANY];

static RigAnswer *ask_many(Argosy__Verb verb, uint64_t if_revision) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
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
        file.name = file.path = (char *) "w@.service";
        file.content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE, .len = strlen(SERVICE)};
        change.files = &files;
        change.n_files = verb == START;
        job.if_revision = if_revision;
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

// ------------------------------------------------------------------------------------------------ lists

static void jobs_are_listed_newest_first(void **state) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.limit = 2);
        const Argosy__Response__Jobs *jobs;
        char *pattern = (char *) "b*";
        uint64_t first = ask((Ask){START, "a.service", SERVICE})->job;

        (void) ask((Ask){START, "b.service", SERVICE});
        (void) ask((Ask){STOP, "a.service"});
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, 2);
        assert_int_equal(jobs->rows[0]->job, first + 2);
        assert_int_equal(jobs->rows[1]->job, first + 1);
        assert_int_equal(jobs->rows[1]->n_units, 0); // only who asks for one hears of its units
        list.before = jobs->before;
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->rows[0]->job, first);

        list = (Argosy__Request__ListJobs) LIST_JOBS_OF(.patterns = &pattern, .n_patterns = 1);
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, 1);
        assert_int_equal(jobs->rows[0]->job, first + 1);
        assert_int_equal(jobs->before, 0);
        list.author = (char *) "root@n[2-9]";
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 0);
        list.author = (char *) "root";
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 1);
}

// Each job's units are compared with each of them.
static void jobs_are_compared_with_so_many_patterns_only(void **state) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        char *patterns[NAME_GLOBS_MAX + 1];
        uint64_t n = ask((Ask){START, "a.service", SERVICE})->job;

        (void) ask((Ask){START, "b.service", SERVICE});
        for (size_t i = 0; i <= NAME_GLOBS_MAX; i++)
                patterns[i] = (char *) "a*";
        list.patterns = patterns;
        list.n_patterns = NAME_GLOBS_MAX + 1;
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->status, E2BIG);
        for (size_t i = 0; i <= NAME_GLOBS_MAX; i++)
                patterns[i] = (char *) "a.service"; // names are looked up
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 1);
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->rows[0]->job, n);
}

static void expect_jobs_of(const char *node, const uint64_t *numbers, size_t n) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.nodes = (char **) &node, .n_nodes = 1);
        const Argosy__Response__Jobs *jobs;

        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(jobs->rows[i]->job, numbers[i]);
}

// A unit that did not end well has its node in the record, and a job about nodes has what it changed,
// emptied, or was asked for; where a unit was started that is well is not kept.
static void jobs_are_chosen_by_the_nodes_that_their_records_name(void **state) {
        Argosy__Request__ListJobs list = ARGOSY__REQUEST__LIST_JOBS__INIT;
        char *nodes[JOB_NODES_MAX + 1];
        uint64_t bad, cordon, drain;
        const Argosy__Response__JobRow *job;
        char node[16];

        g.bad = hash_of(OTHER, strlen(OTHER));
        (void) ask((Ask){START, "a.service", SERVICE});
        bad = ask((Ask){START, "b.service", OTHER})->job;
        rig_pass_ms(&g, 1100); // its end is in the log
        job = rig_show_job(&g, bad);
        assert_string_equal(job->state, "failed");
        str_fit(node, sizeof(node), "%s", job->units[0]->node);
        assert_int_not_equal(*node, '\0');
        expect_jobs_of(node, &bad, 1);
        expect_jobs_of("", NULL, 0);
        expect_jobs_of("n9", NULL, 0);

        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        cordon = rig_last_job(&g);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        drain = rig_last_job(&g);
        expect_jobs_of("n3", (uint64_t[]){drain, cordon, bad}, streq(node, "n3") ? 3 : 2);
        for (size_t i = 0; i < ELEMENTSOF(nodes); i++)
                nodes[i] = (char *) "n1";
        list.nodes = nodes;
        list.n_nodes = JOB_NODES_MAX + 1;
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->status, E2BIG);
}

static void who_asks_for_no_job_is_told_which_there_are(void **state) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.number = 99);
        const Argosy__Response *r = rig_last(rig_list_jobs(&g, &list));

        assert_int_equal(r->status, ENOENT);
        assert_string_equal(r->message, "there is no job 99: there has been none");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_change_is_a_job_in_the_same_entry),
        TEST(what_it_replaced_and_how_it_stands_is_told),
        TEST(a_job_that_removed_it_by_another_verb_has_done_so),
        TEST(a_wait_that_comes_late_says_destroyed_only_if_the_log_does),
        TEST(what_fails_is_not_as_asked),
        TEST(what_changes_nothing_is_no_job),
        TEST(a_request_that_comes_again_is_the_same_job),
        TEST(a_request_that_comes_again_hears_how_its_job_has_ended),
        TEST(a_request_that_comes_again_waits_while_its_job_runs),
        TEST(a_request_that_comes_again_during_an_update_is_not_refused),
        TEST(what_its_job_knows_nothing_of_is_planned_again),
        TEST(what_was_refused_is_not_told_to_be_done_once_it_could_be),
        TEST(what_is_named_twice_is_told_once),
        TEST(a_key_is_not_used_for_two_things),
        TEST(also_other_requests_are_not_carried_out_twice),
        TEST(a_change_can_be_bound_to_a_revision),
        TEST(other_requests_too),
        TEST(a_reason_is_text),
        TEST(what_goes_into_the_log_in_parts_is_one_job),
        TEST(it_stays_one_job_under_the_next_leader),
        TEST(a_revision_binds_each_part),
        TEST(units_are_told_some_at_a_time),
        TEST(jobs_are_listed_newest_first),
        TEST(jobs_are_chosen_by_the_nodes_that_their_records_name),
        TEST(jobs_are_compared_with_so_many_patterns_only),
        TEST(who_asks_for_no_job_is_told_which_there_are)
)
