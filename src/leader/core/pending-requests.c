// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pending requests of requests: made when one arrives, ended by its final response, or when its client
// is gone and it is not meant for the log. Responses wait in an outbox until the end of the turn: their
// receiver may cancel pending requests at once, also others, and at that time no walk over pending requests
// is under way. Each response is taken out once, so the outbox costs what is sent, however many pending
// requests there are.
#include "pending-requests.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "message.h"
#include "oom.h"
#include "request-kind.h"
#include "response.h"
#include "turn.h"

typedef struct RequestResponse {
        ListNode list; // in PendingRequest.responses
        Argosy__Response *response;
} RequestResponse;

PendingRequest *request_new(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                            void *userdata) {
        return request_take(l, message_copy(request), respond, userdata);
}

// ---- those of one id

static int join_same(Leader *l, PendingRequest *t) {
        const ProtobufCBinaryData *id = request_job_id(t->request);
        PendingRequest *other = id ? map_find(&l->pending_requests_by_key, id->data, id->len) : NULL;

        list_init(&t->same);
        if (other)
                list_append(&other->same, &t->same);
        else if (id)
                return map_add(&l->pending_requests_by_key, id->data, id->len, t);
        return 0;
}

static void leave_same(Leader *l, PendingRequest *t) {
        const ProtobufCBinaryData *id = request_job_id(t->request);
        PendingRequest *other =
                list_is_linked(&t->same) ? CONTAINER_OF(t->same.next, PendingRequest, same) : NULL;

        list_unlink(&t->same);
        if (!id || map_find(&l->pending_requests_by_key, id->data, id->len) != t)
                return;
        map_take(&l->pending_requests_by_key, id->data, id->len);
        if (other) {
                id = request_job_id(other->request);
                (void) oom_check(map_add(&l->pending_requests_by_key, id->data, id->len, other));
        }
}

// ---- one of them

// The request is the caller's if there is no pending request.
static PendingRequest *make(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata) {
        PendingRequest *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->request = request;
        t->leader = l;
        t->id = ++l->last_pending_request;
        t->asked_us = leader_now(l);
        t->respond = respond;
        t->userdata = userdata;
        list_init(&t->queue);
        list_init(&t->responses);
        t->reported = REQUEST_REPORTED_NOTHING;
        if (map_add(&l->pending_requests_by_id, &t->id, sizeof(t->id), t) < 0 || join_same(l, t) < 0) {
                map_take(&l->pending_requests_by_id, &t->id, sizeof(t->id));
                free(t);
                return NULL;
        }
        list_append(&l->pending_requests, &t->all);
        l->n_pending_requests++;
        return t;
}

PendingRequest *request_take(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata) {
        PendingRequest *t = request ? make(l, request, respond, userdata) : NULL;

        if (!t)
                message_free(request);
        return t;
}

PendingRequest *request_borrow(Leader *l, const Argosy__Request *request, LeaderRespond respond,
                               void *userdata) {
        PendingRequest *t = make(l, (Argosy__Request *) request, respond, userdata);

        if (t)
                t->lent = true;
        return t;
}

static Argosy__Response *take_response(PendingRequest *t) {
        RequestResponse *s = CONTAINER_OF(t->responses.next, RequestResponse, list);
        Argosy__Response *response = s->response;

        list_unlink(&s->list);
        free(s);
        return response;
}

static void drop_responses(PendingRequest *t) {
        while (!list_is_empty(&t->responses))
                message_free(take_response(t));
}

static void leave_turn(PendingRequest *t) {
        if (t->orphaned)
                author_turn_orphan_over(t->turn);
        t->orphaned = false;
        if (t->begun)
                author_turn_begun_over(t->turn, t->begun);
        t->begun = AUTHOR_HAS_NOT_BEGUN;
        author_turn_leave(TAKE_PTR(t->turn));
}

// It is in no list of those who work on it any more.
static void let_go(PendingRequest *t) {
        list_unlink(&t->queue);
        leave_turn(t);
        if (t->leader->preview == t)
                t->leader->preview = NULL;
        for (unsigned i = 0; i < PENDING_LISTS; i++)
                list_unlink(&t->in[i]);
        while (t->works) {
                RequestWork *w = t->works;

                t->works = w->next;
                w->kind->free(t, w);
        }
}

void request_free(PendingRequest *t) {
        Leader *l = t->leader;

        map_take(&l->pending_requests_by_id, &t->id, sizeof(t->id));
        leave_same(l, t);
        list_unlink(&t->all);
        list_unlink(&t->outbox);
        l->n_pending_requests--;
        let_go(t);
        drop_responses(t);
        if (!t->lent)
                message_retire(l->config.loop, t->request);
        message_free(t->author);
        free(t->rolls);
        message_free(t->response);
        free(t);
}

// ------------------------------------------------------------------------------------------- work of others

void request_add_work(PendingRequest *t, const RequestWorkKind *kind, RequestWork *w) {
        w->kind = kind;
        w->next = t->works;
        t->works = w;
}

RequestWork *request_take_work(PendingRequest *t, const RequestWorkKind *kind) {
        for (RequestWork **at = &t->works; *at; at = &(*at)->next) {
                RequestWork *w = *at;

                if (w->kind != kind)
                        continue;
                *at = w->next;
                return w;
        }
        return NULL;
}

void request_drop_work(PendingRequest *t, const RequestWorkKind *kind) {
        RequestWork *w = request_take_work(t, kind);

        if (w)
                kind->free(t, w);
}

void request_is_under_way(PendingRequest *t) {
        t->under_way = true;
}

bool request_report(PendingRequest *t, uint64_t figure) {
        bool is_news = t->reported != figure;

        t->reported = figure;
        return is_news;
}

// ------------------------------------------------------------------------------------------------ queues

bool request_taker_is_full(const PendingRequest *t) {
        const Leader *l = t->leader;
        uint32_t host = t->author->host;

        return host != l->config.self && l->ops.host_is_full(host, l->userdata);
}

static AuthorBegun begins_as(const PendingRequest *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_JOB_CANCEL ? AUTHOR_CALLS_OFF : AUTHOR_CHANGES;
}

bool request_may_begin(const PendingRequest *t) {
        return t->begun || author_turn_may_begin(t->turn, begins_as(t));
}

void request_begins(PendingRequest *t) {
        if (t->begun)
                return;
        t->begun = begins_as(t);
        author_turn_begins(t->turn, t->begun);
}

int request_wait(PendingRequest *t, AuthorTurns *turns) {
        if (!t->turn)
                t->turn = author_turns_enter(turns, t->author);
        if (!t->turn)
                return -ENOMEM;
        author_turn_wait(t->turn, &t->queue);
        leader_mark(t->leader);
        return 0;
}

void request_leave_queue(PendingRequest *t) {
        list_unlink(&t->queue);
}

void request_wait_again(PendingRequest *t, bool first) {
        list_unlink(&t->queue);
        if (first)
                author_turn_wait_first(t->turn, &t->queue);
        else
                author_turn_wait(t->turn, &t->queue);
}

void request_wait_in(PendingRequest *t, ListNode *list) {
        list_unlink(&t->queue);
        list_append(list, &t->queue);
}

void request_join(PendingRequest *t, RequestList which, ListNode *list) {
        list_append(list, &t->in[which]);
}

void request_leave(PendingRequest *t, RequestList which) {
        list_unlink(&t->in[which]);
}

PendingRequest *request_in(const ListNode *member, RequestList which) {
        return CONTAINER_OF(member - which, PendingRequest, in);
}

// ------------------------------------------------------------------------------------------------ the log

void request_set_job(PendingRequest *t, uint64_t job) {
        t->job = job;
}

void request_calls_off(PendingRequest *t, const uint64_t *jobs, size_t n) {
        t->cancels = jobs;
        t->n_cancels = n;
}

int request_prepare(PendingRequest *t, Argosy__Response *response) {
        message_free(t->response);
        t->response = response;
        return response ? PLAN_IN_BATCH : -ENOMEM;
}

Argosy__Response *request_take_prepared(PendingRequest *t) {
        return TAKE_PTR(t->response);
}

void request_when_committed(PendingRequest *t, RequestCommitted committed, bool again) {
        t->committed = committed;
        t->again = again;
}

// A step on the way to what was asked for, of which nothing is to be said, leaves it as it is.
void request_on_committed(PendingRequest *t) {
        RequestCommitted committed = t->committed;

        t->made |= !t->again || committed;
        request_when_committed(t, NULL, false);
        if (committed)
                committed(t->leader, t);
}

void request_is_repeated(PendingRequest *t) {
        t->made = true;
}

void request_stop_answering(PendingRequest *t) {
        t->respond = NULL;
}

// ----------------------------------------------------------------------------------------------- the outbox

static void into_outbox(PendingRequest *t) {
        if (!list_is_linked(&t->outbox))
                list_append(&t->leader->outbox, &t->outbox);
        leader_mark(t->leader);
}

void request_send(PendingRequest *t, Argosy__Response *response) {
        RequestResponse *s = response && !t->ended ? malloc(sizeof(*s)) : NULL;

        if (s) {
                *s = (RequestResponse){.response = response};
                list_append(&t->responses, &s->list);
        } else {
                message_free(response);
                if (!t->ended)
                        drop_responses(t); // an end without a word says that memory was short
                t->ended = true;
        }
        into_outbox(t);
}

void request_end(PendingRequest *t) {
        t->ended = true;
        let_go(t);
        into_outbox(t);
}

int request_settle(PendingRequest *t, Argosy__Response *response) {
        if (t->response != response)
                message_free(t->response);
        t->response = NULL;
        request_send(t, response);
        request_end(t);
        return PLAN_SETTLED;
}

int request_refuse(PendingRequest *t, int status, const char *format, ...) {
        Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        va_list ap;

        if (response) {
                response->status = status;
                va_start(ap, format);
                (void) field_vprintf(&response->message, format,
                                     ap); // without the words the number still tells
                va_end(ap);
        }
        return request_settle(t, response);
}

const Argosy__Response *request_refusal(const PendingRequest *t) {
        const Argosy__Response *last =
                t->ended && !list_is_empty(&t->responses)
                        ? CONTAINER_OF(t->responses.prev, RequestResponse, list)->response
                        : NULL;

        return last && last->status != 0 ? last : NULL;
}

void request_fail(PendingRequest *t, Argosy__Response *response) {
        drop_responses(t);
        t->ended = false;
        request_settle(t, response);
}

// NULL stands for out of memory. The pending request may be gone afterwards.
void request_send_now(PendingRequest *t, Argosy__Response *response, bool final) {
        Argosy__Response none = ARGOSY__RESPONSE__INIT, *out;
        LeaderRespond respond = t->respond;
        void *userdata = t->userdata;

        if (response && response_fit(response, ANSWER_BYTES_MAX) < 0) {
                out = response_too_long(argosy__response__get_packed_size(response), t->made);
                message_free(response);
                response = out;
                final = true;
        }
        out = response;
        if (!out) {
                none.status = ENOMEM;
                none.message = "the leader is out of memory";
                final = true;
                out = &none;
        }
        if (out != &none && t->leader->on_answer)
                t->leader->on_answer(t, out);
        out->id = t->request->id;
        out->job = t->job;
        out->final = final;
        if (final)
                request_free(t);
        if (respond) // may cancel what is still open: the pending request is not looked at any more
                respond(out, userdata);
        message_free(response);
}

void responses_flush(Leader *l) {
        while (!list_is_empty(&l->outbox)) {
                PendingRequest *t = CONTAINER_OF(l->outbox.next, PendingRequest, outbox);
                Argosy__Response *response = list_is_empty(&t->responses) ? NULL : take_response(t);
                bool last = list_is_empty(&t->responses);

                if (last)
                        list_unlink(&t->outbox);
                request_send_now(t, response, last && t->ended);
        }
}

bool request_has_open_job(const PendingRequest *t) {
        const ClusterState *state = t->leader->state;
        const ProtobufCBinaryData *id = request_job_id(t->request);
        Argosy__JobState now = cluster_state_job_state(state, t->job);
        RequestKey key;

        if (t->job == 0 || now == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return false;
        if (!id)
                return now == ARGOSY__JOB_STATE__JOB_RUNNING && !request_job_runs(t->request);
        return cluster_state_find_key(state, id->data, &key) && key.more;
}

bool request_was_carried_out(const PendingRequest *t) {
        const ProtobufCBinaryData *id = t->job > 0 ? request_job_id(t->request) : NULL;
        RequestKey key;

        return id && cluster_state_find_key(t->leader->state, id->data, &key) && !key.more;
}
