// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the cluster does by itself leaves a record for people: one for each cause, in the entries that do it.
#include <inttypes.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START
#define OPEN ARGOSY__NODE_MODE__MODE_OPEN
#define CORDONED ARGOSY__NODE_MODE__MODE_CORDONED

enum { LATER_MS = RIG_LEASE_MS + RIG_BEAT_MS, MINUTE_MS = 61 * 1000 };

RIG_OF(3)

// Newest first, of those that the cluster made itself, with what it moved.
static const Argosy__Response__JobRow *own(const char *verb, size_t i) {
        Argosy__Request__ListJobs list =
                MESSAGE_OF(request__list_jobs, .author = (char *) "cluster", .changes = true);
        const Argosy__Response__Jobs *jobs;

        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        for (size_t k = 0; k < jobs->n_rows; k++)
                if (strcmp(jobs->rows[k]->verb, verb) == 0 && i-- == 0)
                        return jobs->rows[k];
        return NULL;
}

static void start_on_2(const char *name) {
        (void) rig_set_host_mode(&g, 1, CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        assert_int_equal(rig_change(&g, START, name, SERVICE)->status, 0);
        assert_int_equal(rig_host_of(&g, name), 2);
        (void) rig_set_host_mode(&g, 1, OPEN, 0);
        (void) rig_set_host_mode(&g, 3, OPEN, 0);
}

static const char *why(const char *unit) {
        char *name = (char *) unit;
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = &name, .n_names = 1);

        return rig_ask_and_settle(&g, A_REQUEST(WHY, why, &m))->responses[0]->status_reply->note;
}

static void a_lost_host_is_told_with_what_it_had(void **state) {
        unsigned batches;
        char phrase[64];

        start_on_2("a.service");
        start_on_2("b.service");
        batches = g.batches;
        rig_host_off_for(&g, 2, LATER_MS);
        assert_int_not_equal(rig_host_of(&g, "a.service"), 2);
        assert_int_equal(g.batches, batches + 1); // that in which they move
        const Argosy__Response__JobRow *row = own("host lost", 0);
        assert_string_equal(row->author, "cluster");
        assert_string_equal(row->state, "done");
        assert_string_equal(row->targets[0], "n2");
        assert_non_null(strstr(row->reason, "n2 was not heard of for 4 s"));
        assert_int_equal(row->n_units, 2);
        assert_string_equal(row->units[0]->from, "n2");
        assert_string_equal(row->units[0]->node, rig_node_name(&g, row->units[0]->unit));
        snprintf(phrase, sizeof(phrase), "(job %" PRIu64 ")", row->job);
        assert_non_null(strstr(why("a.service"), "the cluster moved it here from n2 at "));
        assert_non_null(strstr(why("a.service"), phrase));
        assert_null(own("host lost", 1));
        assert_null(own("host back", 0));
        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, 2000);
        assert_string_equal(own("host back", 0)->targets[0], "n2");
        assert_non_null(strstr(own("host back", 0)->reason, "n2 is heard again after "));
}

static void a_host_that_had_nothing_is_told_too(void **state) {
        rig_change(&g, START, "a.service", SERVICE);
        rig_host_off_for(&g, rig_host_of(&g, "a.service") == 3 ? 2 : 3, LATER_MS + 1500);
        assert_non_null(own("host lost", 0));
        assert_int_equal(own("host lost", 0)->n_units, 0);
}

static void what_happens_again_within_a_minute_is_counted(void **state) {
        start_on_2("a.service");
        for (unsigned i = 0; i < 3; i++) {
                rig_host_off_for(&g, 2, LATER_MS + 1500);
                rig_host_on(&g, 2, false);
                rig_pass_ms(&g, 2000);
        }
        const Argosy__Response__JobRow *row = own("host lost", 0);
        assert_non_null(strstr(row->reason, " (3 times)"));
        assert_non_null(strstr(own("host back", 0)->reason, " (3 times)"));
        assert_null(own("host lost", 1));
        uint64_t first = row->job;
        rig_age(&g, MINUTE_MS * UINT64_C(1000));
        rig_pass_ms(&g, 1000);
        rig_host_off_for(&g, 2, LATER_MS + 1500);
        assert_true(own("host lost", 0)->job > first);
        assert_null(strstr(own("host lost", 0)->reason, "times"));
}

static void what_moves_later_belongs_to_the_loss(void **state) {
        start_on_2("a.service");
        (void) rig_set_host_mode(&g, 1, CORDONED, 0);
        (void) rig_set_host_mode(&g, 3, CORDONED, 0);
        rig_host_off_for(&g, 2, LATER_MS + 1500);
        uint64_t first = own("host lost", 0)->job;
        assert_int_equal(own("host lost", 0)->n_units, 0);
        rig_age(&g, MINUTE_MS * UINT64_C(1000));
        rig_pass_ms(&g, 1000);
        rig_depose(&g); // whoever leads then
        rig_elect(&g);
        rig_pass_ms(&g, LATER_MS + 1500);
        (void) rig_set_host_mode(&g, 1, OPEN, 0);
        rig_pass_ms(&g, 1000);
        assert_int_equal(rig_host_of(&g, "a.service"), 1);
        assert_int_equal(own("host lost", 0)->job, first);
        assert_int_equal(own("host lost", 0)->n_units, 1);
        assert_non_null(strstr(own("host lost", 0)->reason, "n2 was not heard of"));
}

static void another_leader_is_told(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        for (unsigned i = 0; i < 2; i++) {
                rig_elect_anew(&g);
                rig_pass_ms(&g, 2000);
        }
        assert_non_null(strstr(own("leader", 0)->reason, "n1 leads the cluster now (2 times)"));
        assert_null(own("leader", 1));
        rig_age(&g, MINUTE_MS * UINT64_C(1000));
        rig_pass_ms(&g, 1000);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 2000);
        assert_non_null(own("leader", 1));
}

static void a_wait_that_ends_is_told(void **state) {
        for (uint32_t host = 1; host <= 3; host++)
                (void) rig_set_host_mode(&g, host, CORDONED, 0);
        (void) rig_change(&g, START, "a.service", SERVICE);
        assert_null(own("place", 0));
        (void) rig_set_host_mode(&g, 3, OPEN, 0);
        rig_pass_ms(&g, 1000);
        assert_string_equal(own("place", 0)->units[0]->node, "n3");
        assert_string_equal(own("place", 0)->units[0]->from, "");
        assert_string_equal(own("place", 0)->targets[0], "a.service");
        assert_string_equal(own("place", 0)->reason, "it waited for a node");
        assert_non_null(strstr(why("a.service"), "the cluster placed it here at "));
        assert_non_null(strstr(why("a.service"), "it waited for a node"));
}

static void what_leaves_a_node_that_is_emptied_says_so(void **state) {
        start_on_2("a.service");
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        rig_pass_ms(&g, 1000);
        assert_string_equal(own("move", 0)->units[0]->from, "n2");
        assert_non_null(strstr(own("move", 0)->units[0]->message, "n2 is being emptied"));
        assert_string_equal(own("move", 0)->targets[0], "n2");
        assert_string_equal(own("move", 0)->reason, "n2 is being emptied");
}

static void what_was_in_a_manager_that_is_detached_did_not_wait_for_a_node(void **state) {
        rig_host_set_manager(&g, 2, "user@1000");
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE "[X-Argosy]\nManager=user@*\n")->status,
                         0);
        rig_host_set_manager(&g, 3, "user@1000");
        rig_host_set_manager(&g, 2, NULL);
        rig_pass_ms(&g, 1000);
        assert_int_equal(rig_record(&g, "a.service")->node, rig_host(&g, 3)->virtual.manager_node);
        assert_null(own("place", 0));
        assert_string_equal(own("move", 0)->reason, "its node is not in the cluster any more");
        assert_string_equal(own("move", 0)->units[0]->node, rig_node_name(&g, "a.service"));
}

static void what_fails_and_is_tried_elsewhere_says_so(void **state) {
        static const char bad[] = SERVICE "[X-Argosy]\nRestartElsewhere=1\n";

        g.bad = hash_of(bad, strlen(bad));
        (void) rig_change(&g, START, "bad.service", bad);
        rig_pass_ms(&g, 20 * 1000);
        const Argosy__Response__JobRow *row = own("try again", 0);
        assert_string_equal(row->targets[0], "bad.service");
        assert_non_null(strstr(row->reason, "it failed on n"));
        assert_string_not_equal(row->units[0]->from, row->units[0]->node);
}

// It has failed on n1, and not there.
static void what_is_refused_where_it_is_tried_has_not_failed_there(void **state) {
        static const char bad[] = SERVICE "[X-Argosy]\nRestartElsewhere=1\n";

        g.bad = hash_of(bad, strlen(bad));
        (void) rig_change(&g, START, "bad.service", bad);
        assert_int_equal(rig_host_of(&g, "bad.service"), 1);
        rig_host(&g, 2)->refuses = rig_host(&g, 3)->refuses = true;
        rig_pass_ms(&g, 20 * 1000);
        const Argosy__Response__JobRow *row = own("try again", 0);
        assert_string_equal(row->units[0]->from, "n1");
        row = own("move", 0);
        assert_non_null(row);
        assert_non_null(strstr(row->reason, " refuses it: "));
}

// A unit that fails wherever it is tried is one target, and each unit is told why it went itself.
static void units_of_one_record_have_reasons_of_their_own(void **state) {
        static const char bad[] = SERVICE "[X-Argosy]\nRestartElsewhere=1\n";
        char *name = (char *) "b.service";

        g.bad = hash_of(bad, strlen(bad));
        (void) rig_change(&g, START, "a.service", bad);
        (void) rig_change(&g, START, "b.service", bad);
        rig_pass_ms(&g, 50 * 1000);
        const Argosy__Response__JobRow *row = own("try again", 0);
        assert_true(row->n_units > 2);
        assert_int_equal(row->n_targets, 2);
        assert_non_null(strstr(row->reason, "; others for other reasons"));
        Argosy__Request__ListJobs list = MESSAGE_OF(request__list_jobs, .author = (char *) "cluster",
                                                    .changes = true, .patterns = &name, .n_patterns = 1);
        row = rig_last(rig_list_jobs(&g, &list))->jobs->rows[0];
        assert_string_equal(row->units[0]->unit, "b.service");
        assert_string_equal(row->reason, row->units[0]->message);
}

static void a_host_that_is_shut_down_was_not_silent(void **state) {
        start_on_2("a.service");
        rig_host_goodbye(&g, 2);
        rig_settle(&g);
        assert_null(own("host lost", 0));
        virtual_host_goodbye(&rig_host(&g, 2)->virtual, false);
        rig_settle(&g);
        assert_string_equal(own("host lost", 0)->reason, "n2 was shut down");
        assert_int_equal(own("host lost", 0)->n_units, 1);
}

// Nobody asked for it, so it is in nobody's way.
static void it_counts_for_no_request(void **state) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.changes = true);

        start_on_2("a.service");
        uint64_t job = rig_last_job(&g) - 2; // behind it two nodes were opened
        rig_host_off_for(&g, 2, LATER_MS + 1500);
        uint64_t moved = own("host lost", 0)->job;
        assert_string_equal(rig_show_job(&g, job)->verb, "start");
        assert_string_equal(rig_show_job(&g, job)->state, "done"); // it is not overtaken
        assert_int_equal(rig_undo(&g, (RigUndo){moved, .id = 4711})->status, EOPNOTSUPP);
        assert_int_equal(
                cluster_state_find_job_of(g.state, "a.service", rig_record(&g, "a.service")->revision), 0);
        assert_int_equal(rig_undo(&g, (RigUndo){job, .id = 4712})->status, 0); // nothing was changed since
        assert_true(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(a_lost_host_is_told_with_what_it_had),
        TEST(a_host_that_had_nothing_is_told_too),
        TEST(what_happens_again_within_a_minute_is_counted),
        TEST(what_moves_later_belongs_to_the_loss),
        TEST(another_leader_is_told),
        TEST(a_wait_that_ends_is_told),
        TEST(what_leaves_a_node_that_is_emptied_says_so),
        TEST(what_was_in_a_manager_that_is_detached_did_not_wait_for_a_node),
        TEST(what_fails_and_is_tried_elsewhere_says_so),
        TEST(what_is_refused_where_it_is_tried_has_not_failed_there),
        TEST(units_of_one_record_have_reasons_of_their_own),
        TEST(a_host_that_is_shut_down_was_not_silent),
        TEST(it_counts_for_no_request)
)
