// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rolling updates and restarts of units whose node is lost on the way.
#include "leader-asks.h"
#include "messages.h"

#define OLD "[Service]\nExecStart=/bin/sleep 1000\n"
#define NEW "[Service]\nExecStart=/bin/sleep 2000\n"
#define KEEP "[X-Argosy]\nNodeLost=keep\n"
#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define RESTART ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART

enum { START_MS = 3000 };

RIG_OF(3)

// The node of host 1, whose clients ask, has another one.
static void start(const char *name, const char *content) {
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, "first.service", OLD)->status, 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, name, content)->status, 0);
        rig_settle(&g);
        g.start_ms = START_MS;
}

// The unit's node loses its power when the unit has had its turn, before anybody has heard of it. Returns
// who waits for the job.
static RigAnswer *begin_and_lose(RigRollout w) {
        const RigAnswer *a = rig_rollout(&g, w);

        assert_int_equal(rig_last(a)->status, 0);
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = rig_last(a)->job);
        rig_settle(&g);
        rig_host_off(&g, cluster_state_find_host_by_node(g.state, rig_record(&g, w.name)->node)->host);
        return rig_ask_and_settle(&g, A_REQUEST(JOB_WAIT, job_wait, &m));
}

static void pass_until_final(const RigAnswer *a) {
        for (unsigned i = 0; i < 1000 && !a->final; i++)
                rig_pass_ms(&g, 250);
        assert_true(a->final);
}

static Argosy__ActiveState active_where_placed(const char *name) {
        RigHost *h =
                rig_host(&g, cluster_state_find_host_by_node(g.state, rig_record(&g, name)->node)->host);
        const VirtualUnit *u = virtual_host_find(&h->virtual, name);

        return u ? u->active : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static void what_had_its_turn_on_a_node_that_is_lost_is_waited_for_where_it_goes(void **state) {
        start("a.service", OLD);
        RigAnswer *a = begin_and_lose((RigRollout){RESTART, "a.service"});
        pass_until_final(a);
        assert_int_equal(active_where_placed("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(cluster_state_job_state(g.state, 3), ARGOSY__JOB_STATE__JOB_DONE);
}

static void of_what_stays_on_a_node_that_is_lost_it_is_said_that_nobody_knows(void **state) {
        start("a.service", OLD KEEP);
        RigAnswer *a = begin_and_lose((RigRollout){UPDATE, "a.service", NEW KEEP});
        pass_until_final(a);
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(g.state, "a.service");
        assert_string_equal(r->reason,
                            "1 unit is on nodes that cannot be asked, so whether it is up is not known");
        assert_int_equal(cluster_state_job_state(g.state, 3), ARGOSY__JOB_STATE__JOB_FAILED);
}

RUN_TESTS(
        RIG_TEST(what_had_its_turn_on_a_node_that_is_lost_is_waited_for_where_it_goes),
        RIG_TEST(of_what_stays_on_a_node_that_is_lost_it_is_said_that_nobody_knows)
)
