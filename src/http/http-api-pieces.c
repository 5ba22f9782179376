// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers of which a part stands behind the rows, or that come piece by piece from several who do not know of each other, and of which
// one may fail where the others do not:
//
//      /v1/units/NAME        what nodes say of it; and why the unit is as it is, on each node
//      /v1/unit-files/NAME   what is wanted of it; and its file
//      /v1/usage             what units use, a node at a time; and who could not be read
//      /v1/verify            what systemd says of files, a node at a time; and who could not be asked
//
// What stands behind the rows of one thing is asked first: so the rows are no older, and a unit that no node has anything to say of is there
// all the same.
//
// If a leader goes away in the middle, the next one is asked all of it; so the leader numbers the pieces, and with the first one
// those before it are dropped. What has no number is this host's own word, as long as nobody leads.

#include <errno.h>

#include "array.h"
#include "http-private.h"

bool http_pieces_are_asked(const HttpCall *call) {
        return call->step == HTTP_STEP_ASIDE || http_resource(call->target.resource)->aside == HTTP_ASIDE_ERRORS;
}

void http_pieces_drop(HttpCall *call) {
        http_api_release(call, call->aside_bytes);
        http_parts_free(call->asides, call->n_asides);
        call->asides = NULL;
        call->n_asides = call->aside_bytes = 0;
}

// 0, -EBUSY or -ENOMEM.
static int keep(HttpCall *call, const Argosy__Response *response, HttpPart **list, size_t *n,
                size_t *bytes) {
        int r;

        if (ARRAY_RESERVE(*list, *n + 1) < 0)
                return -ENOMEM;
        r = http_part_pack(call, response, &(*list)[*n]);
        if (r == 0)
                *bytes += (*list)[(*n)++].len;
        return r;
}

static int keep_aside(HttpCall *call, const Argosy__Response *response) {
        return keep(call, response, &call->asides, &call->n_asides, &call->aside_bytes);
}

// That there is no such unit, or that he may not see it, the rows say in their own way.
static int take_aside(HttpCall *call, const Argosy__Response *r) {
        bool is_why = r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY && r->status_reply->row,
             is_file = r->what_case == ARGOSY__RESPONSE__WHAT_CAT;

        if (http_target_is_past(&call->target) && r->final && http_past_judge(call, r) < 0)
                return -EAGAIN;
        if (r->status != 0 || !(is_why || is_file))
                return 0;
        if (is_file || r->status_reply->number == 1)
                http_pieces_drop(call);
        return keep_aside(call, r);
}

// The number of such a piece, from 1; 0: this host's own word.
static uint32_t number_of(const Argosy__Response *r) {
        return r->what_case == ARGOSY__RESPONSE__WHAT_USAGE ? r->usage->number : r->verify->number;
}

static bool is_piece(const Argosy__Response *r) {
        return (r->what_case == ARGOSY__RESPONSE__WHAT_USAGE || r->what_case == ARGOSY__RESPONSE__WHAT_VERIFY) && r->status == 0;
}

static int take_piece(HttpCall *call, const Argosy__Response *r) {
        bool is = is_piece(r);

        if (is && !(r->what_case == ARGOSY__RESPONSE__WHAT_USAGE && r->usage->gone)) {
                if (number_of(r) == 1 || r->no_leader != call->no_leader) {
                        http_call_drop_parts(call);
                        http_pieces_drop(call);
                }
                call->no_leader = r->no_leader;
                return keep(call, r, &call->parts, &call->n_parts, &call->n_bytes);
        }
        return is || (r->status != 0 && !r->final) ? keep_aside(call, r) : 0;
}

static void end(HttpCall *call, const Argosy__Response *last) {
        bool is_aside = call->step == HTTP_STEP_ASIDE,
             unseen = last->status == ENOENT || last->status == EACCES;

        if (call->status == 0 && last->status != 0 && !(is_aside && unseen)) {
                http_call_fail(call, last->status, last->message);
                return;
        }
        if (call->status == 0 && !is_aside &&
            !is_piece(last)) // it says whether anybody leads
                call->status = -keep(call, last, &call->parts, &call->n_parts, &call->n_bytes);
        if (call->status == EAGAIN && is_aside)
                http_call_fail(call, EAGAIN, "the unit was changed in the middle: ask again");
        else if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (is_aside && !http_target_is_past(&call->target))
                http_steps_ask(call);
        else
                http_call_give_back(call);
}

void http_pieces_respond(HttpCall *call, const Argosy__Response *response) {
        if (call->status == 0)
                call->status = call->step == HTTP_STEP_ASIDE ? -take_aside(call, response)
                                                             : -take_piece(call, response);
        if (response->final)
                end(call, response);
}
