// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests as jobs: each that changes something has a number, and one entry of the log with its effect;
// whoever asks hears who wanted what, what it replaced, and how it stands now.
#include "jobs-words.h"

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

static void what_is_named_twice_is_told_once(void **state) {
        restart_twice((const char *const[]){"nobody.service", "a.service", "nobody.service", "a.service",
                                            "no.service"},
                      5);
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

RUN_TESTS(TEST(a_change_is_a_job_in_the_same_entry), TEST(what_it_replaced_and_how_it_stands_is_told),
          TEST(a_job_that_removed_it_by_another_verb_has_done_so),
          TEST(a_wait_that_comes_late_says_destroyed_only_if_the_log_does), TEST(what_fails_is_not_as_asked),
          TEST(what_changes_nothing_is_no_job), TEST(what_is_named_twice_is_told_once),
          TEST(a_reason_is_text))
