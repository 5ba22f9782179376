// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts and what they say about themselves.
//
//   link up -> Attach (everything that the host holds) -> barrier -> Welcome (everything that it is to hold)
//   -> Orders, Reports, Beats
//
// The barrier is proposed after the Attach arrived: only a leader that still leads gets through it, so a
// leader that was paused or cut off never welcomes anybody, and orders go only to those who were welcomed.
//
// A host that is lost loses its session too. When it is heard again it must attach, and that settles what
// stays and what goes.
//
// A host that holds much says it in parts (attach.h). Until the last of them is here, the host is as little
// in session as one that has not attached; its beats count.
//
// An Attach forgets all that the host said before, so a host that repeats itself costs what it holds each
// time: more than limits.attaches_at_once wait until limits.attach_every_ms has passed for each. What comes
// sooner is not taken, and an agent that is not welcomed asks again.
#include <errno.h>

#include "activators.h"
#include "attach.h"
#include "authorization.h"
#include "batch-builder.h"
#include "clock.h"
#include "due.h"
#include "event-marks.h"
#include "fleet-units.h"
#include "host-address.h"
#include "host-clocks.h"
#include "host-complaints.h"
#include "host-leases.h"
#include "host-link.h"
#include "host-marks.h"
#include "host-news.h"
#include "host-record.h"
#include "lease.h"
#include "log.h"
#include "manager-name.h"
#include "message-of.h"
#include "message.h"
#include "nodes.h"
#include "oom.h"
#include "ordering.h"
#include "orders.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "retry-controller.h"
#include "sessions.h"
#include "str.h"
#include "tables.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-name.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "voters.h"
#include "walks.h"

enum {
        EXPIRED_HOST = 16,       // of which a host is worth so many
        ADMITS_MAX = 1024,       // of one message: what an agent remembers (agent-barred.h)
};

static void foreach_unit_on_node(Host *h, Leader *l, void (*each)(Leader *l, UnitOnNode *s)) {
        list_foreach (k, &h->nodes)
                list_foreach_safe (i, &CONTAINER_OF(k, Node, of_host)->units_on_node)
                        each(l, CONTAINER_OF(i, UnitOnNode, by_node));
}

// Whether what it has said of its units counts is another matter now.
static void mark_units(Leader *l, Host *h) {
        list_foreach (i, &h->nodes)
                event_mark_units_of(l, CONTAINER_OF(i, Node, of_host));
}

static void end_session(Leader *l, Host *h) {
        if (h->attached)
                mark_units(l, h); // what it said holds no more
        h->attached = h->membership.attaching = false;
        host_lease_forget_reported(h);
        host_unmark(h, HOST_BARRIER);
        host_unmark(h, HOST_BARRIER_FLYING);
        h->membership.opened_id = 0;
        h->membership.ca_asked_us = h->membership.n_ca_asked = 0;
        h->reported_ms = h->lived_ms = 0;
        host_unmark(h, HOST_BEAT);
        h->membership.beat_held = false;
        orders_on_session_ended(h);
        host_mark(l, h, HOST_SESSION_ENDED);
        host_touch(l, h);
}

void host_lose(Leader *l, Host *h) {
        uint64_t now = leader_now(l);

        host_news_lost(l, h, h->down || now <= h->lease.renewed_us ? 0 : now - h->lease.renewed_us);
        host_lease_end(l, h);
        leader_set_due(l, DUE_MASS_LOSS | DUE_PREVIOUS_NODES);
        end_session(l, h);
        list_foreach (k, &h->nodes) {
                Node *n = CONTAINER_OF(k, Node, of_host);

                list_foreach (i, &n->placed) {
                        Unit *u = CONTAINER_OF(i, Unit, placed);

                        if (u->leaves) // what has finished for good has nothing to do elsewhere
                                unit_event(l, u, LIFE_RECONSIDER_ANYWAY); // even if its budget held it back
                }
        }
        foreach_unit_on_node(h, l, previous_node_on_lost);
        tombstones_on_lost(l, h);
        mark_units(l, h);
        host_mark_now(l, h, HOST_GLOBALS);
        if (h->linked && h->number != l->config.self)
                l->ops.drop_host(h->number, l->userdata);
        leader_mark(l);
}

static size_t count_units(const Host *h) {
        size_t n = 0;

        list_foreach (i, &h->nodes)
                n += CONTAINER_OF(i, Node, of_host)->n_placed +
                     CONTAINER_OF(i, Node, of_host)->n_units_on_node;
        return n;
}

// What that took, as limits.expired_units counts it.
static size_t expire(Leader *l, Host *h, uint64_t now_us) {
        size_t n = EXPIRED_HOST;

        log_host(LOG_NOTICE, host_name(l, h), "Host %s is %s: not heard of for %llu ms.", host_name(l, h),
                 h->lease.state == LEASE_LOST ? "lost" : "suspect",
                 (unsigned long long) ((now_us - h->lease.renewed_us) / USEC_PER_MSEC));
        if (h->lease.state == LEASE_LOST) {
                n += count_units(h);
                host_lose(l, h);
        } else
                host_touch(l, h);
        leader_mark(l);
        return n;
}

static void expire_some(Leader *l, uint64_t now_us, bool again) {
        LeaderWalk *walk = &l->walks.of[WALK_LEASES];
        size_t most = walk_slice(walk, l->limits.expired_units);
        Host *h = NULL;

        for (size_t n = 0; n < most && (h = host_lease_expire(l, now_us, again && n == 0));)
                n += expire(l, h, now_us);
        l->leases_due_us = h ? now_us : 0;
        walk_sliced(l, walk, h ? 0 : 1);
}

void sessions_on_time(Leader *l) {
        if (l->leases_due_us == 0) // else each turn goes on with it
                expire_some(l, leader_now(l), false);
}

// Judges by the time at which the walk began, when the leader had not woken late: the time that the walk
// takes, or a standstill meanwhile, makes no host lost, and saves no host whose lease was over then.
bool sessions_expire_some(Leader *l) {
        if (l->leases_due_us)
                expire_some(l, l->leases_due_us, true);
        return l->leases_due_us == 0;
}

static void renew_lease(Leader *l, Host *h) {
        if (!host_lease_renew(l, h))
                return;
        host_touch(l, h);
        leader_set_due(l, DUE_MASS_LOSS | DUE_PLACEMENT | DUE_WAITS);
        leader_mark(l);
}

static void acknowledge(Leader *l, Host *h, uint64_t seq) {
        Argosy__ToHost__BeatAck ack = ARGOSY__TO_HOST__BEAT_ACK__INIT;
        Argosy__ToHost m = TO_HOST_OF(BEAT_ACK, beat_ack, &ack);

        host_unmark(h, HOST_BEAT);
        l->n_beats_acknowledged++;
        ack.seq = seq;
        ack.lease_ms = host_lease_tell(l, h);
        leader_to_host(l, h, &m);
}

// The agent counts its lease from when it sent the beat. So it is enough that we could have no successor at
// any moment since: a successor counts from its election, which comes later.
void session_on_beat(Leader *l, Host *h, const Argosy__ToVoter__Beat *beat) {
        if ((!h->attached && !h->membership.attaching) || h->down)
                return;
        renew_lease(l, h);
        h->reported_ms = MAX_OF(h->reported_ms, beat->reported_ms);
        host_clock_say(l, h, beat->wall_ms * USEC_PER_MSEC, false);
        if (beat->quiet)
                return;
        h->membership.beat_seq = beat->seq;
        h->membership.beat_held =
                l->ops.host_is_full(h->number, l->userdata); // it would come to the end of all that
        if (h->membership.beat_held)
                host_unmark(h, HOST_BEAT);
        else if (leader_has_authority(l))
                acknowledge(l, h, beat->seq);
        else
                host_mark(l, h, HOST_BEAT);
}

void session_on_drained(Leader *l, Host *h) {
        if (!h->membership.beat_held)
                return;
        h->membership.beat_held = false;
        host_mark(l, h, HOST_BEAT);
}

void sessions_acknowledge(Leader *l) {
        Host *h;

        while ((h = host_take_marked(l, HOST_BEAT)))
                acknowledge(l, h, h->membership.beat_seq);
}

void session_on_goodbye(Leader *l, Host *h, const Argosy__ToVoter__Goodbye *goodbye) {
        if (goodbye->why == ARGOSY__TO_VOTER__GOODBYE__WHY__RESTART)
                return;
        log_host(LOG_NOTICE, host_name(l, h), "Host %s is shutting down%s.", host_name(l, h),
                 goodbye->stopping ? ": it takes no new units" : "");
        h->leaving = true;
        host_touch(l, h); // it takes no new units
        leader_mark(l);
        if (goodbye->stopping)
                return;
        if (goodbye->n_running > 0 && !h->attached)
                return; // what it names is not known here: it all waits, as for one that says nothing
        h->down = true;
        tombstones_on_goodbye(l, h, goodbye);
        host_lose(l, h);
}

void session_on_link_lost(Leader *l, Host *h) {
        end_session(l, h);
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ attach

static bool record_has_manager(const Argosy__HostRecord *r, const char *manager) {
        for (size_t i = 0; i < r->n_nodes; i++)
                if (streq(r->nodes[i]->manager, manager))
                        return true;
        return false;
}

static int pending_record_labels(Argosy__HostRecord *pending_record, const Argosy__ToVoter__Attach *a) {
        for (size_t i = 0; i < pending_record->n_own_labels; i++)
                message_free(pending_record->own_labels[i]);
        pending_record->n_own_labels = 0;
        for (size_t i = 0; i < a->n_labels; i++) {
                if (!label_is_valid(a->labels[i]->key) || !label_is_valid(a->labels[i]->value))
                        continue;
                if (FIELD_APPEND(pending_record->own_labels, pending_record->n_own_labels,
                                 label_new(a->labels[i]->key, a->labels[i]->value)) < 0)
                        return -ENOMEM;
        }
        return host_record_merge_labels(pending_record);
}

static bool attach_has_manager(const Argosy__ToVoter__Attach *a, const char *manager) {
        for (size_t i = 0; i < a->n_managers; i++)
                if (streq(a->managers[i], manager))
                        return true;
        return false;
}

// What the host has detached holds nothing any more, so its nodes go; what it has attached gets numbers.
static int pending_record_managers(Argosy__HostRecord *pending_record, const Argosy__ToVoter__Attach *a) {
        size_t kept = 0;

        for (size_t i = 0; i < pending_record->n_nodes; i++)
                if (a->n_managers == 0 || attach_has_manager(a, pending_record->nodes[i]->manager))
                        pending_record->nodes[kept++] = pending_record->nodes[i];
                else
                        message_free(pending_record->nodes[i]);
        pending_record->n_nodes = kept;
        for (size_t i = 0; i < a->n_managers; i++) {
                Argosy__NodeRecord *n;

                if (record_has_manager(pending_record, a->managers[i]) ||
                    pending_record->n_nodes >= MANAGERS_PER_HOST ||
                    manager_name_kind(a->managers[i]) == MANAGER_INVALID)
                        continue;
                n = calloc(1, sizeof(*n));
                if (!n)
                        return -ENOMEM;
                argosy__node_record__init(n);
                if (FIELD_APPEND(pending_record->nodes, pending_record->n_nodes, n) < 0 ||
                    field_set(&n->manager, a->managers[i]) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// Another host that is meant by the name; NULL: there is none.
static const Argosy__HostRecord *find_namesake(const Leader *l, const Argosy__HostRecord *r,
                                               const char *name) {
        const Argosy__HostRecord *namesake = *name ? cluster_state_resolve_host(l->state, name, NULL) : NULL;

        return namesake != r ? namesake : NULL;
}

static int fill_pending_record(Argosy__HostRecord *pending_record, const Argosy__HostRecord *namesake,
                               const Argosy__ToVoter__Attach *a) {
        // Its name stays what it joined under if another host has the new one.
        if (*a->name && !namesake && field_set(&pending_record->name, a->name) < 0)
                return -ENOMEM;
        if (host_record_set_address(pending_record, a->address, a->address_name, a->address_configured) < 0)
                return -ENOMEM;
        if (a->port)
                pending_record->port = a->port;
        return pending_record_labels(pending_record, a) < 0 ||
                               pending_record_managers(pending_record, a) < 0 ||
                               host_record_set_fleet(pending_record, a->fleet_units) < 0
                       ? -ENOMEM
                       : 0;
}

// An entry under way may have what the host said before: until that is in the log, what it says now is not
// known to be there, and is compared when the next entry is made (decide_hosts()).
static bool is_in_the_log(const Leader *l, const Argosy__HostRecord *said,
                          const Argosy__HostRecord *record) {
        return !l->batch_flying && host_records_equal(said, record);
}

// The host may say something about itself that the log does not know yet.
static void note_pending_record(Leader *l, Host *h, const Argosy__ToVoter__Attach *a) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, h->number);
        const Argosy__HostRecord *namesake = find_namesake(l, r, a->name);
        Argosy__HostRecord *pending_record = message_copy(r);
        char why[REASON_MAX / 2];

        host_set_pending_record(l, h, NULL);
        if (!pending_record)
                return;
        if (!host_attach_is_sound(a, why, sizeof(why))) {
                host_complain(l, h, "%s; its record is as it was before", why);
                message_free(pending_record);
                return;
        }
        if (namesake)
                host_complain(l, h,
                              "it calls itself %s now, which another host is called (%s), and stays %s: "
                              "give it a name of its own "
                              "(Name=, or hostnamectl) and restart argosyd there",
                              a->name, host_record_place(namesake), r->name);
        if (fill_pending_record(pending_record, namesake, a) < 0 || is_in_the_log(l, pending_record, r)) {
                message_free(pending_record);
                return;
        }
        host_set_pending_record(l, h, pending_record);
}

static void note_fleet(Leader *l, Host *h, const Argosy__FleetUnits *said) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, h->number);
        Argosy__HostRecord *pending_record = message_copy(h->pending_record ?: r);

        if (!pending_record || host_record_set_fleet(pending_record, said) < 0 ||
            (!h->pending_record && is_in_the_log(l, pending_record, r))) {
                message_free(pending_record);
                return;
        }
        host_set_pending_record(l, h, pending_record);
        leader_mark(l);
}

// It may mend what was wrong by saying something else.
static void forget_complaint(Host *h, const Argosy__ToVoter__Attach *a) {
        char why[REASON_MAX / 2];

        if (!h->complaint || !host_attach_is_sound(a, why, sizeof(why)))
                return;
        host_complaint_end(h);
}

// A run that ended for good goes into the log, unless it is there or is about an older start.
static void note_outcome(Leader *l, UnitOnNode *s, const Argosy__Outcome *o) {
        const UnitEntry *e = o ? cluster_state_find_unit(l->state, s->unit->name) : NULL;
        UnitOnNodeWork *w;

        if (!e || o->kind <= ARGOSY__OUTCOME__KIND__NONE || o->kind > ARGOSY__OUTCOME__KIND__UNKNOWN ||
            o->start_rev != e->record->start_rev)
                return;
        if (!unit_wanted_on(l, s->unit, e, s->node) || record_final_outcome(e->record, s->node->number))
                return;
        w = unit_on_node_work(s);
        if (!w->outcome) {
                w->outcome = oom_checked(malloc(sizeof(*w->outcome)));
                argosy__outcome__init(w->outcome);
        }
        w->outcome->kind = o->kind;
        w->outcome->node = s->node->number;
        w->outcome->start_rev = o->start_rev;
        w->outcome->at_us = o->at_us;
        (void) field_printf(&w->outcome->result, "%.*s", (int) str_cut(o->result, WORD_MAX), o->result);
        if (!list_is_linked(&w->outcome_due))
                list_append(&l->outcomes, &w->outcome_due);
}

// The name belongs to somebody else on that node: another one has to take the unit.
static void note_refusal(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report) {
        Unit *u = s->unit;

        unit_exclude(l, u, s->node->number,
                     *report->error ? report->error : "the name belongs to somebody else there");
        if (u->node == s->node)
                unit_event(l, u, LIFE_RECONSIDER_ANYWAY);
}

// A node on which the unit is up by its record's last revision does not refuse it: what it said of an older
// order came behind the new one. Else a wait for this start would last until the host attaches again.
static void note_taken(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report) {
        const UnitEntry *e;

        if (!unit_exclusion(s->unit, s->node->number) || !active_state_is_up(report->active))
                return;
        e = cluster_state_find_unit(l->state, s->unit->name);
        if (e && report->revision >= e->record->revision && unit_wanted_if_taken(l, s->unit, e, s->node))
                unit_forget_exclusions(l, s->unit, s->node->number);
}

// Where the host says that it has a unit. NULL: not one of its nodes, not a name that we could have ordered,
// or too many.
static UnitOnNode *unit_on_node_of_report(Leader *l, Host *h, const Argosy__UnitReport *report) {
        Node *n = node_find(l, report->node);
        Unit *u;
        UnitOnNode *s;

        if (!n || n->host != h)
                return NULL;
        u = unit_find(l, report->name);
        s = u ? unit_on_node_find(u, n) : NULL;
        if (s || report->gone)
                return s;
        if (n->n_units_on_node >= UNITS_PER_NODE_MAX ||
            unit_name_kind(report->name, NULL) == UNIT_NAME_INVALID)
                return NULL;
        u = unit_get(l, report->name);
        return u ? unit_on_node_get(l, u, n) : NULL;
}

static void take_report(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report) {
        bool was_reported = unit_on_node_is_reported(s);

        oom_check(unit_on_node_report(l, s, report));
        if (!was_reported)
                ordering_on_first_report(l, s);
        note_outcome(l, s, report->outcome);
        if (unit_on_node_is_to_go(s))
                unit_release(l, s->unit);
        if (report->refused)
                note_refusal(l, s, report);
        else
                note_taken(l, s, report);
        retry_controller_on_report(l, s->unit, s);
        unit_touch_on_node(l, s);
}

// Each node's last word counts, however often a host repeats itself: what follows walks over the node's
// units.
static void take_node_reports(Leader *l, Host *h, Argosy__NodeReport *const *reports, size_t n_reports) {
        if (n_reports > MANAGERS_PER_HOST)
                return;
        list_foreach (i, &h->nodes) {
                Node *n = CONTAINER_OF(i, Node, of_host);
                const char *reason = NULL;

                for (size_t k = 0; k < n_reports; k++)
                        if (streq(n->manager, reports[k]->manager))
                                reason = reports[k]->reason;
                if (reason)
                        node_set_reason(l, n, reason);
        }
}

static void drop_unit_on_node(Leader *l, UnitOnNode *s) {
        unit_on_node_free(l, s);
}

static void begin_attach(Leader *l, Host *h, const Argosy__ToVoter__Attach *a) {
        h->linked = true;
        h->leaving = h->down = false; // also as it is counted, while parts of its Attach are still to come
        end_session(l, h);
        foreach_unit_on_node(h, l, drop_unit_on_node);
        h->half_reported = true;
        h->attach_seq = a->seq;
        host_clock_say(l, h, a->wall_us, true);
        h->cpu_milli = a->cpu_milli;
        h->memory_mib = a->memory_mib;
        h->voters_configured = a->voters_configured;
        host_mark(l, h, HOST_OFFERS);
        renew_lease(l, h);
        forget_complaint(h, a);
        note_pending_record(l, h, a);
        list_foreach (i, &h->nodes)
                node_set_reason(l, CONTAINER_OF(i, Node, of_host), "");
        take_node_reports(l, h, a->nodes, a->n_nodes);
        host_forget_exclusions(l, h);
        fleet_units_set(l, h, a->fleet_units);
}

static void take_held(Leader *l, Host *h, const Argosy__UnitReport *report) {
        UnitOnNode *s = report->gone ? NULL : unit_on_node_of_report(l, h, report);

        if (s)
                take_report(l, s, report);
}

// No host puts more into one message.
static void take_all_held(Leader *l, Host *h, Argosy__UnitReport *const *held, size_t n) {
        for (size_t i = 0; i < MIN_OF(n, (size_t) ATTACH_HELD_MAX); i++)
                take_held(l, h, held[i]);
}

static void end_attach(Leader *l, Host *h) {
        h->attached = h->ever_attached = true;
        h->half_reported = false;
        host_news_back(l, h);
        host_mark(l, h, HOST_BARRIER);
        host_touch(l, h);
        mark_units(l, h); // those of earlier parts, and those that it does not have
        host_mark_tombstones(l, h);
        leader_set_due(l, DUE_PLACEMENT | DUE_PREVIOUS_NODES);
        host_mark_now(l, h, HOST_GLOBALS);
        voters_on_attach(l, h);
        leader_mark(l);
}

// What was said before holds no more in any case: the host awaits a Welcome.
static bool may_attach(Leader *l, Host *h) {
        uint64_t now = leader_now(l), from = MAX_OF(h->membership.attaches_paid_us, now);

        if (from - now > (l->limits.attaches_at_once - 1) * l->limits.attach_every_ms * USEC_PER_MSEC) {
                end_session(l, h);
                leader_mark(l);
                return false;
        }
        h->membership.attaches_paid_us = from + l->limits.attach_every_ms * USEC_PER_MSEC;
        return true;
}

void session_on_attach(Leader *l, Host *h, const Argosy__ToVoter__Attach *a) {
        if (!may_attach(l, h))
                return;
        begin_attach(l, h, a);
        take_all_held(l, h, a->held, a->n_held);
        h->membership.attaching = a->parts;
        if (!a->parts)
                end_attach(l, h);
        else
                host_touch(l, h); // nobody knows what it holds until the last one is here
        leader_mark(l);
}

void session_on_attach_part(Leader *l, Host *h, const Argosy__ToVoter__AttachPart *p) {
        if (!h->membership.attaching || p->seq != h->attach_seq)
                return;
        renew_lease(l, h);
        take_all_held(l, h, p->held, p->n_held);
        h->membership.attaching = !p->last;
        if (p->last)
                end_attach(l, h);
        leader_mark(l);
}

void session_on_node_reports(Leader *l, Host *h, Argosy__NodeReport *const *reports, size_t n_reports) {
        if (h->attached)
                take_node_reports(l, h, reports, n_reports);
}

// They may be placed there again, and those that wait for a node are.
void session_on_admits(Leader *l, Host *h, const Argosy__ToVoter__Admits *admits) {
        const Node *n = node_find(l, admits->node);

        if (!h->attached || !n || n->host != h)
                return;
        for (size_t i = 0; i < MIN_OF(admits->n_units, (size_t) ADMITS_MAX); i++) {
                Unit *u = unit_find(l, admits->units[i]);

                if (!u || !unit_exclusion(u, n->number))
                        continue;
                unit_forget_exclusions(l, u, n->number);
                unit_event(l, u, LIFE_RECONSIDER);
                leader_set_due(l, DUE_PLACEMENT);
        }
        leader_mark(l);
}

void session_on_fleet_units(Leader *l, Host *h, const Argosy__FleetUnits *said) {
        if (!h->recorded || !h->attached)
                return;
        fleet_units_set(l, h, said);
        note_fleet(l, h, said);
}

static void on_barrier(StoreOutcome outcome, uint64_t index, void *userdata) {
        Leader *l = userdata;
        Host *h;

        l->barrier_flying = false;
        if (index > l->index)
                l->index = index;
        // A host that attached anew meanwhile is not among them.
        while ((h = host_take_marked(l, HOST_BARRIER_FLYING))) {
                if (!l->leading)
                        continue;
                if (outcome != STORE_COMMITTED || !leader_has_authority(l))
                        host_mark(l, h, HOST_BARRIER);
                else {
                        authorization_send(l, h);
                        orders_welcome(l, h);
                }
        }
        // the lead is on its way to another and may stay, or the disks are full
        if (outcome != STORE_COMMITTED)
                l->barriers_pause_us = leader_now(l) + l->limits.barrier_retry_ms * USEC_PER_MSEC;
        leader_mark(l);
        leader_outside_done(l);
}

// One barrier for everybody who attached before it was proposed.
void sessions_start_barrier(Leader *l) {
        Host *h;

        if (l->barrier_flying || !hosts_have_mark(l, HOST_BARRIER) || l->barriers_pause_us > leader_now(l) ||
            l->ops.barrier(on_barrier, l, l->userdata) < 0)
                return;
        leader_outside_begun(l);
        l->barrier_flying = true;
        while ((h = host_take_marked(l, HOST_BARRIER)))
                host_mark(l, h, HOST_BARRIER_FLYING);
}

// ------------------------------------------------------------------------------------------------ reports

// An agent that reports a unit gone may mean an older order than the newest: then the newer one is on its
// way to it, or what it began has still to be ended. That the unit is to go may not have been looked at yet.
static void on_gone(Leader *l, UnitOnNode *s, const Argosy__UnitReport *report) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

        if (unit_wanted_on(l, s->unit, e, s->node)) {
                unit_on_node_event(s, ON_NODE_MISSING);
                unit_touch_on_node(l, s);
        } else if (report->revision >= s->ordered_revision)
                unit_on_node_free(l, s);
}

// It counts for what was told until now, and who waits is looked at in this turn.
static void note_lived(Leader *l, Host *h, uint64_t lived_ms) {
        if (lived_ms <= h->lived_ms)
                return;
        h->lived_ms = lived_ms;
        if (!list_is_empty(&h->probations))
                host_mark(l, h, HOST_LIVED);
}

void session_on_reports(Leader *l, Host *h, const Argosy__ToVoter__Reports *reports) {
        if (!h->attached)
                return;
        for (size_t i = 0; i < reports->n_reports; i++) {
                const Argosy__UnitReport *report = reports->reports[i];
                UnitOnNode *s = unit_on_node_of_report(l, h, report);

                if (s && report->gone)
                        on_gone(l, s, report);
                else if (s)
                        take_report(l, s, report);
        }
        note_lived(l, h, reports->lived_ms);
        leader_mark(l);
}

void sessions_retire(Leader *l) {
        l->leases_due_us = 0;
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                h->attached = h->ever_attached = h->half_reported = h->leaving = h->down = false;
                h->membership.opened_id = 0;
        }
        list_init(&l->outcomes);
        list_init(&l->outcomes_flying);
}
