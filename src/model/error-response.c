// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A final response that says only a status and a message (error-response.h). error_response() -> the caller
// packs or sends it while `message` lives: the response borrows it and owns nothing. It cannot fail. A
// response that outlives its message is made by leader/messages/response.h.

#include "error-response.h"

#include <stdbool.h>

Argosy__Response error_response(int status, const char *message) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        r.final = true;
        r.status = status;
        r.message = (char *) message;
        return r;
}
