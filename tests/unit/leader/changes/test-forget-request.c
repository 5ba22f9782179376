// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What jobs have replaced is kept: it can be read, and erased if nobody has it any more.
#include <errno.h>

#include "forget-request.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1000\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2000\n"
#define THREE "[Service]\nExecStart=/bin/sleep 3000\n"

RIG_OF(3)

static uint64_t start(const char *name, const char *content) {
        return rig_change_as_job(&g, ARGOSY__VERB__VERB_START, name, content);
}

static const Argosy__Response *cat(const char *name, const char *rev) {
        Argosy__Request__Cat m = MESSAGE_OF(request__cat, .names = (char **) &name, .n_names = 1,
                                            .revs = (char **) &rev, .n_revs = rev != NULL);

        return rig_last(rig_ask(&g, A_REQUEST(CAT, cat, &m)));
}

static const Argosy__Response *forget(const char *rev) {
        Argosy__Request__Forget m = MESSAGE_OF(request__forget, .revs = (char **) &rev, .n_revs = 1);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(FORGET, forget, &m)));
}

static const Argosy__Response *forget_at(const char *rev, uint64_t if_revision) {
        Argosy__Request__Forget m = MESSAGE_OF(request__forget, .revs = (char **) &rev, .n_revs = 1);
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(FORGET, forget, &m, .job = &job)));
}

static void a_file_is_erased_if_no_job_has_had_it_since(void **state) {
        Hash one = hash_of(ONE, strlen(ONE));
        char hex[HASH_HEX_SIZE];

        hash_hex(&one, HASH_SIZE, hex);
        (void) start("a.service", ONE);
        (void) start("a.service", TWO);
        uint64_t seen = cluster_state_revision(g.state);
        (void) start("b.service", ONE);
        (void) start("b.service", TWO);
        assert_int_equal(forget_at(hex, seen)->status, ESTALE);
        assert_non_null(cluster_state_find_spec(g.state, &one));
        seen = cluster_state_revision(g.state);
        (void) start("c.service", THREE);
        assert_int_equal(forget_at(hex, seen)->status, 0);
        assert_null(cluster_state_find_spec(g.state, &one));
}

static void the_history_of_a_unit_can_be_read(void **state) {
        const Argosy__Response__Jobs *jobs;
        char *name = (char *) "a.service";

        (void) start("a.service", ONE);
        (void) start("b.service", ONE);
        (void) rig_change_as_job(&g, ARGOSY__VERB__VERB_LOAD, "c.service", THREE);
        (void) start("a.service", TWO);
        (void) rig_change_as_job(&g, ARGOSY__VERB__VERB_STOP, "a.service", NULL);
        (void) rig_change_as_job(&g, ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.patterns = &name, .n_patterns = 1, .changes = true);
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, 4);
        const Argosy__Response__JobUnitRow *unit = jobs->rows[0]->units[0];
        assert_true(unit->gone);
        assert_string_equal(unit->desired, "loaded");
        assert_string_equal(unit->rev_after, "");
        unit = jobs->rows[1]->units[0];
        assert_string_equal(unit->desired, "launched");
        assert_string_equal(unit->desired_after, "loaded");
        assert_string_equal(unit->rev, unit->rev_after);
        unit = jobs->rows[2]->units[0];
        assert_string_not_equal(unit->rev, unit->rev_after);
        const Argosy__Response *r = cat("a.service", unit->rev_after);
        assert_int_equal(r->status, 0);
        assert_memory_equal(r->cat->content.data, TWO, strlen(TWO));
        assert_string_equal(jobs->rows[3]->units[0]->rev, "");
        assert_int_equal(jobs->rows[3]->n_units, 1); // of a.service alone

        assert_int_equal(forget(unit->rev)->status, EEXIST); // b.service has it
        assert_int_equal(forget(unit->rev_after)->status, 0);
        assert_string_equal(rig_show_job(&g, rig_last_job(&g))->verb, "history forget");
        assert_int_equal(cat("a.service", unit->rev_after)->status, ENOENT);
        assert_int_equal(forget(unit->rev_after)->status, ENOENT);
        r = rig_undo(&g, (RigUndo){jobs->rows[0]->job}); // it was destroyed with that file
        assert_replies(r, EEXIST, "not kept any more");
}

#define A "\n# a.service.d/a.conf\n[Service]\nNice=1\n"
#define B "\n# a.service.d/b.conf\n[Service]\nNice=2\n"

static const Argosy__Response__JobUnitRow *newest_change(const char *name) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.patterns = (char **) &name, .n_patterns = 1,
                                                      .changes = true);

        return rig_last(rig_list_jobs(&g, &list))->jobs->rows[0]->units[0];
}

static void a_history_says_which_parts_of_a_content_differ(void **state) {
        char rev[HASH_HEX_SIZE];

        (void) start("a.service", ONE A);
        assert_null(newest_change("a.service")->parts); // it is new
        (void) start("a.service", TWO B);
        const Argosy__Response__JobUnitRow *unit = newest_change("a.service");
        str_fit(rev, sizeof(rev), "%s", unit->rev);
        assert_int_equal(unit->parts->n_rows, 3);
        assert_int_equal(unit->parts->added, 1);
        assert_int_equal(unit->parts->changed, 1);
        assert_int_equal(unit->parts->removed, 1);
        assert_string_equal(unit->parts->rows[0]->part, "unit file");
        assert_string_equal(unit->parts->rows[0]->change, "changed");
        assert_string_equal(unit->parts->rows[1]->part, "a.service.d/a.conf");
        assert_string_equal(unit->parts->rows[1]->change, "removed");
        assert_string_equal(unit->parts->rows[2]->part, "a.service.d/b.conf");
        assert_string_equal(unit->parts->rows[2]->change, "added");
        assert_int_equal(forget(rev)->status, 0);
        assert_null(newest_change("a.service")->parts); // nobody knows any more
        (void) start("a.service", TWO);
        assert_int_equal(newest_change("a.service")->parts->removed, 1);
        (void) start("a.service", THREE);
        assert_null(newest_change("a.service")->parts); // there is nothing but the unit file
}

enum { MANY_REVS = 2 * LEADER_LIMIT_forgets + 1000 };

// Of so many contents that there are these two, if they are any.
static const Argosy__Response *forget_many(const char *first, const char *last) {
        static char words[MANY_REVS][HASH_HEX_SIZE], *revs[MANY_REVS];
        Argosy__Request__Forget m = ARGOSY__REQUEST__FORGET__INIT;
        Argosy__Request request = REQUEST_OF(FORGET, forget, &m);
        uint64_t id[2] = {++g.id, 66};

        for (uint64_t i = 0; i < MANY_REVS; i++) {
                Hash hash = hash_of(&i, sizeof(i));

                hash_hex(&hash, HASH_SIZE, words[i]);
                revs[i] = words[i];
        }
        revs[0] = (char *) (first ?: revs[0]);
        revs[MANY_REVS - 1] = (char *) (last ?: revs[MANY_REVS - 1]);
        m.revs = revs;
        m.n_revs = MANY_REVS;
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)});
        request.job = &job;
        return rig_last(rig_ask_and_settle(&g, &request));
}

static void rev_of(const char *content, char ret[HASH_HEX_SIZE]) {
        Hash hash = hash_of(content, strlen(content));

        hash_hex(&hash, HASH_SIZE, ret);
}

static void tens_of_thousands_of_contents_are_erased_by_one_job(void **state) {
        char one[HASH_HEX_SIZE], two[HASH_HEX_SIZE], three[HASH_HEX_SIZE];

        rev_of(ONE, one);
        rev_of(TWO, two);
        rev_of(THREE, three);
        (void) start("a.service", ONE);
        (void) start("a.service", TWO);
        uint64_t last = start("a.service", THREE);
        assert_int_equal(forget_many(NULL, NULL)->status, ENOENT);
        assert_int_equal(forget_many(NULL, three)->status, EEXIST);
        const Argosy__Response *r = forget_many(one, two);
        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, last + 1);
        assert_int_equal(rig_last_job(&g), last + 1);
        assert_int_equal(cat("a.service", one)->status, ENOENT);
        assert_int_equal(cat("a.service", two)->status, ENOENT);

        (void) start("a.service", ONE);
        last = start("a.service", THREE);
        r = forget_many(one, three); // the last piece has nothing that could be erased
        assert_replies(r, 0, "1 of 21000 are not erased");
        assert_int_equal(cat("a.service", one)->status, ENOENT);
        assert_int_equal(rig_last_job(&g), last + 1);
        assert_false(cluster_state_job_is_partial(g.state, last + 1));
        assert_int_equal(cluster_state_job_state(g.state, last + 1), ARGOSY__JOB_STATE__JOB_DONE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_file_is_erased_if_no_job_has_had_it_since),
        TEST(the_history_of_a_unit_can_be_read),
        TEST(a_history_says_which_parts_of_a_content_differ),
        TEST(tens_of_thousands_of_contents_are_erased_by_one_job)
)
