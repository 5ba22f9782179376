// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests as they come: what can be said at once is said, what nobody may ask or the leader has no room for
// is refused, and all else becomes a pending request. What becomes of that stands in decide-requests.c, or
// where its kind is begun (handlers.c).
//
// Without memory nothing was taken on.
#include <errno.h>

#include "access-tokens.h"
#include "author-questions.h"
#include "author.h"
#include "authorization.h"
#include "error-response.h"
#include "handlers.h"
#include "message.h"
#include "node-calls.h"
#include "request-kind.h"
#include "response.h"
#include "pending-requests.h"

static bool asks_nodes(const Argosy__Request *request) {
        return request_kind(request->what_case)->by == REQUEST_BY_NODES;
}

// NULL if the request may be taken on. Whatever users wait for, root can stop what runs.
static Argosy__Response *refuse(const Leader *l, const Handler *h, const Argosy__Author *author,
                                const Argosy__Request *request) {
        if (!h)
                return response_error(EOPNOTSUPP, "the leader does not know this request");
        if (l->n_pending_requests >=
            (author->owner ? l->limits.pending_requests : l->limits.pending_requests_others))
                return response_error(EBUSY, "the leader has %zu requests under way already",
                                      (size_t) l->n_pending_requests);
        if (!author->owner && asks_nodes(request) &&
            author_questions_open(l, author) >= l->limits.node_questions)
                return response_error(EBUSY, "nodes are asked %u things by this user already",
                                      l->limits.node_questions);
        return h->refuse ? h->refuse(request) : NULL;
}

static bool change_is_preview(const Argosy__Request *request) {
        return request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && request->change->preview;
}

// Or it is only asked.
static bool is_for_the_log(const Argosy__Request *request) {
        const Handler *h = handler_find(request->what_case);

        return (h->decide || h->plan) && !change_is_preview(request);
}

static int request_start(Leader *l, PendingRequest *t, const Handler *h) {
        if (h->begin)
                return h->begin(l, t);
        if (h->is_long) // or it would be answered
                return h->begin_long(l, t);
        return request_wait(t, change_is_preview(t->request) ? &l->previews : &l->queue);
}

static void respond_and_free(Argosy__Response *response, const Argosy__Request *request,
                             LeaderRespond respond, void *userdata) {
        if (!response)
                return;
        response->id = request->id;
        response->final = true;
        respond(response, userdata);
        message_free(response);
}

// Whether the author may not ask this; a request that is not valid for anybody is refused as that.
static bool is_forbidden(Leader *l, const Handler *h, const Argosy__Author *author,
                         const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        char why[AUTHORIZATION_WHY_SIZE];
        Argosy__Response response;

        if (!h || !authorization_refuses(l, author, request, why))
                return false;
        response = error_response(authorization_error(l, author), why);
        response.id = request->id;
        respond(&response, userdata);
        return true;
}

// True: it was, with an answer or a refusal.
static bool is_answered_at_once(Leader *l, const Handler *h, const Argosy__Author *author,
                                const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Argosy__Response *refusal;

        if (is_forbidden(l, h, author, request, respond, userdata) ||
            handler_answer(l, h, author, request, respond, userdata))
                return true;
        refusal = refuse(l, h, author, request);
        if (!refusal)
                return false;
        respond_and_free(refusal, request, respond, userdata);
        return true;
}

// `t` NULL: out of memory.
static int request_admit(Leader *l, PendingRequest *t, const Handler *h, const Argosy__Author *author,
                         uint64_t *ret_cancel) {
        int r;

        if (!t)
                return -ENOMEM;
        t->author = message_copy(author);
        if (!t->author) {
                request_free(t);
                return -ENOMEM;
        }
        if (change_is_preview(t->request)) // else when it is decided: it is known by all that it came with
                authorization_drop_files(l, t);
        *ret_cancel = t->id;
        r = request_start(l, t, h);
        if (r < 0) {
                request_free(t);
                *ret_cancel = 0;
        }
        return r;
}

typedef enum RequestIs { REQUEST_COPIED, REQUEST_TAKEN, REQUEST_LENT } RequestIs;

static PendingRequest *request_of(Leader *l, const Argosy__Request *request, RequestIs is,
                                  LeaderRespond respond, void *userdata) {
        switch (is) {
        case REQUEST_TAKEN:
                return request_take(l, message_take((Argosy__Request *) request), respond, userdata);
        case REQUEST_LENT:
                return request_borrow(l, request, respond, userdata);
        default:
                return request_new(l, request, respond, userdata);
        }
}

// Only a request that becomes a pending request is copied, or taken.
static int on_request(Leader *l, const Argosy__Author *author, const Argosy__Request *request, RequestIs is,
                      LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        const Handler *h = handler_find(request->what_case);
        Argosy__Author own = author_of_host(l->config.self);
        Asker asker;

        *ret_cancel = 0;
        author = access_tokens_asker(l, author ?: &own, &asker);
        if (!l->leading)
                return -EAGAIN;
        if (is_answered_at_once(l, h, author, request, respond, userdata))
                return 0;
        return request_admit(l, request_of(l, request, is, respond, userdata), h, author, ret_cancel);
}

int leader_request(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                   LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        return on_request(l, author, request, REQUEST_COPIED, respond, userdata, ret_cancel);
}

int leader_request_take(Leader *l, const Argosy__Author *author, Argosy__Request *request,
                        LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        return on_request(l, author, request, REQUEST_TAKEN, respond, userdata, ret_cancel);
}

int leader_request_lent(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                        LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        return on_request(l, author, request, REQUEST_LENT, respond, userdata, ret_cancel);
}

void leader_answer_stale(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                         LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        const Handler *h = handler_find(request->what_case);
        Argosy__Author own = author_of_host(l->config.self);
        Argosy__Response *refusal;
        Asker asker;

        *ret_cancel = 0;
        author = access_tokens_asker(l, author ?: &own, &asker);
        if (is_forbidden(l, h, author, request, respond, userdata) ||
            handler_answer(l, h, author, request, respond, userdata))
                return;
        if (h && h->is_long)
                refusal = refuse(l, h, author, request);
        else
                refusal = response_error(
                        EAGAIN, "there is no leader: only the local host and what was last known can be "
                                "asked");
        if (refusal)
                respond_and_free(refusal, request, respond, userdata);
        else if (request_admit(l, request_new(l, request, respond, userdata), h, author, ret_cancel) < 0)
                respond_and_free(response_error(ENOMEM, "this host is out of memory"), request, respond,
                                 userdata);
}

static bool has_begun(const PendingRequest *t) {
        return t->job > 0 || t->job_flying > 0 || t->n_kept > 0 || t->under_way;
}

// What is meant for the log goes on, only nobody hears of it: a client that is gone has not changed its
// mind. But users leave only so much behind that nothing has come of.
static bool goes_on_alone(PendingRequest *t) {
        if (!list_is_linked(&t->queue) || t->lent || !is_for_the_log(t->request))
                return false;
        if (t->author->owner || t->orphaned || has_begun(t))
                return true;
        t->orphaned = author_turn_orphan(t->turn);
        return t->orphaned;
}

void leader_cancel(Leader *l, uint64_t cancel) {
        PendingRequest *t = map_find(&l->pending_requests_by_id, &cancel, sizeof(cancel));

        if (!t)
                return;
        if (goes_on_alone(t))
                request_stop_answering(t);
        else
                request_free(t);
}

void leader_taken(Leader *l, uint64_t cancel, uint64_t mark) {
        PendingRequest *t = map_find(&l->pending_requests_by_id, &cancel, sizeof(cancel));

        if (t)
                node_calls_on_taken(l, t, mark);
}
