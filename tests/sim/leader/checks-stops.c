// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of what hosts are ordered: nothing that is older than the log, nothing but what the log says, no
// second start elsewhere, and no stop of what runs well without a cause.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks-private.h"
#include "clock.h"
#include "failing-options.h"
#include "leader-private.h"
#include "test.h"

enum { HOSTS_KNOWN = 64 };

static struct {
        struct {
                uint64_t heard_us, attached_us, said_us; // said: anything, also what counted for nothing
                bool goodbye, unwelcome; // unwelcome: it has attached, and was not answered yet
                uint64_t term, index; // of what it was ordered last
        } hosts[HOSTS_KNOWN + 1];
        // When the entry that came last was decided: hosts that might be called lost, bit N-1, and how many
        // were missing for certain.
        uint64_t lost_then;
        uint64_t term; // of whoever heard the last word
        unsigned n_missing_then;
        uint32_t refused[WORLD_UNITS_MAX]; // by which hosts: bit N-1
        uint32_t failed[WORLD_UNITS_MAX];
        uint32_t ended[WORLD_UNITS_MAX]; // or with success
        unsigned guarded[HOSTS_KNOWN + 1][WORLD_UNITS_MAX]; // which run of it a guard has ended; 0: none
} known;

// --------------------------------------------------------------------------------------------- who is heard

void heard_begin(void) {
        memset(&known, 0, sizeof(known));
}

static void on_report(uint32_t host, const Argosy__UnitReport *r) {
        int i = world_unit_index(r->name);

        if (i < 0)
                return;
        if (r->refused)
                known.refused[i] |= 1u << (host - 1);
        if (r->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ||
            (r->outcome && r->outcome->kind == ARGOSY__OUTCOME__KIND__FAILED) || r->failed_restarts > 0)
                known.failed[i] |= 1u << (host - 1);
        if (r->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED || r->outcome)
                known.ended[i] |= 1u << (host - 1);
}

// Each leader welcomes hosts anew. What hosts say before counts for nothing.
static void begin_term(void) {
        uint64_t term = world.rig.leader->term;

        for (uint32_t host = 1; known.term > 0 && term != known.term && host <= HOSTS_KNOWN; host++)
                known.hosts[host].unwelcome = true;
        known.term = term;
}

// Virtual hosts have no guards: what one would have ended is up there, and in truth it is not. By the lease
// that the host itself knows of, with the times that its content has (argosy-unit(5)).
static uint64_t number_of(const char *text, const char *key, uint64_t usual) {
        const char *at = strstr(text, key);

        return at ? strtoull(at + strlen(key), NULL, 10) : usual;
}

static uint64_t guard_us(const WorldContent *c) {
        return (number_of(c->text, "CutOffSec=", CUT_OFF_DEFAULT_SEC) +
                number_of(c->text, "TimeoutStopSec=", STOP_TIMEOUT_DEFAULT_SEC)) *
               USEC_PER_SEC;
}

static unsigned run_of(const VirtualUnit *v) {
        return 1 + v->starts + v->restarts;
}

// Of what it runs, which may be what it goes by while files of the next content are on their way.
static const WorldContent *content_of(const VirtualUnit *v) {
        return world_content_find((list_is_linked(&v->awaits) ? v->before : v->order).spec.bytes);
}

static void note_guards(uint32_t host) {
        const VirtualHost *h = &rig_host(&world.rig, host)->virtual;
        uint64_t over_us = h->lease_from_us + h->lease_ms * USEC_PER_MSEC;

        for (unsigned i = 0; host <= HOSTS_KNOWN && world.rig.now_us > over_us && i < asks.n_units; i++) {
                const VirtualUnit *v = virtual_host_find(h, asks.units[i].name);
                const WorldContent *c = v ? content_of(v) : NULL;

                if (c && c->cut_off_stop && world.rig.now_us >= over_us + guard_us(c))
                        known.guarded[host][i] = run_of(v);
        }
}

void heard_on_heard(uint32_t host, const Argosy__ToVoter *m) {
        if (host > HOSTS_KNOWN)
                return;
        begin_term();
        note_guards(host); // before it has another lease
        known.hosts[host].said_us = world.rig.now_us;
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH) {
                known.hosts[host].unwelcome = true;
                known.hosts[host].attached_us = world.rig.now_us;
        }
        // What is said by one that was not welcomed, since it attaches too often, counts for nothing.
        if (!known.hosts[host].unwelcome)
                known.hosts[host].heard_us = world.rig.now_us;
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_GOODBYE || !known.hosts[host].unwelcome)
                known.hosts[host].goodbye = m->msg_case == ARGOSY__TO_VOTER__MSG_GOODBYE;
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_REPORTS)
                for (size_t i = 0; i < m->reports->n_reports; i++)
                        on_report(host, m->reports->reports[i]);
        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH)
                for (size_t i = 0; i < m->attach->n_held; i++)
                        on_report(host, m->attach->held[i]);
}

bool heard_guard_has_ended(uint32_t host, unsigned unit, const VirtualUnit *v) {
        note_guards(host);
        return host <= HOSTS_KNOWN && known.guarded[host][unit] == run_of(v);
}

// Of any leader of the story (faults.c).
static uint64_t shortest_lease_us(void) {
        return world_lease_ms(world.plan.swarm.faults[FAULT_lease] > 0 ? 2 : 4) * USEC_PER_MSEC;
}

bool heard_may_be_lost(uint32_t host) {
        uint64_t since_us = host <= HOSTS_KNOWN && known.hosts[host].heard_us > world.rig.led_since_us
                                    ? known.hosts[host].heard_us
                                    : world.rig.led_since_us;

        if (host > HOSTS_KNOWN || known.hosts[host].goodbye ||
            !cluster_state_find_host(world.rig.state, host))
                return true;
        return world.rig.now_us - since_us >= shortest_lease_us();
}

bool heard_is_lively(uint32_t host) {
        return host <= HOSTS_KNOWN && known.hosts[host].heard_us > world.rig.led_since_us &&
               !known.hosts[host].goodbye && !known.hosts[host].unwelcome &&
               world.rig.now_us - known.hosts[host].heard_us < shortest_lease_us() / 4;
}

bool heard_is_silent(uint32_t host) {
        uint64_t since_us = host <= HOSTS_KNOWN && known.hosts[host].said_us > world.rig.led_since_us
                                    ? known.hosts[host].said_us
                                    : world.rig.led_since_us;

        return world.rig.now_us - since_us >= 2 * asks.swarm.lease_ms * UINT64_C(1000);
}

enum { LOSS_WINDOW_US = 60 * 1000 * 1000 }; // hosts that are lost within so long are lost at once

// Also on the node that it was on before.
static bool has_ended_by_the_log(unsigned unit) {
        const UnitEntry *e = cluster_state_find_unit(world.rig.state, asks.units[unit].name);

        for (size_t i = 0; e && i < e->record->n_outcomes; i++)
                if (e->record->outcomes[i]->start_rev == e->record->start_rev)
                        return true;
        return false;
}

// One that may have ended for good has not to leave it.
static bool holds_units(uint32_t host) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists && log_truth.units[i].node > 0 &&
                    places_host_of(log_truth.units[i].node) == host &&
                    !(known.ended[i] & 1u << (host - 1)) && !has_ended_by_the_log(i))
                        return true;
        return false;
}

// Lost for certain, and expected to be there: it has not said goodbye, and its owner has not said that it
// may be away.
static bool is_missing(uint32_t host) {
        const Argosy__HostRecord *h = cluster_state_find_host(world.rig.state, host);
        uint64_t since_us;

        if (!h || host > HOSTS_KNOWN || known.hosts[host].goodbye || known.hosts[host].unwelcome ||
            !holds_units(host))
                return false;
        for (size_t i = 0; i < h->n_nodes; i++)
                if (h->nodes[i]->mode != ARGOSY__NODE_MODE__MODE_OPEN)
                        return false;
        since_us = world.rig.now_us - (known.hosts[host].heard_us > world.rig.led_since_us
                                               ? known.hosts[host].heard_us
                                               : world.rig.led_since_us);
        return since_us > asks.swarm.lease_ms * UINT64_C(1000) && since_us < LOSS_WINDOW_US;
}

static unsigned count_missing(void) {
        unsigned n = 0;

        for (uint32_t i = 2; i <= asks.swarm.hosts;
             i++) // the leader's own is there, whatever its agent says
                n += is_missing(i);
        return n;
}

// An entry may be on its way for long, and hosts come back meanwhile.
void heard_on_decided(void) {
        known.lost_then = 0;
        known.n_missing_then = count_missing();
        for (uint32_t host = 1; host <= HOSTS_KNOWN; host++)
                if (heard_may_be_lost(host))
                        known.lost_then |= UINT64_C(1) << (host - 1);
}

static bool was_maybe_lost(uint32_t host) {
        return host == 0 || host > HOSTS_KNOWN || known.lost_then & UINT64_C(1) << (host - 1);
}

bool heard_has_failed(unsigned unit) {
        return known.failed[unit] != 0;
}

bool heard_was_refused(unsigned unit) {
        return known.refused[unit] != 0;
}

// ------------------------------------------------------------------------------------------------ orders

typedef struct OrderList {
        uint64_t term, index;
        Argosy__UnitOrder **orders;
        size_t n;
} OrderList;

// False: it is none.
static bool orders_of(const Argosy__ToHost *m, OrderList *ret) {
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_WELCOME:
                *ret = (OrderList){m->welcome->term, m->welcome->index, m->welcome->orders,
                                   m->welcome->n_orders};
                return true;
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
                *ret = (OrderList){m->welcome_part->term, m->welcome_part->index, m->welcome_part->orders,
                                   m->welcome_part->n_orders};
                return true;
        case ARGOSY__TO_HOST__MSG_ORDERS:
                *ret = (OrderList){m->orders->term, m->orders->index, m->orders->orders,
                                   m->orders->n_orders};
                return true;
        default:
                return false;
        }
}

#define each_order(o, host, m)                                                          \
        OrderList list_;                                                                \
        if (!orders_of(m, &list_))                                                      \
                return;                                                                 \
        for (size_t i_ = 0; i_ < list_.n; i_++)                                         \
                for (const Argosy__UnitOrder *o = list_.orders[i_]; o; o = NULL)

void fence_on_order(uint32_t host, const Argosy__ToHost *m) {
        OrderList list;

        if (host > HOSTS_KNOWN || !orders_of(m, &list))
                return;
        if (list.term < known.hosts[host].term ||
            (list.term == known.hosts[host].term && list.index < known.hosts[host].index))
                check_fail("fence-only-grows",
                           "n%u is ordered something of %" PRIu64 ".%" PRIu64 ", and was of %" PRIu64
                           ".%" PRIu64,
                           host, list.term, list.index, known.hosts[host].term, known.hosts[host].index);
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME && known.hosts[host].unwelcome) {
                known.hosts[host].unwelcome = known.hosts[host].goodbye = false;
                known.hosts[host].heard_us = known.hosts[host].attached_us;
        }
        known.hosts[host].term = list.term;
        known.hosts[host].index = list.index;
        check_says("fence-only-grows");
}

static bool starts(const Argosy__UnitOrder *o) {
        return !o->remove && !o->stay && o->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

// An update or a restart of a global unit goes from node to node: those that had their turn have what it
// brings, which the unit's record has when the last one is through. Whatever somebody has asked of the unit
// since is as well of theirs: `revision` is the record's.
static bool is_turn_of_rollout(const LogUnit *u, uint64_t revision, const Argosy__UnitOrder *o) {
        const Argosy__RolloutRecord *r =
                u->global ? cluster_state_find_rollout(world.rig.state, o->name) : NULL;
        const Argosy__RolloutNode *turn = NULL;
        bool is_new;

        for (size_t i = 0; rollout_is_under_way(r) && i < r->n_nodes; i++)
                if (r->nodes[i]->node == o->node)
                        turn = r->nodes[i];
        if (!turn || o->revision != MAX_OF(turn->revision, revision) || o->spec.len != HASH_SIZE)
                return false;
        is_new = r->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE && !turn->back;
        return is_new ? r->spec.len == HASH_SIZE && memcmp(o->spec.data, r->spec.data, HASH_SIZE) == 0
                      : memcmp(o->spec.data, u->spec.bytes, HASH_SIZE) == 0;
}

static void one_order(uint32_t host, const Argosy__UnitOrder *o) {
        int i = world_unit_index(o->name);
        const LogUnit *u = i < 0 ? NULL : &log_truth.units[i];
        const Argosy__UnitRecord *r;

        if (!u || !starts(o) || world_host_lies(host))
                return;
        check_says("ordered-as-recorded");
        if (!u->exists || u->target != o->target || (!u->global && u->node != o->node))
                check_fail("ordered-as-recorded", "n%u is to run %s, which the log does not say", host,
                           o->name);
        r = rig_record(&world.rig, o->name);
        if (is_turn_of_rollout(u, r->revision, o))
                return;
        if (o->revision < r->revision || o->revision > cluster_state_revision(world.rig.state) ||
            o->spec.len != HASH_SIZE || memcmp(o->spec.data, u->spec.bytes, HASH_SIZE) != 0)
                check_fail("ordered-as-recorded",
                           "n%u is to run revision %" PRIu64 " of %s, and the log has %" PRIu64, host,
                           o->revision, o->name, r->revision);
}

void orders_on_order(uint32_t host, const Argosy__ToHost *m) {
        each_order(o, host, m)
                one_order(host, o);
}

// ----------------------------------------------------------------------------------------------- two places

static bool is_up(const VirtualUnit *v) {
        return v && (v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
                     v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
}

// Somebody has said that nothing runs on lost hosts any more, or the log has lost what it knew of them.
static bool is_given_up(void) {
        if (world.plan.swarm.faults[FAULT_recovery] > 0)
                return true;
        for (size_t i = 0; i < asks.n_asked; i++)
                if (asks.asked[i].request &&
                    asks.asked[i].request->what_case == ARGOSY__REQUEST__WHAT_FORGET)
                        return true;
        return false;
}

// Of what runs on a host that is lost, which has its power or has not: with CutOff=stop its guard ends it,
// by the times of that content.
static void judge_guard(const char *name, uint32_t host, uint32_t lost, const VirtualUnit *v) {
        const WorldContent *c = content_of(v);

        if (!c || !c->cut_off_stop || known.hosts[lost].goodbye ||
            !cluster_state_find_host(world.rig.state, lost) || is_given_up())
                return;
        check_fail("guards-have-ended",
                   "%s is to start on n%u, and its guard lets it run on n%u, which is lost", name, host,
                   lost);
}

static void one_start(uint32_t host, const Argosy__UnitOrder *o) {
        int i = world_unit_index(o->name);

        if (i < 0 || !starts(o) || log_truth.units[i].global ||
            is_up(virtual_host_find(&rig_host(&world.rig, host)->virtual, o->name)))
                return;
        for (uint32_t k = 1; k <= asks.swarm.hosts; k++) {
                RigHost *other = rig_host(&world.rig, k);
                const VirtualUnit *v = k != host ? virtual_host_find(&other->virtual, o->name) : NULL;

                if (!is_up(v) || world_host_lies(k) || world_host_lies(host) ||
                    v->order.revision < log_truth.units[i].made)
                        continue;
                if (heard_guard_has_ended(k, (unsigned) i, v)) {
                        check_says("guards-have-ended");
                        continue;
                }
                check_says("two-places");
                if (!heard_may_be_lost(k))
                        check_fail("two-places", "%s is to start on n%u, and n%u, which is heard, has it",
                                   o->name, host, k);
                judge_guard(o->name, host, k, v);
        }
}

void two_places_on_order(uint32_t host, const Argosy__ToHost *m) {
        each_order(o, host, m)
                one_start(host, o);
}

// ------------------------------------------------------------------------------------------------ stops

// What the host has of it goes on as it is with this order.
static bool goes_on(const VirtualUnit *v, const Argosy__UnitOrder *o) {
        return !o->remove && o->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               memcmp(o->spec.data, v->order.spec.bytes, HASH_SIZE) == 0 &&
               o->restart_rev <= v->order.restart_rev;
}

// The log wants it to run there, and as it does.
static bool is_wanted(const LogUnit *u, uint32_t host, const VirtualUnit *v) {
        const WorldContent *c = world_content_find(u->spec.bytes);

        // Of global units and those with demands on others, what else there is decides.
        if (!c || u->global || c->picky)
                return false;
        return u->exists && u->target == ARGOSY__TARGET__TARGET_LAUNCHED && u->node == v->order.node &&
               memcmp(u->spec.bytes, v->order.spec.bytes, HASH_SIZE) == 0 &&
               u->restart_rev <= v->order.restart_rev;
}

// Another unit comes before it, so its restart may have to wait for that one's. What its host has not said
// yet the leader does not know to be over.
static bool may_have_to_wait(unsigned i) {
        for (unsigned k = 0; k < asks.n_units; k++) {
                const WorldContent *c = log_content(&log_truth.units[k]);

                if (c && c->before & 1u << i)
                        return true;
        }
        return false;
}

static void one_stop(uint32_t host, const VirtualUnit *v, const char *how) {
        int i = world_unit_index(v->name);

        if (i < 0 || v->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE || world_host_lies(host))
                return;
        check_says("stop-has-a-cause");
        if (is_wanted(&log_truth.units[i], host, v))
                check_fail("stop-has-a-cause", "n%u is %s %s, which runs there as the log wants it", host,
                           how, v->name);
}

static bool names(const OrderList *list, const char *name) {
        for (size_t i = 0; i < list->n; i++)
                if (strcmp(list->orders[i]->name, name) == 0)
                        return true;
        return false;
}

// A Welcome in one piece names all that the host is to have.
static void left_out(uint32_t host, const VirtualHost *h, const OrderList *list) {
        map_foreach (slot, &h->units) {
                const VirtualUnit *v = slot->value;

                if (v->ordered && !names(list, v->name))
                        one_stop(host, v, "welcomed without");
        }
}

void stops_on_order(uint32_t host, const Argosy__ToHost *m) {
        const VirtualHost *h = &rig_host(&world.rig, host)->virtual;
        OrderList list;

        if (!rig_host(&world.rig, host)->up || !orders_of(m, &list))
                return;
        for (size_t i = 0; i < list.n; i++) {
                const Argosy__UnitOrder *o = list.orders[i];
                const VirtualUnit *v = virtual_host_find(h, o->name);

                if (v && v->ordered && !goes_on(v, o) &&
                    !(o->stay && world_unit_index(o->name) >= 0 &&
                      may_have_to_wait((unsigned) world_unit_index(o->name))))
                        one_stop(host, v, o->remove ? "to remove" : o->stay ? "to keep down" : "to stop");
        }
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME && m->welcome->parts == 0)
                left_out(host, h, &list);
}

// ------------------------------------------------------------------------------------------------ moves

// Nodes are called as their hosts, with the manager behind it if that is not systemd's own.
static const struct LogMove *find_move(const struct LogTouched *t) {
        const Argosy__HostRecord *h = cluster_state_find_host_by_node(world.rig.state, t->before.node);

        for (size_t i = 0; i < log_truth.n_moves; i++)
                if (log_truth.moves[i].unit == t->unit &&
                    (!h || strncmp(log_truth.moves[i].from, h->name, strlen(h->name)) == 0))
                        return &log_truth.moves[i];
        return NULL;
}

static void judge_cause(const struct LogTouched *t, const struct LogMove *m) {
        const char *name = asks.units[t->unit].name;

        switch (m->cause) {
        case ARGOSY__OWN_CAUSE__OWN_LOST:
                if (!was_maybe_lost(places_host_of(t->before.node)))
                        check_fail("host-is-heard", "%s leaves n%u as if that were lost, and it is heard",
                                   name, t->before.node);
                check_says("host-is-heard");
                break;
        case ARGOSY__OWN_CAUSE__OWN_RESTARTED:
                if (!(known.failed[t->unit] & 1u << (places_host_of(t->before.node) - 1)))
                        check_fail("move-has-a-cause", "%s leaves n%u as if it had failed there (%s)", name,
                                   t->before.node, m->reason);
                break;
        case ARGOSY__OWN_CAUSE__OWN_MOVED:
                if (!*m->reason)
                        check_fail("move-has-a-cause", "%s leaves n%u for no reason", name, t->before.node);
                break;
        default:
                check_fail("move-has-a-cause", "%s leaves n%u for a cause of another kind (%d, %s)", name,
                           t->before.node, m->cause, m->reason);
        }
}

static void one_move(const struct LogTouched *t) {
        const char *name = asks.units[t->unit].name;
        const struct LogMove *m;

        if (!t->before.exists || t->asked)
                return;
        if (memcmp(&t->before.spec, &t->after.spec, sizeof(Hash)) != 0)
                check_fail("move-has-a-cause", "%s has another content, and no job says so", name);
        if (!t->after.exists || t->after.target < t->before.target || t->after.global != t->before.global)
                check_fail("move-has-a-cause", "%s is less wanted than before, and nobody asked", name);
        if (t->before.node == 0 || t->after.node == t->before.node || places_lies(t->before.node))
                return;
        check_says("move-has-a-cause");
        m = find_move(t);
        if (!m)
                check_fail("move-has-a-cause", "%s leaves n%u, and no job says so", name, t->before.node);
        judge_cause(t, m);
}

void moves_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++)
                one_move(&log_truth.touched[i]);
}

// ---------------------------------------------------------------------------------------------- many losses

// Of all hosts: of those that have units, which count, no smaller part is missing.
void losses_on_entry(const Argosy__LogBatch *batch) {
        unsigned n_missing = known.n_missing_then, n_hosts = 0;
        bool leaves = false;

        for (size_t i = 0; i < log_truth.n_moves; i++)
                leaves |= log_truth.moves[i].cause == ARGOSY__OWN_CAUSE__OWN_LOST &&
                          *log_truth.moves[i].from && !world_host_lies(log_truth.moves[i].host);
        if (!leaves || asks.swarm.mass_loss_percent >= 100)
                return;
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++)
                n_hosts += world_is_member(i);
        check_says("losses-are-few");
        if (n_missing > 1 && n_missing * 100 > n_hosts * asks.swarm.mass_loss_percent)
                check_fail(
                        "losses-are-few",
                        "a unit leaves a lost host, and %u of %u hosts are missing, of which %u %% may be",
                        n_missing, n_hosts, asks.swarm.mass_loss_percent);
}
