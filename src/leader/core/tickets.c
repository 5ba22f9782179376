// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tickets of requests: made when one arrives, ended by its final response, or when its client is gone and it is not
// meant for the log. Whoever is answered may cancel others at once, so answers that are found while walking over tickets
// are settled, and go out at the end of the turn.
#include "tickets.h"

#include <errno.h>
#include <stdlib.h>

#include "message.h"
#include "response.h"
#include "turn.h"

Ticket *ticket_new(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata) {
        Ticket *t = calloc(1, sizeof(*t));

        if (t)
                t->request = message_copy(request);
        if (!t || !t->request) {
                free(t);
                return NULL;
        }
        t->leader = l;
        t->id = ++l->last_ticket;
        t->asked_us = leader_now(l);
        t->respond = respond;
        t->userdata = userdata;
        list_init(&t->queue);
        list_init(&t->calls);
        list_init(&t->sayings);
        list_init(&t->marks);
        if (map_add(&l->tickets_by_id, &t->id, sizeof(t->id), t) < 0) {
                message_free(t->request);
                free(t);
                return NULL;
        }
        list_append(&l->tickets, &t->all);
        l->n_tickets++;
        return t;
}

void ticket_free(Ticket *t) {
        Leader *l = t->leader;

        map_take(&l->tickets_by_id, &t->id, sizeof(t->id));
        list_unlink(&t->all);
        list_unlink(&t->queue);
        list_unlink(&t->drain);
        list_unlink(&t->rollout);
        list_unlink(&t->rebalance);
        l->n_tickets--;
        l->on_ticket_freed(t);
        message_free(t->request);
        message_free(t->response);
        buf_done(&t->cert);
        free(t);
}

void ticket_respond(Ticket *t, Argosy__Response *response) {
        Argosy__Response none = ARGOSY__RESPONSE__INIT;
        LeaderRespond respond = t->respond;
        void *userdata = t->userdata;
        Argosy__Response *out;

        if (response && response_fit(response, ANSWER_BYTES_MAX) < 0) {
                out = response_too_long(argosy__response__get_packed_size(response), t->made);
                message_free(response);
                response = out;
        }
        out = response;
        if (!out) {
                none.status = ENOMEM;
                none.message = "the leader is out of memory";
                none.final = true;
                out = &none;
        }
        out->id = t->request->id;
        if (out->final)
                ticket_free(t);
        if (respond) // may cancel what is still open: the ticket is not looked at any more
                respond(out, userdata);
        message_free(response);
}

void ticket_finish(Ticket *t, Argosy__Response *response) {
        if (response)
                response->final = true;
        ticket_respond(t, response);
}

void ticket_settle(Ticket *t, Argosy__Response *response) {
        if (t->response != response)
                message_free(t->response);
        t->response = response;
        list_unlink(&t->queue);
        list_append(&t->leader->settled, &t->queue);
        leader_mark(t->leader);
}

void tickets_flush(Leader *l) {
        while (!list_is_empty(&l->settled)) {
                Ticket *t = CONTAINER_OF(l->settled.next, Ticket, queue);

                ticket_finish(t, TAKE_PTR(t->response));
        }
}
