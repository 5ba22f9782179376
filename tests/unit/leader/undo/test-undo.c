// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a job changed is put back, by a job that can be undone itself: contents, what units were to be, and
// whether they were there. What somebody has changed since is named, and left alone unless the request says
// otherwise.
#include <inttypes.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "printed.h"
#include "random-numbers.h"
#include "str.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1000\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2000\n"
#define THREE "[Service]\nExecStart=/bin/sleep 3000\n"
#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

enum { MANY = 600, TEXT_MAX = 4096 };

RIG_OF(3)

static uint64_t change(Argosy__Verb verb, const char *name, const char *content) {
        return rig_change_as_job(&g, verb, name, content);
}

static uint64_t start(const char *name, const char *content) {
        return change(ARGOSY__VERB__VERB_START, name, content);
}

static uint64_t stop(const char *name) {
        return change(ARGOSY__VERB__VERB_STOP, name, NULL);
}

// The new job.
static uint64_t undone(uint64_t job) {
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});

        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, rig_last_job(&g));
        return r->job;
}

static void assert_unit(const char *name, const char *content, Argosy__Target target) {
        const Argosy__UnitRecord *record = rig_record(&g, name);

        assert_non_null(record);
        assert_true(rig_has_content(&g, name, content));
        assert_int_equal(record->target, target);
        assert_int_equal(rig_count_running(&g, name), target == LAUNCHED);
}

// ------------------------------------------------------------------------------------------------ one unit

static void a_file_is_put_back_and_runs(void **state) {
        Hash one = hash_of(ONE, strlen(ONE));

        (void) start("a.service", ONE);
        uint64_t job = undone(start("a.service", TWO));
        assert_unit("a.service", ONE, LAUNCHED);
        const VirtualUnit *held = rig_unit_on(&g, rig_host_of(&g, "a.service"), "a.service");
        assert_true(hash_equal(&held->order.spec, &one));
        assert_string_equal(rig_show_job(&g, job)->verb, "undo");
        (void) undone(job); // of what was undone
        assert_unit("a.service", TWO, LAUNCHED);
}

static void what_was_stopped_is_started(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = undone(stop("a.service"));
        assert_unit("a.service", ONE, LAUNCHED);
        (void) undone(job);
        assert_unit("a.service", ONE, LOADED);
}

static void what_was_made_is_destroyed_and_made_again(void **state) {
        uint64_t job = undone(start("a.service", ONE));

        assert_null(rig_record(&g, "a.service"));
        assert_int_equal(rig_count_running(&g, "a.service"), 0);
        (void) undone(job);
        assert_unit("a.service", ONE, LAUNCHED);
}

static void what_was_destroyed_is_as_it_was(void **state) {
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE);
        (void) start("w@1.service", NULL);
        assert_true(rig_record(&g, "w@1.service")->from_template);
        (void) undone(change(ARGOSY__VERB__VERB_DESTROY, "w@1.service", NULL));
        assert_unit("w@1.service", ONE, LAUNCHED);
        assert_true(rig_record(&g, "w@1.service")->from_template);
        (void) undone(change(ARGOSY__VERB__VERB_UNLOAD, "w@1.service", NULL));
        assert_unit("w@1.service", ONE, LAUNCHED);
}

// The client waits for each unit as for what it would have asked for.
static void what_is_to_be_waited_for_is_said(void **state) {
        uint64_t job = start("a.service", ONE);
        const Argosy__Response__UnitResult *result = rig_undo(&g, (RigUndo){job})->change->units[0];

        assert_int_equal(result->verb, ARGOSY__VERB__VERB_DESTROY);
        assert_true(result->revision > 0);
        result = rig_undo(&g, (RigUndo){rig_last_job(&g)})->change->units[0];
        assert_int_equal(result->verb, ARGOSY__VERB__VERB_START);
        assert_int_equal(result->revision, rig_record(&g, "a.service")->revision);
        assert_true(*result->node);
        (void) start("a.service", TWO);
        job = stop("a.service");
        (void) rig_undo(&g, (RigUndo){job});
        assert_int_equal(rig_undo(&g, (RigUndo){rig_last_job(&g)})->change->units[0]->verb,
                         ARGOSY__VERB__VERB_STOP);
}

// --------------------------------------------------------------------------------------- what is in the way

static void what_somebody_changed_since_is_named(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        uint64_t later = start("a.service", THREE);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_replies(r, EEXIST, printed("by job %" PRIu64 " (start, root@n1)", later));
        assert_unit("a.service", THREE, LAUNCHED);
        assert_int_equal(rig_last_job(&g), later);

        r = rig_undo(&g, (RigUndo){job, .only_untouched = true});
        assert_int_equal(r->status, 0);
        assert_non_null(strstr(r->change->units[0]->message, "stays as it is"));
        assert_unit("a.service", THREE, LAUNCHED);
        assert_int_equal(rig_last_job(&g), later);

        assert_int_equal(rig_undo(&g, (RigUndo){job, .force = true})->status, 0);
        assert_unit("a.service", ONE, LAUNCHED);
        assert_int_equal(rig_last_job(&g), later + 1);
}

// Content and what it is to be are two things.
// What somebody was told of before is compared with what the job changed, and not with all that has happened
// since.
static void a_revision_binds_it_to_what_its_job_changed(void **state) {
        uint64_t job = start("a.service", ONE);
        uint64_t seen = cluster_state_revision(g.state);

        (void) start("b.service", ONE);
        (void) stop("a.service");
        assert_int_equal(rig_undo(&g, (RigUndo){job, .force = true, .if_revision = seen})->status, ESTALE);
        assert_non_null(rig_record(&g, "a.service"));
        seen = cluster_state_revision(g.state);
        (void) stop("b.service");
        // b.service is not its business
        assert_int_equal(rig_undo(&g, (RigUndo){job, .force = true, .if_revision = seen})->status, 0);
        assert_null(rig_record(&g, "a.service"));
}

// It has no revision any more: whatever went last counts.
static void a_revision_binds_it_to_units_that_are_gone(void **state) {
        (void) start("a.service", ONE);
        (void) start("b.service", ONE);
        uint64_t job = change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        uint64_t seen = cluster_state_revision(g.state);
        (void) change(ARGOSY__VERB__VERB_DESTROY, "b.service", NULL);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .if_revision = seen})->status, ESTALE);
        assert_null(rig_record(&g, "a.service"));
        seen = cluster_state_revision(g.state);
        (void) start("c.service", ONE);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .if_revision = seen})->status, 0);
        assert_unit("a.service", ONE, LAUNCHED);
}

static void a_revision_binds_it_to_what_is_no_unit(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        uint64_t job = rig_last_job(&g);
        uint64_t seen = cluster_state_revision(g.state);
        // hosts have one revision together
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .if_revision = seen})->status, ESTALE);
        seen = cluster_state_revision(g.state);
        (void) start("a.service", ONE);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .if_revision = seen})->status, 0);
        assert_int_equal(cluster_state_find_host(g.state, 1)->nodes[0]->mode, ARGOSY__NODE_MODE__MODE_OPEN);
}

static void what_somebody_changed_since_beside_it_stays(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        (void) stop("a.service");
        (void) undone(job);
        assert_unit("a.service", ONE, LOADED);
}

static void the_cluster_itself_changes_nothing(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        uint32_t host = rig_host_of(&g, "a.service");
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_true(rig_host_of(&g, "a.service") != host);
        (void) undone(job);
        assert_unit("a.service", ONE, LAUNCHED);
}

static const Argosy__Response *change_voters(uint32_t wanted) {
        Argosy__Request__ClusterVoters m = MESSAGE_OF(request__cluster_voters, .wanted = wanted);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_VOTERS, cluster_voters, &m)));
}

static void that_it_ran_cannot_be_undone(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = change(ARGOSY__VERB__VERB_RESTART, "a.service", NULL);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_replies(r, EOPNOTSUPP, "that something ran cannot be undone");
        (void) change_voters(1);
        r = rig_undo(&g, (RigUndo){rig_last_job(&g)});
        assert_replies(r, EOPNOTSUPP, "(cluster voters) has changed nothing that can be put back");
        assert_int_equal(rig_undo(&g, (RigUndo){99})->status, ENOENT);
}

static void what_is_as_before_stays(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        (void) start("a.service", ONE);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, 0);
        assert_string_equal(r->change->units[0]->message, "it is as it was before already");
}

static void a_plan_says_it_and_does_nothing(void **state) {
        (void) start("a.service", ONE);
        (void) start("a.service", TWO);
        uint64_t job = stop("a.service");
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .preview = true});
        assert_string_equal(r->change->units[0]->message, "is to be launched again");
        r = rig_undo(&g, (RigUndo){job - 1, .preview = true});
        assert_memory_equal(r->change->units[0]->message, "gets its file of before (", 25);
        assert_int_equal(r->job, 0);
        assert_unit("a.service", TWO, LOADED);
        assert_int_equal(rig_last_job(&g), job);
}

#define BOX(tag) "[Container]\nImage=reg.example/box:" tag "\n"

static void a_plan_names_the_image_that_a_container_goes_to(void **state) {
        for (uint32_t i = 1; i <= g.n_hosts; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) start("a.service", BOX("1"));
        uint64_t job = start("a.service", BOX("2"));
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .preview = true});
        assert_memory_equal(r->change->units[0]->message, "gets its file of before (", 25);
        assert_non_null(strstr(r->change->units[0]->message, ") with the image reg.example/box:1, sha256:"));
}

static void a_request_that_comes_again_undoes_nothing_twice(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        uint64_t n = rig_undo(&g, (RigUndo){job, .id = 4711})->job;
        (void) start("a.service", TWO);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .id = 4711, .force = true});
        assert_int_equal(r->status, EEXIST); // that is another request
        r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, n);
        assert_unit("a.service", TWO, LAUNCHED);
        (void) start("a.service", ONE);
        // who has only lost the answer waits for the unit as it is
        r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_int_equal(r->change->units[0]->verb, ARGOSY__VERB__VERB_START);
        assert_int_equal(r->change->units[0]->revision, rig_record(&g, "a.service")->revision);
}

// ------------------------------------------------------------------------------------------------ many

static char names[MANY][32], *pointers[MANY];

static uint64_t start_many(const char *content) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {++g.id, 99};

        for (size_t i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.verb = ARGOSY__VERB__VERB_START;
        m.replace = true;
        m.names = pointers;
        m.n_names = MANY;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        m.files = &files;
        m.n_files = 1;
        return rig_last(rig_ask_and_settle(&g, &request))->job;
}

static size_t count(const char *content) {
        size_t n = 0;

        for (size_t i = 0; i < MANY; i++)
                n += rig_has_content(&g, names[i], content);
        return n;
}

static void many_are_one_job(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->n_units, MANY);
        assert_int_equal(count(ONE), MANY);
        assert_int_equal(r->job, job + 1);
        assert_int_equal(rig_last_job(&g), job + 1);
        assert_int_equal(rig_show_job(&g, job + 1)->changed, MANY);
}

// Until a part of it is in the log, and its leader is lost.
static void begin_and_lose_the_leader(uint64_t job, uint64_t id) {
        g.slow = true;
        (void) rig_begin_undo(&g, (RigUndo){job, .id = id});
        for (unsigned committed = g.batches; g.batches < committed + 1;) {
                rig_turns(&g, 1);
                rig_release(&g);
        }
        rig_depose(&g);
        rig_hurry(&g);
}

static void the_next_leader_goes_on_with_it(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        begin_and_lose_the_leader(job, 4711);
        rig_elect(&g);
        assert_in_range(count(ONE), 1, MANY - 1);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job + 1);
        assert_int_equal(r->change->n_units, MANY);
        for (size_t i = 0; i < MANY; i++)
                assert_int_equal(r->change->units[i]->verb, ARGOSY__VERB__VERB_START);
        assert_int_equal(count(ONE), MANY);
        assert_int_equal(rig_last_job(&g), job + 1);
        assert_int_equal(rig_show_job(&g, job + 1)->changed, MANY);
}

static bool is_partial(uint64_t job) {
        return cluster_state_job_is_partial(g.state, job);
}

// There is nothing to store any more, and the log has to hear that, or it would wait for more.
static void whose_rest_somebody_else_has_put_back_is_over(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        begin_and_lose_the_leader(job, 4711);
        rig_elect(&g);
        (void) start_many(ONE);
        assert_true(is_partial(job + 1));
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job + 1);
        assert_false(is_partial(job + 1));
        assert_int_equal(rig_last_job(&g), job + 2);
}

static void what_is_forgotten_before_it_is_undone_whole_is_said(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        begin_and_lose_the_leader(job, 4711);
        rig_age(&g, (CLUSTER_JOB_DAYS_MAX + 1) * UINT64_C(86400) * USEC_PER_SEC);
        rig_elect(&g);
        (void) start("a.service", ONE);
        assert_true(cluster_state_first_job(g.state) > job);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_replies(r, ENODATA, "was not put back whole");
        assert_int_equal(r->job, job + 1);
        assert_false(is_partial(job + 1));
        assert_in_range(count(ONE), 1, MANY - 1);
        r = rig_undo(&g, (RigUndo){job, .id = 4711});
        assert_int_equal(r->status, ENOENT);
}

// ------------------------------------------------------------------------------------------------ updates

// Unit by unit, in entries of their own: these are the job's, too.
static void an_update_is_undone_with_all_that_it_did(void **state) {
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE);
        for (unsigned i = 1; i <= 3; i++) {
                (void) start(printed("w@%u.service", i), NULL);
        }
        (void) rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "w@.service", TWO});
        uint64_t job = rig_last_job(&g);
        rig_pass_ms(&g, 20000);
        assert_unit("w@3.service", TWO, LAUNCHED);
        assert_int_equal(rig_last_job(&g), job);
        assert_int_equal(rig_show_job(&g, job)->changed, 4);
        assert_int_equal(
                cluster_state_find_job_of(g.state, "w@3.service", rig_record(&g, "w@3.service")->revision),
                job);
        (void) undone(job);
        for (unsigned i = 1; i <= 3; i++) {
                assert_unit(printed("w@%u.service", i), ONE, LAUNCHED);
        }
        (void) start("w@4.service", NULL);
        assert_unit("w@4.service", ONE, LAUNCHED); // the template, too
}

// It went there and back by itself.
static void an_update_that_failed_leaves_nothing_to_undo(void **state) {
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE);
        (void) start("w@1.service", NULL);
        (void) start("w@2.service", NULL);
        g.bad = hash_of(TWO, strlen(TWO));
        (void) rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "w@.service", TWO});
        rig_pass_ms(&g, 60000);
        assert_unit("w@1.service", ONE, LAUNCHED);
        assert_int_equal(rig_undo(&g, (RigUndo){rig_last_job(&g)})->status, EOPNOTSUPP);
}

// The job, which has given three instances TWO.
static uint64_t update_three(void) {
        (void) change(ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE);
        for (unsigned i = 1; i <= 3; i++) {
                (void) start(printed("w@%u.service", i), NULL);
        }
        (void) rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "w@.service", TWO});
        rig_pass_ms(&g, 20000);
        assert_unit("w@3.service", TWO, LAUNCHED);
        return rig_last_job(&g);
}

static size_t count_three(const char *content) {
        size_t n = 0;

        for (unsigned i = 1; i <= 3; i++) {
                n += rig_has_content(&g, printed("w@%u.service", i), content);
        }
        return n;
}

static void files_are_put_back_a_few_at_a_time(void **state) {
        uint64_t job = update_three();
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .rolling = true, .preview = true});

        assert_int_equal(r->change->n_units, 4);
        r = rig_undo(&g, (RigUndo){job, .rolling = true, .id = 4711});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, job + 1);
        assert_int_equal(r->change->n_units, 1);
        assert_string_equal(r->change->units[0]->name, "w@.service");
        const Argosy__RolloutRecord *rollout = cluster_state_find_rollout(g.state, "w@.service");
        assert_int_equal(r->change->units[0]->revision, rollout->revision);
        assert_true(rollout_is_under_way(rollout));
        assert_in_range(count_three(ONE), 0, 2); // not all at once
        assert_int_equal(cluster_state_job_state(g.state, job + 1), ARGOSY__JOB_STATE__JOB_RUNNING);
        r = rig_undo(&g, (RigUndo){job, .rolling = true, .id = 4711}); // who asks again waits for the same
        assert_int_equal(r->job, job + 1);
        assert_int_equal(r->change->units[0]->revision,
                         cluster_state_find_rollout(g.state, "w@.service")->revision);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count_three(ONE), 3);
        assert_unit("w@2.service", ONE, LAUNCHED);
        assert_int_equal(rig_last_job(&g), job + 1);
        assert_int_equal(rig_show_job(&g, job + 1)->changed, 4);
        assert_string_equal(rig_show_job(&g, job + 1)->state, "done");
        r = rig_undo(&g, (RigUndo){job, .rolling = true});
        assert_int_equal(r->status, 0);
        assert_int_equal(r->change->units[0]->revision, 0); // nothing to wait for
        assert_int_equal(rig_last_job(&g), job + 1);
        r = rig_undo(&g, (RigUndo){job + 1, .rolling = true}); // and the other way round
        assert_int_equal(r->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(count_three(TWO), 3);
}

static void what_is_no_update_is_not_put_back_a_few_at_a_time(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = stop("a.service");
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .rolling = true});
        assert_replies(r, EOPNOTSUPP, "a.service is to be something else again");
        assert_int_equal(rig_last_job(&g), job);
        r = rig_undo(&g, (RigUndo){job, .rolling = true, .preview = true});
        assert_int_equal(r->status, EOPNOTSUPP);
        r = rig_undo(&g, (RigUndo){job, .rolling = true, .only_untouched = true});
        assert_int_equal(r->status, EINVAL);
        (void) rig_label(&g, "n2", "disk", "ssd");
        r = rig_undo(&g, (RigUndo){rig_last_job(&g), .rolling = true});
        assert_replies(r, EOPNOTSUPP, "it has changed more than units");
}

// ------------------------------------------------------------------------------------------------ at random

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

// What everybody wants of all units.
static void digest(char ret[TEXT_MAX]) {
        char *lines[64];
        size_t n = 0;

        cluster_state_foreach_unit(e, g.state) {
                char hex[15];

                hash_hex(&e->spec->hash, 7, hex);
                assert_true(asprintf(&lines[n++], "%s %s %d%d\n", e->record->name, hex, e->record->target,
                                     e->record->from_template) > 0);
        }
        qsort(lines, n, sizeof(*lines), compare);
        *ret = 0;
        for (size_t i = 0; i < n; i++) {
                strcat(ret, lines[i]);
                free(lines[i]);
        }
}

static void random_change(uint64_t *seed) {
        static const char *const contents[] = {ONE, TWO, THREE, NULL};
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_SUBMIT, ARGOSY__VERB__VERB_LOAD,
                                             ARGOSY__VERB__VERB_START,  ARGOSY__VERB__VERB_STOP,
                                             ARGOSY__VERB__VERB_UNLOAD, ARGOSY__VERB__VERB_DESTROY,
                                             ARGOSY__VERB__VERB_RESTART};
        const char *content = contents[xorshift64(seed) % ELEMENTSOF(contents)];
        Argosy__Verb verb = verbs[xorshift64(seed) % ELEMENTSOF(verbs)];
        char name[32];

        if (xorshift64(seed) % 6 == 0)
                snprintf(name, sizeof(name), "w@.service");
        else if (xorshift64(seed) % 2)
                snprintf(name, sizeof(name), "w@%u.service", (unsigned) (xorshift64(seed) % 4));
        else
                snprintf(name, sizeof(name), "u%u.service", (unsigned) (xorshift64(seed) % 4));
        (void) change(verb, name, content);
}

static void whatever_was_done_is_undone_step_by_step(void **state) {
        enum { STEPS = 60 };
        static char before[STEPS][TEXT_MAX], now[TEXT_MAX];
        uint64_t job[STEPS];

        for (uint64_t seed = 1; seed <= 4; seed++) {
                uint64_t s = seed * 7919;

                for (size_t i = 0; i < STEPS; i++) {
                        uint64_t last = rig_last_job(&g);

                        digest(before[i]);
                        random_change(&s);
                        job[i] = rig_last_job(&g) > last ? rig_last_job(&g) : 0;
                }
                for (size_t i = STEPS; i-- > 0;) {
                        const Argosy__Response *r = job[i] > 0 ? rig_undo(&g, (RigUndo){job[i]}) : NULL;

                        digest(now);
                        assert_true(!r || r->status == 0 || r->status == EOPNOTSUPP);
                        assert_string_equal(now, before[i]);
                }
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_file_is_put_back_and_runs),
        TEST(what_was_stopped_is_started),
        TEST(what_was_made_is_destroyed_and_made_again),
        TEST(what_was_destroyed_is_as_it_was),
        TEST(what_is_to_be_waited_for_is_said),
        TEST(what_somebody_changed_since_is_named),
        TEST(a_revision_binds_it_to_what_its_job_changed),
        TEST(a_revision_binds_it_to_units_that_are_gone),
        TEST(a_revision_binds_it_to_what_is_no_unit),
        TEST(what_somebody_changed_since_beside_it_stays),
        TEST(the_cluster_itself_changes_nothing),
        TEST(that_it_ran_cannot_be_undone),
        TEST(what_is_as_before_stays),
        TEST(a_plan_names_the_image_that_a_container_goes_to),
        TEST(a_plan_says_it_and_does_nothing),
        TEST(a_request_that_comes_again_undoes_nothing_twice),
        TEST(many_are_one_job),
        TEST(the_next_leader_goes_on_with_it),
        TEST(whose_rest_somebody_else_has_put_back_is_over),
        TEST(what_is_forgotten_before_it_is_undone_whole_is_said),
        TEST(an_update_is_undone_with_all_that_it_did),
        TEST(an_update_that_failed_leaves_nothing_to_undo),
        TEST(files_are_put_back_a_few_at_a_time),
        TEST(what_is_no_update_is_not_put_back_a_few_at_a_time),
        TEST(whatever_was_done_is_undone_step_by_step)
)
