// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An undo waits for its entry, or is several entries, and others change its units meanwhile: what goes into
// an entry is judged in that turn, against what it was asked against. What somebody has changed since is
// left, named, and fails the job.
#include <inttypes.h>

#include "forget-request.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1000\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2000\n"
#define THREE "[Service]\nExecStart=/bin/sleep 3000\n"

enum { MANY = 600, LOOKED = 2048, BIG = LOOKED + 50 }; // LOOKED: units that are looked at in one turn

RIG_OF(3)

static uint64_t start(const char *name, const char *content) {
        return rig_change_as_job(&g, ARGOSY__VERB__VERB_START, name, content);
}

// And nothing happens yet.
static void ask_start(const char *name, const char *content) {
        uint64_t id[2] = {++g.id, 33};

        (void) rig_change_with(&g, ARGOSY__VERB__VERB_START, name, content, true, (const uint8_t *) id);
}

static const Argosy__Response__UnitResult *result_of(const Argosy__Response *r, const char *name) {
        for (size_t i = 0; i < r->change->n_units; i++)
                if (streq(r->change->units[i]->name, name))
                        return r->change->units[i];
        fail_msg("nothing is said of %s", name);
        return NULL;
}

// --------------------------------------------------------------------------------- that waits for its entry

// The change goes into an entry with which the undo of the same unit has to wait.
static const Argosy__Response *undo_behind(uint64_t job, const char *name, const char *content) {
        ask_start(name, content);
        RigAnswer *a = rig_begin_undo(&g, (RigUndo){job, .rolling = true});
        rig_settle(&g);
        return rig_last(a);
}

static void a_newer_change_is_not_overwritten(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        const Argosy__Response *r = undo_behind(job, "a.service", THREE);
        rig_pass_ms(&g, 20000);
        assert_true(rig_has_content(&g, "a.service", THREE));
        assert_replies(r, EEXIST, "was changed since by job");
        assert_null(cluster_state_find_rollout(g.state, "a.service"));
}

static void what_is_as_before_by_then_is_said_to_be(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        const Argosy__Response *r = undo_behind(job, "a.service", ONE);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->change->units[0]->message, "it is as it was before already");
        assert_null(cluster_state_find_rollout(g.state, "a.service"));
}

static void ask_to_forget(const char *content) {
        Hash hash = hash_of(content, strlen(content));
        char hex[HASH_HEX_SIZE], *rev = hex;

        hash_hex(&hash, HASH_SIZE, hex);
        Argosy__Request__Forget m = MESSAGE_OF(request__forget, .revs = &rev, .n_revs = 1);
        (void) rig_ask(&g, A_REQUEST(FORGET, forget, &m));
}

// The content is freed between the first look and the entry.
static void a_content_that_is_erased_meanwhile_is_not_read(void **state) {
        (void) start("a.service", ONE);
        uint64_t job = start("a.service", TWO);
        ask_start("a.service", TWO); // it starts again, as it is
        ask_to_forget(ONE);
        RigAnswer *a = rig_begin_undo(&g, (RigUndo){job, .rolling = true});
        rig_settle(&g);
        const Argosy__Response *r = rig_last(a);
        assert_replies(r, EEXIST, "had a file before that is not kept any more");
        assert_true(rig_has_content(&g, "a.service", TWO));
}

// --------------------------------------------------------------------------------------- in several entries

static char names[BIG][32], *pointers[BIG];

static uint64_t change_some(Argosy__Verb verb, size_t first, size_t n, const char *content) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        uint64_t id[2] = {++g.id, 99};

        for (size_t i = first; i < first + n; i++) {
                snprintf(names[i], sizeof(names[i]), "w@%zu.service", i);
                pointers[i] = names[i];
        }
        m.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        m.verb = verb;
        m.replace = true;
        m.names = pointers + first;
        m.n_names = n;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "w@.service",
                                            .path = (char *) "w@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        m.files = &files;
        m.n_files = 1;
        const Argosy__Response *r = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(r->status, 0);
        assert_true(r->job > 0);
        return r->job;
}

static uint64_t change_many(Argosy__Verb verb, size_t n, const char *content) {
        return change_some(verb, 0, n, content);
}

static uint64_t start_many(const char *content) {
        return change_many(ARGOSY__VERB__VERB_START, MANY, content);
}

static size_t count(const char *content) {
        size_t n = 0;

        for (size_t i = 0; i < MANY; i++)
                n += rig_has_content(&g, names[i], content);
        return n;
}

// The log has its first part, and nobody goes on yet.
static RigAnswer *begin(RigUndo w) {
        g.slow = true;
        RigAnswer *a = rig_begin_undo(&g, w);
        while (g.n_held == 0)
                rig_turns(&g, 1);
        return a;
}

static void go_on(void) {
        rig_hurry_and_settle(&g);
}

static void begin_and_lose_the_leader(RigUndo w) {
        unsigned committed = g.batches;

        (void) begin(w);
        while (g.batches == committed) {
                rig_release(&g);
                rig_turns(&g, 1);
        }
        rig_depose(&g);
        rig_hurry(&g);
        rig_elect(&g);
        assert_in_range(count(ONE), 1, MANY - 1);
}

// The first and the last unit: one that the job has put back, and one that it has not come to.
static void assert_left(const Argosy__Response *r, uint64_t job, size_t n_left) {
        const Argosy__Response__UnitResult *last = result_of(r, "w@599.service");
        Argosy__JobRecord *record;

        assert_int_equal(r->status, 0);
        assert_true(rig_has_content(&g, "w@599.service", THREE));
        assert_int_equal(count(ONE), MANY - n_left);
        assert_replies(last, ESTALE, "was changed since by job");
        assert_non_null(strstr(last->message, "stays as it is"));
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, job)->state, "failed");
        assert_int_equal(rig_show_job(&g, job)->failed, 1);
        const Argosy__Response__JobUnitRow *left = rig_show_job(&g, job)->units[0];
        assert_string_equal(left->unit, "w@599.service");
        assert_string_equal(left->end, "failed");
        assert_int_equal(left->revision, 0);
        assert_non_null(strstr(left->end_message, "was changed since by job"));
        assert_int_equal(cluster_state_read_job(g.state, job, &record), 0);
        assert_int_equal(record->n_ends, 1);
        assert_string_equal(record->ends[0]->unit, "w@599.service");
        assert_true(record->asked_revision > 0);
        message_free(record);
}

// The file of before is erased for good before the undo comes to its unit.
static void check_erased(bool force) {
        (void) start_many(ONE);
        (void) change_some(ARGOSY__VERB__VERB_START, MANY - 1, 1, THREE);
        uint64_t job = start_many(TWO);
        g.slow = true;
        ask_start("z.service", TWO);
        while (g.n_held == 0)
                rig_turns(&g, 1);
        RigAnswer *a = rig_begin_undo(&g, (RigUndo){job, .force = force});
        ask_to_forget(THREE); // in the entry of the first part
        go_on();
        const Argosy__Response__UnitResult *last = result_of(rig_last(a), "w@599.service");
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(last->status, ENODATA);
        assert_string_equal(last->message, "the file that it had before is not kept any more");
        assert_int_equal(count(ONE), MANY - 1);
        assert_true(rig_has_content(&g, "w@599.service", TWO));
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, job + 2)->state, "failed");
        assert_int_equal(rig_show_job(&g, job + 2)->failed, 1);
        assert_string_equal(rig_show_job(&g, job + 2)->units[0]->unit, "w@599.service");
        assert_non_null(strstr(rig_show_job(&g, job + 2)->units[0]->end_message, "not kept any more"));
}

static void a_unit_whose_file_is_erased_between_parts_fails_the_job(void **state) {
        check_erased(false);
}

static void with_force_a_unit_whose_file_is_erased_fails_the_job_too(void **state) {
        check_erased(true);
}

static void check_between_parts(bool force) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        RigAnswer *a = begin((RigUndo){job, .force = force});
        ask_start("w@599.service", THREE);
        go_on();
        assert_left(rig_last(a), job + 1, 1);
        assert_int_equal(rig_last_job(&g), job + 2);
}

static void what_changes_between_two_parts_is_left(void **state) {
        check_between_parts(false);
}

static void what_changes_between_two_parts_is_left_with_force_too(void **state) {
        check_between_parts(true);
}

static void check_between_leaders(bool force) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        begin_and_lose_the_leader((RigUndo){job, .force = force, .id = 4711});
        (void) start("w@0.service", THREE);
        (void) start("w@599.service", THREE);
        const Argosy__Response *r = rig_undo(&g, (RigUndo){job, .force = force, .id = 4711});
        assert_int_equal(r->job, job + 1);
        assert_true(rig_has_content(&g, "w@0.service", THREE));
        assert_replies(result_of(r, "w@0.service"), 0, "changed it again since");
        assert_left(r, job + 1, 2);
}

static void what_changes_between_two_leaders_is_left(void **state) {
        check_between_leaders(false);
}

static void what_changes_between_two_leaders_is_left_with_force_too(void **state) {
        check_between_leaders(true);
}

// Who asked that what others have changed be left has what he asked for.
static void what_was_to_be_left_fails_nothing(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        RigAnswer *a = begin((RigUndo){job, .only_untouched = true});
        ask_start("w@599.service", THREE);
        go_on();
        assert_int_equal(result_of(rig_last(a), "w@599.service")->status, 0);
        assert_true(rig_has_content(&g, "w@599.service", THREE));
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, job + 1)->state, "done");
}

// Of more units than are looked at in one turn: what was seen in the first of them counts no more in the
// turn of the entry.
static void what_changes_between_two_looks_is_not_overwritten(void **state) {
        (void) change_many(ARGOSY__VERB__VERB_SUBMIT, BIG, ONE);
        uint64_t job = change_many(ARGOSY__VERB__VERB_SUBMIT, BIG, TWO);
        RigAnswer *a = rig_begin_undo(&g, (RigUndo){job, .rolling = true});
        for (unsigned i = 0; i < 2; i++)
                rig_turns(&g, 1);
        assert_false(a->final);
        ask_start("w@0.service", THREE);
        rig_settle(&g);
        assert_replies(rig_last(a), EEXIST, "w@0.service was changed since by job");
        assert_true(rig_has_content(&g, "w@0.service", THREE));
        assert_null(cluster_state_find_rollout(g.state, "w@.service"));

        assert_int_equal(rig_undo(&g, (RigUndo){rig_last_job(&g)})->status, 0); // of that change
        a = rig_begin_undo(&g, (RigUndo){job, .rolling = true});
        rig_settle(&g);
        assert_int_equal(rig_last(a)->status, 0);
        assert_non_null(cluster_state_find_rollout(g.state, "w@.service"));
}

// Neither in the first entry nor behind it.
static void a_revision_binds_each_part(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        uint64_t seen = cluster_state_revision(g.state);
        RigAnswer *a = begin((RigUndo){job, .if_revision = seen});
        ask_start("w@599.service", TWO); // which is no other content
        go_on();
        assert_int_equal(result_of(rig_last(a), "w@599.service")->status, ESTALE);
        assert_true(rig_has_content(&g, "w@599.service", TWO));
        assert_int_equal(count(ONE), MANY - 1);
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, job + 1)->state, "failed");

        (void) start_many(ONE);
        job = start_many(TWO);
        seen = cluster_state_revision(g.state);
        ask_start("w@0.service", TWO); // the undo waits for the next entry
        a = rig_begin_undo(&g, (RigUndo){job, .if_revision = seen});
        rig_settle(&g);
        assert_replies(rig_last(a), ESTALE, "nothing was changed");
        assert_int_equal(count(TWO), MANY);
}

// Nobody has changed it.
static void what_the_cluster_moves_meanwhile_is_put_back(void **state) {
        (void) start_many(ONE);
        uint64_t job = start_many(TWO);
        begin_and_lose_the_leader((RigUndo){job, .force = true, .id = 4711});
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        rig_pass_ms(&g, 20000);
        assert_true(rig_record(&g, "w@599.service")->revision > 0);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .force = true, .id = 4711})->status, 0);
        assert_int_equal(count(ONE), MANY);
        rig_pass_ms(&g, 20000);
        assert_string_equal(rig_show_job(&g, job + 1)->state, "done");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_unit_whose_file_is_erased_between_parts_fails_the_job),
        TEST(with_force_a_unit_whose_file_is_erased_fails_the_job_too),
        TEST(a_newer_change_is_not_overwritten),
        TEST(what_is_as_before_by_then_is_said_to_be),
        TEST(a_content_that_is_erased_meanwhile_is_not_read),
        TEST(what_changes_between_two_parts_is_left),
        TEST(what_changes_between_two_parts_is_left_with_force_too),
        TEST(what_changes_between_two_leaders_is_left),
        TEST(what_changes_between_two_leaders_is_left_with_force_too),
        TEST(what_was_to_be_left_fails_nothing),
        TEST(what_changes_between_two_looks_is_not_overwritten),
        TEST(a_revision_binds_each_part),
        TEST(what_the_cluster_moves_meanwhile_is_put_back)
)
