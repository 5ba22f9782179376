// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Clients that wait for a drain. That is, like all waiting, a look at the tables once per turn: nothing is recorded.
//
// What is left on the nodes is counted as it changes (nodes.c). A drain ends when nothing is left, when the
// node is not being emptied any more, or with the names of those that no other node takes, if nothing else can move and
// no deadline is to come.
#include "drain-waiters.h"

#include <errno.h>

#include "host-marks.h"
#include "node-changes.h"
#include "nodes.h"
#include "pending.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "tables.h"
#include "tickets.h"
#include "turn.h"

enum { STUCK_SHOWN_MAX = 100 }; // units named at the end of a drain that cannot go on

int drain_waiter_start(Leader *l, Ticket *t) {
        ticket_join(t, TICKET_WAIT, &l->drains);
        t->drain_left = UINT32_MAX;
        leader_mark(l);
        return 0;
}

typedef struct DrainView {
        size_t left;   // units that are still there
        size_t stuck;  // of these: no other node takes them
        bool emptying; // all of its nodes
        bool unattached; // what its nodes hold is not known to this leader yet
        bool ends;     // at a deadline that is to come, or was not acted on yet
} DrainView;

// The nodes that a drain is about: all of the host's, or one.
static bool is_meant(const Node *n, uint32_t node) {
        return node == 0 || n->number == node;
}

static void view_node(DrainView *v, const Node *n) {
        v->emptying &= node_is_emptying(n);
        v->left += n->n_to_leave + n->n_leaving;
        v->stuck += n->n_stuck;
        v->ends |= n->deadline_us && !n->deadline_done;
}

static DrainView view_host(const Host *h) {
        return (DrainView){.emptying = true, .unattached = !host_is_told(h) && !host_is_lost(h)};
}

static DrainView view_drain(const Host *h, uint32_t node) {
        DrainView v = view_host(h);

        list_foreach (i, &h->nodes)
                if (is_meant(CONTAINER_OF(i, Node, of_host), node))
                        view_node(&v, CONTAINER_OF(i, Node, of_host));
        return v;
}

static DrainEnd judge(const Leader *l, const DrainView *v) {
        if (!v->emptying)
                return DRAIN_OVER;
        if (v->left == 0 && !v->unattached)
                return DRAIN_EMPTY;
        return v->stuck == v->left && !v->ends && list_is_empty(&l->moving) && !l->batch_flying &&
                               !pending_is_due(l) && l->n_hosts.unattached == 0
                       ? DRAIN_STUCK
                       : DRAIN_GOES_ON;
}

DrainEnd drain_judge(const Leader *l, uint32_t node, size_t *ret_left) {
        const Node *n = node_find(l, node);
        DrainView v;

        *ret_left = 0;
        if (!n)
                return DRAIN_GONE;
        v = view_host(n->host);
        view_node(&v, n);
        *ret_left = v.left;
        return judge(l, &v);
}

static int add_stuck(Leader *l, Argosy__Response *r, const Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        Argosy__Response__UnitResult *result = unit_result_new(u->name);
        _cleanup_free_ char *why = NULL;

        if (FIELD_APPEND(r->progress->done, r->progress->n_done, result) < 0)
                return -ENOMEM;
        result->status = EBUSY;
        if (e && unit_why(l, e, &why, &result->refusals, &result->n_refusals) < 0)
                return -ENOMEM;
        return field_set(&result->message, "no other node takes it");
}

static Argosy__Response *stuck_response(Leader *l, const Host *h, uint32_t node, size_t n_stuck) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);

        if (!r)
                return NULL;
        r->status = EBUSY;
        r->progress->remaining = (uint32_t) n_stuck;
        if (field_printf(
                    &r->message,
                    "%zu unit%s cannot leave, since no other node takes %s; they go as soon as one does",
                    n_stuck, n_stuck == 1 ? "" : "s", n_stuck == 1 ? "it" : "them") < 0)
                return NULL;
        list_foreach (k, &h->nodes) {
                const Node *n = CONTAINER_OF(k, Node, of_host);

                if (!is_meant(n, node))
                        continue;
                list_foreach (i, &n->placed) {
                        const Unit *u = CONTAINER_OF(i, Unit, placed);

                        if (u->life == LIFE_STRANDED && r->progress->n_done < STUCK_SHOWN_MAX &&
                            add_stuck(l, r, u) < 0)
                                return NULL;
                }
        }
        return TAKE_PTR(r);
}

static Argosy__Response *progress_response(size_t left) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);

        if (r)
                r->progress->remaining = (uint32_t) left;
        return r;
}

// Says what is news of one drain.
static void notify(Leader *l, Ticket *t) {
        const char *word = t->request->drain_wait->node;
        const Argosy__HostRecord *host;
        const Host *h;
        DrainView v;
        uint32_t node;

        host = node_request_resolve(l, t, word, &node);
        h = host ? host_find(l, host->host) : NULL;
        if (!h) {
                ticket_leave(t, TICKET_WAIT); // refused
                return;
        }
        v = view_drain(h, node);
        switch (judge(l, &v)) {
        case DRAIN_OVER:
                ticket_settle(t, response_error(ECANCELED, "%s is not being drained any more", word));
                break;
        case DRAIN_EMPTY:
                ticket_settle(t, progress_response(0));
                break;
        case DRAIN_STUCK:
                ticket_settle(t, stuck_response(l, h, node, v.stuck));
                break;
        case DRAIN_GOES_ON:
                if (t->drain_left == v.left)
                        break;
                t->drain_left = (uint32_t) v.left;
                ticket_send(t, progress_response(v.left));
                break;
        case DRAIN_GONE: // is a refusal by now
                break;
        }
}

void drains_notify(Leader *l) {
        list_foreach_safe (i, &l->drains)
                notify(l, ticket_in(i, TICKET_WAIT));
}
