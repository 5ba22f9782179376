// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers that come piece by piece from several who do not know of each other, and of which one may fail where the others do not:
//
//      /v1/units/NAME    why the unit is as it is, on each node; behind that what nodes say of it
//      /v1/usage         what units use, a node at a time; behind that who could not be read
//
// Why is asked first: so what stands in the rows is no older, and a unit that no node has anything to say of is there all the same.
//
// If a leader goes away in the middle, the next one is asked all of it; so the leader numbers the pieces, and with the first one
// those before it are dropped. What has no number is this host's own word, as long as nobody leads.

#include <errno.h>

#include "array.h"
#include "http-private.h"

bool http_pieces_are_asked(const HttpCall *call) {
        return call->step == HTTP_STEP_WHY || call->target.resource == HTTP_USAGE;
}

void http_pieces_drop(HttpCall *call) {
        http_api_release(call->api, call->aside_bytes);
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
        r = http_part_pack(call->api, response, &(*list)[*n]);
        if (r == 0)
                *bytes += (*list)[(*n)++].len;
        return r;
}

static int keep_aside(HttpCall *call, const Argosy__Response *response) {
        return keep(call, response, &call->asides, &call->n_asides, &call->aside_bytes);
}

// That there is no such unit, or that he may not see it, the rows say in their own way.
static int take_why(HttpCall *call, const Argosy__Response *r) {
        if (r->what_case != ARGOSY__RESPONSE__WHAT_STATUS_REPLY || !r->status_reply->row || r->status != 0)
                return 0;
        if (r->status_reply->number == 1)
                http_pieces_drop(call);
        return keep_aside(call, r);
}

static int take_usage(HttpCall *call, const Argosy__Response *r) {
        bool is = r->what_case == ARGOSY__RESPONSE__WHAT_USAGE && r->status == 0;

        if (is && !r->usage->gone) {
                if (r->usage->number == 1 || r->no_leader != call->no_leader) {
                        http_call_drop_parts(call);
                        http_pieces_drop(call);
                }
                call->no_leader = r->no_leader;
                return keep(call, r, &call->parts, &call->n_parts, &call->n_bytes);
        }
        return is || (r->status != 0 && !r->final) ? keep_aside(call, r) : 0;
}

static void end(HttpCall *call, const Argosy__Response *last) {
        bool is_why = call->step == HTTP_STEP_WHY, unseen = last->status == ENOENT || last->status == EACCES;

        if (call->status == 0 && last->status != 0 && !(is_why && unseen)) {
                http_call_fail(call, last->status, last->message);
                return;
        }
        if (call->status == 0 && !is_why &&
            last->what_case != ARGOSY__RESPONSE__WHAT_USAGE) // it says whether anybody leads
                call->status = -keep(call, last, &call->parts, &call->n_parts, &call->n_bytes);
        if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (is_why)
                http_steps_ask(call);
        else
                http_call_give_back(call);
}

void http_pieces_respond(HttpCall *call, const Argosy__Response *response) {
        if (call->status == 0)
                call->status = call->step == HTTP_STEP_WHY ? -take_why(call, response)
                                                           : -take_usage(call, response);
        if (response->final)
                end(call, response);
}
