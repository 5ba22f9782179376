// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Records become orders. An order is made from the record when it is sent, not when it became due, so
// several changes of one unit in one turn are one order. Each says everything; a unit that a host does not
// hold yet comes with its content, once per session.
//
// They go out in messages of about limits.orders_bytes, as fast as the host takes them, and at most
// limits.orders_made to all hosts together in a turn of the loop. The first that a host hears is its
// Welcome, which names all that is wanted there: what does not fit comes before it in parts.
//
// What is wanted on a host is walked through in turns as well (Host.ordering.welcome_node). A unit that
// comes or changes meanwhile is marked like any other, and its order is in one of the parts; one that goes
// moves the walk on (registry.c).
#include <errno.h>

#include "companion-orders.h"
#include "due.h"
#include "event-marks.h"
#include "fencing-policy.h"
#include "file-pieces.h"
#include "frame.h"
#include "host-leases.h"
#include "host-link.h"
#include "host-marks.h"
#include "image-moves.h"
#include "log.h"
#include "message-of.h"
#include "nodes.h"
#include "oom.h"
#include "ordering.h"
#include "orders.h"
#include "pending.h"
#include "previous-nodes.h"
#include "registry.h"
#include "replacers.h"
#include "response.h"
#include "rollout-content.h"
#include "row-walks.h"
#include "secret-orders.h"
#include "tables.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-wanted.h"
#include "unit-work.h"
#include "walks.h"

enum {
        COMPANIONS_COST =
                8, // as so many orders: a message of its own for a host, when all hosts are due at once
};

static bool may_be_told(const Host *h) {
        return h->welcomed || h->ordering.welcoming; // else the Welcome will say it
}

static void mark_row(Leader *l, UnitOnNode *s) {
        Host *h = s->node->host;

        if (!may_be_told(h))
                return;
        if (!list_is_linked(&unit_on_node_work_seen(s)->order))
                list_append(&h->ordering.due, &unit_on_node_work(s)->order);
        host_mark_now(l, h, HOST_ORDERS);
}

void orders_mark(Leader *l, Unit *u, Node *n) {
        UnitOnNode *s = may_be_told(n->host) ? unit_on_node_get(l, u, n) : NULL;

        if (s)
                mark_row(l, s);
}

// A record changed (e NULL: it was removed): nodes that have the unit or are to have it get orders. For a
// global unit a walk over all nodes that have it, orders_rows_step(), and orders_globals() over those that
// are to have it now do that.
void orders_on_unit(Leader *l, const UnitEntry *e, Unit *u, Node *before) {
        unsigned n = 0;

        if (before)
                orders_mark(l, u, before);
        if (e && !e->record->global && u->node) {
                orders_mark(l, u, u->node);
                tombstones_on_wanted(l, u, u->node);
        }
        list_foreach (i, &u->on_nodes) {
                if (n++ == l->limits.rows_at_once) {
                        row_walk_begin(l, u);
                        return;
                }
                mark_row(l, CONTAINER_OF(i, UnitOnNode, by_unit));
        }
}

bool orders_rows_step(Leader *l) {
        for (unsigned n = 0; n < l->limits.rows_marked; n++) {
                UnitOnNode *s = row_walk_next(l);

                if (!s)
                        return true;
                mark_row(l, s);
        }
        leader_mark(l);
        return false;
}

// Whether the node is to run the unit, and what follows if that is not as it was ordered.
static void judge_global(Leader *l, Unit *u, const UnitEntry *e, Node *n) {
        bool wanted = unit_wanted_on(l, u, e, n);
        UnitOnNode *s = unit_on_node_find(u, n);

        l->n_globals_judged++;
        n->n_globals += wanted;
        if (s && !unit_on_node_is_heard(s)) // lists show it where it is wanted
                event_mark_unit_on_node(l, s);
        if (s && !wanted)
                tombstones_chunk(l, s);
        if (wanted)
                tombstones_on_wanted(l, u, n);
        if (wanted != (s && unit_on_node_is_to_have(s)) && (wanted || s))
                orders_mark(l, u, n);
}

// What all global units are on the host's nodes. How many were asked about.
static size_t judge_globals_on(Leader *l, Host *h) {
        size_t n = 1;

        list_foreach (o, &h->nodes)
                CONTAINER_OF(o, Node, of_host)->n_globals = 0;
        list_foreach (i, &l->globals) {
                Unit *u = CONTAINER_OF(i, UnitWork, queue)->unit;
                const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                list_foreach (o, &h->nodes) {
                        judge_global(l, u, e, CONTAINER_OF(o, Node, of_host));
                        n++;
                }
        }
        return n;
}

// The units, or labels, have changed, which may matter on each node; or only a session has, or what a node
// refuses, or who is there that they conflict with: then its host is marked.
bool orders_globals(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_GLOBALS];

        if (leader_take_due(l, DUE_GLOBALS))
                map_foreach (slot, &l->hosts)
                        host_mark_now(l, slot->value, HOST_GLOBALS);
        if (!hosts_have_mark(l, HOST_GLOBALS))
                return true;
        for (size_t n = 0;
             n < walk_slice(walk, l->limits.globals_judged) && hosts_have_mark(l, HOST_GLOBALS);) {
                Host *h = host_marked(l, HOST_GLOBALS);

                n += judge_globals_on(l, h);
                host_unmark(h, HOST_GLOBALS);
                host_mark_place(l, h);
        }
        if (hosts_have_mark(l, HOST_GLOBALS)) {
                walk_sliced(l, walk, 0);
                leader_mark(l);
                return false;
        }
        list_foreach (i, &l->globals)
                unit_touch_itself(l, CONTAINER_OF(i, UnitWork, queue)->unit);
        return true;
}

void orders_release(Leader *l, Unit *u) {
        UnitOnNode *s = u->node ? unit_on_node_find(u, u->node) : NULL;
        Unit *preemptor = unit_work_seen(u)->preemption ? unit_work_seen(u)->preemption->by : NULL;

        if (s && list_is_linked(&unit_on_node_work_seen(s)->awaiting))
                orders_mark(l, u, u->node);
        if (!preemptor)
                return;
        if (l->n_pending > 0) // the budget of preemptions may have had no more
                leader_set_due(l, DUE_PLACEMENT);
        s = preemptor->node ? unit_on_node_find(preemptor, preemptor->node) : NULL;
        if (s && list_is_linked(&unit_on_node_work_seen(s)->awaiting))
                orders_mark(l, preemptor, s->node);
}

void orders_mark_awaiting(Leader *l) {
        if (!leader_take_due(l, DUE_PREVIOUS_NODES))
                return;
        list_foreach (i, &l->awaiting) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNodeWork, awaiting)->on_node;

                orders_mark(l, s->unit, s->node);
        }
}

// ------------------------------------------------------------------------------------------------ sending

typedef struct Bundle {
        Argosy__UnitOrder *orders;
        Argosy__UnitOrder **order_pointers;
        size_t n_orders, allocated;
        Argosy__Spec *specs;
        Argosy__Spec **spec_pointers;
        size_t n_specs;
        SecretOrders secrets;
        size_t bytes;
} Bundle;

static void bundle_done(Bundle *b) {
        free(b->orders);
        free(b->order_pointers);
        free(b->specs);
        free(b->spec_pointers);
        secret_orders_done(&b->secrets);
        *b = (Bundle){};
}

static int bundle_new(size_t n, Bundle *ret) {
        *ret = (Bundle){
                .orders = calloc(n + 1, sizeof(Argosy__UnitOrder)),
                .order_pointers = calloc(n + 1, sizeof(Argosy__UnitOrder *)),
                .specs = calloc(n + 1, sizeof(Argosy__Spec)),
                .spec_pointers = calloc(n + 1, sizeof(Argosy__Spec *)),
                .allocated = n,
        };
        if (ret->orders && ret->order_pointers && ret->specs && ret->spec_pointers)
                return 0;
        bundle_done(ret);
        return -ENOMEM;
}

static void bundle_add_spec(Bundle *b, const SpecEntry *spec) {
        Argosy__Spec *m = &b->specs[b->n_specs];

        argosy__spec__init(m);
        m->hash = (ProtobufCBinaryData){.data = (uint8_t *) spec->hash.bytes, .len = HASH_SIZE};
        m->content = (ProtobufCBinaryData){.data = spec->content, .len = spec->len};
        b->spec_pointers[b->n_specs++] = m;
        b->bytes += spec->len + HASH_SIZE;
}

static void order_to_remove(Leader *l, UnitOnNode *s, const UnitEntry *e, Argosy__UnitOrder *o) {
        o->remove = true;
        // The revision of a removal is that of the record which no longer wants it here; without one, the
        // newest that there is.
        o->revision = e ? e->record->revision : cluster_state_revision(l->state);
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
}

// Whether the content is installed there and nothing that is on its way changes that.
static bool has_it(const UnitOnNode *s, const Hash *hash) {
        return unit_on_node_is_reported(s) && hash_equal(unit_on_node_seen(s), hash) &&
               !unit_on_node_is_to_go(s) && (!s->spec || hash_equal(&s->spec->hash, hash));
}

// As it is, with what is there: nothing of its record.
static void order_to_stay(UnitOnNode *s, Argosy__UnitOrder *o) {
        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE);
        o->spec = (ProtobufCBinaryData){.data = (uint8_t *) unit_on_node_seen(s)->bytes, .len = HASH_SIZE};
        o->target = ARGOSY__TARGET__TARGET_LAUNCHED;
        o->stay = true;
}

static int order_to_hold(Leader *l, Bundle *b, UnitOnNode *s, const UnitEntry *e, Argosy__UnitOrder *o) {
        const Argosy__UnitRecord *r = e->record;
        Content c = rollout_content(l, e, s->node->number);
        bool is_new = false, has = has_it(s, &c.spec->hash);
        int k;

        unit_on_node_event(s, ON_NODE_ORDERED_TO_HAVE);
        if (!has) {
                k = unit_on_node_need_spec(s, &c.spec->hash, &is_new);
                if (k < 0)
                        return k;
        }
        if (is_new)
                bundle_add_spec(b, c.spec);
        o->spec = (ProtobufCBinaryData){.data = (uint8_t *) c.spec->hash.bytes, .len = HASH_SIZE};
        o->from_template = r->from_template;
        o->target = r->target;
        o->revision = c.revision;
        o->start_rev = r->start_rev;
        o->restart_rev = c.restart_rev;
        o->stop_rev = r->stop_rev;
        o->outcome = (Argosy__Outcome *) record_final_outcome(r, s->node->number);
        ordering_adjust(s, o);
        return secret_orders_add(l, &b->secrets, e, &c, o, &b->bytes);
}

// Down, as long as it runs where it was: the answer is no answer to a change.
static int order_to_prepare(Leader *l, Bundle *b, UnitOnNode *s, const UnitEntry *e, Argosy__UnitOrder *o) {
        int r = order_to_hold(l, b, s, e, o);

        o->target = ARGOSY__TARGET__TARGET_LOADED;
        o->stay = true;
        o->revision = 0;
        return r;
}

typedef enum OrderKind { ORDER_TO_REMOVE, ORDER_TO_HOLD, ORDER_TO_STAY, ORDER_TO_PREPARE } OrderKind;

static int bundle_add(Leader *l, Bundle *b, UnitOnNode *s, OrderKind kind, const UnitEntry *e) {
        Argosy__UnitOrder *o = &b->orders[b->n_orders];
        int r = 0;

        *o = (Argosy__UnitOrder) MESSAGE_OF(unit_order, .node = s->node->number, .name = s->unit->name);
        if (kind == ORDER_TO_HOLD)
                r = order_to_hold(l, b, s, e, o);
        else if (kind == ORDER_TO_PREPARE)
                r = order_to_prepare(l, b, s, e, o);
        else if (kind == ORDER_TO_STAY)
                order_to_stay(s, o);
        else
                order_to_remove(l, s, e, o);
        if (r < 0)
                return r;
        s->ordered_revision = o->revision;
        if (kind == ORDER_TO_HOLD)
                unit_on_node_is_ordered(s, o->revision);
        b->order_pointers[b->n_orders++] = o;
        b->bytes += strlen(o->name) + 128;
        return 0;
}

// A unit that had a node before ends there before it begins here (fencing-policy.h). What runs here
// meanwhile, with another content or before its restart, runs on; a Welcome that did not name it would end
// it.
static int await_previous_node(Leader *l, Bundle *b, UnitOnNode *s, const UnitEntry *e, uint64_t until_us) {
        bool runs = unit_on_node_is_reported(s) && !unit_on_node_is_down(s) && s->seen;

        list_append(&l->awaiting, &unit_on_node_work(s)->awaiting);
        if (until_us != FENCING_UNTIL_REPORTED && previous_node_ends_at(l, s->unit, until_us) < 0)
                return -ENOMEM;
        if (!runs && image_move_prepares(l, s, e))
                return bundle_add(l, b, s, ORDER_TO_PREPARE, e);
        return runs && !s->node->host->welcomed ? bundle_add(l, b, s, ORDER_TO_STAY, e) : 0;
}

static int bundle_consider(Leader *l, Bundle *b, UnitOnNode *s, bool wanted, const UnitEntry *e) {
        bool held = ordering_hold(l, s, e, wanted);
        // What a Welcome does not name is removed: what is to go later is told to stay.
        bool stays = !wanted && e && s->hold == HOLD_STOP && !s->node->host->welcomed;
        OrderKind kind = wanted || stays ? ORDER_TO_HOLD : ORDER_TO_REMOVE;
        uint64_t until_us = 0;

        unit_on_node_work_stop_awaiting(s);
        if (wanted && !ordering_ends(s) && previous_node_in_the_way(l, s, e, &until_us))
                return await_previous_node(l, b, s, e, until_us);
        // orders_release() when they have ended
        if (wanted && !unit_on_node_is_reported(s) && pending_awaited(s)) {
                list_append(&l->awaiting, &unit_on_node_work(s)->awaiting);
                return 0;
        }
        if (wanted && ordering_waits_for_replaced(l, s)) // ordering_drain(), when these have left
                replacers_await(l, s);
        if (kind == ORDER_TO_HOLD && ordering_keeps(s))
                kind = ORDER_TO_STAY;
        return held ? 0 : bundle_add(l, b, s, kind, e);
}

// With the first message that goes out: a host has them before it starts what needs them. NULL: they are not
// due.
static Argosy__Companions *take_companions(Leader *l, Host *h) {
        if (!h->ordering.companions_due)
                return NULL;
        h->ordering.companions_due = false;
        return oom_checked(companion_orders_new(l, h));
}

static void send_orders(Leader *l, Host *h, Bundle *b) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);
        Argosy__ToHost__Orders orders = ARGOSY__TO_HOST__ORDERS__INIT;
        Argosy__ToHost m = TO_HOST_OF(ORDERS, orders, &orders);

        if (!record)
                return;
        orders.generation = cluster_state_cluster(l->state)->generation;
        orders.term = l->term;
        orders.index = l->index;
        orders.specs = b->spec_pointers;
        orders.n_specs = b->n_specs;
        orders.orders = b->order_pointers;
        orders.n_orders = b->n_orders;
        orders.secrets = b->secrets.value_pointers;
        orders.n_secrets = b->secrets.n_values;
        if (host_has_mark(h, HOST_NODES)) {
                orders.nodes = record->nodes;
                orders.n_nodes = record->n_nodes;
        }
        host_unmark(h, HOST_NODES);
        orders.companions = take_companions(l, h);
        leader_to_host(l, h, &m);
        companion_orders_free(orders.companions);
}

static void send_part(Leader *l, Host *h, Bundle *b) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);
        Argosy__ToHost__WelcomePart part = MESSAGE_OF(to_host__welcome_part, .seq = h->attach_seq);
        Argosy__ToHost m = TO_HOST_OF(WELCOME_PART, welcome_part, &part);

        part.generation = cluster_state_cluster(l->state)->generation;
        part.term = l->term;
        part.index = l->index;
        part.specs = b->spec_pointers;
        part.n_specs = b->n_specs;
        part.orders = b->order_pointers;
        part.n_orders = b->n_orders;
        part.secrets = b->secrets.value_pointers;
        part.n_secrets = b->secrets.n_values;
        part.nodes = record->nodes;
        part.n_nodes = record->n_nodes;
        h->ordering.welcome_parts++;
        part.companions = take_companions(l, h);
        leader_to_host(l, h, &m);
        companion_orders_free(part.companions);
}

static void send_welcome(Leader *l, Host *h, Bundle *b) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);
        Argosy__ToHost__Welcome w =
                MESSAGE_OF(to_host__welcome, .seq = h->attach_seq, .generation = cluster->generation,
                           .term = l->term, .index = l->index);
        Argosy__ToHost m = TO_HOST_OF(WELCOME, welcome, &w);

        w.lease_ms = host_lease_tell_again(l, h);
        w.beat_ms = l->config.beat_ms;
        w.specs = b->spec_pointers;
        w.n_specs = b->n_specs;
        w.orders = b->order_pointers;
        w.n_orders = b->n_orders;
        w.secrets = b->secrets.value_pointers;
        w.n_secrets = b->secrets.n_values;
        w.nodes = record->nodes;
        w.n_nodes = record->n_nodes;
        w.parts = h->ordering.welcome_parts;
        h->ordering.welcoming = false;
        host_unmark(h, HOST_NODES);
        h->welcomed = true;
        w.companions = take_companions(l, h);
        leader_to_host(l, h, &m);
        companion_orders_free(w.companions);
        host_mark(l, h, HOST_SESSION_BEGUN);
}

// ------------------------------------------------------------------------------------------------ welcome

static int welcome_unit(Leader *l, Unit *u, Node *n) {
        UnitOnNode *s;

        if (!unit_wanted_on(l, u, cluster_state_find_unit(l->state, u->name), n))
                return 0;
        s = unit_on_node_get(l, u, n);
        if (!s)
                return -ENOMEM;
        if (!list_is_linked(&unit_on_node_work_seen(s)->order) && !unit_on_node_is_to_have(s))
                list_append(&n->host->ordering.due, &unit_on_node_work(s)->order);
        return 0;
}

// Whatever else the node holds goes: now, since the Welcome does not name it, or later.
static void welcome_unwanted(Leader *l, UnitOnNode *s) {
        const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

        if (unit_wanted_on(l, s->unit, e, s->node)) // its order was in a part, or is held back
                return;
        if (!ordering_hold(l, s, e, false) && s->hold == HOLD_STOP) {
                list_append(&s->node->host->ordering.due, &unit_on_node_work(s)->order);
                return;
        }
        s->hold = HOLD_NOT;
        s->ordered_revision = 0;
        unit_on_node_event(s, ON_NODE_ORDERED_TO_GO);
}

static int welcome_globals(Leader *l, Node *n) {
        int r = 0;

        list_foreach (i, &l->globals)
                if ((r = welcome_unit(l, CONTAINER_OF(i, UnitWork, queue)->unit, n)) < 0)
                        return r;
        return 0;
}

// First what is wanted on the node, then what else is there. 0: all was looked at, or *left is used up.
static int welcome_node(Leader *l, Node *n, size_t *left) {
        int r = 0;

        if (!n->ordering.placed && !n->ordering.held)
                n->ordering.placed = n->placed.next;
        for (; r >= 0 && n->ordering.placed && n->ordering.placed != &n->placed && *left > 0; (*left)--) {
                Unit *u = CONTAINER_OF(n->ordering.placed, Unit, placed);

                n->ordering.placed = n->ordering.placed->next;
                r = welcome_unit(l, u, n);
        }
        if (r >= 0 && n->ordering.placed == &n->placed) {
                n->ordering.placed = NULL;
                n->ordering.held = n->units_on_node.next;
                r = welcome_globals(l, n);
        }
        for (; r >= 0 && n->ordering.held && n->ordering.held != &n->units_on_node && *left > 0; (*left)--) {
                UnitOnNode *s = CONTAINER_OF(n->ordering.held, UnitOnNode, by_node);

                n->ordering.held = n->ordering.held->next;
                if (!list_is_linked(&unit_on_node_work_seen(s)->order))
                        welcome_unwanted(l, s);
        }
        return r;
}

static bool is_walked(const Node *n) {
        return n->ordering.held == &n->units_on_node;
}

// Goes on with the walk. Host.ordering.welcome_node is NULL when it is over.
static int welcome_some(Leader *l, Host *h, size_t *left) {
        while (h->ordering.welcome_node != &h->nodes) {
                Node *n = CONTAINER_OF(h->ordering.welcome_node, Node, of_host);
                int r = welcome_node(l, n, left);

                if (r < 0 || !is_walked(n))
                        return r;
                n->ordering.held = NULL;
                h->ordering.welcome_node = h->ordering.welcome_node->next;
        }
        h->ordering.welcome_node = NULL;
        return 0;
}

void orders_welcome(Leader *l, Host *h) {
        if (!cluster_state_cluster(l->state) || !h->recorded)
                return;
        h->ordering.welcoming = h->ordering.companions_due = true;
        h->ordering.welcome_parts = 0;
        h->ordering.welcome_node = h->nodes.next;
        host_mark_now(l, h, HOST_ORDERS);
}

// ------------------------------------------------------------------------------------------------ flushing

static size_t count_orders(const Host *h, size_t most) {
        size_t n = 0;

        list_foreach (i, &h->ordering.due)
                if (n++ == most)
                        return most;
        return n;
}

static int fill(Leader *l, Host *h, Bundle *b, size_t *left) {
        int r = bundle_new(count_orders(h, *left), b);

        while (r >= 0 && !list_is_empty(&h->ordering.due) && b->bytes<l->limits.orders_bytes && * left> 0) {
                UnitOnNodeWork *w = CONTAINER_OF(h->ordering.due.next, UnitOnNodeWork, order);
                UnitOnNode *s = w->on_node;
                const UnitEntry *e = cluster_state_find_unit(l->state, s->unit->name);

                unit_on_node_work_unlink(w, &w->order);
                r = bundle_consider(l, b, s, unit_wanted_on(l, s->unit, e, s->node), e);
                (*left)--;
        }
        return r;
}

static int flush_some(Leader *l, Host *h, size_t *left) {
        _cleanup_(bundle_done) Bundle b = {};
        int r = h->ordering.welcome_node ? welcome_some(l, h, left) : 0;

        if (r >= 0)
                r = fill(l, h, &b, left);
        if (r < 0)
                return r;
        if (h->ordering.companions_due)
                *left -= MIN_OF(*left, (size_t) COMPANIONS_COST);
        if (h->ordering.welcoming && !h->ordering.welcome_node && list_is_empty(&h->ordering.due))
                send_welcome(l, h, &b);
        else if (h->ordering.welcoming && b.n_orders)
                send_part(l, h, &b);
        else if (!h->ordering.welcoming &&
                 (b.n_orders || host_has_mark(h, HOST_NODES) || h->ordering.companions_due))
                send_orders(l, h, &b);
        return 0;
}

static bool has_orders(const Host *h) {
        return h->recorded && (h->ordering.welcoming ||
                               (h->welcomed && (host_has_mark(h, HOST_NODES) || h->ordering.companions_due ||
                                                !list_is_empty(&h->ordering.due))));
}

static void flush_host(Leader *l, Host *h, size_t *left) {
        while (has_orders(h) && *left > 0 && !l->ops.host_is_full(h->number, l->userdata))
                if (flush_some(l, h, left) < 0) { // it hears everything again when it comes back
                        l->ops.drop_host(h->number, l->userdata);
                        return;
                }
}

static bool flush_marked(Leader *l, Host *h, void *userdata) {
        size_t *left = userdata;

        flush_host(l, h, left);
        if (has_orders(h))
                host_mark(l, h, HOST_ORDERS);
        return *left > 0;
}

// Orders that a host does not take yet stay in its list: they may be hundreds of MiB. A host that had no
// turn is first in the next turn of the loop.
void orders_flush(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_ORDERS];
        size_t left = walk_slice(walk, l->limits.orders_made);

        host_marks_each(l, HOST_ORDERS, flush_marked, &left);
        walk_sliced(l, walk, left);
        if (left == 0 && hosts_have_mark(l, HOST_ORDERS))
                leader_mark(l);
}

void orders_on_session_ended(Host *h) {
        list_foreach_safe (i, &h->ordering.due)
                unit_on_node_work_unlink(CONTAINER_OF(i, UnitOnNodeWork, order), i);
        h->ordering.welcoming = h->welcomed = false;
        h->ordering.welcome_node = NULL;
        list_foreach (k, &h->nodes) {
                Node *n = CONTAINER_OF(k, Node, of_host);

                n->ordering.placed = n->ordering.held = NULL;
        }
        host_unmark(h, HOST_NODES);
        file_pieces_on_session_ended(h);
        host_unmark(h, HOST_ORDERS);
        host_unmark(h, HOST_SESSION_BEGUN);
}

void orders_retire(Leader *l) {
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                list_init(&h->ordering.due);
                h->ordering.welcoming = h->welcomed = false;
                h->ordering.welcome_node = NULL;
        }
        list_init(&l->awaiting);
}
