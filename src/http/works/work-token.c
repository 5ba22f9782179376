// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Before a long body of a client that is not known is read, the leader is asked whether there is such a
// token, and for a longer one, whether it may bring content. Then the thread goes on with the call.
// Failures: the leader's refusal is the answer.

#include "work-token.h"

#include <errno.h>

#include "message-of.h"
#include "message.h"

static bool is_long(const HttpCall *call) {
        return call->announced > HTTP_SMALL_BODY_MAX;
}

// What it may do is judged when it is known what is asked for; so the least is asked here, and that it is
// too little is no answer. But nobody sends much who may not bring content.
static Argosy__Request *ask_for_token(HttpCall *call) {
        Argosy__Request__RightCheck m =
                MESSAGE_OF(request__right_check,
                           .right = is_long(call) ? ARGOSY__RIGHT__RIGHT_DEPLOY : ARGOSY__RIGHT__RIGHT_VIEW);
        Argosy__Request q = REQUEST_OF(RIGHT_CHECK, right_check, &m);

        return message_copy(&q);
}

static void respond(HttpCall *call, const Argosy__Response *response) {
        if (!response->final)
                return;
        if (response->status == EACCES && is_long(call)) {
                http_call_fail(call, E2BIG,
                               "a body of more than 1 MiB is read of whoever may bring content, and has the "
                               "right 'deploy'");
                return;
        }
        if (response->status != 0 && response->status != EACCES) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        http_call_set_step(call, NULL); // it is asked for when its body has come
        http_call_give_back(call);
}

const HttpStep http_token_step = {.request = ask_for_token, .respond = respond};
