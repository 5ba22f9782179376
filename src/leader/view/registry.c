// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of what exists: hosts and nodes as the log has them, units, and which nodes refuse them; see
// tables.h for who lives how long. What is seen of a unit on a node is in unit-on-node.c. Nothing is decided
// here.
//
// An entry of the log names the hosts that it is about, and only these are looked at; a new leader looks at
// all, some in each turn. Tables that had missed something would lie from then on, so want of memory ends
// the process (oom.h).
#include <errno.h>

#include "data-nodes.h"
#include "due.h"
#include "event-marks.h"
#include "feature-level.h"
#include "fleet-units.h"
#include "host-leases.h"
#include "host-marks.h"
#include "lease.h"
#include "manager-name.h"
#include "nodes.h"
#include "oom.h"
#include "registry.h"
#include "row-walks.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-work.h"

Host *host_find(const Leader *l, uint32_t number) {
        return map_find(&l->hosts, &number, sizeof(number));
}

Host *host_get(Leader *l, uint32_t number) {
        Host *h = host_find(l, number);

        if (h)
                return h;
        h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->number = number;
        h->feature_level = FEATURE_BASE;
        host_ordering_init(&h->ordering);
        host_requests_init(&h->requests);
        list_init(&h->nodes);
        list_init(&h->fleet.units);
        list_init(&h->probations);
        if (map_add(&l->hosts, &h->number, sizeof(h->number), h) < 0) {
                free(h);
                return NULL;
        }
        return h;
}

static void host_free(Host *h) {
        while (!list_is_empty(&h->probations))
                list_unlink(h->probations.next);
        map_done_with(&h->specs, free);
        host_requests_done(&h->requests);
        host_forget_marks(h);
        lease_forget(&h->lease);
        free(h->version);
        host_membership_done(&h->membership);
        free(h->complaint);
        free(h);
}

void host_drop_if_unused(Leader *l, Host *h) {
        if (h->recorded || h->linked || host_requests_are_open(&h->requests) || !list_is_empty(&h->nodes))
                return;
        map_take(&l->hosts, &h->number, sizeof(h->number));
        host_free(h);
}

Node *node_find(const Leader *l, uint32_t number) {
        return map_find(&l->nodes, &number, sizeof(number));
}

void node_discard(Node *n) {
        free(n->reason);
        free(n->manager);
        free(n->closed);
        free(n->name);
        free(n->former_name);
        free(n->event.reported);
        free(n->drain.reported);
        free(n);
}

void node_free(Leader *l, Node *n) {
        Host *h = n->host;

        list_foreach_safe (i, &n->units_on_node)
                unit_on_node_free(l, CONTAINER_OF(i, UnitOnNode, by_node));
        list_foreach_safe (i, &n->placed) {
                Unit *u = CONTAINER_OF(i, Unit, placed);

                unit_event(l, u, LIFE_NODE_GONE);
                list_unlink(&u->placed);
                u->unfinished = false;
                u->node = NULL;
                unit_touch(l, u);
                unit_mark_refusals(l, u); // it may be bound to its data there
        }
        event_unmark(l, &n->event);
        for (unsigned mark = 0; mark < NODE_MARKS; mark++)
                list_unlink(&n->marks[mark]);
        list_unlink(&n->units_due);
        list_unlink(&n->deadline);
        list_unlink(&n->emptying);
        map_take(&l->nodes, &n->number, sizeof(n->number));
        leader_set_due(l, DUE_DATA);
        host_ordering_pass_node(&h->ordering, &n->of_host);
        list_unlink(&n->of_host);
        tally_node_gone(n);
        node_discard(n);
        host_touch(l, h);
        host_drop_if_unused(l, h);
}

// A host in session is told of its new nodes before anything is ordered there; it says then whether they can
// be used.
static Node *node_new(Leader *l, Host *h, uint32_t number, const char *manager) {
        Node *n = calloc(1, sizeof(*n));

        if (!n)
                return NULL;
        n->number = number;
        n->host = h;
        n->all = &l->tallies;
        n->manager = strdup(manager);
        n->reason = streq(manager, "system") ? NULL : strdup(MANAGER_NOT_REACHED);
        list_init(&n->placed);
        list_init(&n->units_on_node);
        node_questions_init(&n->questions);
        if (!n->manager || map_add(&l->nodes, &n->number, sizeof(n->number), n) < 0) {
                free(n->manager);
                free(n->reason);
                free(n);
                return NULL;
        }
        list_append(&h->nodes, &n->of_host);
        n->event.kind = ARGOSY__EVENT_KIND__EVENT_NODE;
        n->drain.kind = ARGOSY__EVENT_KIND__EVENT_DRAIN;
        node_mark(l, n, NODE_NEW);
        if (h->welcomed)
                host_mark(l, h, HOST_NODES);
        if (host_has_mark(h, HOST_NODES))
                host_mark_now(l, h, HOST_ORDERS);
        return n;
}

// Watchers hear of a renamed node in the same turn (events/event-stream.c), by the name that they know.
static void note_name(Leader *l, Node *n, char *name) {
        bool renamed = n->name && !streq(n->name, name);

        if (renamed && !n->former_name) {
                n->former_name = n->name;
                node_mark(l, n, NODE_RENAMED);
        } else
                free(n->name);
        n->name = name;
}

static int node_sync(Leader *l, Host *h, const Argosy__HostRecord *host, const Argosy__NodeRecord *record) {
        _cleanup_free_ char *name = manager_node_name(host->name, record->manager);
        Node *n = node_find(l, record->node);

        if (!name)
                return -ENOMEM;
        if (!n)
                n = node_new(l, h, record->node, record->manager);
        if (!n)
                return -ENOMEM;
        note_name(l, n, TAKE_PTR(name));
        return node_sync_mode(l, n, record);
}

static bool record_has_node(const Argosy__HostRecord *host, uint32_t node) {
        for (size_t i = 0; host && i < host->n_nodes; i++)
                if (host->nodes[i]->node == node)
                        return true;
        return false;
}

// What of a record decides who votes.
static void note_vote(Leader *l, Host *h, const Argosy__HostRecord *record) {
        bool voter = record->role == ARGOSY__HOST_ROLE__ROLE_VOTER;

        if (!h->recorded || h->raft_id_known != record->raft_id || h->voter_known != voter ||
            h->no_promote_known != record->no_promote)
                leader_set_due(l, DUE_VOTERS | DUE_VOTER_SECRETS);
        h->n_raft_ids += h->raft_id_known != record->raft_id;
        h->raft_id_known = record->raft_id;
        h->voter_known = voter;
        h->no_promote_known = record->no_promote;
}

static void sync_record(Leader *l, Host *h, const Argosy__HostRecord *record) {
        note_vote(l, h, record);
        if (!h->recorded) {
                h->recorded = true;
                host_lease_begin(l, h);
        }
        for (size_t k = 0; k < record->n_nodes; k++)
                (void) oom_check(node_sync(l, h, record, record->nodes[k]));
        if (!h->ever_attached) // it has said nothing to this leader
                fleet_units_set(l, h, record->fleet);
        host_mark(l, h, HOST_LABELS);
        host_mark_now(l, h, HOST_GLOBALS);
        host_touch(l, h);
}

// Nodes that are gone are freed after all that point to them were told. Global units have one less node,
// also if they were never seen there.
static void mark_nodes_gone(Leader *l, const Host *h, const Argosy__HostRecord *record) {
        list_foreach (i, &h->nodes) {
                Node *n = CONTAINER_OF(i, Node, of_host);

                if (record_has_node(record, n->number) || !node_mark(l, n, NODE_GONE))
                        continue;
                leader_set_due(l, DUE_ENQUEUED);
                list_foreach (k, &l->globals)
                        unit_touch_itself(l, CONTAINER_OF(k, UnitWork, queue)->unit);
        }
}

// `record` NULL: the log has it no more.
static void sync_host(Leader *l, uint32_t number, const Argosy__HostRecord *record) {
        Host *h = record ? oom_checked(host_get(l, number)) : host_find(l, number);

        if (!h) // it came and went
                return;
        if (record)
                sync_record(l, h, record);
        mark_nodes_gone(l, h, record);
        if (record || !h->recorded)
                return;
        h->recorded = false;
        fleet_units_set(l, h, NULL);
        leader_set_due(l, DUE_VOTERS | DUE_VOTER_SECRETS);
        lease_end(&h->lease);
        host_set_pending_record(l, h, NULL);
        host_touch(l, h);
        host_drop_if_unused(l, h);
}

static void mark_hosts_due(Leader *l) {
        leader_set_due(l, DUE_MASS_LOSS | DUE_PLACEMENT | DUE_PREVIOUS_NODES | DUE_WAITS);
}

// One that comes or changes meanwhile is followed as always, whether the walk has come to it or not.
bool registry_build_hosts(Leader *l, size_t *left) {
        const Argosy__HostRecord *next;

        for (; (next = cluster_state_next_host(l->state, l->hosts_walked)) && *left > 0; (*left)--) {
                l->hosts_walked = next->host;
                sync_host(l, next->host, next);
        }
        if (!next)
                mark_hosts_due(l);
        return !next;
}

void registry_sync_hosts(Leader *l) {
        uint32_t number;

        while ((number = cluster_state_next_dirty_host(l->state)))
                sync_host(l, number, cluster_state_find_host(l->state, number));
        mark_hosts_due(l);
}

const char *unit_name_of(const void *unit) {
        return ((const Unit *) unit)->name;
}

Unit *unit_find(const Leader *l, const char *name) {
        return name_table_find(&l->units, name);
}

Unit *unit_get(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);

        if (u)
                return u;
        u = NEW_WITH_TEXT(Unit, name, name);
        if (!u)
                return NULL;
        u->event.kind = ARGOSY__EVENT_KIND__EVENT_UNIT;
        list_init(&u->on_nodes);
        if (name_table_add(&l->units, u) < 0) {
                free(u);
                return NULL;
        }
        return u;
}

const char *unit_exclusion(const Unit *u, uint32_t node) {
        for (const Exclusion *e = unit_work_seen(u)->exclusions; e; e = e->next)
                if (e->node == node)
                        return e->reason;
        return NULL;
}

void unit_mark_refusals(Leader *l, Unit *u) {
        UnitWork *w = unit_work(l, u);

        if (!list_is_linked(&w->refusals_due))
                list_append(&l->refusals_due, &w->refusals_due);
        leader_mark(l);
}

// The Placement hears of it; a unit that runs on all nodes is judged anew on that one.
static void mark_refusal(Leader *l, Unit *u, uint32_t node) {
        const Node *n = u->life == LIFE_GLOBAL ? node_find(l, node) : NULL;

        unit_mark_refusals(l, u);
        if (n)
                host_mark_now(l, n->host, HOST_GLOBALS);
}

void unit_forget_exclusions(Leader *l, Unit *u, uint32_t node) {
        UnitWork *w = unit_work_if_any(l, u);

        if (!w)
                return;
        for (Exclusion **e = &w->exclusions; *e;) {
                Exclusion *gone = *e;

                if (node && gone->node != node) {
                        e = &gone->next;
                        continue;
                }
                *e = gone->next;
                mark_refusal(l, u, gone->node);
                free(gone);
        }
        if (!w->exclusions)
                list_unlink(&w->excluded);
}

void host_forget_exclusions(Leader *l, const Host *h) {
        list_foreach (k, &h->nodes)
                list_foreach_safe (i, &l->excluded)
                        unit_forget_exclusions(l, CONTAINER_OF(i, UnitWork, excluded)->unit,
                                               CONTAINER_OF(k, Node, of_host)->number);
}

void unit_exclude(Leader *l, Unit *u, uint32_t node, const char *reason) {
        size_t len = str_cut(reason, REASON_MAX);
        // its next orders would name the node again
        Exclusion *e = oom_checked(malloc(sizeof(*e) + len + 1));
        UnitWork *w = unit_work(l, u);

        unit_forget_exclusions(l, u, node);
        e->node = node;
        memcpy(e->reason, reason, len);
        e->reason[len] = 0;
        e->next = w->exclusions;
        w->exclusions = e;
        if (!list_is_linked(&w->excluded))
                list_append(&l->excluded, &w->excluded);
        mark_refusal(l, u, node);
}

static void unit_unplace(Unit *u) {
        if (!u->node)
                return;
        node_ordering_pass_placed(&u->node->ordering, &u->placed);
        list_cursor_pass(&u->node->empty_placed, &u->placed);
        list_cursor_pass(&u->node->mark_placed, &u->placed);
        list_unlink(&u->placed);
        u->node->n_placed--;
        u->node->n_to_leave -= u->leaves;
        u->node->n_unfinished -= u->unfinished;
        u->node = NULL;
}

void unit_discard(Unit *u) {
        unit_work_discard(u->work);
        unit_on_node_forget_rows(u);
        free(u->event.reported);
        free(u->content_reported);
        free(u);
}

void unit_free(Leader *l, Unit *u) {
        unit_unplace(u);
        row_walk_end(l, u);
        event_unmark(l, &u->event);
        data_nodes_unbind(l, u);
        unit_work_free(l, u);
        name_table_take(&l->units, u->name);
        unit_discard(u);
}

// It has not ended for good where it is, so it would have to move if that were lost.
static bool is_unfinished(const Argosy__UnitRecord *r) {
        return r->target != ARGOSY__TARGET__TARGET_LAUNCHED || !record_final_outcome(r, r->node);
}

bool unit_has_place(const UnitEntry *e) {
        return !e->removed && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE && !e->record->global;
}

static LifeEvent event_of_record(const UnitEntry *e, const Node *node) {
        if (unit_has_place(e))
                return node ? LIFE_IS_PLACED : LIFE_IS_UNPLACED;
        return !e->removed && e->record->target != ARGOSY__TARGET__TARGET_INACTIVE ? LIFE_IS_GLOBAL
                                                                                   : LIFE_IS_UNWANTED;
}

void registry_on_unit(Leader *l, Unit *u, UnitEntry *e) {
        const Argosy__UnitRecord *record = e->record;

        Node *node = unit_has_place(e) && record->node ? node_find(l, record->node) : NULL;

        u->recorded = !e->removed;
        unit_event(l, u, event_of_record(e, node));
        unit_unplace(u);
        u->leaves = !e->removed && record_has_to_leave(record);
        u->unfinished = node && is_unfinished(record);
        u->node = node;
        if (u->node) {
                list_append(&u->node->placed, &u->placed);
                u->node->n_placed++;
                u->node->n_to_leave += u->leaves;
                u->node->n_unfinished += u->unfinished;
                // also a unit that was placed there at the moment in which the host was lost or closed
                if ((u->unfinished && host_is_lost(u->node->host)) || unit_has_to_leave(u, e))
                        unit_event(l, u, LIFE_RECONSIDER);
        }
        list_foreach (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                unit_on_node_count(s);
                // is none any more once the unit has left, has another file, or has started
                if (s->mismatch_reported || s->older_secret_reported)
                        event_mark_unit_on_node(l, s);
        }
}

void registry_retire(Leader *l) {
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                h->recorded = false;
                list_init(&h->nodes);
                list_init(&h->probations); // those who waited are gone, or freed as plain memory
                host_drop_if_unused(l, h);
        }
        list_init(&l->refusals_due);
        list_init(&l->away_from_data);
        list_init(&l->excluded);
}
