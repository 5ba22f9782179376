// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See node-lists.h. Hosts are listed by their numbers, so a host that comes or goes meanwhile does not move
// the place. All of a list is one answer: nodes have nothing by which a client could put parts together that
// overlap. What is said of the cluster itself is of the last turn.
#include "node-lists.h"

#include <errno.h>

#include "answer.h"
#include "authorization.h"
#include "response.h"
#include "row-filter.h"
#include "tickets.h"
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

static void queue(Leader *l, Ticket *t) {
        ticket_join(t, TICKET_TURN, &l->node_lists);
        leader_mark(l);
}

typedef struct NodeList {
        TicketWork work;
        uint32_t host; // the last that was listed; 0: none yet
} NodeList;

static void list_free(Ticket *t, TicketWork *work) {
        free(CONTAINER_OF(work, NodeList, work));
}

static const TicketWorkKind list_kind = {list_free};

static NodeList *list_of(const Ticket *t) {
        return CONTAINER_OF(ticket_work(t, &list_kind), NodeList, work);
}

int node_list_start(Leader *l, Ticket *t) {
        NodeList *list = calloc(1, sizeof(*list));

        if (!list)
                return -ENOMEM;
        ticket_add_work(t, &list_kind, &list->work);
        if (ticket_prepare(t, answer_new(t->request)) < 0)
                return -ENOMEM;
        queue(l, t);
        return 0;
}

// As who is told at once hears it.
static void end(const Leader *l, Ticket *t) {
        Argosy__Response *r = ticket_take_prepared(t);

        authorization_filter(l, t->author, r);
        r->no_leader = !l->leading;
        ticket_settle(t, r);
}

// One that is left out goes on when its host takes more again, or is lost.
static Ticket *next_due(const Leader *l) {
        list_foreach (i, &l->node_lists) {
                Ticket *t = ticket_in(i, TICKET_TURN);

                if (!ticket_taker_is_full(t))
                        return t;
        }
        return NULL;
}

void node_lists_turn(Leader *l) {
        Ticket *t = next_due(l);
        int done;

        if (!t)
                return;
        ticket_leave(t, TICKET_TURN);
        done = list_some(l, t->request, l->limits.nodes_listed, &list_of(t)->host, t->response);
        if (done < 0)
                ticket_settle(t, NULL);
        else if (done)
                end(l, t);
        else
                queue(l, t);
}
