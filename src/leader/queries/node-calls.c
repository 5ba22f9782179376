// SPDX-License-Identifier: LGPL-2.1-or-later
// Questions to nodes: one call for each unit on its node, or for each node that it is about. Answers are
// passed on as they come, completed by what only the leader knows, and an empty one ends them. What is
// particular to one kind of request is its row in node-questions.c.
//
// Hosts are asked in the order of their numbers, so a host that comes or goes meanwhile does not move the
// place. How many of these questions a node works on at a time is its agent's business
// (agent/queries/agent-remote.c).
//
// Lines of journals come no faster than the client takes them: the window that it offers is shared by the
// nodes, and each mark of theirs goes on as the next mark of the pending request. When the client has taken
// it, the mark's node is told.

#include <errno.h>

#include "author.h"
#include "authorization.h"
#include "flow-window.h"
#include "host-link.h"
#include "host-marks.h"
#include "macro.h"
#include "message-of.h"
#include "message.h"
#include "node-calls-private.h"
#include "nodes.h"
#include "pending-requests.h"
#include "registry.h"
#include "response.h"
#include "tables.h"
#include "turn.h"
#include "unit-on-node.h"

enum {
        CALL_MARKS_MAX = 16, // not taken; a node that keeps to its window has half of that at most
};

typedef struct Mark {
        ListNode list; // in NodeAsking.marks
        uint64_t call; // whose it is, if that is still there
        uint64_t theirs, ours;
} Mark;

static void mark_free(Mark *m) {
        list_unlink(&m->list);
        free(m);
}

static bool is_status(const PendingRequest *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_STATUS;
}

static void node_call_free(Leader *l, NodeCall *c) {
        map_take(&l->calls_by_id, &c->id, sizeof(c->id));
        list_unlink(&c->by_pending_request);
        list_unlink(&c->by_node);
        if (c->asking)
                c->asking->n_calls--;
        c->node->questions.n_listeners -= c->listens;
        free(c->unit);
        free(c);
}

static void send_cancel(Leader *l, const NodeCall *c) {
        Argosy__ToHost__CallCancel cancel = MESSAGE_OF(to_host__call_cancel, .id = c->id);
        Argosy__ToHost m = TO_HOST_OF(CALL_CANCEL, call_cancel, &cancel);

        // one that cannot hear us has stopped by itself
        leader_to_host_in_passing(l, c->node->host->number, &m);
}

static void cancel(Leader *l, NodeCall *c) {
        if (!c->unsent)
                send_cancel(l, c);
        node_call_free(l, c);
}

// Of thousands the first: the others wait for their turn without a pending request.
static void end_calls(Leader *l, NodeAsking *a) {
        for (unsigned n = 0; n < l->limits.calls_cancelled && !list_is_empty(&a->calls); n++)
                cancel(l, CONTAINER_OF(a->calls.next, NodeCall, by_pending_request));
        if (!list_is_empty(&a->calls))
                leader_mark(l);
        while (!list_is_empty(&a->calls)) {
                NodeCall *c = CONTAINER_OF(a->calls.next, NodeCall, by_pending_request);

                c->pending = NULL;
                c->asking = NULL;
                list_unlink(&c->by_pending_request);
                list_append(&l->calls_over, &c->by_pending_request);
        }
}

static void asking_free(PendingRequest *t, RequestWork *work) {
        NodeAsking *a = CONTAINER_OF(work, NodeAsking, work);

        author_questions_drop(t->leader, a->questions);
        end_calls(t->leader, a);
        list_foreach_safe (i, &a->marks)
                mark_free(CONTAINER_OF(i, Mark, list));
        free(a);
}

static const RequestWorkKind asking_kind = {asking_free};

NodeAsking *node_asking(const PendingRequest *t) {
        RequestWork *work = request_work(t, &asking_kind);

        return work ? CONTAINER_OF(work, NodeAsking, work) : NULL;
}

NodeAsking *node_asking_begin(PendingRequest *t) {
        NodeAsking *a = node_asking(t);

        if (a)
                return a;
        a = calloc(1, sizeof(*a));
        if (!a)
                return NULL;
        list_init(&a->calls);
        list_init(&a->marks);
        request_add_work(t, &asking_kind, &a->work);
        return a;
}

void node_calls_end(PendingRequest *t) {
        request_drop_work(t, &asking_kind);
}

void node_calls_cancel_some(Leader *l) {
        for (unsigned n = 0; n < l->limits.calls_cancelled && !list_is_empty(&l->calls_over); n++)
                cancel(l, CONTAINER_OF(l->calls_over.next, NodeCall, by_pending_request));
        if (!list_is_empty(&l->calls_over))
                leader_mark(l);
}

void node_calls_retire(Leader *l) {
        while (!list_is_empty(&l->calls_over))
                node_call_free(l, CONTAINER_OF(l->calls_over.next, NodeCall, by_pending_request));
}

int node_calls_respond(PendingRequest *t, Argosy__Response *r) {
        request_send(t, r);
        return 0;
}

static NodeCall *call_new(Leader *l, PendingRequest *t, const char *unit, Node *n, bool listens) {
        NodeAsking *a = node_asking_begin(t);
        NodeCall *c = a ? calloc(1, sizeof(*c)) : NULL;

        if (!c)
                return NULL;
        *c = (NodeCall){.id = ++l->last_call,
                        .pending = t,
                        .asking = a,
                        .node = n,
                        .unit = strdup(unit),
                        .listens = listens};
        if (!c->unit || map_add(&l->calls_by_id, &c->id, sizeof(c->id), c) < 0) {
                free(c->unit);
                free(c);
                return NULL;
        }
        list_append(&a->calls, &c->by_pending_request);
        list_append(&n->questions.calls, &c->by_node);
        a->n_calls++;
        n->questions.n_listeners += listens;
        return c;
}

static void send_call(Leader *l, const NodeCall *c, Argosy__ToHost__Call *call) {
        Argosy__ToHost m = TO_HOST_OF(CALL, call, call);

        call->id = c->id;
        call->node = c->node->number;
        leader_to_host(l, c->node->host, &m);
}

int node_call_begin(Leader *l, PendingRequest *t, const char *unit, Node *n, NodeCall **ret) {
        bool listens = !is_status(t) && !t->author->owner;
        NodeCall *c;

        *ret = NULL;
        node_calls_on_sessions_ended(l); // or this one would be taken for one of those
        if (listens && n->questions.n_listeners >= l->limits.node_listeners)
                return node_calls_respond(t, response_error(EBUSY,
                                                            "node %s is listened to by %d others already",
                                                            n->name, l->limits.node_listeners));
        c = call_new(l, t, unit, n, listens);
        if (!c)
                return -ENOMEM;
        c->unsent = true;
        *ret = c;
        return 0;
}

void node_call_send(Leader *l, NodeCall *c) {
        Argosy__ToHost__Call message = ARGOSY__TO_HOST__CALL__INIT;
        Argosy__Request request = *c->pending->request;
        const struct NodeQuestion *question = c->asking->question;
        RequestOfOne room;

        if (question->narrow)
                question->narrow(c->pending, c, &request, &room);
        message.request = &request;
        message.asker = author_key(c->pending->author);
        c->unsent = false;
        send_call(l, c, &message);
}

int node_calls_ask(Leader *l, PendingRequest *t, const char *unit, Node *n) {
        NodeCall *c;
        int r = node_call_begin(l, t, unit, n, &c);

        if (r >= 0 && c)
                node_call_send(l, c);
        return r;
}

// ------------------------------------------------------------------------------------------------ in turns

int node_calls_ask_hosts(Leader *l, PendingRequest *t, size_t *left,
                         int (*ask)(Leader *l, PendingRequest *t, Node *n)) {
        const Argosy__HostRecord *next;
        NodeAsking *a = node_asking(t);
        int r = 0;

        a->asks_hosts = true;
        while ((next = cluster_state_next_host(l->state, a->asked_host))) {
                const Host *h = host_find(l, next->host);

                if (*left == 0)
                        return NODE_CALLS_MORE;
                a->asked_host = next->host;
                (*left)--;
                if (h)
                        list_foreach (i, &h->nodes)
                                if (r >= 0)
                                        r = ask(l, t, CONTAINER_OF(i, Node, of_host));
                if (r < 0)
                        return r;
        }
        a->asks_hosts = false;
        a->asked_host = 0;
        return 0;
}

int node_calls_ask_some(Leader *l, PendingRequest *t) {
        size_t left = l->limits.status_share;
        int r = node_asking(t)->question->more(l, t, &left);

        if (r != NODE_CALLS_MORE)
                return r;
        request_join(t, PENDING_TURN, &l->asking);
        leader_mark(l);
        return 0;
}

// ------------------------------------------------------------------------------------------------ names

bool node_calls_knows_names(const Node *n) {
        return node_is_heard(n);
}

// A call to one node that has one answer. *ret: its number. NULL: out of memory.
static NodeCall *single_call(Leader *l, PendingRequest *t, Node *n, void *userdata, uint64_t *ret) {
        NodeCall *c;

        node_calls_on_sessions_ended(l); // as in node_call_begin()
        c = call_new(l, t, "", n, false);
        if (!c)
                return NULL;
        c->userdata = userdata;
        *ret = c->id;
        return c;
}

int node_calls_ask_names(Leader *l, PendingRequest *t, Node *n, const Argosy__ToHost__NameCheck *names,
                         NodeNamesAnswered *answered, void *userdata, uint64_t *ret) {
        Argosy__ToHost__Call message = ARGOSY__TO_HOST__CALL__INIT;
        NodeCall *c = single_call(l, t, n, userdata, ret);

        if (!c)
                return -ENOMEM;
        c->answered = answered;
        message.names = (Argosy__ToHost__NameCheck *) names;
        send_call(l, c, &message);
        return 0;
}

int node_calls_ask_image(Leader *l, PendingRequest *t, Node *n, const NodeImageQuestion *question,
                         NodeImageAnswered *answered, void *userdata, uint64_t *ret) {
        NodeCall *c = single_call(l, t, n, userdata, ret);

        if (!c)
                return -ENOMEM;
        c->image_answered = answered;
        Argosy__ToHost__Call message =
                MESSAGE_OF(to_host__call, .image = (char *) question->image, .pull = question->pull,
                           .registry_auth = question->registry_auth);
        send_call(l, c, &message);
        return 0;
}

int node_calls_ask_verify(Leader *l, PendingRequest *t, Node *n, const Argosy__Request__Verify *question,
                          NodeVerified *answered, void *userdata, uint64_t *ret) {
        Argosy__ToHost__Call message = ARGOSY__TO_HOST__CALL__INIT;
        NodeCall *c = single_call(l, t, n, userdata, ret);

        if (!c)
                return -ENOMEM;
        c->verified = answered;
        Argosy__Request request = REQUEST_OF(VERIFY, verify, (Argosy__Request__Verify *) question);
        message.request = &request;
        message.asker = author_key(t->author);
        send_call(l, c, &message);
        return 0;
}

static void answer_verify(Leader *l, NodeCall *c, const Argosy__Response *answer) {
        const NodeCall gone = *c;

        node_call_free(l, c);
        gone.verified(gone.pending, gone.node, answer, gone.id, gone.userdata);
}

static void answer_image(Leader *l, NodeCall *c, const Argosy__ToVoter__ImageAnswer *answer) {
        const NodeCall gone = *c;

        node_call_free(l, c);
        gone.image_answered(gone.pending, gone.node, answer, gone.id, gone.userdata);
}

static void answer_names(Leader *l, NodeCall *c, const Argosy__ToVoter__NameAnswer *answer) {
        const NodeCall gone = *c;

        node_call_free(l, c);
        gone.answered(gone.pending, gone.node, answer, gone.id, gone.userdata);
}

// ------------------------------------------------------------------------------------------------ top

bool node_calls_is_called(const PendingRequest *t, const Node *n) {
        list_foreach (i, &n->questions.calls)
                if (CONTAINER_OF(i, NodeCall, by_node)->pending == t)
                        return true;
        return false;
}

// Goes through all pending requests, which is little beside a Welcome.
static void watch_nodes_of(Leader *l, Host *h) {
        list_foreach (i, &l->pending_requests) {
                PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);

                if (t->request->what_case != ARGOSY__REQUEST__WHAT_TOP || *t->request->top->node ||
                    !t->request->top->interval_ms || !node_asking(t) || !node_asking(t)->n_calls)
                        continue;
                list_foreach (k, &h->nodes) {
                        Node *n = CONTAINER_OF(k, Node, of_host);

                        if (node_is_heard(n) && !node_calls_is_called(t, n))
                                // without memory it is missed, and nothing else
                                (void) node_calls_ask(l, t, "", n);
                }
        }
}

void node_calls_on_sessions_begun(Leader *l) {
        Host *h;

        while ((h = host_take_marked(l, HOST_SESSION_BEGUN)))
                watch_nodes_of(l, h);
}

// ------------------------------------------------------------------------------------------------ answers

static void send_taken(Leader *l, const NodeCall *c, uint64_t mark) {
        Argosy__ToHost__CallTaken taken = MESSAGE_OF(to_host__call_taken, .id = c->id, .mark = mark);
        Argosy__ToHost m = TO_HOST_OF(CALL_TAKEN, call_taken, &taken);

        leader_to_host(l, c->node->host, &m);
}

// The mark of a node's lines goes on as the pending request's next one.
void node_calls_pass_mark_on(PendingRequest *t, NodeCall *c, Argosy__Response__Journal *j) {
        NodeAsking *a = node_asking(t);
        uint64_t theirs = j->mark;
        Mark *m;

        j->mark = 0;
        if (!theirs || !a->window || c->n_marks >= CALL_MARKS_MAX)
                return;
        m = malloc(sizeof(*m));
        if (!m) {
                send_taken(t->leader, c, theirs); // no later mark will do it
                return;
        }
        *m = (Mark){.call = c->id, .theirs = theirs, .ours = ++a->last_mark};
        list_append(&a->marks, &m->list);
        c->n_marks++;
        j->mark = m->ours;
}

void node_calls_on_taken(Leader *l, PendingRequest *t, uint64_t mark) {
        NodeAsking *a = node_asking(t);

        if (!a)
                return;
        list_foreach_safe (i, &a->marks) {
                Mark *m = CONTAINER_OF(i, Mark, list);
                NodeCall *c = map_find(&l->calls_by_id, &m->call, sizeof(m->call));

                if (m->ours > mark)
                        return;
                if (c) {
                        c->n_marks--;
                        send_taken(l, c, m->theirs);
                }
                mark_free(m);
        }
}

bool node_calls_has_more(const PendingRequest *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_STATUS &&
               node_asking(t)->n_asked < t->request->status->n_names;
}

void node_calls_end_without_calls(PendingRequest *t) {
        const NodeAsking *a = node_asking(t);

        if (!a || (!a->n_calls && !a->asks_hosts && !node_calls_has_more(t)))
                request_end(t);
}

// Since the question was taken on, its unit may have come to another role.
static bool is_not_for_him(const Leader *l, const NodeCall *c, char why[AUTHORIZATION_WHY_SIZE]) {
        return *c->unit && authorization_refuses_view(l, c->pending->author, c->unit, why);
}

void node_calls_on_reply(Leader *l, Host *h, const Argosy__ToVoter__CallReply *reply) {
        char why[AUTHORIZATION_WHY_SIZE];
        Argosy__Response *r;
        PendingRequest *t;
        NodeCall *c;

        node_calls_on_sessions_ended(l); // nothing of the next session answers a call of the one before
        c = map_find(&l->calls_by_id, &reply->id, sizeof(reply->id));
        if (!c || c->node->host != h || !c->pending)
                return;
        if (c->answered) {
                answer_names(l, c, reply->names);
                return;
        }
        if (c->image_answered) {
                answer_image(l, c, reply->image);
                return;
        }
        if (!reply->response)
                return;
        if (c->verified) {
                answer_verify(l, c, reply->response);
                return;
        }
        t = c->pending;
        if (is_not_for_him(l, c, why)) {
                request_fail(t, response_error(EACCES, "%s", why));
                return;
        }
        r = message_copy(reply->response);
        if (r && c->asking->question->complete)
                c->asking->question->complete(l, r, c);
        if (r)
                authorization_filter(l, t->author, r);
        if (reply->response->final)
                node_call_free(l, c);
        request_send(t, r);
        node_calls_end_without_calls(t);
}

// The node cannot answer any more.
void node_calls_on_node_lost(Leader *l, Node *n) {
        ListNode lost = LIST_INIT(lost); // the callback for one may ask again

        list_splice(&lost, &n->questions.calls);
        while (!list_is_empty(&lost)) {
                NodeCall *c = CONTAINER_OF(lost.next, NodeCall, by_node);
                PendingRequest *t = c->pending;
                Argosy__Response *r;

                if (!t) {
                        node_call_free(l, c);
                        continue;
                }
                if (c->answered) {
                        answer_names(l, c, NULL);
                        continue;
                }
                if (c->image_answered) {
                        answer_image(l, c, NULL);
                        continue;
                }
                if (c->verified) {
                        answer_verify(l, c, NULL);
                        continue;
                }
                r = c->asking->question->lost(l, c);
                node_call_free(l, c);
                request_send(t, r);
                node_calls_end_without_calls(t);
        }
}

void node_calls_on_sessions_ended(Leader *l) {
        Host *h;

        while ((h = host_take_marked(l, HOST_SESSION_ENDED)))
                list_foreach (i, &h->nodes)
                        node_calls_on_node_lost(l, CONTAINER_OF(i, Node, of_host));
}
