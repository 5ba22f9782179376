// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units wrote before they failed: their status is asked for once, with a few lines of the log.
// Nothing is said of a daemon or a node that does not answer soon; that units failed has been said
// already.

#include <errno.h>

#include "clock.h"
#include "ctl.h"
#include "last-words.h"

enum { LAST_WORDS = 3, LAST_WORDS_SEC = 3 }; // lines of each unit, and how long they are worth waiting for

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

void last_words_print(Ctl *ctl, char **names, size_t n) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        status.names = names;
        status.n_names = n;
        status.lines = LAST_WORDS;
        request.what_case = ARGOSY__REQUEST__WHAT_STATUS;
        request.status = &status;
        ctl->deadline_us = MIN_OF(ctl->deadline_us, clock_boot_us() + LAST_WORDS_SEC * USEC_PER_SEC);
        (void) ctl_call(ctl, &request, CALL_NOTE, on_last_words, NULL); // what failed has been said already
}
