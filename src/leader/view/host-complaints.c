// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is wrong with a host, in words that its rows in lists show: it said of itself what is not taken,
// or cannot have all that it is to have.
//
// That ends when the host mends it, by another word in its next Attach. Out of memory for the words: the
// host is shown without them.
#include "host-complaints.h"

#include <stdarg.h>

#include "log.h"
#include "str.h"
#include "tables.h"

const char *host_name(const Leader *l, const Host *h) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, h->number);

        return r ? r->name : "?";
}

void host_complain(Leader *l, Host *h, const char *format, ...) {
        char why[REASON_MAX];
        va_list ap;

        va_start(ap, format);
        str_vfit(why, sizeof(why), format, ap);
        va_end(ap);
        if (h->complaint && streq(h->complaint, why))
                return;
        log_host(LOG_WARNING, host_name(l, h), "Host %s: %s.", host_name(l, h), why);
        free(h->complaint);
        h->complaint = strdup(why);
}

void host_complaint_end(Host *h) {
        free(h->complaint);
        h->complaint = NULL;
}
