// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What in the record of a job is the name of a node, and what only looks like one.
#include "test.h"

#include "job-nodes.h"
#include "job-words.h"
#include "messages.h"
#include "request-kind.h"

static char *n2[] = {(char *) "n2"};
static const JobNodes asked = {.names = n2, .n = 1, .numbers = {7}};

static bool matches(const Argosy__JobRecord *job) {
        bool both = job_nodes_match(&asked, job, false);

        assert_true(both || !job_nodes_match(&asked, job, true));
        assert_true(job_nodes_match(&(JobNodes){}, job, true)); // nobody has asked for a node
        return both;
}

static Argosy__JobRecord record(const char *verb) {
        return (Argosy__JobRecord) JOB_RECORD_OF(.verb = (char *) verb, .targets = n2, .n_targets = 1);
}

static void what_was_typed_counts_if_the_verb_is_about_nodes(void **state) {
        Argosy__JobRecord job = record("drain");

        assert_true(matches(&job));
        assert_false(job_nodes_match(&asked, &job, true)); // whoever may see some units only
        job = record("start"); // a unit may be called so
        assert_false(matches(&job));
        job = record("role set");
        assert_false(matches(&job));
}

static void units_that_did_not_end_well_say_where(void **state) {
        Argosy__JobUnitEnd end = ARGOSY__JOB_UNIT_END__INIT, *ends = &end;
        Argosy__JobRecord job = record("start");

        job.ends = &ends;
        job.n_ends = 1;
        assert_false(matches(&job)); // it found no node
        end.node = (char *) "n22";
        assert_false(matches(&job));
        end.node = (char *) "n2";
        assert_true(matches(&job));
        assert_true(job_nodes_match(&asked, &job, true));
        assert_int_equal(job_nodes_cost(&asked, &job), 2);
}

static void settings_and_drains_count_beyond_what_was_typed(void **state) {
        Argosy__JobSetting setting = ARGOSY__JOB_SETTING__INIT, *settings = &setting;
        Argosy__JobRecord job = record("undo");
        uint32_t drains[] = {3, 7};

        job.settings = &settings;
        job.n_settings = 1;
        assert_false(matches(&job));
        setting.where = (char *) "n2";
        assert_true(matches(&job));
        assert_false(job_nodes_match(&asked, &job, true));
        job = record("undo");
        job.drains = drains;
        job.n_drains = 1;
        assert_false(matches(&job));
        job.n_drains = 2;
        assert_true(matches(&job));
}

// Of all requests that become jobs.
static void the_verbs_are_those_of_requests_about_nodes(void **state) {
        static const Argosy__Request__WhatCase kinds[] = {
                ARGOSY__REQUEST__WHAT_NODE_CHANGE, ARGOSY__REQUEST__WHAT_LABEL_CHANGE,
                ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE, ARGOSY__REQUEST__WHAT_CLUSTER_ROLE,
                ARGOSY__REQUEST__WHAT_JOIN};
        Argosy__Request__NodeChange node = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request__ClusterRole role = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;

        for (int i = 0; i < 4; i++) {
                node.mode = (Argosy__NodeMode) i;
                role.promote = i % 2;
                for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                        q.what_case = kinds[k];
                        if (kinds[k] == ARGOSY__REQUEST__WHAT_NODE_CHANGE)
                                q.node_change = &node;
                        else
                                q.cluster_role = &role;
                        if (!job_verb_names_nodes(job_verb(&q)))
                                fail_msg("%s is about nodes", job_verb(&q));
                }
        }
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const RequestKind *kind =
                        request_kind((Argosy__Request__WhatCase) argosy__request__descriptor.fields[i].id);
                bool is_one = false;

                for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                        is_one =
                                is_one ||
                                kinds[k] ==
                                        (Argosy__Request__WhatCase) argosy__request__descriptor.fields[i].id;
                if (kind && kind->job.verb && !is_one && job_verb_names_nodes(kind->job.verb))
                        fail_msg("%s is not about nodes", kind->job.verb);
        }
}

RUN_TESTS(
        cmocka_unit_test(what_was_typed_counts_if_the_verb_is_about_nodes),
        cmocka_unit_test(units_that_did_not_end_well_say_where),
        cmocka_unit_test(settings_and_drains_count_beyond_what_was_typed),
        cmocka_unit_test(the_verbs_are_those_of_requests_about_nodes)
)
