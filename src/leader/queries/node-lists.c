// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See node-lists.h. Hosts are listed by their numbers, so a host that comes or goes meanwhile does not move
// the place. All of a list is one answer: nodes have nothing by which a client could put parts together that
// overlap. What is said of the cluster itself is of the last turn.
#include "node-lists.h"

#include <errno.h>

#include "answer-hosts.h"
#include "answer.h"
#include "authorization.h"
#include "response.h"
#include "row-filter.h"
#include "pending-requests.h"
#include "turn.h"

static bool is_status(const Argosy__Request *request) {
        return request->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_STATUS;
}

static Argosy__Response *answer_new(const Argosy__Request *request) {
        return response_new(is_status(request) ? ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS
                                               : ARGOSY__RESPONSE__WHAT_NODES);
}

static int list_nodes_of(Leader *l, const Argosy__Request *request, const Argosy__HostRecord *host,
                         uint32_t leader, Argosy__Response *r) {
        if (!row_filter_wants_host(request->list_nodes->filter, host))
                return 0;
        for (size_t i = 0; i < host->n_nodes; i++)
                if (answer_add_node(l, r->nodes, host, host->nodes[i], leader) < 0)
                        return -ENOMEM;
        return 0;
}

// Those behind that host, up to so many. Whether they were the last; or -ENOMEM.
static int list_some(Leader *l, const Argosy__Request *request, size_t most, uint32_t *behind,
                     Argosy__Response *r) {
        const Argosy__HostRecord *leader, *host;
        StoreStats stats = {};

        l->ops.stats(&stats, l->userdata);
        leader = answer_find_leader(l, &stats);
        for (; (host = cluster_state_next_host(l->state, *behind)) && most > 0; most--) {
                uint32_t lead = leader ? leader->host : 0;

                *behind = host->host;
                if ((is_status(request) ? answer_add_member(l, r->cluster_status, host, &stats, lead)
                                        : list_nodes_of(l, request, host, lead, r)) < 0)
                        return -ENOMEM;
        }
        if (!host && is_status(request) && answer_fill_cluster_status(l, r->cluster_status, &stats) < 0)
                return -ENOMEM;
        return !host;
}

Argosy__Response *node_list_answer(Leader *l, const Argosy__Request *request) {
        _cleanup_response_ Argosy__Response *r = answer_new(request);
        uint32_t behind = 0;

        return r && list_some(l, request, SIZE_MAX, &behind, r) >= 0 ? TAKE_PTR(r) : NULL;
}

bool node_list_is_long(const Leader *l, const Argosy__Request *request) {
        size_t n;

        (void) cluster_state_hosts(l->state, &n);
        return n > l->limits.nodes_at_once;
}

static void queue(Leader *l, PendingRequest *t) {
        request_join(t, PENDING_TURN, &l->node_lists);
        leader_mark(l);
}

typedef struct NodeList {
        RequestWork work;
        uint32_t host; // the last that was listed; 0: none yet
} NodeList;

static void list_free(PendingRequest *t, RequestWork *work) {
        free(CONTAINER_OF(work, NodeList, work));
}

static const RequestWorkKind list_kind = {list_free};

static NodeList *list_of(const PendingRequest *t) {
        return CONTAINER_OF(request_work(t, &list_kind), NodeList, work);
}

int node_list_start(Leader *l, PendingRequest *t) {
        NodeList *list = calloc(1, sizeof(*list));

        if (!list)
                return -ENOMEM;
        request_add_work(t, &list_kind, &list->work);
        if (request_prepare(t, answer_new(t->request)) < 0)
                return -ENOMEM;
        queue(l, t);
        return 0;
}

// As who is told at once hears it.
static void end(const Leader *l, PendingRequest *t) {
        Argosy__Response *r = request_take_prepared(t);

        authorization_filter(l, t->author, r);
        r->no_leader = !l->leading;
        request_settle(t, r);
}

// One that is left out goes on when its host takes more again, or is lost.
static PendingRequest *next_due(const Leader *l) {
        list_foreach (i, &l->node_lists) {
                PendingRequest *t = request_in(i, PENDING_TURN);

                if (!request_taker_is_full(t))
                        return t;
        }
        return NULL;
}

void node_lists_turn(Leader *l) {
        PendingRequest *t = next_due(l);
        int done;

        if (!t)
                return;
        request_leave(t, PENDING_TURN);
        done = list_some(l, t->request, l->limits.nodes_listed, &list_of(t)->host, t->response);
        if (done < 0)
                request_settle(t, NULL);
        else if (done)
                end(l, t);
        else
                queue(l, t);
}
