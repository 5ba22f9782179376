// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See error-response.h. Owns nothing, and cannot fail: whoever has something to keep uses
// leader/messages/response.h.
#include "error-response.h"

#include <stdbool.h>

Argosy__Response error_response(int status, const char *message) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;

        r.final = true;
        r.status = status;
        r.message = (char *) message;
        return r;
}
