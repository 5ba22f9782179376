// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers of which a part stands behind the rows, or that come piece by piece from several who do not know
// of each other, and of which one may fail where the others do not:
//
//      /v1/units/NAME        what nodes say of it; and why the unit is as it is, on each node
//      /v1/unit-files/NAME   what is wanted of it; and its file
//      /v1/usage             what units use, a node at a time; and who could not be read
//      /v1/verify            what systemd says of files, a node at a time; and who could not be asked
//
// What stands behind the rows of one thing is asked first: so the rows are no older, and a unit that no node
// has anything to say of is there all the same.
//
// If a leader goes away in the middle, the next one is asked all of it; so the leader numbers the pieces,
// and with the first one those before it are dropped. What has no number is this host's own word, as long as
// nobody leads.

#include "work-pieces.h"

#include <errno.h>

#include "macro.h"

void http_asides_drop(HttpCall *call) {
        http_api_release(call, call->rows.aside_bytes);
        http_parts_free(TAKE_PTR(call->rows.asides), call->rows.n_asides);
        call->rows.n_asides = call->rows.aside_bytes = 0;
}

int http_asides_keep(HttpCall *call, const Argosy__Response *response) {
        return http_parts_keep(call, response, &call->rows.asides, &call->rows.n_asides,
                               &call->rows.aside_bytes);
}

// ---- what stands behind the rows of one thing

static Argosy__Request *request_aside(HttpCall *call) {
        return http_resource_aside(&call->target);
}

// That there is no such unit, or that its client may not see it, the rows say in their own way.
static int take_aside(HttpCall *call, const Argosy__Response *r) {
        bool is_why = r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY && r->status_reply->row,
             is_file = r->what_case == ARGOSY__RESPONSE__WHAT_CAT;

        if (r->status != 0 || !(is_why || is_file))
                return 0;
        if (is_file || r->status_reply->number == 1)
                http_asides_drop(call);
        return http_asides_keep(call, r);
}

void http_asides_end(HttpCall *call, const Argosy__Response *last) {
        bool unseen = last->status == ENOENT || last->status == EACCES;

        if (call->status == 0 && last->status != 0 && !unseen)
                http_call_fail(call, last->status, last->message);
        else if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else
                http_call_next(call, call->author);
}

static void respond_aside(HttpCall *call, const Argosy__Response *response) {
        if (call->status == 0)
                http_call_set_status(call, -take_aside(call, response));
        if (response->final)
                http_asides_end(call, response);
}

const HttpStep http_aside_step = {.request = request_aside, .respond = respond_aside};

// ---- pieces

// The number of such a piece, from 1; 0: this host's own word.
static uint32_t number_of(const Argosy__Response *r) {
        return r->what_case == ARGOSY__RESPONSE__WHAT_USAGE ? r->usage->number : r->verify->number;
}

static bool is_piece(const Argosy__Response *r) {
        return (r->what_case == ARGOSY__RESPONSE__WHAT_USAGE ||
                r->what_case == ARGOSY__RESPONSE__WHAT_VERIFY) &&
               r->status == 0;
}

static int take_piece(HttpCall *call, const Argosy__Response *r) {
        bool is = is_piece(r);

        if (is && !(r->what_case == ARGOSY__RESPONSE__WHAT_USAGE && r->usage->gone)) {
                if (number_of(r) == 1 || r->no_leader != call->rows.no_leader) {
                        http_call_drop_parts(call);
                        http_asides_drop(call);
                }
                call->rows.no_leader = r->no_leader;
                return http_call_keep(call, r);
        }
        return is || (r->status != 0 && !r->final) ? http_asides_keep(call, r) : 0;
}

static void end(HttpCall *call, const Argosy__Response *last) {
        if (call->status == 0 && last->status != 0) {
                http_call_fail(call, last->status, last->message);
                return;
        }
        if (call->status == 0 && !is_piece(last)) // it says whether anybody leads
                http_call_set_status(call, -http_call_keep(call, last));
        if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else
                http_call_next(call, call->author);
}

static void respond_piece(HttpCall *call, const Argosy__Response *response) {
        if (call->status == 0)
                http_call_set_status(call, -take_piece(call, response));
        if (response->final)
                end(call, response);
}

const HttpStep http_pieces_step = {.request = http_call_request, .respond = respond_piece};
