// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is sent to a host, whoever sends it. That it has no link is no error: it attaches anew, and is told everything
// then.
#include "host-link.h"

#include <errno.h>

#include "tables.h"

void leader_to_host_in_passing(Leader *l, uint32_t host, Argosy__ToHost *message) {
        (void) l->ops.to_host(host, message, l->userdata);
}

int leader_to_host(Leader *l, Host *h, Argosy__ToHost *message) {
        int r = l->ops.to_host(h->number, message, l->userdata);

        // Half a conversation is worse than none: after the next Attach both know everything again. One that
        // is too long would be too long then, too.
        if (r < 0 && r != -ENOTCONN && r != -EMSGSIZE)
                l->ops.drop_host(h->number, l->userdata);
        return r;
}
