// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tickets of requests: made when one arrives, ended by its final response, or when its client is gone
// and it is not meant for the log. Responses wait in an outbox until the end of the turn: their receiver may
// cancel tickets at once, also others, and at that time no walk over tickets is under way. Each response is
// taken out once, so the outbox costs what is sent, however many tickets there are.
#include "tickets.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "job-end.h"
#include "job-words.h"
#include "message.h"
#include "response.h"
#include "turn.h"

typedef struct TicketResponse {
        ListNode list; // in Ticket.responses
        Argosy__Response *response;
} TicketResponse;

Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        return ticket_take(l, message_copy(request), respond, userdata);
}

// The request is the caller's if there is no ticket.
static Ticket *make(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Ticket *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->request = request;
        t->leader = l;
        t->id = ++l->last_ticket;
        t->asked_us = leader_now(l);
        t->respond = respond;
        t->userdata = userdata;
        list_init(&t->queue);
        list_init(&t->responses);
        t->reported = TICKET_REPORTED_NOTHING;
        if (map_add(&l->tickets_by_id, &t->id, sizeof(t->id), t) < 0) {
                free(t);
                return NULL;
        }
        list_append(&l->tickets, &t->all);
        l->n_tickets++;
        return t;
}

Ticket *ticket_take(Leader *l, Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Ticket *t = request ? make(l, request, respond, userdata) : NULL;

        if (!t)
                message_free(request);
        return t;
}

Ticket *ticket_borrow(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Ticket *t = make(l, (Argosy__Request *) request, respond, userdata);

        if (t)
                t->lent = true;
        return t;
}

static Argosy__Response *take_response(Ticket *t) {
        TicketResponse *s = CONTAINER_OF(t->responses.next, TicketResponse, list);
        Argosy__Response *response = s->response;

        list_unlink(&s->list);
        free(s);
        return response;
}

static void drop_responses(Ticket *t) {
        while (!list_is_empty(&t->responses))
                message_free(take_response(t));
}

static void leave_turn(Ticket *t) {
        if (t->orphaned)
                author_turn_orphan_over(t->turn);
        t->orphaned = false;
        if (t->begun)
                author_turn_begun_over(t->turn, t->begun);
        t->begun = AUTHOR_HAS_NOT_BEGUN;
        author_turn_leave(TAKE_PTR(t->turn));
}

// It is in no list of those who work on it any more.
static void let_go(Ticket *t) {
        list_unlink(&t->queue);
        leave_turn(t);
        if (t->leader->dry_run == t)
                t->leader->dry_run = NULL;
        for (unsigned i = 0; i < TICKET_LISTS; i++)
                list_unlink(&t->in[i]);
        while (t->works) {
                TicketWork *w = t->works;

                t->works = w->next;
                w->kind->free(t, w);
        }
}

void ticket_free(Ticket *t) {
        Leader *l = t->leader;

        map_take(&l->tickets_by_id, &t->id, sizeof(t->id));
        list_unlink(&t->all);
        list_unlink(&t->outbox);
        l->n_tickets--;
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

void ticket_add_work(Ticket *t, const TicketWorkKind *kind, TicketWork *w) {
        w->kind = kind;
        w->next = t->works;
        t->works = w;
}

TicketWork *ticket_work(const Ticket *t, const TicketWorkKind *kind) {
        for (TicketWork *w = t->works; w; w = w->next)
                if (w->kind == kind)
                        return w;
        return NULL;
}

TicketWork *ticket_take_work(Ticket *t, const TicketWorkKind *kind) {
        for (TicketWork **at = &t->works; *at; at = &(*at)->next) {
                TicketWork *w = *at;

                if (w->kind != kind)
                        continue;
                *at = w->next;
                return w;
        }
        return NULL;
}

void ticket_drop_work(Ticket *t, const TicketWorkKind *kind) {
        TicketWork *w = ticket_take_work(t, kind);

        if (w)
                kind->free(t, w);
}

void ticket_is_under_way(Ticket *t) {
        t->under_way = true;
}

bool ticket_report(Ticket *t, uint64_t figure) {
        bool is_news = t->reported != figure;

        t->reported = figure;
        return is_news;
}

// ------------------------------------------------------------------------------------------------ queues

bool ticket_taker_is_full(const Ticket *t) {
        const Leader *l = t->leader;
        uint32_t host = t->author->host;

        return host != l->config.self && l->ops.host_is_full(host, l->userdata);
}

static AuthorBegun begins_as(const Ticket *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_JOB_CANCEL ? AUTHOR_CALLS_OFF : AUTHOR_CHANGES;
}

bool ticket_may_begin(const Ticket *t) {
        return t->begun || author_turn_may_begin(t->turn, begins_as(t));
}

void ticket_begins(Ticket *t) {
        if (t->begun)
                return;
        t->begun = begins_as(t);
        author_turn_begins(t->turn, t->begun);
}

int ticket_wait(Ticket *t, AuthorTurns *turns) {
        if (!t->turn)
                t->turn = author_turns_enter(turns, t->author);
        if (!t->turn)
                return -ENOMEM;
        author_turn_wait(t->turn, &t->queue);
        leader_mark(t->leader);
        return 0;
}

void ticket_leave_queue(Ticket *t) {
        list_unlink(&t->queue);
}

void ticket_wait_again(Ticket *t, bool first) {
        list_unlink(&t->queue);
        if (first)
                author_turn_wait_first(t->turn, &t->queue);
        else
                author_turn_wait(t->turn, &t->queue);
}

void ticket_wait_in(Ticket *t, ListNode *list) {
        list_unlink(&t->queue);
        list_append(list, &t->queue);
}

void ticket_join(Ticket *t, TicketList which, ListNode *list) {
        list_append(list, &t->in[which]);
}

void ticket_leave(Ticket *t, TicketList which) {
        list_unlink(&t->in[which]);
}

Ticket *ticket_in(const ListNode *member, TicketList which) {
        return CONTAINER_OF(member - which, Ticket, in);
}

// ------------------------------------------------------------------------------------------------ the log

void ticket_set_job(Ticket *t, uint64_t job) {
        t->job = job;
}

void ticket_calls_off(Ticket *t, const uint64_t *jobs, size_t n) {
        t->cancels = jobs;
        t->n_cancels = n;
}

int ticket_prepare(Ticket *t, Argosy__Response *response) {
        message_free(t->response);
        t->response = response;
        return response ? PLAN_IN_BATCH : -ENOMEM;
}

Argosy__Response *ticket_take_prepared(Ticket *t) {
        return TAKE_PTR(t->response);
}

void ticket_when_committed(Ticket *t, TicketCommitted committed, bool again) {
        t->committed = committed;
        t->again = again;
}

// A step on the way to what was asked for, of which nothing is to be said, leaves it as it is.
void ticket_on_committed(Ticket *t) {
        TicketCommitted committed = t->committed;

        t->made |= !t->again || committed;
        ticket_when_committed(t, NULL, false);
        if (committed)
                committed(t->leader, t);
}

void ticket_is_repeated(Ticket *t) {
        t->made = true;
}

void ticket_stop_answering(Ticket *t) {
        t->respond = NULL;
}

// ----------------------------------------------------------------------------------------------- the outbox

static void into_outbox(Ticket *t) {
        if (!list_is_linked(&t->outbox))
                list_append(&t->leader->outbox, &t->outbox);
        leader_mark(t->leader);
}

void ticket_send(Ticket *t, Argosy__Response *response) {
        TicketResponse *s = response && !t->ended ? malloc(sizeof(*s)) : NULL;

        if (s) {
                *s = (TicketResponse){.response = response};
                list_append(&t->responses, &s->list);
        } else {
                message_free(response);
                if (!t->ended)
                        drop_responses(t); // an end without a word says that memory was short
                t->ended = true;
        }
        into_outbox(t);
}

void ticket_end(Ticket *t) {
        t->ended = true;
        let_go(t);
        into_outbox(t);
}

int ticket_settle(Ticket *t, Argosy__Response *response) {
        if (t->response != response)
                message_free(t->response);
        t->response = NULL;
        ticket_send(t, response);
        ticket_end(t);
        return PLAN_SETTLED;
}

int ticket_refuse(Ticket *t, int status, const char *format, ...) {
        Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        va_list ap;

        if (response) {
                response->status = status;
                va_start(ap, format);
                (void) field_vprintf(&response->message, format,
                                     ap); // without the words the number still tells
                va_end(ap);
        }
        return ticket_settle(t, response);
}

void ticket_fail(Ticket *t, Argosy__Response *response) {
        drop_responses(t);
        t->ended = false;
        ticket_settle(t, response);
}

// NULL stands for out of memory. The ticket may be gone afterwards.
void ticket_send_now(Ticket *t, Argosy__Response *response, bool final) {
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
                ticket_free(t);
        if (respond) // may cancel what is still open: the ticket is not looked at any more
                respond(out, userdata);
        message_free(response);
}

void tickets_flush(Leader *l) {
        while (!list_is_empty(&l->outbox)) {
                Ticket *t = CONTAINER_OF(l->outbox.next, Ticket, outbox);
                Argosy__Response *response = list_is_empty(&t->responses) ? NULL : take_response(t);
                bool last = list_is_empty(&t->responses);

                if (last)
                        list_unlink(&t->outbox);
                ticket_send_now(t, response, last && t->ended);
        }
}

bool ticket_has_open_job(const Ticket *t) {
        const ClusterState *state = t->leader->state;
        const ProtobufCBinaryData *id = job_request_id(t->request);
        Argosy__JobState now = cluster_state_job_state(state, t->job);
        RequestKey key;

        if (t->job == 0 || now == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return false;
        if (!id)
                return now == ARGOSY__JOB_STATE__JOB_RUNNING &&
                       job_end_at_once(t->request) == ARGOSY__JOB_STATE__JOB_DONE;
        return cluster_state_find_key(state, id->data, &key) && key.more;
}

bool ticket_was_carried_out(const Ticket *t) {
        const ProtobufCBinaryData *id = job_request_id(t->request);
        RequestKey key;

        return t->job > 0 && id && cluster_state_find_key(t->leader->state, id->data, &key) && !key.more;
}
