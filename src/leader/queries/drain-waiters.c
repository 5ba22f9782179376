// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a client that waits for a drain (waits.h) is told.
//
// A drain ends when nothing is left, when the node is not being emptied any more, or with the names of those
// that no other node takes (hosts/drain-judge.h).
#include "drain-waiters.h"

#include <errno.h>

#include "drain-judge.h"
#include "node-changes.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "tables.h"
#include "pending-requests.h"

enum { STUCK_SHOWN_MAX = 100 }; // units named at the end of a drain that cannot go on

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

                if (node && n->number != node)
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

void drain_wait_judge(Leader *l, PendingRequest *t) {
        const char *word = t->request->drain_wait->node;
        const Argosy__HostRecord *host;
        const Host *h;
        DrainView v;
        uint32_t node;

        host = node_request_resolve(l, t, word, &node);
        h = host ? host_find(l, host->host) : NULL;
        if (!h) {
                request_leave(t, PENDING_WAIT); // refused
                return;
        }
        v = drain_view(h, node);
        switch (drain_view_judge(l, &v)) {
        case DRAIN_OVER:
                request_refuse(t, ECANCELED, "%s is not being drained any more", word);
                break;
        case DRAIN_EMPTY:
                request_settle(t, response_progress(0));
                break;
        case DRAIN_STUCK:
                request_settle(t, stuck_response(l, h, node, v.stuck));
                break;
        case DRAIN_GOES_ON:
                if (request_report(t, v.left))
                        request_send(t, response_progress(v.left));
                break;
        case DRAIN_GONE: // is a refusal by now
                break;
        }
}
