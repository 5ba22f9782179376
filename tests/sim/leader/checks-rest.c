// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of what is left when nobody asks for anything any more and everything is at rest: all that the
// leader keeps for those who ask, and all that it has noted to look at, is gone. What a unit, a node or a
// job has for as long as it is there stays.
//
// The last one, in a process of its own (world.c): all clients go away.
#include <stdio.h>

#include "checks-private.h"
#include "host-marks.h"
#include "leader-private.h"
#include "macro.h"
#include "request-kind.h"
#include "test.h"
#include "pending-requests.h"
#include "unit-marks.h"

// A list that is to be empty, or a count that is to be 0.
typedef struct Kept {
        const char *what;
        size_t offset; // in Leader
} Kept;

#define KEPT(what, field) {what, offsetof(Leader, field)}
static const Kept lists[] = {
        KEPT("entries of requests on their way", flying),
        KEPT("answers that nobody got", outbox),
        KEPT("plans that wait for nodes", previews_asking),
        KEPT("messages of hosts", asks_due),
        KEPT("units to look at", touched),
        KEPT("units to look at for their ends elsewhere", released),
        KEPT("units with refusals to look at", refusals_due),
        KEPT("units that may be of no use", unused),
        KEPT("who waits for whom it replaces", replacing_due),
        KEPT("groups to look at", recovering_walks),
        KEPT("units to order", ordering),
        KEPT("outcomes for the log", outcomes),
        KEPT("outcomes on their way", outcomes_flying),
        KEPT("held jobs of whose units something has changed", queue_changed),
        KEPT("held jobs that have ended", held_over),
        KEPT("authors of an entry", authors_admitted),
        KEPT("who waits for a rebalance", rebalance_waiters),
        KEPT("who waits for units", waiters),
        KEPT("who waits for a drain, a manager or a rollout", waits),
        KEPT("lists of nodes", node_lists),
        KEPT("jobs that are shown", job_shows),
        KEPT("walks of those who wait", wait_walks),
        KEPT("questions to cancel", calls_over),
        KEPT("questions to ask", asking),
        KEPT("who asks why", whys_due),
        KEPT("lists", listings),
        KEPT("ends of jobs on their way", jobs_flying),
};

static const Kept counts[] = {
        KEPT("units that are waited for", n_wait_items),
        KEPT("lists with rows", n_listings_kept),
        KEPT("plans that wait for nodes", n_plans_asking),
        KEPT("plans that are kept", n_plans_kept),
        KEPT("who watches", watchers.n),
        KEPT("questions to nodes", calls_by_id.count),
        KEPT("who asks nodes", author_questions.count),
        KEPT("hosts that lists are to look at", touched_hosts.n),
};

static const void *field(const Kept *k) {
        return (const char *) world.rig.leader + k->offset;
}

// Who votes is not looked at while the next step pauses.
static bool may_be_marked(const Leader *l, HostMark mark) {
        return mark == HOST_VOTERS && l->voters_pause_us > world.rig.now_us;
}

// What is due of a host, or a node, is looked at in the next turn; but for orders, which wait for the host,
// and for what is told with the next entry.
static void no_mark_is_kept(void) {
        static const HostMark marks[] = {HOST_GLOBALS,        HOST_PLACE,         HOST_VOTERS,
                                         HOST_TOMBSTONES,     HOST_SESSION_BEGUN, HOST_SESSION_ENDED,
                                         HOST_BARRIER_FLYING, HOST_NEWS_FLYING,   HOST_FILE_QUESTION};
        const Leader *l = world.rig.leader;

        for (size_t i = 0; i < ELEMENTSOF(marks); i++)
                if (hosts_have_mark(l, marks[i]) && !may_be_marked(l, marks[i]))
                        check_fail("nothing-is-left", "a host has mark %d still", (int) marks[i]);
        for (size_t i = 0; i < NODE_MARKS; i++)
                if (!list_is_empty(&l->node_marks[i]))
                        check_fail("nothing-is-left", "a node has mark %zu still", i);
}

static void nothing_is_kept(void) {
        no_mark_is_kept();
        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (!list_is_empty((const ListNode *) field(&lists[i])))
                        check_fail("nothing-is-left", "there is still something of: %s", lists[i].what);
        for (size_t i = 0; i < ELEMENTSOF(counts); i++)
                if (*(const size_t *) field(&counts[i]) > 0)
                        check_fail("nothing-is-left",
                                   "there are still %zu: %s", *(const size_t *) field(&counts[i]),
                                   counts[i].what);
}

// Nobody waits for these, and they go on: they are the cluster's.
static bool goes_on(const PendingRequest *t) {
        switch (t->request->what_case) {
        case ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE:
        case ARGOSY__REQUEST__WHAT_CLUSTER_ROLE:
        case ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS:
                return true;
        default:
                return false;
        }
}

// Their ends wait for an entry, and not for long.
static void no_job_is_kept(void) {
        const Leader *l = world.rig.leader;

        if (!list_is_empty(&l->jobs_ended) && l->jobs_due_us <= world.rig.now_us)
                check_fail("nothing-is-left", "a job has ended, and the log is not told");
}

static void no_request_is_kept(void) {
        size_t n = 0;

        list_foreach (i, &world.rig.leader->pending_requests) {
                const PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);

                n++;
                if (!goes_on(t))
                        check_fail("nothing-is-left",
                                   "the leader keeps %s, and nobody waits for it",
                                   request_kind(t->request->what_case)->name);
        }
        if (world.rig.leader->n_held_going > n || world.rig.leader->n_pending_requests != n)
                check_fail("nothing-is-left",
                           "there are %zu requests, and the leader counts %zu, %zu of them of held jobs", n,
                           world.rig.leader->n_pending_requests, world.rig.leader->n_held_going);
}

// Of units only those are kept that somebody has a use for.
static void no_unit_is_kept(void) {
        name_table_foreach(unit, &world.rig.leader->units) {
                const Unit *u = unit;

                if (!unit_is_used(u))
                        check_fail("nothing-is-left",
                                   "the leader keeps %s, and nobody has a use for it", u->name);
        }
}

void rest_on_finish(void) {
        for (size_t i = 0; i < asks.n_asked; i++) {
                WorldAsked *a = &asks.asked[i];

                if (a->answer && !a->answer->error && !a->answer->final && !a->called_off)
                        rig_cancel(&world.rig, a->answer);
        }
        rig_settle(&world.rig);
        rig_pass_ms(&world.rig, 3000);
        if (!world_is_well())
                return;
        nothing_is_kept();
        no_job_is_kept();
        no_request_is_kept();
        no_unit_is_kept();
        check_says("nothing-is-left");
}
