// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Why units failed, by their logs: their status is asked for once, with the few lines that say it, of the
// time since the verb began. Nothing is said of a daemon or a node that does not answer soon; that units
// failed has been said already.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ctl.h"
#include "failure-logs.h"
#include "message-of.h"

enum {
        LAST_WORDS = 3,             // lines of each unit,
        FAILURE_LOGS_SEC = 3,         // and how long they are worth waiting for
        FAILURE_LOGS_MARGIN_MS = 200, // between the words and the first byte that is sent
};

static int on_last_words(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_STATUS_REPLY)
                return 0;
        for (size_t i = 0; i < r->status_reply->n_log; i++) {
                _cleanup_buf_ Buf line = {};

                if (text_append_clean(&line, r->status_reply->log[i], true) < 0)
                        return -ENOMEM;
                fprintf(ctl->term.err, "  %.*s\n", (int) line.len, (const char *) line.data);
        }
        return 0;
}

void failure_logs_note(FailureLogs *w, const char *name) {
        if (w->n == FAILURE_LOGS_UNITS)
                return;
        w->names[w->n] = strdup(name);
        w->n += w->names[w->n] != NULL;
}

void failure_logs_done(FailureLogs *w) {
        while (w->n > 0)
                free(w->names[--w->n]);
}

void failure_logs_print(Ctl *ctl, const FailureLogs *w) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        uint64_t now = clock_boot_us();

        status.names = (char **) w->names;
        status.n_names = w->n;
        status.lines = LAST_WORDS;
        status.cause_within_ms = (now - w->since_us) / USEC_PER_MSEC + FAILURE_LOGS_MARGIN_MS;
        ctl->deadline_us = MIN_OF(ctl->deadline_us, now + FAILURE_LOGS_SEC * USEC_PER_SEC);
        (void) ctl_call(ctl, &request, CALL_NOTE, on_last_words, NULL); // what failed has been said already
}
