// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that are running and are called off: what has not begun is as it was before, what has begun goes on,
// under any leader.
#include "leader-asks.h"
#include "messages.h"
#include "printed.h"
#include "queue-words.h"

#define NEEDS "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nRequires=first.service\n"
#define NEEDS_OTHER "[Service]\nExecStart=/bin/sleep 2000\n[X-Argosy]\nRequires=first.service\n"

enum { HEALTH_MS = 2000, START_MS = 5000 };

// Several units in one job.
static RigAnswer *start_all(const char *const *names, const char *const *contents, size_t n) {
        Argosy__NamedFile files[4], *pointers[4];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {++g.id, 66};

        for (size_t i = 0; i < n; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) names[i], .path = (char *) names[i],
                        .content = (ProtobufCBinaryData){.data = (uint8_t *) contents[i],
                                                         .len = strlen(contents[i])});
                pointers[i] = &files[i];
        }
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = START;
        change.names = (char **) names;
        change.n_names = n;
        change.files = pointers;
        change.n_files = n;
        return ask_and_go_on(&request);
}

// One whose first unit has begun, and whose other one waits for that.
static uint64_t start_both(void) {
        static const char *const names[] = {"first.service", "second.service"}, *const contents[] = {SERVICE,
                                                                                                     NEEDS};
        uint64_t job;

        rig_set_lazy(&g, true);
        job = rig_last(start_all(names, contents, 2))->job;
        assert_int_equal(state_of(job), RUNNING);
        return job;
}

static RigAnswer *ask_to_cancel(const uint64_t *numbers, size_t n, uint64_t number) {
        uint64_t id[2] = {number, 88};
        Argosy__Request__Job job = JOB_OF(
                .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)});
        Argosy__Request__JobCancel m =
                MESSAGE_OF(request__job_cancel, .numbers = (uint64_t *) numbers, .n_numbers = n);

        return ask_and_go_on(A_REQUEST(JOB_CANCEL, job_cancel, &m, .job = &job));
}

static const Argosy__Response *cancel_all(const uint64_t *numbers, size_t n) {
        return rig_last(ask_to_cancel(numbers, n, ++g.id));
}

static const Argosy__Response__UnitResult *result_of(const Argosy__Response *r, const char *name) {
        assert_int_equal(r->status, 0);
        assert_int_equal(r->what_case, ARGOSY__RESPONSE__WHAT_CHANGE);
        for (size_t i = 0; i < r->change->n_units; i++)
                if (strcmp(r->change->units[i]->name, name) == 0)
                        return r->change->units[i];
        return NULL;
}

static const char *end_of(uint64_t job, const char *unit) {
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);

        for (size_t i = 0; i < row->n_units; i++)
                if (strcmp(row->units[i]->unit, unit) == 0)
                        return row->units[i]->end;
        for (size_t i = 0; i < row->n_ends; i++)
                if (strcmp(row->ends[i]->unit, unit) == 0)
                        return row->ends[i]->end;
        return "";
}

// ------------------------------------------------------------------------------------------------ units

static void what_has_not_begun_is_called_off_and_the_rest_goes_on(void **state) {
        uint64_t job = start_both();
        const Argosy__Response *r = cancel_all(&job, 1);

        assert_int_equal(r->job, job + 1);
        const Argosy__Response__UnitResult *result = result_of(r, "second.service");
        assert_non_null(result);
        assert_string_equal(result->message, "");
        assert_int_equal(result->verb, ARGOSY__VERB__VERB_NONE); // nobody waits for it
        assert_string_equal(result_of(r, "first.service")->message, "it has begun, and goes on");
        assert_null(rig_record(&g, "second.service")); // as the job has found it
        assert_true(is_launched("first.service"));
        assert_int_equal(state_of(job), RUNNING);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_string_equal(end_of(job, "second.service"), "cancelled");
        assert_int_equal(rig_show_job(&g, job)->cancelled, 1);
        assert_int_equal(rig_show_job(&g, job)->overtaken, 0);
        assert_string_equal(rig_show_job(&g, job + 1)->verb, "job cancel");
        assert_int_equal(state_of(job + 1), DONE);
}

static void what_somebody_has_changed_meanwhile_is_not_called_off(void **state) {
        uint64_t job = start_both();
        uint64_t seen = cluster_state_revision(g.state);

        assert_true(answer((Ask){STOP, "second.service"})->job > job);
        assert_int_equal(cancel_at(job, seen), ESTALE);
        assert_int_equal(state_of(job), RUNNING);
        assert_non_null(rig_record(&g, "second.service"));
}

// In the turn of its entry, for which it has waited behind a change of the same unit.
static void what_changes_while_it_waits_for_its_entry_is_not_called_off(void **state) {
        static const int status[] = {ESTALE, EALREADY};

        for (size_t i = 0; i < ELEMENTSOF(status); i++) {
                uint64_t id[2] = {++g.id, 88}, other[2] = {++g.id, 33}, job;

                job = start_both();
                Argosy__Request__Job with =
                        JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                               .if_revision = status[i] == ESTALE ? cluster_state_revision(g.state) : 0);
                Argosy__Request__JobCancel m =
                        MESSAGE_OF(request__job_cancel, .numbers = &job, .n_numbers = 1);
                (void) rig_change_with(&g, STOP, "second.service", NULL, false, (const uint8_t *) other);
                RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(JOB_CANCEL, job_cancel, &m, .job = &with));
                assert_int_equal(rig_last(a)->status, status[i]);
                assert_int_equal(cluster_state_last_job(g.state), job + 1); // which is that of the change
                assert_non_null(rig_record(&g, "second.service"));
        }
}

static void who_saw_it_as_it_is_calls_it_off(void **state) {
        uint64_t job = start_both();
        uint64_t seen = cluster_state_revision(g.state);

        (void) answer((Ask){START, "other.service", SERVICE}); // which is none of its units
        assert_int_equal(cancel_at(job, seen), 0);
        assert_null(rig_record(&g, "second.service"));
        assert_int_equal(cancel_at(job, seen), ESTALE); // some of it was called off since
}

static void it_is_called_off_once(void **state) {
        uint64_t job = start_both();

        (void) cancel_all(&job, 1);
        assert_int_equal(cancel_all(&job, 1)->status, EALREADY); // all that is left has begun
        assert_int_equal(rig_last_job(&g), job + 1);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(cancel_all(&job, 1)->status, EALREADY); // it is over
        assert_int_equal(cancel_all((uint64_t[]){99}, 1)->status, ENOENT);
        assert_int_equal(rig_last_job(&g), job + 1);
}

static void a_unit_gets_its_file_of_before(void **state) {
        const char *name = "second.service";
        uint64_t id[2] = {12, 34}, job;

        (void) answer((Ask){SUBMIT, "first.service", SERVICE});
        (void) answer((Ask){SUBMIT, "second.service", NEEDS});
        ProtobufCBinaryData before = rig_record(&g, "second.service")->spec;
        before.data = memcpy(test_malloc(before.len), before.data, before.len);
        rig_set_lazy(&g, true);
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) name, .path = (char *) name,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) NEEDS_OTHER,
                                                                             .len = strlen(NEEDS_OTHER)}),
                          *files = &file;
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .replace = true, .names = (char **) &name, .n_names = 1, .files = &files,
                .n_files = 1);
        job = rig_last(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change)))->job;
        assert_memory_not_equal(rig_record(&g, name)->spec.data, before.data, before.len);
        assert_non_null(result_of(cancel_all(&job, 1), name));
        assert_memory_equal(rig_record(&g, name)->spec.data, before.data, before.len);
        assert_int_equal(rig_record(&g, name)->target, ARGOSY__TARGET__TARGET_INACTIVE);
        assert_true(is_launched("first.service")); // that it has brought along has begun
        test_free(before.data);
        rig_set_lazy(&g, false);
}

static void what_has_begun_is_refused(void **state) {
        uint64_t jobs[2];

        jobs[0] = start_both();
        jobs[1] = answer((Ask){START, "third.service", SERVICE})->job;
        const Argosy__Response *r = cancel_all(jobs, 2);
        assert_int_equal(r->status, EALREADY); // all of those that are named, or none
        assert_non_null(strstr(r->message, "undo"));
        assert_true(is_launched("second.service"));
        assert_int_equal(rig_last_job(&g), jobs[1]);
        rig_set_lazy(&g, false);
}

static void a_held_one_and_a_running_one_go_together(void **state) {
        uint64_t jobs[2];

        jobs[0] = start_both();
        jobs[1] = hold((Ask){START, "third.service", SERVICE, .hold = true});
        const Argosy__Response *r = cancel_all(jobs, 2);
        assert_non_null(result_of(r, "second.service"));
        assert_non_null(result_of(r, "job 2"));
        assert_int_equal(state_of(jobs[1]), CANCELLED);
        assert_null(rig_record(&g, "second.service"));
        assert_null(rig_record(&g, "third.service"));
        assert_int_equal(n_held(), 0);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(jobs[0]), CANCELLED);
}

static void one_entry_more(void) {
        rig_release(&g);
        rig_turns(&g, 2);
}

// One that may go waits in the queue of requests, behind others of its author: in the entry in which alice
// calls it off there is room for both, or for one of them.
static uint64_t call_off_one_that_goes(Argosy__Author *alice, unsigned room, RigAnswer **ret) {
        give(ARGOSY__RIGHT__RIGHT_ADMIN, "alice", false);
        uint64_t job = hold((Ask){START, "held.service", SERVICE, true});
        g.slow = true;
        (void) ask((Ask){START, "a.service", SERVICE});
        (void) ask_to_release(job);
        one_entry_more();
        g.leader->limits.requests_units = 1;
        (void) ask((Ask){START, "b.service", SERVICE});
        one_entry_more();
        assert_int_equal(state_of(job), HELD);
        g.leader->limits.requests_units = room;
        g.author = alice;
        *ret = ask_to_cancel(&job, 1, ++g.id);
        g.author = NULL;
        one_entry_more();
        rig_hurry_and_settle(&g);
        assert_true((*ret)->final);
        return job;
}

// What its request waits for, it may wait for ever.
static void one_that_waits_to_begin_is_called_off_at_once(void **state) {
        Argosy__Author alice = user("alice", 1000);

        for (unsigned i = 0; i < 2; i++) {
                RigAnswer *a;
                uint64_t job = call_off_one_that_goes(&alice, i == 0 ? 1 : LEADER_LIMIT_requests_units, &a);

                assert_string_equal(rig_last(a)->change->units[0]->message, "it never begins");
                assert_int_equal(state_of(job), CANCELLED);
                assert_null(rig_record(&g, "held.service"));
        }
}

static void a_new_leader_knows_what_was_called_off(void **state) {
        uint64_t job;

        (void) answer((Ask){SUBMIT, "first.service", SERVICE});
        (void) answer((Ask){SUBMIT, "second.service", NEEDS});
        assert_non_null(rig_record(&g, "second.service"));
        for (unsigned i = 0; i < 2; i++) { // one that goes, and one that stays
                static const char *const names[][2] = {{"first.service", "second.service"},
                                                       {"first.service", "new.service"}};
                static const char *const contents[] = {SERVICE, NEEDS};

                rig_set_lazy(&g, true);
                job = rig_last(start_all(names[i], contents, 2))->job;
                assert_non_null(result_of(cancel_all(&job, 1), names[i][1]));
                rig_elect_anew(&g);
                assert_int_equal(state_of(job), RUNNING);
                rig_set_lazy(&g, false);
                rig_pass_ms(&g, 3 * LATER_MS);
                assert_int_equal(state_of(job), CANCELLED);
                assert_string_equal(end_of(job, names[i][1]), "cancelled");
                assert_int_equal(answer((Ask){STOP, "first.service"})->status, 0);
        }
}

// Not with the job that has called off something else: this unit had begun, and is destroyed by another one.
static void of_a_called_off_job_a_new_leader_knows_what_others_have_destroyed(void **state) {
        static const char *const names[] = {"first.service", "begun.service", "second.service"},
                                 *const contents[] = {SERVICE, SERVICE, NEEDS};
        uint64_t job, by;

        rig_set_lazy(&g, true);
        job = rig_last(start_all(names, contents, 3))->job;
        assert_string_equal(result_of(cancel_all(&job, 1), "begun.service")->message,
                            "it has begun, and goes on");
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->deaf = true; // so the log has to remember what may still run
        by = answer((Ask){ARGOSY__VERB__VERB_DESTROY, "begun.service"})->job;
        rig_elect_anew(&g);
        assert_int_equal(state_of(job), RUNNING);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->deaf = false;
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_string_equal(end_of(job, "second.service"), "cancelled");
        assert_string_equal(end_of(job, "begun.service"), "overtaken");
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        for (size_t i = 0; i < row->n_units; i++)
                if (strcmp(row->units[i]->unit, "begun.service") == 0)
                        assert_int_equal(row->units[i]->by, by);
}

// ---- of more units than one entry has

enum { TIED = 500 }; // of one entry, which are called off by two

// All of them wait for the first one, which is being started, whoever leads.
static uint64_t start_many(void) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        char names[TIED][24], *pointers[TIED];
        uint64_t id[2] = {++g.id, 66}, job;

        for (unsigned i = 0; i < TIED; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%u.service", i);
                pointers[i] = names[i];
        }
        g.start_ms = START_MS;
        (void) answer((Ask){SUBMIT, "first.service", SERVICE});
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) NEEDS,
                                                                             .len = strlen(NEEDS)}),
                          *files = &file;
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = START;
        change.names = pointers;
        change.n_names = TIED;
        change.files = &files;
        change.n_files = 1;
        job = rig_last(ask_and_go_on(&request))->job;
        assert_int_equal(state_of(job), RUNNING);
        return job;
}

static size_t count_many(void) {
        size_t n = 0;

        for (unsigned i = 0; i < TIED; i++) {
                n += rig_record(&g, printed("w@%u.service", i)) != NULL;
        }
        return n;
}

static void many_are_called_off_whoever_leads(void **state) {
        uint64_t job = start_many();

        assert_int_equal(count_many(), TIED);
        uint64_t number = ++g.id;
        g.slow = true;
        (void) ask_to_cancel(&job, 1, number);
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(count_many(), 1, TIED - 1); // in the middle of it
        assert_int_equal(state_of(job), RUNNING);
        const Argosy__Response *r =
                rig_last(ask_to_cancel(&job, 1, number)); // as a client does that has lost its leader
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job + 1);
        assert_int_equal(count_many(), 0);
        assert_int_equal(rig_last_job(&g), job + 1);
        rig_pass_ms(&g, START_MS + LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_int_equal(rig_show_job(&g, job)->cancelled, TIED);
        assert_int_equal(rig_show_job(&g, job)->overtaken, 0);
        assert_int_equal(state_of(job + 1), DONE);
}

static void a_closed_queue_and_rules_do_not_hold_it(void **state) {
        uint64_t job = start_both();

        (void) add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, ""));
        set_closed(true, "");
        assert_non_null(result_of(cancel_all(&job, 1), "second.service"));
        rig_set_lazy(&g, false);
}

static void who_could_not_ask_for_it_cannot_call_it_off(void **state) {
        Argosy__Author bob = user("bob", 1001);

        (void) answer((Ask){SUBMIT, "first.service", SERVICE});
        (void) answer((Ask){SUBMIT, "second.service", NEEDS});
        uint64_t job = start_both();
        give(ARGOSY__RIGHT__RIGHT_VIEW, "bob", false);
        g.author = &bob;
        assert_int_equal(cancel_all(&job, 1)->status, EACCES);
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "bob", false);
        assert_non_null(result_of(cancel_all(&job, 1), "second.service"));
        assert_int_equal(rig_record(&g, "second.service")->target, ARGOSY__TARGET__TARGET_INACTIVE);
        g.author = NULL;
        rig_set_lazy(&g, false);
}

// It would be gone, with its file, as if he had destroyed it.
static void what_was_brought_takes_back_who_could_bring_it(void **state) {
        Argosy__Author bob = user("bob", 1001);
        uint64_t job = start_both();

        give(ARGOSY__RIGHT__RIGHT_OPERATE, "bob", false);
        g.author = &bob;
        const Argosy__Response *r = cancel_all(&job, 1);
        assert_replies(r, EACCES, "'deploy'");
        assert_true(is_launched("second.service"));
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "bob", false);
        assert_non_null(result_of(cancel_all(&job, 1), "second.service"));
        assert_null(rig_record(&g, "second.service"));
        g.author = NULL;
        rig_set_lazy(&g, false);
}

// ------------------------------------------------------------------------------------------------ rollouts

static uint64_t update(const char *content) {
        const Argosy__Response *r =
                rig_last(rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "web@.service",
                                                      content, .health_ms = HEALTH_MS}));

        assert_int_equal(r->status, 0);
        return r->job;
}

static void an_update_ends_where_it_is(void **state) {
        unsigned n_new = 0;
        char name[] = "web@1.service";

        (void) answer((Ask){SUBMIT, "web@.service", SERVICE});
        for (name[4] = '1'; name[4] <= '4'; name[4]++)
                (void) answer((Ask){START, name});
        uint64_t job = update(OTHER);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        assert_non_null(result_of(cancel_all(&job, 1), "web@.service"));
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "cancelled");
        assert_string_equal(row->message, "called off by root@n1; nothing more was changed");
        rig_pass_ms(&g, 10 * HEALTH_MS);
        for (name[4] = '1'; name[4] <= '4'; name[4]++)
                n_new += rig_has_content(&g, name, OTHER);
        assert_true(n_new > 0 && n_new < 4);
        assert_true(update(SERVICE) > job); // another one may begin
}

static void a_drain_is_called_off(void **state) {
        (void) answer((Ask){START, "a.service", SERVICE});
        uint32_t host = rig_host_of(&g, "a.service");
        rig_set_deaf(&g, true);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        assert_int_equal(state_of(job), RUNNING);
        assert_int_equal(cancel_all(&job, 1)->status, 0);
        assert_int_equal(cluster_state_find_host(g.state, host)->nodes[0]->mode,
                         ARGOSY__NODE_MODE__MODE_OPEN);
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "cancelled");
        assert_non_null(strstr(row->message, "stays there"));
        rig_set_deaf(&g, false);
}

// May use the verb, but could not have asked for the drain.
static void a_right_to_units_calls_off_no_drain(void **state) {
        Argosy__Author bob = user("bob", 1001);

        (void) answer((Ask){START, "a.service", SERVICE});
        uint32_t host = rig_host_of(&g, "a.service");
        rig_set_deaf(&g, true);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "bob", false);
        g.author = &bob;
        assert_int_equal(cancel_all(&job, 1)->status, EACCES);
        assert_int_equal(cluster_state_find_host(g.state, host)->nodes[0]->mode,
                         ARGOSY__NODE_MODE__MODE_DRAINING);
        g.author = NULL;
        assert_int_equal(cancel_all(&job, 1)->status, 0);
        rig_set_deaf(&g, false);
}

// Its second unit comes up while the entry is on its way that takes it away again.
static void what_has_ended_well_when_it_is_called_off_is_called_off(void **state) {
        uint64_t job, after;

        job = start_both();
        after = hold((Ask){START, "b.service", SERVICE, .after = job});
        g.slow = true;
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &job, .n_numbers = 1);
        RigAnswer *a = ask_and_go_on(A_REQUEST(JOB_CANCEL, job_cancel, &m));
        for (uint32_t h = 1; h <= 3; h++) {
                VirtualUnit *u = rig_unit_on(&g, h, "first.service");

                rig_host(&g, h)->lazy = false;
                if (u)
                        rig_host_report(&g, rig_host(&g, h), u, u->active, u->outcome);
        }
        rig_turns(&g, 20);
        assert_int_equal(rig_count_running(&g, "second.service"), 1);
        rig_hurry(&g);
        rig_pass_ms(&g, 2 * LATER_MS);
        assert_int_equal(rig_last(a)->status, 0);
        assert_null(rig_record(&g, "second.service"));
        assert_int_equal(state_of(job), CANCELLED);
        assert_int_equal(state_of(after), CANCELLED);
        assert_null(rig_record(&g, "b.service"));
}

// While the disks of most voters are full nobody writes it down, and there is nothing to look at again and
// again.
static void who_calls_off_what_has_just_ended_waits_quietly_for_a_full_disk(void **state) {
        uint64_t job;

        job = answer((Ask){START, "a.service", SERVICE})->job;
        assert_int_equal(state_of(job), RUNNING); // it has ended, and the log has yet to hear of it
        store_memory_fail(g.store, -ENOSPC);
        assert_int_equal(answer((Ask){START, "b.service", SERVICE})->status, ENOSPC);
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &job, .n_numbers = 1);
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(JOB_CANCEL, job_cancel, &m));
        assert_false(a->final);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_last(a)->status, EALREADY);
}

RUN_TESTS(
        RIG_TEST(what_has_not_begun_is_called_off_and_the_rest_goes_on),
        RIG_TEST(what_somebody_has_changed_meanwhile_is_not_called_off),
        RIG_TEST(what_changes_while_it_waits_for_its_entry_is_not_called_off),
        RIG_TEST(who_saw_it_as_it_is_calls_it_off),
        RIG_TEST(it_is_called_off_once),
        RIG_TEST(a_unit_gets_its_file_of_before),
        RIG_TEST(what_has_begun_is_refused),
        RIG_TEST(a_held_one_and_a_running_one_go_together),
        RIG_TEST(one_that_waits_to_begin_is_called_off_at_once),
        RIG_TEST(a_new_leader_knows_what_was_called_off),
        RIG_TEST(of_a_called_off_job_a_new_leader_knows_what_others_have_destroyed),
        RIG_TEST(many_are_called_off_whoever_leads),
        RIG_TEST(a_closed_queue_and_rules_do_not_hold_it),
        RIG_TEST(who_could_not_ask_for_it_cannot_call_it_off),
        RIG_TEST(what_was_brought_takes_back_who_could_bring_it),
        RIG_TEST(an_update_ends_where_it_is),
        RIG_TEST(a_drain_is_called_off),
        RIG_TEST(a_right_to_units_calls_off_no_drain),
        RIG_TEST(what_has_ended_well_when_it_is_called_off_is_called_off),
        RIG_TEST(who_calls_off_what_has_just_ended_waits_quietly_for_a_full_disk)
)
