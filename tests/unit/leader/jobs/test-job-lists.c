// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which jobs a list has.
#include "jobs-words.h"

#include "job-nodes.h"
#include "messages.h"
#include "name-patterns.h"

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
        char *patterns[NAME_GLOBS_MAX + 1];
        uint64_t n = ask((Ask){START, "a.service", SERVICE})->job;

        (void) ask((Ask){START, "b.service", SERVICE});
        for (size_t i = 0; i <= NAME_GLOBS_MAX; i++)
                patterns[i] = (char *) "a*";
        Argosy__Request__ListJobs list =
                LIST_JOBS_OF(.patterns = patterns, .n_patterns = NAME_GLOBS_MAX + 1);
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
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.nodes = nodes, .n_nodes = JOB_NODES_MAX + 1);
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->status, E2BIG);
}

static void who_asks_for_no_job_is_told_which_there_are(void **state) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.number = 99);
        const Argosy__Response *r = rig_last(rig_list_jobs(&g, &list));

        assert_int_equal(r->status, ENOENT);
        assert_string_equal(r->message, "there is no job 99: there has been none");
}

RUN_TESTS(TEST(jobs_are_listed_newest_first), TEST(jobs_are_chosen_by_the_nodes_that_their_records_name),
          TEST(jobs_are_compared_with_so_many_patterns_only),
          TEST(who_asks_for_no_job_is_told_which_there_are))
