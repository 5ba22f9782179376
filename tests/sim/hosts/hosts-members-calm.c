// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The end of a story, for members: what was asked is answered; whoever the log has, and has another key by
// itself, somebody removes; who can hear of nothing is given up. Then each machine is a member or none, by
// the log and by itself, or the check `members-are-one` says who is not.
#include "hosts-members-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "clock.h"
#include "daemon.h"
#include "hosts-checks.h"
#include "hosts-recover.h"
#include "hosts-story.h"
#include "str.h"
#include "test.h"
#include "verdict.h"

enum { ROUNDS_MAX = 32, OPEN_JOBS_MAX = 10000 };
#define CALM_US (180 * USEC_PER_SEC)     // by then what must come true has
#define UNDER_WAY_US (30 * USEC_PER_SEC) // that a request takes at most whose asker is gone

static bool all_are_answered(void *data) {
        for (size_t i = 0; i < members.n_asked; i++)
                if (!members.asked[i].at_host->final)
                        return false;
        return true;
}

static void await_answers(void) {
        (void) sim_run_until(all_are_answered, NULL, CALM_US);
}

static bool is_node_of(const Argosy__HostRecord *r, uint32_t node) {
        for (size_t i = 0; i < r->n_nodes; i++)
                if (r->nodes[i]->node == node)
                        return true;
        return false;
}

// Of a group whose others have failed no more may be taken down, and so one that runs there stays, as
// argosy-unit(5) says of MaxUnavailable=.
static bool keeps_one_of_a_group(uint32_t machine) {
        const Argosy__HostRecord *r = members_record(machine);

        for (unsigned i = 0; r && i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];
                const WorldContent *c =
                        u->exists && is_node_of(r, u->node) ? world_content_find(u->spec.bytes) : NULL;

                if (c && c->max_unavailable > 0)
                        return true;
        }
        return false;
}

// Who is not emptied, for that, is removed by force by somebody.
static void force_out_the_kept(void) {
        size_t n = members.n_asked;

        for (size_t i = 0; i < n; i++) {
                const Asked *a = &members.asked[i];
                uint32_t at = members_or_next(1 + a->machine % (uint32_t) sim_cluster_size());

                if (!a->at_host->final && (streq(a->what, "leave") || streq(a->what, "remove")) &&
                    keeps_one_of_a_group(a->machine) && at != a->machine)
                        members_ask_removal(at, a->machine, true);
        }
}

// Nobody is lost any more, so nothing is waited for that may yet come back.
static void judge_answers(void) {
        if (sim_run_until(all_are_answered, NULL, CALM_US))
                return;
        members_tell();
        for (size_t i = 0; i < members.n_asked; i++)
                if (!members.asked[i].at_host->final)
                        check_fail("members-are-one",
                                   "nobody has answered: %s n%u, asked at n%u %" PRIu64 " ms ago",
                                   members.asked[i].what, members.asked[i].machine,
                                   members.asked[i].at_host->at,
                                   (sim_now_us() - members.asked[i].at_host->asked_us) / USEC_PER_MSEC);
}

// It follows nobody, and none of the other voters that it knows is a member any more, so nobody tells it who
// votes, and it lets none of these in. Who knows no other one votes alone.
static bool has_lost_all_voters(const SimMachine *m) {
        const Argosy__PeersFile *peers = m->daemon && !m->daemon->attached ? m->daemon->peers : NULL;

        for (size_t i = 0; peers && i < peers->n_voters; i++) {
                const Argosy__Voter *v = peers->voters[i];
                const Argosy__HostRecord *r = cluster_state_find_host(hosts_story.truth, v->host);

                if (r && members_is_in(members_machine_of(r->host)) &&
                    (v->host != peers->host || (peers->n_voters == 1 && r->raft_id > 0)))
                        return false;
        }
        return peers;
}

// A member by the log, or by itself alone, of which nobody can come to hear.
static bool is_lost(uint32_t i) {
        const SimMachine *m = sim_machine(i);

        return m->in_cluster &&
               (members_record(i) ? has_lost_all_voters(m) : !members_can_hear_of_it(m));
}

static bool nobody_is_lost(void *data) {
        hosts_story_catch_up();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (is_lost(i))
                        return false;
        return true;
}

// Somebody gives it up, if it stays so: who votes alone by now has yet to begin to lead.
static void give_up_the_lost(void) {
        (void) sim_run_until(nobody_is_lost, NULL, CALM_US);
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (is_lost(i))
                        members_ask_leave(i, true);
}

// The queue is closed, perhaps, or has rules.
static void release(void) {
        Argosy__Request__JobRelease release = ARGOSY__REQUEST__JOB_RELEASE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];

        if (!last->at_host->last || !last->at_host->last->held)
                return;
        release.numbers = (uint64_t *) &last->at_host->last->job;
        release.n_numbers = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
        request.job_release = &release;
        (void) members_ask(last->at_host->at, &request, "release the removal of", last->machine);
        await_answers();
}

static void change_queue(Argosy__Request__QueueChange *change, const Asked *last, const char *what) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        request.what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE;
        request.queue_change = change;
        (void) members_ask(last->at_host->at, &request, what, last->machine);
        await_answers();
}

// Whoever asks may have as many open jobs as an author may have.
static void raise_limit(void) {
        Argosy__Request__QueueChange change = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];

        if (!last->at_host->last || last->at_host->last->status != EDQUOT)
                return;
        change.open_max = OPEN_JOBS_MAX;
        change_queue(&change, last, "a higher limit of jobs, for the removal of");
}

// A rule of the queue refuses it.
static void drop_rule(void) {
        Argosy__Request__QueueChange change = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        const Asked *last = &members.asked[members.n_asked - 1];
        const char *rule = last->at_host->last ? strstr(last->at_host->last->message, "(rule ") : NULL;

        if (!rule || last->at_host->last->status != EPERM || sscanf(rule, "(rule %u ", &change.remove) != 1)
                return;
        change_queue(&change, last, "no rule that refuses the removal of");
}

// Whoever the log has, and has another key or another cluster by itself.
static uint32_t find_lost(void) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (members_record(i) && !members_is_in(i))
                        return i;
        return 0;
}

static const char *why_not_one(uint32_t *ret_machine) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const SimMachine *m = sim_machine(i);

                *ret_machine = i;
                if (!m->daemon)
                        return "is down";
                if (m->daemon->end != DAEMON_RUNNING)
                        return "ends";
                if (members_record(i) && !members_is_in(i))
                        return "is a member by the log alone";
                if (!members_record(i) && m->in_cluster)
                        return "is a member by itself alone";
                if (!members_record(i) && members_first_unit_on(m) < asks.n_units)
                        return "is no member, and has units that run";
        }
        return NULL;
}

static bool are_one(void *data) {
        uint32_t machine;

        hosts_story_catch_up();
        return !why_not_one(&machine);
}

// Their asker is gone, and what they ask for may be under way still: a host lets another one in, or leaves.
static bool goes_on_alone(const Asked *a) {
        return a->at_host->error < 0 && (streq(a->what, "join") || streq(a->what, "leave") ||
                                         str_has_prefix(a->what, "remove"));
}

static void await_what_goes_on(void) {
        for (size_t i = 0; i < members.n_asked; i++)
                if (goes_on_alone(&members.asked[i])) {
                        sim_run_for(UNDER_WAY_US);
                        return;
                }
}

void members_on_calm(void) {
        uint32_t machine;
        const char *why;

        if (members.n_asked == 0 && !hosts_recover_was())
                return;
        await_answers();
        await_what_goes_on();
        (void) sim_run_until(are_one, NULL, CALM_US);
        give_up_the_lost();
        await_answers();
        (void) sim_run_until(are_one, NULL, CALM_US);
        for (unsigned i = 0; i < ROUNDS_MAX && (machine = find_lost()); i++) {
                uint32_t at = members_or_next(1);

                if (at == 0)
                        check_fail("members-are-one", "no machine is a member any more");
                members_ask_removal(at, machine, false);
                await_answers();
                release();
                raise_limit();
                drop_rule();
                (void) sim_run_until(are_one, NULL, CALM_US);
        }
        give_up_the_lost(); // of those that were removed just now, too
        force_out_the_kept();
        judge_answers();
        (void) sim_run_until(are_one, NULL, CALM_US);
        why = why_not_one(&machine);
        if (why) {
                members_tell();
                check_fail("members-are-one", "n%u %s", machine, why);
        }
        check_says("members-are-one");
}
