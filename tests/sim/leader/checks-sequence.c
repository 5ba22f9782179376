// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of the order across nodes, by contents as they were written and by what the leader has heard: what
// comes after another unit is not ordered to begin while that one is, what needs another one begins when
// that is up, and of two that are to end the one that comes first ends last. Both say nothing of units that
// run on all nodes, and of hosts that lie, or are not in session.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

static struct {
        // Of the unit on the node that the log names: by the order to begin that was sent last in this
        // session, and the report that was heard last.
        uint64_t ordered[WORLD_UNITS_MAX], reported[WORLD_UNITS_MAX];
        uint32_t ordered_host[WORLD_UNITS_MAX], reported_node[WORLD_UNITS_MAX];
        Argosy__ActiveState active[WORLD_UNITS_MAX];
        bool looping[WORLD_UNITS_MAX];
} sequence;

void sequence_begin(void) {
        memset(&sequence, 0, sizeof(sequence));
}

static const WorldContent *content_of(unsigned i) {
        return log_truth.units[i].exists && !log_truth.units[i].global
                       ? world_content_find(log_truth.units[i].spec.bytes)
                       : NULL;
}

// Whether `i` needs `k`: it begins when that one is up.
static bool needs(unsigned i, unsigned k) {
        const WorldContent *c = content_of(i);

        return c && (c->requires | c->binds_to) & ~c->before & 1u << k;
}

static bool comes_after(unsigned i, unsigned k) {
        const WorldContent *c = content_of(i), *other = content_of(k);

        return i != k && c && other && ((c->after & 1u << k) || (other->before & 1u << i) || needs(i, k));
}

static bool is_up(Argosy__ActiveState active) {
        return active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING;
}

static bool is_down(Argosy__ActiveState active) {
        return active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
}

// ------------------------------------------------------------------------------------ what the leader hears

static void on_report(const Argosy__UnitReport *r) {
        int i = world_unit_index(r->name);

        if (i < 0 || !log_truth.units[i].exists || r->node != log_truth.units[i].node)
                return;
        sequence.reported_node[i] = r->node;
        sequence.reported[i] = r->revision;
        sequence.active[i] = r->active;
        sequence.looping[i] = r->probation != ARGOSY__PROBATION__PROBATION_NONE;
}

static void forget_orders(uint32_t host) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (sequence.ordered_host[i] == host)
                        sequence.ordered[i] = 0;
}

void sequence_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        on_report(m->reports->reports[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH) {
                forget_orders(host);
                for (size_t i = 0; i < m->attach->n_held; i++)
                        on_report(m->attach->held[i]);
        }
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH_PART)
                for (size_t i = 0; i < m->attach_part->n_held; i++)
                        on_report(m->attach_part->held[i]);
}

// ------------------------------------------------------------------------------------------------ orders

static bool starts(const Argosy__UnitOrder *o) {
        return !o->remove && !o->stay && o->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static bool is_told(unsigned k) {
        return sequence.reported_node[k] == log_truth.units[k].node;
}

// It begins anew by this order: it has not ended for good, and is not there; or it is down there by an older
// one, which the leader knows.
static bool begins(uint32_t host, const Argosy__UnitOrder *o) {
        const VirtualUnit *v = virtual_host_find(&rig_host(&world.rig, host)->virtual, o->name);
        int i = world_unit_index(o->name);

        return starts(o) && !o->outcome &&
               (!v || (i >= 0 && is_down(v->active) && is_told((unsigned) i) &&
                       is_down(sequence.active[i]) && sequence.reported[i] < o->start_rev));
}

static bool is_certain(unsigned k) {
        return places_is_in_session(log_truth.units[k].node) && !places_lies(log_truth.units[k].node) &&
               !heard_may_be_lost(places_host_of(log_truth.units[k].node));
}

// It was ordered to begin there, and its host has not said yet that it has.
static bool is_beginning(unsigned k) {
        const LogUnit *u = &log_truth.units[k];

        return u->exists && u->target == ARGOSY__TARGET__TARGET_LAUNCHED && u->node > 0 &&
               sequence.ordered[k] > 0 && sequence.ordered_host[k] == places_host_of(u->node) &&
               sequence.ordered[k] >= u->start_rev &&
               (!is_told(k) || sequence.reported[k] < sequence.ordered[k]) && is_certain(k);
}

// It has failed there, by the start that the log wants, and nobody starts it again by himself.
static bool has_failed(unsigned k) {
        const LogUnit *u = &log_truth.units[k];
        const WorldContent *c = content_of(k);

        return c && !c->oneshot && c->restart_elsewhere == 0 &&
               u->target == ARGOSY__TARGET__TARGET_LAUNCHED && u->node > 0 && is_certain(k) && is_told(k) &&
               sequence.reported[k] >= u->start_rev && sequence.reported[k] >= u->restart_rev &&
               sequence.active[k] == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED && !sequence.looping[k];
}

static void one_start(uint32_t host, const Argosy__UnitOrder *o, unsigned i) {
        for (unsigned k = 0; k < asks.n_units; k++) {
                if (!comes_after(i, k) || !log_truth.units[k].exists)
                        continue;
                check_says("order-is-kept");
                if (is_beginning(k))
                        check_fail("order-is-kept",
                                   "%s is to begin on n%u, and %s, which comes first, is beginning", o->name,
                                   host, asks.units[k].name);
                if (needs(i, k) && has_failed(k))
                        check_fail("order-is-kept",
                                   "%s is to begin on n%u, and %s, which it needs, has failed", o->name,
                                   host, asks.units[k].name);
        }
}

static bool is_to_end(unsigned i) {
        return log_truth.units[i].exists && log_truth.units[i].target != ARGOSY__TARGET__TARGET_LAUNCHED;
}

static bool runs(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        uint32_t host = places_host_of(u->node);
        const RigHost *h = host > 0 && host <= asks.swarm.hosts ? rig_host(&world.rig, host) : NULL;
        const VirtualUnit *v = h ? virtual_host_find(&h->virtual, asks.units[i].name) : NULL;

        return v && is_up(v->active) && v->order.node == u->node && is_told(i) &&
               is_up(sequence.active[i]) && sequence.reported[i] >= u->start_rev;
}

// `k` is to end: those that come after it and are to end, too, have ended.
static void one_stop(uint32_t host, const Argosy__UnitOrder *o, unsigned k) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                if (!comes_after(i, k) || !is_to_end(i) || !is_to_end(k))
                        continue;
                check_says("order-is-kept");
                if (is_certain(i) && runs(i) && runs(k))
                        check_fail("order-is-kept",
                                   "%s is to end on n%u, and %s, which comes after it, runs", o->name, host,
                                   asks.units[i].name);
        }
}

static void one_order(uint32_t host, const Argosy__UnitOrder *o) {
        int i = world_unit_index(o->name);

        if (i < 0 || world_host_lies(host) || o->node != log_truth.units[i].node)
                return;
        if (begins(host, o))
                one_start(host, o, (unsigned) i);
        if (!starts(o) && !o->stay)
                one_stop(host, o, (unsigned) i);
}

static void note(uint32_t host, const Argosy__UnitOrder *o) {
        int i = world_unit_index(o->name);

        if (i < 0 || o->node != log_truth.units[i].node)
                return;
        sequence.ordered[i] = begins(host, o) ? o->revision : 0;
        sequence.ordered_host[i] = host;
}

static void orders(uint32_t host, Argosy__UnitOrder **list, size_t n) {
        for (size_t i = 0; i < n; i++)
                note(host, list[i]);
        for (size_t i = 0; i < n; i++)
                one_order(host, list[i]);
}

void sequence_on_order(uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                orders(host, m->orders->orders, m->orders->n_orders);
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                orders(host, m->welcome->orders, m->welcome->n_orders);
}

// ------------------------------------------------------------------------------------------------ at rest

static const VirtualUnit *held(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        uint32_t host = u->exists ? places_host_of(u->node) : 0;

        return host > 0 && host <= asks.swarm.hosts && rig_host(&world.rig, host)->up
                       ? virtual_host_find(&rig_host(&world.rig, host)->virtual, asks.units[i].name)
                       : NULL;
}

void sequence_on_calm(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                for (unsigned k = 0; k < asks.n_units; k++) {
                        const WorldContent *c = content_of(i);
                        const VirtualUnit *v = held(i);

                        if (!c || !(c->binds_to & 1u << k) || !has_failed(k) || !v ||
                            log_truth.units[i].target != ARGOSY__TARGET__TARGET_LAUNCHED)
                                continue;
                        check_says("order-is-kept");
                        if (is_up(v->active) && v->order.node == log_truth.units[i].node)
                                check_fail("order-is-kept",
                                           "%s runs, and %s, to which it is bound, has failed",
                                           asks.units[i].name, asks.units[k].name);
                }
}
