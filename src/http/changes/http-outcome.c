// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a client hears of a change whose outcome is not known yet (http-outcome.h). http_outcome_status() at
// an answer, http_outcome_at_end() when argosyd ends, http_outcome_taken() for an accepted job. A client
// with a key is asked to repeat the request, as it is then done once; one without a key whose change may
// have been carried out is told to look. NULL: out of memory.

#include "http-outcome.h"

#include <errno.h>

#include "json.h"

int http_outcome_status(int status, bool keyed) {
        return status == EINPROGRESS && keyed ? EAGAIN : status;
}

int http_outcome_at_end(const HttpOutcome *o, const char **ret_why) {
        *ret_why =
                o->job > 0
                        ? "argosyd is ending; another host, or this one later, says what becomes of the job"
                : !o->writes      ? "argosyd is ending"
                : !o->may_be_done ? "argosyd is ending; nothing was changed by this request"
                : o->keyed        ? "argosyd is ending; asked again under the same key, this is done once"
                           : "argosyd is ending; it may have been carried out, so look later whether it was";
        return o->job == 0 && o->may_be_done ? EINPROGRESS : ESHUTDOWN;
}

char *http_outcome_taken(uint64_t job, const char *message) {
        Json j = {};
        char *text;

        json_begin(&j, '{');
        json_member_u64(&j, "job", job);
        if (message)
                json_strings(&j, (const char *const[][2]){{"message", message}}, 1);
        json_member_begin(&j, "units", '[');
        json_end(&j, ']');
        json_end(&j, '}');
        json_finish(&j);
        text = j.failed ? NULL : buf_take_string(&j.text);
        json_done(&j);
        return text;
}
