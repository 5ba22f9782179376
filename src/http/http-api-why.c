// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks for one unit is also told why it is as it is. That is asked first: so what stands in the list of what nodes say of it is no
// older, and a unit that no node has anything to say of is there all the same.

#include <errno.h>

#include "array.h"
#include "http-private.h"
#include "message.h"

Argosy__Request *http_why_request(const HttpTarget *t) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__Why m = ARGOSY__REQUEST__WHY__INIT;

        m.names = (char **) &t->name;
        m.n_names = 1;
        q.what_case = ARGOSY__REQUEST__WHAT_WHY;
        q.why = &m;
        return message_copy(&q);
}

void http_why_drop(HttpCall *call) {
        http_api_release(call->api, call->why_bytes);
        http_parts_free(call->whys, call->n_whys);
        call->whys = NULL;
        call->n_whys = call->why_bytes = 0;
}

// 0, -EBUSY or -ENOMEM.
static int keep(HttpCall *call, const Argosy__Response *response) {
        int r;

        if (response->status_reply->number == 1)
                http_why_drop(call); // the leader before has gone in the middle
        if (ARRAY_RESERVE(call->whys, call->n_whys + 1) < 0)
                return -ENOMEM;
        r = http_part_pack(call->api, response, &call->whys[call->n_whys]);
        if (r == 0)
                call->why_bytes += call->whys[call->n_whys++].len;
        return r;
}

// That there is no such unit, or that he may not see it, the list says in its own way.
void http_why_respond(HttpCall *call, const Argosy__Response *response) {
        bool is = response->status == 0 && response->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY &&
                  response->status_reply->row;

        if (is && call->status == 0)
                call->status = -keep(call, response);
        if (!response->final)
                return;
        if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (response->status != 0 && response->status != ENOENT && response->status != EACCES)
                http_call_fail(call, response->status, response->message);
        else
                http_steps_ask(call);
}
