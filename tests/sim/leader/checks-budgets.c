// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of budgets: a rollout, a drain, a rebalance and whatever else the cluster takes units down for by
// itself leave no more units of a group down at a time than the request and MaxUnavailable= allow.
//
// A unit is down by the leader's own hand from the entry that takes it down until a host has told the leader
// that the unit is up with what that entry brought; a rollout with a health gate waits until the unit has
// been up for so long. What is down for another reason uses up a budget, too, but hosts may say that late,
// so it is not counted here. An order of somebody asks for no budget, and ends what is counted.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "clock.h"
#include "leader-rig-private.h"
#include "macro.h"
#include "test.h"

static struct {
        // By the last word that the leader has heard of the node of the unit.
        bool is_reported_up[WORLD_UNITS_MAX];
        uint64_t reported_revision[WORLD_UNITS_MAX]; // of that word
        bool was_reported_up[WORLD_UNITS_MAX];       // when the entry that came last was decided
        bool by_rollout[WORLD_UNITS_MAX]; // it had its turn in one
        // Of the entry that has taken the unit down; 0: none has.
        uint64_t revision[WORLD_UNITS_MAX], up_since_us[WORLD_UNITS_MAX], health_us[WORLD_UNITS_MAX];
        uint64_t taken_us[WORLD_UNITS_MAX]; // when that entry came
} budgets;

void budgets_begin(void) {
        memset(&budgets, 0, sizeof(budgets));
}

// ------------------------------------------------------------------------------------ what the leader hears

static bool is_up(Argosy__ActiveState active) {
        return active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING;
}

// A host that says when its unit came up may be heard late: the unit has been up for so long all the same,
// and the leader counts by the clock of that host. One that was up before its turn was not restarted for it,
// and its health time begins with the answer.
static uint64_t up_since_us(int i, const Argosy__UnitReport *r) {
        const RigHost *h = rig_host(&world.rig, places_host_of(r->node));
        uint64_t now_us = world.rig.now_us, up_ms;

        if (r->changed_ms == 0 || r->changed_ms < rig_host_clock(h, budgets.taken_us[i]))
                return now_us;
        up_ms = rig_host_clock(h, now_us) - r->changed_ms;
        return MAX_OF(now_us - up_ms * USEC_PER_MSEC, 1u); // 0: it is not up
}

static void on_report(const Argosy__UnitReport *r) {
        int i = world_unit_index(r->name);
        const LogRollout *o;

        if (i < 0 || !log_truth.units[i].exists || r->node != log_truth.units[i].node)
                return;
        budgets.reported_revision[i] = r->revision;
        budgets.is_reported_up[i] = is_up(r->active) && r->revision >= log_truth.units[i].restart_rev;
        if (budgets.revision[i] == 0 || r->revision < budgets.revision[i])
                return;
        if (is_up(r->active) && budgets.up_since_us[i] == 0)
                budgets.up_since_us[i] = up_since_us(i, r);
        // On the way back a unit that fails with the former content, too, holds up nobody; and one that has
        // ended for good is not down.
        o = log_rollout_of(log_truth.rollouts, (unsigned) i);
        if (r->outcome || (r->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED && o &&
                           o->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING))
                budgets.revision[i] = 0;
}

void budgets_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        on_report(m->reports->reports[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH)
                for (size_t i = 0; i < m->attach->n_held; i++)
                        on_report(m->attach->held[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH_PART)
                for (size_t i = 0; i < m->attach_part->n_held; i++)
                        on_report(m->attach_part->held[i]);
}

// One that somebody has restarted, or started with another file perhaps, is down until it is heard again.
void budgets_on_decided(void) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];

                budgets.was_reported_up[i] = budgets.is_reported_up[i] &&
                                             budgets.reported_revision[i] >= u->restart_rev &&
                                             budgets.reported_revision[i] >= u->start_rev;
        }
}

// ------------------------------------------------------------------------------------------------ groups

static bool is_of_group(unsigned i, unsigned k) {
        return strcmp(asks.units[i].file, asks.units[k].file) == 0 &&
               strcmp(asks.units[i].name, asks.units[i].file) != 0;
}

static bool is_wanted(const LogUnit *u) {
        return u->exists && !u->global && u->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static unsigned count_wanted(unsigned of) {
        unsigned n = 0;

        for (unsigned k = 0; k < asks.n_units; k++)
                n += is_of_group(of, k) &&
                     (is_wanted(&log_truth.units_before[k]) || is_wanted(&log_truth.units[k]));
        return n;
}

static bool is_down(unsigned i) {
        return is_wanted(&log_truth.units[i]) && budgets.revision[i] > 0 && budgets.up_since_us[i] == 0;
}

// What a rollout has started is to be up for some time, which its next turns wait for, and no move does.
static bool is_well(unsigned i) {
        if (!is_wanted(&log_truth.units[i]) || budgets.revision[i] == 0)
                return true;
        return budgets.up_since_us[i] > 0 &&
               world.rig.now_us - budgets.up_since_us[i] >= budgets.health_us[i];
}

static unsigned share_of(unsigned value, bool percent, unsigned n) {
        unsigned share = percent ? value * n / 100 : value;

        return share > 0 ? share : 1;
}

// What the content says; UINT32_MAX: nothing.
static unsigned option_of(const Hash *spec, unsigned n) {
        const WorldContent *c = world_content_find(spec->bytes);

        if (!c || c->max_unavailable == 0)
                return UINT32_MAX;
        return share_of(c->max_unavailable, c->max_unavailable_percent, n);
}

static unsigned least(unsigned a, unsigned b) {
        return a < b ? a : b;
}

// --------------------------------------------------------------------------------- what an entry takes down

static bool changes(const struct LogTouched *t) {
        return memcmp(&t->before.spec, &t->after.spec, sizeof(Hash)) != 0 ||
               t->before.restart_rev != log_truth.units[t->unit].restart_rev ||
               t->before.node != t->after.node;
}

static const LogJob *job_of(const struct LogTouched *t) {
        return t->job > 0 && t->job <= log_truth.n_jobs ? log_truth.jobs[t->job] : NULL;
}

// A turn of a rollout that was under way before this entry. Its first entry may do what was asked for at
// once; and another job, which goes on part by part, is no turn of it. What has ended for good gets another
// content without being started for it.
static const LogRollout *rollout_turn(const struct LogTouched *t) {
        const LogRollout *o = log_rollout_of(log_truth.rollouts_before, t->unit);
        const LogJob *j = job_of(t);

        if (!o || !t->goes_on || !j || strcmp(j->rollout, o->name) != 0 ||
            t->before.start_rev == log_truth.units[t->unit].start_rev)
                return NULL;
        return is_wanted(&t->before) && is_wanted(&t->after) && t->before.node > 0 ? o : NULL;
}

// It runs, and the leader had heard so.
static bool is_running(const struct LogTouched *t) {
        const VirtualUnit *v;

        if (!places_is_in_session(t->before.node) || !budgets.is_reported_up[t->unit] ||
            !budgets.was_reported_up[t->unit])
                return false;
        v = virtual_host_find(&rig_host(&world.rig, places_host_of(t->before.node))->virtual,
                              asks.units[t->unit].name);
        return v && v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE && v->order.node == t->before.node;
}

// It goes where a unit is that it is to be with (MachineOf=, SameNodeAs=), or waits because that unit is not
// here and its own node does not take it, too: such a move asks for no budget, unless its node is emptied.
static bool follows_another(const struct LogTouched *t) {
        const WorldContent *c = world_content_find(t->before.spec.bytes);

        for (unsigned k = 0; c && !places_is_emptied(t->before.node) && k < asks.n_units; k++) {
                const LogUnit *other = &log_truth.units[k];

                if (c->same_node >> k & 1 && other->exists &&
                    (other->node == t->after.node ||
                     (t->after.node == 0 && other->node != t->before.node)))
                        return true;
        }
        return false;
}

// The cluster moves a unit that runs well, and nothing forces it to.
static bool is_free_move(const struct LogTouched *t) {
        const LogJob *j = job_of(t);

        if (!is_wanted(&t->before) || !is_wanted(&t->after) || t->before.node == 0 ||
            t->before.node == t->after.node)
                return false;
        if (t->asked && !(j && strcmp(j->verb, "rebalance") == 0))
                return false;
        return is_running(t) && !follows_another(t) && !heard_may_be_lost(places_host_of(t->before.node)) &&
               !heard_was_refused(t->unit) && !places_has_deadline(t->before.node);
}

// The least that contents say which units of the group have; UINT32_MAX: nothing. What runs on all nodes is
// of no group, whatever its file says.
static unsigned option_of_group(unsigned of, unsigned n) {
        unsigned option = UINT32_MAX;

        for (unsigned k = 0; k < asks.n_units; k++)
                if (is_of_group(of, k) && log_truth.units[k].exists && !log_truth.units[k].global)
                        option = least(option, option_of(&log_truth.units[k].spec, n));
        return option;
}

static unsigned max_of_rollout(const LogRollout *o, unsigned unit) {
        unsigned n = count_wanted(unit),
                 option = o->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART && o->max_unavailable > 0
                                  ? UINT32_MAX // units of the group may have several contents
                          : o->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
                                  ? option_of_group(unit, n)
                                  : least(option_of(&o->spec, n), option_of(&o->spec_before, n));

        if (o->max_unavailable > 0)
                return least(option, share_of(o->max_unavailable, o->percent, n));
        return option == UINT32_MAX ? 1 : option;
}

static unsigned count_down(unsigned of) {
        unsigned n = 0;

        for (unsigned k = 0; k < asks.n_units; k++)
                n += is_of_group(of, k) && is_down(k);
        return n;
}

// As far as hosts are in session: those that nobody sees have their turn beyond the budget. One that is down
// anyway has its turn beside those that are down for another reason than a turn.
static unsigned count_on_way(unsigned of, bool takes_down) {
        unsigned n = 0;

        for (unsigned k = 0; k < asks.n_units; k++)
                n += is_of_group(of, k) && !is_well(k) && places_is_in_session(log_truth.units[k].node) &&
                     (takes_down || budgets.by_rollout[k]);
        return n;
}

static bool has_network(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        return c && c->own > 0;
}

// Those of its group beside it that share its network: they go down together with it, however many these
// are.
static unsigned count_sharers(const struct LogTouched *t) {
        unsigned n = 0;

        for (unsigned k = 0; has_network(&t->after.spec) && k < asks.n_units; k++)
                n += k != t->unit && is_of_group(t->unit, k) && !is_well(k) &&
                     log_truth.units_before[k].node == t->before.node &&
                     has_network(&log_truth.units[k].spec);
        return n;
}

// Another one that is down by the leader's hand, for people.
static const char *another(unsigned of) {
        for (unsigned k = 0; k < asks.n_units; k++)
                if (k != of && is_of_group(of, k) && !is_well(k))
                        return asks.units[k].name;
        return "";
}

static void take(unsigned i, bool by_rollout, uint64_t health_us) {
        budgets.by_rollout[i] = by_rollout;
        budgets.revision[i] = log_truth.units[i].revision;
        budgets.up_since_us[i] = 0;
        budgets.taken_us[i] = world.rig.now_us;
        budgets.health_us[i] = health_us;
        budgets.is_reported_up[i] = false;
}

static void one_turn(const struct LogTouched *t, const LogRollout *o, bool takes_down) {
        unsigned n = count_on_way(t->unit, takes_down), max = max_of_rollout(o, t->unit) + count_sharers(t);

        if (count_wanted(t->unit) > 1)
                check_says("budgets-are-kept");
        if (n > max && places_is_in_session(t->before.node))
                check_fail("budgets-are-kept",
                           "%s has its turn, and %u of its group (%s) are on their way, of %u that may be",
                           asks.units[t->unit].name, n, another(t->unit), max);
}

static void one_move(const struct LogTouched *t) {
        unsigned n = count_down(t->unit), max = option_of(&t->before.spec, count_wanted(t->unit));

        if (n > max)
                check_fail("budgets-are-kept",
                           "%s is moved, and %u of its group (%s) are down by that, of %u that may be",
                           asks.units[t->unit].name, n, another(t->unit), max);
}

// The rollout of the group is another one, or goes the other way, from this entry on.
static bool has_ended(const LogRollout *was, unsigned unit) {
        const LogRollout *is = log_rollout_of(log_truth.rollouts, unit);

        return !is || is->phase != was->phase || is->began != was->began;
}

// The next one counts anew.
static void forget_ended(void) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogRollout *was = log_rollout_of(log_truth.rollouts_before, i);

                if (was && has_ended(was, i))
                        budgets.revision[i] = 0;
        }
}

typedef struct Taken {
        bool by_rollout, by_move, was_up;
} Taken;

// Turns of rollouts come first in an entry, and each of these was decided with all of them known.
static void take_turns(Taken *taken) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogRollout *o = rollout_turn(t);

                budgets.revision[t->unit] = 0; // unless it is taken down by this entry
                taken[i].was_up = is_running(t);
                taken[i].by_rollout = changes(t) && o;
                taken[i].by_move = !o && changes(t) && is_free_move(t);
                // What its former node has said is no word of the next one, where nothing has begun yet.
                if (t->before.node != t->after.node)
                        budgets.is_reported_up[t->unit] = false;
        }
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const LogRollout *o = rollout_turn(&log_truth.touched[i]);
                unsigned unit = log_truth.touched[i].unit;
                bool goes_on = taken[i].by_rollout && !has_ended(o, unit);

                if (taken[i].by_rollout)
                        take(unit, goes_on,
                             goes_on && o->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING ? o->health_us
                                                                                           : 0);
        }
}

void budgets_on_entry(const Argosy__LogBatch *batch) {
        Taken taken[LOG_TOUCHED_MAX] = {};

        forget_ended();
        take_turns(taken);
        // Each move is judged by the file of its unit, and by what was taken down before it: files of a
        // group may differ.
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];

                if (!taken[i].by_move)
                        continue;
                take(t->unit, false, 0);
                if (is_of_group(t->unit, t->unit))
                        one_move(t);
        }
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];

                if (taken[i].by_rollout && is_of_group(t->unit, t->unit))
                        one_turn(t, rollout_turn(t), taken[i].was_up);
        }
}
