// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of those who wait for units: what they are told has come to be is what hosts have said.
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

// What each host said last of each unit: its state, and whether it was a liar by then.
static struct {
        Argosy__ActiveState active;
        bool lied;
} last[WORLD_HOSTS_MAX + 1][WORLD_UNITS_MAX];

void waits_begin(void) {
        memset(last, 0, sizeof(last));
}

static void on_report(uint32_t host, const Argosy__UnitReport *r) {
        int i = world_unit_index(r->name);

        if (i < 0 || host > WORLD_HOSTS_MAX)
                return;
        last[host][i].active = r->gone ? ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE : r->active;
        last[host][i].lied |= world_host_lies(host);
}

void waits_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        on_report(host, m->reports->reports[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH)
                for (size_t i = 0; i < m->attach->n_held; i++)
                        on_report(host, m->attach->held[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH_PART)
                for (size_t i = 0; i < m->attach_part->n_held; i++)
                        on_report(host, m->attach_part->held[i]);
}

static bool is_up(Argosy__ActiveState active) {
        return active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING;
}

static bool any_lied(int unit) {
        for (uint32_t h = 1; h <= asks.swarm.hosts; h++)
                if (last[h][unit].lied)
                        return true;
        return false;
}

// It says so, and it is so: nothing about it is on its way.
static bool runs_on(uint32_t host, int unit) {
        const RigHost *h = rig_host(&world.rig, host);
        const VirtualUnit *v = virtual_host_find(&h->virtual, asks.units[unit].name);

        return h->up && h->linked && h->attached && h->virtual.welcomed && !h->reason &&
               !world_host_lies(host) && v && v->ordered && is_up(v->active) &&
               is_up(last[host][unit].active) && cluster_state_find_host(world.rig.state, host) &&
               !heard_may_be_lost(host);
}

static bool was_said_up(int unit) {
        for (uint32_t h = 1; h <= asks.swarm.hosts; h++)
                if (is_up(last[h][unit].active))
                        return true;
        return false;
}

static void one_goal(Argosy__UnitGoal goal, int unit) {
        const char *name = asks.units[unit].name;

        if (goal == ARGOSY__UNIT_GOAL__GOAL_NONE)
                return;
        check_says("waits-are-true");
        if (goal == ARGOSY__UNIT_GOAL__GOAL_ACTIVE && !was_said_up(unit))
                check_fail("waits-are-true", "who waits is told that %s is active, and no host has said so",
                           name);
        if (goal == ARGOSY__UNIT_GOAL__GOAL_FAILED && !heard_has_failed((unsigned) unit))
                check_fail("waits-are-true", "who waits is told that %s has failed, and no host has said so",
                           name);
        for (uint32_t h = 1; goal == ARGOSY__UNIT_GOAL__GOAL_INACTIVE && h <= asks.swarm.hosts; h++)
                if (runs_on(h, unit))
                        check_fail(
                                "waits-are-true",
                                "who waits is told that %s is inactive, and n%u has said that it runs there",
                                name, h);
}

static uint64_t wait_revision(const Argosy__Request__Wait *m, const char *name) {
        for (size_t i = 0; i < m->n_items; i++)
                if (strcmp(m->items[i]->name, name) == 0)
                        return m->items[i]->revision;
        return 0;
}

// A one-shot has started when the log says how it has ended: until then it may have to run again.
static void one_shot_has_ended(unsigned unit, uint64_t revision) {
        const Argosy__UnitRecord *record = asks_record(asks.units[unit].name);
        const WorldContent *c = record ? world_content_find(record->spec.data) : NULL;

        if (!c || !c->oneshot || record->global || record->revision != revision ||
            record->target != ARGOSY__TARGET__TARGET_LAUNCHED || was_said_up((int) unit))
                return;
        check_says("waits-are-true");
        for (size_t i = 0; i < record->n_outcomes; i++)
                if (record->outcomes[i]->start_rev == record->start_rev)
                        return;
        check_fail("waits-are-true",
                   "who waits is told that the one-shot %s has started, and the log does not know its end",
                   record->name);
}

// Who is told that somebody has changed it since, or that the cluster does not have the change, is told so
// of one that has, or has not, a later one.
static void one_refusal(const Argosy__Request__Wait *m, const Argosy__Response__UnitResult *done, int unit) {
        const LogUnit *u = &log_truth.units[unit];
        uint64_t revision = wait_revision(m, done->name);

        if (m->goal != ARGOSY__UNIT_GOAL__GOAL_NONE || revision == 0)
                return;
        if (done->status == ECANCELED && u->exists && u->revision <= revision && u->made <= revision)
                check_fail("waits-are-true",
                           "who waits for revision %" PRIu64 " of %s is told '%s', and it has %" PRIu64,
                           revision, done->name, done->message, u->revision);
        if (strstr(done->message, "does not have this change") && u->exists && u->revision > revision)
                check_fail("waits-are-true",
                           "who waits for revision %" PRIu64 " of %s is told '%s', and it has %" PRIu64,
                           revision, done->name, done->message, u->revision);
}

void waits_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const Argosy__Request__Wait *m = a->request->wait;

        if (a->request->what_case != ARGOSY__REQUEST__WHAT_WAIT ||
            r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS || r->status != 0)
                return;
        for (size_t i = 0; i < r->progress->n_done; i++) {
                int unit = world_unit_index(r->progress->done[i]->name);

                if (unit >= 0 && r->progress->done[i]->status != 0)
                        one_refusal(m, r->progress->done[i], unit);
                if (unit < 0 || r->progress->done[i]->status != 0 || any_lied(unit))
                        continue;
                one_goal(m->goal, unit);
                if (m->goal == ARGOSY__UNIT_GOAL__GOAL_NONE &&
                    (m->verb == ARGOSY__VERB__VERB_START || m->verb == ARGOSY__VERB__VERB_RESTART)) {
                        uint64_t revision = wait_revision(m, asks.units[unit].name);

                        jobs_on_waited_for((unsigned) unit, revision);
                        one_shot_has_ended((unsigned) unit, revision);
                }
        }
}
