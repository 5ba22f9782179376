// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Clocks that are wrong, with a whole leader of three voters: what time it is, what a wrong clock does not
// do, and how people hear of it.
#include <errno.h>

#include "access-token.h"
#include "author.h"
#include "clock.h"
#include "host-clocks.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "test.h"
#include "messages.h"
#include "turn.h"

#define START ARGOSY__VERB__VERB_START
#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define DAY_US (INT64_C(86400) * 1000000)
#define SEC_US INT64_C(1000000)

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        rig_pass_ms(&g, 100);
}

RIG_TEARDOWN

// The clocks of the three hosts are ahead by so much, and another term begins.
static void set_clocks(int64_t first, int64_t second, int64_t third) {
        g.hosts[0].clock_ahead_us = first;
        g.hosts[1].clock_ahead_us = second;
        g.hosts[2].clock_ahead_us = third;
        rig_elect_anew(&g);
}

static const Argosy__Response *ask(Argosy__Request *request) {
        RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_true(a->final);
        return rig_last(a);
}

static const Argosy__Response *create_token(const char *name, uint64_t ttl_sec, Argosy__Author *ret_author) {
        static Hash proof, hash;

        proof = hash_of(name, strlen(name));
        hash = access_token_hash(&proof);
        *ret_author = author_of_token(&proof);
        Argosy__Request__TokenCreate m =
                TOKEN_CREATE_OF(.name = (char *) name, .hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes},
                                .right = ARGOSY__RIGHT__RIGHT_VIEW, .ttl_sec = ttl_sec);
        return ask(A_REQUEST(TOKEN_CREATE, token_create, &m));
}

static int list_as(const Argosy__Author *author) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;
        int status;

        g.author = author;
        status = ask(A_REQUEST(LIST_NODES, list_nodes, &m))->status;
        g.author = NULL;
        return status;
}

static const Argosy__Response *set_time(uint64_t to_us) {
        Argosy__Request__ClusterSetTime m = MESSAGE_OF(request__cluster_set_time, .to_us = to_us);

        return ask(A_REQUEST(CLUSTER_SET_TIME, cluster_set_time, &m));
}

static const Argosy__Response__ClusterStatus *cluster_status(void) {
        Argosy__Request__ClusterStatus m = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;

        return ask(A_REQUEST(CLUSTER_STATUS, cluster_status, &m))->cluster_status;
}

// When the newest job was, less what it really is.
static int64_t newest_job_ahead(void) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_read_job(g.state, cluster_state_last_job(g.state), &record), 0);
        int64_t ahead_us = (int64_t) (record->at_us - g.wall_us);
        message_free(record);
        return ahead_us;
}

#define assert_near(us, expected) assert_in_range((int64_t) (us) - (expected) + SEC_US, 0, 2 * SEC_US)

// ------------------------------------------------------------------------------------------ what time it is

static void there_are_three_voters(void **state) {
        assert_int_equal(g.leader->wall_clock.n_voters, 3);
        assert_true(leader_wall_is_agreed(g.leader));
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
}

// It leads, and says what time it is.
static void a_leader_that_is_forty_days_ahead_deletes_and_dates_nothing(void **state) {
        Argosy__Author ci, late;

        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        assert_int_equal(create_token("ci", 20 * 86400, &ci)->status, 0);
        set_clocks(40 * DAY_US, 0, 0);
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
        assert_int_equal(rig_change(&g, START, "b.service", SERVICE)->status, 0);
        assert_near(newest_job_ahead(), 0);
        assert_int_equal(cluster_state_first_job(g.state), 1);
        assert_near(cluster_state_time_us(g.state) - g.wall_us, 0);
        assert_int_equal(list_as(&ci), 0);
        assert_int_equal(create_token("late", 60, &late)->status, 0);
        set_clocks(0, 0, 0);
        assert_int_equal(list_as(&late), 0);
        rig_pass_ms(&g, 61000);
        assert_int_equal(list_as(&late), EKEYEXPIRED);
}

// Two of three were set wrongly, both the same way: that is what time it is then. Nothing is deleted for it,
// and what expires is refused for as long as they say so.
static void most_clocks_ahead_delete_nothing_either(void **state) {
        Argosy__Author ci;

        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        assert_int_equal(create_token("ci", 20 * 86400, &ci)->status, 0);
        set_clocks(400 * DAY_US, 400 * DAY_US, 0);
        assert_int_equal(rig_change(&g, START, "b.service", SERVICE)->status, 0);
        assert_near(newest_job_ahead(), 400 * DAY_US);
        assert_int_equal(list_as(&ci), EKEYEXPIRED);
        set_clocks(0, 0, 0);
        assert_int_equal(rig_change(&g, START, "c.service", SERVICE)->status, 0);
        assert_near(newest_job_ahead(), 0);
        assert_int_equal(cluster_state_first_job(g.state), 1);
        assert_int_equal(list_as(&ci), 0);
}

static void where_no_two_agree_time_goes_on_from_the_logs(void **state) {
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        set_clocks(40 * DAY_US, 0, -40 * DAY_US);
        assert_false(leader_wall_is_agreed(g.leader));
        assert_false(g.leader->clocks_disagreed); // they have just attached
        rig_pass_ms(&g, 30000);
        assert_true(g.leader->clocks_disagreed); // people were told
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
        for (unsigned i = 0; i < 20; i++) // each entry says how much has passed
                assert_int_equal(rig_change(&g, START, "b.service", SERVICE)->status, 0);
        rig_pass_ms(&g, 30000);
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
        g.hosts[0].clock_ahead_us = 0; // it says so with one of its beats
        rig_pass_ms(&g, 60000);
        assert_true(leader_wall_is_agreed(g.leader));
        assert_false(g.leader->clocks_disagreed);
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
}

// It has heard nobody yet, and counts on from what it has applied as a follower.
static void a_leader_that_has_heard_nobody_counts_on(void **state) {
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        rig_host_off(&g, 2);
        rig_host_off(&g, 3);
        rig_age(&g, 3 * (uint64_t) DAY_US);
        set_clocks(-40 * DAY_US, 0, 0);
        assert_false(leader_wall_is_agreed(g.leader));
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
}

// A cluster that is idle writes nothing, so the log's time stands still.
static void the_first_token_of_an_idle_cluster_is_valid(void **state) {
        Argosy__Author ci;

        rig_age(&g, 3 * (uint64_t) DAY_US);
        assert_int_equal(create_token("ci", 60, &ci)->status, 0);
        assert_int_equal(list_as(&ci), 0);
        rig_pass_ms(&g, 61000);
        assert_int_equal(list_as(&ci), EKEYEXPIRED);
}

static void the_deadline_of_a_drain_goes_by_the_time_of_the_cluster(void **state) {
        set_clocks(40 * DAY_US, 0, 0);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 60);
        set_clocks(0, 0, 0);
        assert_near(node_find(g.leader, 2)->deadline_us - g.wall_us, 60 * SEC_US);
}

// It had heard nobody when it began, and the log was of the day before the power went.
static void what_is_due_is_looked_at_again_when_it_is_known_what_time_it_is(void **state) {
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 3600);
        g.wall_us += 2 * (uint64_t) DAY_US; // off, so nothing was counted
        rig_elect_anew(&g);
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
        rig_pass_ms(&g, 1000);
        assert_true(node_find(g.leader, 2)->deadline_done);
}

// It had heard nobody when it began, and the log's time was ahead of the clocks.
static void a_deadline_that_is_still_to_come_is_acted_on_when_it_has(void **state) {
        set_clocks(400 * DAY_US, 400 * DAY_US, 0);
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        set_clocks(0, 0, 0);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 60);
        rig_elect_anew(&g);
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
        assert_false(node_find(g.leader, 2)->deadline_done);
        rig_pass_ms(&g, 61000);
        assert_true(node_find(g.leader, 2)->deadline_done);
}

// What a host dates is told as the cluster would have dated it.
static void what_a_host_dates_is_seen_by_the_time_of_the_cluster(void **state) {
        set_clocks(0, 0, 40 * DAY_US);
        assert_near(host_find(g.leader, 3)->clock.dates_ahead_us, 40 * DAY_US);
        assert_int_equal(host_find(g.leader, 2)->clock.dates_ahead_us, 0);
        set_clocks(40 * DAY_US, 0, 0); // whoever leads
        assert_int_equal(host_find(g.leader, 2)->clock.dates_ahead_us, 0);
        assert_near(host_find(g.leader, 1)->clock.dates_ahead_us, 40 * DAY_US);
}

// ---------------------------------------------------------------------------------------------- who is told

static void a_clock_that_is_off_is_told_of(void **state) {
        assert_int_equal(leader_stats(g.leader).hosts_clock_off, 0);
        assert_int_equal(leader_stats(g.leader).clocks_agree, 1);
        g.hosts[1].clock_ahead_us = 3 * SEC_US;
        rig_pass_ms(&g, 40000); // it says so with one of its beats
        const Argosy__Response__ClusterStatus *c = cluster_status();
        assert_true(c->clocks_agree);
        assert_near(c->wall_us - g.wall_us, 0);
        assert_true(c->members[1]->clock_known);
        assert_near(c->members[1]->clock_ahead_us, 3 * SEC_US);
        assert_near(c->members[0]->clock_ahead_us, 0);
        assert_int_equal(leader_stats(g.leader).hosts_clock_off, 1);
        assert_true(host_clock_is_off(g.leader, host_find(g.leader, 2)));
        set_clocks(40 * DAY_US, 0, -40 * DAY_US);
        c = cluster_status();
        assert_false(c->clocks_agree);
        assert_false(c->members[0]->clock_known);
        assert_int_equal(leader_stats(g.leader).clocks_agree, 0);
}

// ------------------------------------------------------------------------------------------------ set

static void dates_that_lie_ahead_are_brought_back(void **state) {
        Argosy__Author ci;

        set_clocks(400 * DAY_US, 400 * DAY_US, 0);
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        assert_int_equal(create_token("ci", 60, &ci)->status, 0);
        set_clocks(0, 0, 0);
        assert_near(newest_job_ahead(), 400 * DAY_US);
        assert_near(cluster_status()->log_us - g.wall_us, 400 * DAY_US);
        assert_int_equal(set_time(g.wall_us + DAY_US)->status, EINVAL); // which the clocks do not say
        assert_int_equal(set_time(0)->status, 0);
        assert_near(newest_job_ahead(), 0);
        assert_near(cluster_status()->log_us - g.wall_us, 0);
        assert_near(access_token_of(cluster_state_access(g.state), &ci)->created_us - g.wall_us, 0);
        assert_int_equal(list_as(&ci), 0);
        rig_pass_ms(&g, 61000);
        assert_int_equal(list_as(&ci), EKEYEXPIRED);
}

static void where_the_clocks_do_not_agree_a_person_says_what_time_it_is(void **state) {
        assert_int_equal(rig_change(&g, START, "a.service", SERVICE)->status, 0);
        set_clocks(40 * DAY_US, 0, -40 * DAY_US);
        assert_int_equal(set_time(0)->status, EINVAL);
        assert_int_equal(set_time(UINT64_MAX)->status, EINVAL);
        assert_int_equal(set_time(g.wall_us - DAY_US)->status, 0);
        assert_near(leader_wall(g.leader) - g.wall_us, -DAY_US);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_change(&g, START, "b.service", SERVICE)->status, 0);
        assert_near(newest_job_ahead(), -DAY_US);
        assert_int_equal(set_time(g.wall_us)->status, 0); // on again
        assert_near(leader_wall(g.leader) - g.wall_us, 0);
}

// Nothing but the log says what time it is then, so nothing else would say that it is another one.
static void what_is_due_by_the_time_that_a_person_says_is_done(void **state) {
        Argosy__Author ci;

        set_clocks(40 * DAY_US, 0, -40 * DAY_US);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 3600);
        assert_int_equal(create_token("ci", 3600, &ci)->status, 0);
        uint64_t judged = g.leader->n_token_expiries;
        assert_false(node_find(g.leader, 2)->deadline_done);
        assert_int_equal(set_time(g.wall_us + DAY_US)->status, 0);
        rig_pass_ms(&g, 1000);
        assert_true(node_find(g.leader, 2)->deadline_done);
        assert_true(g.leader->n_token_expiries > judged); // who listens with it is judged again
        assert_int_equal(set_time(g.wall_us)->status, 0);
        assert_false(node_find(g.leader, 2)->deadline_done);
}

#define CLOCKS(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CLOCKS(there_are_three_voters),
        CLOCKS(a_leader_that_is_forty_days_ahead_deletes_and_dates_nothing),
        CLOCKS(most_clocks_ahead_delete_nothing_either),
        CLOCKS(where_no_two_agree_time_goes_on_from_the_logs),
        CLOCKS(a_leader_that_has_heard_nobody_counts_on),
        CLOCKS(the_first_token_of_an_idle_cluster_is_valid),
        CLOCKS(the_deadline_of_a_drain_goes_by_the_time_of_the_cluster),
        CLOCKS(what_is_due_is_looked_at_again_when_it_is_known_what_time_it_is),
        CLOCKS(a_deadline_that_is_still_to_come_is_acted_on_when_it_has),
        CLOCKS(what_a_host_dates_is_seen_by_the_time_of_the_cluster),
        CLOCKS(a_clock_that_is_off_is_told_of),
        CLOCKS(dates_that_lie_ahead_are_brought_back),
        CLOCKS(where_the_clocks_do_not_agree_a_person_says_what_time_it_is),
        CLOCKS(what_is_due_by_the_time_that_a_person_says_is_done)
)
